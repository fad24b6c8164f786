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
 * - In a child of fork() calls on what it inherited return -EOWNERDEAD, and
 *   objects that the child makes itself work.
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
 * @HMR_BUFFER_DOFORK: let a child inherit the memory. By default private memory
 *	is MADV_DONTFORK on kernels that lack copy-on-fork for pinned pages
 *	(ibv_is_fork_initialized() is not IBV_FORK_UNNEEDED), where a fork would
 *	move the parent's pages away from under the device.
 * @HMR_BUFFER_SHARED: memory of a memfd, which hmr_buffer_fd() gives for other
 *	processes to map; never System V segments
 * @HMR_BUFFER_FILE: map hmr_buffer_opts.fd from hmr_buffer_opts.offset on,
 *	shared. The file decides about pages and where they lie:
 *	HMR_PAGES_PREFER takes them as they are, another policy is verified, and
 *	nodes can't be asked for.
 * @HMR_BUFFER_BIND: only on the nodes of hmr_buffer_opts.nodes
 * @HMR_BUFFER_INTERLEAVE: in turn on the nodes of hmr_buffer_opts.nodes
 */
enum hmr_buffer_flags {
	HMR_BUFFER_UNTOUCHED = 1u << 0,
	HMR_BUFFER_DOFORK = 1u << 1,
	HMR_BUFFER_SHARED = 1u << 2,
	HMR_BUFFER_FILE = 1u << 3,
	HMR_BUFFER_BIND = 1u << 4,
	HMR_BUFFER_INTERLEAVE = 1u << 5,
};

/**
 * struct hmr_buffer_opts - options of hmr_buffer_alloc()
 * @size: sizeof(struct hmr_buffer_opts)
 * @pages: enum hmr_pages
 * @flags: enum hmr_buffer_flags
 * @nodes: a bit for each NUMA node, for HMR_BUFFER_BIND and _INTERLEAVE
 * @device: name of an RDMA device whose node the memory is bound to; NULL for
 *	none. A device that has no node, as on a host with one, binds nothing.
 * @offset: for HMR_BUFFER_FILE: where in the file, in bytes; a multiple of its
 *	page size
 * @fd: for HMR_BUFFER_FILE; it may be closed afterwards
 * @threads: how many may populate it; 0 for what hmr_populate() chooses
 */
struct hmr_buffer_opts {
	size_t size;
	uint32_t pages;
	uint32_t flags;
	uint64_t nodes;
	const char *device;
	uint64_t offset;
	int32_t fd;
	uint32_t threads;
};

/**
 * hmr_buffer_alloc() - get memory of a page policy: zeroed and private, unless
 *	flags have it shared or a file's
 * @length: bytes wanted; the mapping behind it is rounded up to whole pages
 * @opts: options, or NULL
 * @buf: the new buffer, to be given back with hmr_buffer_free()
 *
 * The memory is faulted in unless HMR_BUFFER_UNTOUCHED is set, so a pool that
 * runs dry is an error here and not a SIGBUS later. An inaccessible page lies
 * before and behind it.
 *
 * Return: 0, or
 * -EINVAL: @length is 0, or options have values that are not known or exclude
 *	each other, or name nodes without memory,
 * -E2BIG: an option that this library doesn't know is set,
 * -EOVERFLOW: @length is beyond the address space,
 * -ENODEV: there is no RDMA device of the name,
 * -EBADF, -EACCES, -ENODEV: the file can't be mapped for writing,
 * -ENXIO: the file is shorter than the range,
 * -ENOMEM: no memory, no such hugetlb pages free, or not all of the buffer
 *	became THP; hmr_last_error() has the numbers,
 * -EOPNOTSUPP: this host or the file has no pages of the size, or THP is off,
 * -EHWPOISON: the memory is broken,
 * -EFAULT: the kernel let the mapping be made but not be filled, as under a
 *	hugetlb cgroup limit, where a node's pool is empty, or the file system is
 *	full,
 * another -errno of memfd_create(), mbind() or madvise().
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

/**
 * hmr_buffer_addr() - the first byte, aligned to the buffer's page size; that of
 *	a file as its offset is to PMDs
 */
void *hmr_buffer_addr(const struct hmr_buffer *buf);

