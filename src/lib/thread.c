#include "lib/comm.h"

#include <stdio.h>
#include <stdlib.h>

#include "plan/ir/plan.h"
#include "plan/simulate/simulate.h"

enum { GT_COMM_WORDS_MAX = 200 };

void gt_comm_fail(struct gtopo_comm *comm, int rc, const struct gt_err *err)
{
	if (comm->state >= 0) {
		comm->state = gt_comm_code(rc);
		comm->err = *err;
	}
	pthread_cond_broadcast(&comm->changed);
}

/*
 * All processes are here now, and need not be when two ranks have messages.
 * Where there can be none, the first one says so.
 */
static int gt_comm_introduce(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_err none;
	int rc;

	gt_err_init(&none);
	rc = comm->ops->async->sendrecv_setup(comm->engine, &none);
	return !rc || rc == GT_EINPUT
		       ? GT_OK
		       : gt_err_set(err, rc, NULL, "%s", none.text);
}

static int gt_comm_open(struct gtopo_comm *comm, struct gt_err *err)
{
	int rc = gt_plan_check(comm->plan, err);

	if (!rc)
		rc = gt_comm_world_open(comm, err);
	if (!rc)
		rc = comm->ops->open(&comm->config, &comm->engine, err);
	if (!rc && comm->world)
		rc = comm->ops->async ? gt_comm_introduce(comm, err)
				      : gt_mail_open(comm, err);
	return rc;
}

/* Groups are launched as one on GPUs only. */
static int gt_comm_is_same(const struct gtopo_comm *comm,
			   const struct gt_call *a, const struct gt_call *b)
{
	return a->req.coll == b->req.coll && a->req.count == b->req.count &&
	       a->req.dtype == b->req.dtype && a->req.op == b->req.op &&
	       a->req.root == b->req.root &&
	       (!comm->ops->async || a->group == b->group);
}

/* The same operations have the same words. */
static void gt_comm_describe(const struct gtopo_comm *comm, uint64_t number,
			     const struct gt_call *call,
			     char text[GT_COMM_WORDS_MAX])
{
	const struct gt_exec_request *req = &call->req;
	int len = snprintf(text, GT_COMM_WORDS_MAX,
			   "operation %llu: %s of %llu %s, op %s, root %u",
			   (unsigned long long)number, gt_coll_name(req->coll),
			   (unsigned long long)req->count,
			   gt_dtype_name(req->dtype), gt_redop_name(req->op),
			   req->root);

	if (comm->ops->async && call->group > 1)
		snprintf(text + len, (size_t)(GT_COMM_WORDS_MAX - len),
			 ", %u before its group's end", call->group - 1);
}

/* Rank calls something else than the first one of this process. */
static int gt_comm_differ(const struct gtopo_comm *comm, uint32_t rank,
			  uint64_t number, struct gt_err *err)
{
	char words[GT_COMM_WORDS_MAX], other[GT_COMM_WORDS_MAX];

	gt_comm_describe(comm, number, comm->ranks[comm->first].called.first,
			 words);
	gt_comm_describe(comm, number, comm->ranks[rank].called.first, other);
	return gt_err_set(err, GT_EINPUT, NULL,
			  "rank %u calls '%s', rank %u '%s'", rank, other,
			  comm->first, words);
}

int gt_comm_verify(struct gtopo_comm *comm, const struct gt_exec_request *req,
		   struct gt_err *err)
{
	uint32_t root = gt_coll_is_rooted(req->coll) ? req->root : 0;
	int rc;

	if (comm->verified[root] >> req->coll & 1)
		return GT_OK;
	comm->plan->root = root;
	rc = gt_simulate(comm->plan, req->coll, err);
	if (!rc)
		comm->verified[root] |= 1u << req->coll;
	return rc;
}

/* The host runs operation after operation. */
static int gt_comm_run(struct gtopo_comm *comm, const char *words,
		       struct gt_err *err)
{
	const struct gt_exec_request *req = &comm->reqs[0];
	int64_t elapsed_ns;
	int rc = gt_comm_world_agree(comm, words, err);

	if (!rc)
		rc = gt_comm_verify(comm, req, err);
	return rc ? rc : comm->ops->run(comm->engine, req, 1, &elapsed_ns, err);
}

int gt_comm_has_next(const struct gtopo_comm *comm)
{
	for (uint32_t r = comm->first; r < comm->end; r++)
		if (!comm->ranks[r].called.first ||
		    comm->ranks[r].called.first->batch)
			return 0;
	return 1;
}

