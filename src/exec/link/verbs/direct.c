/*
 * GPUDirect RDMA: slots in GPUs' memory, which the network card reads and
 * writes by itself.
 *
 * What a card has written to a GPU may still be on its way over PCIe when its
 * completion is in the host's memory.  A read through the card pushes it in
 * front of itself, so slices are the kernel's when such a read, begun after
 * their completions, has ended; where the GPU says that it keeps the order,
 * nothing is read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "exec/engine.h"
#include "exec/link/proxied_fifo.h"
#include "exec/link/verbs/verbs.h"
#include "world/world.h"

/* Remote reads are allowed because flushes read. */
enum {
	GT_VERBS_GDR_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			      IBV_ACCESS_REMOTE_READ,
};

/* Tell once what has been chosen or could not be had. */
static void gt_verbs_tell_once(struct gt_verbs_link *link, const char *text)
{
	const struct gt_notice *notice = link->base.config.notice;

	if (!link->has_told && notice)
		notice->tell(notice->arg, 0, text);
	link->has_told = 1;
}

static void gt_verbs_gdr_memory_drop(struct gt_verbs_link *link,
				     struct gt_verbs_gdr_memory *gdr)
{
	uint32_t rank =
		link->base.config.first_rank + (uint32_t)(gdr - link->gdr);

	if (gdr->mr)
		ibv_dereg_mr(gdr->mr);
	if (gdr->memory.base)
		link->base.config.pins->device_memory_free(
			link->base.config.pins_arg, rank, &gdr->memory);
	memset(gdr, 0, sizeof(*gdr));
}

/*
 * Register the memory by its dma-buf, or by its address where the driver of the
 * GPUs knows of network cards.
 */
static void gt_verbs_gdr_memory_register(struct gt_verbs_link *link,
					 struct gt_verbs_gdr_memory *gdr)
{
	struct gt_link_device_memory *memory = &gdr->memory;
	int error = 0;

	if (memory->dmabuf >= 0) {
		gdr->mr = ibv_reg_dmabuf_mr(
			link->pd, 0, memory->bytes, (uintptr_t)memory->base,
			memory->dmabuf, GT_VERBS_GDR_ACCESS);
		error = errno;
		close(memory->dmabuf);
	}
	if (!gdr->mr)
		gdr->mr = ibv_reg_mr(link->pd, memory->base, memory->bytes,
				     GT_VERBS_GDR_ACCESS);
	if (error)
		errno = error;
}

/* Connect the card to itself, for flushes; NULL, or why that cannot be. */
static const char *gt_verbs_loop_open(struct gt_verbs_link *link)
{
	struct gt_verbs_peer *loop = &link->loop;
	const char *why;

	if (loop->connected)
		return NULL;
	if (!loop->qp && gt_verbs_qp_new(link, loop, NULL))
		return "the device gives no queue pair for flushes";
	why = gt_verbs_qp_connect(link, loop, &link->port.place,
				  loop->qp->qp_num, loop->psn);
	loop->connected = !why;
	return why;
}

/* Get memory for the slots of a local rank, or leave words in `why`. */
static void gt_verbs_gdr_memory_new(struct gt_verbs_link *link, uint32_t r,
				    uint64_t bytes, char why[GT_NOTICE_MAX])
{
	const struct gt_link_config *config = &link->base.config;
	const char *name = ibv_get_device_name(link->port.context->device);
	struct gt_verbs_gdr_memory *gdr = &link->gdr[r];
	uint32_t rank = config->first_rank + r;
	enum gt_verbs_distance far;
	struct gt_err err;

	gt_err_init(&err);
	gdr->behind = bytes;
	if (config->pins->device_memory_new(config->pins_arg, rank,
					    bytes + GT_CACHE_LINE_BYTES,
					    &gdr->memory, &err)) {
		snprintf(why, GT_NOTICE_MAX, "%.200s", err.text);
		return;
	}
	far = gt_verbs_distance_to_gpu(&link->port, gdr->memory.bus_id);
	if (far > link->port.reach) {
		if (gdr->memory.dmabuf >= 0)
			close(gdr->memory.dmabuf);
		snprintf(why, GT_NOTICE_MAX,
			 "%s and rank %u's GPU %.31s are %s to each other, "
			 "GTOPO_NET_GDR_LEVEL is %s",
			 name, rank, gdr->memory.bus_id,
			 gt_verbs_distance_name(far),
			 gt_verbs_distance_name(link->port.reach));
		return;
	}
	gt_verbs_gdr_memory_register(link, gdr);
	gdr->flushes = !gdr->memory.is_ordered || link->port.always_flushes;
	if (!gdr->mr)
		snprintf(why, GT_NOTICE_MAX,
			 "%s cannot register memory of rank %u's GPU: %s", name,
			 rank, strerror(errno));
	else if (gdr->flushes && gt_verbs_loop_open(link))
		snprintf(why, GT_NOTICE_MAX, "%s: %s", name,
			 gt_verbs_loop_open(link));
}

