/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The limits that control groups put on this process, of version 1 or 2. */
#ifndef HMR_CGROUP_H
#define HMR_CGROUP_H

#include "readfile.h"

/* Bytes; UINT64_MAX for no limit. Each group up the hierarchy has its own, and
 * the tightest counts, which need not be the same one for both. */
struct hmr_limit {
	uint64_t max;
	/* what may still be used */
	uint64_t room;
};

#define HMR_NO_LIMIT ((struct hmr_limit){ UINT64_MAX, UINT64_MAX })

/* The group of this process under one controller. */
struct hmr_cgroup {
	/* 1 or 2; 0 if there is none that can be seen */
	unsigned int version;
	/* where the hierarchy is mounted, and the group in it: "" or "/..." */
	char mount[512];
	char group[1024];
};

void hmr_cgroup_find(const char *root, const char *controller,
		     struct hmr_cgroup *cg);

/* How much hugetlb memory of a page size may be in use, or with @reserve be
 * promised to mappings. */
struct hmr_limit hmr_cgroup_hugetlb(const char *root,
				    const struct hmr_cgroup *cg,
				    size_t page_size, bool reserve);

struct hmr_limit hmr_cgroup_memory(const char *root,
				   const struct hmr_cgroup *cg);

/* "hugetlb.2MB.max": the file to raise, for messages. */
#define HMR_CGROUP_FILE 48
const char *hmr_cgroup_file(const struct hmr_cgroup *cg, size_t page_size,
			    bool reserve, char name[HMR_CGROUP_FILE]);

#endif /* HMR_CGROUP_H */
