// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A limit of one MiB, and no CAP_IPC_LOCK. */
#include <grp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "look.h"
#include "refusals.h"

static struct hmr_region *must_register(struct hmr_domain *d, void *addr,
					size_t length)
{
	struct hmr_region *region;

	assert_fine(hmr_register(d, addr, length, LW, NULL, &region));
	return region;
}

static void memlock(void **state)
{
	char *p = map_anon(2 * MIB, PROT_READ | PROT_WRITE);
	const struct hmr_error *e = hmr_last_error();

	assert_error(try_reg(p, 2 * MIB, LW), -ENOMEM, MEMLOCK,
		     "RLIMIT_MEMLOCK: 2 MiB to pin and 0 bytes pinned already, "
		     "but the limit is 1 MiB");
	assert_string_equal(e->device, "rxe0");
	assert_int_equal(e->need, 2 * MIB);
	assert_int_equal(e->have, 1 * MIB);
	assert_non_null(strstr(e->text, "CAP_IPC_LOCK is missing"));
	assert_non_null(strstr(e->text, "ulimit -l 2048"));
	/* A byte too many is a page too many. */
	assert_fine(try_reg(p, 1 * MIB, LW));
	assert_error(try_reg(p + 1, 1 * MIB, LW), -ENOMEM, MEMLOCK, "ulimit");
	assert_int_equal(e->need, 1 * MIB + PAGE);
	munmap(p, 2 * MIB);
}

static void memlock_with_bytes_pinned_already(void **state)
{
	char *p = map_anon(2 * MIB, PROT_READ | PROT_WRITE);
	const struct hmr_error *e = hmr_last_error();
	struct hmr_region *first = must_register(dom, p, 768 * KIB), *second;

	assert_int_equal(pinned(), 768 * KIB);
	assert_error(hmr_register(dom, p + MIB, 512 * KIB, LW, NULL, &second),
		     -ENOMEM, MEMLOCK,
		     "512 KiB to pin and 768 KiB pinned already");
	assert_int_equal(e->need, 1280 * KIB);
	assert_int_equal(pinned(), 768 * KIB);
	/* The same pages count again. */
	assert_error(hmr_register(dom, p, 512 * KIB, LW, NULL, &second),
		     -ENOMEM, MEMLOCK, "768 KiB pinned already");
	second = must_register(dom, p + MIB, 256 * KIB);
	assert_int_equal(pinned(), 1 * MIB);
	assert_int_equal(hmr_deregister(second), 0);
	assert_int_equal(hmr_deregister(first), 0);
	munmap(p, 2 * MIB);
}

/* The second device is refused what the first got: both are without it. */
static void memlock_on_two_devices(void **state)
{
	char *p = map_anon(2 * MIB, PROT_READ | PROT_WRITE);
	const struct hmr_error *e = hmr_last_error();
	struct hmr_region *region;

	assert_error(try_on(both, p, 640 * KIB, LW), -ENOMEM, MEMLOCK,
		     "640 KiB to pin on each of 2 PDs and 0 bytes pinned");
	assert_string_equal(e->device, "rxe1");
	assert_int_equal(e->need, 1280 * KIB);
	assert_int_equal(e->have, 1 * MIB);
	region = must_register(both, p, 512 * KIB);
	assert_int_equal(look_mrs("rxe0"), 1);
	assert_int_equal(look_mrs("rxe1"), 1);
	assert_int_equal(pinned(), 1 * MIB);
	assert_int_equal(hmr_deregister(region), 0);
	munmap(p, 2 * MIB);
}

/* Of five chunks on two devices, whichever doesn't fit any more. */
static void memlock_amid_chunks(void **state)
{
	HMR_OPTS(hmr_register_opts, opts, .chunk = 128 * KIB, .threads = 4);
	char *p = map_anon(2 * MIB, PROT_READ | PROT_WRITE);
	struct hmr_region *region;

	assert_error(hmr_register(both, p + 1, 640 * KIB - 1, LW, &opts,
				  &region),
		     -ENOMEM, MEMLOCK, "640 KiB to pin on each of 2 PDs");
	assert_nothing_is_left();
	munmap(p, 2 * MIB);
}

static void plan_knows_the_limit(void **state)
{
	HMR_OPTS(hmr_plan_opts, opts, .access = LW);
	HMR_RESULT(hmr_plan, plan);
	unsigned int i, found = 0;

	assert_int_equal(hmr_plan(both, 640 * KIB, &opts, &plan), 0);
	assert_int_equal(plan.verdict, HMR_VERDICT_FAIL);
	for (i = 0; i < plan.n; i++) {
		if (plan.checks[i].cause != HMR_CAUSE_MEMLOCK)
			continue;
		found++;
		assert_int_equal(plan.checks[i].verdict, HMR_VERDICT_FAIL);
		assert_int_equal(plan.checks[i].need, 1280 * KIB);
		assert_int_equal(plan.checks[i].have, 1 * MIB);
	}
	assert_int_equal(found, 1);
}

int unprivileged(void)
{
	const struct rlimit limit = { 1 * MIB, 1 * MIB };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memlock),
		cmocka_unit_test(memlock_with_bytes_pinned_already),
		cmocka_unit_test(memlock_on_two_devices),
		cmocka_unit_test(memlock_amid_chunks),
		cmocka_unit_test(plan_knows_the_limit),
		cmocka_unit_test(nothing_is_left),
	};

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgroups(0, NULL) ||
	    setgid(65534) || setuid(65534))
		return 1;
	return cmocka_run_group_tests(tests, open_devices, close_devices);
}

/* Privileges don't come back, so that is another process. */
void without_privileges(void **state)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		execl("/proc/self/exe", "refusals", "unprivileged", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
