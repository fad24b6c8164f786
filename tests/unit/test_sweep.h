/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What fails, what that must not touch, and what the calls are made with. */
#ifndef TEST_SWEEP_H
#define TEST_SWEEP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "fake_verbs.h"

#define MIB (1ul << 20)
#define PAGE 4096ul
#define LW IBV_ACCESS_LOCAL_WRITE

/* ---- what fails: test_sweep_faults.c ---- */

enum kind {
	ALLOCATION,
	SYSTEM_CALL,
	VERB,
	KINDS
};

/* The nth of a kind fails, of those between arm() and disarm(). */
void fail_nth(enum kind kind, unsigned int n);
bool has_failed(void);
void arm(void);
void disarm(void);

/* refuse the nth registration in any case; 0 for none */
extern atomic_uint refuse_at;
/* Undoing a refused registration can't fail too: there is no way out then. */
extern bool dereg_works;
/* Until the end of the test, a reregistration that fails loses the MR. */
void rereg_loses_mrs(void);

/* cmocka set-up: the verbs fail as well. */
int sweep_setup(void **state);

/* ---- the sweep: test_sweep.c ---- */

/* @run makes what it takes, arms, calls, disarms and undoes; it returns what
 * the call returned. */
void sweep(const char *name, int (*run)(void));

/* What must stay as it is when a call fails. */
#define UNTOUCHED ((void *)0x1234)

#define check_untouched(out) assert_ptr_equal(out, UNTOUCHED)

extern struct ibv_pd *pds[2];
struct hmr_domain *open_domain(void);

/* Memory that isn't there yet, of many MRs. */
#define LENGTH (4 * MIB)
char *map_memory(void);

/* ---- tests ---- */

/* test_sweep_regions.c */
void domains(void **state);
void regions(void **state);

/* test_sweep_memory.c */
void buffers(void **state);
void memory(void **state);

#endif /* TEST_SWEEP_H */
