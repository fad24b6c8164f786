// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Which pages back a range: from files of our own making, and for real. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backing.h"
#include "fake_verbs.h"
#include "pagemap.h"
#include "readfile.h"
#include "tree.h"
#include "vma.h"

#define KIB (1ul << 10)
#define MIB (1ul << 20)
#define GIB (1ul << 30)
#define BASE 0x7f0000000000ul
#define PAGE 4096ul

/* Of pagemap and kpageflags. */
#define PRESENT (1ull << 63)
#define EXCLUSIVE (1ull << 56)
#define HEAD (1ull << 15)
#define TAIL (1ull << 16)
#define ZERO_PAGE (1ull << 24)

static char smaps_path[64], pagemap_path[64], flags_path[64];

static int setup(void **state)
{
	snprintf(smaps_path, sizeof(smaps_path), "smaps.%d", getpid());
	snprintf(pagemap_path, sizeof(pagemap_path), "pagemap.%d", getpid());
	snprintf(flags_path, sizeof(flags_path), "kpageflags.%d", getpid());
	hmr_smaps_path = smaps_path;
	hmr_maps_path = smaps_path;
	hmr_pagemap_path = pagemap_path;
	hmr_kpageflags_path = flags_path;
	hmr_vma_no_query = true;
	hmr_pagemap_no_scan = true;
	return 0;
}

static int teardown(void **state)
{
	unlink(smaps_path);
	unlink(pagemap_path);
	unlink(flags_path);
	hmr_smaps_path = "/proc/self/smaps";
	hmr_maps_path = "/proc/self/maps";
	hmr_pagemap_path = "/proc/self/pagemap";
	hmr_kpageflags_path = "/proc/kpageflags";
	hmr_vma_no_query = false;
	hmr_pagemap_no_scan = false;
	hmr_root = "";
	return 0;
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void smaps(const char *text)
{
	write_file(smaps_path, text);
}

static void write_entry(const char *path, uint64_t index, uint64_t entry)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, &entry, 8, (off_t)(index * 8)), 8);
	close(fd);
}

/* @n pages from @addr on are those from @pfn on. */
static void map_pages(uintptr_t addr, size_t n, uint64_t pfn, uint64_t bits)
{
	size_t i;

	for (i = 0; i < n; i++)
		write_entry(pagemap_path, addr / PAGE + i,
			    PRESENT | bits | (pfn ? pfn + i : 0));
}

static void folio(uint64_t pfn, unsigned int order)
{
	uint64_t i;

	write_entry(flags_path, pfn, HEAD);
	for (i = 1; i < 1ul << order; i++)
		write_entry(flags_path, pfn + i, TAIL);
}

static struct hmr_backing get(uintptr_t addr, size_t length)
{
	HMR_RESULT(hmr_backing, b);

	assert_int_equal(hmr_backing((void *)addr, length, &b), 0);
	assert_int_equal(b.length, b.hugetlb_1g + b.hugetlb_2m +
					   b.hugetlb_other + b.thp + b.small +
					   b.absent + b.unknown);
	return b;
}

static struct hmr_backing expect(uintptr_t addr, size_t length,
				 struct hmr_backing want)
{
	struct hmr_backing b = get(addr, length);

	assert_int_equal(b.hugetlb_1g, want.hugetlb_1g);
	assert_int_equal(b.hugetlb_2m, want.hugetlb_2m);
	assert_int_equal(b.hugetlb_other, want.hugetlb_other);
	assert_int_equal(b.thp, want.thp);
	assert_int_equal(b.small, want.small);
	assert_int_equal(b.absent, want.absent);
	assert_int_equal(b.unknown, want.unknown);
	return b;
}

/* 8 MiB mixed, a neighbour of hugetlb, one of THP, one untouched; then a hole
 * and a mapping of 1G pages. */
