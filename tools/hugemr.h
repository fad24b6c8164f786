/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files of the hugemr tool share: the shape of a command, and the way
 * from the command line to it.
 */
#ifndef HMR_TOOL_H
#define HMR_TOOL_H

struct json_object;

enum status {
	STATUS_OK,
	STATUS_FAILED,
	STATUS_USAGE,
};

/* A command runs, or it is a group and leads on to the commands below it. */
struct command {
	const char *name;
	const char *args; /* as shown in help */
	const char *help;
	int (*run)(int argc, char **argv);
	const struct command *group;
};

extern const struct command rxe_commands[];
extern const struct command mr_commands[];

/* The arguments that a simple command takes, and its only option. */
struct simple_args {
	int min;
	int max;
	int json; /* -1: has no such option; else 0 or 1 */
	int count;
	char *values[2];
};

/* What the kernel's errno means for a request. A table ends without text. */
struct reason {
	int err;
	const char *text;
};

const char *explain(const struct reason *reasons, int err);
void parse_simple(int argc, char **argv, const char *usage, const char *doc,
		  struct simple_args *args);
int print_json(struct json_object *object);

#endif
