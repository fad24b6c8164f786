/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_EXPLAIN_H
#define HMR_EXPLAIN_H

#include "internal.h"

struct ibv_context;
struct ibv_pd;

/* What the one who called verbs knows beyond its errno. Zero is the default of
 * each field. */
struct hmr_reg_facts {
	/* the MR that was refused; 0 bytes for all of the range */
	const void *addr;
	size_t length;
	/* the PD that it was refused on; NULL if it isn't told */
	struct ibv_pd *pd;
	/* PDs that the range was to be registered on; 0 for one */
	unsigned int pds;
	/* the range is of a dmabuf, so the address is none of this process */
	bool dmabuf;
	/* base pages that an MR of the device can have; 0 for any number */
	uint64_t max_mr_pages;
	/* MRs that this process has on the device; 0 if that isn't known */
	uint64_t mrs;
};

/**
 * hmr_fail_reg_call() - record the failure of a registration, with its cause
 * @err: op, err and the range
 * @context: of the device that refused; its name is added to @err
 * @call: more about the call, or NULL
 *
 * To be called when what the call had pinned is undone: it compares all that it
 * wanted to pin, on all PDs, with what is pinned besides. Sets the cause and
 * its figures in @err.
 *
 * Return: err->err.
 */
int hmr_fail_reg_call(struct hmr_error *err, struct ibv_context *context,
		      const struct hmr_reg_facts *call);

/* "LOCAL_WRITE|REMOTE_READ", for messages. */
#define HMR_ACCESS_TEXT 160
const char *hmr_access_text(int access, char text[HMR_ACCESS_TEXT]);

#endif /* HMR_EXPLAIN_H */
