/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_VMA_H
#define HMR_VMA_H

#include "internal.h"

/* One mapping as /proc/self/smaps tells it; sizes in bytes. */
struct hmr_vma {
	uintptr_t start;
	uintptr_t end;
	bool readable;
	bool writable;
	/* VM_IO or VM_PFNMAP: memory of a device, without struct pages */
	bool io;
	uint64_t kernel_page_size;
	/* present in base pages or THP; hugetlb isn't counted here */
	uint64_t rss;
	/* of rss, mapped by PMDs */
	uint64_t thp;
	/* present in hugetlb pages */
	uint64_t hugetlb;
};

/* Another file than /proc/self/smaps, for tests. */
extern const char *hmr_smaps_path;

/**
 * hmr_vma_walk() - call back for each mapping that overlaps a range
 * @addr: first byte
 * @length: bytes, not 0
 * @fn: called in the order of addresses; may be NULL
 * @arg: for @fn
 *
 * Return: 0 if the mappings cover the whole range, -ENOMEM if there is a hole,
 * another -errno of reading smaps.
 */
int hmr_vma_walk(const void *addr, size_t length,
		 void (*fn)(const struct hmr_vma *vma, void *arg), void *arg);

#endif /* HMR_VMA_H */
