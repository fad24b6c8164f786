// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "fake_verbs.h"

#include <pthread.h>
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

struct ibv_device_attr fake_attrs[2];
enum ibv_fork_status fake_forks;
unsigned int fake_fork_questions;

/* MRs come from a table, so that none of them is an allocation that a test
 * makes fail. */
#define MAX_MRS 4096
static struct ibv_mr mrs[MAX_MRS];
static char used[MAX_MRS];

/* Only fake_freely() sees several threads; scripts are for one. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int free_running;
static unsigned int fail_countdown;
static int fail_err;

static const struct fake_step *next_step;

void fake_script(const struct fake_step *steps)
{
	static struct fake_step script[64];
	int i;

	free_running = 0;
	for (i = 0; steps[i].call != FAKE_END; i++)
		script[i] = steps[i];
	script[i] = (struct fake_step){ FAKE_END };
	next_step = script;
}

void fake_freely(unsigned int fail_nth, int err)
{
	free_running = 1;
	fail_countdown = fail_nth;
	fail_err = err;
}

/* What a call without a script does. */
static const struct fake_step *free_step(enum fake_call call)
{
	static const struct fake_step fine;
	static struct fake_step failing;

	if (call != FAKE_REG_MR || !fail_countdown || --fail_countdown)
		return &fine;
	failing.err = fail_err;
	return &failing;
}

static const struct fake_step *take(enum fake_call call)
{
	if (free_running)
		return free_step(call);
	if (!next_step || next_step->call != call)
		fail_msg("%s was called, %s was expected", call_names[call],
			 next_step ? call_names[next_step->call] : "nothing");
	return next_step++;
}

void fake_done(void)
{
	if (!free_running && next_step && next_step->call != FAKE_END)
		fail_msg("%s was expected and not called",
			 call_names[next_step->call]);
}

int fake_live_mrs(void)
{
	int i, n = 0;

	for (i = 0; i < MAX_MRS; i++)
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
		assert_true(i < MAX_MRS - 1);
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
	struct ibv_mr *mr;

	pthread_mutex_lock(&lock);
	mr = new_mr(take(FAKE_REG_MR), pd, addr, length, access);
	pthread_mutex_unlock(&lock);
	return mr;
}

static struct ibv_mr *fake_reg_mr_iova(struct ibv_pd *pd, void *addr,
				       size_t length, uint64_t iova, int access)
{
	const struct fake_step *step = take(FAKE_REG_MR_IOVA);

	assert_int_equal(iova, step->iova);
	return new_mr(step, pd, addr, length, access);
}

static struct ibv_mr *fake_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
					 size_t length, uint64_t iova, int fd,
					 int access)
{
	const struct fake_step *step = take(FAKE_REG_DMABUF_MR);

	assert_int_equal(iova, step->iova);
	assert_int_equal(offset, step->offset);
	assert_int_equal(fd, step->fd);
	return new_mr(step, pd, NULL, length, access);
}

static int check_mr(const struct ibv_mr *mr)
{
	assert_true(mr >= mrs && mr < mrs + MAX_MRS && used[mr - mrs]);
	return (int)(mr - mrs);
}

static int fake_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd,
			 void *addr, size_t length, int access)
{
	const struct fake_step *step = take(FAKE_REREG_MR);

	check_mr(mr);
	assert_int_equal(flags, IBV_REREG_MR_CHANGE_ACCESS);
	assert_null(pd);
	assert_null(addr);
	if (step->access)
		assert_int_equal(access, step->access);
	if (step->code)
		errno = step->err;
	return step->code;
}

static int fake_dereg_mr(struct ibv_mr *mr)
{
	const struct fake_step *step;

	pthread_mutex_lock(&lock);
	step = take(FAKE_DEREG_MR);
	if (!step->err)
		used[check_mr(mr)] = 0;
	pthread_mutex_unlock(&lock);
	return step->err;
}

static int fake_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice,
			  uint32_t flags, struct ibv_sge *sge, uint32_t n)
{
	const struct fake_step *step = take(FAKE_ADVISE_MR);

	assert_int_equal(n, 1);
	if (step->length)
		assert_int_equal(sge->length, step->length);
	if (step->offset)
		assert_int_equal(sge->addr, step->offset);
	return step->err;
}

static int fake_query_device(struct ibv_context *context,
			     struct ibv_device_attr *attr)
{
	*attr = fake_attrs[context - contexts];
	if (!next_step || next_step->call != FAKE_QUERY_DEVICE)
		return 0;
	attr->vendor_id = next_step->vendor_id;
	return next_step++->err;
}

static int fake_query_device_ex(struct ibv_context *context,
				struct ibv_device_attr_ex *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->orig_attr = fake_attrs[context - contexts];
	return 0;
}

static const char *fake_device_name(struct ibv_context *context)
{
	return context == &contexts[0] ? "fake0" : "fake1";
}

static enum ibv_fork_status fake_is_fork_initialized(void)
{
	fake_fork_questions++;
	return fake_forks;
}

static const struct hmr_verbs_ops fake_ops = {
	.reg_mr = fake_reg_mr,
	.reg_mr_iova = fake_reg_mr_iova,
	.reg_dmabuf_mr = fake_reg_dmabuf_mr,
	.rereg_mr = fake_rereg_mr,
	.dereg_mr = fake_dereg_mr,
	.advise_mr = fake_advise_mr,
	.query_device = fake_query_device,
	.query_device_ex = fake_query_device_ex,
	.device_name = fake_device_name,
	.is_fork_initialized = fake_is_fork_initialized,
};

int fake_setup(void **state)
{
	hmr_verbs = &fake_ops;
	memset(used, 0, sizeof(used));
	memset(fake_attrs, 0, sizeof(fake_attrs));
	fake_forks = IBV_FORK_UNNEEDED;
	hmr_fork_status = 0;
	free_running = 0;
	next_step = NULL;
	return 0;
}
