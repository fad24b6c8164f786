// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The guest's network, which is none: dummy devices that carry soft-RoCE ones. */
#include <dirent.h>
#include <net/if.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/nldev.h"
#include "init.h"

/*
 * Create the link if its kind is given and it isn't there yet (a built-in dummy
 * driver makes the first one itself), and set it up.
 */
static void link_up(struct nl_sock *rtnl, const char *name, const char *kind)
{
	struct rtnl_link *link;
	int err;

	link = rtnl_link_alloc();
	if (!link)
		die("out of memory");
	rtnl_link_set_name(link, name);
	rtnl_link_set_flags(link, IFF_UP);
	if (kind)
		rtnl_link_set_type(link, kind);
	err = rtnl_link_add(rtnl, link, kind ? NLM_F_CREATE : 0);
	if (err)
		die("network device %s: %s", name, nl_geterror(err));
	rtnl_link_put(link);
}

/* 192.0.2.0/24 is for documentation: it can't clash with anything. */
static void add_address(struct nl_sock *rtnl, const char *netdev,
			unsigned char host)
{
	const unsigned char ip[] = { 192, 0, 2, host };
	struct rtnl_addr *address;
	struct nl_addr *local;
	int err;

	address = rtnl_addr_alloc();
	local = nl_addr_build(AF_INET, ip, sizeof(ip));
	if (!address || !local)
		die("out of memory");
	nl_addr_set_prefixlen(local, 24);
	rtnl_addr_set_ifindex(address, if_nametoindex(netdev));
	rtnl_addr_set_local(address, local);
	err = rtnl_addr_add(rtnl, address, 0);
	if (err)
		die("address of %s: %s", netdev, nl_geterror(err));
	nl_addr_put(local);
	rtnl_addr_put(address);
}

static bool file_contains(const char *path, const char *what)
{
	char *text;
	bool found;

	text = slurp(path, NULL);
	found = text && strstr(text, what);
	free(text);
	return found;
}

static bool has_ipv4_gid(unsigned int n)
{
	struct dirent *entry;
	bool found = false;
	char path[512], gid[16];
	DIR *dir;

	/* 192.0.2.n+1, mapped into IPv6 */
	snprintf(gid, sizeof(gid), "ffff:c000:02%02x", n + 1);
	snprintf(path, sizeof(path), "/sys/class/infiniband/rxe%u/ports/1/gids",
		 n);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir))) {
		snprintf(path, sizeof(path),
			 "/sys/class/infiniband/rxe%u/ports/1/gids/%s", n,
			 entry->d_name);
		found = file_contains(path, gid);
	}
	closedir(dir);
	return found;
}

/* The GID follows its address asynchronously; without it no QP gets to RTR. */
static bool rxe_ready(const void *arg)
{
	const unsigned int n = *(const unsigned int *)arg;
	char path[128];

	snprintf(path, sizeof(path),
		 "/sys/class/infiniband/rxe%u/ports/1/state", n);
	return file_contains(path, "ACTIVE") && has_ipv4_gid(n);
}

static void rxe_up(struct nl_sock *rtnl, unsigned int n)
{
	char netdev[IFNAMSIZ], name[32];
	int err;

	snprintf(netdev, sizeof(netdev), "dummy%u", n);
	snprintf(name, sizeof(name), "rxe%u", n);
	link_up(rtnl, netdev, "dummy");
	add_address(rtnl, netdev, n + 1);
	err = nldev_rxe_add(name, netdev);
	if (err)
		die("%s on %s: %s", name, netdev, strerror(-err));
	if (!wait_until(rxe_ready, &n, COME_UP_SECONDS))
		die("%s: no active port with an IPv4 GID within %d s", name,
		    COME_UP_SECONDS);
}

void network_up(unsigned int devices)
{
	struct nl_sock *rtnl;
	unsigned int n;
	int err;

	rtnl = nl_socket_alloc();
	if (!rtnl)
		die("out of memory");
	err = nl_connect(rtnl, NETLINK_ROUTE);
	if (err)
		die("route netlink: %s", nl_geterror(err));
	link_up(rtnl, "lo", NULL);
	for (n = 0; n < devices; n++)
		rxe_up(rtnl, n);
	nl_socket_free(rtnl);
}
