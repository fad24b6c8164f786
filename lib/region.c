// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Regions: one range, registered on each PD of a domain, as one MR a PD or as
 * several.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "facts.h"
#include "fork.h"
#include "opts.h"
#include "populate.h"
#include "region.h"
#include "verbs_ops.h"
#include "vma.h"

#define KNOWN_FLAGS                                               \
	((uint64_t)(HMR_REGISTER_IOVA | HMR_REGISTER_UNTOUCHED |  \
		    HMR_REGISTER_DMABUF | HMR_REGISTER_IMPLICIT | \
		    HMR_REGISTER_PREFETCH))

/* From here on it pays to populate with several threads before one pins. */
#define POPULATE_MIN (4 * HMR_MIB)

static int check_access(struct hmr_error *err, int access)
{
	int unknown = access & ~HMR_KNOWN_ACCESS;

	err->err = -EINVAL;
	err->cause = HMR_CAUSE_ARGUMENT;
	if (unknown & IBV_ACCESS_ZERO_BASED)
		return hmr_fail(err, "IBV_ACCESS_ZERO_BASED: use "
				     "HMR_REGISTER_IOVA with an iova of 0");
	if (unknown)
		return hmr_fail(err, "unknown access bits %#x", unknown);
	if (access & HMR_REMOTE_CHANGES && !(access & IBV_ACCESS_LOCAL_WRITE))
		return hmr_fail(err, "IBV_ACCESS_REMOTE_WRITE and _ATOMIC need "
				     "IBV_ACCESS_LOCAL_WRITE beside them");
	return 0;
}

/* Options that exclude each other, or need something else. */
static const char *conflict(const struct hmr_error *err,
			    const struct hmr_register_opts *opts)
{
	uint64_t flags = HMR_OPTS_GET(opts, flags);
	bool odp = err->access & IBV_ACCESS_ON_DEMAND;
	size_t page = hmr_base_page();

	if (flags & HMR_REGISTER_DMABUF && odp)
		return "a dmabuf isn't registered on demand";
	if (flags & HMR_REGISTER_PREFETCH && !odp)
		return "HMR_REGISTER_PREFETCH needs IBV_ACCESS_ON_DEMAND";
	if (flags & HMR_REGISTER_IOVA && !(flags & HMR_REGISTER_DMABUF) &&
	    (opts->iova - (uintptr_t)err->addr) % page)
		return "iova and address differ in their offset within a page";
	if (!(flags & HMR_REGISTER_IMPLICIT))
		return NULL;
	if (!odp || err->addr || err->length != SIZE_MAX)
		return "HMR_REGISTER_IMPLICIT needs IBV_ACCESS_ON_DEMAND, "
		       "address NULL and length SIZE_MAX";
	if (flags & (HMR_REGISTER_IOVA | HMR_REGISTER_DMABUF |
		     HMR_REGISTER_PREFETCH) ||
	    HMR_OPTS_GET(opts, chunk))
		return "HMR_REGISTER_IMPLICIT stands alone";
	return NULL;
}

static int check_args(struct hmr_error *err, const struct hmr_domain *dom,
		      const struct hmr_register_opts *opts)
{
	uint64_t flags = HMR_OPTS_GET(opts, flags);
	const char *why;

	err->err = hmr_opts_check(opts, sizeof(*opts));
	if (err->err)
		return hmr_fail_opts(err);
	err->err = -EINVAL;
	err->cause = HMR_CAUSE_ARGUMENT;
	if (!dom)
		return hmr_fail(err, "no domain");
	if (hmr_is_foreign(dom->generation))
		return hmr_foreign(err->op);
	if (flags & ~KNOWN_FLAGS)
		return hmr_fail(err, "unknown flags %#lx", flags);
	why = conflict(err, opts);
	if (why)
		return hmr_fail(err, "%s", why);
	if (!(flags & HMR_REGISTER_IMPLICIT) &&
	    !hmr_range_ok(err->addr, err->length))
		return hmr_fail(err, "not a range: %zu bytes at %p",
				err->length, err->addr);
	return check_access(err, err->access);
}

/* libibverbs leaves what isn't pinned to the fork. */
static bool may_be_marked(uint64_t flags, int access)
{
	return !(flags & (HMR_REGISTER_DMABUF | HMR_REGISTER_IMPLICIT)) &&
	       !(access & IBV_ACCESS_ON_DEMAND);
}

