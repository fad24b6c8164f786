// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What pages.c makes of a directory tree. */
#include <limits.h>
#include <stdio.h>

#include "fake_verbs.h"
#include "pages.h"
#include "tree.h"

#define THP "/sys/kernel/mm/transparent_hugepage/"
#define NODES "/sys/devices/system/node/"

static struct hmr_host host;

static void nothing_there(void **state)
{
	hmr_host_read(tree_root, &host);
	assert_int_equal(host.n_pools, 0);
	assert_int_equal(host.thp, HMR_THP_ABSENT);
	assert_int_equal(host.pmd_size, 0);
	assert_int_equal(host.base_page, 4096);
	assert_null(hmr_host_pool(&host, 2 << 20));
	assert_int_equal(host.n_thp_sizes, 0);
	assert_int_equal(host.n_nodes, 0);
	assert_int_equal(host.mem_available, 0);
	assert_int_equal(host.commit_room, 0);
	assert_int_equal(host.max_map_count, 0);
	assert_true(host.memory.max == UINT64_MAX);
	assert_true(host.memory.room == UINT64_MAX);
}

static void pools(void **state)
{
	const struct hmr_pool *pool;

	tree_pool(2048, 100, 40, 10, 3, 8);
	tree_pool(1048576, 2, 1, 1, 0, 0);
	hmr_host_read(tree_root, &host);
	assert_int_equal(host.n_pools, 2);

	pool = hmr_host_pool(&host, 2 << 20);
	assert_non_null(pool);
	assert_int_equal(pool->nr, 100);
	assert_int_equal(pool->free, 40);
	assert_int_equal(pool->reserved, 10);
	assert_int_equal(pool->surplus, 3);
	assert_int_equal(pool->overcommit, 8);
	/* 40 free less 10 promised, and 8 - 3 beyond the pool */
	assert_int_equal(hmr_pool_available(pool), 35);
	assert_int_equal(hmr_pool_growth(pool), 5);
	/* without nodes, all free ones are on whichever are asked for */
	assert_int_equal(hmr_pool_free_on(&host, pool, 1), 40);

	pool = hmr_host_pool(&host, 1 << 30);
	assert_non_null(pool);
	assert_int_equal(hmr_pool_available(pool), 0);
	assert_null(hmr_host_pool(&host, 64 << 10));
}

static void numbers_that_contradict_each_other(void **state)
{
	const char *dir = "/sys/kernel/mm/hugepages/hugepages-64kB/";
	char path[128];

	/* Files are read one after another: they need not fit together. */
	tree_pool(2048, 1, 0, 5, 9, 8);
	snprintf(path, sizeof(path), "%snr_hugepages", dir);
	tree_put(path, "garbage");
	snprintf(path, sizeof(path), "%sfree_hugepages", dir);
	tree_put(path, "%s", "");
	snprintf(path, sizeof(path), "%sresv_hugepages", dir);
	tree_put(path, "-");
	hmr_host_read(tree_root, &host);
	assert_int_equal(hmr_pool_available(hmr_host_pool(&host, 2 << 20)), 0);
	assert_int_equal(hmr_pool_available(hmr_host_pool(&host, 64 << 10)), 0);
}

static void more_sizes_than_there_is_room_for(void **state)
{
	char path[128];
	int i;

	for (i = 0; i < HMR_MAX_POOLS + 3; i++)
		tree_pool(64u << i, 1, 1, 0, 0, 0);
	tree_put(THP "enabled", "[always] madvise never\n");
	tree_put(THP "hpage_pmd_size", "2097152\n");
	for (i = 0; i < HMR_MAX_THP_SIZES + 3; i++) {
		snprintf(path, sizeof(path), THP "hugepages-%ukB/enabled",
			 8u << i);
		tree_put(path, "[always] inherit madvise never\n");
	}
	hmr_host_read(tree_root, &host);
	assert_int_equal(host.n_pools, HMR_MAX_POOLS);
	assert_int_equal(host.n_thp_sizes, HMR_MAX_THP_SIZES);
}

static void thp_modes(void **state)
{
	const struct {
		const char *enabled;
		const char *pmd_enabled;
		enum hmr_thp_mode mode;
	} cases[] = {
		{ "always madvise [never]\n", NULL, HMR_THP_NEVER },
		{ "always [madvise] never\n", NULL, HMR_THP_MADVISE },
		{ "[always] madvise never\n", NULL, HMR_THP_ALWAYS },
		{ "always [madvise] never\n",
		  "always [inherit] madvise never\n", HMR_THP_MADVISE },
		{ "[always] madvise never\n",
		  "always inherit madvise [never]\n", HMR_THP_NEVER },
		{ "always madvise [never]\n",
		  "always inherit [madvise] never\n", HMR_THP_MADVISE },
	};
	unsigned int i;

	tree_put(THP "hpage_pmd_size", "2097152\n");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tree_put(THP "enabled", "%s", cases[i].enabled);
		if (cases[i].pmd_enabled)
			tree_put(THP "hugepages-2048kB/enabled", "%s",
				 cases[i].pmd_enabled);
		hmr_host_read(tree_root, &host);
		assert_int_equal(host.thp, cases[i].mode);
		assert_int_equal(host.pmd_size, 2 << 20);
	}
}

