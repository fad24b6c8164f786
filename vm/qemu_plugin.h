/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What our plugins use of QEMU's interface for TCG plugins, version 1 (QEMU 4.2
 * and later), as docs/devel/tcg-plugins.rst describes it. Debian ships no
 * qemu-plugin.h.
 */
#ifndef QEMU_PLUGIN_H
#define QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

/* of callbacks: they read no guest registers */
enum {
	QEMU_PLUGIN_CB_NO_REGS
};

typedef void (*qemu_plugin_vcpu_udata_cb_t)(unsigned int vcpu, void *arg);

/* what a plugin defines */
extern int qemu_plugin_version;
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			int argc, char **argv);

void qemu_plugin_register_vcpu_tb_trans_cb(
	qemu_plugin_id_t id,
	void (*cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  qemu_plugin_vcpu_udata_cb_t cb,
					  int flags, void *arg);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    qemu_plugin_vcpu_udata_cb_t cb,
					    int flags, void *arg);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
				    void (*cb)(qemu_plugin_id_t id, void *arg),
				    void *arg);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
/* the caller's to free */
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *insn);

#endif /* QEMU_PLUGIN_H */
