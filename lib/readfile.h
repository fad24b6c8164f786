/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small files of /proc and /sys below a root directory. A file that isn't there
 * means that the kernel lacks what it tells of, so nothing here fails: callers
 * say what they take for the answer then.
 */
#ifndef HMR_READFILE_H
#define HMR_READFILE_H

#include <limits.h>
#include <stdio.h>

#include "internal.h"

/* What is put before each path where a caller can't say: "" for the host;
 * tests put a directory here. */
extern const char *hmr_root;

struct hmr_reader {
	const char *root;
	char path[PATH_MAX];
	char line[4096];
};

void hmr_reader_path(struct hmr_reader *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The first line of the file at r->path; NULL if it can't be read. */
const char *hmr_read_line(struct hmr_reader *r);

/* The number that the file at r->path begins with. */
uint64_t hmr_read_u64(struct hmr_reader *r, uint64_t otherwise);

/* The number on the line of the file at r->path that begins with @key, which
 * may have blanks before it. */
uint64_t hmr_read_key(struct hmr_reader *r, const char *key,
		      uint64_t otherwise);

/* Call back for each line of the file at r->path. */
void hmr_read_lines(struct hmr_reader *r, void (*fn)(char *line, void *arg),
		    void *arg);

/* Undo what the kernel does to blanks in the paths it prints: "\040". */
void hmr_unescape(char *text);

#endif /* HMR_READFILE_H */
