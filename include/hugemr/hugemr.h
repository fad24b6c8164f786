/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * hugemr: register big memory for RDMA, fast and explained.
 *
 * Conventions of this header:
 *
 * - A call returns 0 or a negative errno value. What it makes comes back
 *   through the last argument, which stays as it was when the call fails.
 *   hmr_reg_mr() and hmr_dereg_mr() alone keep the verbs' own convention.
 * - After a failure hmr_last_error() says in words what went wrong.
 * - Options are structs whose first member is their size. HMR_OPTS() declares
 *   one; NULL stands for the defaults, and zero is the default of each field.
 *   A field that this library doesn't know must be zero (-E2BIG otherwise), so
 *   a program built against a newer header never has a wish dropped in silence.
 * - Result structs start with their size too, which the caller sets; the
 *   library fills no more than that. HMR_RESULT() declares one.
 * - Lengths are bytes, durations nanoseconds of CLOCK_MONOTONIC.
 * - Calls on different objects may run at the same time. Calls on the same
 *   object may too unless the call's Context says otherwise; freeing or closing
 *   an object while another thread still uses it is a mistake of the caller.
 */
#ifndef HUGEMR_H
#define HUGEMR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_mr;
struct ibv_pd;
struct ibv_sge;

struct hmr_buffer;
struct hmr_domain;
struct hmr_region;

/**
 * HMR_OPTS() - declare an options struct
 * @type: its struct tag, such as hmr_buffer_opts
 * @name: the variable
 *
 * Designated initialisers may follow:
 * HMR_OPTS(hmr_buffer_opts, o, .pages = HMR_PAGES_THP);
 */
#define HMR_OPTS(type, name, ...) \
	struct type name = { .size = sizeof(struct type), __VA_ARGS__ }

/**
 * HMR_RESULT() - declare a result struct for a call to fill
 * @type: its struct tag, such as hmr_backing
 * @name: the variable
 */
#define HMR_RESULT(type, name) \
	struct type name = { .size = sizeof(struct type) }

/* ---- buffers ----------------------------------------------------------- */

/**
 * enum hmr_pages - the page policy of a buffer
 * @HMR_PAGES_PREFER: the largest pages that are to be had and of which
 *	rounding up wastes no more than an eighth of the buffer: hugetlb 1 GiB,
 *	hugetlb 2 MiB, THP, base pages. hmr_buffer_why() tells why larger ones
 *	were not taken. Where the hugetlb pool is meant for others, ask for
 *	HMR_PAGES_THP.
 * @HMR_PAGES_1G: 1 GiB pages of the hugetlb pool, or an error
 * @HMR_PAGES_2M: 2 MiB pages of the hugetlb pool, or an error
 * @HMR_PAGES_THP: transparent huge pages for the whole buffer, or an error
 * @HMR_PAGES_4K: base pages; transparent huge pages are kept out
 */
enum hmr_pages {
	HMR_PAGES_PREFER = 0,
	HMR_PAGES_1G,
	HMR_PAGES_2M,
	HMR_PAGES_THP,
	HMR_PAGES_4K,
};

/**
 * enum hmr_buffer_flags - what to do differently for one buffer
 * @HMR_BUFFER_UNTOUCHED: don't fault the memory in. What backs it is then
 *	decided at first touch, so THP is asked for but not verified.
 * @HMR_BUFFER_DOFORK: let a child inherit the memory. By default it is
 *	MADV_DONTFORK on kernels that lack copy-on-fork for pinned pages
 *	(ibv_is_fork_initialized() is not IBV_FORK_UNNEEDED), where a fork would
 *	move the parent's pages away from under the device.
 */
enum hmr_buffer_flags {
	HMR_BUFFER_UNTOUCHED = 1u << 0,
	HMR_BUFFER_DOFORK = 1u << 1,
};

/**
 * struct hmr_buffer_opts - options of hmr_buffer_alloc()
 * @size: sizeof(struct hmr_buffer_opts)
 * @pages: enum hmr_pages
 * @flags: enum hmr_buffer_flags
 */
