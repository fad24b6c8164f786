// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Which pages really back a range.
 *
 * PAGEMAP_SCAN tells it for each page, in runs of pages of a kind, and the
 * mappings tell hugetlb from THP. That costs by the number of page table
 * entries: nothing to speak of for huge pages.
 *
 * Where the kernel lacks it, smaps has counts for each mapping. Of a mapping
 * that the range covers in part only what holds for all its pages is known from
 * them: all THP, all small, all absent. For mixtures pagemap tells present from
 * absent. What then is huge needs page numbers, and so CAP_SYS_ADMIN: a PMD
 * maps whole aligned folios of its size only, and when a mapping has as many of
 * them as smaps counts, it is those. What remains is reported as unknown.
 *
 * The sizes of folios below a PMD's, and nodes, are looked up page by page, but
 * huge pages by one question each.
 */
#include <string.h>

#include "backing.h"
#include "nodes.h"
#include "opts.h"
#include "pagemap.h"
#include "vma.h"

struct tally {
	uintptr_t start;
	uintptr_t end;
	struct hmr_backing *b;
	struct hmr_pagemap *pm; /* or NULL */
	struct hmr_node_count *nodes; /* or NULL if not asked for */
	bool orders;
	int err;
	/* the mapping under way */
	const struct hmr_vma *vma;
};

static uint64_t *hugetlb_counter(struct hmr_backing *b, uint64_t page_size)
{
	switch (page_size) {
	case HMR_GIB:
		return &b->hugetlb_1g;
	case 2 * HMR_MIB:
		return &b->hugetlb_2m;
	default:
		return &b->hugetlb_other;
	}
}

static bool is_hugetlb(const struct hmr_vma *vma)
{
	return vma->kernel_page_size > hmr_base_page();
}

/* Only private anonymous memory has zero pages. */
static bool may_be_zero(const struct hmr_vma *vma)
{
	return !vma->shared && !vma->inode;
}

/* The part of a mapping that lies in the range. */
static struct hmr_run part_of(const struct tally *t, const struct hmr_vma *vma)
{
	return (struct hmr_run){
		.start = vma->start > t->start ? vma->start : t->start,
		.end = vma->end < t->end ? vma->end : t->end,
	};
}

static void count_nodes(struct tally *t, const struct hmr_run *run, size_t step)
{
	if (t->nodes)
		hmr_node_count(t->nodes, run->start, run->end, step);
}

static void add_orders(struct tally *t, const struct hmr_seen *seen)
{
	unsigned int i;

	for (i = 0; i < HMR_BACKING_ORDERS; i++)
		t->b->order[i] += seen->order[i];
}

/* A whole folio of a PMD's size that no PMD maps. */
static void add_pmd_order(struct tally *t, uint64_t bytes)
{
	t->b->order[__builtin_ctzl(hmr_pmd_size() / hmr_base_page())] += bytes;
}

/* ---- by PAGEMAP_SCAN ---- */

static void scan_small(struct tally *t, const struct hmr_run *run)
{
	struct hmr_seen seen = { 0 };

	t->b->small += run->end - run->start;
	count_nodes(t, run, hmr_base_page());
	if (!t->orders || hmr_pagemap_look(t->pm, run->start, run->end,
					   may_be_zero(t->vma), &seen))
		return;
	add_orders(t, &seen);
	add_pmd_order(t, seen.thp);
}

static void scan_run(const struct hmr_run *run, void *arg)
{
	struct tally *t = arg;
	uint64_t bytes = run->end - run->start;

	if (is_hugetlb(t->vma)) {
		*hugetlb_counter(t->b, t->vma->kernel_page_size) += bytes;
		count_nodes(t, run, t->vma->kernel_page_size);
	} else if (run->huge) {
		t->b->thp += bytes;
		count_nodes(t, run, hmr_pmd_size());
	} else {
		scan_small(t, run);
	}
}

static void scan_vma(const struct hmr_vma *vma, void *arg)
{
	struct tally *t = arg;
	struct hmr_run part = part_of(t, vma);

	if (t->err)
		return;
	t->vma = vma;
	t->err = hmr_pagemap_scan(t->pm, part.start, part.end, scan_run, t);
}

static int by_scan(struct tally *t)
{
	int ret;

	t->b->flags = HMR_BACKING_SCAN;
	ret = hmr_vma_look((void *)t->start, t->end - t->start, scan_vma, t);
	return t->err ? t->err : ret;
}

/* ---- by smaps ---- */

static uint64_t small_of(const struct hmr_vma *vma)
{
	return vma->rss > vma->thp ? vma->rss - vma->thp : 0;
}

