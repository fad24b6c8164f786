// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * One attempt to get the memory of a buffer in one kind of pages. Everything
 * that decides about pages (advice, binding) is said before the first touch,
 * and what was obtained is looked up after it.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "attempt.h"
#include "backing.h"
#include "nodes.h"
#include "populate.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008u
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

#define say(a, ...) hmr_shortage_say(&(a)->why, __VA_ARGS__)

/* ---- is there such a thing here? ---- */

static enum hmr_thp_mode thp_mode(const struct hmr_attempt *a)
{
	/* A file may have its own, or have had huge pages before. */
	if (a->flags & HMR_BUFFER_FILE)
		return a->host->pmd_size ? HMR_THP_ALWAYS : HMR_THP_ABSENT;
	return a->flags & HMR_BUFFER_SHARED ? a->host->thp_shmem : a->host->thp;
}

static int check_thp(struct hmr_attempt *a)
{
	bool shmem = a->flags & HMR_BUFFER_SHARED;

	/* 3, since Linux 6.18, is "except where advised", as it is here. */
	if (prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1) {
		say(a, HMR_CAUSE_THP_OFF,
		    "transparent huge pages are off for this process "
		    "(prctl PR_SET_THP_DISABLE)");
		return -EOPNOTSUPP;
	}
	switch (thp_mode(a)) {
	case HMR_THP_ABSENT:
		say(a, HMR_CAUSE_THP_OFF,
		    "this kernel has no transparent huge pages");
		return -EOPNOTSUPP;
	case HMR_THP_NEVER:
		say(a, HMR_CAUSE_THP_OFF,
		    "transparent huge pages are off%s: echo %s > "
		    "/sys/kernel/mm/transparent_hugepage/%s",
		    shmem ? " for shared memory" : "",
		    shmem ? "advise" : "madvise",
		    shmem ? "shmem_enabled" : "enabled");
		return -EOPNOTSUPP;
	default:
		return 0;
	}
}

static int check_pool(struct hmr_attempt *a)
{
	if (hmr_host_pool(a->host, a->kind->hugetlb))
		return 0;
	say(a, HMR_CAUSE_PAGE_SIZE,
	    "this host has no %s pages: the CPU or the kernel lacks them",
	    a->kind->name);
	return -EOPNOTSUPP;
}

/* Beyond all that the nodes have, populating would end with the OOM killer. */
static int check_nodes(struct hmr_attempt *a)
{
	uint64_t have = hmr_nodes_bytes(a->nodes);
	char need_text[HMR_SIZE_TEXT], have_text[HMR_SIZE_TEXT];

	if (a->kind->hugetlb || a->flags & HMR_BUFFER_UNTOUCHED || !have ||
	    a->length <= have)
		return 0;
	a->why.need = a->length;
	a->why.have = have;
	say(a, HMR_CAUSE_MEMORY,
	    "needs %s, and the nodes that it is bound to have %s in all",
	    hmr_size_text(a->length, need_text),
	    hmr_size_text(have, have_text));
	return -ENOMEM;
}

static int check_host(struct hmr_attempt *a)
{
	int ret = 0;

	/* A file has its pages already. */
	if (a->kind->hugetlb && !(a->flags & HMR_BUFFER_FILE))
		ret = check_pool(a);
	else if (a->kind->pages == HMR_PAGES_THP)
		ret = check_thp(a);
	return ret ? ret : check_nodes(a);
}

/* ---- mapping ---- */

size_t hmr_kind_page_size(const struct hmr_kind *kind,
			  const struct hmr_host *host)
{
	if (kind->hugetlb)
		return kind->hugetlb;
	return kind->pages == HMR_PAGES_THP ? host->pmd_size : host->base_page;
}

