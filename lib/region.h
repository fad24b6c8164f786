/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_REGION_H
#define HMR_REGION_H

#include "domain.h"
#include "ranges.h"
#include "split.h"
#include "workers.h"

struct ibv_mr;

struct hmr_region {
	unsigned int generation;
	const struct hmr_domain *dom;
	char *addr;
	/* by which the device knows addr */
	uint64_t iova;
	uint64_t flags;
	int access;
	int dmabuf_fd;
	uint64_t dmabuf_offset;
	struct hmr_split split;
	/* as asked for, for deregistration too */
	unsigned int threads;
	unsigned int processes;
	/* for the report */
	struct hmr_threads used;
	uint64_t populate_ns;
	uint64_t pin_ns;
	/* An operation failed half-way: some MRs are gone or have another
	 * access. All that is left to do is to deregister. */
	bool lost;
	struct hmr_range range;
	/* those of the first PD in the order of addresses, then those of the
	 * next; NULL where a deregistration that failed has let go */
	struct ibv_mr *mrs[];
};

static inline struct hmr_region *hmr_region_of(struct hmr_range *range)
{
	return (void *)((char *)range - offsetof(struct hmr_region, range));
}

static inline size_t hmr_region_mrs(const struct hmr_region *r)
{
	return r->dom->n_pds * r->split.n;
}

#endif /* HMR_REGION_H */
