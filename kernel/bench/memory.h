/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory of one kind of page, proven to be of that kind. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum memory_kind {
	MEMORY_4K,
	/* 2 MiB, mapped by one PMD */
	MEMORY_THP,
	/* 2 MiB, mapped by 512 PTEs */
	MEMORY_PTE,
	/* smaller than 2 MiB, so mapped by PTEs */
	MEMORY_MTHP,
	/* hugetlb of 2 MiB */
	MEMORY_2M,
};

struct memory {
	enum memory_kind kind;
	/* of a page of MEMORY_MTHP */
	size_t mthp;
	/* of a memfd, not anonymous and private */
	bool shared;
	/* no two pages of that kind side by side in physical memory */
	bool scatter;

	/* what memory_get() sets: both on 2 MiB */
	char *addr;
	size_t size;
	/* pieces that are contiguous in physical memory */
	unsigned long runs;
	/* the address space around it */
	void *room;
};

/* Make and populate @size bytes of @m's kind, with settings of the system as they
 * have to be for that; memory_put() restores them. */
void memory_get(struct memory *m, size_t size);
/* Check once more that they are of that kind, and count the runs. */
void memory_check(struct memory *m);
void memory_put(struct memory *m);

/* Set the kind by name: "4k", "thp", "pte", "2M", or "64k" and the like for
 * MEMORY_MTHP; exit with EXIT_USAGE for others. */
void memory_parse(struct memory *m, const char *name);
const char *memory_name(const struct memory *m);

/* Bytes that this process has pinned or locked: VmPin and VmLck. */
size_t memory_pinned(void);
/* Pages pinned and unpinned by anyone since boot; false on a kernel that does
 * not count them. */
bool memory_pins(uint64_t *acquired, uint64_t *released);

#endif /* MEMORY_H */