struct hmr_buffer_opts {
	size_t size;
	uint32_t pages;
	uint32_t flags;
};

/**
 * hmr_buffer_alloc() - get zeroed, private memory of a page policy
 * @length: bytes wanted; the mapping behind it is rounded up to whole pages
 * @opts: options, or NULL
 * @buf: the new buffer, to be given back with hmr_buffer_free()
 *
 * The memory is faulted in unless HMR_BUFFER_UNTOUCHED is set, so a pool that
 * runs dry is an error here and not a SIGBUS later. An inaccessible page lies
 * before and behind it.
 *
 * Return: 0, or
 * -EINVAL: @length is 0, or an option has a value that is not known,
 * -E2BIG: an option that this library doesn't know is set,
 * -EOVERFLOW: @length is beyond the address space,
 * -ENOMEM: no memory, no such hugetlb pages free, or not all of the buffer
 *	became THP; hmr_last_error() has the numbers,
 * -EOPNOTSUPP: this host has no pages of the size, or THP is off,
 * -EHWPOISON: the memory is broken,
 * -EFAULT: the kernel let the mapping be made but not be filled, as under a
 *	hugetlb cgroup limit.
 *
 * Context: any thread.
 */
int hmr_buffer_alloc(size_t length, const struct hmr_buffer_opts *opts,
		     struct hmr_buffer **buf);

/**
 * hmr_buffer_free() - give a buffer back
 * @buf: the buffer, or NULL
 *
 * Return: 0, or
 * -EBUSY: a region of hmr_register() still covers some of it; the buffer
 *	stays valid.
 *
 * Context: not while another thread uses @buf.
 */
int hmr_buffer_free(struct hmr_buffer *buf);

/** hmr_buffer_addr() - the first byte, aligned to the buffer's page size. */
void *hmr_buffer_addr(const struct hmr_buffer *buf);

/** hmr_buffer_length() - the length asked for, in bytes. */
size_t hmr_buffer_length(const struct hmr_buffer *buf);

/** hmr_buffer_mapped() - the length mapped: whole pages, in bytes. */
size_t hmr_buffer_mapped(const struct hmr_buffer *buf);

/**
 * hmr_buffer_pages() - the policy that was carried out
 * @buf: the buffer
 *
 * Return: the policy asked for, or what HMR_PAGES_PREFER came down to.
 */
enum hmr_pages hmr_buffer_pages(const struct hmr_buffer *buf);

/**
 * hmr_buffer_why() - why HMR_PAGES_PREFER did not take larger pages
 * @buf: the buffer
 *
 * Return: one line of text that lives as long as @buf; "" where nothing
 * was given up.
 */
const char *hmr_buffer_why(const struct hmr_buffer *buf);

/* ---- populate ---------------------------------------------------------- */

/**
 * enum hmr_populate_flags - how memory is to be faulted in
 * @HMR_POPULATE_READ: for reading only: nothing is written, copied or dirtied
 */
enum hmr_populate_flags {
	HMR_POPULATE_READ = 1u << 0,
};

/**
 * struct hmr_populate_opts - options of hmr_populate()
 * @size: sizeof(struct hmr_populate_opts)
 * @flags: enum hmr_populate_flags
 */
struct hmr_populate_opts {
	size_t size;
	uint64_t flags;
};

/**
 * enum hmr_populate_method - how the kernel was made to fault memory in
 * @HMR_POPULATE_NONE: not at all
 * @HMR_POPULATE_MADVISE: MADV_POPULATE_READ or _WRITE (Linux 5.14)
 * @HMR_POPULATE_FUTEX: page by page, a futex operation that adds zero
 */
enum hmr_populate_method {
	HMR_POPULATE_NONE = 0,
	HMR_POPULATE_MADVISE,
	HMR_POPULATE_FUTEX,
};

/**
 * struct hmr_populate_report - what hmr_populate() did
 * @size: sizeof(struct hmr_populate_report)
 * @ns: its duration
 * @method: enum hmr_populate_method
 */
