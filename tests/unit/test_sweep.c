// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * For each public call: let the first allocation in it fail, then the second,
 * and so on until none is left to fail; the same with system calls, and with
 * verbs. Whatever fails, nothing may be left behind and no result touched. Some
 * failures are no reason to fail: then the call succeeds by another way, and
 * what it made is undone again.
 *
 * How often something could be made to fail is printed for each call. It is 0
 * where a call does nothing that can, and a call that ought to isn't covered
 * if it is.
 */
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test_sweep.h"

/* ---- what is left behind ----
 *
 * There are two threads at most: libc keeps the stacks of those that are done,
 * and so it is one.
 */

struct held {
	int mrs;
	unsigned int mappings;
	unsigned int fds;
	size_t heap;
};

/* Sanitizers map and allocate as they go; theirs is another way to find leaks,
 * at the end of the program. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OTHERS_ALLOCATE true
#else
#define OTHERS_ALLOCATE false
#endif

static unsigned int count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	int c;

	assert_non_null(f);
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static struct held look(void)
{
	struct held held = { .mrs = fake_live_mrs(), .fds = count_fds() };

	if (!OTHERS_ALLOCATE) {
		held.mappings = count_mappings();
		held.heap = mallinfo2().uordblks;
	}
	return held;
}

static void check_held(const char *name, enum kind kind, unsigned int nth,
		       const struct held *before)
{
	static const char *const kinds[] = { "allocation", "system call",
					     "verb" };
	struct held now = look();

	if (now.mrs == before->mrs && now.mappings == before->mappings &&
	    now.fds == before->fds && now.heap == before->heap)
		return;
	fail_msg("%s leaks when %s %u fails: %d MRs, %d mappings, "
		 "%d descriptors, %ld bytes",
		 name, kinds[kind], nth, now.mrs - before->mrs,
		 (int)(now.mappings - before->mappings),
		 (int)(now.fds - before->fds), (long)(now.heap - before->heap));
}

/* ---- the sweep ---- */

struct count {
	const char *name;
	unsigned int points[KINDS];
	unsigned int failures;
};

static struct count counts[64];
static unsigned int n_counts;

static struct count *count_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < n_counts; i++)
		if (!strcmp(counts[i].name, name))
			return &counts[i];
	counts[n_counts].name = name;
	return &counts[n_counts++];
}

static void sweep_kind(const char *name, int (*run)(void), enum kind kind,
		       int usual)
{
	struct count *count = count_of(name);
	struct held before = look();
	unsigned int n;
	int ret;

	for (n = 1;; n++) {
		fail_nth(kind, n);
		ret = run();
		check_held(name, kind, n, &before);
		if (!has_failed())
			break;
		count->points[kind]++;
		count->failures += ret < 0;
	}
	assert_int_equal(ret, usual);
}

void sweep(const char *name, int (*run)(void))
{
	int kind, usual;

	/* Whatever is made at a first use is made now. */
	fail_nth(KINDS, 0);
	usual = run();
	assert_int_equal(run(), usual);
	for (kind = 0; kind < KINDS; kind++)
		sweep_kind(name, run, kind, usual);
}

/* ---- what calls are made with ---- */

struct ibv_pd *pds[2] = { &fake_pds[0], &fake_pds[1] };

struct hmr_domain *open_domain(void)
{
	struct hmr_domain *dom;

	assert_int_equal(hmr_domain_open(pds, 2, NULL, &dom), 0);
	return dom;
}

