// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * That a device reaches the very bytes of a region: over the borders of its
 * MRs, beyond 4 GiB, on demand, and after its access was changed. Runs in a
 * guest with 7 GiB, as root.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include <infiniband/verbs.h>

#include <hugemr/hugemr.h>

#include "look.h"
#include "loopback.h"
#include "verify.h"

#define MIB (1ul << 20)
#define GIB (1ul << 30)
#define PAGE 4096ul
#define LW IBV_ACCESS_LOCAL_WRITE
#define ALL (LW | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct hmr_domain *dom;
static struct loopback *lb;

static int open_device(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0])
		return -1;
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	pd = context ? ibv_alloc_pd(context) : NULL;
	if (!pd || hmr_domain_open(&pd, 1, NULL, &dom))
		return -1;
	return loopback_open(pd, 1, -1, VERIFY_MAX_TRANSFER, &lb);
}

static int close_device(void **state)
{
	loopback_close(lb);
	return hmr_domain_close(dom) | ibv_dealloc_pd(pd) |
	       ibv_close_device(context);
}

/* Soft-RoCE of old keeps the MR that a queue pair used last, also after it was
 * deregistered: so the queue pairs go first. */
static void nothing_is_left(void **state)
{
	loopback_close(lb);
	lb = NULL;
	assert_int_equal(look_mrs("rxe0"), 0);
	assert_int_equal(look_pins(), 0);
	assert_int_equal(look_status(getpid(), "VmPin"), 0);
}

static struct hmr_buffer *alloc(size_t length, enum hmr_pages pages,
				uint32_t flags)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = pages, .flags = flags);
	struct hmr_buffer *buf;

	if (hmr_buffer_alloc(length, &opts, &buf))
		fail_msg("%s", hmr_last_error()->text);
	return buf;
}

static struct hmr_region *reg(struct hmr_domain *d, void *addr, size_t length,
			      int access, const struct hmr_register_opts *opts)
{
	struct hmr_region *region;

	if (hmr_register(d, addr, length, access, opts, &region))
		fail_msg("%s", hmr_last_error()->text);
	return region;
}

static struct hmr_report report_of(const struct hmr_region *region)
{
	HMR_RESULT(hmr_report, report);

	hmr_region_report(region, &report);
	return report;
}

/* ---- transfers ---- */

#define MAX_KEYS 64
#define MAX_PIECES 4

/* A peer's view of a region: by message, as it would come over the wire. */
static unsigned int peer_keys(const struct hmr_region *region,
			      struct hmr_key *keys)
{
	static char wire[4096];
	int n = hmr_keys(region, 0, keys, MAX_KEYS), size;

	assert_in_range(n, 1, MAX_KEYS);
	size = hmr_keys_pack(keys, (unsigned int)n, wire, sizeof(wire));
	assert_in_range(size, 1, sizeof(wire));
	assert_int_equal(hmr_keys_unpack(wire, (size_t)size, keys, MAX_KEYS),
			 n);
	return (unsigned int)n;
}

/* RDMA to and from a place, by as many transfers as it takes; how many. */
static int reach(const struct hmr_region *region, const char *addr, char *data,
		 size_t length, bool write)
{
	struct hmr_remote pieces[MAX_PIECES];
	struct hmr_key keys[MAX_KEYS];
	unsigned int n = peer_keys(region, keys);
	int i, got, ret;

	got = hmr_remote_sge(keys, n, (uintptr_t)addr, length, pieces,
			     MAX_PIECES);
	assert_in_range(got, 1, MAX_PIECES);
	for (i = 0; i < got; i++) {
		ret = write ? loopback_write(lb, data, pieces[i].length,
					     pieces[i].addr, pieces[i].rkey) :
			      loopback_read(lb, data, pieces[i].length,
					    pieces[i].addr, pieces[i].rkey);
		assert_int_equal(ret, 0);
		data += pieces[i].length;
	}
	return got;
}

static char pattern(unsigned int seed, size_t i)
{
	return (char)(seed * 31 + i * 7 + 1);
}

#define SPAN 301

/*
 * Both ways at a place: a write changes its target and nothing beside it, and a
 * read returns what the CPU wrote. There is a byte on either side.
 */
