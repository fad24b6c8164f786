// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Domains and regions, through scripted verbs. */
#include <sys/mman.h>

#include "test_region.h"

static char area[1 << 16];
char *const memory = area + 1;
struct ibv_pd *pds[2] = { &fake_pds[0], &fake_pds[1] };

struct hmr_domain *open_domain(unsigned int n)
{
	struct hmr_domain *dom = NULL;

	assert_int_equal(hmr_domain_open(pds, n, NULL, &dom), 0);
	assert_non_null(dom);
	return dom;
}

struct hmr_register_opts one_thread = {
	.size = sizeof(one_thread),
	.threads = 1,
};

struct hmr_region *do_register(struct hmr_domain *dom)
{
	struct hmr_region *region = NULL;

	assert_int_equal(
		hmr_register(dom, memory, LENGTH, LW, &one_thread, &region), 0);
	assert_non_null(region);
	return region;
}

char *reserve(size_t length)
{
	char *p = mmap(NULL, length + 2 * MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return (char *)(((uintptr_t)p + 2 * MIB - 1) & ~(2 * MIB - 1));
}

static void domain_refuses_bad_arguments(void **state)
{
	struct hmr_domain *const before = (void *)0x1234;
	struct hmr_domain *dom = before;
	struct ibv_pd *holey[2] = { &fake_pds[0], NULL };
	struct {
		struct hmr_domain_opts opts;
		uint64_t future;
	} newer = { .opts.size = sizeof(newer), .future = 1 };
	struct hmr_domain_opts no_size = { 0 };

	assert_int_equal(hmr_domain_open(pds, 0, NULL, &dom), -EINVAL);
	assert_int_equal(hmr_domain_open(NULL, 1, NULL, &dom), -EINVAL);
	assert_int_equal(hmr_domain_open(holey, 2, NULL, &dom), -EINVAL);
	assert_string_equal(hmr_last_error()->text, "PD 1 is NULL");
	assert_int_equal(hmr_domain_open(pds, 1, &newer.opts, &dom), -E2BIG);
	assert_int_equal(hmr_domain_open(pds, 1, &no_size, &dom), -EINVAL);
	assert_ptr_equal(dom, before);
	assert_int_equal(hmr_domain_close(NULL), 0);
}

static void domain_of_unknown_zero_options_opens(void **state)
{
	struct {
		struct hmr_domain_opts opts;
		uint64_t future;
	} newer = { .opts.size = sizeof(newer), .future = 0 };
	struct hmr_domain *dom;

	assert_int_equal(hmr_domain_open(pds, 1, &newer.opts, &dom), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
}

static void register_and_deregister(void **state)
{
	struct hmr_domain *dom = open_domain(1);
	struct hmr_region *region;
	HMR_RESULT(hmr_report, report);

	FAKE_SCRIPT({ FAKE_REG_MR, .length = LENGTH, .access = LW },
		    { FAKE_DEREG_MR });
	region = do_register(dom);
	assert_int_equal(fake_live_mrs(), 1);
	hmr_region_report(region, &report);
	assert_int_equal(report.length, LENGTH);
	assert_int_equal(report.pds, 1);
	assert_int_equal(report.mrs, 1);
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(fake_live_mrs(), 0);
	fake_done();
	assert_int_equal(hmr_domain_close(dom), 0);
	assert_int_equal(hmr_deregister(NULL), 0);
}

static void register_on_every_pd(void **state)
{
	struct hmr_domain *dom = open_domain(2);
	struct hmr_region *region;
	struct hmr_key key;
	unsigned int pd;

	FAKE_SCRIPT({ FAKE_REG_MR, .pd = &fake_pds[0] },
		    { FAKE_REG_MR, .pd = &fake_pds[1] }, { FAKE_DEREG_MR },
		    { FAKE_DEREG_MR });
	region = do_register(dom);
	for (pd = 0; pd < 2; pd++) {
		assert_int_equal(hmr_keys(region, pd, &key, 1), 1);
		assert_int_equal(key.lkey, 0x100 + pd);
		assert_int_equal(key.rkey, 0x200 + pd);
	}
	assert_int_equal(hmr_keys(region, 2, &key, 1), -EINVAL);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	hmr_domain_close(dom);
}

static void second_pd_refuses(void **state)
{
	struct hmr_domain *dom = open_domain(2);
	struct hmr_region *const before = (void *)0x1234;
	struct hmr_region *region = before;
	const struct hmr_error *e = hmr_last_error();

	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_REG_MR, .err = EPERM },
		    { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, memory, LENGTH, LW, &one_thread,
				      &region),
			 -EPERM);
	fake_done();
	assert_ptr_equal(region, before);
	assert_int_equal(fake_live_mrs(), 0);
	assert_string_equal(e->op, "hmr_register");
	assert_int_equal(e->err, -EPERM);
	assert_ptr_equal(e->addr, memory);
	assert_int_equal(e->length, LENGTH);
	assert_int_equal(e->access, LW);
	assert_string_equal(e->device, "fake1");
	assert_non_null(strstr(e->text, "12345 bytes"));
	assert_non_null(strstr(e->text, "cause is not known"));
	/* The range is free again, so is the domain. */
	assert_int_equal(hmr_domain_close(dom), 0);
}

