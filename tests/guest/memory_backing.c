// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What backs mixtures of pages, and parts of them. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "memory.h"

/* ---- backing: parts of mixtures ---- */

/*
 * 16 MiB, aligned, of memory that has become:
 *  0 -  4 THP
 *  4 -  6 what was a THP, one page in its middle now read-only
 *  6 -  8 a hole of one page at 7, and base pages around it
 *  8 - 10 not touched, THP advised
 * 10 - 12 the zero page, or several
 * 12 - 14 THP
 * 14 - 16 every other page touched
 */
static char *mixture;

static char *map_aligned(size_t size)
{
	char *p = mmap(NULL, size + 4 * MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	return (char *)(((uintptr_t)p + 4 * MIB - 1) & ~(4 * MIB - 1));
}

static bool make_mixture(void)
{
	HMR_OPTS(hmr_populate_opts, reading, .flags = HMR_POPULATE_READ);
	char *p = map_aligned(16 * MIB);
	size_t i;

	if (!check(p != NULL) || !check(!madvise(p, 16 * MIB, MADV_HUGEPAGE)) ||
	    !check(!madvise(p + 6 * MIB, 2 * MIB, MADV_NOHUGEPAGE)) ||
	    !check(!madvise(p + 14 * MIB, 2 * MIB, MADV_NOHUGEPAGE)) ||
	    !check(!hmr_populate(p, 8 * MIB, NULL, NULL)) ||
	    !check(!hmr_populate(p + 10 * MIB, 2 * MIB, &reading, NULL)) ||
	    !check(!hmr_populate(p + 12 * MIB, 2 * MIB, NULL, NULL)) ||
	    !check(!mprotect(p + 5 * MIB, PAGE, PROT_READ)) ||
	    !check(!munmap(p + 7 * MIB, PAGE)))
		return false;
	for (i = 14 * MIB; i < 16 * MIB; i += 2 * PAGE)
		p[i] = 1;
	mixture = p;
	return true;
}

struct part {
	size_t from;
	size_t to;
	size_t thp;
	size_t small;
};

static const struct part parts[] = {
	{ 0, 4 * MIB, 4 * MIB, 0 },
	{ MIB, MIB + PAGE, PAGE, 0 },
	{ MIB, 5 * MIB, 3 * MIB, MIB },
	{ 4 * MIB, 6 * MIB, 0, 2 * MIB },
	{ 5 * MIB, 5 * MIB + PAGE, 0, PAGE },
	{ 4 * MIB, 7 * MIB, 0, 3 * MIB },
	{ 7 * MIB + PAGE, 8 * MIB, 0, MIB - PAGE },
	{ 7 * MIB + PAGE, 10 * MIB, 0, MIB - PAGE },
	{ 8 * MIB, 10 * MIB, 0, 0 },
	{ 9 * MIB, 13 * MIB, MIB, 0 },
	{ 10 * MIB, 12 * MIB, 0, 0 },
	{ 11 * MIB, 12 * MIB + PAGE, PAGE, 0 },
	{ 12 * MIB, 16 * MIB, 2 * MIB, MIB },
	{ 13 * MIB, 15 * MIB, MIB, 512 * KIB },
	{ 14 * MIB + PAGE, 14 * MIB + 2 * PAGE, 0, 0 },
	{ 14 * MIB + PAGE, 14 * MIB + 4 * PAGE, 0, PAGE },
	{ 7 * MIB + PAGE, 16 * MIB, 2 * MIB, 2 * MIB - PAGE },
};

/* What is said must be so; all must be said unless @vague. */
static bool check_part(const struct part *part, bool vague)
{
	HMR_RESULT(hmr_backing, b);
	size_t length = part->to - part->from;
	size_t absent = length - part->thp - part->small;

	if (!check(!hmr_backing(mixture + part->from, length, &b)))
		return false;
	if (b.thp <= part->thp && b.small <= part->small &&
	    b.absent <= absent &&
	    b.thp + b.small + b.absent + b.unknown == length &&
	    (vague || !b.unknown))
		return true;
	fprintf(stderr,
		"%zu-%zu KiB: thp %lu of %zu, small %lu of %zu, absent %lu of "
		"%zu, unknown %lu\n",
		part->from / KIB, part->to / KIB, b.thp, part->thp, b.small,
		part->small, b.absent, absent, b.unknown);
	return false;
}

static bool check_mixture(bool vague)
{
	HMR_RESULT(hmr_backing, b);
	bool ok = true;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		ok &= check_part(&parts[i], vague);
	ok &= check(hmr_backing(mixture + 6 * MIB, 2 * MIB, &b) == -ENOMEM);
	return ok;
}

static bool scan_exists(void)
{
	return features & HMR_FEATURE_PAGEMAP_SCAN;
}

static bool mixture_as_root(void)
{
	return make_mixture() && check_mixture(false);
}

static bool mixture_without_privileges(void)
{
	return drop_privileges() && make_mixture() &&
	       check_mixture(!scan_exists());
}

/* Where not even pagemap can be opened. */
static bool mixture_of_others(void)
{
	return check(!setgid(65534)) && check(!setuid(65534)) &&
	       check(!prctl(PR_SET_DUMPABLE, 0)) && make_mixture() &&
	       check_mixture(true);
}

static void parts_of_mixtures(void **state)
{
	in_child(mixture_as_root);
	in_child(mixture_without_privileges);
	in_child(mixture_of_others);
}

/* What was cut in two by a change that was undone is whole again to see, but
 * still not huge. */
static bool split_and_merged(void)
{
	char *p = map_aligned(4 * MIB);
	HMR_RESULT(hmr_backing, b);

	if (!check(p != NULL) || !check(!madvise(p, 4 * MIB, MADV_HUGEPAGE)) ||
	    !check(!hmr_populate(p, 4 * MIB, NULL, NULL)) ||
	    !check(!mprotect(p + MIB, PAGE, PROT_READ)) ||
	    !check(!mprotect(p + MIB, PAGE, PROT_READ | PROT_WRITE)))
		return false;
	if (!check(!hmr_backing(p, MIB, &b)))
		return false;
	return check(scan_exists() ? b.small == MIB :
				     b.unknown == MIB || b.small == MIB) &&
	       check(!hmr_backing(p, 4 * MIB, &b)) &&
	       check(b.thp == 2 * MIB || b.thp == 0) &&
	       check(b.thp + b.small + b.unknown == 4 * MIB);
}

static void split_thp_is_not_thp(void **state)
{
	in_child(split_and_merged);
}

static void parts_of_hugetlb(void **state)
{
	char *p = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << 26, -1,
		       0);
	struct hmr_backing b;

	assert_ptr_not_equal(p, MAP_FAILED);
	p[0] = p[4 * MIB] = 1;
	assert_int_equal(backing(p, 8 * MIB).hugetlb_2m, 4 * MIB);
	b = backing(p + MIB, 4 * MIB);
	assert_int_equal(b.hugetlb_2m, 2 * MIB);
	assert_int_equal(b.absent, 2 * MIB);
	assert_int_equal(b.node[0] + b.node[1], 2 * MIB);
	assert_int_equal(backing(p + 3 * MIB, PAGE).absent, PAGE);
	munmap(p, 8 * MIB);
}

