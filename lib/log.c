// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Messages, and the last error of each thread. */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "log.h"

static const char *const level_names[] = {
	[HMR_LOG_ERROR] = "error",
	[HMR_LOG_WARN] = "warn",
	[HMR_LOG_INFO] = "info",
	[HMR_LOG_DEBUG] = "debug",
};

static void log_stderr(enum hmr_log_level level, const char *text, void *arg)
{
	fprintf(stderr, "hugemr[%d]: %s: %s\n", getpid(), level_names[level],
		text);
}

/* Held for reading around each call of the sink, so that whoever replaced it
 * may free what the old one used. */
static pthread_rwlock_t sink_lock = PTHREAD_RWLOCK_INITIALIZER;
static hmr_log_fn sink = log_stderr;
static void *sink_arg;

/* 0 until first asked for. Relaxed everywhere: a message that meets a change of
 * level may go either way. */
static atomic_int threshold;

static _Thread_local struct hmr_error last_error = { .op = "" };

static int level_from_env(void)
{
	const char *name = secure_getenv("HUGEMR_LOG_LEVEL");
	int level;

	if (!name)
		return HMR_LOG_WARN;
	for (level = HMR_LOG_ERROR; level <= HMR_LOG_DEBUG; level++)
		if (!strcmp(name, level_names[level]))
			return level;
	log_stderr(HMR_LOG_WARN,
		   "HUGEMR_LOG_LEVEL is none of error, warn, info, debug",
		   NULL);
	return HMR_LOG_WARN;
}

static int log_threshold(void)
{
	int level = atomic_load_explicit(&threshold, memory_order_relaxed);
	int unset = 0;

	if (level)
		return level;
	level = level_from_env();
	/* A level set meanwhile by hmr_set_log() wins. */
	if (atomic_compare_exchange_strong(&threshold, &unset, level))
		return level;
	return unset;
}

static void log_text(enum hmr_log_level level, const char *text)
{
	pthread_rwlock_rdlock(&sink_lock);
	sink(level, text, sink_arg);
	pthread_rwlock_unlock(&sink_lock);
}

void hmr_log(enum hmr_log_level level, const char *fmt, ...)
{
	char text[640];
	va_list ap;

	if ((int)level > log_threshold())
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_text(level, text);
}

int hmr_fail(const struct hmr_error *err, const char *fmt, ...)
{
	struct hmr_error e = *err;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	/* Only now: the text may have been made from the last error's. */
	last_error = e;
	hmr_log(HMR_LOG_INFO, "%s: %s", e.op, e.text);
	return e.err;
}

int hmr_fail_opts(struct hmr_error *err)
{
	err->cause = HMR_CAUSE_ARGUMENT;
	if (err->err == -E2BIG)
		return hmr_fail(err,
				"an option is set that hugemr %s doesn't know",
				HMR_VERSION);
	return hmr_fail(err, "the options have no size");
}

void hmr_log_forked(void)
{
	pthread_rwlock_init(&sink_lock, NULL);
}

HMR_API const struct hmr_error *hmr_last_error(void)
{
	return &last_error;
}

HMR_API int hmr_set_log(hmr_log_fn fn, void *arg, enum hmr_log_level level)
{
	if ((int)level < 0 || level > HMR_LOG_DEBUG)
		return hmr_einval("hmr_set_log", "there is no log level %d",
				  (int)level);
	if (!level)
		level = level_from_env();
	pthread_rwlock_wrlock(&sink_lock);
	sink = fn ? fn : log_stderr;
	sink_arg = arg;
	atomic_store_explicit(&threshold, level, memory_order_relaxed);
	pthread_rwlock_unlock(&sink_lock);
	return 0;
}

HMR_API const char *hmr_version(void)
{
	return HMR_VERSION;
}
