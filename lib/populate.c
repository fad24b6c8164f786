// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Faulting memory in so that what goes wrong is an error and not a SIGBUS, and
 * so that nobody's data changes.
 *
 * Linux 5.14 has MADV_POPULATE_READ and _WRITE for this. Before it, a futex
 * operation does: the kernel itself reads or atomically modifies a user word,
 * faults the page in if it has to, and reports -EFAULT where a user access would
 * have raised a signal. FUTEX_WAKE_OP with "add 0" is a write that changes
 * nothing even while others write; FUTEX_WAIT compares and so only reads. That
 * is a system call for each page, but there is no other way that is safe.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "numa.h"
#include "opts.h"
#include "populate.h"
#include "vma.h"
#include "workers.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#ifndef EHWPOISON
#define EHWPOISON 133
#endif

bool hmr_populate_no_madvise;

/* The advice is refused with EINVAL both by a kernel that doesn't know it and
 * for a mapping that doesn't permit it, so ask about a mapping that does. */
bool hmr_populate_have_madvise(void)
{
	static int known; /* 1 yes, -1 no; racing threads find the same */
	int have = __atomic_load_n(&known, __ATOMIC_RELAXED);
	size_t page = hmr_base_page();
	void *p;

	if (hmr_populate_no_madvise)
		return false;
	if (have)
		return have > 0;
	p = mmap(NULL, page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	have = madvise(p, page, MADV_POPULATE_WRITE) ? -1 : 1;
	munmap(p, page);
	__atomic_store_n(&known, have, __ATOMIC_RELAXED);
	return have > 0;
}

static int populate_madvise(void *addr, size_t length, bool write)
{
	int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	while (madvise(addr, length, advice))
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	return 0;
}

static int futex_write(uint32_t *word)
{
	/* Waking is a side effect that isn't wanted: there are no waiters on
	 * ours, and none on theirs as long as it isn't the least integer. */
	uint32_t ours = 0;
	uint32_t op = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, -2048);

	if (syscall(SYS_futex, &ours, FUTEX_WAKE_OP_PRIVATE, 0, NULL, word,
		    op) < 0)
		return -errno;
	return 0;
}

static int futex_read(uint32_t *word)
{
	static const struct timespec no_time;

	/* Whatever the word holds, this returns at once. */
	if (syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0x5eed5eed, &no_time,
		    NULL, 0) < 0 &&
	    errno != EAGAIN && errno != ETIMEDOUT && errno != EINTR)
		return -errno;
	return 0;
}

static int populate_futex(char *addr, size_t length, size_t step, bool write)
{
	size_t offset;
	int ret;

	for (offset = 0; offset < length; offset += step) {
		uint32_t *word = (void *)(addr + offset);

		ret = write ? futex_write(word) : futex_read(word);
		if (ret)
			return ret;
	}
	return 0;
}

struct permission {
	bool write;
	bool refused;
};

static void check_permission(const struct hmr_vma *vma, void *arg)
{
	struct permission *p = arg;

	if (p->write ? !vma->writable : !vma->readable)
		p->refused = true;
}

/* The two ways report the same cause by different numbers; the mappings tell
 * which it was. */
static int classify(const void *addr, size_t length, bool write, int err)
{
	struct permission p = { .write = write };

	if (err != -EINVAL && err != -EFAULT && err != -ENOMEM)
		return err;
	if (hmr_vma_walk(addr, length, check_permission, &p) == -ENOMEM)
		return -ENOMEM;
	if (p.refused)
		return -EACCES;
	return err == -ENOMEM ? -ENOMEM : -EFAULT;
}

/* Cuts lie on multiples of this, or of larger pages where they are known: no
 * two threads then fault in one and the same huge page. */
#define PIECE_ALIGN (2 * HMR_MIB)
/* Large enough that a call costs nothing, small enough to be cancelled. */
#define PIECE_MAX (256 * HMR_MIB)
/* Pieces for each thread, so that one that is slow can be helped out. */
#define PIECES_EACH 8

/* A job while it is done. */
struct run {
	const struct hmr_populate_job *job;
	bool madvise;
	size_t step;
	/* pieces begin at multiples of it from origin on */
	char *origin;
	size_t piece;
	size_t pieces;
	/* for progress */
	pthread_mutex_t lock;
	uint64_t done;
};

static int report_progress(struct run *run, size_t bytes)
{
	const struct hmr_populate_job *job = run->job;
	int stop;

	if (!job->progress || run->pieces == 1)
		return 0;
	pthread_mutex_lock(&run->lock);
	run->done += bytes;
	stop = job->progress(run->done, job->length, job->arg);
	pthread_mutex_unlock(&run->lock);
	return stop ? -ECANCELED : 0;
}

static int populate_piece(void *arg, size_t i)
{
	struct run *run = arg;
	const struct hmr_populate_job *job = run->job;
	char *from = run->origin + i * run->piece;
	char *to = from + run->piece;
	int ret;

	if (from < job->addr)
		from = job->addr;
	if (to > job->addr + job->length)
		to = job->addr + job->length;
	if (run->madvise)
		ret = populate_madvise(from, (size_t)(to - from), job->write);
	else
		ret = populate_futex(from, (size_t)(to - from), run->step,
				     job->write);
	return ret ? ret : report_progress(run, (size_t)(to - from));
}

/* What pages to cut on: those that the caller knows, or the mapping's. */
static size_t cut_align(const struct hmr_populate_job *job)
{
	size_t page = job->step;

	if (!page && job->length > PIECE_ALIGN)
		hmr_vma_page_size(job->addr, job->length, &page);
	return page > PIECE_ALIGN ? page : PIECE_ALIGN;
}

