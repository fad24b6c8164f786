/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How often this process changes reference counts of pages. */
#ifndef COUNTS_H
#define COUNTS_H

#include <stdbool.h>
#include <stdint.h>

#define N_COUNTS 3

struct counts {
	/* false where the kernel can't count it */
	bool known[N_COUNTS];
	uint64_t value[N_COUNTS];
};

/* The events by name; there are N_COUNTS. */
extern const char *const count_names[];

/* Count from here, until counts_end() fills @c. */
void counts_begin(void);
void counts_end(struct counts *c);
/* Why a count isn't known. */
const char *counts_missing(void);

#endif /* COUNTS_H */
