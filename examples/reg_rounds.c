// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * reg_rounds: what does it cost to register memory for RDMA and to deregister
 * it again, by the kind of pages that back it?
 */
#include <argp.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rounds.h"

#define EXIT_NOT_HERE 77

const char *argp_program_version = "reg_rounds 0.1.0";

static const struct kind {
	const char *name;
	enum hmr_pages pages;
	uint64_t hugetlb; /* page size, or 0 */
} kinds[] = {
	{ "2M", HMR_PAGES_2M, 2ul << 20 }, { "1G", HMR_PAGES_1G, 1ul << 30 },
	{ "thp", HMR_PAGES_THP, 0 },	   { "4k", HMR_PAGES_4K, 0 },
	{ "prefer", HMR_PAGES_PREFER, 0 },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))
#define DEFAULT_KINDS 4

struct args {
	struct rounds_config config;
	const char *device;
	/* one bit for each of kinds[]; 0 is the default */
	unsigned int kinds;
	bool json;
	bool needs;
};

enum {
	OPT_JSON = 256,
	OPT_VERIFY,
	OPT_NEEDS
};

static const struct argp_option options[] = {
	{ "ib-dev", 'd', "DEVICE", 0,
	  "RDMA device (default: the first with an active port)", 0 },
	{ "ib-port", 'i', "PORT", 0, "port (default: the first active one)",
	  0 },
	{ "gid-index", 'x', "INDEX", 0,
	  "GID for --verify (default: the first RoCE v2 IPv4 address)", 0 },
	{ "size", 's', "BYTES", 0, "size of the MR, as 4K, 2M, 1G (default 1G)",
	  0 },
	{ "iters", 'n', "N", 0, "rounds, the first included (default 10)", 0 },
	{ "duration", 'D', "SECONDS", 0,
	  "repeat for so long instead of a number of rounds", 0 },
	{ "pages", 'P', "LIST", 0,
	  "page kinds of 2M,1G (hugetlb), thp, 4k, prefer (default "
	  "2M,1G,thp,4k, where one that is not to be had is no failure)",
	  0 },
	{ NULL, 'H', NULL, 0, "the same as -P 2M", 0 },
	{ NULL, 't', NULL, 0, "the same as -P thp", 0 },
	{ NULL, 'T', NULL, 0, "the same as -P 4k", 0 },
	{ "access", 'A', "LIST", 0,
	  "of lw, rw, rr, ra, mw, ro: local write, remote write, remote read, "
	  "remote atomic, memory windows, relaxed ordering (default lw,rw,rr)",
	  0 },
	{ "chunk", 'c', "BYTES", 0,
	  "register in MRs of this size (default: one MR)", 0 },
	{ "pin-threads", 'J', "N", 0,
	  "threads that register the chunks of one buffer (default: one for "
	  "each CPU)",
	  0 },
	{ "threads", 'j', "N", 0,
	  "threads that register at the same time, each a buffer of its own",
	  0 },
	{ "verify", OPT_VERIFY, NULL, 0,
	  "prove by RDMA writes and reads that the MR works", 0 },
	{ "json", OPT_JSON, NULL, 0, "print one JSON object", 0 },
	{ "needs", OPT_NEEDS, NULL, 0,
	  "only print the memory that the other options need", 0 },
	{ 0 },
};

static uint64_t parse_u64(const char *text, uint64_t min, uint64_t max,
			  const char *what, struct argp_state *state)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < min ||
	    value > max)
		argp_error(state, "%s: '%s' is not a number from %lu to %lu",
			   what, text, min, max);
	return value;
}

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
	if (errno || end == text || *end || *text == '-' || !value ||
	    value > SIZE_MAX >> shift)
		argp_error(state, "size: '%s' is not a size such as 4K, 2M, 1G",
			   text);
	return value << shift;
}

static double parse_seconds(const char *text, struct argp_state *state)
{
	double value;
	char *end;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || *end || !(value > 0 && value < 1e6))
		argp_error(state, "duration: '%s' is not a number of seconds",
			   text);
	return value;
}

