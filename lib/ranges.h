/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ranges that are registered now, over the whole process: how a buffer
 * learns that it is still in use without knowing what a region is, and a domain
 * which regions it still has.
 */
#ifndef HMR_RANGES_H
#define HMR_RANGES_H

#include "internal.h"

struct hmr_range {
	struct hmr_range *prev;
	struct hmr_range *next;
	const void *owner;
	uintptr_t addr;
	size_t length;
};

void hmr_range_add(struct hmr_range *range);
void hmr_range_del(struct hmr_range *range);

/* How many ranges overlap [addr, addr + length); a copy of one in @example. */
unsigned int hmr_ranges_over(const void *addr, size_t length,
			     struct hmr_range *example);

/* How many ranges an owner has; a copy of one in @example. */
unsigned int hmr_ranges_of(const void *owner, struct hmr_range *example);

/* The ranges of an owner, @max at most; how many. They are safe to use only as
 * long as nobody else adds or removes ranges of this owner. */
unsigned int hmr_ranges_list(const void *owner, struct hmr_range **list,
			     unsigned int max);

/* In the child of a fork: nothing is registered, whoever held the lock. */
void hmr_ranges_forked(void);

#endif /* HMR_RANGES_H */
