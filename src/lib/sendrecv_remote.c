/*
 * Messages between ranks on the host that are in two processes.
 *
 * Within a host each sender and receiver have a ring of bytes in shared memory,
 * which the receiver's process makes when it first receives.  The sender finds
 * it through the exchange area of that process, in which there is an entry for
 * each ring and which all processes mapped when the communicator was made: so
 * only the two need to come.  Between hosts a pair has FIFOs of a link
 * (exec/link/process_group.h), made with the communicator, since all processes
 * have to make them together.
 *
 * A message is its header, then its bytes, in a ring as in a FIFO.
 */
#include "lib/sendrecv_remote.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "exec/link/bell.h"
#include "exec/link/fifo.h"
#include "exec/link/process_group.h"
#include "exec/link/shared_memory.h"
#include "lib/queue.h"

enum {
	GT_BYTE_RING_BYTES = 1 << 20,
	GT_BYTE_RING_LINE_BYTES = 128,
	GT_REMOTE_SLOTS = 8,
	/*
	 * Slots are as large as keeps a process's FIFOs within the limit below.
	 */
	GT_REMOTE_SLOT_MOST_BYTES = 128 << 10,
	GT_REMOTE_SLOT_LEAST_BYTES = 4 << 10,
	GT_REMOTE_FIFO_MOST_BYTES = 64 << 20,
};

/* Each counter has one writer. */
struct gt_byte_ring {
	_Alignas(GT_BYTE_RING_LINE_BYTES) _Atomic uint64_t written; /* bytes */
	_Alignas(GT_BYTE_RING_LINE_BYTES) _Atomic uint64_t read;
	_Alignas(GT_BYTE_RING_LINE_BYTES) char bytes[GT_BYTE_RING_BYTES];
};

/* An entry says where a ring is: the exchange area's process has its file. */
struct gt_ring_entry {
	_Atomic uint64_t fd; /* its number and 1; 0: not there yet */
};

struct gt_message_header {
	uint64_t bytes, dtype, matrix;
};

/* One sender and one receiver, of which one is here. */
struct gt_remote_pair {
	struct gt_shared_memory ring; /* within a host */
	struct gt_fifo_end end;       /* between hosts */
	uint64_t done; /* bytes of the message that is under way, with header */
	struct gt_message_header header;
};

struct gt_remote {
	struct gt_process_group group; /* links to other hosts' processes */
	struct gt_shared_memory
		*areas; /* [process]: [receiver there][sender] */
	pid_t *pids;    /* [process] */
	struct gt_remote_pair *in, *out; /* [rank here][peer] */
	int attends;                     /* the thread carries slices itself */
	int64_t broken_ns;  /* since when one is broken; 0: none is */
	struct gt_err lost; /* why a ring cannot be mapped */
};

static uint32_t gt_remote_first_rank(const struct gtopo_comm *comm, uint32_t p)
{
	return gt_process_group_begin(&comm->remote->group, p);
}

static size_t gt_remote_area_bytes(const struct gtopo_comm *comm, uint32_t p)
{
	return (size_t)(gt_remote_first_rank(comm, p + 1) -
			gt_remote_first_rank(comm, p)) *
	       comm->nranks * sizeof(struct gt_ring_entry);
}

void gt_remote_close(struct gtopo_comm *comm)
{
	struct gt_remote *remote = comm->remote;
	struct gt_ring_entry *entries =
		remote && remote->areas ? remote->areas[remote->group.self].base
					: NULL;
	size_t n = (size_t)(comm->end - comm->first) * comm->nranks;

	if (!remote)
		return;
	/* A sender that still looks must not take another file for the ring. */
	for (size_t i = 0; entries && i < n; i++)
		atomic_store(&entries[i].fd, 0);
	for (size_t i = 0; remote->in && i < n; i++)
		gt_shared_memory_free(&remote->in[i].ring);
	for (size_t i = 0; remote->out && i < n; i++)
		gt_shared_memory_free(&remote->out[i].ring);
	for (uint32_t p = 0; remote->areas && p < remote->group.nprocesses; p++)
		gt_shared_memory_free(&remote->areas[p]);
	gt_process_group_close(&remote->group);
	free(remote->in);
	free(remote->out);
	free(remote->areas);
	free(remote->pids);
	free(remote);
	comm->remote = NULL;
}

