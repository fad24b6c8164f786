// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* hugemr mr: the memory regions that exist, as the kernel tells. */
#include "hugemr.h"
#include "nldev.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

static const struct reason reasons[] = {
	{ ENODEV, "there is no such RDMA device" },
	{},
};

struct listing {
	const char *wanted; /* a device, or NULL for all */
	const char *device; /* whose regions are being listed */
	bool found;
	struct json_object *array; /* NULL: print text */
	unsigned int rows;
};

/* Who owns it: the kernel names its own users, and of a process the pid. */
static void owner(const struct nldev_mr *mr, char *name, size_t size)
{
	char path[64];
	FILE *file;

	snprintf(name, size, "%s", mr->kern_name ? mr->kern_name : "");
	if (!mr->pid)
		return;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", mr->pid);
	file = fopen(path, "re");
	if (!file)
		return; /* it has ended, or hides from us */
	if (fgets(name, size, file))
		name[strcspn(name, "\n")] = '\0';
	fclose(file);
}

static void print_row(struct listing *listing, const struct nldev_mr *mr,
		      const char *comm)
{
	char lkey[16] = "-", rkey[16] = "-";

	if (!listing->rows++)
		printf("%-16s %8s %10s %10s %14s %8s %s\n", "DEVICE", "MRN",
		       "LKEY", "RKEY", "LENGTH", "PID", "COMM");
	if (mr->has_keys) {
		snprintf(lkey, sizeof(lkey), "0x%" PRIx32, mr->lkey);
		snprintf(rkey, sizeof(rkey), "0x%" PRIx32, mr->rkey);
	}
	printf("%-16s %8" PRIu32 " %10s %10s %14" PRIu64 " %8" PRIu32 " %s\n",
	       listing->device, mr->mrn, lkey, rkey, mr->length, mr->pid, comm);
}

static void add_number(struct json_object *row, const char *key, uint64_t value)
{
	json_object_object_add(row, key, json_object_new_uint64(value));
}

static void add_row(const struct listing *listing, const struct nldev_mr *mr,
		    const char *comm)
{
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, "device",
			       json_object_new_string(listing->device));
	add_number(row, "mrn", mr->mrn);
	if (mr->has_keys) {
		add_number(row, "lkey", mr->lkey);
		add_number(row, "rkey", mr->rkey);
	}
	if (mr->has_iova)
		add_number(row, "iova", mr->iova);
	add_number(row, "length", mr->length);
	if (mr->pid)
		add_number(row, "pid", mr->pid);
	json_object_object_add(row, "comm", json_object_new_string(comm));
	json_object_array_add(listing->array, row);
}

static int show_mr(const struct nldev_mr *mr, void *arg)
{
	struct listing *listing = arg;
	char comm[64];

	owner(mr, comm, sizeof(comm));
	if (listing->array)
		add_row(listing, mr, comm);
	else
		print_row(listing, mr, comm);
	return 0;
}

static int show_dev(const struct nldev_dev *dev, void *arg)
{
	struct listing *listing = arg;
	int err;

	if (listing->wanted && strcmp(listing->wanted, dev->name))
		return 0;
	listing->found = true;
	listing->device = dev->name;
	err = nldev_mr_list(dev->index, show_mr, listing);
	return err == -ENODEV ? 0 : err; /* removed since it was listed */
}

static int show(int argc, char **argv)
{
	struct simple_args args = { .max = 1 };
	struct listing listing = {};
	int err;

	parse_simple(argc, argv, "[DEVICE]",
		     "Show the memory regions of DEVICE, or of all: device, "
		     "number, lkey, rkey, length, pid, name of the owner. Keys "
		     "are shown with CAP_NET_ADMIN only.",
		     &args);
	listing.wanted = args.values[0];
	if (args.json)
		listing.array = json_object_new_array();
	err = nldev_dev_list(show_dev, &listing);
	if (!err && listing.wanted && !listing.found)
		err = -ENODEV;
	if (err) {
		json_object_put(listing.array);
		fprintf(stderr, "%s: %s%s%s\n", argv[0],
			listing.wanted ? listing.wanted : "",
			listing.wanted ? ": " : "", explain(reasons, -err));
		return STATUS_FAILED;
	}
	return listing.array ? print_json(listing.array) : STATUS_OK;
}

const struct command mr_commands[] = {
	{
		.name = "show",
		.args = "[DEVICE] [--json]",
		.help = "list the regions of one device or of all",
		.run = show,
	},
	{},
};
