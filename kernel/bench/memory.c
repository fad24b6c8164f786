// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "common.h"
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kernel-page-flags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THP "/sys/kernel/mm/transparent_hugepage"
#define POOL "/sys/kernel/mm/hugepages/hugepages-2048kB"

#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21u << 26)
#endif
#ifndef MAP_HUGE_2MB
#define MAP_HUGE_2MB (21 << 26)
#endif

static const char *const names[] = {
	[MEMORY_4K] = "4k",
	[MEMORY_THP] = "thp",
	[MEMORY_PTE] = "pte",
	[MEMORY_2M] = "2M",
};

static bool parse_mthp(struct memory *m, const char *name)
{
	char unit[2] = "", more;
	size_t kib;

	if (sscanf(name, "%zu%1[k]%c", &kib, unit, &more) != 2 || kib < 8 ||
	    kib > 1024 || kib & (kib - 1))
		return false;
	m->kind = MEMORY_MTHP;
	m->mthp = kib * KIB;
	return true;
}

void memory_parse(struct memory *m, const char *name)
{
	static const enum memory_kind kinds[] = { MEMORY_4K, MEMORY_THP,
						  MEMORY_PTE, MEMORY_2M };
	unsigned int i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strcmp(name, names[kinds[i]])) {
			m->kind = kinds[i];
			return;
		}
	}
	if (!parse_mthp(m, name))
		die(EXIT_USAGE, "'%s' is no kind of memory (see --help)", name);
}

const char *memory_name(const struct memory *m)
{
	static char name[32];

	if (m->kind != MEMORY_MTHP)
		return names[m->kind];
	snprintf(name, sizeof(name), "%zuk", m->mthp / KIB);
	return name;
}

static size_t page_size(const struct memory *m)
{
	switch (m->kind) {
	case MEMORY_4K:
		return PAGE;
	case MEMORY_MTHP:
		return m->mthp;
	default:
		return HUGE_PAGE;
	}
}

/* --- the system's settings ----------------------------------------------- */

static void need_setting(const char *path, const char *value)
{
	int ret = setting_change(path, value);

	if (ret == -ENOENT)
		die(EXIT_NOT_HERE, "this kernel has no %s", path);
	if (ret)
		die(1, "%s: %s", path, strerror(-ret));
}

static void thp_path(char path[128], size_t size, const char *file)
{
	snprintf(path, 128, THP "/hugepages-%zukB/%s", size / KIB, file);
}

/* The largest size that is enabled is tried first, so it must be the only. */
static void allow_mthp(const struct memory *m)
{
	const char *file = m->shared ? "shmem_enabled" : "enabled";
	char path[128];
	size_t size;

	thp_path(path, m->mthp, file);
	need_setting(path, m->shared ? "advise" : "madvise");
	for (size = HUGE_PAGE; size > PAGE; size /= 2) {
		thp_path(path, size, file);
		if (size != m->mthp && !access(path, F_OK))
			need_setting(path, "never");
	}
}

static void allow_thp(const struct memory *m)
{
	const char *path = m->shared ? THP "/shmem_enabled" : THP "/enabled";

	if (access(path, F_OK))
		die(EXIT_NOT_HERE, "this kernel has no %s", path);
	if (setting_is(path, "never") || setting_is(path, "deny"))
		need_setting(path, m->shared ? "advise" : "madvise");
}

/* What would map or move pages differently while they are measured. */
static void settle(const struct memory *m)
{
	int ret = setting_change("/proc/sys/kernel/numa_balancing", "0");

	if (ret && ret != -ENOENT)
		die(1, "numa_balancing: %s", strerror(-ret));
	if (m->kind == MEMORY_MTHP)
		allow_mthp(m);
	else if (m->kind == MEMORY_THP || m->kind == MEMORY_PTE)
		allow_thp(m);
}

/* How many were made, or 0 where they aren't counted. */
static uint64_t mthp_count(const struct memory *m)
{
	char path[128], text[32] = "0";

	thp_path(path, m->mthp,
		 m->shared ? "stats/shmem_alloc" : "stats/anon_fault_alloc");
	if (!file_read(path, text, sizeof(text)))
		die(EXIT_NOT_HERE, "this kernel has no %s", path);
	return strtoull(text, NULL, 10);
}

/* --- mapping ------------------------------------------------------------- */

static int open_memfd(const struct memory *m)
{
	unsigned int flags = MFD_CLOEXEC;
	int fd;

	if (!m->shared)
		return -1;
	if (m->kind == MEMORY_2M)
		flags |= MFD_HUGETLB | MFD_HUGE_2MB;
	fd = memfd_create("bench", flags);
	if (fd < 0)
		die(1, "memfd_create: %m");
	if (ftruncate(fd, (off_t)m->size))
		die(1, "a memfd of %zu MiB: %m", m->size / MIB);
	return fd;
}