static void count_hugetlb(struct tally *t, const struct hmr_vma *vma,
			  const struct hmr_run *part)
{
	uint64_t page = vma->kernel_page_size;
	uint64_t *huge = hugetlb_counter(t->b, page);
	uint64_t size = vma->end - vma->start, bytes = part->end - part->start;
	uintptr_t p, next;

	if (bytes == size) {
		*huge += vma->hugetlb;
	} else if (vma->hugetlb == size) {
		*huge += bytes;
	} else if (vma->hugetlb && !t->pm) {
		t->b->unknown += bytes;
	} else if (vma->hugetlb) {
		for (p = part->start; p < part->end; p = next) {
			next = hmr_align_down(p, page) + page;
			if (next > part->end)
				next = part->end;
			if (hmr_pagemap_present(t->pm, p))
				*huge += next - p;
		}
	}
	if (vma->hugetlb)
		count_nodes(t, part, page);
}

/* A mapping that lies in the range as a whole, or one whose pages are all of
 * one kind. */
static void count_known(struct tally *t, const struct hmr_vma *vma,
			const struct hmr_run *part)
{
	bool whole = part->end - part->start == vma->end - vma->start;
	uint64_t bytes = part->end - part->start;
	uint64_t thp = vma->thp, small = small_of(vma);
	struct hmr_seen seen = { 0 };

	if (!whole) {
		thp = thp ? bytes : 0;
		small = small ? bytes : 0;
	}
	t->b->thp += thp;
	t->b->small += small;
	count_nodes(t, part, small ? hmr_base_page() : hmr_pmd_size());
	if (!small || !t->orders ||
	    hmr_pagemap_look(t->pm, part->start, part->end, may_be_zero(vma),
			     &seen))
		return;
	add_orders(t, &seen);
	if (seen.thp > thp)
		add_pmd_order(t, seen.thp - thp);
}

/* Look at no more than a PMD's worth; what the range cuts off may be part of a
 * THP all the same. */
static int look_at_edge(struct tally *t, const struct hmr_vma *vma,
			uintptr_t from, uintptr_t to, struct hmr_seen *seen)
{
	uintptr_t block = hmr_align_down(from, hmr_pmd_size());
	struct hmr_seen whole = { 0 };
	int ret;

	if (block >= vma->start && block + hmr_pmd_size() <= vma->end) {
		ret = hmr_pagemap_look(t->pm, block, block + hmr_pmd_size(),
				       may_be_zero(vma), &whole);
		if (ret)
			return ret;
	}
	if (!whole.thp)
		return hmr_pagemap_look(t->pm, from, to, may_be_zero(vma),
					seen);
	seen->present += to - from;
	seen->thp += to - from;
	return 0;
}

static int look(struct tally *t, const struct hmr_vma *vma,
		const struct hmr_run *part, struct hmr_seen *seen)
{
	size_t pmd = hmr_pmd_size();
	uintptr_t first = hmr_align_up(part->start, pmd);
	uintptr_t last = hmr_align_down(part->end, pmd);
	int ret = 0;

	if (first > last)
		return look_at_edge(t, vma, part->start, part->end, seen);
	if (part->start < first)
		ret = look_at_edge(t, vma, part->start, first, seen);
	if (!ret && first < last)
		ret = hmr_pagemap_look(t->pm, first, last, may_be_zero(vma),
				       seen);
	if (!ret && last < part->end)
		ret = look_at_edge(t, vma, last, part->end, seen);
	return ret;
}

/* Is each whole folio of a PMD's size in the mapping mapped by a PMD? Where one
 * isn't, it can't be told which. */
static bool thp_are_known(struct tally *t, const struct hmr_vma *vma)
{
	struct hmr_seen all = { 0 };

	return !hmr_pagemap_look(t->pm, vma->start, vma->end, may_be_zero(vma),
				 &all) &&
	       hmr_pagemap_has_flags(t->pm) && all.thp == vma->thp;
}

/* Part of a mapping that has pages of several kinds. */
static void count_mixture(struct tally *t, const struct hmr_vma *vma,
			  const struct hmr_run *part)
{
	struct hmr_seen seen = { 0 };
	uint64_t small = 0;

	count_nodes(t, part, small_of(vma) ? hmr_base_page() : hmr_pmd_size());
	if (!t->pm || look(t, vma, part, &seen)) {
		t->b->unknown += part->end - part->start;
		return;
	}
	t->b->unknown += seen.doubtful;
	if (!vma->thp) {
		small = seen.present;
		add_pmd_order(t, seen.thp);
	} else if (!small_of(vma)) {
		t->b->thp += seen.present;
	} else if (hmr_pagemap_has_flags(t->pm) &&
		   (!seen.thp || thp_are_known(t, vma))) {
		t->b->thp += seen.thp;
		small = seen.present - seen.thp;
	} else {
		t->b->unknown += seen.present;
	}
	t->b->small += small;
	if (small)
		add_orders(t, &seen);
}

