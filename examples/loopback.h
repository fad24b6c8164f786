/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two connected RC queue pairs on one port: RDMA to oneself, with a bounce
 * buffer of its own at the near end. */
#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_pd;
struct loopback;

/**
 * loopback_open() - set up the queue pairs
 * @pd: PD of the memory that will be reached; it stays the caller's
 * @port: port number
 * @gid_index: -1 for the first RoCE v2 address with an IPv4 address
 * @max: the largest transfer, in bytes
 * @lb: the result, for loopback_close()
 *
 * Return: 0 or -errno; what failed is printed to stderr.
 */
int loopback_open(struct ibv_pd *pd, uint8_t port, int gid_index, size_t max,
		  struct loopback **lb);
void loopback_close(struct loopback *lb);

/* RDMA write of @data to, or RDMA read into @data from, remote memory.
 * 0 or -errno; -EIO with a line on stderr if the transfer completed in error. */
int loopback_write(struct loopback *lb, const void *data, size_t length,
		   uint64_t raddr, uint32_t rkey);
int loopback_read(struct loopback *lb, void *data, size_t length,
		  uint64_t raddr, uint32_t rkey);

#endif /* LOOPBACK_H */
