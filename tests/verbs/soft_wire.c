/* What goes between processes, and the thread that carries it. */
#include "soft.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	SOFT_ROUND = 64,         /* packets taken before some are sent */
	SOFT_BLOCKED_NS = 50000, /* until a full queue is tried again */
	SOFT_IDLE_NS = 100000000,
	SOFT_SETTLE_MS = 1000,
};

/* Answers that wait for room. */
struct soft_reply {
	struct soft_reply *next;
	uint32_t to;
	struct soft_packet packet;
};

static struct soft_reply *replies, **replies_end = &replies;
static int wire_fd = -1, wake_fd = -1;
static uint32_t wire_pid;
static uint64_t dice = 88172645463325252u;

static uint32_t soft_draw(uint32_t n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (uint32_t)((dice >> 20) % n);
}

static int64_t soft_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int soft_blocks_init(struct soft_blocks *blocks, uint32_t bytes)
{
	uint32_t n = bytes ? (bytes - 1) / SOFT_BLOCK + 1 : 1, other;
	uint16_t swap;

	*blocks = (struct soft_blocks){.n = n};
	blocks->order = n <= UINT16_MAX ? malloc(n * sizeof(uint16_t)) : NULL;
	if (!blocks->order)
		return ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		blocks->order[i] = (uint16_t)i;
	for (uint32_t i = n; i > 1; i--) {
		other = soft_draw(i);
		swap = blocks->order[other];
		blocks->order[other] = blocks->order[i - 1];
		blocks->order[i - 1] = swap;
	}
	return 0;
}

static uint32_t soft_block_bytes(uint32_t bytes, uint32_t block)
{
	uint32_t rest = bytes - block * SOFT_BLOCK;

	return rest < SOFT_BLOCK ? rest : SOFT_BLOCK;
}

static socklen_t soft_address(uint32_t pid, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (size_t)snprintf(address->sun_path + 1,
					    sizeof(address->sun_path) - 1,
					    "soft-verbs-%u", pid));
}

/* Nothing arrives, nor is sent again, once the file is there. */
static int soft_is_cut(void)
{
	const char *path = getenv("GTOPO_SOFT_CUT");

	return path && !access(path, F_OK);
}

/* 0, EAGAIN or that nobody is there. */
static int soft_transmit(uint32_t pid, struct soft_packet *packet)
{
	struct sockaddr_un address;
	socklen_t len = soft_address(pid, &address);

	if (soft_is_cut())
		return EHOSTUNREACH;
	packet->from_pid = wire_pid;
	if (sendto(wire_fd, packet,
		   offsetof(struct soft_packet, data) + packet->length,
		   MSG_DONTWAIT, (void *)&address, len) >= 0)
		return 0;
	return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? EAGAIN
								     : errno;
}

static void soft_answer_with(uint32_t to, const struct soft_packet *packet)
{
	struct soft_reply *reply = malloc(sizeof(*reply));

	if (!reply)
		abort();
	reply->next = NULL;
	reply->to = to;
	memcpy(&reply->packet, packet, offsetof(struct soft_packet, data));
	reply->packet.length = 0;
	*replies_end = reply;
	replies_end = &reply->next;
}

static void soft_tell(const struct soft_qp *qp, enum soft_kind kind,
		      uint32_t psn, enum ibv_wc_status status)
{
	struct soft_packet packet = {
		.kind = kind,
		.from_qpn = qp->qp.qp_num,
		.to_qpn = qp->far_qpn,
		.psn = psn,
		.status = status,
	};

	soft_answer_with(qp->far_pid, &packet);
}

/* 1: some went out, -1: there is no room. */
static int soft_send_replies(void)
{
	struct soft_reply *reply;
	int sent = 0;

	while ((reply = replies)) {
		if (soft_transmit(reply->to, &reply->packet) == EAGAIN)
			return -1;
		replies = reply->next;
		if (!replies)
			replies_end = &replies;
		free(reply);
		sent = 1;
	}
	return sent;
}

/* Nobody is there, or no more; silence may end. */
static void soft_silence(struct soft_qp *qp)
{
	if (!qp->silent_ns)
		qp->silent_ns = soft_now_ns();
}

