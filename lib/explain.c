// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Why a registration failed: an errno, the facts around it, and a table of
 * rules, of which the first that fits speaks. A rule with a cause follows from
 * facts. Those without say what is not known, and where to look; nothing is
 * guessed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "verbs_ops.h"

/* The kernel's ENOTSUPP, which it lets slip through to users. */
#define KERNEL_ENOTSUPP 524

struct answer {
	uint64_t need;
	uint64_t have;
	char text[400];
};

#define say(a, ...) snprintf((a)->text, sizeof((a)->text), __VA_ARGS__)

static bool asks(const struct hmr_facts *f, int access)
{
	return f->err->access & access;
}

/* ---- what limits the process ---- */

static unsigned int pds(const struct hmr_facts *f)
{
	return f->call->pds ? f->call->pds : 1;
}

static uint64_t memlock_need(const struct hmr_facts *f)
{
	return f->proc.pinned + hmr_facts_call_bytes(f) * pds(f);
}

/* ib_umem_get() charges each MR in full, whatever other MRs share its pages;
 * on-demand paging and dmabufs aren't charged. */
static bool over_memlock(const struct hmr_facts *f)
{
	return !f->call->dmabuf && !asks(f, IBV_ACCESS_ON_DEMAND) &&
	       !hmr_may_pin_all(&f->proc) &&
	       memlock_need(f) > f->proc.memlock_soft;
}

static void say_memlock(const struct hmr_facts *f, struct answer *a)
{
	char each[HMR_SIZE_TEXT], have[HMR_SIZE_TEXT];
	char soft[HMR_SIZE_TEXT], hard[HMR_SIZE_TEXT], times[32] = "";

	a->need = memlock_need(f);
	a->have = f->proc.memlock_soft;
	if (pds(f) > 1)
		snprintf(times, sizeof(times), " on each of %u PDs", pds(f));
	say(a,
	    "RLIMIT_MEMLOCK: %s to pin%s and %s pinned already, but the limit "
	    "is %s (hard limit %s) and CAP_IPC_LOCK %s: raise it, as with "
	    "ulimit -l %" PRIu64 ", LimitMEMLOCK= or --ulimit memlock=-1",
	    hmr_size_text(hmr_facts_call_bytes(f), each), times,
	    hmr_size_text(f->proc.pinned, have), hmr_size_text(a->have, soft),
	    f->proc.memlock_hard == UINT64_MAX ?
		    "unlimited" :
		    hmr_size_text(f->proc.memlock_hard, hard),
	    f->proc.ipc_lock ? "counts for nothing in a user namespace" :
			       "is missing",
	    a->need / HMR_KIB);
}

/* An MR within a mapping splits it in three. madvise() makes EAGAIN of that
 * ENOMEM. */
static bool over_map_count(const struct hmr_facts *f)
{
	return f->host.max_map_count &&
	       f->proc.mappings + 2 > f->host.max_map_count &&
	       hmr_facts_dontfork(f);
}

static void say_map_count(const struct hmr_facts *f, struct answer *a)
{
	a->need = f->proc.mappings + 2;
	a->have = f->host.max_map_count;
	say(a,
	    "the process has %" PRIu64 " mappings of %" PRIu64 ", and after "
	    "ibv_fork_init() each MR splits its own (MADV_DONTFORK): sysctl "
	    "vm.max_map_count=%" PRIu64 ", register fewer and larger ranges, "
	    "or leave ibv_fork_init() out on Linux 5.12 and later",
	    f->proc.mappings, a->have, 2 * a->have);
}

/* ---- the mapping ---- */

static bool has_hole(const struct hmr_facts *f)
{
	return f->hole;
}

static void say_hole(const struct hmr_facts *f, struct answer *a)
{
	say(a, "part of the range isn't mapped: memory must be allocated "
	       "before it is registered and freed after; what a GPU's "
	       "allocator returned is registered as a dmabuf");
}

static bool is_unwritable(const struct hmr_facts *f)
{
	return f->unwritable;
}

