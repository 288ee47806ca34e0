/*
 * Messages between ranks on the host that are in two processes of it.
 *
 * A pair has a ring of bytes in shared memory, which the receiver's process
 * makes when it first receives.  Others find it on the board of that process,
 * which all mapped when the communicator was made: so only the two need to come.
 * In the ring a message is what it is, then its bytes.
 */
#include "lib/comm.h"

#include <stdlib.h>
#include <string.h>

#include "exec/group.h"
#include "exec/share.h"

enum { GT_MAIL_RING_BYTES = 1 << 20, GT_MAIL_LINE_BYTES = 128 };

/* One writer each. */
struct gt_mail_ring {
	_Alignas(GT_MAIL_LINE_BYTES) _Atomic uint64_t written; /* bytes */
	_Alignas(GT_MAIL_LINE_BYTES) _Atomic uint64_t read;
	_Alignas(GT_MAIL_LINE_BYTES) char bytes[GT_MAIL_RING_BYTES];
};

/* Where a ring is to be found: its process is the board's. */
struct gt_mail_place {
	_Atomic uint64_t fd; /* and 1; 0: not there yet */
};

struct gt_mail_head {
	uint64_t bytes, dtype;
};

/* What a process tells; an equal host means that it can be mapped. */
struct gt_mail_card {
	char host[GT_HOST_ID_MAX];
	struct gt_share_name board;
};

/* A pair, seen from a rank that is here. */
struct gt_mail_box {
	struct gt_share ring;
	uint64_t done; /* of the message that is under way: head, then bytes */
	struct gt_mail_head head;
};

struct gt_mail {
	uint32_t nprocesses, self;
	struct gt_share *boards;      /* [process]: [receiver there][sender] */
	pid_t *pids;                  /* [process] */
	struct gt_mail_box *in, *out; /* [rank here][peer] */
};

static uint32_t gt_mail_first(const struct gtopo_comm *comm, uint32_t p)
{
	return gt_group_first(p, comm->mail->nprocesses, comm->nranks);
}

static uint32_t gt_mail_process(const struct gtopo_comm *comm, uint32_t rank)
{
	uint32_t p = 0;

	while (gt_mail_first(comm, p + 1) <= rank)
		p++;
	return p;
}

static size_t gt_mail_board_bytes(const struct gtopo_comm *comm, uint32_t p)
{
	return (size_t)(gt_mail_first(comm, p + 1) - gt_mail_first(comm, p)) *
	       comm->nranks * sizeof(struct gt_mail_place);
}

void gt_mail_close(struct gtopo_comm *comm)
{
	struct gt_mail *mail = comm->mail;
	struct gt_mail_place *places =
		mail && mail->boards ? mail->boards[mail->self].base : NULL;
	size_t n = (size_t)(comm->end - comm->first) * comm->nranks;

	if (!mail)
		return;
	/* Who still looks must not take another file for the ring. */
	for (size_t i = 0; places && i < n; i++)
		atomic_store(&places[i].fd, 0);
	for (size_t i = 0; mail->in && i < n; i++)
		gt_share_free(&mail->in[i].ring);
	for (size_t i = 0; mail->out && i < n; i++)
		gt_share_free(&mail->out[i].ring);
	for (uint32_t p = 0; mail->boards && p < mail->nprocesses; p++)
		gt_share_free(&mail->boards[p]);
	free(mail->in);
	free(mail->out);
	free(mail->boards);
	free(mail->pids);
	free(mail);
	comm->mail = NULL;
}

static int gt_mail_new(struct gtopo_comm *comm, struct gt_err *err)
{
	size_t n = (size_t)(comm->end - comm->first) * comm->nranks;
	struct gt_mail *mail = calloc(1, sizeof(*mail));

	comm->mail = mail;
	if (!mail)
		return gt_err_nomem(err);
	mail->nprocesses = gt_world_size(comm->world);
	mail->self = gt_world_rank(comm->world);
	mail->boards = calloc(mail->nprocesses, sizeof(*mail->boards));
	mail->pids = calloc(mail->nprocesses, sizeof(*mail->pids));
	mail->in = calloc(n, sizeof(*mail->in));
	mail->out = calloc(n, sizeof(*mail->out));
	if (!mail->boards || !mail->pids || !mail->in || !mail->out)
		return gt_err_nomem(err);
	return gt_share_new(gt_mail_board_bytes(comm, mail->self),
			    &mail->boards[mail->self], err);
}

/* The boards of this host's processes; the others' stay unmapped. */
static int gt_mail_map(struct gtopo_comm *comm, const struct gt_mail_card *own,
		       const struct gt_world_part *parts, struct gt_err *err)
{
	struct gt_mail *mail = comm->mail;
	struct gt_mail_card card;
	int rc = GT_OK;

	for (uint32_t p = 0; !rc && p < mail->nprocesses; p++) {
		if (parts[p].len != sizeof(card))
			return gt_err_set(err, GT_ESYS, NULL,
					  "%s is at another meeting",
					  gt_world_name(comm->world, p));
		memcpy(&card, parts[p].bytes, sizeof(card));
		if (p == mail->self ||
		    memcmp(card.host, own->host, sizeof(card.host)))
			continue;
		mail->pids[p] = card.board.pid;
		rc = gt_share_map(&card.board, &mail->boards[p], err);
	}
	return rc;
}

int gt_mail_open(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_world_part *parts;
	struct gt_mail_card own = {.board = {.bytes = 0}};
	int rc = gt_mail_new(comm, err);

	if (rc)
		return rc;
	gt_share_host_id(own.host);
	own.board = gt_share_name(&comm->mail->boards[comm->mail->self]);
	parts = calloc(comm->mail->nprocesses, sizeof(*parts));
	rc = parts ? gt_world_meet(comm->world, &own, sizeof(own), parts, err)
		   : gt_err_nomem(err);
	if (!rc)
		rc = gt_mail_map(comm, &own, parts, err);
	free(parts);
	/* A board's descriptor stays open until all have mapped it. */
	return rc ? rc : gt_world_meet(comm->world, NULL, 0, NULL, err);
}

