// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Memory that mustn't be pinned, on its own and amid other memory. */
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#include "pins.h"

/* ---- files that want to know of writes ---- */

static int ext4_file(void)
{
	int fd;

	if (access("/ext4/lost+found", F_OK)) {
		print_message("  no ext4 at /ext4: see pins.sh\n");
		skip();
	}
	fd = open("/ext4", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, LENGTH), 0);
	return fd;
}

/* Since Linux 6.5; before, it was the file system's bad luck. */
static void file_for_writing(void **state)
{
	int fd = ext4_file();
	char *p = pins_map_at(pins_place(LENGTH), LENGTH,
			      PROT_READ | PROT_WRITE, MAP_SHARED, fd);

	pins_fill(p, LENGTH, 1);
	if (pins_by_force()) {
		pins_accepted(p, LENGTH);
	} else {
		pins_refused(p, LENGTH, ALL, EFAULT, EFAULT);
		pins_refused(p + HUGE, 1, LW, EFAULT, EFAULT);
		/* with what may be pinned before and behind it */
		pins_map_at(p, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, -1);
		pins_map_at(p + 2 * HUGE, HUGE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE, -1);
		pins_refused(p + 1, LENGTH - 2, ALL, EFAULT, EFAULT);
	}
	munmap(p, LENGTH);
	close(fd);
}

static void file_for_reading(void **state)
{
	int fd = ext4_file();
	char *p = pins_map_at(pins_place(LENGTH), LENGTH,
			      PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	char text[] = "by way of the file";
	struct ibv_mr *mr;

	pins_fill(p, LENGTH, 1);
	mr = pins_register(p, LENGTH, RR);
	pins_expect_remote(mr, p, p, LENGTH);
	pins_fill(p, LENGTH, 2);
	assert_int_equal(pwrite(fd, text, sizeof(text), HUGE - 5),
			 sizeof(text));
	pins_expect_remote(mr, p, p, LENGTH);
	assert_memory_equal(p + HUGE - 5, text, sizeof(text));
	pins_deregister(mr);
	munmap(p, LENGTH);
	close(fd);
}

static void private_file_for_writing(void **state)
{
	int fd = ext4_file();
	char *p = pins_map_at(pins_place(LENGTH), LENGTH,
			      PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	struct ibv_mr *mr = pins_register(p, LENGTH, ALL);

	pins_check(mr, p, (uintptr_t)p, LENGTH);
	pins_deregister(mr);
	munmap(p, LENGTH);
	close(fd);
}

/* ---- memory without a direct mapping ---- */

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

static void secret(void **state)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);
	char *p;

	if (fd < 0) {
		print_message("  memfd_secret: %s\n", strerror(errno));
		skip();
	}
	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	p = pins_map_4k(LENGTH);
	pins_map_at(p + HUGE, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	close(fd);
	/* not there yet, and then there, where the fast path would find it */
	pins_refused(p + HUGE, 4 * PAGE, RR, EFAULT, EFAULT);
	pins_fill(p, LENGTH, 1);
	pins_refused(p + HUGE, 4 * PAGE, RR, EFAULT, EFAULT);
	pins_refused(p + HUGE, 4 * PAGE, ALL, EFAULT, EFAULT);
	pins_refused(p, LENGTH, ALL, EFAULT, EFAULT);
	pins_refused(p + HUGE - 1, 2, RR, EFAULT, EFAULT);
	munmap(p, LENGTH);
}

/* ---- memory that is broken ---- */

static void ignore(int sig)
{
}

/* Newer kernels tell of it by SIGBUS, which mustn't be ignored by name. */
static void poison(char *p)
{
	struct sigaction action = { .sa_handler = ignore }, usual;
	int ret, err;

	assert_int_equal(sigaction(SIGBUS, &action, &usual), 0);
	ret = madvise(p, PAGE, MADV_HWPOISON);
	err = errno;
	sigaction(SIGBUS, &usual, NULL);
	/* A page that is pinned can't be given up, but is marked. */
	if (!ret || err == EBUSY)
		return;
	print_message("  MADV_HWPOISON: %s\n", strerror(err));
	skip();
}

/*
 * Linux 5.10 forgets a poisoned page of a file in memory, and where it isn't
 * mapped any more, since a THP was split, gives a new one in its place: until
 * "mm: shmem: don't truncate page if memory failure happens".
 */
static bool forgets(const struct pins_kind *kind)
{
	return pins_runs_on("5.10.") && !strcmp(kind->name, "shmem thp");
}

static void poisoned(void **state)
{
	const size_t unit = pins_unit(*state);
	const size_t at = unit == HUGE ? HUGE : HUGE + 3 * PAGE;
	char *p = pins_map(*state);

	if (forgets(*state))
		skip();
	if (unit == HUGE)
		pins_expect_lost_hugetlb();
	poison(p + at);
	pins_refused(p, LENGTH, ALL, EFAULT, EHWPOISON);
	pins_refused(p + at, unit, ALL, EFAULT, EHWPOISON);
	pins_refused(p + at - 1, 2, RR, EFAULT, EHWPOISON);
	/* What is beside it is fine. */
	pins_accepted(p, at);
	pins_accepted(p + at + unit, LENGTH - at - unit);
	munmap(p, LENGTH);
}

/* Not refused any more, but to be let go in the end. */
static void poisoned_while_registered(void **state)
{
	char *p = pins_map_4k(LENGTH);
	struct ibv_mr *mr = pins_register(p, LENGTH, ALL);

	poison(p + HUGE);
	pins_check(mr, p, (uintptr_t)p, HUGE);
	pins_deregister(mr);
	pins_refused(p, LENGTH, ALL, EFAULT, EHWPOISON);
	munmap(p, LENGTH);
}

const struct pins_test pins_refuse_tests[] = {
	{ "file for writing", file_for_writing, false, 0, 0 },
	{ "file for reading", file_for_reading, false, 0, 0 },
	{ "private file for writing", private_file_for_writing, false, 0, 0 },
	{ "secret", secret, false, 0, 0 },
	{ "poisoned", poisoned, true, 0, 0 },
	{ "poisoned while registered", poisoned_while_registered, false, 0, 0 },
	{ NULL, NULL, false, 0, 0 },
};
