// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What limits this process, from proc_pid_limits(5) and its like. */
#include <inttypes.h>
#include <string.h>

#include "process.h"
#include "readfile.h"

/* linux/capability.h, spared for the one number */
#define CAP_IPC_LOCK 14

static void match_status(char *line, void *arg)
{
	struct hmr_process *proc = arg;
	uint64_t value;

	if (sscanf(line, "VmPin: %" SCNu64 " kB", &value) == 1)
		proc->pinned = value * HMR_KIB;
	else if (sscanf(line, "VmLck: %" SCNu64 " kB", &value) == 1)
		proc->locked = value * HMR_KIB;
	else if (sscanf(line, "CapEff: %" SCNx64, &value) == 1)
		proc->ipc_lock = value >> CAP_IPC_LOCK & 1;
}

/* "unlimited" isn't a number. */
static uint64_t parse_limit(const char *text)
{
	uint64_t value;

	return sscanf(text, "%" SCNu64, &value) == 1 ? value : UINT64_MAX;
}

static void match_limit(char *line, void *arg)
{
	struct hmr_process *proc = arg;
	char soft[24], hard[24];

	if (sscanf(line, "Max locked memory %23s %23s", soft, hard) != 2)
		return;
	proc->memlock_soft = parse_limit(soft);
	proc->memlock_hard = parse_limit(hard);
}

static void count_mapping(char *line, void *arg)
{
	/* It has an address, but isn't in the process's list. */
	if (!strstr(line, "[vsyscall]"))
		++*(uint64_t *)arg;
}

/* The first user namespace maps all users to themselves. */
static bool in_user_ns(struct hmr_reader *r)
{
	uint32_t from, to, count;
	const char *line = hmr_read_line(r);

	if (!line || sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNu32, &from,
			    &to, &count) != 3)
		return false;
	return from || to || count != UINT32_MAX;
}

void hmr_process_read(const char *root, struct hmr_process *proc)
{
	struct hmr_reader r = { .root = root };

	*proc = (struct hmr_process){
		.memlock_soft = UINT64_MAX,
		.memlock_hard = UINT64_MAX,
	};
	/* Of this thread: each may have capabilities of its own. */
	hmr_reader_path(&r, "/proc/thread-self/status");
	hmr_read_lines(&r, match_status, proc);
	hmr_reader_path(&r, "/proc/self/limits");
	hmr_read_lines(&r, match_limit, proc);
	hmr_reader_path(&r, "/proc/self/maps");
	hmr_read_lines(&r, count_mapping, &proc->mappings);
	hmr_reader_path(&r, "/proc/self/uid_map");
	proc->in_user_ns = in_user_ns(&r);
}
