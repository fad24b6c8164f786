// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * For each public call: let the first allocation in it fail, then the second,
 * and so on until none is left to fail; the same with system calls, and with
 * verbs. Whatever fails, nothing may be left behind and no result touched. Some
 * failures are no reason to fail: then the call succeeds by another way, and
 * what it made is undone again.
 *
 * How often something could be made to fail is printed for each call. It is 0
 * where a call does nothing that can, and a call that ought to isn't covered
 * if it is.
 */
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_verbs.h"
#include "populate.h"
#include "verbs_ops.h"

#define MIB (1ul << 20)
#define PAGE 4096ul
#define LW IBV_ACCESS_LOCAL_WRITE

/* ---- what fails ---- */

enum kind {
	ALLOCATION,
	SYSTEM_CALL,
	VERB,
	KINDS
};

static enum kind failing;
static atomic_uint countdown;
static atomic_bool armed, fired;

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
/* refuse the nth registration in any case; 0 for none */
static atomic_uint refuse_at;
/* Undoing a refused registration can't fail too: there is no way out then. */
static bool dereg_works;

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

static int setup(void **state)
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

/* ---- what is left behind ----
 *
 * There are two threads at most: libc keeps the stacks of those that are done,
 * and so it is one.
 */

struct held {
	int mrs;
	unsigned int mappings;
	unsigned int fds;
	size_t heap;
};

/* Sanitizers map and allocate as they go; theirs is another way to find leaks,
 * at the end of the program. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OTHERS_ALLOCATE true
#else
#define OTHERS_ALLOCATE false
#endif

static unsigned int count_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	int c;

	assert_non_null(f);
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static struct held look(void)
{
	struct held held = { .mrs = fake_live_mrs(), .fds = count_fds() };

	if (!OTHERS_ALLOCATE) {
		held.mappings = count_mappings();
		held.heap = mallinfo2().uordblks;
	}
	return held;
}

static void check_held(const char *name, enum kind kind, unsigned int nth,
		       const struct held *before)
{
	static const char *const kinds[] = { "allocation", "system call",
					     "verb" };
	struct held now = look();

	if (now.mrs == before->mrs && now.mappings == before->mappings &&
	    now.fds == before->fds && now.heap == before->heap)
		return;
	fail_msg("%s leaks when %s %u fails: %d MRs, %d mappings, "
		 "%d descriptors, %ld bytes",
		 name, kinds[kind], nth, now.mrs - before->mrs,
		 (int)(now.mappings - before->mappings),
		 (int)(now.fds - before->fds), (long)(now.heap - before->heap));
}

/* ---- the sweep ---- */

static void arm(void)
{
	armed = true;
}

static void disarm(void)
{
	armed = false;
}

/* What must stay as it is when a call fails. */
#define UNTOUCHED ((void *)0x1234)

#define check_untouched(out) assert_ptr_equal(out, UNTOUCHED)

struct count {
	const char *name;
	unsigned int points[KINDS];
	unsigned int failures;
};

static struct count counts[64];
static unsigned int n_counts;

static struct count *count_of(const char *name)
{
	unsigned int i;

	for (i = 0; i < n_counts; i++)
		if (!strcmp(counts[i].name, name))
			return &counts[i];
	counts[n_counts].name = name;
	return &counts[n_counts++];
}

static void sweep_kind(const char *name, int (*run)(void), enum kind kind,
		       int usual)
{
	struct count *count = count_of(name);
	struct held before = look();
	unsigned int n;
	int ret;

	for (n = 1;; n++) {
		failing = kind;
		countdown = n;
		fired = false;
		ret = run();
		check_held(name, kind, n, &before);
		if (!fired)
			break;
		count->points[kind]++;
		count->failures += ret < 0;
	}
	assert_int_equal(ret, usual);
}

/* @run makes what it takes, arms, calls, disarms and undoes; it returns what
 * the call returned. */
static void sweep(const char *name, int (*run)(void))
{
	int kind, usual;

	/* Whatever is made at a first use is made now. */
	failing = KINDS;
	usual = run();
	assert_int_equal(run(), usual);
	for (kind = 0; kind < KINDS; kind++)
		sweep_kind(name, run, kind, usual);
}

/* ---- domains ---- */

static struct ibv_pd *pds[2] = { &fake_pds[0], &fake_pds[1] };

