// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "fake_verbs.h"

#include <stdlib.h>

#include "verbs_ops.h"

static const char *const call_names[] = {
	[FAKE_END] = "the end of the script", [FAKE_REG_MR] = "reg_mr",
	[FAKE_REG_MR_IOVA] = "reg_mr_iova",   [FAKE_DEREG_MR] = "dereg_mr",
	[FAKE_QUERY_DEVICE] = "query_device",
};

static struct ibv_context contexts[2];
struct ibv_pd fake_pds[2] = {
	{ .context = &contexts[0], .handle = 0 },
	{ .context = &contexts[1], .handle = 1 },
};

/* MRs come from a table, so that none of them is an allocation that a test
 * makes fail. */
static struct ibv_mr mrs[16];
static char used[16];

static const struct fake_step *next_step;

void fake_script(const struct fake_step *steps)
{
	static struct fake_step script[64];
	int i;

	for (i = 0; steps[i].call != FAKE_END; i++)
		script[i] = steps[i];
	script[i] = (struct fake_step){ FAKE_END };
	next_step = script;
}

static const struct fake_step *take(enum fake_call call)
{
	if (!next_step || next_step->call != call)
		fail_msg("%s was called, %s was expected", call_names[call],
			 next_step ? call_names[next_step->call] : "nothing");
	return next_step++;
}

void fake_done(void)
{
	if (next_step && next_step->call != FAKE_END)
		fail_msg("%s was expected and not called",
			 call_names[next_step->call]);
}

int fake_live_mrs(void)
{
	int i, n = 0;

	for (i = 0; i < 16; i++)
		n += used[i];
	return n;
}

static struct ibv_mr *new_mr(const struct fake_step *step, struct ibv_pd *pd,
			     void *addr, size_t length, int access)
{
	int i;

	if (step->length)
		assert_int_equal(length, step->length);
	if (step->access)
		assert_int_equal(access, step->access);
	if (step->pd)
		assert_ptr_equal(pd, step->pd);
	if (step->err || step->no_errno) {
		if (step->err)
			errno = step->err;
		return NULL;
	}
	for (i = 0; used[i]; i++)
		assert_true(i < 15);
	used[i] = 1;
	mrs[i] = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
		.lkey = 0x100u + pd->handle,
		.rkey = 0x200u + pd->handle,
	};
	return &mrs[i];
}

static struct ibv_mr *fake_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
				  int access)
{
	return new_mr(take(FAKE_REG_MR), pd, addr, length, access);
}

static struct ibv_mr *fake_reg_mr_iova(struct ibv_pd *pd, void *addr,
				       size_t length, uint64_t iova, int access)
{
	const struct fake_step *step = take(FAKE_REG_MR_IOVA);

	assert_int_equal(iova, step->iova);
	return new_mr(step, pd, addr, length, access);
}

static int fake_dereg_mr(struct ibv_mr *mr)
{
	const struct fake_step *step = take(FAKE_DEREG_MR);

	assert_true(mr >= mrs && mr < mrs + 16 && used[mr - mrs]);
	if (!step->err)
		used[mr - mrs] = 0;
	return step->err;
}

static int fake_query_device(struct ibv_context *context,
			     struct ibv_device_attr *attr)
{
	const struct fake_step *step = take(FAKE_QUERY_DEVICE);

	memset(attr, 0, sizeof(*attr));
	attr->vendor_id = step->vendor_id;
	return step->err;
}

static const char *fake_device_name(struct ibv_context *context)
{
	return context == &contexts[0] ? "fake0" : "fake1";
}

static enum ibv_fork_status fake_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

static const struct hmr_verbs_ops fake_ops = {
	.reg_mr = fake_reg_mr,
	.reg_mr_iova = fake_reg_mr_iova,
	.dereg_mr = fake_dereg_mr,
	.query_device = fake_query_device,
	.device_name = fake_device_name,
	.is_fork_initialized = fake_is_fork_initialized,
};

int fake_setup(void **state)
{
	hmr_verbs = &fake_ops;
	memset(used, 0, sizeof(used));
	next_step = NULL;
	return 0;
}