static int check_at(const struct hmr_region *region, char *addr)
{
	static unsigned int seed;
	char data[SPAN], before = addr[-1], behind = addr[SPAN];
	int pieces;
	size_t i;

	seed++;
	for (i = 0; i < SPAN; i++)
		data[i] = pattern(seed, i);
	pieces = reach(region, addr, data, SPAN, true);
	assert_memory_equal(addr, data, SPAN);
	assert_int_equal(addr[-1], before);
	assert_int_equal(addr[SPAN], behind);
	for (i = 0; i < SPAN; i++)
		addr[i] = pattern(seed + 1, i);
	assert_int_equal(reach(region, addr, data, SPAN, false), pieces);
	assert_memory_equal(addr, data, SPAN);
	return pieces;
}

/* hmr_sges() cuts where the keys meet. */
static void check_sges(const struct hmr_region *region, char *addr, int pieces)
{
	struct ibv_sge sges[MAX_PIECES];
	struct hmr_key keys[MAX_KEYS];
	size_t sum = 0;
	int i, k, n = hmr_keys(region, 0, keys, MAX_KEYS);

	assert_int_equal(hmr_sges(region, 0, addr, SPAN, sges, MAX_PIECES),
			 pieces);
	for (i = 0; i < pieces; i++) {
		assert_int_equal(sges[i].addr, (uintptr_t)addr + sum);
		for (k = 0; k < n && keys[k].lkey != sges[i].lkey; k++)
			;
		assert_in_range(k, 0, n - 1);
		assert_in_range(sges[i].addr, keys[k].addr,
				keys[k].addr + keys[k].length - 1);
		assert_true(sges[i].addr + sges[i].length <=
			    keys[k].addr + keys[k].length);
		sum += sges[i].length;
	}
	assert_int_equal(sum, SPAN);
}

/* ---- several MRs ---- */

static void over_the_borders_of_mrs(void **state)
{
	HMR_OPTS(hmr_domain_opts, small, .max_mr_size = MIB + 5000);
	struct hmr_buffer *buf = alloc(8 * MIB, HMR_PAGES_4K, 0);
	char *addr = (char *)hmr_buffer_addr(buf) + 12345;
	size_t length = 6 * MIB + 777;
	struct hmr_key keys[MAX_KEYS];
	struct hmr_region *region;
	struct hmr_domain *d;
	unsigned long transfers;
	int i, n;

	assert_int_equal(hmr_domain_open(&pd, 1, &small, &d), 0);
	region = reg(d, addr, length, ALL, NULL);
	assert_int_equal(report_of(region).split_why, HMR_SPLIT_SIZE);
	n = hmr_keys(region, 0, keys, MAX_KEYS);
	assert_in_range(n, 6, 8);
	/* and the loopback's */
	assert_int_equal(look_mrs("rxe0"), n + 1);
	for (i = 0; i < n; i++) {
		assert_true(keys[i].length <= MIB + 5000);
		if (!i)
			continue;
		assert_int_equal(keys[i].addr % PAGE, 0);
		assert_int_equal(check_at(region, (char *)keys[i].addr - 100),
				 2);
		check_sges(region, (char *)keys[i].addr - 100, 2);
		assert_int_equal(check_at(region, (char *)keys[i].addr), 1);
		check_sges(region, (char *)keys[i].addr, 1);
	}
	check_at(region, addr);
	check_at(region, addr + length - SPAN);
	assert_int_equal(verify_region(lb, region, addr, length, &transfers),
			 0);
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_domain_close(d), 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
}

/* ---- beyond 4 GiB ---- */

#define HUGE (5 * GIB + 12345)

static void check_around_4_gib(const struct hmr_region *region, char *addr)
{
	char *four = addr + 4 * GIB;

	check_at(region, addr + 1);
	check_at(region, four - SPAN);
	check_at(region, four - 100);
	check_at(region, four);
	check_at(region, four + 1);
	/* What would alias it if a length were cut to 32 bits */
	memset(addr, 0x55, 4 * SPAN);
	check_at(region, four + SPAN);
	assert_int_equal(addr[SPAN], 0x55);
	check_at(region, addr + HUGE - SPAN - 1);
}

static void five_gib(void **state)
{
	struct hmr_buffer *buf = alloc(HUGE + 1, HMR_PAGES_THP, 0);
	char *addr = (char *)hmr_buffer_addr(buf) + 1;
	struct hmr_region *region;
	struct hmr_report report;
	struct ibv_sge sges[8];
	unsigned long transfers;

	region = reg(dom, addr, HUGE, ALL, NULL);
	report = report_of(region);
	assert_int_equal(report.length, HUGE);
	assert_int_equal(report.split_why, HMR_SPLIT_PAGES);
	assert_int_equal(report.mrs, 6);
	assert_int_equal(report.backing.thp, 5 * GIB + 4 * PAGE);
	assert_int_equal(hmr_sges(region, 0, addr, HUGE, sges, 8), 6);
	assert_int_equal(hmr_sges(region, 0, addr, HUGE + 1, sges, 8), -ERANGE);
	check_around_4_gib(region, addr);
	assert_int_equal(verify_region(lb, region, addr, HUGE, &transfers), 0);
	print_message("  5 GiB as %u MRs: populate %lu ms, pin %lu ms\n",
		      report.mrs, report.populate_ns / 1000000,
		      report.pin_ns / 1000000);
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
}