/* ---- backing: sizes of folios ---- */

static void folios_below_a_pmd(void **state)
{
	const char *mode = THP "hugepages-64kB/enabled";
	struct hmr_buffer *buf;
	struct hmr_backing b;
	char *p;

	buf = ALLOC(MIB, .pages = HMR_PAGES_4K);
	b = buffer_backing(buf);
	assert_true(b.flags & HMR_BACKING_BY_ORDER);
	assert_int_equal(b.order[0], MIB);
	assert_int_equal(hmr_buffer_free(buf), 0);
	if (access(mode, F_OK))
		skip();
	write_file(mode, "madvise");
	p = map_aligned(MIB);
	assert_int_equal(madvise(p, MIB, MADV_HUGEPAGE), 0);
	assert_int_equal(hmr_populate(p, MIB, NULL, NULL), 0);
	b = backing(p, MIB);
	assert_int_equal(b.small, MIB);
	assert_int_equal(b.order[4], MIB);
	b = backing(p + PAGE, 3 * PAGE);
	assert_int_equal(b.order[4], 3 * PAGE);
	munmap(p, MIB);
	write_file(mode, "never");
}

const struct CMUnitTest memory_backing_tests[] = {
	each(parts_of_mixtures),
	each(split_thp_is_not_thp),
	each(parts_of_hugetlb),
	each(folios_below_a_pmd),
	{ NULL },
};
