// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What process.c makes of a directory tree, and of this process. */
#include <stdio.h>
#include <sys/resource.h>

#include "fake_verbs.h"
#include "process.h"
#include "readfile.h"
#include "tree.h"

static struct hmr_process proc;

static void nothing_there(void **state)
{
	hmr_process_read(tree_root, &proc);
	assert_int_equal(proc.pinned, 0);
	assert_true(proc.memlock_soft == UINT64_MAX);
	assert_true(proc.memlock_hard == UINT64_MAX);
	assert_false(proc.ipc_lock);
	assert_int_equal(proc.mappings, 0);
	assert_true(hmr_may_pin_all(&proc));
}

static void put_limits(const char *soft, const char *hard)
{
	tree_put("/proc/self/limits",
		 "Limit                     Soft Limit           Hard Limit"
		 "           Units     \n"
		 "Max processes             1                    2"
		 "                    processes \n"
		 "Max locked memory         %-20s %-20s bytes     \n"
		 "Max file locks            unlimited            unlimited"
		 "            locks     \n",
		 soft, hard);
}

static void status_and_limits(void **state)
{
	tree_put(
		"/proc/thread-self/status",
		"Name:\tVmPin: 7 kB\nVmLck:\t      16 kB\nVmPin:\t      64 kB\n"
		"CapInh:\t0000000000004000\nCapEff:\t0000000000000000\n");
	put_limits("65536", "unlimited");
	tree_put("/proc/self/maps",
		 "00400000-00401000 r-xp 00000000 08:01 1 /bin/x\n"
		 "00500000-00501000 rw-p 00000000 00:00 0 [heap]\n"
		 "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  "
		 "[vsyscall]\n");
	hmr_process_read(tree_root, &proc);
	assert_int_equal(proc.pinned, 64 << 10);
	assert_int_equal(proc.locked, 16 << 10);
	assert_int_equal(proc.memlock_soft, 65536);
	assert_true(proc.memlock_hard == UINT64_MAX);
	assert_int_equal(proc.mappings, 2);
	assert_false(proc.ipc_lock);
	assert_false(hmr_may_pin_all(&proc));
	put_limits("unlimited", "unlimited");
	hmr_process_read(tree_root, &proc);
	assert_true(hmr_may_pin_all(&proc));
}

/* The kernel asks for the capability in the first user namespace. */
static void capability(void **state)
{
	put_limits("0", "0");
	tree_put("/proc/thread-self/status", "CapEff:\t0000000000004000\n");
	hmr_process_read(tree_root, &proc);
	assert_true(proc.ipc_lock);
	assert_true(hmr_may_pin_all(&proc));
	tree_put("/proc/self/uid_map", "         0          0 4294967295\n");
	hmr_process_read(tree_root, &proc);
	assert_true(hmr_may_pin_all(&proc));
	tree_put("/proc/self/uid_map", "         0       1000          1\n");
	hmr_process_read(tree_root, &proc);
	assert_true(proc.ipc_lock);
	assert_true(proc.in_user_ns);
	assert_false(hmr_may_pin_all(&proc));
	tree_put("/proc/thread-self/status", "CapEff:\tffffffffffffbfff\n");
	hmr_process_read(tree_root, &proc);
	assert_false(proc.ipc_lock);
}

static void this_process(void **state)
{
	struct rlimit lim;

	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &lim), 0);
	hmr_process_read("", &proc);
	assert_true(proc.memlock_soft == lim.rlim_cur);
	assert_true(proc.memlock_hard == lim.rlim_max);
	assert_true(proc.mappings > 5);
}

static void escapes(void **state)
{
	const struct {
		char text[24];
		const char *plain;
	} cases[] = {
		{ "/a b", "/a b" },	  { "/a\\040b\\134", "/a b\\" },
		{ "\\012", "\n" },	  { "\\04", "\\04" },
		{ "\\xyz\\", "\\xyz\\" },
	};
	char text[24];
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(text, cases[i].text, sizeof(text));
		hmr_unescape(text);
		assert_string_equal(text, cases[i].plain);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TREE_TEST(nothing_there),  TREE_TEST(status_and_limits),
		TREE_TEST(capability),	   cmocka_unit_test(this_process),
		cmocka_unit_test(escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
