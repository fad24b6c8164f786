// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What becomes of registered memory when its mapping changes: the device stays
 * with the pages that it got. */
#include "pins.h"

#include "look.h"

static void moved(void **state)
{
	char *p = pins_map(*state), *to;
	struct ibv_mr *mr = pins_register(p + 77, LENGTH - 99, ALL);

	to = pins_place(LENGTH);
	if (mremap(p, LENGTH, LENGTH, MREMAP_MAYMOVE | MREMAP_FIXED, to) ==
	    MAP_FAILED) {
		/* Pages of hugetlb can be moved since Linux 5.16. */
		assert_int_equal(pins_unit(*state), HUGE);
		print_message("  mremap: %s\n", strerror(errno));
		to = p;
	}
	pins_check(mr, to + 77, (uintptr_t)p + 77, HUGE + 3 * PAGE);
	pins_check(mr, to + LENGTH - 9999, (uintptr_t)p + LENGTH - 9999, 9000);
	pins_deregister(mr);
	/* and from where it is now */
	pins_accepted(to + PAGE, LENGTH - PAGE);
	munmap(to, LENGTH);
}

/*
 * What can't be written to for a while is copied by Linux 5.10 when it is again,
 * if it is private and there are other references: pins, for example. Until "mm:
 * remember exclusively mapped anonymous pages with PG_anon_exclusive" of 5.19.
 */
static bool copies_pinned(const struct pins_kind *kind)
{
	return pins_runs_on("5.10.") &&
	       kind->flags & (PINS_PRIVATE | PINS_MIXED);
}

/* Rights are for who comes later. */
static void rights_taken_away(void **state)
{
	const size_t unit = pins_unit(*state);
	const size_t at = unit == HUGE ? HUGE : HUGE - PAGE;
	const size_t length = 2 * unit;
	char *p = pins_map(*state), *want;
	struct ibv_mr *mr = pins_register(p, LENGTH, ALL);

	pins_fill(p, LENGTH, 1);
	want = pins_copy(p, LENGTH);
	assert_int_equal(mprotect(p + at, length, PROT_NONE), 0);
	pins_expect_remote(mr, p + at - 99, want + at - 99, 99 + 5 * PAGE);
	pins_fill(want + at, 3 * PAGE, 2);
	pins_write(mr, (uintptr_t)p + at, want + at, 3 * PAGE);
	pins_refused(p + at - PAGE, 3 * PAGE, ALL, EFAULT, EFAULT);
	assert_int_equal(mprotect(p + at, length, PROT_READ), 0);
	pins_refused(p + at - PAGE, 3 * PAGE, ALL, EFAULT, EFAULT);
	assert_memory_equal(p, want, LENGTH);
	assert_int_equal(mprotect(p + at, length, PROT_READ | PROT_WRITE), 0);
	if (!copies_pinned(*state)) {
		pins_check(mr, p + at - 77, (uintptr_t)p + at - 77, 3 * PAGE);
		pins_check_borders(mr, p, LENGTH);
	}
	pins_deregister(mr);
	free(want);
	munmap(p, LENGTH);
}

/* What is behind it stays with the MR, when nobody else can have it. */
static void unmapped(void **state)
{
	const struct pins_kind *kind = *state;
	char *p = pins_map(kind), *want, *others;
	struct ibv_mr *mr = pins_register(p + 5, LENGTH - 9, ALL);

	pins_fill(p, LENGTH, 1);
	want = pins_copy(p, LENGTH);
	munmap(p, LENGTH);
	/* What was freed by mistake is somebody's now. */
	others = kind->map(LENGTH);
	pins_fill(others, LENGTH, 2);
	pins_expect_remote(mr, p + 5, want + 5, LENGTH - 9);
	pins_fill(want, LENGTH, 3);
	pins_write(mr, (uintptr_t)p + 5, want + 5, LENGTH - 9);
	pins_expect_remote(mr, p + 5, want + 5, LENGTH - 9);
	pins_fill(want, LENGTH, 2);
	assert_memory_equal(others, want, LENGTH);
	pins_deregister(mr);
	munmap(others, LENGTH);
	free(want);
}

