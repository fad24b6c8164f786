// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Domains and regions, through scripted verbs. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_verbs.h"
#include "verbs_ops.h"
#include "vma.h"

#define LW IBV_ACCESS_LOCAL_WRITE
#define LENGTH 12345

/* A byte before it, so that a range may begin there. */
static char area[1 << 16];
static char *const memory = area + 1;
static struct ibv_pd *pds[2] = { &fake_pds[0], &fake_pds[1] };

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

static struct hmr_domain *open_domain(unsigned int n)
{
	struct hmr_domain *dom = NULL;

	assert_int_equal(hmr_domain_open(pds, n, NULL, &dom), 0);
	assert_non_null(dom);
	return dom;
}

/* Scripts are followed in order only on one thread. */
static struct hmr_register_opts one_thread = {
	.size = sizeof(one_thread),
	.threads = 1,
};

static struct hmr_region *do_register(struct hmr_domain *dom)
{
	struct hmr_region *region = NULL;

	assert_int_equal(
		hmr_register(dom, memory, LENGTH, LW, &one_thread, &region), 0);
	assert_non_null(region);
	return region;
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

/* ---- several MRs ---- */

#define PAGE 4096ul
#define MIB (1ul << 20)

/* Address space that nobody touches, aligned to 2 MiB. */
static char *reserve(size_t length)
{
	char *p = mmap(NULL, length + 2 * MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return (char *)(((uintptr_t)p + 2 * MIB - 1) & ~(2 * MIB - 1));
}

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

/* ---- access ---- */

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(domain_refuses_bad_arguments,
				       fake_setup),
		cmocka_unit_test_setup(domain_of_unknown_zero_options_opens,
				       fake_setup),
		cmocka_unit_test_setup(register_and_deregister, fake_setup),
		cmocka_unit_test_setup(register_on_every_pd, fake_setup),
		cmocka_unit_test_setup(second_pd_refuses, fake_setup),
		cmocka_unit_test_setup(first_cause_counts_when_rollback_fails,
				       fake_setup),
		cmocka_unit_test_setup(provider_without_errno, fake_setup),
		cmocka_unit_test_setup(deregister_can_be_retried, fake_setup),
		cmocka_unit_test_setup(register_refuses_bad_arguments,
				       fake_setup),
		cmocka_unit_test_setup(read_only_needs_no_write_flag,
				       fake_setup),
		cmocka_unit_test_setup(iova_is_the_address_of_keys_and_sges,
				       fake_setup),
		cmocka_unit_test_setup(iova_counts_only_with_its_flag,
				       fake_setup),
		cmocka_unit_test_setup(sges_cover_exactly_what_was_asked,
				       fake_setup),
		cmocka_unit_test_setup(sges_beyond_4_gib_are_split, fake_setup),
		cmocka_unit_test_setup(domain_with_regions_stays_open,
				       fake_setup),
		cmocka_unit_test_setup(buffer_with_regions_stays, fake_setup),
		cmocka_unit_test_setup(chunks_are_cut_on_pages, fake_setup),
		cmocka_unit_test_setup(devices_limits_force_a_split,
				       fake_setup),
		cmocka_unit_test_setup(any_of_many_may_fail, fake_setup),
		cmocka_unit_test_setup(drain_deregisters_everything,
				       fake_setup),
		cmocka_unit_test_setup(drain_goes_on_after_a_failure,
				       fake_setup),
		cmocka_unit_test_setup(
			odd_hugetlb_is_refused_after_ibv_fork_init, fake_setup),
		cmocka_unit_test_setup(
			forks_are_asked_about_until_the_first_registration,
			fake_setup),
		cmocka_unit_test_setup(reregister_changes_access, fake_setup),
		cmocka_unit_test_setup(
			reregister_that_is_refused_changes_nothing, fake_setup),
		cmocka_unit_test_setup(reregister_half_way_loses_the_region,
				       fake_setup),
		cmocka_unit_test_setup(dmabuf, fake_setup),
		cmocka_unit_test_setup(on_demand_with_prefetch, fake_setup),
		cmocka_unit_test_setup(implicit, fake_setup),
		cmocka_unit_test_setup(missing_memory_is_populated, fake_setup),
		cmocka_unit_test_setup(populate_is_no_verdict, fake_setup),
		cmocka_unit_test_setup(child_owns_nothing_of_its_parent,
				       fake_setup),
		cmocka_unit_test_setup(many_threads_on_one_domain, fake_setup),
		cmocka_unit_test_setup(allocations_fail_in_turn, fake_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