/*
 * After ibv_fork_init(), libibverbs marks each MR MADV_DONTFORK, which fails for
 * part of a hugetlb page. Version 44 loses count of its marks by that: the next
 * registration there fails too, or succeeds without protection. So it isn't
 * asked for what must fail.
 */
static int check_fork(struct hmr_error *err, const struct hmr_domain *dom,
		      const struct hmr_register_opts *opts)
{
	const struct hmr_reg_facts facts = { .pds = dom->n_pds };
	size_t page, base = hmr_base_page();
	uintptr_t start = hmr_align_down((uintptr_t)err->addr, base);
	uintptr_t end = hmr_align_up((uintptr_t)err->addr + err->length, base);

	if (!may_be_marked(HMR_OPTS_GET(opts, flags), err->access) ||
	    !hmr_mrs_are_dontfork() || secure_getenv("RDMAV_HUGEPAGES_SAFE") ||
	    hmr_vma_page_size(err->addr, err->length, &page) ||
	    !(start % page || end % page) ||
	    !hmr_is_inherited(err->addr, err->length))
		return 0;
	err->err = -EINVAL;
	return hmr_fail_reg_call(err, dom->pds[0]->context, &facts);
}

/* How the range is to be cut, which is not at all in the common case. */
static int choose_split(struct hmr_error *err, const struct hmr_domain *dom,
			const struct hmr_register_opts *opts,
			struct hmr_split *split)
{
	struct hmr_split_rules rules = {
		.chunk = HMR_OPTS_GET(opts, chunk),
		.page = hmr_base_page(),
	};
	uint64_t flags = HMR_OPTS_GET(opts, flags);
	unsigned int max = HMR_OPTS_GET(opts, max_keys);

	*split = (struct hmr_split){
		.length = err->length,
		.first = err->length,
		.chunk = err->length,
		.n = 1,
	};
	hmr_domain_limits(dom, &rules.max_mr_size, &rules.max_mr_pages);
	if (flags & HMR_REGISTER_IMPLICIT ||
	    !hmr_split_needed((uintptr_t)err->addr, err->length, &rules))
		return 0;
	if (!(flags & HMR_REGISTER_DMABUF))
		hmr_vma_page_size(err->addr, err->length, &rules.page);
	err->err = hmr_split((uintptr_t)err->addr, err->length, &rules, split);
	if (!err->err && max && split->n > max)
		err->err = -E2BIG;
	if (!err->err)
		return 0;
	err->cause = split->why == HMR_SPLIT_PAGES ? HMR_CAUSE_DEVICE_PAGES :
						     HMR_CAUSE_MR_SIZE;
	err->need = err->length;
	err->have = split->chunk;
	return hmr_fail(err,
			"%zu bytes take %zu MRs of at most %zu bytes, and no "
			"more than %u are wanted: %s",
			err->length, split->n, split->chunk, max,
			split->why == HMR_SPLIT_CHUNK ?
				"ask for larger chunks" :
				"that is a limit of the device");
}

static void populate(struct hmr_region *r)
{
	size_t base = hmr_base_page(), length = r->split.length;
	struct hmr_populate_report report = { 0 };
	uintptr_t start = hmr_align_down((uintptr_t)r->addr, base);
	struct hmr_populate_job job = {
		.addr = (char *)start,
		.length =
			hmr_align_up((uintptr_t)r->addr + length, base) - start,
		.write = r->access & IBV_ACCESS_LOCAL_WRITE,
		.threads = r->threads,
		.processes = r->processes,
	};
	int ret;

	if (r->flags & (HMR_REGISTER_UNTOUCHED | HMR_REGISTER_DMABUF) ||
	    r->access & IBV_ACCESS_ON_DEMAND || length < POPULATE_MIN ||
	    hmr_populate_looks_done(r->addr, length))
		return;
	/* No verdict: pinning will fail for the same reason, or it knows memory
	 * that can't be populated, as that of a peer device. */
	ret = hmr_populate_range(&job, &report);
	if (ret)
		hmr_log(HMR_LOG_DEBUG, "hmr_register: populate: %s",
			hmr_populate_text(ret));
	r->populate_ns = report.ns;
}

