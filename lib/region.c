// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Regions: one range, registered on each PD of a domain. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "opts.h"
#include "region.h"
#include "verbs_ops.h"

#define REMOTE_CHANGES (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

/* ZERO_BASED is missing on purpose: it is an iova of 0, by another name. */
#define KNOWN_ACCESS                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | REMOTE_CHANGES | \
	 IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB |   \
	 IBV_ACCESS_RELAXED_ORDERING)

static int check_access(struct hmr_error *err)
{
	int unknown = err->access & ~KNOWN_ACCESS;

	err->err = -EINVAL;
	if (unknown & IBV_ACCESS_ZERO_BASED)
		return hmr_fail(err, "IBV_ACCESS_ZERO_BASED: use "
				     "HMR_REGISTER_IOVA with an iova of 0");
	if (unknown)
		return hmr_fail(err, "unknown access bits %#x", unknown);
	if (err->access & REMOTE_CHANGES &&
	    !(err->access & IBV_ACCESS_LOCAL_WRITE))
		return hmr_fail(err, "IBV_ACCESS_REMOTE_WRITE and _ATOMIC need "
				     "IBV_ACCESS_LOCAL_WRITE beside them");
	return 0;
}

static int check_args(struct hmr_error *err, struct hmr_domain *dom,
		      const struct hmr_register_opts *opts)
{
	uint64_t flags = HMR_OPTS_GET(opts, flags);

	err->err = hmr_opts_check(opts, sizeof(*opts));
	if (err->err)
		return hmr_fail(err,
				"an option is set that hugemr %s "
				"doesn't know",
				hmr_version());
	err->err = -EINVAL;
	if (!dom)
		return hmr_fail(err, "no domain");
	if (flags & ~(uint64_t)HMR_REGISTER_IOVA)
		return hmr_fail(err, "unknown flags %#lx", flags);
	if (!hmr_range_ok(err->addr, err->length))
		return hmr_fail(err, "not a range: %zu bytes at %p",
				err->length, err->addr);
	return check_access(err);
}

static struct ibv_mr *reg_one(const struct hmr_region *r, struct ibv_pd *pd)
{
	struct ibv_mr *mr;

	errno = 0;
	if (r->iova == (uintptr_t)r->addr)
		mr = hmr_verbs->reg_mr(pd, r->addr, r->length, r->access);
	else
		mr = hmr_verbs->reg_mr_iova(pd, r->addr, r->length, r->iova,
					    r->access);
	/* There are providers that leave errno alone. */
	if (!mr && !errno)
		errno = EIO;
	return mr;
}

/* Undo what a failed registration had done. It is not the time to report that
 * this fails too: the first cause counts, and there is nobody to retry. */
static void roll_back(struct hmr_region *r, unsigned int n)
{
	int ret;

	while (n--) {
		ret = hmr_verbs->dereg_mr(r->mrs[n]);
		if (ret)
			hmr_log(HMR_LOG_ERROR,
				"hmr_register: an MR of %zu bytes leaks, it "
				"can't be deregistered again: %s",
				r->length, strerror(ret));
	}
}

static int reg_all(struct hmr_region *r, struct hmr_error *err)
{
	uint64_t t0 = hmr_now_ns();
	unsigned int i;

	for (i = 0; i < r->dom->n_pds; i++) {
		r->mrs[i] = reg_one(r, r->dom->pds[i]);
		if (!r->mrs[i]) {
			err->err = -errno;
			roll_back(r, i);
			return hmr_fail_reg(err, r->dom->pds[i]->context);
		}
	}
	r->pin_ns = hmr_now_ns() - t0;
	return 0;
}

HMR_API int hmr_register(struct hmr_domain *dom, void *addr, size_t length,
			 int access, const struct hmr_register_opts *opts,
			 struct hmr_region **out)
{
	struct hmr_error err = {
		.op = "hmr_register",
		.addr = addr,
		.length = length,
		.access = access,
	};
	struct hmr_region *r;
	int ret;

