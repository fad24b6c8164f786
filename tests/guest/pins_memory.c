// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Memory of each kind, and proof that it is of that kind. */
#include "pins.h"

#include <fcntl.h>
#include <inttypes.h>

#include "look.h"

#define THP "/sys/kernel/mm/transparent_hugepage/"
#define MTHP THP "hugepages-64kB/"

/* Of these a kernel has what it has. */
void pins_allow_pages(void)
{
	look_write(THP "enabled", "madvise");
	look_write(THP "defrag", "madvise");
	look_write(THP "shmem_enabled", "advise");
	look_write(THP "khugepaged/pages_to_scan", "1");
	look_write(THP "khugepaged/scan_sleep_millisecs", "1000000");
	look_write(THP "hugepages-2048kB/enabled", "inherit");
	look_write(THP "hugepages-2048kB/shmem_enabled", "inherit");
}

char *pins_place(size_t length)
{
	char *p = mmap(NULL, length + HUGE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *start;

	assert_ptr_not_equal(p, MAP_FAILED);
	start = (char *)(((uintptr_t)p + HUGE - 1) & ~(HUGE - 1));
	munmap(p, length + HUGE);
	return start;
}

char *pins_map_at(char *where, size_t length, int prot, int flags, int fd)
{
	if (fd < 0)
		flags |= MAP_ANONYMOUS;
	assert_ptr_equal(mmap(where, length, prot, flags | MAP_FIXED, fd, 0),
			 where);
	return where;
}

static char *map(size_t length, int flags, int fd)
{
	return pins_map_at(pins_place(length), length, PROT_READ | PROT_WRITE,
			   flags, fd);
}

int pins_memfd(size_t length, unsigned int flags)
{
	int fd = memfd_create("pins", MFD_CLOEXEC | flags);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)length), 0);
	return fd;
}

/* A field of smaps, in bytes, of all mappings that begin in a range */
static size_t smaps(const char *addr, size_t length, const char *field)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	uintptr_t start = 0, from, to;
	size_t kib, sum = 0, n = strlen(field);
	char line[512];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			start = from;
		if (start - (uintptr_t)addr < length &&
		    !strncmp(line, field, n) &&
		    sscanf(line + n, ": %zu kB", &kib) == 1)
			sum += kib << 10;
	}
	fclose(f);
	return sum;
}

char *pins_map_4k(size_t length)
{
	char *p = map(length, MAP_PRIVATE, -1);

	madvise(p, length, MADV_NOHUGEPAGE);
	memset(p, 1, length);
	assert_int_equal(smaps(p, length, "AnonHugePages"), 0);
	return p;
}

char *pins_map_thp(size_t length)
{
	char *p = map(length, MAP_PRIVATE, -1);

	assert_int_equal(madvise(p, length, MADV_HUGEPAGE), 0);
	memset(p, 1, length);
	assert_int_equal(smaps(p, length, "AnonHugePages"), length);
	return p;
}

/* A hole in the rights splits the mapping, and not the page. */
static char *map_thp_by_ptes(size_t length)
{
	char *p = pins_map_thp(length);
	size_t at;

	for (at = 5 * PAGE; at < length; at += HUGE) {
		assert_int_equal(mprotect(p + at, PAGE, PROT_READ), 0);
		assert_int_equal(mprotect(p + at, PAGE, PROT_READ | PROT_WRITE),
				 0);
	}
	assert_int_equal(smaps(p, length, "AnonHugePages"), 0);
	return p;
}

static char *map_mthp(size_t length)
{
	uint64_t before = look_number(MTHP "stats/anon_fault_alloc");
	char *p;

	if (look_write(MTHP "enabled", "always"))
		return NULL;
	look_write(THP "hugepages-2048kB/enabled", "never");
	p = map(length, MAP_PRIVATE, -1);
	memset(p, 1, length);
	look_write(MTHP "enabled", "never");
	look_write(THP "hugepages-2048kB/enabled", "inherit");
	if (!access(MTHP "stats/anon_fault_alloc", F_OK))
		assert_int_equal(look_number(MTHP "stats/anon_fault_alloc") -
					 before,
				 length / (64 << 10));
	return p;
}

char *pins_map_hugetlb(size_t length)
{
	char *p = map(length, MAP_PRIVATE | MAP_HUGETLB | 21 << 26, -1);

	memset(p, 1, length);
	return p;
}

static char *map_fd(size_t length, int fd, int advice)
{
	char *p = map(length, MAP_SHARED, fd);

	close(fd);
	if (advice)
		assert_int_equal(madvise(p, length, advice), 0);
	memset(p, 1, length);
	return p;
}

static char *map_shmem(size_t length)
{
	return map_fd(length, pins_memfd(length, 0), 0);
}

static char *map_shmem_thp(size_t length)
{
	char *p = map_fd(length, pins_memfd(length, 0), MADV_HUGEPAGE);

	assert_int_equal(smaps(p, length, "ShmemPmdMapped"), length);
	return p;
}

static char *map_shared_hugetlb(size_t length)
{
	return map_fd(length, pins_memfd(length, MFD_HUGETLB | 21 << 26), 0);
}

static char *map_tmpfs(size_t length)
{
	int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)length), 0);
	return map_fd(length, fd, 0);
}

const struct pins_kind pins_kinds[] = {
	{ "4k", PINS_PRIVATE | PINS_ONE_VMA, pins_map_4k },
	{ "thp", PINS_PRIVATE | PINS_ONE_VMA, pins_map_thp },
	{ "thp by ptes", PINS_PRIVATE | PINS_ONE_VMA, map_thp_by_ptes },
	{ "mthp 64k", PINS_PRIVATE | PINS_ONE_VMA, map_mthp },
	{ "hugetlb", PINS_PRIVATE | PINS_ONE_VMA | PINS_HUGETLB,
	  pins_map_hugetlb },
	{ "shmem", PINS_ONE_VMA, map_shmem },
	{ "shmem thp", PINS_ONE_VMA, map_shmem_thp },
	{ "shared hugetlb", PINS_ONE_VMA | PINS_HUGETLB, map_shared_hugetlb },
	{ "tmpfs", PINS_ONE_VMA, map_tmpfs },
	{ "shmem reversed", 0, pins_map_reversed },
	{ "hugetlb reversed", PINS_HUGETLB, pins_map_reversed_hugetlb },
	{ "thp moved", PINS_PRIVATE, pins_map_moved_thp },
	{ "mixed", PINS_MIXED | PINS_SOME_HUGETLB, pins_map_mixed },
};

const size_t pins_n_kinds = sizeof(pins_kinds) / sizeof(*pins_kinds);

char *pins_map(const struct pins_kind *kind)
{
	char *p = kind->map(LENGTH);

	if (!p) {
		print_message("  no %s on this kernel\n", kind->name);
		skip();
	}
	return p;
}