static int gt_remote_new(struct gtopo_comm *comm, struct gt_err *err)
{
	const struct gt_process_group_config config = {
		.world = comm->world,
		.starts = comm->config.starts,
		.plan = comm->plan,
		.nranks = comm->nranks,
		.iface = comm->config.iface};
	size_t n = (size_t)(comm->end - comm->first) * comm->nranks;
	uint32_t nprocesses = gt_world_size(comm->world);
	struct gt_remote *remote = calloc(1, sizeof(*remote));
	int rc;

	comm->remote = remote;
	if (!remote)
		return gt_err_nomem(err);
	gt_err_init(&remote->lost);
	rc = gt_process_group_open(&remote->group, &config, err);
	if (rc)
		return rc;
	remote->areas = calloc(nprocesses, sizeof(*remote->areas));
	remote->pids = calloc(nprocesses, sizeof(*remote->pids));
	remote->in = calloc(n, sizeof(*remote->in));
	remote->out = calloc(n, sizeof(*remote->out));
	if (!remote->areas || !remote->pids || !remote->in || !remote->out)
		return gt_err_nomem(err);
	return gt_shared_memory_new(
		gt_remote_area_bytes(comm, remote->group.self),
		&remote->areas[remote->group.self], err);
}

/* Map the exchange areas of this host's processes, not the others'. */
static int gt_remote_map_areas(struct gtopo_comm *comm,
			       const struct gt_world_part *parts,
			       struct gt_err *err)
{
	struct gt_remote *remote = comm->remote;
	struct gt_shared_memory_handle area;
	int rc = GT_OK;

	for (uint32_t p = 0; !rc && p < remote->group.nprocesses; p++) {
		if (parts[p].len == sizeof(area))
			memcpy(&area, parts[p].bytes, sizeof(area));
		if (parts[p].len != sizeof(area) ||
		    area.bytes != gt_remote_area_bytes(comm, p))
			return gt_err_set(err, GT_ESYS, NULL,
					  "%s is at another meeting",
					  gt_world_name(comm->world, p));
		if (p == remote->group.self || !remote->group.is_here[p])
			continue;
		remote->pids[p] = area.pid;
		rc = gt_shared_memory_map(&area, &remote->areas[p], err);
	}
	return rc;
}

static int gt_remote_exchange_areas(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_remote *remote = comm->remote;
	struct gt_shared_memory_handle own =
		gt_shared_memory_handle(&remote->areas[remote->group.self]);
	struct gt_world_part *parts =
		calloc(remote->group.nprocesses, sizeof(*parts));
	int rc = parts ? gt_world_allgather(comm->world, &own, sizeof(own),
					    parts, err)
		       : gt_err_nomem(err);

	if (!rc)
		rc = gt_remote_map_areas(comm, parts, err);
	free(parts);
	/* An area's descriptor stays open until all have mapped it. */
	return rc ? rc : gt_world_allgather(comm->world, NULL, 0, NULL, err);
}

/* Ask for FIFOs both ways between a rank here and one on another host. */
static int gt_remote_add_fifos(struct gtopo_comm *comm, uint32_t rank,
			       uint32_t peer, struct gt_err *err)
{
	struct gt_remote *remote = comm->remote;
	size_t i = (size_t)(rank - comm->first) * comm->nranks + peer;
	const struct gt_link_conn out = {.from = rank,
					 .to = peer,
					 .sends = 1,
					 .end = &remote->out[i].end};
	const struct gt_link_conn in = {
		.from = peer, .to = rank, .end = &remote->in[i].end};
	int rc = gt_process_group_add(&remote->group, &out, peer, err);

	return rc ? rc : gt_process_group_add(&remote->group, &in, peer, err);
}

/* Make FIFOs between the ranks here and all on other hosts. */
static int gt_remote_connect(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_process_group *group = &comm->remote->group;
	struct gt_link_shape shape = {.nslots = GT_REMOTE_SLOTS,
				      .slot_bytes = GT_REMOTE_SLOT_MOST_BYTES};
	uint64_t n = 0;
	int rc = gt_process_group_link(group, group->is_here, err);

	if (rc || !gt_process_group_has_links(group))
		return rc;
	for (uint32_t r = comm->first; r < comm->end; r++)
		for (uint32_t peer = 0; !rc && peer < comm->nranks; peer++) {
			if (!group->is_far[gt_process_group_of_rank(group,
								    peer)])
				continue;
			rc = gt_remote_add_fifos(comm, r, peer, err);
			n += 2;
		}
	if (!rc)
		rc = gt_world_max(comm->world, &n, err);
	while (shape.slot_bytes > GT_REMOTE_SLOT_LEAST_BYTES &&
	       n * shape.nslots * shape.slot_bytes > GT_REMOTE_FIFO_MOST_BYTES)
		shape.slot_bytes /= 2;
	return rc ? rc : gt_process_group_connect(group, &shape, err);
}

int gt_remote_open(struct gtopo_comm *comm, struct gt_err *err)
{
	int rc = gt_remote_new(comm, err);

	if (!rc)
		rc = gt_remote_exchange_areas(comm, err);
	return rc ? rc : gt_remote_connect(comm, err);
}

