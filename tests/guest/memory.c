// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Buffers and what backs them, on a real kernel. Runs in a guest with two NUMA
 * nodes of two CPUs and 8 pages of 2 MiB each, as root.
 */
#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory.h"

#define POOL "hugepages/hugepages-2048kB/"
#define NODE_POOL "/sys/devices/system/node/node%d/" POOL

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

uint64_t features;

bool can_collapse(void)
{
	return !madvise((void *)PAGE, 0, MADV_COLLAPSE);
}

int put(const char *path, const char *text)
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

void write_file(const char *path, const char *text)
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

unsigned long node_pages(int node, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), NODE_POOL "%s", node, name);
	return read_number(path);
}

void set_node_pages(int node, const char *n)
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

static int fds_before;

int before_each(void **state)
{
	fds_before = count_fds();
	return 0;
}

int after_each(void **state)
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

void in_child(bool (*fn)(void))
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

bool check_at(bool ok, const char *what, const char *file, int line)
{
	if (!ok)
		fprintf(stderr, "%s:%d: not so in the child: %s (%s)\n", file,
			line, what, hmr_last_error()->text);
	return ok;
}

bool drop_privileges(void)
{
	return check(!setgroups(0, NULL)) && check(!setgid(65534)) &&
	       check(!setuid(65534)) &&
	       /* or /proc/self/pagemap would be root's */
	       check(!prctl(PR_SET_DUMPABLE, 1));
}

struct hmr_buffer *alloc(size_t length, struct hmr_buffer_opts opts)
{
	struct hmr_buffer *buf;

	opts.size = sizeof(opts);
	if (hmr_buffer_alloc(length, &opts, &buf))
		fail_msg("%s", hmr_last_error()->text);
	return buf;
}

int alloc_error(size_t length, struct hmr_buffer_opts opts)
{
	struct hmr_buffer *buf;
	int ret;

	opts.size = sizeof(opts);
	ret = hmr_buffer_alloc(length, &opts, &buf);
	return ret ? ret : hmr_buffer_free(buf);
}

struct hmr_backing backing(const void *addr, size_t length)
{
	HMR_RESULT(hmr_backing, b);

	assert_int_equal(hmr_backing(addr, length, &b), 0);
	return b;
}

struct hmr_backing buffer_backing(const struct hmr_buffer *buf)
{
	return backing(hmr_buffer_addr(buf), hmr_buffer_mapped(buf));
}

void assert_pages(const struct hmr_buffer *buf, enum hmr_pages pages)
{
	struct hmr_backing b = buffer_backing(buf);
	uint64_t got = pages == HMR_PAGES_2M  ? b.hugetlb_2m :
		       pages == HMR_PAGES_THP ? b.thp :
						b.small;

	assert_int_equal(hmr_buffer_pages(buf), pages);
	assert_int_equal(got, hmr_buffer_mapped(buf));
}

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

int main(void)
{
	return RUN_TABLES(look_around, NULL, memory_shared_tests,
			  memory_node_tests, memory_cgroup_tests,
			  memory_thp_tests, memory_backing_tests);
}
