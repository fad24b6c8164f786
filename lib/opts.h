/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Structs that start with their size. The caller's may be shorter than ours (it
 * was built against an older header) or longer (a newer one). A shorter one
 * lacks fields, which then have their default, zero; a longer one may only hold
 * zeroes beyond what we know. openat2() of Linux has the same contract.
 */
#ifndef HMR_OPTS_H
#define HMR_OPTS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HMR_OPTS_HAS(opts, field)                                         \
	((opts) && (opts)->size >= offsetof(__typeof__(*(opts)), field) + \
					   sizeof((opts)->field))

#define HMR_OPTS_GET(opts, field)                    \
	(HMR_OPTS_HAS(opts, field) ? (opts)->field : \
				     (__typeof__((opts)->field))0)

/* 0, -EINVAL for a size that can't be, -E2BIG for wishes unknown to us. */
static inline int hmr_opts_check(const void *opts, size_t known)
{
	const unsigned char *bytes = opts;
	size_t size, i;

	if (!opts)
		return 0;
	memcpy(&size, opts, sizeof(size));
	if (size < sizeof(size))
		return -EINVAL;
	for (i = known; i < size; i++)
		if (bytes[i])
			return -E2BIG;
	return 0;
}

/* Copy a result to the caller, as much of it as the caller has room for, and
 * leave the caller's size alone. What we don't know reads as zero. */
static inline void hmr_result_copy(void *to, const void *from, size_t known)
{
	size_t size;

	memcpy(&size, to, sizeof(size));
	if (size < sizeof(size))
		return;
	memset((char *)to + sizeof(size), 0, size - sizeof(size));
	if (known > size)
		known = size;
	memcpy((char *)to + sizeof(size), (const char *)from + sizeof(size),
	       known - sizeof(size));
}

#endif /* HMR_OPTS_H */