/* One block of a message that this side has begun. */
static int soft_send_block(struct soft_qp *qp, uint32_t number)
{
	struct soft_send *send = &qp->sends[number % qp->cap.max_send_wr];
	int reads = send->opcode == IBV_WR_RDMA_READ, rc;
	uint32_t block = send->blocks.order[send->blocks.sent];
	uint64_t begin = (uint64_t)block * SOFT_BLOCK;
	static struct soft_packet packet;
	struct soft_memory *memory = NULL;

	packet.kind = reads ? SOFT_READ : SOFT_WRITE;
	packet.from_qpn = qp->qp.qp_num;
	packet.to_qpn = qp->far_qpn;
	packet.psn = number;
	packet.nblocks = reads ? 1 : send->blocks.n;
	packet.bytes = send->bytes;
	packet.rkey = send->rkey;
	packet.at = send->remote;
	packet.block = block;
	packet.length = reads ? 0 : soft_block_bytes(send->bytes, block);
	packet.has_imm = send->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	packet.imm = send->imm;
	if (send->bytes)
		memory = soft_memory_find(send->lkey, send->local, send->bytes,
					  reads ? IBV_ACCESS_LOCAL_WRITE : 0);
	if (send->bytes &&
	    (!memory ||
	     (!reads && soft_memory_read(memory, send->local + begin,
					 packet.data, packet.length)))) {
		soft_qp_fail(qp, IBV_WC_LOC_PROT_ERR);
		return 1;
	}
	rc = soft_transmit(qp->far_pid, &packet);
	if (rc == EAGAIN)
		return -1;
	if (rc)
		soft_silence(qp);
	else
		send->blocks.sent += reads ? send->blocks.n : 1;
	return rc ? 0 : 1;
}

/* One block of a read that the other side has asked for. */
static int soft_send_answer(struct soft_qp *qp, struct soft_answer *answer)
{
	uint32_t block = answer->blocks.order[answer->blocks.sent];
	const struct soft_memory *memory =
		soft_memory_find(answer->rkey, answer->at, answer->bytes,
				 IBV_ACCESS_REMOTE_READ);
	static struct soft_packet packet;
	int rc;

	packet.kind = SOFT_ANSWER;
	packet.from_qpn = qp->qp.qp_num;
	packet.to_qpn = qp->far_qpn;
	packet.psn = answer->psn;
	packet.block = block;
	packet.length = soft_block_bytes(answer->bytes, block);
	if (memory)
		soft_memory_read(memory,
				 answer->at + (uint64_t)block * SOFT_BLOCK,
				 packet.data, packet.length);
	rc = soft_transmit(qp->far_pid, &packet);
	if (rc == EAGAIN)
		return -1;
	if (++answer->blocks.sent < answer->blocks.n)
		return 1;
	free(answer->blocks.order);
	*answer = (struct soft_answer){.is_open = 0};
	return 1;
}

/* One packet of a connection, of any message that is on its way. */
static int soft_qp_send(struct soft_qp *qp)
{
	uint32_t ready[SOFT_MIXED], n = 0, most = qp->next - qp->head;
	const struct soft_send *send;

	for (uint32_t i = 0; i < SOFT_WINDOW; i++)
		if (qp->answers[i].is_open)
			return soft_send_answer(qp, &qp->answers[i]);
	if (qp->qp.state != IBV_QPS_RTS)
		return 0;
	for (uint32_t i = 0; n < SOFT_MIXED && i < most && i < SOFT_WINDOW;
	     i++) {
		send = &qp->sends[(qp->head + i) % qp->cap.max_send_wr];
		if (send->blocks.sent < send->blocks.n)
			ready[n++] = qp->head + i;
	}
	return n ? soft_send_block(qp, ready[soft_draw(n)]) : 0;
}

/* 1: something was done, -1: there was no room for something. */
static int soft_send_all(void)
{
	int64_t now = soft_now_ns();
	int done = soft_send_replies(), one;
	struct soft_qp *qp;
	uint32_t i = 0;

	while ((qp = soft_qp_next(&i))) {
		one = soft_qp_send(qp);
		if (one > 0)
			qp->silent_ns = 0;
		if (qp->next != qp->head && soft_is_cut())
			soft_silence(qp);
		if (one && done >= 0)
			done = one;
		if (qp->silent_ns && qp->qp.state == IBV_QPS_RTS &&
		    now - qp->silent_ns > qp->patience_ns)
			soft_qp_fail(qp, IBV_WC_RETRY_EXC_ERR);
	}
	return done;
}

