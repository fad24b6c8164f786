// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Will it fit? A table of checks, each of which compares what buffers and their
 * registration take with what there is now. What is compared is what explain.c
 * looks at after a failure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "domain.h"
#include "facts.h"
#include "fork.h"
#include "opts.h"
#include "readfile.h"
#include "split.h"
#include "verbs_ops.h"

/* What is planned. */
struct wish {
	const struct hmr_domain *dom;
	size_t length;
	enum hmr_pages pages; /* not HMR_PAGES_PREFER, which is @chosen */
	bool chosen;
	size_t page; /* 0 if the host has no such pages */
	bool hugetlb;
	uint64_t mapped; /* bytes of a buffer, in whole pages */
	uint64_t total; /* of all buffers */
	uint64_t buffers;
	uint64_t nodes;
	uint64_t chunk;
	int access;
	struct hmr_split split;
	int split_ret;
	/* MRs of the device that has the fewest to spare */
	uint64_t mrs;
	uint64_t max_mrs;
	const char *max_mrs_device;
	/* access bits that a device has no use for */
	int lacking;
	const char *lacking_device;
	struct hmr_host host;
	struct hmr_process proc;
};

#define say(c, ...) snprintf((c)->text, sizeof((c)->text), __VA_ARGS__)

static uint64_t add(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t mul(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

static uint64_t round_up(uint64_t bytes, size_t page)
{
	return mul((bytes - 1) / page + 1, page);
}

static unsigned int pds(const struct wish *w)
{
	return w->dom ? w->dom->n_pds : 1;
}

static bool fits(struct hmr_check *c)
{
	c->verdict = c->need > c->have ? HMR_VERDICT_FAIL : HMR_VERDICT_OK;
	return c->verdict == HMR_VERDICT_OK;
}

/* ---- kinds of pages ---- */

struct kind {
	enum hmr_pages pages;
	const char *name;
	size_t hugetlb;
};

/* In the order in which HMR_PAGES_PREFER tries. */
static const struct kind kinds[] = {
	{ HMR_PAGES_1G, "1 GiB hugetlb pages", HMR_GIB },
	{ HMR_PAGES_2M, "2 MiB hugetlb pages", 2 * HMR_MIB },
	{ HMR_PAGES_THP, "transparent huge pages", 0 },
	{ HMR_PAGES_4K, "base pages", 0 },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct kind *kind_of(enum hmr_pages pages)
{
	return &kinds[pages - HMR_PAGES_1G];
}

static bool thp_is_on(const struct hmr_host *host)
{
	return host->thp != HMR_THP_ABSENT && host->thp != HMR_THP_NEVER;
}

static const struct hmr_pool *pool_of(const struct wish *w)
{
	return w->hugetlb ? hmr_host_pool(&w->host, w->page) : NULL;
}

static uint64_t cgroup_room(const struct hmr_pool *pool)
{
	return pool->cgroup.room < pool->cgroup_rsvd.room ?
		       pool->cgroup.room :
		       pool->cgroup_rsvd.room;
}

static void set_kind(struct wish *w, const struct kind *kind)
{
	const struct hmr_host *host = &w->host;

	w->pages = kind->pages;
	w->hugetlb = kind->hugetlb;
	w->page = kind->hugetlb		       ? kind->hugetlb :
		  kind->pages == HMR_PAGES_THP ? host->pmd_size :
						 host->base_page;
	w->mapped = w->page ? round_up(w->length, w->page) : w->length;
	w->total = mul(w->mapped, w->buffers);
}

/* Rounding up may waste an eighth, and the pages have to be there. */
static bool would_take(const struct wish *w)
{
	const struct hmr_pool *pool = pool_of(w);

	if (w->pages == HMR_PAGES_4K)
		return true;
	if (!w->page || w->mapped - w->length > w->length / 8)
		return false;
	if (!w->hugetlb)
		return thp_is_on(&w->host);
	return pool && cgroup_room(pool) >= w->total &&
	       hmr_pool_available_on(&w->host, pool, w->nodes) >=
		       w->total / w->page;
}

static void choose_kind(struct wish *w, enum hmr_pages pages)
{
	unsigned int i = 0;

	w->chosen = pages == HMR_PAGES_PREFER;
	if (!w->chosen) {
		set_kind(w, kind_of(pages));
		return;
	}
	do {
		set_kind(w, &kinds[i++]);
	} while (!would_take(w));
}

/* ---- checks of the host; false for one that doesn't apply ---- */

static bool check_pages(const struct wish *w, struct hmr_check *c)
{
	const char *name = kind_of(w->pages)->name;

	if (w->pages == HMR_PAGES_THP)
		return false;
	c->have = w->hugetlb && !pool_of(w) ? 0 : w->page;
	c->need = w->page;
	if (fits(c))
		say(c, "%s%s", name,
		    w->chosen ? ", which HMR_PAGES_PREFER comes down to" : "");
	else
		say(c,
		    "this host has no %s: boot with hugepagesz=%s, on a CPU "
		    "that has them",
		    name, w->page == HMR_GIB ? "1G" : "2M");
	return true;
}

static bool check_thp(const struct wish *w, struct hmr_check *c)
{
	if (w->pages != HMR_PAGES_THP)
		return false;
	c->need = 1;
	c->have = thp_is_on(&w->host);
	if (fits(c))
		say(c,
		    "transparent huge pages are on%s; whether memory is too "
		    "fragmented shows when they are touched",
		    w->chosen ? ", which HMR_PAGES_PREFER comes down to" : "");
	else if (w->host.thp == HMR_THP_ABSENT)
		say(c, "this kernel has no transparent huge pages");
	else
		say(c, "transparent huge pages are off: echo madvise > "
		       "/sys/kernel/mm/transparent_hugepage/enabled");
	return true;
}

static bool check_pool(const struct wish *w, struct hmr_check *c)
{
	const struct hmr_pool *pool = pool_of(w);

	if (!pool)
		return false;
	c->need = w->total / w->page;
	c->have = hmr_pool_available(pool);
	if (fits(c))
		say(c, "%" PRIu64 " %s of %" PRIu64 " available", c->need,
		    kind_of(w->pages)->name, c->have);
	else
		say(c,
		    "%" PRIu64 " %s and %" PRIu64 " available: echo %" PRIu64
		    " > /sys/kernel/mm/hugepages/hugepages-%zukB/nr_hugepages",
		    c->need, kind_of(w->pages)->name, c->have,
		    add(pool->nr, c->need - c->have), w->page / HMR_KIB);
	return true;
}

static bool check_node_pool(const struct wish *w, struct hmr_check *c)
{
	const struct hmr_pool *pool = pool_of(w);

	if (!pool || !w->nodes || !w->host.n_nodes)
		return false;
	c->need = w->total / w->page;
	c->have = hmr_pool_available_on(&w->host, pool, w->nodes);
	if (fits(c))
		say(c,
		    "%" PRIu64 " pages of %" PRIu64 " free on nodes %#" PRIx64,
		    c->need, c->have, w->nodes);
	else
		say(c,
		    "%" PRIu64 " pages and %" PRIu64 " free on nodes %#" PRIx64
		    ": raise /sys/devices/system/node/node%d/hugepages/"
		    "hugepages-%zukB/nr_hugepages",
		    c->need, c->have, w->nodes, __builtin_ctzll(w->nodes),
		    w->page / HMR_KIB);
	return true;
}

static void say_cgroup(const struct wish *w, struct hmr_check *c)
{
	const struct hmr_pool *pool = pool_of(w);
	char need[HMR_SIZE_TEXT], have[HMR_SIZE_TEXT], file[HMR_CGROUP_FILE];

	say(c,
	    "%s and the control group may have %s more: raise %s of the group "
	    "in /proc/self/cgroup, or of one above it",
	    hmr_size_text(c->need, need), hmr_size_text(c->have, have),
	    hmr_cgroup_file(&w->host.hugetlb_group, w->page,
			    pool->cgroup_rsvd.room < pool->cgroup.room, file));
}

static bool check_cgroup(const struct wish *w, struct hmr_check *c)
{
	const struct hmr_pool *pool = pool_of(w);

	if (!pool)
		return false;
	c->need = w->total;
	c->have = cgroup_room(pool);
	if (!fits(c)) {
		say_cgroup(w, c);
	} else if (w->host.hugetlb_group.version) {
		say(c, c->have == UINT64_MAX ?
			       "no limit on hugetlb of the control group" :
			       "within the control group's limit on hugetlb");
	} else {
		c->verdict = HMR_VERDICT_UNKNOWN;
		say(c, "no hierarchy of control groups can be seen: whether "
		       "there is a limit on hugetlb isn't known");
	}
	return true;
}

static bool check_memory(const struct wish *w, struct hmr_check *c)
{
	const struct hmr_host *host = &w->host;
	bool limited = host->memory.room < host->mem_available;
	char need[HMR_SIZE_TEXT], have[HMR_SIZE_TEXT];

	if (w->hugetlb)
		return false;
	c->need = w->total;
	c->have = limited ? host->memory.room : host->mem_available;
	hmr_size_text(c->need, need);
	hmr_size_text(c->have, have);
	if (!host->mem_available) {
		c->verdict = HMR_VERDICT_UNKNOWN;
		say(c, "the host doesn't tell how much memory is available");
	} else if (fits(c)) {
		say(c, "%s of %s available", need, have);
	} else {
		say(c, "%s and %s available%s", need, have,
		    limited ? " to the control group: raise its memory limit" :
			      "");
	}
	return true;
}

static bool check_node_memory(const struct wish *w, struct hmr_check *c)
{
	char need[HMR_SIZE_TEXT], have[HMR_SIZE_TEXT];
	const struct hmr_host *host = &w->host;
	unsigned int i;

	if (w->hugetlb || !w->nodes || !host->n_nodes)
		return false;
	c->need = w->total;
	for (i = 0; i < host->n_nodes; i++)
		if (w->nodes >> host->nodes[i].id & 1)
			c->have += host->nodes[i].mem_free;
	/* What caches hold could be had too, but isn't told by node. */
	if (!fits(c))
		c->verdict = HMR_VERDICT_WARN;
	say(c, "%s, and %s free on nodes %#" PRIx64 "%s",
	    hmr_size_text(c->need, need), hmr_size_text(c->have, have),
	    w->nodes,
	    c->verdict == HMR_VERDICT_OK ?
		    "" :
		    ", besides what caches hold: echo 1 > "
		    "/proc/sys/vm/drop_caches");
	return true;
}

static bool check_overcommit(const struct wish *w, struct hmr_check *c)
{
	char need[HMR_SIZE_TEXT], have[HMR_SIZE_TEXT];

	if (w->hugetlb || w->host.overcommit_memory != 2)
		return false;
	c->need = w->total;
	c->have = w->host.commit_room;
	fits(c);
	say(c, "%s, and vm.overcommit_memory=2 leaves %s to map%s",
	    hmr_size_text(c->need, need), hmr_size_text(c->have, have),
	    c->verdict == HMR_VERDICT_OK ?
		    "" :
		    ": sysctl vm.overcommit_memory=0, or raise "
		    "vm.overcommit_ratio");
	return true;
}

/* A buffer is a mapping between two guards. MRs don't split it, as it is kept
 * from children as a whole where that is needed. */
static bool check_map_count(const struct wish *w, struct hmr_check *c)
{
	c->need = add(w->proc.mappings, mul(w->buffers, 3));
	c->have = w->host.max_map_count;
	if (!c->have) {
		c->verdict = HMR_VERDICT_UNKNOWN;
		say(c, "vm.max_map_count can't be read");
	} else if (fits(c)) {
		say(c, "%" PRIu64 " mappings of %" PRIu64, c->need, c->have);
	} else {
		say(c,
		    "%" PRIu64 " mappings and vm.max_map_count is %" PRIu64
		    ": sysctl vm.max_map_count=%" PRIu64
		    ", or fewer and larger buffers",
		    c->need, c->have, c->need);
	}
	return true;
}

static bool check_numa_balancing(const struct wish *w, struct hmr_check *c)
{
	if (w->host.n_nodes < 2 || !w->host.numa_balancing)
		return false;
	c->verdict = HMR_VERDICT_WARN;
	c->need = 0;
	c->have = w->host.numa_balancing;
	say(c, "kernel.numa_balancing takes pages out of the page tables to "
	       "see who uses them, which stalls threads: sysctl "
	       "kernel.numa_balancing=0");
	return true;
}

/* ---- checks of the registration ---- */

static bool check_memlock(const struct wish *w, struct hmr_check *c)
{
	char need[HMR_SIZE_TEXT], have[HMR_SIZE_TEXT], hard[HMR_SIZE_TEXT];
	const struct hmr_process *proc = &w->proc;
	uint64_t one = mul(round_up(w->length, w->host.base_page), w->buffers);

	if (w->access & IBV_ACCESS_ON_DEMAND)
		return false;
	/* The kernel counts a page for each MR that it is in. */
	c->need = add(proc->pinned, mul(one, pds(w)));
	c->have = hmr_may_pin_all(proc) ? UINT64_MAX : proc->memlock_soft;
	hmr_size_text(c->need, need);
	if (fits(c))
		say(c, "%s to pin on %u PDs, with what is pinned already: %s",
		    need, pds(w),
		    c->have == UINT64_MAX ? "no limit" :
					    hmr_size_text(c->have, have));
	else
		say(c,
		    "%s to pin on %u PDs, and the limit is %s (hard %s)%s: "
		    "ulimit -l %" PRIu64
		    ", LimitMEMLOCK= or --ulimit memlock=-1",
		    need, pds(w), hmr_size_text(c->have, have),
		    proc->memlock_hard == UINT64_MAX ?
			    "unlimited" :
			    hmr_size_text(proc->memlock_hard, hard),
		    proc->ipc_lock ? " as CAP_IPC_LOCK of a user namespace "
				     "doesn't count" :
				     "",
		    add(c->need, HMR_KIB - 1) / HMR_KIB);
	return true;
}

/* Buffers are kept from children where ibv_is_fork_initialized() says that this
 * is needed. Where it doesn't, it can't be told whether ibv_fork_init() has
 * been called, see hmr_facts_dontfork(). */
static bool check_fork(const struct wish *w, struct hmr_check *c)
{
	char page[HMR_SIZE_TEXT];

	if (!w->dom || !w->hugetlb || !(w->length % w->page) ||
	    hmr_verbs->is_fork_initialized() != IBV_FORK_UNNEEDED)
		return false;
	c->verdict = HMR_VERDICT_UNKNOWN;
	c->need = w->page;
	c->have = w->length & -w->length;
	say(c,
	    "if ibv_fork_init() has been called, some versions of libibverbs "
	    "register hugetlb in whole pages of %s only: leave it out, or "
	    "register hmr_buffer_mapped() bytes",
	    hmr_size_text(w->page, page));
	return true;
}

/* One of the two is what forces a split, or comes close to it. */
static bool check_split(const struct wish *w, struct hmr_check *c,
			bool by_pages)
{
	static const char *const why[] = {
		[HMR_SPLIT_NONE] = "",
		[HMR_SPLIT_CHUNK] = ", as asked for",
		[HMR_SPLIT_SIZE] = ", the most that an MR of the device has",
		[HMR_SPLIT_PAGES] = ", the most pages for an MR of the device",
	};
	char chunk[HMR_SIZE_TEXT];

	if (!w->dom || by_pages != (w->split.why == HMR_SPLIT_PAGES))
		return false;
	c->need = w->length;
	c->have = by_pages ? mul(w->dom->max_mr_pages, w->host.base_page) :
			     w->dom->max_mr_size;
	/* What is larger than an MR can be becomes several. */
	c->verdict = w->split_ret ? HMR_VERDICT_FAIL : HMR_VERDICT_OK;
	if (w->split_ret)
		say(c, "an MR of the device is less than a page");
	else if (w->split.n == 1)
		say(c, "1 MR a PD");
	else
		say(c, "%zu MRs a PD of %s%s", w->split.n,
		    hmr_size_text(w->split.chunk, chunk), why[w->split.why]);
	return true;
}

static bool check_mr_size(const struct wish *w, struct hmr_check *c)
{
	return check_split(w, c, false);
}

static bool check_device_pages(const struct wish *w, struct hmr_check *c)
{
	return check_split(w, c, true);
}

static bool check_mr_count(const struct wish *w, struct hmr_check *c)
{
	if (!w->dom)
		return false;
	c->need = w->mrs;
	c->have = w->max_mrs;
	if (c->have == UINT64_MAX) {
		c->verdict = HMR_VERDICT_UNKNOWN;
		say(c, "the devices don't tell how many MRs they have");
	} else {
		fits(c);
		say(c, "%" PRIu64 " MRs of the %" PRIu64 " of %s%s", c->need,
		    c->have, w->max_mrs_device,
		    c->verdict == HMR_VERDICT_OK ?
			    "; how many are in use isn't known" :
			    ": ask for larger chunks or fewer buffers");
	}
	return true;
}

static bool check_access(const struct wish *w, struct hmr_check *c)
{
	char text[HMR_ACCESS_TEXT];

	if (!w->dom)
		return false;
	c->need = (uint64_t)(uint32_t)w->access;
	c->have = c->need & ~(uint64_t)(uint32_t)w->lacking;
	c->verdict = w->lacking ? HMR_VERDICT_FAIL : HMR_VERDICT_OK;
	if (!w->lacking)
		say(c, "nothing that the devices lack in %s",
		    hmr_access_text(w->access, text));
	else
		say(c, "%s can't do %s: leave that out", w->lacking_device,
		    hmr_access_text(w->lacking, text));
	return true;
}

static const struct {
	enum hmr_cause cause;
	bool (*check)(const struct wish *w, struct hmr_check *c);
} checks[] = {
	{ HMR_CAUSE_PAGE_SIZE, check_pages },
	{ HMR_CAUSE_THP_OFF, check_thp },
	{ HMR_CAUSE_POOL, check_pool },
	{ HMR_CAUSE_NODE_POOL, check_node_pool },
	{ HMR_CAUSE_CGROUP, check_cgroup },
	{ HMR_CAUSE_MEMORY, check_memory },
	{ HMR_CAUSE_MEMORY, check_node_memory },
	{ HMR_CAUSE_MEMORY, check_overcommit },
	{ HMR_CAUSE_MAP_COUNT, check_map_count },
	{ HMR_CAUSE_MEMLOCK, check_memlock },
	{ HMR_CAUSE_FORK_ALIGN, check_fork },
	{ HMR_CAUSE_MR_SIZE, check_mr_size },
	{ HMR_CAUSE_DEVICE_PAGES, check_device_pages },
	{ HMR_CAUSE_MR_COUNT, check_mr_count },
	{ HMR_CAUSE_ACCESS, check_access },
	/* no failure is ever due to it */
	{ HMR_CAUSE_UNKNOWN, check_numa_balancing },
};
#define N_CHECKS (sizeof(checks) / sizeof(checks[0]))
_Static_assert(N_CHECKS <= HMR_PLAN_CHECKS, "a plan has room for each check");

/* ---- devices ---- */

/* MRs that the plan takes of the device of PD @i, which may have more PDs. */
static uint64_t mrs_on(const struct wish *w, unsigned int i)
{
	uint64_t n = 0;
	unsigned int j;

	for (j = 0; j < w->dom->n_pds; j++)
		n += w->dom->pds[j]->context == w->dom->pds[i]->context;
	return mul(mul(n, w->split.n), w->buffers);
}

/* The device that is nearest to its limit is the one that counts. */
static void count_mrs(struct wish *w, unsigned int i,
		      const struct ibv_device_attr *attr, const char *device)
{
	uint64_t need = mrs_on(w, i);

	if (attr->max_mr <= 0)
		return;
	if (w->max_mrs != UINT64_MAX &&
	    (double)need / attr->max_mr <= (double)w->mrs / w->max_mrs)
		return;
	w->mrs = need;
	w->max_mrs = (uint64_t)attr->max_mr;
	w->max_mrs_device = device;
}

static int ask_devices(struct wish *w, struct hmr_error *err)
{
	struct ibv_context *context;
	unsigned int i;
	int lacks;

	w->max_mrs = UINT64_MAX;
	for (i = 0; w->dom && i < w->dom->n_pds; i++) {
		struct ibv_device_attr attr = { 0 };
		const char *device;

		context = w->dom->pds[i]->context;
		device = hmr_verbs->device_name(context);
		err->err = -hmr_verbs->query_device(context, &attr);
		if (err->err) {
			snprintf(err->device, sizeof(err->device), "%s",
				 device);
			return hmr_fail(err, "%s can't be queried: %s", device,
					strerror(-err->err));
		}
		count_mrs(w, i, &attr, device);
		lacks = hmr_access_lacking(w->access, &attr, context);
		if (lacks && !w->lacking)
			w->lacking_device = device;
		w->lacking |= lacks;
	}
	return 0;
}

/* ---- the plan ---- */

static void split(struct wish *w)
{
	struct hmr_split_rules rules = {
		.chunk = w->chunk,
		.max_mr_size = UINT64_MAX,
		.max_mr_pages = UINT64_MAX,
		.page = w->page ? w->page : w->host.base_page,
	};

	/* Buffers begin on pages. THP don't show in a mapping. */
	if (!w->hugetlb)
		rules.page = w->host.base_page;
	if (w->dom)
		hmr_domain_limits(w->dom, &rules.max_mr_size,
				  &rules.max_mr_pages);
	w->split.n = 1;
	w->split.why = HMR_SPLIT_NONE;
	w->split_ret = hmr_split(0, w->length, &rules, &w->split);
}

static int check_args(struct hmr_error *err, const struct hmr_domain *dom,
		      const struct hmr_plan_opts *opts,
		      const struct hmr_plan *plan)
{
	err->err = hmr_opts_check(opts, sizeof(*opts));
	if (err->err)
		return hmr_fail_opts(err);
	if (dom && hmr_is_foreign(dom->generation))
		return hmr_foreign(err->op);
	if (!plan || plan->size < sizeof(plan->size))
		return hmr_einval(err->op, "the plan has no size");
	if (!err->length)
		return hmr_einval(err->op, "a buffer of 0 bytes");
	if (HMR_OPTS_GET(opts, pages) > HMR_PAGES_4K)
		return hmr_einval(err->op, "unknown page policy %u",
				  opts->pages);
	if (err->access & ~HMR_KNOWN_ACCESS)
		return hmr_einval(err->op, "unknown access bits %#x",
				  (unsigned int)(err->access &
						 ~HMR_KNOWN_ACCESS));
	return 0;
}

/* HMR_VERDICT_UNKNOWN has the largest value, and is the mildest after OK. */
static unsigned int severity(uint32_t verdict)
{
	static const unsigned int order[] = {
		[HMR_VERDICT_OK] = 0,
		[HMR_VERDICT_UNKNOWN] = 1,
		[HMR_VERDICT_WARN] = 2,
		[HMR_VERDICT_FAIL] = 3,
	};

	return order[verdict];
}

static void run_checks(const struct wish *w, struct hmr_plan *p)
{
	unsigned int i;

	for (i = 0; i < N_CHECKS; i++) {
		struct hmr_check *c = &p->checks[p->n];

		*c = (struct hmr_check){ .cause = checks[i].cause };
		if (!checks[i].check(w, c)) {
			*c = (struct hmr_check){ 0 };
			continue;
		}
		p->n++;
		if (severity(c->verdict) > severity(p->verdict))
			p->verdict = c->verdict;
	}
}

HMR_API int hmr_plan(struct hmr_domain *dom, size_t length,
		     const struct hmr_plan_opts *opts, struct hmr_plan *plan)
{
	struct hmr_error err = {
		.op = "hmr_plan",
		.length = length,
		.access = HMR_OPTS_GET(opts, access),
	};
	struct hmr_plan p = { 0 };
	struct wish w = {
		.dom = dom,
		.length = length,
		.nodes = HMR_OPTS_GET(opts, nodes),
		.chunk = HMR_OPTS_GET(opts, chunk),
		.access = err.access,
	};
	int ret;

	ret = check_args(&err, dom, opts, plan);
	if (ret)
		return ret;
	w.buffers = HMR_OPTS_GET(opts, buffers);
	if (!w.buffers)
		w.buffers = 1;
	hmr_host_read(hmr_root, &w.host);
	hmr_process_read(hmr_root, &w.proc);
	choose_kind(&w, HMR_OPTS_GET(opts, pages));
	split(&w);
	ret = ask_devices(&w, &err);
	if (ret)
		return ret;
	run_checks(&w, &p);
	p.mrs = w.split.n;
	hmr_result_copy(plan, &p, sizeof(p));
	return 0;
}
