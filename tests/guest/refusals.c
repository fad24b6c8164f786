// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Registrations that a real kernel refuses, and what the library says of them.
 * Runs in a guest with rxe0 and rxe1, as root; /ext4 and /overlay are what
 * their names say. Those that need a process without privileges are run by the
 * same program with "unprivileged" as its argument.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "look.h"
#include "refusals.h"

struct ibv_context *contexts[2];
struct ibv_pd *pds[2];
struct hmr_domain *dom, *both;

static const char *device_name(unsigned int i)
{
	return i ? "rxe1" : "rxe0";
}

static int open_device(struct ibv_device **list, unsigned int i)
{
	for (; *list; list++)
		if (!strcmp(ibv_get_device_name(*list), device_name(i)))
			contexts[i] = ibv_open_device(*list);
	pds[i] = contexts[i] ? ibv_alloc_pd(contexts[i]) : NULL;
	return pds[i] ? 0 : -1;
}

int open_devices(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int ret = -1;

	if (list && !open_device(list, 0) && !open_device(list, 1) &&
	    !hmr_domain_open(pds, 1, NULL, &dom))
		ret = hmr_domain_open(pds, 2, NULL, &both);
	if (list)
		ibv_free_device_list(list);
	return ret;
}

int close_devices(void **state)
{
	unsigned int i;
	int ret = hmr_domain_close(dom) | hmr_domain_close(both);

	for (i = 0; i < 2; i++)
		ret |= ibv_dealloc_pd(pds[i]) | ibv_close_device(contexts[i]);
	return ret;
}

uint64_t pinned(void)
{
	return look_status(getpid(), "VmPin");
}

void assert_nothing_is_left(void)
{
	assert_int_equal(look_mrs("rxe0"), 0);
	assert_int_equal(look_mrs("rxe1"), 0);
	assert_int_equal(pinned(), 0);
	/* Without privileges the counters can't be made to catch up; the parent
	 * asks again in the end. */
	if (!geteuid())
		assert_int_equal(look_pins(), 0);
}

int try_on(struct hmr_domain *d, void *addr, size_t length, int access)
{
	HMR_OPTS(hmr_register_opts, opts, .threads = 1);
	struct hmr_region *const before = (void *)0x1234;
	struct hmr_region *region = before;
	int ret = hmr_register(d, addr, length, access, &opts, &region);

	if (ret) {
		assert_ptr_equal(region, before);
		assert_string_equal(hmr_last_error()->op, "hmr_register");
		assert_ptr_equal(hmr_last_error()->addr, addr);
		assert_int_equal(hmr_last_error()->length, length);
		print_message("  %s\n", hmr_last_error()->text);
	} else {
		assert_int_equal(hmr_deregister(region), 0);
	}
	assert_nothing_is_left();
	return ret;
}

int try_reg(void *addr, size_t length, int access)
{
	return try_on(dom, addr, length, access);
}

void check_error(int ret, int err, enum hmr_cause cause, const char *part,
		 const char *file, int line)
{
	const struct hmr_error *e = hmr_last_error();

	if (ret == err && (!ret || (e->err == err && e->cause == cause &&
				    strstr(e->text, part))))
		return;
	print_error("%s:%d: %d, %s: '%s'\nand not %d, %s: '%s'\n", file, line,
		    ret, ret ? hmr_cause_name(e->cause) : "",
		    ret ? e->text : "", err, hmr_cause_name(cause), part);
	fail();
}

