/*
 * Messages between ranks on the host that are in two processes.
 *
 * Within a host a pair has a ring of bytes in shared memory, which the
 * receiver's process makes when it first receives.  Others find it on the board
 * of that process, which all mapped when the communicator was made: so only the
 * two need to come.  Between hosts a pair has FIFOs of a link (exec/link/process_group.h),
 * made with the communicator, since that is a meeting.
 *
 * In either a message is what it is, then its bytes.
 */
#include "lib/comm.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "exec/link/bell.h"
#include "exec/link/fifo.h"
#include "exec/link/process_group.h"
#include "exec/link/shared_memory.h"

enum {
	GT_MAIL_RING_BYTES = 1 << 20,
	GT_MAIL_LINE_BYTES = 128,
	GT_MAIL_SLOTS = 8,
	/* As large as leaves a process's FIFOs within all of them. */
	GT_MAIL_SLOT_MOST_BYTES = 128 << 10,
	GT_MAIL_SLOT_LEAST_BYTES = 4 << 10,
	GT_MAIL_FIFO_MOST_BYTES = 64 << 20,
};

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

/* A pair, seen from a rank that is here. */
struct gt_mail_box {
	struct gt_shared_memory ring; /* within a host */
	struct gt_fifo_end end;       /* between hosts */
	uint64_t done; /* of the message that is under way: head, then bytes */
	struct gt_mail_head head;
};

struct gt_mail {
	struct gt_process_group group; /* links to other hosts' processes */
	struct gt_shared_memory
		*boards;              /* [process]: [receiver there][sender] */
	pid_t *pids;                  /* [process] */
	struct gt_mail_box *in, *out; /* [rank here][peer] */
	int attends;                  /* the thread carries slices itself */
	int64_t broken_ns;            /* since when a way is; 0: none is */
	struct gt_err lost;           /* why a ring cannot be had */
};

static uint32_t gt_mail_first(const struct gtopo_comm *comm, uint32_t p)
{
	return gt_process_group_first(p, comm->mail->group.nprocesses,
				      comm->nranks);
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
		mail && mail->boards ? mail->boards[mail->group.self].base
				     : NULL;
	size_t n = (size_t)(comm->end - comm->first) * comm->nranks;

	if (!mail)
		return;
	/* Who still looks must not take another file for the ring. */
	for (size_t i = 0; places && i < n; i++)
		atomic_store(&places[i].fd, 0);
	for (size_t i = 0; mail->in && i < n; i++)
		gt_shared_memory_free(&mail->in[i].ring);
	for (size_t i = 0; mail->out && i < n; i++)
		gt_shared_memory_free(&mail->out[i].ring);
	for (uint32_t p = 0; mail->boards && p < mail->group.nprocesses; p++)
		gt_shared_memory_free(&mail->boards[p]);
	gt_process_group_close(&mail->group);
	free(mail->in);
	free(mail->out);
	free(mail->boards);
	free(mail->pids);
	free(mail);
	comm->mail = NULL;
}

static int gt_mail_new(struct gtopo_comm *comm, struct gt_err *err)
{
	const struct gt_process_group_config config = {
		.world = comm->world,
		.plan = comm->plan,
		.nranks = comm->nranks,
		.iface = comm->config.iface};
	size_t n = (size_t)(comm->end - comm->first) * comm->nranks;
	uint32_t nprocesses = gt_world_size(comm->world);
	struct gt_mail *mail = calloc(1, sizeof(*mail));
	int rc;

	comm->mail = mail;
	if (!mail)
		return gt_err_nomem(err);
	gt_err_init(&mail->lost);
	rc = gt_process_group_open(&mail->group, &config, err);
	if (rc)
		return rc;
	mail->boards = calloc(nprocesses, sizeof(*mail->boards));
	mail->pids = calloc(nprocesses, sizeof(*mail->pids));
	mail->in = calloc(n, sizeof(*mail->in));
	mail->out = calloc(n, sizeof(*mail->out));
	if (!mail->boards || !mail->pids || !mail->in || !mail->out)
		return gt_err_nomem(err);
	return gt_shared_memory_new(gt_mail_board_bytes(comm, mail->group.self),
				    &mail->boards[mail->group.self], err);
}

/* The boards of this host's processes; the others' stay unmapped. */
static int gt_mail_map(struct gtopo_comm *comm,
		       const struct gt_world_part *parts, struct gt_err *err)
{
	struct gt_mail *mail = comm->mail;
	struct gt_shared_memory_handle board;
	int rc = GT_OK;

	for (uint32_t p = 0; !rc && p < mail->group.nprocesses; p++) {
		if (parts[p].len != sizeof(board))
			return gt_err_set(err, GT_ESYS, NULL,
					  "%s is at another meeting",
					  gt_world_name(comm->world, p));
		memcpy(&board, parts[p].bytes, sizeof(board));
		if (p == mail->group.self || !mail->group.is_here[p])
			continue;
		mail->pids[p] = board.pid;
		rc = gt_shared_memory_map(&board, &mail->boards[p], err);
	}
	return rc;
}

