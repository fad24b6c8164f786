// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* bench NAME PAGES SIZE_MIB ROUNDS: figures as ratios within one run. */
#include "bench.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t bench_median(uint64_t *samples, unsigned int n)
{
	qsort(samples, n, sizeof(*samples), compare);
	return (samples[(n - 1) / 2] + samples[n / 2]) / 2;
}

void bench_check(int ret, const char *what)
{
	if (!ret)
		return;
	fprintf(stderr, "bench: %s: %s: %s\n", what,
		strerror(ret < 0 ? -ret : ret), hmr_last_error()->text);
	exit(1);
}

const char *bench_unit(const struct bench_args *args)
{
	return args->instructions ? "instructions" : "ns";
}

struct ibv_pd *bench_pd(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct ibv_pd *pd;

	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	pd = context ? ibv_alloc_pd(context) : NULL;
	bench_check(pd ? 0 : ENODEV, "an RDMA device");
	ibv_free_device_list(list);
	return pd;
}

struct hmr_buffer *bench_buffer(const struct bench_args *args, bool touched)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = args->pages,
		 .flags = touched ? 0 : HMR_BUFFER_UNTOUCHED);
	struct hmr_buffer *buf;

	bench_check(hmr_buffer_alloc(args->size, &opts, &buf), "buffer");
	return buf;
}

static const struct {
	const char *name;
	int (*run)(const struct bench_args *args);
} benches[] = {
	{ "scaling", bench_scaling },	{ "populate", bench_populate },
	{ "overhead", bench_overhead }, { "untouched", bench_untouched },
	{ "backing", bench_backing },
};

static const struct {
	const char *name;
	enum hmr_pages pages;
} kinds[] = {
	{ "1G", HMR_PAGES_1G },
	{ "2M", HMR_PAGES_2M },
	{ "thp", HMR_PAGES_THP },
	{ "4k", HMR_PAGES_4K },
};

int main(int argc, char **argv)
{
	const char *clock = getenv("HUGEMR_CLOCK");
	struct bench_args args = {
		.instructions = clock && !strcmp(clock, "instructions"),
	};
	unsigned int i, j;

	if (argc != 5)
		goto usage;
	args.size = strtoul(argv[3], NULL, 10) * MIB;
	args.rounds = (unsigned int)strtoul(argv[4], NULL, 10);
	/* 0 MiB stands for one page. */
	if (!args.size)
		args.size = 4096;
	if (!args.rounds)
		goto usage;
	for (i = 0; i < sizeof(benches) / sizeof(benches[0]); i++) {
		if (strcmp(argv[1], benches[i].name))
			continue;
		for (j = 0; j < sizeof(kinds) / sizeof(kinds[0]); j++) {
			if (strcmp(argv[2], kinds[j].name))
				continue;
			args.pages = kinds[j].pages;
			args.pages_name = kinds[j].name;
			return benches[i].run(&args);
		}
	}
usage:
	fprintf(stderr,
		"Usage: bench scaling|populate|overhead|untouched|backing "
		"1G|2M|thp|4k SIZE_MIB ROUNDS\n");
	return 2;
}
