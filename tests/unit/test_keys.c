// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Keys on the wire, and remote ranges cut on their borders. */
#include <stdlib.h>

#include "fake_verbs.h"

static const struct hmr_key keys[] = {
	{ .addr = 0x1000, .length = 0x800, .lkey = 1, .rkey = 0x11 },
	{ .addr = 0x1800, .length = 0x10, .lkey = 2, .rkey = 0x22 },
	{ .addr = 0x1810, .length = 1ull << 33, .lkey = 3, .rkey = 0x33 },
	/* a hole of one byte */
	{ .addr = 0x1811 + (1ull << 33), .length = 5, .lkey = 4, .rkey = 0x44 },
};
#define N 4
#define BYTES (12 + 20 * N)

static void the_wire_is_as_documented(void **state)
{
	static const unsigned char want[32] = {
		'H', 'M', 'R',	'K', 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0,
		0,   0,	  0x10, 0,   0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0x11,
	};
	unsigned char wire[32];

	assert_int_equal(hmr_keys_pack(keys, 1, wire, 32), 32);
	assert_memory_equal(wire, want, 32);
}

static void there_and_back(void **state)
{
	unsigned char wire[BYTES + 1];
	struct hmr_key got[N];
	unsigned int i;

	assert_int_equal(hmr_keys_pack(keys, N, wire, BYTES), BYTES);
	assert_int_equal(hmr_keys_unpack(wire, BYTES + 1, got, N), N);
	for (i = 0; i < N; i++) {
		assert_int_equal(got[i].addr, keys[i].addr);
		assert_int_equal(got[i].length, keys[i].length);
		assert_int_equal(got[i].rkey, keys[i].rkey);
		assert_int_equal(got[i].lkey, 0);
	}
}

static void what_does_not_fit_is_not_written(void **state)
{
	unsigned char wire[BYTES];
	struct hmr_key got = { .addr = 77 };

	memset(wire, 0x5a, sizeof(wire));
	assert_int_equal(hmr_keys_pack(keys, N, wire, BYTES - 1), BYTES);
	assert_int_equal(wire[0], 0x5a);
	assert_int_equal(hmr_keys_pack(keys, N, NULL, 0), BYTES);
	assert_int_equal(hmr_keys_pack(keys, N, wire, BYTES), BYTES);
	assert_int_equal(hmr_keys_unpack(wire, BYTES, &got, 1), N);
	assert_int_equal(got.addr, 77);
}

static void bad_packs(void **state)
{
	assert_int_equal(hmr_keys_pack(keys, 0, NULL, 0), -EINVAL);
	assert_int_equal(hmr_keys_pack(keys, UINT32_MAX, NULL, 0), -EOVERFLOW);
}

static void messages_are_not_trusted(void **state)
{
	const struct {
		unsigned int at;
		unsigned char byte;
	} changes[] = {
		{ 0, 'X' }, /* magic */
		{ 7, 2 }, /* version */
		{ 11, N + 1 }, /* more keys than bytes */
		{ 8, 0xff }, /* a number that is no int */
		{ 11, 0 }, /* no keys */
		{ 12 + 14, 0 }, /* first key: length 0 */
		{ 12 + 14, 9 }, /* first key overlaps the second */
		{ 12 + 20, 0xff }, /* second key is behind the third */
	};
	unsigned char wire[BYTES];
	struct hmr_key got[N];
	unsigned int i;

	for (i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		assert_int_equal(hmr_keys_pack(keys, N, wire, BYTES), BYTES);
		wire[changes[i].at] = changes[i].byte;
		assert_int_equal(hmr_keys_unpack(wire, BYTES, got, N), -EPROTO);
	}
	assert_int_equal(hmr_keys_pack(keys, N, wire, BYTES), BYTES);
	for (i = 0; i < BYTES; i++)
		assert_int_equal(hmr_keys_unpack(wire, i, got, N), -EPROTO);
	/* A key that wraps around. */
	memset(wire + 12, 0xff, 16);
	wire[11] = 1;
	assert_int_equal(hmr_keys_unpack(wire, BYTES, got, N), -EPROTO);
}

static void random_messages_do_no_harm(void **state)
{
	unsigned char *wire;
	struct hmr_key got[N];
	unsigned int i, j, size;

	srand(1);
	for (i = 0; i < 20000; i++) {
		/* On the heap, so that ASan sees a byte too far. */
		size = (unsigned int)rand() % (BYTES + 1);
		wire = malloc(size ? size : 1);
		if (size >= 12)
			memcpy(wire, "HMRK\0\0\0\1\0\0\0", 11);
		for (j = 11; j < size; j++)
			wire[j] = (unsigned char)(rand() % 4);
		if (size < 12)
			memset(wire, 'H', size);
		assert_true(hmr_keys_unpack(wire, size, got, N) <= N);
		free(wire);
	}
}

static void remote_ranges_are_cut_on_keys(void **state)
{
	struct hmr_remote r[8];

	assert_int_equal(hmr_remote_sge(keys, N, 0x1000, 0x800, r, 8), 1);
	assert_int_equal(r[0].addr, 0x1000);
	assert_int_equal(r[0].length, 0x800);
	assert_int_equal(r[0].rkey, 0x11);

	assert_int_equal(hmr_remote_sge(keys, N, 0x17ff, 0x12, r, 8), 3);
	assert_int_equal(r[0].length, 1);
	assert_int_equal(r[1].addr, 0x1800);
	assert_int_equal(r[1].length, 0x10);
	assert_int_equal(r[1].rkey, 0x22);
	assert_int_equal(r[2].addr, 0x1810);
	assert_int_equal(r[2].length, 1);

	/* 8 GiB under one key take three pieces of 32 bits. */
	assert_int_equal(hmr_remote_sge(keys, N, 0x1810, 1ull << 33, r, 8), 3);
	assert_int_equal(r[0].length, UINT32_MAX);
	assert_int_equal(r[2].length, 2);
	assert_int_equal(r[2].rkey, 0x33);

	memset(r, 0, sizeof(r));
	assert_int_equal(hmr_remote_sge(keys, N, 0x17ff, 0x12, r, 2), 3);
	assert_int_equal(r[0].length, 0);
}

static void remote_ranges_without_a_key(void **state)
{
	struct hmr_remote r = { .addr = 77 };

	assert_int_equal(hmr_remote_sge(keys, N, 0x1000, 0, &r, 1), -EINVAL);
	assert_int_equal(hmr_remote_sge(keys, N, 0xfff, 1, &r, 1), -ERANGE);
	assert_int_equal(hmr_remote_sge(keys, N, 0xfff, 2, &r, 1), -ERANGE);
	assert_int_equal(hmr_remote_sge(keys, N, 0x1810 + (1ull << 33), 1, &r,
					1),
			 -ERANGE);
	assert_int_equal(hmr_remote_sge(keys, N, 0x1811 + (1ull << 33), 6, &r,
					1),
			 -ERANGE);
	assert_int_equal(hmr_remote_sge(keys, 0, 0x1000, 1, &r, 1), -ERANGE);
	assert_int_equal(hmr_remote_sge(keys, N, UINT64_MAX, 2, &r, 1),
			 -ERANGE);
	assert_int_equal(r.addr, 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_wire_is_as_documented),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(what_does_not_fit_is_not_written),
		cmocka_unit_test(bad_packs),
		cmocka_unit_test(messages_are_not_trusted),
		cmocka_unit_test(random_messages_do_no_harm),
		cmocka_unit_test(remote_ranges_are_cut_on_keys),
		cmocka_unit_test(remote_ranges_without_a_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
