// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* hugemr rxe: make, remove and show soft-RoCE devices. */
#include "hugemr.h"
#include "nldev.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define DEV_NAME_MAX 64 /* the kernel's IB_DEVICE_NAME_MAX */

static const struct reason add_reasons[] = {
	{ ENODEV, "there is no such network device" },
	{ EEXIST, "this network device already has an rxe device" },
	{ ENFILE, "an RDMA device of this name exists" },
	{ EINVAL, "the kernel has no rdma_rxe module, or rxe cannot use this "
		  "kind of network device" },
	{},
};

static const struct reason del_reasons[] = {
	{ ENODEV, "there is no such RDMA device" },
	{ EINVAL, "this is not a soft-RoCE device" },
	{ EOPNOTSUPP, "this is not a soft-RoCE device" },
	{},
};

static int add(int argc, char **argv)
{
	struct simple_args args = { .min = 2, .max = 2, .json = -1 };
	const char *name, *netdev;
	int err;

	parse_simple(argc, argv, "NAME NETDEV",
		     "Make the soft-RoCE device NAME on the network device "
		     "NETDEV.",
		     &args);
	name = args.values[0];
	netdev = args.values[1];
	/* the kernel would cut them, or take % for a pattern */
	if (!*name || strlen(name) >= DEV_NAME_MAX || strpbrk(name, "/%")) {
		fprintf(stderr, "%s: bad device name '%s'\n", argv[0], name);
		return STATUS_USAGE;
	}
	if (!*netdev || strlen(netdev) >= IFNAMSIZ) {
		fprintf(stderr, "%s: bad network device name '%s'\n", argv[0],
			netdev);
		return STATUS_USAGE;
	}
	err = nldev_rxe_add(name, netdev);
	if (err) {
		fprintf(stderr, "%s: %s on %s: %s\n", argv[0], name, netdev,
			explain(add_reasons, -err));
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

static int del(int argc, char **argv)
{
	struct simple_args args = { .min = 1, .max = 1, .json = -1 };
	int err;

	parse_simple(argc, argv, "NAME", "Remove the soft-RoCE device NAME.",
		     &args);
	err = nldev_rxe_del(args.values[0]);
	if (err) {
		fprintf(stderr, "%s: %s: %s\n", argv[0], args.values[0],
			explain(del_reasons, -err));
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

static const char *state_name(unsigned int state)
{
	static const char *const names[] = {
		[IBV_PORT_DOWN] = "DOWN",
		[IBV_PORT_INIT] = "INIT",
		[IBV_PORT_ARMED] = "ARMED",
		[IBV_PORT_ACTIVE] = "ACTIVE",
		[IBV_PORT_ACTIVE_DEFER] = "ACTIVE_DEFER",
	};

	if (state < sizeof(names) / sizeof(*names) && names[state])
		return names[state];
	return "UNKNOWN";
}

struct listing {
	struct json_object *array; /* NULL: print text */
	unsigned int rows;
};

static void add_row(struct json_object *array, const char *name,
		    const struct nldev_port *port)
{
	struct json_object *row = json_object_new_object();

	json_object_object_add(row, "name", json_object_new_string(name));
	json_object_object_add(row, "netdev",
			       json_object_new_string(port->netdev));
	json_object_object_add(row, "state",
			       json_object_new_string(state_name(port->state)));
	json_object_array_add(array, row);
}

static int show_dev(const struct nldev_dev *dev, void *arg)
{
	struct listing *listing = arg;
	struct nldev_port port;
	int err;

	if (!dev->rxe)
		return 0;
	err = nldev_port_get(dev->index, 1, &port);
	if (err == -ENODEV || err == -EINVAL)
		return 0; /* removed since it was listed */
	if (err)
		return err;
	if (listing->array) {
		add_row(listing->array, dev->name, &port);
		return 0;
	}
	if (!listing->rows++)
		printf("%-16s %-16s %s\n", "NAME", "NETDEV", "STATE");
	printf("%-16s %-16s %s\n", dev->name, port.netdev,
	       state_name(port.state));
	return 0;
}

static int show(int argc, char **argv)
{
	struct simple_args args = { .max = 0 };
	struct listing listing = {};
	int err;

	parse_simple(argc, argv, "",
		     "Show the soft-RoCE devices: name, "
		     "network device, state of the port.",
		     &args);
	if (args.json)
		listing.array = json_object_new_array();
	err = nldev_dev_list(show_dev, &listing);
	if (err) {
		json_object_put(listing.array);
		fprintf(stderr, "%s: %s\n", argv[0], explain(NULL, -err));
		return STATUS_FAILED;
	}
	return listing.array ? print_json(listing.array) : STATUS_OK;
}

const struct command rxe_commands[] = {
	{
		.name = "add",
		.args = "NAME NETDEV",
		.help = "make the device NAME on the network device NETDEV",
		.run = add,
	},
	{
		.name = "del",
		.args = "NAME",
		.help = "remove the device NAME",
		.run = del,
	},
	{
		.name = "show",
		.args = "[--json]",
		.help = "list them: name, network device, state of the port",
		.run = show,
	},
	{},
};
