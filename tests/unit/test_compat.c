// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* hmr_reg_mr() and hmr_dereg_mr(): the verbs' contract, kept. */
#include "fake_verbs.h"

static char memory[4096];

static void success_is_the_verbs_own(void **state)
{
	struct ibv_mr *mr;

	FAKE_SCRIPT({ FAKE_REG_MR, .length = 100, .access = 5 },
		    { FAKE_DEREG_MR });
	mr = hmr_reg_mr(&fake_pds[0], memory, 100, 5);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, memory);
	assert_int_equal(hmr_dereg_mr(mr), 0);
	fake_done();
	assert_int_equal(fake_live_mrs(), 0);
}

static void failure_is_null_and_errno(void **state)
{
	FAKE_SCRIPT({ FAKE_REG_MR, .err = EPERM }, { FAKE_QUERY_DEVICE });
	errno = 0;
	assert_null(hmr_reg_mr(&fake_pds[1], memory, 100, 5));
	assert_int_equal(errno, EPERM);
	fake_done();
	assert_string_equal(hmr_last_error()->op, "hmr_reg_mr");
	assert_int_equal(hmr_last_error()->err, -EPERM);
	assert_int_equal(hmr_last_error()->access, 5);
	assert_string_equal(hmr_last_error()->device, "fake1");
}

static void provider_without_errno(void **state)
{
	FAKE_SCRIPT({ FAKE_REG_MR, .no_errno = 1 }, { FAKE_QUERY_DEVICE });
	errno = ENOENT; /* stale */
	assert_null(hmr_reg_mr(&fake_pds[0], memory, 100, 5));
	assert_int_equal(errno, EIO);
}

static void dereg_failure_is_positive(void **state)
{
	struct ibv_mr *mr;

	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_DEREG_MR, .err = EBUSY },
		    { FAKE_DEREG_MR });
	mr = hmr_reg_mr(&fake_pds[0], memory, 100, 1);
	assert_int_equal(hmr_dereg_mr(mr), EBUSY);
	assert_int_equal(hmr_last_error()->err, -EBUSY);
	assert_string_equal(hmr_last_error()->op, "hmr_dereg_mr");
	assert_int_equal(hmr_last_error()->length, 100);
	assert_int_equal(hmr_dereg_mr(mr), 0);
	fake_done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(success_is_the_verbs_own, fake_setup),
		cmocka_unit_test_setup(failure_is_null_and_errno, fake_setup),
		cmocka_unit_test_setup(provider_without_errno, fake_setup),
		cmocka_unit_test_setup(dereg_failure_is_positive, fake_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
