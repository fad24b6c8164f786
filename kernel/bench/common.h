/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the benchmarks of the kernel share: a clock, figures and how they are
 * printed, files of /proc and /sys, and arguments. What fails ends the program. */
#ifndef COMMON_H
#define COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXIT_USAGE 2
/* the kernel or the machine lacks what is to be measured */
#define EXIT_NOT_HERE 77

#define KIB (1ul << 10)
#define MIB (1ul << 20)
#define PAGE (4 * KIB)
#define HUGE_PAGE (2 * MIB)

/* "PROGRAM: TEXT" on stderr, and exit. */
void die(int status, const char *format, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

/* CLOCK_MONOTONIC, and what it counts. */
uint64_t bench_now(void);
const char *bench_unit(void);

/* One figure for each round. */
struct series {
	uint64_t *values;
	unsigned int n;
};
void series_add(struct series *s, uint64_t value);
uint64_t series_min(const struct series *s);
uint64_t series_median(const struct series *s);
void series_free(struct series *s);
/* "NAME MIN (median MEDIAN)" */
void print_series(const char *name, const struct series *s);

/* One JSON object on a line of stdout. A name comes with each member. */
void json_open(const char *bench);
void json_text(const char *name, const char *text);
void json_number(const char *name, uint64_t value);
void json_bool(const char *name, bool value);
void json_null(const char *name);
void json_series(const char *name, const struct series *s);
void json_object(const char *name);
void json_end(void);
void json_close(void);
/* Check that stdout took what was printed. */
void print_done(void);

/* The first line of a file without its newline; false if it can't be read. */
bool file_read(const char *path, char *text, size_t size);
/* The field of a file of "NAME VALUE" or "NAME: VALUE kB", which is then in
 * bytes; false if there is none. */
bool file_field(const char *path, const char *name, uint64_t *value);
/* Write to a file that exists: 0 or -errno. */
int file_write(const char *path, const char *text);

/* Write to a setting until settings_restore() or the end of this program; one
 * that shows its choices, as "always [madvise] never", is understood. -errno,
 * such as -ENOENT, or 0. */
int setting_change(const char *path, const char *value);
void settings_restore(void);
/* Whether that is what a setting of choices has now. */
bool setting_is(const char *path, const char *value);

/* A number of an argument, or exit with EXIT_USAGE. */
unsigned long parse_number(const char *text, unsigned long min,
			   unsigned long max, const char *what);
/* How much to measure, how often, and how to tell: what all benchmarks have
 * options for. */
struct run {
	size_t size;
	unsigned int rounds;
	bool json;
};
#define RUN_DEFAULT ((struct run){ .size = 128 * MIB, .rounds = 5 })
/* --json, with those of a program alone from OPT_OWN on */
#define OPT_JSON 256
#define OPT_OWN 257
/* -m, -r, --json, or -h, which prints @help and ends the program, as any other
 * does with EXIT_USAGE. */
void parse_run(struct run *run, int option, const char *help);
/* Where the options ended there may be no more. */
void parse_end(int argc, char **argv, int next);

#endif /* COMMON_H */
