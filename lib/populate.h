/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_POPULATE_H
#define HMR_POPULATE_H

#include "internal.h"

/**
 * hmr_populate_range() - hmr_populate() without its bookkeeping
 * @addr: aligned to base pages
 * @length: a multiple of base pages, not 0
 * @step: size of the pages that are known to lie there, for the way that goes
 *	page by page; base pages if nothing is known
 * @write: fault in for writing
 * @method: how it was done
 *
 * Return: 0 or -errno as hmr_populate().
 */
int hmr_populate_range(void *addr, size_t length, size_t step, bool write,
		       enum hmr_populate_method *method);

/* What an error of hmr_populate_range() means, for messages. */
const char *hmr_populate_text(int err);

/* For tests: act as on a kernel without MADV_POPULATE_WRITE. */
extern bool hmr_populate_no_madvise;

#endif /* HMR_POPULATE_H */
