// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The mappings of this process. /proc/self/smaps has everything, but counts
 * every page of the process to tell it. PROCMAP_QUERY (Linux 6.11) has the
 * attributes of one mapping by its address, for next to nothing; before it,
 * /proc/self/maps has all of them but the page size, which only a mapping of a
 * file (as hugetlb always is) may have other than the base page's.
 *
 * Adjacent mappings with the same attributes are one to the kernel, so a
 * mapping here may be larger than what any mmap() has made.
 *
 * Nothing is kept open between calls: in a child of fork() the file would still
 * show the parent.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vma.h"

const char *hmr_smaps_path = "/proc/self/smaps";
const char *hmr_maps_path = "/proc/self/maps";
bool hmr_vma_no_query;

/* From linux/fs.h of 6.11; not in the headers of older systems. */
struct procmap_query {
	uint64_t size;
	uint64_t query_flags;
	uint64_t query_addr;
	uint64_t vma_start;
	uint64_t vma_end;
	uint64_t vma_flags;
	uint64_t vma_page_size;
	uint64_t vma_offset;
	uint64_t inode;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint32_t vma_name_size;
	uint32_t build_id_size;
	uint64_t vma_name_addr;
	uint64_t build_id_addr;
};

#define HMR_PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
#define QUERY_READABLE 0x01
#define QUERY_WRITABLE 0x02
#define QUERY_SHARED 0x08
#define QUERY_COVERING_OR_NEXT 0x10

/* A walk over a range, fed with mappings in the order of addresses. */
struct walk {
	uintptr_t next; /* first byte not covered yet */
	uintptr_t last; /* last byte of the range */
	bool done;
	bool hole;
	hmr_vma_fn fn;
	void *arg;
};

static struct walk walk_begin(const void *addr, size_t length, hmr_vma_fn fn,
			      void *arg)
{
	return (struct walk){
		.next = (uintptr_t)addr,
		.last = (uintptr_t)addr + length - 1,
		.fn = fn,
		.arg = arg,
	};
}

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

static int walk_end(const struct walk *w)
{
	return w->hole || !w->done ? -ENOMEM : 0;
}

/* "7f..-7f.. rw-p 0000 00:00 0 name" starts a mapping; fields start with a
 * capital letter. The name is left in @line. */
static bool parse_head(char *line, struct hmr_vma *vma)
{
	uintptr_t start, end;
	unsigned int major, minor;
	uint64_t offset, inode;
	char perms[5];
	int name;

	if (sscanf(line,
		   "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64
		   " %n",
		   &start, &end, perms, &offset, &major, &minor, &inode,
		   &name) != 7)
		return false;
	line[strcspn(line, "\n")] = '\0';
	*vma = (struct hmr_vma){
		.start = start,
		.end = end,
		.readable = perms[0] == 'r',
		.writable = perms[1] == 'w',
		.shared = perms[3] == 's',
		.offset = offset,
		.dev_major = major,
		.dev_minor = minor,
		.inode = inode,
		.name = line + name,
		.kernel_page_size = hmr_base_page(),
	};
	return true;
}

static void parse_flags(const char *flags, struct hmr_vma *vma)
{
	/* Two letters each, after a space. */
	vma->io = strstr(flags, " io") || strstr(flags, " pf");
	vma->dontfork = strstr(flags, " dc");
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

/* The mapping whose fields are being read, and its line, which has its name. */
struct reading {
	struct hmr_vma vma;
	char *line;
	size_t size;
};

static void read_line(struct reading *r, struct walk *w, char **line,
		      size_t *size)
{
	struct hmr_vma next;
	char *old = r->line;
	size_t old_size = r->size;

	if (!parse_head(*line, &next)) {
		/* Most mappings lie before the range: spare the parsing. */
		if (r->vma.end > w->next)
			parse_field(*line, &r->vma);
		return;
	}
	if (r->vma.end)
		walk_one(w, &r->vma);
	*r = (struct reading){ next, *line, *size };
	*line = old;
	*size = old_size;
}

/* smaps, or maps, which is smaps without the fields. */
static int read_text(const char *path, struct walk *w)
{
	struct reading r = { 0 };
	char *line = NULL;
	size_t size = 0;
	int ret = 0;
	FILE *f;

	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (!w->done && getline(&line, &size, f) > 0)
		read_line(&r, w, &line, &size);
	if (ferror(f))
		ret = -EIO;
	else if (r.vma.end)
		walk_one(w, &r.vma);
	free(r.line);
	free(line);
	fclose(f);
	return ret ? ret : walk_end(w);
}

static int query_one(int fd, struct walk *w)
{
	char name[PATH_MAX] = "";
	struct procmap_query q = {
		.size = sizeof(q),
		.query_flags = QUERY_COVERING_OR_NEXT,
		.query_addr = w->next,
		.vma_name_addr = (uintptr_t)name,
		.vma_name_size = sizeof(name),
	};
	struct hmr_vma vma;

	while (ioctl(fd, HMR_PROCMAP_QUERY, &q)) {
		if (errno == ENOENT) {
			w->done = w->hole = true;
			return 0;
		}
		if (errno != ENAMETOOLONG || !q.vma_name_size)
			return -errno;
		q.vma_name_size = 0;
		q.vma_name_addr = 0;
	}
	vma = (struct hmr_vma){
		.start = q.vma_start,
		.end = q.vma_end,
		.readable = q.vma_flags & QUERY_READABLE,
		.writable = q.vma_flags & QUERY_WRITABLE,
		.shared = q.vma_flags & QUERY_SHARED,
		.offset = q.vma_offset,
		.dev_major = q.dev_major,
		.dev_minor = q.dev_minor,
		.inode = q.inode,
		.name = name,
		.kernel_page_size = q.vma_page_size,
	};
	walk_one(w, &vma);
	return 0;
}

/* -ENOTTY where the kernel doesn't know the query. */
static int query(struct walk *w)
{
	int fd, ret = 0;

	if (hmr_vma_no_query)
		return -ENOTTY;
	fd = open(hmr_maps_path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (!ret && !w->done)
		ret = query_one(fd, w);
	close(fd);
	return ret ? ret : walk_end(w);
}

int hmr_vma_walk(const void *addr, size_t length, hmr_vma_fn fn, void *arg)
{
	struct walk w = walk_begin(addr, length, fn, arg);

	return read_text(hmr_smaps_path, &w);
}

static void note_file(const struct hmr_vma *vma, void *arg)
{
	bool *file = arg;

	*file |= vma->inode;
}

int hmr_vma_look(const void *addr, size_t length, hmr_vma_fn fn, void *arg)
{
	struct walk w = walk_begin(addr, length, fn, arg);
	bool file = false;
	int ret;

	ret = query(&w);
	if (ret != -ENOTTY)
		return ret;
	w = walk_begin(addr, length, note_file, &file);
	ret = read_text(hmr_maps_path, &w);
	if (ret && ret != -ENOMEM)
		return ret;
	w = walk_begin(addr, length, fn, arg);
	return read_text(file ? hmr_smaps_path : hmr_maps_path, &w);
}

static void note_page_size(const struct hmr_vma *vma, void *arg)
{
	size_t *largest = arg;

	if (vma->kernel_page_size > *largest)
		*largest = vma->kernel_page_size;
}

int hmr_vma_page_size(const void *addr, size_t length, size_t *largest)
{
	size_t size = 0;
	int ret;

	ret = hmr_vma_look(addr, length, note_page_size, &size);
	if (!ret)
		*largest = size;
	return ret;
}
