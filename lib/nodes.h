/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* NUMA nodes: putting memory on them, and asking on which it lies. */
#ifndef HMR_NODES_H
#define HMR_NODES_H

#include "internal.h"

/* The nodes that have memory, a bit each; node 0 where the host doesn't tell.
 * Nodes that have no bit in @beyond. */
uint64_t hmr_nodes_with_memory(bool *beyond);

/* Bind a mapping to nodes, before its first touch. 0 or -errno. */
int hmr_nodes_bind(void *addr, size_t length, uint64_t nodes, bool interleave);

/* All the memory that some nodes have, free or not; 0 where the host doesn't
 * tell. */
uint64_t hmr_nodes_bytes(uint64_t nodes);

/* The node of an RDMA device; -1 if it has none. 0, or -ENODEV if there is no
 * such device. */
int hmr_nodes_of_device(const char *device, int *node);

#define HMR_NODE_BATCH 1024

/* Bytes by node, asked in bulk. */
struct hmr_node_count {
	uint64_t *node; /* HMR_BACKING_NODES of them */
	/* the kernel refused, or there are nodes beyond */
	bool failed;
	unsigned int n;
	const void *pages[HMR_NODE_BATCH];
	uint64_t bytes[HMR_NODE_BATCH];
};

/**
 * hmr_node_count() - count a range by the nodes that its pages are on
 * @c: .node set, the rest zero; give it to hmr_node_count_end() at last
 * @start: aligned to base pages, as is @end
 * @step: size of the pages that lie there, on which one question is enough
 *
 * Pages that aren't present count nowhere.
 */
void hmr_node_count(struct hmr_node_count *c, uintptr_t start, uintptr_t end,
		    size_t step);
void hmr_node_count_end(struct hmr_node_count *c);

#endif /* HMR_NODES_H */
