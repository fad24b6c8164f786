// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Why pages could not be had, from what the host has. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pages.h"
#include "populate.h"
#include "process.h"
#include "shortage.h"

#ifndef EHWPOISON
#define EHWPOISON 133
#endif

void hmr_shortage_say(struct hmr_shortage *s, enum hmr_cause cause,
		      const char *fmt, ...)
{
	va_list ap;

	s->cause = cause;
	va_start(ap, fmt);
	vsnprintf(s->text, sizeof(s->text), fmt, ap);
	va_end(ap);
}

/* ---- rules: false if they don't fit ---- */

struct facts {
	const struct hmr_asked *asked;
	const struct hmr_host *host;
	const struct hmr_pool *pool; /* or NULL */
	uint64_t need; /* hugetlb pages */
};

static bool pool_too_small(struct hmr_shortage *s, const struct facts *f)
{
	const struct hmr_pool *pool = f->pool;

	s->need = f->need;
	s->have = hmr_pool_available(pool);
	if (s->need <= s->have)
		return false;
	hmr_shortage_say(s, HMR_CAUSE_POOL,
			 "needs %" PRIu64 " %s pages, and %" PRIu64
			 " are available (%" PRIu64 " in the pool, %" PRIu64
			 " free, %" PRIu64 " of them reserved): raise "
			 "/sys/kernel/mm/hugepages/hugepages-%lukB/"
			 "nr_hugepages",
			 s->need, f->asked->name, s->have, pool->nr, pool->free,
			 pool->reserved, pool->page_size / HMR_KIB);
	return true;
}

static bool cgroup_too_small(struct hmr_shortage *s, const struct facts *f,
			     bool reserve)
{
	const struct hmr_limit *limit = reserve ? &f->pool->cgroup_rsvd :
						  &f->pool->cgroup;
	char file[HMR_CGROUP_FILE], need[HMR_SIZE_TEXT];
	char room[HMR_SIZE_TEXT], max[HMR_SIZE_TEXT];

	s->need = f->asked->bytes;
	s->have = limit->room;
	if (s->need <= s->have)
		return false;
	hmr_shortage_say(s, HMR_CAUSE_CGROUP,
			 "needs %s in %s pages, and the hugetlb limit of this "
			 "process's control group leaves %s of %s: raise %s of "
			 "group %s",
			 hmr_size_text(s->need, need), f->asked->name,
			 hmr_size_text(s->have, room),
			 hmr_size_text(limit->max, max),
			 hmr_cgroup_file(&f->host->hugetlb_group,
					 f->pool->page_size, reserve, file),
			 f->host->hugetlb_group.group);
	return true;
}

/* "node 0: 8, node 1: 0" */
static const char *list_free(const struct facts *f, char *text, size_t size)
{
	unsigned int i, pool = (unsigned int)(f->pool - f->host->pools);
	size_t used = 0;

	*text = '\0';
	for (i = 0; i < f->host->n_nodes && used < size; i++) {
		const struct hmr_node *node = &f->host->nodes[i];

		if (f->asked->nodes && !(f->asked->nodes >> node->id & 1))
			continue;
		used += (size_t)snprintf(text + used, size - used,
					 "%snode %u: %" PRIu64,
					 used ? ", " : "", node->id,
					 node->pools[pool].free);
	}
	return text;
}

static bool node_pools_too_small(struct hmr_shortage *s, const struct facts *f)
{
	char list[160];

	s->need = f->need;
	s->have = hmr_pool_available_on(f->host, f->pool, f->asked->nodes);
	if (!f->asked->nodes || s->need <= s->have)
		return false;
	hmr_shortage_say(s, HMR_CAUSE_NODE_POOL,
			 "needs %" PRIu64 " %s pages, and the nodes that it is "
			 "bound to have fewer that are free (%s): raise "
			 "/sys/devices/system/node/node*/hugepages/"
			 "hugepages-%lukB/nr_hugepages",
			 s->need, f->asked->name,
			 list_free(f, list, sizeof(list)),
			 f->pool->page_size / HMR_KIB);
	return true;
}

