// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* NUMA nodes: putting memory on them, and asking on which it lies. */
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/syscall.h>

#include "nodes.h"
#include "numa.h"
#include "readfile.h"

#define NODES "/sys/devices/system/node"

uint64_t hmr_nodes_with_memory(bool *beyond)
{
	struct hmr_reader r = { .root = hmr_root };
	const char *list;
	uint64_t nodes = 0;
	cpu_set_t set;
	int i;

	*beyond = false;
	hmr_reader_path(&r, NODES "/has_memory");
	list = hmr_read_line(&r);
	if (!list || !hmr_parse_cpulist(list, &set))
		return 1;
	for (i = 0; i < HMR_BACKING_NODES; i++)
		if (CPU_ISSET(i, &set))
			nodes |= 1ull << i;
	*beyond = CPU_COUNT(&set) != __builtin_popcountll(nodes);
	return nodes ? nodes : 1;
}

int hmr_nodes_bind(void *addr, size_t length, uint64_t nodes, bool interleave)
{
	const unsigned long mask[] = { nodes };
	int mode = interleave ? MPOL_INTERLEAVE : MPOL_BIND;

	/* The kernel takes one bit less than it is told. */
	if (syscall(SYS_mbind, addr, length, mode, mask, 8 * sizeof(mask) + 1,
		    0))
		return -errno;
	return 0;
}

uint64_t hmr_nodes_bytes(uint64_t nodes)
{
	struct hmr_reader r = { .root = hmr_root };
	uint64_t bytes = 0;
	char key[40];
	int i;

	for (i = 0; i < HMR_BACKING_NODES; i++) {
		if (!(nodes >> i & 1))
			continue;
		hmr_reader_path(&r, NODES "/node%d/meminfo", i);
		snprintf(key, sizeof(key), "Node %d MemTotal:", i);
		bytes += hmr_read_key(&r, key, 0) * HMR_KIB;
	}
	return bytes;
}

int hmr_nodes_of_device(const char *device, int *node)
{
	struct hmr_reader r = { .root = hmr_root };
	const char *line;

	hmr_reader_path(&r, "/sys/class/infiniband/%s/", device);
	if (!*device || strchr(device, '/') || device[0] == '.' ||
	    access(r.path, F_OK))
		return -ENODEV;
	/* A software device has no parent, and a host with one node no nodes.
	 */
	hmr_reader_path(&r, "/sys/class/infiniband/%s/device/numa_node",
			device);
	line = hmr_read_line(&r);
	if (!line || sscanf(line, "%d", node) != 1 || *node < 0)
		*node = -1;
	return 0;
}

static void ask(struct hmr_node_count *c)
{
	int status[HMR_NODE_BATCH];
	unsigned int i;

	if (!c->n || c->failed)
		return;
	/* With no nodes to move to, this only tells where the pages are. */
	if (syscall(SYS_move_pages, 0, (unsigned long)c->n, c->pages, NULL,
		    status, 0) < 0) {
		c->failed = true;
		return;
	}
	for (i = 0; i < c->n; i++)
		if (status[i] >= HMR_BACKING_NODES)
			c->failed = true;
		else if (status[i] >= 0)
			c->node[status[i]] += c->bytes[i];
}

void hmr_node_count(struct hmr_node_count *c, uintptr_t start, uintptr_t end,
		    size_t step)
{
	uintptr_t next;

	for (; start < end && !c->failed; start = next) {
		next = hmr_align_down(start, step) + step;
		if (next > end)
			next = end;
		c->pages[c->n] = (const void *)start;
		c->bytes[c->n] = next - start;
		if (++c->n == HMR_NODE_BATCH) {
			ask(c);
			c->n = 0;
		}
	}
}

void hmr_node_count_end(struct hmr_node_count *c)
{
	ask(c);
	c->n = 0;
}
