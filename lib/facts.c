// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What can be found out about a registration that failed. */
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "facts.h"
#include "readfile.h"
#include "verbs_ops.h"
#include "vma.h"

/* What ib_umem_get() pins for writing. */
#define WRITES                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND)

#define MEMORY_WINDOWS                                           \
	(IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2A | \
	 IBV_DEVICE_MEM_WINDOW_TYPE_2B)

static bool writes(const struct hmr_facts *f)
{
	return f->err->access & WRITES;
}

static uint64_t whole_pages(uintptr_t start, size_t length)
{
	size_t base = hmr_base_page();

	return hmr_align_up(start + length, base) - hmr_align_down(start, base);
}

uint64_t hmr_facts_mr_bytes(const struct hmr_facts *f)
{
	return whole_pages(f->addr, f->length);
}

uint64_t hmr_facts_call_bytes(const struct hmr_facts *f)
{
	return whole_pages((uintptr_t)f->err->addr, f->err->length);
}

/* How much of the MR lies in a mapping. */
static size_t overlap(const struct hmr_facts *f, const struct hmr_vma *vma)
{
	uintptr_t from = vma->start > f->addr ? vma->start : f->addr;
	uintptr_t last = f->addr + f->length - 1;

	/* Not "end", which is 0 where the addresses end. */
	if (vma->end - 1 < last)
		last = vma->end - 1;
	return last - from + 1;
}

/* ---- files ---- */

struct mount {
	const struct hmr_vma *vma;
	bool deleted;
	size_t matched;
	char type[32];
	bool dax;
};

/* Does the file lie below a mount point, by its path? Overlays and subvolumes
 * of btrfs have device numbers that mountinfo doesn't. */
static size_t match_path(const struct mount *m, const char *dir)
{
	size_t n = strcmp(dir, "/") ? strlen(dir) : 0;

	if (m->deleted || strncmp(m->vma->name, dir, n) ||
	    m->vma->name[n] != '/')
		return 0;
	return n + 1;
}

static void match_mount(char *line, void *arg)
{
	struct mount *best = arg;
	const char *dash = strstr(line, " - ");
	char dir[1024], type[32], options[512] = "";
	unsigned int major, minor;
	size_t matched;

	if (!dash ||
	    sscanf(line, "%*s %*s %u:%u %*s %1023s", &major, &minor, dir) !=
		    3 ||
	    sscanf(dash, " - %31s %*s %511s", type, options) < 1)
		return;
	hmr_unescape(dir);
	matched = major == best->vma->dev_major &&
				  minor == best->vma->dev_minor ?
			  SIZE_MAX :
			  match_path(best, dir);
	if (!matched || matched < best->matched)
		return;
	best->matched = matched;
	snprintf(best->type, sizeof(best->type), "%s", type);
	best->dax = strstr(options, ",dax") && !strstr(options, ",dax=never") &&
		    !strstr(options, ",dax=inode");
}

/* Those that the kernel's mapping_can_writeback() is false for. */
static bool keeps_in_memory(const char *type)
{
	return !strcmp(type, "tmpfs") || !strcmp(type, "hugetlbfs") ||
	       !strcmp(type, "ramfs") || !strcmp(type, "devtmpfs");
}

static void look_at_fs(struct hmr_facts *f, const struct hmr_vma *vma,
		       bool deleted)
{
	struct hmr_reader r = { .root = hmr_root };
	struct mount mount = { .vma = vma, .deleted = deleted };

	hmr_reader_path(&r, "/proc/self/mountinfo");
	hmr_read_lines(&r, match_mount, &mount);
	if (!mount.matched)
		return;
	f->dax_file = mount.dax;
	f->writeback_file = vma->writable && vma->shared && writes(f) &&
			    !keeps_in_memory(mount.type);
	snprintf(f->fs, sizeof(f->fs), "%s", mount.type);
}

