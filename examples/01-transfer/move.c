// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * RDMA between two ranges that both consist of many MRs, which begin and end in
 * different places: no transfer may touch two MRs of either end.
 */
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>

#include "transfer.h"

static int find_local(struct pieces *pieces, const struct memory *mem)
{
	int n = hmr_sges(mem->region, 0, mem->data, mem->size, NULL, 0);

	if (n < 0)
		return complain_hmr();
	pieces->local = calloc((size_t)n, sizeof(*pieces->local));
	if (!pieces->local)
		return complain("pieces");
	hmr_sges(mem->region, 0, mem->data, mem->size, pieces->local,
		 (unsigned int)n);
	return 0;
}

/* The other side's range begins where its first key does. */
static int find_remote(struct pieces *pieces, const struct hmr_key *keys,
		       unsigned int n_keys, size_t size)
{
	int n = hmr_remote_sge(keys, n_keys, keys->addr, size, NULL, 0);

	if (n < 0)
		return complain_hmr();
	pieces->remote = calloc((size_t)n, sizeof(*pieces->remote));
	if (!pieces->remote)
		return complain("pieces");
	hmr_remote_sge(keys, n_keys, keys->addr, size, pieces->remote,
		       (unsigned int)n);
	return 0;
}

int pieces_find(struct pieces *pieces, const struct memory *mem,
		const void *message, size_t length)
{
	int n = hmr_keys_unpack(message, length, NULL, 0), ret;
	struct hmr_key *keys;

	if (n < 0)
		return complain_hmr();
	printf("received %d key%s\n", n, n == 1 ? "" : "s");
	keys = calloc((size_t)n, sizeof(*keys));
	if (!keys)
		return complain("keys");
	hmr_keys_unpack(message, length, keys, (unsigned int)n);
	ret = find_remote(pieces, keys, (unsigned int)n, mem->size);
	free(keys);
	return ret ? ret : find_local(pieces, mem);
}

void pieces_free(struct pieces *pieces)
{
	free(pieces->local);
	free(pieces->remote);
}

static int post(struct rdma_cm_id *id, enum direction direction,
		struct ibv_sge *local, const struct hmr_remote *remote)
{
	int ret;

	if (direction == WRITE)
		ret = rdma_post_writev(id, NULL, local, 1, 0, remote->addr,
				       remote->rkey);
	else
		ret = rdma_post_readv(id, NULL, local, 1, 0, remote->addr,
				      remote->rkey);
	return ret ? complain("posting a transfer") : 0;
}

static uint32_t min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

int move(struct peer *peer, enum direction direction,
	 const struct pieces *pieces, size_t size)
{
	struct hmr_remote remote = { 0 }, *next_remote = pieces->remote;
	struct ibv_sge local = { 0 }, *next_local = pieces->local, sge;
	unsigned int posted = 0, done = 0;
	struct ibv_port_attr port;

	if (ibv_query_port(peer->id->verbs, peer->id->port_num, &port))
		return complain("ibv_query_port");
	/* Through both lists at once. A transfer ends where a piece of either
	 * list ends, and is no longer than the port permits. */
	for (; size; size -= sge.length) {
		if (!local.length)
			local = *next_local++;
		if (!remote.length)
			remote = *next_remote++;
		sge = local;
		sge.length = min(local.length, remote.length);
		sge.length = min(sge.length, port.max_msg_sz);

		for (; posted - done >= PEER_DEPTH; done++)
			if (peer_wait_sent(peer))
				return -1;
		if (post(peer->id, direction, &sge, &remote))
			return -1;
		posted++;

		local.addr += sge.length;
		local.length -= sge.length;
		remote.addr += sge.length;
		remote.length -= sge.length;
	}
	for (; posted - done; done++)
		if (peer_wait_sent(peer))
			return -1;
	printf("%s in %u transfers\n", direction == WRITE ? "written" : "read",
	       posted);
	return 0;
}
