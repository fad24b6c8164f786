// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Registering and deregistering while the kernel runs out of memory: at each of
 * its allocations once, and at any of them by chance. Whatever fails leaves
 * nothing behind. Runs in a guest of a kernel with kernel/debug.config, as
 * root, with 2 GiB and 64 pages of 2 MiB; 77 on others.
 */
#include <fcntl.h>
#include <sys/syscall.h>

#include "pins.h"

#include "look.h"

#define DEBUG "/sys/kernel/debug/"
#define KMEMLEAK DEBUG "kmemleak"
/* Pages of both sides of 2 MiB, and more than one table of pages */
#define OFFSET (HUGE - 2 * PAGE)
#define SIZE (HUGE + 5 * PAGE)
/* No registration allocates as often. */
#define MAX_NTH 5000

static int nth_fd;

/* The nth allocation from now on fails; 0: none does. */
static void fail_nth(int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", n);

	assert_int_equal(pwrite(nth_fd, text, (size_t)length, 0), length);
}

/* Has it? */
static bool has_failed(void)
{
	char text[16] = "";

	assert_true(pread(nth_fd, text, sizeof(text) - 1, 0) > 0);
	return atoi(text) == 0;
}

static void set(const char *which, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), DEBUG "%s/%s", which, name);
	if (look_write(path, value))
		fail_msg("%s can't be written", path);
}

static void set_both(const char *name, const char *value)
{
	set("failslab", name, value);
	set("fail_page_alloc", name, value);
}

/* Also allocations that may sleep, of single pages, and of pages for the user;
 * and no word of each. */
static int open_faults(void **state)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth",
		 syscall(SYS_gettid));
	nth_fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(nth_fd >= 0);
	set_both("ignore-gfp-wait", "N");
	set_both("verbose", "0");
	set("fail_page_alloc", "ignore-gfp-highmem", "N");
	set("fail_page_alloc", "min-order", "0");
	/* what was lost before */
	look_write(KMEMLEAK, "clear");
	return pins_open_device(state);
}

/* ---- each ---- */

struct counts {
	int64_t pins;
	uint64_t vmpin;
	int mrs;
};

static struct counts count(void)
{
	return (struct counts){ look_pins(), look_status(getpid(), "VmPin"),
				look_mrs("rxe0") };
}

static void assert_nothing_left(const struct counts *before, int n)
{
	struct counts now = count();

	if (now.pins != before->pins || now.vmpin != before->vmpin ||
	    now.mrs != before->mrs)
		fail_msg("after failure %d: %lld pins, VmPin %llu, %d MRs; "
			 "before: %lld, %llu, %d",
			 n, (long long)now.pins, (unsigned long long)now.vmpin,
			 now.mrs, (long long)before->pins,
			 (unsigned long long)before->vmpin, before->mrs);
}

static bool is_expected(int err)
{
	return err == ENOMEM || err == EFAULT || err == EAGAIN;
}

/* How many of the allocations of a registration have failed, until there is
 * none any more */
static int sweep_register(char *p, size_t length, int access)
{
	struct counts before = count();
	int n, err, refused = 0;
	struct ibv_mr *mr;
	bool failed;

	for (n = 1; n < MAX_NTH; n++) {
		fail_nth(n);
		mr = pins_try(p, length, access);
		err = errno;
		failed = has_failed();
		fail_nth(0);
		if (!mr && (!failed || !is_expected(err)))
			fail_msg("allocation %d %s: %s", n,
				 failed ? "failed" : "didn't fail",
				 strerror(err));
		refused += !mr;
		/* Without some it does. */
		if (mr)
			pins_deregister(mr);
		assert_nothing_left(&before, n);
		if (!failed)
			break;
	}
	print_message("  of %d allocations, without %d it can't be done\n",
		      n - 1, refused);
	assert_in_range(n, 2, MAX_NTH - 1);
	assert_true(refused > 0);
	return n - 1;
}

static void each_of_register(void **state)
{
	char *p = pins_map(*state);

	sweep_register(p, 9, ALL);
	pins_accepted(p, HUGE);
	sweep_register(p + OFFSET, SIZE, ALL);
	pins_accepted(p + OFFSET, SIZE);
	sweep_register(p + OFFSET, SIZE, RR);
	pins_accepted(p + OFFSET, SIZE);
	munmap(p, LENGTH);
}

