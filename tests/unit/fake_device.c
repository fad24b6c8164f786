// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "fake_device.h"

#include "verbs_ops.h"

struct fake_device fake_devices[2];
enum ibv_fork_status fake_fork_status;
void (*fake_device_on_reg)(void *addr, size_t length);

static const struct fake_device *find(const struct ibv_context *context)
{
	return &fake_devices[context == fake_pds[1].context];
}

static int query_device(struct ibv_context *context,
			struct ibv_device_attr *attr)
{
	*attr = find(context)->attr;
	return find(context)->err;
}

static int query_device_ex(struct ibv_context *context,
			   struct ibv_device_attr_ex *ex)
{
	*ex = find(context)->ex;
	return find(context)->err;
}

static const char *device_name(struct ibv_context *context)
{
	return find(context) == &fake_devices[0] ? "fake0" : "fake1";
}

static enum ibv_fork_status is_fork_initialized(void)
{
	return fake_fork_status;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			     int access)
{
	static struct ibv_mr mr;

	if (!fake_device_on_reg)
		return NULL;
	fake_device_on_reg(addr, length);
	return &mr;
}

static int dereg_mr(struct ibv_mr *mr)
{
	return 0;
}

static const struct hmr_verbs_ops ops = {
	.reg_mr = reg_mr,
	.dereg_mr = dereg_mr,
	.query_device = query_device,
	.query_device_ex = query_device_ex,
	.device_name = device_name,
	.is_fork_initialized = is_fork_initialized,
};

void fake_device_setup(void)
{
	int i;

	for (i = 0; i < 2; i++)
		fake_devices[i] = (struct fake_device){
			.attr.atomic_cap = IBV_ATOMIC_HCA,
			.attr.device_cap_flags = IBV_DEVICE_MEM_WINDOW,
			.ex.odp_caps.general_caps = IBV_ODP_SUPPORT,
		};
	fake_fork_status = IBV_FORK_UNNEEDED;
	fake_device_on_reg = NULL;
	hmr_verbs = &ops;
}
