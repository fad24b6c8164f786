// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A plugin for QEMU's TCG that counts what each virtual CPU executes between
 * the marks of tests/bench/populate.c, and writes a line for each pair of them:
 * the number of threads, then instructions of the CPU that executed most, then
 * of all. The instruction clock can't show this: there the CPUs take turns, and
 * their turns aren't equal.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../../vm/qemu_plugin.h"

#define MAX_VCPUS 64

QEMU_PLUGIN_EXPORT int qemu_plugin_version = 1;

/* Only its CPU writes a count, so it needs no locked addition. */
static struct {
	_Alignas(64) _Atomic uint64_t n;
} counts[MAX_VCPUS];
static uint64_t before[MAX_VCPUS];
static FILE *out;

static void count(unsigned int vcpu, void *insns)
{
	uint64_t n;

	if (vcpu >= MAX_VCPUS)
		return;
	n = atomic_load_explicit(&counts[vcpu].n, memory_order_relaxed);
	atomic_store_explicit(&counts[vcpu].n, n + (uintptr_t)insns,
			      memory_order_relaxed);
}

static void mark(unsigned int vcpu, void *arg)
{
	unsigned int id = (unsigned int)(uintptr_t)arg, i;
	uint64_t most = 0, all = 0;

	(void)vcpu;
	for (i = 0; i < MAX_VCPUS; i++) {
		uint64_t n = atomic_load_explicit(&counts[i].n,
						  memory_order_relaxed);
		uint64_t new = n - before[i];

		before[i] = n;
		all += new;
		if (new > most)
			most = new;
	}
	if (id & 0xf) {
		fprintf(out, "%u %" PRIu64 " %" PRIu64 "\n", id >> 4, most,
			all);
		fflush(out);
	}
}

static void translate(qemu_plugin_id_t plugin, struct qemu_plugin_tb *tb)
{
	/* nopl disp32(%rax), the displacement being 0x6875 and an id */
	static const unsigned char nop[] = { 0x0f, 0x1f, 0x80 };
	size_t n = qemu_plugin_tb_n_insns(tb), i;

	(void)plugin;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, count, QEMU_PLUGIN_CB_NO_REGS,
					     (void *)(uintptr_t)n);
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		const unsigned char *b = qemu_plugin_insn_data(insn);

		if (qemu_plugin_insn_size(insn) == 7 &&
		    !memcmp(b, nop, sizeof(nop)) && b[6] == 0x68 &&
		    b[5] == 0x75)
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, mark, QEMU_PLUGIN_CB_NO_REGS,
				(void *)(uintptr_t)b[3]);
	}
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id,
					   const struct qemu_info *info,
					   int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fprintf(stderr, "vcpu_count: expected out=FILE\n");
		return -1;
	}
	out = fopen(argv[0] + 4, "w");
	if (!out) {
		perror(argv[0] + 4);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
	return 0;
}
