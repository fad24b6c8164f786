// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Which pages really back a range.
 *
 * The kernel counts per mapping, not per address. So a mapping within the range
 * is simply counted, and of one that the range covers in part only what holds
 * for each of its pages can be told: all THP, all small, all absent. The rest
 * is reported as unknown.
 */
#include "opts.h"
#include "vma.h"

struct tally {
	uintptr_t start;
	uintptr_t end;
	struct hmr_backing *b;
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

static void tally_vma(const struct hmr_vma *vma, void *arg)
{
	struct tally *t = arg;
	uint64_t size = vma->end - vma->start;
	uint64_t small = vma->rss > vma->thp ? vma->rss - vma->thp : 0;
	uint64_t *huge = hugetlb_counter(t->b, vma->kernel_page_size);
	uintptr_t from = vma->start > t->start ? vma->start : t->start;
	uintptr_t to = vma->end < t->end ? vma->end : t->end;
	uint64_t part = to - from;
	uint64_t present = vma->rss + vma->hugetlb;

	if (part == size) {
		t->b->thp += vma->thp;
		t->b->small += small;
		*huge += vma->hugetlb;
		t->b->absent += size > present ? size - present : 0;
	} else if (vma->hugetlb == size) {
		*huge += part;
	} else if (vma->thp == size) {
		t->b->thp += part;
	} else if (small == size) {
		t->b->small += part;
	} else if (!present) {
		t->b->absent += part;
	} else {
		t->b->unknown += part;
	}
}

HMR_API int hmr_backing(const void *addr, size_t length,
			struct hmr_backing *backing)
{
	struct hmr_error err = {
		.op = "hmr_backing",
		.addr = addr,
		.length = length,
	};
	struct hmr_backing b = { 0 };
	struct tally t = { .b = &b };
	size_t base = hmr_base_page();

	err.err = -EINVAL;
	if (!backing || backing->size < sizeof(backing->size))
		return hmr_fail(&err, "no result struct with its size set");
	if (!hmr_range_ok(addr, length))
		return hmr_fail(&err, "not a range: %zu bytes at %p", length,
				addr);
	t.start = hmr_align_down((uintptr_t)addr, base);
	t.end = hmr_align_up((uintptr_t)addr + length, base);
	b.length = t.end - t.start;

	err.err = hmr_vma_walk((void *)t.start, b.length, tally_vma, &t);
	if (err.err == -ENOMEM)
		return hmr_fail(&err, "part of the range isn't mapped");
	if (err.err)
		return hmr_fail(&err, "%s can't be read: %s", hmr_smaps_path,
				strerror(-err.err));
	hmr_result_copy(backing, &b, sizeof(b));
	return 0;
}
