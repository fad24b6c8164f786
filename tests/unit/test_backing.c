// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Which pages back a range: from a smaps of our own making, and for real. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_verbs.h"
#include "vma.h"

#define MIB (1ul << 20)
#define BASE 0x7f0000000000ul

static char path[64];

static void smaps(const char *text)
{
	FILE *f;

	snprintf(path, sizeof(path), "smaps.%d", getpid());
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	hmr_smaps_path = path;
}

static int teardown(void **state)
{
	unlink(path);
	hmr_smaps_path = "/proc/self/smaps";
	return 0;
}

static void expect(uintptr_t addr, size_t length, struct hmr_backing want)
{
	HMR_RESULT(hmr_backing, b);

	assert_int_equal(hmr_backing((void *)addr, length, &b), 0);
	assert_int_equal(b.hugetlb_1g, want.hugetlb_1g);
	assert_int_equal(b.hugetlb_2m, want.hugetlb_2m);
	assert_int_equal(b.hugetlb_other, want.hugetlb_other);
	assert_int_equal(b.thp, want.thp);
	assert_int_equal(b.small, want.small);
	assert_int_equal(b.absent, want.absent);
	assert_int_equal(b.unknown, want.unknown);
	assert_int_equal(b.length, b.hugetlb_1g + b.hugetlb_2m +
					   b.hugetlb_other + b.thp + b.small +
					   b.absent + b.unknown);
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
	"7f0000800000-7f0001000000 rw-p 00000000 00:00 0 /anon_hugepage\n"
	"KernelPageSize:     2048 kB\n"
	"Rss:                   0 kB\n"
	"Shared_Hugetlb:     2048 kB\n"
	"Private_Hugetlb:    4096 kB\n"
	"7f0001000000-7f0001400000 rw-s 00000000 00:01 5 /memfd:x\n"
	"KernelPageSize:        4 kB\n"
	"Rss:                4096 kB\n"
	"ShmemPmdMapped:     4096 kB\n"
	"7f0001400000-7f0001800000 rw-p 00000000 00:00 0 \n"
	"KernelPageSize:        4 kB\n"
	"Rss:                   0 kB\n"
	"7f0040000000-7f0080000000 rw-p 00000000 00:00 0 \n"
	"KernelPageSize:  1048576 kB\n"
	"Private_Hugetlb: 1048576 kB\n";

static void whole_mappings_are_counted(void **state)
{
	smaps(mixed);
	expect(BASE, 24 * MIB,
	       (struct hmr_backing){ .hugetlb_2m = 6 * MIB,
				     .thp = 8 * MIB,
				     .small = 1 * MIB,
				     .absent = 3 * MIB + 2 * MIB + 4 * MIB });
	expect(BASE + (1ul << 30), 1ul << 30,
	       (struct hmr_backing){ .hugetlb_1g = 1ul << 30 });
}

static void parts_of_mixtures_are_unknown(void **state)
{
	smaps(mixed);
	/* 1 MiB of the mixture, 1 MiB of the half populated hugetlb */
	expect(BASE + 7 * MIB, 2 * MIB,
	       (struct hmr_backing){ .unknown = 2 * MIB });
}

static void parts_of_uniform_mappings_are_known(void **state)
{
	smaps(mixed);
	expect(BASE + 17 * MIB, 4096, (struct hmr_backing){ .thp = 4096 });
	expect(BASE + 21 * MIB, 8192, (struct hmr_backing){ .absent = 8192 });
	expect(BASE + (1ul << 30) + 4096, 4096,
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
		{ BASE - 4096, 8192 },
		{ BASE + 23 * MIB, 2 * MIB },
		{ BASE + 24 * MIB, 4096 },
		{ BASE + (1ul << 30) + 4096, 1ul << 30 },
		{ 0x1000, 4096 },
		{ BASE + (4ul << 30), 4096 },
	};
	unsigned int i;

	smaps(mixed);
	b.thp = 77;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(hmr_backing((void *)bad[i][0], bad[i][1], &b),
				 -ENOMEM);
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

static void real_memory(void **state)
{
	HMR_RESULT(hmr_backing, b);
	char *p = mmap(NULL, 8 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + 4096, 6 * 4096, PROT_READ | PROT_WRITE),
			 0);
	p[4096] = p[3 * 4096] = 1;
	assert_int_equal(hmr_backing(p + 4096, 6 * 4096, &b), 0);
	assert_int_equal(b.small, 2 * 4096);
	assert_int_equal(b.absent, 4 * 4096);
	munmap(p, 8 * 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(whole_mappings_are_counted, teardown),
		cmocka_unit_test_teardown(parts_of_mixtures_are_unknown,
					  teardown),
		cmocka_unit_test_teardown(parts_of_uniform_mappings_are_known,
					  teardown),
		cmocka_unit_test_teardown(ranges_are_rounded_out_to_pages,
					  teardown),
		cmocka_unit_test_teardown(holes_are_errors, teardown),
		cmocka_unit_test_teardown(bad_arguments, teardown),
		cmocka_unit_test_teardown(garbage_is_no_mapping, teardown),
		cmocka_unit_test(real_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
