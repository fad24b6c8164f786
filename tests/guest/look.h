/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the kernel itself says is registered, pinned and mapped. */
#ifndef LOOK_H
#define LOOK_H

#include <stdint.h>
#include <sys/types.h>

/* MRs of all processes on a device, by RDMA netlink; -errno if it can't be
 * asked. */
int look_mrs(const char *device);

/* A field of /proc/PID/status in bytes, or as it is where it has no unit; 0
 * for a process or a field that isn't there. */
uint64_t look_status(pid_t pid, const char *field);

/* A line of /proc/meminfo, in bytes or as it is. */
uint64_t look_meminfo(const char *field);

/* nr_foll_pin_acquired less nr_foll_pin_released: pages that are pinned now,
 * or 0 on a kernel that doesn't count them. */
int64_t look_pins(void);

/* Mappings of this process, as max_map_count limits them. */
unsigned int look_mappings(void);

/* The number that a file begins with. */
uint64_t look_number(const char *path);

/* Write to a file that exists: 0 or -errno. */
int look_write(const char *path, const char *text);

#endif /* LOOK_H */