char *map_memory(void)
{
	char *p = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

/* ---- the rest ---- */

static int reg_mr_call(void)
{
	static char page[PAGE];
	struct ibv_mr *mr;
	int err;

	arm();
	mr = hmr_reg_mr(pds[0], page, PAGE, LW);
	err = errno;
	disarm();
	if (mr)
		assert_int_equal(hmr_dereg_mr(mr), 0);
	return mr ? 0 : -err;
}

static int reg_mr_refused(void)
{
	int ret;

	refuse_at = 1;
	ret = reg_mr_call();
	refuse_at = 0;
	assert_true(ret < 0);
	return ret;
}

static int dereg_mr_call(void)
{
	static char page[PAGE];
	struct ibv_mr *mr = hmr_reg_mr(pds[0], page, PAGE, LW);
	int ret;

	assert_non_null(mr);
	arm();
	ret = hmr_dereg_mr(mr);
	disarm();
	if (ret)
		assert_int_equal(hmr_dereg_mr(mr), 0);
	return -ret;
}

static int plan(void)
{
	HMR_OPTS(hmr_plan_opts, opts, .access = LW, .pages = HMR_PAGES_2M);
	struct hmr_domain *dom = open_domain();
	HMR_RESULT(hmr_plan, p);
	int ret;

	p.n = 0x1234;
	arm();
	ret = hmr_plan(dom, LENGTH, &opts, &p);
	disarm();
	if (ret)
		assert_int_equal(p.n, 0x1234);
	else
		assert_in_range(p.n, 1, HMR_PLAN_CHECKS);
	assert_int_equal(hmr_domain_close(dom), 0);
	return ret;
}

static int info(void)
{
	HMR_RESULT(hmr_info, i);
	int ret;

	arm();
	ret = hmr_info(&i);
	disarm();
	return ret;
}

static void take_message(enum hmr_log_level level, const char *text, void *arg)
{
}

static int others(void)
{
	int ret;

	arm();
	ret = hmr_set_log(take_message, NULL, HMR_LOG_DEBUG);
	hmr_last_error();
	hmr_version();
	hmr_cause_name(HMR_CAUSE_POOL);
	disarm();
	return ret;
}

static void the_rest(void **state)
{
	sweep("hmr_reg_mr", reg_mr_call);
	sweep("hmr_reg_mr", reg_mr_refused);
	sweep("hmr_dereg_mr", dereg_mr_call);
	sweep("hmr_plan", plan);
	sweep("hmr_info", info);
	sweep("hmr_set_log and its like", others);
}

/* ---- the table ---- */

static bool calls_nothing_that_fails(const char *name)
{
	static const char *const names[] = {
		"hmr_domain_close",
		"hmr_buffer_free",
		"hmr_buffer_addr and its like",
		"hmr_sges, hmr_keys and their like",
		"hmr_set_log and its like",
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void every_call_was_made_to_fail(void **state)
{
	const struct count *c;
	unsigned int all;

	printf("%-34s %11s %12s %5s %8s\n", "made to fail", "allocations",
	       "system calls", "verbs", "failures");
	for (c = counts; c < counts + n_counts; c++)
		printf("%-34s %11u %12u %5u %8u\n", c->name,
		       c->points[ALLOCATION], c->points[SYSTEM_CALL],
		       c->points[VERB], c->failures);
	for (c = counts; c < counts + n_counts; c++) {
		all = c->points[ALLOCATION] + c->points[SYSTEM_CALL] +
		      c->points[VERB];
		if (calls_nothing_that_fails(c->name))
			assert_int_equal(all, 0);
		else
			assert_true(all > 0);
	}
	assert_int_equal(n_counts, 19);
}

/* The thread's cache of malloc() would count as in use. */
static void without_cache(char **argv)
{
	const char *tunables = "glibc.malloc.tcache_count=0";
	const char *now = getenv("GLIBC_TUNABLES");

	if (OTHERS_ALLOCATE || (now && !strcmp(now, tunables)))
		return;
	setenv("GLIBC_TUNABLES", tunables, 1);
	execv("/proc/self/exe", argv);
	perror("/proc/self/exe");
	exit(1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(domains, sweep_setup),
		cmocka_unit_test_setup(buffers, sweep_setup),
		cmocka_unit_test_setup(memory, sweep_setup),
		cmocka_unit_test_setup(regions, sweep_setup),
		cmocka_unit_test_setup(the_rest, sweep_setup),
		cmocka_unit_test(every_call_was_made_to_fail),
	};

	without_cache(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
