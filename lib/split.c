// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Cutting a range into MRs. Cuts lie on multiples of the mapping's page size,
 * whatever the range begins and ends on: an MR that ended within a huge page
 * would pin it twice, and couldn't be MADV_DONTFORKed at all. THP don't show in
 * a mapping's page size, so chunks of their size or more are cut on it anyway.
 */
#include "split.h"

#define THP_SIZE (2 * HMR_MIB)

/* Base pages that a range touches, as bytes. */
static size_t touched(uintptr_t addr, size_t length)
{
	size_t base = hmr_base_page();

	return hmr_align_up(addr + length, base) - hmr_align_down(addr, base);
}

/* The smallest limit in bytes, and which it is. */
static uint64_t limit(uintptr_t addr, size_t length,
		      const struct hmr_split_rules *rules,
		      enum hmr_split_why *why)
{
	uint64_t bytes = UINT64_MAX, pages;

	*why = HMR_SPLIT_NONE;
	if (length > rules->max_mr_size) {
		bytes = rules->max_mr_size;
		*why = HMR_SPLIT_SIZE;
	}
	if (!__builtin_mul_overflow(rules->max_mr_pages, hmr_base_page(),
				    &pages) &&
	    touched(addr, length) > pages && pages < bytes) {
		bytes = pages;
		*why = HMR_SPLIT_PAGES;
	}
	return bytes;
}

bool hmr_split_needed(uintptr_t addr, size_t length,
		      const struct hmr_split_rules *rules)
{
	enum hmr_split_why why;

	return (rules->chunk && rules->chunk < length) ||
	       limit(addr, length, rules, &why) != UINT64_MAX;
}

/* A chunk that was asked for is rounded up to whole pages, a limit down. */
static uint64_t round_limit(uint64_t bytes, size_t align)
{
	uint64_t rounded = bytes & ~(uint64_t)(align - 1);

	return rounded ? rounded : bytes & ~(uint64_t)(hmr_base_page() - 1);
}

static uint64_t round_chunk(uint64_t bytes, size_t align)
{
	return bytes > UINT64_MAX - align ? bytes & ~(uint64_t)(align - 1) :
					    hmr_align_up(bytes, align);
}

int hmr_split(uintptr_t addr, size_t length,
	      const struct hmr_split_rules *rules, struct hmr_split *split)
{
	uint64_t bytes = limit(addr, length, rules, &split->why);
	uint64_t chunk = rules->chunk < length ? rules->chunk : 0;
	size_t align = rules->page;

	if ((chunk && chunk < bytes ? chunk : bytes) >= THP_SIZE &&
	    align < THP_SIZE)
		align = THP_SIZE;
	if (split->why != HMR_SPLIT_NONE)
		bytes = round_limit(bytes, align);
	if (chunk && round_chunk(chunk, align) <= bytes) {
		bytes = round_chunk(chunk, align);
		split->why = HMR_SPLIT_CHUNK;
	}
	if (!bytes)
		return -E2BIG;

	/* A limit below the page size cuts within pages: on base pages. */
	if (bytes % align)
		align = hmr_base_page();
	*split = (struct hmr_split){
		.length = length,
		.first = length,
		.chunk = length,
		.n = 1,
		.why = split->why,
	};
	/* From the page that the range begins in, one chunk on. */
	if (bytes - addr % align < length) {
		split->first = bytes - addr % align;
		split->chunk = bytes;
		split->n = 2 + (length - split->first - 1) / bytes;
	} else if (split->why == HMR_SPLIT_CHUNK) {
		split->why = HMR_SPLIT_NONE;
	}
	return 0;
}
