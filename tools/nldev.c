// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* RDMA netlink on libnl-3: one request per socket, replies to a callback. */
#include "nldev.h"

#include <errno.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/socket.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/rdma_netlink.h>
#include <string.h>

/* Attributes of one reply, by type. NULL where the kernel sent none. */
struct reply {
	struct nlattr *tb[RDMA_NLDEV_ATTR_MAX];
};

typedef int reply_fn(struct reply *reply, void *arg);

/* A request under way. */
struct call {
	reply_fn *fn;
	void *arg;
	int err;
	bool done;
};

static int call_end(struct call *call, int err)
{
	call->err = err;
	call->done = true;
	return NL_STOP;
}

static int on_valid(struct nl_msg *msg, void *data)
{
	struct call *call = data;
	struct reply reply;
	int err;

	if (!call->fn)
		return NL_OK;
	/* types above ours come from a newer kernel, and are skipped */
	if (nlmsg_parse(nlmsg_hdr(msg), 0, reply.tb, RDMA_NLDEV_ATTR_MAX - 1,
			NULL) < 0)
		return call_end(call, -EBADMSG);
	err = call->fn(&reply, call->arg);
	return err ? call_end(call, err) : NL_OK;
}

static int on_done(struct nl_msg *msg, void *data)
{
	return call_end(data, 0);
}

/* libnl's own error codes merge many errnos: take the kernel's from its ack */
static int on_error(struct sockaddr_nl *from, struct nlmsgerr *err, void *data)
{
	return call_end(data, err->error);
}

static int receive(struct nl_sock *sock, struct call *call)
{
	struct nl_cb *cb;
	int err;

	cb = nl_cb_alloc(NL_CB_DEFAULT);
	if (!cb)
		return -ENOMEM;
	nl_cb_set(cb, NL_CB_VALID, NL_CB_CUSTOM, on_valid, call);
	nl_cb_set(cb, NL_CB_FINISH, NL_CB_CUSTOM, on_done, call);
	nl_cb_set(cb, NL_CB_ACK, NL_CB_CUSTOM, on_done, call);
	nl_cb_err(cb, NL_CB_CUSTOM, on_error, call);

	while (!call->done) {
		err = nl_recvmsgs(sock, cb);
		if (err < 0 && !call->done)
			call_end(call, err == -NLE_NOMEM ? -ENOMEM : -EIO);
	}
	nl_cb_put(cb);
	return call->err;
}

/* Send msg, which this call frees, and hand each reply to fn. */
static int transact(struct nl_msg *msg, reply_fn *fn, void *arg)
{
	struct call call = { .fn = fn, .arg = arg };
	struct nl_sock *sock;
	int err = -ENOMEM;

	sock = nl_socket_alloc();
	if (!sock)
		goto err_msg;
	errno = 0;
	if (nl_connect(sock, NETLINK_RDMA) < 0) {
		err = errno ? -errno : -EIO;
		goto err_sock;
	}
	if (nl_send_auto(sock, msg) < 0) {
		err = errno ? -errno : -EIO;
		goto err_sock;
	}
	err = receive(sock, &call);
err_sock:
	nl_socket_free(sock);
err_msg:
	nlmsg_free(msg);
	return err;
}

static struct nl_msg *request(enum rdma_nldev_command cmd, int flags)
{
	return nlmsg_alloc_simple(RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, cmd), flags);
}

static uint32_t get_u32(const struct reply *reply, int type)
{
	return reply->tb[type] ? nla_get_u32(reply->tb[type]) : 0;
}

static uint64_t get_u64(const struct reply *reply, int type)
{
	return reply->tb[type] ? nla_get_u64(reply->tb[type]) : 0;
}

static uint8_t get_u8(const struct reply *reply, int type)
{
	return reply->tb[type] ? nla_get_u8(reply->tb[type]) : 0;
}

static const char *get_string(const struct reply *reply, int type)
{
	return reply->tb[type] ? nla_get_string(reply->tb[type]) : NULL;
}

int nldev_rxe_add(const char *name, const char *netdev)
{
	struct nl_msg *msg;

	msg = request(RDMA_NLDEV_CMD_NEWLINK, NLM_F_ACK);
	if (!msg)
		return -ENOMEM;
	if (nla_put_string(msg, RDMA_NLDEV_ATTR_DEV_NAME, name) ||
	    nla_put_string(msg, RDMA_NLDEV_ATTR_LINK_TYPE, "rxe") ||
	    nla_put_string(msg, RDMA_NLDEV_ATTR_NDEV_NAME, netdev)) {
		nlmsg_free(msg);
		return -EMSGSIZE;
	}
	return transact(msg, NULL, NULL);
}

int nldev_rxe_del(const char *name)
{
	struct nl_msg *msg;
	uint32_t index;
	int err;

	err = nldev_dev_index(name, &index);
	if (err)
		return err;
	msg = request(RDMA_NLDEV_CMD_DELLINK, NLM_F_ACK);
	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index)) {
		nlmsg_free(msg);
		return -EMSGSIZE;
	}
	return transact(msg, NULL, NULL);
}

static int take_driver_id(struct reply *reply, void *arg)
{
	/* the uapi header says u64, the kernel sends and libibverbs reads u32 */
	*(uint32_t *)arg = get_u32(reply, RDMA_NLDEV_ATTR_UVERBS_DRIVER_ID);
	return 0;
}

/*
 * Nothing in the answer to a device query names its driver. The uverbs
 * character device has it, for libibverbs' sake.
 */
