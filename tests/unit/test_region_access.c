// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Regions that are registered in other ways than most, or again. */
#include "test_region.h"

static void reregister_changes_access(void **state)
{
	struct hmr_domain *dom = open_domain(2);
	struct hmr_region *region;

	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_REG_MR },
		    { FAKE_REREG_MR, .access = LW | IBV_ACCESS_REMOTE_READ },
		    { FAKE_REREG_MR, .access = LW | IBV_ACCESS_REMOTE_READ },
		    { FAKE_DEREG_MR }, { FAKE_DEREG_MR });
	region = do_register(dom);
	assert_int_equal(hmr_reregister(region, IBV_ACCESS_REMOTE_WRITE),
			 -EINVAL);
	assert_int_equal(hmr_reregister(region, LW | IBV_ACCESS_REMOTE_READ),
			 0);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	hmr_domain_close(dom);
}

static void reregister_that_is_refused_changes_nothing(void **state)
{
	struct hmr_domain *dom = open_domain(2);
	struct hmr_region *region;
	struct hmr_key key;

	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_REG_MR },
		    { FAKE_REREG_MR, .access = LW | IBV_ACCESS_REMOTE_READ },
		    { FAKE_REREG_MR, .code = IBV_REREG_MR_ERR_CMD,
		      .err = EOPNOTSUPP },
		    { FAKE_REREG_MR, .access = LW }, { FAKE_DEREG_MR },
		    { FAKE_DEREG_MR });
	region = do_register(dom);
	assert_int_equal(hmr_reregister(region, LW | IBV_ACCESS_REMOTE_READ),
			 -EOPNOTSUPP);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_NOT_SUPPORTED);
	assert_int_equal(hmr_keys(region, 1, &key, 1), 1);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	hmr_domain_close(dom);
}

static void reregister_half_way_loses_the_region(void **state)
{
	struct hmr_domain *dom = open_domain(2);
	struct hmr_region *region;
	struct hmr_key key;

	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_REG_MR }, { FAKE_REREG_MR },
		    { FAKE_REREG_MR, .code = IBV_REREG_MR_ERR_CMD,
		      .err = ENOMEM },
		    { FAKE_DEREG_MR }, { FAKE_DEREG_MR });
	region = do_register(dom);
	assert_int_equal(hmr_reregister(region, LW | IBV_ACCESS_REMOTE_READ),
			 -EIO);
	assert_int_equal(hmr_keys(region, 0, &key, 1), -ESTALE);
	assert_int_equal(hmr_reregister(region, LW), -EIO);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	hmr_domain_close(dom);
}

/* ---- on demand, and dmabuf ---- */

static void dmabuf(void **state)
{
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_DMABUF,
		 .dmabuf_fd = 77, .dmabuf_offset = 8192, .chunk = 4 * MIB,
		 .threads = 1);
	struct hmr_domain *dom = open_domain(1);
	struct hmr_region *region;
	struct hmr_key keys[2];

	FAKE_SCRIPT({ FAKE_REG_DMABUF_MR, .fd = 77, .offset = 8192,
		      .length = 4 * MIB },
		    { FAKE_REG_DMABUF_MR, .fd = 77, .offset = 8192 + 4 * MIB,
		      .iova = 4 * MIB, .length = 2 * MIB },
		    { FAKE_DEREG_MR }, { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, NULL, 6 * MIB, LW, &opts, &region),
			 0);
	assert_int_equal(hmr_keys(region, 0, keys, 2), 2);
	assert_int_equal(keys[1].addr, 4 * MIB);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	assert_int_equal(hmr_register(dom, NULL, 6 * MIB,
				      LW | IBV_ACCESS_ON_DEMAND, &opts,
				      &region),
			 -EINVAL);
	hmr_domain_close(dom);
}

static void on_demand_with_prefetch(void **state)
{
	const size_t length = (1ul << 30) + 5;
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_PREFETCH);
	struct hmr_domain *dom = open_domain(1);
	char *p = reserve(length);
	struct hmr_region *region;

	FAKE_SCRIPT({ FAKE_REG_MR, .access = LW | IBV_ACCESS_ON_DEMAND },
		    { FAKE_ADVISE_MR, .offset = (uintptr_t)p,
		      .length = 1ul << 30 },
		    { FAKE_ADVISE_MR, .offset = (uintptr_t)p + (1ul << 30),
		      .length = 5 },
		    { FAKE_DEREG_MR },
		    { FAKE_REG_MR, .access = LW | IBV_ACCESS_ON_DEMAND },
		    { FAKE_ADVISE_MR, .err = EOPNOTSUPP }, { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, p, length, LW, &opts, &region),
			 -EINVAL);
	assert_int_equal(hmr_register(dom, p, length, LW | IBV_ACCESS_ON_DEMAND,
				      &opts, &region),
			 0);
	assert_int_equal(hmr_deregister(region), 0);
	/* A prefetch that fails costs speed later, not the region. */
	assert_int_equal(hmr_register(dom, p, length, LW | IBV_ACCESS_ON_DEMAND,
				      &opts, &region),
			 0);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	hmr_domain_close(dom);
}

static void implicit(void **state)
{
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_IMPLICIT);
	HMR_OPTS(hmr_register_opts, chunk, .flags = HMR_REGISTER_IMPLICIT,
		 .chunk = 4096);
	const int access = LW | IBV_ACCESS_ON_DEMAND;
	struct hmr_domain *dom = open_domain(1);
	struct hmr_region *region;

	FAKE_SCRIPT({ FAKE_REG_MR, .length = SIZE_MAX }, { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, NULL, SIZE_MAX, LW, &opts, &region),
			 -EINVAL);
	assert_int_equal(hmr_register(dom, NULL, 1, access, &opts, &region),
			 -EINVAL);
	assert_int_equal(hmr_register(dom, NULL, SIZE_MAX, access, NULL,
				      &region),
			 -EINVAL);
	assert_int_equal(hmr_register(dom, NULL, SIZE_MAX, access, &chunk,
				      &region),
			 -EINVAL);
	assert_int_equal(
		hmr_register(dom, NULL, SIZE_MAX, access, &opts, &region), 0);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	hmr_domain_close(dom);
}

const struct CMUnitTest region_access_tests[] = {
	cmocka_unit_test_setup(reregister_changes_access, fake_setup),
	cmocka_unit_test_setup(reregister_that_is_refused_changes_nothing,
			       fake_setup),
	cmocka_unit_test_setup(reregister_half_way_loses_the_region,
			       fake_setup),
	cmocka_unit_test_setup(dmabuf, fake_setup),
	cmocka_unit_test_setup(on_demand_with_prefetch, fake_setup),
	cmocka_unit_test_setup(implicit, fake_setup),
	{ NULL },
};
