// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Why pages could not be had, on hosts that are directory trees. */
#include <stdio.h>

#include "fake_verbs.h"
#include "readfile.h"
#include "shortage.h"
#include "tree.h"

#define MIB (1ul << 20)

static struct hmr_shortage s;

static const struct hmr_asked eight_mib = {
	.bytes = 8 * MIB,
	.hugetlb = 2 * MIB,
	.name = "2 MiB hugetlb",
};

static const struct hmr_asked base_pages = {
	.bytes = 8 * MIB,
	.name = "base",
};

static int setup(void **state)
{
	int ret = tree_setup(state);

	hmr_root = tree_root;
	s = (struct hmr_shortage){ .need = 77, .have = 77 };
	return ret;
}

static int teardown(void **state)
{
	hmr_root = "";
	return tree_teardown(state);
}

static void expect(enum hmr_cause cause, uint64_t need, uint64_t have,
		   const char *text)
{
	assert_int_equal(s.cause, cause);
	assert_int_equal(s.need, need);
	assert_int_equal(s.have, have);
	if (!strstr(s.text, text))
		fail_msg("'%s' doesn't say '%s'", s.text, text);
}

static void pool_without_enough(void **state)
{
	tree_pool(2048, 10, 5, 2, 0, 0);
	hmr_shortage_of_mapping(&s, &eight_mib, -ENOMEM);
	expect(HMR_CAUSE_POOL, 4, 3,
	       "needs 4 2 MiB hugetlb pages, and 3 are available (10 in the "
	       "pool, 5 free, 2 of them reserved): raise "
	       "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
	hmr_shortage_of_pages(&s, &eight_mib, -EFAULT);
	expect(HMR_CAUSE_POOL, 4, 3, "3 are available");
}

static void limit_of_a_group(void **state)
{
	tree_pool(2048, 10, 10, 0, 0, 0);
	tree_put("/proc/self/cgroup", "0::/few\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
	tree_put("/sys/fs/cgroup/few/hugetlb.2MB.max", "%lu\n", 6 * MIB);
	tree_put("/sys/fs/cgroup/few/hugetlb.2MB.current", "%lu\n", 2 * MIB);
	tree_put("/sys/fs/cgroup/few/hugetlb.2MB.rsvd.max", "%lu\n", 2 * MIB);
	tree_put("/sys/fs/cgroup/few/hugetlb.2MB.rsvd.current", "0\n");
	hmr_shortage_of_pages(&s, &eight_mib, -EFAULT);
	expect(HMR_CAUSE_CGROUP, 8 * MIB, 4 * MIB,
	       "needs 8 MiB in 2 MiB hugetlb pages, and the hugetlb limit of "
	       "this process's control group leaves 4 MiB of 6 MiB: raise "
	       "hugetlb.2MB.max of group /few");
	hmr_shortage_of_mapping(&s, &eight_mib, -ENOMEM);
	expect(HMR_CAUSE_CGROUP, 8 * MIB, 2 * MIB, "hugetlb.2MB.rsvd.max");
}

static void put_nodes(void)
{
	tree_pool(2048, 10, 10, 0, 0, 0);
	tree_put("/sys/devices/system/node/online", "0-1\n");
	tree_node_pool(0, 2048, 8, 8);
	tree_node_pool(1, 2048, 2, 2);
}

static void pool_of_a_node(void **state)
{
	struct hmr_asked asked = eight_mib;

	put_nodes();
	asked.nodes = 2;
	hmr_shortage_of_pages(&s, &asked, -EFAULT);
	expect(HMR_CAUSE_NODE_POOL, 4, 2, "(node 1: 2)");
	/* Then there is another reason, which isn't known. */
	asked.nodes = 3;
	hmr_shortage_of_pages(&s, &asked, -EFAULT);
	expect(HMR_CAUSE_UNKNOWN, 0, 0, "(free on node 0: 8, node 1: 2)");
	hmr_shortage_of_pages(&s, &eight_mib, -EFAULT);
	expect(HMR_CAUSE_UNKNOWN, 0, 0, "may not use some nodes");
}

static void too_many_mappings(void **state)
{
	tree_pool(2048, 10, 10, 0, 0, 0);
	tree_put("/proc/sys/vm/max_map_count", "5\n");
	tree_put("/proc/self/maps", "1\n2\n");
	hmr_shortage_of_mapping(&s, &eight_mib, -ENOMEM);
	expect(HMR_CAUSE_MAP_COUNT, 6, 5,
	       "2 mappings of at most 5: sysctl -w vm.max_map_count=10");
	hmr_shortage_of_mapping(&s, &base_pages, -ENOMEM);
	expect(HMR_CAUSE_MAP_COUNT, 6, 5, "mappings");
}

static void overcommit(void **state)
{
	tree_put("/proc/sys/vm/overcommit_memory", "2\n");
	tree_put("/proc/meminfo", "CommitLimit: 9000 kB\n"
				  "Committed_AS: 5000 kB\n");
	hmr_shortage_of_mapping(&s, &base_pages, -ENOMEM);
	expect(HMR_CAUSE_MEMORY, 8 * MIB, 4000 << 10,
	       "needs 8 MiB, and vm.overcommit_memory=2 leaves 4000 KiB");
}

static void nothing_is_guessed(void **state)
{
	hmr_shortage_of_mapping(&s, &base_pages, -ENOMEM);
	expect(HMR_CAUSE_MEMORY, 0, 0, "mmap of 8388608 bytes in base pages");
	hmr_shortage_of_mapping(&s, &eight_mib, -EPERM);
	expect(HMR_CAUSE_UNKNOWN, 0, 0, "not permitted");
	hmr_shortage_of_pages(&s, &base_pages, -ENOMEM);
	expect(HMR_CAUSE_MEMORY, 0, 0, "can't be populated");
	hmr_shortage_of_pages(&s, &base_pages, -EACCES);
	expect(HMR_CAUSE_PROTECTION, 0, 0, "permit");
	hmr_shortage_of_pages(&s, &eight_mib, -EHWPOISON);
	expect(HMR_CAUSE_MEMORY_ERROR, 0, 0, "memory error");
	hmr_shortage_of_pages(&s, &eight_mib, -EFAULT);
	expect(HMR_CAUSE_UNKNOWN, 0, 0, "hugetlb pool");
}

#define tree(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		tree(pool_without_enough), tree(limit_of_a_group),
		tree(pool_of_a_node),	   tree(too_many_mappings),
		tree(overcommit),	   tree(nothing_is_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
