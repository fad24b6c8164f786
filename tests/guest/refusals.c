// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Registrations that a real kernel refuses, and what the library says of them.
 * Runs in a guest with rxe0 and rxe1, as root; /ext4 and /overlay are what
 * their names say. Those that need a process without privileges are run by the
 * same program with "unprivileged" as its argument.
 */
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
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

#include "look.h"

#define KIB (1ul << 10)
#define MIB (1ul << 20)
#define PAGE 4096ul
#define LW IBV_ACCESS_LOCAL_WRITE
#define RR IBV_ACCESS_REMOTE_READ

static struct ibv_context *contexts[2];
static struct ibv_pd *pds[2];
/* on rxe0, and on both devices */
static struct hmr_domain *dom, *both;

/* ---- what is checked ---- */

static const char *device_name(unsigned int i)
{
	return i ? "rxe1" : "rxe0";
}

static int open_device(struct ibv_device **list, unsigned int i)
{
	for (; *list; list++)
		if (!strcmp(ibv_get_device_name(*list), device_name(i)))
			contexts[i] = ibv_open_device(*list);
	pds[i] = contexts[i] ? ibv_alloc_pd(contexts[i]) : NULL;
	return pds[i] ? 0 : -1;
}

static int open_devices(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int ret = -1;

	if (list && !open_device(list, 0) && !open_device(list, 1) &&
	    !hmr_domain_open(pds, 1, NULL, &dom))
		ret = hmr_domain_open(pds, 2, NULL, &both);
	if (list)
		ibv_free_device_list(list);
	return ret;
}

static int close_devices(void **state)
{
	unsigned int i;
	int ret = hmr_domain_close(dom) | hmr_domain_close(both);

	for (i = 0; i < 2; i++)
		ret |= ibv_dealloc_pd(pds[i]) | ibv_close_device(contexts[i]);
	return ret;
}

static uint64_t pinned(void)
{
	return look_status(getpid(), "VmPin");
}

/* Nothing of this process, or of one before it, may be left. */
static void assert_nothing_is_left(void)
{
	assert_int_equal(look_mrs("rxe0"), 0);
	assert_int_equal(look_mrs("rxe1"), 0);
	assert_int_equal(pinned(), 0);
	/* Without privileges the counters can't be made to catch up; the parent
	 * asks again in the end. */
	if (!geteuid())
		assert_int_equal(look_pins(), 0);
}

/* The answer of this kernel: 0, or what the library made of it. */
static int try_on(struct hmr_domain *d, void *addr, size_t length, int access)
{
	HMR_OPTS(hmr_register_opts, opts, .threads = 1);
	struct hmr_region *const before = (void *)0x1234;
	struct hmr_region *region = before;
	int ret = hmr_register(d, addr, length, access, &opts, &region);

	if (ret) {
		assert_ptr_equal(region, before);
		assert_string_equal(hmr_last_error()->op, "hmr_register");
		assert_ptr_equal(hmr_last_error()->addr, addr);
		assert_int_equal(hmr_last_error()->length, length);
		print_message("  %s\n", hmr_last_error()->text);
	} else {
		assert_int_equal(hmr_deregister(region), 0);
	}
	assert_nothing_is_left();
	return ret;
}

static int try_reg(void *addr, size_t length, int access)
{
	return try_on(dom, addr, length, access);
}

static void check_error(int ret, int err, enum hmr_cause cause,
			const char *part, const char *file, int line)
{
	const struct hmr_error *e = hmr_last_error();

	if (ret == err && (!ret || (e->err == err && e->cause == cause &&
				    strstr(e->text, part))))
		return;
	print_error("%s:%d: %d, %s: '%s'\nand not %d, %s: '%s'\n", file, line,
		    ret, ret ? hmr_cause_name(e->cause) : "",
		    ret ? e->text : "", err, hmr_cause_name(cause), part);
	fail();
}

