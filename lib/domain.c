// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Domains: the PDs that a range is registered on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain.h"
#include "fork.h"
#include "opts.h"
#include "ranges.h"
#include "region.h"
#include "verbs_ops.h"

/*
 * What devices don't report. 12985e5915a0 ("RDMA/rxe: Fix iova-to-va conversion
 * for MR page sizes != PAGE_SIZE"), in Linux 7.0 and in 6.12.y, has soft-RoCE
 * keep 16 bytes a page in one kmalloc of at most 4 MiB. Beyond it the kernel
 * warns, so it can't be found out by trying, and splitting does no harm where
 * it isn't needed.
 */
static const struct {
	uint32_t vendor_id;
	uint64_t max_mr_pages;
} budgets[] = {
	{ HMR_VENDOR_RXE, 262144 },
};

static uint64_t page_budget(const struct ibv_device_attr *attr)
{
	unsigned int i;

	for (i = 0; i < sizeof(budgets) / sizeof(budgets[0]); i++)
		if (budgets[i].vendor_id == attr->vendor_id)
			return budgets[i].max_mr_pages;
	return UINT64_MAX;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int query_limits(struct hmr_domain *dom, struct hmr_error *err)
{
	struct ibv_device_attr attr = { 0 };
	unsigned int i;
	int ret;

	for (i = 0; i < dom->n_pds; i++) {
		struct ibv_context *context = dom->pds[i]->context;

		ret = hmr_verbs->query_device(context, &attr);
		if (ret) {
			err->err = -ret;
			snprintf(err->device, sizeof(err->device), "%s",
				 hmr_verbs->device_name(context));
			return hmr_fail(err, "%s can't be queried: %s",
					err->device, strerror(ret));
		}
		/* There are drivers that leave it out. */
		if (attr.max_mr_size)
			dom->max_mr_size =
				min_u64(dom->max_mr_size, attr.max_mr_size);
		dom->max_mr_pages =
			min_u64(dom->max_mr_pages, page_budget(&attr));
	}
	return 0;
}

static int check_args(struct hmr_error *err, struct ibv_pd *const *pds,
		      unsigned int n, const struct hmr_domain_opts *opts)
{
	unsigned int i;

	err->err = hmr_opts_check(opts, sizeof(*opts));
	if (err->err)
		return hmr_fail_opts(err);
	if (!n || !pds)
		return hmr_einval(err->op, "a domain needs at least one PD");
	for (i = 0; i < n; i++)
		if (!pds[i])
			return hmr_einval(err->op, "PD %u is NULL", i);
	return 0;
}

HMR_API int hmr_domain_open(struct ibv_pd *const *pds, unsigned int n,
			    const struct hmr_domain_opts *opts,
			    struct hmr_domain **out)
{
	struct hmr_error err = { .op = "hmr_domain_open" };
	struct hmr_domain *dom;
	int ret;

	ret = check_args(&err, pds, n, opts);
	if (ret)
		return ret;
	err.err = -ENOMEM;
	dom = malloc(sizeof(*dom) + n * sizeof(dom->pds[0]));
	if (!dom)
		return hmr_fail(&err, "no memory for the handle");
	*dom = (struct hmr_domain){
		.generation = hmr_fork_generation(),
		.max_mr_size = UINT64_MAX,
		.max_mr_pages = UINT64_MAX,
		.n_pds = n,
	};
	memcpy(dom->pds, pds, n * sizeof(dom->pds[0]));
	ret = query_limits(dom, &err);
	if (ret) {
		free(dom);
		return ret;
	}
	if (HMR_OPTS_GET(opts, max_mr_size))
		dom->max_mr_size = min_u64(dom->max_mr_size, opts->max_mr_size);
	if (HMR_OPTS_GET(opts, max_mr_pages))
		dom->max_mr_pages = opts->max_mr_pages;
	*out = dom;
	return 0;
}

HMR_API int hmr_domain_close(struct hmr_domain *dom)
{
	struct hmr_error err = {
		.op = "hmr_domain_close",
		.err = -EBUSY,
		.cause = HMR_CAUSE_IN_USE,
	};
	struct hmr_range range;
	unsigned int n;

	if (!dom)
		return 0;
	if (hmr_is_foreign(dom->generation))
		return hmr_foreign(err.op);
	n = hmr_ranges_of(dom, &range);
	if (n) {
		err.addr = (void *)range.addr;
		err.length = range.length;
		return hmr_fail(&err,
				"%u regions are still registered, one of them "
				"%zu bytes at %#lx",
				n, range.length, range.addr);
	}
	free(dom);
	return 0;
}

HMR_API int hmr_domain_drain(struct hmr_domain *dom)
{
	struct hmr_error err = { .op = "hmr_domain_drain", .err = -ENOMEM };
	struct hmr_range **ranges, example;
	unsigned int n, i;
	int first = 0, ret;

	if (hmr_is_foreign(dom->generation))
		return hmr_foreign(err.op);
	n = hmr_ranges_of(dom, &example);
	ranges = calloc(n ? n : 1, sizeof(struct hmr_range *));
	if (!ranges)
		return hmr_fail(&err, "no memory for a list of %u regions", n);
	n = hmr_ranges_list(dom, ranges, n);
	for (i = 0; i < n; i++) {
		ret = hmr_deregister(hmr_region_of(ranges[i]));
		if (ret && !first)
			first = ret;
	}
	free(ranges);
	return first;
}
