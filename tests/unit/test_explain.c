// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Each rule of explain.c: the facts under which it speaks, and those under
 * which it must not. Of the host it sees a directory tree, of the process real
 * mappings unless a test makes up its smaps. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "readfile.h"
#include "test_explain.h"
#include "vma.h"

static char smaps_path[128];

void set_smaps(const char *text)
{
	tree_put("/smaps", "%s", text);
	snprintf(smaps_path, sizeof(smaps_path), "%s/smaps", tree_root);
	hmr_smaps_path = smaps_path;
}

void set_hugetlb(uintptr_t addr, unsigned int mib, unsigned int present)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "%lx-%lx rw-p 00000000 00:0f 7 /anon_hugepage (deleted)\n"
		 "KernelPageSize:     2048 kB\n"
		 "Rss:                   0 kB\n"
		 "Private_Hugetlb: %u kB\n"
		 "VmFlags: rd wr mr mw me de ht\n",
		 addr, addr + mib * MIB, present << 10);
	set_smaps(text);
}

void set_file(const char *perms, const char *dev, const char *name)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "%lx-%lx %s 00000000 %s 1234       %s\n"
		 "KernelPageSize:        4 kB\n"
		 "Rss:                   4 kB\n"
		 "VmFlags: rd wr sh mr mw me ms\n",
		 ADDR, ADDR + 4096, perms, dev, name);
	set_smaps(text);
}

void *map(size_t length, int prot)
{
	void *p = mmap(NULL, length, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

int explain_setup(void **state)
{
	fake_device_setup();
	hmr_root = tree_root;
	hmr_smaps_path = "/proc/self/smaps";
	unsetenv("RDMAV_HUGEPAGES_SAFE");
	return tree_setup(state);
}

struct hmr_error said;

enum hmr_cause explain_call(int err, const void *addr, size_t length,
			    int access, const struct hmr_reg_facts *call)
{
	said = (struct hmr_error){
		.op = "test",
		.err = -err,
		.addr = addr,
		.length = length,
		.access = access,
	};
	assert_int_equal(hmr_fail_reg_call(&said, fake_pds[0].context, call),
			 -err);
	assert_string_equal(said.device, "fake0");
	said = *hmr_last_error();
	return said.cause;
}

enum hmr_cause explain(int err, const void *addr, size_t length, int access)
{
	return explain_call(err, addr, length, access, NULL);
}

static void errors_that_speak_for_themselves(void **state)
{
	struct hmr_reg_facts dmabuf = { .dmabuf = true };
	char *p = map(4096, PROT_READ | PROT_WRITE);

	assert_int_equal(explain(EHWPOISON, p, 4096, LW),
			 HMR_CAUSE_MEMORY_ERROR);
	assert_int_equal(explain(524, p, 4096, LW), HMR_CAUSE_NOT_SUPPORTED);
	assert_says("(its error 524, ENOTSUPP)");
	assert_int_equal(explain(EOPNOTSUPP, p, 4096, LW),
			 HMR_CAUSE_NOT_SUPPORTED);
	assert_int_equal(explain_call(EOPNOTSUPP, NULL, 4096, LW, &dmabuf),
			 HMR_CAUSE_NOT_SUPPORTED);
	assert_says("(of a dmabuf)");
	assert_int_equal(explain_call(EBADF, NULL, 4096, LW, &dmabuf),
			 HMR_CAUSE_ARGUMENT);
	assert_int_equal(explain(EBADF, p, 4096, LW), HMR_CAUSE_UNKNOWN);
	munmap(p, 4096);
}

/* What has many causes is said to have them, and none of them is claimed. */
static void not_known(void **state)
{
	static const struct {
		int err;
		const char *part;
	} cases[] = {
		{ ENOMEM, "can't be moved out of CMA" },
		{ EFAULT, "hmr_populate() tells" },
		{ EINVAL, "may be an access flag" },
		{ EAGAIN, "no keys left" },
		{ EIO, "that they don't report (here 4 KiB)" },
		{ ENOSPC, "kernel log" },
		{ EPERM, "not known" },
	};
	char *p = map(4096, PROT_READ | PROT_WRITE);
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(explain(cases[i].err, p, 4096, LW),
				 HMR_CAUSE_UNKNOWN);
		assert_says("not known to hugemr");
		assert_says(cases[i].part);
	}
	munmap(p, 4096);
}

static void flags_by_name(void **state)
{
	char text[HMR_ACCESS_TEXT];
	char *p = map(4096, PROT_READ | PROT_WRITE);

	explain(EINVAL, p, 4096, LW | RR);
	assert_says("refused to register 4 KiB at");
	assert_says("(LOCAL_WRITE|REMOTE_READ): Invalid argument");
	assert_string_equal(hmr_access_text(0, text), "0");
	assert_string_equal(hmr_access_text(1 << 15 | LW, text),
			    "LOCAL_WRITE|0x8000");
	assert_string_equal(hmr_access_text(-1, text),
			    "LOCAL_WRITE|REMOTE_WRITE|REMOTE_READ|"
			    "REMOTE_ATOMIC|MW_BIND|ZERO_BASED|ON_DEMAND|"
			    "HUGETLB|RELAXED_ORDERING|0xffefff00");
	munmap(p, 4096);
}

/* A registration of the whole address space on demand. */
static void range_that_is_none(void **state)
{
	assert_int_equal(explain(EOPNOTSUPP, NULL, SIZE_MAX,
				 IBV_ACCESS_ON_DEMAND),
			 HMR_CAUSE_NOT_SUPPORTED);
	assert_int_equal(explain(ENOMEM, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND),
			 HMR_CAUSE_UNKNOWN);
}

static void cause_names(void **state)
{
	enum hmr_cause a, b;

	for (a = HMR_CAUSE_UNKNOWN; a <= HMR_CAUSE_CANCELED; a++)
		for (b = HMR_CAUSE_UNKNOWN; b < a; b++)
			assert_string_not_equal(hmr_cause_name(a),
						hmr_cause_name(b));
	assert_string_equal(hmr_cause_name(HMR_CAUSE_MEMLOCK), "memlock");
	assert_string_equal(hmr_cause_name(HMR_CAUSE_CANCELED + 1), "unknown");
	assert_string_equal(hmr_cause_name((enum hmr_cause) - 1), "unknown");
}

static const struct CMUnitTest explain_tests[] = {
	TEST(errors_that_speak_for_themselves),
	TEST(not_known),
	TEST(flags_by_name),
	TEST(range_that_is_none),
	TEST(cause_names),
	{ NULL },
};

int main(void)
{
	return RUN_TABLES(NULL, NULL, explain_process_tests,
			  explain_mapping_tests, explain_page_tests,
			  explain_device_tests, explain_tests);
}
