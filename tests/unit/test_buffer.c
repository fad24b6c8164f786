// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Buffers on this host, whatever pages it has, and with system calls that fail
 * in turn. What needs a pool or THP for sure is tested in a guest.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_verbs.h"
#include "pages.h"
#include "readfile.h"
#include "tree.h"

/* Let the n th call from now on fail; 0 for none. */
static unsigned int fail_mmap, fail_munmap, fail_madvise, fail_calloc;
static unsigned int fail_memfd, fail_ftruncate, fail_fcntl;
static int fail_errno;
/* So many mappings that are not to replace others find others there. */
static unsigned int taken;
/* An advice that is taken and not followed. */
static int ignored_advice;

static int fails(unsigned int *countdown)
{
	if (!*countdown || --*countdown)
		return 0;
	errno = fail_errno;
	return 1;
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
	return fails(&fail_calloc) ? NULL : __real_calloc(n, size);
}

void *__real_mmap(void *addr, size_t length, int prot, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd,
		  off_t offset);
void *__wrap_mmap(void *addr, size_t length, int prot, int flags, int fd,
		  off_t offset)
{
	if (fails(&fail_mmap))
		return MAP_FAILED;
	if (flags & MAP_FIXED_NOREPLACE && taken) {
		taken--;
		errno = EEXIST;
		return MAP_FAILED;
	}
	return __real_mmap(addr, length, prot, flags, fd, offset);
}

/* Only the one that makes room between the guards may fail: it's the first to
 * be called there is. */
int __real_munmap(void *addr, size_t length);
int __wrap_munmap(void *addr, size_t length);
int __wrap_munmap(void *addr, size_t length)
{
	return fails(&fail_munmap) ? -1 : __real_munmap(addr, length);
}

int __real_madvise(void *addr, size_t length, int advice);
int __wrap_madvise(void *addr, size_t length, int advice);
int __wrap_madvise(void *addr, size_t length, int advice)
{
	if (fails(&fail_madvise))
		return -1;
	if (ignored_advice && advice == ignored_advice)
		return 0;
	return __real_madvise(addr, length, advice);
}

int __real_memfd_create(const char *name, unsigned int flags);
int __wrap_memfd_create(const char *name, unsigned int flags);
int __wrap_memfd_create(const char *name, unsigned int flags)
{
	return fails(&fail_memfd) ? -1 : __real_memfd_create(name, flags);
}

int __real_ftruncate(int fd, off_t length);
int __wrap_ftruncate(int fd, off_t length);
int __wrap_ftruncate(int fd, off_t length)
{
	return fails(&fail_ftruncate) ? -1 : __real_ftruncate(fd, length);
}

int __real_fcntl(int fd, int cmd, long arg);
int __wrap_fcntl(int fd, int cmd, long arg);
int __wrap_fcntl(int fd, int cmd, long arg)
{
	return fails(&fail_fcntl) ? -1 : __real_fcntl(fd, cmd, arg);
}

static size_t page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* ThreadSanitizer maps shadow memory as it goes, which would count as well. */
static int count_mappings(void)
{
#ifdef __SANITIZE_THREAD__
	return 0;
#endif
	FILE *f = fopen("/proc/self/maps", "r");
	int c, n = 0;

	assert_non_null(f);
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void base_pages(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K);
	HMR_RESULT(hmr_backing, b);
	struct hmr_buffer *buf;
	char *p;
	size_t i;

	assert_int_equal(hmr_buffer_alloc(10 * page() + 1, &opts, &buf), 0);
	p = hmr_buffer_addr(buf);
	assert_int_equal((uintptr_t)p % page(), 0);
	assert_int_equal(hmr_buffer_length(buf), 10 * page() + 1);
	assert_int_equal(hmr_buffer_mapped(buf), 11 * page());
	assert_int_equal(hmr_buffer_pages(buf), HMR_PAGES_4K);
	assert_string_equal(hmr_buffer_why(buf), "");
	assert_int_equal(hmr_buffer_backing(buf, &b), 0);
	assert_int_equal(b.small, 11 * page());
	assert_int_equal(b.length, 11 * page());
	for (i = 0; i < 11 * page(); i++)
		assert_int_equal(p[i], 0);
	memset(p, 1, 11 * page());
	assert_int_equal(hmr_buffer_free(buf), 0);
}

