// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Buffers and what backs them, on a real kernel. Runs in a guest with two NUMA
 * nodes of two CPUs and 8 pages of 2 MiB each, as root.
 */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include <hugemr/hugemr.h>

#define KIB (1ul << 10)
#define MIB (1ul << 20)
#define PAGE 4096ul

#define THP "/sys/kernel/mm/transparent_hugepage/"
#define POOL "hugepages/hugepages-2048kB/"
#define NODE_POOL "/sys/devices/system/node/node%d/" POOL

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* What the library finds here. */
static uint64_t features;

static bool can_collapse(void)
{
	return !madvise((void *)PAGE, 0, MADV_COLLAPSE);
}

#define assert_says(part)                                               \
	do {                                                            \
		const char *says_ = hmr_last_error()->text;             \
		if (!strstr(says_, part))                               \
			fail_msg("'%s' doesn't say '%s'", says_, part); \
	} while (0)

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? (int)n : 0;
}

static void write_file(const char *path, const char *text)
{
	int ret = put(path, text);

	if (ret)
		fail_msg("echo %s > %s: %s", text, path, strerror(-ret));
}

static unsigned long read_number(const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned long n;

	if (!f || fscanf(f, "%lu", &n) != 1)
		fail_msg("%s can't be read", path);
	fclose(f);
	return n;
}

static unsigned long node_pages(int node, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), NODE_POOL "%s", node, name);
	return read_number(path);
}