static struct ibv_mr *reg_one(const struct hmr_region *r, struct ibv_pd *pd,
			      size_t from, size_t length)
{
	char *addr = r->addr + from;
	uint64_t iova = r->iova + from;
	struct ibv_mr *mr;

	errno = 0;
	if (r->flags & HMR_REGISTER_DMABUF)
		mr = hmr_verbs->reg_dmabuf_mr(pd, r->dmabuf_offset + from,
					      length, iova, r->dmabuf_fd,
					      r->access);
	else if (iova == (uintptr_t)addr)
		mr = hmr_verbs->reg_mr(pd, addr, length, r->access);
	else
		mr = hmr_verbs->reg_mr_iova(pd, addr, length, iova, r->access);
	/* There are providers that leave errno alone. */
	if (!mr && !errno)
		errno = EIO;
	return mr;
}

/* Faults of a prefetch are the device's to handle later: no error. */
static void prefetch(const struct hmr_region *r, struct ibv_pd *pd,
		     const struct ibv_mr *mr, size_t from, size_t length)
{
	enum ibv_advise_mr_advice advice =
		r->access & IBV_ACCESS_LOCAL_WRITE ?
			IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE :
			IBV_ADVISE_MR_ADVICE_PREFETCH;
	struct ibv_sge sge = { .lkey = mr->lkey };
	size_t done, part;
	int ret = 0;

	for (done = 0; done < length && !ret; done += part) {
		part = length - done < HMR_GIB ? length - done : HMR_GIB;
		sge.addr = r->iova + from + done;
		sge.length = (uint32_t)part;
		ret = hmr_verbs->advise_mr(pd, advice, IBV_ADVISE_MR_FLAG_FLUSH,
					   &sge, 1);
	}
	if (ret)
		hmr_log(HMR_LOG_INFO, "hmr_register: no prefetch: %s",
			strerror(ret));
}

/* A registration while it is done. */
struct reg {
	struct hmr_region *region;
	/* the first task that failed, from 1; written once */
	atomic_size_t failed;
};

/* What MR a task is about. */
static struct ibv_pd *task_range(const struct hmr_region *r, size_t task,
				 size_t *from, size_t *length)
{
	size_t chunk = task % r->split.n;

	*from = hmr_split_offset(&r->split, chunk);
	*length = hmr_split_offset(&r->split, chunk + 1) - *from;
	return r->dom->pds[task / r->split.n];
}

static int reg_task(void *arg, size_t task)
{
	struct reg *reg = arg;
	struct hmr_region *r = reg->region;
	size_t from, length, none = 0;
	struct ibv_pd *pd = task_range(r, task, &from, &length);
	int err;

	r->mrs[task] = reg_one(r, pd, from, length);
	if (!r->mrs[task]) {
		err = errno;
		atomic_compare_exchange_strong(&reg->failed, &none, task + 1);
		return -err;
	}
	if (r->flags & HMR_REGISTER_PREFETCH)
		prefetch(r, pd, r->mrs[task], from, length);
	return 0;
}

static int dereg_task(void *arg, size_t task)
{
	struct hmr_region *r = arg;
	int ret;

	if (!r->mrs[task])
		return 0;
	ret = hmr_verbs->dereg_mr(r->mrs[task]);
	if (!ret)
		r->mrs[task] = NULL;
	return -ret;
}

static struct hmr_threads run(const struct hmr_region *r,
			      int (*fn)(void *, size_t), void *arg, int *ret)
{
	struct hmr_threads threads = { 1, HMR_THREADS_WORK };
	size_t n = hmr_region_mrs(r);

	if (n == 1) {
		*ret = fn(arg, 0);
		return threads;
	}
	threads = hmr_threads_choose(r->threads, r->processes, NULL, n);
	*ret = hmr_workers_run(&threads, NULL, n, fn, arg);
	return threads;
}

/* Undo what a failed registration had done. It is not the time to report that
 * this fails too: the first cause counts, and there is nobody to retry. */
static void roll_back(struct hmr_region *r)
{
	size_t i, n = hmr_region_mrs(r);
	int ret;

	for (i = 0; i < n; i++) {
		ret = dereg_task(r, i);
		if (ret)
			hmr_log(HMR_LOG_ERROR,
				"hmr_register: an MR of the %zu bytes at %p "
				"leaks, it can't be deregistered again: %s",
				r->split.length, r->addr, strerror(-ret));
	}
}

