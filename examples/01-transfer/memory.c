// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include <err.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>

#include "transfer.h"

int complain_hmr(void)
{
	warnx("%s", hmr_last_error()->text);
	return -1;
}

int memory_alloc(struct memory *mem, const struct args *args)
{
	HMR_OPTS(hmr_buffer_opts, opts, .pages = args->pages);

	if (hmr_buffer_alloc(args->size + 2 * args->offset, &opts, &mem->buf))
		return complain_hmr();
	mem->data = (unsigned char *)hmr_buffer_addr(mem->buf) + args->offset;
	mem->size = args->size;
	return 0;
}

int memory_register(struct memory *mem, const struct args *args,
		    struct ibv_pd *pd, int access)
{
	HMR_OPTS(hmr_register_opts, opts, .chunk = args->chunk);
	HMR_RESULT(hmr_report, report);

	if (hmr_domain_open(&pd, 1, NULL, &mem->dom))
		return complain_hmr();
	if (hmr_register(mem->dom, mem->data, mem->size, access, &opts,
			 &mem->region))
		return complain_hmr();
	hmr_region_report(mem->region, &report);
	printf("registered %" PRIu64 " bytes of %s pages at offset %zu: "
	       "%u MR%s\n",
	       report.length, pages_name(hmr_buffer_pages(mem->buf)),
	       args->offset, report.mrs, report.mrs == 1 ? "" : "s");
	return 0;
}

void memory_free(struct memory *mem)
{
	/* Each refuses while the one before still uses it. */
	if (hmr_deregister(mem->region) || hmr_domain_close(mem->dom) ||
	    hmr_buffer_free(mem->buf))
		complain_hmr();
}

/* Neighbours differ, and so does what lies a page or a chunk further on: data
 * that ends up in a wrong place is seen. */
static unsigned char pattern_at(size_t i, enum pattern pattern)
{
	return (unsigned char)((i * 0x9e3779b97f4a7c15ull) >> 56 ^ pattern);
}

void memory_fill(struct memory *mem, enum pattern pattern)
{
	size_t i;

	for (i = 0; i < mem->size; i++)
		mem->data[i] = pattern_at(i, pattern);
}

int memory_check(const struct memory *mem, enum pattern pattern)
{
	const unsigned char *p = hmr_buffer_addr(mem->buf);
	const unsigned char *buf_end = p + hmr_buffer_length(mem->buf);
	const unsigned char *end = mem->data + mem->size;
	unsigned char want;

	for (; p < buf_end; p++) {
		want = p < mem->data || p >= end ?
			       0 :
			       pattern_at((size_t)(p - mem->data), pattern);
		if (*p != want) {
			warnx("byte %td of the range is %#x, not %#x",
			      p - mem->data, *p, want);
			return -1;
		}
	}
	return 0;
}
