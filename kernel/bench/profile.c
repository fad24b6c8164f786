// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A plugin for QEMU's TCG that counts, for each function of the guest's kernel,
 * calls, instructions and locked operations. It sees all that a processor would
 * be asked to do, and the guest doesn't notice: its instruction clock goes on as
 * before.
 *
 * kernel/profile runs it. Arguments: map=FILE, the kernel's System.map; out=FILE;
 * each=ERE for functions whose instructions are to be counted one by one. Inlined
 * code counts for the function that it is in. A repeated string instruction
 * counts once, other than for the instruction clock.
 */
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../vm/qemu_plugin.h"

QEMU_PLUGIN_EXPORT int qemu_plugin_version = 1;

struct function {
	uint64_t start;
	char *name;
	uint64_t calls;
	uint64_t insns;
	uint64_t locked;
	struct block *each; /* the blocks that it was translated into, or NULL */
	bool picked; /* to be counted by instruction */
};

/* sorted by start; one CPU runs at a time, so that plain counts do */
static struct function *functions;
static size_t n_functions;
static FILE *out;

/* A translated block: it lies in one function, but for a few that nobody asks
 * for. */
struct block {
	struct function *function;
	uint32_t insns;
	uint32_t locked;
	bool entry;
	/* only for functions that are picked */
	struct block *next;
	uint64_t runs;
	uint64_t start;
	char **text; /* insns of them, each behind its size */
};

static int pick(const char *expression)
{
	regex_t re;
	size_t i;

	if (regcomp(&re, expression, REG_EXTENDED | REG_NOSUB))
		return -1;
	for (i = 0; i < n_functions; i++)
		functions[i].picked =
			!regexec(&re, functions[i].name, 0, NULL, 0);
	regfree(&re);
	return 0;
}

static int read_map(const char *path)
{
	FILE *f = fopen(path, "r");
	char line[512], name[400], type;
	size_t room = 0;
	uint64_t addr;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNx64 " %c %399s", &addr, &type, name) !=
			    3 ||
		    (type != 't' && type != 'T'))
			continue;
		if (n_functions == room) {
			room = room ? 2 * room : 1 << 16;
			functions =
				realloc(functions, room * sizeof(*functions));
			if (!functions)
				abort();
		}
		functions[n_functions++] =
			(struct function){ .start = addr,
					   .name = strdup(name) };
	}
	fclose(f);
	return n_functions ? 0 : -1;
}

/* The last that starts at or before an address: System.map is sorted. */
static struct function *find(uint64_t addr)
{
	size_t low = 0, high = n_functions;

	if (addr < functions[0].start)
		return NULL;
	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (functions[middle].start <= addr)
			low = middle;
		else
			high = middle;
	}
	return &functions[low];
}

/* By prefix, or an exchange with memory, which is locked without one. */
static bool is_locked(const struct qemu_plugin_insn *insn)
{
	const unsigned char *b = qemu_plugin_insn_data(insn);
	size_t n = qemu_plugin_insn_size(insn), i = 0;

	while (i < n && (b[i] == 0x66 || b[i] == 0xf2 || b[i] == 0xf3 ||
			 b[i] == 0x2e || b[i] == 0x3e || b[i] == 0x65))
		i++;
	if (i < n && b[i] == 0xf0)
		return true;
	if (i < n && (b[i] & 0xf0) == 0x40)
		i++;
	return i + 1 < n && (b[i] & 0xfe) == 0x86 && b[i + 1] < 0xc0;
}

static void count(unsigned int vcpu, void *arg)
{
	struct block *b = arg;

	(void)vcpu;
	b->runs++;
	b->function->insns += b->insns;
	b->function->locked += b->locked;
	b->function->calls += b->entry;
}

/* Keep what a block consists of, for print_each(). */
static void dissect(struct block *b, struct qemu_plugin_tb *tb)
{
	struct qemu_plugin_insn *insn;
	char *text;
	size_t i;

	b->start = qemu_plugin_tb_vaddr(tb);
	b->text = calloc(b->insns, sizeof(*b->text));
	if (!b->text)
		abort();
	for (i = 0; i < b->insns; i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		text = qemu_plugin_insn_disas(insn);
		if (asprintf(&b->text[i], "%zu %s", qemu_plugin_insn_size(insn),
			     text) < 0)
			abort();
		free(text);
	}
	b->next = b->function->each;
	b->function->each = b;
}

static void translate(qemu_plugin_id_t plugin, struct qemu_plugin_tb *tb)
{
	struct function *f = find(qemu_plugin_tb_vaddr(tb));
	size_t n = qemu_plugin_tb_n_insns(tb), i;
	struct block *b;

	(void)plugin;
	if (!f)
		return;
	/* lives as long as its translation may: until the end */
	b = calloc(1, sizeof(*b));
	if (!b)
		abort();
	b->function = f;
	b->insns = (uint32_t)n;
	b->entry = qemu_plugin_tb_vaddr(tb) == f->start;
	for (i = 0; i < n; i++)
		b->locked += is_locked(qemu_plugin_tb_get_insn(tb, i));
	if (f->picked)
		dissect(b, tb);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, count, QEMU_PLUGIN_CB_NO_REGS,
					     b);
}

/* "+function offset runs text" for each, by tabs; kernel/profile adds up what
 * was translated more than once. */
static void print_each(const struct function *f)
{
	const struct block *b;
	uint64_t addr;
	char *text;
	uint32_t i;

	for (b = f->each; b; b = b->next) {
		addr = b->start;
		for (i = 0; i < b->insns; i++) {
			fprintf(out, "+%s\t%" PRIu64 "\t%" PRIu64, f->name,
				addr - f->start, b->runs);
			addr += strtoul(b->text[i], &text, 10);
			fprintf(out, "\t%s\n", text + 1);
		}
	}
}

static void print(qemu_plugin_id_t plugin, void *arg)
{
	size_t i;

	(void)plugin;
	(void)arg;
	for (i = 0; i < n_functions; i++) {
		const struct function *f = &functions[i];

		if (f->insns)
			fprintf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				f->name, f->calls, f->insns, f->locked);
		print_each(f);
	}
	fclose(out);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
					   const struct qemu_info *info,
					   int argc, char **argv)
{
	const char *map = NULL, *path = NULL, *each = NULL;
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "map=", 4))
			map = argv[i] + 4;
		else if (!strncmp(argv[i], "out=", 4))
			path = argv[i] + 4;
		else if (!strncmp(argv[i], "each=", 5))
			each = argv[i] + 5;
	}
	if (!map || !path || argc != 2 + !!each) {
		fprintf(stderr,
			"profile: expected map=FILE,out=FILE[,each=ERE]\n");
		return -1;
	}
	if (read_map(map)) {
		fprintf(stderr, "profile: %s: not a System.map\n", map);
		return -1;
	}
	if (each && pick(each)) {
		fprintf(stderr, "profile: %s: not an expression\n", each);
		return -1;
	}
	out = fopen(path, "w");
	if (!out) {
		perror(path);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	qemu_plugin_register_atexit_cb(id, print, NULL);
	return 0;
}