static bool too_many_mappings(struct hmr_shortage *s, const struct facts *f)
{
	struct hmr_process proc;

	hmr_process_read(hmr_root, &proc);
	/* The buffer, its two guards, and what it splits. */
	s->need = proc.mappings + 4;
	s->have = f->host->max_map_count;
	if (!s->have || s->need <= s->have)
		return false;
	hmr_shortage_say(s, HMR_CAUSE_MAP_COUNT,
			 "this process has %" PRIu64 " mappings of at most "
			 "%" PRIu64 ": sysctl -w vm.max_map_count=%" PRIu64,
			 proc.mappings, s->have, 2 * s->have);
	return true;
}

static bool too_much_committed(struct hmr_shortage *s, const struct facts *f)
{
	char need[HMR_SIZE_TEXT], room[HMR_SIZE_TEXT];

	s->need = f->asked->bytes;
	s->have = f->host->commit_room;
	if (f->host->overcommit_memory != 2 || f->asked->hugetlb ||
	    s->need <= s->have)
		return false;
	hmr_shortage_say(s, HMR_CAUSE_MEMORY,
			 "needs %s, and vm.overcommit_memory=2 leaves %s to be "
			 "mapped on this host",
			 hmr_size_text(s->need, need),
			 hmr_size_text(s->have, room));
	return true;
}

/* ---- failures ---- */

static struct facts gather(const struct hmr_asked *asked, struct hmr_host *host)
{
	struct facts f = { .asked = asked, .host = host };

	hmr_host_read(hmr_root, host);
	if (asked->hugetlb) {
		f.pool = hmr_host_pool(host, asked->hugetlb);
		f.need = asked->bytes / asked->hugetlb;
	}
	return f;
}

/* What no rule fits, with no amounts to go with it. */
static void say_errno(struct hmr_shortage *s, const struct hmr_asked *asked,
		      int err)
{
	s->need = 0;
	s->have = 0;
	hmr_shortage_say(s,
			 err == -ENOMEM ? HMR_CAUSE_MEMORY : HMR_CAUSE_UNKNOWN,
			 "mmap of %zu bytes in %s pages: %s", asked->bytes,
			 asked->name, strerror(-err));
}

void hmr_shortage_of_mapping(struct hmr_shortage *s,
			     const struct hmr_asked *asked, int err)
{
	struct hmr_host host;
	struct facts f;

	if (err == -ENOMEM) {
		f = gather(asked, &host);
		if ((f.pool && pool_too_small(s, &f)) ||
		    (f.pool && cgroup_too_small(s, &f, true)) ||
		    too_many_mappings(s, &f) || too_much_committed(s, &f))
			return;
	}
	say_errno(s, asked, err);
}

static enum hmr_cause populate_cause(int err)
{
	switch (err) {
	case -ENOMEM:
		return HMR_CAUSE_MEMORY;
	case -EACCES:
		return HMR_CAUSE_PROTECTION;
	case -EHWPOISON:
		return HMR_CAUSE_MEMORY_ERROR;
	default:
		return HMR_CAUSE_UNKNOWN;
	}
}

void hmr_shortage_of_pages(struct hmr_shortage *s,
			   const struct hmr_asked *asked, int err)
{
	struct hmr_host host;
	struct facts f;
	char list[160];

	if (asked->hugetlb && (err == -EFAULT || err == -ENOMEM)) {
		f = gather(asked, &host);
		if (f.pool &&
		    (cgroup_too_small(s, &f, false) ||
		     node_pools_too_small(s, &f) || pool_too_small(s, &f)))
			return;
	}
	s->need = 0;
	s->have = 0;
	hmr_shortage_say(s, populate_cause(err),
			 "%zu bytes in %s pages can't be populated: %s",
			 asked->bytes, asked->name, hmr_populate_text(err));
	if (asked->hugetlb && err == -EFAULT && f.pool && f.host->n_nodes > 1)
		hmr_shortage_say(s, HMR_CAUSE_UNKNOWN,
				 "%zu bytes in %s pages can't be populated, "
				 "though the pool seems to have them (free on "
				 "%s): they are gone meanwhile, or this thread "
				 "may not use some nodes",
				 asked->bytes, asked->name,
				 list_free(&f, list, sizeof(list)));
}