/* The kernels that soft-RoCE's limit isn't in. It can't be tried: beyond it the
 * kernel warns. */
static bool has_rxe_limit(void)
{
	const char *kernel = getenv("HUGEMR_KERNEL");

	assert_non_null(kernel);
	/* the series of kernel/ lift it */
	if (getenv("HUGEMR_SERIES"))
		return false;
	return strncmp(kernel, "5.10.", 5) && strncmp(kernel, "6.1.", 4);
}

/* Without the budget it is one MR, of more than 32 bits can count. */
static void five_gib_in_one_mr(void **state)
{
	HMR_OPTS(hmr_domain_opts, no_budget, .max_mr_pages = UINT64_MAX);
	struct hmr_region *region;
	struct hmr_buffer *buf;
	struct hmr_domain *d;
	struct ibv_sge sges[2];
	char *addr;

	if (has_rxe_limit())
		skip();
	assert_int_equal(hmr_domain_open(&pd, 1, &no_budget, &d), 0);
	buf = alloc(HUGE + 1, HMR_PAGES_THP, 0);
	addr = (char *)hmr_buffer_addr(buf) + 1;
	region = reg(d, addr, HUGE, ALL, NULL);
	assert_int_equal(report_of(region).mrs, 1);
	assert_int_equal(hmr_sges(region, 0, addr, HUGE, sges, 2), 2);
	assert_int_equal(sges[0].length, UINT32_MAX);
	assert_int_equal(sges[1].addr, (uintptr_t)addr + UINT32_MAX);
	assert_int_equal(sges[0].length + (uint64_t)sges[1].length, HUGE);
	check_around_4_gib(region, addr);
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(hmr_domain_close(d), 0);
}

/*
 * Where the limit is, the budget is what keeps from it: without, it is an error
 * that is explained. The memory is 2 MiB, mapped over and over.
 */
static void beyond_the_limit_of_rxe(void **state)
{
	HMR_OPTS(hmr_domain_opts, no_budget, .max_mr_pages = UINT64_MAX);
	size_t length = GIB + 2 * MIB, at;
	struct hmr_region *region;
	struct hmr_domain *d;
	int fd = memfd_create("over and over", MFD_CLOEXEC), ret;
	char *p = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(ftruncate(fd, 2 * MIB), 0);
	for (at = 0; at < length; at += 2 * MIB)
		assert_ptr_not_equal(mmap(p + at, 2 * MIB,
					  PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_FIXED, fd, 0),
				     MAP_FAILED);
	assert_int_equal(hmr_domain_open(&pd, 1, &no_budget, &d), 0);
	ret = hmr_register(d, p, length, ALL, NULL, &region);
	print_message("  an MR of 1 GiB and 2 MiB: %d %s\n", ret,
		      ret ? hmr_last_error()->text : "");
	assert_int_equal(ret, has_rxe_limit() ? -ENOMEM : 0);
	if (ret)
		assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_RXE_1GIB);
	else
		assert_int_equal(hmr_deregister(region), 0);
	/* With it there are two MRs, on any kernel. */
	region = reg(dom, p, length, ALL, NULL);
	assert_int_equal(report_of(region).mrs, 2);
	check_at(region, p + GIB - 100);
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_domain_close(d), 0);
	munmap(p, length);
	close(fd);
}

/* ---- reregister ---- */

static void reregister(void **state)
{
	HMR_OPTS(hmr_register_opts, chunks, .chunk = 2 * MIB);
	struct hmr_buffer *buf = alloc(8 * MIB, HMR_PAGES_4K, 0);
	char *addr = hmr_buffer_addr(buf);
	struct hmr_region *region = reg(dom, addr, 8 * MIB, ALL, &chunks);
	int ret = hmr_reregister(region, LW);

	print_message("  reregister: %d %s\n", ret,
		      ret ? hmr_last_error()->text : "");
	if (ret) {
		assert_int_equal(ret, -EOPNOTSUPP);
		assert_int_equal(hmr_last_error()->cause,
				 HMR_CAUSE_NOT_SUPPORTED);
		/* Nothing has changed. */
		check_at(region, addr + 2 * MIB - 100);
	} else {
		assert_int_equal(hmr_reregister(region, ALL), 0);
		check_at(region, addr + 2 * MIB - 100);
	}
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
}