/* Call @one for each word of a list that is separated by commas. */
static void parse_list(const char *text, struct argp_state *state,
		       void (*one)(const char *word, struct argp_state *state))
{
	char *copy = strdup(text), *word, *rest = copy;

	if (!copy)
		argp_failure(state, 1, ENOMEM, "list");
	while ((word = strsep(&rest, ",")))
		one(word, state);
	free(copy);
}

static void add_kind(const char *word, struct argp_state *state)
{
	struct args *a = state->input;
	unsigned int i;

	for (i = 0; i < N_KINDS; i++) {
		if (!strcasecmp(word, kinds[i].name)) {
			a->kinds |= 1u << i;
			return;
		}
	}
	argp_error(state, "pages: '%s' is none of 2M, 1G, thp, 4k, prefer",
		   word);
}

static void add_access(const char *word, struct argp_state *state)
{
	struct args *a = state->input;
	unsigned int i;

	for (i = 0; i < rounds_n_accesses; i++) {
		if (!strcmp(word, rounds_accesses[i].option) ||
		    !strcmp(word, rounds_accesses[i].name)) {
			a->config.access |= rounds_accesses[i].flag;
			return;
		}
	}
	argp_error(state, "access: '%s' is none of lw, rw, rr, ra, mw, ro",
		   word);
}

