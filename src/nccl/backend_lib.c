/*
 * The backend on libgtopo as it is: each rank is a communicator with one rank
 * in this "process" of a job.
 *
 * On the host a call is put on the stream as a function that runs the
 * operations and waits for them, which is what a stream does.  On GPUs
 * libgtopo's own calls put them there.
 */
#include "nccl/backend.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "gtopo.h"
#include "lib/embed.h"
#include "nccl/plan.h"
#include "nccl/say.h"
#include "nccl/team.h"

enum { GT_LIB_LOOK_NS = 1000000 };

struct gt_backend_comm {
	struct gtopo_comm *lib;
	const struct gt_cuda *cuda;
	struct gt_team *team; /* outlives it */
	int rank;
	/* Calls on streams that are not over; the one who takes the last away
	 * wakes whoever closes. */
	pthread_mutex_t mutex;
	pthread_cond_t idle;
	uint32_t under_way;
	/* The code of an operation that was refused, so that the others wait
	 * for it in vain, or GT_OK; why is written once, before. */
	_Atomic int refused;
	char why[256];
};

/* Operations on their way through a stream of the host. */
struct gt_backend_call {
	struct gt_backend_comm *comm;
	uint32_t n;
	struct gt_backend_op ops[];
};

/* What the engine has chosen, or who keeps the others waiting. */
static void gt_lib_tell(void *none, int warning, const char *text)
{
	(void)none;
	gt_say_log(warning ? GT_SAY_WARN : GT_SAY_INFO, "%s", text);
}

static int gt_lib_start(struct gt_team *team, const struct gt_cuda *cuda,
			struct gt_backend_comm **out, struct gt_err *err)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gt_backend_comm *comm = calloc(1, sizeof(*comm));
	struct gt_plan *plan;
	uint32_t one, other;
	int rc = comm ? gt_team_plan(team, cuda->on_host, &plan, err)
		      : gt_err_nomem(err);

	config.timeout_ms = team->engine.timeout_ns / 1000000;
	config.device = cuda->on_host ? GTOPO_HOST : GTOPO_CUDA;
	config.max_blocks = gt_team_max_ctas(team);
	/* Only NCCL_MULTI_RANK_GPU_ENABLE lets a team come so far. */
	if (!cuda->on_host && gt_team_find_pair(team, &one, &other))
		config.flags |= GTOPO_MAP_SHARE;
	if (!rc) {
		comm->cuda = cuda;
		comm->team = team;
		comm->rank = (int)team->rank;
		pthread_mutex_init(&comm->mutex, NULL);
		pthread_cond_init(&comm->idle, NULL);
		rc = gt_comm_embed(&config, plan, &team->engine, gt_lib_tell,
				   &comm->lib, err);
		team->engine.listen_fd = -1;
	}
	if (rc) {
		if (team->world)
			gt_world_abort(team->world, err->text);
		free(comm);
		return rc;
	}
	*out = comm;
	return GT_OK;
}

static int gt_lib_state(struct gt_backend_comm *comm, int *lost,
			struct gt_err *err)
{
	int rc = gt_comm_verdict(comm->lib, lost, err);

	if (rc != GT_OK && rc != GTOPO_EABORTED)
		return rc;
	if (!atomic_load(&comm->refused))
		return rc;
	gt_err_init(err);
	return gt_err_set(err, atomic_load(&comm->refused), NULL,
			  "an operation of rank %d was refused: %s", comm->rank,
			  comm->why);
}

static int gt_lib_await(struct gt_backend_comm *comm, struct gt_err *err)
{
	const _Atomic int *end =
		comm->team->world ? gt_world_end_flag(comm->team->world) : NULL;
	int rc = gt_comm_ready(comm->lib, end, err);

	/* The team tells more than the abort that follows from it. */
	if (rc && end && atomic_load(end)) {
		gt_err_init(err);
		gt_world_failed(comm->team->world, err);
	}
	return rc;
}

/* The operator of a call, which is made for it where it multiplies first. */
static int gt_lib_redop(struct gt_backend_comm *comm,
			const struct gt_backend_op *op, enum gtopo_op *redop)
{
	const void *scalar = op->scalar.at ? op->scalar.at : &op->scalar.bits;

	*redop = (enum gtopo_op)op->redop;
	if (op->redop != GT_REDOP_PREMUL)
		return GTOPO_OK;
	return gtopo_op_create_premul(
		comm->lib, comm->rank, scalar, (enum gtopo_type)op->dtype,
		op->scalar.at ? GTOPO_SCALAR_DEVICE : GTOPO_SCALAR_HOST, redop);
}

