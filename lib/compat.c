// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The verbs' own calls with an explanation: the one-line way to adopt this
 * library. */
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "verbs_ops.h"

HMR_API struct ibv_mr *hmr_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				  int access)
{
	struct hmr_error err = {
		.op = "hmr_reg_mr",
		.addr = addr,
		.length = length,
		.access = access,
	};
	struct ibv_mr *mr;

	errno = 0;
	mr = hmr_verbs->reg_mr(pd, addr, length, access);
	if (mr)
		return mr;
	/* There are providers that leave errno alone. */
	err.err = errno ? -errno : -EIO;
	errno = -hmr_fail_reg_call(&err, pd->context,
				   &(struct hmr_reg_facts){ .pd = pd });
	return NULL;
}

HMR_API int hmr_dereg_mr(struct ibv_mr *mr)
{
	struct hmr_error err = {
		.op = "hmr_dereg_mr",
		.addr = mr->addr,
		.length = mr->length,
	};
	struct ibv_context *context = mr->context;

	err.err = -hmr_verbs->dereg_mr(mr);
	if (!err.err)
		return 0;
	snprintf(err.device, sizeof(err.device), "%s",
		 hmr_verbs->device_name(context));
	hmr_fail(&err, "%s refused to deregister %zu bytes at %p: %s",
		 err.device, err.length, err.addr, strerror(-err.err));
	return -err.err;
}
