// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The child of a fork gets copies of our locks in whatever state they were and
 * none of our threads. It starts anew: no lock that it inherited is touched,
 * and what it inherited is only ever recognized as foreign.
 */
#include <pthread.h>

#include "fork.h"
#include "log.h"
#include "ranges.h"
#include "workers.h"

atomic_uint hmr_generation = 1;

static void in_child(void)
{
	atomic_fetch_add_explicit(&hmr_generation, 1, memory_order_relaxed);
	hmr_log_forked();
	hmr_ranges_forked();
	hmr_workers_forked();
}

static void arrange(void)
{
	/* Fails only for lack of memory, and then nobody can be told. */
	if (pthread_atfork(NULL, NULL, in_child))
		hmr_log(HMR_LOG_WARN, "no memory to be told of forks");
}

unsigned int hmr_fork_generation(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, arrange);
	return atomic_load_explicit(&hmr_generation, memory_order_relaxed);
}

int hmr_foreign(const char *op)
{
	return hmr_fail(&(struct hmr_error){ .op = op,
					     .err = -EOWNERDEAD,
					     .cause = HMR_CAUSE_FORKED },
			"this object belongs to the parent process: a child "
			"makes its own");
}
