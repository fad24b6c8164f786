// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What to put into work requests: elements and keys of a region, and the same
 * at the peer. No transfer may touch two MRs under one key, so every list is
 * cut where they meet.
 */
#include <endian.h>
#include <limits.h>
#include <string.h>

#include "fork.h"
#include "region.h"
#include "verbs_ops.h"

#define WIRE_MAGIC "HMRK"
#define WIRE_VERSION 1
#define WIRE_HEAD 12
#define WIRE_KEY 20

static int check_region(const struct hmr_region *r, const char *op,
			unsigned int pd)
{
	if (hmr_is_foreign(r->generation))
		return hmr_foreign(op);
	if (r->lost)
		return hmr_fail(&(struct hmr_error){ .op = op, .err = -ESTALE },
				"the region was lost half-way: it can only be "
				"deregistered");
	if (pd >= r->dom->n_pds)
		return hmr_einval(op, "the region has no PD %u", pd);
	return 0;
}

/* The next piece of a range that lies under one key. */
static size_t next_piece(const struct hmr_region *r, size_t offset,
			 size_t length, size_t *chunk)
{
	size_t room;

	*chunk = hmr_split_index(&r->split, offset);
	room = hmr_split_offset(&r->split, *chunk + 1) - offset;
	if (length > room)
		length = room;
	return length < UINT32_MAX ? length : UINT32_MAX;
}

static size_t count_pieces(const struct hmr_region *r, size_t offset,
			   size_t length)
{
	size_t n, part, chunk;

	for (n = 0; length; n++) {
		part = next_piece(r, offset, length, &chunk);
		offset += part;
		length -= part;
	}
	return n;
}

HMR_API int hmr_sges(const struct hmr_region *r, unsigned int pd,
		     const void *addr, size_t length, struct ibv_sge *sge,
		     unsigned int max)
{
	struct hmr_error err = {
		.op = "hmr_sges",
		.err = -ERANGE,
		.addr = addr,
		.length = length,
		.cause = HMR_CAUSE_ARGUMENT,
	};
	size_t offset = (uintptr_t)addr - (uintptr_t)r->addr;
	size_t n, i, part, chunk;
	int ret;

	ret = check_region(r, err.op, pd);
	if (ret)
		return ret;
	if (!length)
		return hmr_einval(err.op, "0 bytes have no elements");
	if (offset >= r->split.length || length > r->split.length - offset)
		return hmr_fail(&err,
				"%zu bytes at %p aren't within the region of "
				"%zu bytes at %p",
				length, addr, r->split.length, r->addr);
	n = count_pieces(r, offset, length);
	for (i = 0; n <= max && i < n; i++) {
		part = next_piece(r, offset, length, &chunk);
		sge[i] = (struct ibv_sge){
			.addr = r->iova + offset,
			.length = (uint32_t)part,
			.lkey = r->mrs[pd * r->split.n + chunk]->lkey,
		};
		offset += part;
		length -= part;
	}
	return n > INT_MAX ? INT_MAX : (int)n;
}

HMR_API int hmr_keys(const struct hmr_region *r, unsigned int pd,
		     struct hmr_key *keys, unsigned int max)
{
	size_t i, n = r->split.n, from;
	const struct ibv_mr *mr;
	int ret;

	ret = check_region(r, "hmr_keys", pd);
	if (ret)
		return ret;
	for (i = 0; n <= max && i < n; i++) {
		from = hmr_split_offset(&r->split, i);
		mr = r->mrs[pd * n + i];
		keys[i] = (struct hmr_key){
			.addr = r->iova + from,
			.length = hmr_split_offset(&r->split, i + 1) - from,
			.lkey = mr->lkey,
			.rkey = mr->rkey,
		};
	}
	return n > INT_MAX ? INT_MAX : (int)n;
}

static void put32(unsigned char *p, uint32_t value)
{
	value = htobe32(value);
	memcpy(p, &value, sizeof(value));
}

static void put64(unsigned char *p, uint64_t value)
{
	value = htobe64(value);
	memcpy(p, &value, sizeof(value));
}

static uint32_t get32(const unsigned char *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return be32toh(value);
}

static uint64_t get64(const unsigned char *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return be64toh(value);
}