static const char mixed[] =
	"7f0000000000-7f0000800000 rw-p 00000000 00:00 0 \n"
	"Size:               8192 kB\n"
	"KernelPageSize:        4 kB\n"
	"Rss:                5120 kB\n"
	"AnonHugePages:      4096 kB\n"
	"VmFlags: rd wr mr mw me ac hg\n"
	"7f0000800000-7f0001000000 rw-p 00000000 00:10 7 /anon_hugepage\n"
	"KernelPageSize:     2048 kB\n"
	"Rss:                   0 kB\n"
	"Shared_Hugetlb:     2048 kB\n"
	"Private_Hugetlb:    4096 kB\n"
	"7f0001000000-7f0001400000 rw-s 00000000 00:01 5 /memfd:x y (deleted)\n"
	"KernelPageSize:        4 kB\n"
	"Rss:                4096 kB\n"
	"ShmemPmdMapped:     4096 kB\n"
	"7f0001400000-7f0001800000 rw-p 00000000 00:00 0 \n"
	"KernelPageSize:        4 kB\n"
	"Rss:                   0 kB\n"
	"7f0040000000-7f0080000000 rw-p 00000000 00:10 8 \n"
	"KernelPageSize:  1048576 kB\n"
	"Private_Hugetlb: 1048576 kB\n";

static void whole_mappings_are_counted(void **state)
{
	struct hmr_backing b;

	smaps(mixed);
	b = expect(BASE, 24 * MIB,
		   (struct hmr_backing){ .hugetlb_2m = 6 * MIB,
					 .thp = 8 * MIB,
					 .small = 1 * MIB,
					 .absent =
						 3 * MIB + 2 * MIB + 4 * MIB });
	assert_true(b.flags & HMR_BACKING_SMAPS);
	assert_false(b.flags & (HMR_BACKING_SCAN | HMR_BACKING_BY_ORDER));
	expect(BASE + GIB, GIB, (struct hmr_backing){ .hugetlb_1g = GIB });
}

static void parts_of_mixtures_are_unknown(void **state)
{
	struct hmr_backing b;

	smaps(mixed);
	/* 1 MiB of the mixture, 1 MiB of the half populated hugetlb */
	b = expect(BASE + 7 * MIB, 2 * MIB,
		   (struct hmr_backing){ .unknown = 2 * MIB });
	assert_false(b.flags & HMR_BACKING_BY_NODE);
}

static void parts_of_uniform_mappings_are_known(void **state)
{
	smaps(mixed);
	expect(BASE + 17 * MIB, 4096, (struct hmr_backing){ .thp = 4096 });
	expect(BASE + 21 * MIB, 8192, (struct hmr_backing){ .absent = 8192 });
	expect(BASE + GIB + 4096, 4096,
	       (struct hmr_backing){ .hugetlb_1g = 4096 });
}

static void ranges_are_rounded_out_to_pages(void **state)
{
	smaps(mixed);
	expect(BASE + 17 * MIB + 4095, 2, (struct hmr_backing){ .thp = 8192 });
	expect(BASE + 17 * MIB + 1, 1, (struct hmr_backing){ .thp = 4096 });
}

static void holes_are_errors(void **state)
{
	HMR_RESULT(hmr_backing, b);
	const uintptr_t bad[][2] = {
		{ BASE - 4096, 8192 },	   { BASE + 23 * MIB, 2 * MIB },
		{ BASE + 24 * MIB, 4096 }, { BASE + GIB + 4096, GIB },
		{ 0x1000, 4096 },	   { BASE + 4 * GIB, 4096 },
	};
	unsigned int i;

	smaps(mixed);
	b.thp = 77;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(hmr_backing((void *)bad[i][0], bad[i][1], &b),
				 -ENOMEM);
		assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_HOLE);
	}
	assert_int_equal(b.thp, 77);
}

