// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * pins [--big] [PATTERN]: what pinning memory for a device must keep to,
 * whatever the kernel does to be fast at it: through soft-RoCE, and through
 * gup_test where the kernel has it. Runs in a guest with 2 GiB and 64 pages of
 * 2 MiB, as root. All of it holds for any kernel; what some kernels haven't got
 * is skipped with the reason, and --big adds MRs beyond 1 GiB, which some
 * refuse.
 */
#include <getopt.h>

#include "pins.h"

static const struct {
	const struct pins_test *tests;
	const char *(*missing)(void);
} groups[] = {
	{ pins_content_tests, NULL },
	{ pins_change_tests, NULL },
	{ pins_fork_tests, NULL },
	{ pins_refuse_tests, NULL },
	{ pins_movable_tests, pins_no_movable },
	{ pins_cma_tests, pins_no_cma },
	{ pins_gup_tests, pins_no_gup },
};

#define N_GROUPS (sizeof(groups) / sizeof(*groups))
#define MAX_TESTS 400

static struct CMUnitTest tests[MAX_TESTS];
static size_t n_tests;

static void add(const struct pins_test *test, const struct pins_kind *kind)
{
	char *name;

	if (asprintf(&name, kind ? "%s: %s" : "%s", test->name,
		     kind ? kind->name : NULL) < 0 ||
	    n_tests == MAX_TESTS)
		abort();
	tests[n_tests++] = (struct CMUnitTest){
		.name = name,
		.test_func = test->run,
		.setup_func = pins_setup,
		.teardown_func = pins_teardown,
		.initial_state = (void *)(uintptr_t)kind,
	};
}

static void add_group(const struct pins_test *test)
{
	const struct pins_kind *kind;

	for (; test->name; test++) {
		if (!test->each) {
			add(test, NULL);
			continue;
		}
		for (kind = pins_kinds; kind < pins_kinds + pins_n_kinds;
		     kind++)
			if ((kind->flags & test->with) == test->with &&
			    !(kind->flags & test->without))
				add(test, kind);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "big", no_argument, NULL, 'b' },
		{ NULL, 0, NULL, 0 },
	};
	const char *missing;
	size_t i;
	int c;

	/* What was said before a timeout */
	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != 'b')
			return 2;
		add_group(pins_big_tests);
	}
	for (i = 0; i < N_GROUPS; i++) {
		missing = groups[i].missing ? groups[i].missing() : NULL;
		if (missing)
			printf("%s\n", missing);
		else
			add_group(groups[i].tests);
	}
	if (optind < argc)
		cmocka_set_test_filter(argv[optind]);
	return _cmocka_run_group_tests("pins", tests, n_tests, pins_open_device,
				       pins_close_device);
}
