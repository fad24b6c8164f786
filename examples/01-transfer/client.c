// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The client writes a pattern to the whole of the server's range by RDMA, and
 * reads another one back.
 */
#include <endian.h>
#include <err.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <stdio.h>

#include "transfer.h"

/* The server sends them once it is asked, when there is room to receive. */
static int get_keys(const struct memory *mem, struct peer *peer,
		    const struct offer *offer, struct pieces *pieces)
{
	uint64_t size = be64toh(offer->size);
	size_t length;

	if (size != mem->size) {
		warnx("the server has %" PRIu64 " bytes, not %zu: give both "
		      "sides the same --size",
		      size, mem->size);
		return -1;
	}
	if (peer_make_room(peer, be64toh(offer->keys_length)) ||
	    peer_expect(peer) || peer_send(peer, TURN) ||
	    peer_receive(peer, &length))
		return -1;
	return pieces_find(pieces, mem, peer->received, length);
}

static int write_and_read(struct memory *mem, struct peer *peer,
			  const struct pieces *pieces)
{
	memory_fill(mem, PATTERN_THERE);
	if (move(peer, WRITE, pieces, mem->size))
		return -1;
	if (peer_expect(peer) || peer_send(peer, TURN) ||
	    peer_receive(peer, NULL))
		return -1;
	if (move(peer, READ, pieces, mem->size) ||
	    memory_check(mem, PATTERN_BACK))
		return -1;
	printf("the server's %zu bytes are all as expected\n", mem->size);
	return peer_disconnect(peer);
}

int main(int argc, char **argv)
{
	struct pieces pieces = { 0 };
	struct memory mem = { 0 };
	struct peer peer = { 0 };
	struct offer offer;
	struct args args;
	int ret;

	parse_args(argc, argv, true, &args);
	ret = memory_alloc(&mem, &args) || peer_connect(&peer, &args, &offer) ||
	      memory_register(&mem, &args, peer.id->pd,
			      IBV_ACCESS_LOCAL_WRITE) ||
	      get_keys(&mem, &peer, &offer, &pieces) ||
	      write_and_read(&mem, &peer, &pieces);
	peer_stop(&peer);
	pieces_free(&pieces);
	memory_free(&mem);
	peer_close(&peer);
	return ret;
}
