/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Verbs that only answer questions, for what asks devices about themselves: two
 * of them, with fake_pds of fake_verbs.h, whose attributes a test sets. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "fake_verbs.h"

struct fake_device {
	struct ibv_device_attr attr;
	struct ibv_device_attr_ex ex;
	/* 0, or a positive errno value that both queries fail with */
	int err;
};

extern struct fake_device fake_devices[2];
extern enum ibv_fork_status fake_fork_status;

/* Called for each registration, which is then granted; NULL refuses all. */
extern void (*fake_device_on_reg)(void *addr, size_t length);

/* The fakes take the place of libibverbs, and can do everything. */
void fake_device_setup(void);

#endif /* FAKE_DEVICE_H */
