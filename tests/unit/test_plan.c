// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Each check of plan.c, passed and failed, on a host that is a directory tree
 * and devices that are made up. */
#include <stdio.h>

#include "fake_device.h"
#include "readfile.h"
#include "tree.h"

#define LW IBV_ACCESS_LOCAL_WRITE
#define MIB (1ul << 20)
#define GIB (1ul << 30)
#define THP "/sys/kernel/mm/transparent_hugepage/"

static struct hmr_plan plan;

/* Plenty of everything. */
static int setup(void **state)
{
	int ret = tree_setup(state);

	hmr_root = tree_root;
	fake_device_setup();
	tree_put("/proc/meminfo", "MemAvailable: 16777216 kB\n");
	tree_put("/proc/sys/vm/max_map_count", "65530\n");
	tree_put("/proc/self/maps", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
	tree_put(THP "hpage_pmd_size", "2097152\n");
	tree_put(THP "enabled", "always [madvise] never\n");
	tree_pool(2048, 512, 512, 0, 0, 0);
	return ret;
}

static void set_memlock(const char *soft, const char *hard)
{
	tree_put("/proc/self/limits",
		 "Max locked memory         %-20s %-20s bytes     \n", soft,
		 hard);
}

/* The nth check about a cause, from 0; NULL if there is none. */
static const struct hmr_check *find(enum hmr_cause cause, unsigned int nth)
{
	unsigned int i;

	for (i = 0; i < plan.n; i++)
		if (plan.checks[i].cause == cause && !nth--)
			return &plan.checks[i];
	return NULL;
}

static const struct hmr_check *run(struct hmr_domain *dom, size_t length,
				   const struct hmr_plan_opts *opts,
				   enum hmr_cause cause)
{
	const struct hmr_check *c;

	plan = (struct hmr_plan){ .size = sizeof(plan) };
	assert_int_equal(hmr_plan(dom, length, opts, &plan), 0);
	assert_in_range(plan.n, 1, HMR_PLAN_CHECKS);
	c = find(cause, 0);
	assert_non_null(c);
	return c;
}

static struct hmr_domain *open_domain(unsigned int n)
{
	struct ibv_pd *pds[] = { &fake_pds[0], &fake_pds[1] };
	struct hmr_domain *dom;

	assert_int_equal(hmr_domain_open(pds, n, NULL, &dom), 0);
	return dom;
}

#define assert_check(c, v, needs, has)                                       \
	do {                                                                 \
		const struct hmr_check *c_ = (c);                            \
		if (c_->verdict != (v) || c_->need != (needs) ||             \
		    c_->have != (has))                                       \
			fail_msg("verdict %u, need %lu, have %lu: %s",       \
				 c_->verdict, c_->need, c_->have, c_->text); \
	} while (0)

#define assert_says(c, part)                                                \
	do {                                                                \
		if (!strstr((c)->text, part))                               \
			fail_msg("'%s' doesn't say '%s'", (c)->text, part); \
	} while (0)

static void all_is_well(void **state)
{
	struct hmr_domain *dom = open_domain(2);
	const struct hmr_check *c;
	unsigned int i;

	fake_devices[0].attr.max_mr = fake_devices[1].attr.max_mr = 100;
	tree_put("/proc/self/cgroup", "0::/\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n");
	c = run(dom, 64 * MIB, NULL, HMR_CAUSE_PAGE_SIZE);
	assert_says(c, "2 MiB hugetlb pages, which HMR_PAGES_PREFER");
	assert_int_equal(plan.verdict, HMR_VERDICT_OK);
	assert_int_equal(plan.mrs, 1);
	for (i = 0; i < plan.n; i++) {
		assert_int_equal(plan.checks[i].verdict, HMR_VERDICT_OK);
		assert_true(plan.checks[i].text[0]);
	}
	assert_check(find(HMR_CAUSE_POOL, 0), HMR_VERDICT_OK, 32, 512);
	assert_int_equal(hmr_domain_close(dom), 0);
}

static void arguments(void **state)
{
	HMR_OPTS(hmr_plan_opts, o);
	unsigned char longer[sizeof(o) + 8] = { 0 };
	size_t size = sizeof(longer);

	plan.size = sizeof(plan);
	assert_int_equal(hmr_plan(NULL, 0, NULL, &plan), -EINVAL);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_ARGUMENT);
	assert_string_equal(hmr_last_error()->op, "hmr_plan");
	assert_int_equal(hmr_plan(NULL, 1, NULL, NULL), -EINVAL);
	plan.size = 0;
	assert_int_equal(hmr_plan(NULL, 1, NULL, &plan), -EINVAL);
	plan.size = sizeof(plan);
	o.pages = HMR_PAGES_4K + 1;
	assert_int_equal(hmr_plan(NULL, 1, &o, &plan), -EINVAL);
	o.pages = HMR_PAGES_4K;
	o.access = 1 << 15;
	assert_int_equal(hmr_plan(NULL, 1, &o, &plan), -EINVAL);
	memcpy(longer, &size, sizeof(size));
	longer[sizeof(o)] = 1;
	assert_int_equal(hmr_plan(NULL, 1, (void *)longer, &plan), -E2BIG);
}

