/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_SPLIT_H
#define HMR_SPLIT_H

#include "internal.h"

/* A range in chunks, one MR each: the first may be shorter, so that all cuts
 * lie on pages, and the last is what remains. All in bytes. */
struct hmr_split {
	size_t length;
	size_t first;
	size_t chunk;
	size_t n;
	enum hmr_split_why why;
};

/* What the chunks have to keep to. */
struct hmr_split_rules {
	/* asked for; 0 for one chunk unless a limit forces more */
	uint64_t chunk;
	/* UINT64_MAX for none */
	uint64_t max_mr_size;
	uint64_t max_mr_pages;
	/* largest page of the mapping */
	size_t page;
};

/**
 * hmr_split() - cut a range into chunks
 *
 * Return: 0, or -E2BIG where a limit is below one base page.
 */
int hmr_split(uintptr_t addr, size_t length,
	      const struct hmr_split_rules *rules, struct hmr_split *split);

/* Could hmr_split() come to more than one chunk? Spares finding the page size
 * where it couldn't. */
bool hmr_split_needed(uintptr_t addr, size_t length,
		      const struct hmr_split_rules *rules);

/* Where chunk @i begins, as an offset; the length for @i beyond the last. */
static inline size_t hmr_split_offset(const struct hmr_split *s, size_t i)
{
	if (!i)
		return 0;
	return i < s->n ? s->first + (i - 1) * s->chunk : s->length;
}

/* The chunk that an offset lies in. */
static inline size_t hmr_split_index(const struct hmr_split *s, size_t offset)
{
	return offset < s->first ? 0 : 1 + (offset - s->first) / s->chunk;
}

#endif /* HMR_SPLIT_H */
