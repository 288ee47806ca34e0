/*
 * Operators that a rank makes: each rank has a table, and an operator's index
 * in it gives its number.  A call copies the operator, which may therefore be
 * destroyed as soon as the call has returned.
 */
#include "lib/state.h"

#include <string.h>

#include "base/vec.h"
#include "lib/launch.h"

enum { GT_REDOP_OWN_FIRST = 256 };

static struct gt_premul *gt_premul_find(const struct gt_comm_rank *me, int op)
{
	uint32_t i = (uint32_t)op - GT_REDOP_OWN_FIRST;

	if (op < GT_REDOP_OWN_FIRST || i >= me->npremuls ||
	    !me->premuls[i].used)
		return NULL;
	return &me->premuls[i];
}

/* A free entry of the table; NULL: no memory. */
static struct gt_premul *gt_premul_new(struct gt_comm_rank *me)
{
	struct gt_premul *more;
	uint32_t i = 0;

	while (i < me->npremuls && me->premuls[i].used)
		i++;
	if (i < me->npremuls)
		return &me->premuls[i];
	more = gt_vec_grow(me->premuls, i, &me->room, sizeof(*more));
	if (!more)
		return NULL;
	me->premuls = more;
	me->npremuls++;
	return &me->premuls[i];
}

/* On a GPU the scalar must be aligned memory of that GPU. */
static int gt_premul_is_reachable(struct gtopo_comm *comm, int rank,
				  const void *scalar, size_t bytes)
{
	struct gt_err err;
	int rc;

	if (!comm->ops->async)
		return GTOPO_OK;
	gt_err_init(&err);
	rc = gt_comm_await_open(comm);
	if (rc)
		return rc;
	rc = comm->ops->async->owns(comm->engine, (uint32_t)rank, scalar, bytes,
				    &err);
	if (rc)
		return gt_comm_keep_words(comm, rc, &err);
	if ((uintptr_t)scalar % bytes)
		return gt_comm_refuse(comm, "the scalar is not aligned");
	return GTOPO_OK;
}

/* Make the memory that calls will use; the mutex is let go meanwhile. */
static int gt_premul_prepare(struct gtopo_comm *comm)
{
	struct gt_err err;
	int rc;

	if (!comm->ops->async)
		return GTOPO_OK;
	rc = gt_launch_acquire(comm);
	if (rc)
		return rc;
	gt_err_init(&err);
	rc = comm->ops->async->prepare_premul(comm->engine, &err);
	gt_launch_release(comm);
	return rc ? gt_comm_keep_words(comm, rc, &err) : GTOPO_OK;
}

/* Put it into the table and name it. */
static int gt_premul_add(struct gtopo_comm *comm, int rank,
			 const struct gt_premul *made, enum gtopo_op *op)
{
	struct gt_premul *to = gt_premul_new(&comm->ranks[rank]);
	struct gt_err err;

	if (!to) {
		gt_err_init(&err);
		return gt_comm_keep_words(comm, gt_err_nomem(&err), &err);
	}
	*to = *made;
	*op = (enum gtopo_op)(to - comm->ranks[rank].premuls +
			      GT_REDOP_OWN_FIRST);
	return GTOPO_OK;
}

int gtopo_op_create_premul(struct gtopo_comm *comm, int rank,
			   const void *scalar, enum gtopo_type type,
			   enum gtopo_residence residence, enum gtopo_op *op)
{
	struct gt_premul made = {.used = 1, .type = (enum gt_dtype)type};
	int rc = GTOPO_OK;
	size_t bytes;

	if (!gt_comm_is_rank(comm, rank) || !scalar || !op || (int)type < 0 ||
	    (int)type >= GT_NDTYPES ||
	    (residence != GTOPO_SCALAR_HOST &&
	     residence != GTOPO_SCALAR_DEVICE))
		return gt_comm_refuse_words(
			comm, "the rank, the scalar, its type or where it "
			      "lies makes no operator");
	bytes = gt_dtype_bytes(made.type);
	if (residence == GTOPO_SCALAR_HOST)
		memcpy(&made.scalar.bits, scalar, bytes);
	else
		made.scalar.at = scalar;
	pthread_mutex_lock(&comm->mutex);
	if (made.scalar.at)
		rc = gt_premul_is_reachable(comm, rank, scalar, bytes);
	if (!rc)
		rc = gt_premul_prepare(comm);
	if (!rc)
		rc = gt_premul_add(comm, rank, &made, op);
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}

int gtopo_op_destroy(struct gtopo_comm *comm, int rank, enum gtopo_op op)
{
	struct gt_premul *at;

	int rc;

	pthread_mutex_lock(&comm->mutex);
	rc = gt_comm_check_rank(comm, rank);
	at = rc ? NULL : gt_premul_find(&comm->ranks[rank], (int)op);
	if (at)
		at->used = 0;
	else if (!rc)
		rc = gt_comm_refuse(comm, "rank %d has no operator '%d'", rank,
				    (int)op);
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}

int gt_redop_resolve(struct gtopo_comm *comm, int rank, struct gt_call *call)
{
	const struct gt_premul *op;

	if ((int)call->req.op < GT_REDOP_PREMUL)
		return GTOPO_OK;
	op = gt_premul_find(&comm->ranks[rank], (int)call->req.op);
	if (!op || op->type != call->req.dtype)
		return gt_comm_refuse(comm,
				      "operator '%d' is none that rank %d has "
				      "made for %s",
				      (int)call->req.op, rank,
				      gt_dtype_name(call->req.dtype));
	call->req.op = GT_REDOP_PREMUL;
	call->scalar = op->scalar;
	return GTOPO_OK;
}