/** hmr_buffer_length() - the length asked for, in bytes. */
size_t hmr_buffer_length(const struct hmr_buffer *buf);

/** hmr_buffer_mapped() - the length mapped: whole pages, in bytes. */
size_t hmr_buffer_mapped(const struct hmr_buffer *buf);

/**
 * hmr_buffer_pages() - the policy that was carried out
 * @buf: the buffer
 *
 * Return: the policy asked for, or what HMR_PAGES_PREFER came down to. For a
 * file that is HMR_PAGES_PREFER itself where its pages have no policy (other
 * hugetlb sizes) or were not looked at (HMR_BUFFER_UNTOUCHED).
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

/**
 * hmr_buffer_fd() - the file behind a shared buffer
 * @buf: the buffer
 *
 * Return: the descriptor of the memfd, which is closed with @buf and may be
 * duplicated or sent to another process, or
 * -EBADF: @buf was not made with HMR_BUFFER_SHARED.
 */
int hmr_buffer_fd(const struct hmr_buffer *buf);

/* ---- populate ---------------------------------------------------------- */

/**
 * enum hmr_populate_flags - how memory is to be faulted in
 * @HMR_POPULATE_READ: for reading only: nothing is written, copied or dirtied
 */
enum hmr_populate_flags {
	HMR_POPULATE_READ = 1u << 0,
};

/**
 * typedef hmr_progress_fn - is told how far a long call has come
 * @done: bytes done
 * @total: bytes in all
 * @arg: from the options
 *
 * Called now and then, on the calling thread or on a worker, never on two at
 * once; not called for ranges of one piece.
 *
 * Return: 0 to go on, anything else to cancel.
 */
typedef int (*hmr_progress_fn)(uint64_t done, uint64_t total, void *arg);

/**
 * struct hmr_populate_opts - options of hmr_populate()
 * @size: sizeof(struct hmr_populate_opts)
 * @flags: enum hmr_populate_flags
 * @threads: how many threads at most, the caller's among them; 0 for one for
 *	each CPU that may be used, on the node that the memory goes to
 * @processes: how many processes of this host do the same at this time and
 *	share its CPUs; 0 for 1. Counts only where @threads is 0.
 * @progress: called as the work goes on; NULL for nothing
 * @arg: handed to @progress
 */
