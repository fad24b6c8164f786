// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The threads that long calls work with. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_verbs.h"
#include "fork.h"
#include "numa.h"
#include "workers.h"

#define TASKS 1000

struct record {
	atomic_uint done[TASKS];
	atomic_uint at_once;
	atomic_uint most;
	size_t fail;
};

static int note(void *arg, size_t task)
{
	struct record *r = arg;
	unsigned int now = atomic_fetch_add(&r->at_once, 1) + 1;
	unsigned int most = atomic_load(&r->most);

	while (now > most &&
	       !atomic_compare_exchange_weak(&r->most, &most, now))
		;
	atomic_fetch_add(&r->done[task], 1);
	atomic_fetch_sub(&r->at_once, 1);
	return task == r->fail ? -EIO : 0;
}

static void each_task_is_done_once(void **state)
{
	const unsigned int threads[] = { 1, 2, 7, 65, 200 };
	unsigned int i, j;

	for (i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		struct record r = { .fail = TASKS };
		struct hmr_threads t = { threads[i], HMR_THREADS_ASKED };

		assert_int_equal(hmr_workers_run(&t, NULL, TASKS, note, &r), 0);
		for (j = 0; j < TASKS; j++)
			assert_int_equal(r.done[j], 1);
		assert_true(r.most <= t.n);
		assert_true(t.n <= HMR_WORKERS_MAX + 1);
		assert_int_equal(t.why, threads[i] > HMR_WORKERS_MAX + 1 ?
						HMR_THREADS_LIMIT :
						HMR_THREADS_ASKED);
	}
}

static void the_first_failure_ends_it(void **state)
{
	struct record r = { .fail = 10 };
	struct hmr_threads t = { 1, HMR_THREADS_ASKED };
	unsigned int i;

	assert_int_equal(hmr_workers_run(&t, NULL, TASKS, note, &r), -EIO);
	for (i = 0; i < TASKS; i++)
		assert_int_equal(r.done[i], i <= 10);

	r = (struct record){ .fail = 10 };
	t.n = 4;
	assert_int_equal(hmr_workers_run(&t, NULL, TASKS, note, &r), -EIO);
}

static void no_tasks(void **state)
{
	struct hmr_threads t = { 4, HMR_THREADS_ASKED };
	struct record r = { .fail = TASKS };

	assert_int_equal(hmr_workers_run(&t, NULL, 0, note, &r), 0);
}

static int check_signals(void *arg, size_t task)
{
	pthread_t *caller = arg;
	sigset_t set;

	pthread_sigmask(SIG_SETMASK, NULL, &set);
	if (pthread_equal(*caller, pthread_self()))
		return sigismember(&set, SIGUSR1) ? -EIO : 0;
	return sigismember(&set, SIGUSR1) ? 0 : -EIO;
}

static void workers_take_no_signals(void **state)
{
	struct hmr_threads t = { 4, HMR_THREADS_ASKED };
	pthread_t self = pthread_self();

	assert_int_equal(hmr_workers_run(&t, NULL, 200, check_signals, &self),
			 0);
}

static int check_cpu(void *arg, size_t task)
{
	cpu_set_t own;

	if (pthread_equal(*(pthread_t *)arg, pthread_self()))
		return 0;
	sched_getaffinity(0, sizeof(own), &own);
	return CPU_COUNT(&own) == 1 ? 0 : -EIO;
}

