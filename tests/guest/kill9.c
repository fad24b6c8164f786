// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A process is killed while it populates and while it registers: afterwards the
 * kernel has everything back. Runs in a guest with 2 CPUs and 192 pages of
 * 2 MiB, as root.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include <infiniband/verbs.h>

#include <hugemr/hugemr.h>

#include "look.h"

#define KIB (1ul << 10)
#define MIB (1ul << 20)
#define LW IBV_ACCESS_LOCAL_WRITE

/* ---- the one that is killed ---- */

#define victim_check(condition)                                                \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, \
				#condition, hmr_last_error()->text);           \
			_exit(1);                                              \
		}                                                              \
	} while (0)

struct plot {
	enum hmr_pages pages;
	size_t length;
	size_t chunk;
};

static void populate(const struct plot *plot)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = plot->pages, .threads = 2);
	struct hmr_buffer *buf;

	victim_check(!hmr_buffer_alloc(plot->length, &opts, &buf));
}

static struct hmr_domain *open_domain(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *contexts[2];
	struct ibv_pd *pds[2];
	struct hmr_domain *dom;
	int i;

	for (i = 0; i < 2; i++) {
		victim_check(list && list[i]);
		contexts[i] = ibv_open_device(list[i]);
		victim_check(contexts[i]);
		pds[i] = ibv_alloc_pd(contexts[i]);
		victim_check(pds[i]);
	}
	victim_check(!hmr_domain_open(pds, 2, NULL, &dom));
	return dom;
}

/* Over and over, so that it is killed while it does one or the other. */
static void register_in_chunks(const struct plot *plot)
{
	HMR_OPTS(hmr_buffer_opts, buffer, .pages = plot->pages);
	HMR_OPTS(hmr_register_opts, opts, .chunk = plot->chunk, .threads = 2);
	struct hmr_domain *dom = open_domain();
	struct hmr_region *region;
	struct hmr_buffer *buf;

	victim_check(!hmr_buffer_alloc(plot->length, &buffer, &buf));
	for (;;) {
		victim_check(!hmr_register(dom, hmr_buffer_addr(buf),
					   plot->length, LW, &opts, &region));
		victim_check(!hmr_deregister(region));
	}
}

/* ---- the one who does it ---- */

static void wait_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static int mrs(void)
{
	int first = look_mrs("rxe0"), second = look_mrs("rxe1");

	assert_true(first >= 0 && second >= 0);
	return first + second;
}

static uint64_t free_pages(void)
{
	return look_number("/sys/kernel/mm/hugepages/hugepages-2048kB/"
			   "free_hugepages");
}

/* What CPUs keep at hand of free pages isn't counted as available. */
#define SLACK (48 * MIB)

/* What the kernel frees in its own time is waited for, but not for long. */
static bool all_is_back(uint64_t available, uint64_t pages)
{
	int tries;

	for (tries = 0; tries < 100; tries++) {
		if (!mrs() && !look_pins() && free_pages() == pages &&
		    look_meminfo("MemAvailable") + SLACK > available)
			return true;
		wait_ms(20);
	}
	print_error("%d MRs, %ld pins, %lu of %lu huge pages, %lu of %lu MiB\n",
		    mrs(), look_pins(), free_pages(), pages,
		    look_meminfo("MemAvailable") / MIB, available / MIB);
	return false;
}

static pid_t start(void (*victim)(const struct plot *), const struct plot *plot)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		victim(plot);
		_exit(0);
	}
	return pid;
}

static void kill9(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* or it had come to its end, or to grief, before */
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void amid_populate(const struct plot *plot)
{
	uint64_t available = look_meminfo("MemAvailable");
	uint64_t pages = free_pages(), part, got;
	pid_t pid;

	for (part = 1; part < 8; part += 3) {
		pid = start(populate, plot);
		do {
			got = look_status(pid, plot->pages == HMR_PAGES_2M ?
						       "HugetlbPages" :
						       "VmRSS");
		} while (got < plot->length / 8 * part);
		kill9(pid);
		print_message("  killed with %lu of %lu MiB there\n", got / MIB,
			      plot->length / MIB);
		assert_true(got < plot->length);
		assert_true(all_is_back(available, pages));
	}
}

static void amid_populate_of_base_pages(void **state)
{
	amid_populate(&(struct plot){ HMR_PAGES_4K, 512 * MIB, 0 });
}

static void amid_populate_of_huge_pages(void **state)
{
	amid_populate(&(struct plot){ HMR_PAGES_2M, 384 * MIB, 0 });
}

/* MRs that a process has: by what it pinned, and not by RDMA netlink, whose
 * list of MRs that come and go wasn't safe in Linux 5.10. */
static int mrs_of(pid_t pid, const struct plot *plot)
{
	return (int)(look_status(pid, "VmPin") / plot->chunk);
}

/* At so many MRs, and then at any time: also while they are undone. */
static void amid_registration(const struct plot *plot)
{
	uint64_t available = look_meminfo("MemAvailable");
	uint64_t pages = free_pages();
	int all = 2 * (int)(plot->length / plot->chunk), at, got;
	pid_t pid;

	for (at = 1; at < 10; at++) {
		pid = start(register_in_chunks, plot);
		do {
			got = mrs_of(pid, plot);
		} while (got < (at < 6 ? all * at / 8 + 1 : 1));
		if (at >= 6)
			wait_ms(7 * at * at % 100);
		got = mrs_of(pid, plot);
		kill9(pid);
		print_message("  killed with %d of %d MRs\n", got, all);
		assert_true(all_is_back(available, pages));
	}
}

static void amid_registration_of_base_pages(void **state)
{
	amid_registration(&(struct plot){ HMR_PAGES_4K, 128 * MIB, 256 * KIB });
}

static void amid_registration_of_huge_pages(void **state)
{
	amid_registration(&(struct plot){ HMR_PAGES_2M, 384 * MIB, 2 * MIB });
}

static void amid_one_large_mr(void **state)
{
	amid_registration(&(struct plot){ HMR_PAGES_4K, 256 * MIB, 256 * MIB });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(amid_populate_of_base_pages),
		cmocka_unit_test(amid_populate_of_huge_pages),
		cmocka_unit_test(amid_registration_of_base_pages),
		cmocka_unit_test(amid_registration_of_huge_pages),
		cmocka_unit_test(amid_one_large_mr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
