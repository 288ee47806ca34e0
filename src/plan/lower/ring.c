/*
 * Lowering of rings: what a rank does depends only on how far along the ring it
 * is from a chunk's beginning, or from the root.
 */
#include "plan/lower/shape.h"

#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

/* A rank's position in a ring, and its two connections. */
struct gt_ring_lowering {
	const struct gt_plan *plan;
	const struct gt_plan_channel *channel;
	uint32_t n;
	uint32_t at; /* the rank's position in the order */
	struct gt_step_conns conns;
};

/* The rank at a position. */
static uint32_t gt_ring_rank(const struct gt_ring_lowering *ring,
			     uint32_t position)
{
	const struct gt_plan_cluster *cluster = ring->plan->cluster;

	return cluster ? gt_nodes_ring_rank(cluster, ring->channel, position)
		       : ring->channel->order[position];
}

/* The position that is `back` places before the rank's own; back <= n. */
static uint32_t gt_ring_before(const struct gt_ring_lowering *ring,
			       uint32_t back)
{
	return (ring->at + ring->n - back) % ring->n;
}

static void gt_ring_step(const struct gt_ring_lowering *ring,
			 struct gt_program *program, enum gt_op op,
			 uint32_t chunk)
{
	gt_step_add(program, op, ring->conns, chunk);
}

static void gt_ring_final(const struct gt_ring_lowering *ring,
			  struct gt_program *program, enum gt_op op,
			  uint32_t chunk)
{
	gt_step_add(program, op, ring->conns, chunk)->flags = GT_STEP_FINAL;
}

/*
 * Chunks are numbered by ring position: chunk c starts at position c + 1, is
 * complete at position c, and goes around once more to be spread.
 */
