// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The mappings of this process, read from /proc/self/smaps. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vma.h"

const char *hmr_smaps_path = "/proc/self/smaps";

/* "7f..-7f.. rw-p 0000 00:00 0 name" starts a mapping; fields start with a
 * capital letter. */
static bool parse_head(const char *line, struct hmr_vma *vma)
{
	uintptr_t start, end;
	char perms[5];

	if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s ", &start, &end,
		   perms) != 3)
		return false;
	*vma = (struct hmr_vma){
		.start = start,
		.end = end,
		.readable = perms[0] == 'r',
		.writable = perms[1] == 'w',
	};
	return true;
}

static void parse_flags(const char *flags, struct hmr_vma *vma)
{
	/* Two letters each, after a space. */
	vma->io = strstr(flags, " io") || strstr(flags, " pf");
}

static void parse_field(const char *line, struct hmr_vma *vma)
{
	uint64_t bytes;
	char name[32];

	if (!strncmp(line, "VmFlags:", 8)) {
		parse_flags(line + 8, vma);
		return;
	}
	if (sscanf(line, "%31[A-Za-z_]: %" SCNu64 " kB", name, &bytes) != 2)
		return;
	bytes *= HMR_KIB;
	if (!strcmp(name, "KernelPageSize"))
		vma->kernel_page_size = bytes;
	else if (!strcmp(name, "Rss"))
		vma->rss = bytes;
	else if (!strcmp(name, "AnonHugePages") ||
		 !strcmp(name, "ShmemPmdMapped") ||
		 !strcmp(name, "FilePmdMapped"))
		vma->thp += bytes;
	else if (!strcmp(name, "Shared_Hugetlb") ||
		 !strcmp(name, "Private_Hugetlb"))
		vma->hugetlb += bytes;
}

struct walk {
	uintptr_t next; /* first byte not covered yet */
	uintptr_t last; /* last byte of the range */
	bool done;
	bool hole;
	void (*fn)(const struct hmr_vma *vma, void *arg);
	void *arg;
};

static void walk_one(struct walk *w, const struct hmr_vma *vma)
{
	if (w->done || vma->end <= w->next)
		return;
	if (vma->start > w->next)
		w->hole = true;
	if (vma->start > w->last) {
		w->done = true;
		return;
	}
	if (w->fn)
		w->fn(vma, w->arg);
	w->next = vma->end;
	/* Not "next > last": a mapping may end where the addresses do. */
	w->done = vma->end - 1 >= w->last;
}

int hmr_vma_walk(const void *addr, size_t length,
		 void (*fn)(const struct hmr_vma *vma, void *arg), void *arg)
{
	struct walk w = {
		.next = (uintptr_t)addr,
		.last = (uintptr_t)addr + length - 1,
		.fn = fn,
		.arg = arg,
	};
	struct hmr_vma vma = { 0 }, next;
	char *line = NULL;
	size_t size = 0;
	int ret = 0;
	FILE *f;

	f = fopen(hmr_smaps_path, "re");
	if (!f)
		return -errno;
	while (!w.done && getline(&line, &size, f) > 0) {
		if (!parse_head(line, &next)) {
			parse_field(line, &vma);
			continue;
		}
		if (vma.end)
			walk_one(&w, &vma);
		vma = next;
	}
	if (ferror(f))
		ret = -EIO;
	else if (vma.end)
		walk_one(&w, &vma);
	if (!ret && (w.hole || !w.done))
		ret = -ENOMEM;
	free(line);
	fclose(f);
	return ret;
}
