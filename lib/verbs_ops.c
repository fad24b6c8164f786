// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "internal.h"
#include "verbs_ops.h"

/* ibv_reg_mr() and its like are macros that look at their arguments. */
static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			     int access)
{
	return ibv_reg_mr(pd, addr, length, access);
}

static struct ibv_mr *reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
				  uint64_t iova, int access)
{
	return ibv_reg_mr_iova(pd, addr, length, iova, access);
}

static int query_device_ex(struct ibv_context *context,
			   struct ibv_device_attr_ex *attr)
{
	return ibv_query_device_ex(context, NULL, attr);
}

static const char *device_name(struct ibv_context *context)
{
	return ibv_get_device_name(context->device);
}

static const struct hmr_verbs_ops libibverbs = {
	.reg_mr = reg_mr,
	.reg_mr_iova = reg_mr_iova,
	.reg_dmabuf_mr = ibv_reg_dmabuf_mr,
	.rereg_mr = ibv_rereg_mr,
	.dereg_mr = ibv_dereg_mr,
	.advise_mr = ibv_advise_mr,
	.query_device = ibv_query_device,
	.query_device_ex = query_device_ex,
	.device_name = device_name,
	.is_fork_initialized = ibv_is_fork_initialized,
};

const struct hmr_verbs_ops *hmr_verbs = &libibverbs;

/*
 * libibverbs asks the kernel over netlink each time, so its answer is kept as
 * far as it is final. UNNEEDED is. Whether ibv_fork_init() was called is final
 * with the first registration of the process: after it, the call is refused.
 */
int hmr_fork_status;

enum {
	UNKNOWN,
	UNNEEDED,
	NEEDED,
	DISABLED,
	ENABLED
};

static int ask(void)
{
	switch (hmr_verbs->is_fork_initialized()) {
	case IBV_FORK_UNNEEDED:
		return UNNEEDED;
	case IBV_FORK_ENABLED:
		return ENABLED;
	default:
		return DISABLED;
	}
}

/* Racing threads find the same. */
static int known(void)
{
	return __atomic_load_n(&hmr_fork_status, __ATOMIC_RELAXED);
}

static void keep(int status)
{
	__atomic_store_n(&hmr_fork_status, status, __ATOMIC_RELAXED);
}

bool hmr_needs_dontfork(void)
{
	if (known() == UNKNOWN)
		keep(ask() == UNNEEDED ? UNNEEDED : NEEDED);
	return known() != UNNEEDED;
}

bool hmr_mrs_are_dontfork(void)
{
	if (!hmr_needs_dontfork())
		return false;
	return (known() == NEEDED ? ask() : known()) == ENABLED;
}

void hmr_registered(void)
{
	if (known() == NEEDED)
		keep(ask());
}
