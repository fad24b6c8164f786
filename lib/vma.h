/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_VMA_H
#define HMR_VMA_H

#include "internal.h"

/* One mapping; sizes in bytes. */
struct hmr_vma {
	uintptr_t start;
	uintptr_t end;
	bool readable;
	bool writable;
	bool shared;
	/* of the file as its mapping shows it; 0 for anonymous memory */
	/* of its first byte in the file */
	uint64_t offset;
	unsigned int dev_major;
	unsigned int dev_minor;
	uint64_t inode;
	/* a path, maybe with " (deleted)", or "[heap]" and the like, or "";
	 * valid during the callback */
	const char *name;
	/* of hugetlb; base pages for everything else, THP too */
	uint64_t kernel_page_size;

	/* The rest only by hmr_vma_walk(). */

	/* VM_IO or VM_PFNMAP: memory of a device, without struct pages */
	bool io;
	/* VM_DONTCOPY: a child of fork() doesn't get it */
	bool dontfork;
	/* present in base pages or THP; hugetlb isn't counted here */
	uint64_t rss;
	/* of rss, mapped by PMDs */
	uint64_t thp;
	/* present in hugetlb pages */
	uint64_t hugetlb;
};

typedef void (*hmr_vma_fn)(const struct hmr_vma *vma, void *arg);

/**
 * hmr_vma_walk() - call back for each mapping that overlaps a range
 * @addr: first byte
 * @length: bytes, not 0
 * @fn: called in the order of addresses; may be NULL
 * @arg: for @fn
 *
 * The kernel counts the pages of every mapping of the process for this.
 *
 * Return: 0 if the mappings cover the whole range, -ENOMEM if there is a hole,
 * another -errno of reading smaps.
 */
int hmr_vma_walk(const void *addr, size_t length, hmr_vma_fn fn, void *arg);

/**
 * hmr_vma_look() - hmr_vma_walk() for those whom the attributes will do
 *
 * Costs by the number of mappings and not by that of pages, except that kernels
 * before 6.11 have to count to tell the page size of mappings of files.
 */
int hmr_vma_look(const void *addr, size_t length, hmr_vma_fn fn, void *arg);

/**
 * hmr_vma_page_size() - the largest kernel page size of a range's mappings
 * @largest: filled unless it fails
 *
 * Return: as hmr_vma_look().
 */
int hmr_vma_page_size(const void *addr, size_t length, size_t *largest);

/* For tests: other files than /proc/self/smaps and /proc/self/maps, and to act
 * as on a kernel without PROCMAP_QUERY. */
extern const char *hmr_smaps_path;
extern const char *hmr_maps_path;
extern bool hmr_vma_no_query;

#endif /* HMR_VMA_H */
