// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What pages the host has: hugetlb pools, transparent huge pages, and memory.
 * The files are described in the kernel's
 * Documentation/admin-guide/mm/{hugetlbpage,transhuge}.rst.
 */
#include <dirent.h>
#include <inttypes.h>
#include <string.h>

#include "numa.h"
#include "pages.h"

#define POOLS "/sys/kernel/mm/hugepages"
#define THP "/sys/kernel/mm/transparent_hugepage"
#define NODES "/sys/devices/system/node"

static uint64_t read_pool_u64(struct hmr_reader *r, size_t kib,
			      const char *name)
{
	hmr_reader_path(r, POOLS "/hugepages-%zukB/%s", kib, name);
	return hmr_read_u64(r, 0);
}

static void read_pool(struct hmr_reader *r, size_t kib,
		      const struct hmr_cgroup *cg, struct hmr_pool *pool)
{
	size_t size = kib * HMR_KIB;

	*pool = (struct hmr_pool){
		.page_size = size,
		.nr = read_pool_u64(r, kib, "nr_hugepages"),
		.free = read_pool_u64(r, kib, "free_hugepages"),
		.reserved = read_pool_u64(r, kib, "resv_hugepages"),
		.surplus = read_pool_u64(r, kib, "surplus_hugepages"),
		.overcommit = read_pool_u64(r, kib, "nr_overcommit_hugepages"),
		.cgroup = hmr_cgroup_hugetlb(r->root, cg, size, false),
		.cgroup_rsvd = hmr_cgroup_hugetlb(r->root, cg, size, true),
	};
}

/* The sizes of the directories "hugepages-NkB" in the one at r->path. */
static unsigned int list_sizes(const struct hmr_reader *r, size_t *kib,
			       unsigned int max)
{
	DIR *dir = opendir(r->path);
	struct dirent *entry;
	unsigned int n = 0;

	if (!dir)
		return 0;
	while (n < max && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "hugepages-%zukB", &kib[n]) == 1)
			n++;
	closedir(dir);
	return n;
}

static void read_pools(struct hmr_reader *r, struct hmr_host *host)
{
	size_t kib[HMR_MAX_POOLS];
	unsigned int i;

	hmr_reader_path(r, POOLS);
	host->n_pools = list_sizes(r, kib, HMR_MAX_POOLS);
	hmr_cgroup_find(r->root, "hugetlb", &host->hugetlb_group);
	for (i = 0; i < host->n_pools; i++)
		read_pool(r, kib[i], &host->hugetlb_group, &host->pools[i]);
}

/* The chosen one of "always [madvise] never" is in brackets; @inherited is what
 * "inherit" stands for, and @missing what no such file does. */
static enum hmr_thp_mode read_thp_mode(struct hmr_reader *r,
				       enum hmr_thp_mode inherited,
				       enum hmr_thp_mode missing)
{
	static const struct {
		const char *name;
		enum hmr_thp_mode mode;
	} modes[] = {
		{ "[always]", HMR_THP_ALWAYS },
		{ "[force]", HMR_THP_ALWAYS },
		{ "[within_size]", HMR_THP_WITHIN_SIZE },
		{ "[madvise]", HMR_THP_MADVISE },
		{ "[advise]", HMR_THP_MADVISE },
	};
	const char *line = hmr_read_line(r);
	unsigned int i;

	if (!line)
		return missing;
	if (strstr(line, "[inherit]"))
		return inherited;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strstr(line, modes[i].name))
			return modes[i].mode;
	return HMR_THP_NEVER;
}

static void read_thp_size(struct hmr_reader *r, size_t kib,
			  const struct hmr_thp_size *global,
			  const struct hmr_thp_size *missing,
			  struct hmr_thp_size *size)
{
	size->size = kib * HMR_KIB;
	hmr_reader_path(r, THP "/hugepages-%zukB/enabled", kib);
	size->anon = read_thp_mode(r, global->anon, missing->anon);
	hmr_reader_path(r, THP "/hugepages-%zukB/shmem_enabled", kib);
	size->shmem = read_thp_mode(r, global->shmem, missing->shmem);
}

static void read_thp(struct hmr_reader *r, struct hmr_host *host)
{
	const struct hmr_thp_size none = {
		.anon = HMR_THP_NEVER,
		.shmem = HMR_THP_NEVER,
	};
	struct hmr_thp_size global, pmd;
	size_t kib[HMR_MAX_THP_SIZES];
	unsigned int i;

	hmr_reader_path(r, THP "/hpage_pmd_size");
	host->pmd_size = hmr_read_u64(r, 0);
	hmr_reader_path(r, THP "/enabled");
	if (!host->pmd_size || !hmr_read_line(r))
		return;
	global.anon = read_thp_mode(r, HMR_THP_NEVER, HMR_THP_NEVER);
	hmr_reader_path(r, THP "/shmem_enabled");
	global.shmem = read_thp_mode(r, HMR_THP_NEVER, HMR_THP_NEVER);

	/* Since Linux 6.8 each size has a mode of its own, which "inherit"s the
	 * one above unless somebody changed it. Without one, PMDs have the one
	 * above, and other sizes aren't used. */
	read_thp_size(r, host->pmd_size / HMR_KIB, &global, &global, &pmd);
	host->thp = pmd.anon;
	host->thp_shmem = pmd.shmem;

	hmr_reader_path(r, THP);
	host->n_thp_sizes = list_sizes(r, kib, HMR_MAX_THP_SIZES);
	for (i = 0; i < host->n_thp_sizes; i++)
		read_thp_size(r, kib[i], &global,
			      kib[i] * HMR_KIB == host->pmd_size ? &global :
								   &none,
			      &host->thp_sizes[i]);
}