static void say_unwritable(const struct hmr_facts *f, struct answer *a)
{
	say(a, "the mapping is read-only and access that can write was asked "
	       "for: register it with IBV_ACCESS_REMOTE_READ alone or with "
	       "0, or map it with PROT_WRITE");
}

static bool is_unreadable(const struct hmr_facts *f)
{
	return f->unreadable;
}

static void say_unreadable(const struct hmr_facts *f, struct answer *a)
{
	say(a, "part of the range is mapped without PROT_READ: mprotect() it");
}

/* Until "RDMA/umem: remove FOLL_FORCE usage", ib_umem_get() pinned for writing
 * by force what was to be read only, for which a private page was copied. */
static bool is_forced(const struct hmr_facts *f)
{
	return f->forced;
}

static void say_forced(const struct hmr_facts *f, struct answer *a)
{
	say(a, "the mapping is shared and read-only, which Linux before 6.2 "
	       "doesn't register even for reading: map it with PROT_WRITE or "
	       "MAP_PRIVATE");
}

static bool is_device_memory(const struct hmr_facts *f)
{
	return f->io || f->device_file;
}

static void say_device_memory(const struct hmr_facts *f, struct answer *a)
{
	say(a,
	    "the mapping%s%s is memory of a device, without pages that could "
	    "be pinned: its driver may offer it as a dmabuf, see "
	    "HMR_REGISTER_DMABUF",
	    f->file[0] ? " of " : "", f->file);
}

static bool is_short(const struct hmr_facts *f)
{
	return f->file_need;
}

static void say_short(const struct hmr_facts *f, struct answer *a)
{
	a->need = f->file_need;
	a->have = f->file_size;
	say(a,
	    "the range reaches to byte %" PRIu64 " of %s, which has %" PRIu64
	    ": ftruncate() it before, or register less",
	    a->need, f->file, a->have);
}

static bool is_dax(const struct hmr_facts *f)
{
	return f->dax_file;
}

static void say_dax(const struct hmr_facts *f, struct answer *a)
{
	say(a,
	    "%s is on %s mounted for direct access (dax), where a file system "
	    "can't move a page that a device holds: use a device-dax or "
	    "on-demand paging",
	    f->file, f->fs);
}

static bool is_writeback(const struct hmr_facts *f)
{
	return f->writeback_file;
}

static void say_writeback(const struct hmr_facts *f, struct answer *a)
{
	say(a,
	    "%s is mapped shared and writable from %s, whose pages Linux 6.5 "
	    "and later don't let a device write to for long: use a file on "
	    "tmpfs or hugetlbfs, map it MAP_PRIVATE, or register it without "
	    "write access",
	    f->file, f->fs);
}

/* libibverbs rounds to pages of the mapping only if told to. */
static bool is_fork_odd(const struct hmr_facts *f)
{
	return f->odd_hugetlb && !secure_getenv("RDMAV_HUGEPAGES_SAFE") &&
	       hmr_facts_dontfork(f);
}

static void say_fork_odd(const struct hmr_facts *f, struct answer *a)
{
	char page[HMR_SIZE_TEXT];

	hmr_size_text(f->hugetlb_page, page);
	a->need = f->hugetlb_page;
	a->have = (f->addr | f->length) & -(f->addr | f->length);
	say(a,
	    "the range begins or ends within a hugetlb page of %s, where "
	    "MADV_DONTFORK, which ibv_fork_init() brings about, can't cut: "
	    "register whole pages, leave ibv_fork_init() out on Linux 5.12 and "
	    "later, or set RDMAV_HUGEPAGES_SAFE=1 before it",
	    page);
}

/* ---- memory that isn't there yet ---- */

static const struct hmr_pool *pool_of(const struct hmr_facts *f)
{
	return f->hugetlb_absent ? hmr_host_pool(&f->host, f->hugetlb_page) :
				   NULL;
}

