/*
 * The proxy of an RDMA link: it hands slices and credits to the device, and
 * acts on completions.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "exec/link/verbs/verbs.h"
#include "world/world.h"

enum {
	GT_VERBS_NAP_NS = 20000000,
	GT_VERBS_DRAIN_MS = 20,
	GT_VERBS_IDLE_ROUNDS = 51,
	GT_VERBS_BATCH = 32, /* completions taken at once */
};

/* Post a write to a FIFO of another process. */
static int gt_verbs_post(struct gt_verbs_link *link, uint32_t process,
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

/* Send a slice that the local rank has written and the far one has room for. */
static int gt_verbs_send_slice(struct gt_verbs_link *link, uint32_t process,
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

/* Send credits for slots that the local rank has read. */
static int gt_verbs_send_credit(struct gt_verbs_link *link, uint32_t process,
				uint32_t i)
{
	struct gt_verbs_fifo *fifo = &link->peers[process].fifos[i];
	uint64_t n = atomic_load_explicit(&fifo->counters->credit,
					  memory_order_acquire) -
		     fifo->told;
	struct ibv_send_wr work = {
		.wr_id = gt_verbs_id(process, link->generation, i, 0),
		/*
		 * The write has no bytes, but some devices check the address.
		 */
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

/* Send what there is of a process's FIFOs; how many messages went out. */
static int gt_verbs_send(struct gt_verbs_link *link, uint32_t process)
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

/* A slice or credits have arrived; 0: they make no sense. */
static int gt_verbs_arrived(struct gt_verbs_link *link, uint32_t process,
			    uint32_t imm)
{
	struct gt_verbs_peer *peer = &link->peers[process];
	uint32_t credits = imm >> 16 & 127, i = imm & 0xffff;
	struct gt_verbs_fifo *fifo;

	/* Late credits of an earlier generation are ignored. */
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
	if (fifo->gdr && fifo->gdr->flushes) {
		fifo->gdr->is_dirty = 1;
		return ++fifo->arrived - fifo->end.at <= fifo->end.nslots;
	}
	if (!gt_fifo_can_send(&fifo->end))
		return 0;
	gt_fifo_sent(&fifo->end);
	gt_bell_ring(fifo->end.other);
	return 1;
}

static void gt_verbs_completed(struct gt_verbs_link *link,
			       const struct ibv_wc *wc)
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

static int gt_verbs_round(struct gt_proxied_link *base)
{
	struct gt_verbs_link *link = (struct gt_verbs_link *)base;
	struct ibv_wc done[GT_VERBS_BATCH];
	int n = ibv_poll_cq(link->cq, GT_VERBS_BATCH, done), busy = n > 0;

	if (n < 0)
		gt_verbs_break(link, gt_world_rank(link->base.config.world),
			       IBV_WC_FATAL_ERR);
	for (int i = 0; i < n; i++)
		gt_verbs_completed(link, &done[i]);
	busy |= gt_verbs_flush(link);
	for (uint32_t p = 0; p < link->nprocesses; p++)
		if (link->peers[p].qp && !atomic_load(&link->broken))
			busy |= gt_verbs_send(link, p);
	return busy;
}

/* Wait for the next completion, unless there is one already. */
static int gt_verbs_arm(struct gt_proxied_link *base, struct pollfd *polls)
{
	struct gt_verbs_link *link = (struct gt_verbs_link *)base;

	*polls = (struct pollfd){.fd = link->channel->fd, .events = POLLIN};
	/* What completed before it was asked for shows in a round. */
	return ibv_req_notify_cq(link->cq, 0) ||
			       gt_proxied_link_progress(
				       (struct gt_exec_link *)link)
		       ? -1
		       : 1;
}

static void gt_verbs_woken(struct gt_proxied_link *base,
			   const struct pollfd *polls)
{
	struct gt_verbs_link *link = (struct gt_verbs_link *)base;
	struct ibv_cq *cq;
	void *context;

	if (polls->revents && !ibv_get_cq_event(link->channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

/*
 * The device still reads slots while an answer may be lost, so slots are freed
 * only behind that.  Credits have no bytes to be read.
 */
void gt_verbs_drain(struct gt_verbs_link *link)
{
	struct pollfd wait = {.fd = link->base.wake_fd};
	int64_t until = gt_clock_ns() + link->patience_ns;
	uint32_t slices = 1;

	while (slices && gt_clock_ns() < until) {
		if (atomic_load(&link->broken))
			return;
		gt_proxied_link_progress((struct gt_exec_link *)link);
		slices = link->reads;
		for (uint32_t p = 0; p < link->nprocesses; p++)
			slices += link->peers[p].slices_in_flight;
		if (slices)
			poll(&wait, 1, GT_VERBS_DRAIN_MS);
	}
}

const struct gt_proxied_link_ops gt_verbs_proxy = {
	.round = gt_verbs_round,
	.progress = gt_proxied_link_progress,
	.idle_rounds = GT_VERBS_IDLE_ROUNDS,
	.nap_ns = GT_VERBS_NAP_NS,
	.arm = gt_verbs_arm,
	.woken = gt_verbs_woken,
};
