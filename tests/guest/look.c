// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "look.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nldev.h"

static int count_mr(const struct nldev_mr *mr, void *arg)
{
	++*(int *)arg;
	return 0;
}

int look_mrs(const char *device)
{
	uint32_t index;
	int n = 0, ret;

	ret = nldev_dev_index(device, &index);
	if (!ret)
		ret = nldev_mr_list(index, count_mr, &n);
	return ret ? ret : n;
}

/* "FIELD: 12 kB" or "FIELD 12" */
static uint64_t read_field(const char *path, const char *field)
{
	size_t n = strlen(field);
	uint64_t value = 0;
	char line[256], unit[3] = "";
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, field, n) || !strchr(": \t", line[n]))
			continue;
		if (sscanf(line + n + 1, "%" SCNu64 " %2s", &value, unit) ==
			    2 &&
		    !strcmp(unit, "kB"))
			value <<= 10;
		break;
	}
	if (f)
		fclose(f);
	return value;
}

uint64_t look_status(pid_t pid, const char *field)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	return read_field(path, field);
}

uint64_t look_meminfo(const char *field)
{
	return read_field("/proc/meminfo", field);
}

int64_t look_pins(void)
{
	/* Counts of each CPU are added up now and then; this does it now. */
	look_write("/proc/sys/vm/stat_refresh", "1");
	return (int64_t)read_field("/proc/vmstat", "nr_foll_pin_acquired") -
	       (int64_t)read_field("/proc/vmstat", "nr_foll_pin_released");
}

unsigned int look_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned int n = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		n += strchr(line, '\n') && !strstr(line, "[vsyscall]");
	if (f)
		fclose(f);
	return n;
}

uint64_t look_number(const char *path)
{
	FILE *f = fopen(path, "r");
	uint64_t value = 0;

	if (f && fscanf(f, "%" SCNu64, &value) != 1)
		value = 0;
	if (f)
		fclose(f);
	return value;
}

int look_write(const char *path, const char *text)
{
	ssize_t n = (ssize_t)strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, (size_t)n) != n)
		ret = -errno;
	close(fd);
	return ret;
}