/* A message that cannot be: both sides end. */
static void soft_refuse(struct soft_qp *qp, uint32_t psn)
{
	soft_tell(qp, SOFT_NAK, psn, IBV_WC_REM_ACCESS_ERR);
	soft_qp_event(qp, IBV_EVENT_QP_ACCESS_ERR);
	soft_qp_fail(qp, IBV_WC_WR_FLUSH_ERR);
}

static void soft_begin_answer(struct soft_qp *qp,
			      const struct soft_arrival *arrival)
{
	struct soft_answer *answer = &qp->answers[qp->expected % SOFT_WINDOW];

	*answer = (struct soft_answer){.is_open = 1,
				       .psn = qp->expected,
				       .bytes = arrival->bytes,
				       .rkey = arrival->rkey,
				       .at = arrival->at};
	if (soft_blocks_init(&answer->blocks, arrival->bytes))
		abort();
	soft_memory_settle(1);
}

/* All messages that are complete, in order, while there is room for them. */
void soft_deliver(struct soft_qp *qp)
{
	struct soft_arrival *arrival;

	while (qp->qp.state == IBV_QPS_RTS || qp->qp.state == IBV_QPS_RTR) {
		arrival = &qp->arrivals[qp->expected % SOFT_WINDOW];
		if (!arrival->is_open || arrival->came < arrival->nblocks)
			return;
		if (arrival->is_bad) {
			soft_refuse(qp, qp->expected);
			return;
		}
		if (arrival->has_imm) {
			struct ibv_wc wc = {
				.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
				.byte_len = arrival->bytes,
				.wc_flags = IBV_WC_WITH_IMM,
				.imm_data = arrival->imm,
				.qp_num = qp->qp.qp_num,
			};

			if (qp->received == qp->posted)
				return;
			wc.wr_id = qp->receives[qp->received++ %
						qp->cap.max_recv_wr];
			soft_complete(qp->qp.recv_cq, &wc);
		}
		if (arrival->is_read)
			soft_begin_answer(qp, arrival);
		else
			soft_tell(qp, SOFT_ACK, qp->expected, IBV_WC_SUCCESS);
		arrival->is_open = 0;
		qp->expected++;
	}
}

/* A block of a write, or all of a read. */
static void soft_arrive(struct soft_qp *qp, const struct soft_packet *packet)
{
	int access = packet->kind == SOFT_READ ? IBV_ACCESS_REMOTE_READ
					       : IBV_ACCESS_REMOTE_WRITE;
	struct soft_arrival *arrival = &qp->arrivals[packet->psn % SOFT_WINDOW];
	const struct soft_memory *memory = NULL;

	if (packet->psn - qp->expected >= SOFT_WINDOW)
		return;
	if (!arrival->is_open)
		*arrival = (struct soft_arrival){
			.is_open = 1,
			.is_read = packet->kind == SOFT_READ,
			.has_imm = (int)packet->has_imm,
			.nblocks = packet->nblocks,
			.bytes = packet->bytes,
			.rkey = packet->rkey,
			.imm = packet->imm,
			.at = packet->at,
		};
	if (packet->bytes)
		memory = soft_memory_find(packet->rkey, packet->at,
					  packet->bytes, access);
	if (packet->bytes && (!memory || (qp->access & access) != access))
		arrival->is_bad = 1;
	else if (memory && packet->length &&
		 soft_memory_write(memory,
				   packet->at +
					   (uint64_t)packet->block * SOFT_BLOCK,
				   packet->data, packet->length))
		arrival->is_bad = 1;
	arrival->came++;
	soft_deliver(qp);
}