static void set_node_pages(int node, const char *n)
{
	char path[128];

	snprintf(path, sizeof(path), NODE_POOL "nr_hugepages", node);
	write_file(path, n);
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* Nothing may be left of a test. */
static int fds_before;

static int before_each(void **state)
{
	fds_before = count_fds();
	return 0;
}

static int after_each(void **state)
{
	int node;

	for (node = 0; node < 2; node++) {
		unsigned long n = node_pages(node, "free_hugepages");

		if (n != 8) {
			print_error("node %d has %lu free pages\n", node, n);
			return -1;
		}
	}
	if (count_fds() != fds_before) {
		print_error("a descriptor is left\n");
		return -1;
	}
	return 0;
}

/* Run a function in a child that can't take us along; it returns whether all
 * was well, and says what wasn't. */
static void in_child(bool (*fn)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(fn() ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("the child got signal %d", WTERMSIG(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool check_at(bool ok, const char *what, int line)
{
	if (!ok)
		fprintf(stderr, "%s:%d: not so in the child: %s (%s)\n",
			__FILE__, line, what, hmr_last_error()->text);
	return ok;
}

#define check(what) check_at(what, #what, __LINE__)

/* Without privileges, and so without page numbers. */
static bool drop_privileges(void)
{
	return check(!setgroups(0, NULL)) && check(!setgid(65534)) &&
	       check(!setuid(65534)) &&
	       /* or /proc/self/pagemap would be root's */
	       check(!prctl(PR_SET_DUMPABLE, 1));
}

static struct hmr_buffer *alloc(size_t length, struct hmr_buffer_opts opts)
{
	struct hmr_buffer *buf;

	opts.size = sizeof(opts);
	if (hmr_buffer_alloc(length, &opts, &buf))
		fail_msg("%s", hmr_last_error()->text);
	return buf;
}

static int alloc_error(size_t length, struct hmr_buffer_opts opts)
{
	struct hmr_buffer *buf;
	int ret;

	opts.size = sizeof(opts);
	ret = hmr_buffer_alloc(length, &opts, &buf);
	return ret ? ret : hmr_buffer_free(buf);
}

#define ALLOC(length, ...) \
	alloc(length, (struct hmr_buffer_opts){ __VA_ARGS__ })
#define ALLOC_ERROR(length, ...) \
	alloc_error(length, (struct hmr_buffer_opts){ __VA_ARGS__ })

static struct hmr_backing backing(const void *addr, size_t length)
{
	HMR_RESULT(hmr_backing, b);

	assert_int_equal(hmr_backing(addr, length, &b), 0);
	return b;
}

static struct hmr_backing buffer_backing(const struct hmr_buffer *buf)
{
	return backing(hmr_buffer_addr(buf), hmr_buffer_mapped(buf));
}

/* All of a buffer in the pages of a policy. */
static void assert_pages(const struct hmr_buffer *buf, enum hmr_pages pages)
{
	struct hmr_backing b = buffer_backing(buf);
	uint64_t got = pages == HMR_PAGES_2M  ? b.hugetlb_2m :
		       pages == HMR_PAGES_THP ? b.thp :
						b.small;

	assert_int_equal(hmr_buffer_pages(buf), pages);
	assert_int_equal(got, hmr_buffer_mapped(buf));
}

/* ---- shared ---- */

static void send_fd(int sock, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_int_equal(sendmsg(sock, &msg, 0), 1);
}

static int receive_fd(int sock)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(sock, &msg, 0) != 1 || !CMSG_FIRSTHDR(&msg))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* The other process: it maps what it is sent, checks it and writes to it. */
static bool peer(int sock)
{
	int fd = receive_fd(sock);
	char *p, byte = 0;

	p = mmap(NULL, 5 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!check(p != MAP_FAILED) || !check(p[5 * MIB - 1] == 'a'))
		return false;
	memset(p, 'b', 5 * MIB);
	return check(ftruncate(fd, 0) == -1) &&
	       check(write(sock, &byte, 1) == 1);
}

static void share_with_a_peer(enum hmr_pages pages)
{
	struct hmr_buffer *buf;
	int socks[2], status;
	char *p, byte;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, socks), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(peer(socks[1]) ? 0 : 1);
	close(socks[1]);
	buf = ALLOC(5 * MIB, .pages = pages, .flags = HMR_BUFFER_SHARED);
	assert_pages(buf, pages);
	p = hmr_buffer_addr(buf);
	memset(p, 'a', 5 * MIB);
	send_fd(socks[0], hmr_buffer_fd(buf));
	assert_int_equal(read(socks[0], &byte, 1), 1);
	assert_int_equal(p[0], 'b');
	assert_int_equal(p[5 * MIB - 1], 'b');
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(socks[0]);
	assert_int_equal(hmr_buffer_free(buf), 0);
}

static void shared_with_another_process(void **state)
{
	share_with_a_peer(HMR_PAGES_4K);
	share_with_a_peer(HMR_PAGES_2M);
	write_file(THP "shmem_enabled", "advise");
	share_with_a_peer(HMR_PAGES_THP);
	share_with_a_peer(HMR_PAGES_4K);
	write_file(THP "shmem_enabled", "never");
}

static void shared_thp_has_its_own_switch(void **state)
{
	struct hmr_buffer *buf;

	assert_int_equal(ALLOC_ERROR(4 * MIB, .pages = HMR_PAGES_THP,
				     .flags = HMR_BUFFER_SHARED),
			 -EOPNOTSUPP);
	assert_says("shmem_enabled");
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_THP_OFF);
	/* more than the pool has, and no THP */
	buf = ALLOC(40 * MIB, .flags = HMR_BUFFER_SHARED);
	assert_pages(buf, HMR_PAGES_4K);
	assert_non_null(strstr(hmr_buffer_why(buf), "shmem_enabled"));
	assert_int_equal(hmr_buffer_free(buf), 0);
}

/* ---- files ---- */

static int make_file(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

static void file_on_tmpfs(void **state)
{
	int fd = make_file("/dev/shm/file", 5 * MIB + 100), ret;
	struct hmr_buffer *buf;
	char c;

	buf = ALLOC(4 * MIB + 100, .flags = HMR_BUFFER_FILE, .fd = fd,
		    .offset = MIB);
	assert_pages(buf, HMR_PAGES_4K);
	assert_int_equal(hmr_buffer_mapped(buf), 4 * MIB + PAGE);
	((char *)hmr_buffer_addr(buf))[4 * MIB + 99] = 'x';
	assert_int_equal(pread(fd, &c, 1, 5 * MIB + 99), 1);
	assert_int_equal(c, 'x');
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(ALLOC_ERROR(4 * MIB + 101, .flags = HMR_BUFFER_FILE,
				     .fd = fd, .offset = MIB),
			 -ENXIO);
	assert_int_equal(hmr_last_error()->need, 5 * MIB + 101);
	assert_int_equal(hmr_last_error()->have, 5 * MIB + 100);
	assert_int_equal(ALLOC_ERROR(4 * MIB, .flags = HMR_BUFFER_FILE,
				     .fd = fd, .pages = HMR_PAGES_2M),
			 -EOPNOTSUPP);
	assert_says("pages of 4 KiB");
	/* MADV_COLLAPSE does it against the wish of the file system. */
	ret = ALLOC_ERROR(4 * MIB, .flags = HMR_BUFFER_FILE, .fd = fd,
			  .pages = HMR_PAGES_THP);
	assert_int_equal(ret, can_collapse() ? 0 : -ENOMEM);
	if (ret)
		assert_says("of the file became transparent huge pages");
	close(fd);
}

/* A full file system: touching it would be a SIGBUS. */
static void file_that_does_not_fit(void **state)
{
	int fd;

	assert_int_equal(mkdir("/tmp/small", 0700), 0);
	assert_int_equal(mount("small", "/tmp/small", "tmpfs", 0, "size=1m"),
			 0);
	fd = make_file("/tmp/small/file", 4 * MIB);
	assert_int_equal(ALLOC_ERROR(4 * MIB, .flags = HMR_BUFFER_FILE,
				     .fd = fd),
			 -EFAULT);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_FILE);
	close(fd);
	assert_int_equal(umount("/tmp/small"), 0);
}

static void file_of_thp(void **state)
{
	struct hmr_buffer *buf;
	int fd, ret;

	assert_int_equal(mkdir("/tmp/huge", 0700), 0);
	assert_int_equal(mount("huge", "/tmp/huge", "tmpfs", 0, "huge=always"),
			 0);
	fd = make_file("/tmp/huge/file", 8 * MIB);
	buf = ALLOC(4 * MIB, .flags = HMR_BUFFER_FILE, .fd = fd,
		    .offset = 2 * MIB);
	assert_pages(buf, HMR_PAGES_THP);
	assert_int_equal(hmr_buffer_free(buf), 0);
	buf = ALLOC(4 * MIB, .flags = HMR_BUFFER_FILE, .fd = fd,
		    .pages = HMR_PAGES_THP);
	assert_pages(buf, HMR_PAGES_THP);
	assert_int_equal(hmr_buffer_free(buf), 0);
	/* at an odd offset only the middle is huge */
	buf = ALLOC(4 * MIB, .flags = HMR_BUFFER_FILE, .fd = fd, .offset = MIB);
	assert_int_equal(hmr_buffer_pages(buf), HMR_PAGES_4K);
	assert_int_equal(buffer_backing(buf).thp, 2 * MIB);
	assert_int_equal(hmr_buffer_free(buf), 0);
	/* The advice keeps PMDs out on some kernels; on others it's told. */
	ret = ALLOC_ERROR(4 * MIB, .flags = HMR_BUFFER_FILE, .fd = fd,
			  .pages = HMR_PAGES_4K);
	assert_true(!ret || ret == -EOPNOTSUPP);
	close(fd);
	assert_int_equal(umount("/tmp/huge"), 0);
}

static void file_on_hugetlbfs(void **state)
{
	int fd = make_file("/dev/hugepages/file", 8 * MIB);
	struct hmr_buffer *buf;

	buf = ALLOC(5 * MIB, .flags = HMR_BUFFER_FILE, .fd = fd,
		    .offset = 2 * MIB);
	assert_pages(buf, HMR_PAGES_2M);
	assert_int_equal(hmr_buffer_mapped(buf), 6 * MIB);
	assert_int_equal(hmr_buffer_free(buf), 0);
	buf = ALLOC(8 * MIB, .flags = HMR_BUFFER_FILE, .fd = fd,
		    .pages = HMR_PAGES_2M);
	assert_pages(buf, HMR_PAGES_2M);
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(ALLOC_ERROR(2 * MIB, .flags = HMR_BUFFER_FILE,
				     .fd = fd, .offset = 4 * KIB),
			 -EINVAL);
	assert_says("multiple of the file's pages");
	assert_int_equal(ALLOC_ERROR(9 * MIB, .flags = HMR_BUFFER_FILE,
				     .fd = fd),
			 -ENXIO);
	assert_int_equal(ALLOC_ERROR(2 * MIB, .flags = HMR_BUFFER_FILE,
				     .fd = fd, .pages = HMR_PAGES_THP),
			 -EOPNOTSUPP);
	assert_says("pages of 2048 KiB");
	close(fd);

	fd = make_file("/dev/hugepages/large", 64 * MIB);
	assert_int_equal(ALLOC_ERROR(64 * MIB, .flags = HMR_BUFFER_FILE,
				     .fd = fd),
			 -ENOMEM);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_POOL);
	assert_int_equal(hmr_last_error()->need, 32);
	close(fd);
}

/* ---- nodes ---- */

static void bound_to_a_node(void **state)
{
	const enum hmr_pages kinds[] = { HMR_PAGES_2M, HMR_PAGES_THP,
					 HMR_PAGES_4K };
	struct hmr_backing b;
	struct hmr_buffer *buf;
	int i, node;

	for (i = 0; i < 3; i++)
		for (node = 0; node < 2; node++) {
			buf = ALLOC(8 * MIB, .pages = kinds[i],
				    .flags = HMR_BUFFER_BIND,
				    .nodes = 1u << node);
			assert_pages(buf, kinds[i]);
			b = buffer_backing(buf);
			assert_true(b.flags & HMR_BACKING_BY_NODE);
			assert_int_equal(b.node[node], 8 * MIB);
			assert_int_equal(b.node[!node], 0);
			assert_int_equal(hmr_buffer_free(buf), 0);
		}
}

/* Where threads beside the caller did their share. */
struct places {
	pid_t self;
	unsigned int nodes;
	unsigned int others;
};

static int note_place(uint64_t done, uint64_t total, void *arg)
{
	struct places *p = arg;
	unsigned int cpu, node;

	if (gettid() == p->self)
		return 0;
	if (getcpu(&cpu, &node))
		return 1;
	p->nodes |= 1u << node;
	p->others++;
	return 0;
}

static struct places populate_places(struct hmr_buffer *buf)
{
	struct places p = { .self = gettid() };
	HMR_OPTS(hmr_populate_opts, opts, .threads = 3, .progress = note_place,
		 .arg = &p);
	HMR_RESULT(hmr_populate_report, report);

	assert_int_equal(hmr_populate(hmr_buffer_addr(buf),
				      hmr_buffer_length(buf), &opts, &report),
			 0);
	assert_int_equal(report.threads, 3);
	return p;
}

static void threads_run_where_the_memory_goes(void **state)
{
	struct hmr_buffer *buf;
	struct places p;
	int node;

	for (node = 0; node < 2; node++) {
		buf = ALLOC(64 * MIB, .pages = HMR_PAGES_4K,
			    .flags = HMR_BUFFER_BIND | HMR_BUFFER_UNTOUCHED,
			    .nodes = 1u << node);
		p = populate_places(buf);
		assert_true(p.others > 0);
		assert_int_equal(p.nodes, 1u << node);
		assert_int_equal(buffer_backing(buf).node[node], 64 * MIB);
		assert_int_equal(hmr_buffer_free(buf), 0);
	}
	/* Over both nodes, any CPU will do, and all of them are chosen. */
	buf = ALLOC(64 * MIB, .pages = HMR_PAGES_4K, .nodes = 3,
		    .flags = HMR_BUFFER_INTERLEAVE | HMR_BUFFER_UNTOUCHED);
	HMR_RESULT(hmr_populate_report, report);
	assert_int_equal(
		hmr_populate(hmr_buffer_addr(buf), 64 * MIB, NULL, &report), 0);
	assert_int_equal(report.threads, 4);
	assert_int_equal(report.threads_why, HMR_THREADS_CPUS);
	assert_int_equal(hmr_buffer_free(buf), 0);
	/* Memory without a policy goes to the node of who populates it. */
	buf = ALLOC(64 * MIB, .pages = HMR_PAGES_4K,
		    .flags = HMR_BUFFER_UNTOUCHED);
	assert_int_equal(
		hmr_populate(hmr_buffer_addr(buf), 64 * MIB, NULL, &report), 0);
	assert_int_equal(report.threads, 2);
	assert_int_equal(hmr_buffer_free(buf), 0);
}

static void interleaved_on_two_nodes(void **state)
{
	const enum hmr_pages kinds[] = { HMR_PAGES_2M, HMR_PAGES_4K };
	struct hmr_backing b;
	struct hmr_buffer *buf;
	unsigned int i, shared;

	for (i = 0; i < 4; i++) {
		shared = i & 2 ? HMR_BUFFER_SHARED : 0;
		buf = ALLOC(8 * MIB, .pages = kinds[i & 1], .nodes = 3,
			    .flags = HMR_BUFFER_INTERLEAVE | shared);
		assert_pages(buf, kinds[i & 1]);
		b = buffer_backing(buf);
		assert_int_equal(b.node[0], 4 * MIB);
		assert_int_equal(b.node[1], 4 * MIB);
		assert_int_equal(hmr_buffer_free(buf), 0);
	}
}

static void local_to_a_device(void **state)
{
	struct hmr_buffer *buf;

	/* soft-RoCE has no node */
	buf = ALLOC(MIB, .pages = HMR_PAGES_4K, .device = "rxe0");
	assert_pages(buf, HMR_PAGES_4K);
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(ALLOC_ERROR(MIB, .device = "rxe9"), -ENODEV);
	assert_int_equal(ALLOC_ERROR(MIB, .flags = HMR_BUFFER_BIND, .nodes = 4),
			 -EINVAL);
	assert_says("with memory are 0x3");
}

static void node_without_pages(void **state)
{
	const uint32_t flags[] = { HMR_BUFFER_BIND,
				   HMR_BUFFER_BIND | HMR_BUFFER_SHARED };
	struct hmr_buffer *buf;
	unsigned int i;

	set_node_pages(1, "3");
	for (i = 0; i < 2; i++) {
		/* The pool as a whole has 11: mmap() has no objections. */
		assert_int_equal(ALLOC_ERROR(8 * MIB, .pages = HMR_PAGES_2M,
					     .flags = flags[i], .nodes = 2),
				 -EFAULT);
		assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_NODE_POOL);
		assert_int_equal(hmr_last_error()->need, 4);
		assert_int_equal(hmr_last_error()->have, 3);
		assert_says("node 1: 3");
		assert_int_equal(node_pages(1, "free_hugepages"), 3);
		buf = ALLOC(6 * MIB, .pages = HMR_PAGES_2M, .flags = flags[i],
			    .nodes = 2);
		assert_int_equal(hmr_buffer_free(buf), 0);
	}
	buf = ALLOC(8 * MIB, .flags = HMR_BUFFER_BIND, .nodes = 2);
	assert_int_equal(hmr_buffer_pages(buf), HMR_PAGES_THP);
	assert_int_equal(buffer_backing(buf).node[1], 8 * MIB);
	assert_non_null(strstr(hmr_buffer_why(buf), "node 1: 3"));
	assert_int_equal(hmr_buffer_free(buf), 0);
	set_node_pages(1, "8");
}