static struct hmr_domain *open_domain(void)
{
	struct hmr_domain *dom;

	assert_int_equal(hmr_domain_open(pds, 2, NULL, &dom), 0);
	return dom;
}

static int domain_open(void)
{
	struct hmr_domain *dom = UNTOUCHED;
	int ret;

	arm();
	ret = hmr_domain_open(pds, 2, NULL, &dom);
	disarm();
	if (ret)
		check_untouched(dom);
	else
		assert_int_equal(hmr_domain_close(dom), 0);
	return ret;
}

static int domain_close(void)
{
	struct hmr_domain *dom = open_domain();
	int ret;

	arm();
	ret = hmr_domain_close(dom);
	disarm();
	return ret;
}

/* Memory that isn't there yet, of many MRs. */
#define LENGTH (4 * MIB)

static char *map_memory(void)
{
	char *p = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static struct hmr_region *register_chunks(struct hmr_domain *dom, char *p,
					  uint32_t threads)
{
	HMR_OPTS(hmr_register_opts, opts, .chunk = MIB, .threads = threads);
	struct hmr_region *region;

	assert_int_equal(
		hmr_register(dom, p + 1, LENGTH - 1, LW, &opts, &region), 0);
	return region;
}

static int domain_drain(void)
{
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	int ret, i;

	for (i = 0; i < 3; i++)
		register_chunks(dom, p, 1);
	arm();
	ret = hmr_domain_drain(dom);
	disarm();
	/* What it didn't get rid of is still there to try again. */
	if (ret)
		assert_int_equal(hmr_domain_close(dom), -EBUSY);
	assert_int_equal(hmr_domain_drain(dom), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return ret;
}

static void domains(void **state)
{
	sweep("hmr_domain_open", domain_open);
	sweep("hmr_domain_close", domain_close);
	sweep("hmr_domain_drain", domain_drain);
}

/* ---- buffers ---- */

/* No more than it takes for a huge page, where that is what is asked for. */
static int buffer_with(const struct hmr_buffer_opts *opts)
{
	size_t length = (opts->pages == HMR_PAGES_4K ? 32 * PAGE : 2 * MIB) - 5;
	struct hmr_buffer *buf = UNTOUCHED;
	int ret;

	arm();
	ret = hmr_buffer_alloc(length, opts, &buf);
	disarm();
	if (ret)
		check_untouched(buf);
	else
		assert_int_equal(hmr_buffer_free(buf), 0);
	return ret;
}

#define BUFFER(name, ...)                                                   \
	static int name(void)                                               \
	{                                                                   \
		HMR_OPTS(hmr_buffer_opts, opts, .threads = 2, __VA_ARGS__); \
		return buffer_with(&opts);                                  \
	}

BUFFER(buffer_preferred, .pages = HMR_PAGES_PREFER)
BUFFER(buffer_of_1g, .pages = HMR_PAGES_1G)
BUFFER(buffer_of_2m, .pages = HMR_PAGES_2M)
BUFFER(buffer_of_thp, .pages = HMR_PAGES_THP)
BUFFER(buffer_of_base_pages, .pages = HMR_PAGES_4K)
BUFFER(buffer_untouched, .pages = HMR_PAGES_4K, .flags = HMR_BUFFER_UNTOUCHED)
BUFFER(buffer_shared, .pages = HMR_PAGES_4K, .flags = HMR_BUFFER_SHARED)
BUFFER(buffer_bound, .pages = HMR_PAGES_4K, .flags = HMR_BUFFER_BIND,
       .nodes = 1)
BUFFER(buffer_interleaved, .pages = HMR_PAGES_4K,
       .flags = HMR_BUFFER_INTERLEAVE, .nodes = 1)
BUFFER(buffer_near_no_device, .pages = HMR_PAGES_4K, .device = "none")

static int buffer_of_file(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .flags = HMR_BUFFER_FILE,
		 .fd = memfd_create("file", 0));
	int ret;

	assert_true(opts.fd >= 0);
	assert_int_equal(ftruncate(opts.fd, LENGTH), 0);
	ret = buffer_with(&opts);
	close(opts.fd);
	return ret;
}

#define BUFFER_LENGTH (64 * PAGE)

static struct hmr_buffer *make_buffer(uint32_t flags)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K, .flags = flags);
	struct hmr_buffer *buf;

	assert_int_equal(hmr_buffer_alloc(BUFFER_LENGTH, &opts, &buf), 0);
	return buf;
}

