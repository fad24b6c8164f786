// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * MRs beyond 1 GiB, which soft-RoCE refused from Linux 7.0 on, and from 6.12.y
 * on: of a few hugetlb pages that are mapped over and over, so that a small
 * guest will do.
 */
#include "pins.h"

#define GIB (1ul << 30)
#define SPAN (2 * PAGE + 77)

/* Not one behind the other, and no period that a wrong length could have */
static off_t page_of(size_t i)
{
	return (off_t)((i * i + i / 5) % 11 * HUGE);
}

static char *map_over_and_over(size_t length)
{
	int fd = pins_memfd(11 * HUGE, MFD_HUGETLB | 21 << 26);
	char *p = pins_place(length);
	size_t at;

	for (at = 0; at < length; at += HUGE)
		assert_ptr_equal(mmap(p + at, HUGE, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_FIXED, fd,
				      page_of(at / HUGE)),
				 p + at);
	close(fd);
	return p;
}

static void check_at(const struct ibv_mr *mr, char *p, size_t at)
{
	pins_check(mr, p + at, (uintptr_t)p + at, SPAN);
}

static void big(size_t offset, size_t length)
{
	const size_t mapped = (offset + length + HUGE - 1) & ~(HUGE - 1);
	char *p = map_over_and_over(mapped) + offset;
	struct ibv_mr *mr = pins_register(p, length, ALL);
	size_t at;

	check_at(mr, p, 0);
	check_at(mr, p, length / 2 - PAGE);
	check_at(mr, p, length - SPAN);
	for (at = GIB; at + SPAN <= length; at += GIB)
		check_at(mr, p, at - PAGE - 5);
	for (at = 0; at + SPAN <= length; at += 37 * HUGE - 3 * PAGE)
		check_at(mr, p, at);
	pins_deregister(mr);
	munmap(p - offset, mapped);
}

static void gib_and_a_page(void **state)
{
	big(0, GIB + PAGE);
}

/* As many bytes, of a page more */
static void gib_unaligned(void **state)
{
	big(PAGE - 1, GIB);
}

static void two_gib(void **state)
{
	big(0, 2 * GIB);
	big(HUGE - PAGE, 2 * GIB + 1);
}

static void five_gib(void **state)
{
	big(0, 5 * GIB);
	big(123, 5 * GIB + 12345);
}

const struct pins_test pins_big_tests[] = {
	{ "big: 1 GiB and a page", gib_and_a_page, false, 0, 0 },
	{ "big: 1 GiB unaligned", gib_unaligned, false, 0, 0 },
	{ "big: 2 GiB", two_gib, false, 0, 0 },
	{ "big: 5 GiB", five_gib, false, 0, 0 },
	{ NULL, NULL, false, 0, 0 },
};