/* Device DAX has pages, and so has /dev/zero. */
static bool is_device_file(const struct hmr_vma *vma)
{
	struct stat st;

	return !strncmp(vma->name, "/dev/", 5) &&
	       strncmp(vma->name, "/dev/dax", 8) &&
	       strcmp(vma->name, "/dev/zero") && !stat(vma->name, &st) &&
	       S_ISCHR(st.st_mode);
}

/* The file of a mapping, also one without a name; some privilege is needed for
 * the one way, and the other must have found the same file. */
static bool stat_file(const struct hmr_vma *vma, struct stat *st)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", vma->start,
		 vma->end);
	if (!stat(path, st))
		return true;
	return !stat(vma->name, st) && st->st_ino == vma->inode;
}

/* Pages wholly behind the end of a file can't be had. */
static void look_at_size(struct hmr_facts *f, const struct hmr_vma *vma)
{
	size_t page = vma->kernel_page_size;
	uint64_t need = vma->offset + overlap(f, vma);
	struct stat st;

	if (f->addr > vma->start)
		need += f->addr - vma->start;
	if (f->file_need || vma->name[0] != '/' || !stat_file(vma, &st) ||
	    !S_ISREG(st.st_mode) ||
	    (need - 1) / page * page < (uint64_t)st.st_size)
		return;
	f->file_need = need;
	f->file_size = (uint64_t)st.st_size;
	snprintf(f->file, sizeof(f->file), "%.127s", vma->name);
}

/* The first file that explains something is the one to be named. */
static void look_at_file(struct hmr_facts *f, const struct hmr_vma *vma)
{
	size_t n = strlen(vma->name);
	bool deleted = n > 10 && !strcmp(vma->name + n - 10, " (deleted)");

	if (vma->name[0] != '/' || f->device_file || f->dax_file ||
	    f->writeback_file || f->file_need)
		return;
	f->device_file = is_device_file(vma);
	if (!f->device_file)
		look_at_fs(f, vma, deleted);
	snprintf(f->file, sizeof(f->file), "%.127s", vma->name);
}

/* ---- mappings ---- */

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void look_at_hugetlb(struct hmr_facts *f, const struct hmr_vma *vma)
{
	size_t page = vma->kernel_page_size, base = hmr_base_page();
	uintptr_t start = hmr_align_down(f->addr, base);
	uintptr_t end = hmr_align_up(f->addr + f->length, base);

	if (!f->hugetlb_page)
		f->hugetlb_page = page;
	f->hugetlb_absent += less(overlap(f, vma), vma->hugetlb);
	/* libibverbs rounds to base pages, and madvise() can't split a page,
	 * which it needn't if there is nothing to change. */
	if (!vma->dontfork && ((start > vma->start && start % page) ||
			       (end < vma->end && end % page)))
		f->odd_hugetlb = true;
}

static void look_at_vma(const struct hmr_vma *vma, void *arg)
{
	struct hmr_facts *f = arg;

	f->unreadable |= !vma->readable;
	f->unwritable |= !vma->writable && writes(f);
	f->io |= vma->io;
	f->forced |= vma->shared && !vma->writable && f->before_6_2;
	look_at_size(f, vma);
	if (vma->kernel_page_size > hmr_base_page()) {
		look_at_hugetlb(f, vma);
		return;
	}
	f->all_hugetlb = false;
	f->absent += less(overlap(f, vma), vma->rss);
	look_at_file(f, vma);
}

/* ---- the rest ---- */

static uint64_t bound_nodes(uintptr_t addr)
{
	unsigned long nodes[1024 / (8 * sizeof(long))] = { 0 };
	int mode;

	if (syscall(SYS_get_mempolicy, &mode, nodes, 1024, addr, MPOL_F_ADDR) ||
	    (mode & ~MPOL_MODE_FLAGS) != MPOL_BIND)
		return 0;
	return nodes[0];
}

void hmr_facts_range(struct hmr_facts *f)
{
	const void *addr = (const void *)f->addr;

	if (f->range_known || f->call->dmabuf || !hmr_range_ok(addr, f->length))
		return;
	f->range_known = true;
	f->all_hugetlb = true;
	f->hole = hmr_vma_walk(addr, f->length, look_at_vma, f) == -ENOMEM;
	f->bound = bound_nodes(f->addr);
}