static int buffer_free(void)
{
	struct hmr_buffer *buf = make_buffer(HMR_BUFFER_SHARED);
	int ret;

	arm();
	ret = hmr_buffer_free(buf);
	disarm();
	return ret;
}

static int buffer_backing(void)
{
	struct hmr_buffer *buf = make_buffer(0);
	HMR_RESULT(hmr_backing, b);
	int ret;

	b.length = 0x1234;
	arm();
	ret = hmr_buffer_backing(buf, &b);
	disarm();
	assert_int_equal(b.length, ret ? 0x1234 : BUFFER_LENGTH);
	assert_int_equal(hmr_buffer_free(buf), 0);
	return ret;
}

static int buffer_getters(void)
{
	struct hmr_buffer *buf = make_buffer(0);

	arm();
	hmr_buffer_addr(buf);
	hmr_buffer_length(buf);
	hmr_buffer_mapped(buf);
	hmr_buffer_pages(buf);
	hmr_buffer_why(buf);
	hmr_buffer_fd(buf);
	disarm();
	return hmr_buffer_free(buf);
}

static void buffers(void **state)
{
	sweep("hmr_buffer_alloc", buffer_preferred);
	sweep("hmr_buffer_alloc", buffer_of_1g);
	sweep("hmr_buffer_alloc", buffer_of_2m);
	sweep("hmr_buffer_alloc", buffer_of_thp);
	sweep("hmr_buffer_alloc", buffer_of_base_pages);
	sweep("hmr_buffer_alloc", buffer_untouched);
	sweep("hmr_buffer_alloc", buffer_shared);
	sweep("hmr_buffer_alloc", buffer_bound);
	sweep("hmr_buffer_alloc", buffer_interleaved);
	sweep("hmr_buffer_alloc", buffer_near_no_device);
	sweep("hmr_buffer_alloc", buffer_of_file);
	sweep("hmr_buffer_free", buffer_free);
	sweep("hmr_buffer_backing", buffer_backing);
	sweep("hmr_buffer_addr and its like", buffer_getters);
}

/* ---- memory ---- */

static int populate_with(size_t length, uint64_t flags, uint32_t threads)
{
	HMR_OPTS(hmr_populate_opts, opts, .flags = flags, .threads = threads);
	HMR_RESULT(hmr_populate_report, report);
	char *p = map_memory();
	int ret;

	arm();
	ret = hmr_populate(p + 1, length, &opts, &report);
	disarm();
	munmap(p, LENGTH);
	return ret;
}

static int populate_write(void)
{
	return populate_with(LENGTH - 1, 0, 2);
}

static int populate_read(void)
{
	return populate_with(LENGTH - 1, HMR_POPULATE_READ, 2);
}

/* As many threads as there are CPUs, of which one has work */
static int populate_by_cpus(void)
{
	return populate_with(32 * PAGE, 0, 0);
}

/* Page by page, so fewer of them */
static int populate_few(void)
{
	return populate_with(32 * PAGE, 0, 2);
}

static int populate_few_read(void)
{
	return populate_with(32 * PAGE, HMR_POPULATE_READ, 2);
}

static int backing(void)
{
	char *p = map_memory();
	HMR_RESULT(hmr_backing, b);
	int ret;

	memset(p + MIB, 1, 16 * PAGE + 5);
	b.length = 0x1234;
	arm();
	ret = hmr_backing(p + 1, LENGTH - 2, &b);
	disarm();
	assert_int_equal(b.length, ret ? 0x1234 : LENGTH);
	munmap(p, LENGTH);
	return ret;
}

static void memory(void **state)
{
	sweep("hmr_populate", populate_write);
	sweep("hmr_populate", populate_read);
	sweep("hmr_populate", populate_by_cpus);
	hmr_populate_no_madvise = true;
	sweep("hmr_populate", populate_few);
	sweep("hmr_populate", populate_few_read);
	hmr_populate_no_madvise = false;
	sweep("hmr_backing", backing);
}

/* ---- regions ---- */

static int register_with(int access, const struct hmr_register_opts *opts)
{
	struct hmr_region *region = UNTOUCHED;
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	int ret;

	arm();
	ret = hmr_register(dom, p + 1, LENGTH - 1, access, opts, &region);
	disarm();
	if (ret)
		check_untouched(region);
	else
		assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return ret;
}

