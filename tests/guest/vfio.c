// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * vfio [PATTERN]: what mapping memory for a device of VFIO must keep to, whatever
 * the kernel does to be fast at it. The device is QEMU's edu, which has a buffer
 * of 4 KiB and copies to and from it by DMA, through an IOMMU. Runs in a guest of
 * vm/run --iommu with 2 GiB and 64 pages of 2 MiB, as root.
 */
#include <linux/capability.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "look.h"
#include "pins.h"
#include "vfio.h"

/* What edu can address ends at 256 MiB, see docs/specs/edu.rst of QEMU. */
#define IOVA (64 * MIB)
#define BOUNCE_IOVA (16 * MIB)
/* of edu: registers, and its buffer as it sees that itself */
#define DMA_FROM 0x80
#define DMA_TO 0x88
#define DMA_COUNT 0x90
#define DMA_COMMAND 0x98
#define DMA_START 1u
#define DMA_TO_MEMORY 2u
#define BUFFER 0x40000ul
/* QEMU before 8.2 takes the last byte of the buffer for out of bounds. */
#define CHUNK (PAGE - 8)
#define PCI_COMMAND 4
#define PCI_COMMAND_MASTER 4

#define MAX_TESTS 100

static struct vfio vfio;
static int edu = -1;
static volatile char *registers;
static char *bounce;
static struct {
	int64_t pins;
	uint64_t locked;
} before;

/* VmPin, or VmLck where that is what VFIO accounts to */
static uint64_t locked(void)
{
	return look_status(getpid(), "VmPin") + look_status(getpid(), "VmLck");
}

static int try_map(const void *addr, uint64_t iova, size_t length,
		   uint32_t flags)
{
	struct vfio_iommu_type1_dma_map m = {
		.argsz = sizeof(m),
		.flags = VFIO_DMA_MAP_FLAG_READ | flags,
		.vaddr = (uintptr_t)addr,
		.iova = iova,
		.size = length,
	};

	return ioctl(vfio.container, VFIO_IOMMU_MAP_DMA, &m) ? -errno : 0;
}

static void map(const void *addr, uint64_t iova, size_t length)
{
	assert_int_equal(try_map(addr, iova, length, VFIO_DMA_MAP_FLAG_WRITE),
			 0);
}

/* How many bytes were unmapped, or -errno */
static long unmap(uint64_t iova, size_t length)
{
	struct vfio_iommu_type1_dma_unmap u = {
		.argsz = sizeof(u),
		.iova = iova,
		.size = length,
	};

	if (ioctl(vfio.container, VFIO_IOMMU_UNMAP_DMA, &u))
		return -errno;
	return (long)u.size;
}

/* ---- edu ---- */

static void set(size_t where, uint64_t value)
{
	*(volatile uint64_t *)(registers + where) = value;
}

/* From or to memory; it takes edu 100 ms. */
static void transfer(uint64_t iova, unsigned int direction)
{
	set(DMA_FROM, direction ? BUFFER : iova);
	set(DMA_TO, direction ? iova : BUFFER);
	set(DMA_COUNT, CHUNK);
	set(DMA_COMMAND, DMA_START | direction);
	while (*(volatile uint64_t *)(registers + DMA_COMMAND) & DMA_START)
		usleep(1000);
}

/* At addr, by the name of iova, the device reads what is there, and what it
 * writes is there then. */
static void check(char *addr, uint64_t iova)
{
	pins_fill(addr, CHUNK, iova);
	memset(bounce, 0, CHUNK);
	transfer(iova, 0);
	transfer(BOUNCE_IOVA, DMA_TO_MEMORY);
	assert_memory_equal(bounce, addr, CHUNK);

	pins_fill(bounce, CHUNK, ~iova);
	transfer(BOUNCE_IOVA, 0);
	transfer(iova, DMA_TO_MEMORY);
	assert_memory_equal(bounce, addr, CHUNK);
}

