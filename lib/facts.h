/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What can be found out about a registration that failed: of the range, the
 * process, the host and the device. Looked up after the failure only, and never
 * guessed: a fact that can't be had is false or 0.
 */
#ifndef HMR_FACTS_H
#define HMR_FACTS_H

#include <infiniband/verbs.h>

#include "explain.h"
#include "pages.h"
#include "process.h"

struct hmr_facts {
	const struct hmr_error *err;
	const struct hmr_reg_facts *call;
	/* the MR that was refused: all of the range, or a chunk of it */
	uintptr_t addr;
	size_t length;

	bool before_6_2;

	/* its mappings, once hmr_facts_range() has been called */
	bool range_known;
	bool hole;
	bool unreadable;
	bool unwritable;
	/* shared and read-only, and the kernel pins for writing to be read */
	bool forced;
	bool io;
	/* a character device, such as that of a GPU */
	bool device_file;
	/* mapped shared and writable, from a file system that writes back */
	bool writeback_file;
	/* of a file system that is mounted for direct access */
	bool dax_file;
	/* bytes that a file would have to have, and has; 0 if it is long enough */
	uint64_t file_need;
	uint64_t file_size;
	/* the file that one of these is about, or else the last one */
	char fs[32];
	char file[128];
	/* all of it hugetlb, the page size of the first such mapping, and bytes
	 * that aren't there yet */
	bool all_hugetlb;
	size_t hugetlb_page;
	uint64_t hugetlb_absent;
	/* begins or ends within a hugetlb page that a child would inherit */
	bool odd_hugetlb;
	/* bytes of other memory that aren't there yet, at least */
	uint64_t absent;
	/* bound to these nodes by its first mapping's policy; 0 if it isn't */
	uint64_t bound;

	/* 0 if it can't be asked */
	uint64_t max_mr_size;
	uint64_t max_mr;
	bool rxe;
	/* access bits asked for that it has no use for */
	int lacking;

	struct hmr_process proc;
	struct hmr_host host;
};

/* All but what smaps tells of the range. @f is large: 32 KiB. */
void hmr_facts_gather(struct hmr_facts *f, const struct hmr_error *err,
		      struct ibv_context *context,
		      const struct hmr_reg_facts *call);

/* That too, unless it is known already, or the range is none of memory. It
 * takes a walk over all memory of the process. */
void hmr_facts_range(struct hmr_facts *f);

/**
 * hmr_facts_dontfork() - did libibverbs mean to mark the MR MADV_DONTFORK?
 *
 * After ibv_fork_init() it does, unless that is how its mappings are already.
 * There are versions, such as 44, that do so too where
 * ibv_is_fork_initialized() says that there is no need. Then only trying tells,
 * with an MR of one page, and the answer may be a wrong no. Takes a walk, too.
 */
bool hmr_facts_dontfork(const struct hmr_facts *f);

/* Would a child inherit some of a range? It takes a walk over all memory. */
bool hmr_is_inherited(const void *addr, size_t length);

/* What the kernel counts of the MR, or of all of the call on one PD: whole base
 * pages, in bytes. */
uint64_t hmr_facts_mr_bytes(const struct hmr_facts *f);
uint64_t hmr_facts_call_bytes(const struct hmr_facts *f);

/* The bits of @access that a device says it has nothing for. It isn't asked
 * about all of them: what is left may be refused too. */
int hmr_access_lacking(int access, const struct ibv_device_attr *attr,
		       struct ibv_context *context);

#endif /* HMR_FACTS_H */
