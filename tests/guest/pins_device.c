// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A device that reaches memory, and the counts of what is pinned. */
#include "pins.h"

#include <net/if.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "look.h"
#include "loopback.h"

#define BOUNCE (16 * PAGE)
/* At most as much at once, so that the pages at the two ends never begin or end
 * together: a wrong order of the ones can't make up for that of the others. */
#define PIECE (BOUNCE - PAGE - 40)

struct pins_device pins_device;

static struct loopback *lb;
static bool lost_hugetlb;

static struct {
	int mrs;
	int64_t pins;
	uint64_t vmpin, hugetlb_free, hugetlb_reserved;
} before;

static int open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0])
		return -1;
	pins_device.context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	if (!pins_device.context)
		return -1;
	pins_device.pd = ibv_alloc_pd(pins_device.context);
	return pins_device.pd ? 0 : -1;
}

/* Packets of soft-RoCE of 4 KiB instead of 1: what takes time is their number,
 * but it will do with less. */
static void allow_large_packets(void)
{
	struct ifreq request = { .ifr_name = "dummy0", .ifr_mtu = 4500 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (ioctl(fd, SIOCSIFMTU, &request))
		print_message("  MTU of dummy0: %s\n", strerror(errno));
	close(fd);
}

int pins_open_device(void **state)
{
	pins_allow_pages();
	allow_large_packets();
	return open_device();
}

void pins_reopen_device(void)
{
	if (open_device())
		_exit(2);
}

int pins_close_device(void **state)
{
	return ibv_dealloc_pd(pins_device.pd) |
	       ibv_close_device(pins_device.context);
}

int pins_setup(void **state)
{
	lost_hugetlb = false;
	before.mrs = look_mrs("rxe0");
	before.pins = look_pins();
	before.vmpin = look_status(getpid(), "VmPin");
	before.hugetlb_free = look_meminfo("HugePages_Free");
	before.hugetlb_reserved = look_meminfo("HugePages_Rsvd");
	return loopback_open(pins_device.pd, 1, -1, BOUNCE, &lb);
}

static int same(const char *what, int64_t was, int64_t is)
{
	if (was == is)
		return 0;
	print_error("%s: %lld before the test, %lld after it\n", what,
		    (long long)was, (long long)is);
	return -1;
}

/* Soft-RoCE of old keeps the MR that a queue pair used last, also after it was
 * deregistered: so the queue pairs go first. */
int pins_teardown(void **state)
{
	int ret;

	loopback_close(lb);
	lb = NULL;
	ret = same("MRs", before.mrs, look_mrs("rxe0")) |
	      same("pinned pages", before.pins, look_pins()) |
	      same("VmPin", (int64_t)before.vmpin,
		   (int64_t)look_status(getpid(), "VmPin"));
	if (lost_hugetlb)
		return ret;
	return ret |
	       same("free hugetlb pages", (int64_t)before.hugetlb_free,
		    (int64_t)look_meminfo("HugePages_Free")) |
	       same("reserved hugetlb pages", (int64_t)before.hugetlb_reserved,
		    (int64_t)look_meminfo("HugePages_Rsvd"));
}

void pins_expect_lost_hugetlb(void)
{
	lost_hugetlb = true;
}

bool pins_runs_on(const char *version)
{
	const char *kernel = getenv("HUGEMR_KERNEL");

	assert_non_null(kernel);
	return !strncmp(kernel, version, strlen(version));
}

/* Until "RDMA/umem: remove FOLL_FORCE usage" */
bool pins_by_force(void)
{
	return pins_runs_on("5.10.") || pins_runs_on("6.1.");
}

struct ibv_mr *pins_try(char *addr, size_t length, int access)
{
	errno = 0;
	return ibv_reg_mr(pins_device.pd, addr, length, access);
}

struct ibv_mr *pins_register(char *addr, size_t length, int access)
{
	struct ibv_mr *mr = pins_try(addr, length, access);

	if (!mr)
		fail_msg("ibv_reg_mr of %zu bytes at %p: %s", length,
			 (void *)addr, strerror(errno));
	return mr;
}

void pins_deregister(struct ibv_mr *mr)
{
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

void pins_accepted(char *addr, size_t length)
{
	struct ibv_mr *mr = pins_register(addr, length, ALL);

	pins_check_borders(mr, addr, length);
	pins_deregister(mr);
}

void pins_refused(char *addr, size_t length, int access, int err, int or_err)
{
	int64_t pins = look_pins();
	uint64_t vmpin = look_status(getpid(), "VmPin");
	struct ibv_mr *mr = pins_try(addr, length, access);
	int got = errno;

	if (mr)
		fail_msg("%zu bytes at %p were registered", length,
			 (void *)addr);
	if (got != err && got != or_err)
		fail_msg("refused, but with %s", strerror(got));
	assert_int_equal(look_pins(), pins);
	assert_int_equal(look_status(getpid(), "VmPin"), vmpin);
}

/* ---- content ---- */

void pins_fill(char *p, size_t length, uint64_t seed)
{
	size_t i;
	uint64_t x;

	for (i = 0; i < length; i += sizeof(x)) {
		x = (seed << 40 ^ (i + 1)) * 0x9e3779b97f4a7c15u;
		x ^= x >> 29;
		if (length - i >= sizeof(x))
			memcpy(p + i, &x, sizeof(x));
		else
			memcpy(p + i, &x, length - i);
	}
}

/* To one of the two, or from the other: 0, or what went wrong */
static int transfer(const struct ibv_mr *mr, uint64_t raddr, char *to,
		    const char *from, size_t length)
{
	size_t at, n;
	int ret = 0;

	for (at = 0; !ret && at < length; at += n) {
		n = length - at < PIECE ? length - at : PIECE;
		ret = to ? loopback_read(lb, to + at, n, raddr + at, mr->rkey) :
			   loopback_write(lb, from + at, n, raddr + at,
					  mr->rkey);
	}
	return ret;
}

void pins_read(const struct ibv_mr *mr, uint64_t raddr, char *data,
	       size_t length)
{
	assert_int_equal(transfer(mr, raddr, data, NULL, length), 0);
}

void pins_write(const struct ibv_mr *mr, uint64_t raddr, const char *data,
		size_t length)
{
	assert_int_equal(transfer(mr, raddr, NULL, data, length), 0);
}

static char *buffer(size_t length)
{
	char *p = malloc(length);

	assert_non_null(p);
	return p;
}

char *pins_copy(const char *p, size_t length)
{
	return memcpy(buffer(length), p, length);
}

static void assert_same(const char *what, const char *got, const char *want,
			size_t length)
{
	size_t i;

	if (!memcmp(got, want, length))
		return;
	for (i = 0; got[i] == want[i]; i++)
		;
	fail_msg("%s: at offset %#zx of %#zx: %#02x in place of %#02x", what, i,
		 length, (unsigned char)got[i], (unsigned char)want[i]);
}

void pins_expect_remote(const struct ibv_mr *mr, const char *raddr,
			const char *want, size_t length)
{
	char *got = buffer(length);

	pins_read(mr, (uintptr_t)raddr, got, length);
	assert_same("RDMA read", got, want, length);
	free(got);
}

void pins_check(const struct ibv_mr *mr, char *addr, uint64_t raddr,
		size_t length)
{
	char *data = buffer(length);
	static uint64_t seed;

	pins_fill(addr, length, ++seed);
	pins_read(mr, raddr, data, length);
	assert_same("RDMA read", data, addr, length);
	pins_fill(data, length, ++seed);
	pins_write(mr, raddr, data, length);
	assert_same("RDMA write", addr, data, length);
	free(data);
}

void pins_check_borders(const struct ibv_mr *mr, char *addr, size_t length)
{
	/* odd, and a bit more than a page of any size apart */
	const size_t span = 2 * PAGE + 77, step = 33 * PAGE - 5;
	size_t at;

	for (at = 0; at + span <= length; at += step)
		pins_check(mr, addr + at, (uintptr_t)addr + at, span);
	pins_check(mr, addr + length - span, (uintptr_t)addr + length - span,
		   span);
}

/* ---- children ---- */

struct pins_child pins_fork(char *addr, const char *want, size_t length)
{
	struct pins_child child;
	int fds[2];
	char c;

	assert_int_equal(pipe(fds), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (!child.pid) {
		/* no other run of the tests from here */
		signal(SIGBUS, SIG_DFL);
		signal(SIGSEGV, SIG_DFL);
		close(fds[1]);
		if (read(fds[0], &c, 1) != 1 || memcmp(addr, want, length))
			_exit(1);
		pins_fill(addr, length, PINS_CHILD_SEED);
		_exit(0);
	}
	close(fds[0]);
	child.go = fds[1];
	return child;
}

int pins_wait(pid_t pid)
{
	int how;

	assert_int_equal(waitpid(pid, &how, 0), pid);
	return how;
}

void pins_let_go(struct pins_child child)
{
	assert_int_equal(write(child.go, "", 1), 1);
	close(child.go);
	assert_int_equal(pins_wait(child.pid), 0);
}