/* Around borders of 2 MiB, where chunks end, and the ends */
static void check_some(char *addr, uint64_t iova, size_t length)
{
	const size_t at[] = { 0, HUGE - PAGE, HUGE, 2 * HUGE - PAGE,
			      length - PAGE };
	size_t i;

	for (i = 0; i < sizeof(at) / sizeof(*at); i++)
		if (at[i] < length)
			check(addr + at[i], iova + at[i]);
}

static int open_edu(void **state)
{
	struct vfio_region_info region = {
		.argsz = sizeof(region),
		.index = VFIO_PCI_CONFIG_REGION_INDEX,
	};
	uint16_t command;

	pins_allow_pages();
	vfio_open(&vfio, NULL);
	edu = ioctl(vfio.group, VFIO_GROUP_GET_DEVICE_FD, vfio.device);
	if (edu < 0 || ioctl(edu, VFIO_DEVICE_GET_REGION_INFO, &region))
		return -1;
	if (pread(edu, &command, 2, (off_t)region.offset + PCI_COMMAND) != 2)
		return -1;
	command |= PCI_COMMAND_MASTER;
	if (pwrite(edu, &command, 2, (off_t)region.offset + PCI_COMMAND) != 2)
		return -1;
	region.index = VFIO_PCI_BAR0_REGION_INDEX;
	if (ioctl(edu, VFIO_DEVICE_GET_REGION_INFO, &region))
		return -1;
	registers = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, edu,
			 (off_t)region.offset);
	bounce = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (registers == MAP_FAILED || bounce == MAP_FAILED)
		return -1;
	return try_map(bounce, BOUNCE_IOVA, PAGE, VFIO_DMA_MAP_FLAG_WRITE);
}

/* What holds the device would keep vfio_open() from giving it back. */
static int close_edu(void **state)
{
	unmap(BOUNCE_IOVA, PAGE);
	munmap((void *)registers, PAGE);
	return close(edu);
}

/* ---- before and after each test ---- */

static int setup(void **state)
{
	before.pins = look_pins();
	before.locked = locked();
	return 0;
}

static int teardown(void **state)
{
	unmap(IOVA, 2 * LENGTH);
	if (look_pins() != before.pins || locked() != before.locked) {
		print_error("%lld pages stay pinned, %lld bytes locked\n",
			    (long long)(look_pins() - before.pins),
			    (long long)(locked() - before.locked));
		return -1;
	}
	return 0;
}

/* ---- tests ---- */

static void whole(void **state)
{
	char *addr = pins_map(*state);

	map(addr, IOVA, LENGTH);
	assert_int_equal(locked() - before.locked, LENGTH);
	check_some(addr, IOVA, LENGTH);
	assert_int_equal(unmap(IOVA, LENGTH), LENGTH);
	assert_int_equal(locked(), before.locked);
	assert_int_equal(look_pins(), before.pins);
	munmap(addr, LENGTH);
}

/* Chunks of memory end elsewhere than iovas are aligned to. */
static void askew(void **state)
{
	const uint64_t iova = IOVA + 3 * PAGE;
	char *addr = pins_map(*state);

	map(addr + PAGE, iova, LENGTH - 2 * PAGE);
	check_some(addr + PAGE, iova, LENGTH - 2 * PAGE);
	check(addr + HUGE, iova + HUGE - PAGE);
	assert_int_equal(unmap(iova, LENGTH - 2 * PAGE), LENGTH - 2 * PAGE);
	munmap(addr, LENGTH);
}

