/*
 * Shared memory: a FIFO lies in memory of the receiver's process, which the
 * sender's maps.  Bells lie in shared memory as well.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/must.h"
#include "exec/link/bell.h"
#include "exec/link/fifo.h"
#include "exec/link/link.h"
#include "exec/link/shared_memory.h"
#include "world/world.h"

/* A process tells this at a connect(), then the keys of its FIFOs. */
struct gt_shm_head {
	struct gt_shared_memory_handle bells, fifos;
	uint32_t first_rank, nranks;
	struct gt_link_shape shape;
	uint32_t nkeys;
	uint32_t reserved;
};

/*
 * Keys say which FIFOs lie in a process's memory, in the order in which they
 * lie there.
 */
struct gt_shm_key {
	uint32_t from, to, lane, tag;
};

/* A process's memory, as this process sees it. */
struct gt_shm_peer {
	struct gt_shared_memory bells, fifos;
	struct gt_shm_head head;
	const struct gt_shm_key *keys; /* while connect() lasts */
};

struct gt_shm_link {
	struct gt_link_config config;
	uint32_t nprocesses;
	struct gt_world_part *parts;
	struct gt_shm_peer *peers; /* own FIFOs are among them */
};

/* Unmap FIFOs that this process reads or writes. */
static void gt_shm_drop(const struct gt_shm_link *link,
			struct gt_shared_memory *fifos)
{
	if (fifos->base && link->config.pins)
		link->config.pins->unpin(fifos->base);
	gt_shared_memory_free(fifos);
}

static int gt_shm_pin(const struct gt_shm_link *link,
		      struct gt_shared_memory *fifos, struct gt_err *err)
{
	int rc = link->config.pins ? link->config.pins->pin(fifos->base,
							    fifos->bytes, err)
				   : GT_OK;

	if (rc)
		gt_shared_memory_free(fifos);
	return rc;
}

static void gt_shm_close(struct gt_exec_link *self)
{
	struct gt_shm_link *link = (struct gt_shm_link *)self;

	if (!link)
		return;
	for (uint32_t p = 0; link->peers && p < link->nprocesses; p++) {
		gt_shared_memory_free(&link->peers[p].bells);
		gt_shm_drop(link, &link->peers[p].fifos);
	}
	free(link->peers);
	free(link->parts);
	free(link);
}

static int gt_shm_open(const struct gt_link_config *config,
		       struct gt_exec_link **out, struct gt_err *err)
{
	struct gt_shm_link *link = calloc(1, sizeof(*link));

	if (!link)
		return gt_err_nomem(err);
	link->config = *config;
	link->nprocesses = gt_world_size(config->world);
	link->parts = calloc(link->nprocesses, sizeof(*link->parts));
	link->peers = calloc(link->nprocesses, sizeof(*link->peers));
	if (!link->parts || !link->peers) {
		gt_shm_close((struct gt_exec_link *)link);
		return gt_err_nomem(err);
	}
	*out = (struct gt_exec_link *)link;
	return GT_OK;
}

/* The bytes of one FIFO's counters and slots, which start on cache lines. */
static size_t gt_shm_stride(const struct gt_link_shape *shape)
{
	return sizeof(struct gt_fifo) +
	       (size_t)shape->nslots * shape->slot_bytes;
}

/*
 * Make this process's memory for the FIFOs that it receives in, and say what
 * lies there.
 */
static int gt_shm_make(struct gt_shm_link *link,
		       const struct gt_link_shape *shape,
		       const struct gt_link_conn *conns, uint32_t nconns,
		       struct gt_buf *text, struct gt_err *err)
{
	uint32_t self = gt_world_rank(link->config.world);
	struct gt_shared_memory *own = &link->peers[self].fifos;
	struct gt_shm_head head = {
		.bells = {.fd = link->config.bells_fd},
		.first_rank = link->config.first_rank,
		.nranks = link->config.nranks,
		.shape = *shape,
	};
	struct gt_shared_memory bells = {.bytes = head.nranks *
						  sizeof(struct gt_bell),
					 .fd = link->config.bells_fd};
	int rc = GT_OK;

	for (uint32_t i = 0; i < nconns; i++)
		head.nkeys += (uint32_t)!conns[i].sends;
	gt_shm_drop(link, own);
	if (head.nkeys)
		rc = gt_shared_memory_new(head.nkeys * gt_shm_stride(shape),
					  own, err);
	if (!rc && own->base)
		rc = gt_shm_pin(link, own, err);
	if (rc)
		return rc;
	head.bells = gt_shared_memory_handle(&bells);
	if (own->base)
		head.fifos = gt_shared_memory_handle(own);
	gt_buf_add(text, &head, sizeof(head));
	for (uint32_t i = 0; i < nconns; i++) {
		struct gt_shm_key key = {conns[i].from, conns[i].to,
					 conns[i].lane, conns[i].tag};

		if (!conns[i].sends)
			gt_buf_add(text, &key, sizeof(key));
	}
	return text->failed ? gt_err_nomem(err) : GT_OK;
}