static void untouched_is_absent(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K,
		 .flags = HMR_BUFFER_UNTOUCHED);
	HMR_RESULT(hmr_backing, b);
	struct hmr_buffer *buf;

	assert_int_equal(hmr_buffer_alloc(10 * page(), &opts, &buf), 0);
	assert_int_equal(hmr_buffer_backing(buf, &b), 0);
	assert_int_equal(b.absent, 10 * page());
	assert_int_equal(hmr_buffer_free(buf), 0);
}

static void touch_in_child(const char *p, int expected_signal)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile const char *)p;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (expected_signal)
		assert_true(WIFSIGNALED(status) &&
			    WTERMSIG(status) == expected_signal);
	else
		assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

static void guards_lie_on_both_sides(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K);
	struct hmr_buffer *buf;
	char *p;

	assert_int_equal(hmr_buffer_alloc(2 * page(), &opts, &buf), 0);
	p = hmr_buffer_addr(buf);
	touch_in_child(p, 0);
	touch_in_child(p + 2 * page() - 1, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	touch_in_child(p - 1, SIGSEGV);
	touch_in_child(p + 2 * page(), SIGSEGV);
#endif
	assert_int_equal(hmr_buffer_free(buf), 0);
}

static void free_gives_everything_back(void **state)
{
	const enum hmr_pages kinds[] = { HMR_PAGES_4K, HMR_PAGES_PREFER };
	struct hmr_buffer *buf;
	unsigned int i;
	int before;

	/* One thread, as the stacks of others are kept by libc. */
	for (i = 0; i < 2; i++) {
		HMR_OPTS(hmr_buffer_opts, opts, .pages = kinds[i],
			 .threads = 1);

		before = count_mappings();
		assert_int_equal(hmr_buffer_alloc(5 << 20, &opts, &buf), 0);
		assert_int_equal(hmr_buffer_free(buf), 0);
		assert_int_equal(count_mappings(), before);
	}
	assert_int_equal(hmr_buffer_free(NULL), 0);
}

static void refuse_all(void)
{
	struct hmr_buffer *const before = (void *)0x1234;
	struct hmr_buffer *buf = before;
	HMR_OPTS(hmr_buffer_opts, pages, .pages = HMR_PAGES_4K + 1);
	HMR_OPTS(hmr_buffer_opts, flags, .flags = 1u << 31);
	HMR_OPTS(hmr_buffer_opts, base, .pages = HMR_PAGES_4K);
	struct {
		struct hmr_buffer_opts opts;
		uint64_t future;
	} newer = { .opts.size = sizeof(newer), .future = 1 };

	assert_int_equal(hmr_buffer_alloc(0, NULL, &buf), -EINVAL);
	assert_int_equal(hmr_buffer_alloc(1, &pages, &buf), -EINVAL);
	assert_int_equal(hmr_buffer_alloc(1, &flags, &buf), -EINVAL);
	assert_int_equal(hmr_buffer_alloc(1, &newer.opts, &buf), -E2BIG);
	assert_int_equal(hmr_buffer_alloc(SIZE_MAX, &base, &buf), -EOVERFLOW);
	assert_int_equal(hmr_buffer_alloc(SIZE_MAX - 2 * page(), &base, &buf),
			 -EOVERFLOW);
	assert_int_equal(hmr_buffer_alloc(SIZE_MAX / 2, &base, &buf), -ENOMEM);
	assert_int_equal(hmr_buffer_alloc(SIZE_MAX, NULL, &buf), -EOVERFLOW);
	assert_ptr_equal(buf, before);
}

static void bad_arguments(void **state)
{
	int mappings;

	/* Once for what libraries map at a first use. */
	refuse_all();
	mappings = count_mappings();
	refuse_all();
	assert_int_equal(count_mappings(), mappings);
}

/* More pages than any pool here has: the message has the numbers. */
static void required_pages_that_are_missing(void **state)
{
	const enum hmr_pages kinds[] = { HMR_PAGES_1G, HMR_PAGES_2M };
	struct hmr_host host;
	struct hmr_buffer *buf;
	unsigned int i;
	int ret;

	hmr_host_read("", &host);
	for (i = 0; i < 2; i++) {
		HMR_OPTS(hmr_buffer_opts, opts, .pages = kinds[i]);

		ret = hmr_buffer_alloc(1ul << 40, &opts, &buf);
		if (hmr_host_pool(&host, i ? 2 << 20 : 1 << 30)) {
			assert_int_equal(ret, -ENOMEM);
			assert_non_null(
				strstr(hmr_last_error()->text, "available"));
			assert_non_null(
				strstr(hmr_last_error()->text, "nr_hugepages"));
		} else {
			assert_int_equal(ret, -EOPNOTSUPP);
			assert_non_null(strstr(hmr_last_error()->text,
					       "this host has no"));
		}
		assert_string_equal(hmr_last_error()->op, "hmr_buffer_alloc");
	}
}