/* An operator that nobody uses has what all need. */
static int gt_lib_prepare_premul(struct gt_backend_comm *comm,
				 struct gt_err *err)
{
	const float one = 1;
	char why[256];
	enum gtopo_op op;
	int rc = gtopo_op_create_premul(comm->lib, comm->rank, &one,
					GTOPO_FLOAT, GTOPO_SCALAR_HOST, &op);

	if (!rc)
		rc = gtopo_op_destroy(comm->lib, comm->rank, op);
	if (!rc)
		return GT_OK;
	gtopo_comm_message(comm->lib, why, sizeof(why));
	return gt_err_set(err, GT_ESYS, NULL,
			  "rank %d has no memory for what an operator "
			  "multiplies: %s",
			  comm->rank, why);
}

static int gt_lib_op(struct gt_backend_comm *comm,
		     const struct gt_backend_op *op)
{
	struct gtopo_comm *lib = comm->lib;
	enum gtopo_type type = (enum gtopo_type)op->dtype;
	int rank = comm->rank, peer = (int)op->peer, rc;
	enum gtopo_op redop;

	rc = gt_lib_redop(comm, op, &redop);
	if (rc)
		return rc;
	switch (op->kind) {
	case GT_BACKEND_ALLREDUCE:
		rc = gtopo_allreduce(lib, rank, op->input, op->output,
				     op->count, type, redop);
		break;
	case GT_BACKEND_BROADCAST:
		rc = gtopo_broadcast(lib, rank, op->input, op->output,
				     op->count, type, peer);
		break;
	case GT_BACKEND_REDUCE:
		rc = gtopo_reduce(lib, rank, op->input, op->output, op->count,
				  type, redop, peer);
		break;
	case GT_BACKEND_ALLGATHER:
		rc = gtopo_allgather(lib, rank, op->input, op->output,
				     op->count, type);
		break;
	case GT_BACKEND_REDUCESCATTER:
		rc = gtopo_reducescatter(lib, rank, op->input, op->output,
					 op->count, type, redop);
		break;
	case GT_BACKEND_SEND:
		return gtopo_send(lib, rank, op->input, op->count, type, peer);
	case GT_BACKEND_RECV:
		return gtopo_recv(lib, rank, op->output, op->count, type, peer);
	}
	/* A call has a copy of its operator. */
	if (op->redop == GT_REDOP_PREMUL)
		gtopo_op_destroy(lib, rank, redop);
	return rc;
}

static int gt_lib_ops(struct gt_backend_comm *comm,
		      const struct gt_backend_op *ops, uint32_t n)
{
	int rc = gtopo_group_start(comm->lib, comm->rank), end;

	for (uint32_t i = 0; !rc && i < n; i++)
		rc = gt_lib_op(comm, &ops[i]);
	end = gtopo_group_end(comm->lib, comm->rank);
	return rc ? rc : end;
}

static void gt_lib_refuse(struct gt_backend_comm *comm, int rc)
{
	pthread_mutex_lock(&comm->mutex);
	if (!atomic_load(&comm->refused)) {
		gtopo_comm_message(comm->lib, comm->why, sizeof(comm->why));
		atomic_store(&comm->refused, rc);
	}
	pthread_mutex_unlock(&comm->mutex);
	gtopo_comm_abort(comm->lib);
}

static void gt_lib_done(struct gt_backend_comm *comm)
{
	pthread_mutex_lock(&comm->mutex);
	if (!--comm->under_way)
		pthread_cond_broadcast(&comm->idle);
	pthread_mutex_unlock(&comm->mutex);
}

/* On the host, when the stream has come to it: what fails shows in state(). */
static void gt_lib_run(void *arg)
{
	struct gt_backend_call *call = arg;
	struct gt_backend_comm *comm = call->comm;
	int rc = gt_lib_ops(comm, call->ops, call->n), lost;
	struct gt_err ignored;

	gt_err_init(&ignored);
	if (!rc)
		rc = gtopo_wait(comm->lib, comm->rank, -1);
	/* What the communicator has failed of it tells itself. */
	if (rc == GTOPO_EINPUT ||
	    (rc && !gt_comm_verdict(comm->lib, &lost, &ignored)))
		gt_lib_refuse(comm, rc);
	free(call);
	gt_lib_done(comm);
}