/* Also of pages that go in part. */
static void unmapped_in_part(void **state)
{
	const size_t unit = pins_unit(*state);
	const size_t at = unit == HUGE ? HUGE : HUGE - 100 * PAGE;
	const size_t length = unit == HUGE ? HUGE : 300 * PAGE;
	char *p = pins_map(*state), *want;
	struct ibv_mr *mr = pins_register(p, LENGTH, ALL);

	pins_fill(p, LENGTH, 1);
	want = pins_copy(p, LENGTH);
	assert_int_equal(munmap(p + at, length), 0);
	pins_expect_remote(mr, p + at - 999, want + at - 999, length + 2000);
	pins_write(mr, (uintptr_t)p + at, want, length);
	pins_expect_remote(mr, p + at, want, length);
	pins_check(mr, p, (uintptr_t)p, at);
	pins_deregister(mr);
	pins_refused(p, LENGTH, ALL, EFAULT, EFAULT);
	pins_refused(p + at - 1, 2, ALL, EFAULT, EFAULT);
	pins_refused(p + at + length - 1, 2, ALL, EFAULT, EFAULT);
	/* what is left of a page */
	pins_accepted(p, at);
	pins_accepted(p + at + length, LENGTH - at - length);
	munmap(p, LENGTH);
	free(want);
}

/* The first, one in the middle, and the last page without rights: whatever was
 * pinned until then is let go. */
static void holes(void **state)
{
	const size_t unit = pins_unit(*state);
	const size_t places[] = { 0, HUGE, LENGTH - unit };
	char *p = pins_map(*state);
	size_t i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(mprotect(p + places[i], unit, PROT_NONE), 0);
		pins_refused(p, LENGTH, ALL, EFAULT, EFAULT);
		pins_refused(p + 1, LENGTH - 2, ALL, EFAULT, EFAULT);
		assert_int_equal(mprotect(p + places[i], unit,
					  PROT_READ | PROT_WRITE),
				 0);
	}
	pins_accepted(p, LENGTH);
	munmap(p, LENGTH);
}

/* Of private memory the device keeps what was dropped. */
static void dropped(void **state)
{
	const struct pins_kind *kind = *state;
	const size_t unit = pins_unit(kind);
	const size_t at = unit == HUGE ? HUGE : HUGE - 100 * PAGE;
	const size_t length = unit == HUGE ? HUGE : 300 * PAGE;
	char *p = pins_map(kind), *want;
	struct ibv_mr *mr = pins_register(p, LENGTH, ALL);
	size_t i;

	pins_fill(p, LENGTH, 1);
	want = pins_copy(p, LENGTH);
	if (madvise(p + at, length, MADV_DONTNEED)) {
		/* Pages of hugetlb can be dropped since Linux 5.18. */
		assert_int_equal(unit, HUGE);
		print_message("  madvise: %s\n", strerror(errno));
	} else if (kind->flags & PINS_PRIVATE) {
		for (i = 0; i < length; i++)
			if (p[at + i])
				fail_msg("not dropped at %#zx", i);
		pins_fill(p + at, length, 2);
	}
	pins_expect_remote(mr, p, want, LENGTH);
	pins_write(mr, (uintptr_t)p + at, want, PAGE);
	if (kind->flags & PINS_PRIVATE)
		pins_check(mr, p, (uintptr_t)p, at);
	else
		pins_check(mr, p, (uintptr_t)p, LENGTH);
	pins_deregister(mr);
	mr = pins_register(p, LENGTH, ALL);
	pins_check(mr, p, (uintptr_t)p, LENGTH);
	pins_deregister(mr);
	munmap(p, LENGTH);
	free(want);
}

/* ---- for reading ---- */

static void read_only(void **state)
{
	const size_t unit = pins_unit(*state);
	char *p = pins_map(*state), *want;
	struct ibv_mr *mr;

	pins_fill(p, LENGTH, 1);
	mr = pins_register(p + 9, LENGTH - 77, RR);
	pins_fill(p + HUGE - unit, 2 * unit, 2);
	pins_expect_remote(mr, p + 9, p + 9, LENGTH - 77);
	pins_deregister(mr);
	want = pins_copy(p, LENGTH);
	mr = pins_register(p, LENGTH, 0);
	pins_deregister(mr);
	assert_memory_equal(p, want, LENGTH);
	free(want);
	munmap(p, LENGTH);
}