static void cut(struct run *run, unsigned int threads, size_t align)
{
	const struct hmr_populate_job *job = run->job;
	size_t piece = job->length / ((size_t)threads * PIECES_EACH);

	run->origin = (char *)hmr_align_down((uintptr_t)job->addr, align);
	if (piece > PIECE_MAX)
		piece = PIECE_MAX;
	run->piece = piece < align ? align : hmr_align_up(piece, align);
	run->pieces = ((size_t)(job->addr + job->length - run->origin) - 1) /
			      run->piece +
		      1;
}

/* There are never more threads than pieces of the smallest kind. */
static struct hmr_threads divide(struct run *run, cpu_set_t *cpus,
				 const cpu_set_t **near)
{
	const struct hmr_populate_job *job = run->job;
	size_t align = cut_align(job);
	struct hmr_threads threads;

	*near = NULL;
	if (job->length > align && hmr_numa_cpus(job->addr, cpus))
		*near = cpus;
	threads = hmr_threads_choose(job->threads, job->processes, *near,
				     (job->length - 1) / align + 1);
	cut(run, threads.n, align);
	return threads;
}

int hmr_populate_range(const struct hmr_populate_job *job,
		       struct hmr_populate_report *report)
{
	struct run run = {
		.job = job,
		.madvise = hmr_populate_have_madvise(),
		.step = job->step ? job->step : hmr_base_page(),
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	uint64_t t0 = hmr_now_ns();
	struct hmr_threads threads;
	const cpu_set_t *near;
	cpu_set_t cpus;
	int ret;

	threads = divide(&run, &cpus, &near);
	ret = hmr_workers_run(&threads, near, run.pieces, populate_piece, &run);
	report->ns = hmr_now_ns() - t0;
	report->method = run.madvise ? HMR_POPULATE_MADVISE :
				       HMR_POPULATE_FUTEX;
	report->threads = threads.n;
	report->threads_why = threads.why;
	return ret ? classify(job->addr, job->length, job->write, ret) : 0;
}

bool hmr_populate_looks_done(const void *addr, size_t length)
{
	size_t base = hmr_base_page(), pages, i;
	const char *start = (char *)hmr_align_down((uintptr_t)addr, base);
	const size_t samples = 8;
	unsigned char present;

	pages = ((size_t)((const char *)addr + length - start) - 1) / base + 1;
	for (i = 0; i < samples; i++) {
		size_t page = (pages - 1) * i / (samples - 1);

		if (mincore((void *)(start + page * base), 1, &present) ||
		    !(present & 1))
			return false;
	}
	return true;
}

const char *hmr_populate_text(int err)
{
	switch (err) {
	case -ENOMEM:
		return "there is no memory, or part of the range isn't mapped";
	case -EACCES:
		return "the mapping doesn't permit the access";
	case -EFAULT:
		return "a page can't be had: a hugetlb pool or its cgroup "
		       "limit is exhausted, a file is shorter than its "
		       "mapping, or it is memory of a device";
	case -EHWPOISON:
		return "a page has a memory error";
	case -ECANCELED:
		return "the progress callback cancelled it";
	default:
		return strerror(-err);
	}
}

static enum hmr_cause populate_cause(int err)
{
	switch (err) {
	case -EACCES:
		return HMR_CAUSE_PROTECTION;
	case -EHWPOISON:
		return HMR_CAUSE_MEMORY_ERROR;
	case -ECANCELED:
		return HMR_CAUSE_CANCELED;
	default:
		return HMR_CAUSE_UNKNOWN;
	}
}

static int check_args(struct hmr_error *err,
		      const struct hmr_populate_opts *opts)
{
	uint64_t flags = HMR_OPTS_GET(opts, flags);

	err->cause = HMR_CAUSE_ARGUMENT;
	err->err = hmr_opts_check(opts, sizeof(*opts));
	if (err->err)
		return hmr_fail_opts(err);
	err->err = -EINVAL;
	if (flags & ~(uint64_t)HMR_POPULATE_READ)
		return hmr_fail(err, "unknown flags %#lx", flags);
	if (!hmr_range_ok(err->addr, err->length))
		return hmr_fail(err, "not a range: %zu bytes at %p",
				err->length, err->addr);
	return 0;
}

HMR_API int hmr_populate(void *addr, size_t length,
			 const struct hmr_populate_opts *opts,
			 struct hmr_populate_report *report)
{
	struct hmr_error err = {
		.op = "hmr_populate",
		.addr = addr,
		.length = length,
	};
	struct hmr_populate_report r = { 0 };
	struct hmr_populate_job job = {
		.write = !(HMR_OPTS_GET(opts, flags) & HMR_POPULATE_READ),
		.threads = HMR_OPTS_GET(opts, threads),
		.processes = HMR_OPTS_GET(opts, processes),
		.progress = HMR_OPTS_GET(opts, progress),
		.arg = HMR_OPTS_GET(opts, arg),
	};
	size_t base = hmr_base_page();
	int ret;

	ret = check_args(&err, opts);
	if (ret)
		return ret;
	job.addr = (char *)hmr_align_down((uintptr_t)addr, base);
	job.length = hmr_align_up((uintptr_t)addr + length, base) -
		     (uintptr_t)job.addr;
	err.err = hmr_populate_range(&job, &r);
	if (report)
		hmr_result_copy(report, &r, sizeof(r));
	if (!err.err)
		return 0;
	err.cause = populate_cause(err.err);
	return hmr_fail(&err, "%zu bytes at %p can't be populated: %s", length,
			addr, hmr_populate_text(err.err));
}
