// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The page tables of this process, and the kernel's notes on its pages. The
 * formats are described in Documentation/admin-guide/mm/pagemap.rst.
 *
 * A folio is found from the flags of its pages: its head has one, its tails
 * have another, its size is a power of two and its address a multiple of that.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "pagemap.h"

const char *hmr_pagemap_path = "/proc/self/pagemap";
const char *hmr_kpageflags_path = "/proc/kpageflags";
bool hmr_pagemap_no_scan;

/* From linux/fs.h of 6.7; not in the headers of older systems. */
struct page_region {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

struct pm_scan_arg {
	uint64_t size;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end;
	uint64_t vec;
	uint64_t vec_len;
	uint64_t max_pages;
	uint64_t category_inverted;
	uint64_t category_mask;
	uint64_t category_anyof_mask;
	uint64_t return_mask;
};

#define HMR_PAGEMAP_SCAN _IOWR('f', 16, struct pm_scan_arg)
#define SCAN_PRESENT (1u << 3)
#define SCAN_ZERO (1u << 5)
#define SCAN_HUGE (1u << 6)

/* An entry of pagemap. */
#define PM_PFN ((1ull << 55) - 1)
#define PM_EXCLUSIVE (1ull << 56)
#define PM_PRESENT (1ull << 63)

/* Bits of kpageflags. */
#define KPF_HEAD (1ull << 15)
#define KPF_TAIL (1ull << 16)
#define KPF_ZERO_PAGE (1ull << 24)

/* 64 KiB of either file at a time. */
#define N_ENTRIES 8192
/* kpageflags are kept in blocks of a PMD-sized page's, in which any smaller
 * folio lies whole. */
#define BLOCK 512
#define N_BLOCKS (N_ENTRIES / BLOCK)
#define N_REGIONS 256

struct hmr_pagemap {
	int fd;
	int flags_fd; /* or -1 */
	size_t page;
	uint64_t entries[N_ENTRIES];
	struct page_region regions[N_REGIONS];
	/* A block lies where its number says, modulo their number; 0 is none,
	 * so they are numbered from 1. */
	uint64_t block[N_BLOCKS];
	uint64_t flags[N_BLOCKS][BLOCK];
};

struct hmr_pagemap *hmr_pagemap_open(bool flags)
{
	struct hmr_pagemap *pm = calloc(1, sizeof(*pm));

	if (!pm)
		return NULL;
	pm->page = hmr_base_page();
	pm->flags_fd = -1;
	pm->fd = open(hmr_pagemap_path, O_RDONLY | O_CLOEXEC);
	if (pm->fd < 0) {
		free(pm);
		return NULL;
	}
	if (flags)
		pm->flags_fd = open(hmr_kpageflags_path, O_RDONLY | O_CLOEXEC);
	return pm;
}

void hmr_pagemap_close(struct hmr_pagemap *pm)
{
	if (!pm)
		return;
	if (pm->flags_fd >= 0)
		close(pm->flags_fd);
	close(pm->fd);
	free(pm);
}

bool hmr_pagemap_has_flags(const struct hmr_pagemap *pm)
{
	return pm && pm->flags_fd >= 0;
}

/* The file could be opened, but pagemap hides the page numbers to look up in
 * it: root without CAP_SYS_ADMIN. */
static void lose_flags(struct hmr_pagemap *pm)
{
	close(pm->flags_fd);
	pm->flags_fd = -1;
}

static int scan(struct hmr_pagemap *pm, struct pm_scan_arg *arg)
{
	if (hmr_pagemap_no_scan)
		return -ENOTTY;
	arg->size = sizeof(*arg);
	arg->vec = (uintptr_t)pm->regions;
	arg->vec_len = N_REGIONS;
	arg->category_mask = SCAN_PRESENT | SCAN_ZERO;
	arg->category_inverted = SCAN_ZERO;
	arg->return_mask = SCAN_HUGE;
	return ioctl(pm->fd, HMR_PAGEMAP_SCAN, arg);
}

int hmr_pagemap_scan(struct hmr_pagemap *pm, uintptr_t start, uintptr_t end,
		     void (*fn)(const struct hmr_run *run, void *arg),
		     void *arg)
{
	struct pm_scan_arg s = { .start = start, .end = end };
	int i, n;

	while (s.start < s.end) {
		n = scan(pm, &s);
		if (n < 0)
			return hmr_pagemap_no_scan ? n : -errno;
		for (i = 0; i < n; i++)
			fn(&(struct hmr_run){ pm->regions[i].start,
					      pm->regions[i].end,
					      pm->regions[i].categories &
						      SCAN_HUGE },
			   arg);
		s.start = s.walk_end;
	}
	return 0;
}

static void ignore_run(const struct hmr_run *run, void *arg)
{
}

bool hmr_pagemap_has_scan(struct hmr_pagemap *pm)
{
	uintptr_t here = hmr_align_down((uintptr_t)pm, hmr_base_page());

	return pm &&
	       !hmr_pagemap_scan(pm, here, here + pm->page, ignore_run, NULL);
}

/* All of @n entries, which may be fewer at the end of the file. */
static ssize_t read_entries(int fd, uint64_t *entries, size_t n, uint64_t index)
{
	ssize_t got = pread(fd, entries, n * 8, (off_t)(index * 8));

	return got < 0 ? -errno : got / 8;
}

/* 0, which is a base page like any other, where they can't be read. */
static uint64_t flags_of(struct hmr_pagemap *pm, uint64_t pfn)
{
	uint64_t block = pfn / BLOCK;
	uint64_t *flags = pm->flags[block % N_BLOCKS];

	if (pm->block[block % N_BLOCKS] != block + 1) {
		memset(flags, 0, sizeof(pm->flags[0]));
		read_entries(pm->flags_fd, flags, BLOCK, block * BLOCK);
		pm->block[block % N_BLOCKS] = block + 1;
	}
	return flags[pfn % BLOCK];
}

struct folio {
	uint64_t head;
	unsigned int order;
};

static struct folio folio_of(struct hmr_pagemap *pm, uint64_t pfn)
{
	struct folio f = { .head = pfn };
	unsigned int order = 0;