static void more_than_a_node_has(void **state)
{
	assert_int_equal(ALLOC_ERROR(1ul << 40, .pages = HMR_PAGES_THP,
				     .flags = HMR_BUFFER_BIND, .nodes = 2),
			 -ENOMEM);
	assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_MEMORY);
	assert_says("in all");
}

/* ---- hugetlb limits of control groups ---- */

static char group[64];

static bool join_group(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	return check(!put(path, "0"));
}

static bool limited_to_two_pages(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_2M);
	struct hmr_buffer *buf;
	void *p;

	if (!join_group())
		return false;
	/* What the library is there to prevent: this mmap() succeeds. */
	p = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << 26, -1, 0);
	if (!check(p != MAP_FAILED) ||
	    !check(hmr_populate(p, 8 * MIB, NULL, NULL) == -EFAULT))
		return false;
	munmap(p, 8 * MIB);
	if (!check(hmr_buffer_alloc(8 * MIB, &opts, &buf) == -EFAULT) ||
	    !check(hmr_last_error()->cause == HMR_CAUSE_CGROUP) ||
	    !check(hmr_last_error()->need == 8 * MIB) ||
	    !check(hmr_last_error()->have == 4 * MIB) ||
	    !check(strstr(hmr_last_error()->text, "hugetlb.2MB.") != NULL))
		return false;
	if (!check(!hmr_buffer_alloc(4 * MIB, &opts, &buf)) ||
	    !check(!hmr_buffer_free(buf)))
		return false;
	opts.pages = HMR_PAGES_PREFER;
	return check(!hmr_buffer_alloc(8 * MIB, &opts, &buf)) &&
	       check(hmr_buffer_pages(buf) == HMR_PAGES_THP) &&
	       check(strstr(hmr_buffer_why(buf), "control group") != NULL) &&
	       check(!hmr_buffer_free(buf));
}

