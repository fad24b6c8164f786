/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the tests of pinning share: the memory of each kind, a device that
 * reaches it, and the counts that must be the same after each test as before.
 */
#ifndef PINS_H
#define PINS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include <infiniband/verbs.h>

#define MIB (1ul << 20)
#define PAGE 4096ul
#define HUGE (2 * MIB)
#define LW IBV_ACCESS_LOCAL_WRITE
#define RR IBV_ACCESS_REMOTE_READ
#define ALL (LW | RR | IBV_ACCESS_REMOTE_WRITE)

/* What most tests map of a kind: whole pages of all sizes, and their borders */
#define LENGTH (6 * MIB)

/* ---- memory: pins_memory.c, pins_layout.c ---- */

enum {
	/* A child gets a copy, and what is dropped is gone. */
	PINS_PRIVATE = 1 << 0,
	/* One mapping, to be moved */
	PINS_ONE_VMA = 1 << 1,
	/* Mapped by 2 MiB or not at all */
	PINS_HUGETLB = 1 << 2,
	/* Of hugetlb pages in part, too */
	PINS_SOME_HUGETLB = 1 << 3,
	/* Both private and shared */
	PINS_MIXED = 1 << 4,
};

struct pins_kind {
	const char *name;
	unsigned int flags;
	/* Map and populate; NULL if the kernel hasn't got it. */
	char *(*map)(size_t length);
};

extern const struct pins_kind pins_kinds[];
extern const size_t pins_n_kinds;

/* The unit in which a kind can be cut */
static inline size_t pins_unit(const struct pins_kind *kind)
{
	return kind->flags & (PINS_HUGETLB | PINS_SOME_HUGETLB) ? HUGE : PAGE;
}

/* LENGTH bytes of a kind, or skip the test. */
char *pins_map(const struct pins_kind *kind);

/* Addresses that begin with 2 MiB, of which nothing is mapped yet */
char *pins_place(size_t length);
/* There, and -1 for the file of memory without a name */
char *pins_map_at(char *where, size_t length, int prot, int flags, int fd);
int pins_memfd(size_t length, unsigned int flags);

char *pins_map_4k(size_t length);
char *pins_map_thp(size_t length);
char *pins_map_hugetlb(size_t length);
char *pins_map_reversed(size_t length);
char *pins_map_reversed_hugetlb(size_t length);
char *pins_map_moved_thp(size_t length);
char *pins_map_mixed(size_t length);

/* Set up the kinds of pages that the kernel may be asked for. */
void pins_allow_pages(void);

/* ---- device: pins_device.c ---- */

struct pins_device {
	struct ibv_context *context;
	struct ibv_pd *pd;
};

extern struct pins_device pins_device;

int pins_open_device(void **state);
int pins_close_device(void **state);
/* In a child, which can't use its parent's */
void pins_reopen_device(void);

/* Before and after each test */
int pins_setup(void **state);
int pins_teardown(void **state);
/* The test loses hugetlb pages on purpose. */
void pins_expect_lost_hugetlb(void);

/* For what a test can't find out but by what it tests */
bool pins_runs_on(const char *version);
/* Before Linux 6.2 a read-only MR is pinned for writing, by force. */
bool pins_by_force(void);

/* NULL and errno */
struct ibv_mr *pins_try(char *addr, size_t length, int access);
struct ibv_mr *pins_register(char *addr, size_t length, int access);
void pins_deregister(struct ibv_mr *mr);
/* Registering this works, and the device reaches it. */
void pins_accepted(char *addr, size_t length);
/* Registering this is refused, with one of two errors, and nothing is left. */
void pins_refused(char *addr, size_t length, int access, int err, int or_err);

/* Bytes that differ from place to place, and from one seed to the next */
void pins_fill(char *p, size_t length, uint64_t seed);
/* To be freed */
char *pins_copy(const char *p, size_t length);

/* By RDMA, in as many transfers as it takes */
void pins_read(const struct ibv_mr *mr, uint64_t raddr, char *data,
	       size_t length);
void pins_write(const struct ibv_mr *mr, uint64_t raddr, const char *data,
		size_t length);

/* The device reads what is expected there. */
void pins_expect_remote(const struct ibv_mr *mr, const char *raddr,
			const char *want, size_t length);
/* At addr, by another name raddr: what one writes is what the other reads. */
void pins_check(const struct ibv_mr *mr, char *addr, uint64_t raddr,
		size_t length);
/* The same, of a short piece around each of the borders of pages. */
void pins_check_borders(const struct ibv_mr *mr, char *addr, size_t length);

/* ---- processes: pins_device.c ---- */

struct pins_child {
	pid_t pid;
	int go;
};

/* What a child fills its memory with */
#define PINS_CHILD_SEED 4711

/* A child that, once it is let go, checks that its memory is "want", and writes
 * to it. */
struct pins_child pins_fork(char *addr, const char *want, size_t length);
void pins_let_go(struct pins_child child);
int pins_wait(pid_t pid);

/* ---- tests ---- */

struct pins_test {
	const char *name;
	void (*run)(void **state);
	/* For each kind that has all of the first and none of the second, given
	 * as the state; else once. */
	bool each;
	unsigned int with, without;
};

/* Why there is nothing to be tested by some tests, or NULL */
const char *pins_no_gup(void);
const char *pins_no_movable(void);
const char *pins_no_cma(void);

extern const struct pins_test pins_content_tests[];
extern const struct pins_test pins_change_tests[];
extern const struct pins_test pins_fork_tests[];
extern const struct pins_test pins_refuse_tests[];
extern const struct pins_test pins_gup_tests[];
extern const struct pins_test pins_movable_tests[];
extern const struct pins_test pins_cma_tests[];
extern const struct pins_test pins_big_tests[];

#endif /* PINS_H */