char *map(size_t length, int prot, int flags, int fd)
{
	char *p = mmap(NULL, length, prot, flags, fd, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

char *map_anon(size_t length, int prot)
{
	return map(length, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* ---- arguments ---- */

static void arguments(void **state)
{
	static char memory[2 * PAGE];
	char *last = (char *)-PAGE;

	assert_error(try_reg(memory, 0, LW), -EINVAL, ARGUMENT, "0 bytes");
	assert_error(try_reg(last, 2 * PAGE, LW), -EINVAL, ARGUMENT,
		     "not a range");
	assert_error(try_reg(memory, SIZE_MAX, LW), -EINVAL, ARGUMENT,
		     "not a range");
	assert_error(try_reg(memory, PAGE, IBV_ACCESS_REMOTE_WRITE), -EINVAL,
		     ARGUMENT, "LOCAL_WRITE");
	assert_error(try_reg(memory, PAGE, 1 << 30), -EINVAL, ARGUMENT,
		     "unknown access");
	/* The kernel's half of the address space is a range, of nothing. */
	assert_error(try_reg((void *)0xffff888000000000, PAGE, LW), -EFAULT,
		     HOLE, "isn't mapped");
}

static int try_mr(void *addr, size_t length, int access)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = hmr_reg_mr(pds[0], addr, length, access);
	if (mr) {
		assert_int_equal(hmr_dereg_mr(mr), 0);
		return 0;
	}
	print_message("  %s\n", hmr_last_error()->text);
	assert_int_equal(errno, -hmr_last_error()->err);
	return -errno;
}

/* hmr_reg_mr() leaves them to the kernel, as ibv_reg_mr() does. */
static void arguments_of_the_verbs_own_call(void **state)
{
	static char memory[PAGE];
	int ret;

	ret = try_mr(memory, 0, LW);
	assert_true(ret == -EINVAL || ret == 0);
	ret = try_mr((char *)-PAGE, 2 * PAGE, LW);
	assert_true(ret == -EINVAL || ret == -EFAULT || ret == -EOVERFLOW);
	assert_error(try_mr(memory, PAGE, IBV_ACCESS_REMOTE_WRITE), -EINVAL,
		     UNKNOWN, "not known");
	assert_nothing_is_left();
}

/* ---- max_map_count ---- */

#define MAX_MAP_COUNT "/proc/sys/vm/max_map_count"

static void set_max_map_count(uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	assert_int_equal(look_write(MAX_MAP_COUNT, text), 0);
}

/* From a limit that there is nothing left of on, until it does. */
static void max_map_count(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K);
	uint64_t usual = look_number(MAX_MAP_COUNT), limit;
	unsigned int now = look_mappings(), refused = 0;
	struct hmr_buffer *buf;
	int ret;

	for (limit = now - 2;; limit++) {
		set_max_map_count(limit);
		ret = hmr_buffer_alloc(1 * MIB, &opts, &buf);
		set_max_map_count(usual);
		if (!ret)
			break;
		print_message("  %s\n", hmr_last_error()->text);
		assert_error(ret, -ENOMEM, MAP_COUNT, "max_map_count");
		assert_int_equal(look_mappings(), now);
		assert_true(refused++ < 8);
	}
	assert_true(refused > 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(look_mappings(), now);
}

/* ---- access that a device lacks ---- */

static uint32_t odp_caps(void)
{
	struct ibv_device_attr_ex attr = { 0 };

	if (ibv_query_device_ex(contexts[0], NULL, &attr))
		return 0;
	return (uint32_t)attr.odp_caps.general_caps;
}

static void access_flags(void **state)
{
	char *p = map_anon(1 * MIB, PROT_READ | PROT_WRITE);
	struct ibv_device_attr attr;
	int ret;

	assert_int_equal(ibv_query_device(contexts[0], &attr), 0);
	ret = try_reg(p, 1 * MIB, LW | IBV_ACCESS_ON_DEMAND);
	if (odp_caps() & IBV_ODP_SUPPORT)
		assert_fine(ret);
	else
		assert_error(ret, -EOPNOTSUPP, ACCESS, "ON_DEMAND");

	ret = try_reg(p, 1 * MIB, LW | IBV_ACCESS_MW_BIND);
	print_message("  MW_BIND: %d, of %d windows\n", ret, attr.max_mw);
	if (ret)
		assert_int_equal(hmr_last_error()->cause, HMR_CAUSE_ACCESS);

	ret = try_reg(p, 1 * MIB, LW | IBV_ACCESS_HUGETLB);
	print_message("  HUGETLB on base pages: %d\n", ret);
	if (ret == -EOPNOTSUPP)
		assert_error(ret, -EOPNOTSUPP, NOT_SUPPORTED, "access flags");
	else if (ret)
		assert_error(ret, -EINVAL, ACCESS, "IBV_ACCESS_HUGETLB");

	/* A wish, and not a demand */
	assert_fine(try_reg(p, 1 * MIB, LW | IBV_ACCESS_RELAXED_ORDERING));
	assert_fine(try_reg(p, 1 * MIB,
			    LW | RR | IBV_ACCESS_REMOTE_WRITE |
				    IBV_ACCESS_REMOTE_ATOMIC));
	munmap(p, 1 * MIB);
}

/* ---- all of them ---- */

void nothing_is_left(void **state)
{
	assert_nothing_is_left();
}

static const struct CMUnitTest argument_tests[] = {
	cmocka_unit_test(arguments),
	cmocka_unit_test(arguments_of_the_verbs_own_call),
	{ NULL },
};

static const struct CMUnitTest other_tests[] = {
	cmocka_unit_test(max_map_count),
	cmocka_unit_test(access_flags),
	cmocka_unit_test(without_privileges),
	cmocka_unit_test(nothing_is_left),
	{ NULL },
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "unprivileged"))
		return unprivileged();
	return RUN_TABLES(open_devices, close_devices, argument_tests,
			  refusals_mapping_tests, refusals_file_tests,
			  other_tests);
}