static bool over_cgroup(const struct hmr_facts *f)
{
	const struct hmr_pool *pool = pool_of(f);

	return pool && pool->cgroup.room < f->hugetlb_absent;
}

static void say_cgroup(const struct hmr_facts *f, struct answer *a)
{
	char absent[HMR_SIZE_TEXT], room[HMR_SIZE_TEXT], max[HMR_SIZE_TEXT];
	const struct hmr_pool *pool = pool_of(f);
	char file[HMR_CGROUP_FILE];

	a->need = f->hugetlb_absent;
	a->have = pool->cgroup.room;
	say(a,
	    "%s of it have no pages yet and the control group may use %s more "
	    "of its %s: raise %s of the group in /proc/self/cgroup, or of one "
	    "above it",
	    hmr_size_text(a->need, absent), hmr_size_text(a->have, room),
	    hmr_size_text(pool->cgroup.max, max),
	    hmr_cgroup_file(&f->host.hugetlb_group, f->hugetlb_page, false,
			    file));
}

/* What is reserved may be so for this very mapping: all free pages count. */
static uint64_t pool_room(const struct hmr_facts *f, uint64_t nodes)
{
	return hmr_pool_free_on(&f->host, pool_of(f), nodes) +
	       hmr_pool_growth(pool_of(f));
}

static bool over_node_pool(const struct hmr_facts *f)
{
	return pool_of(f) && f->bound && f->host.n_nodes &&
	       pool_room(f, f->bound) < f->hugetlb_absent / f->hugetlb_page &&
	       pool_room(f, f->bound) < pool_room(f, 0);
}

static void say_node_pool(const struct hmr_facts *f, struct answer *a)
{
	unsigned int node = (unsigned int)__builtin_ctzll(f->bound);

	a->need = f->hugetlb_absent / f->hugetlb_page;
	a->have = pool_room(f, f->bound);
	say(a,
	    "%" PRIu64 " hugetlb pages of it aren't there yet and the nodes "
	    "that it is bound to have %" PRIu64 " free: raise "
	    "/sys/devices/system/node/node%u/hugepages/hugepages-%lukB/"
	    "nr_hugepages",
	    a->need, a->have, node, f->hugetlb_page / HMR_KIB);
}

static bool over_pool(const struct hmr_facts *f)
{
	return pool_of(f) &&
	       pool_room(f, 0) < f->hugetlb_absent / f->hugetlb_page;
}

static void say_pool(const struct hmr_facts *f, struct answer *a)
{
	a->need = f->hugetlb_absent / f->hugetlb_page;
	a->have = pool_room(f, 0);
	say(a,
	    "%" PRIu64 " hugetlb pages of it aren't there yet and the pool has "
	    "%" PRIu64 " free: raise /sys/kernel/mm/hugepages/"
	    "hugepages-%lukB/nr_hugepages, and hmr_populate() before",
	    a->need, a->have, f->hugetlb_page / HMR_KIB);
}

static uint64_t memory_room(const struct hmr_facts *f)
{
	return f->host.mem_available < f->host.memory.room ?
		       f->host.mem_available :
		       f->host.memory.room;
}

static bool over_memory(const struct hmr_facts *f)
{
	return f->host.mem_available && f->absent > memory_room(f);
}

static void say_memory(const struct hmr_facts *f, struct answer *a)
{
	char absent[HMR_SIZE_TEXT], room[HMR_SIZE_TEXT];

	a->need = f->absent;
	a->have = memory_room(f);
	say(a, "%s of it aren't there yet and %s of memory are available%s",
	    hmr_size_text(a->need, absent), hmr_size_text(a->have, room),
	    f->host.memory.room < f->host.mem_available ?
		    " to the control group: raise its memory limit" :
		    "");
}

/* ---- the device ---- */

static bool over_mr_size(const struct hmr_facts *f)
{
	return f->max_mr_size && f->length > f->max_mr_size;
}

