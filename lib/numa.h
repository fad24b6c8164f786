/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_NUMA_H
#define HMR_NUMA_H

#include <sched.h>

#include "internal.h"

/**
 * hmr_numa_cpus() - where threads should run that touch memory first
 * @addr: in the memory
 * @cpus: filled
 *
 * The CPUs of the node that the memory goes to by its policy: what it is bound
 * to, or for memory without a policy the node of this thread, where the pages
 * would lie had it touched them itself. Only CPUs that this thread may use.
 *
 * Return: false if any CPU will do: the policy names several nodes, its node
 * has no CPU for us, or the host doesn't tell.
 */
bool hmr_numa_cpus(const void *addr, cpu_set_t *cpus);

/* "0-3,8" as the kernel writes lists; false if it is malformed. CPUs beyond the
 * set are left out. */
bool hmr_parse_cpulist(const char *list, cpu_set_t *cpus);

#endif /* HMR_NUMA_H */
