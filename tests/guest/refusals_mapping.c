// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Mappings that can't be pinned, and those without pages. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "refusals.h"

/* ---- mappings ---- */

static void read_only(void **state)
{
	char *p = map_anon(3 * PAGE, PROT_READ), *large;

	assert_error(try_reg(p, 3 * PAGE, LW), -EFAULT, PROTECTION,
		     "read-only");
	assert_string_equal(hmr_last_error()->device, "rxe0");
	assert_fine(try_reg(p, 3 * PAGE, RR));
	assert_fine(try_reg(p, 3 * PAGE, 0));
	assert_fine(try_reg(p + 1, 2 * PAGE, RR));
	/* A mapping that is so in part */
	assert_int_equal(mprotect(p, PAGE, PROT_READ | PROT_WRITE), 0);
	assert_error(try_reg(p + 100, PAGE, LW), -EFAULT, PROTECTION,
		     "read-only");
	assert_fine(try_reg(p + 100, PAGE - 100, LW));
	munmap(p, 3 * PAGE);

	/* What is large is populated first: for reading. */
	large = map_anon(8 * MIB, PROT_READ);
	assert_fine(try_reg(large, 8 * MIB, RR));
	assert_error(try_reg(large, 8 * MIB, LW), -EFAULT, PROTECTION,
		     "read-only");
	munmap(large, 8 * MIB);
}

static void hole(void **state)
{
	char *p = map_anon(4 * PAGE, PROT_READ | PROT_WRITE);
	size_t i;

	/* First, in the middle, and past the end */
	assert_int_equal(munmap(p + PAGE, PAGE), 0);
	assert_int_equal(munmap(p + 3 * PAGE, PAGE), 0);
	for (i = 0; i < 3; i++)
		assert_error(try_reg(p + i * PAGE + 1, PAGE, LW), -EFAULT, HOLE,
			     "isn't mapped");
	assert_fine(try_reg(p + 2 * PAGE + 1, PAGE - 1, LW));
	munmap(p, 3 * PAGE);

	p = map_anon(8 * MIB, PROT_READ | PROT_WRITE);
	munmap(p + 4 * MIB, 4 * MIB);
	assert_error(try_reg(p, 4 * MIB + 1, LW), -EFAULT, HOLE,
		     "isn't mapped");
	munmap(p, 4 * MIB);
}

static void end_of_a_file(void **state)
{
	int fd = memfd_create("refusals", MFD_CLOEXEC);
	char *p;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PAGE + 1), 0);
	p = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_fine(try_reg(p, 2 * PAGE, LW));
	assert_error(try_reg(p, 3 * PAGE, LW), -EFAULT, FILE,
		     "which has 4097: ftruncate()");
	munmap(p, 3 * PAGE);
	close(fd);
}

static void no_access(void **state)
{
	char *p = map_anon(PAGE, PROT_NONE);
	int ret = try_reg(p, PAGE, RR);

	/* Until "RDMA/umem: remove FOLL_FORCE usage" of Linux 6.2 a
	 * read-only MR was pinned by force. */
	if (ret)
		assert_error(ret, -EFAULT, PROTECTION, "without PROT_READ");
	assert_error(try_reg(p, PAGE, LW), -EFAULT, PROTECTION, "PROT_");
	munmap(p, PAGE);
}

/* ---- what has no pages ---- */

static void find_vvar(char **addr)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[256];
	uintptr_t start;

	*addr = NULL;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "[vvar") && !*addr &&
		    sscanf(line, "%" SCNxPTR, &start) == 1)
			*addr = (char *)start;
	fclose(f);
}

/* The hole that a VGA adapter's memory would be in: every PC has it, and no
 * kernel takes it for RAM. */
#define VGA_HOLE 0xa0000

static void device_memory(void **state)
{
	int fd = open("/dev/mem", O_RDWR | O_SYNC);
	char *p, *vvar;
	int ret;

	assert_true(fd >= 0);
	p = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 VGA_HOLE);
	assert_ptr_not_equal(p, MAP_FAILED);
	close(fd);
	assert_error(try_reg(p, 4 * PAGE, LW), -EFAULT, DEVICE_MEMORY,
		     "the mapping of /dev/mem is memory of a device");
	assert_error(try_reg(p, 4 * PAGE, RR), -EFAULT, DEVICE_MEMORY,
		     "HMR_REGISTER_DMABUF");
	munmap(p, 4 * PAGE);

	/* One that no file stands behind; of late it has pages. */
	find_vvar(&vvar);
	assert_non_null(vvar);
	ret = try_reg(vvar, PAGE, RR);
	if (ret)
		assert_error(ret, -EFAULT, DEVICE_MEMORY,
			     "the mapping is memory of a device");
}

const struct CMUnitTest refusals_mapping_tests[] = {
	cmocka_unit_test(read_only),	 cmocka_unit_test(hole),
	cmocka_unit_test(end_of_a_file), cmocka_unit_test(no_access),
	cmocka_unit_test(device_memory), { NULL },
};