void gt_remote_attend(struct gtopo_comm *comm, int attends)
{
	struct gt_remote *remote = comm->remote;

	if (!remote || remote->attends == attends)
		return;
	remote->attends = attends;
	gt_process_group_attend(&remote->group, attends ? 1 : -1);
}

void gt_remote_progress(struct gtopo_comm *comm)
{
	if (comm->remote->attends)
		gt_process_group_progress(&comm->remote->group);
}

int gt_remote_check(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_remote *remote = comm->remote;
	int rc = gt_world_failed(comm->world, err);
	const struct gt_err *why = &remote->lost;
	struct gt_err link;

	if (rc)
		return rc;
	gt_err_init(&link);
	if (gt_process_group_check(&remote->group, &link))
		why = &link;
	if (!why->code)
		return GT_OK;
	if (!remote->broken_ns)
		remote->broken_ns = gt_clock_ns();
	if (gt_clock_ns() - remote->broken_ns < gt_world_grace_ns(comm->world))
		return GT_OK;
	return gt_err_set(err, why->code, why->where, "%s", why->text);
}

int gt_remote_is_here(const struct gtopo_comm *comm, uint32_t rank)
{
	const struct gt_process_group *group = &comm->remote->group;

	return group->is_here[gt_process_group_of_rank(group, rank)];
}

/* The entry that says where the ring of a pair is. */
static struct gt_ring_entry *gt_remote_entry_of(const struct gtopo_comm *comm,
						uint32_t sender,
						uint32_t receiver)
{
	uint32_t p = gt_process_group_of_rank(&comm->remote->group, receiver);
	struct gt_ring_entry *area = comm->remote->areas[p].base;

	return &area[(receiver - gt_remote_first_rank(comm, p)) * comm->nranks +
		     sender];
}

/*
 * Find the pair's ring.  It is not there while the receiver has not come, nor
 * if its process has gone.  gt_remote_check() sees that by its connections; on
 * a busy machine these may end much later than its memory: so it is named here.
 */
static int gt_remote_find_ring(struct gtopo_comm *comm, uint32_t rank,
			       const struct gt_message *m,
			       struct gt_remote_pair *pair, struct gt_err *err)
{
	struct gt_remote *remote = comm->remote;
	uint32_t p = gt_process_group_of_rank(&remote->group, m->peer);
	struct gt_ring_entry *entry;
	struct gt_shared_memory_handle name;
	struct gt_err why;
	uint64_t fd;
	int rc;

	if (pair->ring.base)
		return GT_OK;
	if (!m->sends) {
		rc = gt_shared_memory_new(sizeof(struct gt_byte_ring),
					  &pair->ring, err);
		entry = gt_remote_entry_of(comm, m->peer, rank);
		if (!rc)
			atomic_store(&entry->fd, (uint64_t)pair->ring.fd + 1);
		return rc;
	}
	entry = gt_remote_entry_of(comm, rank, m->peer);
	fd = atomic_load(&entry->fd);
	if (!fd)
		return GT_OK;
	name = (struct gt_shared_memory_handle){
		.bytes = sizeof(struct gt_byte_ring),
		.pid = remote->pids[p],
		.fd = (int32_t)(fd - 1)};
	gt_err_init(&why);
	rc = gt_shared_memory_map(&name, &pair->ring, &why);
	if (rc && !remote->lost.code)
		gt_err_set(&remote->lost, rc, why.where, "%s: %s",
			   gt_world_name(comm->world, p), why.text);
	return GT_OK;
}

