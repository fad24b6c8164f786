// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What a device lacks. */
#include <stdio.h>
#include <sys/mman.h>

#include "test_explain.h"

static struct fake_device *const device = &fake_devices[0];

static void rxe_1_gib(void **state)
{
	char *p = map(GIB + 8192, PROT_READ | PROT_WRITE);

	device->attr.vendor_id = FAKE_RXE_VENDOR;
	assert_int_equal(explain(ENOMEM, p, GIB + 1, LW), HMR_CAUSE_RXE_1GIB);
	assert_says("more than 1 GiB");
	assert_int_equal(said.need, GIB + 4096);
	assert_int_equal(said.have, GIB);
	/* Exactly 1 GiB that isn't aligned touches one page more. */
	assert_int_equal(explain(ENOMEM, p + 1, GIB, LW), HMR_CAUSE_RXE_1GIB);
	assert_int_equal(explain(ENOMEM, p, GIB, LW), HMR_CAUSE_UNKNOWN);
	assert_int_equal(explain(EINVAL, p, GIB + 1, LW), HMR_CAUSE_UNKNOWN);
	device->attr.vendor_id = 0x15b3;
	assert_int_equal(explain(ENOMEM, p, GIB + 1, LW), HMR_CAUSE_UNKNOWN);
	device->attr.vendor_id = FAKE_RXE_VENDOR;
	device->err = EIO;
	assert_int_equal(explain(ENOMEM, p, GIB + 1, LW), HMR_CAUSE_UNKNOWN);
	munmap(p, GIB + 8192);
}

static void mr_size(void **state)
{
	static const int errs[] = { ENOMEM, EINVAL, EIO, ENOSPC, EOPNOTSUPP };
	char *p = map(MIB, PROT_READ | PROT_WRITE);
	unsigned int i;

	device->attr.max_mr_size = MIB / 2;
	for (i = 0; i < 5; i++)
		assert_int_equal(explain(errs[i], p, MIB / 2 + 1, LW),
				 HMR_CAUSE_MR_SIZE);
	assert_says("512 KiB at most");
	assert_int_equal(said.need, MIB / 2 + 1);
	assert_int_equal(said.have, MIB / 2);
	assert_int_equal(explain(ENOMEM, p, MIB / 2, LW), HMR_CAUSE_UNKNOWN);
	assert_int_equal(explain(EFAULT, p, MIB, LW), HMR_CAUSE_UNKNOWN);
	/* The MR is what the limit is on, not the region. */
	assert_int_equal(explain_call(ENOMEM, p, MIB, LW,
				      &(struct hmr_reg_facts){
					      .addr = p, .length = MIB / 2 }),
			 HMR_CAUSE_UNKNOWN);
	munmap(p, MIB);
}

static void device_pages(void **state)
{
	struct hmr_reg_facts call = { .max_mr_pages = 2 };
	char *p = map(4 * 4096, PROT_READ | PROT_WRITE);

	assert_int_equal(explain_call(ENOMEM, p + 1, 2 * 4096, LW, &call),
			 HMR_CAUSE_DEVICE_PAGES);
	assert_int_equal(said.need, 3);
	assert_int_equal(said.have, 2);
	assert_says("2 pages at most");
	assert_int_equal(explain_call(ENOMEM, p, 2 * 4096, LW, &call),
			 HMR_CAUSE_UNKNOWN);
	munmap(p, 4 * 4096);
}

static void mr_count(void **state)
{
	struct hmr_reg_facts call = { .mrs = 8 };
	char *p = map(4096, PROT_READ | PROT_WRITE);

	device->attr.max_mr = 8;
	assert_int_equal(explain_call(ENOMEM, p, 4096, LW, &call),
			 HMR_CAUSE_MR_COUNT);
	assert_says("8 MRs (max_mr)");
	assert_int_equal(said.need, 9);
	assert_int_equal(said.have, 8);
	device->attr.max_mr = 9;
	assert_int_equal(explain_call(ENOMEM, p, 4096, LW, &call),
			 HMR_CAUSE_UNKNOWN);
	/* mlx5's "no resources" may be that, but nobody can tell */
	assert_int_equal(explain(EAGAIN, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	assert_says("no keys left (of 9, max_mr)");
	munmap(p, 4096);
}

static void access_that_is_lacking(void **state)
{
	static const int bits[] = { IBV_ACCESS_REMOTE_ATOMIC,
				    IBV_ACCESS_MW_BIND, IBV_ACCESS_ON_DEMAND };
	static const char *const names[] = { "REMOTE_ATOMIC", "MW_BIND",
					     "ON_DEMAND" };
	char *p = map(4096, PROT_READ | PROT_WRITE);
	char text[64];
	unsigned int i;

	for (i = 0; i < 3; i++)
		assert_int_equal(explain(EINVAL, p, 4096, LW | bits[i]),
				 HMR_CAUSE_UNKNOWN);
	device->attr.atomic_cap = IBV_ATOMIC_NONE;
	device->attr.device_cap_flags = 0;
	device->ex.odp_caps.general_caps = 0;
	for (i = 0; i < 3; i++) {
		assert_int_equal(explain(EINVAL, p, 4096, LW | bits[i]),
				 HMR_CAUSE_ACCESS);
		snprintf(text, sizeof(text), "can't do %s:", names[i]);
		assert_says(text);
		assert_int_equal(explain(EOPNOTSUPP, p, 4096, LW | bits[i]),
				 HMR_CAUSE_ACCESS);
	}
	/* Asked for and lacking are two things. */
	assert_int_equal(explain(EINVAL, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	device->err = EIO;
	assert_int_equal(explain(EINVAL, p, 4096, LW | bits[0]),
			 HMR_CAUSE_UNKNOWN);
	munmap(p, 4096);
}

static void access_hugetlb(void **state)
{
	char *p = map(4096, PROT_READ | PROT_WRITE);
	int access = LW | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;

	assert_int_equal(explain(EINVAL, p, 4096, access), HMR_CAUSE_ACCESS);
	assert_says("IBV_ACCESS_HUGETLB is for hugetlb memory");
	munmap(p, 4096);
	set_hugetlb(ADDR, 4, 4);
	assert_int_equal(explain(EINVAL, (void *)ADDR, 4 * MIB, access),
			 HMR_CAUSE_UNKNOWN);
}

const struct CMUnitTest explain_device_tests[] = {
	TEST(rxe_1_gib),
	TEST(mr_size),
	TEST(device_pages),
	TEST(mr_count),
	TEST(access_that_is_lacking),
	TEST(access_hugetlb),
	{ NULL },
};
