/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The verbs that the library calls, behind one table so that tests can script
 * them. Signatures and results are those of libibverbs. */
#ifndef HMR_VERBS_OPS_H
#define HMR_VERBS_OPS_H

#include <infiniband/verbs.h>

struct hmr_verbs_ops {
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t length,
				 int access);
	struct ibv_mr *(*reg_mr_iova)(struct ibv_pd *pd, void *addr,
				      size_t length, uint64_t iova, int access);
	int (*dereg_mr)(struct ibv_mr *mr);
	int (*query_device)(struct ibv_context *context,
			    struct ibv_device_attr *attr);
	const char *(*device_name)(struct ibv_context *context);
	enum ibv_fork_status (*is_fork_initialized)(void);
};

extern const struct hmr_verbs_ops *hmr_verbs;

#endif /* HMR_VERBS_OPS_H */