struct hmr_populate_report {
	size_t size;
	uint64_t ns;
	uint64_t method;
};

/**
 * hmr_populate() - fault memory in, with errors in place of signals
 * @addr: first byte; need not be aligned
 * @length: bytes; every page touched by the range is populated
 * @opts: options, or NULL
 * @report: filled if not NULL, also after a failure
 *
 * Works on any mapping of the process, and never changes what it holds,
 * whoever writes to it meanwhile.
 *
 * Return: 0, or
 * -EINVAL: @length is 0, the range wraps, or a flag is not known,
 * -E2BIG: an option that this library doesn't know is set,
 * -ENOMEM: part of the range is not mapped, or there is no memory,
 * -EACCES: the mapping does not permit the access,
 * -EFAULT: a page can't be had where a touch would be a SIGBUS: a hugetlb
 *	pool or its cgroup limit is exhausted, a file has become shorter, or
 *	the mapping has no pages that could be populated,
 * -EHWPOISON: a page is broken.
 *
 * Context: any thread.
 */
int hmr_populate(void *addr, size_t length,
		 const struct hmr_populate_opts *opts,
		 struct hmr_populate_report *report);

/* ---- backing ----------------------------------------------------------- */

/**
 * struct hmr_backing - the pages that back a range, in bytes
 * @size: sizeof(struct hmr_backing)
 * @length: the range, rounded out to base pages: the sum of what follows
 * @hugetlb_1g: in hugetlb pages of 1 GiB
 * @hugetlb_2m: in hugetlb pages of 2 MiB
 * @hugetlb_other: in hugetlb pages of other sizes
 * @thp: in transparent huge pages mapped by a PMD
 * @small: present in pages below PMD size (mTHP and base pages)
 * @absent: not present
 * @unknown: not known: the range covers a mapping in part, and that mapping
 *	holds a mixture which the kernel counts but does not place
 */
struct hmr_backing {
	size_t size;
	uint64_t length;
	uint64_t hugetlb_1g;
	uint64_t hugetlb_2m;
	uint64_t hugetlb_other;
	uint64_t thp;
	uint64_t small;
	uint64_t absent;
	uint64_t unknown;
};

/**
 * hmr_backing() - find out which pages back a range
 * @addr: first byte; need not be aligned
 * @length: bytes
 * @backing: filled
 *
 * Source: /proc/self/smaps. KernelPageSize tells hugetlb, AnonHugePages,
 * ShmemPmdMapped and FilePmdMapped tell THP. The cost grows with all that the
 * process has mapped, so this is for reports and checks, not for a fast path.
 *
 * Return: 0, or
 * -EINVAL: @length is 0, the range wraps, or @backing has no size,
 * -ENOMEM: part of the range is not mapped,
 * another -errno of reading /proc/self/smaps.
 *
 * Context: any thread; a range that others change meanwhile gives a mixture.
 */
int hmr_backing(const void *addr, size_t length, struct hmr_backing *backing);

/** hmr_buffer_backing() - hmr_backing() of all that a buffer has mapped. */
int hmr_buffer_backing(const struct hmr_buffer *buf,
		       struct hmr_backing *backing);

/* ---- domains and regions ----------------------------------------------- */

/**
 * struct hmr_domain_opts - options of hmr_domain_open()
 * @size: sizeof(struct hmr_domain_opts)
 */
struct hmr_domain_opts {
	size_t size;
};

/**
 * hmr_domain_open() - name the protection domains to register on
 * @pds: the PDs, of one device or of several; they stay the caller's and must
 *	outlive the domain
 * @n: how many
 * @opts: options, or NULL
 * @dom: the new domain, to be closed with hmr_domain_close()
 *
 * Return: 0, or
 * -EINVAL: @n is 0 or a PD is NULL,
 * -E2BIG: an option that this library doesn't know is set,
 * -ENOMEM: no memory.
 *
 * Context: any thread.
 */
