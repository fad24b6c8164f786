/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_ATTEMPT_H
#define HMR_ATTEMPT_H

#include "mapping.h"
#include "pages.h"
#include "shortage.h"

/* A kind of pages. */
struct hmr_kind {
	enum hmr_pages pages;
	const char *name;
	size_t hugetlb; /* page size, or 0 */
	int advice; /* MADV_* or 0 */
};

/* What a length is rounded up to, and an address, unless a file has a say; 0
 * for THP where there is none. */
size_t hmr_kind_page_size(const struct hmr_kind *kind,
			  const struct hmr_host *host);

/* What is wanted, what the host has, and in return what failed. */
struct hmr_attempt {
	const struct hmr_kind *kind;
	const struct hmr_host *host;
	size_t length;
	unsigned int flags; /* enum hmr_buffer_flags */
	unsigned int threads;
	uint64_t nodes; /* to be bound to; 0 for none */
	/* for HMR_BUFFER_FILE */
	int fd;
	uint64_t offset;
	struct hmr_shortage why;
};

/* The memory of a buffer. */
struct hmr_memory {
	struct hmr_mapping map;
	int fd; /* of its memfd, or -1 */
	/* the kind's, or what a file was found to have */
	enum hmr_pages pages;
};

/**
 * hmr_attempt_make() - map memory, populate it and verify its pages
 * @a: what is wanted
 * @mem: filled, unless it fails; then nothing is left
 *
 * Return: as hmr_buffer_alloc(), with the cause in @a->why.
 */
int hmr_attempt_make(struct hmr_attempt *a, struct hmr_memory *mem);

void hmr_memory_free(struct hmr_memory *mem);

/* Does the kernel have MADV_COLLAPSE? */
bool hmr_have_collapse(void);

#endif /* HMR_ATTEMPT_H */
