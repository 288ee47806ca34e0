/*
 * From each rank's own call to one operation of all: the calls are compared,
 * taken off their queues and put together.
 */
#include "lib/operation.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/queue.h"
#include "plan/ir/plan.h"
#include "plan/simulate/simulate.h"

int gt_operation_is_ready(const struct gtopo_comm *comm)
{
	for (uint32_t r = comm->first; r < comm->end; r++)
		if (!comm->ranks[r].called.first ||
		    comm->ranks[r].called.first->batch)
			return 0;
	return 1;
}

/* Groups must agree too on GPUs, where each is launched as one. */
static int gt_operation_is_same(const struct gtopo_comm *comm,
				const struct gt_call *a,
				const struct gt_call *b)
{
	return a->req.coll == b->req.coll && a->req.count == b->req.count &&
	       a->req.dtype == b->req.dtype && a->req.op == b->req.op &&
	       a->req.root == b->req.root &&
	       (!comm->ops->async || a->group == b->group);
}

static void gt_operation_print(const struct gtopo_comm *comm, uint64_t number,
			       const struct gt_call *call,
			       char text[GT_OPERATION_TEXT_MAX])
{
	const struct gt_exec_request *req = &call->req;
	int len = snprintf(text, GT_OPERATION_TEXT_MAX,
			   "operation %llu: %s of %llu %s, op %s, root %u",
			   (unsigned long long)number, gt_coll_name(req->coll),
			   (unsigned long long)req->count,
			   gt_dtype_name(req->dtype), gt_redop_name(req->op),
			   req->root);

	if (comm->ops->async && call->group > 1)
		snprintf(text + len, (size_t)(GT_OPERATION_TEXT_MAX - len),
			 ", %u before its group's end", call->group - 1);
}

void gt_operation_describe(const struct gtopo_comm *comm,
			   char text[GT_OPERATION_TEXT_MAX])
{
	const struct gt_comm_rank *rank = &comm->ranks[comm->first];

	gt_operation_print(comm, rank->ndone, rank->called.first, text);
}

/* The rank calls something else than the first rank of this process. */
static int gt_operation_differs(const struct gtopo_comm *comm, uint32_t rank,
				uint64_t number, struct gt_err *err)
{
	char first[GT_OPERATION_TEXT_MAX], other[GT_OPERATION_TEXT_MAX];

	gt_operation_print(comm, number, comm->ranks[comm->first].called.first,
			   first);
	gt_operation_print(comm, number, comm->ranks[rank].called.first, other);
	return gt_err_set(err, GT_EINPUT, NULL,
			  "rank %u calls '%s', rank %u '%s'", rank, other,
			  comm->first, first);
}

/* Make memory for n operations that run together. */
static int gt_operation_reserve(struct gtopo_comm *comm, uint32_t n,
				struct gt_err *err)
{
	struct gt_exec_request *reqs;
	struct gt_buffers *buffers;
	struct gt_scalar *scalars;

	if (n <= comm->room)
		return GT_OK;
	reqs = realloc(comm->reqs, n * sizeof(*reqs));
	if (reqs)
		comm->reqs = reqs;
	buffers = realloc(comm->buffers,
			  (size_t)n * comm->nranks * sizeof(*buffers));
	if (buffers)
		comm->buffers = buffers;
	scalars = realloc(comm->scalars,
			  (size_t)n * comm->nranks * sizeof(*scalars));
	if (scalars)
		comm->scalars = scalars;
	if (!reqs || !buffers || !scalars)
		return gt_err_nomem(err);
	comm->room = n;
	return GT_OK;
}

/* Take one operation, the i-th of those that run together. */
static int gt_operation_take_one(struct gtopo_comm *comm, uint32_t i,
				 struct gt_err *err)
{
	const struct gt_call *call = comm->ranks[comm->first].called.first;
	struct gt_buffers *buffers = &comm->buffers[i * (size_t)comm->nranks];
	struct gt_scalar *scalars = &comm->scalars[i * (size_t)comm->nranks];

	comm->reqs[i] = call->req;
	comm->reqs[i].buffers = buffers;
	comm->reqs[i].scalars = scalars;
	for (uint32_t r = comm->first; r < comm->end; r++)
		if (!gt_operation_is_same(comm, call,
					  comm->ranks[r].called.first))
			return gt_operation_differs(
				comm, r, comm->ranks[r].ndone + i, err);
	for (uint32_t r = comm->first; r < comm->end; r++) {
		call = comm->ranks[r].called.first;
		buffers[r] = (struct gt_buffers){call->input, call->output};
		scalars[r] = call->scalar;
		comm->streams[r] = call->stream;
		gt_queue_pop(&comm->ranks[r].called);
	}
	return GT_OK;
}

int gt_operation_take(struct gtopo_comm *comm, uint32_t n, struct gt_err *err)
{
	int rc = gt_operation_reserve(comm, n, err);

	for (uint32_t i = 0; !rc && i < n; i++)
		rc = gt_operation_take_one(comm, i, err);
	return rc;
}

int gt_operation_verify(struct gtopo_comm *comm,
			const struct gt_exec_request *req, struct gt_err *err)
{
	/* The plan's own root is what engines have made programs for. */
	struct gt_plan plan = *comm->plan;
	uint32_t root = gt_coll_is_rooted(req->coll) ? req->root : 0;
	int rc;

	if (comm->verified[root] >> req->coll & 1)
		return GT_OK;
	plan.root = root;
	rc = gt_simulate(&plan, req->coll, err);
	if (!rc)
		comm->verified[root] |= 1u << req->coll;
	return rc;
}
