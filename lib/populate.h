/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_POPULATE_H
#define HMR_POPULATE_H

#include "internal.h"

/* What is to be populated, and how. */
struct hmr_populate_job {
	/* aligned to base pages, and not empty */
	char *addr;
	size_t length;
	/* size of the pages that are known to lie there, on which it is cut and
	 * by which the way that goes page by page steps; 0 if not known */
	size_t step;
	bool write;
	/* as in struct hmr_populate_opts */
	unsigned int threads;
	unsigned int processes;
	hmr_progress_fn progress;
	void *arg;
};

/**
 * hmr_populate_range() - hmr_populate() without its bookkeeping
 * @job: what to do
 * @report: filled, also after a failure
 *
 * Return: 0 or -errno as hmr_populate().
 */
int hmr_populate_range(const struct hmr_populate_job *job,
		       struct hmr_populate_report *report);

/* Is memory there already, as far as a few samples can tell? Only good for
 * saving the effort of populating it. */
bool hmr_populate_looks_done(const void *addr, size_t length);

/* What an error of hmr_populate_range() means, for messages. */
const char *hmr_populate_text(int err);

/* Does the kernel have MADV_POPULATE_WRITE? */
bool hmr_populate_have_madvise(void);

/* For tests: act as on a kernel without it. */
extern bool hmr_populate_no_madvise;

#endif /* HMR_POPULATE_H */
