// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Limits of the process. */
#include <sys/mman.h>

#include "test_explain.h"

static void set_memlock(const char *soft, const char *hard)
{
	tree_put("/proc/self/limits",
		 "Max locked memory         %-20s %-20s bytes     \n", soft,
		 hard);
}

static void set_status(unsigned long pinned_kb, unsigned long long caps)
{
	tree_put("/proc/thread-self/status",
		 "Name:\tx\nVmPin:\t%8lu kB\nCapEff:\t%016llx\n", pinned_kb,
		 caps);
}

static void memlock(void **state)
{
	char *p = map(MIB, PROT_READ | PROT_WRITE);

	/* 64 KiB of limit, 8 KiB pinned; 60 KiB is too much, 56 KiB fits. */
	set_memlock("65536", "131072");
	set_status(8, 0);
	assert_int_equal(explain(ENOMEM, p, 60 << 10, LW), HMR_CAUSE_MEMLOCK);
	assert_says("RLIMIT_MEMLOCK: 60 KiB to pin and 8 KiB pinned");
	assert_says("limit is 64 KiB (hard limit 128 KiB)");
	assert_says("CAP_IPC_LOCK is missing");
	assert_says("ulimit -l 68,");
	assert_int_equal(said.need, 68 << 10);
	assert_int_equal(said.have, 64 << 10);
	assert_int_equal(explain(ENOMEM, p, 56 << 10, LW), HMR_CAUSE_UNKNOWN);
	assert_int_equal(said.need, 0);
	/* Whole pages count: 2 bytes across a border are two of them. */
	assert_int_equal(explain(ENOMEM, p + 4095, 56 << 10, LW),
			 HMR_CAUSE_MEMLOCK);
	assert_says("RLIMIT_MEMLOCK: 60 KiB");
	set_memlock("65536", "unlimited");
	explain(ENOMEM, p, 60 << 10, LW);
	assert_says("hard limit unlimited");
	/* Other errors have other causes. */
	assert_int_equal(explain(EFAULT, p, 60 << 10, LW), HMR_CAUSE_UNKNOWN);
	/* What is paged on demand, and dmabufs, aren't counted. */
	assert_int_equal(explain(ENOMEM, p, 60 << 10,
				 LW | IBV_ACCESS_ON_DEMAND),
			 HMR_CAUSE_UNKNOWN);
	assert_int_equal(
		explain_call(ENOMEM, p, 60 << 10, LW,
			     &(struct hmr_reg_facts){ .dmabuf = true }),
		HMR_CAUSE_UNKNOWN);
	munmap(p, MIB);
}

static void memlock_on_several_pds(void **state)
{
	char *p = map(MIB, PROT_READ | PROT_WRITE);
	struct hmr_reg_facts call = { .pds = 2 };

	set_memlock("65536", "65536");
	set_status(0, 0);
	/* The first chunk was refused; the call as a whole is what counts. */
	call.addr = p;
	call.length = 4096;
	assert_int_equal(explain_call(ENOMEM, p, 36 << 10, LW, &call),
			 HMR_CAUSE_MEMLOCK);
	assert_says("36 KiB to pin on each of 2 PDs and 0 bytes pinned");
	assert_int_equal(said.need, 72 << 10);
	assert_int_equal(explain_call(ENOMEM, p, 32 << 10, LW, &call),
			 HMR_CAUSE_UNKNOWN);
	munmap(p, MIB);
}

static void memlock_and_capability(void **state)
{
	char *p = map(MIB, PROT_READ | PROT_WRITE);

	set_memlock("65536", "65536");
	set_status(8, 1ull << 14);
	assert_int_equal(explain(ENOMEM, p, MIB, LW), HMR_CAUSE_UNKNOWN);
	set_status(8, ~(1ull << 14));
	assert_int_equal(explain(ENOMEM, p, MIB, LW), HMR_CAUSE_MEMLOCK);
	set_status(8, 1ull << 14);
	tree_put("/proc/self/uid_map", "0 1000 1\n");
	assert_int_equal(explain(ENOMEM, p, MIB, LW), HMR_CAUSE_MEMLOCK);
	assert_says("CAP_IPC_LOCK counts for nothing in a user namespace");
	munmap(p, MIB);
}

static void max_map_count(void **state)
{
	char *p = map(MIB, PROT_READ | PROT_WRITE);

	tree_put("/proc/self/maps", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
	tree_put("/proc/sys/vm/max_map_count", "10\n");
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	fake_fork_status = IBV_FORK_DISABLED;
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	fake_fork_status = IBV_FORK_ENABLED;
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_MAP_COUNT);
	assert_int_equal(explain(EAGAIN, p, 4096, LW), HMR_CAUSE_MAP_COUNT);
	assert_says("9 mappings of 10");
	assert_says("sysctl vm.max_map_count=20");
	assert_int_equal(said.need, 11);
	assert_int_equal(said.have, 10);
	tree_put("/proc/sys/vm/max_map_count", "11\n");
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	munmap(p, MIB);
}

const struct CMUnitTest explain_process_tests[] = {
	TEST(memlock),
	TEST(memlock_on_several_pds),
	TEST(memlock_and_capability),
	TEST(max_map_count),
	{ NULL },
};
