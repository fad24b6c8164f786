// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Calls that make buffers, populate memory and look at it. */
#include <sys/mman.h>
#include <unistd.h>

#include "populate.h"
#include "test_sweep.h"

/* ---- buffers ---- */

/* No more than it takes for a huge page, where that is what is asked for. */
static int buffer_with(const struct hmr_buffer_opts *opts)
{
	size_t length = (opts->pages == HMR_PAGES_4K ? 32 * PAGE : 2 * MIB) - 5;
	struct hmr_buffer *buf = UNTOUCHED;
	int ret;

	arm();
	ret = hmr_buffer_alloc(length, opts, &buf);
	disarm();
	if (ret)
		check_untouched(buf);
	else
		assert_int_equal(hmr_buffer_free(buf), 0);
	return ret;
}

#define BUFFER(name, ...)                                                   \
	static int name(void)                                               \
	{                                                                   \
		HMR_OPTS(hmr_buffer_opts, opts, .threads = 2, __VA_ARGS__); \
		return buffer_with(&opts);                                  \
	}

BUFFER(buffer_preferred, .pages = HMR_PAGES_PREFER)
BUFFER(buffer_of_1g, .pages = HMR_PAGES_1G)
BUFFER(buffer_of_2m, .pages = HMR_PAGES_2M)
BUFFER(buffer_of_thp, .pages = HMR_PAGES_THP)
BUFFER(buffer_of_base_pages, .pages = HMR_PAGES_4K)
BUFFER(buffer_untouched, .pages = HMR_PAGES_4K, .flags = HMR_BUFFER_UNTOUCHED)
BUFFER(buffer_shared, .pages = HMR_PAGES_4K, .flags = HMR_BUFFER_SHARED)
BUFFER(buffer_bound, .pages = HMR_PAGES_4K, .flags = HMR_BUFFER_BIND,
       .nodes = 1)
BUFFER(buffer_interleaved, .pages = HMR_PAGES_4K,
       .flags = HMR_BUFFER_INTERLEAVE, .nodes = 1)
BUFFER(buffer_near_no_device, .pages = HMR_PAGES_4K, .device = "none")

static int buffer_of_file(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .flags = HMR_BUFFER_FILE,
		 .fd = memfd_create("file", 0));
	int ret;

	assert_true(opts.fd >= 0);
	assert_int_equal(ftruncate(opts.fd, LENGTH), 0);
	ret = buffer_with(&opts);
	close(opts.fd);
	return ret;
}

#define BUFFER_LENGTH (64 * PAGE)

static struct hmr_buffer *make_buffer(uint32_t flags)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K, .flags = flags);
	struct hmr_buffer *buf;

	assert_int_equal(hmr_buffer_alloc(BUFFER_LENGTH, &opts, &buf), 0);
	return buf;
}

static int buffer_free(void)
{
	struct hmr_buffer *buf = make_buffer(HMR_BUFFER_SHARED);
	int ret;

	arm();
	ret = hmr_buffer_free(buf);
	disarm();
	return ret;
}

static int buffer_backing(void)
{
	struct hmr_buffer *buf = make_buffer(0);
	HMR_RESULT(hmr_backing, b);
	int ret;

	b.length = 0x1234;
	arm();
	ret = hmr_buffer_backing(buf, &b);
	disarm();
	assert_int_equal(b.length, ret ? 0x1234 : BUFFER_LENGTH);
	assert_int_equal(hmr_buffer_free(buf), 0);
	return ret;
}

static int buffer_getters(void)
{
	struct hmr_buffer *buf = make_buffer(0);

	arm();
	hmr_buffer_addr(buf);
	hmr_buffer_length(buf);
	hmr_buffer_mapped(buf);
	hmr_buffer_pages(buf);
	hmr_buffer_why(buf);
	hmr_buffer_fd(buf);
	disarm();
	return hmr_buffer_free(buf);
}

void buffers(void **state)
{
	sweep("hmr_buffer_alloc", buffer_preferred);
	sweep("hmr_buffer_alloc", buffer_of_1g);
	sweep("hmr_buffer_alloc", buffer_of_2m);
	sweep("hmr_buffer_alloc", buffer_of_thp);
	sweep("hmr_buffer_alloc", buffer_of_base_pages);
	sweep("hmr_buffer_alloc", buffer_untouched);
	sweep("hmr_buffer_alloc", buffer_shared);
	sweep("hmr_buffer_alloc", buffer_bound);
	sweep("hmr_buffer_alloc", buffer_interleaved);
	sweep("hmr_buffer_alloc", buffer_near_no_device);
	sweep("hmr_buffer_alloc", buffer_of_file);
	sweep("hmr_buffer_free", buffer_free);
	sweep("hmr_buffer_backing", buffer_backing);
	sweep("hmr_buffer_addr and its like", buffer_getters);
}

/* ---- memory ---- */

static int populate_with(size_t length, uint64_t flags, uint32_t threads)
{
	HMR_OPTS(hmr_populate_opts, opts, .flags = flags, .threads = threads);
	HMR_RESULT(hmr_populate_report, report);
	char *p = map_memory();
	int ret;

	arm();
	ret = hmr_populate(p + 1, length, &opts, &report);
	disarm();
	munmap(p, LENGTH);
	return ret;
}

static int populate_write(void)
{
	return populate_with(LENGTH - 1, 0, 2);
}

static int populate_read(void)
{
	return populate_with(LENGTH - 1, HMR_POPULATE_READ, 2);
}

/* As many threads as there are CPUs, of which one has work */
static int populate_by_cpus(void)
{
	return populate_with(32 * PAGE, 0, 0);
}

/* Page by page, so fewer of them */
static int populate_few(void)
{
	return populate_with(32 * PAGE, 0, 2);
}

static int populate_few_read(void)
{
	return populate_with(32 * PAGE, HMR_POPULATE_READ, 2);
}

static int backing(void)
{
	char *p = map_memory();
	HMR_RESULT(hmr_backing, b);
	int ret;

	memset(p + MIB, 1, 16 * PAGE + 5);
	b.length = 0x1234;
	arm();
	ret = hmr_backing(p + 1, LENGTH - 2, &b);
	disarm();
	assert_int_equal(b.length, ret ? 0x1234 : LENGTH);
	munmap(p, LENGTH);
	return ret;
}

void memory(void **state)
{
	sweep("hmr_populate", populate_write);
	sweep("hmr_populate", populate_read);
	sweep("hmr_populate", populate_by_cpus);
	hmr_populate_no_madvise = true;
	sweep("hmr_populate", populate_few);
	sweep("hmr_populate", populate_few_read);
	hmr_populate_no_madvise = false;
	sweep("hmr_backing", backing);
}