/* prefer falls from kind to kind and says why. */
static void prefer_degrades_and_says_so(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_PREFER);
	struct hmr_buffer *buf;

	/* Too small for any huge page: that's no reason to complain. */
	assert_int_equal(hmr_buffer_alloc(page(), NULL, &buf), 0);
	assert_int_equal(hmr_buffer_pages(buf), HMR_PAGES_4K);
	assert_string_equal(hmr_buffer_why(buf), "");
	assert_int_equal(hmr_buffer_free(buf), 0);

	/* Huge page advice fails, and there are no pools: base pages. */
	fail_errno = EINVAL;
	fail_madvise = 1;
	assert_int_equal(hmr_buffer_alloc(4 << 20, &opts, &buf), 0);
	fail_madvise = 0;
	if (hmr_buffer_pages(buf) == HMR_PAGES_4K)
		assert_non_null(strstr(hmr_buffer_why(buf), "no THP pages"));
	else
		assert_int_equal(hmr_buffer_pages(buf), HMR_PAGES_2M);
	assert_int_equal(hmr_buffer_free(buf), 0);
}

/* ---- THP ---- */

static int alloc_thp(struct hmr_buffer **buf)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_THP);

	return hmr_buffer_alloc(5 << 20, &opts, buf);
}

static bool thp_works(void)
{
	struct hmr_buffer *buf;

	if (alloc_thp(&buf))
		return false;
	assert_int_equal(hmr_buffer_free(buf), 0);
	return true;
}

static void small_pages_are_collapsed_or_reported(void **state)
{
	struct hmr_buffer *buf;
	HMR_RESULT(hmr_backing, b);
	int ret;

	if (!thp_works())
		skip();
	/* As if there had been no huge page to be had at the first touch. */
	ignored_advice = MADV_HUGEPAGE;
	ret = alloc_thp(&buf);
	ignored_advice = 0;
	if (!ret) {
		assert_int_equal(hmr_buffer_backing(buf, &b), 0);
		assert_int_equal(b.thp, 6 << 20);
		assert_int_equal(hmr_buffer_free(buf), 0);
		return;
	}
	assert_int_equal(ret, -ENOMEM);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_FRAGMENTED);
	assert_int_equal(hmr_last_error()->need, 6 << 20);
	assert_int_equal(hmr_last_error()->have, 0);
	assert_non_null(strstr(hmr_last_error()->text, "only 0 of 6 MiB"));
}

/* ---- shared ---- */

static void shared_memory_has_a_descriptor(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K,
		 .flags = HMR_BUFFER_SHARED);
	int mappings = count_mappings(), fds = count_fds(), fd;
	struct hmr_buffer *buf;
	char *p, *q;

	assert_int_equal(hmr_buffer_alloc(3 * page(), &opts, &buf), 0);
	fd = hmr_buffer_fd(buf);
	assert_true(fd >= 0);
	assert_int_equal(__real_fcntl(fd, F_GETFD, 0), FD_CLOEXEC);
	p = hmr_buffer_addr(buf);
	q = mmap(NULL, 3 * page(), PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(q, MAP_FAILED);
	p[2 * page()] = 'x';
	assert_int_equal(q[2 * page()], 'x');
	/* The other side can't take pages away. */
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 1 << 20), -1);
	munmap(q, 3 * page());
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(count_mappings(), mappings);
	assert_int_equal(count_fds(), fds);
}

static void private_memory_has_none(void **state)
{
	struct hmr_buffer *buf;

	assert_int_equal(hmr_buffer_alloc(1, NULL, &buf), 0);
	assert_int_equal(hmr_buffer_fd(buf), -EBADF);
	assert_int_equal(hmr_buffer_free(buf), 0);
}

/* ---- files ---- */

