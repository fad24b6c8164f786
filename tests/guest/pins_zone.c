// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Memory that is to stay movable, which what is pinned for long must leave:
 * ZONE_MOVABLE (movablecore= on the kernel's command line) and CMA
 * (hugetlb_cma=).
 */
#include <fcntl.h>
#include <inttypes.h>

#include "pins.h"

#include "look.h"

struct zone {
	uint64_t start, end;
	/* by what is pinned */
	bool left;
};

/* Of one node */
static bool find_movable(struct zone *zone)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	uint64_t spanned = 0;
	bool movable = false, found = false;
	char line[256], name[32];

	assert_non_null(f);
	*zone = (struct zone){ 0 };
	while (!found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "Node %*d, zone %31s", name) == 1)
			movable = !strcmp(name, "Movable");
		sscanf(line, " spanned %" SCNu64, &spanned);
		found = movable && spanned &&
			sscanf(line, " start_pfn: %" SCNu64, &zone->start) == 1;
	}
	fclose(f);
	zone->end = zone->start + spanned;
	/* Linux 5.10 sees to CMA only. */
	zone->left = !pins_runs_on("5.10.");
	return found;
}

/* Pages of a range that are in a zone */
static size_t pages_in(const struct zone *zone, const char *p)
{
	static uint64_t map[LENGTH / PAGE];
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	off_t at = (off_t)((uintptr_t)p / PAGE * sizeof(*map));
	uint64_t frame;
	size_t i, n = 0;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, map, sizeof(map), at), sizeof(map));
	close(fd);
	for (i = 0; i < LENGTH / PAGE; i++) {
		assert_true(map[i] >> 63);
		frame = map[i] & ((1ull << 55) - 1);
		n += frame >= zone->start && frame < zone->end;
	}
	return n;
}

static void register_and_compare(char *p, const char *want, int access)
{
	struct ibv_mr *mr = pins_register(p, LENGTH, access);

	assert_memory_equal(p, want, LENGTH);
	pins_expect_remote(mr, p, want, LENGTH);
	if (access & LW)
		pins_check_borders(mr, p, LENGTH);
	pins_deregister(mr);
}

/* How many pages of a kind were there before they were pinned? */
static size_t leave(const struct pins_kind *kind, const struct zone *zone,
		    int access)
{
	char *p = pins_map(kind), *want;
	size_t were;

	pins_fill(p, LENGTH, (uint64_t)access);
	want = pins_copy(p, LENGTH);
	were = pages_in(zone, p);
	print_message("  %zu of %lu pages are there\n", were, LENGTH / PAGE);
	register_and_compare(p, want, access);
	if (zone->left)
		assert_int_equal(pages_in(zone, p), 0);
	munmap(p, LENGTH);
	free(want);
	return were;
}

/*
 * Linux 6.1 warns of hugetlb pages that are to be pinned in the movable zone
 * (follow_hugetlb_page(): try_grab_folio() fails), and returns ENOMEM.
 */
static void movable(void **state)
{
	static const int accesses[] = { ALL, RR };
	struct zone zone;
	size_t i, were;

	if (pins_unit(*state) == HUGE && pins_runs_on("6.1."))
		skip();
	assert_true(find_movable(&zone));
	for (i = 0; i < 2; i++) {
		were = leave(*state, &zone, accesses[i]);
		/* The pool of hugetlb pages is where it is. */
		if (pins_unit(*state) == PAGE)
			assert_int_equal(were, LENGTH / PAGE);
	}
}

/*
 * Not of hugetlb: where the pool has no free page that may be pinned, a parent's
 * copy takes the pages from the child (hugetlb_wp(): unmap_ref_private()), which
 * then gets SIGBUS.
 */
static void movable_with_a_child(void **state)
{
	struct pins_child child;
	struct zone zone;
	struct ibv_mr *mr;
	char *p, *want;

	assert_true(find_movable(&zone));
	p = pins_map(*state);
	pins_fill(p, LENGTH, 1);
	want = pins_copy(p, LENGTH);
	child = pins_fork(p, want, LENGTH);
	mr = pins_register(p, LENGTH, RR);
	pins_fill(p, LENGTH, 2);
	pins_expect_remote(mr, p, p, LENGTH);
	if (zone.left)
		assert_int_equal(pages_in(&zone, p), 0);
	pins_let_go(child);
	pins_expect_remote(mr, p, p, LENGTH);
	pins_deregister(mr);
	munmap(p, LENGTH);
	free(want);
}

/* ---- CMA ---- */

#define BALLAST (256 * MIB)

/* hugetlb_cma=1G of a guest with little more than 2 GiB has one place to be. */
static bool find_cma(struct zone *zone)
{
	*zone = (struct zone){ 1ull << 30 >> 12, 2ull << 30 >> 12, true };
	return look_meminfo("CmaTotal") == 1ull << 30;
}

/*
 * The kernel takes pages from CMA while more than half of what is free is there:
 * which it is as soon as something else is pinned elsewhere. How many it takes
 * depends on what it has at hand.
 */
static void cma(void **state)
{
	char *ballast = pins_map_thp(BALLAST);
	struct ibv_mr *mr = pins_register(ballast, BALLAST, RR);
	struct zone zone;

	assert_true(find_cma(&zone));
	leave(*state, &zone, ALL);
	leave(*state, &zone, RR);
	pins_deregister(mr);
	munmap(ballast, BALLAST);
}

const char *pins_no_movable(void)
{
	struct zone zone;

	return find_movable(&zone) ? NULL : "no movable zone";
}

const char *pins_no_cma(void)
{
	struct zone zone;

	return find_cma(&zone) ? NULL : "no CMA";
}

const struct pins_test pins_movable_tests[] = {
	{ "zone: movable", movable, true, 0, 0 },
	{ "zone: movable with a child", movable_with_a_child, true,
	  PINS_PRIVATE, PINS_HUGETLB },
	{ NULL, NULL, false, 0, 0 },
};

const struct pins_test pins_cma_tests[] = {
	{ "zone: cma", cma, true, 0, 0 },
	{ NULL, NULL, false, 0, 0 },
};
