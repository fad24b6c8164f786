// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The kernel's own test device: pins by the fast and by the slow path, for
 * reading and for writing, and what is in the pinned pages. It needs
 * CONFIG_GUP_TEST, and has the ioctls since Linux 6.2.
 */
#include <fcntl.h>
#include <sys/ioctl.h>

#include "pins.h"

#include "look.h"

struct gup_test {
	uint64_t get_usec, put_usec, addr, size;
	uint32_t pages_per_call, gup_flags, test_flags, which_pages[8];
};

struct longterm_test {
	uint64_t addr, size;
	uint32_t flags;
};

#define PIN_FAST_BENCHMARK _IOWR('g', 2, struct gup_test)
#define PIN_LONGTERM_BENCHMARK _IOWR('g', 3, struct gup_test)
#define PIN_BASIC_TEST _IOWR('g', 5, struct gup_test)
#define START _IOW('g', 7, struct longterm_test)
#define STOP _IO('g', 8)
#define READ _IOW('g', 9, uint64_t)

#define FOLL_WRITE 1
#define LONGTERM_WRITE 1
#define LONGTERM_FAST 2

static int open_test(void)
{
	int fd = open("/sys/kernel/debug/gup_test", O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

const char *pins_no_gup(void)
{
	int fd = open("/sys/kernel/debug/gup_test", O_RDWR | O_CLOEXEC);
	int ret = fd < 0 ? -1 : ioctl(fd, STOP);

	if (fd >= 0)
		close(fd);
	return ret ? "no gup_test with longterm pins" : NULL;
}

static int start(int fd, const char *p, size_t length, uint32_t flags)
{
	struct longterm_test test = { (uintptr_t)p, length, flags };

	return ioctl(fd, START, &test) ? -errno : 0;
}

static void expect_pinned(int fd, const char *want, size_t length)
{
	char *got = malloc(length);
	uint64_t to = (uintptr_t)got;

	assert_non_null(got);
	assert_int_equal(ioctl(fd, READ, &to), 0);
	assert_memory_equal(got, want, length);
	free(got);
}

static const struct {
	size_t offset, length;
} ranges[] = {
	{ 0, PAGE },
	{ 0, HUGE - PAGE },
	{ 0, HUGE },
	{ 0, HUGE + PAGE },
	{ PAGE, HUGE },
	{ HUGE - PAGE, 2 * PAGE },
	{ HUGE - PAGE, HUGE + 2 * PAGE },
	{ HUGE + 3 * PAGE, 7 * PAGE },
	{ 5 * PAGE, LENGTH - 6 * PAGE },
	{ 0, LENGTH },
};

#define N_RANGES (sizeof(ranges) / sizeof(*ranges))

/* What is written after it was pinned is in the pinned pages. */
static void content(void **state)
{
	int fd = open_test();
	char *p = pins_map(*state);
	size_t i;
	uint32_t flags;

	for (flags = 0; flags < 4; flags++) {
		for (i = 0; i < N_RANGES; i++) {
			char *from = p + ranges[i].offset;

			pins_fill(from, ranges[i].length, i);
			assert_int_equal(
				start(fd, from, ranges[i].length, flags), 0);
			expect_pinned(fd, from, ranges[i].length);
			pins_fill(from, ranges[i].length, i + 1);
			expect_pinned(fd, from, ranges[i].length);
			assert_int_equal(ioctl(fd, STOP), 0);
		}
	}
	close(fd);
	munmap(p, LENGTH);
}

/* With a child, before and after */
static void forked(void **state)
{
	int fd = open_test();
	char *p, *want = malloc(LENGTH);
	struct pins_child children[2];
	uint32_t flags;

	assert_non_null(want);
	for (flags = 0; flags < 4; flags++) {
		p = pins_map(*state);
		pins_fill(p, LENGTH, 1);
		memcpy(want, p, LENGTH);
		children[0] = pins_fork(p, want, LENGTH);
		assert_int_equal(start(fd, p, LENGTH, flags), 0);
		expect_pinned(fd, want, LENGTH);
		children[1] = pins_fork(p, want, LENGTH);
		pins_fill(p, LENGTH, 2);
		expect_pinned(fd, p, LENGTH);
		pins_let_go(children[0]);
		pins_let_go(children[1]);
		expect_pinned(fd, p, LENGTH);
		assert_int_equal(ioctl(fd, STOP), 0);
		munmap(p, LENGTH);
	}
	close(fd);
	free(want);
}

/* Memory that nobody wrote to yet */
static void untouched(void **state)
{
	static const int advices[] = { MADV_NOHUGEPAGE, MADV_HUGEPAGE };
	int fd = open_test();
	uint32_t flags;
	size_t i, at;
	char *p;

	for (i = 0; i < 8; i++) {
		flags = (uint32_t)i % 4;
		p = pins_map_at(pins_place(LENGTH), LENGTH,
				PROT_READ | PROT_WRITE, MAP_PRIVATE, -1);
		assert_int_equal(madvise(p, LENGTH, advices[i / 4]), 0);
		/* zero pages, in part */
		for (at = 0; at < LENGTH; at += 3 * PAGE)
			assert_int_equal(((volatile char *)p)[at], 0);
		assert_int_equal(start(fd, p, LENGTH, flags), 0);
		expect_pinned(fd, p, LENGTH);
		pins_fill(p, LENGTH, 1);
		expect_pinned(fd, p, LENGTH);
		assert_int_equal(ioctl(fd, STOP), 0);
		munmap(p, LENGTH);
	}
	close(fd);
}

/* A page in the middle without rights: all that was pinned is let go. */
static void hole(void **state)
{
	const size_t unit = pins_unit(*state);
	int fd = open_test(), ret;
	char *p = pins_map(*state);
	int64_t pins = look_pins();
	uint32_t flags;

	for (flags = 0; flags < 4; flags++) {
		assert_int_equal(mprotect(p + 2 * HUGE, unit, PROT_NONE), 0);
		ret = start(fd, p, LENGTH, flags);
		assert_int_equal(ret, -EFAULT);
		assert_int_equal(ioctl(fd, STOP), 0);
		assert_int_equal(look_pins(), pins);
		assert_int_equal(mprotect(p + 2 * HUGE, unit, PROT_READ), 0);
		ret = start(fd, p, LENGTH, flags);
		assert_int_equal(ret, flags & LONGTERM_WRITE ? -EFAULT : 0);
		assert_int_equal(ioctl(fd, STOP), 0);
		assert_int_equal(look_pins(), pins);
		assert_int_equal(mprotect(p + 2 * HUGE, unit,
					  PROT_READ | PROT_WRITE),
				 0);
	}
	close(fd);
	munmap(p, LENGTH);
}

/* However many pages are asked for at once, all are got. */
static void calls(void **state)
{
	static const unsigned long cmds[] = { PIN_FAST_BENCHMARK,
					      PIN_BASIC_TEST,
					      PIN_LONGTERM_BENCHMARK };
	static const uint32_t per_call[] = { 1, 7, 511, 512, 513, 1 << 20 };
	int fd = open_test();
	char *p = pins_map(*state);
	int64_t pins = look_pins();
	struct gup_test test;
	size_t i, k;

	for (i = 0; i < 3 * 6; i++) {
		for (k = 0; k < N_RANGES; k++) {
			test = (struct gup_test){
				.addr = (uintptr_t)p + ranges[k].offset,
				.size = ranges[k].length,
				.pages_per_call = per_call[i % 6],
				.gup_flags = k % 2 ? FOLL_WRITE : 0,
			};
			assert_int_equal(ioctl(fd, cmds[i / 6], &test), 0);
			assert_int_equal(test.size, ranges[k].length);
		}
		assert_int_equal(look_pins(), pins);
	}
	close(fd);
	munmap(p, LENGTH);
}

const struct pins_test pins_gup_tests[] = {
	{ "gup: content", content, true, 0, 0 },
	{ "gup: forked", forked, true, PINS_PRIVATE, 0 },
	{ "gup: untouched", untouched, false, 0, 0 },
	{ "gup: hole", hole, true, 0, 0 },
	{ "gup: calls", calls, true, 0, 0 },
	{ NULL, NULL, false, 0, 0 },
};
