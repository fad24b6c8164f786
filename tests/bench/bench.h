/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the benchmarks share: a clock, medians, and checks that end the program.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hugemr/hugemr.h>

#define MIB (1ul << 20)
#define GIB (1ul << 30)

struct bench_args {
	size_t size;
	unsigned int rounds;
	enum hmr_pages pages;
	const char *pages_name;
	/* the clock counts instructions */
	bool instructions;
};

uint64_t bench_now(void);
uint64_t bench_median(uint64_t *samples, unsigned int n);
/* 0 means success; anything else prints hmr_last_error() and ends the program. */
void bench_check(int ret, const char *what);
const char *bench_unit(const struct bench_args *args);

struct ibv_pd *bench_pd(void);
struct hmr_buffer *bench_buffer(const struct bench_args *args, bool touched);

int bench_scaling(const struct bench_args *args);
int bench_populate(const struct bench_args *args);
int bench_overhead(const struct bench_args *args);
int bench_untouched(const struct bench_args *args);
int bench_backing(const struct bench_args *args);

#endif /* BENCH_H */