/* Where the ring of a pair is told of. */
static struct gt_mail_place *gt_mail_place_of(const struct gtopo_comm *comm,
					      uint32_t sender,
					      uint32_t receiver)
{
	uint32_t p = gt_mail_process(comm, receiver);
	struct gt_mail_place *board = comm->mail->boards[p].base;

	return &board[(receiver - gt_mail_first(comm, p)) * comm->nranks +
		      sender];
}

/* The pair's ring; *ring is NULL while the receiver has not come. */
static int gt_mail_ring_of(struct gtopo_comm *comm, uint32_t rank,
			   const struct gt_message *m, struct gt_mail_box *box,
			   struct gt_err *err)
{
	uint32_t p = gt_mail_process(comm, m->peer);
	struct gt_mail_place *place;
	struct gt_share_name name;
	uint64_t fd;
	int rc;

	if (box->ring.base)
		return GT_OK;
	if (!comm->mail->boards[p].base)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "rank %u and rank %u are on different hosts, "
				  "which messages cannot be sent between",
				  rank, m->peer);
	if (!m->sends) {
		rc = gt_share_new(sizeof(struct gt_mail_ring), &box->ring, err);
		place = gt_mail_place_of(comm, m->peer, rank);
		if (!rc)
			atomic_store(&place->fd, (uint64_t)box->ring.fd + 1);
		return rc;
	}
	place = gt_mail_place_of(comm, rank, m->peer);
	fd = atomic_load(&place->fd);
	if (!fd)
		return GT_OK;
	name = (struct gt_share_name){.bytes = sizeof(struct gt_mail_ring),
				      .pid = comm->mail->pids[p],
				      .fd = (int32_t)(fd - 1)};
	return gt_share_map(&name, &box->ring, err);
}

/* Up to `bytes` in or out of a ring, which may go over its end. */
static void gt_ring_copy(struct gt_mail_ring *ring, uint64_t at, char *data,
			 uint64_t bytes, int in)
{
	uint64_t first = GT_MAIL_RING_BYTES - at % GT_MAIL_RING_BYTES;
	char *from = ring->bytes + at % GT_MAIL_RING_BYTES;

	if (first > bytes)
		first = bytes;
	if (in) {
		memcpy(from, data, first);
		memcpy(ring->bytes, data + first, bytes - first);
	} else {
		memcpy(data, from, first);
		memcpy(data + first, ring->bytes, bytes - first);
	}
}

/* What goes now of `bytes`: as much as there is room, or data. */
static uint64_t gt_ring_move(struct gt_mail_ring *ring, char *data,
			     uint64_t bytes, int in)
{
	uint64_t written = atomic_load(&ring->written);
	uint64_t read = atomic_load(&ring->read);
	uint64_t most =
		in ? GT_MAIL_RING_BYTES - (written - read) : written - read;

	if (bytes > most)
		bytes = most;
	if (!bytes)
		return 0;
	gt_ring_copy(ring, in ? written : read, data, bytes, in);
	if (in)
		atomic_store(&ring->written, written + bytes);
	else
		atomic_store(&ring->read, read + bytes);
	return bytes;
}

/* The receiver hears what the sender sends. */
static int gt_mail_compare(uint32_t rank, const struct gt_message *m,
			   const struct gt_mail_head *head, struct gt_err *err)
{
	enum gt_dtype theirs = head->dtype < GT_NDTYPES
				       ? (enum gt_dtype)head->dtype
				       : GT_DTYPE_INT8;

	if (head->bytes == m->bytes && head->dtype == m->dtype)
		return GT_OK;
	return gt_err_set(
		err, GT_EINPUT, NULL,
		"rank %u sends %llu %s to rank %u, which receives %llu %s",
		m->peer,
		(unsigned long long)(head->bytes / gt_dtype_bytes(theirs)),
		gt_dtype_name(theirs), rank,
		(unsigned long long)(m->bytes / gt_dtype_bytes(m->dtype)),
		gt_dtype_name(m->dtype));
}

int gt_mail_move(struct gtopo_comm *comm, uint32_t rank,
		 const struct gt_message *m, int *moved, struct gt_err *err)
{
	struct gt_mail *mail = comm->mail;
	struct gt_mail_box *box =
		&(m->sends ? mail->out
			   : mail->in)[(rank - comm->first) * comm->nranks +
				       m->peer];
	const uint64_t head = sizeof(box->head);
	struct gt_mail_ring *ring;
	uint64_t n = 1;
	int rc = gt_mail_ring_of(comm, rank, m, box, err);

	ring = box->ring.base;
	if (rc || !ring)
		return rc;
	if (m->sends && !box->done)
		box->head = (struct gt_mail_head){m->bytes, m->dtype};
	while (n && box->done < head) {
		n = gt_ring_move(ring, (char *)&box->head + box->done,
				 head - box->done, m->sends);
		box->done += n;
		*moved |= n > 0;
		if (box->done == head && !m->sends)
			rc = gt_mail_compare(rank, m, &box->head, err);
		if (rc)
			return rc;
	}
	if (n && m->bytes) {
		n = gt_ring_move(ring, (char *)m->buffer + box->done - head,
				 m->bytes - (box->done - head), m->sends);
		box->done += n;
		*moved |= n > 0;
	}
	if (box->done < head + m->bytes)
		return GT_OK;
	box->done = 0;
	return 1;
}
