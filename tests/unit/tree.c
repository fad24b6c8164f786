// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fake_verbs.h"
#include "tree.h"

char tree_root[64];

void tree_put(const char *path, const char *fmt, ...)
{
	char full[PATH_MAX], *slash;
	va_list ap;
	FILE *f;

	snprintf(full, sizeof(full), "%s%s", tree_root, path);
	for (slash = strchr(full, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(full, 0777);
		*slash = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	va_start(ap, fmt);
	vfprintf(f, fmt, ap);
	va_end(ap);
	fclose(f);
}

static void put_count(const char *dir, const char *file, unsigned int count)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	tree_put(path, "%u\n", count);
}

void tree_pool(unsigned int kib, unsigned int nr, unsigned int free_pages,
	       unsigned int resv, unsigned int surplus, unsigned int overcommit)
{
	char dir[128];

	snprintf(dir, sizeof(dir), "/sys/kernel/mm/hugepages/hugepages-%ukB",
		 kib);
	put_count(dir, "nr_hugepages", nr);
	put_count(dir, "free_hugepages", free_pages);
	put_count(dir, "resv_hugepages", resv);
	put_count(dir, "surplus_hugepages", surplus);
	put_count(dir, "nr_overcommit_hugepages", overcommit);
}

void tree_node_pool(unsigned int node, unsigned int kib, unsigned int nr,
		    unsigned int free_pages)
{
	char dir[128];

	snprintf(dir, sizeof(dir),
		 "/sys/devices/system/node/node%u/hugepages/hugepages-%ukB",
		 node, kib);
	put_count(dir, "nr_hugepages", nr);
	put_count(dir, "free_hugepages", free_pages);
	put_count(dir, "surplus_hugepages", 0);
}

int tree_setup(void **state)
{
	snprintf(tree_root, sizeof(tree_root), "tree.XXXXXX");
	return mkdtemp(tree_root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	return remove(path);
}

int tree_teardown(void **state)
{
	return nftw(tree_root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
