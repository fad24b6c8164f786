/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Verbs that follow a script. A test lists the calls that it expects, in order,
 * and what each of them answers; any other call fails the test.
 */
#ifndef FAKE_VERBS_H
#define FAKE_VERBS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include <infiniband/verbs.h>

#include "hugemr/hugemr.h"

enum fake_call {
	FAKE_END,
	FAKE_REG_MR,
	FAKE_REG_MR_IOVA,
	FAKE_REG_DMABUF_MR,
	FAKE_REREG_MR,
	FAKE_DEREG_MR,
	FAKE_ADVISE_MR,
	FAKE_QUERY_DEVICE,
};

struct fake_step {
	enum fake_call call;
	/* 0, or a positive errno value to fail with */
	int err;
	/* for FAKE_REG_MR*: fail without setting errno */
	int no_errno;
	/* for FAKE_REREG_MR: what to return beside errno */
	int code;
	/* for FAKE_QUERY_DEVICE */
	uint32_t vendor_id;
	/* for FAKE_REG_MR_IOVA and _DMABUF: what is expected */
	uint64_t iova;
	/* for FAKE_REG_DMABUF_MR and FAKE_ADVISE_MR: what is expected */
	uint64_t offset;
	int fd;
	/* for FAKE_REG_MR*: what is expected, if not 0 */
	int access;
	size_t length;
	const struct ibv_pd *pd;
};

/* Two PDs, of the devices "fake0" and "fake1". */
extern struct ibv_pd fake_pds[2];

/* What query_device() answers where the script doesn't have it. */
extern struct ibv_device_attr fake_attrs[2];

/* What is_fork_initialized() answers; IBV_FORK_UNNEEDED from fake_setup(). */
extern enum ibv_fork_status fake_forks;
/* How often it was asked, with only one thread. */
extern unsigned int fake_fork_questions;

/* Without a script: any call, from any thread, and the nth registration (from
 * 1) fails with an errno value; 0 for none. */
void fake_freely(unsigned int fail_nth, int err);

/* Begin a script; it ends with FAKE_END. */
void fake_script(const struct fake_step *steps);
#define FAKE_SCRIPT(...) \
	fake_script((const struct fake_step[]){ __VA_ARGS__, { FAKE_END } })

/* The script must have been followed to its end. */
void fake_done(void);

/* MRs that are registered now. */
int fake_live_mrs(void);

/* cmocka set-up: the fake takes the place of libibverbs. */
int fake_setup(void **state);

#define FAKE_RXE_VENDOR 0xffffff

#endif /* FAKE_VERBS_H */
