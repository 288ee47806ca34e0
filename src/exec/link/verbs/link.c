/*
 * The RDMA link: reliable connections between processes and the FIFOs that its
 * proxy carries over them.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "exec/link/proxied_fifo.h"
#include "exec/link/verbs/verbs.h"
#include "world/world.h"

#define GT_VERBS_PATIENCE_NS 8000000000ll

/*
 * A process tells this at a connect(), then an entry for each process, then
 * where each FIFO has its slots.
 */
struct gt_verbs_head {
	struct gt_verbs_place place;
	struct gt_link_shape shape;
	uint32_t nfifos;
};

struct gt_verbs_entry {
	uint32_t qpn, psn; /* 0: no connection to you */
	uint32_t first;    /* your first FIFO */
	uint32_t nfifos;
};

struct gt_verbs_slots {
	uint64_t at;
	uint32_t rkey, reserved;
};

static void gt_verbs_forget(struct gt_verbs_link *link)
{
	for (uint32_t p = 0; link->peers && p < link->nprocesses; p++) {
		free(link->peers[p].fifos);
		link->peers[p].fifos = NULL;
		link->peers[p].nfifos = 0;
	}
	if (link->mr)
		ibv_dereg_mr(link->mr);
	link->mr = NULL;
	gt_verbs_gdr_memories_free(link);
	gt_proxied_link_forget(&link->base);
}

static void gt_verbs_close(struct gt_exec_link *self)
{
	struct gt_verbs_link *link = (struct gt_verbs_link *)self;

	if (!link)
		return;
	/* Without queue pairs nothing reads slots any more. */
	gt_proxied_link_stop(&link->base);
	for (uint32_t p = 0; link->peers && p < link->nprocesses; p++)
		if (link->peers[p].qp)
			ibv_destroy_qp(link->peers[p].qp);
	if (link->loop.qp)
		ibv_destroy_qp(link->loop.qp);
	gt_verbs_forget(link);
	if (link->cq)
		ibv_destroy_cq(link->cq);
	if (link->channel)
		ibv_destroy_comp_channel(link->channel);
	if (link->pd)
		ibv_dealloc_pd(link->pd);
	gt_verbs_port_close(&link->port);
	free(link->peers);
	free(link->gdr);
	gt_proxied_link_free(&link->base);
}

/*
 * Return how many reads flush at a time; slots in the host's memory need none.
 */
static uint32_t gt_verbs_flushes(const struct gt_verbs_link *link)
{
	const struct gt_link_memory_ops *pins = link->base.config.pins;

	return pins && pins->device_memory_new ? link->base.config.nranks : 0;
}

/*
 * Return how many messages may be in flight to one process: a completion queue
 * has to take all at once.
 */
static uint32_t gt_verbs_sends(const struct gt_verbs_link *link)
{
	uint32_t flushes = gt_verbs_flushes(link), cqe = link->port.most_cqe;
	uint32_t most = (cqe > flushes ? cqe - flushes : 0) /
			(link->nprocesses * (1 + GT_VERBS_RECEIVES));

	return most < GT_VERBS_SENDS ? most : GT_VERBS_SENDS;
}

static int gt_verbs_prepare(struct gt_verbs_link *link, struct gt_err *err)
{
	int rc = gt_verbs_port_init(&link->port, err);
	uint32_t cqe;

	rc = gt_world_agree(link->base.config.world, rc, err);
	if (!rc)
		rc = gt_verbs_port_open(&link->port, &link->base.config, err);
	if (rc)
		return rc;
	link->sends = gt_verbs_sends(link);
	cqe = link->sends * link->nprocesses * (1 + GT_VERBS_RECEIVES);
	cqe += cqe ? gt_verbs_flushes(link) : 0;
	link->pd = ibv_alloc_pd(link->port.context);
	link->channel = ibv_create_comp_channel(link->port.context);
	if (link->channel && cqe) {
		fcntl(link->channel->fd, F_SETFL, O_NONBLOCK);
		link->cq = ibv_create_cq(link->port.context, (int)cqe, NULL,
					 link->channel, 0);
	}
	if (!link->pd || !link->cq)
		return gt_err_set(err, GT_ESYS, NULL,
				  "the RDMA device gives no completion queue "
				  "for %u processes, %u entries at most",
				  link->nprocesses, link->port.most_cqe);
	return GT_OK;
}