	ret = check_args(&err, dom, opts);
	if (ret)
		return ret;
	err.err = -ENOMEM;
	r = calloc(1, sizeof(*r) + dom->n_pds * sizeof(r->mrs[0]));
	if (!r)
		return hmr_fail(&err, "no memory for the handle");
	*r = (struct hmr_region){
		.dom = dom,
		.addr = addr,
		.length = length,
		.iova = HMR_OPTS_GET(opts, flags) & HMR_REGISTER_IOVA ?
				HMR_OPTS_GET(opts, iova) :
				(uintptr_t)addr,
		.access = access,
		.range = { .owner = dom,
			   .addr = (uintptr_t)addr,
			   .length = length },
	};
	/* Before the pages are pinned, so that a buffer can't be freed in
	 * between. */
	hmr_range_add(&r->range);
	ret = reg_all(r, &err);
	if (ret) {
		hmr_range_del(&r->range);
		free(r);
		return ret;
	}
	*out = r;
	return 0;
}

HMR_API int hmr_deregister(struct hmr_region *r)
{
	struct hmr_error err = { .op = "hmr_deregister" };
	unsigned int i;

	if (!r)
		return 0;
	for (i = 0; i < r->dom->n_pds; i++) {
		if (!r->mrs[i])
			continue;
		err.err = -hmr_verbs->dereg_mr(r->mrs[i]);
		if (err.err)
			goto err_dereg;
		r->mrs[i] = NULL;
	}
	hmr_range_del(&r->range);
	free(r);
	return 0;

err_dereg:
	err.addr = r->addr;
	err.length = r->length;
	err.access = r->access;
	snprintf(err.device, sizeof(err.device), "%s",
		 hmr_verbs->device_name(r->dom->pds[i]->context));
	return hmr_fail(&err, "%s refused to deregister %zu bytes at %p: %s%s",
			err.device, r->length, r->addr, strerror(-err.err),
			err.err == -EBUSY ?
				": memory windows are still bound to it" :
				"");
}

HMR_API int hmr_sges(const struct hmr_region *r, unsigned int pd,
		     const void *addr, size_t length, struct ibv_sge *sge,
		     unsigned int max)
{
	struct hmr_error err = {
		.op = "hmr_sges",
		.err = -EINVAL,
		.addr = addr,
		.length = length,
	};
	size_t offset = (uintptr_t)addr - (uintptr_t)r->addr;
	size_t n, i, part;

	if (pd >= r->dom->n_pds || !r->mrs[pd])
		return hmr_fail(&err, "the region has no PD %u", pd);
	if (!length)
		return hmr_fail(&err, "0 bytes have no elements");
	err.err = -ERANGE;
	if (offset >= r->length || length > r->length - offset)
		return hmr_fail(&err,
				"%zu bytes at %p aren't within the "
				"region of %zu bytes at %p",
				length, addr, r->length, r->addr);

	n = (length - 1) / UINT32_MAX + 1;
	if (n > max)
		return (int)n;
	for (i = 0; i < n; i++) {
		part = length < UINT32_MAX ? length : UINT32_MAX;
		sge[i] = (struct ibv_sge){
			.addr = r->iova + offset,
			.length = (uint32_t)part,
			.lkey = r->mrs[pd]->lkey,
		};
		offset += part;
		length -= part;
	}
	return (int)n;
}

HMR_API int hmr_keys(const struct hmr_region *r, unsigned int pd,
		     struct hmr_key *keys, unsigned int max)
{
	if (pd >= r->dom->n_pds || !r->mrs[pd])
		return hmr_einval("hmr_keys", "the region has no PD %u", pd);
	if (max)
		keys[0] = (struct hmr_key){
			.addr = r->iova,
			.length = r->length,
			.lkey = r->mrs[pd]->lkey,
			.rkey = r->mrs[pd]->rkey,
		};
	return 1;
}

HMR_API void hmr_region_report(const struct hmr_region *r,
			       struct hmr_report *report)
{
	struct hmr_report rep = {
		.length = r->length,
		.pin_ns = r->pin_ns,
		.pds = r->dom->n_pds,
		.mrs = r->dom->n_pds,
	};

	hmr_result_copy(report, &rep, sizeof(rep));
}