static uint64_t read_node_u64(struct hmr_reader *r, unsigned int id, size_t kib,
			      const char *name)
{
	hmr_reader_path(r, NODES "/node%u/hugepages/hugepages-%zukB/%s", id,
			kib, name);
	return hmr_read_u64(r, 0);
}

static void read_node(struct hmr_reader *r, unsigned int id,
		      const struct hmr_host *host, struct hmr_node *node)
{
	const char *line;
	char key[40];
	unsigned int i;

	node->id = id;
	hmr_reader_path(r, NODES "/node%u/cpulist", id);
	line = hmr_read_line(r);
	if (!line || !hmr_parse_cpulist(line, &node->cpus))
		CPU_ZERO(&node->cpus);
	hmr_reader_path(r, NODES "/node%u/meminfo", id);
	snprintf(key, sizeof(key), "Node %u MemFree:", id);
	node->mem_free = hmr_read_key(r, key, 0) * HMR_KIB;
	for (i = 0; i < host->n_pools; i++) {
		size_t kib = host->pools[i].page_size / HMR_KIB;

		node->pools[i] = (struct hmr_node_pool){
			.nr = read_node_u64(r, id, kib, "nr_hugepages"),
			.free = read_node_u64(r, id, kib, "free_hugepages"),
			.surplus =
				read_node_u64(r, id, kib, "surplus_hugepages"),
		};
	}
}

static void read_nodes(struct hmr_reader *r, struct hmr_host *host)
{
	const char *line;
	cpu_set_t online; /* of nodes: the list looks the same */
	unsigned int id;

	hmr_reader_path(r, NODES "/online");
	line = hmr_read_line(r);
	if (!line || !hmr_parse_cpulist(line, &online))
		return;
	for (id = 0; id < HMR_MAX_NODES; id++)
		if (CPU_ISSET(id, &online))
			read_node(r, id, host, &host->nodes[host->n_nodes++]);
}

static unsigned int read_sysctl(struct hmr_reader *r, const char *name)
{
	hmr_reader_path(r, "/proc/sys/%s", name);
	return (unsigned int)hmr_read_u64(r, 0);
}

struct meminfo {
	uint64_t available;
	uint64_t limit;
	uint64_t committed;
};

static void match_meminfo(char *line, void *arg)
{
	struct meminfo *info = arg;
	uint64_t kib;

	if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
		info->available = kib * HMR_KIB;
	else if (sscanf(line, "CommitLimit: %" SCNu64, &kib) == 1)
		info->limit = kib * HMR_KIB;
	else if (sscanf(line, "Committed_AS: %" SCNu64, &kib) == 1)
		info->committed = kib * HMR_KIB;
}

static void read_memory(struct hmr_reader *r, struct hmr_host *host)
{
	struct meminfo info = { 0 };
	struct hmr_cgroup cg;

	host->max_map_count = read_sysctl(r, "vm/max_map_count");
	host->overcommit_memory = read_sysctl(r, "vm/overcommit_memory");
	host->numa_balancing = read_sysctl(r, "kernel/numa_balancing");

	hmr_reader_path(r, "/proc/meminfo");
	hmr_read_lines(r, match_meminfo, &info);
	host->mem_available = info.available;
	if (info.limit > info.committed)
		host->commit_room = info.limit - info.committed;

	hmr_cgroup_find(r->root, "memory", &cg);
	host->memory = hmr_cgroup_memory(r->root, &cg);
}

void hmr_host_read_pages(const char *root, struct hmr_host *host)
{
	struct hmr_reader r = { .root = root };

	*host = (struct hmr_host){
		.base_page = hmr_base_page(),
		.thp = HMR_THP_ABSENT,
	};
	read_pools(&r, host);
	read_thp(&r, host);
}

void hmr_host_read(const char *root, struct hmr_host *host)
{
	struct hmr_reader r = { .root = root };

	hmr_host_read_pages(root, host);
	read_nodes(&r, host);
	read_memory(&r, host);
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

uint64_t hmr_pool_growth(const struct hmr_pool *pool)
{
	return pool->overcommit > pool->surplus ?
		       pool->overcommit - pool->surplus :
		       0;
}

uint64_t hmr_pool_free_on(const struct hmr_host *host,
			  const struct hmr_pool *pool, uint64_t nodes)
{
	uint64_t sum = 0;
	unsigned int i;

	if (!nodes || !host->n_nodes)
		return pool->free;
	for (i = 0; i < host->n_nodes; i++)
		if (nodes >> host->nodes[i].id & 1)
			sum += host->nodes[i].pools[pool - host->pools].free;
	return sum;
}

uint64_t hmr_pool_available(const struct hmr_pool *pool)
{
	uint64_t free = pool->free;

	return (free > pool->reserved ? free - pool->reserved : 0) +
	       hmr_pool_growth(pool);
}

uint64_t hmr_pool_available_on(const struct hmr_host *host,
			       const struct hmr_pool *pool, uint64_t nodes)
{
	uint64_t all = hmr_pool_available(pool);
	uint64_t here =
		hmr_pool_free_on(host, pool, nodes) + hmr_pool_growth(pool);

	return here < all ? here : all;
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
