// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What pages the host has: hugetlb pools and transparent huge pages.
 * The files are described in the kernel's
 * Documentation/admin-guide/mm/{hugetlbpage,transhuge}.rst.
 */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pages.h"

#define POOLS "/sys/kernel/mm/hugepages"
#define THP "/sys/kernel/mm/transparent_hugepage"

/* Where files are looked for, and buffers for one of them. */
struct reader {
	const char *root;
	char path[PATH_MAX];
	char line[80];
};

static void set_path(struct reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void set_path(struct reader *r, const char *fmt, ...)
{
	size_t n = (size_t)snprintf(r->path, sizeof(r->path), "%s", r->root);
	va_list ap;

	if (n >= sizeof(r->path))
		return;
	va_start(ap, fmt);
	vsnprintf(r->path + n, sizeof(r->path) - n, fmt, ap);
	va_end(ap);
}

/* The first line of the file at r->path; NULL if it can't be read. */
static const char *read_line(struct reader *r)
{
	FILE *f = fopen(r->path, "re");
	char *line;

	if (!f)
		return NULL;
	line = fgets(r->line, sizeof(r->line), f);
	fclose(f);
	return line;
}

static uint64_t read_u64(struct reader *r)
{
	const char *line = read_line(r);
	uint64_t value;

	return line && sscanf(line, "%" SCNu64, &value) == 1 ? value : 0;
}

static uint64_t read_pool_u64(struct reader *r, size_t kib, const char *name)
{
	set_path(r, POOLS "/hugepages-%zukB/%s", kib, name);
	return read_u64(r);
}

static void read_pool(struct reader *r, size_t kib, struct hmr_pool *pool)
{
	*pool = (struct hmr_pool){
		.page_size = kib * HMR_KIB,
		.nr = read_pool_u64(r, kib, "nr_hugepages"),
		.free = read_pool_u64(r, kib, "free_hugepages"),
		.reserved = read_pool_u64(r, kib, "resv_hugepages"),
		.surplus = read_pool_u64(r, kib, "surplus_hugepages"),
		.overcommit = read_pool_u64(r, kib, "nr_overcommit_hugepages"),
	};
}

static void read_pools(struct reader *r, struct hmr_host *host)
{
	struct dirent *entry;
	size_t kib;
	DIR *dir;

	set_path(r, POOLS);
	dir = opendir(r->path);
	if (!dir)
		return;
	while ((entry = readdir(dir)) && host->n_pools < HMR_MAX_POOLS)
		if (sscanf(entry->d_name, "hugepages-%zukB", &kib) == 1)
			read_pool(r, kib, &host->pools[host->n_pools++]);
	closedir(dir);
}

/* The chosen one of "always [madvise] never" is in brackets. */
static enum hmr_thp_mode parse_thp_mode(const char *line)
{
	if (strstr(line, "[always]"))
		return HMR_THP_ALWAYS;
	if (strstr(line, "[madvise]"))
		return HMR_THP_MADVISE;
	return HMR_THP_NEVER;
}

static void read_thp(struct reader *r, struct hmr_host *host)
{
	const char *line;

	set_path(r, THP "/hpage_pmd_size");
	host->pmd_size = read_u64(r);
	set_path(r, THP "/enabled");
	line = read_line(r);
	if (!line || !host->pmd_size)
		return;
	host->thp = parse_thp_mode(line);

	/* Since Linux 6.8 each size has a mode of its own, which "inherit"s the
	 * one above unless somebody changed it. */
	set_path(r, THP "/hugepages-%zukB/enabled", host->pmd_size / HMR_KIB);
	line = read_line(r);
	if (line && !strstr(line, "[inherit]"))
		host->thp = parse_thp_mode(line);
}

void hmr_host_read(const char *root, struct hmr_host *host)
{
	struct reader r = { .root = root };

	*host = (struct hmr_host){
		.base_page = hmr_base_page(),
		.thp = HMR_THP_ABSENT,
	};
	read_pools(&r, host);
	read_thp(&r, host);
}

const struct hmr_pool *hmr_host_pool(const struct hmr_host *host,
				     size_t page_size)
{
	unsigned int i;

	for (i = 0; i < host->n_pools; i++)
		if (host->pools[i].page_size == page_size)
			return &host->pools[i];
	return NULL;
}

uint64_t hmr_pool_available(const struct hmr_pool *pool)
{
	uint64_t free = pool->free, extra = 0;

	if (pool->overcommit > pool->surplus)
		extra = pool->overcommit - pool->surplus;
	return (free > pool->reserved ? free - pool->reserved : 0) + extra;
}

const char *hmr_size_text(uint64_t bytes, char text[HMR_SIZE_TEXT])
{
	static const struct {
		uint64_t bytes;
		const char *name;
	} units[] = {
		{ HMR_GIB, "GiB" },
		{ HMR_MIB, "MiB" },
		{ HMR_KIB, "KiB" },
		{ 1, "bytes" },
	};
	unsigned int i = 0;

	while (bytes % units[i].bytes || bytes < units[i].bytes) {
		if (units[i].bytes == 1)
			break;
		i++;
	}
	snprintf(text, HMR_SIZE_TEXT, "%" PRIu64 " %s", bytes / units[i].bytes,
		 units[i].name);
	return text;
}