static int gt_lib_call(struct gt_backend_comm *comm,
		       const struct gt_backend_op *ops, uint32_t n,
		       void *stream, struct gt_err *err)
{
	struct gt_backend_call *call = malloc(sizeof(*call) + n * sizeof(*ops));
	int rc;

	if (!call)
		return gt_err_nomem(err);
	call->comm = comm;
	call->n = n;
	memcpy(call->ops, ops, n * sizeof(*ops));
	pthread_mutex_lock(&comm->mutex);
	comm->under_way++;
	pthread_mutex_unlock(&comm->mutex);
	rc = comm->cuda->call(stream, gt_lib_run, call);
	if (!rc)
		return GT_OK;
	free(call);
	gt_lib_done(comm);
	return gt_err_set(err, GT_ESYS, NULL, "cannot use the stream: %s",
			  comm->cuda->words(rc));
}

/* The capture was invalidated, and whatever it had of them is gone with it. */
static int gt_lib_is_void(const struct gt_backend_comm *comm, void *stream)
{
	unsigned long long capture;

	return !comm->cuda->stream_capture(stream, &capture) &&
	       capture == GT_CUDA_INVALIDATED;
}

static int gt_lib_enqueue(struct gt_backend_comm *comm,
			  const struct gt_backend_op *ops, uint32_t n,
			  void *stream, struct gt_err *err)
{
	int rc, lost;

	if (comm->cuda->on_host)
		return gt_lib_call(comm, ops, n, stream, err);
	gtopo_comm_stream(comm->lib, comm->rank, stream);
	rc = gt_lib_ops(comm, ops, n);
	if (!rc)
		return GT_OK;
	if (gt_comm_verdict(comm->lib, &lost, err))
		return rc;
	if (gt_lib_is_void(comm, stream))
		return gt_err_set(err, GT_ENO, NULL,
				  "the stream's capture was invalidated "
				  "meanwhile, by a call that CUDA forbids in "
				  "it");
	gt_lib_refuse(comm, rc);
	return gt_err_set(err, rc, NULL, "an operation was refused: %s",
			  comm->why);
}

static void gt_lib_abort(struct gt_backend_comm *comm)
{
	gtopo_comm_abort(comm->lib);
}

static int gt_lib_is_busy(struct gt_backend_comm *comm, void *behind)
{
	int busy = 0;

	if (!comm->cuda->on_host)
		return behind && !comm->cuda->event_pending(behind, &busy) &&
		       busy;
	pthread_mutex_lock(&comm->mutex);
	busy = comm->under_way > 0;
	pthread_mutex_unlock(&comm->mutex);
	return busy;
}

/* GPUs: wait until nothing is on streams, or what is there has to end. */
static void gt_lib_drain(struct gt_backend_comm *comm, void *behind)
{
	const struct timespec nap = {0, GT_LIB_LOOK_NS};
	struct gt_err err;
	int lost;

	gt_err_init(&err);
	while (gt_lib_is_busy(comm, behind) &&
	       !gt_comm_verdict(comm->lib, &lost, &err))
		nanosleep(&nap, NULL);
	if (gt_lib_is_busy(comm, behind))
		gtopo_comm_abort(comm->lib);
	gtopo_comm_stream(comm->lib, comm->rank, comm->cuda->own_stream);
}

static void gt_lib_close(struct gt_backend_comm *comm, void *behind)
{
	if (!comm->cuda->on_host)
		gt_lib_drain(comm, behind);
	pthread_mutex_lock(&comm->mutex);
	while (comm->under_way)
		pthread_cond_wait(&comm->idle, &comm->mutex);
	pthread_mutex_unlock(&comm->mutex);
	gtopo_comm_destroy(comm->lib);
	pthread_cond_destroy(&comm->idle);
	pthread_mutex_destroy(&comm->mutex);
	free(comm);
}

const struct gt_backend gt_backend_lib = {
	.name = "libgtopo",
	.start = gt_lib_start,
	.await = gt_lib_await,
	.prepare_premul = gt_lib_prepare_premul,
	.enqueue = gt_lib_enqueue,
	.state = gt_lib_state,
	.abort = gt_lib_abort,
	.is_busy = gt_lib_is_busy,
	.close = gt_lib_close,
};