static bool promised_two_pages(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_2M);
	struct hmr_buffer *buf;

	return join_group() &&
	       check(hmr_buffer_alloc(8 * MIB, &opts, &buf) == -ENOMEM) &&
	       check(hmr_last_error()->cause == HMR_CAUSE_CGROUP) &&
	       check(hmr_last_error()->have == 4 * MIB) &&
	       check(strstr(hmr_last_error()->text, "rsvd") != NULL) &&
	       check(!hmr_buffer_alloc(4 * MIB, &opts, &buf)) &&
	       check(!hmr_buffer_free(buf));
}

static void set_limit(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", group, name);
	write_file(path, value);
}

/* As a process that leaves a group may still be on its way out. */
static void remove_group(void)
{
	int tries;

	for (tries = 0; rmdir(group) && tries < 100; tries++)
		usleep(10000);
	assert_int_equal(access(group, F_OK), -1);
}

static void cgroup_2_limits(void **state)
{
	const char *control = "/sys/fs/cgroup/cgroup.subtree_control";
	int tries;

	/* Version 1 takes its time to let go. */
	for (tries = 0; put(control, "+hugetlb") && tries < 500; tries++)
		usleep(10000);
	write_file(control, "+hugetlb");
	snprintf(group, sizeof(group), "/sys/fs/cgroup/few");
	assert_int_equal(mkdir(group, 0755), 0);
	set_limit("hugetlb.2MB.max", "4194304");
	in_child(limited_to_two_pages);
	set_limit("hugetlb.2MB.max", "max");
	set_limit("hugetlb.2MB.rsvd.max", "4194304");
	in_child(promised_two_pages);
	remove_group();
	write_file(control, "-hugetlb");
}