static int gt_verbs_open(const struct gt_link_config *config,
			 struct gt_exec_link **out, struct gt_err *err)
{
	struct gt_verbs_link *link =
		gt_proxied_link_new(sizeof(*link), &gt_verbs_proxy, config);
	int rc;

	if (!link)
		return gt_err_nomem(err);
	link->base.polls = link->polls;
	link->nprocesses = gt_world_size(config->world);
	/*
	 * Half the time limit, so that a connection breaks before anybody's
	 * verdict on who is silent.
	 */
	link->patience_ns = gt_world_timeout_ns(config->world) / 2;
	if (link->patience_ns > GT_VERBS_PATIENCE_NS)
		link->patience_ns = GT_VERBS_PATIENCE_NS;
	link->peers = calloc(link->nprocesses, sizeof(*link->peers));
	link->gdr = calloc(config->nranks, sizeof(*link->gdr));
	rc = link->peers && link->gdr ? gt_verbs_prepare(link, err)
				      : gt_err_nomem(err);
	if (rc)
		gt_verbs_close((struct gt_exec_link *)link);
	else
		*out = (struct gt_exec_link *)link;
	return rc;
}

/* Make a FIFO between the local rank and the proxy. */
static void gt_verbs_make(struct gt_verbs_link *link,
			  const struct gt_link_conn *conn, char *memory)
{
	struct gt_verbs_peer *peer = &link->peers[conn->process];
	struct gt_verbs_gdr_memory *gdr = gt_verbs_gdr_memory_of(link, conn);
	struct gt_fifo_end end = gt_proxied_fifo_make(
		&link->base.shape, conn, memory, &link->base.bell,
		gt_proxied_link_bell(&link->base, conn));

	if (gdr)
		end.slots = conn->end->slots =
			gt_verbs_gdr_memory_take(gdr, &link->base.shape);
	peer->fifos[peer->nfifos++] = (struct gt_verbs_fifo){
		.counters = end.fifo,
		.end = end,
		.sends = conn->sends,
		.gdr = gdr,
		.lkey = gdr ? gdr->mr->lkey : link->mr->lkey,
	};
}

/* Return how many bytes of the host's memory a FIFO takes. */
static size_t gt_verbs_bytes(struct gt_verbs_link *link,
			     const struct gt_link_conn *conn)
{
	return gt_verbs_gdr_memory_of(link, conn)
		       ? gt_proxied_fifo_slots(&link->base.shape)
		       : gt_proxied_fifo_bytes(&link->base.shape);
}

/* Get and register the host's memory; flushes read into its first line. */
static int gt_verbs_register(struct gt_verbs_link *link,
			     const struct gt_link_conn *conns, uint32_t nconns,
			     struct gt_err *err)
{
	size_t bytes = GT_CACHE_LINE_BYTES;

	for (uint32_t i = 0; i < nconns; i++)
		bytes += gt_verbs_bytes(link, &conns[i]);
	if (gt_proxied_link_alloc(&link->base, bytes, err))
		return GT_ESYS;
	link->mr = ibv_reg_mr(link->pd, link->base.memory, bytes,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return link->mr ? GT_OK
			: gt_err_set(err, GT_ESYS, NULL,
				     "cannot register '%zu' bytes with the "
				     "RDMA device; is 'ulimit -l' too small?",
				     bytes);
}

static int gt_verbs_fill(struct gt_verbs_link *link,
			 const struct gt_link_conn *conns, uint32_t nconns,
			 struct gt_err *err)
{
	struct gt_verbs_peer *peer;
	char *memory;
	int rc;

	gt_verbs_gdr_memories_new(link, conns, nconns);
	rc = gt_verbs_register(link, conns, nconns, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < nconns; i++)
		link->peers[conns[i].process].nfifos++;
	for (uint32_t p = 0; p < link->nprocesses; p++) {
		peer = &link->peers[p];
		if (peer->nfifos > GT_VERBS_MOST_FIFOS)
			return gt_err_set(
				err, GT_ESYS, NULL,
				"'%u' FIFOs with %s are more than "
				"the %d that RDMA counts; take fewer "
				"workers, or --link tcp",
				peer->nfifos,
				gt_world_name(link->base.config.world, p),
				GT_VERBS_MOST_FIFOS);
		peer->fifos = calloc(peer->nfifos + 1, sizeof(*peer->fifos));
		if (!peer->fifos)
			return gt_err_nomem(err);
		peer->nfifos = 0;
	}
	memory = link->base.memory + GT_CACHE_LINE_BYTES;
	for (uint32_t i = 0; i < nconns; i++) {
		gt_verbs_make(link, &conns[i], memory);
		memory += gt_verbs_bytes(link, &conns[i]);
	}
	return GT_OK;
}

/* Make a queue pair for a process that there is a FIFO with. */
static int gt_verbs_make_qp(struct gt_verbs_link *link, uint32_t process,
			    struct gt_err *err)
{
	struct gt_verbs_peer *peer = &link->peers[process];
	int rc = gt_verbs_qp_new(link, peer, err), error = 0;

