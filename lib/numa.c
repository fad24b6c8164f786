// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Which node memory goes to, and which CPUs are near it. Raw system calls:
 * libnuma would be a dependency for two of them. */
#include <ctype.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "numa.h"

#define MAX_NODES 1024
#define LONG_BITS (8 * sizeof(long))

struct policy {
	int mode;
	unsigned long nodes[MAX_NODES / LONG_BITS];
};

static bool get_policy(const void *addr, unsigned long flags, struct policy *p)
{
	if (syscall(SYS_get_mempolicy, &p->mode, p->nodes, MAX_NODES, addr,
		    flags))
		return false;
	p->mode &= ~MPOL_MODE_FLAGS;
	return true;
}

/* The one node of a set, or -1. */
static int only_node(const struct policy *p)
{
	unsigned int i;
	int node = -1;

	for (i = 0; i < MAX_NODES / LONG_BITS; i++) {
		unsigned long bits = p->nodes[i];

		if (!bits)
			continue;
		if (node >= 0 || bits & (bits - 1))
			return -1;
		node = (int)(i * LONG_BITS) + __builtin_ctzl(bits);
	}
	return node;
}

static int this_node(void)
{
	unsigned int cpu, node;

	return syscall(SYS_getcpu, &cpu, &node, NULL) ? -1 : (int)node;
}

static int node_of(const void *addr)
{
	struct policy p = { 0 };

	/* A mapping without a policy has that of the thread. */
	if (!get_policy(addr, MPOL_F_ADDR, &p))
		return -1;
	if (p.mode == MPOL_DEFAULT && !get_policy(NULL, 0, &p))
		return -1;
	switch (p.mode) {
	case MPOL_DEFAULT:
	case MPOL_LOCAL:
		return this_node();
	case MPOL_PREFERRED:
		return only_node(&p) < 0 ? this_node() : only_node(&p);
	case MPOL_BIND:
		return only_node(&p);
	default:
		return -1;
	}
}

bool hmr_parse_cpulist(const char *list, cpu_set_t *cpus)
{
	unsigned long first, last;
	char *end;

	CPU_ZERO(cpus);
	while (isdigit((unsigned char)*list)) {
		first = last = strtoul(list, &end, 10);
		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				return false;
			last = strtoul(end + 1, &end, 10);
		}
		for (; first <= last && first < CPU_SETSIZE; first++)
			CPU_SET(first, cpus);
		list = end;
		if (*list == ',')
			list++;
	}
	return !*list || *list == '\n';
}

static bool node_cpus(int node, cpu_set_t *cpus)
{
	char path[80], line[4096];
	FILE *f;
	bool ok;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist",
		 node);
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(line, sizeof(line), f) && hmr_parse_cpulist(line, cpus);
	fclose(f);
	return ok;
}

bool hmr_numa_cpus(const void *addr, cpu_set_t *cpus)
{
	int node = node_of(addr);
	cpu_set_t own;

	if (node < 0 || !node_cpus(node, cpus) ||
	    sched_getaffinity(0, sizeof(own), &own))
		return false;
	CPU_AND(cpus, cpus, &own);
	return CPU_COUNT(cpus);
}
