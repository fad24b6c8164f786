// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* That a device reaches the very bytes, whatever a range is made of, wherever
 * it begins and ends, and by whatever address. */
#include "pins.h"

static void whole_range(void **state)
{
	char *p = pins_map(*state);
	struct ibv_mr *mr = pins_register(p, LENGTH, ALL);

	pins_check(mr, p, (uintptr_t)p, LENGTH);
	pins_deregister(mr);
	munmap(p, LENGTH);
}

static const size_t offsets[] = { 0, 1, PAGE - 1, PAGE, HUGE - PAGE };
static const size_t small[] = { 1, PAGE - 1, PAGE, PAGE + 1 };
static const size_t large[] = { HUGE - PAGE, HUGE, HUGE + PAGE };

/* What is beside a range stays as it is. */
static void check_range(char *p, size_t offset, size_t length)
{
	size_t from = offset < 64 ? 0 : offset - 64;
	size_t behind = offset + length;
	struct ibv_mr *mr;
	char beside[128];

	pins_fill(p + from, offset - from, offset);
	pins_fill(p + behind, 64, length);
	memcpy(beside, p + from, offset - from);
	memcpy(beside + 64, p + behind, 64);
	mr = pins_register(p + offset, length, ALL);
	if (length < 4 * PAGE)
		pins_check(mr, p + offset, (uintptr_t)p + offset, length);
	else
		pins_check_borders(mr, p + offset, length);
	pins_deregister(mr);
	assert_memory_equal(p + from, beside, offset - from);
	assert_memory_equal(p + behind, beside + 64, 64);
}

static void check_ranges(const struct pins_kind *kind, const size_t *lengths,
			 size_t n)
{
	const size_t count = sizeof(offsets) / sizeof(*offsets);
	char *p = pins_map(kind);
	size_t i, k;

	for (i = 0; i < count; i++)
		for (k = 0; k < n; k++)
			check_range(p, offsets[i], lengths[k]);
	munmap(p, LENGTH);
}

static void small_ranges(void **state)
{
	check_ranges(*state, small, sizeof(small) / sizeof(*small));
}

static void large_ranges(void **state)
{
	check_ranges(*state, large, sizeof(large) / sizeof(*large));
}

/* The device's address has only the offset within a page from the memory's. */
static void another_iova(void **state)
{
	static const uint64_t iovas[] = { 0, 7 * PAGE, HUGE, 1ull << 40,
					  (1ull << 46) + 511 * PAGE };
	const size_t offset = 3 * PAGE + 123, length = HUGE + PAGE + 1;
	char *p = pins_map(*state);
	struct ibv_mr *mr;
	uint64_t iova;
	size_t i, at;

	for (i = 0; i < sizeof(iovas) / sizeof(*iovas); i++) {
		iova = iovas[i] + offset % PAGE;
		mr = ibv_reg_mr_iova(pins_device.pd, p + offset, length, iova,
				     ALL);
		assert_non_null(mr);
		for (at = 0; at < length - PAGE; at += 61 * PAGE + 1)
			pins_check(mr, p + offset + at, iova + at, PAGE);
		pins_check(mr, p + offset + length - 300, iova + length - 300,
			   300);
		pins_deregister(mr);
	}
	munmap(p, LENGTH);
}

static void unlike_offset_in_page(void **state)
{
	char *p = pins_map_4k(LENGTH);

	errno = 0;
	assert_null(ibv_reg_mr_iova(pins_device.pd, p + 5, PAGE, PAGE, ALL));
	assert_int_equal(errno, EINVAL);
	munmap(p, LENGTH);
}