static void check_args(struct args *a, struct argp_state *state)
{
	const int remote = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
	struct rounds_config *c = &a->config;

	if (c->rounds && c->seconds > 0)
		argp_error(state, "-n and -D exclude each other");
	if (!c->rounds && !(c->seconds > 0))
		c->rounds = 10;
	if (!c->access)
		c->access = IBV_ACCESS_LOCAL_WRITE | remote;
	if (c->verify && (c->access & remote) != remote)
		argp_error(state, "--verify needs rr and rw among the access "
				  "flags");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	struct rounds_config *c = &a->config;

	switch (key) {
	case 'd':
		a->device = arg;
		break;
	case 'i':
		c->port = (uint8_t)parse_u64(arg, 1, 255, "port", state);
		break;
	case 'x':
		c->gid_index = (int)parse_u64(arg, 0, 255, "gid-index", state);
		break;
	case 's':
		c->size = parse_size(arg, state);
		break;
	case 'n':
		c->rounds = parse_u64(arg, 1, 1000000000, "iters", state);
		break;
	case 'D':
		c->seconds = parse_seconds(arg, state);
		break;
	case 'P':
		parse_list(arg, state, add_kind);
		break;
	case 'H':
		add_kind("2M", state);
		break;
	case 't':
		add_kind("thp", state);
		break;
	case 'T':
		add_kind("4k", state);
		break;
	case 'A':
		parse_list(arg, state, add_access);
		break;
	case 'c':
		c->chunk = parse_size(arg, state);
		break;
	case 'J':
		c->pin_threads = (unsigned int)parse_u64(arg, 1, 1024,
							 "pin-threads", state);
		break;
	case 'j':
		c->threads =
			(unsigned int)parse_u64(arg, 1, 1024, "threads", state);
		break;
	case OPT_VERIFY:
		c->verify = true;
		break;
	case OPT_JSON:
		a->json = true;
		break;
	case OPT_NEEDS:
		a->needs = true;
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'", arg);
		break;
	case ARGP_KEY_END:
		check_args(a, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Measure registration and deregistration of memory for RDMA, by "
	       "page kind.\v"
	       "Exit status: 0 success, 1 failure, 2 usage, 77 no RDMA device.",
};

static bool wanted(const struct args *a, unsigned int i)
{
	return a->kinds ? a->kinds >> i & 1 : i < DEFAULT_KINDS;
}

/* Hugetlb pages to reserve, and memory beside them: buffers exist one kind at a
 * time, and pinning costs about 2 % of 4 KiB pages. */
static void print_needs(const struct args *a)
{
	size_t total = a->config.size * a->config.threads, memory = 0;
	uint64_t pages[N_KINDS] = { 0 };
	unsigned int i;

	for (i = 0; i < N_KINDS; i++) {
		if (!wanted(a, i))
			continue;
		if (kinds[i].hugetlb)
			pages[i] =
				((a->config.size - 1) / kinds[i].hugetlb + 1) *
				a->config.threads;
		else
			memory = total;
	}
	memory += total / 50;
	printf("hugepages_2m=%lu hugepages_1g=%lu memory_mib=%lu\n", pages[0],
	       pages[1], (memory >> 20) + 1);
}

static bool port_active(struct ibv_context *context, uint8_t port)
{
	struct ibv_port_attr attr;

	return !ibv_query_port(context, port, &attr) &&
	       attr.state == IBV_PORT_ACTIVE;
}

/* The port asked for, or the first active one; 0 if there is none. */
static uint8_t find_port(struct ibv_context *context, uint8_t asked)
{
	struct ibv_device_attr attr;
	uint8_t port;

	if (asked)
		return port_active(context, asked) ? asked : 0;
	if (ibv_query_device(context, &attr))
		return 0;
	for (port = 1; port <= attr.phys_port_cnt; port++)
		if (port_active(context, port))
			return port;
	return 0;
}

static struct ibv_context *open_device(struct args *a)
{
	struct ibv_device **list;
	struct ibv_context *context = NULL;
	uint8_t port = 0;
	int i, n = 0;

	list = ibv_get_device_list(&n);
	for (i = 0; list && i < n && !port; i++) {
		if (a->device &&
		    strcmp(a->device, ibv_get_device_name(list[i])))
			continue;
		context = ibv_open_device(list[i]);
		if (!context)
			continue;
		port = find_port(context, a->config.port);
		if (!port)
			ibv_close_device(context);
	}
	if (list)
		ibv_free_device_list(list);
	if (!port) {
		fprintf(stderr,
			"reg_rounds: %s%s with an active port (of %d RDMA "
			"devices)\n",
			a->device ? "there is no device " : "no RDMA device",
			a->device ? a->device : "", n);
		return NULL;
	}
	a->config.port = port;
	return context;
}

static int measure_all(struct args *a)
{
	struct rounds_result results[N_KINDS] = { 0 };
	unsigned int i, n = 0, measured = 0;
	int ret = 0;

	for (i = 0; i < N_KINDS; i++) {
		struct rounds_result *r = &results[n];

		if (!wanted(a, i))
			continue;
		n++;
		r->name = kinds[i].name;
		if (!rounds_measure(&a->config, kinds[i].pages, r)) {
			measured++;
			continue;
		}
		/* Pages that the host just doesn't have are only then a failure
		 * when they were asked for. */
		if (a->kinds || !r->no_buffer)
			ret = 1;
	}
	if (!measured)
		ret = 1;
	if (a->json && rounds_print_json(&a->config, results, n)) {
		fputs("reg_rounds: no memory for JSON\n", stderr);
		return 1;
	}
	if (!a->json)
		rounds_print_table(&a->config, results, n);
	if (fflush(stdout)) {
		perror("reg_rounds: stdout");
		return 1;
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct args a = {
		.config = { .gid_index = -1, .size = 1ul << 30, .threads = 1 },
	};
	const char *clock = getenv("HUGEMR_CLOCK");
	struct ibv_context *context;
	int ret;

	argp_err_exit_status = 2;
	ret = argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (ret) {
		fprintf(stderr, "reg_rounds: %s\n", strerror(ret));
		return 2;
	}
	if (a.needs) {
		print_needs(&a);
		return 0;
	}
	context = open_device(&a);
	if (!context)
		return a.device ? 1 : EXIT_NOT_HERE;
	a.config.device = ibv_get_device_name(context->device);
	a.config.instructions = clock && !strcmp(clock, "instructions");
	a.config.pd = ibv_alloc_pd(context);
	if (!a.config.pd) {
		perror("reg_rounds: ibv_alloc_pd");
		ibv_close_device(context);
		return 1;
	}
	ret = measure_all(&a);
	if (ibv_dealloc_pd(a.config.pd)) {
		perror("reg_rounds: ibv_dealloc_pd");
		ret = 1;
	}
	ibv_close_device(context);
	return ret;
}