static void thp_of_shared_memory(void **state)
{
	const struct {
		const char *line;
		enum hmr_thp_mode mode;
	} cases[] = {
		{ "[always] within_size advise never deny force\n",
		  HMR_THP_ALWAYS },
		{ "always [within_size] advise never deny force\n",
		  HMR_THP_WITHIN_SIZE },
		{ "always within_size [advise] never deny force\n",
		  HMR_THP_MADVISE },
		{ "always within_size advise [never] deny force\n",
		  HMR_THP_NEVER },
		{ "always within_size advise never [deny] force\n",
		  HMR_THP_NEVER },
		{ "always within_size advise never deny [force]\n",
		  HMR_THP_ALWAYS },
	};
	unsigned int i;

	tree_put(THP "hpage_pmd_size", "2097152\n");
	tree_put(THP "enabled", "always madvise [never]\n");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tree_put(THP "shmem_enabled", "%s", cases[i].line);
		hmr_host_read(tree_root, &host);
		assert_int_equal(host.thp_shmem, cases[i].mode);
		assert_int_equal(host.thp, HMR_THP_NEVER);
	}
}

static const struct hmr_thp_size *thp_size(size_t size)
{
	unsigned int i;

	for (i = 0; i < host.n_thp_sizes; i++)
		if (host.thp_sizes[i].size == size)
			return &host.thp_sizes[i];
	fail_msg("no THP of %zu bytes", size);
	return NULL;
}

static void thp_sizes(void **state)
{
	tree_put(THP "hpage_pmd_size", "2097152\n");
	tree_put(THP "enabled", "always [madvise] never\n");
	tree_put(THP "shmem_enabled",
		 "always within_size [advise] never deny force\n");
	tree_put(THP "hugepages-64kB/enabled",
		 "[always] inherit madvise never\n");
	tree_put(THP "hugepages-64kB/shmem_enabled",
		 "always [inherit] within_size advise never\n");
	/* only for shared memory */
	tree_put(THP "hugepages-8kB/shmem_enabled",
		 "[always] inherit within_size advise never\n");
	/* a kernel that has no mode of its own for shared memory */
	tree_put(THP "hugepages-2048kB/enabled",
		 "always [inherit] madvise never\n");
	tree_put(THP "khugepaged/defrag", "1\n");

	hmr_host_read(tree_root, &host);
	assert_int_equal(host.n_thp_sizes, 3);
	assert_int_equal(thp_size(64 << 10)->anon, HMR_THP_ALWAYS);
	assert_int_equal(thp_size(64 << 10)->shmem, HMR_THP_MADVISE);
	assert_int_equal(thp_size(8 << 10)->anon, HMR_THP_NEVER);
	assert_int_equal(thp_size(8 << 10)->shmem, HMR_THP_ALWAYS);
	assert_int_equal(thp_size(2 << 20)->anon, HMR_THP_MADVISE);
	assert_int_equal(thp_size(2 << 20)->shmem, HMR_THP_MADVISE);
}

static void thp_without_its_size_is_absent(void **state)
{
	tree_put(THP "enabled", "[always] madvise never\n");
	hmr_host_read(tree_root, &host);
	assert_int_equal(host.thp, HMR_THP_ABSENT);
}

/* Two nodes, of which the second has no CPUs and a number that isn't next. */
static void nodes(void **state)
{
	const struct hmr_pool *pool;

	tree_pool(2048, 30, 20, 4, 0, 2);
	tree_pool(1048576, 1, 1, 0, 0, 0);
	tree_put(NODES "online", "0,3\n");
	tree_put(NODES "node0/cpulist", "0-2,8\n");
	tree_put(NODES "node0/meminfo",
		 "\nNode 0 MemTotal:    4000 kB\nNode 0 MemFree:     1000 kB\n"
		 "Node 0 MemUsed:     3000 kB\n");
	tree_put(NODES "node3/cpulist", "\n");
	tree_put(NODES "node3/meminfo", "Node 3 MemFree: 7 kB\n");
	tree_node_pool(0, 2048, 20, 5);
	tree_node_pool(3, 2048, 10, 15);
	tree_node_pool(3, 1048576, 1, 1);

	hmr_host_read(tree_root, &host);
	assert_int_equal(host.n_nodes, 2);
	assert_int_equal(host.nodes[0].id, 0);
	assert_int_equal(host.nodes[1].id, 3);
	assert_int_equal(CPU_COUNT(&host.nodes[0].cpus), 4);
	assert_true(CPU_ISSET(8, &host.nodes[0].cpus));
	assert_int_equal(CPU_COUNT(&host.nodes[1].cpus), 0);
	assert_int_equal(host.nodes[0].mem_free, 1000 << 10);
	assert_int_equal(host.nodes[1].mem_free, 7 << 10);

	pool = hmr_host_pool(&host, 2 << 20);
	assert_int_equal(hmr_pool_free_on(&host, pool, 0), 20);
	assert_int_equal(hmr_pool_free_on(&host, pool, 1), 5);
	assert_int_equal(hmr_pool_free_on(&host, pool, 1 << 3), 15);
	assert_int_equal(hmr_pool_free_on(&host, pool, 1 << 2), 0);
	/* 5 there and 2 that may come; 15 + 2; 16 + 2 in all for both */
	assert_int_equal(hmr_pool_available_on(&host, pool, 1), 7);
	assert_int_equal(hmr_pool_available_on(&host, pool, 1 << 3), 17);
	assert_int_equal(hmr_pool_available_on(&host, pool, 9), 18);
	pool = hmr_host_pool(&host, 1 << 30);
	assert_int_equal(hmr_pool_available_on(&host, pool, 1), 0);
	assert_int_equal(hmr_pool_available_on(&host, pool, 8), 1);
}

