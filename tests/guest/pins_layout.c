// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Ranges whose pages aren't one behind the other, or not of one kind. */
#include "pins.h"

static void map_piece(char *where, size_t length, int fd, size_t offset)
{
	assert_ptr_equal(mmap(where, length, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_FIXED, fd, (off_t)offset),
			 where);
}

/* The pieces of a file, the last one first */
static char *reversed(size_t length, size_t piece, unsigned int flags)
{
	int fd = pins_memfd(length, flags);
	char *p = pins_place(length);
	size_t at;

	for (at = 0; at < length; at += piece)
		map_piece(p + at, piece, fd, length - piece - at);
	close(fd);
	memset(p, 1, length);
	return p;
}

/* In the second half by pieces of three pages, which 2 MiB aren't a multiple
 * of. */
char *pins_map_reversed(size_t length)
{
	size_t half = length / 2, piece = 3 * PAGE, at;
	int fd = pins_memfd(length, 0);
	char *p = pins_place(length);

	for (at = 0; at < half; at += PAGE)
		map_piece(p + at, PAGE, fd, half - PAGE - at);
	for (at = half; at < length; at += piece)
		map_piece(p + at, piece, fd, length - piece - (at - half));
	close(fd);
	memset(p, 1, length);
	return p;
}

char *pins_map_reversed_hugetlb(size_t length)
{
	return reversed(length, HUGE, MFD_HUGETLB | 21 << 26);
}

/*
 * Pages of THPs where mremap() put them: within each 2 MiB in pairs, of which
 * the second comes first, and the halves exchanged.
 */
char *pins_map_moved_thp(size_t length)
{
	const int how = MREMAP_MAYMOVE | MREMAP_FIXED;
	char *from = pins_map_thp(length), *p = pins_place(length);
	size_t at, to;

	for (at = 0; at < length; at += PAGE) {
		to = (at ^ PAGE) ^ HUGE / 2;
		assert_ptr_equal(mremap(from + at, PAGE, PAGE, how, p + to),
				 p + to);
	}
	return p;
}

/* Page by page another kind */
static void map_small_mix(char *p, size_t length)
{
	int fd = pins_memfd(length, 0);
	size_t at;

	pins_map_at(p, length, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1);
	assert_int_equal(madvise(p, length, MADV_HUGEPAGE), 0);
	memset(p, 1, length);
	for (at = PAGE; at < length; at += 7 * PAGE)
		map_piece(p + at, 2 * PAGE, fd, at);
	for (at = 5 * PAGE; at < length; at += 7 * PAGE)
		pins_map_at(p + at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE,
			    -1);
	close(fd);
}

/* A THP, a page of hugetlb, and from there on what is smaller */
char *pins_map_mixed(size_t length)
{
	char *p = pins_place(length);

	assert_true(length > 2 * HUGE);
	pins_map_at(p, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1);
	assert_int_equal(madvise(p, HUGE, MADV_HUGEPAGE), 0);
	pins_map_at(p + HUGE, HUGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_HUGETLB | 21 << 26, -1);
	map_small_mix(p + 2 * HUGE, length - 2 * HUGE);
	memset(p, 1, length);
	return p;
}