static void say_mr_size(const struct hmr_facts *f, struct answer *a)
{
	char need[HMR_SIZE_TEXT], have[HMR_SIZE_TEXT];

	a->need = f->length;
	a->have = f->max_mr_size;
	say(a,
	    "an MR of the device has %s at most (max_mr_size) and this one "
	    "would have %s: hmr_register() splits it",
	    hmr_size_text(a->have, have), hmr_size_text(a->need, need));
}

/* See the table of domain.c for where this comes from. */
static bool over_rxe_limit(const struct hmr_facts *f)
{
	return f->rxe && hmr_facts_mr_bytes(f) > HMR_GIB;
}

static void say_rxe_limit(const struct hmr_facts *f, struct answer *a)
{
	char bytes[HMR_SIZE_TEXT];

	a->need = hmr_facts_mr_bytes(f);
	a->have = HMR_GIB;
	say(a,
	    "soft-RoCE (rxe) of Linux 6.12 to 7.3 can't register more than "
	    "1 GiB of whole pages as one MR (here %s) and warns in the kernel "
	    "log; on another kernel it is lack of memory: register in pieces "
	    "of 1 GiB, as hmr_register() does",
	    hmr_size_text(a->need, bytes));
}

static bool over_device_pages(const struct hmr_facts *f)
{
	return f->call->max_mr_pages &&
	       hmr_facts_mr_bytes(f) / hmr_base_page() > f->call->max_mr_pages;
}

static void say_device_pages(const struct hmr_facts *f, struct answer *a)
{
	a->need = hmr_facts_mr_bytes(f) / hmr_base_page();
	a->have = f->call->max_mr_pages;
	say(a,
	    "an MR of the device has %" PRIu64 " pages at most and this one "
	    "would have %" PRIu64 ": register smaller pieces, see "
	    "hmr_register_opts.chunk",
	    a->have, a->need);
}

static bool over_mr_count(const struct hmr_facts *f)
{
	return f->max_mr && f->call->mrs >= f->max_mr;
}

static void say_mr_count(const struct hmr_facts *f, struct answer *a)
{
	a->need = f->call->mrs + 1;
	a->have = f->max_mr;
	say(a,
	    "the device has %" PRIu64 " MRs (max_mr) and this process holds "
	    "%" PRIu64 " of them: register fewer and larger ranges",
	    a->have, f->call->mrs);
}

static bool is_access_lacking(const struct hmr_facts *f)
{
	return f->lacking;
}

static void say_access(const struct hmr_facts *f, struct answer *a)
{
	char text[HMR_ACCESS_TEXT];

	say(a, "the device can't do %s: leave that out of the access flags",
	    hmr_access_text(f->lacking, text));
}

static bool is_hugetlb_lacking(const struct hmr_facts *f)
{
	return asks(f, IBV_ACCESS_HUGETLB) && !f->all_hugetlb &&
	       !f->call->dmabuf;
}

static void say_hugetlb(const struct hmr_facts *f, struct answer *a)
{
	say(a, "IBV_ACCESS_HUGETLB is for hugetlb memory, which not all of the "
	       "range is: leave it out");
}

/* ---- errors that speak for themselves ---- */

static bool always(const struct hmr_facts *f)
{
	return true;
}

static void say_poisoned(const struct hmr_facts *f, struct answer *a)
{
	say(a, "a page of the range is broken (an uncorrectable memory error): "
	       "unmap it, and see the kernel log for which");
}

static void say_unsupported(const struct hmr_facts *f, struct answer *a)
{
	say(a,
	    "the driver doesn't support this kind of registration%s: other "
	    "access flags or another kind of memory may do",
	    f->err->err == -KERNEL_ENOTSUPP ? " (its error 524, ENOTSUPP)" :
	    f->call->dmabuf		    ? " (of a dmabuf)" :
					      "");
}

static bool is_dmabuf(const struct hmr_facts *f)
{
	return f->call->dmabuf;
}

static void say_bad_fd(const struct hmr_facts *f, struct answer *a)
{
	say(a, "dmabuf_fd isn't an open descriptor of a dmabuf");
}

/* ---- what is not known ---- */