/* Note what process p has told. */
static int gt_shm_hear(struct gt_shm_link *link, uint32_t p,
		       const struct gt_link_shape *shape, struct gt_err *err)
{
	const struct gt_world_part *part = &link->parts[p];
	struct gt_shm_peer *peer = &link->peers[p];

	if (part->len >= sizeof(peer->head))
		memcpy(&peer->head, part->bytes, sizeof(peer->head));
	peer->keys =
		(const void *)((const char *)part->bytes + sizeof(peer->head));
	/* Bells are mapped once: they must not be more at a later connect. */
	if (part->len < sizeof(peer->head) ||
	    (peer->bells.base && peer->bells.bytes != peer->head.bells.bytes) ||
	    part->len != sizeof(peer->head) +
				 peer->head.nkeys * sizeof(*peer->keys) ||
	    memcmp(&peer->head.shape, shape, sizeof(*shape)) ||
	    peer->head.fifos.bytes != peer->head.nkeys * gt_shm_stride(shape) ||
	    peer->head.bells.bytes !=
		    (size_t)peer->head.nranks * sizeof(struct gt_bell))
		return gt_err_set(err, GT_ESYS, NULL,
				  "%s connects other FIFOs: is it the same "
				  "program?",
				  gt_world_name(link->config.world, p));
	return GT_OK;
}

/* Map what is needed of a process that this one is connected to. */
static int gt_shm_map(struct gt_shm_link *link, uint32_t p, int fifos,
		      struct gt_err *err)
{
	struct gt_shm_peer *peer = &link->peers[p];
	int rc = GT_OK;

	if (!peer->bells.base)
		rc = gt_shared_memory_map(&peer->head.bells, &peer->bells, err);
	if (rc || !fifos || peer->fifos.base || !peer->head.nkeys)
		return rc;
	rc = gt_shared_memory_map(&peer->head.fifos, &peer->fifos, err);
	return rc ? rc : gt_shm_pin(link, &peer->fifos, err);
}

/*
 * The index of a FIFO in a process's memory, or its number of keys if it is not
 * there.
 */
static uint32_t gt_shm_find(const struct gt_shm_peer *peer,
			    const struct gt_link_conn *conn)
{
	struct gt_shm_key key = {conn->from, conn->to, conn->lane, conn->tag};
	uint32_t i = 0;

	while (i < peer->head.nkeys &&
	       memcmp((const char *)peer->keys + i * sizeof(key), &key,
		      sizeof(key)) != 0)
		i++;
	return i;
}

static int gt_shm_attach(struct gt_shm_link *link,
			 const struct gt_link_shape *shape,
			 const struct gt_link_conn *conn, struct gt_err *err)
{
	uint32_t self = gt_world_rank(link->config.world), number;
	uint32_t other = conn->sends ? conn->to : conn->from;
	struct gt_shm_peer *far = &link->peers[conn->process];
	struct gt_shm_peer *at = conn->sends ? far : &link->peers[self];
	char *base;
	int rc = gt_shm_map(link, conn->process, conn->sends, err);

	if (rc)
		return rc;
	number = gt_shm_find(at, conn);
	if (number == at->head.nkeys ||
	    other - far->head.first_rank >= far->head.nranks)
		return gt_err_set(err, GT_ENO, NULL,
				  "rank %u sends to rank %u, which does not "
				  "receive",
				  conn->from, conn->to);
	/* It is mapped, and as large as its owner said when it was heard. */
	GT_MUST(at->fifos.base &&
		(number + 1) * gt_shm_stride(shape) <= at->fifos.bytes);
	base = (char *)at->fifos.base + number * gt_shm_stride(shape);
	*conn->end = (struct gt_fifo_end){
		.fifo = (struct gt_fifo *)(void *)base,
		.slots = base + sizeof(struct gt_fifo),
		.other = (struct gt_bell *)far->bells.base + other -
			 far->head.first_rank,
		.slot_bytes = shape->slot_bytes,
		.nslots = shape->nslots,
	};
	return GT_OK;
}

static int gt_shm_connect(struct gt_exec_link *self,
			  const struct gt_link_shape *shape,
			  const struct gt_link_conn *conns, uint32_t nconns,
			  struct gt_err *err)
{
	struct gt_shm_link *link = (struct gt_shm_link *)self;
	uint32_t process = gt_world_rank(link->config.world);
	struct gt_buf text = GT_BUF_INIT;
	int rc;

	for (uint32_t p = 0; p < link->nprocesses; p++)
		if (p != process)
			gt_shm_drop(link, &link->peers[p].fifos);
	rc = gt_shm_make(link, shape, conns, nconns, &text, err);
	if (!rc)
		rc = gt_world_allgather(link->config.world, text.text, text.len,
					link->parts, err);
	for (uint32_t p = 0; !rc && p < link->nprocesses; p++)
		rc = gt_shm_hear(link, p, shape, err);
	for (uint32_t i = 0; !rc && i < nconns; i++)
		rc = gt_shm_attach(link, shape, &conns[i], err);
	gt_buf_release(&text);
	/* Nobody moves on, and frees memory, before all have mapped it. */
	return rc ? rc
		  : gt_world_allgather(link->config.world, NULL, 0, NULL, err);
}

static int gt_shm_check(struct gt_exec_link *link, struct gt_err *err)
{
	(void)link;
	(void)err;
	return GT_OK;
}

const struct gt_link_ops gt_link_shm = {
	.name = "shm",
	.open = gt_shm_open,
	.close = gt_shm_close,
	.connect = gt_shm_connect,
	.check = gt_shm_check,
};
