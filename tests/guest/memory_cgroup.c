// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Limits of control groups on hugetlb pages. */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

static char group[64];

static bool join_group(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	return check(!put(path, "0"));
}

static bool limited_to_two_pages(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_2M);
	struct hmr_buffer *buf;
	void *p;

	if (!join_group())
		return false;
	/* What the library is there to prevent: this mmap() succeeds. */
	p = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | 21 << 26, -1, 0);
	if (!check(p != MAP_FAILED) ||
	    !check(hmr_populate(p, 8 * MIB, NULL, NULL) == -EFAULT))
		return false;
	munmap(p, 8 * MIB);
	if (!check(hmr_buffer_alloc(8 * MIB, &opts, &buf) == -EFAULT) ||
	    !check(hmr_last_error()->cause == HMR_CAUSE_CGROUP) ||
	    !check(hmr_last_error()->need == 8 * MIB) ||
	    !check(hmr_last_error()->have == 4 * MIB) ||
	    !check(strstr(hmr_last_error()->text, "hugetlb.2MB.") != NULL))
		return false;
	if (!check(!hmr_buffer_alloc(4 * MIB, &opts, &buf)) ||
	    !check(!hmr_buffer_free(buf)))
		return false;
	opts.pages = HMR_PAGES_PREFER;
	return check(!hmr_buffer_alloc(8 * MIB, &opts, &buf)) &&
	       check(hmr_buffer_pages(buf) == HMR_PAGES_THP) &&
	       check(strstr(hmr_buffer_why(buf), "control group") != NULL) &&
	       check(!hmr_buffer_free(buf));
}

static bool promised_two_pages(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_2M);
	struct hmr_buffer *buf;

	return join_group() &&
	       check(hmr_buffer_alloc(8 * MIB, &opts, &buf) == -ENOMEM) &&
	       check(hmr_last_error()->cause == HMR_CAUSE_CGROUP) &&
	       check(hmr_last_error()->have == 4 * MIB) &&
	       check(strstr(hmr_last_error()->text, "rsvd") != NULL) &&
	       check(!hmr_buffer_alloc(4 * MIB, &opts, &buf)) &&
	       check(!hmr_buffer_free(buf));
}

static void set_limit(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", group, name);
	write_file(path, value);
}

/* As a process that leaves a group may still be on its way out. */
static void remove_group(void)
{
	int tries;

	for (tries = 0; rmdir(group) && tries < 100; tries++)
		usleep(10000);
	assert_int_equal(access(group, F_OK), -1);
}

static void cgroup_2_limits(void **state)
{
	const char *control = "/sys/fs/cgroup/cgroup.subtree_control";
	int tries;

	/* Version 1 takes its time to let go. */
	for (tries = 0; put(control, "+hugetlb") && tries < 500; tries++)
		usleep(10000);
	write_file(control, "+hugetlb");
	snprintf(group, sizeof(group), "/sys/fs/cgroup/few");
	assert_int_equal(mkdir(group, 0755), 0);
	set_limit("hugetlb.2MB.max", "4194304");
	in_child(limited_to_two_pages);
	set_limit("hugetlb.2MB.max", "max");
	set_limit("hugetlb.2MB.rsvd.max", "4194304");
	in_child(promised_two_pages);
	remove_group();
	write_file(control, "-hugetlb");
}

/* Groups of the hierarchy that has the controller, dying ones too. */
static int count_groups(void)
{
	FILE *f = fopen("/proc/cgroups", "re");
	char line[128];
	int n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "hugetlb %*d %d", &n) == 1)
			break;
	fclose(f);
	return n;
}

/* Version 1 takes the controller away from version 2, so this comes first. */
static void cgroup_1_limits(void **state)
{
	int tries;

	assert_int_equal(mkdir("/tmp/cgroup1", 0700), 0);
	if (mount("cgroup", "/tmp/cgroup1", "cgroup", 0, "hugetlb"))
		skip();
	snprintf(group, sizeof(group), "/tmp/cgroup1/few");
	assert_int_equal(mkdir(group, 0755), 0);
	set_limit("hugetlb.2MB.limit_in_bytes", "4194304");
	in_child(limited_to_two_pages);
	set_limit("hugetlb.2MB.limit_in_bytes", "-1");
	set_limit("hugetlb.2MB.rsvd.limit_in_bytes", "4194304");
	in_child(promised_two_pages);
	remove_group();
	/* A hierarchy that still has groups when it's unmounted stays. */
	for (tries = 0; count_groups() > 1 && tries < 500; tries++)
		usleep(10000);
	assert_int_equal(umount("/tmp/cgroup1"), 0);
}

const struct CMUnitTest memory_cgroup_tests[] = {
	each(cgroup_1_limits),
	each(cgroup_2_limits),
	{ NULL },
};
