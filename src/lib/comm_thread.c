#include "lib/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "plan/simulate.h"

enum { GT_COMM_WORDS_MAX = 160 };

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
	rc = comm->ops->async->introduce(comm->engine, &none);
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

/* Operations are the same if and only if these words are. */
static void gt_comm_describe(const struct gtopo_comm *comm, uint32_t rank,
			     const struct gt_request *req,
			     char text[GT_COMM_WORDS_MAX])
{
	snprintf(text, GT_COMM_WORDS_MAX,
		 "operation %llu: %s of %llu %s, op %s, root %u",
		 (unsigned long long)comm->ranks[rank].ndone,
		 gt_coll_name(req->coll), (unsigned long long)req->count,
		 gt_dtype_name(req->dtype), gt_redop_name(req->op), req->root);
}

int gt_comm_verify(struct gtopo_comm *comm, const struct gt_request *req,
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

static int gt_comm_run(struct gtopo_comm *comm, struct gt_request *req,
		       struct gt_err *err)
{
	int64_t elapsed_ns;
	int rc;

	if (comm->ops->async)
		return gt_comm_enqueue(comm, req, err);
	rc = gt_comm_verify(comm, req, err);
	req->buffers = comm->buffers;
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

/* The operation that all ranks have called, off their queues. */
static int gt_comm_take(struct gtopo_comm *comm, struct gt_request *req,
			char words[GT_COMM_WORDS_MAX], struct gt_err *err)
{
	char other[GT_COMM_WORDS_MAX];

	*req = comm->ranks[comm->first].called.first->req;
	gt_comm_describe(comm, comm->first, req, words);
	for (uint32_t r = comm->first; r < comm->end; r++) {
		gt_comm_describe(comm, r, &comm->ranks[r].called.first->req,
				 other);
		if (strcmp(words, other))
			return gt_err_set(err, GT_EINPUT, NULL,
					  "rank %u calls '%s', rank %u '%s'", r,
					  other, comm->first, words);
	}
	for (uint32_t r = comm->first; r < comm->end; r++) {
		struct gt_queue *queue = &comm->ranks[r].called;
		struct gt_call *call = queue->first;

		comm->buffers[r].input = call->input;
		comm->buffers[r].output = call->output;
		comm->streams[r] = call->stream;
		queue->first = call->next;
		if (!queue->first)
			queue->last = &queue->first;
		free(call);
	}
	return GT_OK;
}

void gt_comm_next(struct gtopo_comm *comm)
{
	char words[GT_COMM_WORDS_MAX];
	struct gt_request req;
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	rc = gt_comm_take(comm, &req, words, &err);
	if (!rc) {
		pthread_mutex_unlock(&comm->mutex);
		/* A meeting would take longer than a GPU's operation. */
		if (!comm->ops->async)
			rc = gt_comm_world_agree(comm, words, &err);
		if (!rc)
			rc = gt_comm_run(comm, &req, &err);
		pthread_mutex_lock(&comm->mutex);
	}
	if (rc) {
		gt_comm_fail(comm, rc, &err);
		return;
	}
	for (uint32_t r = comm->first; r < comm->end; r++)
		comm->ranks[r].ndone++;
	pthread_cond_broadcast(&comm->changed);
}

void gt_comm_bear(struct gtopo_comm *comm, struct gt_birth *birth)
{
	int rc;

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
	pthread_mutex_unlock(&comm->mutex);
	if (comm->engine)
		comm->ops->close(comm->engine);
	gt_comm_world_close(comm);
	gt_mail_close(comm);
	return NULL;
}