/* Copy bytes into a ring or out of it; they may go over its end. */
static void gt_byte_ring_copy(struct gt_byte_ring *ring, uint64_t at,
			      char *data, uint64_t bytes, int in)
{
	uint64_t first = GT_BYTE_RING_BYTES - at % GT_BYTE_RING_BYTES;
	char *from = ring->bytes + at % GT_BYTE_RING_BYTES;

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

/* Another process may write both counters: do they say what can be? */
static int gt_byte_ring_is_sane(struct gt_byte_ring *ring)
{
	return atomic_load(&ring->written) - atomic_load(&ring->read) <=
	       GT_BYTE_RING_BYTES;
}

/*
 * Move up to `bytes`: as many as there is room, or data; how many.  What the
 * counters say is used once and never beyond the ring.
 */
static uint64_t gt_byte_ring_move(struct gt_byte_ring *ring, char *data,
				  uint64_t bytes, int in)
{
	uint64_t written = atomic_load(&ring->written);
	uint64_t read = atomic_load(&ring->read);
	uint64_t most =
		in ? GT_BYTE_RING_BYTES - (written - read) : written - read;

	if (most > GT_BYTE_RING_BYTES)
		return 0;
	if (bytes > most)
		bytes = most;
	if (!bytes)
		return 0;
	gt_byte_ring_copy(ring, in ? written : read, data, bytes, in);
	if (in)
		atomic_store(&ring->written, written + bytes);
	else
		atomic_store(&ring->read, read + bytes);
	return bytes;
}

/* GT_EINPUT unless the sender sends what the receiver expects. */
static int gt_remote_compare(uint32_t rank, const struct gt_message *m,
			     const struct gt_message_header *head,
			     struct gt_err *err)
{
	enum gt_dtype theirs = head->dtype < GT_NDTYPES
				       ? (enum gt_dtype)head->dtype
				       : GT_DTYPE_INT8;

	if (head->matrix != m->matrix)
		return gt_message_differs(m->peer, rank, err);
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

/* Move what goes now of a message through its pair's ring. */
static int gt_remote_move_ring(uint32_t rank, const struct gt_message *m,
			       struct gt_remote_pair *pair, struct gt_err *err)
{
	struct gt_byte_ring *ring = pair->ring.base;
	const uint64_t head = sizeof(pair->header);
	uint64_t n = 1;
	int rc = GT_OK;

	if (!gt_byte_ring_is_sane(ring))
		return gt_err_set(err, GT_ESYS, NULL,
				  "rank %u's process miscounts the bytes "
				  "between it and rank %u",
				  m->peer, rank);
	while (n && pair->done < head) {
		n = gt_byte_ring_move(ring, (char *)&pair->header + pair->done,
				      head - pair->done, m->sends);
		pair->done += n;
		if (pair->done == head && !m->sends)
			rc = gt_remote_compare(rank, m, &pair->header, err);
		if (rc)
			return rc;
	}
	if (n && m->bytes)
		pair->done += gt_byte_ring_move(
			ring, (char *)m->buffer + pair->done - head,
			m->bytes - (pair->done - head), m->sends);
	return GT_OK;
}

/* The header comes with a message's first slice, in front of its bytes. */
static int gt_remote_header(uint32_t rank, const struct gt_message *m,
			    struct gt_remote_pair *pair, char *slot,
			    struct gt_err *err)
{
	if (m->sends)
		memcpy(slot, &pair->header, sizeof(pair->header));
	else
		memcpy(&pair->header, slot, sizeof(pair->header));
	return m->sends ? GT_OK
			: gt_remote_compare(rank, m, &pair->header, err);
}

static void gt_remote_post_slice(struct gt_fifo_end *end, int sends,
				 uint64_t bytes)
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
 * Move what goes now of a message through its pair's FIFO.  All slices but the
 * last are full, so both ranks know how long they are.
 */
static int gt_remote_move_slices(uint32_t rank, const struct gt_message *m,
				 struct gt_remote_pair *pair,
				 struct gt_err *err)
{
	struct gt_fifo_end *end = &pair->end;
	const uint64_t head = sizeof(pair->header);
	uint64_t at, n, offset;
	char *slot;
	int rc = GT_OK;

	while (pair->done < head + m->bytes &&
	       (m->sends ? gt_fifo_can_send(end) : gt_fifo_can_receive(end))) {
		slot = gt_fifo_slot(end);
		at = pair->done ? 0 : head;
		if (at)
			rc = gt_remote_header(rank, m, pair, slot, err);
		if (rc)
			return rc;
		offset = pair->done + at - head;
		n = m->bytes - offset;
		if (n > end->slot_bytes - at)
			n = end->slot_bytes - at;
		if (n && m->sends)
			memcpy(slot + at, (char *)m->buffer + offset, n);
		else if (n)
			memcpy((char *)m->buffer + offset, slot + at, n);
		gt_remote_post_slice(end, m->sends, at + n);
		pair->done += at + n;
	}
	return GT_OK;
}

int gt_remote_move(struct gtopo_comm *comm, uint32_t rank,
		   const struct gt_message *m, int *moved, struct gt_err *err)
{
	struct gt_remote *remote = comm->remote;
	struct gt_remote_pair *pair =
		&(m->sends ? remote->out
			   : remote->in)[(rank - comm->first) * comm->nranks +
					 m->peer];
	uint64_t before = pair->done;
	int rc = GT_OK;

	if (!pair->end.fifo)
		rc = gt_remote_find_ring(comm, rank, m, pair, err);
	if (rc)
		return rc;
	if (m->sends && !pair->done)
		pair->header = (struct gt_message_header){m->bytes, m->dtype,
							  m->matrix};
	if (pair->end.fifo)
		rc = gt_remote_move_slices(rank, m, pair, err);
	else if (pair->ring.base)
		rc = gt_remote_move_ring(rank, m, pair, err);
	*moved |= pair->done != before;
	if (rc || pair->done < sizeof(pair->header) + m->bytes)
		return rc;
	pair->done = 0;
	return 1;
}
