// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_SEC 30

struct loopback {
	struct ibv_cq *cq;
	/* ends[0] starts the transfers, ends[1] is what they arrive at */
	struct ibv_qp *ends[2];
	struct ibv_mr *mr;
	void *bounce;
	size_t max;
};

static int failed(const char *what, int err)
{
	fprintf(stderr, "loopback: %s: %s\n", what, strerror(err));
	return -err;
}

/* The index of the first RoCE v2 GID that is an IPv4 address. */
static int find_gid(struct ibv_context *context, uint8_t port)
{
	struct ibv_gid_entry entries[64];
	ssize_t i, n;

	n = ibv_query_gid_table(context, entries, 64, 0);
	for (i = 0; i < n; i++)
		if (entries[i].port_num == port &&
		    entries[i].gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    IN6_IS_ADDR_V4MAPPED(entries[i].gid.raw))
			return (int)entries[i].gid_index;
	return -ENOENT;
}

static int set_address(struct ibv_context *context, uint8_t port, int gid_index,
		       struct ibv_port_attr *attr, struct ibv_ah_attr *ah)
{
	int ret;

	ret = ibv_query_port(context, port, attr);
	if (ret)
		return failed("ibv_query_port", ret);
	*ah = (struct ibv_ah_attr){ .port_num = port, .dlid = attr->lid };
	if (attr->link_layer != IBV_LINK_LAYER_ETHERNET && gid_index < 0)
		return 0;
	if (gid_index < 0)
		gid_index = find_gid(context, port);
	if (gid_index < 0)
		return failed("no RoCE v2 address on the port", -gid_index);
	ah->is_global = 1;
	ah->grh.sgid_index = (uint8_t)gid_index;
	ah->grh.hop_limit = 1;
	ret = ibv_query_gid(context, port, gid_index, &ah->grh.dgid);
	return ret ? failed("ibv_query_gid", ENOENT) : 0;
}

static int connect_qp(struct ibv_qp *qp, uint32_t peer,
		      const struct ibv_port_attr *port,
		      const struct ibv_ah_attr *ah)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = ah->port_num,
		.qp_access_flags = IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE,
	};
	int ret;

	ret = ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				    IBV_QP_ACCESS_FLAGS);
	if (ret)
		return failed("queue pair to INIT", ret);

	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = port->active_mtu,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = *ah,
	};
	ret = ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				    IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				    IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER);
	if (ret)
		return failed("queue pair to RTR", ret);

	attr = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS,
		.timeout = 18, /* 1 s: an emulated CPU may be slow */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};
	ret = ibv_modify_qp(qp, &attr,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				    IBV_QP_MAX_QP_RD_ATOMIC);
	return ret ? failed("queue pair to RTS", ret) : 0;
}

static int create(struct loopback *lb, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size;
	int i;

	/* Whole pages: after ibv_fork_init() children go without them, and
	 * without what else lies there. */
	size = (lb->max + page - 1) / page * page;
	lb->bounce = aligned_alloc(page, size);
	if (!lb->bounce)
		return failed("bounce buffer", ENOMEM);
	memset(lb->bounce, 0, size);
	lb->mr = ibv_reg_mr(pd, lb->bounce, lb->max, IBV_ACCESS_LOCAL_WRITE);
	if (!lb->mr)
		return failed("ibv_reg_mr of the bounce buffer", errno);
	lb->cq = ibv_create_cq(pd->context, 4, NULL, NULL, 0);
	if (!lb->cq)
		return failed("ibv_create_cq", errno);
	init.send_cq = init.recv_cq = lb->cq;
	for (i = 0; i < 2; i++) {
		lb->ends[i] = ibv_create_qp(pd, &init);
		if (!lb->ends[i])
			return failed("ibv_create_qp", errno);
	}
	return 0;
}

int loopback_open(struct ibv_pd *pd, uint8_t port, int gid_index, size_t max,
		  struct loopback **out)
{
	struct loopback *lb = calloc(1, sizeof(*lb));
	struct ibv_port_attr attr;
	struct ibv_ah_attr ah;
	int ret;

	if (!lb)
		return -ENOMEM;
	lb->max = max;
	ret = create(lb, pd);
	if (!ret)
		ret = set_address(pd->context, port, gid_index, &attr, &ah);
	if (!ret)
		ret = connect_qp(lb->ends[0], lb->ends[1]->qp_num, &attr, &ah);
	if (!ret)
		ret = connect_qp(lb->ends[1], lb->ends[0]->qp_num, &attr, &ah);
	if (ret) {
		loopback_close(lb);
		return ret;
	}
	*out = lb;
	return 0;
}

void loopback_close(struct loopback *lb)
{
	int i;

	if (!lb)
		return;
	for (i = 0; i < 2; i++)
		if (lb->ends[i])
			ibv_destroy_qp(lb->ends[i]);
	if (lb->cq)
		ibv_destroy_cq(lb->cq);
	if (lb->mr)
		ibv_dereg_mr(lb->mr);
	free(lb->bounce);
	free(lb);
}

static int wait_for_completion(struct loopback *lb)
{
	time_t deadline = time(NULL) + DEADLINE_SEC;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(lb->cq, 1, &wc)) == 0) {
		if (time(NULL) > deadline)
			return failed("no completion", ETIMEDOUT);
		sched_yield();
	}
	if (n < 0)
		return failed("ibv_poll_cq", EIO);
	if (wc.status != IBV_WC_SUCCESS) {
		fprintf(stderr, "loopback: transfer failed: %s\n",
			ibv_wc_status_str(wc.status));
		return -EIO;
	}
	return 0;
}

static int transfer(struct loopback *lb, enum ibv_wr_opcode opcode,
		    size_t length, uint64_t raddr, uint32_t rkey)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)lb->bounce,
		.length = (uint32_t)length,
		.lkey = lb->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.wr.rdma = { .remote_addr = raddr, .rkey = rkey },
	};
	struct ibv_send_wr *bad;
	int ret;

	if (length > lb->max)
		return -EINVAL;
	ret = ibv_post_send(lb->ends[0], &wr, &bad);
	if (ret)
		return failed("ibv_post_send", ret);
	return wait_for_completion(lb);
}

int loopback_write(struct loopback *lb, const void *data, size_t length,
		   uint64_t raddr, uint32_t rkey)
{
	if (length > lb->max)
		return -EINVAL;
	memcpy(lb->bounce, data, length);
	return transfer(lb, IBV_WR_RDMA_WRITE, length, raddr, rkey);
}

int loopback_read(struct loopback *lb, void *data, size_t length,
		  uint64_t raddr, uint32_t rkey)
{
	int ret;

	if (length > lb->max)
		return -EINVAL;
	memset(lb->bounce, 0, length);
	ret = transfer(lb, IBV_WR_RDMA_READ, length, raddr, rkey);
	if (!ret)
		memcpy(data, lb->bounce, length);
	return ret;
}
