// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "verify.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hugemr/hugemr.h>

#include "loopback.h"

#define BOUNDARY (2ul << 20)
#define MAX_BOUNDARIES 512
/* Bytes beside a transfer that must stay as they are. */
#define MARGIN 64

struct verify {
	struct loopback *lb;
	struct hmr_key *keys;
	unsigned int n_keys;
	char *addr;
	size_t length;
	unsigned long transfers;
};

/* Bytes that differ from place to place and from one use to the next. */
static void make_pattern(unsigned char *p, size_t length, uint64_t seed)
{
	uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u;
	size_t i;

	for (i = 0; i < length; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = (unsigned char)(x >> 32);
	}
}

static int differs(const char *what, size_t offset, const unsigned char *got,
		   const unsigned char *want, size_t length)
{
	size_t i;

	if (!memcmp(got, want, length))
		return 0;
	for (i = 0; got[i] == want[i]; i++)
		;
	fprintf(stderr,
		"verify: %s at offset %zu: got %#02x in place of %#02x\n", what,
		offset + i, got[i], want[i]);
	return -EIO;
}

/* One transfer at most touches two MRs, and then becomes two. */
static int transfer(struct verify *v, bool write, unsigned char *data,
		    size_t offset, size_t length)
{
	struct hmr_remote piece[2];
	int n, i, ret = 0;

	n = hmr_remote_sge(v->keys, v->n_keys, v->keys[0].addr + offset, length,
			   piece, 2);
	if (n < 0 || n > 2) {
		fprintf(stderr, "verify: %d pieces at offset %zu\n", n, offset);
		return -EINVAL;
	}
	for (i = 0; i < n && !ret; i++) {
		ret = write ? loopback_write(v->lb, data, piece[i].length,
					     piece[i].addr, piece[i].rkey) :
			      loopback_read(v->lb, data, piece[i].length,
					    piece[i].addr, piece[i].rkey);
		data += piece[i].length;
		v->transfers++;
	}
	return ret;
}

/* An RDMA write changes its target and nothing beside it. */
static int check_write(struct verify *v, size_t offset, size_t length)
{
	unsigned char want[VERIFY_MAX_TRANSFER + 2 * MARGIN];
	size_t before = offset < MARGIN ? offset : MARGIN;
	size_t after = v->length - offset - length;
	unsigned char *near = (unsigned char *)v->addr + offset - before;
	int ret;

	if (after > MARGIN)
		after = MARGIN;
	make_pattern(near, before + length + after, offset);
	memcpy(want, near, before + length + after);
	make_pattern(want + before, length, ~offset);
	ret = transfer(v, true, want + before, offset, length);
	if (ret)
		return ret;
	return differs("RDMA write", offset - before, near, want,
		       before + length + after);
}

/* An RDMA read returns what the CPU wrote. */
static int check_read(struct verify *v, size_t offset, size_t length)
{
	unsigned char *near = (unsigned char *)v->addr + offset;
	unsigned char got[VERIFY_MAX_TRANSFER];
	int ret;

	make_pattern(near, length, offset ^ 0x5555);
	ret = transfer(v, false, got, offset, length);
	if (ret)
		return ret;
	return differs("RDMA read", offset, got, near, length);
}

static int check_at(struct verify *v, size_t offset, size_t length)
{
	int ret;

	if (length > v->length)
		length = v->length;
	if (offset > v->length - length)
		offset = v->length - length;
	ret = check_write(v, offset, length);
	return ret ? ret : check_read(v, offset, length);
}

static int check_boundaries(struct verify *v)
{
	uintptr_t addr = (uintptr_t)v->addr;
	/* The first boundary behind the first byte, as an offset. */
	size_t first = BOUNDARY - addr % BOUNDARY;
	size_t n, count, i;
	int ret;

	if (first >= v->length)
		return 0;
	n = (v->length - 1 - first) / BOUNDARY + 1;
	count = n < MAX_BOUNDARIES ? n : MAX_BOUNDARIES;
	for (i = 0; i < count; i++) {
		size_t boundary = first + i * n / count * BOUNDARY;
		/* Odd, and another share of it on each side each time. */
		size_t before = 1 + 2 * (i * 37 % (VERIFY_MAX_TRANSFER / 2));

		ret = check_at(v, boundary - before, VERIFY_MAX_TRANSFER);
		if (ret)
			return ret;
	}
	return 0;
}

static int check_all(struct verify *v)
{
	int ret;

	ret = check_at(v, 0, VERIFY_MAX_TRANSFER);
	if (!ret)
		ret = check_at(v, 1, VERIFY_MAX_TRANSFER - 2);
	if (!ret)
		ret = check_at(v, 0, 1);
	if (!ret)
		ret = check_at(v, v->length - 1, 1);
	if (!ret)
		ret = check_at(v, v->length, VERIFY_MAX_TRANSFER);
	return ret ? ret : check_boundaries(v);
}

int verify_region(struct loopback *lb, const struct hmr_region *region,
		  char *addr, size_t length, unsigned long *transfers)
{
	struct verify v = { .lb = lb, .addr = addr, .length = length };
	int ret, n;

	n = hmr_keys(region, 0, NULL, 0);
	if (n < 0)
		return n;
	v.keys = calloc((size_t)n, sizeof(*v.keys));
	if (!v.keys)
		return -ENOMEM;
	v.n_keys = (unsigned int)n;
	ret = hmr_keys(region, 0, v.keys, v.n_keys);
	if (ret > 0)
		ret = check_all(&v);
	*transfers += v.transfers;
	free(v.keys);
	return ret;
}
