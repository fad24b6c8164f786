// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The limits that control groups put on this process.
 *
 * /proc/self/cgroup has the path of the group, /proc/self/mountinfo where the
 * hierarchy is mounted, and which group lies there: in a container that is
 * often not the root. Limits above it can't be seen from within.
 */
#include <string.h>

#include "cgroup.h"

struct lookup {
	const char *controller;
	struct hmr_cgroup *cg;
	/* as /proc/self/cgroup has it */
	char path[1024];
};

/* Is @word one of the comma-separated words at @list, which ends with @end? */
static bool has_word(const char *list, char end, const char *word)
{
	size_t n = strlen(word), len;

	for (;; list += len + 1) {
		len = strcspn(list, end == ':' ? ",:" : ", \n");
		if (len == n && !strncmp(list, word, n))
			return true;
		if (list[len] != ',')
			return false;
	}
}

/* "4:memory,hugetlb:/path", or "0::/path" for version 2, which has the
 * controllers that no hierarchy of version 1 has. */
static void match_group(char *line, void *arg)
{
	struct lookup *l = arg;
	char *list = strchr(line, ':'), *path;
	unsigned int version;

	if (!list)
		return;
	list++;
	path = strchr(list, ':');
	if (!path)
		return;
	version = path == list ? 2 : 1;
	if (version == 1 && !has_word(list, ':', l->controller))
		return;
	if (l->cg->version == 1 || strlen(path + 1) >= sizeof(l->path))
		return;
	path[1 + strcspn(path + 1, "\n")] = '\0';
	snprintf(l->path, sizeof(l->path), "%s", path + 1);
	l->cg->version = version;
}

/* The part of @path below @top, or NULL if it isn't there. */
static const char *below(const char *path, const char *top)
{
	size_t n = strlen(top);

	if (!strcmp(top, "/"))
		n = 0;
	if (strncmp(path, top, n) || (path[n] && path[n] != '/'))
		return NULL;
	return strcmp(path + n, "/") ? path + n : "";
}

/* "30 22 0:27 TOP MOUNT options ... - cgroup2 source options" */
static void match_mount(char *line, void *arg)
{
	struct lookup *l = arg;
	char top[1024], mount[512], type[16];
	const char *dash = strstr(line, " - "), *group;
	char options[512];

	if (!dash ||
	    sscanf(line, "%*s %*s %*s %1023s %511s", top, mount) != 2 ||
	    sscanf(dash, " - %15s %*s %511s", type, options) != 2)
		return;
	if (strcmp(type, l->cg->version == 2 ? "cgroup2" : "cgroup") ||
	    (l->cg->version == 1 && !has_word(options, ' ', l->controller)))
		return;
	hmr_unescape(top);
	hmr_unescape(mount);
	group = below(l->path, top);
	if (!group)
		return;
	snprintf(l->cg->mount, sizeof(l->cg->mount), "%s", mount);
	snprintf(l->cg->group, sizeof(l->cg->group), "%s", group);
}

void hmr_cgroup_find(const char *root, const char *controller,
		     struct hmr_cgroup *cg)
{
	struct lookup l = { .controller = controller, .cg = cg };
	struct hmr_reader r = { .root = root };

	*cg = (struct hmr_cgroup){ 0 };
	hmr_reader_path(&r, "/proc/self/cgroup");
	hmr_read_lines(&r, match_group, &l);
	hmr_reader_path(&r, "/proc/self/mountinfo");
	if (cg->version)
		hmr_read_lines(&r, match_mount, &l);
	if (!cg->mount[0])
		cg->version = 0;
}

static uint64_t read_limit(struct hmr_reader *r, const struct hmr_cgroup *cg,
			   const char *group, const char *file)
{
	uint64_t value;

	hmr_reader_path(r, "%s%s/%s", cg->mount, group, file);
	/* "max" isn't a number, and the root of version 2 has no file. */
	value = hmr_read_u64(r, UINT64_MAX);
	/* Version 1 has LONG_MAX in whole pages for no limit. */
	return value >= UINT64_MAX / 4 ? UINT64_MAX : value;
}

static struct hmr_limit effective(const char *root, const struct hmr_cgroup *cg,
				  const char *max_file, const char *usage_file)
{
	struct hmr_limit limit = HMR_NO_LIMIT;
	struct hmr_reader r = { .root = root };
	char group[sizeof(cg->group)], *slash;
	uint64_t max, usage, room;

	if (!cg->version)
		return limit;
	memcpy(group, cg->group, sizeof(group));
	do {
		max = read_limit(&r, cg, group, max_file);
		if (max < limit.max)
			limit.max = max;
		usage = read_limit(&r, cg, group, usage_file);
		if (usage == UINT64_MAX)
			usage = 0;
		room = max == UINT64_MAX ? UINT64_MAX :
		       usage > max	 ? 0 :
					   max - usage;
		if (room < limit.room)
			limit.room = room;
		slash = strrchr(group, '/');
		if (slash)
			*slash = '\0';
	} while (slash);
	return limit;
}

/* As mem_fmt() of the kernel's mm/hugetlb_cgroup.c. */
static void hugetlb_file(size_t page_size, bool reserve, const char *what,
			 char name[HMR_CGROUP_FILE])
{
	const char *dot = reserve ? "rsvd." : "";

	if (page_size >= HMR_GIB)
		snprintf(name, HMR_CGROUP_FILE, "hugetlb.%luGB.%s%s",
			 page_size / HMR_GIB, dot, what);
	else if (page_size >= HMR_MIB)
		snprintf(name, HMR_CGROUP_FILE, "hugetlb.%luMB.%s%s",
			 page_size / HMR_MIB, dot, what);
	else
		snprintf(name, HMR_CGROUP_FILE, "hugetlb.%luKB.%s%s",
			 page_size / HMR_KIB, dot, what);
}

const char *hmr_cgroup_file(const struct hmr_cgroup *cg, size_t page_size,
			    bool reserve, char name[HMR_CGROUP_FILE])
{
	hugetlb_file(page_size, reserve,
		     cg->version == 1 ? "limit_in_bytes" : "max", name);
	return name;
}

struct hmr_limit hmr_cgroup_hugetlb(const char *root,
				    const struct hmr_cgroup *cg,
				    size_t page_size, bool reserve)
{
	char max[HMR_CGROUP_FILE], usage[HMR_CGROUP_FILE];

	hmr_cgroup_file(cg, page_size, reserve, max);
	hugetlb_file(page_size, reserve,
		     cg->version == 1 ? "usage_in_bytes" : "current", usage);
	return effective(root, cg, max, usage);
}

struct hmr_limit hmr_cgroup_memory(const char *root,
				   const struct hmr_cgroup *cg)
{
	if (cg->version == 1)
		return effective(root, cg, "memory.limit_in_bytes",
				 "memory.usage_in_bytes");
	return effective(root, cg, "memory.max", "memory.current");
}