#define assert_error(ret, err, cause, part) \
	check_error(ret, err, HMR_CAUSE_##cause, part, __FILE__, __LINE__)

#define assert_fine(ret) \
	check_error(ret, 0, HMR_CAUSE_UNKNOWN, "", __FILE__, __LINE__)

static char *map(size_t length, int prot, int flags, int fd)
{
	char *p = mmap(NULL, length, prot, flags, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static char *map_anon(size_t length, int prot)
{
	return map(length, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* ---- arguments ---- */

static void arguments(void **state)
{
	static char memory[2 * PAGE];
	char *last = (char *)-PAGE;

	assert_error(try_reg(memory, 0, LW), -EINVAL, ARGUMENT, "0 bytes");
	assert_error(try_reg(last, 2 * PAGE, LW), -EINVAL, ARGUMENT,
		     "not a range");
	assert_error(try_reg(memory, SIZE_MAX, LW), -EINVAL, ARGUMENT,
		     "not a range");
	assert_error(try_reg(memory, PAGE, IBV_ACCESS_REMOTE_WRITE), -EINVAL,
		     ARGUMENT, "LOCAL_WRITE");
	assert_error(try_reg(memory, PAGE, 1 << 30), -EINVAL, ARGUMENT,
		     "unknown access");
	/* The kernel's half of the address space is a range, of nothing. */
	assert_error(try_reg((void *)0xffff888000000000, PAGE, LW), -EFAULT,
		     HOLE, "isn't mapped");
}

static int try_mr(void *addr, size_t length, int access)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = hmr_reg_mr(pds[0], addr, length, access);
	if (mr) {
		assert_int_equal(hmr_dereg_mr(mr), 0);
		return 0;
	}
	print_message("  %s\n", hmr_last_error()->text);
	assert_int_equal(errno, -hmr_last_error()->err);
	return -errno;
}

/* hmr_reg_mr() leaves them to the kernel, as ibv_reg_mr() does. */
static void arguments_of_the_verbs_own_call(void **state)
{
	static char memory[PAGE];
	int ret;

	ret = try_mr(memory, 0, LW);
	assert_true(ret == -EINVAL || ret == 0);
	ret = try_mr((char *)-PAGE, 2 * PAGE, LW);
	assert_true(ret == -EINVAL || ret == -EFAULT || ret == -EOVERFLOW);
	assert_error(try_mr(memory, PAGE, IBV_ACCESS_REMOTE_WRITE), -EINVAL,
		     UNKNOWN, "not known");
	assert_nothing_is_left();
}

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

/* ---- files ---- */

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

/* ---- max_map_count ---- */

#define MAX_MAP_COUNT "/proc/sys/vm/max_map_count"

static void set_max_map_count(uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	assert_int_equal(look_write(MAX_MAP_COUNT, text), 0);
}

/* From a limit that there is nothing left of on, until it does. */
static void max_map_count(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K);
	uint64_t usual = look_number(MAX_MAP_COUNT), limit;
	unsigned int now = look_mappings(), refused = 0;
	struct hmr_buffer *buf;
	int ret;

	for (limit = now - 2;; limit++) {
		set_max_map_count(limit);
		ret = hmr_buffer_alloc(1 * MIB, &opts, &buf);
		set_max_map_count(usual);
		if (!ret)
			break;
		print_message("  %s\n", hmr_last_error()->text);
		assert_error(ret, -ENOMEM, MAP_COUNT, "max_map_count");
		assert_int_equal(look_mappings(), now);
		assert_true(refused++ < 8);
	}
	assert_true(refused > 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(look_mappings(), now);
}

/* ---- access that a device lacks ---- */

static uint32_t odp_caps(void)
{
	struct ibv_device_attr_ex attr = { 0 };

	if (ibv_query_device_ex(contexts[0], NULL, &attr))
		return 0;
	return (uint32_t)attr.odp_caps.general_caps;
}

static void access_flags(void **state)
{
	char *p = map_anon(1 * MIB, PROT_READ | PROT_WRITE);
	struct ibv_device_attr attr;
	int ret;

	assert_int_equal(ibv_query_device(contexts[0], &attr), 0);
	ret = try_reg(p, 1 * MIB, LW | IBV_ACCESS_ON_DEMAND);
	if (odp_caps() & IBV_ODP_SUPPORT)
		assert_fine(ret);
	else
		assert_error(ret, -EOPNOTSUPP, ACCESS, "ON_DEMAND");

	ret = try_reg(p, 1 * MIB, LW | IBV_ACCESS_MW_BIND);
	print_message("  MW_BIND: %d, of %d windows\n", ret, attr.max_mw);
	if (ret)
		assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_ACCESS);

	ret = try_reg(p, 1 * MIB, LW | IBV_ACCESS_HUGETLB);
	print_message("  HUGETLB on base pages: %d\n", ret);
	if (ret == -EOPNOTSUPP)
		assert_error(ret, -EOPNOTSUPP, NOT_SUPPORTED, "access flags");
	else if (ret)
		assert_error(ret, -EINVAL, ACCESS, "IBV_ACCESS_HUGETLB");

	/* A wish, and not a demand */
	assert_fine(try_reg(p, 1 * MIB, LW | IBV_ACCESS_RELAXED_ORDERING));
	assert_fine(try_reg(p, 1 * MIB,
			    LW | RR | IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_REMOTE_ATOMIC));
	munmap(p, 1 * MIB);
}

/* ---- a limit of one MiB, and no CAP_IPC_LOCK ---- */

static struct hmr_region *must_register(struct hmr_domain *d, void *addr,
					size_t length)
{
	struct hmr_region *region;

	assert_fine(hmr_register(d, addr, length, LW, NULL, &region));
	return region;
}

static void memlock(void **state)
{
	char *p = map_anon(2 * MIB, PROT_READ | PROT_WRITE);
	const struct hmr_error *e = hmr_last_error();

	assert_error(try_reg(p, 2 * MIB, LW), -ENOMEM, MEMLOCK,
		     "RLIMIT_MEMLOCK: 2 MiB to pin and 0 bytes pinned already, "
		     "but the limit is 1 MiB");
	assert_string_equal(e->device, "rxe0");
	assert_int_equal(e->need, 2 * MIB);
	assert_int_equal(e->have, 1 * MIB);
	assert_non_null(strstr(e->text, "CAP_IPC_LOCK is missing"));
	assert_non_null(strstr(e->text, "ulimit -l 2048"));
	/* A byte too many is a page too many. */
	assert_fine(try_reg(p, 1 * MIB, LW));
	assert_error(try_reg(p + 1, 1 * MIB, LW), -ENOMEM, MEMLOCK, "ulimit");
	assert_int_equal(e->need, 1 * MIB + PAGE);
	munmap(p, 2 * MIB);
}

static void memlock_with_bytes_pinned_already(void **state)
{
	char *p = map_anon(2 * MIB, PROT_READ | PROT_WRITE);
	const struct hmr_error *e = hmr_last_error();
	struct hmr_region *first = must_register(dom, p, 768 * KIB), *second;

	assert_int_equal(pinned(), 768 * KIB);
	assert_error(hmr_register(dom, p + MIB, 512 * KIB, LW, NULL, &second),
		     -ENOMEM, MEMLOCK,
		     "512 KiB to pin and 768 KiB pinned already");
	assert_int_equal(e->need, 1280 * KIB);
	assert_int_equal(pinned(), 768 * KIB);
	/* The same pages count again. */
	assert_error(hmr_register(dom, p, 512 * KIB, LW, NULL, &second),
		     -ENOMEM, MEMLOCK, "768 KiB pinned already");
	second = must_register(dom, p + MIB, 256 * KIB);
	assert_int_equal(pinned(), 1 * MIB);
	assert_int_equal(hmr_deregister(second), 0);
	assert_int_equal(hmr_deregister(first), 0);
	munmap(p, 2 * MIB);
}

/* The second device is refused what the first got: both are without it. */
static void memlock_on_two_devices(void **state)
{
	char *p = map_anon(2 * MIB, PROT_READ | PROT_WRITE);
	const struct hmr_error *e = hmr_last_error();
	struct hmr_region *region;

	assert_error(try_on(both, p, 640 * KIB, LW), -ENOMEM, MEMLOCK,
		     "640 KiB to pin on each of 2 PDs and 0 bytes pinned");
	assert_string_equal(e->device, "rxe1");
	assert_int_equal(e->need, 1280 * KIB);
	assert_int_equal(e->have, 1 * MIB);
	region = must_register(both, p, 512 * KIB);
	assert_int_equal(look_mrs("rxe0"), 1);
	assert_int_equal(look_mrs("rxe1"), 1);
	assert_int_equal(pinned(), 1 * MIB);
	assert_int_equal(hmr_deregister(region), 0);
	munmap(p, 2 * MIB);
}

/* Of five chunks on two devices, whichever doesn't fit any more. */
static void memlock_amid_chunks(void **state)
{
	HMR_OPTS(hmr_register_opts, opts, .chunk = 128 * KIB, .threads = 4);
	char *p = map_anon(2 * MIB, PROT_READ | PROT_WRITE);
	struct hmr_region *region;

	assert_error(hmr_register(both, p + 1, 640 * KIB - 1, LW, &opts,
				  &region),
		     -ENOMEM, MEMLOCK, "640 KiB to pin on each of 2 PDs");
	assert_nothing_is_left();
	munmap(p, 2 * MIB);
}

static void plan_knows_the_limit(void **state)
{
	HMR_OPTS(hmr_plan_opts, opts, .access = LW);
	HMR_RESULT(hmr_plan, plan);
	unsigned int i, found = 0;

	assert_int_equal(hmr_plan(both, 640 * KIB, &opts, &plan), 0);
	assert_int_equal(plan.verdict, HMR_VERDICT_FAIL);
	for (i = 0; i < plan.n; i++) {
		if (plan.checks[i].cause != HMR_CAUSE_MEMLOCK)
			continue;
		found++;
		assert_int_equal(plan.checks[i].verdict, HMR_VERDICT_FAIL);
		assert_int_equal(plan.checks[i].need, 1280 * KIB);
		assert_int_equal(plan.checks[i].have, 1 * MIB);
	}
	assert_int_equal(found, 1);
}

static void nothing_is_left(void **state)
{
	assert_nothing_is_left();
}

static int unprivileged(void)
{
	const struct rlimit limit = { 1 * MIB, 1 * MIB };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memlock),
		cmocka_unit_test(memlock_with_bytes_pinned_already),
		cmocka_unit_test(memlock_on_two_devices),
		cmocka_unit_test(memlock_amid_chunks),
		cmocka_unit_test(plan_knows_the_limit),
		cmocka_unit_test(nothing_is_left),
	};

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgroups(0, NULL) ||
	    setgid(65534) || setuid(65534))
		return 1;
	return cmocka_run_group_tests(tests, open_devices, close_devices);
}

/* Privileges don't come back, so that is another process. */
static void without_privileges(void **state)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		execl("/proc/self/exe", "refusals", "unprivileged", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments),
		cmocka_unit_test(arguments_of_the_verbs_own_call),
		cmocka_unit_test(read_only),
		cmocka_unit_test(hole),
		cmocka_unit_test(end_of_a_file),
		cmocka_unit_test(no_access),
		cmocka_unit_test(device_memory),
		cmocka_unit_test(file_on_tmpfs),
		cmocka_unit_test(file_on_ext4),
		cmocka_unit_test(file_on_overlay),
		cmocka_unit_test(file_cut_short),
		cmocka_unit_test(max_map_count),
		cmocka_unit_test(access_flags),
		cmocka_unit_test(without_privileges),
		cmocka_unit_test(nothing_is_left),
	};

	if (argc == 2 && !strcmp(argv[1], "unprivileged"))
		return unprivileged();
	return cmocka_run_group_tests(tests, open_devices, close_devices);
}
