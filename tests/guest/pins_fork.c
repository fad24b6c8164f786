// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Forks: the device's pages stay the parent's, and the child has what was there
 * when it was born. */
#include "pins.h"

/*
 * Does fork() copy pinned pages? Of hugetlb pages it does since the kernel says
 * so, which is Linux 5.13; of others for longer.
 */
static bool copies(const struct pins_kind *kind)
{
	if (!(kind->flags & (PINS_HUGETLB | PINS_SOME_HUGETLB)) ||
	    ibv_is_fork_initialized() == IBV_FORK_UNNEEDED)
		return true;
	print_message("  pinned hugetlb pages are not copied at a fork here\n");
	return false;
}

static char *filled(const struct pins_kind *kind, char **want)
{
	char *p = pins_map(kind);

	pins_fill(p, LENGTH, 1);
	*want = pins_copy(p, LENGTH);
	return p;
}

static void done(struct ibv_mr *mr, char *p, char *want)
{
	pins_deregister(mr);
	munmap(p, LENGTH);
	free(want);
}

/*
 * The parent writes while there is a child, which must not take its pages away;
 * then the child, when nobody must see it.
 */
static void while_registered(void **state)
{
	const struct pins_kind *kind = *state;
	struct pins_child child;
	struct ibv_mr *mr;
	char *p, *want;

	if (!copies(kind))
		skip();
	p = filled(kind, &want);
	mr = pins_register(p, LENGTH, ALL);
	child = pins_fork(p, want, LENGTH);
	pins_check(mr, p, (uintptr_t)p, LENGTH);
	memcpy(want, p, LENGTH);
	pins_let_go(child);
	assert_memory_equal(p, want, LENGTH);
	pins_expect_remote(mr, p, want, LENGTH);
	pins_check_borders(mr, p, LENGTH);
	done(mr, p, want);
}

/* Pages for reading are the parent's no less. */
static void while_registered_for_reading(void **state)
{
	const struct pins_kind *kind = *state;
	struct pins_child child;
	struct ibv_mr *mr;
	char *p, *want;

	if (!copies(kind))
		skip();
	p = filled(kind, &want);
	mr = pins_register(p + 1, LENGTH - 2, RR);
	child = pins_fork(p, want, LENGTH);
	pins_fill(p, LENGTH, 2);
	pins_expect_remote(mr, p + 1, p + 1, LENGTH - 2);
	pins_let_go(child);
	pins_expect_remote(mr, p + 1, p + 1, LENGTH - 2);
	done(mr, p, want);
}

/*
 * What is shared with a child already when it is registered: the parent gets a
 * page of its own, also if it is only going to be read.
 */
static void registered_after(const struct pins_kind *kind, int access)
{
	struct pins_child child;
	struct ibv_mr *mr;
	char *p, *want;

	p = filled(kind, &want);
	child = pins_fork(p, want, LENGTH);
	/* Some are the parent's again. */
	pins_fill(p + HUGE + 8 * PAGE, PAGE, 1);
	memcpy(p + HUGE + 8 * PAGE, want + HUGE + 8 * PAGE, PAGE);
	mr = pins_register(p, LENGTH, access);
	pins_expect_remote(mr, p, want, LENGTH);
	pins_fill(p, LENGTH, 2);
	pins_expect_remote(mr, p, p, LENGTH);
	if (access & IBV_ACCESS_REMOTE_WRITE)
		pins_check(mr, p, (uintptr_t)p, LENGTH);
	pins_let_go(child);
	pins_expect_remote(mr, p, p, LENGTH);
	done(mr, p, want);
}

static void registered_with_a_child(void **state)
{
	registered_after(*state, ALL);
}

static void registered_for_reading_with_a_child(void **state)
{
	registered_after(*state, RR);
}

/* The child's registration is of its own pages, and what it leaves behind is
 * let go when it ends. */
static void child_registers(void **state)
{
	const struct pins_kind *kind = *state;
	char *p, *want;
	int how;
	pid_t pid;

	p = filled(kind, &want);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		pins_reopen_device();
		if (!pins_try(p, LENGTH, ALL) || memcmp(p, want, LENGTH))
			_exit(1);
		pins_fill(p, LENGTH, 2);
		_exit(!pins_try(p + 1, LENGTH - 2, RR));
	}
	how = pins_wait(pid);
	assert_int_equal(how, 0);
	if (kind->flags & PINS_PRIVATE)
		assert_memory_equal(p, want, LENGTH);
	pins_accepted(p, LENGTH);
	munmap(p, LENGTH);
	free(want);
}

/* Shared memory is the same on all sides. */
static void shared(void **state)
{
	const struct pins_kind *kind = *state;
	struct pins_child child;
	struct ibv_mr *mr;
	char *p, *want;

	p = filled(kind, &want);
	mr = pins_register(p, LENGTH, ALL);
	child = pins_fork(p, want, LENGTH);
	pins_let_go(child);
	pins_fill(want, LENGTH, PINS_CHILD_SEED);
	assert_memory_equal(p, want, LENGTH);
	pins_expect_remote(mr, p, want, LENGTH);
	done(mr, p, want);
}

const struct pins_test pins_fork_tests[] = {
	{ "fork while registered", while_registered, true, PINS_PRIVATE, 0 },
	{ "fork while registered for reading", while_registered_for_reading,
	  true, PINS_PRIVATE, 0 },
	{ "registered with a child", registered_with_a_child, true,
	  PINS_PRIVATE, 0 },
	{ "registered for reading with a child",
	  registered_for_reading_with_a_child, true, PINS_PRIVATE, 0 },
	{ "child registers", child_registers, true, 0, PINS_MIXED },
	{ "child of shared memory", shared, true, 0,
	  PINS_PRIVATE | PINS_MIXED },
	{ NULL, NULL, false, 0, 0 },
};
