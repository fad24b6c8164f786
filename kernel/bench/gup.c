// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* bench_gup: what does it cost to pin user pages and to unpin them, by the
 * kernel's own module for that? */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "counts.h"
#include "memory.h"

#define GUP_TEST "/sys/kernel/debug/gup_test"
#define GUP_BENCHMARK "/sys/kernel/debug/gup_benchmark"
#define FOLL_WRITE 1u
#define COUNTED_ROUNDS 3

/* mm/gup_test.h of the kernel */
struct gup_test {
	uint64_t get_delta_usec;
	uint64_t put_delta_usec;
	uint64_t addr;
	uint64_t size;
	uint32_t nr_pages_per_call;
	uint32_t gup_flags;
	uint32_t test_flags;
	uint32_t which_pages[8];
};

/* mm/gup_benchmark.c of kernels before 5.11 */
struct gup_benchmark {
	uint64_t get_delta_usec;
	uint64_t put_delta_usec;
	uint64_t addr;
	uint64_t size;
	uint32_t nr_pages_per_call;
	uint32_t flags;
	uint64_t expansion[10];
};

/* They begin alike. */
union gup {
	struct gup_test test;
	struct gup_benchmark benchmark;
};

enum call {
	PIN_FAST,
	PIN_BASIC,
	PIN_LONGTERM,
	GET_FAST,
	GET_BASIC,
};

static const struct {
	const char *name;
	unsigned long test;
	unsigned long benchmark;
	bool pins;
} calls[] = {
	[PIN_FAST] = { "pin_fast", _IOWR('g', 2, struct gup_test),
		       _IOWR('g', 3, struct gup_benchmark), true },
	[PIN_BASIC] = { "pin_basic", _IOWR('g', 5, struct gup_test),
			_IOWR('g', 4, struct gup_benchmark), true },
	[PIN_LONGTERM] = { "pin_longterm", _IOWR('g', 3, struct gup_test),
			   _IOWR('g', 5, struct gup_benchmark), true },
	[GET_FAST] = { "get_fast", _IOWR('g', 1, struct gup_test),
		       _IOWR('g', 1, struct gup_benchmark), false },
	[GET_BASIC] = { "get_basic", _IOWR('g', 4, struct gup_test),
			_IOWR('g', 2, struct gup_benchmark), false },
};

struct args {
	struct memory memory;
	struct run run;
	/* of the start in the memory */
	size_t offset;
	enum call call;
	/* 0 for all of them in one call */
	unsigned int pages_per_call;
	unsigned int flags;
	/* take write permission from the memory, once it is populated */
	bool protect;
	bool counts;
};

/* Pages that one round pins and unpins, on kernels that count them. */
struct pins {
	bool known;
	uint64_t acquired;
	uint64_t released;
};

struct figures {
	struct series get;
	struct series put;
	struct pins pins;
	struct counts counts;
};

/* --- a round ------------------------------------------------------------- */

