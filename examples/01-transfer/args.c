// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transfer.h"

static const struct {
	const char *name;
	enum hmr_pages pages;
} kinds[] = {
	{ "prefer", HMR_PAGES_PREFER }, { "1G", HMR_PAGES_1G },
	{ "2M", HMR_PAGES_2M },		{ "thp", HMR_PAGES_THP },
	{ "4k", HMR_PAGES_4K },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const struct argp_option options[] = {
	{ "size", 's', "BYTES", 0,
	  "how much to move, as 4K, 2M, 1G; the same on both sides (default "
	  "64M)",
	  0 },
	{ "chunk", 'c', "BYTES", 0,
	  "bytes of one MR; 0 for a single one (default 4M)", 0 },
	{ "offset", 'o', "BYTES", 0,
	  "register this many bytes less at either end of the buffer (default "
	  "0)",
	  0 },
	{ "pages", 'P', "KIND", 0,
	  "1G, 2M (hugetlb), thp, 4k, or prefer (default prefer)", 0 },
	{ "port", 'p', "PORT", 0, "of the server (default 7471)", 0 },
	{ 0 },
};

static size_t parse_size(const char *text, struct argp_state *state)
{
	static const char units[] = "KMGT";
	unsigned long long value;
	const char *unit;
	unsigned int shift = 0;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (end != text && *end) {
		unit = strchr(units, *end & ~0x20);
		if (unit && !end[1]) {
			shift = 10 * (unsigned int)(unit - units + 1);
			end++;
		}
	}
	/* The limit leaves room for an offset at either end. */
	if (errno || end == text || *end || *text == '-' ||
	    value > SIZE_MAX / 4 >> shift)
		argp_error(state, "'%s' is not a size such as 4K, 2M, 1G",
			   text);
	return value << shift;
}

static enum hmr_pages parse_pages(const char *text, struct argp_state *state)
{
	unsigned int i;

	for (i = 0; i < N_KINDS; i++)
		if (!strcasecmp(text, kinds[i].name))
			return kinds[i].pages;
	argp_error(state, "'%s' is none of 1G, 2M, thp, 4k, prefer", text);
	return HMR_PAGES_PREFER;
}

const char *pages_name(enum hmr_pages pages)
{
	unsigned int i;

	for (i = 0; i < N_KINDS - 1; i++)
		if (kinds[i].pages == pages)
			break;
	return kinds[i].name;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case 's':
		args->size = parse_size(arg, state);
		if (!args->size)
			argp_error(state, "there is nothing to move");
		break;
	case 'c':
		args->chunk = parse_size(arg, state);
		break;
	case 'o':
		args->offset = parse_size(arg, state);
		break;
	case 'P':
		args->pages = parse_pages(arg, state);
		break;
	case 'p':
		args->port = arg;
		break;
	case ARGP_KEY_ARG:
		if (!args->client || state->arg_num)
			argp_error(state, "unexpected argument '%s'", arg);
		args->address = arg;
		break;
	case ARGP_KEY_NO_ARGS:
		if (args->client)
			argp_error(state, "the server's ADDRESS is missing");
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

void parse_args(int argc, char **argv, bool client, struct args *args)
{
	static const char doc[] =
		"Move data by RDMA between a server and a client, and check "
		"every byte.";
	const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = client ? "ADDRESS" : NULL,
		.doc = doc,
	};

	*args = (struct args){
		.client = client,
		.port = "7471",
		.size = 64ul << 20,
		.chunk = 4ul << 20,
	};
	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, args);
}