/* Which goes first is the same to the pages. */
static void overlapping(void **state)
{
	char *p = pins_map(*state);
	struct ibv_mr *mrs[4];
	size_t i;

	for (i = 0; i < 4; i++)
		mrs[i] = pins_register(p + i * (PAGE + 1), LENGTH - HUGE, ALL);
	for (i = 0; i < 4; i++)
		pins_check(mrs[i], p + HUGE - PAGE, (uintptr_t)p + HUGE - PAGE,
			   3 * PAGE);
	pins_deregister(mrs[1]);
	pins_deregister(mrs[3]);
	pins_check_borders(mrs[0], p, LENGTH - HUGE);
	pins_deregister(mrs[0]);
	pins_check_borders(mrs[2], p + 2 * (PAGE + 1), LENGTH - HUGE);
	pins_deregister(mrs[2]);
	munmap(p, LENGTH);
}

/* ---- the same page at several addresses ---- */

/* Forwards, backwards, twice in a row, and out of order */
static const unsigned int orders[] = { 0, 1, 2, 3, 3, 2, 1, 0,
				       0, 0, 2, 2, 1, 3, 0, 2 };
#define N_ORDERS (sizeof(orders) / sizeof(*orders))

static void check_alias(size_t piece, unsigned int flags)
{
	int fd = pins_memfd(4 * piece, flags);
	char *p = pins_place(N_ORDERS * piece);
	struct ibv_mr *mr;
	size_t i, k;

	for (i = 0; i < N_ORDERS; i++)
		assert_ptr_equal(mmap(p + i * piece, piece,
				      PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_FIXED, fd,
				      (off_t)(orders[i] * piece)),
				 p + i * piece);
	close(fd);
	mr = pins_register(p + 7, N_ORDERS * piece - 9, ALL);
	pins_fill(p, 4 * piece, 1);
	pins_expect_remote(mr, p + 7, p + 7, N_ORDERS * piece - 9);
	/* What is written at one address is there at the others. */
	for (i = 0; i < N_ORDERS; i++) {
		pins_check(mr, p + i * piece + 9, (uintptr_t)p + i * piece + 9,
			   300);
		for (k = 0; k < N_ORDERS; k++)
			if (orders[k] == orders[i])
				pins_expect_remote(mr, p + k * piece + 9,
						   p + i * piece + 9, 300);
	}
	pins_deregister(mr);
	munmap(p, N_ORDERS * piece);
}

static void aliases(void **state)
{
	check_alias(PAGE, 0);
	check_alias(16 * PAGE, 0);
	check_alias(HUGE, MFD_HUGETLB | 21 << 26);
}

/* ---- leaks ---- */

static size_t free_bytes(void)
{
	return (size_t)sysconf(_SC_AVPHYS_PAGES) * PAGE;
}

/* A reference too many to one page of a round keeps 2 MiB, if it is of a THP,
 * and all counts of pins may be right. */
static void nothing_leaks(void **state)
{
	const struct pins_kind *kind = *state;
	size_t i, first = 0, last;
	struct ibv_mr *mr;
	char *p;

	for (i = 0; i < 18; i++) {
		p = pins_map(kind);
		mr = pins_register(p + 5 * PAGE + 1, LENGTH - 9 * PAGE, ALL);
		pins_deregister(mr);
		munmap(p, LENGTH);
		/* Caches have filled by then. */
		if (i == 1)
			first = free_bytes();
	}
	last = free_bytes();
	if (last + 16 * MIB < first)
		fail_msg("%zu MiB were free, and %zu are left", first / MIB,
			 last / MIB);
}

const struct pins_test pins_content_tests[] = {
	{ "whole range", whole_range, true, 0, 0 },
	{ "small ranges", small_ranges, true, 0, 0 },
	{ "large ranges", large_ranges, true, 0, 0 },
	{ "another iova", another_iova, true, 0, 0 },
	{ "unlike offset in page", unlike_offset_in_page, false, 0, 0 },
	{ "overlapping", overlapping, true, 0, 0 },
	{ "aliases", aliases, false, 0, 0 },
	{ "nothing leaks", nothing_leaks, true, 0, 0 },
	{ NULL, NULL, false, 0, 0 },
};