#define REGISTER(name, access, ...)                             \
	static int name(void)                                   \
	{                                                       \
		HMR_OPTS(hmr_register_opts, opts, __VA_ARGS__); \
		return register_with(access, &opts);            \
	}

REGISTER(register_plainly, LW, .threads = 2)
REGISTER(register_in_chunks, LW, .chunk = MIB, .threads = 1)
REGISTER(register_by_threads, LW, .chunk = MIB, .threads = 2)
REGISTER(register_for_reading, 0, .chunk = MIB, .threads = 2)
REGISTER(register_at_an_iova, LW, .chunk = MIB, .threads = 2,
	 .flags = HMR_REGISTER_IOVA, .iova = PAGE + 1)
REGISTER(register_a_dmabuf, LW, .chunk = MIB, .threads = 2,
	 .flags = HMR_REGISTER_DMABUF)
REGISTER(register_on_demand, LW | IBV_ACCESS_ON_DEMAND, .chunk = MIB,
	 .threads = 2, .flags = HMR_REGISTER_PREFETCH)

/* All that is asked about a refusal may fail too. */
static int register_refused(void)
{
	HMR_OPTS(hmr_register_opts, opts, .chunk = MIB, .threads = 1);
	int ret;

	refuse_at = 4;
	dereg_works = true;
	ret = register_with(LW, &opts);
	dereg_works = false;
	refuse_at = 0;
	assert_true(ret < 0);
	return ret;
}

static int deregister_with(uint32_t threads)
{
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	struct hmr_region *region = register_chunks(dom, p, threads);
	int ret;

	arm();
	ret = hmr_deregister(region);
	disarm();
	/* It may be repeated. */
	if (ret) {
		assert_int_equal(hmr_domain_close(dom), -EBUSY);
		assert_int_equal(hmr_deregister(region), 0);
	}
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return ret;
}

static int deregister(void)
{
	return deregister_with(1);
}

static int deregister_by_threads(void)
{
	return deregister_with(2);
}

static int reregister(void)
{
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	struct hmr_region *region = register_chunks(dom, p, 1);
	int ret;

	arm();
	ret = hmr_reregister(region, 0);
	disarm();
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return ret;
}

static int region_report(void)
{
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	struct hmr_region *region = register_chunks(dom, p, 1);
	HMR_RESULT(hmr_report, report);

	arm();
	hmr_region_report(region, &report);
	disarm();
	assert_int_equal(report.length, LENGTH - 1);
	assert_int_equal(report.mrs, 8);
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return 0;
}

/* What a transfer is made of comes without a call to anyone. */
static int region_lists(void)
{
	struct hmr_domain *dom = open_domain();
	char *p = map_memory();
	struct hmr_region *region = register_chunks(dom, p, 1);
	struct hmr_key keys[4], got[4];
	struct hmr_remote remote[4];
	struct ibv_sge sges[4];
	char wire[256];

	arm();
	assert_int_equal(hmr_keys(region, 1, keys, 4), 4);
	assert_int_equal(hmr_sges(region, 1, p + 1, LENGTH - 1, sges, 4), 4);
	assert_true(hmr_keys_pack(keys, 4, wire, sizeof(wire)) > 0);
	assert_int_equal(hmr_keys_unpack(wire, sizeof(wire), got, 4), 4);
	assert_int_equal(
		hmr_remote_sge(got, 4, keys[0].addr, LENGTH - 1, remote, 4), 4);
	disarm();
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	munmap(p, LENGTH);
	return 0;
}

static void regions(void **state)
{
	sweep("hmr_register", register_plainly);
	sweep("hmr_register", register_in_chunks);
	sweep("hmr_register", register_by_threads);
	sweep("hmr_register", register_for_reading);
	sweep("hmr_register", register_at_an_iova);
	sweep("hmr_register", register_a_dmabuf);
	sweep("hmr_register", register_on_demand);
	sweep("hmr_register", register_refused);
	sweep("hmr_deregister", deregister);
	sweep("hmr_deregister", deregister_by_threads);
	sweep("hmr_reregister", reregister);
	ops.rereg_mr = rereg_mr_is_lost;
	sweep("hmr_reregister", reregister);
	sweep("hmr_region_report", region_report);
	sweep("hmr_sges, hmr_keys and their like", region_lists);
}

/* ---- the rest ---- */

