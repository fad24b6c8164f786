/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The devices that refuse, and what is checked of each refusal. */
#ifndef REFUSALS_H
#define REFUSALS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include <infiniband/verbs.h>

#include <hugemr/hugemr.h>

#include "tables.h"

#define KIB (1ul << 10)
#define MIB (1ul << 20)
#define PAGE 4096ul
#define LW IBV_ACCESS_LOCAL_WRITE
#define RR IBV_ACCESS_REMOTE_READ

extern struct ibv_context *contexts[2];
extern struct ibv_pd *pds[2];
/* on rxe0, and on both devices */
extern struct hmr_domain *dom, *both;

int open_devices(void **state);
int close_devices(void **state);

uint64_t pinned(void);

/* Nothing of this process, or of one before it, may be left. */
void assert_nothing_is_left(void);

/* The answer of this kernel: 0, or what the library made of it; on "dom" for
 * try_reg(). */
int try_on(struct hmr_domain *d, void *addr, size_t length, int access);
int try_reg(void *addr, size_t length, int access);

void check_error(int ret, int err, enum hmr_cause cause, const char *part,
		 const char *file, int line);

#define assert_error(ret, err, cause, part) \
	check_error(ret, err, HMR_CAUSE_##cause, part, __FILE__, __LINE__)

#define assert_fine(ret) \
	check_error(ret, 0, HMR_CAUSE_UNKNOWN, "", __FILE__, __LINE__)

char *map(size_t length, int prot, int flags, int fd);
char *map_anon(size_t length, int prot);

/* Also a test */
void nothing_is_left(void **state);

extern const struct CMUnitTest refusals_mapping_tests[];
extern const struct CMUnitTest refusals_file_tests[];

/* The part without privileges: run it as this program's only task, or in
 * another process of the same program. */
int unprivileged(void);
void without_privileges(void **state);

#endif /* REFUSALS_H */