static int gt_mail_hang_boards(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_mail *mail = comm->mail;
	struct gt_shared_memory_handle own =
		gt_shared_memory_handle(&mail->boards[mail->group.self]);
	struct gt_world_part *parts =
		calloc(mail->group.nprocesses, sizeof(*parts));
	int rc = parts ? gt_world_allgather(comm->world, &own, sizeof(own),
					    parts, err)
		       : gt_err_nomem(err);

	if (!rc)
		rc = gt_mail_map(comm, parts, err);
	free(parts);
	/* A board's descriptor stays open until all have mapped it. */
	return rc ? rc : gt_world_allgather(comm->world, NULL, 0, NULL, err);
}

/* Both ways between a rank here and one on another host. */
static int gt_mail_add(struct gtopo_comm *comm, uint32_t rank, uint32_t peer,
		       struct gt_err *err)
{
	struct gt_mail *mail = comm->mail;
	size_t i = (size_t)(rank - comm->first) * comm->nranks + peer;
	const struct gt_link_conn out = {
		.from = rank, .to = peer, .sends = 1, .end = &mail->out[i].end};
	const struct gt_link_conn in = {
		.from = peer, .to = rank, .end = &mail->in[i].end};
	int rc = gt_process_group_add(&mail->group, &out, peer, err);

	return rc ? rc : gt_process_group_add(&mail->group, &in, peer, err);
}

/* FIFOs to all ranks on other hosts. */
static int gt_mail_connect(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_process_group *group = &comm->mail->group;
	struct gt_link_shape shape = {.nslots = GT_MAIL_SLOTS,
				      .slot_bytes = GT_MAIL_SLOT_MOST_BYTES};
	uint64_t n = 0;
	int rc = gt_process_group_link(group, group->is_here, err);

	if (rc || !gt_process_group_has_links(group))
		return rc;
	for (uint32_t r = comm->first; r < comm->end; r++)
		for (uint32_t peer = 0; !rc && peer < comm->nranks; peer++) {
			if (!group->is_far[gt_process_group_of_rank(group,
								    peer)])
				continue;
			rc = gt_mail_add(comm, r, peer, err);
			n += 2;
		}
	if (!rc)
		rc = gt_world_max(comm->world, &n, err);
	while (shape.slot_bytes > GT_MAIL_SLOT_LEAST_BYTES &&
	       n * shape.nslots * shape.slot_bytes > GT_MAIL_FIFO_MOST_BYTES)
		shape.slot_bytes /= 2;
	return rc ? rc : gt_process_group_connect(group, &shape, err);
}

int gt_mail_open(struct gtopo_comm *comm, struct gt_err *err)
{
	int rc = gt_mail_new(comm, err);

	if (!rc)
		rc = gt_mail_hang_boards(comm, err);
	return rc ? rc : gt_mail_connect(comm, err);
}

void gt_mail_attend(struct gtopo_comm *comm, int attends)
{
	struct gt_mail *mail = comm->mail;

	if (!mail || mail->attends == attends)
		return;
	mail->attends = attends;
	gt_process_group_attend(&mail->group, attends ? 1 : -1);
}

void gt_mail_progress(struct gtopo_comm *comm)
{
	if (comm->mail->attends)
		gt_process_group_progress(&comm->mail->group);
}

int gt_mail_check(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_mail *mail = comm->mail;
	int rc = gt_world_failed(comm->world, err);
	const struct gt_err *why = &mail->lost;
	struct gt_err link;

	if (rc)
		return rc;
	gt_err_init(&link);
	if (gt_process_group_check(&mail->group, &link))
		why = &link;
	if (!why->code)
		return GT_OK;
	if (!mail->broken_ns)
		mail->broken_ns = gt_clock_ns();
	if (gt_clock_ns() - mail->broken_ns < gt_world_grace_ns(comm->world))
		return GT_OK;
	return gt_err_set(err, why->code, why->where, "%s", why->text);
}

/* Where the ring of a pair is told of. */
static struct gt_mail_place *gt_mail_place_of(const struct gtopo_comm *comm,
					      uint32_t sender,
					      uint32_t receiver)
{
	uint32_t p = gt_process_group_of_rank(&comm->mail->group, receiver);
	struct gt_mail_place *board = comm->mail->boards[p].base;

	return &board[(receiver - gt_mail_first(comm, p)) * comm->nranks +
		      sender];
}

/*
 * The pair's ring, which is not there while the receiver has not come, nor if
 * its process has gone: _check waits for that to show.
 */