static void say_no_keys(const struct hmr_facts *f, struct answer *a)
{
	say(a,
	    "the cause is not known to hugemr. Drivers such as mlx5 say this "
	    "when the device has no keys left (of %" PRIu64 ", max_mr), which "
	    "may still be held for processes that were killed: see rdma "
	    "resource show mr and the kernel log, register fewer and larger "
	    "ranges",
	    f->max_mr);
}

static void say_device_error(const struct hmr_facts *f, struct answer *a)
{
	char bytes[HMR_SIZE_TEXT];

	say(a,
	    "the cause is not known to hugemr. Some devices say this beyond a "
	    "size of an MR, or of all of them together, that they don't "
	    "report (here %s): see the kernel log, try a smaller "
	    "hmr_register_opts.chunk and huge pages",
	    hmr_size_text(hmr_facts_mr_bytes(f), bytes));
}

static void say_nomem(const struct hmr_facts *f, struct answer *a)
{
	say(a, "the cause is not known to hugemr: it isn't RLIMIT_MEMLOCK, nor "
	       "vm.max_map_count, nor a limit that the device reports. It may "
	       "be the driver's or the device's own tables (huge pages take "
	       "less of them), or pages that can't be moved out of CMA or a "
	       "movable zone: see the kernel log");
}

static void say_fault(const struct hmr_facts *f, struct answer *a)
{
	say(a, "the cause is not known to hugemr: all of the range is mapped, "
	       "with the access asked for. Memory that is a device's own can't "
	       "be pinned; hmr_populate() tells whether its pages can be had");
}

static void say_invalid(const struct hmr_facts *f, struct answer *a)
{
	say(a, "the cause is not known to hugemr: it may be an access flag, "
	       "or the address by which the device is to know it; see the "
	       "kernel log");
}

static void say_unknown(const struct hmr_facts *f, struct answer *a)
{
	say(a, "the cause is not known to hugemr");
}

#define MAX_ERRS 5

/* Does a rule need the facts of the range? They cost a walk over the process's
 * memory, which a program that evicts MRs and tries again would pay often. */
enum facts_wanted {
	ANY,
	RANGE
};

/* The first that fits. For ENOMEM the kernel's own order counts: it looks at
 * RLIMIT_MEMLOCK before it looks at pages, and the driver comes last. */
