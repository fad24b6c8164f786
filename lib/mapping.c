// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * One mapping between two guard pages. The guards catch overruns, and they keep
 * the kernel from merging the mapping with a neighbour, so that what smaps
 * counts for it is its own.
 *
 * An mmap() over a reservation that fails may have removed the reservation
 * already, and then another thread may own the addresses. So the addresses
 * between the guards are given back first and taken without replacing anything;
 * who comes in between wins, and we look for others.
 */
#include <sys/mman.h>

#include "mapping.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* Others that map memory at the same time may win that many times. */
#define TRIES 64

/* Address space for the mapping and its guards; what the alignment left over is
 * given back. */
static int reserve(const struct hmr_mapping_want *w, char **addr)
{
	size_t guard = hmr_base_page(), total;
	char *p, *end;

	if (__builtin_add_overflow(w->length, w->align + 2 * guard, &total))
		return -EOVERFLOW;
	p = mmap(NULL, total, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	*addr = (char *)hmr_align_up((uintptr_t)p + guard - w->skew, w->align) +
		w->skew;
	if (*addr - guard > p)
		munmap(p, (size_t)(*addr - guard - p));
	end = *addr + w->length + guard;
	if (end < p + total)
		munmap(end, (size_t)(p + total - end));
	return 0;
}

/* Unless it succeeds, the guards are gone too. */
static int map_between_guards(const struct hmr_mapping_want *w, char *addr)
{
	size_t guard = hmr_base_page();
	void *p;
	int ret;

	/* To take from the middle is to split in two, which max_map_count may
	 * forbid; to take all is not. */
	if (munmap(addr, w->length)) {
		ret = -errno;
		munmap(addr - guard, w->length + 2 * guard);
		return ret;
	}
	p = mmap(addr, w->length, PROT_READ | PROT_WRITE,
		 w->flags | MAP_FIXED_NOREPLACE, w->fd, (off_t)w->offset);
	if (p != MAP_FAILED)
		return 0;
	ret = -errno;
	munmap(addr - guard, guard);
	munmap(addr + w->length, guard);
	return ret;
}

int hmr_mapping_make(const struct hmr_mapping_want *want, struct hmr_mapping *m)
{
	int tries, ret = -EEXIST;
	char *addr = NULL;

	for (tries = 0; tries < TRIES && ret == -EEXIST; tries++) {
		ret = reserve(want, &addr);
		if (ret)
			return ret;
		ret = map_between_guards(want, addr);
	}
	if (!ret)
		*m = (struct hmr_mapping){ addr, want->length };
	return ret;
}

void hmr_mapping_free(struct hmr_mapping *m)
{
	size_t guard = hmr_base_page();

	munmap(m->addr - guard, m->length + 2 * guard);
}
