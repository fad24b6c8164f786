// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What pages.c makes of a directory tree. */
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fake_verbs.h"
#include "pages.h"

static char root[64];

static void put(const char *path, const char *text)
{
	char full[PATH_MAX], *slash;
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (slash = strchr(full, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0777);
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_pool(const char *size, const char *nr, const char *free_pages,
		     const char *resv, const char *surplus, const char *over)
{
	const char *const files[] = { "nr_hugepages",
				      nr,
				      "free_hugepages",
				      free_pages,
				      "resv_hugepages",
				      resv,
				      "surplus_hugepages",
				      surplus,
				      "nr_overcommit_hugepages",
				      over };
	char path[PATH_MAX];
	unsigned int i;

	for (i = 0; i < 10; i += 2) {
		snprintf(path, sizeof(path),
			 "/sys/kernel/mm/hugepages/hugepages-%skB/%s", size,
			 files[i]);
		put(path, files[i + 1]);
	}
}

#define THP "/sys/kernel/mm/transparent_hugepage/"

static int setup(void **state)
{
	snprintf(root, sizeof(root), "tree.XXXXXX");
	return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

static int teardown(void **state)
{
	return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void nothing_there(void **state)
{
	struct hmr_host host;

	hmr_host_read(root, &host);
	assert_int_equal(host.n_pools, 0);
	assert_int_equal(host.thp, HMR_THP_ABSENT);
	assert_int_equal(host.pmd_size, 0);
	assert_int_equal(host.base_page, 4096);
	assert_null(hmr_host_pool(&host, 2 << 20));
}

static void pools(void **state)
{
	const struct hmr_pool *pool;
	struct hmr_host host;

	put_pool("2048", "100\n", "40\n", "10\n", "3\n", "8\n");
	put_pool("1048576", "2\n", "1\n", "1\n", "0\n", "0\n");
	hmr_host_read(root, &host);
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

	pool = hmr_host_pool(&host, 1 << 30);
	assert_non_null(pool);
	assert_int_equal(hmr_pool_available(pool), 0);
	assert_null(hmr_host_pool(&host, 64 << 10));
}

static void numbers_that_contradict_each_other(void **state)
{
	struct hmr_host host;

	/* Files are read one after another: they need not fit together. */
	put_pool("2048", "1\n", "0\n", "5\n", "9\n", "8\n");
	put_pool("64", "garbage", "", "\n", "-", "0x10");
	hmr_host_read(root, &host);
	assert_int_equal(hmr_pool_available(hmr_host_pool(&host, 2 << 20)), 0);
	assert_int_equal(hmr_pool_available(hmr_host_pool(&host, 64 << 10)), 0);
}

static void more_sizes_than_there_is_room_for(void **state)
{
	struct hmr_host host;
	char size[16];
	int i;

	for (i = 0; i < HMR_MAX_POOLS + 3; i++) {
		snprintf(size, sizeof(size), "%d", 64 << i);
		put_pool(size, "1", "1", "0", "0", "0");
	}
	hmr_host_read(root, &host);
	assert_int_equal(host.n_pools, HMR_MAX_POOLS);
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
	struct hmr_host host;
	unsigned int i;

	put(THP "hpage_pmd_size", "2097152\n");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put(THP "enabled", cases[i].enabled);
		if (cases[i].pmd_enabled)
			put(THP "hugepages-2048kB/enabled",
			    cases[i].pmd_enabled);
		hmr_host_read(root, &host);
		assert_int_equal(host.thp, cases[i].mode);
		assert_int_equal(host.pmd_size, 2 << 20);
	}
}

static void thp_without_its_size_is_absent(void **state)
{
	struct hmr_host host;

	put(THP "enabled", "[always] madvise never\n");
	hmr_host_read(root, &host);
	assert_int_equal(host.thp, HMR_THP_ABSENT);
}

static void root_that_is_too_long(void **state)
{
	char longer[PATH_MAX + 10];
	struct hmr_host host;

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
		cmocka_unit_test_setup_teardown(nothing_there, setup, teardown),
		cmocka_unit_test_setup_teardown(pools, setup, teardown),
		cmocka_unit_test_setup_teardown(
			numbers_that_contradict_each_other, setup, teardown),
		cmocka_unit_test_setup_teardown(
			more_sizes_than_there_is_room_for, setup, teardown),
		cmocka_unit_test_setup_teardown(thp_modes, setup, teardown),
		cmocka_unit_test_setup_teardown(thp_without_its_size_is_absent,
						setup, teardown),
		cmocka_unit_test(root_that_is_too_long),
		cmocka_unit_test(size_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
