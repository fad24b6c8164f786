// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void die(int status, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(status);
}

uint64_t bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

const char *bench_unit(void)
{
	const char *clock = getenv("HUGEMR_CLOCK");

	return clock && !strcmp(clock, "instructions") ? clock : "ns";
}

/* --- figures ------------------------------------------------------------- */

void series_add(struct series *s, uint64_t value)
{
	/* room for 64, then for each power of two */
	if (!s->n || (s->n >= 64 && !(s->n & (s->n - 1)))) {
		size_t room = s->n ? 2ul * s->n : 64;

		s->values = realloc(s->values, room * sizeof(*s->values));
		if (!s->values)
			die(1, "no memory for the figures");
	}
	s->values[s->n++] = value;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t series_min(const struct series *s)
{
	qsort(s->values, s->n, sizeof(*s->values), compare);
	return s->values[0];
}

uint64_t series_median(const struct series *s)
{
	qsort(s->values, s->n, sizeof(*s->values), compare);
	return (s->values[(s->n - 1) / 2] + s->values[s->n / 2]) / 2;
}

void series_free(struct series *s)
{
	free(s->values);
	s->values = NULL;
	s->n = 0;
}

void print_series(const char *name, const struct series *s)
{
	printf("%s %" PRIu64 " (median %" PRIu64 ")", name, series_min(s),
	       series_median(s));
}

/* Whether a member comes first in its object. */
static bool json_first;

static void json_name(const char *name)
{
	printf("%s\"%s\":", json_first ? "" : ",", name);
	json_first = false;
}

void json_open(const char *bench)
{
	putchar('{');
	json_first = true;
	json_text("bench", bench);
}

void json_text(const char *name, const char *text)
{
	json_name(name);
	printf("\"%s\"", text);
}

void json_number(const char *name, uint64_t value)
{
	json_name(name);
	printf("%" PRIu64, value);
}

void json_bool(const char *name, bool value)
{
	json_name(name);
	fputs(value ? "true" : "false", stdout);
}

void json_null(const char *name)
{
	json_name(name);
	fputs("null", stdout);
}

void json_series(const char *name, const struct series *s)
{
	json_object(name);
	json_number("min", series_min(s));
	json_number("median", series_median(s));
	json_end();
}

void json_object(const char *name)
{
	json_name(name);
	putchar('{');
	json_first = true;
}

void json_end(void)
{
	putchar('}');
	json_first = false;
}

void json_close(void)
{
	json_end();
	putchar('\n');
	print_done();
}

void print_done(void)
{
	if (fflush(stdout))
		die(1, "stdout: %m");
}

/* --- files --------------------------------------------------------------- */

bool file_read(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(text, (int)size, f);

	if (f)
		fclose(f);
	if (ok)
		text[strcspn(text, "\n")] = '\0';
	return ok;
}

bool file_field(const char *path, const char *name, uint64_t *value)
{
	size_t n = strlen(name);
	char line[256], unit[3] = "";
	bool found = false;
	FILE *f = fopen(path, "re");

	while (!found && f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, n) || !strchr(": \t", line[n]))
			continue;
		found = sscanf(line + n + 1, "%" SCNu64 " %2s", value, unit) >=
			1;
	}
	if (f)
		fclose(f);
	if (found && !strcmp(unit, "kB"))
		*value *= KIB;
	return found;
}

int file_write(const char *path, const char *text)
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

#define MAX_SETTINGS 32

static struct setting {
	char path[128];
	char before[64];
} settings[MAX_SETTINGS];
static unsigned int n_settings;

void settings_restore(void)
{
	while (n_settings) {
		n_settings--;
		file_write(settings[n_settings].path,
			   settings[n_settings].before);
	}
}

static bool setting_get(const char *path, char *value, size_t size)
{
	char *begin, *end;

	if (!file_read(path, value, size))
		return false;
	begin = strchr(value, '[');
	end = begin ? strchr(begin, ']') : NULL;
	if (end) {
		*end = '\0';
		memmove(value, begin + 1, (size_t)(end - begin));
	}
	return true;
}

bool setting_is(const char *path, const char *value)
{
	char now[64];

	return setting_get(path, now, sizeof(now)) && !strcmp(now, value);
}

int setting_change(const char *path, const char *value)
{
	static bool at_exit;
	struct setting *s = &settings[n_settings];
	int ret;

	if (n_settings == MAX_SETTINGS)
		return -E2BIG;
	if (!setting_get(path, s->before, sizeof(s->before)))
		return errno ? -errno : -EIO;
	if (!strcmp(s->before, value))
		return 0;
	ret = file_write(path, value);
	if (ret)
		return ret;
	snprintf(s->path, sizeof(s->path), "%s", path);
	n_settings++;
	if (!at_exit)
		at_exit = !atexit(settings_restore);
	return 0;
}

/* --- arguments ----------------------------------------------------------- */

unsigned long parse_number(const char *text, unsigned long min,
			   unsigned long max, const char *what)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < min ||
	    value > max)
		die(EXIT_USAGE, "%s: '%s' is not a number from %lu to %lu",
		    what, text, min, max);
	return value;
}

void parse_run(struct run *run, int option, const char *help)
{
	switch (option) {
	case 'm':
		run->size = parse_number(optarg, 1, 1ul << 20, "-m") * MIB;
		break;
	case 'r':
		run->rounds =
			(unsigned int)parse_number(optarg, 1, 1000000, "-r");
		break;
	case OPT_JSON:
		run->json = true;
		break;
	case 'h':
		fputs(help, stdout);
		print_done();
		exit(0);
	default:
		exit(EXIT_USAGE);
	}
}

void parse_end(int argc, char **argv, int next)
{
	if (next < argc)
		die(EXIT_USAGE, "unexpected argument '%s' (see --help)",
		    argv[next]);
}