int hmr_domain_open(struct ibv_pd *const *pds, unsigned int n,
		    const struct hmr_domain_opts *opts,
		    struct hmr_domain **dom);

/**
 * hmr_domain_close() - free a domain
 * @dom: the domain, or NULL
 *
 * Return: 0, or
 * -EBUSY: regions are still registered; hmr_last_error() says how many and
 *	which; the domain stays valid.
 *
 * Context: not while another thread uses @dom.
 */
int hmr_domain_close(struct hmr_domain *dom);

/**
 * enum hmr_register_flags - which options of a registration count
 * @HMR_REGISTER_IOVA: use hmr_register_opts.iova
 */
enum hmr_register_flags {
	HMR_REGISTER_IOVA = 1u << 0,
};

/**
 * struct hmr_register_opts - options of hmr_register()
 * @size: sizeof(struct hmr_register_opts)
 * @flags: enum hmr_register_flags
 * @iova: the address by which the device knows the first byte; without
 *	HMR_REGISTER_IOVA it is the virtual address
 */
struct hmr_register_opts {
	size_t size;
	uint64_t flags;
	uint64_t iova;
};

/**
 * hmr_register() - pin a range and make it known to every PD of a domain
 * @dom: the domain
 * @addr: first byte; need not be aligned
 * @length: bytes
 * @access: IBV_ACCESS_* bits; nothing is added to them
 * @opts: options, or NULL
 * @region: the new region, to be given up with hmr_deregister()
 *
 * All or nothing: if one PD refuses, the others are undone.
 *
 * Return: 0, or
 * -EINVAL: @length is 0, the range wraps, an access bit is not known,
 *	REMOTE_WRITE or REMOTE_ATOMIC is asked for without LOCAL_WRITE, or
 *	ZERO_BASED is asked for, which HMR_REGISTER_IOVA does for any address,
 * -E2BIG: an option that this library doesn't know is set,
 * -ENOMEM: no memory, or the kernel's way to say RLIMIT_MEMLOCK,
 * another -errno of ibv_reg_mr(); hmr_last_error() tells what it means.
 *
 * Context: any thread, also at the same time on one domain.
 */
int hmr_register(struct hmr_domain *dom, void *addr, size_t length, int access,
		 const struct hmr_register_opts *opts,
		 struct hmr_region **region);

/**
 * hmr_deregister() - undo hmr_register()
 * @region: the region, or NULL
 *
 * Return: 0, or
 * another -errno of ibv_dereg_mr(), such as -EBUSY while memory windows are
 *	bound: the region stays as it is, less the PDs that had already let go,
 *	and the call may be repeated.
 *
 * Context: not while another thread uses @region.
 */
int hmr_deregister(struct hmr_region *region);

/**
 * hmr_sges() - local scatter/gather elements for part of a region
 * @region: the region
 * @pd: index of the PD in the domain
 * @addr: first byte, within the region
 * @length: bytes, of which one element holds at most UINT32_MAX
 * @sge: filled if all fit
 * @max: how many @sge holds
 *
 * Return: the number of elements needed, of which none is written if that is
 * more than @max, or
 * -EINVAL: @length is 0 or @pd is out of range,
 * -ERANGE: the bytes are not all within the region.
 *
 * Context: any thread.
 */
int hmr_sges(const struct hmr_region *region, unsigned int pd, const void *addr,
	     size_t length, struct ibv_sge *sge, unsigned int max);

/**
 * struct hmr_key - what a peer needs to reach memory; frozen
 * @addr: the address to use on the wire
 * @length: bytes
 * @lkey: for the owner
 * @rkey: for the peer
 */
struct hmr_key {
	uint64_t addr;
	uint64_t length;
	uint32_t lkey;
	uint32_t rkey;
};

/**
 * hmr_keys() - the keys of a region on one PD, in the order of addresses
 * @region: the region
 * @pd: index of the PD in the domain
 * @keys: filled if all fit
 * @max: how many @keys holds
 *
 * Return: the number of keys needed, of which none is written if that is more
 * than @max, or
 * -EINVAL: @pd is out of range.
 *
 * Context: any thread.
 */
