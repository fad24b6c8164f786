/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_PROCESS_H
#define HMR_PROCESS_H

#include "internal.h"

/* What limits this process, and what it uses of it; in bytes. */
struct hmr_process {
	/* pinned by drivers, which is what RLIMIT_MEMLOCK of RDMA counts, and
	 * locked by mlock(), which counts on its own */
	uint64_t pinned;
	uint64_t locked;
	/* UINT64_MAX for unlimited, or where it isn't told */
	uint64_t memlock_soft;
	uint64_t memlock_hard;
	/* Has it CAP_IPC_LOCK, and does that count? The kernel's ib_umem_get()
	 * asks capable(), which a user namespace's own can't satisfy. */
	bool ipc_lock;
	bool in_user_ns;
	/* pieces */
	uint64_t mappings;
};

/* As hmr_host_read(). */
void hmr_process_read(const char *root, struct hmr_process *proc);

/* May it pin as much as it likes? */
static inline bool hmr_may_pin_all(const struct hmr_process *proc)
{
	return proc->memlock_soft == UINT64_MAX ||
	       (proc->ipc_lock && !proc->in_user_ns);
}

#endif /* HMR_PROCESS_H */
