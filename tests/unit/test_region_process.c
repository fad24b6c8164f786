// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Regions and their process: its memory, its children, threads, and allocations
 * that fail. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_region.h"
#include "verbs_ops.h"
#include "vma.h"

/* ---- forks ---- */

/* A smaps in which 8 MiB at @p are hugetlb pages of 2 MiB. */
static void pretend_hugetlb(const char *p, const char *flags)
{
	FILE *f = fopen("region.smaps", "w");

	assert_non_null(f);
	fprintf(f,
		"%lx-%lx rw-p 00000000 00:0f 1 /anon_hugepage (deleted)\n"
		"KernelPageSize:     2048 kB\nVmFlags: rd wr ht %s\n",
		(unsigned long)p, (unsigned long)p + 8 * MIB, flags);
	fclose(f);
	hmr_smaps_path = hmr_maps_path = "region.smaps";
	hmr_vma_no_query = true;
}

static void real_maps(void)
{
	hmr_smaps_path = "/proc/self/smaps";
	hmr_maps_path = "/proc/self/maps";
	hmr_vma_no_query = false;
	unlink("region.smaps");
}

static void odd_hugetlb_is_refused_after_ibv_fork_init(void **state)
{
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_UNTOUCHED);
	struct hmr_domain *dom = open_domain(1);
	char *p = reserve(8 * MIB);
	struct hmr_region *region;
	unsigned int i;

	pretend_hugetlb(p, "");
	fake_forks = IBV_FORK_ENABLED;
	/* No verb is called for what must fail. */
	fake_script((const struct fake_step[]){ { FAKE_END } });
	assert_int_equal(hmr_register(dom, p + 4096, 4 * MIB, LW, &opts,
				      &region),
			 -EINVAL);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_FORK_ALIGN);
	assert_int_equal(hmr_register(dom, p, 3 * MIB, LW, &opts, &region),
			 -EINVAL);
	for (i = 0; i < 3; i++) {
		FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_DEREG_MR });
		if (i == 1) /* children don't get it anyway */
			pretend_hugetlb(p, "dc");
		if (i == 2) { /* nobody marks anything */
			fake_forks = IBV_FORK_UNNEEDED;
			hmr_fork_status = 0;
		}
		assert_int_equal(hmr_register(dom, p + (i ? 4096 : 0), 4 * MIB,
					      LW, &opts, &region),
				 0);
		assert_int_equal(hmr_deregister(region), 0);
		fake_done();
	}
	real_maps();
	hmr_domain_close(dom);
}

/* ibv_fork_init() can be called until the process has registered something. Then
 * its answer is final, and asking costs more than a small registration. */
static void forks_are_asked_about_until_the_first_registration(void **state)
{
	HMR_OPTS(hmr_register_opts, odp, .flags = HMR_REGISTER_IMPLICIT);
	struct hmr_domain *dom = open_domain(1);
	char *p = reserve(8 * MIB);
	struct hmr_region *region;
	int i;

	fake_forks = IBV_FORK_DISABLED;
	FAKE_SCRIPT({ FAKE_REG_MR, .err = ENOMEM });
	assert_int_equal(hmr_register(dom, p, 4096, LW, NULL, &region),
			 -ENOMEM);
	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND,
				      &odp, &region),
			 0);
	assert_int_equal(hmr_deregister(region), 0);

	pretend_hugetlb(p, "");
	fake_forks = IBV_FORK_ENABLED;
	fake_script((const struct fake_step[]){ { FAKE_END } });
	assert_int_equal(hmr_register(dom, p + 4096, 4096, LW, NULL, &region),
			 -EINVAL);
	real_maps();
	for (i = 0; i < 3; i++) {
		FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_DEREG_MR });
		assert_int_equal(hmr_register(dom, p, 4096, LW, NULL, &region),
				 0);
		assert_int_equal(hmr_deregister(region), 0);
		if (!i)
			fake_fork_questions = 0;
	}
	assert_int_equal(fake_fork_questions, 0);
	fake_done();
	hmr_domain_close(dom);
}

/* ---- populate before pin ---- */

static void missing_memory_is_populated(void **state)
{
	HMR_OPTS(hmr_register_opts, untouched, .flags = HMR_REGISTER_UNTOUCHED);
	struct hmr_domain *dom = open_domain(1);
	HMR_RESULT(hmr_report, report);
	char *p = reserve(8 * MIB);
	struct hmr_region *region;

	fake_freely(0, 0);
	assert_int_equal(hmr_register(dom, p, 8 * MIB, LW, &untouched, &region),
			 0);
	hmr_region_report(region, &report);
	assert_int_equal(report.populate_ns, 0);
	assert_int_equal(report.backing.absent, 8 * MIB);
	assert_int_equal(hmr_deregister(region), 0);

	assert_int_equal(hmr_register(dom, p, 8 * MIB, LW, NULL, &region), 0);
	hmr_region_report(region, &report);
	assert_true(report.populate_ns > 0);
	assert_true(report.bytes_per_sec > 0);
	assert_int_equal(report.backing.absent, 0);
	assert_int_equal(hmr_deregister(region), 0);

	/* It's there now: nothing to do. */
	assert_int_equal(hmr_register(dom, p, 8 * MIB, LW, NULL, &region), 0);
	hmr_region_report(region, &report);
	assert_int_equal(report.populate_ns, 0);
	assert_int_equal(hmr_deregister(region), 0);
	hmr_domain_close(dom);
}

