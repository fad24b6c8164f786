/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_PAGES_H
#define HMR_PAGES_H

#include <sched.h>

#include "cgroup.h"
#include "internal.h"

enum hmr_thp_mode {
	HMR_THP_ABSENT, /* a kernel without THP */
	HMR_THP_NEVER,
	HMR_THP_MADVISE,
	HMR_THP_ALWAYS,
	HMR_THP_WITHIN_SIZE, /* shared memory only: not beyond its end */
};

/* One size of transparent huge pages, and how it is used for anonymous and for
 * shared memory; what a size inherits is resolved. */
struct hmr_thp_size {
	size_t size;
	enum hmr_thp_mode anon;
	enum hmr_thp_mode shmem;
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
	/* of this process's control group, in bytes: pages in use, and pages
	 * promised. The former is only noticed at the first touch. */
	struct hmr_limit cgroup;
	struct hmr_limit cgroup_rsvd;
};

#define HMR_MAX_POOLS 8
#define HMR_MAX_NODES 64
#define HMR_MAX_THP_SIZES 16

/* A node's part of a pool. What is reserved is so on no node in particular. */
struct hmr_node_pool {
	uint64_t nr;
	uint64_t free;
	uint64_t surplus;
};

struct hmr_node {
	unsigned int id;
	cpu_set_t cpus;
	uint64_t mem_free;
	/* in the order of hmr_host.pools */
	struct hmr_node_pool pools[HMR_MAX_POOLS];
};

/* What pages the host has. Where it doesn't tell, sizes and counts are 0. */
struct hmr_host {
	size_t base_page;
	/* size of a page mapped by a PMD; 0 without THP */
	size_t pmd_size;
	/* of pages mapped by a PMD */
	enum hmr_thp_mode thp;
	enum hmr_thp_mode thp_shmem;
	/* since Linux 6.8, each size that has a mode of its own */
	unsigned int n_thp_sizes;
	struct hmr_thp_size thp_sizes[HMR_MAX_THP_SIZES];
	unsigned int n_pools;
	struct hmr_pool pools[HMR_MAX_POOLS];
	struct hmr_cgroup hugetlb_group;
	/* online ones below HMR_MAX_NODES; none on a kernel without NUMA */
	unsigned int n_nodes;
	struct hmr_node nodes[HMR_MAX_NODES];
	/* bytes */
	uint64_t mem_available;
	struct hmr_limit memory;
	/* bytes that may still be mapped, where overcommit_memory is 2 */
	uint64_t commit_room;
	unsigned int overcommit_memory;
	unsigned int numa_balancing;
	uint64_t max_map_count;
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

/* Only pools and THP, for a call that has no time for dozens of files. */
void hmr_host_read_pages(const char *root, struct hmr_host *host);

/* The pool of a page size, or NULL if the host has no such pages. */
const struct hmr_pool *hmr_host_pool(const struct hmr_host *host,
				     size_t page_size);

/* Pages that a pool can grow by when it is asked for them. */
uint64_t hmr_pool_growth(const struct hmr_pool *pool);

/* Free pages of a pool on some nodes, a bit each; 0 for all of them. */
uint64_t hmr_pool_free_on(const struct hmr_host *host,
			  const struct hmr_pool *pool, uint64_t nodes);

/* Pages of a pool that a new mapping can still get, and that one bound to some
 * nodes can. */
uint64_t hmr_pool_available(const struct hmr_pool *pool);
uint64_t hmr_pool_available_on(const struct hmr_host *host,
			       const struct hmr_pool *pool, uint64_t nodes);

/* "1 GiB", "2 MiB", "64 KiB", "12345 bytes", for messages. */
#define HMR_SIZE_TEXT 32
const char *hmr_size_text(uint64_t bytes, char text[HMR_SIZE_TEXT]);

#endif /* HMR_PAGES_H */