static void expect_zeroes(const struct ibv_mr *mr, const char *p, size_t length)
{
	char *zeroes = calloc(1, length);

	assert_non_null(zeroes);
	pins_expect_remote(mr, p, zeroes, length);
	free(zeroes);
}

/*
 * Private memory that nobody touched, or only read, has no pages of its own,
 * and what is written there later must be what the device reads.
 */
static void untouched(int advice, bool reads, int flags)
{
	char *p = pins_map_at(pins_place(LENGTH), LENGTH,
			      PROT_READ | PROT_WRITE, MAP_PRIVATE | flags, -1);
	struct ibv_mr *mr;
	size_t at;

	if (advice)
		assert_int_equal(madvise(p, LENGTH, advice), 0);
	for (at = 0; reads && at < LENGTH; at += PAGE)
		assert_int_equal(((volatile char *)p)[at], 0);
	mr = pins_register(p + 1, LENGTH - 2, RR);
	expect_zeroes(mr, p + 1, LENGTH - 2);
	pins_fill(p, LENGTH, 1);
	pins_expect_remote(mr, p + 1, p + 1, LENGTH - 2);
	pins_deregister(mr);
	munmap(p, LENGTH);
}

static void untouched_memory(void **state)
{
	untouched(MADV_NOHUGEPAGE, false, 0);
	untouched(MADV_NOHUGEPAGE, true, 0);
	untouched(MADV_HUGEPAGE, false, 0);
	untouched(MADV_HUGEPAGE, true, 0);
	untouched(0, false, MAP_HUGETLB | 21 << 26);
	untouched(0, true, MAP_HUGETLB | 21 << 26);
}

/* Private pages of a file: every third one written to, the others not yet */
static void private_file(void **state)
{
	int fd = pins_memfd(LENGTH, 0);
	char *file = pins_map_at(pins_place(LENGTH), LENGTH,
				 PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	char *p = pins_map_at(pins_place(LENGTH), LENGTH,
			      PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	char *want;
	struct ibv_mr *mr;
	size_t at;

	close(fd);
	pins_fill(file, LENGTH, 1);
	for (at = 0; at < LENGTH; at += 3 * PAGE)
		pins_fill(p + at, 99, 2);
	want = pins_copy(file, LENGTH);
	mr = pins_register(p, LENGTH, RR);
	pins_expect_remote(mr, p, p, LENGTH);
	pins_fill(p, LENGTH, 3);
	pins_expect_remote(mr, p, p, LENGTH);
	pins_deregister(mr);
	assert_memory_equal(file, want, LENGTH);
	munmap(p, LENGTH);
	munmap(file, LENGTH);
	free(want);
}

static void shared_read_only(void **state)
{
	int fd = pins_memfd(LENGTH, 0);
	char *file = pins_map_at(pins_place(LENGTH), LENGTH,
				 PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	char *p = pins_map_at(pins_place(LENGTH), LENGTH, PROT_READ, MAP_SHARED,
			      fd);
	struct ibv_mr *mr;

	close(fd);
	pins_fill(file, LENGTH, 1);
	pins_refused(p, LENGTH, ALL, EFAULT, EFAULT);
	if (pins_by_force()) {
		pins_refused(p, LENGTH, RR, EFAULT, EFAULT);
	} else {
		mr = pins_register(p, LENGTH, RR);
		pins_expect_remote(mr, p, file, LENGTH);
		pins_fill(file, LENGTH, 2);
		pins_expect_remote(mr, p, file, LENGTH);
		pins_deregister(mr);
	}
	munmap(p, LENGTH);
	munmap(file, LENGTH);
}

const struct pins_test pins_change_tests[] = {
	{ "moved", moved, true, PINS_ONE_VMA, 0 },
	{ "rights taken away", rights_taken_away, true, 0, 0 },
	{ "unmapped", unmapped, true, 0, 0 },
	{ "unmapped in part", unmapped_in_part, true, 0, 0 },
	{ "holes", holes, true, 0, 0 },
	{ "dropped", dropped, true, 0, PINS_MIXED },
	{ "read-only", read_only, true, 0, 0 },
	{ "untouched memory", untouched_memory, false, 0, 0 },
	{ "private file", private_file, false, 0, 0 },
	{ "shared read-only", shared_read_only, false, 0, 0 },
	{ NULL, NULL, false, 0, 0 },
};