/* Memory for so many operations that run together. */
static int gt_comm_reserve(struct gtopo_comm *comm, uint32_t n,
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

/* The rank's next call, off its queue. */
static void gt_comm_take_call(struct gtopo_comm *comm, uint32_t rank,
			      struct gt_buffers *buffers,
			      struct gt_scalar *scalars)
{
	struct gt_queue *queue = &comm->ranks[rank].called;
	struct gt_call *call = queue->first;

	buffers[rank] = (struct gt_buffers){call->input, call->output};
	scalars[rank] = call->scalar;
	comm->streams[rank] = call->stream;
	queue->first = call->next;
	if (!queue->first)
		queue->last = &queue->first;
	free(call);
}

/* The operation that all ranks have called, the i-th that runs. */
static int gt_comm_take(struct gtopo_comm *comm, uint32_t i, struct gt_err *err)
{
	const struct gt_call *call = comm->ranks[comm->first].called.first;
	struct gt_buffers *buffers = &comm->buffers[i * (size_t)comm->nranks];
	struct gt_scalar *scalars = &comm->scalars[i * (size_t)comm->nranks];

	comm->reqs[i] = call->req;
	comm->reqs[i].buffers = buffers;
	comm->reqs[i].scalars = scalars;
	for (uint32_t r = comm->first; r < comm->end; r++)
		if (!gt_comm_is_same(comm, call, comm->ranks[r].called.first))
			return gt_comm_differ(comm, r, comm->ranks[r].ndone + i,
					      err);
	for (uint32_t r = comm->first; r < comm->end; r++)
		gt_comm_take_call(comm, r, buffers, scalars);
	return GT_OK;
}

void gt_comm_next(struct gtopo_comm *comm)
{
	const struct gt_call *call = comm->ranks[comm->first].called.first;
	uint32_t n = comm->ops->async ? call->group : 1;
	char words[GT_COMM_WORDS_MAX];
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	gt_mail_attend(comm, 0);
	/* A meeting would take longer than a GPU's operation. */
	if (!comm->ops->async)
		gt_comm_describe(comm, comm->ranks[comm->first].ndone, call,
				 words);
	rc = gt_comm_reserve(comm, n, &err);
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = gt_comm_take(comm, i, &err);
	if (!rc) {
		pthread_mutex_unlock(&comm->mutex);
		rc = comm->ops->async ? gt_comm_enqueue(comm, n, &err)
				      : gt_comm_run(comm, words, &err);
		pthread_mutex_lock(&comm->mutex);
	}
	if (rc) {
		gt_comm_fail(comm, rc, &err);
		return;
	}
	for (uint32_t r = comm->first; r < comm->end; r++)
		comm->ranks[r].ndone += n;
	pthread_cond_broadcast(&comm->changed);
}

void gt_comm_bear(struct gtopo_comm *comm, struct gt_birth *birth)
{
	int rc;

	gt_mail_attend(comm, 0);
	comm->births = birth->next;
	birth->busy = 1;
	pthread_mutex_unlock(&comm->mutex);
	rc = gt_comm_world_birth(comm, birth);
	pthread_mutex_lock(&comm->mutex);
	if (rc)
		gt_comm_fail(comm, rc, &birth->err);
	birth->busy = 0;
	birth->done = 1;
	pthread_cond_broadcast(&comm->changed);
}

void *gt_comm_main(void *arg)
{
	struct gtopo_comm *comm = arg;
	struct gt_birth *birth;
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	rc = gt_comm_open(comm, &err);
	pthread_mutex_lock(&comm->mutex);
	if (rc)
		gt_comm_fail(comm, rc, &err);
	else if (comm->state == GTOPO_IN_PROGRESS)
		comm->state = GTOPO_OK;
	pthread_cond_broadcast(&comm->changed);
	if (comm->ops->async && comm->engine)
		gt_comm_guard(comm);
	while (comm->state >= 0 && !comm->ops->async) {
		birth = gt_comm_world_due(comm);
		if (birth)
			gt_comm_bear(comm, birth);
		else if (gt_batches_move(comm))
			;
		else if (gt_comm_has_next(comm))
			gt_comm_next(comm);
		else if (comm->quit)
			break;
		else
			gt_batches_sleep(comm);
	}
	gt_mail_attend(comm, 0);
	pthread_mutex_unlock(&comm->mutex);
	if (comm->engine)
		comm->ops->close(comm->engine);
	/* Others may still look for what this process lends, or receive. */
	gt_comm_world_leave(comm);
	gt_mail_close(comm);
	gt_comm_world_close(comm);
	return NULL;
}