struct hmr_populate_opts {
	size_t size;
	uint64_t flags;
	uint32_t threads;
	uint32_t processes;
	hmr_progress_fn progress;
	void *arg;
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
 * enum hmr_threads_why - what a number of threads comes from
 * @HMR_THREADS_ASKED: the options
 * @HMR_THREADS_CPUS: the CPUs that this thread may use, or those of the node
 * @HMR_THREADS_PROCESSES: its share of them among declared processes
 * @HMR_THREADS_WORK: there were no more pieces of work
 * @HMR_THREADS_LIMIT: other calls of this process had the other threads, or no
 *	more could be made
 */
enum hmr_threads_why {
	HMR_THREADS_ASKED = 0,
	HMR_THREADS_CPUS,
	HMR_THREADS_PROCESSES,
	HMR_THREADS_WORK,
	HMR_THREADS_LIMIT,
};

/**
 * struct hmr_populate_report - what hmr_populate() did
 * @size: sizeof(struct hmr_populate_report)
 * @ns: its duration
 * @method: enum hmr_populate_method
 * @threads: how many threads it was
 * @threads_why: enum hmr_threads_why
 */
struct hmr_populate_report {
	size_t size;
	uint64_t ns;
	uint64_t method;
	uint32_t threads;
	uint32_t threads_why;
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
 * -ECANCELED: the progress callback said so; part of the range is populated,
 * -EHWPOISON: a page is broken.
 *
 * Context: any thread.
 */
int hmr_populate(void *addr, size_t length,
		 const struct hmr_populate_opts *opts,
		 struct hmr_populate_report *report);

/* ---- backing ----------------------------------------------------------- */

#define HMR_BACKING_ORDERS 16
#define HMR_BACKING_NODES 64

/**
 * enum hmr_backing_flags - how hmr_backing() found out
 * @HMR_BACKING_SMAPS: from the counts that /proc/self/smaps has for each
 *	mapping, and from /proc/self/pagemap where those don't place pages
 * @HMR_BACKING_SCAN: from the page tables (PAGEMAP_SCAN, Linux 6.7), page by
 *	page
 * @HMR_BACKING_BY_ORDER: hmr_backing.order is filled (/proc/kpageflags could be
 *	read, which takes CAP_SYS_ADMIN)
 * @HMR_BACKING_BY_NODE: hmr_backing.node is filled
 */
enum hmr_backing_flags {
	HMR_BACKING_SMAPS = 1u << 0,
	HMR_BACKING_SCAN = 1u << 1,
	HMR_BACKING_BY_ORDER = 1u << 2,
	HMR_BACKING_BY_NODE = 1u << 3,
};

/**
 * struct hmr_backing - the pages that back a range, in bytes
 * @size: sizeof(struct hmr_backing)
 * @length: the range, rounded out to base pages: the sum of what follows
 * @hugetlb_1g: in hugetlb pages of 1 GiB
 * @hugetlb_2m: in hugetlb pages of 2 MiB
 * @hugetlb_other: in hugetlb pages of other sizes
 * @thp: in transparent huge pages mapped by a PMD
 * @small: present in pages below PMD size (mTHP and base pages)
 * @absent: not present, or only the zero page that all share
 * @unknown: not known: the range covers a mapping in part, and that mapping
 *	holds a mixture which the kernel counts but does not place; never with
 *	HMR_BACKING_SCAN
 * @flags: enum hmr_backing_flags: where this comes from and what is filled
 * @order: of @small, by folio size: 0 for base pages, 4 for 64 KiB, and so on
 * @node: of all that is present, by NUMA node
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
	uint64_t flags;
	uint64_t order[HMR_BACKING_ORDERS];
	uint64_t node[HMR_BACKING_NODES];
};

/**
 * hmr_backing() - find out which pages back a range
 * @addr: first byte; need not be aligned
 * @length: bytes
 * @backing: filled
 *
 * Where PAGEMAP_SCAN exists, it tells THP from small and absent pages at the
 * cost of a walk over the range's page tables. Elsewhere /proc/self/smaps does,
 * by mappings. KernelPageSize of smaps (and PROCMAP_QUERY) tells hugetlb; it is
 * blind to THP. For huge pages all this costs next to nothing; the orders and
 * nodes of pages below PMD size are looked up page by page.
 *
 * Return: 0, or
 * -EINVAL: @length is 0, the range wraps, or @backing has no size,
 * -ENOMEM: part of the range is not mapped,
 * another -errno of reading /proc/self/smaps, maps or pagemap.
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
 * @max_mr_size: a limit on the bytes of one MR, below what the devices report;
 *	0 for theirs
 * @max_mr_pages: a limit on the base pages of one MR, for devices that have one
 *	and don't report it. 0 for what is known of the device: 262144 for
 *	soft-RoCE, whose driver fails beyond that from 6.12.y to 7.3. UINT64_MAX
 *	lifts it.
 */
struct hmr_domain_opts {
	size_t size;
	uint64_t max_mr_size;
	uint64_t max_mr_pages;
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
 * -ENOMEM: no memory,
 * another -errno of querying a device.
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
 * hmr_domain_drain() - deregister all regions of a domain
 * @dom: the domain
 *
 * For the way out of a program: exit() would unpin everything in one go of the
 * kernel. This does it MR by MR on several threads, so each call into the
 * kernel is bounded by the chunk size that the regions were registered with.
 * The regions' handles are gone afterwards.
 *
 * Return: 0, or the first
 * -errno of ibv_dereg_mr(); the regions concerned stay.
 *
 * Context: not while another thread uses @dom or a region of it.
 */
int hmr_domain_drain(struct hmr_domain *dom);

/**
 * enum hmr_register_flags - what to do differently for one registration
 * @HMR_REGISTER_IOVA: use hmr_register_opts.iova
 * @HMR_REGISTER_UNTOUCHED: don't populate first; the kernel then faults in what
 *	is missing while it pins, on one thread
 * @HMR_REGISTER_DMABUF: register hmr_register_opts.dmabuf_fd. The address is
 *	only what hmr_sges() calls its first byte, and NULL will do.
 * @HMR_REGISTER_IMPLICIT: the whole address space on demand; needs
 *	IBV_ACCESS_ON_DEMAND, address NULL and length SIZE_MAX
 * @HMR_REGISTER_PREFETCH: with IBV_ACCESS_ON_DEMAND: have the device map the
 *	pages before the call returns
 */
enum hmr_register_flags {
	HMR_REGISTER_IOVA = 1u << 0,
	HMR_REGISTER_UNTOUCHED = 1u << 1,
	HMR_REGISTER_DMABUF = 1u << 2,
	HMR_REGISTER_IMPLICIT = 1u << 3,
	HMR_REGISTER_PREFETCH = 1u << 4,
};

/**
 * struct hmr_register_opts - options of hmr_register()
 * @size: sizeof(struct hmr_register_opts)
 * @flags: enum hmr_register_flags
 * @iova: the address by which the device knows the first byte; without
 *	HMR_REGISTER_IOVA it is the virtual address. Both must have the same
 *	offset within a page.
 * @chunk: bytes after which another MR begins, rounded to the pages of the
 *	mapping; 0 for one MR a PD, unless a limit of the device forces a split
 * @max_keys: how many MRs a PD there may be; 0 for any number
 * @threads: how many threads at most, as for hmr_populate()
 * @processes: as for hmr_populate()
 * @dmabuf_fd: for HMR_REGISTER_DMABUF
 * @dmabuf_offset: for HMR_REGISTER_DMABUF: where in the buffer, in bytes
 */
struct hmr_register_opts {
	size_t size;
	uint64_t flags;
	uint64_t iova;
	uint64_t chunk;
	uint32_t max_keys;
	uint32_t threads;
	uint32_t processes;
	int32_t dmabuf_fd;
	uint64_t dmabuf_offset;
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
 * The range becomes one MR a PD, or several where a chunk size was asked for or
 * a limit of the device forces it. Cuts between them lie on pages of the
 * mapping, whatever @addr and @length are. Memory of 4 MiB or more that isn't
 * there yet is populated first, for reading or writing as @access has it.
 *
 * All or nothing: if one MR is refused, the others are undone.
 *
 * Return: 0, or
 * -EINVAL: @length is 0, the range wraps, an access bit is not known,
 *	REMOTE_WRITE or REMOTE_ATOMIC is asked for without LOCAL_WRITE,
 *	ZERO_BASED is asked for, which HMR_REGISTER_IOVA does for any address, or
 *	options exclude each other,
 * -E2BIG: an option that this library doesn't know is set, or it would take
 *	more MRs than hmr_register_opts.max_keys,
 * -EOWNERDEAD: @dom is the parent's,
 * -EOPNOTSUPP: the device has no on-demand paging or no dmabuf,
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
 *	bound: the MRs that had not let go stay, and the call may be repeated.
 *	If some had, it is all that can be done with the region.
 *
 * Context: not while another thread uses @region.
 */
int hmr_deregister(struct hmr_region *region);

/**
 * hmr_reregister() - change the access of a region that stays registered
 * @region: the region
 * @access: IBV_ACCESS_* bits, as for hmr_register()
 *
 * Its keys may change.
 *
 * Return: 0, or
 * -EINVAL: as for @access of hmr_register(),
 * -EOPNOTSUPP: the driver can't; nothing has changed,
 * -EIO: the region is lost half-way: part of it has the new access, part has
 *	the old one or none; it can only be deregistered,
 * another -errno of ibv_rereg_mr(); nothing has changed.
 *
 * Context: not while another thread uses @region.
 */
int hmr_reregister(struct hmr_region *region, int access);

/**
 * hmr_sges() - local scatter/gather elements for part of a region
 * @region: the region
 * @pd: index of the PD in the domain
 * @addr: first byte, within the region
 * @length: bytes; another element begins at each MR and after UINT32_MAX bytes
 * @sge: filled if all fit
 * @max: how many @sge holds
 *
 * Return: the number of elements needed, of which none is written if that is
 * more than @max, or
 * -EINVAL: @length is 0 or @pd is out of range,
 * -ESTALE: the region is lost, see hmr_reregister() and hmr_deregister(),
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
 * -EINVAL: @pd is out of range,
 * -ESTALE: the region is lost, see hmr_reregister() and hmr_deregister().
 *
 * Context: any thread.
 */
int hmr_keys(const struct hmr_region *region, unsigned int pd,
	     struct hmr_key *keys, unsigned int max);

/**
 * hmr_keys_pack() - make a message of keys for a peer
 * @keys: the keys
 * @n: how many
 * @wire: filled if the message fits
 * @size: bytes at @wire
 *
 * Big-endian, versioned, and without lkeys, which are no one else's business:
 * "HMRK", then 32 bits each of the version (1) and @n, then for each key 64
 * bits of address, 64 of length, and 32 of rkey.
 *
 * Return: the number of bytes needed, of which none is written if that is more
 * than @size, or
 * -EINVAL: @n is 0,
 * -EOVERFLOW: a message of @n keys has no length that an int can hold.
 *
 * Context: any thread.
 */
int hmr_keys_pack(const struct hmr_key *keys, unsigned int n, void *wire,
		  size_t size);

/**
 * hmr_keys_unpack() - take a message of hmr_keys_pack() apart
 * @wire: the message; it is not trusted
 * @size: its bytes, which may be more than it takes
 * @keys: filled if all fit; their lkeys are 0
 * @max: how many @keys holds
 *
 * Return: the number of keys, of which none is written if that is more than
 * @max, or
 * -EPROTO: that is no such message, it is of another version or cut short, or
 *	its keys are empty, wrap, overlap or are out of order.
 *
 * Context: any thread.
 */
int hmr_keys_unpack(const void *wire, size_t size, struct hmr_key *keys,
		    unsigned int max);

/**
 * struct hmr_remote - one piece of remote memory under one key; frozen
 * @addr: the address to use on the wire
 * @length: bytes
 * @rkey: its key
 */
struct hmr_remote {
	uint64_t addr;
	uint32_t length;
	uint32_t rkey;
};

/**
 * hmr_remote_sge() - split a remote range so that no piece needs two keys
 * @keys: the peer's keys, in the order of addresses
 * @n: how many
 * @raddr: first byte, an address of the peer's
 * @length: bytes
 * @remote: filled if all fit
 * @max: how many @remote holds
 *
 * Return: the number of pieces, of which none is written if that is more than
 * @max, or
 * -EINVAL: @length is 0,
 * -ERANGE: the keys don't cover the range.
 *
 * Context: any thread.
 */
int hmr_remote_sge(const struct hmr_key *keys, unsigned int n, uint64_t raddr,
		   size_t length, struct hmr_remote *remote, unsigned int max);

/**
 * enum hmr_split_why - why a region has several MRs a PD
 * @HMR_SPLIT_NONE: it has one
 * @HMR_SPLIT_CHUNK: hmr_register_opts.chunk
 * @HMR_SPLIT_SIZE: the largest MR of a device, or hmr_domain_opts.max_mr_size
 * @HMR_SPLIT_PAGES: a page budget, see hmr_domain_opts.max_mr_pages
 */
enum hmr_split_why {
	HMR_SPLIT_NONE = 0,
	HMR_SPLIT_CHUNK,
	HMR_SPLIT_SIZE,
	HMR_SPLIT_PAGES,
};

/**
 * struct hmr_report - what a registration took
 * @size: sizeof(struct hmr_report)
 * @length: bytes registered
 * @pin_ns: duration of the verbs calls: pinning and telling the device
 * @pds: PDs registered on
 * @mrs: MRs made, over all PDs
 * @populate_ns: duration of populating what was missing; 0 if nothing was
 * @chunk: bytes of an MR, the first and last apart; that is what one call of
 *	deregistration is bounded by
 * @split_why: enum hmr_split_why
 * @threads: how many threads made the MRs
 * @threads_why: enum hmr_threads_why
 * @reserved: 0
 * @bytes_per_sec: @length by @populate_ns and @pin_ns together
 * @backing: as hmr_backing() finds it when the report is asked for
 */
struct hmr_report {
	size_t size;
	uint64_t length;
	uint64_t pin_ns;
	uint32_t pds;
	uint32_t mrs;
	uint64_t populate_ns;
	uint64_t chunk;
	uint32_t split_why;
	uint32_t threads;
	uint32_t threads_why;
	uint32_t reserved;
	uint64_t bytes_per_sec;
	struct hmr_backing backing;
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

/* ---- plan: will it fit? -------------------------------------------------- */

/**
 * enum hmr_cause - what a failure comes from, or what a check is about
 *
 * Values are added at the end and never change.
 */
enum hmr_cause {
	HMR_CAUSE_UNKNOWN = 0,
	HMR_CAUSE_ARGUMENT, /* a call's argument or option */
	HMR_CAUSE_MEMLOCK, /* RLIMIT_MEMLOCK without CAP_IPC_LOCK */
	HMR_CAUSE_MAP_COUNT, /* vm.max_map_count */
	HMR_CAUSE_POOL, /* hugetlb pages of the pool */
	HMR_CAUSE_NODE_POOL, /* hugetlb pages of the pool of a node */
	HMR_CAUSE_CGROUP, /* a hugetlb cgroup limit */
	HMR_CAUSE_PAGE_SIZE, /* the host has no such pages */
	HMR_CAUSE_THP_OFF, /* transparent huge pages are off */
	HMR_CAUSE_FRAGMENTED, /* not enough became THP */
	HMR_CAUSE_MEMORY, /* no free memory */
	HMR_CAUSE_HOLE, /* part of the range isn't mapped */
	HMR_CAUSE_PROTECTION, /* the mapping doesn't permit it */
	HMR_CAUSE_DEVICE_MEMORY, /* no struct pages: VM_IO or VM_PFNMAP */
	HMR_CAUSE_FILE, /* a file system whose pages can't be pinned */
	HMR_CAUSE_FORK_ALIGN, /* hugetlb, unaligned, after ibv_fork_init() */
	HMR_CAUSE_MR_COUNT, /* the device's number of MRs */
	HMR_CAUSE_MR_SIZE, /* the device's size of an MR */
	HMR_CAUSE_DEVICE_PAGES, /* the device's pages of an MR */
	HMR_CAUSE_UNMOVABLE, /* CMA or movable pages that won't move */
	HMR_CAUSE_RXE_1GIB, /* soft-RoCE's kmalloc, Linux 6.12.y to 7.3 */
	HMR_CAUSE_ACCESS, /* access flags that the device lacks */
	HMR_CAUSE_NOT_SUPPORTED, /* ENOTSUPP (524) and EOPNOTSUPP of a driver */
	HMR_CAUSE_IN_USE, /* regions or memory windows still use it */
	HMR_CAUSE_FORKED, /* an object of the parent process */
	HMR_CAUSE_MEMORY_ERROR, /* hardware: a poisoned page */
	HMR_CAUSE_CANCELED, /* by the progress callback */
};

/**
 * hmr_cause_name() - a short name, such as "memlock"
 * @cause: any value
 *
 * Return: never NULL; "unknown" for values that this library doesn't know.
 */
const char *hmr_cause_name(enum hmr_cause cause);

/**
 * enum hmr_verdict - what a check of hmr_plan() says
 * @HMR_VERDICT_OK: it will do
 * @HMR_VERDICT_WARN: it will do, but not well
 * @HMR_VERDICT_FAIL: it won't do
 * @HMR_VERDICT_UNKNOWN: the host doesn't tell
 */
enum hmr_verdict {
	HMR_VERDICT_OK = 0,
	HMR_VERDICT_WARN,
	HMR_VERDICT_FAIL,
	HMR_VERDICT_UNKNOWN,
};

/**
 * struct hmr_check - one line of a plan; frozen
 * @cause: enum hmr_cause: what a failure would be reported as
 * @verdict: enum hmr_verdict
 * @need: what it takes, in bytes, or in pieces where @cause counts them
 * @have: what there is; UINT64_MAX for no limit
 * @text: one line, with the remedy if there is something to remedy
 */
struct hmr_check {
	uint32_t cause;
	uint32_t verdict;
	uint64_t need;
	uint64_t have;
	char text[232];
};

#define HMR_PLAN_CHECKS 24

/**
 * struct hmr_plan - will it fit?
 * @size: sizeof(struct hmr_plan)
 * @verdict: the worst of the checks; HMR_VERDICT_UNKNOWN is better than _WARN
 * @n: how many checks there are
 * @mrs: MRs a PD that it would take
 * @checks: the checks
 */
struct hmr_plan {
	size_t size;
	uint32_t verdict;
	uint32_t n;
	uint64_t mrs;
	struct hmr_check checks[HMR_PLAN_CHECKS];
};

/**
 * struct hmr_plan_opts - options of hmr_plan()
 * @size: sizeof(struct hmr_plan_opts)
 * @pages: enum hmr_pages of the buffer
 * @access: IBV_ACCESS_* bits
 * @chunk: as in struct hmr_register_opts
 * @nodes: nodes that the buffer would be bound to; 0 for any
 * @buffers: how many such buffers; 0 for 1
 */
struct hmr_plan_opts {
	size_t size;
	uint32_t pages;
	int32_t access;
	uint64_t chunk;
	uint64_t nodes;
	uint64_t buffers;
};

/**
 * hmr_plan() - check whether buffers of a length could be had and registered
 * @dom: the domain to register on, or NULL to leave devices out
 * @length: bytes of each
 * @opts: options, or NULL
 * @plan: filled
 *
 * Nothing is allocated. The host is shared, so what is free now may be gone
 * when it is asked for.
 *
 * Return: 0, whatever the verdict, or
 * -EINVAL: @length is 0 or an option has a value that is not known,
 * -E2BIG: an option that this library doesn't know is set,
 * another -errno of querying a device.
 *
 * Context: any thread.
 */
int hmr_plan(struct hmr_domain *dom, size_t length,
	     const struct hmr_plan_opts *opts, struct hmr_plan *plan);

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
 * @cause: enum hmr_cause
 * @reserved: 0
 * @need: what it would have taken, where @cause is about an amount
 * @have: what there was
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
	uint32_t cause;
	uint32_t reserved;
	uint64_t need;
	uint64_t have;
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
 * enum hmr_feature - what the kernel or libibverbs offers the library
 * @HMR_FEATURE_POPULATE: MADV_POPULATE_READ and _WRITE (Linux 5.14)
 * @HMR_FEATURE_COLLAPSE: MADV_COLLAPSE (Linux 6.1)
 * @HMR_FEATURE_PAGEMAP_SCAN: PAGEMAP_SCAN (Linux 6.7)
 * @HMR_FEATURE_KPAGEFLAGS: /proc/kpageflags may be read
 * @HMR_FEATURE_COPY_ON_FORK: a fork leaves pinned pages with the parent
 *	(Linux 5.12 and its stable updates)
 * @HMR_FEATURE_ODP: built with on-demand paging and prefetch
 * @HMR_FEATURE_DMABUF: built with ibv_reg_dmabuf_mr()
 */
enum hmr_feature {
	HMR_FEATURE_POPULATE = 1u << 0,
	HMR_FEATURE_COLLAPSE = 1u << 1,
	HMR_FEATURE_PAGEMAP_SCAN = 1u << 2,
	HMR_FEATURE_KPAGEFLAGS = 1u << 3,
	HMR_FEATURE_COPY_ON_FORK = 1u << 4,
	HMR_FEATURE_ODP = 1u << 5,
	HMR_FEATURE_DMABUF = 1u << 6,
};

/**
 * struct hmr_info - what the library can do here
 * @size: sizeof(struct hmr_info)
 * @features: enum hmr_feature that were found
 * @untried: enum hmr_feature that the project has never run on a device, but
 *	only through scripted verbs
 */
struct hmr_info {
	size_t size;
	uint64_t features;
	uint64_t untried;
};

/**
 * hmr_info() - tell what the library can do here
 * @info: filled
 *
 * Return: 0, or
 * -EINVAL: @info has no size.
 *
 * Context: any thread.
 */
int hmr_info(struct hmr_info *info);

/**
 * hmr_version() - the version of the library in use, such as "0.1.0"
 */
const char *hmr_version(void);

#ifdef __cplusplus
}
#endif

#endif /* HUGEMR_H */
