// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What the library says that it can do must be what it then does. */
#include <stdlib.h>
#include <sys/mman.h>

#include "fake_verbs.h"
#include "populate.h"

static uint64_t features(void)
{
	HMR_RESULT(hmr_info, info);

	assert_int_equal(hmr_info(&info), 0);
	assert_int_equal(info.size, sizeof(info));
	/* Nothing is untried that isn't there. */
	assert_int_equal(info.untried & ~info.features, 0);
	return info.features;
}

static void what_the_kernel_has_is_found(void **state)
{
	HMR_RESULT(hmr_populate_report, populate);
	HMR_RESULT(hmr_backing, backing);
	char *p = aligned_alloc(4096, 8192);
	uint64_t have = features();

	assert_non_null(p);
	assert_int_equal(hmr_populate(p, 8192, NULL, &populate), 0);
	assert_int_equal(!!(have & HMR_FEATURE_POPULATE),
			 populate.method == HMR_POPULATE_MADVISE);
	assert_int_equal(hmr_backing(p, 8192, &backing), 0);
	assert_int_equal(!!(have & HMR_FEATURE_PAGEMAP_SCAN),
			 !!(backing.flags & HMR_BACKING_SCAN));
	assert_int_equal(!!(have & HMR_FEATURE_KPAGEFLAGS),
			 !!(backing.flags & HMR_BACKING_BY_ORDER));
	free(p);
}

static void a_kernel_without_populate_is_told(void **state)
{
	hmr_populate_no_madvise = true;
	assert_false(features() & HMR_FEATURE_POPULATE);
	hmr_populate_no_madvise = false;
}

static void verbs_are_asked_about_forks(void **state)
{
	/* The fake says that nothing is needed. */
	assert_true(features() & HMR_FEATURE_COPY_ON_FORK);
}

static void bad_arguments(void **state)
{
	struct hmr_info no_size = { 0 };

	assert_int_equal(hmr_info(NULL), -EINVAL);
	assert_int_equal(hmr_info(&no_size), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_the_kernel_has_is_found,
				       fake_setup),
		cmocka_unit_test_setup(a_kernel_without_populate_is_told,
				       fake_setup),
		cmocka_unit_test_setup(verbs_are_asked_about_forks, fake_setup),
		cmocka_unit_test_setup(bad_arguments, fake_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
