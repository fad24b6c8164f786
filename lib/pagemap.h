/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the page tables of this process say, page by page: PAGEMAP_SCAN (Linux
 * 6.7), /proc/self/pagemap, and, for who may read it, /proc/kpageflags.
 */
#ifndef HMR_PAGEMAP_H
#define HMR_PAGEMAP_H

#include "internal.h"

struct hmr_pagemap;

/**
 * hmr_pagemap_open() - open them, for one call: a child would see its parent
 * @flags: also /proc/kpageflags, if it may be read
 *
 * Return: NULL if that can't be.
 */
struct hmr_pagemap *hmr_pagemap_open(bool flags);
void hmr_pagemap_close(struct hmr_pagemap *pm);

/* Can the sizes of folios be told? */
bool hmr_pagemap_has_flags(const struct hmr_pagemap *pm);

/* Does the kernel know hmr_pagemap_scan()? */
bool hmr_pagemap_has_scan(struct hmr_pagemap *pm);

/* Present pages of one kind. */
struct hmr_run {
	uintptr_t start;
	uintptr_t end;
	/* THP mapped by PMDs, or hugetlb */
	bool huge;
};

/**
 * hmr_pagemap_scan() - call back for runs of present pages
 *
 * The zero page is memory of nobody's and not called present.
 *
 * Return: 0, -ENOTTY if the kernel doesn't know how, or another -errno.
 */
int hmr_pagemap_scan(struct hmr_pagemap *pm, uintptr_t start, uintptr_t end,
		     void (*fn)(const struct hmr_run *run, void *arg),
		     void *arg);

/* What there is in a range that isn't hugetlb, in bytes. */
struct hmr_seen {
	uint64_t present;
	/* not among present: it may be the zero page, which isn't told apart
	 * without flags */
	uint64_t doubtful;
	/* Only with flags; of present, together all of it: */
	/* what a PMD could map: whole PMD-sized folios, aligned */
	uint64_t thp;
	/* all other, by the order of the folio */
	uint64_t order[HMR_BACKING_ORDERS];
};

/**
 * hmr_pagemap_look() - look at each page of a range
 * @pm: open
 * @start: aligned to base pages, as is @end
 * @zero: may there be zero pages, as in private anonymous memory only?
 * @seen: what is found is added to it
 *
 * Return: 0 or -errno.
 */
int hmr_pagemap_look(struct hmr_pagemap *pm, uintptr_t start, uintptr_t end,
		     bool zero, struct hmr_seen *seen);

/* Is the page at an address present? A page of any size will do. */
bool hmr_pagemap_present(struct hmr_pagemap *pm, uintptr_t addr);

/* The size of a page that a PMD maps. */
static inline size_t hmr_pmd_size(void)
{
	/* One page of entries, of 8 bytes each. */
	return hmr_base_page() * (hmr_base_page() / 8);
}

/* What this process can do here. */
bool hmr_pagemap_can_scan(void);
bool hmr_pagemap_can_flags(void);

/* For tests: other files, and to act as on a kernel without PAGEMAP_SCAN. */
extern const char *hmr_pagemap_path;
extern const char *hmr_kpageflags_path;
extern bool hmr_pagemap_no_scan;

#endif /* HMR_PAGEMAP_H */