/* A program that was built when a plan was shorter gets as much as it knows. */
static void shorter_plan(void **state)
{
	struct hmr_plan p;

	memset(&p, 0xaa, sizeof(p));
	p.size = offsetof(struct hmr_plan, checks);
	assert_int_equal(hmr_plan(NULL, 1, NULL, &p), 0);
	assert_int_equal(p.mrs, 1);
	assert_int_equal(p.checks[0].cause, 0xaaaaaaaa);
}

static void page_size(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_1G);
	const struct hmr_check *c;

	c = run(NULL, GIB, &o, HMR_CAUSE_PAGE_SIZE);
	assert_check(c, HMR_VERDICT_FAIL, GIB, 0);
	assert_says(c, "no 1 GiB hugetlb pages: boot with hugepagesz=1G");
	assert_int_equal(plan.verdict, HMR_VERDICT_FAIL);
	assert_null(find(HMR_CAUSE_POOL, 0));
	tree_pool(1048576, 1, 1, 0, 0, 0);
	c = run(NULL, GIB, &o, HMR_CAUSE_PAGE_SIZE);
	assert_check(c, HMR_VERDICT_OK, GIB, GIB);
	o.pages = HMR_PAGES_4K;
	c = run(NULL, GIB, &o, HMR_CAUSE_PAGE_SIZE);
	assert_check(c, HMR_VERDICT_OK, 4096, 4096);
}

static void thp(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_THP);
	const struct hmr_check *c;

	c = run(NULL, GIB, &o, HMR_CAUSE_THP_OFF);
	assert_check(c, HMR_VERDICT_OK, 1, 1);
	assert_null(find(HMR_CAUSE_PAGE_SIZE, 0));
	tree_put(THP "enabled", "always madvise [never]\n");
	c = run(NULL, GIB, &o, HMR_CAUSE_THP_OFF);
	assert_check(c, HMR_VERDICT_FAIL, 1, 0);
	assert_says(c, "echo madvise > /sys/kernel/mm/transparent_hugepage");
	tree_put(THP "hpage_pmd_size", "0\n");
	c = run(NULL, GIB, &o, HMR_CAUSE_THP_OFF);
	assert_check(c, HMR_VERDICT_FAIL, 1, 0);
	assert_says(c, "this kernel has no");
}