/* Five pages of letters, each its own. */
static int letters(void)
{
	int fd = memfd_create("letters", MFD_CLOEXEC);
	char *p;
	int i;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 5 * (off_t)page()), 0);
	p = mmap(NULL, 5 * page(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	for (i = 0; i < 5; i++)
		memset(p + i * page(), 'a' + i, page());
	munmap(p, 5 * page());
	return fd;
}

static void files_are_mapped_where_asked(void **state)
{
	int mappings = count_mappings(), fds = count_fds(), fd = letters();
	HMR_OPTS(hmr_buffer_opts, opts, .flags = HMR_BUFFER_FILE, .fd = fd,
		 .offset = page());
	HMR_RESULT(hmr_backing, b);
	struct hmr_buffer *buf;
	char c, *p;

	assert_int_equal(hmr_buffer_alloc(3 * page() + 1, &opts, &buf), 0);
	p = hmr_buffer_addr(buf);
	assert_int_equal(hmr_buffer_mapped(buf), 4 * page());
	assert_int_equal(hmr_buffer_pages(buf), HMR_PAGES_4K);
	assert_int_equal(hmr_buffer_backing(buf, &b), 0);
	assert_int_equal(b.small, 4 * page());
	assert_int_equal(p[0], 'b');
	assert_int_equal(p[4 * page() - 1], 'e');
	p[0] = 'x';
	assert_int_equal(pread(fd, &c, 1, (off_t)page()), 1);
	assert_int_equal(c, 'x');
	/* It is the caller's, before and after. */
	assert_int_equal(hmr_buffer_fd(buf), -EBADF);
	close(fd);
	p[1] = 'y';
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(count_mappings(), mappings);
	assert_int_equal(count_fds(), fds);
}

static void files_that_do_not_do(void **state)
{
	int fd = letters(), mappings = count_mappings();
	char path[64];
	int ro, i;
	const struct {
		int fd;
		uint64_t offset;
		size_t length;
		enum hmr_pages pages;
		int err;
		enum hmr_cause cause;
	} cases[] = {
		{ fd, 1, 1, 0, -EINVAL, HMR_CAUSE_ARGUMENT },
		{ fd, page(), 4 * page() + 1, 0, -ENXIO, HMR_CAUSE_FILE },
		{ fd, 0, SIZE_MAX, 0, -ENXIO, HMR_CAUSE_FILE },
		{ fd, 16 * page(), SIZE_MAX - page(), 0, -ENXIO,
		  HMR_CAUSE_FILE },
		{ fd, 0, page(), HMR_PAGES_2M, -EOPNOTSUPP,
		  HMR_CAUSE_PAGE_SIZE },
		{ 12345, 0, page(), 0, -EBADF, HMR_CAUSE_FILE },
		{ -1, 0, page(), 0, -EBADF, HMR_CAUSE_FILE },
		{ 0, 0, page(), 0, -EACCES, HMR_CAUSE_FILE },
	};

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ro = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(ro >= 0);
	for (i = 0; i < 8; i++) {
		HMR_OPTS(hmr_buffer_opts, opts, .flags = HMR_BUFFER_FILE,
			 .fd = cases[i].fd ? cases[i].fd : ro,
			 .offset = cases[i].offset, .pages = cases[i].pages);
		struct hmr_buffer *buf;

		assert_int_equal(hmr_buffer_alloc(cases[i].length, &opts, &buf),
				 cases[i].err);
		assert_int_equal(hmr_last_error()->cause, cases[i].cause);
	}
	assert_int_equal(count_mappings(), mappings);
	close(ro);
	close(fd);
}

static void what_cannot_be_mapped(void **state)
{
	int fd = eventfd(0, EFD_CLOEXEC);
	HMR_OPTS(hmr_buffer_opts, opts, .flags = HMR_BUFFER_FILE, .fd = fd);
	struct hmr_buffer *buf;

	assert_int_equal(hmr_buffer_alloc(1, &opts, &buf), -ENODEV);
	assert_non_null(strstr(hmr_last_error()->text, "can't be mapped"));
	close(fd);
}

/* ---- nodes ---- */

static void options_that_exclude_each_other(void **state)
{
	const struct hmr_buffer_opts cases[] = {
		{ .flags = HMR_BUFFER_SHARED | HMR_BUFFER_FILE },
		{ .flags = HMR_BUFFER_BIND | HMR_BUFFER_INTERLEAVE,
		  .nodes = 1 },
		{ .flags = HMR_BUFFER_BIND },
		{ .flags = HMR_BUFFER_INTERLEAVE },
		{ .nodes = 1 },
		{ .flags = HMR_BUFFER_BIND, .nodes = 1, .device = "rxe0" },
		{ .flags = HMR_BUFFER_FILE, .device = "rxe0" },
		{ .flags = HMR_BUFFER_FILE | HMR_BUFFER_BIND, .nodes = 1 },
		{ .fd = 1 },
		{ .offset = 4096 },
		{ .flags = HMR_BUFFER_BIND, .nodes = 1ull << 63 },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hmr_buffer_opts opts = cases[i];
		struct hmr_buffer *buf;

		opts.size = sizeof(opts);
		assert_int_equal(hmr_buffer_alloc(1, &opts, &buf), -EINVAL);
		assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_ARGUMENT);
	}
}

