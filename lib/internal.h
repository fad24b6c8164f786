/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the files of the library share that belongs to none of its objects. */
#ifndef HMR_INTERNAL_H
#define HMR_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "hugemr/hugemr.h"

#define HMR_API __attribute__((visibility("default")))

#define HMR_KIB (1ul << 10)
#define HMR_MIB (1ul << 20)
#define HMR_GIB (1ul << 30)

static inline size_t hmr_base_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* @align is a power of two. */
static inline uintptr_t hmr_align_down(uintptr_t x, size_t align)
{
	return x & ~(uintptr_t)(align - 1);
}

/* Wraps to 0 beyond the address space, which callers that can't rule it out
 * check for. */
static inline uintptr_t hmr_align_up(uintptr_t x, size_t align)
{
	return hmr_align_down(x + align - 1, align);
}

/* Is [addr, addr + length) a range: not empty, not around the end of the
 * address space, also when rounded out to base pages? */
static inline bool hmr_range_ok(const void *addr, size_t length)
{
	uintptr_t last;

	if (!length ||
	    __builtin_add_overflow((uintptr_t)addr, length - 1, &last))
		return false;
	return hmr_align_down(last, hmr_base_page()) <=
	       UINTPTR_MAX - hmr_base_page();
}

static inline uint64_t hmr_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/**
 * hmr_fail() - record a failure as the thread's last error and log it
 * @err: op, err and what else is known; its text is made here
 * @fmt: the text
 *
 * Return: err->err, so that a caller can end with it.
 */
int hmr_fail(const struct hmr_error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* What hmr_opts_check() refused: err->err is its result. */
int hmr_fail_opts(struct hmr_error *err);

/* The common case: a refused argument. */
#define hmr_einval(opname, ...)                                      \
	hmr_fail(&(struct hmr_error){ .op = (opname),                \
				      .err = -EINVAL,                \
				      .cause = HMR_CAUSE_ARGUMENT }, \
		 __VA_ARGS__)

void hmr_log(enum hmr_log_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Must private memory be kept from children, as on kernels that would copy a
 * pinned page at the parent's next write? Asked of libibverbs once. */
bool hmr_needs_dontfork(void);

#endif /* HMR_INTERNAL_H */
