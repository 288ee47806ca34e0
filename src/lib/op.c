/*
 * Operators of a rank's own: a table a rank, whose place is the operator's
 * number.  A call takes a copy, so the operator may end as soon as it returns.
 */
#include "lib/comm.h"

#include <stdlib.h>
#include <string.h>

enum { GT_OPS_FIRST = 256, GT_OPS_MORE = 8 };

static struct gt_own_op *gt_op_find(const struct gt_comm_rank *me, int op)
{
	uint32_t i = (uint32_t)op - GT_OPS_FIRST;

	if (op < GT_OPS_FIRST || i >= me->nops || !me->ops[i].used)
		return NULL;
	return &me->ops[i];
}

/* A place that is free; NULL: no memory. */
static struct gt_own_op *gt_op_new(struct gt_comm_rank *me)
{
	struct gt_own_op *more;
	uint32_t i = 0;

	while (i < me->nops && me->ops[i].used)
		i++;
	if (i < me->nops)
		return &me->ops[i];
	more = realloc(me->ops, (i + GT_OPS_MORE) * sizeof(*more));
	if (!more)
		return NULL;
	memset(more + i, 0, GT_OPS_MORE * sizeof(*more));
	me->ops = more;
	me->nops = i + GT_OPS_MORE;
	return &me->ops[i];
}

/* On a GPU the scalar is memory of that GPU, aligned. */
static int gt_op_reaches(struct gtopo_comm *comm, int rank, const void *scalar,
			 size_t bytes)
{
	struct gt_err err;
	int rc;

	if (!comm->ops->async)
		return GTOPO_OK;
	gt_err_init(&err);
	rc = gt_comm_made(comm);
	if (!rc)
		rc = gt_comm_code(comm->ops->async->owns(
			comm->engine, (uint32_t)rank, scalar, bytes, &err));
	return !rc && (uintptr_t)scalar % bytes ? GTOPO_EINPUT : rc;
}

int gtopo_op_create_premul(struct gtopo_comm *comm, int rank,
			   const void *scalar, enum gtopo_type type,
			   enum gtopo_residence residence, enum gtopo_op *op)
{
	struct gt_own_op made = {.used = 1, .type = (enum gt_dtype)type}, *to;
	int rc = GTOPO_OK;
	size_t bytes;

	if (!gt_comm_is_rank(comm, rank) || !scalar || (int)type < 0 ||
	    (int)type >= GT_NDTYPES ||
	    (residence != GTOPO_SCALAR_HOST &&
	     residence != GTOPO_SCALAR_DEVICE))
		return GTOPO_EINPUT;
	bytes = gt_dtype_bytes(made.type);
	if (residence == GTOPO_SCALAR_HOST)
		memcpy(&made.scalar.bits, scalar, bytes);
	else
		made.scalar.at = scalar;
	pthread_mutex_lock(&comm->mutex);
	if (made.scalar.at)
		rc = gt_op_reaches(comm, rank, scalar, bytes);
	if (!rc) {
		to = gt_op_new(&comm->ranks[rank]);
		rc = to ? GTOPO_OK : GTOPO_ESYSTEM;
	}
	if (!rc) {
		*to = made;
		*op = (enum gtopo_op)(to - comm->ranks[rank].ops +
				      GT_OPS_FIRST);
	}
	pthread_mutex_unlock(&comm->mutex);
	return rc;
}

int gtopo_op_destroy(struct gtopo_comm *comm, int rank, enum gtopo_op op)
{
	struct gt_own_op *at;

	if (!gt_comm_is_rank(comm, rank))
		return GTOPO_EINPUT;
	pthread_mutex_lock(&comm->mutex);
	at = gt_op_find(&comm->ranks[rank], (int)op);
	if (at)
		at->used = 0;
	pthread_mutex_unlock(&comm->mutex);
	return at ? GTOPO_OK : GTOPO_EINPUT;
}

int gt_comm_op(const struct gtopo_comm *comm, int rank, struct gt_call *call)
{
	const struct gt_own_op *op;

	if ((int)call->req.op < GT_REDOP_PREMUL)
		return GTOPO_OK;
	op = gt_op_find(&comm->ranks[rank], (int)call->req.op);
	if (!op || op->type != call->req.dtype)
		return GTOPO_EINPUT;
	call->req.op = GT_REDOP_PREMUL;
	call->scalar = op->scalar;
	return GTOPO_OK;
}
