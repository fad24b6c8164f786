/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What server and client have in common. Functions that return an int return 0,
 * or -1 after a line on stderr.
 */
#ifndef TRANSFER_H
#define TRANSFER_H

#include <hugemr/hugemr.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- args.c: the command line ---- */

struct args {
	bool client;
	const char *address; /* of the server, in the client */
	const char *port;
	size_t size;
	size_t chunk;
	size_t offset;
	enum hmr_pages pages;
};

void parse_args(int argc, char **argv, bool client, struct args *args);
const char *pages_name(enum hmr_pages pages);

/* ---- memory.c: a registered range within a hugemr buffer ---- */

struct memory {
	struct hmr_buffer *buf;
	struct hmr_domain *dom;
	struct hmr_region *region;
	/* the range, args.offset behind the start of the buffer */
	unsigned char *data;
	size_t size;
};

int memory_alloc(struct memory *mem, const struct args *args);
int memory_register(struct memory *mem, const struct args *args,
		    struct ibv_pd *pd, int access);
/* Works on what has been set up so far; so does peer_close(). */
void memory_free(struct memory *mem);

/* Two patterns that differ in every byte: what the client writes to the server,
 * and what it reads back. */
enum pattern {
	PATTERN_THERE = 0x00,
	PATTERN_BACK = 0xff,
};

void memory_fill(struct memory *mem, enum pattern pattern);
/* Every byte of the range, and that those beside it are still 0. */
int memory_check(const struct memory *mem, enum pattern pattern);

/* ---- memory.c and connection.c: one line about what failed; return -1 ---- */

int complain_hmr(void); /* hugemr knows */
int complain(const char *what); /* errno knows */

/* ---- connection.c and messages.c: a connection, and messages in turns ---- */

#define PEER_DEPTH 16 /* transfers under way at the same time */
#define TURN 1 /* length of a message that only says: it's your turn */

struct peer {
	struct rdma_cm_id *listener;
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	/* one message each way, of up to so many bytes */
	void *to_send;
	void *received;
	size_t room;
};

/* What the server tells while it accepts. Keys don't fit there: private data
 * is at most 196 bytes. They come as the first message. In big-endian. */
struct offer {
	uint64_t size;
	uint64_t keys_length;
};

int peer_listen(struct peer *peer, const struct args *args);
int peer_accept(struct peer *peer, const struct offer *offer);
int peer_connect(struct peer *peer, const struct args *args,
		 struct offer *offer);
/* Until the other side disconnects. */
int peer_wait_end(struct peer *peer);
int peer_disconnect(struct peer *peer);
void peer_close(struct peer *peer);

int peer_make_room(struct peer *peer, size_t room);
/* Post a receive, so that the other side may send. */
int peer_expect(struct peer *peer);
/* Wait for the message that was expected; @length may be NULL. */
int peer_receive(struct peer *peer, size_t *length);
int peer_send(struct peer *peer, size_t length);
/* Wait for the oldest work request that was posted for sending. */
int peer_wait_sent(struct peer *peer);
/* After this nothing is under way, so memory may be deregistered. */
void peer_stop(struct peer *peer);

/* ---- move.c: RDMA between two ranges of many MRs ---- */

/* Both ends of a transfer of everything, cut where one MR meets the next. */
struct pieces {
	struct ibv_sge *local;
	struct hmr_remote *remote;
};

enum direction {
	WRITE,
	READ
};

/* @message has the other side's keys. */
int pieces_find(struct pieces *pieces, const struct memory *mem,
		const void *message, size_t length);
void pieces_free(struct pieces *pieces);
/* Write to the other side or read from there, and wait until that is done. */
int move(struct peer *peer, enum direction direction,
	 const struct pieces *pieces, size_t size);

#endif /* TRANSFER_H */