static void first_cause_counts_when_rollback_fails(void **state)
{
	struct hmr_domain *dom = open_domain(2);
	struct hmr_region *region;

	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_REG_MR, .err = EPERM },
		    { FAKE_DEREG_MR, .err = EIO });
	assert_int_equal(hmr_register(dom, memory, LENGTH, LW, &one_thread,
				      &region),
			 -EPERM);
	assert_int_equal(hmr_last_error()->err, -EPERM);
	assert_int_equal(hmr_domain_close(dom), 0);
}

static void provider_without_errno(void **state)
{
	struct hmr_domain *dom = open_domain(1);
	struct hmr_region *region;

	errno = 0;
	FAKE_SCRIPT({ FAKE_REG_MR, .no_errno = 1 });
	assert_int_equal(hmr_register(dom, memory, LENGTH, LW, NULL, &region),
			 -EIO);
	fake_done();
	hmr_domain_close(dom);
}

static void deregister_can_be_retried(void **state)
{
	struct hmr_domain *dom = open_domain(2);
	struct hmr_region *region;
	struct hmr_key key;
	struct ibv_sge sge;

	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_REG_MR }, { FAKE_DEREG_MR },
		    { FAKE_DEREG_MR, .err = EBUSY }, { FAKE_DEREG_MR });
	region = do_register(dom);
	assert_int_equal(hmr_deregister(region), -EBUSY);
	assert_string_equal(hmr_last_error()->op, "hmr_deregister");
	assert_string_equal(hmr_last_error()->device, "fake1");
	assert_non_null(strstr(hmr_last_error()->text, "memory windows"));
	assert_int_equal(fake_live_mrs(), 1);
	/* PD 0 has let go: it is no region any more, on no PD. */
	assert_int_equal(hmr_keys(region, 0, &key, 1), -ESTALE);
	assert_int_equal(hmr_keys(region, 1, &key, 1), -ESTALE);
	assert_int_equal(hmr_sges(region, 1, memory, 1, &sge, 1), -ESTALE);
	assert_int_equal(hmr_reregister(region, 0), -EIO);
	assert_int_equal(hmr_domain_close(dom), -EBUSY);
	assert_int_equal(hmr_deregister(region), 0);
	fake_done();
	assert_int_equal(hmr_domain_close(dom), 0);
}

static void register_refuses_bad_arguments(void **state)
{
	const struct {
		void *addr;
		size_t length;
		int access;
		int err;
	} cases[] = {
		{ memory, 0, LW, -EINVAL },
		{ (void *)(UINTPTR_MAX - 10), 100, LW, -EINVAL },
		{ (void *)(UINTPTR_MAX - 10), 5, LW, -EINVAL },
		{ memory, LENGTH, 1 << 19, -EINVAL },
		{ memory, LENGTH, (int)(1u << 31), -EINVAL },
		{ memory, LENGTH, LW | IBV_ACCESS_ZERO_BASED, -EINVAL },
		{ memory, LENGTH, IBV_ACCESS_REMOTE_WRITE, -EINVAL },
		{ memory, LENGTH, IBV_ACCESS_REMOTE_ATOMIC, -EINVAL },
	};
	HMR_OPTS(hmr_register_opts, unknown, .flags = 1ull << 40);
	struct {
		struct hmr_register_opts opts;
		uint64_t future;
	} newer = { .opts.size = sizeof(newer), .future = 1 };
	struct hmr_domain *dom = open_domain(1);
	struct hmr_region *const before = (void *)0x1234;
	struct hmr_region *region = before;
	unsigned int i;

	/* An empty script: no verb may be called. */
	fake_script((const struct fake_step[]){ { FAKE_END } });
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(hmr_register(dom, cases[i].addr,
					      cases[i].length, cases[i].access,
					      NULL, &region),
				 cases[i].err);
	assert_int_equal(hmr_register(dom, memory, LENGTH, LW, &unknown,
				      &region),
			 -EINVAL);
	assert_int_equal(hmr_register(dom, memory, LENGTH, LW, &newer.opts,
				      &region),
			 -E2BIG);
	assert_int_equal(hmr_register(NULL, memory, LENGTH, LW, NULL, &region),
			 -EINVAL);
	assert_ptr_equal(region, before);
	assert_int_equal(hmr_domain_close(dom), 0);
}

