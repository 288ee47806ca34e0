/*
 * Lowering of meshes: every collective, one-shot or two-shot, as messages
 * between all pairs of ranks.
 */
#include "plan/lower/shape.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

/* A step has at most 255 sources and as many destinations. */
enum { GT_MESH_MAX_RANKS = 255, GT_MESH_NO_CONN = UINT16_MAX };

/*
 * The program of a rank in a mesh, while it is made, and the step that is being
 * put together.
 */
struct gt_mesh_lowering {
	uint32_t n, rank, root, first_peer;
	struct gt_program *program;
	uint16_t *conns; /* [sends][peer], made at first use */
	struct gt_operand *operands;
	struct gt_step_list list;
};

/*
 * The i-th peer, counted from the next rank on, so that not all ranks turn to
 * the same one.  Each channel begins with another, so that links to several are
 * in use.
 */
static uint32_t gt_mesh_peer(const struct gt_mesh_lowering *mesh, uint32_t i)
{
	return (mesh->rank + 1 + (i + mesh->first_peer) % (mesh->n - 1)) %
	       mesh->n;
}

static struct gt_operand gt_mesh_slot(struct gt_mesh_lowering *mesh,
				      uint32_t peer, int sends)
{
	uint16_t *conn = &mesh->conns[(sends ? mesh->n : 0) + peer];

	if (*conn == GT_MESH_NO_CONN) {
		*conn = (uint16_t)mesh->program->nconns++;
		mesh->program->conns[*conn] =
			(struct gt_conn){.peer = peer, .sends = (uint8_t)sends};
	}
	return gt_operand_slot(*conn);
}

static void gt_mesh_begin(struct gt_mesh_lowering *mesh, uint32_t chunk)
{
	mesh->list = (struct gt_step_list){.operands = mesh->operands,
					   .chunk = chunk};
}

static void gt_mesh_source(struct gt_mesh_lowering *mesh,
			   struct gt_operand operand)
{
	mesh->operands[mesh->list.nsrc++] = operand;
}

static void gt_mesh_target(struct gt_mesh_lowering *mesh,
			   struct gt_operand operand)
{
	mesh->operands[mesh->list.nsrc + mesh->list.ndst++] = operand;
}

static void gt_mesh_end(struct gt_mesh_lowering *mesh)
{
	gt_step_add_list(mesh->program, &mesh->list);
}

static void gt_mesh_target_output(struct gt_mesh_lowering *mesh, uint32_t chunk)
{
	gt_mesh_target(mesh, gt_operand_chunk(GT_BUF_OUTPUT, chunk));
}

/* Add as targets the slots of all peers but `except`. */
static void gt_mesh_target_peers(struct gt_mesh_lowering *mesh, int64_t except)
{
	for (uint32_t i = 0; i + 1 < mesh->n; i++) {
		uint32_t peer = gt_mesh_peer(mesh, i);

		if ((int64_t)peer != except)
			gt_mesh_target(mesh, gt_mesh_slot(mesh, peer, 1));
	}
}

/* Send a chunk of the input to a peer. */
static void gt_mesh_send(struct gt_mesh_lowering *mesh, uint32_t peer,
			 uint32_t chunk)
{
	gt_mesh_begin(mesh, chunk);
	gt_mesh_source(mesh, gt_operand_chunk(GT_BUF_INPUT, chunk));
	gt_mesh_target(mesh, gt_mesh_slot(mesh, peer, 1));
	gt_mesh_end(mesh);
}

/* Take a chunk of the output from a peer. */
static void gt_mesh_recv(struct gt_mesh_lowering *mesh, uint32_t peer,
			 uint32_t chunk)
{
	gt_mesh_begin(mesh, chunk);
	gt_mesh_source(mesh, gt_mesh_slot(mesh, peer, 0));
	gt_mesh_target_output(mesh, chunk);
	gt_mesh_end(mesh);
}

static void gt_mesh_copy(struct gt_mesh_lowering *mesh, uint32_t chunk)
{
	gt_mesh_begin(mesh, chunk);
	gt_mesh_source(mesh, gt_operand_chunk(GT_BUF_INPUT, chunk));
	gt_mesh_target_output(mesh, chunk);
	gt_mesh_end(mesh);
}

/*
 * Begin a step that adds up all contributions to a chunk, in the order of
 * ranks; the caller adds its targets.
 */