	for (uint32_t i = 0;
	     !rc && !error && i < link->sends * GT_VERBS_RECEIVES; i++)
		error = gt_verbs_receive(peer->qp, process);
	return error ? gt_err_set(err, GT_ESYS, NULL,
				  "cannot set up a queue pair: %s",
				  strerror(error))
		     : rc;
}

/* Connect a queue pair, once in its life. */
static int gt_verbs_connect_qp(struct gt_verbs_link *link, uint32_t process,
			       const struct gt_verbs_place *far,
			       const struct gt_verbs_entry *entry,
			       struct gt_err *err)
{
	struct gt_verbs_peer *peer = &link->peers[process];
	const char *why;

	if (peer->connected)
		return GT_OK;
	why = gt_verbs_qp_connect(link, peer, far, entry->qpn, entry->psn);
	peer->connected = !why;
	return why ? gt_err_set(err, GT_ESYS, NULL,
				"cannot connect a queue pair to %s: %s",
				gt_world_name(link->base.config.world, process),
				why)
		   : GT_OK;
}

/* Tell where each FIFO has its slots, in the order of connections. */
static void gt_verbs_tell_slots(const struct gt_verbs_link *link,
				struct gt_buf *text)
{
	for (uint32_t p = 0; p < link->nprocesses; p++)
		for (uint32_t i = 0; i < link->peers[p].nfifos; i++) {
			const struct gt_verbs_fifo *fifo =
				&link->peers[p].fifos[i];
			struct gt_verbs_slots slots = {
				.at = (uintptr_t)fifo->end.slots,
				.rkey = fifo->gdr ? fifo->gdr->mr->rkey
						  : link->mr->rkey,
			};

			gt_buf_add(text, &slots, sizeof(slots));
		}
}

static int gt_verbs_tell(const struct gt_verbs_link *link, struct gt_buf *text,
			 struct gt_err *err)
{
	struct gt_verbs_head head = {.place = link->port.place,
				     .shape = link->base.shape};
	uint32_t first = 0;

	for (uint32_t p = 0; p < link->nprocesses; p++)
		head.nfifos += link->peers[p].nfifos;
	gt_buf_add(text, &head, sizeof(head));
	for (uint32_t p = 0; p < link->nprocesses; p++) {
		const struct gt_verbs_peer *peer = &link->peers[p];
		struct gt_verbs_entry entry = {
			.first = first,
			.nfifos = peer->nfifos,
			.qpn = peer->qp ? peer->qp->qp_num : 0,
			.psn = peer->psn,
		};

		first += peer->nfifos;
		gt_buf_add(text, &entry, sizeof(entry));
	}
	gt_verbs_tell_slots(link, text);
	return text->failed ? gt_err_nomem(err) : GT_OK;
}

/*
 * Read what process p told of itself and of this one; 0: that is not
 * understood.
 */
static int gt_verbs_understand(const struct gt_verbs_link *link,
			       const struct gt_world_part *part,
			       struct gt_verbs_head *head,
			       struct gt_verbs_entry *entry)
{
	uint32_t self = gt_world_rank(link->base.config.world);
	size_t bytes = sizeof(*head) + link->nprocesses * sizeof(*entry);

