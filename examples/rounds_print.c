// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "rounds.h"

const struct rounds_access rounds_accesses[] = {
	{ IBV_ACCESS_LOCAL_WRITE, "lw", "local_write" },
	{ IBV_ACCESS_REMOTE_WRITE, "rw", "remote_write" },
	{ IBV_ACCESS_REMOTE_READ, "rr", "remote_read" },
	{ IBV_ACCESS_REMOTE_ATOMIC, "ra", "remote_atomic" },
	{ IBV_ACCESS_MW_BIND, "mw", "mw_bind" },
	{ IBV_ACCESS_RELAXED_ORDERING, "ro", "relaxed_ordering" },
};
const unsigned int rounds_n_accesses =
	sizeof(rounds_accesses) / sizeof(rounds_accesses[0]);

const char *rounds_size_text(uint64_t bytes, char text[ROUNDS_SIZE_TEXT])
{
	static const char units[] = "KMGT";
	int i = -1;

	while (bytes && bytes % 1024 == 0 && units[i + 1]) {
		bytes /= 1024;
		i++;
	}
	if (i < 0)
		snprintf(text, ROUNDS_SIZE_TEXT, "%" PRIu64, bytes);
	else
		snprintf(text, ROUNDS_SIZE_TEXT, "%" PRIu64 "%c", bytes,
			 units[i]);
	return text;
}

/* The kinds of pages in a backing, in the order in which they are shown. */
static unsigned int page_mix(const struct hmr_backing *b, const char *names[7],
			     uint64_t bytes[7])
{
	const struct {
		const char *name;
		uint64_t bytes;
	} kinds[] = {
		{ "hugetlb_1g", b->hugetlb_1g },
		{ "hugetlb_2m", b->hugetlb_2m },
		{ "hugetlb_other", b->hugetlb_other },
		{ "thp", b->thp },
		{ "small", b->small },
		{ "absent", b->absent },
		{ "unknown", b->unknown },
	};
	unsigned int i, n = 0;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!kinds[i].bytes)
			continue;
		names[n] = kinds[i].name;
		bytes[n++] = kinds[i].bytes;
	}
	return n;
}

static void print_mix(const struct hmr_backing *b)
{
	char text[96] = "", size[ROUNDS_SIZE_TEXT];
	const char *names[7];
	uint64_t bytes[7];
	unsigned int i, n = page_mix(b, names, bytes);
	size_t used = 0;

	for (i = 0; i < n && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s%s %s", i ? "+" : "",
					 rounds_size_text(bytes[i], size),
					 names[i]);
	printf(" %-16s", text);
}

static void print_series(const struct rounds_series *s, bool steady)
{
	/* Microseconds, or thousands of instructions. */
	printf(" |%10.1f", (double)s->first / 1e3);
	if (steady)
		printf("%10.1f%10.1f%10.1f%10.1f", (double)s->min / 1e3,
		       (double)s->median / 1e3, s->mean / 1e3,
		       (double)s->p99 / 1e3);
	else
		printf("%10s%10s%10s%10s", "-", "-", "-", "-");
}

static void print_row(const struct rounds_config *c,
		      const struct rounds_result *r)
{
	printf("%-6s", r->name);
	if (r->err) {
		printf(" %s\n", r->text);
		return;
	}
	print_mix(&r->backing);
	print_series(&r->reg, r->rounds > c->threads);
	print_series(&r->dereg, r->rounds > c->threads);
	putchar('\n');
}

static void print_summary(const struct rounds_config *c,
			  const struct rounds_result *r)
{
	double total = (double)r->elapsed;
	double rounds = (double)r->rounds;

	if (r->err)
		return;
	if (c->instructions)
		printf("%s: %lu rounds in %.0f instructions: %.0f "
		       "instructions / round\n",
		       r->name, r->rounds, total, total / rounds);
	else
		printf("%s: %lu rounds in %.3f sec: %.2f usec / round\n",
		       r->name, r->rounds, total / 1e9, total / 1e3 / rounds);
	if (c->verify)
		printf("%s: verified: %lu RDMA transfers compared byte by "
		       "byte\n",
		       r->name, r->transfers);
	if (r->why[0])
		printf("%s: %s\n", r->name, r->why);
}

static void print_head(const struct rounds_config *c)
{
	const char *unit = c->instructions ? "thousand instructions" : "usec";
	char size[ROUNDS_SIZE_TEXT];
	struct utsname host;
	unsigned int i;
	char reg[50];

	uname(&host);
	printf("%s, Linux %s, %s, %u thread%s, access", c->device, host.release,
	       rounds_size_text(c->size, size), c->threads,
	       c->threads > 1 ? "s" : "");
	for (i = 0; i < rounds_n_accesses; i++)
		if (c->access & rounds_accesses[i].flag)
			printf(" %s", rounds_accesses[i].name);
	snprintf(reg, sizeof(reg), "register, %s", unit);
	printf("\n%-6s %-16s | %-49s | deregister, %s\n", "", "", reg, unit);
	printf("%-6s %-16s", "pages", "obtained");
	for (i = 0; i < 2; i++)
		printf(" |%10s%10s%10s%10s%10s", "first", "min", "median",
		       "mean", "p99");
	putchar('\n');
}