static void bad_arguments(void **state)
{
	HMR_RESULT(hmr_backing, b);
	struct hmr_backing no_size = { 0 };
	char c = 0;

	assert_int_equal(hmr_backing(&c, 0, &b), -EINVAL);
	assert_int_equal(hmr_backing((void *)UINTPTR_MAX, 2, &b), -EINVAL);
	assert_int_equal(hmr_backing(&c, 1, &no_size), -EINVAL);
	assert_int_equal(hmr_backing(&c, 1, NULL), -EINVAL);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_ARGUMENT);
	hmr_smaps_path = "/nonexistent";
	assert_int_equal(hmr_backing(&c, 1, &b), -ENOENT);
	assert_non_null(strstr(hmr_last_error()->text, "/nonexistent"));
}

static void garbage_is_no_mapping(void **state)
{
	HMR_RESULT(hmr_backing, b);

	smaps("hello\nworld: 5\n\n7f00-\nzz-yy rw-p\n");
	assert_int_equal(hmr_backing((void *)0x7f00, 1, &b), -ENOMEM);
	smaps("");
	assert_int_equal(hmr_backing((void *)0x7f00, 1, &b), -ENOMEM);
}

/* ---- pagemap, without page numbers ---- */

/* 4 MiB, of which 8 KiB are small and nothing is huge. */
static const char sparse[] =
	"7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n"
	"KernelPageSize:        4 kB\n"
	"Rss:                   8 kB\n";

static void present_pages_are_placed(void **state)
{
	smaps(sparse);
	map_pages(BASE + 3 * PAGE, 2, 0, EXCLUSIVE);
	expect(BASE, 4 * PAGE,
	       (struct hmr_backing){ .small = PAGE, .absent = 3 * PAGE });
	expect(BASE + 4 * PAGE, 2 * PAGE,
	       (struct hmr_backing){ .small = PAGE, .absent = PAGE });
	/* beyond what the file has */
	expect(BASE + 2 * MIB, PAGE, (struct hmr_backing){ .absent = PAGE });
}

static void what_may_be_the_zero_page_is_unknown(void **state)
{
	smaps(sparse);
	map_pages(BASE, 2, 0, EXCLUSIVE);
	map_pages(BASE + 2 * PAGE, 3, 0, 0);
	expect(BASE, 8 * PAGE,
	       (struct hmr_backing){ .small = 2 * PAGE,
				     .unknown = 3 * PAGE,
				     .absent = 3 * PAGE });
}

static void present_pages_of_thp_are_thp(void **state)
{
	smaps("7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n"
	      "KernelPageSize:        4 kB\n"
	      "Rss:                2048 kB\n"
	      "AnonHugePages:      2048 kB\n");
	map_pages(BASE + 2 * MIB, 512, 0, EXCLUSIVE);
	expect(BASE + MIB, 2 * MIB,
	       (struct hmr_backing){ .thp = MIB, .absent = MIB });
}

static void mixtures_of_present_pages_are_unknown(void **state)
{
	smaps(mixed);
	map_pages(BASE, 512, 0, EXCLUSIVE);
	expect(BASE + MIB, 2 * MIB,
	       (struct hmr_backing){ .unknown = MIB, .absent = MIB });
}

static void hugetlb_pages_are_placed(void **state)
{
	smaps(mixed);
	map_pages(BASE + 8 * MIB, 3 * 512, 0, 0);
	expect(BASE + 11 * MIB, 4 * MIB,
	       (struct hmr_backing){ .hugetlb_2m = 3 * MIB, .absent = MIB });
}

/* ---- with page numbers ---- */

