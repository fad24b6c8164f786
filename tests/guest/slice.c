// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The library on a real kernel with real pools and soft-RoCE. Runs in a guest
 * with 8 pages of 2 MiB and one of 1 GiB, as root.
 */
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include <infiniband/verbs.h>

#include <hugemr/hugemr.h>

#include "nldev.h"

#define MIB (1ul << 20)
#define GIB (1ul << 30)
#define LW IBV_ACCESS_LOCAL_WRITE

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct hmr_domain *dom;

#define assert_says(part)                                               \
	do {                                                            \
		const char *says_ = hmr_last_error()->text;             \
		if (!strstr(says_, part))                               \
			fail_msg("'%s' doesn't say '%s'", says_, part); \
	} while (0)

static int open_device(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0])
		return -1;
	context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	pd = context ? ibv_alloc_pd(context) : NULL;
	return pd ? hmr_domain_open(&pd, 1, NULL, &dom) : -1;
}

static int count_mr(const struct nldev_mr *mr, void *arg)
{
	++*(int *)arg;
	return 0;
}

/* What the kernel itself says is registered. */
static int live_mrs(void)
{
	uint32_t index;
	int n = 0;

	assert_int_equal(nldev_dev_index("rxe0", &index), 0);
	assert_int_equal(nldev_mr_list(index, count_mr, &n), 0);
	return n;
}

static int close_device(void **state)
{
	int ret = hmr_domain_close(dom);

	if (!ret)
		ret = ibv_dealloc_pd(pd);
	if (!ret)
		ret = ibv_close_device(context);
	return ret;
}

static struct hmr_buffer *alloc(size_t length, enum hmr_pages pages)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = pages);
	struct hmr_buffer *buf;

	if (hmr_buffer_alloc(length, &opts, &buf))
		fail_msg("%s", hmr_last_error()->text);
	return buf;
}

static int alloc_error(size_t length, enum hmr_pages pages)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = pages);
	struct hmr_buffer *buf;

	return hmr_buffer_alloc(length, &opts, &buf);
}

static struct hmr_backing backing(const struct hmr_buffer *buf)
{
	HMR_RESULT(hmr_backing, b);

	assert_int_equal(hmr_buffer_backing(buf, &b), 0);
	return b;
}

static void pool_of_2m(void **state)
{
	struct hmr_buffer *buf = alloc(16 * MIB - 5, HMR_PAGES_2M), *last;

	assert_int_equal(backing(buf).hugetlb_2m, 16 * MIB);
	assert_int_equal((uintptr_t)hmr_buffer_addr(buf) % (2 * MIB), 0);
	assert_int_equal(alloc_error(1, HMR_PAGES_2M), -ENOMEM);
	assert_says("needs 1 2 MiB hugetlb pages, and 0 are available (8 in "
		    "the pool, 0 free");
	assert_says("hugepages-2048kB/nr_hugepages");
	assert_int_equal(hmr_buffer_free(buf), 0);
	last = alloc(16 * MIB, HMR_PAGES_2M);
	assert_int_equal(hmr_buffer_free(last), 0);
	assert_int_equal(alloc_error(16 * MIB + 1, HMR_PAGES_2M), -ENOMEM);
	assert_says("needs 9 2 MiB");
}