/* clang-format off */
static const struct rule {
	int errs[MAX_ERRS]; /* none for all */
	enum facts_wanted wanted;
	bool (*applies)(const struct hmr_facts *f);
	void (*tell)(const struct hmr_facts *f, struct answer *a);
	enum hmr_cause cause;
} rules[] = {
	{ { EHWPOISON }, ANY,
	  always, say_poisoned, HMR_CAUSE_MEMORY_ERROR },
	{ { EBADF }, ANY,
	  is_dmabuf, say_bad_fd, HMR_CAUSE_ARGUMENT },
	{ { ENOMEM }, ANY,
	  over_memlock, say_memlock, HMR_CAUSE_MEMLOCK },
	{ { EAGAIN, ENOMEM }, ANY,
	  over_map_count, say_map_count, HMR_CAUSE_MAP_COUNT },
	{ { EFAULT, ENOMEM, EINVAL }, RANGE,
	  has_hole, say_hole, HMR_CAUSE_HOLE },
	{ { EFAULT, ENOMEM }, RANGE,
	  is_short, say_short, HMR_CAUSE_FILE },
	{ { EFAULT, EINVAL }, RANGE,
	  is_device_memory, say_device_memory, HMR_CAUSE_DEVICE_MEMORY },
	{ { EFAULT }, RANGE,
	  is_unreadable, say_unreadable, HMR_CAUSE_PROTECTION },
	{ { EFAULT, ENOMEM, EACCES }, RANGE,
	  is_unwritable, say_unwritable, HMR_CAUSE_PROTECTION },
	{ { EFAULT }, RANGE,
	  is_forced, say_forced, HMR_CAUSE_PROTECTION },
	{ { EOPNOTSUPP, EFAULT }, RANGE,
	  is_dax, say_dax, HMR_CAUSE_FILE },
	{ { EFAULT }, RANGE,
	  is_writeback, say_writeback, HMR_CAUSE_FILE },
	{ { EINVAL }, RANGE,
	  is_fork_odd, say_fork_odd, HMR_CAUSE_FORK_ALIGN },
	{ { EFAULT, ENOMEM }, RANGE,
	  over_cgroup, say_cgroup, HMR_CAUSE_CGROUP },
	{ { EFAULT, ENOMEM }, RANGE,
	  over_node_pool, say_node_pool, HMR_CAUSE_NODE_POOL },
	{ { EFAULT, ENOMEM }, RANGE,
	  over_pool, say_pool, HMR_CAUSE_POOL },
	{ { ENOMEM, EINVAL, EIO, ENOSPC, EOPNOTSUPP }, ANY,
	  over_mr_size, say_mr_size, HMR_CAUSE_MR_SIZE },
	{ { ENOMEM }, ANY,
	  over_rxe_limit, say_rxe_limit, HMR_CAUSE_RXE_1GIB },
	{ { ENOMEM, EINVAL, EIO, ENOSPC, EOPNOTSUPP }, ANY,
	  over_device_pages, say_device_pages, HMR_CAUSE_DEVICE_PAGES },
	{ { ENOMEM, EINVAL, EIO, ENOSPC, EAGAIN }, ANY,
	  over_mr_count, say_mr_count, HMR_CAUSE_MR_COUNT },
	{ { ENOMEM }, RANGE,
	  over_memory, say_memory, HMR_CAUSE_MEMORY },
	{ { EINVAL, EOPNOTSUPP }, ANY,
	  is_access_lacking, say_access, HMR_CAUSE_ACCESS },
	{ { EINVAL }, RANGE,
	  is_hugetlb_lacking, say_hugetlb, HMR_CAUSE_ACCESS },
	{ { KERNEL_ENOTSUPP, EOPNOTSUPP }, ANY,
	  always, say_unsupported, HMR_CAUSE_NOT_SUPPORTED },
	{ { EAGAIN }, ANY, always, say_no_keys, HMR_CAUSE_UNKNOWN },
	{ { EIO, ENOSPC }, ANY, always, say_device_error, HMR_CAUSE_UNKNOWN },
	{ { ENOMEM }, ANY, always, say_nomem, HMR_CAUSE_UNKNOWN },
	{ { EFAULT }, ANY, always, say_fault, HMR_CAUSE_UNKNOWN },
	{ { EINVAL }, ANY, always, say_invalid, HMR_CAUSE_UNKNOWN },
	{ { 0 }, ANY, always, say_unknown, HMR_CAUSE_UNKNOWN },
};
/* clang-format on */

static bool is_about(const struct rule *rule, int err)
{
	unsigned int i;

	for (i = 0; i < MAX_ERRS && rule->errs[i]; i++)
		if (rule->errs[i] == err)
			return true;
	return !rule->errs[0];
}

static bool fits(const struct rule *rule, struct hmr_facts *f)
{
	if (!is_about(rule, -f->err->err))
		return false;
	if (rule->wanted == RANGE)
		hmr_facts_range(f);
	return rule->applies(f);
}

static void explain(struct hmr_facts *f, struct hmr_error *err,
		    struct answer *a)
{
	const struct rule *rule = rules;

	while (!fits(rule, f))
		rule++;
	rule->tell(f, a);
	err->cause = rule->cause;
	err->need = a->need;
	err->have = a->have;
}

