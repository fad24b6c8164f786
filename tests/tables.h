/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* For programs whose tests are in several files: each file has a table of its
 * own, which ends with one without a name. Goes after cmocka.h. */
#ifndef TABLES_H
#define TABLES_H

#include <stdlib.h>

static inline int run_tables(const struct CMUnitTest *const *tables,
			     CMFixtureFunction setup,
			     CMFixtureFunction teardown)
{
	static struct CMUnitTest tests[100];
	const struct CMUnitTest *test;
	size_t n = 0;

	for (; *tables; tables++)
		for (test = *tables; test->name; test++) {
			if (n == sizeof(tests) / sizeof(*tests))
				abort();
			tests[n++] = *test;
		}
	return _cmocka_run_group_tests("tests", tests, n, setup, teardown);
}

/* RUN_TABLES(setup, teardown, table...): the tests of all tables, in order, as
 * one group */
#define RUN_TABLES(setup, teardown, ...)                                    \
	run_tables((const struct CMUnitTest *const[]){ __VA_ARGS__, NULL }, \
		   setup, teardown)

#endif /* TABLES_H */
