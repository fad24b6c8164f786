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
#include <sys/mman.h>
#include <sys/syscall.h>

#include "opts.h"
#include "populate.h"
#include "vma.h"

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
static bool have_madvise(void)
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

int hmr_populate_range(void *addr, size_t length, size_t step, bool write,
		       enum hmr_populate_method *method)
{
	int ret;

	if (have_madvise()) {
		*method = HMR_POPULATE_MADVISE;
		ret = populate_madvise(addr, length, write);
	} else {
		*method = HMR_POPULATE_FUTEX;
		ret = populate_futex(addr, length, step, write);
	}
	return ret ? classify(addr, length, write, ret) : 0;
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
	default:
		return strerror(-err);
	}
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
	uint64_t flags = HMR_OPTS_GET(opts, flags);
	struct hmr_populate_report r = { 0 };
	enum hmr_populate_method method;
	uintptr_t start, end;
	size_t base = hmr_base_page();
	uint64_t t0 = hmr_now_ns();

	err.err = hmr_opts_check(opts, sizeof(*opts));
	if (err.err)
		return hmr_fail(&err,
				"an option is set that hugemr %s "
				"doesn't know",
				hmr_version());
	err.err = -EINVAL;
	if (flags & ~(uint64_t)HMR_POPULATE_READ)
		return hmr_fail(&err, "unknown flags %#lx", (long)flags);
	if (!hmr_range_ok(addr, length))
		return hmr_fail(&err, "not a range: %zu bytes at %p", length,
				addr);

	start = hmr_align_down((uintptr_t)addr, base);
	end = hmr_align_up((uintptr_t)addr + length, base);
	err.err = hmr_populate_range((void *)start, end - start, base,
				     !(flags & HMR_POPULATE_READ), &method);
	r.ns = hmr_now_ns() - t0;
	r.method = method;
	if (report)
		hmr_result_copy(report, &r, sizeof(r));
	if (err.err)
		return hmr_fail(&err, "%zu bytes at %p can't be populated: %s",
				length, addr, hmr_populate_text(err.err));
	return 0;
}