/* What HMR_PAGES_PREFER would come down to. */
static void preferred(void **state)
{
	HMR_OPTS(hmr_plan_opts, o);

	tree_pool(1048576, 2, 2, 0, 0, 0);
	assert_says(run(NULL, 2 * GIB, &o, HMR_CAUSE_PAGE_SIZE), "1 GiB");
	/* three are too many; rounding up would waste more than an eighth */
	o.buffers = 3;
	assert_says(run(NULL, 320 * MIB, &o, HMR_CAUSE_PAGE_SIZE), "2 MiB");
	o.buffers = 2;
	assert_says(run(NULL, 320 * MIB, &o, HMR_CAUSE_PAGE_SIZE), "2 MiB");
	/* not on that node */
	tree_put("/sys/devices/system/node/online", "0-1\n");
	tree_node_pool(0, 2048, 512, 512);
	o.nodes = 2;
	assert_says(run(NULL, 320 * MIB, &o, HMR_CAUSE_THP_OFF),
		    "HMR_PAGES_PREFER");
	o.nodes = 1;
	assert_says(run(NULL, 320 * MIB, &o, HMR_CAUSE_PAGE_SIZE), "2 MiB");
	/* not in this control group */
	tree_put("/proc/self/cgroup", "0::/\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n");
	tree_put("/cg/hugetlb.2MB.rsvd.max", "0\n");
	run(NULL, 320 * MIB, &o, HMR_CAUSE_THP_OFF);
	tree_put(THP "enabled", "always madvise [never]\n");
	assert_says(run(NULL, 320 * MIB, &o, HMR_CAUSE_PAGE_SIZE),
		    "base pages");
	assert_int_not_equal(plan.verdict, HMR_VERDICT_FAIL);
	tree_put(THP "enabled", "[always] madvise never\n");
	assert_says(run(NULL, 100, &o, HMR_CAUSE_PAGE_SIZE), "base pages");
}

static void pool(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_2M, .buffers = 2);
	const struct hmr_check *c;

	/* 3 MiB are 2 pages */
	tree_pool(2048, 7, 5, 1, 0, 0);
	c = run(NULL, 3 * MIB, &o, HMR_CAUSE_POOL);
	assert_check(c, HMR_VERDICT_OK, 4, 4);
	o.buffers = 3;
	c = run(NULL, 3 * MIB, &o, HMR_CAUSE_POOL);
	assert_check(c, HMR_VERDICT_FAIL, 6, 4);
	assert_says(c, "echo 9 > /sys/kernel/mm/hugepages/hugepages-2048kB/");
	assert_null(find(HMR_CAUSE_NODE_POOL, 0));
	o.pages = HMR_PAGES_4K;
	run(NULL, 3 * MIB, &o, HMR_CAUSE_MEMORY);
	assert_null(find(HMR_CAUSE_POOL, 0));
}

static void pool_of_nodes(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_2M, .nodes = 6);
	const struct hmr_check *c;

	tree_pool(2048, 20, 20, 0, 0, 0);
	tree_put("/sys/devices/system/node/online", "0-2\n");
	tree_node_pool(0, 2048, 17, 17);
	tree_node_pool(1, 2048, 2, 2);
	tree_node_pool(2, 2048, 1, 1);
	c = run(NULL, 6 * MIB, &o, HMR_CAUSE_NODE_POOL);
	assert_check(c, HMR_VERDICT_OK, 3, 3);
	c = run(NULL, 8 * MIB, &o, HMR_CAUSE_NODE_POOL);
	assert_check(c, HMR_VERDICT_FAIL, 4, 3);
	assert_says(c, "nodes 0x6");
	assert_says(c, "node1/hugepages/hugepages-2048kB/nr_hugepages");
	assert_int_equal(find(HMR_CAUSE_POOL, 0)->verdict, HMR_VERDICT_OK);
}

static void cgroup(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_2M);
	const struct hmr_check *c;

	c = run(NULL, 8 * MIB, &o, HMR_CAUSE_CGROUP);
	assert_check(c, HMR_VERDICT_UNKNOWN, 8 * MIB, UINT64_MAX);
	assert_int_equal(plan.verdict, HMR_VERDICT_UNKNOWN);
	tree_put("/proc/self/cgroup", "0::/job\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n");
	c = run(NULL, 8 * MIB, &o, HMR_CAUSE_CGROUP);
	assert_check(c, HMR_VERDICT_OK, 8 * MIB, UINT64_MAX);
	tree_put("/cg/hugetlb.2MB.max", "%lu\n", 8 * MIB);
	c = run(NULL, 8 * MIB, &o, HMR_CAUSE_CGROUP);
	assert_check(c, HMR_VERDICT_OK, 8 * MIB, 8 * MIB);
	tree_put("/cg/hugetlb.2MB.current", "%lu\n", 2 * MIB);
	c = run(NULL, 8 * MIB, &o, HMR_CAUSE_CGROUP);
	assert_check(c, HMR_VERDICT_FAIL, 8 * MIB, 6 * MIB);
	assert_says(c, "raise hugetlb.2MB.max ");
	tree_put("/cg/job/hugetlb.2MB.rsvd.max", "%lu\n", 4 * MIB);
	c = run(NULL, 8 * MIB, &o, HMR_CAUSE_CGROUP);
	assert_check(c, HMR_VERDICT_FAIL, 8 * MIB, 4 * MIB);
	assert_says(c, "raise hugetlb.2MB.rsvd.max ");
}

