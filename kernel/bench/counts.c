// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A histogram trigger counts an event where it happens, so none gets lost as in
 * a buffer that overflows. Its one key is the event's type, the same each time.
 */
#include "counts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

const char *const count_names[] = {
	"page_ref_mod",
	"page_ref_mod_and_test",
	"page_ref_mod_unless",
};

static bool missing_event, missing_trigger;

const char *counts_missing(void)
{
	if (missing_event)
		return "no page_ref events in this kernel: CONFIG_DEBUG_PAGE_REF";
	if (missing_trigger)
		return "no histograms in this kernel: CONFIG_HIST_TRIGGERS";
	return "";
}

static void event_path(char path[128], const char *event, const char *file)
{
	const char *root = "/sys/kernel/tracing";

	if (access("/sys/kernel/tracing/events", F_OK))
		root = "/sys/kernel/debug/tracing";
	snprintf(path, 128, "%s/events/page_ref/%s/%s", root, event, file);
}

/* 0 or -errno. */
static int trigger(const char *event, const char *prefix, const char *suffix)
{
	char path[128], text[128];

	event_path(path, event, "trigger");
	snprintf(text, sizeof(text),
		 "%shist:keys=common_type%s if common_pid == %d", prefix,
		 suffix, getpid());
	return file_write(path, text);
}

static void remove_triggers(void)
{
	unsigned int i;

	for (i = 0; i < N_COUNTS; i++)
		trigger(count_names[i], "!", "");
}

void counts_begin(void)
{
	static bool cleans_up;
	unsigned int i;
	int ret;

	if (!cleans_up)
		cleans_up = !atexit(remove_triggers);
	for (i = 0; i < N_COUNTS; i++) {
		ret = trigger(count_names[i], "", ":pause");
		if (ret == -ENOENT)
			missing_event = true;
		else if (ret)
			missing_trigger = true;
	}
	for (i = 0; i < N_COUNTS; i++)
		trigger(count_names[i], "", ":cont");
}

void counts_end(struct counts *c)
{
	uint64_t dropped = 0;
	char path[128];
	unsigned int i;

	for (i = 0; i < N_COUNTS; i++)
		trigger(count_names[i], "", ":pause");
	for (i = 0; i < N_COUNTS; i++) {
		event_path(path, count_names[i], "hist");
		/* "    Hits: 12", below the entries */
		c->known[i] = file_field(path, "    Hits", &c->value[i]) &&
			      file_field(path, "    Dropped", &dropped);
		if (dropped)
			die(1, "%s: %" PRIu64 " events were dropped",
			    count_names[i], dropped);
	}
	remove_triggers();
}