/* Groups of the hierarchy that has the controller, dying ones too. */
static int count_groups(void)
{
	FILE *f = fopen("/proc/cgroups", "re");
	char line[128];
	int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "hugetlb %*d %d", &n) == 1)
			break;
	fclose(f);
	return n;
}

/* Version 1 takes the controller away from version 2, so this comes first. */
static void cgroup_1_limits(void **state)
{
	int tries;

	assert_int_equal(mkdir("/tmp/cgroup1", 0700), 0);
	if (mount("cgroup", "/tmp/cgroup1", "cgroup", 0, "hugetlb"))
		skip();
	snprintf(group, sizeof(group), "/tmp/cgroup1/few");
	assert_int_equal(mkdir(group, 0755), 0);
	set_limit("hugetlb.2MB.limit_in_bytes", "4194304");
	in_child(limited_to_two_pages);
	set_limit("hugetlb.2MB.limit_in_bytes", "-1");
	set_limit("hugetlb.2MB.rsvd.limit_in_bytes", "4194304");
	in_child(promised_two_pages);
	remove_group();
	/* A hierarchy that still has groups when it's unmounted stays. */
	for (tries = 0; count_groups() > 1 && tries < 500; tries++)
		usleep(10000);
	assert_int_equal(umount("/tmp/cgroup1"), 0);
}