static void memory(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_4K);
	const struct hmr_check *c;

	tree_put("/proc/meminfo", "MemAvailable: 1024 kB\n");
	assert_check(run(NULL, MIB, &o, HMR_CAUSE_MEMORY), HMR_VERDICT_OK, MIB,
		     MIB);
	c = run(NULL, MIB + 1, &o, HMR_CAUSE_MEMORY);
	assert_check(c, HMR_VERDICT_FAIL, MIB + 4096, MIB);
	tree_put("/proc/self/cgroup", "0::/job\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n");
	tree_put("/cg/job/memory.max", "%lu\n", MIB);
	tree_put("/cg/job/memory.current", "%lu\n", MIB / 2);
	c = run(NULL, MIB, &o, HMR_CAUSE_MEMORY);
	assert_check(c, HMR_VERDICT_FAIL, MIB, MIB / 2);
	assert_says(c, "control group");
	tree_put("/proc/meminfo", "MemTotal: 1024 kB\n");
	c = run(NULL, MIB, &o, HMR_CAUSE_MEMORY);
	assert_int_equal(c->verdict, HMR_VERDICT_UNKNOWN);
	/* hugetlb is memory of its own */
	o.pages = HMR_PAGES_2M;
	run(NULL, MIB, &o, HMR_CAUSE_POOL);
	assert_null(find(HMR_CAUSE_MEMORY, 0));
}

static void memory_of_nodes(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_THP, .nodes = 2);
	const struct hmr_check *c;

	tree_put("/sys/devices/system/node/online", "0-1\n");
	tree_put("/sys/devices/system/node/node0/meminfo",
		 "Node 0 MemFree: 9000000 kB\n");
	tree_put("/sys/devices/system/node/node1/meminfo",
		 "Node 1 MemFree: 2048 kB\n");
	run(NULL, 2 * MIB, &o, HMR_CAUSE_MEMORY);
	c = find(HMR_CAUSE_MEMORY, 1);
	assert_non_null(c);
	assert_check(c, HMR_VERDICT_OK, 2 * MIB, 2 * MIB);
	run(NULL, 3 * MIB, &o, HMR_CAUSE_MEMORY);
	c = find(HMR_CAUSE_MEMORY, 1);
	assert_check(c, HMR_VERDICT_WARN, 4 * MIB, 2 * MIB);
	assert_says(c, "drop_caches");
	assert_int_equal(plan.verdict, HMR_VERDICT_WARN);
	o.nodes = 3;
	run(NULL, 3 * MIB, &o, HMR_CAUSE_MEMORY);
	assert_int_equal(find(HMR_CAUSE_MEMORY, 1)->verdict, HMR_VERDICT_OK);
}

static void overcommit(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_4K);
	const struct hmr_check *c;

	tree_put("/proc/meminfo", "MemAvailable: 8192 kB\nCommitLimit: 4096 kB"
				  "\nCommitted_AS: 3072 kB\n");
	run(NULL, 2 * MIB, &o, HMR_CAUSE_MEMORY);
	assert_null(find(HMR_CAUSE_MEMORY, 1));
	tree_put("/proc/sys/vm/overcommit_memory", "2\n");
	run(NULL, 2 * MIB, &o, HMR_CAUSE_MEMORY);
	c = find(HMR_CAUSE_MEMORY, 1);
	assert_non_null(c);
	assert_check(c, HMR_VERDICT_FAIL, 2 * MIB, MIB);
	assert_says(c, "sysctl vm.overcommit_memory=0");
	run(NULL, MIB, &o, HMR_CAUSE_MEMORY);
	assert_check(find(HMR_CAUSE_MEMORY, 1), HMR_VERDICT_OK, MIB, MIB);
}