static void pool_of_1g(void **state)
{
	struct hmr_buffer *buf = alloc(1, HMR_PAGES_1G);

	assert_int_equal(backing(buf).hugetlb_1g, GIB);
	assert_int_equal(hmr_buffer_mapped(buf), GIB);
	assert_int_equal(alloc_error(1, HMR_PAGES_1G), -ENOMEM);
	assert_says("needs 1 1 GiB hugetlb pages");
	assert_int_equal(hmr_buffer_free(buf), 0);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

#define THP_ENABLED "/sys/kernel/mm/transparent_hugepage/enabled"

static void thp_and_its_switch(void **state)
{
	struct hmr_buffer *buf;

	write_file(THP_ENABLED, "never");
	assert_int_equal(alloc_error(4 * MIB, HMR_PAGES_THP), -EOPNOTSUPP);
	assert_says("transparent huge pages are off");
	write_file(THP_ENABLED, "madvise");
	buf = alloc(5 * MIB, HMR_PAGES_THP);
	assert_int_equal(backing(buf).thp, 6 * MIB);
	assert_int_equal(hmr_buffer_free(buf), 0);
	write_file(THP_ENABLED, "always");
	buf = alloc(4 * MIB, HMR_PAGES_4K);
	assert_int_equal(backing(buf).thp, 0);
	assert_int_equal(backing(buf).small, 4 * MIB);
	assert_int_equal(hmr_buffer_free(buf), 0);
	write_file(THP_ENABLED, "madvise");
}

static void prefer_takes_the_largest_that_fit(void **state)
{
	struct hmr_buffer *buf = alloc(GIB, HMR_PAGES_PREFER);

	assert_int_equal(hmr_buffer_pages(buf), HMR_PAGES_1G);
	assert_string_equal(hmr_buffer_why(buf), "");
	assert_int_equal(hmr_buffer_free(buf), 0);

	buf = alloc(16 * MIB, HMR_PAGES_PREFER);
	assert_int_equal(hmr_buffer_pages(buf), HMR_PAGES_2M);
	assert_int_equal(hmr_buffer_free(buf), 0);

	/* More than the pool has, and far less than 1 GiB. */
	buf = alloc(64 * MIB, HMR_PAGES_PREFER);
	assert_int_equal(hmr_buffer_pages(buf), HMR_PAGES_THP);
	assert_int_equal(backing(buf).thp, 64 * MIB);
	assert_non_null(strstr(hmr_buffer_why(buf),
			       "no 2 MiB hugetlb pages: needs 32"));
	assert_null(strstr(hmr_buffer_why(buf), "1 GiB"));
	assert_int_equal(hmr_buffer_free(buf), 0);

	write_file(THP_ENABLED, "never");
	buf = alloc(64 * MIB, HMR_PAGES_PREFER);
	assert_int_equal(hmr_buffer_pages(buf), HMR_PAGES_4K);
	assert_non_null(strstr(hmr_buffer_why(buf), "no THP pages: "));
	assert_int_equal(hmr_buffer_free(buf), 0);
	write_file(THP_ENABLED, "madvise");
}

/* Pages that another mapping takes between mmap() and touch can't be missing:
 * mmap() has reserved them. Without a reservation, populate must say so. */
static void dry_pool_is_an_error_and_no_signal(void **state)
{
	struct hmr_buffer *all = alloc(16 * MIB, HMR_PAGES_2M);
	char *p = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB |
			       MAP_NORESERVE | 21 << 26,
		       -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(hmr_populate(p, 2 * MIB, NULL, NULL), -EFAULT);
	assert_says("hugetlb pool");
	assert_int_equal(hmr_buffer_free(all), 0);
	assert_int_equal(hmr_populate(p, 2 * MIB, NULL, NULL), 0);
	munmap(p, 2 * MIB);
}

static void registered_is_what_the_kernel_sees(void **state)
{
	const enum hmr_pages kinds[] = { HMR_PAGES_1G, HMR_PAGES_2M,
					 HMR_PAGES_THP, HMR_PAGES_4K };
	struct hmr_region *region;
	struct hmr_buffer *buf;
	unsigned int i;
	int before = live_mrs();

	for (i = 0; i < 4; i++) {
		buf = alloc(10 * MIB, kinds[i]);
		assert_int_equal(hmr_register(dom,
					      (char *)hmr_buffer_addr(buf) + 5,
					      9 * MIB, LW, NULL, &region),
				 0);
		assert_int_equal(live_mrs(), before + 1);
		assert_int_equal(hmr_buffer_free(buf), -EBUSY);
		assert_int_equal(hmr_domain_close(dom), -EBUSY);
		assert_int_equal(hmr_deregister(region), 0);
		assert_int_equal(live_mrs(), before);
		assert_int_equal(hmr_buffer_free(buf), 0);
	}
}

static void reg_mr_is_the_verbs_own(void **state)
{
	static char memory[8192];
	struct ibv_mr *mr = hmr_reg_mr(pd, memory, 8192, LW);

	assert_non_null(mr);
	assert_ptr_equal(mr->pd, pd);
	assert_int_equal(mr->length, 8192);
	assert_int_equal(hmr_dereg_mr(mr), 0);
	errno = 0;
	assert_null(hmr_reg_mr(pd, (void *)0x1000, 4096, LW));
	assert_int_equal(errno, EFAULT);
	assert_says("isn't mapped");
}

static int reg_error(void *addr, size_t length, int access)
{
	struct hmr_region *region;
	int ret = hmr_register(dom, addr, length, access, NULL, &region);

	if (!ret)
		assert_int_equal(hmr_deregister(region), 0);
	return ret;
}

static void refused_mappings_are_explained(void **state)
{
	char *p = mmap(NULL, 12288, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	int before = live_mrs();
	int ret;

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(reg_error(p, 12288, LW), -EFAULT);
	assert_says("read-only");
	assert_string_equal(hmr_last_error()->device, "rxe0");
	assert_int_equal(reg_error(p, 12288, IBV_ACCESS_REMOTE_READ), 0);
	munmap(p + 4096, 4096);
	assert_int_equal(reg_error(p, 12288, IBV_ACCESS_REMOTE_READ), -EFAULT);
	assert_says("isn't mapped");
	mprotect(p, 4096, PROT_NONE);
	/* Until "RDMA/umem: remove FOLL_FORCE usage" of Linux 6.2 a
	 * read-only MR was pinned by force. */
	ret = reg_error(p, 4096, IBV_ACCESS_REMOTE_READ);
	if (ret) {
		assert_int_equal(ret, -EFAULT);
		assert_says("without PROT_READ");
	}
	munmap(p, 12288);
	assert_int_equal(live_mrs(), before);
}

/* In a child: privileges don't come back. */
static void memlock_is_explained(void **state)
{
	const struct rlimit limit = { 64 << 10, 64 << 10 };
	struct hmr_buffer *buf = alloc(1 * MIB, HMR_PAGES_4K);
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgroups(0, NULL) ||
		    setgid(65534) || setuid(65534))
			_exit(2);
		/* The device was opened by root; the check is by task. */
		if (open_device(NULL))
			_exit(3);
		buf = alloc(1 * MIB, HMR_PAGES_4K);
		if (reg_error(hmr_buffer_addr(buf), 1 * MIB, LW) != -ENOMEM)
			_exit(4);
		if (!strstr(hmr_last_error()->text,
			    "RLIMIT_MEMLOCK: 1 MiB to pin and 0 bytes pinned"))
			_exit(5);
		if (reg_error(hmr_buffer_addr(buf), 32 << 10, LW))
			_exit(6);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
}

static void nothing_is_left(void **state)
{
	assert_int_equal(live_mrs(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pool_of_2m),
		cmocka_unit_test(pool_of_1g),
		cmocka_unit_test(thp_and_its_switch),
		cmocka_unit_test(prefer_takes_the_largest_that_fit),
		cmocka_unit_test(dry_pool_is_an_error_and_no_signal),
		cmocka_unit_test(registered_is_what_the_kernel_sees),
		cmocka_unit_test(reg_mr_is_the_verbs_own),
		cmocka_unit_test(refused_mappings_are_explained),
		cmocka_unit_test(memlock_is_explained),
		cmocka_unit_test(nothing_is_left),
	};

	return cmocka_run_group_tests(tests, open_device, close_device);
}
