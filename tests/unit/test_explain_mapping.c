// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What is mapped, how, and what stands behind it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test_explain.h"

static void hole(void **state)
{
	char *p = map(3 * 4096, PROT_READ | PROT_WRITE);

	munmap(p + 4096, 4096);
	assert_int_equal(explain(EFAULT, p, 3 * 4096, LW), HMR_CAUSE_HOLE);
	assert_says("isn't mapped");
	assert_int_equal(explain(ENOMEM, p, 3 * 4096, LW), HMR_CAUSE_HOLE);
	assert_int_equal(explain(EFAULT, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	/* The chunk that was refused counts, and not its neighbours. */
	assert_int_equal(explain_call(EFAULT, p, 3 * 4096, LW,
				      &(struct hmr_reg_facts){
					      .addr = p, .length = 4096 }),
			 HMR_CAUSE_UNKNOWN);
	/* Addresses of a dmabuf aren't of this process. */
	assert_int_equal(
		explain_call(EFAULT, p, 3 * 4096, LW,
			     &(struct hmr_reg_facts){ .dmabuf = true }),
		HMR_CAUSE_UNKNOWN);
	munmap(p, 3 * 4096);
}

static void protection(void **state)
{
	char *p = map(4096, PROT_READ);

	assert_int_equal(explain(EFAULT, p, 4096, LW), HMR_CAUSE_PROTECTION);
	assert_says("read-only");
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_PROTECTION);
	/* A memory window may be for writing, so the kernel pins for it. */
	assert_int_equal(explain(EFAULT, p, 4096, IBV_ACCESS_MW_BIND),
			 HMR_CAUSE_PROTECTION);
	assert_int_equal(explain(EFAULT, p, 4096, RR), HMR_CAUSE_UNKNOWN);
	mprotect(p, 4096, PROT_NONE);
	assert_int_equal(explain(EFAULT, p, 4096, RR), HMR_CAUSE_PROTECTION);
	assert_says("without PROT_READ");
	munmap(p, 4096);
}

/* For reading only, before Linux 6.2. */
static void shared_and_read_only(void **state)
{
	static const struct {
		const char *release;
		const char *perms;
		enum hmr_cause cause;
	} cases[] = {
		{ "5.10.0-38-amd64\n", "r--s", HMR_CAUSE_PROTECTION },
		{ "6.1.0-40-amd64\n", "r--s", HMR_CAUSE_PROTECTION },
		{ "6.1.0-40-amd64\n", "r--p", HMR_CAUSE_UNKNOWN },
		{ "6.1.0-40-amd64\n", "rw-s", HMR_CAUSE_UNKNOWN },
		{ "6.2.0\n", "r--s", HMR_CAUSE_UNKNOWN },
		{ "6.12.1\n", "r--s", HMR_CAUSE_UNKNOWN },
		{ "garbage", "r--s", HMR_CAUSE_UNKNOWN },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tree_put("/proc/sys/kernel/osrelease", "%s", cases[i].release);
		set_file(cases[i].perms, "00:30", "/dev/shm/x");
		assert_int_equal(explain(EFAULT, (void *)ADDR, 4096, RR),
				 cases[i].cause);
		if (cases[i].cause)
			assert_says("shared and read-only");
	}
}

static void end_of_a_file(void **state)
{
	char template[] = "explain.XXXXXX";
	int fd = mkstemp(template);
	char *p, *second;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 6000), 0);
	p = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	second = mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
		      4096);
	assert_true(p != MAP_FAILED && second != MAP_FAILED);
	/* The page that the end lies in can be had as a whole. */
	assert_int_equal(explain(EFAULT, p, 8192, LW), HMR_CAUSE_UNKNOWN);
	assert_int_equal(explain(EFAULT, p, 8193, LW), HMR_CAUSE_FILE);
	assert_says("reaches to byte 8193 of ");
	assert_says(template);
	assert_says("which has 6000: ftruncate()");
	assert_int_equal(hmr_last_error()->need, 8193);
	assert_int_equal(hmr_last_error()->have, 6000);
	assert_int_equal(explain(EFAULT, p + 8192, 1, LW), HMR_CAUSE_FILE);
	assert_int_equal(explain(EFAULT, second, 4096, LW), HMR_CAUSE_UNKNOWN);
	assert_int_equal(explain(EFAULT, second + 1, 4096, LW), HMR_CAUSE_FILE);
	/* Long enough now. */
	munmap(second, 2 * 4096);
	assert_int_equal(ftruncate(fd, 3 * 4096), 0);
	assert_int_equal(explain(EFAULT, p, 3 * 4096, LW), HMR_CAUSE_UNKNOWN);
	munmap(p, 3 * 4096);
	close(fd);
	unlink(template);
}

