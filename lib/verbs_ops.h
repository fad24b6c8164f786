/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The verbs that the library calls, behind one table so that tests can script
 * them. Signatures and results are those of libibverbs. */
#ifndef HMR_VERBS_OPS_H
#define HMR_VERBS_OPS_H

#include <infiniband/verbs.h>
#include <stdbool.h>

struct hmr_verbs_ops {
	struct ibv_mr *(*reg_mr)(struct ibv_pd *pd, void *addr, size_t length,
				 int access);
	struct ibv_mr *(*reg_mr_iova)(struct ibv_pd *pd, void *addr,
				      size_t length, uint64_t iova, int access);
	struct ibv_mr *(*reg_dmabuf_mr)(struct ibv_pd *pd, uint64_t offset,
					size_t length, uint64_t iova, int fd,
					int access);
	int (*rereg_mr)(struct ibv_mr *mr, int flags, struct ibv_pd *pd,
			void *addr, size_t length, int access);
	int (*dereg_mr)(struct ibv_mr *mr);
	int (*advise_mr)(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
			 uint32_t flags, struct ibv_sge *sge, uint32_t n);
	int (*query_device)(struct ibv_context *context,
			    struct ibv_device_attr *attr);
	int (*query_device_ex)(struct ibv_context *context,
			       struct ibv_device_attr_ex *attr);
	const char *(*device_name)(struct ibv_context *context);
	enum ibv_fork_status (*is_fork_initialized)(void);
};

extern const struct hmr_verbs_ops *hmr_verbs;

/* What is known of forks; for tests: 0 to have it asked again. */
extern int hmr_fork_status;

/* libibverbs marks what it registers MADV_DONTFORK: ibv_fork_init() was called. */
bool hmr_mrs_are_dontfork(void);
/* Libibverbs was given a range of memory to register, and did it. */
void hmr_registered(void);

#define HMR_REMOTE_CHANGES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

/* ZERO_BASED is missing on purpose: it is an iova of 0, by another name. */
#define HMR_KNOWN_ACCESS                                                  \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |                \
	 HMR_REMOTE_CHANGES | IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND | \
	 IBV_ACCESS_HUGETLB | IBV_ACCESS_RELAXED_ORDERING)

/* Of soft-RoCE, in its answer to query_device(). */
#define HMR_VENDOR_RXE 0xffffff

#endif /* HMR_VERBS_OPS_H */
