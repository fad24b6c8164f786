// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Pages: how they are marked for forks, and what they are taken from. */
#include <linux/mempolicy.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test_explain.h"
#include "vma.h"

static void hugetlb_after_fork_init(void **state)
{
	struct hmr_reg_facts chunk = {
		.addr = (void *)(ADDR + MIB),
		.length = 3 * MIB,
	};

	set_hugetlb(ADDR, 8, 8);
	/* unaligned at its end, at its start, and neither */
	fake_fork_status = IBV_FORK_ENABLED;
	assert_int_equal(explain(EINVAL, (void *)ADDR, 3 * MIB, LW),
			 HMR_CAUSE_FORK_ALIGN);
	assert_says("hugetlb page of 2 MiB");
	assert_int_equal(said.need, 2 * MIB);
	assert_int_equal(said.have, MIB);
	assert_int_equal(explain(EINVAL, (void *)(ADDR + MIB), 3 * MIB, LW),
			 HMR_CAUSE_FORK_ALIGN);
	assert_int_equal(explain(EINVAL, (void *)(ADDR + 2 * MIB), 4 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
	/* to its end but for a byte of the last base page: nothing is cut */
	assert_int_equal(explain(EINVAL, (void *)ADDR, 8 * MIB - 1, LW),
			 HMR_CAUSE_UNKNOWN);
	/* the chunk that was refused begins within a page */
	assert_int_equal(explain_call(EINVAL, (void *)ADDR, 8 * MIB, LW,
				      &chunk),
			 HMR_CAUSE_FORK_ALIGN);
	/* libibverbs rounds by itself, as it does where it isn't needed */
	setenv("RDMAV_HUGEPAGES_SAFE", "1", 1);
	assert_int_equal(explain(EINVAL, (void *)ADDR, 3 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
	unsetenv("RDMAV_HUGEPAGES_SAFE");
	fake_fork_status = IBV_FORK_UNNEEDED;
	assert_int_equal(explain(EINVAL, (void *)ADDR, 3 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
	/* base pages can be cut anywhere */
	fake_fork_status = IBV_FORK_ENABLED;
	set_file("rw-p", "00:00", "");
	assert_int_equal(explain(EINVAL, (void *)ADDR, 100, LW),
			 HMR_CAUSE_UNKNOWN);
}

/* What libibverbs does that was told to mark MRs. The page that is registered
 * for it to show is a real one, whatever the smaps that a test made up. */
static void mark(void *addr, size_t length)
{
	assert_int_equal(madvise(addr, length, MADV_DONTFORK), 0);
	hmr_smaps_path = "/proc/self/smaps";
}

static void do_not_mark(void *addr, size_t length)
{
	hmr_smaps_path = "/proc/self/smaps";
}

/* ibv_is_fork_initialized() says that there is no need, and may be right. */
static void marks_without_need(void **state)
{
	struct hmr_reg_facts call = { .pd = &fake_pds[0] };
	char *p = map(MIB, PROT_READ | PROT_WRITE);
	unsigned int i;

	tree_put("/proc/self/maps", "1\n2\n3\n");
	tree_put("/proc/sys/vm/max_map_count", "4\n");
	for (i = 0; i < 3; i++) {
		fake_device_on_reg = i == 2 ? mark : i ? do_not_mark : NULL;
		set_hugetlb(ADDR, 8, 8);
		assert_int_equal(
			explain_call(EINVAL, (void *)ADDR, 3 * MIB, LW, &call),
			i == 2 ? HMR_CAUSE_FORK_ALIGN : HMR_CAUSE_UNKNOWN);
		hmr_smaps_path = "/proc/self/smaps";
		assert_int_equal(explain_call(EAGAIN, p, 4096, LW, &call),
				 i == 2 ? HMR_CAUSE_MAP_COUNT :
					  HMR_CAUSE_UNKNOWN);
	}
	/* What is marked already isn't split. */
	fake_fork_status = IBV_FORK_ENABLED;
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_MAP_COUNT);
	assert_int_equal(madvise(p, MIB, MADV_DONTFORK), 0);
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	munmap(p, MIB);
}

static void hugetlb_pool(void **state)
{
	/* 3 of 4 pages aren't there */
	set_hugetlb(ADDR, 8, 2);
	tree_pool(2048, 10, 2, 2, 0, 0);
	assert_int_equal(explain(EFAULT, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_POOL);
	assert_says("3 hugetlb pages of it aren't there yet");
	assert_says("has 2 free");
	assert_int_equal(said.need, 3);
	assert_int_equal(said.have, 2);
	/* what is reserved may be so for this mapping; and the pool may grow */
	tree_pool(2048, 10, 3, 3, 0, 0);
	assert_int_equal(explain(EFAULT, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
	tree_pool(2048, 10, 2, 2, 0, 1);
	assert_int_equal(explain(ENOMEM, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
	/* all there */
	tree_pool(2048, 10, 0, 0, 0, 0);
	set_hugetlb(ADDR, 8, 8);
	assert_int_equal(explain(EFAULT, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
}

static void hugetlb_pool_of_a_node(void **state)
{
	unsigned long node0 = 1;
	char *p = map(8 * MIB, PROT_READ | PROT_WRITE);

	if (syscall(SYS_mbind, p, 8 * MIB, MPOL_BIND, &node0, 8, 0))
		skip(); /* a kernel without NUMA */
	set_hugetlb((uintptr_t)p, 8, 2);
	tree_pool(2048, 10, 5, 0, 0, 0);
	tree_put("/sys/devices/system/node/online", "0-1\n");
	tree_node_pool(0, 2048, 5, 1);
	tree_node_pool(1, 2048, 5, 4);
	assert_int_equal(explain(EFAULT, p, 8 * MIB, LW), HMR_CAUSE_NODE_POOL);
	assert_says("bound to have 1 free");
	assert_says("node0/hugepages/hugepages-2048kB/nr_hugepages");
	assert_int_equal(said.need, 3);
	assert_int_equal(said.have, 1);
	tree_node_pool(0, 2048, 5, 3);
	assert_int_equal(explain(EFAULT, p, 8 * MIB, LW), HMR_CAUSE_UNKNOWN);
	/* without a policy any node will do */
	tree_node_pool(0, 2048, 5, 1);
	syscall(SYS_mbind, p, 8 * MIB, MPOL_DEFAULT, NULL, 0, 0);
	assert_int_equal(explain(EFAULT, p, 8 * MIB, LW), HMR_CAUSE_UNKNOWN);
	munmap(p, 8 * MIB);
}

static void hugetlb_cgroup(void **state)
{
	set_hugetlb(ADDR, 8, 2);
	tree_pool(2048, 10, 9, 0, 0, 0);
	tree_put("/proc/self/cgroup", "0::/job\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n");
	tree_put("/cg/job/hugetlb.2MB.max", "%lu\n", 6 * MIB);
	tree_put("/cg/job/hugetlb.2MB.current", "%lu\n", 2 * MIB);
	assert_int_equal(explain(EFAULT, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_CGROUP);
	assert_says("6 MiB of it have no pages yet");
	assert_says("4 MiB more of its 6 MiB");
	assert_says("raise hugetlb.2MB.max");
	assert_int_equal(said.need, 6 * MIB);
	assert_int_equal(said.have, 4 * MIB);
	tree_put("/cg/job/hugetlb.2MB.max", "%lu\n", 8 * MIB);
	assert_int_equal(explain(EFAULT, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
}

static void memory(void **state)
{
	char *p = map(64 * MIB, PROT_READ | PROT_WRITE);

	tree_put("/proc/meminfo", "MemAvailable: 32768 kB\n");
	assert_int_equal(explain(ENOMEM, p, 64 * MIB, LW), HMR_CAUSE_MEMORY);
	assert_says("64 MiB of it aren't there yet and 32 MiB");
	assert_int_equal(said.need, 64 * MIB);
	assert_int_equal(said.have, 32 * MIB);
	assert_int_equal(explain(ENOMEM, p, 32 * MIB, LW), HMR_CAUSE_UNKNOWN);
	tree_put("/proc/self/cgroup", "0::/job\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n");
	tree_put("/cg/job/memory.max", "%lu\n", 16 * MIB);
	tree_put("/cg/job/memory.current", "0\n");
	assert_int_equal(explain(ENOMEM, p, 32 * MIB, LW), HMR_CAUSE_MEMORY);
	assert_says("16 MiB of memory are available to the control group");
	munmap(p, 64 * MIB);
}

const struct CMUnitTest explain_page_tests[] = {
	TEST(hugetlb_after_fork_init),
	TEST(marks_without_need),
	TEST(hugetlb_pool),
	TEST(hugetlb_pool_of_a_node),
	TEST(hugetlb_cgroup),
	TEST(memory),
	{ NULL },
};
