// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* A program outside of the project, built against the installed package. */
#include <hugemr/hugemr.h>
#include <stdio.h>

int main(void)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = HMR_PAGES_4K);
	HMR_RESULT(hmr_backing, backing);
	struct hmr_buffer *buf;

	if (hmr_buffer_alloc(12345, &opts, &buf)) {
		fprintf(stderr, "%s\n", hmr_last_error()->text);
		return 1;
	}
	if (hmr_buffer_backing(buf, &backing) || backing.small != 16384)
		return 1;
	printf("hugemr %s\n", hmr_version());
	return hmr_buffer_free(buf) ? 1 : 0;
}
