// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Structs that start with their size, across versions of the header. */
#include "fake_verbs.h"
#include "opts.h"

struct old {
	size_t size;
	uint64_t a;
};

struct now {
	size_t size;
	uint64_t a;
	uint64_t b;
};

struct new
{
	size_t size;
	uint64_t a;
	uint64_t b;
	uint64_t c;
};

static void check(void **state)
{
	struct old o = { .size = sizeof(o), .a = 1 };
	struct now n = { .size = sizeof(n), .a = 1, .b = 2 };
	struct new w = { .size = sizeof(w), .a = 1, .b = 2 };
	struct now none = { .size = 0 };
	struct now tiny = { .size = sizeof(size_t) - 1 };

	assert_int_equal(hmr_opts_check(NULL, sizeof(n)), 0);
	assert_int_equal(hmr_opts_check(&o, sizeof(n)), 0);
	assert_int_equal(hmr_opts_check(&n, sizeof(n)), 0);
	assert_int_equal(hmr_opts_check(&w, sizeof(n)), 0);
	w.c = 1ull << 56; /* the last byte of it */
	assert_int_equal(hmr_opts_check(&w, sizeof(n)), -E2BIG);
	assert_int_equal(hmr_opts_check(&none, sizeof(n)), -EINVAL);
	assert_int_equal(hmr_opts_check(&tiny, sizeof(n)), -EINVAL);
}

static void get(void **state)
{
	struct {
		struct old o;
		uint64_t not_theirs;
	} caller = { { .size = sizeof(struct old), .a = 1 }, 99 };
	const struct now *n = (const void *)&caller;
	const struct now *null = NULL;

	assert_int_equal(HMR_OPTS_GET(n, a), 1);
	assert_int_equal(HMR_OPTS_GET(n, b), 0);
	assert_int_equal(HMR_OPTS_GET(null, b), 0);
	/* A field that is only half there isn't there. */
	caller.o.size += 4;
	assert_int_equal(HMR_OPTS_GET(n, b), 0);
	caller.o.size += 4;
	assert_int_equal(HMR_OPTS_GET(n, b), 99);
}

static void result(void **state)
{
	const struct now from = { .a = 1, .b = 2 };
	struct {
		struct old o;
		uint64_t not_theirs;
	} caller = { { .size = sizeof(struct old) }, 99 };
	struct new w = { .size = sizeof(w), .c = 3 };
	struct now none = { .size = 0, .a = 7 };

	hmr_result_copy(&caller, &from, sizeof(from));
	assert_int_equal(caller.o.size, sizeof(struct old));
	assert_int_equal(caller.o.a, 1);
	assert_int_equal(caller.not_theirs, 99);

	hmr_result_copy(&w, &from, sizeof(from));
	assert_int_equal(w.size, sizeof(w));
	assert_int_equal(w.a, 1);
	assert_int_equal(w.b, 2);
	assert_int_equal(w.c, 0);

	hmr_result_copy(&none, &from, sizeof(from));
	assert_int_equal(none.a, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check),
		cmocka_unit_test(get),
		cmocka_unit_test(result),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
