/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_MAPPING_H
#define HMR_MAPPING_H

#include "internal.h"

/* A mapping between two pages that can't be accessed. */
struct hmr_mapping {
	char *addr;
	size_t length;
};

/* What mmap() is to be asked for. */
struct hmr_mapping_want {
	size_t length;
	/* the address is @skew beyond a multiple of @align */
	size_t align;
	size_t skew;
	int flags; /* MAP_*, without an address */
	int fd;
	uint64_t offset;
};

/**
 * hmr_mapping_make() - map memory for reading and writing
 * @want: what
 * @m: filled
 *
 * Return: 0, -EOVERFLOW for what is beyond the address space, or -errno of
 * mmap(), and then nothing is mapped, and nothing of others' is unmapped.
 */
int hmr_mapping_make(const struct hmr_mapping_want *want,
		     struct hmr_mapping *m);

void hmr_mapping_free(struct hmr_mapping *m);

#endif /* HMR_MAPPING_H */