static void read_only_needs_no_write_flag(void **state)
{
	struct hmr_domain *dom = open_domain(1);
	struct hmr_region *region;

	FAKE_SCRIPT({ FAKE_REG_MR, .access = IBV_ACCESS_REMOTE_READ },
		    { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, memory, LENGTH,
				      IBV_ACCESS_REMOTE_READ, NULL, &region),
			 0);
	assert_int_equal(hmr_deregister(region), 0);
	hmr_domain_close(dom);
}

static void iova_is_the_address_of_keys_and_sges(void **state)
{
	const uint64_t iova = 0x10000 + (uintptr_t)memory % 4096;
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_IOVA,
		 .iova = iova);
	HMR_OPTS(hmr_register_opts, off, .flags = HMR_REGISTER_IOVA,
		 .iova = iova + 1);
	struct hmr_domain *dom = open_domain(1);
	struct hmr_region *region;
	struct hmr_key key;
	struct ibv_sge sge;

	FAKE_SCRIPT({ FAKE_REG_MR_IOVA, .iova = iova }, { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, memory, LENGTH, LW, &off, &region),
			 -EINVAL);
	assert_int_equal(hmr_register(dom, memory, LENGTH, LW, &opts, &region),
			 0);
	assert_int_equal(hmr_keys(region, 0, &key, 1), 1);
	assert_int_equal(key.addr, iova);
	assert_int_equal(key.length, LENGTH);
	assert_int_equal(hmr_sges(region, 0, memory + 5, 10, &sge, 1), 1);
	assert_int_equal(sge.addr, iova + 5);
	assert_int_equal(hmr_deregister(region), 0);
	hmr_domain_close(dom);
}

static void iova_counts_only_with_its_flag(void **state)
{
	HMR_OPTS(hmr_register_opts, opts, .iova = 0x10000);
	struct hmr_domain *dom = open_domain(1);
	struct hmr_region *region;
	struct hmr_key key;

	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, memory, LENGTH, LW, &opts, &region),
			 0);
	assert_int_equal(hmr_keys(region, 0, &key, 1), 1);
	assert_int_equal(key.addr, (uintptr_t)memory);
	assert_int_equal(hmr_deregister(region), 0);
	hmr_domain_close(dom);
}

static void sges_cover_exactly_what_was_asked(void **state)
{
	struct hmr_domain *dom = open_domain(1);
	struct hmr_region *region;
	struct ibv_sge sge[3];
	struct hmr_key key = { 0 };

	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_DEREG_MR });
	region = do_register(dom);
	assert_int_equal(hmr_sges(region, 0, memory, LENGTH, sge, 1), 1);
	assert_int_equal(sge[0].addr, (uintptr_t)memory);
	assert_int_equal(sge[0].length, LENGTH);
	assert_int_equal(sge[0].lkey, 0x100);
	assert_int_equal(hmr_sges(region, 0, memory + LENGTH - 1, 1, sge, 1),
			 1);

	memset(sge, 0x5a, sizeof(sge));
	assert_int_equal(hmr_sges(region, 0, memory, LENGTH, sge, 0), 1);
	assert_int_equal(sge[0].length, 0x5a5a5a5a);
	assert_int_equal(hmr_keys(region, 0, &key, 0), 1);
	assert_int_equal(key.length, 0);

	assert_int_equal(hmr_sges(region, 0, memory, 0, sge, 1), -EINVAL);
	assert_int_equal(hmr_sges(region, 1, memory, 1, sge, 1), -EINVAL);
	assert_int_equal(hmr_sges(region, 0, memory, LENGTH + 1, sge, 1),
			 -ERANGE);
	assert_int_equal(hmr_sges(region, 0, memory + LENGTH, 1, sge, 1),
			 -ERANGE);
	assert_int_equal(hmr_sges(region, 0, memory - 1, 2, sge, 1), -ERANGE);
	assert_int_equal(hmr_sges(region, 0, memory + 1, SIZE_MAX, sge, 1),
			 -ERANGE);
	assert_int_equal(hmr_deregister(region), 0);
	hmr_domain_close(dom);
}

