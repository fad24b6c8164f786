/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The kernel's RDMA netlink (NETLINK_RDMA, client nldev): soft-RoCE links,
 * devices, ports and the memory regions that are registered on a device.
 *
 * Calls return 0 or -errno, the kernel's own where it answered. Each opens its
 * own socket, so they may be used from any thread and from a callback. A
 * callback that returns nonzero ends the listing, and the caller gets that
 * value. Strings in what a callback receives are gone when it returns.
 */
#ifndef HMR_NLDEV_H
#define HMR_NLDEV_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct nldev_dev {
	uint32_t index; /* what the other calls want */
	const char *name;
	uint32_t ports;
	uint8_t node_type; /* enum ibv_node_type */
	bool rxe; /* known only when ib_uverbs is loaded */
};

struct nldev_port {
	uint8_t state; /* enum ibv_port_state */
	char netdev[IFNAMSIZ]; /* empty when it has none */
};

struct nldev_mr {
	uint32_t mrn; /* the kernel's number for it, not a key */
	bool has_keys; /* keys are shown to CAP_NET_ADMIN only */
	uint32_t lkey;
	uint32_t rkey;
	bool has_iova; /* few kernels tell */
	uint64_t iova;
	uint64_t length;
	uint32_t pid; /* 0: registered by the kernel */
	const char *kern_name; /* the module that did; NULL: a process */
};

typedef int nldev_dev_fn(const struct nldev_dev *dev, void *arg);
typedef int nldev_mr_fn(const struct nldev_mr *mr, void *arg);

int nldev_rxe_add(const char *name, const char *netdev);
int nldev_rxe_del(const char *name);

int nldev_dev_list(nldev_dev_fn *fn, void *arg);
int nldev_dev_index(const char *name, uint32_t *index);
int nldev_port_get(uint32_t index, uint32_t port, struct nldev_port *out);
int nldev_mr_list(uint32_t index, nldev_mr_fn *fn, void *arg);

#endif