static void folios_are_told_by_order(void **state)
{
	struct hmr_backing b;

	smaps("7f0000000000-7f0000040000 rw-p 00000000 00:00 0 \n"
	      "KernelPageSize:        4 kB\n"
	      "Rss:                 128 kB\n");
	folio(0x1000, 4);
	folio(0x2008, 3);
	folio(0x3000, 11);
	write_entry(flags_path, 0x5000, 0);
	write_entry(flags_path, 0x5001, ZERO_PAGE);
	map_pages(BASE, 16, 0x1000, 0);
	/* its end, then its begin */
	map_pages(BASE + 16 * PAGE, 4, 0x200c, 0);
	map_pages(BASE + 20 * PAGE, 4, 0x2008, 0);
	/* the middle of a large one */
	map_pages(BASE + 24 * PAGE, 7, 0x3000 + 600, 0);
	map_pages(BASE + 31 * PAGE, 1, 0x5000, 0);
	map_pages(BASE + 32 * PAGE, 1, 0x5001, 0);
	b = expect(BASE, 64 * PAGE,
		   (struct hmr_backing){ .small = 32 * PAGE,
					 .absent = 32 * PAGE });
	assert_true(b.flags & HMR_BACKING_BY_ORDER);
	assert_int_equal(b.order[4], 16 * PAGE);
	assert_int_equal(b.order[3], 8 * PAGE);
	assert_int_equal(b.order[11], 7 * PAGE);
	assert_int_equal(b.order[0], PAGE);
	/* a part, with the zero page */
	b = expect(BASE + 30 * PAGE, 3 * PAGE,
		   (struct hmr_backing){ .small = 2 * PAGE, .absent = PAGE });
	assert_int_equal(b.order[11], PAGE);
	assert_int_equal(b.order[0], PAGE);
}

/* 8 MiB: two THP, then 1 MiB of small pages. */
static void map_mixture(void)
{
	smaps(mixed);
	folio(0x10000, 9);
	folio(0x10200, 9);
	map_pages(BASE, 1024, 0x10000, 0);
	map_pages(BASE + 6 * MIB, 256, 0x20000, 0);
	write_entry(flags_path, 0x20000 + 1024, 0);
}

static void mixtures_are_told_apart(void **state)
{
	struct hmr_backing b;

	map_mixture();
	b = expect(BASE, 8 * MIB,
		   (struct hmr_backing){
			   .thp = 4 * MIB, .small = MIB, .absent = 3 * MIB });
	assert_int_equal(b.order[0], MIB);
	/* cut through the THP */
	expect(BASE + MIB, 6 * MIB,
	       (struct hmr_backing){
		       .thp = 3 * MIB, .small = MIB, .absent = 2 * MIB });
	expect(BASE + 4 * KIB, 8 * KIB, (struct hmr_backing){ .thp = 8 * KIB });
	b = expect(BASE + 6 * MIB, 4 * KIB,
		   (struct hmr_backing){ .small = 4 * KIB });
	assert_int_equal(b.order[0], 4 * KIB);
}

/* A whole folio that a PMD could map, but smaps says that one fewer is. */
static void ambiguous_folios_are_unknown(void **state)
{
	struct hmr_backing b;

	map_mixture();
	folio(0x10400, 9);
	map_pages(BASE + 4 * MIB, 512, 0x10400, 0);
	expect(BASE + MIB, 2 * MIB, (struct hmr_backing){ .unknown = 2 * MIB });
	/* no doubt about what isn't such a folio */
	expect(BASE + 6 * MIB, 4 * KIB, (struct hmr_backing){ .small = 4096 });
	/* and as a whole it doesn't matter which one it is */
	b = get(BASE, 8 * MIB);
	assert_int_equal(b.thp, 4 * MIB);
	assert_int_equal(b.order[9], 2 * MIB);
}

static void hidden_page_numbers_are_noticed(void **state)
{
	struct hmr_backing b;

	smaps(sparse);
	write_entry(flags_path, 0, 0);
	map_pages(BASE, 2, 0, EXCLUSIVE);
	b = expect(BASE, 4 * MIB,
		   (struct hmr_backing){ .small = 8 * KIB,
					 .absent = 4 * MIB - 8 * KIB });
	assert_false(b.flags & HMR_BACKING_BY_ORDER);
	assert_int_equal(b.order[0], 0);
}

/* ---- mappings ---- */

struct looked {
	unsigned int n;
	struct hmr_vma last;
	char name[64];
};

