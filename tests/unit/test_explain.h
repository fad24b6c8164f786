/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The facts that the tests of explain.c make up, and what is said of them. */
#ifndef TEST_EXPLAIN_H
#define TEST_EXPLAIN_H

#include "explain.h"
#include "fake_device.h"
#include "tables.h"
#include "tree.h"

#define LW IBV_ACCESS_LOCAL_WRITE
#define RR IBV_ACCESS_REMOTE_READ
#define MIB (1ul << 20)
#define GIB (1ul << 30)

/* ---- the process and its mappings ---- */

/* smaps, instead of the real ones */
void set_smaps(const char *text);

#define ADDR 0x7f0000000000ul

/* One mapping at @addr, of @mib MiB of hugetlb pages of 2 MiB. */
void set_hugetlb(uintptr_t addr, unsigned int mib, unsigned int present);

/* One mapping at ADDR, of a page of a file */
void set_file(const char *perms, const char *dev, const char *name);

/* A real one */
void *map(size_t length, int prot);

/* ---- what it says ---- */

extern struct hmr_error said;

enum hmr_cause explain_call(int err, const void *addr, size_t length,
			    int access, const struct hmr_reg_facts *call);
enum hmr_cause explain(int err, const void *addr, size_t length, int access);

#define assert_says(part)                                                   \
	do {                                                                \
		if (!strstr(said.text, part))                               \
			fail_msg("'%s' doesn't say '%s'", said.text, part); \
	} while (0)

/* ---- tests ---- */

int explain_setup(void **state);

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, explain_setup, tree_teardown)

extern const struct CMUnitTest explain_process_tests[];
extern const struct CMUnitTest explain_mapping_tests[];
extern const struct CMUnitTest explain_page_tests[];
extern const struct CMUnitTest explain_device_tests[];

#endif /* TEST_EXPLAIN_H */
