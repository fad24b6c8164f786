/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the tests of buffers and their backing share. */
#ifndef MEMORY_H
#define MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include <hugemr/hugemr.h>

#include "tables.h"

#define KIB (1ul << 10)
#define MIB (1ul << 20)
#define PAGE 4096ul

#define THP "/sys/kernel/mm/transparent_hugepage/"

/* What the library finds here. */
extern uint64_t features;

bool can_collapse(void);

#define assert_says(part)                                               \
	do {                                                            \
		const char *says_ = hmr_last_error()->text;             \
		if (!strstr(says_, part))                               \
			fail_msg("'%s' doesn't say '%s'", says_, part); \
	} while (0)

/* Write to a file that exists: 0 or -errno. */
int put(const char *path, const char *text);
/* The same, or fail. */
void write_file(const char *path, const char *text);

/* A number of a node's pool of pages of 2 MiB */
unsigned long node_pages(int node, const char *name);
void set_node_pages(int node, const char *n);

/* Run a function in a child that can't take us along; it returns whether all
 * was well, and says what wasn't. */
void in_child(bool (*fn)(void));

bool check_at(bool ok, const char *what, const char *file, int line);

#define check(what) check_at(what, #what, __FILE__, __LINE__)

/* Without privileges, and so without page numbers. */
bool drop_privileges(void);

struct hmr_buffer *alloc(size_t length, struct hmr_buffer_opts opts);
int alloc_error(size_t length, struct hmr_buffer_opts opts);

#define ALLOC(length, ...) \
	alloc(length, (struct hmr_buffer_opts){ __VA_ARGS__ })
#define ALLOC_ERROR(length, ...) \
	alloc_error(length, (struct hmr_buffer_opts){ __VA_ARGS__ })

struct hmr_backing backing(const void *addr, size_t length);
struct hmr_backing buffer_backing(const struct hmr_buffer *buf);

/* All of a buffer in the pages of a policy. */
void assert_pages(const struct hmr_buffer *buf, enum hmr_pages pages);

/* Nothing may be left of a test. */
int before_each(void **state);
int after_each(void **state);

#define each(test) \
	cmocka_unit_test_setup_teardown(test, before_each, after_each)

extern const struct CMUnitTest memory_shared_tests[];
extern const struct CMUnitTest memory_node_tests[];
extern const struct CMUnitTest memory_cgroup_tests[];
extern const struct CMUnitTest memory_thp_tests[];
extern const struct CMUnitTest memory_backing_tests[];

#endif /* MEMORY_H */