static int make_memfd(struct hmr_attempt *a, struct hmr_memory *mem,
		      size_t size)
{
	unsigned int flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int ret;

	if (a->kind->hugetlb)
		flags |= MFD_HUGETLB |
			 (unsigned int)__builtin_ctzl(a->kind->hugetlb)
				 << MAP_HUGE_SHIFT;
	mem->fd = memfd_create("hugemr", flags | MFD_NOEXEC_SEAL);
	/* Linux before 6.3 doesn't know the one, later ones complain without */
	if (mem->fd < 0 && errno == EINVAL)
		mem->fd = memfd_create("hugemr", flags);
	/* Whoever gets the descriptor can't take pages away by shortening it.
	 */
	if (mem->fd >= 0 && !ftruncate(mem->fd, (off_t)size) &&
	    !fcntl(mem->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return 0;
	ret = -errno;
	say(a, HMR_CAUSE_UNKNOWN, "no memfd of %zu bytes in %s pages: %s", size,
	    a->kind->name, strerror(-ret));
	return ret;
}

static void set_private(const struct hmr_attempt *a,
			struct hmr_mapping_want *want)
{
	want->flags = MAP_PRIVATE | MAP_ANONYMOUS;
	if (a->kind->hugetlb)
		want->flags |= MAP_HUGETLB | __builtin_ctzl(a->kind->hugetlb)
						     << MAP_HUGE_SHIFT;
}

/* A PMD maps part of a file only where the address is as aligned as the part is
 * in the file. */
static void set_file(const struct hmr_attempt *a, struct hmr_mapping_want *want)
{
	want->flags = MAP_SHARED;
	want->fd = a->fd;
	want->offset = a->offset;
	if (a->kind->hugetlb)
		return;
	want->length = hmr_align_up(a->length, a->host->base_page);
	want->align = a->host->pmd_size ? a->host->pmd_size :
					  a->host->base_page;
	want->skew = a->offset % want->align;
}

static void explain_mmap(struct hmr_attempt *a, const struct hmr_asked *asked,
			 int err)
{
	if (a->flags & HMR_BUFFER_FILE && err != -ENOMEM)
		say(a, HMR_CAUSE_FILE,
		    "the file can't be mapped for reading and writing: %s",
		    strerror(-err));
	else
		hmr_shortage_of_mapping(&a->why, asked, err);
}

static struct hmr_asked asked(const struct hmr_attempt *a, size_t bytes)
{
	return (struct hmr_asked){
		.bytes = bytes,
		.hugetlb = a->kind->hugetlb,
		.name = a->kind->name,
		.nodes = a->nodes,
	};
}

static int map(struct hmr_attempt *a, struct hmr_memory *mem)
{
	size_t page = hmr_kind_page_size(a->kind, a->host);
	struct hmr_mapping_want want = {
		.length = hmr_align_up(a->length, page),
		.align = page,
		.fd = -1,
	};
	struct hmr_asked all;
	int ret;

	set_private(a, &want);
	if (a->flags & HMR_BUFFER_FILE)
		set_file(a, &want);
	if (!want.length) {
		say(a, HMR_CAUSE_ARGUMENT,
		    "%zu bytes can't be rounded up to pages", a->length);
		return -EOVERFLOW;
	}
	if (a->flags & HMR_BUFFER_SHARED) {
		ret = make_memfd(a, mem, want.length);
		if (ret)
			return ret;
		want.flags = MAP_SHARED;
		want.fd = mem->fd;
	}
	all = asked(a, want.length);
	ret = hmr_mapping_make(&want, &mem->map);
	if (ret)
		explain_mmap(a, &all, ret);
	return ret;
}

void hmr_memory_free(struct hmr_memory *mem)
{
	if (mem->map.addr)
		hmr_mapping_free(&mem->map);
	if (mem->fd >= 0)
		close(mem->fd);
	mem->map.addr = NULL;
	mem->fd = -1;
}

/* ---- what decides about pages, before the first touch ---- */

static int advise_pages(struct hmr_attempt *a, struct hmr_memory *mem)
{
	int ret;

	if (!a->kind->advice ||
	    !madvise(mem->map.addr, mem->map.length, a->kind->advice))
		return 0;
	/* A kernel without THP has no need to keep it out. */
	if (a->kind->pages != HMR_PAGES_THP && a->host->thp == HMR_THP_ABSENT)
		return 0;
	ret = -errno;
	say(a, HMR_CAUSE_UNKNOWN, "madvise for %s pages: %s", a->kind->name,
	    strerror(-ret));
	return ret;
}

static int keep_from_children(struct hmr_attempt *a, struct hmr_memory *mem)
{
	int ret;

	if (a->flags &
		    (HMR_BUFFER_DOFORK | HMR_BUFFER_SHARED | HMR_BUFFER_FILE) ||
	    !hmr_needs_dontfork() ||
	    !madvise(mem->map.addr, mem->map.length, MADV_DONTFORK))
		return 0;
	ret = -errno;
	say(a, HMR_CAUSE_UNKNOWN, "MADV_DONTFORK: %s", strerror(-ret));
	return ret;
}

static int bind_to_nodes(struct hmr_attempt *a, struct hmr_memory *mem)
{
	int ret;

	if (!a->nodes)
		return 0;
	ret = hmr_nodes_bind(mem->map.addr, mem->map.length, a->nodes,
			     a->flags & HMR_BUFFER_INTERLEAVE);
	if (ret)
		say(a, HMR_CAUSE_UNKNOWN, "mbind to nodes %#" PRIx64 ": %s",
		    a->nodes, strerror(-ret));
	return ret;
}

/* ---- populate and verify ---- */

static int read_thp(struct hmr_attempt *a, struct hmr_memory *mem,
		    uint64_t *thp)
{
	struct hmr_backing b;
	int ret;

	ret = hmr_backing_read(mem->map.addr, mem->map.length, 0, &b);
	if (ret)
		say(a, HMR_CAUSE_UNKNOWN, "THP can't be verified: %s",
		    strerror(-ret));
	*thp = b.thp;
	return ret;
}

static void explain_thp(struct hmr_attempt *a, const struct hmr_memory *mem,
			uint64_t thp, bool collapsed)
{
	const char *tried = collapsed ? ", also by MADV_COLLAPSE" : "";

	a->why.need = mem->map.length;
	a->why.have = thp;
	if (a->flags & HMR_BUFFER_FILE)
		say(a, HMR_CAUSE_PAGE_SIZE,
		    "only %" PRIu64 " of %zu KiB of the file became "
		    "transparent huge pages%s: its file system, size and "
		    "offset decide that",
		    thp / HMR_KIB, mem->map.length / HMR_KIB, tried);
	else
		say(a, HMR_CAUSE_FRAGMENTED,
		    "only %" PRIu64 " of %zu MiB became transparent huge "
		    "pages%s: free memory is too fragmented or too little "
		    "(echo 1 > /proc/sys/vm/compact_memory may help)",
		    thp / HMR_MIB, mem->map.length / HMR_MIB, tried);
}

/* Of a range of nothing only the advice is checked. */
bool hmr_have_collapse(void)
{
	return !madvise((void *)hmr_base_page(), 0, MADV_COLLAPSE);
}

/* A failure may be a passing one: some page was just under way. */
#define COLLAPSE_TRIES 4

/* Make huge pages of the small ones, PMD by PMD, as the kernel gives up at the
 * first that fails. What is huge already costs nothing. Whether all went well
 * is for the caller to see. */
static void collapse(struct hmr_attempt *a, struct hmr_memory *mem)
{
	size_t pmd = a->host->pmd_size, offset;
	int tries = 0;

	/* A file may begin between two. */
	offset = (size_t) - (uintptr_t)mem->map.addr & (pmd - 1);
	while (offset + pmd <= mem->map.length && tries < COLLAPSE_TRIES) {
		if (madvise(mem->map.addr + offset, pmd, MADV_COLLAPSE)) {
			tries++;
		} else {
			offset += pmd;
			tries = 0;
		}
	}
}

static int verify_thp(struct hmr_attempt *a, struct hmr_memory *mem)
{
	bool collapsed = false;
	uint64_t thp;
	int ret;

	ret = read_thp(a, mem, &thp);
	if (ret)
		return ret;
	if (thp < mem->map.length && hmr_have_collapse()) {
		collapse(a, mem);
		collapsed = true;
		ret = read_thp(a, mem, &thp);
	}
	if (ret || thp == mem->map.length)
		return ret;
	explain_thp(a, mem, thp, collapsed);
	return -ENOMEM;
}

/* Of a file, whose pages may have been there before. */
static int verify_no_thp(struct hmr_attempt *a, struct hmr_memory *mem)
{
	uint64_t thp;
	int ret;

	ret = read_thp(a, mem, &thp);
	if (ret || !thp)
		return ret;
	say(a, HMR_CAUSE_PAGE_SIZE,
	    "%" PRIu64 " MiB of the file are in transparent huge pages",
	    thp / HMR_MIB);
	return -EOPNOTSUPP;
}

static int verify(struct hmr_attempt *a, struct hmr_memory *mem)
{
	uint64_t thp;
	int ret;

	if (a->kind->pages == HMR_PAGES_THP)
		return verify_thp(a, mem);
	if (!(a->flags & HMR_BUFFER_FILE) || a->kind->hugetlb)
		return 0;
	if (a->kind->pages == HMR_PAGES_4K)
		return verify_no_thp(a, mem);
	ret = read_thp(a, mem, &thp);
	mem->pages = thp == mem->map.length ? HMR_PAGES_THP : HMR_PAGES_4K;
	return ret;
}

/* What failed is explained when all is given back. */
static int populate(struct hmr_attempt *a, struct hmr_memory *mem)
{
	const struct hmr_populate_job job = {
		.addr = mem->map.addr,
		.length = mem->map.length,
		.step = a->kind->hugetlb,
		.write = true,
		.threads = a->threads,
	};
	const struct hmr_asked all = asked(a, job.length);
	struct hmr_populate_report report;
	int ret;

	if (a->flags & HMR_BUFFER_UNTOUCHED)
		return 0;
	ret = hmr_populate_range(&job, &report);
	if (!ret)
		return verify(a, mem);
	hmr_memory_free(mem);
	hmr_shortage_of_pages(&a->why, &all, ret);
	if (a->flags & HMR_BUFFER_FILE && a->why.cause == HMR_CAUSE_UNKNOWN)
		a->why.cause = HMR_CAUSE_FILE;
	return ret;
}

int hmr_attempt_make(struct hmr_attempt *a, struct hmr_memory *mem)
{
	int ret;

	*mem = (struct hmr_memory){ .fd = -1, .pages = a->kind->pages };
	a->why.need = 0;
	a->why.have = 0;
	ret = check_host(a);
	if (!ret)
		ret = map(a, mem);
	if (!ret)
		ret = advise_pages(a, mem);
	if (!ret)
		ret = keep_from_children(a, mem);
	if (!ret)
		ret = bind_to_nodes(a, mem);
	if (!ret)
		ret = populate(a, mem);
	if (ret)
		hmr_memory_free(mem);
	return ret;
}