/* ---- THP ---- */

static unsigned long free_kib(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	unsigned long n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "MemFree: %lu", &n) == 1)
			break;
	fclose(f);
	return n;
}

/* Take nearly all memory in base pages and give three of four back. */
static char *fragment(size_t *size)
{
	size_t i;
	char *p;

	*size = free_kib() * KIB - 64 * MIB;
	p = mmap(NULL, *size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(madvise(p, *size, MADV_NOHUGEPAGE), 0);
	for (i = 0; i < *size; i += PAGE)
		p[i] = 1;
	for (i = 0; i + 4 * PAGE <= *size; i += 4 * PAGE)
		assert_int_equal(madvise(p + i, 3 * PAGE, MADV_DONTNEED), 0);
	return p;
}

/* Where no fault may defragment, huge pages run out. MADV_COLLAPSE may, though
 * it is too weak at times; then the advice given helps. */
static void fragmented_memory_is_reported(void **state)
{
	const size_t length = 96 * MIB;
	size_t size;
	char *p;
	int ret;

	write_file(THP "defrag", "never");
	write_file("/proc/sys/vm/min_free_kbytes", "8192");
	p = fragment(&size);
	ret = ALLOC_ERROR(length, .pages = HMR_PAGES_THP);
	if (ret || !can_collapse()) {
		assert_int_equal(ret, -ENOMEM);
		assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_FRAGMENTED);
		assert_int_equal(hmr_last_error()->need, length);
		assert_true(hmr_last_error()->have < length);
		assert_says(can_collapse() ? "also by MADV_COLLAPSE" :
					     "huge pages: free");
		assert_says("echo 1 > /proc/sys/vm/compact_memory");
		write_file("/proc/sys/vm/compact_memory", "1");
		ret = ALLOC_ERROR(length, .pages = HMR_PAGES_THP);
		assert_int_equal(ret, 0);
	}
	munmap(p, size);
	write_file(THP "defrag", "madvise");
}

static bool thp_disabled(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_THP);
	struct hmr_buffer *buf;

	return check(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) &&
	       check(hmr_buffer_alloc(4 * MIB, &opts, &buf) == -EOPNOTSUPP) &&
	       check(strstr(hmr_last_error()->text, "prctl") != NULL);
}

static void thp_can_be_off_for_a_process(void **state)
{
	in_child(thp_disabled);
}

static bool thp_without_privileges(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_THP);
	HMR_RESULT(hmr_backing, b);
	struct hmr_buffer *buf;

	return drop_privileges() &&
	       check(!hmr_buffer_alloc(8 * MIB, &opts, &buf)) &&
	       check(!hmr_buffer_backing(buf, &b)) && check(b.thp == 8 * MIB) &&
	       check(b.flags & HMR_BACKING_BY_NODE) &&
	       check(b.node[0] + b.node[1] == 8 * MIB) &&
	       check(!hmr_buffer_free(buf));
}

static void thp_for_everyone(void **state)
{
	in_child(thp_without_privileges);
}

/* ---- backing: parts of mixtures ---- */

/*
 * 16 MiB, aligned, of memory that has become:
 *  0 -  4 THP
 *  4 -  6 what was a THP, one page in its middle now read-only
 *  6 -  8 a hole of one page at 7, and base pages around it
 *  8 - 10 not touched, THP advised
 * 10 - 12 the zero page, or several
 * 12 - 14 THP
 * 14 - 16 every other page touched
 */