	if (part->len < bytes)
		return 0;
	memcpy(head, part->bytes, sizeof(*head));
	memcpy(entry,
	       (const char *)part->bytes + sizeof(*head) +
		       self * sizeof(*entry),
	       sizeof(*entry));
	return part->len ==
		       bytes + head->nfifos * sizeof(struct gt_verbs_slots) &&
	       (uint64_t)entry->first + entry->nfifos <= head->nfifos;
}

/* Connect to process p, and learn where its slots are. */
static int gt_verbs_hear(struct gt_verbs_link *link, uint32_t p,
			 const struct gt_world_part *part, struct gt_err *err)
{
	struct gt_verbs_peer *peer = &link->peers[p];
	struct gt_verbs_slots slots;
	struct gt_verbs_entry entry;
	struct gt_verbs_head head;
	const char *at;

	if (!gt_verbs_understand(link, part, &head, &entry))
		return gt_err_set(err, GT_ESYS, NULL, "%s is another version",
				  gt_world_name(link->base.config.world, p));
	if (entry.nfifos != peer->nfifos ||
	    memcmp(&head.shape, &link->base.shape, sizeof(head.shape)) != 0)
		return gt_err_set(err, GT_ESYS, NULL,
				  "%s connects other FIFOs: is it the same "
				  "program?",
				  gt_world_name(link->base.config.world, p));
	at = (const char *)part->bytes + part->len -
	     (head.nfifos - entry.first) * sizeof(slots);
	for (uint32_t i = 0; i < peer->nfifos; i++, at += sizeof(slots)) {
		memcpy(&slots, at, sizeof(slots));
		peer->fifos[i].far_slots = slots.at;
		peer->fifos[i].far_rkey = slots.rkey;
	}
	return peer->nfifos
		       ? gt_verbs_connect_qp(link, p, &head.place, &entry, err)
		       : GT_OK;
}

static int gt_verbs_exchange(struct gt_verbs_link *link, struct gt_err *err)
{
	struct gt_world *world = link->base.config.world;
	struct gt_world_part *parts = calloc(link->nprocesses, sizeof(*parts));
	struct gt_buf text = GT_BUF_INIT;
	int rc = parts ? gt_verbs_tell(link, &text, err) : gt_err_nomem(err);

	if (!rc)
		rc = gt_world_allgather(world, text.text, text.len, parts, err);
	for (uint32_t p = 0; !rc && p < link->nprocesses; p++)
		if (p != gt_world_rank(world))
			rc = gt_verbs_hear(link, p, &parts[p], err);
	gt_buf_release(&text);
	free(parts);
	/* Nobody sends before all are ready to receive. */
	return rc ? rc : gt_world_allgather(world, NULL, 0, NULL, err);
}

static int gt_verbs_connect(struct gt_exec_link *self,
			    const struct gt_link_shape *shape,
			    const struct gt_link_conn *conns, uint32_t nconns,
			    struct gt_err *err)
{
	struct gt_verbs_link *link = (struct gt_verbs_link *)self;
	struct gt_link_conn *sorted = gt_proxied_fifo_sort(conns, nconns);
	char device[PATH_MAX];
	int rc;

	if (!sorted)
		return gt_err_nomem(err);
	if (gt_proxied_link_stop(&link->base))
		gt_verbs_drain(link);
	gt_verbs_forget(link);
	link->base.shape = *shape;
	link->generation++;
	rc = gt_verbs_fill(link, sorted, nconns, err);
	free(sorted);
	for (uint32_t p = 0; !rc && p < link->nprocesses; p++)
		if (link->peers[p].nfifos && !link->peers[p].qp)
			rc = gt_verbs_make_qp(link, p, err);
	if (!rc)
		rc = gt_verbs_exchange(link, err);
	snprintf(device, sizeof(device), "/sys/class/infiniband/%s/device",
		 ibv_get_device_name(link->port.context->device));
	return rc ? rc : gt_proxied_link_start(&link->base, device, err);
}

static int gt_verbs_usable(const char *nic, uint32_t *usable,
			   struct gt_err *err)
{
	const struct gt_link_config config = {.nic = nic};
	struct gt_verbs_port port;
	int rc = gt_verbs_port_init(&port, err);

	*usable = !rc && !gt_verbs_port_open(&port, &config, NULL);
	if (*usable)
		gt_verbs_port_close(&port);
	return rc;
}

const struct gt_link_ops gt_link_verbs = {
	.name = "verbs",
	.open = gt_verbs_open,
	.close = gt_verbs_close,
	.usable = gt_verbs_usable,
	.connect = gt_verbs_connect,
	.check = gt_verbs_check,
	.attend = gt_proxied_link_attend,
	.progress = gt_proxied_link_progress,
};
