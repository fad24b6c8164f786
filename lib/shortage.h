/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Why pages could not be had, from what the host has. */
#ifndef HMR_SHORTAGE_H
#define HMR_SHORTAGE_H

#include "internal.h"

/* A cause, and what struct hmr_error says of it. */
struct hmr_shortage {
	enum hmr_cause cause;
	uint64_t need;
	uint64_t have;
	char text[400];
};

void hmr_shortage_say(struct hmr_shortage *s, enum hmr_cause cause,
		      const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* What was asked for. */
struct hmr_asked {
	size_t bytes;
	size_t hugetlb; /* page size, or 0 */
	const char *name; /* of such pages */
	uint64_t nodes; /* that it is bound to; 0 for none */
};

/**
 * hmr_shortage_of_mapping() - why mmap() failed
 * @err: its negative errno value
 *
 * mmap() of hugetlb reserves its pages, so this is where a pool says no.
 */
void hmr_shortage_of_mapping(struct hmr_shortage *s,
			     const struct hmr_asked *asked, int err);

/**
 * hmr_shortage_of_pages() - why hmr_populate_range() failed
 *
 * To be called when what had been populated was given back, so that it doesn't
 * count as missing.
 */
void hmr_shortage_of_pages(struct hmr_shortage *s,
			   const struct hmr_asked *asked, int err);

#endif /* HMR_SHORTAGE_H */
