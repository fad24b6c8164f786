// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Each rule of explain.c: the facts under which it speaks, and those under
 * which it must not. Of the host it sees a directory tree, of the process real
 * mappings unless a test makes up its smaps. */
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "explain.h"
#include "fake_device.h"
#include "readfile.h"
#include "tree.h"
#include "vma.h"

#define LW IBV_ACCESS_LOCAL_WRITE
#define RR IBV_ACCESS_REMOTE_READ
#define MIB (1ul << 20)
#define GIB (1ul << 30)

static struct fake_device *const device = &fake_devices[0];

/* ---- the process and its mappings ---- */

static void set_memlock(const char *soft, const char *hard)
{
	tree_put("/proc/self/limits",
		 "Max locked memory         %-20s %-20s bytes     \n", soft,
		 hard);
}

static void set_status(unsigned long pinned_kb, unsigned long long caps)
{
	tree_put("/proc/thread-self/status",
		 "Name:\tx\nVmPin:\t%8lu kB\nCapEff:\t%016llx\n", pinned_kb,
		 caps);
}

static char smaps_path[128];

/* Instead of the real ones. */
static void set_smaps(const char *text)
{
	tree_put("/smaps", "%s", text);
	snprintf(smaps_path, sizeof(smaps_path), "%s/smaps", tree_root);
	hmr_smaps_path = smaps_path;
}

#define ADDR 0x7f0000000000ul

/* One mapping at ADDR, of @mib MiB of hugetlb pages of 2 MiB. */
static void set_hugetlb(uintptr_t addr, unsigned int mib, unsigned int present)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "%lx-%lx rw-p 00000000 00:0f 7 /anon_hugepage (deleted)\n"
		 "KernelPageSize:     2048 kB\n"
		 "Rss:                   0 kB\n"
		 "Private_Hugetlb: %u kB\n"
		 "VmFlags: rd wr mr mw me de ht\n",
		 addr, addr + mib * MIB, present << 10);
	set_smaps(text);
}

static void set_file(const char *perms, const char *dev, const char *name)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "%lx-%lx %s 00000000 %s 1234       %s\n"
		 "KernelPageSize:        4 kB\n"
		 "Rss:                   4 kB\n"
		 "VmFlags: rd wr sh mr mw me ms\n",
		 ADDR, ADDR + 4096, perms, dev, name);
	set_smaps(text);
}