/* Kernels have two ways to say that a device has no on-demand paging. */
static int odp_error(const struct hmr_region *r, struct ibv_context *context,
		     int err)
{
	struct ibv_device_attr_ex attr = { 0 };

	if (err != -EINVAL || !(r->access & IBV_ACCESS_ON_DEMAND) ||
	    hmr_verbs->query_device_ex(context, &attr) ||
	    attr.odp_caps.general_caps & IBV_ODP_SUPPORT)
		return err;
	return -EOPNOTSUPP;
}

static int reg_all(struct hmr_region *r, struct hmr_error *err)
{
	struct reg reg = { .region = r };
	struct hmr_reg_facts facts = {
		.pds = r->dom->n_pds,
		.dmabuf = r->flags & HMR_REGISTER_DMABUF,
	};
	uint64_t t0;
	size_t from;
	int ret;

	populate(r);
	t0 = hmr_now_ns();
	r->used = run(r, reg_task, &reg, &ret);
	r->pin_ns = hmr_now_ns() - t0;
	if (!ret)
		return 0;
	roll_back(r);
	facts.pd = task_range(r, atomic_load(&reg.failed) - 1, &from,
			      &facts.length);
	facts.addr = r->addr + from;
	err->err = odp_error(r, facts.pd->context, ret);
	err->cause = HMR_CAUSE_UNKNOWN;
	return hmr_fail_reg_call(err, facts.pd->context, &facts);
}

static struct hmr_region *new_region(const struct hmr_error *err,
				     const struct hmr_domain *dom,
				     const struct hmr_register_opts *opts,
				     const struct hmr_split *split)
{
	size_t n = dom->n_pds * split->n;
	uint64_t flags = HMR_OPTS_GET(opts, flags);
	struct hmr_region *r;

	r = calloc(1, sizeof(*r) + n * sizeof(r->mrs[0]));
	if (!r)
		return NULL;
	*r = (struct hmr_region){
		.generation = dom->generation,
		.dom = dom,
		.addr = (char *)err->addr,
		.iova = flags & HMR_REGISTER_IOVA ? opts->iova :
						    (uintptr_t)err->addr,
		.flags = flags,
		.access = err->access,
		.dmabuf_fd = HMR_OPTS_GET(opts, dmabuf_fd),
		.dmabuf_offset = HMR_OPTS_GET(opts, dmabuf_offset),
		.split = *split,
		.threads = HMR_OPTS_GET(opts, threads),
		.processes = HMR_OPTS_GET(opts, processes),
		.range = { .owner = dom,
			   .addr = (uintptr_t)err->addr,
			   .length = err->length },
	};
	/* What isn't our memory can't be freed under the device. */
	if (flags & (HMR_REGISTER_DMABUF | HMR_REGISTER_IMPLICIT))
		r->range.length = 0;
	return r;
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
	struct hmr_split split;
	struct hmr_region *r;
	int ret;

	ret = check_args(&err, dom, opts);
	if (!ret)
		ret = check_fork(&err, dom, opts);
	if (!ret)
		ret = choose_split(&err, dom, opts, &split);
	if (ret)
		return ret;
	r = new_region(&err, dom, opts, &split);
	if (!r) {
		err.err = -ENOMEM;
		err.cause = HMR_CAUSE_MEMORY;
		return hmr_fail(&err, "no memory for the handle");
	}
	/* Before the pages are pinned, so that a buffer can't be freed in
	 * between. */
	hmr_range_add(&r->range);
	ret = reg_all(r, &err);
	if (ret) {
		hmr_range_del(&r->range);
		free(r);
		return ret;
	}
	if (may_be_marked(r->flags, r->access))
		hmr_registered();
	*out = r;
	return 0;
}

static void name_region(struct hmr_error *err, const struct hmr_region *r)
{
	err->addr = r->addr;
	err->length = r->split.length;
	err->access = r->access;
}

/* Of an MR that is still there. */
static const char *some_device(const struct hmr_region *r)
{
	size_t i;

	for (i = 0; !r->mrs[i]; i++)
		;
	return hmr_verbs->device_name(r->dom->pds[i / r->split.n]->context);
}

static bool some_gone(const struct hmr_region *r)
{
	size_t i;

	for (i = 0; i < hmr_region_mrs(r); i++)
		if (!r->mrs[i])
			return true;
	return false;
}

