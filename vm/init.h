/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef HMR_INIT_H
#define HMR_INIT_H

#include <stdbool.h>
#include <stddef.h>

#define COME_UP_SECONDS 30 /* for a device to appear, on a slow host */

/* Tell the host why the guest can't go on, and switch off. */
_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Poll cond(arg) until it holds or the time is up. What is waited for here
 * (sysfs, netlink) offers no descriptor to sleep on.
 */
bool wait_until(bool (*cond)(const void *), const void *arg,
		unsigned int seconds);

/* The whole of a small file, NUL-terminated, or NULL with errno. */
char *slurp(const char *path, size_t *length);

/* Bring up lo, and rxe0, rxe1, ... with an address and a GID each. */
void network_up(unsigned int devices);

#endif /* HMR_INIT_H */