static int alloc_at(const char *device, uint64_t nodes)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K,
		 .flags = nodes ? HMR_BUFFER_BIND : 0, .nodes = nodes,
		 .device = device);
	struct hmr_buffer *buf;
	int ret = hmr_buffer_alloc(page(), &opts, &buf);

	return ret ? ret : hmr_buffer_free(buf);
}

static void devices_have_nodes(void **state)
{
	int mappings = count_mappings();

	tree_put("/sys/class/infiniband/mlx5_0/device/numa_node", "1\n");
	tree_put("/sys/class/infiniband/mlx5_1/device/numa_node", "-1\n");
	tree_put("/sys/class/infiniband/rxe0/node_type", "1: CA\n");
	hmr_root = tree_root;
	assert_int_equal(alloc_at("mlx5_1", 0), 0);
	assert_int_equal(alloc_at("rxe0", 0), 0);
	/* That node has no memory, as far as this host says. */
	assert_int_equal(alloc_at("mlx5_0", 0), 0);
	assert_int_equal(alloc_at("mlx5_2", 0), -ENODEV);
	assert_non_null(strstr(hmr_last_error()->text, "'mlx5_2'"));
	assert_string_equal(hmr_last_error()->device, "mlx5_2");
	assert_int_equal(alloc_at("", 0), -ENODEV);
	assert_int_equal(alloc_at("..", 0), -ENODEV);
	assert_int_equal(alloc_at("../infiniband/rxe0", 0), -ENODEV);

	/* Now it has, but the kernel of the tests knows better. */
	tree_put("/sys/devices/system/node/has_memory", "0,40\n");
	tree_put("/sys/class/infiniband/mlx5_0/device/numa_node", "40\n");
	if (access("/sys/devices/system/node/node40", F_OK)) {
		assert_true(alloc_at("mlx5_0", 0) < 0);
		assert_non_null(strstr(hmr_last_error()->text, "mbind"));
	}
	tree_put("/sys/devices/system/node/node40/meminfo",
		 "Node 40 MemTotal:  2 kB\n");
	assert_int_equal(alloc_at(NULL, 1ull << 40), -ENOMEM);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_MEMORY);
	assert_int_equal(hmr_last_error()->need, page());
	assert_int_equal(hmr_last_error()->have, 2048);
	hmr_root = "";
	assert_int_equal(count_mappings(), mappings);
}

/* ---- others at the same time ---- */

static void who_takes_the_address_wins(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K);
	int mappings = count_mappings();
	struct hmr_buffer *buf;

	taken = 5;
	assert_int_equal(hmr_buffer_alloc(page(), &opts, &buf), 0);
	assert_int_equal(taken, 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(count_mappings(), mappings);
	taken = UINT_MAX;
	assert_int_equal(hmr_buffer_alloc(page(), &opts, &buf), -EEXIST);
	taken = 0;
	assert_int_equal(count_mappings(), mappings);
}

static void children_have_no_claim(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K,
		 .flags = HMR_BUFFER_SHARED);
	HMR_RESULT(hmr_backing, b);
	struct hmr_buffer *buf, *own;
	int status;
	pid_t pid;

	assert_int_equal(hmr_buffer_alloc(page(), &opts, &buf), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		status = hmr_buffer_free(buf) != -EOWNERDEAD ||
			 hmr_last_error()->cause != HMR_CAUSE_FORKED ||
			 hmr_buffer_backing(buf, &b) != -EOWNERDEAD ||
			 hmr_buffer_fd(buf) != -EOWNERDEAD ||
			 !hmr_buffer_addr(buf) ||
			 hmr_buffer_mapped(buf) != page() ||
			 hmr_buffer_alloc(page(), &opts, &own) ||
			 hmr_buffer_free(own);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
}

