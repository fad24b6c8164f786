// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Regions of several MRs, and several regions. */
#include "test_region.h"

static void chunks_are_cut_on_pages(void **state)
{
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_UNTOUCHED,
		 .chunk = 4 * MIB, .threads = 1);
	struct hmr_domain *dom = open_domain(1);
	char *p = reserve(16 * MIB) + 12345;
	struct hmr_region *region;
	struct hmr_key keys[3];
	struct ibv_sge sge[3];
	HMR_RESULT(hmr_report, report);

	FAKE_SCRIPT({ FAKE_REG_MR, .length = 4 * MIB - 12345 },
		    { FAKE_REG_MR, .length = 4 * MIB },
		    { FAKE_REG_MR, .length = 12345 + 1 }, { FAKE_DEREG_MR },
		    { FAKE_DEREG_MR }, { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, p, 8 * MIB + 1, LW, &opts, &region),
			 0);
	hmr_region_report(region, &report);
	assert_int_equal(report.mrs, 3);
	assert_int_equal(report.chunk, 4 * MIB);
	assert_int_equal(report.split_why, HMR_SPLIT_CHUNK);
	assert_int_equal(report.backing.absent, 8 * MIB + PAGE);

	assert_int_equal(hmr_keys(region, 0, keys, 2), 3);
	assert_int_equal(hmr_keys(region, 0, keys, 3), 3);
	assert_int_equal(keys[1].addr % (4 * MIB), keys[2].addr % (4 * MIB));
	assert_int_equal(keys[1].addr % (2 * MIB), 0);

	/* A transfer over the first border takes two elements. */
	assert_int_equal(
		hmr_sges(region, 0, p + 4 * MIB - 12345 - 1, 2, sge, 1), 2);
	assert_int_equal(
		hmr_sges(region, 0, p + 4 * MIB - 12345 - 1, 2, sge, 2), 2);
	assert_int_equal(sge[0].length, 1);
	assert_int_equal(sge[1].length, 1);
	assert_int_equal(sge[1].addr, keys[1].addr);
	assert_int_equal(hmr_sges(region, 0, p, 8 * MIB + 1, sge, 3), 3);
	assert_int_equal(sge[0].length + sge[1].length + sge[2].length,
			 8 * MIB + 1);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	hmr_domain_close(dom);
}

static void devices_limits_force_a_split(void **state)
{
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_UNTOUCHED,
		 .threads = 1);
	HMR_OPTS(hmr_register_opts, one_key, .flags = HMR_REGISTER_UNTOUCHED,
		 .max_keys = 1);
	HMR_OPTS(hmr_domain_opts, lifted, .max_mr_pages = UINT64_MAX);
	HMR_OPTS(hmr_domain_opts, small, .max_mr_size = 3 * MIB);
	HMR_RESULT(hmr_report, report);
	const size_t gib = 1ul << 30;
	char *p = reserve(gib + 2 * MIB);
	struct hmr_domain *dom;
	struct hmr_region *region;

	fake_attrs[0].vendor_id = FAKE_RXE_VENDOR;
	dom = open_domain(1);
	FAKE_SCRIPT({ FAKE_REG_MR, .length = gib }, { FAKE_DEREG_MR },
		    { FAKE_REG_MR, .length = gib - 1 },
		    { FAKE_REG_MR, .length = 1 }, { FAKE_DEREG_MR },
		    { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, p, gib, LW, &opts, &region), 0);
	assert_int_equal(hmr_deregister(region), 0);
	/* 1 GiB, but it touches a page more than that. */
	assert_int_equal(hmr_register(dom, p + 1, gib, LW, &opts, &region), 0);
	hmr_region_report(region, &report);
	assert_int_equal(report.split_why, HMR_SPLIT_PAGES);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	assert_int_equal(hmr_register(dom, p + 1, gib, LW, &one_key, &region),
			 -E2BIG);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_DEVICE_PAGES);
	hmr_domain_close(dom);

	assert_int_equal(hmr_domain_open(pds, 1, &lifted, &dom), 0);
	FAKE_SCRIPT({ FAKE_REG_MR, .length = gib }, { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, p + 1, gib, LW, &one_key, &region),
			 0);
	assert_int_equal(hmr_deregister(region), 0);
	hmr_domain_close(dom);

	/* The smaller of two devices counts, and what was asked of the domain;
	 * 3 MiB come down to 2, on which THP can be cut. */
	fake_attrs[0] = (struct ibv_device_attr){ .max_mr_size = 8 * MIB };
	fake_attrs[1] = (struct ibv_device_attr){ .max_mr_size = 4 * MIB };
	FAKE_SCRIPT({ FAKE_REG_MR, .length = 4 * MIB },
		    { FAKE_REG_MR, .length = 1 * MIB },
		    { FAKE_REG_MR, .length = 4 * MIB },
		    { FAKE_REG_MR, .length = 1 * MIB }, { FAKE_DEREG_MR },
		    { FAKE_DEREG_MR }, { FAKE_DEREG_MR }, { FAKE_DEREG_MR });
	dom = open_domain(2);
	assert_int_equal(hmr_register(dom, p, 5 * MIB, LW, &opts, &region), 0);
	hmr_region_report(region, &report);
	assert_int_equal(report.split_why, HMR_SPLIT_SIZE);
	assert_int_equal(report.mrs, 4);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	hmr_domain_close(dom);
	assert_int_equal(hmr_domain_open(pds, 1, &small, &dom), 0);
	FAKE_SCRIPT({ FAKE_REG_MR, .length = 2 * MIB },
		    { FAKE_REG_MR, .length = 2 * MIB }, { FAKE_DEREG_MR },
		    { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, p, 4 * MIB, LW, &opts, &region), 0);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	hmr_domain_close(dom);
}