void rounds_print_table(const struct rounds_config *c,
			const struct rounds_result *results, unsigned int n)
{
	unsigned int i;

	print_head(c);
	for (i = 0; i < n; i++)
		print_row(c, &results[i]);
	putchar('\n');
	for (i = 0; i < n; i++)
		print_summary(c, &results[i]);
}

/* json-c can fail only for lack of memory; the first failure sticks. */
struct json {
	bool failed;
};

static void add(struct json *j, struct json_object *to, const char *key,
		struct json_object *value)
{
	if (!to || !value || json_object_object_add(to, key, value)) {
		json_object_put(value);
		j->failed = true;
	}
}

static void add_u64(struct json *j, struct json_object *to, const char *key,
		    uint64_t value)
{
	add(j, to, key, json_object_new_uint64(value));
}

static void add_text(struct json *j, struct json_object *to, const char *key,
		     const char *value)
{
	add(j, to, key, json_object_new_string(value));
}

static struct json_object *add_object(struct json *j, struct json_object *to,
				      const char *key)
{
	struct json_object *o = json_object_new_object();

	add(j, to, key, o);
	return j->failed ? NULL : o;
}

static struct json_object *add_array(struct json *j, struct json_object *to,
				     const char *key)
{
	struct json_object *o = json_object_new_array();

	add(j, to, key, o);
	return j->failed ? NULL : o;
}

static void append(struct json *j, struct json_object *array,
		   struct json_object *value)
{
	if (!array || !value || json_object_array_add(array, value)) {
		json_object_put(value);
		j->failed = true;
	}
}

static void add_series(struct json *j, struct json_object *to, const char *key,
		       const struct rounds_series *s, bool steady)
{
	struct json_object *o = add_object(j, to, key);

	add_u64(j, o, "first", s->first);
	if (!steady)
		return;
	add_u64(j, o, "min", s->min);
	add_u64(j, o, "median", s->median);
	add(j, o, "mean", json_object_new_double(s->mean));
	add_u64(j, o, "p99", s->p99);
}

static struct json_object *json_result(struct json *j,
				       const struct rounds_config *c,
				       const struct rounds_result *r)
{
	struct json_object *o = json_object_new_object(), *mix;
	bool steady = r->rounds > c->threads;
	const char *names[7];
	uint64_t bytes[7];
	unsigned int i, n;
	char key[32];

	add_text(j, o, "pages", r->name);
	if (r->err) {
		add(j, o, "errno", json_object_new_int(-r->err));
		add_text(j, o, "error", r->text);
		return o;
	}
	mix = add_object(j, o, "obtained_bytes");
	n = page_mix(&r->backing, names, bytes);
	for (i = 0; i < n; i++)
		add_u64(j, mix, names[i], bytes[i]);
	if (r->why[0])
		add_text(j, o, "why", r->why);
	add_u64(j, o, "rounds", r->rounds);
	add_series(j, o, c->instructions ? "reg_instructions" : "reg_ns",
		   &r->reg, steady);
	add_series(j, o, c->instructions ? "dereg_instructions" : "dereg_ns",
		   &r->dereg, steady);
	snprintf(key, sizeof(key), "elapsed_%s",
		 c->instructions ? "instructions" : "ns");
	add_u64(j, o, key, r->elapsed);
	if (c->verify)
		add_u64(j, o, "verified_transfers", r->transfers);
	return o;
}

int rounds_print_json(const struct rounds_config *c,
		      const struct rounds_result *results, unsigned int n)
{
	struct json_object *top = json_object_new_object(), *array;
	struct json j = { .failed = !top };
	struct utsname host;
	unsigned int i;

	uname(&host);
	add(&j, top, "schema", json_object_new_int(1));
	add_text(&j, top, "device", c->device);
	add_text(&j, top, "kernel", host.release);
	add_text(&j, top, "hugemr", hmr_version());
	add_u64(&j, top, "size_bytes", c->size);
	add_u64(&j, top, "threads", c->threads);
	array = add_array(&j, top, "access");
	for (i = 0; i < rounds_n_accesses; i++)
		if (c->access & rounds_accesses[i].flag)
			append(&j, array,
			       json_object_new_string(rounds_accesses[i].name));
	array = add_array(&j, top, "results");
	for (i = 0; i < n; i++)
		append(&j, array, json_result(&j, c, &results[i]));
	if (!j.failed)
		puts(json_object_to_json_string_ext(
			top,
			JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED));
	json_object_put(top);
	return j.failed ? -ENOMEM : 0;
}