/* ---- system calls that fail ---- */

/* Whichever call fails, the error is its own and nothing stays mapped or
 * open. Returns how many there were. */
static unsigned int sweep(unsigned int *countdown, int err,
			  const struct hmr_buffer_opts *opts)
{
	struct hmr_buffer *const before = (void *)0x1234;
	struct hmr_buffer *buf;
	unsigned int i;
	int ret, mappings, fds;

	/* Whatever is made at a first use is made now. */
	assert_int_equal(hmr_buffer_alloc(4 << 20, opts, &buf), 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
	mappings = count_mappings();
	fds = count_fds();
	fail_errno = err;
	for (i = 1;; i++) {
		*countdown = i;
		buf = before;
		ret = hmr_buffer_alloc(4 << 20, opts, &buf);
		if (!ret)
			break;
		*countdown = 0;
		assert_int_equal(ret, -err);
		assert_int_equal(hmr_last_error()->err, -err);
		assert_ptr_equal(buf, before);
		assert_int_equal(count_mappings(), mappings);
		assert_int_equal(count_fds(), fds);
	}
	*countdown = 0;
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(count_mappings(), mappings);
	assert_int_equal(count_fds(), fds);
	return i - 1;
}

static void system_calls_fail_in_turn(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K, .threads = 1);
	unsigned int n, sum = 0, i;
	const struct {
		unsigned int *countdown;
		int err;
		uint32_t flags;
	} cases[] = {
		{ &fail_calloc, ENOMEM, 0 },
		{ &fail_mmap, ENOMEM, 0 },
		{ &fail_madvise, EHWPOISON, 0 },
		{ &fail_mmap, ENOMEM, HMR_BUFFER_SHARED },
		{ &fail_madvise, EHWPOISON, HMR_BUFFER_SHARED },
		{ &fail_memfd, EMFILE, HMR_BUFFER_SHARED },
		{ &fail_ftruncate, EFBIG, HMR_BUFFER_SHARED },
		{ &fail_fcntl, EPERM, HMR_BUFFER_SHARED },
	};

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		opts.flags = cases[i].flags;
		n = sweep(cases[i].countdown, cases[i].err, &opts);
		assert_true(n > 0);
		sum += n;
	}
	print_message("%u failures injected\n", sum);
}

/* A process that may have no more mappings can't cut one in two. */
static void no_room_between_the_guards(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K, .threads = 1);
	int mappings = count_mappings();
	struct hmr_buffer *buf;
	unsigned int i;
	int ret, refused = 0;

	fail_errno = ENOMEM;
	for (i = 1; i < 4; i++) {
		fail_munmap = i;
		ret = hmr_buffer_alloc(page(), &opts, &buf);
		fail_munmap = 0;
		if (!ret) {
			assert_int_equal(hmr_buffer_free(buf), 0);
			continue;
		}
		assert_int_equal(ret, -ENOMEM);
		refused++;
	}
	assert_true(refused > 0);
	assert_true(count_mappings() <= mappings + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(base_pages, fake_setup),
		cmocka_unit_test_setup(untouched_is_absent, fake_setup),
		cmocka_unit_test_setup(guards_lie_on_both_sides, fake_setup),
		cmocka_unit_test_setup(free_gives_everything_back, fake_setup),
		cmocka_unit_test_setup(bad_arguments, fake_setup),
		cmocka_unit_test_setup(required_pages_that_are_missing,
				       fake_setup),
		cmocka_unit_test_setup(prefer_degrades_and_says_so, fake_setup),
		cmocka_unit_test(small_pages_are_collapsed_or_reported),
		cmocka_unit_test(shared_memory_has_a_descriptor),
		cmocka_unit_test(private_memory_has_none),
		cmocka_unit_test(files_are_mapped_where_asked),
		cmocka_unit_test(files_that_do_not_do),
		cmocka_unit_test(what_cannot_be_mapped),
		cmocka_unit_test(options_that_exclude_each_other),
		TREE_TEST(devices_have_nodes),
		cmocka_unit_test(who_takes_the_address_wins),
		cmocka_unit_test(children_have_no_claim),
		cmocka_unit_test(system_calls_fail_in_turn),
		cmocka_unit_test(no_room_between_the_guards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
