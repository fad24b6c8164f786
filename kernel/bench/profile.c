// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A plugin for QEMU's TCG that counts, for each function of the guest's kernel,
 * calls, instructions and locked operations. It sees all that a processor would
 * be asked to do, and the guest doesn't notice: its instruction clock goes on as
 * before.
 *
 * kernel/profile runs it. Arguments: map=FILE, the kernel's System.map, and
 * out=FILE. Inlined code counts for the function that it is in. A repeated string
 * instruction counts once, other than for the instruction clock.
 */
#include <inttypes.h>
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
};

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
	const struct block *b = arg;

	(void)vcpu;
	b->function->insns += b->insns;
	b->function->locked += b->locked;
	b->function->calls += b->entry;
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
	qemu_plugin_register_vcpu_tb_exec_cb(tb, count, QEMU_PLUGIN_CB_NO_REGS,
					     b);
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
	}
	fclose(out);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
					   const struct qemu_info *info,
					   int argc, char **argv)
{
	const char *map = NULL, *path = NULL;
	int i;

	(void)info;
	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "map=", 4))
			map = argv[i] + 4;
		else if (!strncmp(argv[i], "out=", 4))
			path = argv[i] + 4;
	}
	if (!map || !path || argc != 2) {
		fprintf(stderr, "profile: expected map=FILE and out=FILE\n");
		return -1;
	}
	if (read_map(map)) {
		fprintf(stderr, "profile: %s: not a System.map\n", map);
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