int hmr_keys(const struct hmr_region *region, unsigned int pd,
	     struct hmr_key *keys, unsigned int max);

/**
 * struct hmr_report - what a registration took
 * @size: sizeof(struct hmr_report)
 * @length: bytes registered
 * @pin_ns: duration of the verbs calls: pinning and telling the device
 * @pds: PDs registered on
 * @mrs: MRs made, over all PDs
 */
struct hmr_report {
	size_t size;
	uint64_t length;
	uint64_t pin_ns;
	uint32_t pds;
	uint32_t mrs;
};

/**
 * hmr_region_report() - tell what a registration took
 * @region: the region
 * @report: filled up to its size
 *
 * Context: any thread.
 */
void hmr_region_report(const struct hmr_region *region,
		       struct hmr_report *report);

/* ---- verbs with an explanation ------------------------------------------ */

/**
 * hmr_reg_mr() - ibv_reg_mr() that can tell why it failed
 *
 * Same arguments and same result as ibv_reg_mr(). hmr_buffer_free() knows
 * nothing of MRs made here.
 *
 * Return: the MR, or NULL with errno set; then see hmr_last_error().
 *
 * Context: any thread.
 */
struct ibv_mr *hmr_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			  int access);

/**
 * hmr_dereg_mr() - ibv_dereg_mr() that can tell why it failed
 *
 * Return: 0, or a positive errno value; then see hmr_last_error().
 *
 * Context: any thread.
 */
int hmr_dereg_mr(struct ibv_mr *mr);

/* ---- errors, log, version ----------------------------------------------- */

/**
 * struct hmr_error - the last failure of a thread; owned by the library
 * @op: the call, such as "hmr_register"; "" if none has failed yet
 * @err: its negative errno value
 * @access: IBV_ACCESS_* bits, where it had some
 * @addr: first byte, where it had a range
 * @length: bytes
 * @device: the RDMA device, where one refused; else ""
 * @text: what happened, and what to do where that is known: one line
 *
 * Members may be added at the end.
 */
struct hmr_error {
	const char *op;
	int err;
	int access;
	const void *addr;
	size_t length;
	char device[64];
	char text[512];
};

/**
 * hmr_last_error() - what the last failing call of this thread ran into
 *
 * Return: never NULL; valid until this thread's next failing call.
 *
 * Context: any thread; each has its own.
 */
const struct hmr_error *hmr_last_error(void);

/** enum hmr_log_level - how much a message matters */
enum hmr_log_level {
	HMR_LOG_ERROR = 1,
	HMR_LOG_WARN,
	HMR_LOG_INFO,
	HMR_LOG_DEBUG,
};

/**
 * typedef hmr_log_fn - takes one message
 * @level: how much it matters
 * @text: one line without its newline, valid during the call
 * @arg: what hmr_set_log() was given
 */
typedef void (*hmr_log_fn)(enum hmr_log_level level, const char *text,
			   void *arg);

/**
 * hmr_set_log() - choose where messages go and which
 * @fn: called for each message, on the thread that it arises on, maybe on
 *	several at once; NULL for stderr. It must not call hmr_set_log().
 * @arg: handed to @fn
 * @level: the least important level to be shown; 0 for the value of
 *	HUGEMR_LOG_LEVEL (error, warn, info, debug), else HMR_LOG_WARN. The
 *	environment is not read in a process that gained privileges at exec.
 *
 * Every failing call logs one HMR_LOG_INFO line: the caller has the error and
 * decides what to print.
 *
 * Return: 0, or
 * -EINVAL: @level is not known.
 *
 * Context: any thread. When it returns, no other thread calls the old @fn.
 */
int hmr_set_log(hmr_log_fn fn, void *arg, enum hmr_log_level level);

/**
 * hmr_version() - the version of the library in use, such as "0.1.0"
 */
const char *hmr_version(void);

#ifdef __cplusplus
}
#endif

#endif /* HUGEMR_H */