static void note(const struct hmr_vma *vma, void *arg)
{
	struct looked *l = arg;

	l->n++;
	l->last = *vma;
	snprintf(l->name, sizeof(l->name), "%s", vma->name);
}

static void attributes_of_mappings(void **state)
{
	struct looked l = { 0 };
	size_t largest = 0;

	smaps(mixed);
	assert_int_equal(hmr_vma_look((void *)BASE, 24 * MIB, note, &l), 0);
	assert_int_equal(l.n, 4);
	assert_int_equal(hmr_vma_look((void *)(BASE + 17 * MIB), 1, note, &l),
			 0);
	assert_string_equal(l.name, "/memfd:x y (deleted)");
	assert_true(l.last.shared && l.last.readable && l.last.writable);
	assert_int_equal(l.last.dev_major, 0);
	assert_int_equal(l.last.dev_minor, 1);
	assert_int_equal(l.last.inode, 5);

	assert_int_equal(hmr_vma_page_size((void *)BASE, 4096, &largest), 0);
	assert_int_equal(largest, 4096);
	assert_int_equal(hmr_vma_page_size((void *)BASE, 9 * MIB, &largest), 0);
	assert_int_equal(largest, 2 * MIB);
	assert_int_equal(hmr_vma_page_size((void *)(BASE + GIB), 1, &largest),
			 0);
	assert_int_equal(largest, GIB);
	largest = 5;
	assert_int_equal(hmr_vma_page_size((void *)BASE, 2 * GIB, &largest),
			 -ENOMEM);
	assert_int_equal(largest, 5);
}

/* Anonymous memory needs no smaps. */
static void smaps_is_spared(void **state)
{
	size_t largest = 0;

	smaps(mixed);
	hmr_smaps_path = "/nonexistent";
	assert_int_equal(hmr_vma_page_size((void *)BASE, 8 * MIB, &largest), 0);
	assert_int_equal(largest, 4096);
	assert_int_equal(hmr_vma_page_size((void *)BASE, 9 * MIB, &largest),
			 -ENOENT);
	hmr_maps_path = "/nonexistent";
	assert_int_equal(hmr_vma_page_size((void *)BASE, 8 * MIB, &largest),
			 -ENOENT);
	hmr_vma_no_query = false;
	assert_int_equal(hmr_vma_page_size((void *)BASE, 8 * MIB, &largest),
			 -ENOENT);
}

/* ---- real memory, on this kernel, and as on one without its calls ---- */

static void look_at_real_mappings(void)
{
	int fd = memfd_create("looked at", MFD_CLOEXEC);
	struct looked l = { 0 };
	struct stat st;
	char *p;

	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	assert_int_equal(fstat(fd, &st), 0);
	p = mmap(NULL, 4 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(hmr_vma_look(p + PAGE, 1, note, &l), 0);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.last.start, (uintptr_t)p + PAGE);
	assert_int_equal(l.last.end, (uintptr_t)p + 2 * PAGE);
	assert_true(l.last.shared && l.last.readable && l.last.writable);
	assert_int_equal(l.last.inode, st.st_ino);
	assert_int_equal(l.last.kernel_page_size, PAGE);
	assert_string_equal(l.name, "/memfd:looked at (deleted)");
	assert_int_equal(hmr_vma_look(p, 4 * PAGE, note, &l), 0);
	assert_int_equal(l.n, 4);
	munmap(p + 2 * PAGE, PAGE);
	assert_int_equal(hmr_vma_look(p, 4 * PAGE, note, &l), -ENOMEM);
	assert_int_equal(hmr_vma_look((void *)(UINTPTR_MAX - 2 * PAGE), PAGE,
				      note, &l),
			 -ENOMEM);
	munmap(p, 4 * PAGE);
	close(fd);
}

static void real_mappings(void **state)
{
	look_at_real_mappings();
	hmr_vma_no_query = true;
	look_at_real_mappings();
}

