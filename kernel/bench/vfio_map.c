// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* bench_vfio_map: what does it cost to map memory for a device of VFIO, and to
 * unmap it? The device is only there to have an IOMMU. */
#include <getopt.h>
#include <inttypes.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "common.h"
#include "memory.h"
#include "vfio.h"

/* above what interrupts use */
#define IOVA (1ull << 32)

#define MAX_KINDS 16

static struct vfio vfio;

struct args {
	struct memory memory;
	struct run run;
	const char *kinds[MAX_KINDS];
	unsigned int n_kinds;
	const char *device;
};

struct figures {
	struct series map;
	struct series unmap;
};

/* --- a round ------------------------------------------------------------- */

static uint64_t map(const struct args *a)
{
	struct vfio_iommu_type1_dma_map m = {
		.argsz = sizeof(m),
		.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr = (uintptr_t)a->memory.addr,
		.iova = IOVA,
		.size = a->run.size,
	};
	uint64_t t0 = bench_now();

	if (ioctl(vfio.container, VFIO_IOMMU_MAP_DMA, &m))
		die(1, "VFIO_IOMMU_MAP_DMA of %zu MiB: %m", a->run.size / MIB);
	return bench_now() - t0;
}

static uint64_t unmap(const struct args *a)
{
	struct vfio_iommu_type1_dma_unmap u = {
		.argsz = sizeof(u),
		.iova = IOVA,
		.size = a->run.size,
	};
	uint64_t t0 = bench_now();

	if (ioctl(vfio.container, VFIO_IOMMU_UNMAP_DMA, &u))
		die(1, "VFIO_IOMMU_UNMAP_DMA: %m");
	t0 = bench_now() - t0;
	if (u.size != a->run.size)
		die(1, "unmapped %" PRIu64 " of %zu bytes", (uint64_t)u.size,
		    a->run.size);
	return t0;
}

/* Pages pinned now, or 0 on a kernel that doesn't count them. */
static uint64_t pins(void)
{
	uint64_t acquired, released;

	return memory_pins(&acquired, &released) ? acquired - released : 0;
}

static void one_round(const struct args *a, struct figures *f)
{
	size_t before = memory_pinned(), now;
	uint64_t pins_before = pins();

	series_add(&f->map, map(a));
	now = memory_pinned();
	if (now != before + a->run.size)
		die(1,
		    "%zu MiB are mapped, but VmPin and VmLck grew by %zd KiB",
		    a->run.size / MIB, (ssize_t)(now - before) / (ssize_t)KIB);
	series_add(&f->unmap, unmap(a));
	now = memory_pinned();
	if (now != before)
		die(1, "unmapped, but VmPin and VmLck keep %zd KiB",
		    (ssize_t)(now - before) / (ssize_t)KIB);
	if (pins() != pins_before)
		die(1, "unmapped, but %" PRIu64 " pages stay pinned",
		    pins() - pins_before);
}

static void print(const struct args *a, const struct figures *f)
{
	if (!a->run.json) {
		printf("vfio_map %s%s %zu MiB in %lu runs, %u rounds: ",
		       memory_name(&a->memory),
		       a->memory.scatter ? " scattered" : "", a->run.size / MIB,
		       a->memory.runs, a->run.rounds);
		print_series("map", &f->map);
		print_series(", unmap", &f->unmap);
		printf(" %s\n", bench_unit());
		print_done();
		return;
	}
	json_open("vfio_map");
	json_text("kind", memory_name(&a->memory));
	json_number("mib", a->run.size / MIB);
	json_bool("scatter", a->memory.scatter);
	json_number("runs", a->memory.runs);
	json_text("unit", bench_unit());
	json_series("map", &f->map);
	json_series("unmap", &f->unmap);
	json_number("rounds", a->run.rounds);
	json_close();
}

static void measure(struct args *a, const char *kind)
{
	struct figures f = { 0 };
	unsigned int i;

	memory_parse(&a->memory, kind);
	memory_get(&a->memory, a->run.size);
	for (i = 0; i < a->run.rounds; i++)
		one_round(a, &f);
	memory_check(&a->memory);
	print(a, &f);
	memory_put(&a->memory);
	series_free(&f.map);
	series_free(&f.unmap);
}

/* --- arguments ----------------------------------------------------------- */

static const char help[] =
	"Usage: bench_vfio_map [OPTION]... [KIND]...\n"
	"Measure VFIO_IOMMU_MAP_DMA and VFIO_IOMMU_UNMAP_DMA of memory of each "
	"KIND:\nthp (the default), 4k, 2M (hugetlb), pte (THP mapped by PTEs), "
	"64k (THP of\nthat size, or another).\n\n"
	"  -d DEVICE      such as 0000:00:05.0 (default: the first 1234:11e8,\n"
	"                 QEMU's edu); it gets bound to vfio-pci\n"
	"  -k KIND        the same as KIND\n"
	"  -m MIB         how much (default: 128)\n"
	"  -r ROUNDS      (default: 5)\n"
	"      --scatter  no two such pages side by side in physical memory\n"
	"      --json     print a line of JSON for each kind\n"
	"  -h, --help     print this help\n\n"
	"Exit status: 0 success, 1 failure, 2 usage, 77 not in this kernel or "
	"machine.\n";

enum {
	OPT_SCATTER = OPT_OWN,
};

static const struct option options[] = {
	{ "scatter", no_argument, NULL, OPT_SCATTER },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static void add_kind(struct args *a, const char *kind)
{
	struct memory m;

	memory_parse(&m, kind);
	if (a->n_kinds == MAX_KINDS)
		die(EXIT_USAGE, "more than %d kinds", MAX_KINDS);
	a->kinds[a->n_kinds++] = kind;
}

static void parse(struct args *a, int argc, char **argv)
{
	int option;

	while ((option = getopt_long(argc, argv, "d:k:m:r:h", options, NULL)) !=
	       -1) {
		switch (option) {
		case 'd':
			a->device = optarg;
			break;
		case 'k':
			add_kind(a, optarg);
			break;
		case OPT_SCATTER:
			a->memory.scatter = true;
			break;
		default:
			parse_run(&a->run, option, help);
		}
	}
	while (optind < argc)
		add_kind(a, argv[optind++]);
	if (!a->n_kinds)
		add_kind(a, "thp");
}

int main(int argc, char **argv)
{
	struct args a = { .run = RUN_DEFAULT };
	unsigned int i;

	parse(&a, argc, argv);
	vfio_open(&vfio, a.device);
	for (i = 0; i < a.n_kinds; i++)
		measure(&a, a.kinds[i]);
	return 0;
}
