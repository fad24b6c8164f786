// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Limits of control groups, found in a directory tree. */
#include <stdio.h>

#include "cgroup.h"
#include "fake_verbs.h"
#include "tree.h"

#define MIB (1ul << 20)

static struct hmr_cgroup cg;

static void find(const char *controller)
{
	hmr_cgroup_find(tree_root, controller, &cg);
}

static struct hmr_limit limit_of(size_t page, bool reserve)
{
	return hmr_cgroup_hugetlb(tree_root, &cg, page, reserve);
}

static void assert_unlimited(struct hmr_limit limit)
{
	assert_true(limit.max == UINT64_MAX);
	assert_true(limit.room == UINT64_MAX);
}

static void v2_the_tightest_group_counts(void **state)
{
	struct hmr_limit limit;

	tree_put("/proc/self/cgroup", "0::/a/b/c\n");
	tree_put("/proc/self/mountinfo",
		 "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
		 "30 22 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 "
		 "cgroup2 rw,nsdelegate\n");
	/* The largest max is the one that is nearly used up. */
	tree_put("/sys/fs/cgroup/a/hugetlb.2MB.max", "%lu\n", 100 * MIB);
	tree_put("/sys/fs/cgroup/a/hugetlb.2MB.current", "%lu\n", 90 * MIB);
	tree_put("/sys/fs/cgroup/a/b/hugetlb.2MB.max", "%lu\n", 40 * MIB);
	tree_put("/sys/fs/cgroup/a/b/hugetlb.2MB.current", "%lu\n", 20 * MIB);
	tree_put("/sys/fs/cgroup/a/b/c/hugetlb.2MB.max", "max\n");
	tree_put("/sys/fs/cgroup/a/b/c/hugetlb.2MB.current", "0\n");
	tree_put("/sys/fs/cgroup/a/b/c/hugetlb.2MB.rsvd.max", "%lu\n", 6 * MIB);
	tree_put("/sys/fs/cgroup/a/b/c/hugetlb.2MB.rsvd.current", "%lu\n",
		 8 * MIB);

	find("hugetlb");
	assert_int_equal(cg.version, 2);
	assert_string_equal(cg.mount, "/sys/fs/cgroup");
	assert_string_equal(cg.group, "/a/b/c");
	limit = limit_of(2 * MIB, false);
	assert_int_equal(limit.max, 40 * MIB);
	assert_int_equal(limit.room, 10 * MIB);
	/* more promised than allowed: the limit was lowered meanwhile */
	limit = limit_of(2 * MIB, true);
	assert_int_equal(limit.max, 6 * MIB);
	assert_int_equal(limit.room, 0);
	assert_unlimited(limit_of(1024 * MIB, false));
}

/* Without a namespace for groups: the mount shows the container's own group
 * at its top. Its name has a backslash, as units of systemd have. */
static void v2_in_a_container(void **state)
{
	struct hmr_limit limit;

	tree_put("/proc/self/cgroup", "0::/pods.slice/x\\x2dy/inner\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 /pods.slice/x\\134x2dy /my\\040groups rw - "
		 "cgroup2 cgroup rw\n");
	tree_put("/my groups/hugetlb.1GB.max", "0\n");
	tree_put("/my groups/hugetlb.1GB.current", "0\n");
	tree_put("/my groups/inner/hugetlb.1GB.max", "max\n");
	find("hugetlb");
	assert_string_equal(cg.mount, "/my groups");
	assert_string_equal(cg.group, "/inner");
	limit = limit_of(1024 * MIB, false);
	assert_int_equal(limit.max, 0);
	assert_int_equal(limit.room, 0);
}

