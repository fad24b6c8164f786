// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Files, by what they are on. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "refusals.h"

#define FILE_LENGTH (6 * MIB)

static int make_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, FILE_LENGTH), 0);
	return fd;
}

static int try_file(int fd, int prot, int flags, int access, off_t at)
{
	char *p = map(FILE_LENGTH, prot, flags, fd);
	int ret = try_reg(p + at, FILE_LENGTH - (size_t)at, access);

	munmap(p, FILE_LENGTH);
	return ret;
}

/* Whatever the file system, private pages are memory like any other. */
static void try_private(int fd)
{
	assert_fine(try_file(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE, LW, 1));
	assert_fine(try_file(fd, PROT_READ, MAP_PRIVATE, RR, 1));
}

/*
 * Before Linux 6.2 a read-only MR was pinned for writing and by force, which
 * only private mappings stand; then a file that is mapped shared and read-only
 * can't be registered at all.
 */
static void try_shared_read_only(int fd)
{
	int ret = try_file(fd, PROT_READ, MAP_SHARED, RR, 1);

	if (ret)
		assert_error(ret, -EFAULT, PROTECTION, "shared and read-only");
}

static void file_on_tmpfs(void **state)
{
	int fd = make_file("/dev/shm/file");

	assert_fine(try_file(fd, PROT_READ | PROT_WRITE, MAP_SHARED, LW, 1));
	assert_fine(try_file(fd, PROT_READ | PROT_WRITE, MAP_SHARED, LW, PAGE));
	try_shared_read_only(fd);
	try_private(fd);
	close(fd);
	unlink("/dev/shm/file");
}

/*
 * From Linux 6.5 on no pages are pinned for writing that a file system wants to
 * know of writes to. Older kernels let it happen, and so does the library: it
 * has nothing to say against it that would hold for all.
 */
static void try_writeback(const char *path, const char *fs)
{
	char text[128];
	int fd = make_file(path), ret;

	snprintf(text, sizeof(text), "%s is mapped shared and writable from %s",
		 path, fs);
	ret = try_file(fd, PROT_READ | PROT_WRITE, MAP_SHARED, LW, 1);
	if (ret)
		assert_error(ret, -EFAULT, FILE, text);
	print_message("  shared and writable on %s: %d\n", fs, ret);
	assert_fine(
		ret ? try_file(fd, PROT_READ | PROT_WRITE, MAP_SHARED, RR, 1) :
		      0);
	try_shared_read_only(fd);
	try_private(fd);
	close(fd);
	unlink(path);
}

static void file_on_ext4(void **state)
{
	try_writeback("/ext4/file", "ext4");
}

static void file_on_overlay(void **state)
{
	try_writeback("/overlay/file", "overlay");
}

/* A range past the end of its file is mapped, but there are no pages. */
static void file_cut_short(void **state)
{
	int fd = make_file("/dev/shm/file"), ret;
	char *p = map(FILE_LENGTH, PROT_READ | PROT_WRITE, MAP_SHARED, fd);

	assert_int_equal(ftruncate(fd, 4 * MIB), 0);
	assert_fine(try_reg(p, 4 * MIB, LW));
	ret = try_reg(p, FILE_LENGTH, LW);
	assert_int_equal(ret, -EFAULT);
	munmap(p, FILE_LENGTH);
	close(fd);
	unlink("/dev/shm/file");
}

const struct CMUnitTest refusals_file_tests[] = {
	cmocka_unit_test(file_on_tmpfs),
	cmocka_unit_test(file_on_ext4),
	cmocka_unit_test(file_on_overlay),
	cmocka_unit_test(file_cut_short),
	{ NULL },
};
