// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What docs/threads.md says may run at the same time on one object does so here,
 * for ThreadSanitizer to watch; results are checked on the way.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fake_verbs.h"

#define LW IBV_ACCESS_LOCAL_WRITE
#define MIB (1ul << 20)
#define LENGTH (8 * MIB)
#define THREADS 4
#define ROUNDS 40

/* What all threads share. */
static struct hmr_domain *dom;
static struct hmr_buffer *buf;
static struct hmr_region *region;
static struct hmr_key keys[2];
static char *addr;

/* cmocka's assertions are for the main thread. */
#define must(cond)               \
	do {                     \
		if (!(cond))     \
			abort(); \
	} while (0)

static void look_at_buffer(void)
{
	HMR_RESULT(hmr_backing, b);

	must(hmr_buffer_addr(buf) == addr);
	must(hmr_buffer_length(buf) == LENGTH);
	must(hmr_buffer_mapped(buf) == LENGTH);
	must(hmr_buffer_pages(buf) == HMR_PAGES_4K);
	must(!hmr_buffer_why(buf)[0]);
	must(hmr_buffer_fd(buf) == -EBADF);
	must(!hmr_buffer_backing(buf, &b) && b.small == LENGTH);
	must(!hmr_backing(addr + 5, 4096, &b) && b.length == 8192);
}

static void look_at_region(void)
{
	struct hmr_report report = {
		.size = offsetof(struct hmr_report, backing),
	};
	struct hmr_key own[2];
	struct ibv_sge sge[2];

	hmr_region_report(region, &report);
	must(report.mrs == 2);
	must(hmr_keys(region, 0, own, 2) == 2);
	must(!memcmp(own, keys, sizeof(keys)));
	must(hmr_sges(region, 0, addr, LENGTH, sge, 2) == 2);
	must(sge[0].length + sge[1].length == LENGTH);
}

static void move_keys(void)
{
	unsigned char wire[64];
	struct hmr_remote remote[2];
	struct hmr_key got[2];

	must(hmr_keys_pack(keys, 2, wire, sizeof(wire)) == 52);
	must(hmr_keys_unpack(wire, 52, got, 2) == 2);
	must(hmr_remote_sge(got, 2, got[1].addr - 1, 2, remote, 2) == 2);
}

static void register_and_populate(void)
{
	HMR_OPTS(hmr_register_opts, opts, .chunk = 2 * MIB, .threads = 2);
	struct hmr_region *own;
	struct ibv_mr *mr;

	must(!hmr_populate(addr, LENGTH, NULL, NULL));
	must(!hmr_register(dom, addr, LENGTH, LW, &opts, &own));
	must(!hmr_deregister(own));
	mr = hmr_reg_mr(&fake_pds[0], addr, 4096, LW);
	must(mr && !hmr_dereg_mr(mr));
}

static void ask(void)
{
	HMR_RESULT(hmr_info, info);

	must(!hmr_info(&info));
	must(!strcmp(hmr_version(), "0.1.0"));
	must(!strcmp(hmr_cause_name(HMR_CAUSE_MEMLOCK), "memlock"));
}

static void plan(void)
{
	struct hmr_plan *p = calloc(1, sizeof(*p));

	must(p);
	p->size = sizeof(*p);
	must(!hmr_plan(dom, LENGTH, NULL, p) && p->n);
	free(p);
}

static void quiet(enum hmr_log_level level, const char *text, void *arg)
{
	atomic_fetch_add((atomic_uint *)arg, 1);
}

static atomic_uint messages;

static void fail_twice(void)
{
	struct hmr_domain *never;

	must(!hmr_set_log(quiet, &messages, HMR_LOG_INFO));
	must(hmr_populate(addr, 0, NULL, NULL) == -EINVAL);
	must(!strcmp(hmr_last_error()->op, "hmr_populate"));
	must(hmr_domain_open(NULL, 0, NULL, &never) == -EINVAL);
	must(!strcmp(hmr_last_error()->op, "hmr_domain_open"));
}

static void own_objects(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K);
	struct ibv_pd *pd = &fake_pds[1];
	struct hmr_domain *own_dom;
	struct hmr_region *own;
	struct hmr_buffer *own_buf;

	must(!hmr_domain_open(&pd, 1, NULL, &own_dom));
	must(!hmr_buffer_alloc(4 * MIB, &opts, &own_buf));
	must(!hmr_register(own_dom, hmr_buffer_addr(own_buf), 4 * MIB, LW, NULL,
			   &own));
	must(hmr_buffer_free(own_buf) == -EBUSY);
	must(!hmr_reregister(own, LW | IBV_ACCESS_REMOTE_READ));
	must(!hmr_domain_drain(own_dom));
	must(!hmr_domain_close(own_dom));
	must(!hmr_buffer_free(own_buf));
}

static void *do_all(void *arg)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		look_at_buffer();
		look_at_region();
		move_keys();
		register_and_populate();
		ask();
		fail_twice();
		own_objects();
	}
	plan();
	return NULL;
}

static void everything_at_once(void **state)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K);
	HMR_OPTS(hmr_register_opts, chunks, .chunk = 6 * MIB);
	struct ibv_pd *pd = &fake_pds[0];
	pthread_t threads[THREADS];
	int i;

	fake_freely(0, 0);
	assert_int_equal(hmr_domain_open(&pd, 1, NULL, &dom), 0);
	assert_int_equal(hmr_buffer_alloc(LENGTH, &opts, &buf), 0);
	addr = hmr_buffer_addr(buf);
	assert_int_equal(hmr_register(dom, addr, LENGTH, LW, &chunks, &region),
			 0);
	assert_int_equal(hmr_keys(region, 0, keys, 2), 2);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, do_all, NULL), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(messages >= 2 * THREADS * ROUNDS);
	assert_int_equal(hmr_set_log(NULL, NULL, 0), 0);
	assert_int_equal(hmr_deregister(region), 0);
	assert_int_equal(hmr_buffer_free(buf), 0);
	assert_int_equal(hmr_domain_close(dom), 0);
	assert_int_equal(fake_live_mrs(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(everything_at_once, fake_setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