static void nodes_that_are_malformed(void **state)
{
	tree_put(NODES "online", "0-x\n");
	hmr_host_read(tree_root, &host);
	assert_int_equal(host.n_nodes, 0);
	/* more than there is room for, without a file of their own */
	tree_put(NODES "online", "0-100\n");
	hmr_host_read(tree_root, &host);
	assert_int_equal(host.n_nodes, HMR_MAX_NODES);
	assert_int_equal(host.nodes[63].id, 63);
	assert_int_equal(CPU_COUNT(&host.nodes[63].cpus), 0);
}

static void memory_and_sysctls(void **state)
{
	tree_put("/proc/meminfo", "MemTotal:       16000 kB\n"
				  "MemAvailable:    8000 kB\n"
				  "CommitLimit:     5000 kB\n"
				  "Committed_AS:    3000 kB\n");
	tree_put("/proc/sys/vm/max_map_count", "65530\n");
	tree_put("/proc/sys/vm/overcommit_memory", "2\n");
	tree_put("/proc/sys/kernel/numa_balancing", "1\n");
	hmr_host_read(tree_root, &host);
	assert_int_equal(host.mem_available, 8000 << 10);
	assert_int_equal(host.commit_room, 2000 << 10);
	assert_int_equal(host.max_map_count, 65530);
	assert_int_equal(host.overcommit_memory, 2);
	assert_int_equal(host.numa_balancing, 1);

	tree_put("/proc/meminfo", "CommitLimit: 1 kB\nCommitted_AS: 2 kB\n");
	hmr_host_read(tree_root, &host);
	assert_int_equal(host.commit_room, 0);
}

/* The limits themselves are test_cgroup.c's. */
static void pools_have_their_groups_limits(void **state)
{
	const struct hmr_pool *pool;

	tree_pool(2048, 9, 9, 0, 0, 0);
	tree_put("/proc/self/cgroup", "0::/job\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n");
	tree_put("/cg/job/hugetlb.2MB.max", "8388608\n");
	tree_put("/cg/job/hugetlb.2MB.current", "2097152\n");
	tree_put("/cg/job/hugetlb.2MB.rsvd.max", "4194304\n");
	tree_put("/cg/job/memory.max", "100\n");
	tree_put("/cg/job/memory.current", "60\n");
	hmr_host_read(tree_root, &host);
	pool = hmr_host_pool(&host, 2 << 20);
	assert_int_equal(pool->cgroup.max, 8 << 20);
	assert_int_equal(pool->cgroup.room, 6 << 20);
	assert_int_equal(pool->cgroup_rsvd.max, 4 << 20);
	assert_int_equal(host.memory.room, 40);
}

static void root_that_is_too_long(void **state)
{
	char longer[PATH_MAX + 10];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	hmr_host_read(longer, &host);
	assert_int_equal(host.n_pools, 0);
}

static void size_texts(void **state)
{
	const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{ 0, "0 bytes" },
		{ 1, "1 bytes" },
		{ 1023, "1023 bytes" },
		{ 1024, "1 KiB" },
		{ 3 << 20, "3 MiB" },
		{ (3 << 20) + 1024, "3073 KiB" },
		{ 1ull << 40, "1024 GiB" },
		{ UINT64_MAX, "18446744073709551615 bytes" },
	};
	char text[HMR_SIZE_TEXT];
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(hmr_size_text(cases[i].bytes, text),
				    cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(nothing_there),
		TREE_TEST(pools),
		TREE_TEST(numbers_that_contradict_each_other),
		TREE_TEST(more_sizes_than_there_is_room_for),
		TREE_TEST(thp_modes),
		TREE_TEST(thp_of_shared_memory),
		TREE_TEST(thp_sizes),
		TREE_TEST(thp_without_its_size_is_absent),
		TREE_TEST(nodes),
		TREE_TEST(nodes_that_are_malformed),
		TREE_TEST(memory_and_sysctls),
		TREE_TEST(pools_have_their_groups_limits),
		cmocka_unit_test(root_that_is_too_long),
		cmocka_unit_test(size_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