/* Mappings side by side are unmapped together; one isn't in part. */
static void pieces(void **state)
{
	const size_t cut = HUGE + 5 * PAGE;
	char *addr = pins_map(*state);

	map(addr, IOVA, cut);
	map(addr + cut, IOVA + cut, LENGTH - cut);
	assert_int_equal(try_map(addr, IOVA + PAGE, PAGE, 0), -EEXIST);
	check(addr + cut - PAGE, IOVA + cut - PAGE);
	check(addr + cut, IOVA + cut);
	assert_int_equal(unmap(IOVA, cut - PAGE), -EINVAL);
	assert_int_equal(unmap(IOVA + cut + PAGE, LENGTH), -EINVAL);
	assert_int_equal(locked() - before.locked, LENGTH);
	check(addr + cut - 2 * PAGE, IOVA + cut - 2 * PAGE);
	assert_int_equal(unmap(IOVA, LENGTH), LENGTH);
	munmap(addr, LENGTH);
}

/* The same memory twice, and gone from this process before it is unmapped */
static void twice(void **state)
{
	char *addr = pins_map(*state);

	map(addr, IOVA, LENGTH);
	map(addr, IOVA + LENGTH, LENGTH);
	assert_int_equal(locked() - before.locked, 2 * LENGTH);
	check(addr + HUGE, IOVA + HUGE);
	assert_int_equal(unmap(IOVA, LENGTH), LENGTH);
	check(addr + HUGE, IOVA + LENGTH + HUGE);
	munmap(addr, LENGTH);
	assert_int_equal(unmap(IOVA + LENGTH, LENGTH), LENGTH);
}

static void allow_locking(bool allow)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	assert_int_equal(syscall(SYS_capget, &header, data), 0);
	if (allow)
		data[0].effective |= 1u << CAP_IPC_LOCK;
	else
		data[0].effective &= ~(1u << CAP_IPC_LOCK);
	assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

/* The limit is met within a run, after others were counted; nothing is left. */
static void beyond_limit(void **state)
{
	struct rlimit old, limit;
	char *addr = pins_map(*state);
	int ret;

	getrlimit(RLIMIT_MEMLOCK, &old);
	limit = old;
	limit.rlim_cur = before.locked + LENGTH - PAGE;
	assert_int_equal(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	allow_locking(false);
	ret = try_map(addr, IOVA, LENGTH, VFIO_DMA_MAP_FLAG_WRITE);
	assert_int_equal(locked(), before.locked);
	assert_int_equal(look_pins(), before.pins);
	if (ret == -ENOMEM)
		map(addr, IOVA, LENGTH - PAGE);
	allow_locking(true);
	setrlimit(RLIMIT_MEMLOCK, &old);
	assert_int_equal(ret, -ENOMEM);
	assert_int_equal(unmap(IOVA, LENGTH), LENGTH - PAGE);
	munmap(addr, LENGTH);
}

/* A hole ends it, and what was pinned before is released. */
static void with_hole(void **state)
{
	char *addr = pins_map(*state);

	munmap(addr + 2 * HUGE, HUGE);
	assert_int_equal(try_map(addr, IOVA, LENGTH, VFIO_DMA_MAP_FLAG_WRITE),
			 -EFAULT);
	assert_int_equal(look_pins(), before.pins);
	assert_int_equal(unmap(IOVA, LENGTH), 0);
	munmap(addr, LENGTH);
}

static const struct {
	const char *name;
	void (*run)(void **state);
} each[] = {
	{ "whole", whole },
	{ "askew", askew },
	{ "pieces", pieces },
	{ "twice", twice },
	{ "beyond limit", beyond_limit },
	{ "with hole", with_hole },
};

#define N_EACH (sizeof(each) / sizeof(*each))

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[MAX_TESTS];
	size_t n = 0, i, j;
	char *name;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < N_EACH; i++) {
		for (j = 0; j < pins_n_kinds; j++) {
			if (asprintf(&name, "%s: %s", each[i].name,
				     pins_kinds[j].name) < 0 ||
			    n == MAX_TESTS)
				abort();
			tests[n++] = (struct CMUnitTest){
				.name = name,
				.test_func = each[i].run,
				.setup_func = setup,
				.teardown_func = teardown,
				.initial_state = (void *)&pins_kinds[j],
			};
		}
	}
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return _cmocka_run_group_tests("vfio", tests, n, open_edu, close_edu);
}
