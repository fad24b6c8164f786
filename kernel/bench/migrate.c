// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * bench_migrate: what does it cost to move memory between NUMA nodes, and to
 * only look through it for pages to move?
 *
 * The look is an mbind() with MPOL_MF_STRICT to the node where everything is
 * already. It walks all page tables of the range, as it stops only at a page of
 * another node, and moves nothing. A PTE is passed over as soon as its page
 * turns out to be on the right node, which since Linux 6.16 happens for all PTEs
 * of a large folio at once.
 *
 * Each round moves fresh memory there and back again. The way back is another
 * thing: migration unmaps one PTE after the other, so a huge page that is mapped
 * by PTEs passes for partially mapped, is said to be so in its new place as well
 * (commit a2e0c0668a34, in 6.12.117 and 7.3.4) and gets split by its next move.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common.h"
#include "memory.h"

struct args {
	struct memory memory;
	struct run run;
};

/* Counters of /proc/vmstat. */
struct moved {
	uint64_t pages;
	uint64_t thp;
	uint64_t thp_split;
};

struct figures {
	struct series migrate;
	struct series walk;
	struct series back;
	/* of the last round */
	struct moved moved;
	struct moved moved_back;
};

static void check_nodes(void)
{
	if (access("/sys/devices/system/node/node1", F_OK))
		die(EXIT_NOT_HERE, "there are no NUMA nodes 0 and 1");
}

/* Stay on one CPU, of node 0 as a rule. */
static void stay(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* Allocate from one node only, or from any for -1. */
static void allocate_from(int node)
{
	unsigned long nodes = 1ul << node;
	long ret;

	if (node < 0)
		ret = syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0ul);
	else
		ret = syscall(SYS_set_mempolicy, MPOL_BIND, &nodes,
			      8 * sizeof(nodes));
	if (ret)
		die(errno == ENOSYS ? EXIT_NOT_HERE : 1, "set_mempolicy: %m");
}

/* Fails unless all of the memory is on @node. */
static uint64_t walk(const struct memory *m, unsigned int node)
{
	unsigned long nodes = 1ul << node;
	uint64_t t0 = bench_now();

	if (syscall(SYS_mbind, m->addr, m->size, MPOL_BIND, &nodes,
		    8 * sizeof(nodes), MPOL_MF_STRICT))
		die(1, "not all memory is on node %u: mbind: %m", node);
	return bench_now() - t0;
}

static void read_moved(struct moved *c)
{
	if (!file_field("/proc/vmstat", "pgmigrate_success", &c->pages) ||
	    !file_field("/proc/vmstat", "thp_migration_success", &c->thp) ||
	    !file_field("/proc/vmstat", "thp_migration_split", &c->thp_split))
		die(EXIT_NOT_HERE, "/proc/vmstat doesn't count migration");
}

/* All of this process' memory, as migrate_pages() knows no range. */
static uint64_t migrate(unsigned int to)
{
	unsigned long from_nodes = 1ul << !to, to_nodes = 1ul << to;
	uint64_t t0 = bench_now();

	if (syscall(SYS_migrate_pages, 0, 8 * sizeof(to_nodes), &from_nodes,
		    &to_nodes) < 0)
		die(errno == ENOSYS ? EXIT_NOT_HERE : 1, "migrate_pages: %m");
	return bench_now() - t0;
}

/* @c gets what it moved. */
static uint64_t move(unsigned int to, struct moved *c)
{
	struct moved before;
	uint64_t t;

	read_moved(&before);
	t = migrate(to);
	read_moved(c);
	c->pages -= before.pages;
	c->thp -= before.thp;
	c->thp_split -= before.thp_split;
	return t;
}

