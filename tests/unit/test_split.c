// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Where ranges are cut: by table, and by checking what must hold for any. */
#include <stdlib.h>

#include "fake_verbs.h"
#include "split.h"

#define PAGE 4096ul
#define MIB (1ul << 20)
#define GIB (1ul << 30)
#define NONE UINT64_MAX

static const struct {
	uintptr_t addr;
	size_t length;
	struct hmr_split_rules rules;
	size_t first, chunk, n;
	enum hmr_split_why why;
} cases[] = {
	/* no rule, or one that doesn't bite */
	{ 0, GIB, { 0, NONE, NONE, PAGE }, GIB, GIB, 1, 0 },
	{ 0, GIB, { GIB, GIB, GIB / PAGE, PAGE }, GIB, GIB, 1, 0 },
	{ 1, 4095, { 0, NONE, 1, PAGE }, 4095, 4095, 1, 0 },
	/* chunks: on THP from 2 MiB on, on pages below */
	{ 5,
	  10 * MIB,
	  { 4 * MIB, NONE, NONE, PAGE },
	  4 * MIB - 5,
	  4 * MIB,
	  3,
	  HMR_SPLIT_CHUNK },
	{ 2 * MIB + 5,
	  10 * MIB,
	  { 4 * MIB, NONE, NONE, PAGE },
	  4 * MIB - 5,
	  4 * MIB,
	  3,
	  HMR_SPLIT_CHUNK },
	{ PAGE,
	  10 * MIB,
	  { 3 * MIB, NONE, NONE, PAGE },
	  4 * MIB - PAGE,
	  4 * MIB,
	  3,
	  HMR_SPLIT_CHUNK },
	{ 0, 3 * PAGE, { 1, NONE, NONE, PAGE }, PAGE, PAGE, 3, HMR_SPLIT_CHUNK },
	{ 4095, 2, { 1, NONE, NONE, PAGE }, 1, PAGE, 2, HMR_SPLIT_CHUNK },
	/* ... and never within a page of the mapping */
	{ 0,
	  4 * GIB,
	  { 3 * MIB, NONE, NONE, GIB },
	  GIB,
	  GIB,
	  4,
	  HMR_SPLIT_CHUNK },
	{ GIB / 2,
	  2 * GIB,
	  { MIB, NONE, NONE, GIB },
	  GIB / 2,
	  GIB,
	  3,
	  HMR_SPLIT_CHUNK },
	/* limits are rounded down */
	{ 0,
	  9 * MIB,
	  { 0, 5 * MIB, NONE, PAGE },
	  4 * MIB,
	  4 * MIB,
	  3,
	  HMR_SPLIT_SIZE },
	{ 1,
	  GIB,
	  { 0, NONE, GIB / PAGE, PAGE },
	  GIB - 1,
	  GIB,
	  2,
	  HMR_SPLIT_PAGES },
	{ 0,
	  GIB + 1,
	  { 0, NONE, GIB / PAGE, PAGE },
	  GIB,
	  GIB,
	  2,
	  HMR_SPLIT_PAGES },
	/* a limit below the mapping's page cuts within it */
	{ 0,
	  2 * GIB,
	  { 0, 512 * MIB, NONE, GIB },
	  512 * MIB,
	  512 * MIB,
	  4,
	  HMR_SPLIT_SIZE },
	{ 3 * PAGE,
	  2 * MIB,
	  { 0, 6 * PAGE + 1, NONE, 2 * MIB },
	  6 * PAGE,
	  6 * PAGE,
	  86,
	  HMR_SPLIT_SIZE },
	/* the smallest of all */
	{ 0,
	  16 * MIB,
	  { 8 * MIB, 6 * MIB, MIB / PAGE, PAGE },
	  MIB,
	  MIB,
	  16,
	  HMR_SPLIT_PAGES },
	{ 0,
	  16 * MIB,
	  { 2 * MIB, 6 * MIB, 4 * MIB / PAGE, PAGE },
	  2 * MIB,
	  2 * MIB,
	  8,
	  HMR_SPLIT_CHUNK },
	/* 64-bit */
	{ 0,
	  1ul << 40,
	  { 0, NONE, GIB / PAGE, GIB },
	  GIB,
	  GIB,
	  1024,
	  HMR_SPLIT_PAGES },
};

static void cuts(void **state)
{
	struct hmr_split s;
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		print_message("case %u\n", i);
		assert_int_equal(hmr_split(cases[i].addr, cases[i].length,
					   &cases[i].rules, &s),
				 0);
		assert_int_equal(s.length, cases[i].length);
		assert_int_equal(s.first, cases[i].first);
		assert_int_equal(s.chunk, cases[i].chunk);
		assert_int_equal(s.n, cases[i].n);
		assert_int_equal(s.why, cases[i].why);
		assert_int_equal(hmr_split_needed(cases[i].addr,
						  cases[i].length,
						  &cases[i].rules),
				 cases[i].n > 1);
	}
}

static void limits_below_a_page(void **state)
{
	struct hmr_split_rules rules = { 0, 4095, NONE, PAGE };
	struct hmr_split s;

	assert_int_equal(hmr_split(0, 8192, &rules, &s), -E2BIG);
	rules = (struct hmr_split_rules){ 0, NONE, 0, PAGE };
	assert_int_equal(hmr_split(0, 8192, &rules, &s), -E2BIG);
}

/* What must hold for any range and rules. */
static void check(uintptr_t addr, size_t length,
		  const struct hmr_split_rules *rules)
{
	struct hmr_split s;
	size_t i, from, to;

	assert_int_equal(hmr_split(addr, length, rules, &s), 0);
	assert_true(s.n >= 1);
	assert_int_equal(hmr_split_offset(&s, 0), 0);
	assert_int_equal(hmr_split_offset(&s, s.n), length);
	for (i = 0; i < s.n; i++) {
		from = hmr_split_offset(&s, i);
		to = hmr_split_offset(&s, i + 1);
		assert_true(from < to);
		assert_true(to - from <= rules->max_mr_size);
		assert_true(((addr + to + PAGE - 1) / PAGE -
			     (addr + from) / PAGE) <= rules->max_mr_pages);
		assert_int_equal(hmr_split_index(&s, from), i);
		assert_int_equal(hmr_split_index(&s, to - 1), i);
		if (i)
			assert_int_equal((addr + from) % PAGE, 0);
		if (i && rules->max_mr_size >= rules->page &&
		    rules->max_mr_pages * PAGE >= rules->page)
			assert_int_equal((addr + from) % rules->page, 0);
	}
}

static uint64_t random_bits(unsigned int bits)
{
	return (((uint64_t)rand() << 31) ^ (uint64_t)rand()) &
	       ((1ull << bits) - 1);
}

static void invariants_of_random_ranges(void **state)
{
	const size_t pages[] = { PAGE, 2 * MIB, GIB };
	unsigned int i;

	srand(1);
	for (i = 0; i < 20000; i++) {
		struct hmr_split_rules rules = {
			.chunk = rand() % 2 ? random_bits(26) : 0,
			.max_mr_size = rand() % 2 ? NONE :
						    4096 + random_bits(25),
			.max_mr_pages = rand() % 2 ? NONE : 2 + random_bits(13),
			.page = pages[rand() % 3],
		};

		check(random_bits(40), 1 + random_bits(27), &rules);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts),
		cmocka_unit_test(limits_below_a_page),
		cmocka_unit_test(invariants_of_random_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