/* 64 MRs on two PDs by four threads; each of the registrations fails once. */
static void any_of_many_may_fail(void **state)
{
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_UNTOUCHED,
		 .chunk = 2 * MIB, .threads = 4);
	struct hmr_domain *dom = open_domain(2);
	char *p = reserve(64 * MIB);
	struct hmr_region *region;
	unsigned int i, failures = 0;
	int ret;

	for (i = 1;; i++) {
		fake_freely(i, ENOMEM);
		ret = hmr_register(dom, p, 64 * MIB, LW, &opts, &region);
		if (!ret)
			break;
		failures++;
		assert_int_equal(ret, -ENOMEM);
		assert_int_equal(fake_live_mrs(), 0);
	}
	assert_int_equal(failures, 64);
	assert_int_equal(fake_live_mrs(), 64);
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(fake_live_mrs(), 0);
	hmr_domain_close(dom);
}

static void drain_deregisters_everything(void **state)
{
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_UNTOUCHED,
		 .chunk = 2 * MIB);
	struct hmr_domain *dom = open_domain(1), *other = open_domain(1);
	char *p = reserve(16 * MIB);
	struct hmr_region *region, *kept;
	int i;

	fake_freely(0, 0);
	assert_int_equal(hmr_domain_drain(dom), 0);
	kept = do_register(other);
	for (i = 0; i < 5; i++)
		assert_int_equal(
			hmr_register(dom, p, 16 * MIB, LW, &opts, &region), 0);
	assert_int_equal(fake_live_mrs(), 41);
	assert_int_equal(hmr_domain_drain(dom), 0);
	assert_int_equal(fake_live_mrs(), 1);
	assert_int_equal(hmr_domain_close(dom), 0);
	assert_int_equal(hmr_deregister(kept), 0);
	assert_int_equal(hmr_domain_close(other), 0);
}

static void drain_goes_on_after_a_failure(void **state)
{
	struct hmr_domain *dom = open_domain(1);

	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_REG_MR },
		    { FAKE_DEREG_MR, .err = EBUSY }, { FAKE_DEREG_MR },
		    { FAKE_DEREG_MR });
	do_register(dom);
	do_register(dom);
	assert_int_equal(hmr_domain_drain(dom), -EBUSY);
	assert_int_equal(fake_live_mrs(), 1);
	assert_int_equal(hmr_domain_close(dom), -EBUSY);
	assert_int_equal(hmr_domain_drain(dom), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	fake_done();
}

const struct CMUnitTest region_split_tests[] = {
	cmocka_unit_test_setup(chunks_are_cut_on_pages, fake_setup),
	cmocka_unit_test_setup(devices_limits_force_a_split, fake_setup),
	cmocka_unit_test_setup(any_of_many_may_fail, fake_setup),
	cmocka_unit_test_setup(drain_deregisters_everything, fake_setup),
	cmocka_unit_test_setup(drain_goes_on_after_a_failure, fake_setup),
	{ NULL },
};