/* With a child the pages for reading must be copied first. */
static void each_with_a_child(void **state)
{
	char *p = pins_map(*state), *want = malloc(LENGTH);
	struct pins_child child;

	assert_non_null(want);
	pins_fill(p, LENGTH, 1);
	memcpy(want, p, LENGTH);
	child = pins_fork(p, want, LENGTH);
	sweep_register(p + OFFSET, 9 * PAGE, RR);
	sweep_register(p, 9 * PAGE, ALL);
	assert_memory_equal(p, want, LENGTH);
	pins_let_go(child);
	pins_accepted(p, LENGTH);
	munmap(p, LENGTH);
	free(want);
}

/* What fails to go, stays, and goes the next time. */
static void each_of_deregister(void **state)
{
	char *p = pins_map(*state);
	struct counts before = count();
	struct ibv_mr *mr;
	int n, ret, again = 0;
	bool failed;

	for (n = 1; n < MAX_NTH; n++) {
		mr = pins_register(p + OFFSET, SIZE, ALL);
		fail_nth(n);
		ret = ibv_dereg_mr(mr);
		failed = has_failed();
		fail_nth(0);
		assert_true(!ret || failed);
		if (ret) {
			again++;
			pins_deregister(mr);
		}
		assert_nothing_left(&before, n);
		if (!failed)
			break;
	}
	print_message("  of %d allocations, %d were needed\n", n - 1, again);
	assert_in_range(n, 1, MAX_NTH - 1);
	pins_accepted(p + OFFSET, SIZE);
	munmap(p, LENGTH);
}

/* ---- any ---- */

/* One in 20, of this task, while it registers */
static void any(void **state)
{
	static const char self[] = "/proc/self/make-it-fail";
	char *p = pins_map(*state);
	struct counts before = count();
	int i, refused = 0, err;
	struct ibv_mr *mr;

	set_both("task-filter", "Y");
	set_both("interval", "1");
	set_both("times", "1000000000");
	set_both("probability", "5");
	for (i = 0; i < 100; i++) {
		assert_int_equal(look_write(self, "1"), 0);
		mr = pins_try(p + OFFSET, SIZE, i % 2 ? RR : ALL);
		err = errno;
		while (look_write(self, "0"))
			;
		if (mr)
			pins_deregister(mr);
		else if (!is_expected(err))
			fail_msg("%s", strerror(err));
		refused += !mr;
	}
	set_both("probability", "0");
	set_both("task-filter", "N");
	print_message("  %d of %d failed\n", refused, i);
	assert_true(refused > 0);
	assert_nothing_left(&before, i);
	pins_accepted(p + OFFSET, SIZE);
	munmap(p, LENGTH);
}

/* ---- memory of the kernel's own ---- */

/* It takes two scans to believe that nobody knows of an object, and one of the
 * last seconds it passes over. */
static void no_memory_is_lost(void **state)
{
	char line[256];
	bool lost = false;
	FILE *f;

	if (look_write(KMEMLEAK, "scan") || look_write(KMEMLEAK, "scan")) {
		print_message("  no kmemleak\n");
		skip();
	}
	f = fopen(KMEMLEAK, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		print_error("%s", line);
		lost = true;
	}
	fclose(f);
	assert_false(lost);
}

/* ---- kinds ---- */

static struct CMUnitTest tests[64];
static size_t n_tests;

static void add(const char *what, CMUnitTestFunction run,
		const struct pins_kind *kind)
{
	char *name;

	if (asprintf(&name, "%s: %s", what, kind ? kind->name : "all") < 0 ||
	    n_tests == sizeof(tests) / sizeof(*tests))
		abort();
	tests[n_tests++] = (struct CMUnitTest){
		.name = name,
		.test_func = run,
		.setup_func = pins_setup,
		.teardown_func = pins_teardown,
		.initial_state = (void *)(uintptr_t)kind,
	};
}

int main(int argc, char **argv)
{
	const struct pins_kind *kind = pins_kinds;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (access("/proc/self/fail-nth", F_OK) ||
	    access(DEBUG "failslab", F_OK) ||
	    access(DEBUG "fail_page_alloc", F_OK)) {
		printf("no FAULT_INJECTION, FAILSLAB or FAIL_PAGE_ALLOC in "
		       "this kernel\n");
		return 77;
	}
	for (; kind < pins_kinds + pins_n_kinds; kind++) {
		add("each of register", each_of_register, kind);
		add("each of deregister", each_of_deregister, kind);
		add("any", any, kind);
		if (kind->flags & PINS_PRIVATE && !(kind->flags & PINS_HUGETLB))
			add("each with a child", each_with_a_child, kind);
	}
	add("no memory is lost", no_memory_is_lost, NULL);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return _cmocka_run_group_tests("faults", tests, n_tests, open_faults,
				       pins_close_device);
}