void gt_verbs_gdr_memories_new(struct gt_verbs_link *link,
			       const struct gt_link_conn *conns,
			       uint32_t nconns)
{
	const struct gt_link_config *config = &link->base.config;
	uint64_t each =
		(uint64_t)link->base.shape.nslots * link->base.shape.slot_bytes;
	char why[GT_NOTICE_MAX], text[2 * GT_NOTICE_MAX];
	uint64_t n;

	if (!config->pins || !config->pins->device_memory_new)
		return;
	if (link->port.reach == GT_VERBS_LOC) {
		gt_verbs_tell_once(link, "RDMA through host memory: "
					 "GTOPO_NET_GDR_LEVEL is LOC");
		return;
	}
	for (uint32_t r = 0; r < config->nranks; r++) {
		n = 0;
		for (uint32_t i = 0; i < nconns; i++)
			n += (conns[i].sends ? conns[i].from : conns[i].to) ==
			     config->first_rank + r;
		if (!n)
			continue;
		*why = '\0';
		gt_verbs_gdr_memory_new(link, r, n * each, why);
		if (*why)
			gt_verbs_gdr_memory_drop(link, &link->gdr[r]);
		snprintf(text, sizeof(text), "%s%s",
			 *why ? "RDMA through host memory: "
			 : link->gdr[r].flushes
				 ? "RDMA from and to GPUs' memory, flushed"
				 : "RDMA from and to GPUs' memory",
			 why);
		gt_verbs_tell_once(link, text);
	}
}

void gt_verbs_gdr_memories_free(struct gt_verbs_link *link)
{
	for (uint32_t r = 0; link->gdr && r < link->base.config.nranks; r++)
		if (link->gdr[r].mr)
			gt_verbs_gdr_memory_drop(link, &link->gdr[r]);
	link->reads = 0;
}

struct gt_verbs_gdr_memory *gt_verbs_gdr_memory_of(
	struct gt_verbs_link *link, const struct gt_link_conn *conn)
{
	uint32_t rank = conn->sends ? conn->from : conn->to;
	struct gt_verbs_gdr_memory *gdr =
		&link->gdr[rank - link->base.config.first_rank];

	return gdr->mr ? gdr : NULL;
}

char *gt_verbs_gdr_memory_take(struct gt_verbs_gdr_memory *gdr,
			       const struct gt_link_shape *shape)
{
	return gdr->memory.base +
	       (size_t)gdr->nfifos++ * shape->nslots * shape->slot_bytes;
}

/*
 * Note what has come until now: the next read of the memory is behind all of
 * that.
 */
static void gt_verbs_cover(struct gt_verbs_link *link,
			   struct gt_verbs_gdr_memory *gdr)
{
	for (uint32_t p = 0; p < link->nprocesses; p++)
		for (uint32_t i = 0; i < link->peers[p].nfifos; i++) {
			struct gt_verbs_fifo *fifo = &link->peers[p].fifos[i];

			if (fifo->gdr == gdr)
				fifo->covered = fifo->arrived;
		}
	gdr->is_dirty = 0;
	gdr->is_read = 1;
}

static int gt_verbs_read(struct gt_verbs_link *link, uint32_t r)
{
	struct gt_verbs_gdr_memory *gdr = &link->gdr[r];
	struct ibv_sge piece = {.addr = (uintptr_t)link->base.memory,
				.length = sizeof(uint64_t),
				.lkey = link->mr->lkey};
	struct ibv_send_wr work = {
		.wr_id = gt_verbs_id(link->nprocesses, link->generation, r, 0),
		.sg_list = &piece,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr =
				    (uintptr_t)gdr->memory.base + gdr->behind,
			    .rkey = gdr->mr->rkey},
	};
	struct ibv_send_wr *bad;

	gt_verbs_cover(link, gdr);
	if (ibv_post_send(link->loop.qp, &work, &bad)) {
		gt_verbs_break(link, gt_world_rank(link->base.config.world),
			       IBV_WC_GENERAL_ERR);
		return 0;
	}
	link->reads++;
	return 1;
}

int gt_verbs_flush(struct gt_verbs_link *link)
{
	int done = 0;

	for (uint32_t r = 0; link->loop.qp && r < link->base.config.nranks; r++)
		if (link->gdr[r].is_dirty && !link->gdr[r].is_read)
			done |= gt_verbs_read(link, r);
	return done;
}

void gt_verbs_flushed(struct gt_verbs_link *link, const struct ibv_wc *wc)
{
	struct gt_verbs_gdr_memory *gdr = &link->gdr[wc->wr_id & 0xffff];

	if (wc->status != IBV_WC_SUCCESS) {
		gt_verbs_break(link, gt_world_rank(link->base.config.world),
			       wc->status);
		return;
	}
	if ((wc->wr_id >> 16 & GT_VERBS_KNOWN_BY) !=
	    (link->generation & GT_VERBS_KNOWN_BY))
		return;
	link->reads--;
	gdr->is_read = 0;
	for (uint32_t p = 0; p < link->nprocesses; p++)
		for (uint32_t i = 0; i < link->peers[p].nfifos; i++) {
			struct gt_verbs_fifo *fifo = &link->peers[p].fifos[i];

			if (fifo->gdr != gdr || fifo->sends ||
			    fifo->end.at == fifo->covered)
				continue;
			while (fifo->end.at < fifo->covered)
				gt_fifo_sent(&fifo->end);
			gt_bell_ring(fifo->end.other);
		}
}
