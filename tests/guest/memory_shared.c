// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Buffers that are shared, with other processes or with a file. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"

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

const struct CMUnitTest memory_shared_tests[] = {
	each(shared_with_another_process),
	each(shared_thp_has_its_own_switch),
	each(file_on_tmpfs),
	each(file_that_does_not_fit),
	each(file_of_thp),
	each(file_on_hugetlbfs),
	{ NULL },
};
