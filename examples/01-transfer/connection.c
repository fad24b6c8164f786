// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Connecting and disconnecting by librdmacm. */
#include <err.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <string.h>

#include "transfer.h"

int complain(const char *what)
{
	warn("%s", what);
	return -1;
}

/* An endpoint that has a queue pair, or will make one for each connection. */
static int make_endpoint(const struct args *args, int flags,
			 struct rdma_cm_id **id)
{
	struct rdma_addrinfo hints = {
		.ai_flags = flags,
		.ai_port_space = RDMA_PS_TCP,
	};
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = PEER_DEPTH,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	struct rdma_addrinfo *info;
	int ret;

	if (rdma_getaddrinfo(args->address, args->port, &hints, &info))
		return complain(args->address ? args->address : args->port);
	ret = rdma_create_ep(id, info, NULL, &attr);
	if (ret)
		complain("rdma_create_ep: is there an RDMA device for this "
			 "address?");
	rdma_freeaddrinfo(info);
	return ret;
}

int peer_listen(struct peer *peer, const struct args *args)
{
	if (make_endpoint(args, RAI_PASSIVE, &peer->listener))
		return -1;
	if (rdma_listen(peer->listener, 1))
		return complain("rdma_listen");
	printf("listening on port %s\n", args->port);
	fflush(stdout);
	if (rdma_get_request(peer->listener, &peer->id))
		return complain("rdma_get_request");
	return 0;
}

static struct rdma_conn_param conn_param(void)
{
	return (struct rdma_conn_param){
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
}

int peer_accept(struct peer *peer, const struct offer *offer)
{
	struct rdma_conn_param param = conn_param();

	param.private_data = offer;
	param.private_data_len = sizeof(*offer);
	return rdma_accept(peer->id, &param) ? complain("rdma_accept") : 0;
}

int peer_connect(struct peer *peer, const struct args *args,
		 struct offer *offer)
{
	struct rdma_conn_param param = conn_param();
	const struct rdma_conn_param *got;

	if (make_endpoint(args, 0, &peer->id))
		return -1;
	if (rdma_connect(peer->id, &param)) {
		warn("%s, port %s", args->address, args->port);
		return -1;
	}
	got = &peer->id->event->param.conn;
	if (got->private_data_len < sizeof(*offer)) {
		warnx("that is another kind of server");
		return -1;
	}
	memcpy(offer, got->private_data, sizeof(*offer));
	return 0;
}

int peer_wait_end(struct peer *peer)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(peer->id->channel, &event))
		return complain("rdma_get_cm_event");
	rdma_ack_cm_event(event);
	return 0;
}

int peer_disconnect(struct peer *peer)
{
	return rdma_disconnect(peer->id) ? complain("rdma_disconnect") : 0;
}

void peer_close(struct peer *peer)
{
	if (peer->id)
		rdma_destroy_ep(peer->id);
	if (peer->listener)
		rdma_destroy_ep(peer->listener);
}
