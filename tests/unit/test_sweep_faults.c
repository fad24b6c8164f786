// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Allocations, system calls and verbs that fail when they are told to. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test_sweep.h"
#include "verbs_ops.h"

static enum kind failing;
static atomic_uint countdown;
static atomic_bool armed, fired;

void fail_nth(enum kind kind, unsigned int n)
{
	failing = kind;
	countdown = n;
	fired = false;
}

bool has_failed(void)
{
	return fired;
}

void arm(void)
{
	armed = true;
}

void disarm(void)
{
	armed = false;
}

static bool fails(enum kind kind)
{
	if (!armed || kind != failing || atomic_fetch_sub(&countdown, 1) != 1)
		return false;
	fired = true;
	return true;
}

static bool fails_with(enum kind kind, int err)
{
	if (!fails(kind))
		return false;
	errno = err;
	return true;
}

/* WRAP(type, name, kind, errno, what a failure returns, (parameters),
 * (arguments)) */
#define WRAP(type, name, kind, err, failure, params, args) \
	type __real_##name params;                         \
	type __wrap_##name params;                         \
	type __wrap_##name params                          \
	{                                                  \
		if (fails_with(kind, err))                 \
			return failure;                    \
		return __real_##name args;                 \
	}

#define WRAP_ALLOC(name, params, args) \
	WRAP(void *, name, ALLOCATION, ENOMEM, NULL, params, args)
#define WRAP_INT(name, err, params, args) \
	WRAP(int, name, SYSTEM_CALL, err, -1, params, args)

WRAP_ALLOC(malloc, (size_t size), (size))
WRAP_ALLOC(calloc, (size_t n, size_t size), (n, size))
WRAP_ALLOC(realloc, (void *p, size_t size), (p, size))
/* What getline() is called by its header. */
WRAP(ssize_t, __getdelim, ALLOCATION, ENOMEM, -1,
     (char **line, size_t *size, int end, FILE *f), (line, size, end, f))
WRAP(FILE *, fopen, SYSTEM_CALL, EMFILE, NULL,
     (const char *path, const char *mode), (path, mode))
WRAP(DIR *, opendir, SYSTEM_CALL, EMFILE, NULL, (const char *path), (path))
WRAP(void *, mmap, SYSTEM_CALL, ENOMEM, MAP_FAILED,
     (void *addr, size_t length, int prot, int flags, int fd, off_t offset),
     (addr, length, prot, flags, fd, offset))
WRAP_INT(madvise, ENOMEM, (void *addr, size_t length, int advice),
	 (addr, length, advice))
WRAP_INT(mincore, EAGAIN, (void *addr, size_t length, unsigned char *vec),
	 (addr, length, vec))
WRAP_INT(memfd_create, EMFILE, (const char *name, unsigned int flags),
	 (name, flags))
WRAP_INT(ftruncate, ENOSPC, (int fd, off_t length), (fd, length))
WRAP_INT(stat, EACCES, (const char *path, struct stat *st), (path, st))
WRAP_INT(fstat, EIO, (int fd, struct stat *st), (fd, st))
WRAP_INT(fstatfs, EIO, (int fd, struct statfs *fs), (fd, fs))
WRAP_INT(access, EACCES, (const char *path, int mode), (path, mode))
WRAP(ssize_t, read, SYSTEM_CALL, EIO, -1, (int fd, void *p, size_t n),
     (fd, p, n))
WRAP(ssize_t, pread, SYSTEM_CALL, EIO, -1,
     (int fd, void *p, size_t n, off_t offset), (fd, p, n, offset))
WRAP_INT(sched_getaffinity, EINVAL, (pid_t pid, size_t size, cpu_set_t *cpus),
	 (pid, size, cpus))
WRAP(int, pthread_create, SYSTEM_CALL, EAGAIN, EAGAIN,
     (pthread_t * thread, const pthread_attr_t *attr, void *(*fn)(void *),
      void *arg),
     (thread, attr, fn, arg))

/* The kernel refuses to unmap only where that splits a mapping in two. */
static bool splits(uintptr_t addr, size_t length)
{
	bool found = false;
	char line[512];
	uintptr_t start, end;
	FILE *f = __real_fopen("/proc/self/maps", "r");

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%lx-%lx", &start, &end) == 2 &&
			start < addr && addr + length < end;
	if (f)
		fclose(f);
	return found;
}