static void gt_mesh_reduce(struct gt_mesh_lowering *mesh, uint32_t chunk)
{
	gt_mesh_begin(mesh, chunk);
	mesh->list.flags = GT_STEP_FINAL;
	for (uint32_t r = 0; r < mesh->n; r++)
		gt_mesh_source(mesh,
			       r == mesh->rank
				       ? gt_operand_chunk(GT_BUF_INPUT, chunk)
				       : gt_mesh_slot(mesh, r, 0));
}

/* Send chunk r of the input to each rank r. */
static void gt_mesh_scatter(struct gt_mesh_lowering *mesh)
{
	for (uint32_t i = 0; i + 1 < mesh->n; i++)
		gt_mesh_send(mesh, gt_mesh_peer(mesh, i),
			     gt_mesh_peer(mesh, i));
}

/* Take chunk r of the output from each rank r. */
static void gt_mesh_collect(struct gt_mesh_lowering *mesh)
{
	for (uint32_t i = 0; i + 1 < mesh->n; i++)
		gt_mesh_recv(mesh, gt_mesh_peer(mesh, i),
			     gt_mesh_peer(mesh, i));
}

static void gt_mesh_allreduce(struct gt_mesh_lowering *mesh, int two_shot)
{
	uint32_t own = two_shot ? mesh->rank : 0;

	if (two_shot) {
		gt_mesh_scatter(mesh);
	} else {
		gt_mesh_begin(mesh, 0);
		gt_mesh_source(mesh, gt_operand_chunk(GT_BUF_INPUT, 0));
		gt_mesh_target_peers(mesh, -1);
		if (mesh->n > 1)
			gt_mesh_end(mesh);
	}
	gt_mesh_reduce(mesh, own);
	gt_mesh_target_output(mesh, own);
	if (two_shot)
		gt_mesh_target_peers(mesh, -1);
	gt_mesh_end(mesh);
	if (two_shot)
		gt_mesh_collect(mesh);
}

static void gt_mesh_allgather(struct gt_mesh_lowering *mesh)
{
	gt_mesh_begin(mesh, mesh->rank);
	gt_mesh_source(mesh, gt_operand_chunk(GT_BUF_INPUT, mesh->rank));
	gt_mesh_target_output(mesh, mesh->rank);
	gt_mesh_target_peers(mesh, -1);
	gt_mesh_end(mesh);
	gt_mesh_collect(mesh);
}

static void gt_mesh_reducescatter(struct gt_mesh_lowering *mesh)
{
	gt_mesh_scatter(mesh);
	gt_mesh_reduce(mesh, mesh->rank);
	gt_mesh_target_output(mesh, mesh->rank);
	gt_mesh_end(mesh);
}

/*
 * The root's part of a broadcast.  One-shot it sends everything to all;
 * two-shot it sends chunk r to rank r, and its own chunk to all.
 */
static void gt_mesh_broadcast_root(struct gt_mesh_lowering *mesh, int two_shot)
{
	uint32_t own = two_shot ? mesh->rank : 0;

	for (uint32_t i = 0; i + 1 < mesh->n && two_shot; i++) {
		uint32_t peer = gt_mesh_peer(mesh, i);

		gt_mesh_begin(mesh, peer);
		gt_mesh_source(mesh, gt_operand_chunk(GT_BUF_INPUT, peer));
		gt_mesh_target_output(mesh, peer);
		gt_mesh_target(mesh, gt_mesh_slot(mesh, peer, 1));
		gt_mesh_end(mesh);
	}
	gt_mesh_begin(mesh, own);
	gt_mesh_source(mesh, gt_operand_chunk(GT_BUF_INPUT, own));
	gt_mesh_target_output(mesh, own);
	gt_mesh_target_peers(mesh, -1);
	gt_mesh_end(mesh);
}

static void gt_mesh_broadcast(struct gt_mesh_lowering *mesh, int two_shot)
{
	if (mesh->rank == mesh->root) {
		gt_mesh_broadcast_root(mesh, two_shot);
		return;
	}
	if (!two_shot) {
		gt_mesh_recv(mesh, mesh->root, 0);
		return;
	}
	gt_mesh_begin(mesh, mesh->rank);
	gt_mesh_source(mesh, gt_mesh_slot(mesh, mesh->root, 0));
	gt_mesh_target_output(mesh, mesh->rank);
	gt_mesh_target_peers(mesh, mesh->root);
	gt_mesh_end(mesh);
	gt_mesh_collect(mesh);
}