static void max_map_count(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .buffers = 10);
	const struct hmr_check *c;

	/* 10 and 3 for each buffer */
	tree_put("/proc/sys/vm/max_map_count", "40\n");
	c = run(NULL, 8 * MIB, &o, HMR_CAUSE_MAP_COUNT);
	assert_check(c, HMR_VERDICT_OK, 40, 40);
	tree_put("/proc/sys/vm/max_map_count", "39\n");
	c = run(NULL, 8 * MIB, &o, HMR_CAUSE_MAP_COUNT);
	assert_check(c, HMR_VERDICT_FAIL, 40, 39);
	assert_says(c, "sysctl vm.max_map_count=40");
	tree_put("/proc/sys/vm/max_map_count", "%s", "");
	c = run(NULL, 8 * MIB, &o, HMR_CAUSE_MAP_COUNT);
	assert_int_equal(c->verdict, HMR_VERDICT_UNKNOWN);
}

static void memlock(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_2M, .buffers = 2);
	struct hmr_domain *dom = open_domain(2);
	const struct hmr_check *c;

	/* What is registered counts, in base pages; and what is pinned. */
	set_memlock("12582912", "unlimited");
	tree_put("/proc/thread-self/status", "VmPin:\t    4096 kB\n");
	c = run(dom, 2 * MIB - 1, &o, HMR_CAUSE_MEMLOCK);
	assert_check(c, HMR_VERDICT_OK, 12 * MIB, 12 * MIB);
	c = run(dom, 3 * MIB, &o, HMR_CAUSE_MEMLOCK);
	assert_check(c, HMR_VERDICT_FAIL, 16 * MIB, 12 * MIB);
	assert_says(c, "16 MiB to pin on 2 PDs");
	assert_says(c, "(hard unlimited): ulimit -l 16384,");
	set_memlock("12582912", "12582912");
	c = run(dom, 3 * MIB, &o, HMR_CAUSE_MEMLOCK);
	assert_says(c, "(hard 12 MiB)");
	/* without a domain it is for one PD */
	c = run(NULL, 3 * MIB, &o, HMR_CAUSE_MEMLOCK);
	assert_check(c, HMR_VERDICT_OK, 10 * MIB, 12 * MIB);
	/* a capability that counts, and one that doesn't */
	tree_put("/proc/thread-self/status", "CapEff:\t0000000000004000\n");
	c = run(dom, GIB, &o, HMR_CAUSE_MEMLOCK);
	assert_check(c, HMR_VERDICT_OK, 4 * GIB, UINT64_MAX);
	assert_says(c, "no limit");
	tree_put("/proc/self/uid_map", "0 1000 1\n");
	c = run(dom, GIB, &o, HMR_CAUSE_MEMLOCK);
	assert_check(c, HMR_VERDICT_FAIL, 4 * GIB, 12 * MIB);
	assert_says(c, "user namespace");
	/* on demand nothing is pinned */
	o.access = IBV_ACCESS_ON_DEMAND;
	run(dom, GIB, &o, HMR_CAUSE_POOL);
	assert_null(find(HMR_CAUSE_MEMLOCK, 0));
	assert_int_equal(hmr_domain_close(dom), 0);
}

static void fork_init(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_2M);
	struct hmr_domain *dom = open_domain(1);
	const struct hmr_check *c;

	c = run(dom, 3 * MIB, &o, HMR_CAUSE_FORK_ALIGN);
	assert_check(c, HMR_VERDICT_UNKNOWN, 2 * MIB, MIB);
	assert_says(c, "register hmr_buffer_mapped() bytes");
	/* whole pages */
	run(dom, 4 * MIB, &o, HMR_CAUSE_POOL);
	assert_null(find(HMR_CAUSE_FORK_ALIGN, 0));
	/* marked as a whole, or not at all */
	fake_fork_status = IBV_FORK_ENABLED;
	run(dom, 3 * MIB, &o, HMR_CAUSE_POOL);
	assert_null(find(HMR_CAUSE_FORK_ALIGN, 0));
	fake_fork_status = IBV_FORK_DISABLED;
	run(dom, 3 * MIB, &o, HMR_CAUSE_POOL);
	assert_null(find(HMR_CAUSE_FORK_ALIGN, 0));
	/* pages that can be cut anywhere */
	fake_fork_status = IBV_FORK_UNNEEDED;
	o.pages = HMR_PAGES_THP;
	run(dom, 3 * MIB, &o, HMR_CAUSE_MEMORY);
	assert_null(find(HMR_CAUSE_FORK_ALIGN, 0));
	hmr_domain_close(dom);
}