int __real_munmap(void *addr, size_t length);
int __wrap_munmap(void *addr, size_t length);
int __wrap_munmap(void *addr, size_t length)
{
	if (armed && failing == SYSTEM_CALL &&
	    splits((uintptr_t)addr, length) && fails_with(SYSTEM_CALL, ENOMEM))
		return -1;
	return __real_munmap(addr, length);
}

/* Those of a variable number of arguments, as the library calls them. */
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	if (fails_with(SYSTEM_CALL, EMFILE))
		return -1;
	return openat(AT_FDCWD, path, flags);
}

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
	if (fails_with(SYSTEM_CALL, ENOMEM))
		return -1;
	return __real_ioctl(fd, request, arg);
}

int __real_fcntl(int fd, int command, ...);
int __wrap_fcntl(int fd, int command, long arg);
int __wrap_fcntl(int fd, int command, long arg)
{
	if (fails_with(SYSTEM_CALL, EBUSY))
		return -1;
	return __real_fcntl(fd, command, arg);
}

int __real_prctl(int option, ...);
int __wrap_prctl(int option, long a, long b, long c, long d);
int __wrap_prctl(int option, long a, long b, long c, long d)
{
	if (fails_with(SYSTEM_CALL, EINVAL))
		return -1;
	return __real_prctl(option, a, b, c, d);
}

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	if (fails_with(SYSTEM_CALL, nr == SYS_futex ? EFAULT : ENOMEM))
		return -1;
	return __real_syscall(nr, a, b, c, d, e, f);
}

/* ---- verbs ---- */

static const struct hmr_verbs_ops *fake;
atomic_uint refuse_at;
bool dereg_works;

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			     int access)
{
	if (fails_with(VERB, EPERM))
		return NULL;
	if (refuse_at && atomic_fetch_sub(&refuse_at, 1) == 1) {
		errno = ENOMEM;
		return NULL;
	}
	return fake->reg_mr(pd, addr, length, access);
}

static struct ibv_mr *reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
				  uint64_t iova, int access)
{
	return reg_mr(pd, addr, length, access);
}

static struct ibv_mr *reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				    size_t length, uint64_t iova, int fd,
				    int access)
{
	return reg_mr(pd, NULL, length, access);
}

static int rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
		    size_t length, int access)
{
	return fails_with(VERB, ENOMEM) ? IBV_REREG_MR_ERR_INPUT : 0;
}

static int rereg_mr_is_lost(struct ibv_mr *mr, int flags, struct ibv_pd *pd,
			    void *addr, size_t length, int access)
{
	return fails_with(VERB, ENOMEM) ? IBV_REREG_MR_ERR_CMD : 0;
}

static int dereg_mr(struct ibv_mr *mr)
{
	return !dereg_works && fails(VERB) ? EBUSY : fake->dereg_mr(mr);
}

static int advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
		     uint32_t flags, struct ibv_sge *sge, uint32_t n)
{
	return fails(VERB) ? EOPNOTSUPP : 0;
}

static int query_device(struct ibv_context *context,
			struct ibv_device_attr *attr)
{
	return fails(VERB) ? EIO : fake->query_device(context, attr);
}

static int query_device_ex(struct ibv_context *context,
			   struct ibv_device_attr_ex *attr)
{
	return fails(VERB) ? EIO : fake->query_device_ex(context, attr);
}

static struct hmr_verbs_ops ops;

void rereg_loses_mrs(void)
{
	ops.rereg_mr = rereg_mr_is_lost;
}

int sweep_setup(void **state)
{
	fake_setup(state);
	fake_freely(0, 0);
	fake = hmr_verbs;
	ops = (struct hmr_verbs_ops){
		.reg_mr = reg_mr,
		.reg_mr_iova = reg_mr_iova,
		.reg_dmabuf_mr = reg_dmabuf_mr,
		.rereg_mr = rereg_mr,
		.dereg_mr = dereg_mr,
		.advise_mr = advise_mr,
		.query_device = query_device,
		.query_device_ex = query_device_ex,
		.device_name = fake->device_name,
		.is_fork_initialized = fake->is_fork_initialized,
	};
	hmr_verbs = &ops;
	return 0;
}
