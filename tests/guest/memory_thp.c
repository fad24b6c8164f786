// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Transparent huge pages where there are none. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "memory.h"

static unsigned long free_kib(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	unsigned long n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "MemFree: %lu", &n) == 1)
			break;
	fclose(f);
	return n;
}

/* Take nearly all memory in base pages and give three of four back. */
static char *fragment(size_t *size)
{
	size_t i;
	char *p;

	*size = free_kib() * KIB - 64 * MIB;
	p = mmap(NULL, *size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(madvise(p, *size, MADV_NOHUGEPAGE), 0);
	for (i = 0; i < *size; i += PAGE)
		p[i] = 1;
	for (i = 0; i + 4 * PAGE <= *size; i += 4 * PAGE)
		assert_int_equal(madvise(p + i, 3 * PAGE, MADV_DONTNEED), 0);
	return p;
}

/* Where no fault may defragment, huge pages run out. MADV_COLLAPSE may, though
 * it is too weak at times; then the advice given helps. */
static void fragmented_memory_is_reported(void **state)
{
	const size_t length = 96 * MIB;
	size_t size;
	char *p;
	int ret;

	write_file(THP "defrag", "never");
	write_file("/proc/sys/vm/min_free_kbytes", "8192");
	p = fragment(&size);
	ret = ALLOC_ERROR(length, .pages = HMR_PAGES_THP);
	if (ret || !can_collapse()) {
		assert_int_equal(ret, -ENOMEM);
		assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_FRAGMENTED);
		assert_int_equal(hmr_last_error()->need, length);
		assert_true(hmr_last_error()->have < length);
		assert_says(can_collapse() ? "also by MADV_COLLAPSE" :
					     "huge pages: free");
		assert_says("echo 1 > /proc/sys/vm/compact_memory");
		write_file("/proc/sys/vm/compact_memory", "1");
		ret = ALLOC_ERROR(length, .pages = HMR_PAGES_THP);
		assert_int_equal(ret, 0);
	}
	munmap(p, size);
	write_file(THP "defrag", "madvise");
}

static bool thp_disabled(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_THP);
	struct hmr_buffer *buf;

	return check(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) &&
	       check(hmr_buffer_alloc(4 * MIB, &opts, &buf) == -EOPNOTSUPP) &&
	       check(strstr(hmr_last_error()->text, "prctl") != NULL);
}

static void thp_can_be_off_for_a_process(void **state)
{
	in_child(thp_disabled);
}

static bool thp_without_privileges(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_THP);
	HMR_RESULT(hmr_backing, b);
	struct hmr_buffer *buf;

	return drop_privileges() &&
	       check(!hmr_buffer_alloc(8 * MIB, &opts, &buf)) &&
	       check(!hmr_buffer_backing(buf, &b)) && check(b.thp == 8 * MIB) &&
	       check(b.flags & HMR_BACKING_BY_NODE) &&
	       check(b.node[0] + b.node[1] == 8 * MIB) &&
	       check(!hmr_buffer_free(buf));
}

static void thp_for_everyone(void **state)
{
	in_child(thp_without_privileges);
}

const struct CMUnitTest memory_thp_tests[] = {
	each(fragmented_memory_is_reported),
	each(thp_can_be_off_for_a_process),
	each(thp_for_everyone),
	{ NULL },
};
