/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_BACKING_H
#define HMR_BACKING_H

#include "internal.h"

/* What is wanted beyond page sizes; it costs a look at each page. */
enum hmr_backing_want {
	HMR_BACKING_WANT_ORDER = 1u << 0,
	HMR_BACKING_WANT_NODE = 1u << 1,
};

/**
 * hmr_backing_read() - hmr_backing() without its bookkeeping
 * @addr: a range that is one
 * @length: its bytes
 * @want: enum hmr_backing_want
 * @b: overwritten, but for its size
 *
 * Return: as hmr_backing().
 */
int hmr_backing_read(const void *addr, size_t length, unsigned int want,
		     struct hmr_backing *b);

#endif /* HMR_BACKING_H */
