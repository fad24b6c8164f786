// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Small files of /proc and /sys below a root directory. */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "readfile.h"

const char *hmr_root = "";

void hmr_reader_path(struct hmr_reader *r, const char *fmt, ...)
{
	size_t n = (size_t)snprintf(r->path, sizeof(r->path), "%s", r->root);
	va_list ap;

	if (n >= sizeof(r->path))
		return;
	va_start(ap, fmt);
	vsnprintf(r->path + n, sizeof(r->path) - n, fmt, ap);
	va_end(ap);
}

/* Not stdio: there are a hundred of these to a host, and each would have a
 * buffer of its own. */
const char *hmr_read_line(struct hmr_reader *r)
{
	int fd = open(r->path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return NULL;
	n = read(fd, r->line, sizeof(r->line) - 1);
	close(fd);
	if (n <= 0)
		return NULL;
	r->line[n] = '\0';
	r->line[strcspn(r->line, "\n")] = '\0';
	return r->line;
}

uint64_t hmr_read_u64(struct hmr_reader *r, uint64_t otherwise)
{
	const char *line = hmr_read_line(r);
	uint64_t value;

	return line && sscanf(line, "%" SCNu64, &value) == 1 ? value :
							       otherwise;
}

void hmr_read_lines(struct hmr_reader *r, void (*fn)(char *line, void *arg),
		    void *arg)
{
	FILE *f = fopen(r->path, "re");
	char *line = NULL;
	size_t size = 0;

	if (!f)
		return;
	while (getline(&line, &size, f) > 0)
		fn(line, arg);
	free(line);
	fclose(f);
}

struct search {
	const char *key;
	size_t length;
	uint64_t value;
};

static void match_key(char *line, void *arg)
{
	struct search *s = arg;
	uint64_t value;

	while (isspace((unsigned char)*line))
		line++;
	if (!strncmp(line, s->key, s->length) &&
	    sscanf(line + s->length, "%" SCNu64, &value) == 1)
		s->value = value;
}

uint64_t hmr_read_key(struct hmr_reader *r, const char *key, uint64_t otherwise)
{
	struct search s = { key, strlen(key), otherwise };

	hmr_read_lines(r, match_key, &s);
	return s.value;
}

static bool is_octal(const char *digits)
{
	int i;

	for (i = 0; i < 3; i++)
		if (digits[i] < '0' || digits[i] > '7')
			return false;
	return true;
}

void hmr_unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (*text == '\\' && is_octal(text + 1)) {
			*to++ = (char)((text[1] - '0') << 6 |
				       (text[2] - '0') << 3 | (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}