static void back_real_memory(void)
{
	char *p = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	struct hmr_backing b;

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + PAGE, 6 * PAGE, PROT_READ | PROT_WRITE),
			 0);
	p[PAGE] = p[3 * PAGE] = 1;
	b = expect((uintptr_t)p + PAGE, 6 * PAGE,
		   (struct hmr_backing){ .small = 2 * PAGE,
					 .absent = 4 * PAGE });
	assert_true(b.flags & HMR_BACKING_BY_NODE);
	assert_int_equal(b.node[0], 2 * PAGE);
	if (b.flags & HMR_BACKING_BY_ORDER)
		assert_int_equal(b.order[0], 2 * PAGE);
	expect((uintptr_t)p + 2 * PAGE, 2 * PAGE,
	       (struct hmr_backing){ .small = PAGE, .absent = PAGE });
	expect((uintptr_t)p, 8 * PAGE,
	       (struct hmr_backing){ .small = 2 * PAGE, .absent = 6 * PAGE });
	munmap(p, 8 * PAGE);
}

static void real_memory(void **state)
{
	back_real_memory();
	hmr_pagemap_no_scan = true;
	back_real_memory();
	hmr_vma_no_query = true;
	hmr_pagemap_no_scan = false;
	back_real_memory();
}

/* A host that says it has two nodes is asked for each page. */
static void nodes_are_asked_for(void **state)
{
	/* seccomp of some containers */
	if (syscall(SYS_move_pages, 0, 0ul, NULL, NULL, NULL, 0) &&
	    errno == EPERM)
		skip();
	assert_int_equal(tree_setup(state), 0);
	tree_put("/sys/devices/system/node/has_memory", "0-1\n");
	hmr_root = tree_root;
	back_real_memory();
	hmr_pagemap_no_scan = true;
	back_real_memory();
	assert_int_equal(tree_teardown(state), 0);
}

/* Only what is wanted is looked up. */
static void nothing_more_than_wanted(void **state)
{
	struct hmr_backing b;
	char c = 0;

	assert_int_equal(hmr_backing_read(&c, 1, 0, &b), 0);
	assert_int_equal(b.small, PAGE);
	assert_false(b.flags & (HMR_BACKING_BY_ORDER | HMR_BACKING_BY_NODE));
	assert_int_equal(b.node[0], 0);
}

static void old_result_structs_are_filled_in_part(void **state)
{
	struct hmr_backing b = { .size = offsetof(struct hmr_backing, flags) };
	char c = 0;

	b.flags = 99;
	assert_int_equal(hmr_backing(&c, 1, &b), 0);
	assert_int_equal(b.small, PAGE);
	assert_int_equal(b.flags, 99);
}

static void no_descriptor_is_left(void **state)
{
	int before = dup(0), after;

	real_memory(state);
	after = dup(0);
	assert_int_equal(after, before + 1);
	close(before);
	close(after);
}

#define fake(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
#define real(test) cmocka_unit_test_teardown(test, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		fake(whole_mappings_are_counted),
		fake(parts_of_mixtures_are_unknown),
		fake(parts_of_uniform_mappings_are_known),
		fake(ranges_are_rounded_out_to_pages),
		fake(holes_are_errors),
		fake(bad_arguments),
		fake(garbage_is_no_mapping),
		fake(present_pages_are_placed),
		fake(what_may_be_the_zero_page_is_unknown),
		fake(present_pages_of_thp_are_thp),
		fake(mixtures_of_present_pages_are_unknown),
		fake(hugetlb_pages_are_placed),
		fake(folios_are_told_by_order),
		fake(mixtures_are_told_apart),
		fake(ambiguous_folios_are_unknown),
		fake(hidden_page_numbers_are_noticed),
		fake(attributes_of_mappings),
		fake(smaps_is_spared),
		real(real_mappings),
		real(real_memory),
		real(nodes_are_asked_for),
		real(nothing_more_than_wanted),
		real(old_result_structs_are_filled_in_part),
		real(no_descriptor_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
