/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef VERIFY_H
#define VERIFY_H

#include <stddef.h>

struct hmr_region;
struct loopback;

/**
 * verify_region() - prove that the device reaches the very bytes of a region
 * @lb: loopback on the PD of the region
 * @region: registered for remote reading and writing
 * @addr: its first byte
 * @length: bytes
 * @transfers: how many transfers were compared
 *
 * At the start, at the end, and across 2 MiB boundaries of the address space
 * (each of them up to 512, else 512 spread evenly), with unaligned offsets: an
 * RDMA write must change its target and nothing beside it, and an RDMA read
 * must return what the CPU wrote. Overwrites the memory.
 *
 * Return: 0, or -errno with a line on stderr.
 */
int verify_region(struct loopback *lb, const struct hmr_region *region,
		  char *addr, size_t length, unsigned long *transfers);

/* The largest transfer that verify_region() makes. */
#define VERIFY_MAX_TRANSFER 3001

#endif /* VERIFY_H */
