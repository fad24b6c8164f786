/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of domains and regions share. */
#ifndef TEST_REGION_H
#define TEST_REGION_H

#include "fake_verbs.h"
#include "tables.h"

#define LW IBV_ACCESS_LOCAL_WRITE
#define LENGTH 12345
#define PAGE 4096ul
#define MIB (1ul << 20)

/* LENGTH bytes and more; and a byte before it, so that a range may begin
 * there. */
extern char *const memory;
extern struct ibv_pd *pds[2];

/* Scripts are followed in order only on one thread. */
extern struct hmr_register_opts one_thread;

struct hmr_domain *open_domain(unsigned int n);

/* The LENGTH bytes of memory */
struct hmr_region *do_register(struct hmr_domain *dom);

/* Address space that nobody touches, aligned to 2 MiB. */
char *reserve(size_t length);

extern const struct CMUnitTest region_split_tests[];
extern const struct CMUnitTest region_access_tests[];
extern const struct CMUnitTest region_process_tests[];

#endif /* TEST_REGION_H */
