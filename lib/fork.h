/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Objects in the child of a fork. Verbs objects don't survive one: the child
 * has no claim to the parent's MRs, and often not even the memory. So each
 * object remembers the generation it was made in, and a child counts one up.
 */
#ifndef HMR_FORK_H
#define HMR_FORK_H

#include <stdatomic.h>

#include "internal.h"

extern atomic_uint hmr_generation;

/* For an object that is being made. The first one of a process arranges that
 * its children are told. */
unsigned int hmr_fork_generation(void);

static inline bool hmr_is_foreign(unsigned int generation)
{
	/* Relaxed: it changes in the child, before its only thread runs on. */
	return generation !=
	       atomic_load_explicit(&hmr_generation, memory_order_relaxed);
}

/* -EOWNERDEAD, recorded for the call @op. */
int hmr_foreign(const char *op);

#endif /* HMR_FORK_H */
