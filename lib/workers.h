/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_WORKERS_H
#define HMR_WORKERS_H

#include <sched.h>

#include "internal.h"

/* How many threads, and why so many. */
struct hmr_threads {
	unsigned int n;
	enum hmr_threads_why why;
};

/**
 * hmr_threads_choose() - how many threads a piece of work should have
 * @asked: from the options; 0 to choose
 * @processes: that share the CPUs; 0 for 1
 * @cpus: CPUs that may be used, or NULL for those of the calling thread
 * @pieces: into which the work can be cut; at least 1
 */
struct hmr_threads hmr_threads_choose(unsigned int asked,
				      unsigned int processes,
				      const cpu_set_t *cpus, size_t pieces);

/**
 * hmr_workers_run() - do tasks 0 to @n - 1 on several threads
 * @threads: how many at most, the caller's among them; in return, how many it
 *	was
 * @cpus: where the threads beside the caller may run; NULL for anywhere that
 *	the caller may
 * @n: how many tasks; each is done at most once, in about their order
 * @fn: does one; 0 or -errno
 * @arg: for @fn
 *
 * After the first failure no further task is begun; those under way are waited
 * for. The caller takes part, so the work is done whether or not threads can be
 * had. Over all calls of the process there are no more than HMR_WORKERS_MAX
 * threads beside the callers.
 *
 * Return: 0, or the error of the first task that failed.
 */
int hmr_workers_run(struct hmr_threads *threads, const cpu_set_t *cpus,
		    size_t n, int (*fn)(void *arg, size_t task), void *arg);

#define HMR_WORKERS_MAX 64

/* In the child of a fork: none of the threads came along. */
void hmr_workers_forked(void);

#endif /* HMR_WORKERS_H */
