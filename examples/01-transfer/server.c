// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The server has a buffer of many MRs. It sends a client the keys, checks what
 * the client writes there by RDMA, and puts another pattern there for the
 * client to read.
 */
#include <endian.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>

#include "transfer.h"

#define ACCESS                                              \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
	 IBV_ACCESS_REMOTE_READ)

/* Make a message of the region's keys; its length, or -1. */
static int pack_keys(const struct memory *mem, struct peer *peer)
{
	int n = hmr_keys(mem->region, 0, NULL, 0), length;
	struct hmr_key *keys;

	if (n < 0)
		return complain_hmr();
	keys = calloc((size_t)n, sizeof(*keys));
	if (!keys)
		return complain("keys");
	hmr_keys(mem->region, 0, keys, (unsigned int)n);
	length = hmr_keys_pack(keys, (unsigned int)n, NULL, 0);
	if (length < 0)
		complain_hmr();
	else if (peer_make_room(peer, (size_t)length))
		length = -1;
	else
		hmr_keys_pack(keys, (unsigned int)n, peer->to_send, peer->room);
	free(keys);
	return length;
}

/* A receive is posted before the other side gets its turn. */
static int serve(struct memory *mem, struct peer *peer)
{
	int length = pack_keys(mem, peer);
	struct offer offer = {
		.size = htobe64(mem->size),
		.keys_length = htobe64((uint64_t)length),
	};

	if (length < 0)
		return -1;
	if (peer_expect(peer) || peer_accept(peer, &offer) ||
	    peer_receive(peer, NULL))
		return -1;

	if (peer_expect(peer) || peer_send(peer, (size_t)length) ||
	    peer_receive(peer, NULL))
		return -1;
	if (memory_check(mem, PATTERN_THERE))
		return -1;
	printf("the client's %zu bytes are all as expected\n", mem->size);

	memory_fill(mem, PATTERN_BACK);
	return peer_send(peer, TURN) || peer_wait_end(peer) ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct memory mem = { 0 };
	struct peer peer = { 0 };
	struct args args;
	int ret;

	parse_args(argc, argv, false, &args);
	/* The buffer comes first: it may take longer than a client waits. */
	ret = memory_alloc(&mem, &args) || peer_listen(&peer, &args) ||
	      memory_register(&mem, &args, peer.id->pd, ACCESS) ||
	      serve(&mem, &peer);
	peer_stop(&peer);
	memory_free(&mem);
	peer_close(&peer);
	return ret;
}