static void workers_run_where_they_are_told(void **state)
{
	struct hmr_threads t = { 3, HMR_THREADS_ASKED };
	pthread_t self = pthread_self();
	cpu_set_t own, one;
	int cpu;

	assert_int_equal(sched_getaffinity(0, sizeof(own), &own), 0);
	for (cpu = 0; !CPU_ISSET(cpu, &own); cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(hmr_workers_run(&t, &one, 200, check_cpu, &self), 0);
}

static void choice(unsigned int asked, unsigned int processes,
		   const cpu_set_t *cpus, size_t pieces, unsigned int n,
		   enum hmr_threads_why why)
{
	struct hmr_threads t =
		hmr_threads_choose(asked, processes, cpus, pieces);

	assert_int_equal(t.n, n);
	assert_int_equal(t.why, why);
}

static void how_many_and_why(void **state)
{
	cpu_set_t cpus, own, one;
	int i, cpu;

	CPU_ZERO(&cpus);
	for (i = 0; i < 8; i++)
		CPU_SET(i, &cpus);
	choice(3, 0, &cpus, 100, 3, HMR_THREADS_ASKED);
	choice(100, 0, &cpus, 100, 100, HMR_THREADS_ASKED);
	choice(3, 4, &cpus, 100, 3, HMR_THREADS_ASKED);
	choice(0, 0, &cpus, 100, 8, HMR_THREADS_CPUS);
	choice(0, 1, &cpus, 100, 8, HMR_THREADS_CPUS);
	choice(0, 4, &cpus, 100, 2, HMR_THREADS_PROCESSES);
	choice(0, 100, &cpus, 100, 1, HMR_THREADS_PROCESSES);
	choice(0, 0, &cpus, 5, 5, HMR_THREADS_WORK);
	choice(7, 0, &cpus, 1, 1, HMR_THREADS_WORK);

	/* This thread's own CPUs count where none are named. */
	assert_int_equal(sched_getaffinity(0, sizeof(own), &own), 0);
	choice(0, 0, NULL, 1000000, (unsigned int)CPU_COUNT(&own),
	       HMR_THREADS_CPUS);
	for (cpu = 0; !CPU_ISSET(cpu, &own); cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	choice(0, 0, NULL, 1000000, 1, HMR_THREADS_CPUS);
	assert_int_equal(sched_setaffinity(0, sizeof(own), &own), 0);
}

struct many {
	pthread_barrier_t *together;
	atomic_uint extra;
};

static int wait_a_little(void *arg, size_t task)
{
	usleep(1000);
	return 0;
}

static void *run_many(void *arg)
{
	struct many *m = arg;
	struct hmr_threads t = { 33, HMR_THREADS_ASKED };

	pthread_barrier_wait(m->together);
	hmr_workers_run(&t, NULL, 330, wait_a_little, NULL);
	atomic_fetch_add(&m->extra, t.n - 1);
	return NULL;
}

/* Eight calls that want 32 threads each have to share 64. */
static void calls_share_a_limit(void **state)
{
	pthread_barrier_t together;
	struct many m = { .together = &together };
	struct hmr_threads t = { HMR_WORKERS_MAX + 1, HMR_THREADS_ASKED };
	pthread_t threads[8];
	int i;

	pthread_barrier_init(&together, NULL, 8);
	for (i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, run_many, &m);
	for (i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&together);
	assert_true(m.extra < 8 * 32);
	/* All of them are back. */
	hmr_workers_run(&t, NULL, 1000, wait_a_little, NULL);
	assert_int_equal(t.n, HMR_WORKERS_MAX + 1);
}

static int fork_here(void *arg, size_t task)
{
	struct hmr_threads t = { 3, HMR_THREADS_ASKED };
	struct record r = { .fail = TASKS };
	int status;
	pid_t pid;

	if (task)
		return 0;
	pid = fork();
	if (!pid)
		_exit(hmr_workers_run(&t, NULL, TASKS, note, &r) ||
		      t.why != HMR_THREADS_ASKED);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -EIO;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

static void a_child_has_workers_of_its_own(void **state)
{
	struct hmr_threads t = { HMR_WORKERS_MAX + 1, HMR_THREADS_ASKED };

#ifdef __SANITIZE_THREAD__
	skip(); /* it has no threads for the child of several threads */
#endif
	hmr_fork_generation();
	assert_int_equal(hmr_workers_run(&t, NULL, 200, fork_here, NULL), 0);
}

static void cpu_lists(void **state)
{
	cpu_set_t cpus;

	assert_true(hmr_parse_cpulist("0-3,8,10-11\n", &cpus));
	assert_int_equal(CPU_COUNT(&cpus), 7);
	assert_true(CPU_ISSET(8, &cpus) && CPU_ISSET(11, &cpus));
	assert_false(CPU_ISSET(9, &cpus));
	assert_true(hmr_parse_cpulist("\n", &cpus));
	assert_int_equal(CPU_COUNT(&cpus), 0);
	assert_true(hmr_parse_cpulist("1000-999999999", &cpus));
	assert_int_equal(CPU_COUNT(&cpus), 24);
	assert_true(hmr_parse_cpulist("3-1", &cpus));
	assert_int_equal(CPU_COUNT(&cpus), 0);
	assert_false(hmr_parse_cpulist("0-", &cpus));
	assert_false(hmr_parse_cpulist("0-3 x", &cpus));
	assert_false(hmr_parse_cpulist("x", &cpus));
}

static void cpus_near_memory(void **state)
{
	char here = 0;
	cpu_set_t cpus, own;

	/* Where the host tells, they are some of our own. */
	if (!hmr_numa_cpus(&here, &cpus))
		return;
	sched_getaffinity(0, sizeof(own), &own);
	CPU_AND(&own, &own, &cpus);
	assert_true(CPU_EQUAL(&own, &cpus));
	assert_true(CPU_COUNT(&cpus) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_is_done_once),
		cmocka_unit_test(the_first_failure_ends_it),
		cmocka_unit_test(no_tasks),
		cmocka_unit_test(workers_take_no_signals),
		cmocka_unit_test(workers_run_where_they_are_told),
		cmocka_unit_test(how_many_and_why),
		cmocka_unit_test(calls_share_a_limit),
		cmocka_unit_test(a_child_has_workers_of_its_own),
		cmocka_unit_test(cpu_lists),
		cmocka_unit_test(cpus_near_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
