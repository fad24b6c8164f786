/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_LOG_H
#define HMR_LOG_H

/* In the child of a fork: make the lock anew, whoever held it. */
void hmr_log_forked(void);

#endif /* HMR_LOG_H */