static int gt_mail_ring_of(struct gtopo_comm *comm, uint32_t rank,
			   const struct gt_message *m, struct gt_mail_box *box,
			   struct gt_err *err)
{
	struct gt_mail *mail = comm->mail;
	uint32_t p = gt_process_group_of_rank(&mail->group, m->peer);
	struct gt_mail_place *place;
	struct gt_shared_memory_handle name;
	uint64_t fd;
	int rc;

	if (box->ring.base)
		return GT_OK;
	if (!m->sends) {
		rc = gt_shared_memory_new(sizeof(struct gt_mail_ring),
					  &box->ring, err);
		place = gt_mail_place_of(comm, m->peer, rank);
		if (!rc)
			atomic_store(&place->fd, (uint64_t)box->ring.fd + 1);
		return rc;
	}
	place = gt_mail_place_of(comm, rank, m->peer);
	fd = atomic_load(&place->fd);
	if (!fd)
		return GT_OK;
	name = (struct gt_shared_memory_handle){
		.bytes = sizeof(struct gt_mail_ring),
		.pid = mail->pids[p],
		.fd = (int32_t)(fd - 1)};
	gt_shared_memory_map(&name, &box->ring, &mail->lost);
	return GT_OK;
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

/* What goes of a message through its pair's ring; err: what it was. */
static int gt_mail_ring(uint32_t rank, const struct gt_message *m,
			struct gt_mail_box *box, struct gt_err *err)
{
	struct gt_mail_ring *ring = box->ring.base;
	const uint64_t head = sizeof(box->head);
	uint64_t n = 1;
	int rc = GT_OK;

	while (n && box->done < head) {
		n = gt_ring_move(ring, (char *)&box->head + box->done,
				 head - box->done, m->sends);
		box->done += n;
		if (box->done == head && !m->sends)
			rc = gt_mail_compare(rank, m, &box->head, err);
		if (rc)
			return rc;
	}
	if (n && m->bytes)
		box->done +=
			gt_ring_move(ring, (char *)m->buffer + box->done - head,
				     m->bytes - (box->done - head), m->sends);
	return GT_OK;
}

/* What it is comes with a message's first slice, in front of its bytes. */
static int gt_mail_head(uint32_t rank, const struct gt_message *m,
			struct gt_mail_box *box, char *slot, struct gt_err *err)
{
	if (m->sends)
		memcpy(slot, &box->head, sizeof(box->head));
	else
		memcpy(&box->head, slot, sizeof(box->head));
	return m->sends ? GT_OK : gt_mail_compare(rank, m, &box->head, err);
}

static void gt_mail_post(struct gt_fifo_end *end, int sends, uint64_t bytes)
{
	if (sends) {
		end->lengths[end->at % end->nslots] = (uint32_t)bytes;
		gt_fifo_sent(end);
	} else {
		gt_fifo_received(end);
	}
	gt_bell_ring(end->other);
}

/*
 * The same by slices, which are full but for a message's last: so both ranks
 * know how long they are.
 */
static int gt_mail_slices(uint32_t rank, const struct gt_message *m,
			  struct gt_mail_box *box, struct gt_err *err)
{
	struct gt_fifo_end *end = &box->end;
	const uint64_t head = sizeof(box->head);
	uint64_t at, n, offset;
	char *slot;
	int rc = GT_OK;

	while (box->done < head + m->bytes &&
	       (m->sends ? gt_fifo_can_send(end) : gt_fifo_can_receive(end))) {
		slot = gt_fifo_slot(end);
		at = box->done ? 0 : head;
		if (at)
			rc = gt_mail_head(rank, m, box, slot, err);
		if (rc)
			return rc;
		offset = box->done + at - head;
		n = m->bytes - offset;
		if (n > end->slot_bytes - at)
			n = end->slot_bytes - at;
		if (n && m->sends)
			memcpy(slot + at, (char *)m->buffer + offset, n);
		else if (n)
			memcpy((char *)m->buffer + offset, slot + at, n);
		gt_mail_post(end, m->sends, at + n);
		box->done += at + n;
	}
	return GT_OK;
}

int gt_mail_move(struct gtopo_comm *comm, uint32_t rank,
		 const struct gt_message *m, int *moved, struct gt_err *err)
{
	struct gt_mail *mail = comm->mail;
	struct gt_mail_box *box =
		&(m->sends ? mail->out
			   : mail->in)[(rank - comm->first) * comm->nranks +
				       m->peer];
	uint64_t before = box->done;
	int rc = GT_OK;

	if (!box->end.fifo)
		rc = gt_mail_ring_of(comm, rank, m, box, err);
	if (rc)
		return rc;
	if (m->sends && !box->done)
		box->head = (struct gt_mail_head){m->bytes, m->dtype};
	if (box->end.fifo)
		rc = gt_mail_slices(rank, m, box, err);
	else if (box->ring.base)
		rc = gt_mail_ring(rank, m, box, err);
	*moved |= box->done != before;
	if (rc || box->done < sizeof(box->head) + m->bytes)
		return rc;
	box->done = 0;
	return 1;
}
