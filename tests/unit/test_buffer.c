// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Buffers on this host, whatever pages it has, and with system calls that fail
 * in turn. What needs a pool or THP for sure is tested in a guest.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_verbs.h"
#include "pages.h"

/* Let the n th call from now on fail; 0 for none. */
static unsigned int fail_mmap, fail_madvise, fail_calloc;
static int fail_errno;

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
	return __real_mmap(addr, length, prot, flags, fd, offset);
}

int __real_madvise(void *addr, size_t length, int advice);
int __wrap_madvise(void *addr, size_t length, int advice);
int __wrap_madvise(void *addr, size_t length, int advice)
{
	if (fails(&fail_madvise))
		return -1;
	return __real_madvise(addr, length, advice);
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

	for (i = 0; i < 2; i++) {
		HMR_OPTS(hmr_buffer_opts, opts, .pages = kinds[i]);

		before = count_mappings();
		assert_int_equal(hmr_buffer_alloc(5 << 20, &opts, &buf), 0);
		assert_int_equal(hmr_buffer_free(buf), 0);
		assert_int_equal(count_mappings(), before);
	}
	assert_int_equal(hmr_buffer_free(NULL), 0);
}

static void bad_arguments(void **state)
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
	int mappings = count_mappings();

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

/* Whichever call fails, the error is its own and nothing stays mapped. */
static void sweep(unsigned int *countdown, int err)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K);
	struct hmr_buffer *buf;
	unsigned int i;
	int ret, mappings;

	/* Whatever is made at a first use is made now. */
	assert_int_equal(hmr_buffer_alloc(4 << 20, &opts, &buf), 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
	mappings = count_mappings();
	fail_errno = err;
	for (i = 1;; i++) {
		*countdown = i;
		ret = hmr_buffer_alloc(4 << 20, &opts, &buf);
		if (!ret)
			break;
		assert_int_equal(ret, -err);
		assert_int_equal(hmr_last_error()->err, -err);
		assert_int_equal(count_mappings(), mappings);
	}
	*countdown = 0;
	assert_true(i > 1);
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(count_mappings(), mappings);
}

static void system_calls_fail_in_turn(void **state)
{
	sweep(&fail_mmap, ENOMEM);
	sweep(&fail_madvise, EHWPOISON);
	sweep(&fail_calloc, ENOMEM);
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
		cmocka_unit_test_setup(system_calls_fail_in_turn, fake_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