	/* Between a tail and its head there are only tails. */
	while (flags_of(pm, f.head) & KPF_TAIL && ++order < HMR_BACKING_ORDERS)
		f.head = pfn & ~((1ull << order) - 1);
	if (flags_of(pm, f.head) & KPF_HEAD)
		while (f.order < HMR_BACKING_ORDERS - 1 &&
		       flags_of(pm, f.head + (1ull << f.order)) & KPF_TAIL)
			f.order++;
	return f;
}

/* A stretch of pagemap that has been read. */
struct stretch {
	uintptr_t addr;
	const uint64_t *entries;
	size_t n;
};

/* How many entries from @i on map this folio, one page after the other? */
static size_t pages_of_folio(const struct stretch *s, size_t i, struct folio f)
{
	uint64_t pfn = s->entries[i] & PM_PFN, end = f.head + (1ull << f.order);
	size_t n = 1;

	while (i + n < s->n && pfn + n < end &&
	       s->entries[i + n] & PM_PRESENT &&
	       (s->entries[i + n] & PM_PFN) == pfn + n)
		n++;
	return n;
}

static size_t see_folio(struct hmr_pagemap *pm, const struct stretch *s,
			size_t i, struct hmr_seen *seen)
{
	uint64_t pfn = s->entries[i] & PM_PFN;
	uintptr_t addr = s->addr + i * pm->page;
	struct folio f = folio_of(pm, pfn);
	size_t n = pages_of_folio(s, i, f);

	if (flags_of(pm, f.head) & KPF_ZERO_PAGE)
		return n;
	seen->present += n * pm->page;
	if (n * pm->page == hmr_pmd_size() && n == 1ull << f.order &&
	    addr % hmr_pmd_size() == 0)
		seen->thp += n * pm->page;
	else
		seen->order[f.order] += n * pm->page;
	return n;
}

static void see_page(struct hmr_pagemap *pm, uint64_t entry, bool zero,
		     struct hmr_seen *seen)
{
	if (zero && !(entry & PM_EXCLUSIVE))
		seen->doubtful += pm->page;
	else
		seen->present += pm->page;
}

static void see(struct hmr_pagemap *pm, const struct stretch *s, bool zero,
		struct hmr_seen *seen)
{
	size_t i = 0;

	while (i < s->n) {
		uint64_t entry = s->entries[i];

		if (!(entry & PM_PRESENT)) {
			i++;
			continue;
		}
		if (pm->flags_fd >= 0 && !(entry & PM_PFN))
			lose_flags(pm);
		if (pm->flags_fd >= 0) {
			i += see_folio(pm, s, i, seen);
		} else {
			see_page(pm, entry, zero, seen);
			i++;
		}
	}
}

int hmr_pagemap_look(struct hmr_pagemap *pm, uintptr_t start, uintptr_t end,
		     bool zero, struct hmr_seen *seen)
{
	size_t most = N_ENTRIES * pm->page;
	struct stretch s = { .addr = start, .entries = pm->entries };
	uintptr_t to;
	ssize_t got;

	for (; s.addr < end; s.addr = to) {
		/* Cut on PMDs, so that none is seen in two halves. */
		to = hmr_align_down(s.addr + most, hmr_pmd_size());
		if (to > end)
			to = end;
		got = read_entries(pm->fd, pm->entries,
				   (to - s.addr) / pm->page, s.addr / pm->page);
		if (got < 0)
			return (int)got;
		s.n = (size_t)got;
		see(pm, &s, zero, seen);
	}
	return 0;
}

bool hmr_pagemap_present(struct hmr_pagemap *pm, uintptr_t addr)
{
	uint64_t entry;

	return read_entries(pm->fd, &entry, 1, addr / pm->page) == 1 &&
	       entry & PM_PRESENT;
}

bool hmr_pagemap_can_scan(void)
{
	struct hmr_pagemap *pm = hmr_pagemap_open(false);
	bool can = hmr_pagemap_has_scan(pm);

	hmr_pagemap_close(pm);
	return can;
}

bool hmr_pagemap_can_flags(void)
{
	struct hmr_pagemap *pm = hmr_pagemap_open(true);
	uintptr_t here = hmr_align_down((uintptr_t)&pm, hmr_base_page());
	struct hmr_seen seen = { 0 };
	bool can;

	can = pm && !hmr_pagemap_look(pm, here, here + pm->page, true, &seen) &&
	      hmr_pagemap_has_flags(pm);
	hmr_pagemap_close(pm);
	return can;
}
