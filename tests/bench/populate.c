// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Populating against what a program would do without hugemr, and two threads
 * against one. Ways take turns, so that what disturbs the host disturbs all of
 * them; memory comes warm from the round before.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bench.h"

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

enum way {
	WAY_ONE_THREAD,
	WAY_TWO_THREADS,
	WAY_TOUCH,
	WAY_MAP_POPULATE,
	WAY_MEMSET_ONE,
	WAY_MEMSET_TWO,
	N_WAYS,
};

static void touch(char *p, size_t size)
{
	size_t i;

	for (i = 0; i < size; i += 4096)
		((volatile char *)p)[i] = 0;
}

struct half {
	char *p;
	size_t size;
};

static void *set_half(void *arg)
{
	struct half *h = arg;

	memset(h->p, 1, h->size);
	return NULL;
}

static uint64_t time_memset(const struct bench_args *args, int threads)
{
	struct hmr_buffer *buf = bench_buffer(args, true);
	char *p = hmr_buffer_addr(buf);
	struct half mine = { p, args->size / (size_t)threads };
	struct half other = { p + mine.size, args->size - mine.size };
	pthread_t thread;
	uint64_t t0 = bench_now();

	if (threads > 1)
		pthread_create(&thread, NULL, set_half, &other);
	set_half(&mine);
	if (threads > 1)
		pthread_join(thread, NULL);
	t0 = bench_now() - t0;
	bench_check(hmr_buffer_free(buf), "free");
	return t0;
}

/*
 * Tell tests/bench/vcpu_count.c, if it is there, that populating begins or ends:
 * a no-op by its displacement, which says with how many threads and which of the
 * two.
 */
#define MARK(id)                                         \
	asm volatile(".byte 0x0f, 0x1f, 0x80; .long %c0" \
		     :                                   \
		     : "i"(0x68750000 | (id))            \
		     : "memory")

static void mark(unsigned int threads, bool end)
{
#ifdef __x86_64__
	if (threads == 1 && end)
		MARK(0x11);
	else if (threads == 1)
		MARK(0x10);
	else if (end)
		MARK(0x21);
	else
		MARK(0x20);
#else
	(void)threads;
	(void)end;
#endif
}

static uint64_t time_populate(const struct bench_args *args,
			      unsigned int threads)
{
	HMR_OPTS(hmr_populate_opts, opts, .threads = threads);
	struct hmr_buffer *buf = bench_buffer(args, false);
	uint64_t t0;

	mark(threads, false);
	t0 = bench_now();
	bench_check(hmr_populate(hmr_buffer_addr(buf), args->size, &opts, NULL),
		    "populate");
	t0 = bench_now() - t0;
	mark(threads, true);
	bench_check(hmr_buffer_free(buf), "free");
	return t0;
}

static uint64_t time_touch(const struct bench_args *args)
{
	struct hmr_buffer *buf = bench_buffer(args, false);
	uint64_t t0 = bench_now();

	touch(hmr_buffer_addr(buf), args->size);
	t0 = bench_now() - t0;
	bench_check(hmr_buffer_free(buf), "free");
	return t0;
}

/* MAP_POPULATE comes before any advice, so THP can't be had by it except where
 * the host has THP always on; 0 where it would compare other pages. */
static uint64_t time_map_populate(const struct bench_args *args)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
	uint64_t t0;
	void *p;

	if (args->pages == HMR_PAGES_THP)
		return 0;
	if (args->pages == HMR_PAGES_2M)
		flags |= MAP_HUGETLB | 21 << MAP_HUGE_SHIFT;
	if (args->pages == HMR_PAGES_1G)
		flags |= MAP_HUGETLB | 30 << MAP_HUGE_SHIFT;
	/* Base pages are meant, also where the host has THP always on. */
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	t0 = bench_now();
	p = mmap(NULL, args->size, PROT_READ | PROT_WRITE, flags, -1, 0);
	t0 = bench_now() - t0;
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	if (p == MAP_FAILED) {
		perror("bench: mmap");
		exit(1);
	}
	munmap(p, args->size);
	return t0;
}

static uint64_t time_way(const struct bench_args *args, enum way way)
{
	switch (way) {
	case WAY_ONE_THREAD:
		return time_populate(args, 1);
	case WAY_TWO_THREADS:
		return time_populate(args, 2);
	case WAY_TOUCH:
		return time_touch(args);
	case WAY_MAP_POPULATE:
		return time_map_populate(args);
	case WAY_MEMSET_ONE:
		return time_memset(args, 1);
	default:
		return time_memset(args, 2);
	}
}

static void measure(const struct bench_args *args, unsigned int ways,
		    uint64_t median[N_WAYS])
{
	uint64_t *samples[N_WAYS];
	unsigned int round, way;

	for (way = 0; way < N_WAYS; way++)
		samples[way] = calloc(args->rounds, sizeof(uint64_t));
	time_way(args, WAY_TWO_THREADS); /* warm */
	for (round = 0; round < args->rounds; round++)
		for (way = 0; way < N_WAYS; way++)
			if (ways >> way & 1)
				samples[way][round] = time_way(args, way);
	for (way = 0; way < N_WAYS; way++) {
		median[way] = bench_median(samples[way], args->rounds);
		free(samples[way]);
	}
}

static double ratio(uint64_t a, uint64_t b)
{
	return (double)a / (double)b;
}

/* Two threads against one, and against what memory lets two threads do. */
int bench_scaling(const struct bench_args *args)
{
	uint64_t median[N_WAYS];

	measure(args,
		1u << WAY_ONE_THREAD | 1u << WAY_TWO_THREADS |
			1u << WAY_MEMSET_ONE | 1u << WAY_MEMSET_TWO,
		median);
	printf("scaling %s %zu MiB, medians of %u: two threads %.2fx one "
	       "(memset of present memory: %.2fx)",
	       args->pages_name, args->size / MIB, args->rounds,
	       ratio(median[WAY_ONE_THREAD], median[WAY_TWO_THREADS]),
	       ratio(median[WAY_MEMSET_ONE], median[WAY_MEMSET_TWO]));
	printf("\n  one %lu two %lu %s\n", median[WAY_ONE_THREAD],
	       median[WAY_TWO_THREADS], bench_unit(args));
	return 0;
}

/* One thread against what a program would do without hugemr. Touching base pages
 * takes a fault each: on some virtual machines, minutes. */
int bench_populate(const struct bench_args *args)
{
	uint64_t median[N_WAYS];

	measure(args,
		1u << WAY_ONE_THREAD | 1u << WAY_TOUCH | 1u << WAY_MAP_POPULATE,
		median);
	printf("populate %s %zu MiB, medians of %u: touch / one thread %.2f",
	       args->pages_name, args->size / MIB, args->rounds,
	       ratio(median[WAY_TOUCH], median[WAY_ONE_THREAD]));
	if (median[WAY_MAP_POPULATE])
		printf("; MAP_POPULATE / one thread %.2f",
		       ratio(median[WAY_MAP_POPULATE], median[WAY_ONE_THREAD]));
	printf("\n  one %lu %s\n", median[WAY_ONE_THREAD], bench_unit(args));
	return 0;
}