/* ---- on demand ---- */

#define ODP_LENGTH (4 * MIB)

static unsigned int resident(char *addr)
{
	unsigned char present[ODP_LENGTH / PAGE];
	unsigned int i, n = 0;

	assert_int_equal(mincore(addr, ODP_LENGTH, present), 0);
	for (i = 0; i < ODP_LENGTH / PAGE; i++)
		n += present[i] & 1;
	return n;
}

/*
 * Soft-RoCE of Linux 7.3 has on-demand paging, and gets wrong whatever doesn't
 * begin with a page or reaches into the next one: it forgets about offsets.
 */
static void check_at_page_starts(const struct hmr_region *region, char *addr,
				 char *border)
{
	check_at(region, addr);
	check_at(region, addr + PAGE);
	check_at(region, border - PAGE);
	check_at(region, border);
	check_at(region, addr + ODP_LENGTH - PAGE);
}

static void on_demand_with(uint64_t flags)
{
	HMR_OPTS(hmr_register_opts, opts, .flags = flags, .chunk = 2 * MIB);
	struct hmr_buffer *buf =
		alloc(ODP_LENGTH + PAGE, HMR_PAGES_4K, HMR_BUFFER_UNTOUCHED);
	char *addr = (char *)hmr_buffer_addr(buf) + PAGE;
	int64_t pins = look_pins();
	struct hmr_region *region;
	struct hmr_key keys[3];

	region = reg(dom, addr, ODP_LENGTH, ALL | IBV_ACCESS_ON_DEMAND, &opts);
	/* Nothing is pinned, and unless prefetched nothing is there. */
	assert_int_equal(look_pins(), pins);
	print_message("  on demand, flags %#lx: %u of %lu pages\n", flags,
		      resident(addr), ODP_LENGTH / PAGE);
	if (!flags)
		assert_int_equal(resident(addr), 0);
	assert_int_equal(hmr_keys(region, 0, keys, 3), 3);
	check_at_page_starts(region, addr, (char *)keys[1].addr);
	/* Pages may go and come back under it. */
	assert_int_equal(madvise(addr, ODP_LENGTH, MADV_DONTNEED), 0);
	check_at_page_starts(region, addr, (char *)keys[1].addr);
	assert_int_equal(look_pins(), pins);
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
}

static void on_demand(void **state)
{
	struct ibv_device_attr_ex attr = { 0 };
	struct hmr_region *region;
	static char memory[PAGE];
	int ret;

	assert_int_equal(ibv_query_device_ex(context, NULL, &attr), 0);
	print_message("  ODP: %#lx, RC %#x\n", attr.odp_caps.general_caps,
		      attr.odp_caps.per_transport_caps.rc_odp_caps);
	if (attr.odp_caps.general_caps & IBV_ODP_SUPPORT) {
		on_demand_with(0);
		on_demand_with(HMR_REGISTER_PREFETCH);
		return;
	}
	ret = hmr_register(dom, memory, PAGE, ALL | IBV_ACCESS_ON_DEMAND, NULL,
			   &region);
	assert_int_equal(ret, -EOPNOTSUPP);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_ACCESS);
	print_message("  %s\n", hmr_last_error()->text);
}

static void implicit(void **state)
{
	HMR_OPTS(hmr_register_opts, opts, .flags = HMR_REGISTER_IMPLICIT);
	struct ibv_device_attr_ex attr = { 0 };
	struct hmr_region *region;
	int ret;

	assert_int_equal(ibv_query_device_ex(context, NULL, &attr), 0);
	ret = hmr_register(dom, NULL, SIZE_MAX, ALL | IBV_ACCESS_ON_DEMAND,
			   &opts, &region);
	print_message("  implicit: %d %s\n", ret,
		      ret ? hmr_last_error()->text : "");
	if (attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT) {
		assert_int_equal(ret, 0);
		assert_int_equal(hmr_deregister(region), 0);
		return;
	}
	assert_int_equal(ret, -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(over_the_borders_of_mrs),
		cmocka_unit_test(five_gib),
		cmocka_unit_test(five_gib_in_one_mr),
		cmocka_unit_test(beyond_the_limit_of_rxe),
		cmocka_unit_test(reregister),
		cmocka_unit_test(on_demand),
		cmocka_unit_test(implicit),
		cmocka_unit_test(nothing_is_left),
	};

	return cmocka_run_group_tests(tests, open_device, close_device);
}