static void v1(void **state)
{
	struct hmr_limit limit;

	tree_put("/proc/self/cgroup", "9:name=systemd:/s\n"
				      "7:memory,hugetlb:/job:1\n"
				      "0::/unified\n");
	tree_put("/proc/self/mountinfo",
		 "31 30 0:28 / /cg/unified rw - cgroup2 cgroup2 rw\n"
		 "32 30 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
		 "33 30 0:30 / /cg/mh rw - cgroup cgroup rw,memory,hugetlb\n");
	tree_put("/cg/mh/hugetlb.2MB.limit_in_bytes", "9223372036852678656\n");
	tree_put("/cg/mh/hugetlb.2MB.usage_in_bytes", "%lu\n", 2 * MIB);
	tree_put("/cg/mh/job:1/hugetlb.2MB.limit_in_bytes", "%lu\n", 8 * MIB);
	tree_put("/cg/mh/job:1/hugetlb.2MB.usage_in_bytes", "%lu\n", 2 * MIB);
	tree_put("/cg/mh/job:1/hugetlb.2MB.rsvd.limit_in_bytes", "%lu\n",
		 4 * MIB);
	tree_put("/cg/mh/job:1/hugetlb.2MB.rsvd.usage_in_bytes", "0\n");
	tree_put("/cg/mh/job:1/memory.limit_in_bytes", "%lu\n", 3 * MIB);
	tree_put("/cg/mh/job:1/memory.usage_in_bytes", "%lu\n", 1 * MIB);
	/* not this one */
	tree_put("/cg/unified/unified/hugetlb.2MB.max", "0\n");

	find("hugetlb");
	assert_int_equal(cg.version, 1);
	assert_string_equal(cg.group, "/job:1");
	limit = limit_of(2 * MIB, false);
	assert_int_equal(limit.max, 8 * MIB);
	assert_int_equal(limit.room, 6 * MIB);
	assert_int_equal(limit_of(2 * MIB, true).room, 4 * MIB);
	assert_unlimited(limit_of(64 << 10, false));
	find("memory");
	assert_int_equal(hmr_cgroup_memory(tree_root, &cg).room, 2 * MIB);
}

static void controller_on_v2_beside_v1(void **state)
{
	tree_put("/proc/self/cgroup", "3:cpu,cpuacct:/x\n0::/u\n");
	tree_put("/proc/self/mountinfo",
		 "32 30 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		 "31 30 0:28 / /cg/unified rw - cgroup2 cgroup2 rw\n");
	tree_put("/cg/unified/u/memory.max", "%lu\n", 5 * MIB);
	tree_put("/cg/unified/u/memory.current", "%lu\n", 1 * MIB);
	find("memory");
	assert_int_equal(cg.version, 2);
	assert_int_equal(hmr_cgroup_memory(tree_root, &cg).room, 4 * MIB);
	/* a name that only begins like it */
	find("cpuac");
	assert_int_equal(cg.version, 2);
	find("cpuacct");
	assert_int_equal(cg.version, 1);
}

static void what_cannot_be_seen(void **state)
{
	/* no files at all */
	find("hugetlb");
	assert_int_equal(cg.version, 0);
	assert_unlimited(limit_of(2 * MIB, false));
	/* a group that isn't below what is mounted */
	tree_put("/proc/self/cgroup", "garbage\n0::/ab\n");
	tree_put("/proc/self/mountinfo",
		 "garbage - \n30 22 0:27 /a /cg rw - cgroup2 cgroup2 rw\n");
	tree_put("/cg/hugetlb.2MB.max", "0\n");
	find("hugetlb");
	assert_int_equal(cg.version, 0);
	/* mounted nowhere */
	tree_put("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/a rw\n");
	find("hugetlb");
	assert_int_equal(cg.version, 0);
	/* a name of a group that is longer than any */
	tree_put("/proc/self/cgroup", "0::/%01500d\n", 0);
	find("hugetlb");
	assert_int_equal(cg.version, 0);
}

static void root_group(void **state)
{
	tree_put("/proc/self/cgroup", "0::/\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n");
	find("hugetlb");
	assert_int_equal(cg.version, 2);
	assert_string_equal(cg.group, "");
	assert_unlimited(limit_of(2 * MIB, false));
	tree_put("/cg/hugetlb.2MB.max", "%lu\n", 2 * MIB);
	/* no usage can be read: none is subtracted */
	assert_int_equal(limit_of(2 * MIB, false).room, 2 * MIB);
	assert_int_equal(limit_of(2 * MIB, false).max, 2 * MIB);
}

static void file_names(void **state)
{
	char name[HMR_CGROUP_FILE];

	cg.version = 2;
	assert_string_equal(hmr_cgroup_file(&cg, 2 * MIB, false, name),
			    "hugetlb.2MB.max");
	assert_string_equal(hmr_cgroup_file(&cg, 16384 * MIB, true, name),
			    "hugetlb.16GB.rsvd.max");
	cg.version = 1;
	assert_string_equal(hmr_cgroup_file(&cg, 64 << 10, true, name),
			    "hugetlb.64KB.rsvd.limit_in_bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(v2_the_tightest_group_counts),
		TREE_TEST(v2_in_a_container),
		TREE_TEST(v1),
		TREE_TEST(controller_on_v2_beside_v1),
		TREE_TEST(what_cannot_be_seen),
		TREE_TEST(root_group),
		cmocka_unit_test(file_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