static void no_mapping(const struct memory *m)
{
	const char *why = strerror(errno);
	char text[32] = "0";

	if (m->kind != MEMORY_2M)
		die(1, "mmap of %zu MiB: %s", m->size / MIB, why);
	if (access(POOL, F_OK))
		die(EXIT_NOT_HERE, "this kernel has no " POOL);
	file_read(POOL "/free_hugepages", text, sizeof(text));
	die(1, "mmap of %zu huge pages (%s are free): %s", m->size / HUGE_PAGE,
	    text, why);
}

static void map(struct memory *m)
{
	int flags = m->shared ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
	uintptr_t aligned;
	int fd = open_memfd(m);

	if (m->kind == MEMORY_2M && !m->shared)
		flags |= MAP_HUGETLB | MAP_HUGE_2MB;
	m->room = mmap(NULL, m->size + HUGE_PAGE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->room == MAP_FAILED)
		die(1, "mmap of %zu MiB: %m", m->size / MIB);
	aligned = ((uintptr_t)m->room + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	m->addr = mmap((void *)aligned, m->size, PROT_READ | PROT_WRITE,
		       flags | MAP_FIXED, fd, 0);
	if (m->addr == MAP_FAILED)
		no_mapping(m);
	if (fd >= 0)
		close(fd);
	if (m->kind != MEMORY_2M &&
	    madvise(m->addr, m->size,
		    m->kind == MEMORY_4K ? MADV_NOHUGEPAGE : MADV_HUGEPAGE) &&
	    m->kind != MEMORY_4K)
		die(EXIT_NOT_HERE, "madvise(MADV_HUGEPAGE): %m");
}

static void unmap(struct memory *m)
{
	munmap(m->room, m->size + HUGE_PAGE);
	m->addr = NULL;
}

void memory_put(struct memory *m)
{
	unmap(m);
	settings_restore();
}

static void touch(char *p, size_t size)
{
	size_t i;

	for (i = 0; i < size; i += PAGE)
		((volatile char *)p)[i] = 1;
}

static void populate(struct memory *m)
{
	struct memory other = *m;
	size_t i, step = page_size(m);

	if (!m->scatter) {
		touch(m->addr, m->size);
		return;
	}
	map(&other);
	for (i = 0; i < m->size; i += step) {
		touch(m->addr + i, step);
		touch(other.addr + i, step);
	}
	unmap(&other);
}

/* Where a mapping is cut within a huge page, the PMD goes away and the page stays
 * whole, as nothing of it is unmapped. Advice about core dumps cuts and mends it
 * without a change to the entries; mprotect() could take write permission away,
 * which 5.10 gives back by a copy. */
static void map_by_ptes(struct memory *m)
{
	size_t i;

	for (i = 0; i < m->size; i += HUGE_PAGE)
		if (madvise(m->addr + i, PAGE, MADV_DONTDUMP) ||
		    madvise(m->addr + i, PAGE, MADV_DODUMP))
			die(1, "madvise(MADV_DONTDUMP): %m");
}

void memory_get(struct memory *m, size_t size)
{
	uint64_t made = 0, want;

	m->size = (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
	settle(m);
	map(m);
	if (m->kind == MEMORY_MTHP)
		made = mthp_count(m);
	populate(m);
	/* khugepaged has to leave it as it is. */
	if (m->kind != MEMORY_2M)
		madvise(m->addr, m->size, MADV_NOHUGEPAGE);
	if (m->kind == MEMORY_MTHP) {
		made = mthp_count(m) - made;
		want = m->size / m->mthp * (m->scatter ? 2 : 1);
		if (made < want)
			die(1,
			    "%" PRIu64 " of %" PRIu64 " pages of %zu KiB"
			    " could be had",
			    made, want, m->mthp / KIB);
	}
	if (m->kind == MEMORY_PTE)
		map_by_ptes(m);
	memory_check(m);
}

/* --- what was obtained --------------------------------------------------- */

/* Bytes of @m that PMDs map. */
static size_t mapped_by_pmds(const struct memory *m)
{
	uintptr_t begin = (uintptr_t)m->addr, end = begin + m->size;
	unsigned long from, to, kib;
	FILE *f = fopen("/proc/self/smaps", "re");
	bool within = false;
	size_t sum = 0;
	char line[512];

	if (!f)
		die(EXIT_NOT_HERE, "/proc/self/smaps: %m");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			within = from >= begin && to <= end;
		else if (within &&
			 (sscanf(line, "AnonHugePages: %lu", &kib) == 1 ||
			  sscanf(line, "ShmemPmdMapped: %lu", &kib) == 1))
			sum += kib * KIB;
	}
	fclose(f);
	return sum;
}

/* What /proc/kpageflags says of page @index of the memory; true if it is as it
 * has to be. */
static bool is_page(const struct memory *m, size_t index, uint64_t flags)
{
	const uint64_t head = 1ull << KPF_COMPOUND_HEAD;
	const uint64_t tail = 1ull << KPF_COMPOUND_TAIL;
	uint64_t kind = m->kind == MEMORY_2M ? 1ull << KPF_HUGE :
					       1ull << KPF_THP;

	if (m->kind == MEMORY_4K)
		return !(flags & (head | tail));
	kind |= index % (page_size(m) / PAGE) ? tail : head;
	return (flags & (kind | head | tail)) == kind;
}

#define CHUNK (HUGE_PAGE / PAGE)
#define PFN_PRESENT (1ull << 63)
#define PFN_MASK ((1ull << 55) - 1)

static void read_at(int fd, void *data, size_t size, uint64_t at)
{
	if (pread(fd, data, size, (off_t)at) != (ssize_t)size)
		die(1, "/proc's pagemap or kpageflags: %m");
}

/* PFNs of the chunk at @addr. */
static void read_pfns(int pagemap, const char *addr, uint64_t pfns[CHUNK])
{
	unsigned int i;

	read_at(pagemap, pfns, CHUNK * sizeof(*pfns),
		(uintptr_t)addr / PAGE * sizeof(*pfns));
	for (i = 0; i < CHUNK; i++) {
		if (!(pfns[i] & PFN_PRESENT))
			die(1, "page %p is not there",
			    (const void *)(addr + i * PAGE));
		pfns[i] &= PFN_MASK;
		if (!pfns[i])
			die(1, "PFNs are for root to see");
	}
}

/* Runs begin where a PFN doesn't follow the one before, which is @before for
 * the first. */
static unsigned long check_chunk(const struct memory *m, size_t at,
				 int kpageflags, const uint64_t pfns[CHUNK],
				 uint64_t before)
{
	unsigned long runs = 0;
	uint64_t flags[CHUNK];
	unsigned int i, n;

	for (i = 0; i < CHUNK; i += n) {
		for (n = 1; i + n < CHUNK && pfns[i + n] == pfns[i] + n; n++)
			;
		read_at(kpageflags, flags + i, n * sizeof(*flags),
			pfns[i] * sizeof(*flags));
		if (i || pfns[i] != before + 1)
			runs++;
	}
	for (i = 0; i < CHUNK; i++)
		if (!is_page(m, at / PAGE + i, flags[i]))
			die(1,
			    "the page at %zu KiB is not a %s one: page flags"
			    " %#" PRIx64,
			    (at + i * PAGE) / KIB, memory_name(m), flags[i]);
	return runs;
}

void memory_check(struct memory *m)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	int kpageflags = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	size_t want = m->kind == MEMORY_THP ? m->size : 0, got;
	uint64_t pfns[CHUNK], before = 0;
	size_t i;

	if (pagemap < 0 || kpageflags < 0)
		die(errno == ENOENT ? EXIT_NOT_HERE : 1,
		    "/proc/self/pagemap and /proc/kpageflags: %m");
	m->runs = 0;
	for (i = 0; i < m->size; i += HUGE_PAGE) {
		read_pfns(pagemap, m->addr + i, pfns);
		m->runs += check_chunk(m, i, kpageflags, pfns, before);
		before = pfns[CHUNK - 1];
	}
	close(pagemap);
	close(kpageflags);
	got = mapped_by_pmds(m);
	if (got != want)
		die(1, "PMDs map %zu MiB of %s memory, not %zu MiB", got / MIB,
		    memory_name(m), want / MIB);
}

size_t memory_pinned(void)
{
	uint64_t pinned = 0, locked = 0;

	file_field("/proc/self/status", "VmPin", &pinned);
	file_field("/proc/self/status", "VmLck", &locked);
	return pinned + locked;
}

bool memory_pins(uint64_t *acquired, uint64_t *released)
{
	/* Counts of each CPU are added up now and then; this does it now. */
	file_write("/proc/sys/vm/stat_refresh", "1");
	return file_field("/proc/vmstat", "nr_foll_pin_acquired", acquired) &&
	       file_field("/proc/vmstat", "nr_foll_pin_released", released);
}