/* The same numbers of MRs as hmr_register() would make, see test_split.c. */
static void splits(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_2M);
	struct hmr_domain *dom;
	const struct hmr_check *c;

	fake_devices[0].attr.max_mr_size = 7 * MIB;
	dom = open_domain(2);
	c = run(dom, 6 * MIB, &o, HMR_CAUSE_MR_SIZE);
	assert_check(c, HMR_VERDICT_OK, 6 * MIB, 7 * MIB);
	assert_int_equal(plan.mrs, 1);
	assert_null(find(HMR_CAUSE_DEVICE_PAGES, 0));
	/* 7 MiB are 6 in whole pages */
	c = run(dom, 13 * MIB, &o, HMR_CAUSE_MR_SIZE);
	assert_int_equal(c->verdict, HMR_VERDICT_OK);
	assert_says(c, "3 MRs a PD of 6 MiB, the most that an MR");
	assert_int_equal(plan.mrs, 3);
	o.chunk = 3 * MIB;
	c = run(dom, 13 * MIB, &o, HMR_CAUSE_MR_SIZE);
	assert_says(c, "4 MRs a PD of 4 MiB, as asked for");
	assert_int_equal(plan.mrs, 4);
	hmr_domain_close(dom);

	fake_devices[1].attr.vendor_id = FAKE_RXE_VENDOR;
	fake_devices[0].attr.max_mr_size = 0;
	o.chunk = 0;
	dom = open_domain(2);
	c = run(dom, GIB + 1, &o, HMR_CAUSE_DEVICE_PAGES);
	assert_check(c, HMR_VERDICT_OK, GIB + 1, GIB);
	assert_says(c, "2 MRs a PD of 1 GiB, the most pages");
	assert_null(find(HMR_CAUSE_MR_SIZE, 0));
	hmr_domain_close(dom);

	fake_devices[0].attr.max_mr_size = 100;
	dom = open_domain(1);
	c = run(dom, MIB, &o, HMR_CAUSE_MR_SIZE);
	assert_check(c, HMR_VERDICT_FAIL, MIB, 100);
	hmr_domain_close(dom);
	run(NULL, MIB, &o, HMR_CAUSE_POOL);
	assert_null(find(HMR_CAUSE_MR_SIZE, 0));
	assert_null(find(HMR_CAUSE_DEVICE_PAGES, 0));
}

static void mr_count(void **state)
{
	struct ibv_pd *same[] = { &fake_pds[1], &fake_pds[1], &fake_pds[0] };
	HMR_OPTS(hmr_plan_opts, o, .chunk = 2 * MIB, .buffers = 3);
	struct hmr_domain *dom = open_domain(2);
	const struct hmr_check *c;

	c = run(dom, 8 * MIB, &o, HMR_CAUSE_MR_COUNT);
	assert_int_equal(c->verdict, HMR_VERDICT_UNKNOWN);
	fake_devices[0].attr.max_mr = 1000;
	fake_devices[1].attr.max_mr = 12;
	c = run(dom, 8 * MIB, &o, HMR_CAUSE_MR_COUNT);
	assert_check(c, HMR_VERDICT_OK, 12, 12);
	assert_says(c, "of fake1; how many are in use isn't known");
	hmr_domain_close(dom);

	/* two PDs of one device */
	assert_int_equal(hmr_domain_open(same, 3, NULL, &dom), 0);
	c = run(dom, 8 * MIB, &o, HMR_CAUSE_MR_COUNT);
	assert_check(c, HMR_VERDICT_FAIL, 24, 12);
	assert_says(c, "larger chunks");
	hmr_domain_close(dom);
	run(NULL, MIB, &o, HMR_CAUSE_MAP_COUNT);
	assert_null(find(HMR_CAUSE_MR_COUNT, 0));
}