HMR_API int hmr_keys_pack(const struct hmr_key *keys, unsigned int n,
			  void *wire, size_t size)
{
	unsigned char *p = wire;
	size_t need = WIRE_HEAD + (size_t)n * WIRE_KEY;
	unsigned int i;

	if (!n)
		return hmr_einval("hmr_keys_pack", "no keys");
	if (need > INT_MAX)
		return hmr_fail(&(struct hmr_error){ .op = "hmr_keys_pack",
						     .err = -EOVERFLOW },
				"%u keys make a message of %zu bytes", n, need);
	if (need > size)
		return (int)need;
	memcpy(p, WIRE_MAGIC, 4);
	put32(p + 4, WIRE_VERSION);
	put32(p + 8, n);
	for (i = 0, p += WIRE_HEAD; i < n; i++, p += WIRE_KEY) {
		put64(p, keys[i].addr);
		put64(p + 8, keys[i].length);
		put32(p + 16, keys[i].rkey);
	}
	return (int)need;
}

static struct hmr_key get_key(const unsigned char *p)
{
	return (struct hmr_key){
		.addr = get64(p),
		.length = get64(p + 8),
		.rkey = get32(p + 16),
	};
}

static int protocol_error(const char *what)
{
	return hmr_fail(&(struct hmr_error){ .op = "hmr_keys_unpack",
					     .err = -EPROTO },
			"not a message of keys: %s", what);
}

/* NULL, or what is wrong with a key that comes behind @before. */
static const char *key_fault(const struct hmr_key *key,
			     const struct hmr_key *before)
{
	uint64_t last;

	if (!key->length)
		return "a key of 0 bytes";
	if (__builtin_add_overflow(key->addr, key->length - 1, &last))
		return "a key that wraps";
	if (before && key->addr - before->addr < before->length)
		return "keys overlap";
	if (before && key->addr < before->addr)
		return "keys are out of order";
	return NULL;
}

HMR_API int hmr_keys_unpack(const void *wire, size_t size, struct hmr_key *keys,
			    unsigned int max)
{
	const unsigned char *p = wire;
	struct hmr_key key, before;
	const char *fault;
	uint32_t n, i;

	if (size < WIRE_HEAD)
		return protocol_error("it is cut short");
	if (memcmp(p, WIRE_MAGIC, 4))
		return protocol_error("its first bytes are others");
	if (get32(p + 4) != WIRE_VERSION)
		return protocol_error("it is of another version");
	n = get32(p + 8);
	if (!n || n > INT_MAX || n > (size - WIRE_HEAD) / WIRE_KEY)
		return protocol_error("its keys are cut short");
	for (i = 0, p += WIRE_HEAD; i < n; i++, before = key) {
		key = get_key(p + (size_t)i * WIRE_KEY);
		fault = key_fault(&key, i ? &before : NULL);
		if (fault)
			return protocol_error(fault);
	}
	for (i = 0; n <= max && i < n; i++)
		keys[i] = get_key(p + (size_t)i * WIRE_KEY);
	return (int)n;
}

/* The key that holds an address: by halves, they are in order. */
static const struct hmr_key *find_key(const struct hmr_key *keys,
				      unsigned int n, uint64_t addr)
{
	unsigned int low = 0, high = n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (addr < keys[mid].addr)
			high = mid;
		else if (addr - keys[mid].addr >= keys[mid].length)
			low = mid + 1;
		else
			return &keys[mid];
	}
	return NULL;
}

HMR_API int hmr_remote_sge(const struct hmr_key *keys, unsigned int n,
			   uint64_t raddr, size_t length,
			   struct hmr_remote *remote, unsigned int max)
{
	unsigned int pieces, pass;

	if (!length)
		return hmr_einval("hmr_remote_sge", "0 bytes have no pieces");
	/* Twice: nothing is written unless everything fits. */
	for (pass = 0; pass < 2; pass++) {
		uint64_t at = raddr, left = length, part;

		for (pieces = 0; left; pieces++) {
			const struct hmr_key *key = find_key(keys, n, at);

			if (!key || pieces == INT_MAX)
				return hmr_fail(
					&(struct hmr_error){
						.op = "hmr_remote_sge",
						.err = -ERANGE,
						.length = length },
					"no key for remote address %#lx", at);
			part = key->length - (at - key->addr);
			part = part < left ? part : left;
			part = part < UINT32_MAX ? part : UINT32_MAX;
			if (pass)
				remote[pieces] = (struct hmr_remote){
					.addr = at,
					.length = (uint32_t)part,
					.rkey = key->rkey,
				};
			at += part;
			left -= part;
		}
		if (pieces > max)
			break;
	}
	return (int)pieces;
}
