#include "plan/lower.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower_tree.h"
#include "plan/plan.h"
#include "plan/step.h"

/* A rank's place in a ring, and the ring's ends of its two connections. */
struct gt_ring {
	const uint32_t *order;
	uint32_t n;
	uint32_t at; /* position of the rank in order */
	struct gt_step_conns conns;
};

/* The position `back` places before the rank's own; back <= n. */
static uint32_t gt_ring_before(const struct gt_ring *ring, uint32_t back)
{
	return (ring->at + ring->n - back) % ring->n;
}

static void gt_ring_step(const struct gt_ring *ring, struct gt_program *program,
			 enum gt_op op, uint32_t chunk)
{
	gt_step_add(program, op, ring->conns, chunk);
}

static void gt_ring_final(const struct gt_ring *ring,
			  struct gt_program *program, enum gt_op op,
			  uint32_t chunk)
{
	gt_step_add(program, op, ring->conns, chunk)->flags = GT_STEP_FINAL;
}

/*
 * Chunks are numbered by ring position: chunk c starts at position c + 1, is
 * complete at position c, and goes around once more to be spread.
 */
static void gt_lower_allreduce(const struct gt_ring *ring,
			       struct gt_program *program)
{
	uint32_t n = ring->n, back;

	if (n == 1) {
		gt_ring_final(ring, program, GT_OP_COPY, 0);
		return;
	}
	gt_ring_step(ring, program, GT_OP_SEND, gt_ring_before(ring, 1));
	for (back = 2; back < n; back++)
		gt_ring_step(ring, program, GT_OP_RECV_REDUCE_SEND,
			     gt_ring_before(ring, back));
	gt_ring_final(ring, program, GT_OP_RECV_REDUCE_COPY_SEND, ring->at);
	for (back = 1; back < n - 1; back++)
		gt_ring_step(ring, program, GT_OP_RECV_COPY_SEND,
			     gt_ring_before(ring, back));
	gt_ring_step(ring, program, GT_OP_RECV, gt_ring_before(ring, n - 1));
}

/* Chunks are the ranks' blocks: each goes around once from its owner. */
static void gt_lower_allgather(const struct gt_ring *ring,
			       struct gt_program *program)
{
	uint32_t n = ring->n, back;

	if (n == 1) {
		gt_ring_step(ring, program, GT_OP_COPY, ring->order[0]);
		return;
	}
	gt_ring_step(ring, program, GT_OP_COPY_SEND, ring->order[ring->at]);
	for (back = 1; back < n - 1; back++)
		gt_ring_step(ring, program, GT_OP_RECV_COPY_SEND,
			     ring->order[gt_ring_before(ring, back)]);
	gt_ring_step(ring, program, GT_OP_RECV,
		     ring->order[gt_ring_before(ring, n - 1)]);
}

/* Each block starts behind its owner and is complete when it gets there. */
static void gt_lower_reducescatter(const struct gt_ring *ring,
				   struct gt_program *program)
{
	uint32_t n = ring->n, back;

	if (n == 1) {
		gt_ring_final(ring, program, GT_OP_COPY, ring->order[0]);
		return;
	}
	gt_ring_step(ring, program, GT_OP_SEND,
		     ring->order[gt_ring_before(ring, 1)]);
	for (back = 2; back < n; back++)
		gt_ring_step(ring, program, GT_OP_RECV_REDUCE_SEND,
			     ring->order[gt_ring_before(ring, back)]);
	gt_ring_final(ring, program, GT_OP_RECV_REDUCE_COPY,
		      ring->order[ring->at]);
}

/* Connections: 0 from the rank before, 1 to the rank behind. */
static int gt_ring_connect(struct gt_ring *ring, struct gt_program *program,
			   struct gt_arena *arena, struct gt_err *err)
{
	uint32_t n = ring->n;

	program->steps =
		gt_arena_array(arena, 2 * (size_t)n, sizeof(*program->steps));
	program->conns = gt_arena_array(arena, 2, sizeof(*program->conns));
	if (!program->steps || !program->conns)
		return gt_err_nomem(err);
	if (n == 1)
		return GT_OK;
	ring->conns = (struct gt_step_conns){.recv = 0, .send = 1};
	program->nconns = 2;
	program->conns[0].peer = ring->order[gt_ring_before(ring, 1)];
	program->conns[1].peer = ring->order[gt_ring_before(ring, n - 1)];
	program->conns[1].sends = 1;
	return GT_OK;
}

static int gt_lower_ring(const struct gt_plan_channel *channel,
			 enum gt_coll coll, struct gt_program *program,
			 struct gt_arena *arena, struct gt_err *err)
{
	struct gt_ring ring = {.order = channel->order, .n = channel->norder};
	int rc;

	while (ring.at < ring.n && ring.order[ring.at] != program->rank)
		ring.at++;
	if (ring.at == ring.n)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "rank %u is not in the order of channel %u",
				  program->rank, channel->id);
	rc = gt_ring_connect(&ring, program, arena, err);
	if (rc)
		return rc;
	program->nchunks = ring.n;
	if (coll == GT_COLL_ALLREDUCE)
		gt_lower_allreduce(&ring, program);
	else if (coll == GT_COLL_ALLGATHER)
		gt_lower_allgather(&ring, program);
	else
		gt_lower_reducescatter(&ring, program);
	return GT_OK;
}

int gt_lower(const struct gt_plan *plan, enum gt_coll coll, uint32_t rank,
	     uint32_t channel, struct gt_arena *arena,
	     struct gt_program *program, struct gt_err *err)
{
	const struct gt_plan_channel *from = &plan->channels[channel];
	struct gt_program made = {.rank = rank, .channel = channel};
	uint32_t root;
	int rc;

	if (from->shape == GT_SHAPE_RING)
		rc = gt_lower_ring(from, coll, &made, arena, err);
	else if (coll == plan->coll && gt_layout_root(from, coll, &root))
		rc = gt_lower_tree(plan, coll, arena, &made, err);
	else
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"channel %u: shape '%s' cannot do '%s'%s",
				from->id, gt_shape_name(from->shape),
				gt_coll_name(coll),
				coll == plan->coll ? "" : " of this plan");
	if (!rc)
		*program = made;
	return rc;
}