static bool dev_is_rxe(uint32_t index)
{
	uint32_t id = RDMA_DRIVER_UNKNOWN;
	struct nl_msg *msg;

	msg = request(RDMA_NLDEV_CMD_GET_CHARDEV, NLM_F_ACK);
	if (!msg)
		return false;
	if (nla_put_string(msg, RDMA_NLDEV_ATTR_CHARDEV_TYPE, "uverbs") ||
	    nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index)) {
		nlmsg_free(msg);
		return false;
	}
	return !transact(msg, take_driver_id, &id) && id == RDMA_DRIVER_RXE;
}

struct dev_list {
	nldev_dev_fn *fn;
	void *arg;
};

static int take_dev(struct reply *reply, void *arg)
{
	const struct dev_list *list = arg;
	struct nldev_dev dev = {
		.index = get_u32(reply, RDMA_NLDEV_ATTR_DEV_INDEX),
		.name = get_string(reply, RDMA_NLDEV_ATTR_DEV_NAME),
		.ports = get_u32(reply, RDMA_NLDEV_ATTR_PORT_INDEX),
		.node_type = get_u8(reply, RDMA_NLDEV_ATTR_DEV_NODE_TYPE),
	};

	if (!reply->tb[RDMA_NLDEV_ATTR_DEV_INDEX] || !dev.name)
		return -EBADMSG;
	dev.rxe = dev_is_rxe(dev.index);
	return list->fn(&dev, list->arg);
}

int nldev_dev_list(nldev_dev_fn *fn, void *arg)
{
	struct dev_list list = { .fn = fn, .arg = arg };
	struct nl_msg *msg;

	msg = request(RDMA_NLDEV_CMD_GET, NLM_F_DUMP);
	if (!msg)
		return -ENOMEM;
	return transact(msg, take_dev, &list);
}

struct dev_lookup {
	const char *name;
	uint32_t *index;
};

static int match_dev(const struct nldev_dev *dev, void *arg)
{
	const struct dev_lookup *lookup = arg;

	if (strcmp(dev->name, lookup->name))
		return 0;
	*lookup->index = dev->index;
	return 1;
}

int nldev_dev_index(const char *name, uint32_t *index)
{
	struct dev_lookup lookup = { .name = name, .index = index };
	int ret;

	ret = nldev_dev_list(match_dev, &lookup);
	if (ret < 0)
		return ret;
	return ret ? 0 : -ENODEV;
}

static int take_port(struct reply *reply, void *arg)
{
	const char *netdev = get_string(reply, RDMA_NLDEV_ATTR_NDEV_NAME);
	struct nldev_port *port = arg;

	memset(port, 0, sizeof(*port));
	port->state = get_u8(reply, RDMA_NLDEV_ATTR_PORT_STATE);
	if (netdev)
		strncpy(port->netdev, netdev, sizeof(port->netdev) - 1);
	return 0;
}

int nldev_port_get(uint32_t index, uint32_t port, struct nldev_port *out)
{
	struct nl_msg *msg;

	msg = request(RDMA_NLDEV_CMD_PORT_GET, NLM_F_ACK);
	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index) ||
	    nla_put_u32(msg, RDMA_NLDEV_ATTR_PORT_INDEX, port)) {
		nlmsg_free(msg);
		return -EMSGSIZE;
	}
	return transact(msg, take_port, out);
}

struct mr_list {
	nldev_mr_fn *fn;
	void *arg;
};

static int take_mr(struct nlattr *entry, const struct mr_list *list)
{
	struct reply reply;
	struct nldev_mr mr;
	int err;

	err = nla_parse_nested(reply.tb, RDMA_NLDEV_ATTR_MAX - 1, entry, NULL);
	if (err < 0)
		return -EBADMSG;
	mr = (struct nldev_mr){
		.mrn = get_u32(&reply, RDMA_NLDEV_ATTR_RES_MRN),
		.has_keys = reply.tb[RDMA_NLDEV_ATTR_RES_LKEY],
		.lkey = get_u32(&reply, RDMA_NLDEV_ATTR_RES_LKEY),
		.rkey = get_u32(&reply, RDMA_NLDEV_ATTR_RES_RKEY),
		.has_iova = reply.tb[RDMA_NLDEV_ATTR_RES_IOVA],
		.iova = get_u64(&reply, RDMA_NLDEV_ATTR_RES_IOVA),
		.length = get_u64(&reply, RDMA_NLDEV_ATTR_RES_MRLEN),
		.pid = get_u32(&reply, RDMA_NLDEV_ATTR_RES_PID),
		.kern_name = get_string(&reply, RDMA_NLDEV_ATTR_RES_KERN_NAME),
	};
	return list->fn(&mr, list->arg);
}

static int take_mrs(struct reply *reply, void *arg)
{
	struct nlattr *table = reply->tb[RDMA_NLDEV_ATTR_RES_MR];
	struct nlattr *entry;
	int left, err;

	if (!table)
		return 0;
	entry = nla_data(table);
	left = nla_len(table);
	for (; nla_ok(entry, left); entry = nla_next(entry, &left)) {
		err = take_mr(entry, arg);
		if (err)
			return err;
	}
	return 0;
}

int nldev_mr_list(uint32_t index, nldev_mr_fn *fn, void *arg)
{
	struct mr_list list = { .fn = fn, .arg = arg };
	struct nl_msg *msg;

	msg = request(RDMA_NLDEV_CMD_RES_MR_GET, NLM_F_DUMP);
	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, RDMA_NLDEV_ATTR_DEV_INDEX, index)) {
		nlmsg_free(msg);
		return -EMSGSIZE;
	}
	return transact(msg, take_mrs, &list);
}