static void note_inherited(const struct hmr_vma *vma, void *arg)
{
	*(bool *)arg |= !vma->dontfork;
}

bool hmr_is_inherited(const void *addr, size_t length)
{
	bool inherited = false;

	hmr_vma_walk(addr, length, note_inherited, &inherited);
	return inherited;
}

/*
 * Shared, so that it is a mapping of its own, which needs no splitting. Below
 * the MR, as libibverbs loses count of the addresses from one on that it failed
 * to mark, and marks nothing there any more.
 */
static bool marks_a_page(const struct hmr_facts *f)
{
	size_t base = hmr_base_page();
	void *hint = (void *)hmr_align_down(f->addr / 2, base), *page;
	bool marked = false;
	struct ibv_mr *mr;

	page = mmap(hint, base, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return false;
	mr = hmr_verbs->reg_mr(f->call->pd, page, base, IBV_ACCESS_LOCAL_WRITE);
	if (mr) {
		marked = !hmr_is_inherited(page, base);
		hmr_verbs->dereg_mr(mr);
	}
	munmap(page, base);
	return marked;
}

bool hmr_facts_dontfork(const struct hmr_facts *f)
{
	enum ibv_fork_status status = hmr_verbs->is_fork_initialized();

	if (status == IBV_FORK_DISABLED || f->call->dmabuf ||
	    !hmr_is_inherited((const void *)f->addr, f->length))
		return false;
	return status == IBV_FORK_ENABLED || (f->call->pd && marks_a_page(f));
}

int hmr_access_lacking(int access, const struct ibv_device_attr *attr,
		       struct ibv_context *context)
{
	struct ibv_device_attr_ex ex = { 0 };
	int lacking = 0;

	if (attr->atomic_cap == IBV_ATOMIC_NONE)
		lacking |= IBV_ACCESS_REMOTE_ATOMIC;
	if (!(attr->device_cap_flags & MEMORY_WINDOWS))
		lacking |= IBV_ACCESS_MW_BIND;
	if (access & IBV_ACCESS_ON_DEMAND &&
	    !hmr_verbs->query_device_ex(context, &ex) &&
	    !(ex.odp_caps.general_caps & IBV_ODP_SUPPORT))
		lacking |= IBV_ACCESS_ON_DEMAND;
	return access & lacking;
}

static void look_at_device(struct hmr_facts *f, struct ibv_context *context)
{
	struct ibv_device_attr attr = { 0 };

	if (!hmr_verbs->query_device(context, &attr)) {
		f->rxe = attr.vendor_id == HMR_VENDOR_RXE;
		f->max_mr_size = attr.max_mr_size;
		f->max_mr = attr.max_mr > 0 ? (uint64_t)attr.max_mr : 0;
		f->lacking = hmr_access_lacking(f->err->access, &attr, context);
	}
}

/* A fact to explain by, not to act on. */
static bool is_before(unsigned int major, unsigned int minor)
{
	struct hmr_reader r = { .root = hmr_root };
	const char *line;
	unsigned int a, b;

	hmr_reader_path(&r, "/proc/sys/kernel/osrelease");
	line = hmr_read_line(&r);
	return line && sscanf(line, "%u.%u", &a, &b) == 2 &&
	       (a < major || (a == major && b < minor));
}

void hmr_facts_gather(struct hmr_facts *f, const struct hmr_error *err,
		      struct ibv_context *context,
		      const struct hmr_reg_facts *call)
{
	memset(f, 0, sizeof(*f));
	f->err = err;
	f->call = call;
	f->addr = (uintptr_t)(call->length ? call->addr : err->addr);
	f->length = call->length ? call->length : err->length;
	f->before_6_2 = is_before(6, 2);
	look_at_device(f, context);
	hmr_process_read(hmr_root, &f->proc);
	hmr_host_read(hmr_root, &f->host);
}
