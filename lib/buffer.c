// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Buffers: options, page policies, and the handle. */
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "attempt.h"
#include "fork.h"
#include "nodes.h"
#include "opts.h"
#include "ranges.h"

#define KNOWN_FLAGS                                                     \
	(HMR_BUFFER_UNTOUCHED | HMR_BUFFER_DOFORK | HMR_BUFFER_SHARED | \
	 HMR_BUFFER_FILE | HMR_BUFFER_BIND | HMR_BUFFER_INTERLEAVE)

struct hmr_buffer {
	struct hmr_memory mem;
	size_t length;
	unsigned int generation;
	char why[512];
};

/* Largest first: the order in which HMR_PAGES_PREFER tries. */
static const struct hmr_kind kinds[] = {
	{ HMR_PAGES_1G, "1 GiB hugetlb", HMR_GIB, 0 },
	{ HMR_PAGES_2M, "2 MiB hugetlb", 2 * HMR_MIB, 0 },
	{ HMR_PAGES_THP, "THP", 0, MADV_HUGEPAGE },
	{ HMR_PAGES_4K, "base", 0, MADV_NOHUGEPAGE },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

#define say(a, ...) hmr_shortage_say(&(a)->why, __VA_ARGS__)

/* ---- policies ---- */

/* Rounding up may waste an eighth, not more. */
static bool worth_preferring(const struct hmr_attempt *a)
{
	size_t page = hmr_kind_page_size(a->kind, a->host);
	size_t mapped;

	if (!page)
		return true; /* no THP here: let check_thp() say so */
	mapped = hmr_align_up(a->length, page);
	return mapped && mapped - a->length <= a->length / 8;
}

static int prefer(struct hmr_attempt *a, struct hmr_buffer *buf)
{
	size_t used = 0;
	unsigned int i;
	int ret = -ENOMEM;

	for (i = 0; i < N_KINDS; i++) {
		a->kind = &kinds[i];
		if (a->kind->pages != HMR_PAGES_4K && !worth_preferring(a))
			continue;
		ret = hmr_attempt_make(a, &buf->mem);
		if (!ret)
			return 0;
		if (used < sizeof(buf->why))
			used += (size_t)snprintf(buf->why + used,
						 sizeof(buf->why) - used,
						 "%sno %s pages: %s",
						 used ? "; " : "",
						 a->kind->name, a->why.text);
	}
	return ret;
}

static const struct hmr_kind *kind_of(enum hmr_pages pages)
{
	unsigned int i;

	for (i = 0; kinds[i].pages != pages; i++)
		;
	return &kinds[i];
}

static int file_error(struct hmr_attempt *a, const char *call, int err)
{
	say(a, HMR_CAUSE_FILE, "%s of descriptor %d: %s", call, a->fd,
	    strerror(err));
	return -err;
}

/* What pages a file has, as a kind without advice. */
static int kind_of_file(struct hmr_attempt *a, struct hmr_kind *kind)
{
	struct statfs fs;
	unsigned int i;

	if (fstatfs(a->fd, &fs))
		return file_error(a, "fstatfs", errno);
	*kind = (struct hmr_kind){ .name = "the file's" };
	if (fs.f_type != HUGETLBFS_MAGIC)
		return 0;
	kind->hugetlb = (size_t)fs.f_bsize;
	for (i = 0; i < N_KINDS; i++)
		if (kinds[i].hugetlb == kind->hugetlb)
			*kind = kinds[i];
	return 0;
}

static int check_file_range(struct hmr_attempt *a, size_t page)
{
	struct stat st;
	uint64_t end;

	if (a->offset % page) {
		say(a, HMR_CAUSE_ARGUMENT,
		    "offset %" PRIu64 " isn't a multiple of the file's pages "
		    "of %zu bytes",
		    a->offset, page);
		return -EINVAL;
	}
	if (fstat(a->fd, &st))
		return file_error(a, "fstat", errno);
	/* What isn't a regular file has no size to go by. */
	if (!S_ISREG(st.st_mode))
		return 0;
	if (!__builtin_add_overflow(a->offset, a->length, &end) &&
	    end <= (uint64_t)st.st_size)
		return 0;
	a->why.need = end;
	a->why.have = (uint64_t)st.st_size;
	say(a, HMR_CAUSE_FILE,
	    "the file has %" PRIu64 " bytes, and %zu from byte %" PRIu64
	    " on are wanted",
	    a->why.have, a->length, a->offset);
	return -ENXIO;
}

/* Is a policy compatible with what a file has? THP is only seen later. */
static int check_file_pages(struct hmr_attempt *a,
			    const struct hmr_kind *wanted,
			    const struct hmr_kind *have)
{
	if (wanted->hugetlb == have->hugetlb)
		return 0;
	say(a, HMR_CAUSE_PAGE_SIZE,
	    "the file has pages of %zu KiB: its file system decides that",
	    (have->hugetlb ? have->hugetlb : a->host->base_page) / HMR_KIB);
	return -EOPNOTSUPP;
}

static int map_file(struct hmr_attempt *a, enum hmr_pages pages,
		    struct hmr_buffer *buf)
{
	struct hmr_kind kind;
	int ret;

	ret = kind_of_file(a, &kind);
	if (!ret)
		ret = check_file_range(a, kind.hugetlb ? kind.hugetlb :
							 a->host->base_page);
	a->kind = &kind;
	if (!ret && pages != HMR_PAGES_PREFER) {
		a->kind = kind_of(pages);
		ret = check_file_pages(a, a->kind, &kind);
	}
	if (!ret)
		ret = hmr_attempt_make(a, &buf->mem);
	a->kind = NULL;
	return ret;
}

static int alloc(struct hmr_attempt *a, enum hmr_pages pages,
		 struct hmr_buffer *buf)
{
	if (a->flags & HMR_BUFFER_FILE)
		return map_file(a, pages, buf);
	if (pages == HMR_PAGES_PREFER)
		return prefer(a, buf);
	a->kind = kind_of(pages);
	return hmr_attempt_make(a, &buf->mem);
}

/* ---- options ---- */

/* Of several flags, which exclude each other, more than one? */
static bool several(uint32_t flags, uint32_t of)
{
	flags &= of;
	return flags & (flags - 1);
}

static int check_flags(struct hmr_error *err,
		       const struct hmr_buffer_opts *opts)
{
	const uint32_t placing = HMR_BUFFER_BIND | HMR_BUFFER_INTERLEAVE;
	uint32_t flags = HMR_OPTS_GET(opts, flags);
	bool device = HMR_OPTS_GET(opts, device);

	if (flags & ~KNOWN_FLAGS)
		return hmr_fail(err, "unknown flags %#x", flags);
	if (several(flags, HMR_BUFFER_SHARED | HMR_BUFFER_FILE))
		return hmr_fail(err, "SHARED makes a file, FILE has one");
	if (several(flags, placing) || (flags & placing && device))
		return hmr_fail(err, "more than one of BIND, INTERLEAVE and "
				     "a device");
	if (flags & HMR_BUFFER_FILE && (flags & placing || device))
		return hmr_fail(err, "a file has its pages where they are: no "
				     "BIND, INTERLEAVE or device");
	if (!(flags & placing) != !HMR_OPTS_GET(opts, nodes))
		return hmr_fail(err, "nodes go with BIND or INTERLEAVE");
	if (!(flags & HMR_BUFFER_FILE) &&
	    (HMR_OPTS_GET(opts, fd) || HMR_OPTS_GET(opts, offset)))
		return hmr_fail(err, "fd and offset go with FILE");
	return 0;
}

static int check_opts(struct hmr_error *err, const struct hmr_buffer_opts *opts)
{
	err->cause = HMR_CAUSE_ARGUMENT;
	err->err = hmr_opts_check(opts, sizeof(*opts));
	if (err->err)
		return hmr_fail_opts(err);
	err->err = -EINVAL;
	if (!err->length)
		return hmr_fail(err, "a buffer of 0 bytes");
	if (HMR_OPTS_GET(opts, pages) > HMR_PAGES_4K)
		return hmr_fail(err, "unknown page policy %u",
				HMR_OPTS_GET(opts, pages));
	return check_flags(err, opts);
}

/* The nodes to bind to, asked for or by a device. */
static int choose_nodes(struct hmr_error *err,
			const struct hmr_buffer_opts *opts, uint64_t *nodes)
{
	const char *device = HMR_OPTS_GET(opts, device);
	bool beyond;
	uint64_t all;
	int node;

	*nodes = HMR_OPTS_GET(opts, nodes);
	if (!*nodes && !device)
		return 0;
	all = hmr_nodes_with_memory(&beyond);
	if (*nodes & ~all)
		return hmr_fail(err,
				"nodes %#" PRIx64 " are asked for, and those "
				"with memory are %#" PRIx64,
				*nodes, all);
	if (!device)
		return 0;
	if (hmr_nodes_of_device(device, &node)) {
		err->err = -ENODEV;
		snprintf(err->device, sizeof(err->device), "%s", device);
		return hmr_fail(err, "there is no RDMA device '%s'", device);
	}
	if (node >= 0 && node < HMR_BACKING_NODES && all >> node & 1)
		*nodes = 1ull << node;
	return 0;
}

HMR_API int hmr_buffer_alloc(size_t length, const struct hmr_buffer_opts *opts,
			     struct hmr_buffer **out)
{
	struct hmr_error err = { .op = "hmr_buffer_alloc", .length = length };
	struct hmr_attempt a = {
		.length = length,
		.flags = HMR_OPTS_GET(opts, flags),
		.threads = HMR_OPTS_GET(opts, threads),
		.fd = HMR_OPTS_GET(opts, fd),
		.offset = HMR_OPTS_GET(opts, offset),
	};
	struct hmr_buffer *buf;
	struct hmr_host host;
	int ret;

	ret = check_opts(&err, opts);
	if (!ret)
		ret = choose_nodes(&err, opts, &a.nodes);
	if (ret)
		return ret;
	err.err = -ENOMEM;
	err.cause = HMR_CAUSE_MEMORY;
	buf = calloc(1, sizeof(*buf));
	if (!buf)
		return hmr_fail(&err, "no memory for the handle");
	buf->generation = hmr_fork_generation();
	buf->length = length;
	hmr_host_read_pages("", &host);
	a.host = &host;
	err.err = alloc(&a, HMR_OPTS_GET(opts, pages), buf);
	if (err.err) {
		free(buf);
		err.cause = a.why.cause;
		err.need = a.why.need;
		err.have = a.why.have;
		return hmr_fail(&err, "%s", a.why.text);
	}
	if (buf->why[0])
		hmr_log(HMR_LOG_INFO, "hmr_buffer_alloc: %s", buf->why);
	*out = buf;
	return 0;
}

HMR_API int hmr_buffer_free(struct hmr_buffer *buf)
{
	struct hmr_error err = {
		.op = "hmr_buffer_free",
		.err = -EBUSY,
		.cause = HMR_CAUSE_IN_USE,
	};
	struct hmr_range range;
	unsigned int n;

	if (!buf)
		return 0;
	if (hmr_is_foreign(buf->generation))
		return hmr_foreign(err.op);
	n = hmr_ranges_over(buf->mem.map.addr, buf->mem.map.length, &range);
	if (n) {
		err.addr = buf->mem.map.addr;
		err.length = buf->length;
		return hmr_fail(&err,
				"%u regions still cover it, one of them %zu "
				"bytes at %#lx: deregister them first",
				n, range.length, range.addr);
	}
	hmr_memory_free(&buf->mem);
	free(buf);
	return 0;
}

HMR_API void *hmr_buffer_addr(const struct hmr_buffer *buf)
{
	return buf->mem.map.addr;
}

HMR_API size_t hmr_buffer_length(const struct hmr_buffer *buf)
{
	return buf->length;
}

HMR_API size_t hmr_buffer_mapped(const struct hmr_buffer *buf)
{
	return buf->mem.map.length;
}

HMR_API enum hmr_pages hmr_buffer_pages(const struct hmr_buffer *buf)
{
	return buf->mem.pages;
}

HMR_API const char *hmr_buffer_why(const struct hmr_buffer *buf)
{
	return buf->why;
}

HMR_API int hmr_buffer_fd(const struct hmr_buffer *buf)
{
	struct hmr_error err = {
		.op = "hmr_buffer_fd",
		.err = -EBADF,
		.cause = HMR_CAUSE_ARGUMENT,
	};

	if (hmr_is_foreign(buf->generation))
		return hmr_foreign(err.op);
	if (buf->mem.fd < 0)
		return hmr_fail(&err, "this buffer wasn't made with "
				      "HMR_BUFFER_SHARED");
	return buf->mem.fd;
}

HMR_API int hmr_buffer_backing(const struct hmr_buffer *buf,
			       struct hmr_backing *backing)
{
	if (hmr_is_foreign(buf->generation))
		return hmr_foreign("hmr_buffer_backing");
	return hmr_backing(buf->mem.map.addr, buf->mem.map.length, backing);
}