static void gt_ring_allreduce(const struct gt_ring_lowering *ring,
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
static void gt_ring_allgather(const struct gt_ring_lowering *ring,
			      struct gt_program *program)
{
	uint32_t n = ring->n, back;

	if (n == 1) {
		gt_ring_step(ring, program, GT_OP_COPY, gt_ring_rank(ring, 0));
		return;
	}
	gt_ring_step(ring, program, GT_OP_COPY_SEND,
		     gt_ring_rank(ring, ring->at));
	for (back = 1; back < n - 1; back++)
		gt_ring_step(ring, program, GT_OP_RECV_COPY_SEND,
			     gt_ring_rank(ring, gt_ring_before(ring, back)));
	gt_ring_step(ring, program, GT_OP_RECV,
		     gt_ring_rank(ring, gt_ring_before(ring, n - 1)));
}

/* Each block starts behind its owner and is complete when it gets there. */
static void gt_ring_reducescatter(const struct gt_ring_lowering *ring,
				  struct gt_program *program)
{
	uint32_t n = ring->n, back;

	if (n == 1) {
		gt_ring_final(ring, program, GT_OP_COPY, gt_ring_rank(ring, 0));
		return;
	}
	gt_ring_step(ring, program, GT_OP_SEND,
		     gt_ring_rank(ring, gt_ring_before(ring, 1)));
	for (back = 2; back < n; back++)
		gt_ring_step(ring, program, GT_OP_RECV_REDUCE_SEND,
			     gt_ring_rank(ring, gt_ring_before(ring, back)));
	gt_ring_final(ring, program, GT_OP_RECV_REDUCE_COPY,
		      gt_ring_rank(ring, ring->at));
}

/* A broadcast goes from the root on to the rank before it. */
static void gt_ring_broadcast(const struct gt_ring_lowering *ring,
			      uint32_t root, struct gt_program *program)
{
	uint32_t next = gt_ring_rank(ring, (ring->at + 1) % ring->n);

	if (ring->n == 1)
		gt_ring_step(ring, program, GT_OP_COPY, 0);
	else if (gt_ring_rank(ring, ring->at) == root)
		gt_ring_step(ring, program, GT_OP_COPY_SEND, 0);
	else if (next == root)
		gt_ring_step(ring, program, GT_OP_RECV, 0);
	else
		gt_ring_step(ring, program, GT_OP_RECV_COPY_SEND, 0);
}

/* A reduce goes from the rank behind the root on to the root. */
static void gt_ring_reduce(const struct gt_ring_lowering *ring, uint32_t root,
			   struct gt_program *program)
{
	uint32_t before = gt_ring_rank(ring, gt_ring_before(ring, 1));

	if (ring->n == 1)
		gt_ring_final(ring, program, GT_OP_COPY, 0);
	else if (gt_ring_rank(ring, ring->at) == root)
		gt_ring_final(ring, program, GT_OP_RECV_REDUCE_COPY, 0);
	else if (before == root)
		gt_ring_step(ring, program, GT_OP_SEND, 0);
	else
		gt_ring_step(ring, program, GT_OP_RECV_REDUCE_SEND, 0);
}

/* The rank that relays the hop from a position on, or UINT32_MAX. */
static uint32_t gt_ring_relay_of(const struct gt_ring_lowering *ring,
				 uint32_t position)
{
	return ring->plan->cluster
		       ? UINT32_MAX
		       : gt_plan_ring_relay(ring->channel, position);
}

/*
 * One of the two connections, for the hop from this position on.  What is
 * relayed has FIFOs of its own, by the hop.
 */
static struct gt_conn gt_ring_conn(const struct gt_ring_lowering *ring,
				   uint32_t position, uint32_t peer, int sends)
{
	uint32_t relay = gt_ring_relay_of(ring, position);
	int relayed = relay != UINT32_MAX;

	return (struct gt_conn){
		.peer = relayed ? relay : gt_ring_rank(ring, peer),
		.tag = (uint16_t)(relayed ? position + 1 : 0),
		.sends = (uint8_t)sends,
	};
}

/*
 * Make the two connections: number 0 is from the rank before, number 1 to the
 * rank behind.
 */
static void gt_ring_connect(struct gt_ring_lowering *ring,
			    struct gt_program *program)
{
	uint32_t n = ring->n, before = gt_ring_before(ring, 1);

	if (n == 1)
		return;
	ring->conns = (struct gt_step_conns){.recv = 0, .send = 1};
	program->nconns = 2;
	program->conns[0] = gt_ring_conn(ring, before, before, 0);
	program->conns[1] =
		gt_ring_conn(ring, ring->at, gt_ring_before(ring, n - 1), 1);
}

static void gt_ring_steps(const struct gt_ring_lowering *ring,
			  const struct gt_lowering *l)
{
	uint32_t root = l->want->use.root;

	if (l->want->use.coll == GT_COLL_ALLREDUCE)
		gt_ring_allreduce(ring, l->program);
	else if (l->want->use.coll == GT_COLL_ALLGATHER)
		gt_ring_allgather(ring, l->program);
	else if (l->want->use.coll == GT_COLL_REDUCESCATTER)
		gt_ring_reducescatter(ring, l->program);
	else if (l->want->use.coll == GT_COLL_BROADCAST)
		gt_ring_broadcast(ring, root, l->program);
	else
		gt_ring_reduce(ring, root, l->program);
}

/*
 * Passes on what the hop's first rank sends: its program, of which each step
 * that sends is taken and sent here, and nothing else is done.
 */
static void gt_ring_pass_on(const struct gt_ring_lowering *ring,
			    struct gt_program *program)
{
	uint32_t nsteps = program->nsteps;

	program->nsteps = 0;
	for (uint32_t i = 0; i < nsteps; i++) {
		const struct gt_step step = program->steps[i];
		uint32_t last = (uint32_t)step.nsrc + step.ndst - 1;

		if (step.operand[last].buf == GT_BUF_FIFO)
			gt_ring_step(ring, program, GT_OP_RECV_SEND,
				     step.chunk);
	}
	program->nconns = 2;
	program->conns[0] = (struct gt_conn){
		.peer = gt_ring_rank(ring, ring->at),
		.tag = (uint16_t)(ring->at + 1),
	};
	program->conns[1] = (struct gt_conn){
		.peer = gt_ring_rank(ring, (ring->at + 1) % ring->n),
		.tag = (uint16_t)(ring->at + 1),
		.sends = 1,
	};
}

/* Find the hop that is the rank's lane-th to relay; 0 when it has fewer. */
static int gt_ring_relays(struct gt_ring_lowering *ring, uint32_t rank,
			  uint32_t lane)
{
	for (ring->at = 0; ring->at < ring->n; ring->at++)
		if (gt_ring_relay_of(ring, ring->at) == rank && !--lane)
			return 1;
	return 0;
}

uint32_t gt_lower_ring_lanes(const struct gt_plan_channel *ring)
{
	uint32_t most = 0;

	for (uint32_t i = 0; ring->nhops > ring->norder && i < ring->norder;
	     i++) {
		uint32_t relay = gt_plan_ring_relay(ring, i), count = 0;

		for (uint32_t k = 0; relay != UINT32_MAX && k <= i; k++)
			count += gt_plan_ring_relay(ring, k) == relay;
		most = count > most ? count : most;
	}
	return 1 + most;
}

int gt_lower_ring(const struct gt_lowering *l, struct gt_err *err)
{
	struct gt_ring_lowering ring = {
		.plan = l->plan, .channel = l->channel, .n = l->plan->nranks};
	uint32_t lane = l->want->lane;
	int rc;

	if (lane && !gt_ring_relays(&ring, l->want->rank, lane))
		return GT_OK;
	while (!lane && ring.at < ring.n &&
	       gt_ring_rank(&ring, ring.at) != l->want->rank)
		ring.at++;
	if (ring.at == ring.n)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "rank %u is not in the order of channel %u",
				  l->want->rank, l->channel->id);
	rc = gt_lower_alloc(l, 2 * (size_t)ring.n, 2, err);
	if (rc)
		return rc;
	gt_ring_connect(&ring, l->program);
	gt_ring_steps(&ring, l);
	if (lane)
		gt_ring_pass_on(&ring, l->program);
	return GT_OK;
}