static void access_flags(void **state)
{
	HMR_OPTS(hmr_plan_opts, o,
		 .access = LW | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND |
			   IBV_ACCESS_ON_DEMAND);
	struct hmr_domain *dom = open_domain(2);
	const struct hmr_check *c;

	c = run(dom, MIB, &o, HMR_CAUSE_ACCESS);
	assert_int_equal(c->verdict, HMR_VERDICT_OK);
	fake_devices[1].attr.atomic_cap = IBV_ATOMIC_NONE;
	fake_devices[1].ex.odp_caps.general_caps = 0;
	c = run(dom, MIB, &o, HMR_CAUSE_ACCESS);
	assert_int_equal(c->verdict, HMR_VERDICT_FAIL);
	assert_says(c, "fake1 can't do REMOTE_ATOMIC|ON_DEMAND: leave");
	o.access = LW;
	c = run(dom, MIB, &o, HMR_CAUSE_ACCESS);
	assert_int_equal(c->verdict, HMR_VERDICT_OK);
	hmr_domain_close(dom);
}

static void numa_balancing(void **state)
{
	const struct hmr_check *c;

	tree_put("/proc/sys/kernel/numa_balancing", "1\n");
	run(NULL, MIB, NULL, HMR_CAUSE_MAP_COUNT);
	assert_null(find(HMR_CAUSE_UNKNOWN, 0));
	tree_put("/sys/devices/system/node/online", "0-1\n");
	c = run(NULL, MIB, NULL, HMR_CAUSE_UNKNOWN);
	assert_int_equal(c->verdict, HMR_VERDICT_WARN);
	assert_says(c, "sysctl kernel.numa_balancing=0");
	tree_put("/proc/sys/kernel/numa_balancing", "0\n");
	run(NULL, MIB, NULL, HMR_CAUSE_MAP_COUNT);
	assert_null(find(HMR_CAUSE_UNKNOWN, 0));
}

/* Products beyond 64 bits are too much, and not little. */
static void more_than_there_are_numbers_for(void **state)
{
	HMR_OPTS(hmr_plan_opts, o, .pages = HMR_PAGES_4K,
		 .buffers = UINT64_MAX);
	const struct hmr_check *c;

	set_memlock("65536", "65536");
	c = run(NULL, GIB, &o, HMR_CAUSE_MEMLOCK);
	assert_check(c, HMR_VERDICT_FAIL, UINT64_MAX, 65536);
	assert_int_equal(find(HMR_CAUSE_MEMORY, 0)->verdict, HMR_VERDICT_FAIL);
	assert_int_equal(find(HMR_CAUSE_MAP_COUNT, 0)->verdict,
			 HMR_VERDICT_FAIL);
	o.buffers = 1;
	o.pages = HMR_PAGES_2M;
	c = run(NULL, SIZE_MAX, &o, HMR_CAUSE_POOL);
	assert_int_equal(c->verdict, HMR_VERDICT_FAIL);
}

static void device_that_cannot_be_queried(void **state)
{
	struct hmr_domain *dom = open_domain(2);

	fake_devices[1].err = EIO;
	plan.size = sizeof(plan);
	assert_int_equal(hmr_plan(dom, MIB, NULL, &plan), -EIO);
	assert_string_equal(hmr_last_error()->device, "fake1");
	hmr_domain_close(dom);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_is_well),
		TEST(arguments),
		TEST(shorter_plan),
		TEST(page_size),
		TEST(thp),
		TEST(preferred),
		TEST(pool),
		TEST(pool_of_nodes),
		TEST(cgroup),
		TEST(memory),
		TEST(memory_of_nodes),
		TEST(overcommit),
		TEST(max_map_count),
		TEST(memlock),
		TEST(fork_init),
		TEST(splits),
		TEST(mr_count),
		TEST(access_flags),
		TEST(numa_balancing),
		TEST(more_than_there_are_numbers_for),
		TEST(device_that_cannot_be_queried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
