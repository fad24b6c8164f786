// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What it costs to find out which pages back a range, against populating it. */
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

static uint64_t time_backing(const void *addr, size_t size)
{
	uint64_t t0 = bench_now();
	HMR_RESULT(hmr_backing, b);

	bench_check(hmr_backing(addr, size, &b), "backing");
	t0 = bench_now() - t0;
	if (b.absent || b.unknown) {
		fprintf(stderr, "bench: %lu absent, %lu unknown\n", b.absent,
			b.unknown);
		exit(1);
	}
	return t0;
}

static uint64_t median_backing(const struct bench_args *args, const void *addr,
			       size_t size)
{
	uint64_t *samples = calloc(args->rounds, sizeof(*samples));
	uint64_t median;
	unsigned int i;

	for (i = 0; i < args->rounds; i++)
		samples[i] = time_backing(addr, size);
	median = bench_median(samples, args->rounds);
	free(samples);
	return median;
}

int bench_backing(const struct bench_args *args)
{
	struct hmr_buffer *buf = bench_buffer(args, false);
	HMR_OPTS(hmr_populate_opts, opts, .threads = 1);
	HMR_RESULT(hmr_populate_report, report);
	uint64_t quarter, half, whole;
	char *p = hmr_buffer_addr(buf);

	bench_check(hmr_populate(p, args->size, &opts, &report), "populate");
	quarter = median_backing(args, p, args->size / 4);
	half = median_backing(args, p, args->size / 2);
	whole = median_backing(args, p, args->size);
	printf("backing %s %zu MiB, medians of %u: %.3f %% of populating; by "
	       "size 1/4 : 1/2 : 1 = %.2f : %.2f : 1.00 (%lu %s)\n",
	       args->pages_name, args->size / MIB, args->rounds,
	       100.0 * (double)whole / (double)report.ns,
	       (double)quarter / (double)whole, (double)half / (double)whole,
	       whole, bench_unit(args));
	return hmr_buffer_free(buf);
}
