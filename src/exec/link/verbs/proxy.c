/* The thread that hands slices and credits to the device, and takes them. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "exec/link/verbs/verbs.h"
#include "world/world.h"

enum {
	GT_VERBS_NAP_MS = 20,
	GT_VERBS_SPINS = 50, /* empty rounds before it sleeps */
	GT_VERBS_BATCH = 32, /* completions taken at once */
};

/* One that writes to a FIFO over there. */
static int gt_verbs_post(struct gt_link *link, uint32_t process,
			 struct ibv_send_wr *work)
{
	struct gt_verbs_peer *peer = &link->peers[process];
	struct ibv_send_wr *bad;

	work->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	work->send_flags = IBV_SEND_SIGNALED;
	if (ibv_post_send(peer->qp, work, &bad)) {
		gt_verbs_break(link, process, IBV_WC_GENERAL_ERR);
		return 0;
	}
	peer->in_flight++;
	return 1;
}

/* A slice that the local rank has written and the far one has room for. */
static int gt_verbs_send_slice(struct gt_link *link, uint32_t process,
			       uint32_t i)
{
	struct gt_verbs_fifo *fifo = &link->peers[process].fifos[i];
	const struct gt_fifo_end *end = &fifo->end;
	uint64_t slot = fifo->posted % end->nslots;
	struct ibv_sge piece = {.lkey = fifo->lkey};
	struct ibv_send_wr work = {
		.wr_id = gt_verbs_id(process, link->generation, i, 1),
		.sg_list = &piece,
		.imm_data = htonl(gt_verbs_imm(link->generation, 0, i)),
		.wr.rdma = {.remote_addr =
				    fifo->far_slots + slot * end->slot_bytes,
			    .rkey = fifo->far_rkey},
	};

	if (fifo->posted - fifo->credit >= end->nslots ||
	    atomic_load_explicit(&fifo->counters->data, memory_order_acquire) <=
		    fifo->posted)
		return 0;
	piece.addr = (uintptr_t)(end->slots + slot * end->slot_bytes);
	piece.length = end->lengths[slot];
	work.num_sge = piece.length ? 1 : 0;
	if (!gt_verbs_post(link, process, &work))
		return 0;
	fifo->posted++;
	link->peers[process].slices_in_flight++;
	return 1;
}

/* Slots that the local rank has read since the far side was told. */
static int gt_verbs_send_credit(struct gt_link *link, uint32_t process,
				uint32_t i)
{
	struct gt_verbs_fifo *fifo = &link->peers[process].fifos[i];
	uint64_t n = atomic_load_explicit(&fifo->counters->credit,
					  memory_order_acquire) -
		     fifo->told;
	struct ibv_send_wr work = {
		.wr_id = gt_verbs_id(process, link->generation, i, 0),
		/* Of no bytes, but some devices look. */
		.wr.rdma = {.remote_addr = fifo->far_slots,
			    .rkey = fifo->far_rkey},
	};

	if (!n)
		return 0;
	if (n > GT_VERBS_MOST_CREDITS)
		n = GT_VERBS_MOST_CREDITS;
	fifo->told += n;
	work.imm_data = htonl(gt_verbs_imm(link->generation, (uint32_t)n, i));
	return gt_verbs_post(link, process, &work);
}

/* One round over a peer's FIFOs; how many messages went out. */
static int gt_verbs_send(struct gt_link *link, uint32_t process)
{
	struct gt_verbs_peer *peer = &link->peers[process];
	int sent = 0;
	uint32_t i;

	for (uint32_t n = 0; n < peer->nfifos; n++) {
		if (peer->in_flight == link->sends)
			break;
		i = peer->turn++ % peer->nfifos;
		sent += peer->fifos[i].sends
				? gt_verbs_send_slice(link, process, i)
				: gt_verbs_send_credit(link, process, i);
	}
	return sent;
}

int gt_verbs_receive(struct ibv_qp *qp, uint32_t process)
{
	struct ibv_recv_wr work = {.wr_id = gt_verbs_id(process, 0, 0, 0)};
	struct ibv_recv_wr *bad;

	return ibv_post_recv(qp, &work, &bad);
}

/* A slice has arrived, or credits; 0: it makes no sense. */
static int gt_verbs_arrived(struct gt_link *link, uint32_t process,
			    uint32_t imm)
{
	struct gt_verbs_peer *peer = &link->peers[process];
	uint32_t credits = imm >> 16 & 127, i = imm & 0xffff;
	struct gt_verbs_fifo *fifo;

	/* An earlier generation's late credits are ignored. */
	if (imm >> 24 != (link->generation & 255))
		return credits > 0;
	if (i >= peer->nfifos)
		return 0;
	fifo = &peer->fifos[i];
	if (credits) {
		fifo->credit += credits;
		return fifo->sends && fifo->credit <= fifo->posted;
	}
	if (fifo->sends)
		return 0;
	if (fifo->room && fifo->room->flushes) {
		fifo->room->is_dirty = 1;
		return ++fifo->arrived - fifo->end.at <= fifo->end.nslots;
	}
	if (!gt_fifo_can_send(&fifo->end))
		return 0;
	gt_fifo_sent(&fifo->end);
	gt_bell_ring(fifo->end.other);
	return 1;
}