/* No memory of that size is needed: the fake never touches it. */
static void sges_beyond_4_gib_are_split(void **state)
{
	const size_t big = 2 * (size_t)UINT32_MAX + 5;
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_UNTOUCHED);
	struct hmr_domain *dom = open_domain(1);
	struct hmr_region *region;
	struct ibv_sge sge[3];

	FAKE_SCRIPT({ FAKE_REG_MR, .length = big }, { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, memory, big, LW, &opts, &region), 0);
	memset(sge, 0, sizeof(sge));
	assert_int_equal(hmr_sges(region, 0, memory, big, sge, 2), 3);
	assert_int_equal(sge[0].length, 0);
	assert_int_equal(hmr_sges(region, 0, memory, big, sge, 3), 3);
	assert_int_equal(sge[0].length, UINT32_MAX);
	assert_int_equal(sge[1].addr, (uintptr_t)memory + UINT32_MAX);
	assert_int_equal(sge[2].addr, (uintptr_t)memory + 2ul * UINT32_MAX);
	assert_int_equal(sge[2].length, 5);
	assert_int_equal(hmr_deregister(region), 0);
	hmr_domain_close(dom);
}

static void domain_with_regions_stays_open(void **state)
{
	struct hmr_domain *dom = open_domain(1), *other = open_domain(1);
	struct hmr_region *a, *b;

	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_REG_MR }, { FAKE_DEREG_MR },
		    { FAKE_DEREG_MR });
	a = do_register(dom);
	b = do_register(dom);
	assert_int_equal(hmr_domain_close(dom), -EBUSY);
	assert_non_null(strstr(hmr_last_error()->text, "2 regions"));
	assert_int_equal(hmr_last_error()->length, LENGTH);
	assert_int_equal(hmr_domain_close(other), 0);
	assert_int_equal(hmr_deregister(a), 0);
	assert_int_equal(hmr_domain_close(dom), -EBUSY);
	assert_int_equal(hmr_deregister(b), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
}

static void buffer_with_regions_stays(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K);
	struct hmr_domain *dom = open_domain(1);
	struct hmr_buffer *buf, *other;
	struct hmr_region *region;
	char *addr;

	assert_int_equal(hmr_buffer_alloc(3 * 4096, &opts, &buf), 0);
	assert_int_equal(hmr_buffer_alloc(4096, &opts, &other), 0);
	addr = hmr_buffer_addr(buf);
	FAKE_SCRIPT({ FAKE_REG_MR }, { FAKE_DEREG_MR });
	assert_int_equal(hmr_register(dom, addr + 3 * 4096 - 1, 1, LW, NULL,
				      &region),
			 0);
	assert_int_equal(hmr_buffer_free(buf), -EBUSY);
	assert_int_equal(hmr_last_error()->err, -EBUSY);
	assert_int_equal(hmr_buffer_free(other), 0);
	/* Still there: */
	addr[0] = addr[3 * 4096 - 1] = 1;
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
	hmr_domain_close(dom);
}

static const struct CMUnitTest region_tests[] = {
	cmocka_unit_test_setup(domain_refuses_bad_arguments, fake_setup),
	cmocka_unit_test_setup(domain_of_unknown_zero_options_opens,
			       fake_setup),
	cmocka_unit_test_setup(register_and_deregister, fake_setup),
	cmocka_unit_test_setup(register_on_every_pd, fake_setup),
	cmocka_unit_test_setup(second_pd_refuses, fake_setup),
	cmocka_unit_test_setup(first_cause_counts_when_rollback_fails,
			       fake_setup),
	cmocka_unit_test_setup(provider_without_errno, fake_setup),
	cmocka_unit_test_setup(deregister_can_be_retried, fake_setup),
	cmocka_unit_test_setup(register_refuses_bad_arguments, fake_setup),
	cmocka_unit_test_setup(read_only_needs_no_write_flag, fake_setup),
	cmocka_unit_test_setup(iova_is_the_address_of_keys_and_sges,
			       fake_setup),
	cmocka_unit_test_setup(iova_counts_only_with_its_flag, fake_setup),
	cmocka_unit_test_setup(sges_cover_exactly_what_was_asked, fake_setup),
	cmocka_unit_test_setup(sges_beyond_4_gib_are_split, fake_setup),
	cmocka_unit_test_setup(domain_with_regions_stays_open, fake_setup),
	cmocka_unit_test_setup(buffer_with_regions_stays, fake_setup),
	{ NULL },
};

int main(void)
{
	return RUN_TABLES(NULL, NULL, region_tests, region_split_tests,
			  region_access_tests, region_process_tests);
}
