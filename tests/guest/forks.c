// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Regions and forks: the parent's device goes on reaching the parent's pages,
 * and the child owns nothing of what it inherits. Runs in a guest with 8 pages
 * of 2 MiB, as root, once for each way that libibverbs may have been set up:
 *
 * forks plain	without ibv_fork_init()
 * forks init	with it
 * forks old	as on a kernel that doesn't, which libibverbs is made to believe
 * forks old-init
 *		the same with ibv_fork_init()
 * forks safe, forks old-safe
 *		as with init, and with RDMAV_HUGEPAGES_SAFE set
 */
#include <inttypes.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include <infiniband/verbs.h>

#include <hugemr/hugemr.h>

#include "look.h"
#include "loopback.h"

#define MIB (1ul << 20)
#define PAGE 4096ul
#define LW IBV_ACCESS_LOCAL_WRITE
#define ALL (LW | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct hmr_domain *dom;
static struct loopback *lb;
static enum ibv_fork_status status;
static bool marks;

static struct ibv_pd *open_pd(struct ibv_context **ctx)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list)
		return NULL;
	*ctx = list[0] ? ibv_open_device(list[0]) : NULL;
	ibv_free_device_list(list);
	return *ctx ? ibv_alloc_pd(*ctx) : NULL;
}

/*
 * Does libibverbs mark MRs as not to be inherited? Of some versions
 * ibv_fork_init() sees to that even where ibv_is_fork_initialized() has it
 * that there is no need.
 */
static bool find_marks(void)
{
	char *page = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(pd, page + PAGE, PAGE, LW);
	FILE *f = fopen("/proc/self/smaps", "r");
	uintptr_t from, to, start = 0;
	bool found = false;
	char line[512];

	while (mr && f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			start = from;
		found = start == (uintptr_t)page + PAGE &&
			!strncmp(line, "VmFlags:", 8) && strstr(line, " dc");
	}
	if (f)
		fclose(f);
	if (mr)
		ibv_dereg_mr(mr);
	munmap(page, 3 * PAGE);
	return found;
}

static int open_device(void **state)
{
	pd = open_pd(&context);
	if (!pd || hmr_domain_open(&pd, 1, NULL, &dom) ||
	    loopback_open(pd, 1, -1, 4 * PAGE, &lb))
		return -1;
	status = ibv_is_fork_initialized();
	marks = find_marks();
	print_message("  ibv_is_fork_initialized: %s, MRs are %smarked\n",
		      status == IBV_FORK_UNNEEDED ? "unneeded" :
		      status == IBV_FORK_ENABLED  ? "enabled" :
						    "disabled",
		      marks ? "" : "not ");
	return 0;
}

static int close_device(void **state)
{
	loopback_close(lb);
	return hmr_domain_close(dom) | ibv_dealloc_pd(pd) |
	       ibv_close_device(context);
}

static const char *way;

static void libibverbs_is_set_up(void **state)
{
	bool init = strstr(way, "init") || strstr(way, "safe");

	if (status == IBV_FORK_UNNEEDED) {
		assert_true(strncmp(way, "old", 3));
		assert_true(init || !marks);
		return;
	}
	assert_int_equal(status, init ? IBV_FORK_ENABLED : IBV_FORK_DISABLED);
	assert_int_equal(marks, init);
}

/* ---- the child ---- */

#define child_check(condition)                                           \
	do {                                                             \
		if (!(condition)) {                                      \
			fprintf(stderr, "%s:%d: in the child: %s: %s\n", \
				__FILE__, __LINE__, #condition,          \
				hmr_last_error()->text);                 \
			_exit(1);                                        \
		}                                                        \
	} while (0)

static void owns_nothing(struct hmr_region *region)
{
	struct hmr_region *other = (void *)0x1234;
	struct hmr_key key;
	static char page[PAGE];

	child_check(hmr_deregister(region) == -EOWNERDEAD);
	child_check(hmr_last_error()->cause == HMR_CAUSE_FORKED);
	child_check(hmr_reregister(region, LW) == -EOWNERDEAD);
	child_check(hmr_keys(region, 0, &key, 1) == -EOWNERDEAD);
	child_check(hmr_register(dom, page, PAGE, LW, NULL, &other) ==
		    -EOWNERDEAD);
	child_check(other == (void *)0x1234);
	child_check(hmr_domain_drain(dom) == -EOWNERDEAD);
	child_check(hmr_domain_close(dom) == -EOWNERDEAD);
}