static void device_memory(void **state)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "%lx-%lx rw-s 00000000 00:05 9 /dev/x\n"
		 "KernelPageSize:        4 kB\n"
		 "VmFlags: rd wr sh mr mw me ms io pf de\n",
		 ADDR, ADDR + 4096);
	set_smaps(text);
	assert_int_equal(explain(EFAULT, (void *)ADDR, 4096, LW),
			 HMR_CAUSE_DEVICE_MEMORY);
	assert_says("HMR_REGISTER_DMABUF");
	/* A driver's managed memory has no such flag, but is a device's. */
	set_file("rw-s", "00:05", "/dev/null");
	assert_int_equal(explain(EINVAL, (void *)ADDR, 4096, LW),
			 HMR_CAUSE_DEVICE_MEMORY);
	assert_says("/dev/null");
	set_file("rw-s", "00:05", "/dev/zero");
	assert_int_equal(explain(EFAULT, (void *)ADDR, 4096, LW),
			 HMR_CAUSE_UNKNOWN);
	set_file("rw-s", "00:05", "/dev/dax0.0");
	assert_int_equal(explain(EFAULT, (void *)ADDR, 4096, LW),
			 HMR_CAUSE_UNKNOWN);
}

static void files(void **state)
{
	static const struct {
		const char *perms;
		const char *dev;
		const char *name;
		int access;
		const char *fs; /* NULL where files are no cause */
	} cases[] = {
		{ "rw-s", "08:01", "/data/x", LW, "ext4" },
		{ "rw-s", "08:01", "/elsewhere (deleted)", LW, "ext4" },
		{ "rw-p", "08:01", "/data/x", LW, NULL },
		{ "rw-s", "08:01", "/data/x", RR, NULL },
		{ "rw-s", "00:30", "/dev/shm/x", LW, NULL },
		{ "rw-s", "00:31", "/huge/x", LW, NULL },
		/* of another device than its mount, as btrfs does */
		{ "rw-s", "00:99", "/data/sub vol/x", LW, "btrfs" },
		{ "rw-s", "00:99", "/other", LW, "overlay" },
		{ "rw-s", "00:99", "/other (deleted)", LW, NULL },
		{ "rw-s", "00:01", "/memfd:x (deleted)", LW, NULL },
		{ "rw-s", "00:01", "[anon_shmem:x]", LW, NULL },
	};
	unsigned int i;

	tree_put("/proc/self/mountinfo",
		 "1 0 0:98 / / rw - overlay overlay rw,lowerdir=a\n"
		 "garbage\n"
		 "2 1 8:1 / /data rw,relatime shared:1 - ext4 /dev/a rw\n"
		 "3 1 0:48 / /dev/shm rw - tmpfs tmpfs rw\n"
		 "4 1 0:49 / /huge rw - hugetlbfs hugetlbfs rw,pagesize=2M\n"
		 "5 2 0:50 / /data/sub\\040vol rw - btrfs /dev/b rw\n"
		 "6 1 0:51 / /oth rw - xfs /dev/c rw\n");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		set_file(cases[i].perms, cases[i].dev, cases[i].name);
		assert_int_equal(
			explain(EFAULT, (void *)ADDR, 4096, cases[i].access),
			cases[i].fs ? HMR_CAUSE_FILE : HMR_CAUSE_UNKNOWN);
		if (cases[i].fs)
			assert_says(cases[i].fs);
	}
}

static void file_on_dax(void **state)
{
	static const char line[] =
		"2 1 8:1 / /pmem rw - ext4 /dev/pmem0 rw,%s\n";
	static const struct {
		const char *option;
		enum hmr_cause cause;
	} cases[] = {
		{ "dax", HMR_CAUSE_FILE },
		{ "dax=always", HMR_CAUSE_FILE },
		{ "dax=never", HMR_CAUSE_NOT_SUPPORTED },
		{ "dax=inode", HMR_CAUSE_NOT_SUPPORTED },
		{ "discard", HMR_CAUSE_NOT_SUPPORTED },
	};
	char text[128];
	unsigned int i;

	set_file("rw-s", "08:01", "/pmem/x");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", line);
		snprintf(strstr(text, "%s"), 32, "%s\n", cases[i].option);
		tree_put("/proc/self/mountinfo", "%s", text);
		assert_int_equal(explain(EOPNOTSUPP, (void *)ADDR, 4096, LW),
				 cases[i].cause);
	}
	tree_put("/proc/self/mountinfo",
		 "2 1 8:1 / /pmem rw - xfs /dev/pmem0 rw,dax\n");
	explain(EOPNOTSUPP, (void *)ADDR, 4096, RR);
	assert_says("/pmem/x is on xfs mounted for direct access");
}

const struct CMUnitTest explain_mapping_tests[] = {
	TEST(hole),	     TEST(end_of_a_file),
	TEST(protection),    TEST(shared_and_read_only),
	TEST(device_memory), TEST(files),
	TEST(file_on_dax),   { NULL },
};