/* Of a message that this side has sent. */
static void soft_answered(struct soft_qp *qp, const struct soft_packet *packet)
{
	struct soft_send *send;
	const struct soft_memory *memory;

	if (packet->psn - qp->head >= qp->next - qp->head)
		return;
	send = &qp->sends[packet->psn % qp->cap.max_send_wr];
	if (packet->kind == SOFT_NAK) {
		soft_qp_fail(qp, (enum ibv_wc_status)packet->status);
		return;
	}
	if (packet->kind == SOFT_ACK) {
		send->is_done = 1;
	} else {
		memory = soft_memory_find(send->lkey, send->local, send->bytes,
					  IBV_ACCESS_LOCAL_WRITE);
		if (!memory ||
		    soft_memory_write(memory,
				      send->local + (uint64_t)packet->block *
							    SOFT_BLOCK,
				      packet->data, packet->length)) {
			soft_qp_fail(qp, IBV_WC_LOC_PROT_ERR);
			return;
		}
		send->is_done = ++send->came == send->blocks.n;
	}
	soft_qp_retire(qp);
}

/* The other end of a connection that is no more. */
static void soft_is_gone(const struct soft_packet *from)
{
	struct soft_packet packet = {
		.kind = SOFT_NAK,
		.to_qpn = from->from_qpn,
		.status = IBV_WC_RETRY_EXC_ERR,
	};

	if (from->kind == SOFT_WRITE || from->kind == SOFT_READ)
		soft_answer_with(from->from_pid, &packet);
}

static void soft_take(const struct soft_packet *packet)
{
	struct soft_qp *qp = soft_qp_find(packet->to_qpn);

	if (!qp || qp->qp.state < IBV_QPS_RTR || qp->qp.state > IBV_QPS_RTS)
		soft_is_gone(packet);
	else if (packet->kind == SOFT_WRITE || packet->kind == SOFT_READ)
		soft_arrive(qp, packet);
	else if (packet->status == IBV_WC_RETRY_EXC_ERR)
		soft_silence(qp);
	else
		soft_answered(qp, packet);
}

static int soft_take_all(void)
{
	static struct soft_packet packet;
	ssize_t bytes;
	int n = 0;

	for (; n < SOFT_ROUND; n++) {
		bytes = recv(wire_fd, &packet, sizeof(packet), MSG_DONTWAIT);
		if (bytes < 0)
			break;
		if ((size_t)bytes >= offsetof(struct soft_packet, data))
			soft_take(&packet);
	}
	return n;
}

static void *soft_main(void *arg)
{
	struct pollfd polls[2] = {{.fd = wire_fd, .events = POLLIN},
				  {.fd = wake_fd, .events = POLLIN}};
	struct timespec wait = {0, 0};
	uint64_t calls;
	int taken, sent, late;

	for (;;) {
		pthread_mutex_lock(&soft_lock);
		taken = soft_take_all();
		sent = soft_send_all();
		late = soft_memory_settle(0);
		pthread_mutex_unlock(&soft_lock);
		if (taken || sent > 0)
			continue;
		wait.tv_nsec = sent || late ? SOFT_BLOCKED_NS : SOFT_IDLE_NS;
		ppoll(polls, 2, &wait, NULL);
		if (read(wake_fd, &calls, sizeof(calls)) < 0)
			continue; /* nobody called */
	}
	return arg;
}

void soft_wire_wake(void)
{
	uint64_t one = 1;

	if (write(wake_fd, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

void soft_wire_settle(void)
{
	int waits = 1;

	for (int ms = 0; waits && ms < SOFT_SETTLE_MS; ms++) {
		pthread_mutex_lock(&soft_lock);
		waits = replies != NULL;
		pthread_mutex_unlock(&soft_lock);
		if (waits)
			poll(NULL, 0, 1);
	}
}

/* Once a process; one that was forked is another one. */
int soft_wire_open(void)
{
	struct sockaddr_un address;
	sigset_t all, before;
	pthread_t thread;
	socklen_t len;
	int rc = 0;

	pthread_mutex_lock(&soft_lock);
	if (wire_pid != (uint32_t)getpid()) {
		wire_pid = (uint32_t)getpid();
		dice += wire_pid;
		wire_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		len = soft_address(wire_pid, &address);
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		if (bind(wire_fd, (void *)&address, len) ||
		    pthread_create(&thread, NULL, soft_main, NULL))
			rc = -1;
		else
			pthread_detach(thread);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	pthread_mutex_unlock(&soft_lock);
	return rc;
}