static int open_gup(bool *is_benchmark)
{
	int fd = open(GUP_TEST, O_RDWR | O_CLOEXEC);

	*is_benchmark = fd < 0 && errno == ENOENT;
	if (*is_benchmark)
		fd = open(GUP_BENCHMARK, O_RDWR | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		die(EXIT_NOT_HERE,
		    "this kernel has neither " GUP_TEST " (CONFIG_GUP_TEST) nor"
		    " " GUP_BENCHMARK " (CONFIG_GUP_BENCHMARK)");
	if (fd < 0)
		die(1, "%s: %m", *is_benchmark ? GUP_BENCHMARK : GUP_TEST);
	return fd;
}

static void check_round(const struct args *a, const union gup *g)
{
	if (g->test.gup_flags != a->flags)
		die(EXIT_NOT_HERE,
		    "this kernel's gup_benchmark takes only FOLL_WRITE: it made"
		    " %#x of the flags %#x",
		    g->test.gup_flags, a->flags);
	if (g->test.size != a->run.size)
		die(1, "%s got only %" PRIu64 " of %zu bytes",
		    calls[a->call].name, g->test.size, a->run.size);
}

static void one_round(const struct args *a, union gup *g)
{
	bool is_benchmark;
	int fd = open_gup(&is_benchmark);

	memset(g, 0, sizeof(*g));
	g->test.addr = (uintptr_t)a->memory.addr + a->offset;
	g->test.size = a->run.size;
	g->test.nr_pages_per_call = a->pages_per_call;
	g->test.gup_flags = a->flags;
	if (ioctl(fd,
		  is_benchmark ? calls[a->call].benchmark : calls[a->call].test,
		  g))
		die(errno == EINVAL || errno == ENOTTY ? EXIT_NOT_HERE : 1,
		    "%s of %zu MiB: %m", calls[a->call].name,
		    a->run.size / MIB);
	close(fd);
	check_round(a, g);
}

/* The sizes that the module returns are of whole calls, so they hide it when the
 * last one got less; what the kernel counts doesn't. */
static void check_pins(const struct args *a, const struct pins *p)
{
	uint64_t want = calls[a->call].pins ? a->run.size / PAGE : 0;

	if (p->known && (p->acquired < want || p->acquired != p->released))
		die(1,
		    "%s: %" PRIu64 " pages were pinned and %" PRIu64
		    " unpinned, in place of %" PRIu64,
		    calls[a->call].name, p->acquired, p->released, want);
}

static void timed_round(const struct args *a, struct figures *f)
{
	struct pins *p = &f->pins;
	uint64_t acquired, released;
	union gup g;

	p->known = memory_pins(&acquired, &released);
	one_round(a, &g);
	p->known = p->known && memory_pins(&p->acquired, &p->released);
	p->acquired -= acquired;
	p->released -= released;
	check_pins(a, p);
	series_add(&f->get, g.test.get_delta_usec * 1000);
	series_add(&f->put, g.test.put_delta_usec * 1000);
}

/* Apart from what is timed, as tracing costs. Now and then something else
 * happens in the name of this process, so the least of some rounds counts. */
static void count_rounds(const struct args *a, struct counts *counts)
{
	struct counts c = { 0 };
	unsigned int i, j;
	union gup g;

	for (i = 0; i < COUNTED_ROUNDS; i++) {
		counts_begin();
		one_round(a, &g);
		counts_end(&c);
		for (j = 0; j < N_COUNTS; j++)
			if (!i || c.value[j] < counts->value[j])
				counts->value[j] = c.value[j];
	}
	memcpy(counts->known, c.known, sizeof(c.known));
}

/* --- printing ------------------------------------------------------------ */

static void print_json_counts(const struct figures *f)
{
	unsigned int i;

	json_object("counts");
	for (i = 0; i < N_COUNTS; i++) {
		if (f->counts.known[i])
			json_number(count_names[i], f->counts.value[i]);
		else
			json_null(count_names[i]);
	}
	if (f->pins.known) {
		json_number("pin_acquired", f->pins.acquired);
		json_number("pin_released", f->pins.released);
	} else {
		json_null("pin_acquired");
		json_null("pin_released");
	}
	json_end();
}

static void print_json(const struct args *a, const struct figures *f)
{
	char flags[16];

	snprintf(flags, sizeof(flags), "0x%x", a->flags);
	json_open("gup");
	json_text("call", calls[a->call].name);
	json_text("kind", memory_name(&a->memory));
	json_number("mib", a->run.size / MIB);
	json_number("pages_per_call", a->pages_per_call);
	json_text("flags", flags);
	json_bool("shared", a->memory.shared);
	json_bool("scatter", a->memory.scatter);
	json_bool("protect", a->protect);
	json_number("offset_kib", a->offset / KIB);
	json_number("runs", a->memory.runs);
	json_text("unit", bench_unit());
	json_series("get", &f->get);
	json_series("put", &f->put);
	json_number("rounds", a->run.rounds);
	if (a->counts)
		print_json_counts(f);
	json_close();
}

static void print_counts(const struct figures *f)
{
	unsigned int i;

	for (i = 0; i < N_COUNTS; i++) {
		if (f->counts.known[i])
			printf("  %s %" PRIu64 "\n", count_names[i],
			       f->counts.value[i]);
		else
			printf("  %s unknown (%s)\n", count_names[i],
			       counts_missing());
	}
	if (f->pins.known)
		printf("  pages pinned %" PRIu64 ", unpinned %" PRIu64 "\n",
		       f->pins.acquired, f->pins.released);
	else
		printf("  pages pinned unknown (no nr_foll_pin_acquired in "
		       "/proc/vmstat)\n");
}

static void print_text(const struct args *a, const struct figures *f)
{
	printf("gup %s %s%s%s %zu MiB", calls[a->call].name,
	       memory_name(&a->memory), a->memory.shared ? " shared" : "",
	       a->memory.scatter ? " scattered" : "", a->run.size / MIB);
	if (a->protect)
		printf(" protected");
	if (a->offset)
		printf(" at %zu KiB", a->offset / KIB);
	printf(" in %lu runs, %u pages a call, flags 0x%x, %u rounds: ",
	       a->memory.runs, a->pages_per_call, a->flags, a->run.rounds);
	print_series("get", &f->get);
	print_series(", put", &f->put);
	printf(" %s\n", bench_unit());
	if (a->counts)
		print_counts(f);
	print_done();
}

/* --- arguments ----------------------------------------------------------- */

static const char help[] =
	"Usage: bench_gup [OPTION]...\n"
	"Measure get_user_pages() and pin_user_pages() and the release of their "
	"pages,\nby the kernel's gup_test or gup_benchmark (debugfs).\n\n"
	"  -a, -b, -L     pin: fast (the default), basic, longterm\n"
	"  -u, -U         get: fast, basic\n"
	"  -m MIB         how much (default: 128)\n"
	"  -n PAGES       pages per call, or -1 for all in one (default: 1)\n"
	"  -r ROUNDS      (default: 5)\n"
	"  -F FLAGS       more FOLL_* flags, in hex\n"
	"  -w, -W         to write (the default), only to read\n"
	"      --protect  -W, and memory that can't be written: page-table entries\n"
	"                 are read-only then, which -W alone leaves writable\n"
	"  -T, -t, -H     pages: 4 KiB (the default), huge by THP, by hugetlb\n"
	"      --pte      huge by THP, but mapped by PTEs\n"
	"      --mthp KIB of that size by THP, such as 64\n"
	"  -S             of a shared memfd, not private and anonymous\n"
	"      --scatter  no two such pages side by side in physical memory\n"
	"  -O KIB         start so far within the first 2 MiB\n"
	"      --counts   count changes of reference counts, and pages pinned,\n"
	"                 of one round\n"
	"      --json     print one line of JSON\n"
	"  -h, --help     print this help\n\n"
	"Exit status: 0 success, 1 failure, 2 usage, 77 not in this kernel.\n";

enum {
	OPT_PTE = OPT_OWN,
	OPT_MTHP,
	OPT_SCATTER,
	OPT_PROTECT,
	OPT_COUNTS,
};

static const struct option options[] = {
	{ "pte", no_argument, NULL, OPT_PTE },
	{ "mthp", required_argument, NULL, OPT_MTHP },
	{ "scatter", no_argument, NULL, OPT_SCATTER },
	{ "protect", no_argument, NULL, OPT_PROTECT },
	{ "counts", no_argument, NULL, OPT_COUNTS },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static unsigned int parse_flags(const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 16);
	if (errno || end == text || *end || *text == '-' || value > UINT32_MAX)
		die(EXIT_USAGE, "-F: '%s' are no flags in hex", text);
	return (unsigned int)value;
}

/* "--mthp 64" is the kind "64k". */
static void parse_mthp(struct memory *m, const char *kib)
{
	char name[32];

	snprintf(name, sizeof(name), "%.16sk", kib);
	memory_parse(m, name);
	if (m->kind != MEMORY_MTHP)
		die(EXIT_USAGE, "--mthp: '%s' is not 8 to 1024", kib);
}

/* 0 for all */
static unsigned int parse_pages(const char *text)
{
	if (!strcmp(text, "-1"))
		return 0;
	return (unsigned int)parse_number(text, 1, INT32_MAX, "-n");
}

static bool parse_call(struct args *a, int option)
{
	static const char letters[] = "abLuU";
	const char *letter = memchr(letters, option, sizeof(letters) - 1);

	/* memchr() takes but a byte of it. */
	if (!letter || option != *letter)
		return false;
	a->call = (enum call)(letter - letters);
	return true;
}

static bool parse_memory(struct memory *m, int option)
{
	switch (option) {
	case 'T':
		m->kind = MEMORY_4K;
		return true;
	case 't':
		m->kind = MEMORY_THP;
		return true;
	case 'H':
		m->kind = MEMORY_2M;
		return true;
	case OPT_PTE:
		m->kind = MEMORY_PTE;
		return true;
	case OPT_MTHP:
		parse_mthp(m, optarg);
		return true;
	case 'S':
		m->shared = true;
		return true;
	case OPT_SCATTER:
		m->scatter = true;
		return true;
	default:
		return false;
	}
}

static void parse_option(struct args *a, int option)
{
	switch (option) {
	case 'n':
		a->pages_per_call = parse_pages(optarg);
		break;
	case 'F':
		a->flags = parse_flags(optarg) | (a->flags & FOLL_WRITE);
		break;
	case 'w':
		a->flags |= FOLL_WRITE;
		break;
	case 'W':
		a->flags &= ~FOLL_WRITE;
		break;
	case 'O':
		a->offset = parse_number(optarg, 0, 2044, "-O") * KIB;
		break;
	case OPT_PROTECT:
		a->protect = true;
		break;
	case OPT_COUNTS:
		a->counts = true;
		break;
	default:
		parse_run(&a->run, option, help);
	}
}

static void parse(struct args *a, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "abLuUm:n:r:F:wWTtHSO:h",
				     options, NULL)) != -1)
		if (!parse_call(a, option) && !parse_memory(&a->memory, option))
			parse_option(a, option);
	parse_end(argc, argv, optind);
	if (a->offset % PAGE)
		die(EXIT_USAGE, "-O: %zu is no multiple of 4", a->offset / KIB);
	if (a->memory.kind == MEMORY_PTE && a->memory.shared)
		die(EXIT_USAGE, "--pte: not with -S, where a fault brings the "
				"PMD back");
	if (a->protect)
		a->flags &= ~FOLL_WRITE;
	if (!a->pages_per_call)
		a->pages_per_call = (unsigned int)(a->run.size / PAGE);
}

int main(int argc, char **argv)
{
	struct args a = {
		.run = RUN_DEFAULT,
		.pages_per_call = 1,
		.flags = FOLL_WRITE,
	};
	struct figures f = { 0 };
	bool is_benchmark;
	unsigned int i;

	parse(&a, argc, argv);
	close(open_gup(&is_benchmark));
	memory_get(&a.memory, a.run.size + a.offset);
	if (a.protect && mprotect(a.memory.addr, a.memory.size, PROT_READ))
		die(1, "mprotect: %m");
	for (i = 0; i < a.run.rounds; i++)
		timed_round(&a, &f);
	if (a.counts)
		count_rounds(&a, &f.counts);
	memory_check(&a.memory);
	if (a.run.json)
		print_json(&a, &f);
	else
		print_text(&a, &f);
	memory_put(&a.memory);
	series_free(&f.get);
	series_free(&f.put);
	return 0;
}