static void makes_its_own(void)
{
	HMR_OPTS(hmr_buffer_opts, base, .pages = HMR_PAGES_4K);
	struct ibv_context *ctx;
	struct ibv_pd *own = open_pd(&ctx);
	struct hmr_region *region;
	struct hmr_buffer *buf;
	struct hmr_domain *d;

	child_check(own);
	child_check(!hmr_domain_open(&own, 1, NULL, &d));
	child_check(!hmr_buffer_alloc(8 * MIB, &base, &buf));
	child_check(!hmr_register(d, hmr_buffer_addr(buf), 8 * MIB, LW, NULL,
				  &region));
	child_check(hmr_buffer_free(buf) == -EBUSY);
	child_check(!hmr_deregister(region));
	child_check(!hmr_buffer_free(buf));
	child_check(!hmr_domain_close(d));
	child_check(!ibv_dealloc_pd(own));
	child_check(!ibv_close_device(ctx));
}

/* Stays until the parent has seen what it does to the pages that they share. */
static pid_t start_child(struct hmr_region *region, int *hold)
{
	int fds[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(fds[1]);
		child_check(read(fds[0], &c, 1) == 0);
		owns_nothing(region);
		makes_its_own();
		_exit(0);
	}
	close(fds[0]);
	*hold = fds[1];
	return pid;
}

static void end_child(pid_t pid, int hold)
{
	int how;

	close(hold);
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_int_equal(how, 0);
}

/* ---- the parent ---- */

static void fill(char *data, size_t length, unsigned int seed)
{
	size_t i;

	for (i = 0; i < length; i++)
		data[i] = (char)(i * 7 + seed);
}

/* What one writes is what the other reads. */
static void check_transfers(char *at, uint32_t rkey, unsigned int seed)
{
	const size_t length = PAGE + 100;
	char got[PAGE + 100];

	fill(at, length, seed);
	assert_int_equal(loopback_read(lb, got, length, (uintptr_t)at, rkey),
			 0);
	assert_memory_equal(got, at, length);
	fill(got, length, seed + 1);
	assert_int_equal(loopback_write(lb, got, length, (uintptr_t)at, rkey),
			 0);
	assert_memory_equal(got, at, length);
}

static void survives_a_fork(char *addr, size_t length)
{
	struct hmr_region *region;
	struct hmr_key key;
	pid_t pid;
	int hold;

	if (hmr_register(dom, addr, length, ALL, NULL, &region))
		fail_msg("%s", hmr_last_error()->text);
	assert_int_equal(hmr_keys(region, 0, &key, 1), 1);
	check_transfers(addr, key.rkey, 1);
	pid = start_child(region, &hold);
	/* The parent's write is what would take its page away from it. */
	check_transfers(addr, key.rkey, 3);
	check_transfers(addr + length - 2 * PAGE, key.rkey, 4);
	check_transfers(addr + length / 2, key.rkey, 5);
	end_child(pid, hold);
	check_transfers(addr, key.rkey, 6);
	assert_int_equal(hmr_deregister(region), 0);
}

/* Odd ends, within pages of 2 MiB */
#define BUFFER (6 * MIB)
#define FROM (MIB + 5)
#define LENGTH (4 * MIB + PAGE + 77)

static void no_mark_for_part_of_a_page(char *p)
{
	const struct hmr_error *e = hmr_last_error();
	struct hmr_region *region;

	/* Whole pages can be kept from a child. */
	survives_a_fork(p, 4 * MIB);
	assert_int_equal(hmr_register(dom, p + FROM, LENGTH, ALL, NULL,
				      &region),
			 -EINVAL);
	print_message("  %s\n", e->text);
	assert_int_equal(e->cause, HMR_CAUSE_FORK_ALIGN);
	assert_int_equal(e->need, 2 * MIB);
	assert_non_null(strstr(e->text, "RDMAV_HUGEPAGES_SAFE=1"));
}

/* Where libibverbs failed to cut once, it has lost count of what it marked,
 * also for what is mapped there later. So nothing will be. */
static void never_again(char *p)
{
	assert_ptr_equal(mmap(p, BUFFER, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			      0),
			 p);
}

/* What is marked as a whole already needs no cut. */
static void odd_range(char *p, bool hugetlb, bool whole_is_marked)
{
	if (hugetlb && marks && !whole_is_marked &&
	    !getenv("RDMAV_HUGEPAGES_SAFE")) {
		no_mark_for_part_of_a_page(p);
		return;
	}
	survives_a_fork(p + FROM, LENGTH);
	/* and once more, after libibverbs has let go of it */
	survives_a_fork(p + FROM + 3, LENGTH);
}

