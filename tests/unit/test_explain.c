// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Each rule of explain.c: the facts under which it speaks, and those under
 * which it must not. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "explain.h"
#include "vma.h"
#include "fake_verbs.h"

#define LW IBV_ACCESS_LOCAL_WRITE

static struct rlimit memlock;

int __wrap_getrlimit(int what, struct rlimit *lim);
int __wrap_getrlimit(int what, struct rlimit *lim)
{
	*lim = memlock;
	return 0;
}

/* A /proc/self/status with these two lines. */
static void set_status(unsigned long pinned_kb, unsigned long long caps)
{
	static char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "status.%d", getpid());
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "Name:\tx\nVmPin:\t%8lu kB\nCapEff:\t%016llx\n", pinned_kb,
		caps);
	fclose(f);
	hmr_status_path = path;
}

static int explain_setup(void **state)
{
	memlock = (struct rlimit){ RLIM_INFINITY, RLIM_INFINITY };
	set_status(0, ~0ull);
	return fake_setup(state);
}

static int explain_teardown(void **state)
{
	return unlink(hmr_status_path);
}

static const char *explain(int err, void *addr, size_t length, int access,
			   uint32_t vendor)
{
	FAKE_SCRIPT({ FAKE_REG_MR, .err = err },
		    { FAKE_QUERY_DEVICE, .vendor_id = vendor });
	assert_null(hmr_reg_mr(&fake_pds[0], addr, length, access));
	assert_int_equal(errno, err);
	fake_done();
	return hmr_last_error()->text;
}

static void *map(size_t length, int prot)
{
	void *p = mmap(NULL, length, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

#define assert_says(text, part)                                         \
	do {                                                            \
		const char *says_ = (text);                             \
		if (!strstr(says_, part))                               \
			fail_msg("'%s' doesn't say '%s'", says_, part); \
	} while (0)

static void memlock_limit(void **state)
{
	char *p = map(1 << 20, PROT_READ | PROT_WRITE);
	const char *text;

	/* 64 KiB of limit, 8 KiB pinned; 60 KiB is too much, 56 KiB fits. */
	memlock = (struct rlimit){ 64 << 10, 128 << 10 };
	set_status(8, 0);
	text = explain(ENOMEM, p, 60 << 10, LW, 0);
	assert_says(text, "RLIMIT_MEMLOCK: 60 KiB to pin and 8 KiB pinned");
	assert_says(text, "limit is 64 KiB (hard limit 128 KiB)");
	assert_says(explain(ENOMEM, p, 56 << 10, LW, 0), "not known");
	/* Whole pages count: 2 bytes across a border are two of them. */
	assert_says(explain(ENOMEM, p + 4095, 56 << 10, LW, 0),
		    "RLIMIT_MEMLOCK: 60 KiB");
	memlock.rlim_max = RLIM_INFINITY;
	assert_says(explain(ENOMEM, p, 60 << 10, LW, 0),
		    "hard limit unlimited");
	/* CAP_IPC_LOCK lifts the limit, other capabilities don't. */
	set_status(8, 1ull << 14);
	assert_says(explain(ENOMEM, p, 60 << 10, LW, 0), "not known");
	set_status(8, ~(1ull << 14));
	assert_says(explain(ENOMEM, p, 60 << 10, LW, 0), "RLIMIT_MEMLOCK");
	munmap(p, 1 << 20);
}

static void rxe_1_gib_limit(void **state)
{
	const size_t gib = 1ul << 30;
	char *p = map(gib + 8192, PROT_READ | PROT_WRITE);

	assert_says(explain(ENOMEM, p, gib + 1, LW, FAKE_RXE_VENDOR),
		    "more than 1 GiB");
	/* Exactly 1 GiB that isn't aligned touches one page more. */
	assert_says(explain(ENOMEM, p + 1, gib, LW, FAKE_RXE_VENDOR),
		    "more than 1 GiB");
	assert_says(explain(ENOMEM, p, gib, LW, FAKE_RXE_VENDOR), "not known");
	assert_says(explain(ENOMEM, p, gib + 1, LW, 0x15b3), "not known");
	assert_says(explain(EINVAL, p, gib + 1, LW, FAKE_RXE_VENDOR),
		    "not known");
	munmap(p, gib + 8192);
}

static void hole_in_the_range(void **state)
{
	char *p = map(3 * 4096, PROT_READ | PROT_WRITE);

	munmap(p + 4096, 4096);
	assert_says(explain(EFAULT, p, 3 * 4096, LW, 0), "isn't mapped");
	assert_says(explain(ENOMEM, p, 3 * 4096, LW, 0), "isn't mapped");
	assert_says(explain(EFAULT, p, 4096, LW, 0), "not known");
	munmap(p, 3 * 4096);
}

static void protection(void **state)
{
	char *p = map(4096, PROT_READ);

	assert_says(explain(EFAULT, p, 4096, LW, 0), "read-only");
	assert_says(explain(EFAULT, p, 4096, 0, 0), "not known");
	mprotect(p, 4096, PROT_NONE);
	assert_says(explain(EFAULT, p, 4096, LW, 0), "without PROT_READ");
	munmap(p, 4096);
}

static void enotsupp(void **state)
{
	char *p = map(4096, PROT_READ | PROT_WRITE);

	assert_says(explain(524, p, 4096, LW, 0), "ENOTSUPP");
	munmap(p, 4096);
}

static void device_memory(void **state)
{
	static const char smaps[] =
		"7f0000000000-7f0000001000 rw-s 00000000 00:00 0 /dev/x\n"
		"KernelPageSize:        4 kB\n"
		"VmFlags: rd wr sh mr mw me ms io pf de\n";
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "smaps.%d", getpid());
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(smaps, f);
	fclose(f);
	hmr_smaps_path = path;
	assert_says(explain(EFAULT, (void *)0x7f0000000000, 4096, LW, 0),
		    "dmabuf");
	hmr_smaps_path = "/proc/self/smaps";
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(memlock_limit, explain_setup,
						explain_teardown),
		cmocka_unit_test_setup_teardown(rxe_1_gib_limit, explain_setup,
						explain_teardown),
		cmocka_unit_test_setup_teardown(
			hole_in_the_range, explain_setup, explain_teardown),
		cmocka_unit_test_setup_teardown(protection, explain_setup,
						explain_teardown),
		cmocka_unit_test_setup_teardown(enotsupp, explain_setup,
						explain_teardown),
		cmocka_unit_test_setup_teardown(device_memory, explain_setup,
						explain_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
