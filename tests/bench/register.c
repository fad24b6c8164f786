// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* hmr_register() against bare ibv_reg_mr(), on memory that is there and on
 * memory that isn't. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "bench.h"

#define ACCESS                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_READ)

static uint64_t time_bare(struct ibv_pd *pd, void *addr, size_t size)
{
	uint64_t t0 = bench_now();
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, size, ACCESS);

	bench_check(mr ? 0 : errno, "ibv_reg_mr");
	bench_check(ibv_dereg_mr(mr), "ibv_dereg_mr");
	return bench_now() - t0;
}

static uint64_t time_hmr(struct hmr_domain *dom, void *addr, size_t size)
{
	uint64_t t0 = bench_now();
	struct hmr_region *region;

	bench_check(hmr_register(dom, addr, size, ACCESS, NULL, &region),
		    "register");
	bench_check(hmr_deregister(region), "deregister");
	return bench_now() - t0;
}

int bench_overhead(const struct bench_args *args)
{
	uint64_t *bare = calloc(args->rounds, sizeof(*bare));
	uint64_t *hmr = calloc(args->rounds, sizeof(*hmr));
	struct hmr_buffer *buf = bench_buffer(args, true);
	struct ibv_pd *pd = bench_pd();
	struct hmr_domain *dom;
	uint64_t a, b;
	unsigned int i;
	void *addr = hmr_buffer_addr(buf);

	bench_check(hmr_domain_open(&pd, 1, NULL, &dom), "domain");
	time_bare(pd, addr, args->size);
	time_hmr(dom, addr, args->size);
	for (i = 0; i < args->rounds; i++) {
		bare[i] = time_bare(pd, addr, args->size);
		hmr[i] = time_hmr(dom, addr, args->size);
	}
	a = bench_median(bare, args->rounds);
	b = bench_median(hmr, args->rounds);
	printf("overhead %s %zu KiB, register + deregister, medians of %u: "
	       "hugemr / verbs %.4f, %+ld %s (%lu against %lu)\n",
	       args->pages_name, args->size / 1024, args->rounds,
	       (double)b / (double)a, (long)(b - a), bench_unit(args), b, a);
	bench_check(hmr_domain_close(dom), "close");
	free(bare);
	free(hmr);
	return hmr_buffer_free(buf);
}

static uint64_t time_untouched(const struct bench_args *args, struct ibv_pd *pd,
			       struct hmr_domain *dom, bool bare)
{
	struct hmr_buffer *buf = bench_buffer(args, false);
	void *addr = hmr_buffer_addr(buf);
	uint64_t t;

	t = bare ? time_bare(pd, addr, args->size) :
		   time_hmr(dom, addr, args->size);
	bench_check(hmr_buffer_free(buf), "free");
	return t;
}

int bench_untouched(const struct bench_args *args)
{
	uint64_t *bare = calloc(args->rounds, sizeof(*bare));
	uint64_t *hmr = calloc(args->rounds, sizeof(*hmr));
	struct ibv_pd *pd = bench_pd();
	struct hmr_domain *dom;
	uint64_t a, b;
	unsigned int i;

	bench_check(hmr_domain_open(&pd, 1, NULL, &dom), "domain");
	time_untouched(args, pd, dom, true);
	for (i = 0; i < args->rounds; i++) {
		bare[i] = time_untouched(args, pd, dom, true);
		hmr[i] = time_untouched(args, pd, dom, false);
	}
	a = bench_median(bare, args->rounds);
	b = bench_median(hmr, args->rounds);
	printf("untouched %s %zu MiB, register + deregister, medians of %u: "
	       "verbs / hugemr %.2f (%lu against %lu %s)\n",
	       args->pages_name, args->size / MIB, args->rounds,
	       (double)a / (double)b, a, b, bench_unit(args));
	bench_check(hmr_domain_close(dom), "close");
	free(bare);
	free(hmr);
	return 0;
}