HMR_API int hmr_deregister(struct hmr_region *r)
{
	struct hmr_error err = { .op = "hmr_deregister" };

	if (!r)
		return 0;
	if (hmr_is_foreign(r->generation))
		return hmr_foreign(err.op);
	run(r, dereg_task, r, &err.err);
	if (!err.err) {
		hmr_range_del(&r->range);
		free(r);
		return 0;
	}
	r->lost |= some_gone(r);
	name_region(&err, r);
	if (err.err == -EBUSY)
		err.cause = HMR_CAUSE_IN_USE;
	snprintf(err.device, sizeof(err.device), "%s", some_device(r));
	return hmr_fail(&err, "%s refused to deregister %zu bytes at %p: %s%s",
			err.device, r->split.length, r->addr,
			strerror(-err.err),
			err.err == -EBUSY ?
				": memory windows are still bound to it" :
				"");
}

/* Does a failure of ibv_rereg_mr() leave the MR as it was? Its manual says so
 * of two codes; a driver that has no such call can't have done harm either. */
static bool still_whole(int code, int err)
{
	return code == IBV_REREG_MR_ERR_INPUT ||
	       code == IBV_REREG_MR_ERR_DONT_FORK_NEW || err == EOPNOTSUPP;
}

static int rereg_one(struct ibv_mr *mr, int access, bool *whole)
{
	int code;

	errno = 0;
	code = hmr_verbs->rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
				   0, access);
	if (!code)
		return 0;
	*whole = still_whole(code, errno);
	return errno ? -errno : -EIO;
}

/* Change MRs [0, n); where one refuses, change those before it back. */
static int rereg_all(struct hmr_region *r, int access, bool *whole)
{
	size_t i, n = hmr_region_mrs(r);
	int ret = 0;

	*whole = true;
	for (i = 0; i < n && !ret; i++)
		ret = rereg_one(r->mrs[i], access, whole);
	if (!ret)
		return 0;
	for (i--; i-- && *whole;)
		if (rereg_one(r->mrs[i], r->access, whole))
			*whole = false;
	return ret;
}

HMR_API int hmr_reregister(struct hmr_region *r, int access)
{
	struct hmr_error err = { .op = "hmr_reregister" };
	bool whole;
	int ret;

	if (hmr_is_foreign(r->generation))
		return hmr_foreign(err.op);
	name_region(&err, r);
	if (r->lost) {
		err.err = -EIO;
		return hmr_fail(&err, "the region was lost half-way before: it "
				      "can only be deregistered");
	}
	ret = check_access(&err, access);
	if (ret)
		return ret;
	err.err = rereg_all(r, access, &whole);
	if (!err.err) {
		r->access = access;
		return 0;
	}
	snprintf(err.device, sizeof(err.device), "%s", some_device(r));
	err.cause = err.err == -EOPNOTSUPP ? HMR_CAUSE_NOT_SUPPORTED :
					     HMR_CAUSE_UNKNOWN;
	ret = err.err;
	r->lost = !whole;
	if (r->lost)
		err.err = -EIO;
	return hmr_fail(&err, "%s refused to change access to %#x: %s%s",
			err.device, access, strerror(-ret),
			r->lost ? "; the region is lost half-way and can only "
				  "be deregistered" :
				  "");
}

HMR_API void hmr_region_report(const struct hmr_region *r,
			       struct hmr_report *report)
{
	struct hmr_report rep = {
		.length = r->split.length,
		.pin_ns = r->pin_ns,
		.pds = r->dom->n_pds,
		.mrs = (uint32_t)hmr_region_mrs(r),
		.populate_ns = r->populate_ns,
		.chunk = r->split.chunk,
		.split_why = r->split.why,
		.threads = r->used.n,
		.threads_why = r->used.why,
		.backing.size = sizeof(rep.backing),
	};
	uint64_t ns = rep.populate_ns + rep.pin_ns;

	if (ns)
		rep.bytes_per_sec =
			(uint64_t)((double)rep.length * 1e9 / (double)ns);
	/* Asked for only by who has room for it: it costs more than the rest.
	 * What can't be told stays 0. */
	if (r->range.length && HMR_OPTS_HAS(report, backing))
		hmr_backing(r->addr, r->split.length, &rep.backing);
	hmr_result_copy(report, &rep, sizeof(rep));
}
