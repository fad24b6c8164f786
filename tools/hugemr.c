// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* hugemr: one tool, its sub-commands in a table, each in a file of its own. */
#include "hugemr.h"

#include <argp.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command commands[] = {
	{
		.name = "rxe",
		.args = "add|del|show ...",
		.help = "soft-RoCE devices on network devices",
		.group = rxe_commands,
	},
	{
		.name = "mr",
		.args = "show ...",
		.help = "memory regions that the kernel has registered",
		.group = mr_commands,
	},
	{},
};

/* What parsing a group's arguments finds: the command and where it stands. */
struct group {
	const struct command *commands;
	const struct command *chosen;
	int index;
};

static const struct command *find(const struct command *table, const char *name)
{
	for (; table->name; table++)
		if (!strcmp(table->name, name))
			return table;
	return NULL;
}

static error_t parse_group(int key, char *arg, struct argp_state *state)
{
	struct group *group = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		group->chosen = find(group->commands, arg);
		if (!group->chosen)
			argp_error(state, "unknown command '%s'", arg);
		/* what follows belongs to the command */
		group->index = state->next - 1;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "a command is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The list of commands in --help is the table itself. */
static char *list_commands(int key, const char *text, void *input)
{
	const struct group *group = input;
	const struct command *command;
	size_t size;
	char *list;
	FILE *out;

	if (key != ARGP_KEY_HELP_POST_DOC)
		return (char *)text;
	out = open_memstream(&list, &size);
	if (!out)
		return (char *)text;
	fprintf(out, "Commands:\n");
	for (command = group->commands; command->name; command++)
		fprintf(out, "  %s %s\n\t%s\n", command->name, command->args,
			command->help);
	fclose(out);
	return list;
}

static int run_group(const struct command *table, int argc, char **argv)
{
	const struct argp argp = {
		.parser = parse_group,
		.args_doc = "COMMAND [ARG...]",
		.help_filter = list_commands,
	};
	struct group group = { .commands = table };
	const struct command *chosen;
	char *name;
	int status;

	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &group);
	chosen = group.chosen;
	argc -= group.index;
	argv += group.index;

	/* messages name the whole command, not only its last word */
	if (asprintf(&name, "%s %s", argv[-group.index], chosen->name) < 0)
		return STATUS_FAILED;
	argv[0] = name;
	if (chosen->group)
		status = run_group(chosen->group, argc, argv);
	else
		status = chosen->run(argc, argv);
	free(name);
	return status;
}

static error_t parse_arg(int key, char *arg, struct argp_state *state)
{
	struct simple_args *args = state->input;

	switch (key) {
	case 'j':
		args->json = 1;
		return 0;
	case ARGP_KEY_ARG:
		if (args->count == args->max)
			argp_error(state, "unexpected argument '%s'", arg);
		args->values[args->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (args->count < args->min)
			argp_error(state, "an argument is missing");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void parse_simple(int argc, char **argv, const char *usage, const char *doc,
		  struct simple_args *args)
{
	static const struct argp_option json_option[] = {
		{ "json", 'j', NULL, 0, "print JSON", 0 },
		{},
	};
	const struct argp argp = {
		.options = args->json < 0 ? NULL : json_option,
		.parser = parse_arg,
		.args_doc = usage,
		.doc = doc,
	};

	argp_parse(&argp, argc, argv, 0, NULL, args);
}

/* In words: what the request's own table says, else what is always so. */
const char *explain(const struct reason *reasons, int err)
{
	for (; reasons && reasons->text; reasons++)
		if (reasons->err == err)
			return reasons->text;
	switch (err) {
	case EPERM:
		return "this needs CAP_NET_ADMIN (run it as root)";
	case EPROTONOSUPPORT:
		return "the kernel has no RDMA support loaded "
		       "(try: modprobe rdma_rxe)";
	default:
		return strerror(err);
	}
}

/* Print and release it. */
int print_json(struct json_object *object)
{
	puts(json_object_to_json_string_ext(
		object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
	json_object_put(object);
	return STATUS_OK;
}

int main(int argc, char **argv)
{
	static char name[] = "hugemr";
	int status;

	argp_program_version = "hugemr " HMR_PROJECT_VERSION;
	argp_err_exit_status = STATUS_USAGE;
	if (argc > 0)
		argv[0] = name;
	status = run_group(commands, argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		perror("hugemr: stdout");
		return STATUS_FAILED;
	}
	return status;
}
