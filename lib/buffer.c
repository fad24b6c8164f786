// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Buffers: one private mapping with a page policy, between two guard pages.
 *
 * The guards are part of the address range reserved first, into which the real
 * mapping is put. They catch overruns, and they keep the kernel from merging
 * the mapping with a neighbour, so that what smaps counts for it is its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "opts.h"
#include "pages.h"
#include "populate.h"
#include "ranges.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

struct hmr_buffer {
	char *addr;
	size_t length;
	size_t mapped;
	size_t guard;
	enum hmr_pages pages;
	char why[512];
};

/* A policy other than HMR_PAGES_PREFER. */
struct kind {
	enum hmr_pages pages;
	const char *name;
	size_t hugetlb; /* page size, or 0 */
	int advice;
};

/* Largest first: the order in which HMR_PAGES_PREFER tries. */
static const struct kind kinds[] = {
	{ HMR_PAGES_1G, "1 GiB hugetlb", HMR_GIB, 0 },
	{ HMR_PAGES_2M, "2 MiB hugetlb", 2 * HMR_MIB, 0 },
	{ HMR_PAGES_THP, "THP", 0, MADV_HUGEPAGE },
	{ HMR_PAGES_4K, "base", 0, MADV_NOHUGEPAGE },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* One attempt: what is wanted, what the host has, and in words what failed. */
struct attempt {
	const struct kind *kind;
	const struct hmr_host *host;
	size_t length;
	unsigned int flags;
	char text[384];
};

#define say(a, ...) snprintf((a)->text, sizeof((a)->text), __VA_ARGS__)

static size_t kind_page_size(const struct kind *kind,
			     const struct hmr_host *host)
{
	if (kind->hugetlb)
		return kind->hugetlb;
	return kind->pages == HMR_PAGES_THP ? host->pmd_size : host->base_page;
}

static int check_thp(struct attempt *a)
{
	switch (a->host->thp) {
	case HMR_THP_ABSENT:
		say(a, "this kernel has no transparent huge pages");
		return -EOPNOTSUPP;
	case HMR_THP_NEVER:
		say(a, "transparent huge pages are off: echo madvise > "
		       "/sys/kernel/mm/transparent_hugepage/enabled");
		return -EOPNOTSUPP;
	default:
		return 0;
	}
}

static int check_pool(struct attempt *a)
{
	if (hmr_host_pool(a->host, a->kind->hugetlb))
		return 0;
	say(a, "this host has no %s pages: the CPU or the kernel lacks them",
	    a->kind->name);
	return -EOPNOTSUPP;
}

/* mmap() of hugetlb reserves its pages, so this is where a pool says no. */
static void explain_mmap(struct attempt *a, size_t mapped, int err)
{
	size_t page = a->kind->hugetlb;
	const struct hmr_pool *pool = hmr_host_pool(a->host, page);
	uint64_t need = mapped / (page ? page : 1);

	if (!pool || err != -ENOMEM) {
		say(a, "mmap of %zu bytes: %s", mapped, strerror(-err));
		return;
	}
	say(a,
	    "needs %lu %s pages, and %lu are available (%lu in the pool, %lu "
	    "free, %lu of them reserved): raise "
	    "/sys/kernel/mm/hugepages/hugepages-%lukB/nr_hugepages",
	    need, a->kind->name, hmr_pool_available(pool), pool->nr, pool->free,
	    pool->reserved, page / HMR_KIB);
}

/*
 * Reserve address space for @mapped bytes at an aligned address and a guard
 * page on each side, and give back what the alignment left over.
 */
static char *reserve(size_t mapped, size_t align, size_t guard)
{
	size_t total;
	char *p, *addr;

	if (__builtin_add_overflow(mapped, align + 2 * guard, &total)) {
		errno = EOVERFLOW;
		return NULL;
	}
	p = mmap(NULL, total, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	addr = (char *)hmr_align_up((uintptr_t)p + guard, align);
	if (addr - guard > p)
		munmap(p, (size_t)(addr - guard - p));
	munmap(addr + mapped + guard,
	       (size_t)(p + total - (addr + mapped + guard)));
	return addr;
}

static int map(struct attempt *a, struct hmr_buffer *buf)
{
	size_t page = kind_page_size(a->kind, a->host);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	int ret;

	buf->guard = a->host->base_page;
	buf->length = a->length;
	buf->mapped = hmr_align_up(a->length, page);
	buf->pages = a->kind->pages;
	if (!buf->mapped) {
		say(a, "%zu bytes can't be rounded up to pages", a->length);
		return -EOVERFLOW;
	}
	buf->addr = reserve(buf->mapped, page, buf->guard);
	if (!buf->addr) {
		ret = -errno;
		say(a, "no address space for %zu bytes: %s", buf->mapped,
		    strerror(-ret));
		return ret;
	}
	if (a->kind->hugetlb)
		flags |= MAP_HUGETLB | __builtin_ctzl(page) << MAP_HUGE_SHIFT;
	if (mmap(buf->addr, buf->mapped, PROT_READ | PROT_WRITE, flags, -1,
		 0) == MAP_FAILED) {
		ret = -errno;
		explain_mmap(a, buf->mapped, ret);
		munmap(buf->addr - buf->guard, buf->mapped + 2 * buf->guard);
		return ret;
	}
	return 0;
}

static void unmap(struct hmr_buffer *buf)
{
	munmap(buf->addr - buf->guard, buf->mapped + 2 * buf->guard);
}

/* Before the first touch, or it's too late for huge pages. */
static int advise(struct attempt *a, struct hmr_buffer *buf)
{
	int ret;

	if (a->kind->advice &&
	    madvise(buf->addr, buf->mapped, a->kind->advice)) {
		ret = -errno;
		/* A kernel without THP has no need to keep it out. */
		if (a->kind->pages == HMR_PAGES_THP ||
		    a->host->thp != HMR_THP_ABSENT) {
			say(a, "madvise for %s pages: %s", a->kind->name,
			    strerror(-ret));
			return ret;
		}
	}
	if (!(a->flags & HMR_BUFFER_DOFORK) && hmr_needs_dontfork() &&
	    madvise(buf->addr, buf->mapped, MADV_DONTFORK)) {
		ret = -errno;
		say(a, "MADV_DONTFORK: %s", strerror(-ret));
		return ret;
	}
	return 0;
}

static int verify_thp(struct attempt *a, struct hmr_buffer *buf)
{
	HMR_RESULT(hmr_backing, b);
	int ret;

	ret = hmr_backing(buf->addr, buf->mapped, &b);
	if (ret) {
		say(a, "THP can't be verified: %s", strerror(-ret));
		return ret;
	}
	if (b.thp == buf->mapped)
		return 0;
	say(a,
	    "only %lu of %zu MiB became transparent huge pages: free memory is "
	    "too fragmented or too little (echo 1 > "
	    "/proc/sys/vm/compact_memory may help)",
	    b.thp / HMR_MIB, buf->mapped / HMR_MIB);
	return -ENOMEM;
}

static int populate(struct attempt *a, struct hmr_buffer *buf)
{
	enum hmr_populate_method method;
	size_t step = a->kind->hugetlb ? a->kind->hugetlb : a->host->base_page;
	int ret;

	if (a->flags & HMR_BUFFER_UNTOUCHED)
		return 0;
	ret = hmr_populate_range(buf->addr, buf->mapped, step, true, &method);
	if (ret) {
		say(a, "%zu bytes in %s pages can't be populated: %s",
		    buf->mapped, a->kind->name, hmr_populate_text(ret));
		return ret;
	}
	return a->kind->pages == HMR_PAGES_THP ? verify_thp(a, buf) : 0;
}

static int try_kind(struct attempt *a, struct hmr_buffer *buf)
{
	int ret = 0;

	if (a->kind->hugetlb)
		ret = check_pool(a);
	else if (a->kind->pages == HMR_PAGES_THP)
		ret = check_thp(a);
	if (ret)
		return ret;
	ret = map(a, buf);
	if (ret)
		return ret;
	ret = advise(a, buf);
	if (!ret)
		ret = populate(a, buf);
	if (ret)
		unmap(buf);
	return ret;
}

/* Rounding up may waste an eighth, not more. */
static bool worth_preferring(const struct attempt *a)
{
	size_t page = kind_page_size(a->kind, a->host);
	size_t mapped;

	if (!page)
		return true; /* no THP here: let check_thp() say so */
	mapped = hmr_align_up(a->length, page);
	return mapped && mapped - a->length <= a->length / 8;
}

static int prefer(struct attempt *a, struct hmr_buffer *buf)
{
	size_t used = 0;
	unsigned int i;
	int ret = -ENOMEM;

	for (i = 0; i < N_KINDS; i++) {
		a->kind = &kinds[i];
		if (a->kind->pages != HMR_PAGES_4K && !worth_preferring(a))
			continue;
		ret = try_kind(a, buf);
		if (!ret)
			return 0;
		if (used < sizeof(buf->why))
			used += (size_t)snprintf(buf->why + used,
						 sizeof(buf->why) - used,
						 "%sno %s pages: %s",
						 used ? "; " : "",
						 a->kind->name, a->text);
	}
	return ret;
}

static int alloc(struct attempt *a, enum hmr_pages pages,
		 struct hmr_buffer *buf)
{
	unsigned int i;

	if (pages == HMR_PAGES_PREFER)
		return prefer(a, buf);
	for (i = 0; kinds[i].pages != pages; i++)
		;
	a->kind = &kinds[i];
	return try_kind(a, buf);
}

HMR_API int hmr_buffer_alloc(size_t length, const struct hmr_buffer_opts *opts,
			     struct hmr_buffer **out)
{
	struct hmr_error err = { .op = "hmr_buffer_alloc", .length = length };
	uint32_t pages = HMR_OPTS_GET(opts, pages);
	uint32_t flags = HMR_OPTS_GET(opts, flags);
	struct attempt a = { .length = length, .flags = flags };
	struct hmr_buffer *buf;
	struct hmr_host host;

	err.err = hmr_opts_check(opts, sizeof(*opts));
	if (err.err)
		return hmr_fail(&err,
				"an option is set that hugemr %s "
				"doesn't know",
				hmr_version());
	err.err = -EINVAL;
	if (!length)
		return hmr_fail(&err, "a buffer of 0 bytes");
	if (pages > HMR_PAGES_4K)
		return hmr_fail(&err, "unknown page policy %u", pages);
	if (flags & ~(HMR_BUFFER_UNTOUCHED | HMR_BUFFER_DOFORK))
		return hmr_fail(&err, "unknown flags %#x", flags);

	err.err = -ENOMEM;
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return hmr_fail(&err, "no memory for the handle");
	hmr_host_read("", &host);
	a.host = &host;
	err.err = alloc(&a, pages, buf);
	if (err.err) {
		free(buf);
		return hmr_fail(&err, "%s", a.text);
	}
	if (buf->why[0])
		hmr_log(HMR_LOG_INFO, "hmr_buffer_alloc: %s", buf->why);
	*out = buf;
	return 0;
}

HMR_API int hmr_buffer_free(struct hmr_buffer *buf)
{
	struct hmr_error err = { .op = "hmr_buffer_free", .err = -EBUSY };
	struct hmr_range range;
	unsigned int n;

	if (!buf)
		return 0;
	n = hmr_ranges_over(buf->addr, buf->mapped, &range);
	if (n) {
		err.addr = buf->addr;
		err.length = buf->length;
		return hmr_fail(&err,
				"%u regions still cover it, one of them %zu "
				"bytes at %#lx: deregister them first",
				n, range.length, range.addr);
	}
	unmap(buf);
	free(buf);
	return 0;
}

HMR_API void *hmr_buffer_addr(const struct hmr_buffer *buf)
{
	return buf->addr;
}

HMR_API size_t hmr_buffer_length(const struct hmr_buffer *buf)
{
	return buf->length;
}

HMR_API size_t hmr_buffer_mapped(const struct hmr_buffer *buf)
{
	return buf->mapped;
}

HMR_API enum hmr_pages hmr_buffer_pages(const struct hmr_buffer *buf)
{
	return buf->pages;
}

HMR_API const char *hmr_buffer_why(const struct hmr_buffer *buf)
{
	return buf->why;
}

HMR_API int hmr_buffer_backing(const struct hmr_buffer *buf,
			       struct hmr_backing *backing)
{
	return hmr_backing(buf->addr, buf->mapped, backing);
}