static void buffer_of(enum hmr_pages pages, uint32_t flags)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = pages, .flags = flags);
	bool whole_is_marked = status != IBV_FORK_UNNEEDED &&
			       !(flags & HMR_BUFFER_SHARED);
	struct hmr_buffer *buf;
	char *addr;

	if (hmr_buffer_alloc(BUFFER, &opts, &buf))
		fail_msg("%s", hmr_last_error()->text);
	odd_range(hmr_buffer_addr(buf), pages == HMR_PAGES_2M, whole_is_marked);
	addr = hmr_buffer_addr(buf);
	assert_int_equal(hmr_buffer_free(buf), 0);
	never_again(addr);
}

static void buffer_of_2m(void **state)
{
	buffer_of(HMR_PAGES_2M, 0);
}

static void buffer_of_thp(void **state)
{
	buffer_of(HMR_PAGES_THP, 0);
}

static void buffer_of_base_pages(void **state)
{
	buffer_of(HMR_PAGES_4K, 0);
}

static void shared_buffers(void **state)
{
	buffer_of(HMR_PAGES_4K, HMR_BUFFER_SHARED);
	buffer_of(HMR_PAGES_2M, HMR_BUFFER_SHARED);
}

static char *map(int flags)
{
	char *p = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	memset(p, 1, BUFFER);
	return p;
}

/* Without ibv_fork_init() nobody keeps a foreign mapping from a child, where
 * the kernel doesn't copy: that is the application's to know. */
static void foreign_memory(void **state)
{
	char *p = map(0);

	if (status != IBV_FORK_DISABLED)
		survives_a_fork(p + FROM, LENGTH);
	munmap(p, BUFFER);
}

static void foreign_hugetlb(void **state)
{
	char *p = map(MAP_HUGETLB | 21 << 26);

	if (status != IBV_FORK_DISABLED)
		odd_range(p, true, false);
	munmap(p, BUFFER);
	never_again(p);
}

#define MAX_MAP_COUNT "/proc/sys/vm/max_map_count"

static void set_max_map_count(uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	assert_int_equal(look_write(MAX_MAP_COUNT, text), 0);
}

/* After ibv_fork_init() an MR amid a mapping makes it three. */
static void max_map_count(void **state)
{
	char *p = map(0);
	const struct hmr_error *e = hmr_last_error();
	uint64_t usual = look_number(MAX_MAP_COUNT);
	struct hmr_region *region;
	int ret;

	set_max_map_count(look_mappings());
	ret = hmr_register(dom, p + FROM, MIB, ALL, NULL, &region);
	set_max_map_count(usual);
	if (marks) {
		/* madvise() of newer kernels says the one for the other. */
		assert_true(ret == -ENOMEM || ret == -EAGAIN);
		print_message("  %s\n", e->text);
		assert_int_equal(e->cause, HMR_CAUSE_MAP_COUNT);
		assert_non_null(strstr(e->text, "vm.max_map_count"));
		ret = hmr_register(dom, p + FROM, MIB, ALL, NULL, &region);
	}
	assert_int_equal(ret, 0);
	assert_int_equal(hmr_deregister(region), 0);
	munmap(p, BUFFER);
}

/* Soft-RoCE of old keeps the MR that a queue pair used last, also after it was
 * deregistered: so the queue pairs go first. */
static void nothing_is_left(void **state)
{
	loopback_close(lb);
	lb = NULL;
	assert_int_equal(look_pins(), 0);
	assert_int_equal(look_status(getpid(), "VmPin"), 0);
}

/*
 * libibverbs asks the kernel over RDMA netlink whether it copies pinned pages
 * at a fork, and takes no answer for a no. So nobody gets such a socket.
 */
static int believe_in_old_kernel(void)
{
	const uint32_t nr = offsetof(struct seccomp_data, nr);
	const uint32_t family = offsetof(struct seccomp_data, args[0]);
	const uint32_t protocol = offsetof(struct seccomp_data, args[2]);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, family),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, protocol),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETLINK_RDMA, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(libibverbs_is_set_up),
		cmocka_unit_test(buffer_of_2m),
		cmocka_unit_test(buffer_of_thp),
		cmocka_unit_test(buffer_of_base_pages),
		cmocka_unit_test(shared_buffers),
		cmocka_unit_test(foreign_memory),
		cmocka_unit_test(foreign_hugetlb),
		cmocka_unit_test(max_map_count),
		cmocka_unit_test(nothing_is_left),
	};
	bool old;

	way = argc == 2 ? argv[1] : "";
	old = !strncmp(way, "old", 3);
	print_message("--- %s\n", way);
	if (old && believe_in_old_kernel()) {
		perror("seccomp");
		return 1;
	}
	if ((strstr(way, "init") || strstr(way, "safe")) && ibv_fork_init()) {
		perror("ibv_fork_init");
		return 1;
	}
	return cmocka_run_group_tests(tests, open_device, close_device);
}
