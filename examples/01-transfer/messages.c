// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Messages, and waiting for what was posted. */
#include <err.h>
#include <poll.h>
#include <rdma/rdma_verbs.h>
#include <stdlib.h>

#include "transfer.h"

int peer_make_room(struct peer *peer, size_t room)
{
	peer->to_send = calloc(2, room);
	if (!peer->to_send)
		return complain("room for messages");
	peer->received = (char *)peer->to_send + room;
	peer->room = room;
	/* Takes what ibv_reg_mr() takes, but can tell why it fails. */
	peer->mr = hmr_reg_mr(peer->id->pd, peer->to_send, 2 * room,
			      IBV_ACCESS_LOCAL_WRITE);
	return peer->mr ? 0 : complain_hmr();
}

/* Sleep until there is a completion, or the other side is gone: then none may
 * ever come. */
static int sleep_until_event(struct peer *peer, struct ibv_cq *cq)
{
	struct pollfd fds[] = {
		{ .fd = cq->channel->fd, .events = POLLIN },
		{ .fd = peer->id->channel->fd, .events = POLLIN },
	};
	void *context;

	if (poll(fds, 2, -1) < 0)
		return complain("poll");
	if (!fds[0].revents) {
		warnx("the other side has disconnected");
		return -1;
	}
	if (ibv_get_cq_event(cq->channel, &cq, &context))
		return complain("ibv_get_cq_event");
	ibv_ack_cq_events(cq, 1);
	return 0;
}

static int wait_for(struct peer *peer, struct ibv_cq *cq, struct ibv_wc *wc)
{
	int n;

	while (!(n = ibv_poll_cq(cq, 1, wc))) {
		if (ibv_req_notify_cq(cq, 0))
			return complain("ibv_req_notify_cq");
		/* It may have come just before. */
		n = ibv_poll_cq(cq, 1, wc);
		if (n)
			break;
		if (sleep_until_event(peer, cq))
			return -1;
	}
	if (n < 0)
		return complain("ibv_poll_cq");
	if (wc->status != IBV_WC_SUCCESS) {
		warnx("a transfer failed: %s", ibv_wc_status_str(wc->status));
		return -1;
	}
	return 0;
}

int peer_wait_sent(struct peer *peer)
{
	struct ibv_wc wc;

	return wait_for(peer, peer->id->send_cq, &wc);
}

int peer_expect(struct peer *peer)
{
	if (rdma_post_recv(peer->id, NULL, peer->received, peer->room,
			   peer->mr))
		return complain("rdma_post_recv");
	return 0;
}

int peer_receive(struct peer *peer, size_t *length)
{
	struct ibv_wc wc;

	if (wait_for(peer, peer->id->recv_cq, &wc))
		return -1;
	if (length)
		*length = wc.byte_len;
	return 0;
}

int peer_send(struct peer *peer, size_t length)
{
	if (rdma_post_send(peer->id, NULL, peer->to_send, length, peer->mr, 0))
		return complain("rdma_post_send");
	return peer_wait_sent(peer);
}

void peer_stop(struct peer *peer)
{
	if (peer->id && peer->id->qp)
		rdma_destroy_qp(peer->id);
	if (peer->mr && hmr_dereg_mr(peer->mr))
		complain_hmr();
	free(peer->to_send);
}
