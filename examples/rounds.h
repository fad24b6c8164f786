/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Measuring registration rounds of one page kind, and showing the results. */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hugemr/hugemr.h>

struct ibv_context;
struct ibv_pd;

/* What to measure. */
struct rounds_config {
	struct ibv_pd *pd;
	const char *device;
	uint8_t port;
	int gid_index;
	size_t size;
	/* stop after so many rounds, or if 0 after so many seconds */
	unsigned long rounds;
	double seconds;
	int access;
	/* bytes of an MR, or 0 for one MR; threads to register them with */
	size_t chunk;
	unsigned int pin_threads;
	unsigned int threads;
	bool verify;
	/* CLOCK_MONOTONIC counts instructions in place of nanoseconds */
	bool instructions;
};

/* Of the rounds after the first; all zero if there are none. */
struct rounds_series {
	uint64_t first;
	uint64_t min;
	uint64_t median;
	uint64_t p99;
	double mean;
};

/* What came out for one page kind. */
struct rounds_result {
	const char *name;
	/* 0, or why there are no figures */
	int err;
	char text[512];
	/* it was the buffer that couldn't be had, not its registration */
	bool no_buffer;
	/* of one thread's buffer; why it isn't larger pages, if it could be */
	struct hmr_backing backing;
	char why[512];
	/* over all threads */
	unsigned long rounds;
	struct rounds_series reg;
	struct rounds_series dereg;
	/* of the whole loop */
	uint64_t elapsed;
	unsigned long transfers;
};

/* Fill @r for buffers of @pages; r->err and the return value are the same. */
int rounds_measure(const struct rounds_config *config, enum hmr_pages pages,
		   struct rounds_result *r);

void rounds_print_table(const struct rounds_config *config,
			const struct rounds_result *results, unsigned int n);
/* One JSON object, or -ENOMEM and nothing printed. */
int rounds_print_json(const struct rounds_config *config,
		      const struct rounds_result *results, unsigned int n);

/* "4K", "2M", "1G", "12345": as options take it. */
#define ROUNDS_SIZE_TEXT 24
const char *rounds_size_text(uint64_t bytes, char text[ROUNDS_SIZE_TEXT]);

/* The access flags by name; each has the short one that options take. */
struct rounds_access {
	int flag;
	const char *option;
	const char *name;
};
extern const struct rounds_access rounds_accesses[];
extern const unsigned int rounds_n_accesses;

#endif /* ROUNDS_H */