static void gt_mesh_reduce_to_root(struct gt_mesh_lowering *mesh, int two_shot)
{
	uint32_t own = two_shot ? mesh->rank : 0;
	int root = mesh->rank == mesh->root;

	if (two_shot)
		gt_mesh_scatter(mesh);
	else if (!root)
		gt_mesh_send(mesh, mesh->root, 0);
	if (!root && !two_shot)
		return;
	gt_mesh_reduce(mesh, own);
	if (root)
		gt_mesh_target_output(mesh, own);
	else
		gt_mesh_target(mesh, gt_mesh_slot(mesh, mesh->root, 1));
	gt_mesh_end(mesh);
	if (root && two_shot)
		gt_mesh_collect(mesh);
}

/*
 * Everything is sent before anything is taken: should input and output be one
 * buffer, each block is gone before another takes its place.  The own block is
 * copied while the others' are on their way.
 */
static void gt_mesh_alltoall(struct gt_mesh_lowering *mesh)
{
	gt_mesh_scatter(mesh);
	gt_mesh_copy(mesh, mesh->rank);
	for (uint32_t i = mesh->n - 1; i-- > 0;)
		gt_mesh_recv(mesh, gt_mesh_peer(mesh, i),
			     gt_mesh_peer(mesh, i));
}

static void gt_mesh_gather(struct gt_mesh_lowering *mesh)
{
	if (mesh->rank != mesh->root) {
		gt_mesh_send(mesh, mesh->root, mesh->rank);
		return;
	}
	gt_mesh_copy(mesh, mesh->rank);
	gt_mesh_collect(mesh);
}

static void gt_mesh_scatter_root(struct gt_mesh_lowering *mesh)
{
	if (mesh->rank != mesh->root) {
		gt_mesh_recv(mesh, mesh->root, mesh->rank);
		return;
	}
	gt_mesh_scatter(mesh);
	gt_mesh_copy(mesh, mesh->rank);
}

static void gt_mesh_sendrecv(struct gt_mesh_lowering *mesh)
{
	uint32_t n = mesh->n;

	if (n == 1) {
		gt_mesh_copy(mesh, 0);
		return;
	}
	gt_mesh_send(mesh, (mesh->rank + 1) % n, 0);
	gt_mesh_recv(mesh, (mesh->rank + n - 1) % n, 0);
}

static void gt_mesh_steps(struct gt_mesh_lowering *mesh,
			  const struct gt_channel_use *use)
{
	int two_shot = use->algo == GT_ALGO_TWO_SHOT;

	switch (use->coll) {
	case GT_COLL_ALLREDUCE:
		gt_mesh_allreduce(mesh, two_shot);
		break;
	case GT_COLL_ALLGATHER:
		gt_mesh_allgather(mesh);
		break;
	case GT_COLL_REDUCESCATTER:
		gt_mesh_reducescatter(mesh);
		break;
	case GT_COLL_BROADCAST:
		gt_mesh_broadcast(mesh, two_shot);
		break;
	case GT_COLL_REDUCE:
		gt_mesh_reduce_to_root(mesh, two_shot);
		break;
	case GT_COLL_ALLTOALL:
		gt_mesh_alltoall(mesh);
		break;
	case GT_COLL_GATHER:
		gt_mesh_gather(mesh);
		break;
	case GT_COLL_SCATTER:
		gt_mesh_scatter_root(mesh);
		break;
	default:
		gt_mesh_sendrecv(mesh);
	}
}

int gt_lower_mesh(const struct gt_lowering *l, struct gt_err *err)
{
	size_t n = l->plan->nranks;
	struct gt_mesh_lowering mesh = {.n = l->plan->nranks,
					.rank = l->want->rank,
					.root = l->want->use.root,
					.first_peer = l->want->channel,
					.program = l->program};
	int rc;

	if (n > GT_MESH_MAX_RANKS)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "channel %u: a mesh of more than %d ranks "
				  "cannot be run",
				  l->channel->id, GT_MESH_MAX_RANKS);
	mesh.conns = gt_arena_array(l->arena, 2 * n, sizeof(*mesh.conns));
	mesh.operands =
		gt_arena_array(l->arena, 2 * n + 1, sizeof(*mesh.operands));
	if (!mesh.conns || !mesh.operands)
		return gt_err_nomem(err);
	for (size_t i = 0; i < 2 * n; i++)
		mesh.conns[i] = GT_MESH_NO_CONN;
	/* There are two steps with each peer, and two with all at once. */
	rc = gt_lower_alloc(l, 3 * n + 4, 2 * n, err);
	if (!rc)
		gt_mesh_steps(&mesh, &l->want->use);
	return rc;
}