static void gt_verbs_completed(struct gt_link *link, const struct ibv_wc *wc)
{
	uint32_t process = (uint32_t)(wc->wr_id >> 32);
	struct gt_verbs_peer *peer = &link->peers[process];
	struct gt_verbs_fifo *fifo;

	if (process == link->nprocesses) {
		gt_verbs_flushed(link, wc);
		return;
	}
	if (wc->status != IBV_WC_SUCCESS) {
		gt_verbs_break(link, process, wc->status);
		return;
	}
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		if (!gt_verbs_arrived(link, process, ntohl(wc->imm_data)) ||
		    gt_verbs_receive(peer->qp, process))
			gt_verbs_break(link, process, IBV_WC_GENERAL_ERR);
		return;
	}
	peer->in_flight--;
	if (!(wc->wr_id >> 31 & 1))
		return;
	peer->slices_in_flight--;
	if ((wc->wr_id >> 16 & GT_VERBS_KNOWN_BY) !=
	    (link->generation & GT_VERBS_KNOWN_BY))
		return;
	fifo = &peer->fifos[wc->wr_id & 0xffff];
	gt_fifo_received(&fifo->end);
	gt_bell_ring(fifo->end.other);
}

/* One round over everything; 0 when nothing could be done. */
static int gt_verbs_round(struct gt_link *link)
{
	struct ibv_wc done[GT_VERBS_BATCH];
	int n = ibv_poll_cq(link->cq, GT_VERBS_BATCH, done), busy = n > 0;

	if (n < 0)
		gt_verbs_break(link, gt_world_rank(link->config.world),
			       IBV_WC_FATAL_ERR);
	for (int i = 0; i < n; i++)
		gt_verbs_completed(link, &done[i]);
	busy |= gt_verbs_flush(link);
	for (uint32_t p = 0; p < link->nprocesses; p++)
		if (link->peers[p].qp && !atomic_load(&link->broken))
			busy |= gt_verbs_send(link, p);
	return busy;
}

int gt_verbs_carry(struct gt_link *link)
{
	int done;

	if (atomic_exchange_explicit(&link->busy, 1, memory_order_acquire))
		return 0;
	done = gt_verbs_round(link);
	atomic_store_explicit(&link->busy, 0, memory_order_release);
	return done;
}

/* Until the device or a rank has something. */
static void gt_verbs_sleep(struct gt_link *link, uint32_t seen)
{
	struct pollfd polls[2] = {
		{.fd = link->wake_fd, .events = POLLIN},
		{.fd = link->channel->fd, .events = POLLIN},
	};
	struct ibv_cq *cq;
	uint64_t calls;
	void *context;

	/* Ranks that attend look after device and bell. */
	if (atomic_load(&link->attended)) {
		poll(polls, 1, GT_VERBS_NAP_MS);
	} else {
		atomic_store(&link->bell.asleep, 1);
		/* What completed before it was asked for shows in this. */
		if (!ibv_req_notify_cq(link->cq, 0) && !gt_verbs_carry(link) &&
		    gt_bell_look(&link->bell) == seen)
			poll(polls, 2, GT_VERBS_NAP_MS);
		atomic_store(&link->bell.asleep, 0);
	}
	if (polls[1].revents && !ibv_get_cq_event(link->channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	if (read(link->wake_fd, &calls, sizeof(calls)) < 0)
		return; /* nobody rang */
}

/*
 * The device still reads slots, as long as an answer may be lost: they are
 * freed only behind that.  Credits have no bytes to be read.
 */
static void gt_verbs_drain(struct gt_link *link)
{
	struct pollfd wait = {.fd = link->wake_fd};
	int64_t until = gt_clock_ns() + link->patience_ns;
	uint32_t slices = 1;

	while (slices && gt_clock_ns() < until) {
		if (atomic_load(&link->broken))
			return;
		gt_verbs_carry(link);
		slices = link->reads;
		for (uint32_t p = 0; p < link->nprocesses; p++)
			slices += link->peers[p].slices_in_flight;
		if (slices)
			poll(&wait, 1, GT_VERBS_NAP_MS);
	}
}

void *gt_verbs_main(void *arg)
{
	struct gt_link *link = arg;
	uint32_t seen, idle = 0;
	int stop = 0;

	while (!(stop = atomic_load_explicit(&link->stop,
					     memory_order_relaxed))) {
		seen = gt_bell_look(&link->bell);
		idle = gt_verbs_carry(link) ? 0 : idle + 1;
		if (idle > GT_VERBS_SPINS || atomic_load(&link->attended))
			gt_verbs_sleep(link, seen);
	}
	if (stop == GT_VERBS_DRAIN)
		gt_verbs_drain(link);
	return NULL;
}
