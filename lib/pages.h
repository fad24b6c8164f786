/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_PAGES_H
#define HMR_PAGES_H

#include "internal.h"

enum hmr_thp_mode {
	HMR_THP_ABSENT, /* a kernel without THP */
	HMR_THP_NEVER,
	HMR_THP_MADVISE,
	HMR_THP_ALWAYS,
};

/* One size of hugetlb pages; all counts are pages. */
struct hmr_pool {
	size_t page_size;
	uint64_t nr;
	uint64_t free;
	/* of free, promised to mappings that haven't touched them yet */
	uint64_t reserved;
	/* of nr, beyond the persistent pool, and how many there may be */
	uint64_t surplus;
	uint64_t overcommit;
};

#define HMR_MAX_POOLS 8

/* What pages the host has. */
struct hmr_host {
	size_t base_page;
	/* size of a page mapped by a PMD; 0 without THP */
	size_t pmd_size;
	enum hmr_thp_mode thp;
	unsigned int n_pools;
	struct hmr_pool pools[HMR_MAX_POOLS];
};

/**
 * hmr_host_read() - read what pages the host has, now
 * @root: put before each path; "" for the host, another directory for tests
 * @host: filled
 *
 * A file that isn't there means that the kernel lacks what it tells of, so
 * nothing here fails.
 */
void hmr_host_read(const char *root, struct hmr_host *host);

/* The pool of a page size, or NULL if the host has no such pages. */
const struct hmr_pool *hmr_host_pool(const struct hmr_host *host,
				     size_t page_size);

/* Pages of a pool that a new mapping can still get. */
uint64_t hmr_pool_available(const struct hmr_pool *pool);

/* "1 GiB", "2 MiB", "64 KiB", "12345 bytes", for messages. */
#define HMR_SIZE_TEXT 32
const char *hmr_size_text(uint64_t bytes, char text[HMR_SIZE_TEXT]);

#endif /* HMR_PAGES_H */