static char *mixture;

static char *map_aligned(size_t size)
{
	char *p = mmap(NULL, size + 4 * MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	return (char *)(((uintptr_t)p + 4 * MIB - 1) & ~(4 * MIB - 1));
}

static bool make_mixture(void)
{
	HMR_OPTS(hmr_populate_opts, reading, .flags = HMR_POPULATE_READ);
	char *p = map_aligned(16 * MIB);
	size_t i;

	if (!check(p != NULL) || !check(!madvise(p, 16 * MIB, MADV_HUGEPAGE)) ||
	    !check(!madvise(p + 6 * MIB, 2 * MIB, MADV_NOHUGEPAGE)) ||
	    !check(!madvise(p + 14 * MIB, 2 * MIB, MADV_NOHUGEPAGE)) ||
	    !check(!hmr_populate(p, 8 * MIB, NULL, NULL)) ||
	    !check(!hmr_populate(p + 10 * MIB, 2 * MIB, &reading, NULL)) ||
	    !check(!hmr_populate(p + 12 * MIB, 2 * MIB, NULL, NULL)) ||
	    !check(!mprotect(p + 5 * MIB, PAGE, PROT_READ)) ||
	    !check(!munmap(p + 7 * MIB, PAGE)))
		return false;
	for (i = 14 * MIB; i < 16 * MIB; i += 2 * PAGE)
		p[i] = 1;
	mixture = p;
	return true;
}

struct part {
	size_t from;
	size_t to;
	size_t thp;
	size_t small;
};

static const struct part parts[] = {
	{ 0, 4 * MIB, 4 * MIB, 0 },
	{ MIB, MIB + PAGE, PAGE, 0 },
	{ MIB, 5 * MIB, 3 * MIB, MIB },
	{ 4 * MIB, 6 * MIB, 0, 2 * MIB },
	{ 5 * MIB, 5 * MIB + PAGE, 0, PAGE },
	{ 4 * MIB, 7 * MIB, 0, 3 * MIB },
	{ 7 * MIB + PAGE, 8 * MIB, 0, MIB - PAGE },
	{ 7 * MIB + PAGE, 10 * MIB, 0, MIB - PAGE },
	{ 8 * MIB, 10 * MIB, 0, 0 },
	{ 9 * MIB, 13 * MIB, MIB, 0 },
	{ 10 * MIB, 12 * MIB, 0, 0 },
	{ 11 * MIB, 12 * MIB + PAGE, PAGE, 0 },
	{ 12 * MIB, 16 * MIB, 2 * MIB, MIB },
	{ 13 * MIB, 15 * MIB, MIB, 512 * KIB },
	{ 14 * MIB + PAGE, 14 * MIB + 2 * PAGE, 0, 0 },
	{ 14 * MIB + PAGE, 14 * MIB + 4 * PAGE, 0, PAGE },
	{ 7 * MIB + PAGE, 16 * MIB, 2 * MIB, 2 * MIB - PAGE },
};

/* What is said must be so; all must be said unless @vague. */
static bool check_part(const struct part *part, bool vague)
{
	HMR_RESULT(hmr_backing, b);
	size_t length = part->to - part->from;
	size_t absent = length - part->thp - part->small;

	if (!check(!hmr_backing(mixture + part->from, length, &b)))
		return false;
	if (b.thp <= part->thp && b.small <= part->small &&
	    b.absent <= absent &&
	    b.thp + b.small + b.absent + b.unknown == length &&
	    (vague || !b.unknown))
		return true;
	fprintf(stderr,
		"%zu-%zu KiB: thp %lu of %zu, small %lu of %zu, absent %lu of "
		"%zu, unknown %lu\n",
		part->from / KIB, part->to / KIB, b.thp, part->thp, b.small,
		part->small, b.absent, absent, b.unknown);
	return false;
}

static bool check_mixture(bool vague)
{
	HMR_RESULT(hmr_backing, b);
	bool ok = true;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		ok &= check_part(&parts[i], vague);
	ok &= check(hmr_backing(mixture + 6 * MIB, 2 * MIB, &b) == -ENOMEM);
	return ok;
}

static bool scan_exists(void)
{
	return features & HMR_FEATURE_PAGEMAP_SCAN;
}

static bool mixture_as_root(void)
{
	return make_mixture() && check_mixture(false);
}

static bool mixture_without_privileges(void)
{
	return drop_privileges() && make_mixture() &&
	       check_mixture(!scan_exists());
}

/* Where not even pagemap can be opened. */
static bool mixture_of_others(void)
{
	return check(!setgid(65534)) && check(!setuid(65534)) &&
	       check(!prctl(PR_SET_DUMPABLE, 0)) && make_mixture() &&
	       check_mixture(true);
}

static void parts_of_mixtures(void **state)
{
	in_child(mixture_as_root);
	in_child(mixture_without_privileges);
	in_child(mixture_of_others);
}

/* What was cut in two by a change that was undone is whole again to see, but
 * still not huge. */
static bool split_and_merged(void)
{
	char *p = map_aligned(4 * MIB);
	HMR_RESULT(hmr_backing, b);

	if (!check(p != NULL) || !check(!madvise(p, 4 * MIB, MADV_HUGEPAGE)) ||
	    !check(!hmr_populate(p, 4 * MIB, NULL, NULL)) ||
	    !check(!mprotect(p + MIB, PAGE, PROT_READ)) ||
	    !check(!mprotect(p + MIB, PAGE, PROT_READ | PROT_WRITE)))
		return false;
	if (!check(!hmr_backing(p, MIB, &b)))
		return false;
	return check(scan_exists() ? b.small == MIB :
				     b.unknown == MIB || b.small == MIB) &&
	       check(!hmr_backing(p, 4 * MIB, &b)) &&
	       check(b.thp == 2 * MIB || b.thp == 0) &&
	       check(b.thp + b.small + b.unknown == 4 * MIB);
}

static void split_thp_is_not_thp(void **state)
{
	in_child(split_and_merged);
}

static void parts_of_hugetlb(void **state)
{
	char *p = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << 26, -1,
		       0);
	struct hmr_backing b;

	assert_ptr_not_equal(p, MAP_FAILED);
	p[0] = p[4 * MIB] = 1;
	assert_int_equal(backing(p, 8 * MIB).hugetlb_2m, 4 * MIB);
	b = backing(p + MIB, 4 * MIB);
	assert_int_equal(b.hugetlb_2m, 2 * MIB);
	assert_int_equal(b.absent, 2 * MIB);
	assert_int_equal(b.node[0] + b.node[1], 2 * MIB);
	assert_int_equal(backing(p + 3 * MIB, PAGE).absent, PAGE);
	munmap(p, 8 * MIB);
}

