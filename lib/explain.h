/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_EXPLAIN_H
#define HMR_EXPLAIN_H

#include "internal.h"

struct ibv_context;

/**
 * hmr_fail_reg() - record the failure of a registration, with its cause
 * @err: op, err and the range
 * @context: of the device that refused; its name is added to @err
 *
 * Return: err->err.
 */
int hmr_fail_reg(struct hmr_error *err, struct ibv_context *context);

/* For tests: another file than /proc/self/status. */
extern const char *hmr_status_path;

#endif /* HMR_EXPLAIN_H */