static void count_vma(const struct hmr_vma *vma, void *arg)
{
	struct tally *t = arg;
	struct hmr_run part = part_of(t, vma);
	uint64_t size = vma->end - vma->start;

	if (is_hugetlb(vma))
		count_hugetlb(t, vma, &part);
	else if (!vma->rss)
		return;
	else if (part.end - part.start == size || vma->thp == size ||
		 small_of(vma) == size)
		count_known(t, vma, &part);
	else
		count_mixture(t, vma, &part);
}

static int by_smaps(struct tally *t)
{
	t->b->flags = HMR_BACKING_SMAPS;
	return hmr_vma_walk((void *)t->start, t->end - t->start, count_vma, t);
}

/* ---- both ---- */

static uint64_t present_bytes(const struct hmr_backing *b)
{
	return b->hugetlb_1g + b->hugetlb_2m + b->hugetlb_other + b->thp +
	       b->small;
}

static int read_sizes(struct tally *t)
{
	struct hmr_backing *b = t->b;
	uint64_t known;
	int ret;

	b->length = t->end - t->start;
	ret = hmr_pagemap_has_scan(t->pm) ? by_scan(t) : by_smaps(t);
	known = present_bytes(b) + b->unknown;
	b->absent = b->length > known ? b->length - known : 0;
	if (t->orders && hmr_pagemap_has_flags(t->pm))
		b->flags |= HMR_BACKING_BY_ORDER;
	return ret;
}

/* One node with memory needs no questions: all that is present lies there. */
static int read_nodes(struct tally *t)
{
	struct hmr_node_count count = { .node = t->b->node };
	uint64_t nodes;
	bool beyond;
	int ret;

	nodes = hmr_nodes_with_memory(&beyond);
	if (beyond || nodes & (nodes - 1)) {
		t->nodes = &count;
		ret = read_sizes(t);
		hmr_node_count_end(&count);
	} else {
		ret = read_sizes(t);
		t->b->node[__builtin_ctzll(nodes)] = present_bytes(t->b);
		count.failed = t->b->unknown;
	}
	if (!count.failed)
		t->b->flags |= HMR_BACKING_BY_NODE;
	else
		memset(t->b->node, 0, sizeof(t->b->node));
	return ret;
}

int hmr_backing_read(const void *addr, size_t length, unsigned int want,
		     struct hmr_backing *b)
{
	size_t base = hmr_base_page();
	struct tally t = {
		.start = hmr_align_down((uintptr_t)addr, base),
		.end = hmr_align_up((uintptr_t)addr + length, base),
		.b = b,
	};
	int ret;

	*b = (struct hmr_backing){ .size = sizeof(*b) };
	t.pm = hmr_pagemap_open(true);
	t.orders = want & HMR_BACKING_WANT_ORDER && hmr_pagemap_has_flags(t.pm);
	if (want & HMR_BACKING_WANT_NODE)
		ret = read_nodes(&t);
	else
		ret = read_sizes(&t);
	hmr_pagemap_close(t.pm);
	return ret;
}

HMR_API int hmr_backing(const void *addr, size_t length,
			struct hmr_backing *backing)
{
	struct hmr_error err = {
		.op = "hmr_backing",
		.addr = addr,
		.length = length,
		.cause = HMR_CAUSE_ARGUMENT,
	};
	struct hmr_backing b;

	err.err = -EINVAL;
	if (!backing || backing->size < sizeof(backing->size))
		return hmr_fail(&err, "no result struct with its size set");
	if (!hmr_range_ok(addr, length))
		return hmr_fail(&err, "not a range: %zu bytes at %p", length,
				addr);
	err.err = hmr_backing_read(
		addr, length, HMR_BACKING_WANT_ORDER | HMR_BACKING_WANT_NODE,
		&b);
	err.cause = HMR_CAUSE_HOLE;
	if (err.err == -ENOMEM)
		return hmr_fail(&err, "part of the range isn't mapped");
	err.cause = HMR_CAUSE_UNKNOWN;
	if (err.err)
		return hmr_fail(&err, "%s can't be read: %s",
				b.flags & HMR_BACKING_SCAN ? hmr_pagemap_path :
							     hmr_smaps_path,
				strerror(-err.err));
	hmr_result_copy(backing, &b, sizeof(b));
	return 0;
}
