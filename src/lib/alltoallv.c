/*
 * All-to-alls whose blocks differ: a message from each rank to each, which are
 * one group or part of the rank's, or, where all know the matrix, what
 * lib/relays.h makes of it.
 */
#include "lib/state.h"

#include "lib/batch.h"
#include "lib/message.h"
#include "lib/relays.h"

/* A rank's call.  Counts and displacements are by peer, in elements. */
struct gt_alltoallv {
	int rank;
	const char *input;
	char *output;
	const uint64_t *send_displs, *recv_displs;
	const uint64_t *send_counts, *recv_counts;
	/* Between those of one peer and the next. */
	uint64_t send_stride, recv_stride;
	enum gtopo_type type;
	uint64_t matrix; /* its digest; 0: it is not known */
};

/* Add a message of the element at that place. */
static int gt_alltoallv_add(struct gtopo_comm *comm,
			    const struct gt_alltoallv *call, int sends,
			    uint32_t peer, struct gt_batch **batch)
{
	const char *base = sends ? call->input : call->output;
	uint64_t at = (sends ? call->send_displs : call->recv_displs)[peer];
	uint64_t count = sends ? call->send_counts[peer * call->send_stride]
			       : call->recv_counts[peer * call->recv_stride];
	uint64_t bytes;
	struct gt_message message = {.peer = peer,
				     .sends = sends != 0,
				     .dtype = (uint8_t)call->type,
				     .matrix = call->matrix};

	if (__builtin_mul_overflow(
		    at, gt_dtype_bytes((enum gt_dtype)call->type), &bytes) ||
	    bytes > INT64_MAX >> 8)
		return gt_comm_refuse(comm,
				      "a displacement is beyond any memory");
	message.buffer = base ? (void *)(uintptr_t)(base + bytes) : NULL;
	return gt_message_add(comm, call->rank, &message, count, batch);
}

/* Each rank begins with itself, so no two send to the same one at a time. */
static int gt_alltoallv_messages(struct gtopo_comm *comm,
				 const struct gt_alltoallv *call,
				 struct gt_batch **batch)
{
	uint32_t n = comm->nranks, self = (uint32_t)call->rank;
	int rc = GTOPO_OK;

	for (uint32_t k = 0; k < n && !rc; k++) {
		rc = gt_alltoallv_add(comm, call, 1, (self + k) % n, batch);
		if (!rc)
			rc = gt_alltoallv_add(comm, call, 0, (self + n - k) % n,
					      batch);
	}
	return rc;
}

static int gt_alltoallv_check(struct gtopo_comm *comm,
			      const struct gt_alltoallv *call)
{
	if (gt_comm_is_rank(comm, call->rank) &&
	    (unsigned)call->type < GT_NDTYPES && call->send_counts &&
	    call->send_displs && call->recv_counts && call->recv_displs)
		return GTOPO_OK;
	return gt_comm_refuse(comm, "the rank is not of this process, there is "
				    "no such type, or no array of counts or "
				    "displacements");
}

/* With the mutex held: the group is refused, as by any of its messages. */
static int gt_alltoallv_end(struct gtopo_comm *comm,
			    const struct gt_alltoallv *call,
			    struct gt_batch *batch, int rc)
{
	if (rc)
		gt_batch_free(batch);
	else
		rc = gt_message_call(comm, call->rank, batch);
	if (gt_comm_is_rank(comm, call->rank))
		gt_message_refuse_group(comm, call->rank, rc);
	return rc;
}

int gtopo_alltoallv(struct gtopo_comm *comm, int rank, const void *input,
		    const uint64_t *send_counts, const uint64_t *send_displs,
		    void *output, const uint64_t *recv_counts,
		    const uint64_t *recv_displs, enum gtopo_type type)
{
	const struct gt_alltoallv call = {.rank = rank,
					  .input = input,
					  .output = output,
					  .send_displs = send_displs,
					  .recv_displs = recv_displs,
					  .send_counts = send_counts,
					  .recv_counts = recv_counts,
					  .send_stride = 1,
					  .recv_stride = 1,
					  .type = type};
	struct gt_batch *batch = NULL;
	int rc;

	pthread_mutex_lock(&comm->mutex);
	rc = gt_alltoallv_check(comm, &call);
	if (!rc)
		rc = gt_alltoallv_messages(comm, &call, &batch);
	rc = gt_alltoallv_end(comm, &call, batch, rc);
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}

/* ---- all know the matrix ------------------------------------------------ */

/* Different ones mostly have different digests, and none has 0. */
static uint64_t gt_matrix_digest(const uint64_t *counts, size_t n)
{
	uint64_t digest = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < n; i++) {
		digest = (digest ^ counts[i]) * UINT64_C(0x9e3779b97f4a7c15);
		digest ^= digest >> 32;
	}
	return digest ? digest : 1;
}

/* What all ranks have together must be countable. */
static int gt_matrix_check(struct gtopo_comm *comm, const uint64_t *counts,
			   enum gtopo_type type)
{
	size_t n = (size_t)comm->nranks * comm->nranks;
	uint64_t most = (INT64_MAX >> 8) / gt_dtype_bytes((enum gt_dtype)type);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (counts[i] > most || sum + counts[i] > most)
			return gt_comm_refuse(
				comm, "the matrix has more than memory can");
		sum += counts[i];
	}
	return GTOPO_OK;
}

/* With the mutex held, which is let go while the call is planned. */
static int gt_matrix_plan(struct gtopo_comm *comm,
			  const struct gt_alltoallv *call,
			  const uint64_t *counts, struct gt_batch **batch)
{
	struct gt_err err;
	int rc;

	if (!comm->relays)
		return GTOPO_OK;
	pthread_mutex_unlock(&comm->mutex);
	rc = gt_relays_reroute(comm->relays, (uint32_t)call->rank, counts,
			       (enum gt_dtype)call->type, batch);
	pthread_mutex_lock(&comm->mutex);
	if (!rc)
		return comm->state < 0 ? comm->state : GTOPO_OK;
	gt_err_init(&err);
	return gt_comm_keep_words(comm, gt_err_nomem(&err), &err);
}

int gtopo_alltoallv_matrix(struct gtopo_comm *comm, int rank, const void *input,
			   const uint64_t *send_displs, void *output,
			   const uint64_t *recv_displs, const uint64_t *counts,
			   enum gtopo_type type)
{
	uint32_t n = comm->nranks;
	struct gt_alltoallv call = {.rank = rank,
				    .input = input,
				    .output = output,
				    .send_displs = send_displs,
				    .recv_displs = recv_displs,
				    .send_stride = 1,
				    .recv_stride = n,
				    .type = type};
	struct gt_batch *batch = NULL;
	int rc;

	if (counts && rank >= 0) {
		call.send_counts = counts + (size_t)rank * n;
		call.recv_counts = counts + rank;
	}
	pthread_mutex_lock(&comm->mutex);
	rc = gt_alltoallv_check(comm, &call);
	if (!rc)
		rc = gt_matrix_check(comm, counts, type);
	if (!rc)
		rc = gt_comm_await_open(comm);
	if (!rc) {
		call.matrix = gt_matrix_digest(counts, (size_t)n * n);
		rc = gt_alltoallv_messages(comm, &call, &batch);
	}
	if (!rc)
		rc = gt_matrix_plan(comm, &call, counts, &batch);
	rc = gt_alltoallv_end(comm, &call, batch, rc);
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}