static int reg_mr_call(void)
{
	static char page[PAGE];
	struct ibv_mr *mr;
	int err;

	arm();
	mr = hmr_reg_mr(pds[0], page, PAGE, LW);
	err = errno;
	disarm();
	if (mr)
		assert_int_equal(hmr_dereg_mr(mr), 0);
	return mr ? 0 : -err;
}

static int reg_mr_refused(void)
{
	int ret;

	refuse_at = 1;
	ret = reg_mr_call();
	refuse_at = 0;
	assert_true(ret < 0);
	return ret;
}

static int dereg_mr_call(void)
{
	static char page[PAGE];
	struct ibv_mr *mr = hmr_reg_mr(pds[0], page, PAGE, LW);
	int ret;

	assert_non_null(mr);
	arm();
	ret = hmr_dereg_mr(mr);
	disarm();
	if (ret)
		assert_int_equal(hmr_dereg_mr(mr), 0);
	return -ret;
}

static int plan(void)
{
	HMR_OPTS(hmr_plan_opts, opts, .access = LW, .pages = HMR_PAGES_2M);
	struct hmr_domain *dom = open_domain();
	HMR_RESULT(hmr_plan, p);
	int ret;

	p.n = 0x1234;
	arm();
	ret = hmr_plan(dom, LENGTH, &opts, &p);
	disarm();
	if (ret)
		assert_int_equal(p.n, 0x1234);
	else
		assert_in_range(p.n, 1, HMR_PLAN_CHECKS);
	assert_int_equal(hmr_domain_close(dom), 0);
	return ret;
}

static int info(void)
{
	HMR_RESULT(hmr_info, i);
	int ret;

	arm();
	ret = hmr_info(&i);
	disarm();
	return ret;
}

static void take_message(enum hmr_log_level level, const char *text, void *arg)
{
}

static int others(void)
{
	int ret;

	arm();
	ret = hmr_set_log(take_message, NULL, HMR_LOG_DEBUG);
	hmr_last_error();
	hmr_version();
	hmr_cause_name(HMR_CAUSE_POOL);
	disarm();
	return ret;
}

static void the_rest(void **state)
{
	sweep("hmr_reg_mr", reg_mr_call);
	sweep("hmr_reg_mr", reg_mr_refused);
	sweep("hmr_dereg_mr", dereg_mr_call);
	sweep("hmr_plan", plan);
	sweep("hmr_info", info);
	sweep("hmr_set_log and its like", others);
}

/* ---- the table ---- */

static bool calls_nothing_that_fails(const char *name)
{
	static const char *const names[] = {
		"hmr_domain_close",
		"hmr_buffer_free",
		"hmr_buffer_addr and its like",
		"hmr_sges, hmr_keys and their like",
		"hmr_set_log and its like",
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void every_call_was_made_to_fail(void **state)
{
	const struct count *c;
	unsigned int all;

	printf("%-34s %11s %12s %5s %8s\n", "made to fail", "allocations",
	       "system calls", "verbs", "failures");
	for (c = counts; c < counts + n_counts; c++)
		printf("%-34s %11u %12u %5u %8u\n", c->name,
		       c->points[ALLOCATION], c->points[SYSTEM_CALL],
		       c->points[VERB], c->failures);
	for (c = counts; c < counts + n_counts; c++) {
		all = c->points[ALLOCATION] + c->points[SYSTEM_CALL] +
		      c->points[VERB];
		if (calls_nothing_that_fails(c->name))
			assert_int_equal(all, 0);
		else
			assert_true(all > 0);
	}
	assert_int_equal(n_counts, 19);
}

/* The thread's cache of malloc() would count as in use. */
static void without_cache(char **argv)
{
	const char *tunables = "glibc.malloc.tcache_count=0";
	const char *now = getenv("GLIBC_TUNABLES");

	if (OTHERS_ALLOCATE || (now && !strcmp(now, tunables)))
		return;
	setenv("GLIBC_TUNABLES", tunables, 1);
	execv("/proc/self/exe", argv);
	perror("/proc/self/exe");
	exit(1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(domains, setup),
		cmocka_unit_test_setup(buffers, setup),
		cmocka_unit_test_setup(memory, setup),
		cmocka_unit_test_setup(regions, setup),
		cmocka_unit_test_setup(the_rest, setup),
		cmocka_unit_test(every_call_was_made_to_fail),
	};

	without_cache(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