static void *map(size_t length, int prot)
{
	void *p = mmap(NULL, length, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static int setup(void **state)
{
	fake_device_setup();
	hmr_root = tree_root;
	hmr_smaps_path = "/proc/self/smaps";
	unsetenv("RDMAV_HUGEPAGES_SAFE");
	return tree_setup(state);
}

/* ---- what it says ---- */

static struct hmr_error error;

static enum hmr_cause explain_call(int err, const void *addr, size_t length,
				   int access, const struct hmr_reg_facts *call)
{
	error = (struct hmr_error){
		.op = "test",
		.err = -err,
		.addr = addr,
		.length = length,
		.access = access,
	};
	assert_int_equal(hmr_fail_reg_call(&error, fake_pds[0].context, call),
			 -err);
	assert_string_equal(error.device, "fake0");
	error = *hmr_last_error();
	return error.cause;
}

static enum hmr_cause explain(int err, const void *addr, size_t length,
			      int access)
{
	return explain_call(err, addr, length, access, NULL);
}

#define assert_says(part)                                                    \
	do {                                                                 \
		if (!strstr(error.text, part))                               \
			fail_msg("'%s' doesn't say '%s'", error.text, part); \
	} while (0)

static void memlock(void **state)
{
	char *p = map(MIB, PROT_READ | PROT_WRITE);

	/* 64 KiB of limit, 8 KiB pinned; 60 KiB is too much, 56 KiB fits. */
	set_memlock("65536", "131072");
	set_status(8, 0);
	assert_int_equal(explain(ENOMEM, p, 60 << 10, LW), HMR_CAUSE_MEMLOCK);
	assert_says("RLIMIT_MEMLOCK: 60 KiB to pin and 8 KiB pinned");
	assert_says("limit is 64 KiB (hard limit 128 KiB)");
	assert_says("CAP_IPC_LOCK is missing");
	assert_says("ulimit -l 68,");
	assert_int_equal(error.need, 68 << 10);
	assert_int_equal(error.have, 64 << 10);
	assert_int_equal(explain(ENOMEM, p, 56 << 10, LW), HMR_CAUSE_UNKNOWN);
	assert_int_equal(error.need, 0);
	/* Whole pages count: 2 bytes across a border are two of them. */
	assert_int_equal(explain(ENOMEM, p + 4095, 56 << 10, LW),
			 HMR_CAUSE_MEMLOCK);
	assert_says("RLIMIT_MEMLOCK: 60 KiB");
	set_memlock("65536", "unlimited");
	explain(ENOMEM, p, 60 << 10, LW);
	assert_says("hard limit unlimited");
	/* Other errors have other causes. */
	assert_int_equal(explain(EFAULT, p, 60 << 10, LW), HMR_CAUSE_UNKNOWN);
	/* What is paged on demand, and dmabufs, aren't counted. */
	assert_int_equal(explain(ENOMEM, p, 60 << 10,
				 LW | IBV_ACCESS_ON_DEMAND),
			 HMR_CAUSE_UNKNOWN);
	assert_int_equal(
		explain_call(ENOMEM, p, 60 << 10, LW,
			     &(struct hmr_reg_facts){ .dmabuf = true }),
		HMR_CAUSE_UNKNOWN);
	munmap(p, MIB);
}

static void memlock_on_several_pds(void **state)
{
	char *p = map(MIB, PROT_READ | PROT_WRITE);
	struct hmr_reg_facts call = { .pds = 2 };

	set_memlock("65536", "65536");
	set_status(0, 0);
	/* The first chunk was refused; the call as a whole is what counts. */
	call.addr = p;
	call.length = 4096;
	assert_int_equal(explain_call(ENOMEM, p, 36 << 10, LW, &call),
			 HMR_CAUSE_MEMLOCK);
	assert_says("36 KiB to pin on each of 2 PDs and 0 bytes pinned");
	assert_int_equal(error.need, 72 << 10);
	assert_int_equal(explain_call(ENOMEM, p, 32 << 10, LW, &call),
			 HMR_CAUSE_UNKNOWN);
	munmap(p, MIB);
}

static void memlock_and_capability(void **state)
{
	char *p = map(MIB, PROT_READ | PROT_WRITE);

	set_memlock("65536", "65536");
	set_status(8, 1ull << 14);
	assert_int_equal(explain(ENOMEM, p, MIB, LW), HMR_CAUSE_UNKNOWN);
	set_status(8, ~(1ull << 14));
	assert_int_equal(explain(ENOMEM, p, MIB, LW), HMR_CAUSE_MEMLOCK);
	set_status(8, 1ull << 14);
	tree_put("/proc/self/uid_map", "0 1000 1\n");
	assert_int_equal(explain(ENOMEM, p, MIB, LW), HMR_CAUSE_MEMLOCK);
	assert_says("CAP_IPC_LOCK counts for nothing in a user namespace");
	munmap(p, MIB);
}

static void max_map_count(void **state)
{
	char *p = map(MIB, PROT_READ | PROT_WRITE);

	tree_put("/proc/self/maps", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
	tree_put("/proc/sys/vm/max_map_count", "10\n");
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	fake_fork_status = IBV_FORK_DISABLED;
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	fake_fork_status = IBV_FORK_ENABLED;
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_MAP_COUNT);
	assert_int_equal(explain(EAGAIN, p, 4096, LW), HMR_CAUSE_MAP_COUNT);
	assert_says("9 mappings of 10");
	assert_says("sysctl vm.max_map_count=20");
	assert_int_equal(error.need, 11);
	assert_int_equal(error.have, 10);
	tree_put("/proc/sys/vm/max_map_count", "11\n");
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	munmap(p, MIB);
}

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

static void hugetlb_after_fork_init(void **state)
{
	struct hmr_reg_facts chunk = {
		.addr = (void *)(ADDR + MIB),
		.length = 3 * MIB,
	};

	set_hugetlb(ADDR, 8, 8);
	/* unaligned at its end, at its start, and neither */
	fake_fork_status = IBV_FORK_ENABLED;
	assert_int_equal(explain(EINVAL, (void *)ADDR, 3 * MIB, LW),
			 HMR_CAUSE_FORK_ALIGN);
	assert_says("hugetlb page of 2 MiB");
	assert_int_equal(error.need, 2 * MIB);
	assert_int_equal(error.have, MIB);
	assert_int_equal(explain(EINVAL, (void *)(ADDR + MIB), 3 * MIB, LW),
			 HMR_CAUSE_FORK_ALIGN);
	assert_int_equal(explain(EINVAL, (void *)(ADDR + 2 * MIB), 4 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
	/* to its end but for a byte of the last base page: nothing is cut */
	assert_int_equal(explain(EINVAL, (void *)ADDR, 8 * MIB - 1, LW),
			 HMR_CAUSE_UNKNOWN);
	/* the chunk that was refused begins within a page */
	assert_int_equal(explain_call(EINVAL, (void *)ADDR, 8 * MIB, LW,
				      &chunk),
			 HMR_CAUSE_FORK_ALIGN);
	/* libibverbs rounds by itself, as it does where it isn't needed */
	setenv("RDMAV_HUGEPAGES_SAFE", "1", 1);
	assert_int_equal(explain(EINVAL, (void *)ADDR, 3 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
	unsetenv("RDMAV_HUGEPAGES_SAFE");
	fake_fork_status = IBV_FORK_UNNEEDED;
	assert_int_equal(explain(EINVAL, (void *)ADDR, 3 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
	/* base pages can be cut anywhere */
	fake_fork_status = IBV_FORK_ENABLED;
	set_file("rw-p", "00:00", "");
	assert_int_equal(explain(EINVAL, (void *)ADDR, 100, LW),
			 HMR_CAUSE_UNKNOWN);
}

/* What libibverbs does that was told to mark MRs. The page that is registered
 * for it to show is a real one, whatever the smaps that a test made up. */
static void mark(void *addr, size_t length)
{
	assert_int_equal(madvise(addr, length, MADV_DONTFORK), 0);
	hmr_smaps_path = "/proc/self/smaps";
}

static void do_not_mark(void *addr, size_t length)
{
	hmr_smaps_path = "/proc/self/smaps";
}

/* ibv_is_fork_initialized() says that there is no need, and may be right. */
static void marks_without_need(void **state)
{
	struct hmr_reg_facts call = { .pd = &fake_pds[0] };
	char *p = map(MIB, PROT_READ | PROT_WRITE);
	unsigned int i;

	tree_put("/proc/self/maps", "1\n2\n3\n");
	tree_put("/proc/sys/vm/max_map_count", "4\n");
	for (i = 0; i < 3; i++) {
		fake_device_on_reg = i == 2 ? mark : i ? do_not_mark : NULL;
		set_hugetlb(ADDR, 8, 8);
		assert_int_equal(
			explain_call(EINVAL, (void *)ADDR, 3 * MIB, LW, &call),
			i == 2 ? HMR_CAUSE_FORK_ALIGN : HMR_CAUSE_UNKNOWN);
		hmr_smaps_path = "/proc/self/smaps";
		assert_int_equal(explain_call(EAGAIN, p, 4096, LW, &call),
				 i == 2 ? HMR_CAUSE_MAP_COUNT :
					  HMR_CAUSE_UNKNOWN);
	}
	/* What is marked already isn't split. */
	fake_fork_status = IBV_FORK_ENABLED;
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_MAP_COUNT);
	assert_int_equal(madvise(p, MIB, MADV_DONTFORK), 0);
	assert_int_equal(explain(ENOMEM, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	munmap(p, MIB);
}

static void hugetlb_pool(void **state)
{
	/* 3 of 4 pages aren't there */
	set_hugetlb(ADDR, 8, 2);
	tree_pool(2048, 10, 2, 2, 0, 0);
	assert_int_equal(explain(EFAULT, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_POOL);
	assert_says("3 hugetlb pages of it aren't there yet");
	assert_says("has 2 free");
	assert_int_equal(error.need, 3);
	assert_int_equal(error.have, 2);
	/* what is reserved may be so for this mapping; and the pool may grow */
	tree_pool(2048, 10, 3, 3, 0, 0);
	assert_int_equal(explain(EFAULT, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
	tree_pool(2048, 10, 2, 2, 0, 1);
	assert_int_equal(explain(ENOMEM, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
	/* all there */
	tree_pool(2048, 10, 0, 0, 0, 0);
	set_hugetlb(ADDR, 8, 8);
	assert_int_equal(explain(EFAULT, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
}

static void hugetlb_pool_of_a_node(void **state)
{
	unsigned long node0 = 1;
	char *p = map(8 * MIB, PROT_READ | PROT_WRITE);

	if (syscall(SYS_mbind, p, 8 * MIB, MPOL_BIND, &node0, 8, 0))
		skip(); /* a kernel without NUMA */
	set_hugetlb((uintptr_t)p, 8, 2);
	tree_pool(2048, 10, 5, 0, 0, 0);
	tree_put("/sys/devices/system/node/online", "0-1\n");
	tree_node_pool(0, 2048, 5, 1);
	tree_node_pool(1, 2048, 5, 4);
	assert_int_equal(explain(EFAULT, p, 8 * MIB, LW), HMR_CAUSE_NODE_POOL);
	assert_says("bound to have 1 free");
	assert_says("node0/hugepages/hugepages-2048kB/nr_hugepages");
	assert_int_equal(error.need, 3);
	assert_int_equal(error.have, 1);
	tree_node_pool(0, 2048, 5, 3);
	assert_int_equal(explain(EFAULT, p, 8 * MIB, LW), HMR_CAUSE_UNKNOWN);
	/* without a policy any node will do */
	tree_node_pool(0, 2048, 5, 1);
	syscall(SYS_mbind, p, 8 * MIB, MPOL_DEFAULT, NULL, 0, 0);
	assert_int_equal(explain(EFAULT, p, 8 * MIB, LW), HMR_CAUSE_UNKNOWN);
	munmap(p, 8 * MIB);
}

static void hugetlb_cgroup(void **state)
{
	set_hugetlb(ADDR, 8, 2);
	tree_pool(2048, 10, 9, 0, 0, 0);
	tree_put("/proc/self/cgroup", "0::/job\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n");
	tree_put("/cg/job/hugetlb.2MB.max", "%lu\n", 6 * MIB);
	tree_put("/cg/job/hugetlb.2MB.current", "%lu\n", 2 * MIB);
	assert_int_equal(explain(EFAULT, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_CGROUP);
	assert_says("6 MiB of it have no pages yet");
	assert_says("4 MiB more of its 6 MiB");
	assert_says("raise hugetlb.2MB.max");
	assert_int_equal(error.need, 6 * MIB);
	assert_int_equal(error.have, 4 * MIB);
	tree_put("/cg/job/hugetlb.2MB.max", "%lu\n", 8 * MIB);
	assert_int_equal(explain(EFAULT, (void *)ADDR, 8 * MIB, LW),
			 HMR_CAUSE_UNKNOWN);
}

static void memory(void **state)
{
	char *p = map(64 * MIB, PROT_READ | PROT_WRITE);

	tree_put("/proc/meminfo", "MemAvailable: 32768 kB\n");
	assert_int_equal(explain(ENOMEM, p, 64 * MIB, LW), HMR_CAUSE_MEMORY);
	assert_says("64 MiB of it aren't there yet and 32 MiB");
	assert_int_equal(error.need, 64 * MIB);
	assert_int_equal(error.have, 32 * MIB);
	assert_int_equal(explain(ENOMEM, p, 32 * MIB, LW), HMR_CAUSE_UNKNOWN);
	tree_put("/proc/self/cgroup", "0::/job\n");
	tree_put("/proc/self/mountinfo",
		 "30 22 0:27 / /cg rw - cgroup2 cgroup2 rw\n");
	tree_put("/cg/job/memory.max", "%lu\n", 16 * MIB);
	tree_put("/cg/job/memory.current", "0\n");
	assert_int_equal(explain(ENOMEM, p, 32 * MIB, LW), HMR_CAUSE_MEMORY);
	assert_says("16 MiB of memory are available to the control group");
	munmap(p, 64 * MIB);
}

static void rxe_1_gib(void **state)
{
	char *p = map(GIB + 8192, PROT_READ | PROT_WRITE);

	device->attr.vendor_id = FAKE_RXE_VENDOR;
	assert_int_equal(explain(ENOMEM, p, GIB + 1, LW), HMR_CAUSE_RXE_1GIB);
	assert_says("more than 1 GiB");
	assert_int_equal(error.need, GIB + 4096);
	assert_int_equal(error.have, GIB);
	/* Exactly 1 GiB that isn't aligned touches one page more. */
	assert_int_equal(explain(ENOMEM, p + 1, GIB, LW), HMR_CAUSE_RXE_1GIB);
	assert_int_equal(explain(ENOMEM, p, GIB, LW), HMR_CAUSE_UNKNOWN);
	assert_int_equal(explain(EINVAL, p, GIB + 1, LW), HMR_CAUSE_UNKNOWN);
	device->attr.vendor_id = 0x15b3;
	assert_int_equal(explain(ENOMEM, p, GIB + 1, LW), HMR_CAUSE_UNKNOWN);
	device->attr.vendor_id = FAKE_RXE_VENDOR;
	device->err = EIO;
	assert_int_equal(explain(ENOMEM, p, GIB + 1, LW), HMR_CAUSE_UNKNOWN);
	munmap(p, GIB + 8192);
}

static void mr_size(void **state)
{
	static const int errs[] = { ENOMEM, EINVAL, EIO, ENOSPC, EOPNOTSUPP };
	char *p = map(MIB, PROT_READ | PROT_WRITE);
	unsigned int i;

	device->attr.max_mr_size = MIB / 2;
	for (i = 0; i < 5; i++)
		assert_int_equal(explain(errs[i], p, MIB / 2 + 1, LW),
				 HMR_CAUSE_MR_SIZE);
	assert_says("512 KiB at most");
	assert_int_equal(error.need, MIB / 2 + 1);
	assert_int_equal(error.have, MIB / 2);
	assert_int_equal(explain(ENOMEM, p, MIB / 2, LW), HMR_CAUSE_UNKNOWN);
	assert_int_equal(explain(EFAULT, p, MIB, LW), HMR_CAUSE_UNKNOWN);
	/* The MR is what the limit is on, not the region. */
	assert_int_equal(explain_call(ENOMEM, p, MIB, LW,
				      &(struct hmr_reg_facts){
					      .addr = p, .length = MIB / 2 }),
			 HMR_CAUSE_UNKNOWN);
	munmap(p, MIB);
}

static void device_pages(void **state)
{
	struct hmr_reg_facts call = { .max_mr_pages = 2 };
	char *p = map(4 * 4096, PROT_READ | PROT_WRITE);

	assert_int_equal(explain_call(ENOMEM, p + 1, 2 * 4096, LW, &call),
			 HMR_CAUSE_DEVICE_PAGES);
	assert_int_equal(error.need, 3);
	assert_int_equal(error.have, 2);
	assert_says("2 pages at most");
	assert_int_equal(explain_call(ENOMEM, p, 2 * 4096, LW, &call),
			 HMR_CAUSE_UNKNOWN);
	munmap(p, 4 * 4096);
}

static void mr_count(void **state)
{
	struct hmr_reg_facts call = { .mrs = 8 };
	char *p = map(4096, PROT_READ | PROT_WRITE);

	device->attr.max_mr = 8;
	assert_int_equal(explain_call(ENOMEM, p, 4096, LW, &call),
			 HMR_CAUSE_MR_COUNT);
	assert_says("8 MRs (max_mr)");
	assert_int_equal(error.need, 9);
	assert_int_equal(error.have, 8);
	device->attr.max_mr = 9;
	assert_int_equal(explain_call(ENOMEM, p, 4096, LW, &call),
			 HMR_CAUSE_UNKNOWN);
	/* mlx5's "no resources" may be that, but nobody can tell */
	assert_int_equal(explain(EAGAIN, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	assert_says("no keys left (of 9, max_mr)");
	munmap(p, 4096);
}

static void access_that_is_lacking(void **state)
{
	static const int bits[] = { IBV_ACCESS_REMOTE_ATOMIC,
				    IBV_ACCESS_MW_BIND, IBV_ACCESS_ON_DEMAND };
	static const char *const names[] = { "REMOTE_ATOMIC", "MW_BIND",
					     "ON_DEMAND" };
	char *p = map(4096, PROT_READ | PROT_WRITE);
	char text[64];
	unsigned int i;

	for (i = 0; i < 3; i++)
		assert_int_equal(explain(EINVAL, p, 4096, LW | bits[i]),
				 HMR_CAUSE_UNKNOWN);
	device->attr.atomic_cap = IBV_ATOMIC_NONE;
	device->attr.device_cap_flags = 0;
	device->ex.odp_caps.general_caps = 0;
	for (i = 0; i < 3; i++) {
		assert_int_equal(explain(EINVAL, p, 4096, LW | bits[i]),
				 HMR_CAUSE_ACCESS);
		snprintf(text, sizeof(text), "can't do %s:", names[i]);
		assert_says(text);
		assert_int_equal(explain(EOPNOTSUPP, p, 4096, LW | bits[i]),
				 HMR_CAUSE_ACCESS);
	}
	/* Asked for and lacking are two things. */
	assert_int_equal(explain(EINVAL, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	device->err = EIO;
	assert_int_equal(explain(EINVAL, p, 4096, LW | bits[0]),
			 HMR_CAUSE_UNKNOWN);
	munmap(p, 4096);
}

static void access_hugetlb(void **state)
{
	char *p = map(4096, PROT_READ | PROT_WRITE);
	int access = LW | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;

	assert_int_equal(explain(EINVAL, p, 4096, access), HMR_CAUSE_ACCESS);
	assert_says("IBV_ACCESS_HUGETLB is for hugetlb memory");
	munmap(p, 4096);
	set_hugetlb(ADDR, 4, 4);
	assert_int_equal(explain(EINVAL, (void *)ADDR, 4 * MIB, access),
			 HMR_CAUSE_UNKNOWN);
}

static void errors_that_speak_for_themselves(void **state)
{
	struct hmr_reg_facts dmabuf = { .dmabuf = true };
	char *p = map(4096, PROT_READ | PROT_WRITE);

	assert_int_equal(explain(EHWPOISON, p, 4096, LW),
			 HMR_CAUSE_MEMORY_ERROR);
	assert_int_equal(explain(524, p, 4096, LW), HMR_CAUSE_NOT_SUPPORTED);
	assert_says("(its error 524, ENOTSUPP)");
	assert_int_equal(explain(EOPNOTSUPP, p, 4096, LW),
			 HMR_CAUSE_NOT_SUPPORTED);
	assert_int_equal(explain_call(EOPNOTSUPP, NULL, 4096, LW, &dmabuf),
			 HMR_CAUSE_NOT_SUPPORTED);
	assert_says("(of a dmabuf)");
	assert_int_equal(explain_call(EBADF, NULL, 4096, LW, &dmabuf),
			 HMR_CAUSE_ARGUMENT);
	assert_int_equal(explain(EBADF, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	munmap(p, 4096);
}

/* What has many causes is said to have them, and none of them is claimed. */
static void not_known(void **state)
{
	static const struct {
		int err;
		const char *part;
	} cases[] = {
		{ ENOMEM, "can't be moved out of CMA" },
		{ EFAULT, "hmr_populate() tells" },
		{ EINVAL, "may be an access flag" },
		{ EAGAIN, "no keys left" },
		{ EIO, "that they don't report (here 4 KiB)" },
		{ ENOSPC, "kernel log" },
		{ EPERM, "not known" },
	};
	char *p = map(4096, PROT_READ | PROT_WRITE);
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(explain(cases[i].err, p, 4096, LW),
				 HMR_CAUSE_UNKNOWN);
		assert_says("not known to hugemr");
		assert_says(cases[i].part);
	}
	munmap(p, 4096);
}

static void flags_by_name(void **state)
{
	char text[HMR_ACCESS_TEXT];
	char *p = map(4096, PROT_READ | PROT_WRITE);

	explain(EINVAL, p, 4096, LW | RR);
	assert_says("refused to register 4 KiB at");
	assert_says("(LOCAL_WRITE|REMOTE_READ): Invalid argument");
	assert_string_equal(hmr_access_text(0, text), "0");
	assert_string_equal(hmr_access_text(1 << 15 | LW, text),
			    "LOCAL_WRITE|0x8000");
	assert_string_equal(hmr_access_text(-1, text),
			    "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|"
			    "REMOTE_ATOMIC|MW_BIND|ZERO_BASED|ON_DEMAND|"
			    "HUGETLB|RELAXED_ORDERING|0xffefff00");
	munmap(p, 4096);
}

/* A registration of the whole address space on demand. */
static void range_that_is_none(void **state)
{
	assert_int_equal(explain(EOPNOTSUPP, NULL, SIZE_MAX,
				 IBV_ACCESS_ON_DEMAND),
			 HMR_CAUSE_NOT_SUPPORTED);
	assert_int_equal(explain(ENOMEM, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND),
			 HMR_CAUSE_UNKNOWN);
}

static void cause_names(void **state)
{
	enum hmr_cause a, b;

	for (a = HMR_CAUSE_UNKNOWN; a <= HMR_CAUSE_CANCELED; a++)
		for (b = HMR_CAUSE_UNKNOWN; b < a; b++)
			assert_string_not_equal(hmr_cause_name(a),
						hmr_cause_name(b));
	assert_string_equal(hmr_cause_name(HMR_CAUSE_MEMLOCK), "memlock");
	assert_string_equal(hmr_cause_name(HMR_CAUSE_CANCELED + 1), "unknown");
	assert_string_equal(hmr_cause_name((enum hmr_cause) - 1), "unknown");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, tree_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(memlock),
		TEST(memlock_on_several_pds),
		TEST(memlock_and_capability),
		TEST(max_map_count),
		TEST(hole),
		TEST(end_of_a_file),
		TEST(protection),
		TEST(shared_and_read_only),
		TEST(device_memory),
		TEST(files),
		TEST(file_on_dax),
		TEST(hugetlb_after_fork_init),
		TEST(marks_without_need),
		TEST(hugetlb_pool),
		TEST(hugetlb_pool_of_a_node),
		TEST(hugetlb_cgroup),
		TEST(memory),
		TEST(rxe_1_gib),
		TEST(mr_size),
		TEST(device_pages),
		TEST(mr_count),
		TEST(access_that_is_lacking),
		TEST(access_hugetlb),
		TEST(errors_that_speak_for_themselves),
		TEST(not_known),
		TEST(flags_by_name),
		TEST(range_that_is_none),
		TEST(cause_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