const char *hmr_access_text(int access, char text[HMR_ACCESS_TEXT])
{
	static const struct {
		int bit;
		const char *name;
	} bits[] = {
		{ IBV_ACCESS_LOCAL_WRITE, "LOCAL_WRITE" },
		{ IBV_ACCESS_REMOTE_WRITE, "REMOTE_WRITE" },
		{ IBV_ACCESS_REMOTE_READ, "REMOTE_READ" },
		{ IBV_ACCESS_REMOTE_ATOMIC, "REMOTE_ATOMIC" },
		{ IBV_ACCESS_MW_BIND, "MW_BIND" },
		{ IBV_ACCESS_ZERO_BASED, "ZERO_BASED" },
		{ IBV_ACCESS_ON_DEMAND, "ON_DEMAND" },
		{ IBV_ACCESS_HUGETLB, "HUGETLB" },
		{ IBV_ACCESS_RELAXED_ORDERING, "RELAXED_ORDERING" },
	};
	unsigned int i;
	size_t n = 0;

	text[0] = '\0';
	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		if (access & bits[i].bit)
			n += (size_t)snprintf(text + n, HMR_ACCESS_TEXT - n,
					      "%s%s", n ? "|" : "",
					      bits[i].name);
		access &= ~bits[i].bit;
	}
	if (access || !n)
		snprintf(text + n, HMR_ACCESS_TEXT - n, "%s%#x", n ? "|" : "",
			 (unsigned int)access);
	return text;
}

int hmr_fail_reg_call(struct hmr_error *err, struct ibv_context *context,
		      const struct hmr_reg_facts *call)
{
	static const struct hmr_reg_facts nothing;
	char bytes[HMR_SIZE_TEXT], access[HMR_ACCESS_TEXT];
	struct answer a = { 0 };
	struct hmr_facts f;

	snprintf(err->device, sizeof(err->device), "%s",
		 hmr_verbs->device_name(context));
	hmr_facts_gather(&f, err, context, call ? call : &nothing);
	explain(&f, err, &a);
	return hmr_fail(err, "%s refused to register %s at %p (%s): %s: %s",
			err->device, hmr_size_text(err->length, bytes),
			err->addr, hmr_access_text(err->access, access),
			strerror(-err->err), a.text);
}

HMR_API const char *hmr_cause_name(enum hmr_cause cause)
{
	static const char *const names[] = {
		[HMR_CAUSE_UNKNOWN] = "unknown",
		[HMR_CAUSE_ARGUMENT] = "argument",
		[HMR_CAUSE_MEMLOCK] = "memlock",
		[HMR_CAUSE_MAP_COUNT] = "map-count",
		[HMR_CAUSE_POOL] = "pool",
		[HMR_CAUSE_NODE_POOL] = "node-pool",
		[HMR_CAUSE_CGROUP] = "cgroup",
		[HMR_CAUSE_PAGE_SIZE] = "page-size",
		[HMR_CAUSE_THP_OFF] = "thp-off",
		[HMR_CAUSE_FRAGMENTED] = "fragmented",
		[HMR_CAUSE_MEMORY] = "memory",
		[HMR_CAUSE_HOLE] = "hole",
		[HMR_CAUSE_PROTECTION] = "protection",
		[HMR_CAUSE_DEVICE_MEMORY] = "device-memory",
		[HMR_CAUSE_FILE] = "file",
		[HMR_CAUSE_FORK_ALIGN] = "fork-align",
		[HMR_CAUSE_MR_COUNT] = "mr-count",
		[HMR_CAUSE_MR_SIZE] = "mr-size",
		[HMR_CAUSE_DEVICE_PAGES] = "device-pages",
		[HMR_CAUSE_UNMOVABLE] = "unmovable",
		[HMR_CAUSE_RXE_1GIB] = "rxe-1gib",
		[HMR_CAUSE_ACCESS] = "access",
		[HMR_CAUSE_NOT_SUPPORTED] = "not-supported",
		[HMR_CAUSE_IN_USE] = "in-use",
		[HMR_CAUSE_FORKED] = "forked",
		[HMR_CAUSE_MEMORY_ERROR] = "memory-error",
		[HMR_CAUSE_CANCELED] = "canceled",
	};

	if ((unsigned int)cause >= sizeof(names) / sizeof(names[0]))
		return "unknown";
	return names[cause];
}