static void check_moved(const struct memory *m, const struct moved *c)
{
	uint64_t pages = m->size / PAGE;
	uint64_t thp = m->kind == MEMORY_THP || m->kind == MEMORY_PTE ?
			       m->size / HUGE_PAGE :
			       0;

	if (c->pages < pages || c->thp < thp || c->thp_split)
		die(1,
		    "moved %" PRIu64 " pages of %" PRIu64 ", %" PRIu64
		    " huge pages of %" PRIu64 ", split %" PRIu64,
		    c->pages, pages, c->thp, thp, c->thp_split);
}

static void one_round(struct args *a, struct figures *f)
{
	struct memory *m = &a->memory;

	allocate_from(0);
	memory_get(m, a->run.size);
	allocate_from(-1);
	series_add(&f->migrate, move(1, &f->moved));
	check_moved(m, &f->moved);
	memory_check(m);
	/* The first one also sets the policy. */
	walk(m, 1);
	series_add(&f->walk, walk(m, 1));
	series_add(&f->back, move(0, &f->moved_back));
	walk(m, 0);
	memory_put(m);
}

static void json_moved(const char *name, const struct moved *c)
{
	json_object(name);
	json_number("pages", c->pages);
	json_number("thp", c->thp);
	json_number("thp_split", c->thp_split);
	json_end();
}

static void print(const struct args *a, const struct figures *f)
{
	if (!a->run.json) {
		printf("migrate %s %zu MiB, %u rounds: ",
		       memory_name(&a->memory), a->memory.size / MIB,
		       a->run.rounds);
		print_series("move", &f->migrate);
		print_series(", walk", &f->walk);
		print_series(", back", &f->back);
		printf(" %s; moved %" PRIu64 " pages, %" PRIu64
		       " huge ones, split %" PRIu64 " on the way back\n",
		       bench_unit(), f->moved.pages, f->moved.thp,
		       f->moved_back.thp_split);
		print_done();
		return;
	}
	json_open("migrate");
	json_text("kind", memory_name(&a->memory));
	json_number("mib", a->memory.size / MIB);
	json_text("unit", bench_unit());
	json_series("migrate", &f->migrate);
	json_series("walk", &f->walk);
	json_series("back", &f->back);
	json_moved("moved", &f->moved);
	json_moved("moved_back", &f->moved_back);
	json_number("rounds", a->run.rounds);
	json_close();
}

static void measure(struct args *a, const char *kind)
{
	struct figures f = { 0 };
	unsigned int i;

	memory_parse(&a->memory, kind);
	for (i = 0; i < a->run.rounds; i++)
		one_round(a, &f);
	print(a, &f);
	series_free(&f.migrate);
	series_free(&f.walk);
	series_free(&f.back);
}

static const char help[] =
	"Usage: bench_migrate [OPTION]... [KIND]...\n"
	"Measure migrate_pages(2) of memory of each KIND from NUMA node 0 to 1 "
	"and back,\nand an mbind(2) that finds nothing to move. KIND is pte "
	"(THP mapped by PTEs,\nthe default), thp, 64k (THP of that size, or "
	"another) or 4k.\n\n"
	"  -m MIB         how much (default: 128)\n"
	"  -r ROUNDS      (default: 5)\n"
	"      --json     print a line of JSON for each kind\n"
	"  -h, --help     print this help\n\n"
	"Exit status: 0 success, 1 failure, 2 usage, 77 not in this kernel or "
	"machine.\n";

static const struct option options[] = {
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void parse(struct args *a, int argc, char **argv)
{
	int option, i;

	while ((option = getopt_long(argc, argv, "m:r:h", options, NULL)) != -1)
		parse_run(&a->run, option, help);
	for (i = optind; i < argc; i++)
		if (!strcmp(argv[i], "2M"))
			die(EXIT_USAGE, "'2M' is no kind of memory here");
		else
			memory_parse(&a->memory, argv[i]);
}

int main(int argc, char **argv)
{
	struct args a = { .run = RUN_DEFAULT };
	int i;

	parse(&a, argc, argv);
	check_nodes();
	stay();
	if (optind == argc)
		measure(&a, "pte");
	for (i = optind; i < argc; i++)
		measure(&a, argv[i]);
	return 0;
}
