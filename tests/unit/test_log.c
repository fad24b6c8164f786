// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Messages and the last error of a thread. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "fake_verbs.h"
#include "internal.h"

static struct {
	int n;
	enum hmr_log_level level;
	char text[700];
	void *arg;
} seen;

static void record(enum hmr_log_level level, const char *text, void *arg)
{
	seen.n++;
	seen.level = level;
	snprintf(seen.text, sizeof(seen.text), "%s", text);
	seen.arg = arg;
}

static int log_setup(void **state)
{
	memset(&seen, 0, sizeof(seen));
	unsetenv("HUGEMR_LOG_LEVEL");
	return hmr_set_log(record, &seen, 0);
}

static int log_teardown(void **state)
{
	return hmr_set_log(NULL, NULL, 0);
}

static void fail_once(void)
{
	struct hmr_buffer *buf;

	assert_int_equal(hmr_buffer_alloc(0, NULL, &buf), -EINVAL);
}

static void failures_are_logged_at_info(void **state)
{
	fail_once();
	assert_int_equal(seen.n, 0);
	assert_int_equal(hmr_set_log(record, &seen, HMR_LOG_INFO), 0);
	fail_once();
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.level, HMR_LOG_INFO);
	assert_string_equal(seen.text, "hmr_buffer_alloc: a buffer of 0 bytes");
	assert_ptr_equal(seen.arg, &seen);
}

static void environment_sets_the_default_level(void **state)
{
	setenv("HUGEMR_LOG_LEVEL", "info", 1);
	assert_int_equal(hmr_set_log(record, &seen, 0), 0);
	fail_once();
	assert_int_equal(seen.n, 1);
	setenv("HUGEMR_LOG_LEVEL", "error", 1);
	assert_int_equal(hmr_set_log(record, &seen, 0), 0);
	hmr_log(HMR_LOG_WARN, "not shown");
	assert_int_equal(seen.n, 1);
	hmr_log(HMR_LOG_ERROR, "shown %d", 7);
	assert_int_equal(seen.n, 2);
	assert_string_equal(seen.text, "shown 7");
	/* The call is stronger than the environment. */
	assert_int_equal(hmr_set_log(record, &seen, HMR_LOG_DEBUG), 0);
	hmr_log(HMR_LOG_DEBUG, "shown");
	assert_int_equal(seen.n, 3);
}

static void unknown_level_is_refused(void **state)
{
	assert_int_equal(hmr_set_log(NULL, NULL, (enum hmr_log_level)5),
			 -EINVAL);
	assert_int_equal(hmr_set_log(NULL, NULL, (enum hmr_log_level) - 1),
			 -EINVAL);
	/* The old sink is still in place. */
	hmr_log(HMR_LOG_WARN, "still here");
	assert_int_equal(seen.n, 1);
}

static void long_messages_are_cut_not_overrun(void **state)
{
	char text[2000];
	struct hmr_error err = { .op = "op", .err = -EIO };

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(hmr_fail(&err, "%s", text), -EIO);
	assert_int_equal(strlen(hmr_last_error()->text),
			 sizeof(hmr_last_error()->text) - 1);
}

static void *other_thread(void *arg)
{
	const struct hmr_error *e = hmr_last_error();

	assert_string_equal(e->op, "");
	assert_int_equal(e->err, 0);
	assert_string_equal(e->text, "");
	return NULL;
}

static void each_thread_has_its_own_error(void **state)
{
	pthread_t thread;

	fail_once();
	pthread_create(&thread, NULL, other_thread, NULL);
	pthread_join(thread, NULL);
	assert_string_equal(hmr_last_error()->op, "hmr_buffer_alloc");
	assert_int_equal(hmr_last_error()->err, -EINVAL);
}

static void *set_and_log(void *arg)
{
	int i;

	for (i = 0; i < 2000; i++) {
		hmr_set_log(record, &seen, HMR_LOG_ERROR);
		hmr_log(HMR_LOG_WARN, "never shown");
	}
	return NULL;
}

/* For TSan: nothing to see but that it's quiet. */
static void sink_changes_while_others_log(void **state)
{
	pthread_t threads[4];
	int i;

	hmr_set_log(record, &seen, HMR_LOG_ERROR);
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, set_and_log, NULL);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(seen.n, 0);
}

static void version_is_the_projects(void **state)
{
	assert_string_equal(hmr_version(), "0.1.0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(failures_are_logged_at_info,
						log_setup, log_teardown),
		cmocka_unit_test_setup_teardown(
			environment_sets_the_default_level, log_setup,
			log_teardown),
		cmocka_unit_test_setup_teardown(unknown_level_is_refused,
						log_setup, log_teardown),
		cmocka_unit_test_setup_teardown(
			long_messages_are_cut_not_overrun, log_setup,
			log_teardown),
		cmocka_unit_test_setup_teardown(each_thread_has_its_own_error,
						log_setup, log_teardown),
		cmocka_unit_test_setup_teardown(sink_changes_while_others_log,
						log_setup, log_teardown),
		cmocka_unit_test(version_is_the_projects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