/* ---- backing: sizes of folios ---- */

static void folios_below_a_pmd(void **state)
{
	const char *mode = THP "hugepages-64kB/enabled";
	struct hmr_buffer *buf;
	struct hmr_backing b;
	char *p;

	buf = ALLOC(MIB, .pages = HMR_PAGES_4K);
	b = buffer_backing(buf);
	assert_true(b.flags & HMR_BACKING_BY_ORDER);
	assert_int_equal(b.order[0], MIB);
	assert_int_equal(hmr_buffer_free(buf), 0);
	if (access(mode, F_OK))
		skip();
	write_file(mode, "madvise");
	p = map_aligned(MIB);
	assert_int_equal(madvise(p, MIB, MADV_HUGEPAGE), 0);
	assert_int_equal(hmr_populate(p, MIB, NULL, NULL), 0);
	b = backing(p, MIB);
	assert_int_equal(b.small, MIB);
	assert_int_equal(b.order[4], MIB);
	b = backing(p + PAGE, 3 * PAGE);
	assert_int_equal(b.order[4], 3 * PAGE);
	munmap(p, MIB);
	write_file(mode, "never");
}

/* ---- the end ---- */

static int look_around(void **state)
{
	HMR_RESULT(hmr_info, info);
	struct hmr_buffer *buf;

	if (hmr_info(&info))
		return -1;
	features = info.features;
	/* No child may run the first threads. */
	buf = ALLOC(8 * MIB, .pages = HMR_PAGES_4K);
	return hmr_buffer_free(buf);
}

#define each(test) \
	cmocka_unit_test_setup_teardown(test, before_each, after_each)

int main(void)
{
	const struct CMUnitTest tests[] = {
		each(shared_with_another_process),
		each(shared_thp_has_its_own_switch),
		each(file_on_tmpfs),
		each(file_that_does_not_fit),
		each(file_of_thp),
		each(file_on_hugetlbfs),
		each(bound_to_a_node),
		each(threads_run_where_the_memory_goes),
		each(interleaved_on_two_nodes),
		each(local_to_a_device),
		each(node_without_pages),
		each(more_than_a_node_has),
		each(cgroup_1_limits),
		each(cgroup_2_limits),
		each(fragmented_memory_is_reported),
		each(thp_can_be_off_for_a_process),
		each(thp_for_everyone),
		each(parts_of_mixtures),
		each(split_thp_is_not_thp),
		each(parts_of_hugetlb),
		each(folios_below_a_pmd),
	};

	return cmocka_run_group_tests(tests, look_around, NULL);
}