/* Memory that can't be populated is the device's to judge. */
static void populate_is_no_verdict(void **state)
{
	struct hmr_domain *dom = open_domain(1);
	char *p = reserve(8 * MIB);
	struct hmr_region *region;

	assert_int_equal(mprotect(p, 8 * MIB, PROT_READ), 0);
	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, p, 8 * MIB, LW, NULL, &region), 0);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	hmr_domain_close(dom);
}

static void child_owns_nothing_of_its_parent(void **state)
{
	struct hmr_domain *dom = open_domain(1);
	struct hmr_domain *own;
	struct hmr_region *region;
	struct hmr_key key;
	struct ibv_sge sge;
	int status;
	pid_t pid;

	fake_freely(0, 0);
	region = do_register(dom);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (hmr_deregister(region) != -EOWNERDEAD ||
		    hmr_last_error()->cause != HMR_CAUSE_FORKED ||
		    hmr_reregister(region, LW) != -EOWNERDEAD ||
		    hmr_keys(region, 0, &key, 1) != -EOWNERDEAD ||
		    hmr_sges(region, 0, memory, 1, &sge, 1) != -EOWNERDEAD ||
		    hmr_domain_drain(dom) != -EOWNERDEAD ||
		    hmr_domain_close(dom) != -EOWNERDEAD ||
		    hmr_register(dom, memory, 1, LW, NULL, &region) !=
			    -EOWNERDEAD)
			_exit(1);
		if (hmr_domain_open(pds, 1, NULL, &own) ||
		    hmr_register(own, memory, 1, LW, NULL, &region) ||
		    hmr_deregister(region) || hmr_domain_close(own))
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
}

/* For TSan: registrations on one domain, each thread its own regions. */
static void *register_often(void *arg)
{
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_UNTOUCHED,
		 .chunk = PAGE, .threads = 2);
	struct hmr_domain *dom = arg;
	struct hmr_region *region;
	int i;

	for (i = 0; i < 50; i++) {
		if (hmr_register(dom, memory, 4 * PAGE, LW, &opts, &region))
			abort();
		if (hmr_deregister(region))
			abort();
	}
	return NULL;
}

static void many_threads_on_one_domain(void **state)
{
	struct hmr_domain *dom = open_domain(2);
	pthread_t threads[4];
	int i;

	fake_freely(0, 0);
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, register_often, dom);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(fake_live_mrs(), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
}

/* ---- allocations ---- */

/* Let the @fail_at th allocation from now on fail; 0 for none. */
static unsigned int fail_at;

static int alloc_fails(void)
{
	return fail_at && !--fail_at;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	return alloc_fails() ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return alloc_fails() ? NULL : __real_calloc(n, size);
}

/* Whichever allocation fails, the call says so and leaves nothing behind. */
static void allocations_fail_in_turn(void **state)
{
	struct hmr_domain *dom;
	struct hmr_region *region;
	unsigned int i;
	int ret;

	for (i = 1;; i++) {
		FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_DEREG_MR });
		fail_at = i;
		ret = hmr_domain_open(pds, 1, NULL, &dom);
		if (ret) {
			assert_int_equal(ret, -ENOMEM);
			continue;
		}
		ret = hmr_register(dom, memory, LENGTH, LW, NULL, &region);
		if (!ret)
			assert_int_equal(hmr_deregister(region), 0);
		else
			assert_int_equal(ret, -ENOMEM);
		assert_int_equal(hmr_domain_close(dom), 0);
		assert_int_equal(fake_live_mrs(), 0);
		if (!ret)
			break;
	}
	fail_at = 0;
	/* One for the domain, one for the region. */
	assert_int_equal(i, 3);
}

const struct CMUnitTest region_process_tests[] = {
	cmocka_unit_test_setup(odd_hugetlb_is_refused_after_ibv_fork_init,
			       fake_setup),
	cmocka_unit_test_setup(
		forks_are_asked_about_until_the_first_registration, fake_setup),
	cmocka_unit_test_setup(missing_memory_is_populated, fake_setup),
	cmocka_unit_test_setup(populate_is_no_verdict, fake_setup),
	cmocka_unit_test_setup(child_owns_nothing_of_its_parent, fake_setup),
	cmocka_unit_test_setup(many_threads_on_one_domain, fake_setup),
	cmocka_unit_test_setup(allocations_fail_in_turn, fake_setup),
	{ NULL },
};
