// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Threads for calls that take long. They live as long as the call: what is
 * spread over them takes milliseconds at least, a thread takes microseconds to
 * make, and an application has no idle threads of ours to find, to fork with or
 * to wait for at exit. What is bounded is how many there are at once in the
 * process, whoever calls.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "workers.h"

/* Enough for the calls that tasks make, and little for the address space. */
#define STACK_SIZE (256 * HMR_KIB)

static atomic_uint busy;

/* Relaxed: this counts threads, and orders nothing. */
static bool take_slot(void)
{
	unsigned int n = atomic_load_explicit(&busy, memory_order_relaxed);

	do {
		if (n >= HMR_WORKERS_MAX)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&busy, &n, n + 1, memory_order_relaxed, memory_order_relaxed));
	return true;
}

static void give_slot(void)
{
	atomic_fetch_sub_explicit(&busy, 1, memory_order_relaxed);
}

void hmr_workers_forked(void)
{
	atomic_store(&busy, 0);
}

struct job {
	int (*fn)(void *arg, size_t task);
	void *arg;
	size_t n;
	/* Relaxed: handing out numbers orders nothing; the caller sees what
	 * tasks wrote because it joins the threads. */
	atomic_size_t next;
	/* the first failure; nonzero ends the job */
	atomic_int err;
};

static void *work(void *arg)
{
	struct job *job = arg;
	int none, ret;
	size_t task;

	while (!atomic_load_explicit(&job->err, memory_order_relaxed)) {
		task = atomic_fetch_add_explicit(&job->next, 1,
						 memory_order_relaxed);
		if (task >= job->n)
			break;
		ret = job->fn(job->arg, task);
		none = 0;
		if (ret)
			atomic_compare_exchange_strong(&job->err, &none, ret);
	}
	return NULL;
}

static int start(pthread_t *thread, const cpu_set_t *cpus, struct job *job)
{
	pthread_attr_t attr;
	int ret;

	ret = pthread_attr_init(&attr);
	if (ret)
		return -ret;
	ret = pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (!ret && cpus)
		ret = pthread_attr_setaffinity_np(&attr, sizeof(*cpus), cpus);
	if (!ret)
		ret = pthread_create(thread, &attr, work, job);
	pthread_attr_destroy(&attr);
	return -ret;
}

/* Start up to @want threads; how many it became. They take no signals: the
 * application's handlers belong on the application's threads. */
static unsigned int start_all(pthread_t *threads, unsigned int want,
			      const cpu_set_t *cpus, struct job *job)
{
	sigset_t all, before;
	unsigned int i;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (i = 0; i < want && take_slot(); i++) {
		if (start(&threads[i], cpus, job)) {
			give_slot();
			break;
		}
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return i;
}

int hmr_workers_run(struct hmr_threads *threads, const cpu_set_t *cpus,
		    size_t n, int (*fn)(void *arg, size_t task), void *arg)
{
	struct job job = { .fn = fn, .arg = arg, .n = n };
	pthread_t others[HMR_WORKERS_MAX];
	unsigned int want = threads->n - 1, i;

	if (want > HMR_WORKERS_MAX)
		want = HMR_WORKERS_MAX;
	want = start_all(others, want, cpus, &job);
	if (want + 1 < threads->n)
		*threads = (struct hmr_threads){ want + 1, HMR_THREADS_LIMIT };
	work(&job);
	for (i = 0; i < want; i++) {
		pthread_join(others[i], NULL);
		give_slot();
	}
	return atomic_load(&job.err);
}

static unsigned int count_cpus(const cpu_set_t *cpus)
{
	cpu_set_t own;

	if (!cpus) {
		/* Fails where the host has more CPUs than the set has bits. */
		if (sched_getaffinity(0, sizeof(own), &own))
			return CPU_SETSIZE;
		cpus = &own;
	}
	return (unsigned int)CPU_COUNT(cpus);
}

struct hmr_threads hmr_threads_choose(unsigned int asked,
				      unsigned int processes,
				      const cpu_set_t *cpus, size_t pieces)
{
	struct hmr_threads t = { asked, HMR_THREADS_ASKED };

	if (!asked) {
		t = (struct hmr_threads){ count_cpus(cpus), HMR_THREADS_CPUS };
		if (processes > 1) {
			t.n /= processes;
			t.why = HMR_THREADS_PROCESSES;
		}
		if (!t.n)
			t.n = 1;
	}
	if (t.n > pieces)
		t = (struct hmr_threads){ (unsigned int)pieces,
					  HMR_THREADS_WORK };
	return t;
}
