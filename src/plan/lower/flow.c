/*
 * Lowering of flows on one machine: a rank sends its own blocks, passes on
 * others along their paths, and then takes what is for it.
 */
#include "plan/lower/shape.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

/* The program of a rank in a flow, while it is made. */
struct gt_flow_lowering {
	const struct gt_plan *plan;
	const struct gt_plan_channel *channel;
	struct gt_channel_use use;
	uint32_t n, rank, first_peer;
	struct gt_program *program;
	uint32_t *to, *from; /* peer -> 1 + the path to it (from it), or 0 */
};

/* Make a connection.  Each is of one path alone, and used once in a loop. */
static uint16_t gt_flow_connect(struct gt_flow_lowering *flow, uint32_t peer,
				int sends, uint32_t tag)
{
	struct gt_program *program = flow->program;

	program->conns[program->nconns] = (struct gt_conn){
		.peer = peer, .tag = (uint16_t)tag, .sends = (uint8_t)sends};
	return (uint16_t)program->nconns++;
}

/*
 * The chunk of the input, or of the output, that holds the block for the peer
 * or from it.
 */
static uint32_t gt_flow_chunk(const struct gt_flow_lowering *flow,
			      uint32_t peer, int output)
{
	switch (flow->use.coll) {
	case GT_COLL_SENDRECV:
		return 0;
	case GT_COLL_GATHER:
		return output ? peer : flow->rank;
	case GT_COLL_SCATTER:
		return output ? flow->rank : peer;
	default:
		return peer;
	}
}

static void gt_flow_send(struct gt_flow_lowering *flow, uint32_t peer)
{
	uint32_t tag = flow->to[peer], next = peer;
	struct gt_step_conns conns = {0};

	if (tag)
		next = flow->channel->paths[tag - 1].ranks[1];
	conns.send = gt_flow_connect(flow, next, 1, tag);
	gt_step_add(flow->program, GT_OP_SEND, conns,
		    gt_flow_chunk(flow, peer, 0))
		->pair = flow->rank * flow->n + peer;
}

static void gt_flow_recv(struct gt_flow_lowering *flow, uint32_t peer)
{
	uint32_t tag = flow->from[peer], last = peer;
	struct gt_step_conns conns = {0};

	if (tag) {
		const struct gt_plan_path *path =
			&flow->channel->paths[tag - 1];

		last = path->ranks[path->nranks - 2];
	}
	conns.recv = gt_flow_connect(flow, last, 0, tag);
	gt_step_add(flow->program, GT_OP_RECV, conns,
		    gt_flow_chunk(flow, peer, 1))
		->pair = peer * flow->n + flow->rank;
}

/*
 * The chunk that a block on its way is moved as: its own one, or where that
 * changes any that is as long.
 */
static uint32_t gt_flow_block(const struct gt_flow_lowering *flow,
			      const struct gt_plan_path *path)
{
	switch (flow->use.coll) {
	case GT_COLL_SENDRECV:
		return 0;
	case GT_COLL_GATHER:
		return path->ranks[0];
	default:
		return path->ranks[path->nranks - 1];
	}
}

static void gt_flow_relay(struct gt_flow_lowering *flow, uint32_t tag)
{
	const struct gt_plan_path *path = &flow->channel->paths[tag - 1];
	struct gt_step_conns conns;
	uint32_t k = 1;

	while (k + 1 < path->nranks && path->ranks[k] != flow->rank)
		k++;
	if (k + 1 >= path->nranks)
		return;
	conns.recv = gt_flow_connect(flow, path->ranks[k - 1], 0, tag);
	conns.send = gt_flow_connect(flow, path->ranks[k + 1], 1, tag);
	gt_step_add(flow->program, GT_OP_RECV_SEND, conns,
		    gt_flow_block(flow, path))
		->pair =
		path->ranks[0] * flow->n + path->ranks[path->nranks - 1];
}

/* Copy the block that stays at this rank, if there is one. */
static void gt_flow_keep(struct gt_flow_lowering *flow)
{
	enum gt_coll coll = flow->use.coll;

	if (coll == GT_COLL_ALLTOALL || flow->n == 1 ||
	    (coll != GT_COLL_SENDRECV && flow->rank == flow->use.root))
		gt_step_add(flow->program, GT_OP_COPY,
			    (struct gt_step_conns){0, 0},
			    gt_flow_chunk(flow, flow->rank, 0))
			->pair = flow->rank * flow->n + flow->rank;
}

static int gt_flow_wants(const struct gt_flow_lowering *flow, uint32_t from,
			 uint32_t to)
{
	return gt_plan_pair_units(flow->plan, flow->use.coll, from, to) > 0;
}

/*
 * The i-th peer, counted from the next rank on, so that not all ranks turn to
 * the same one.  Each channel begins with another, so that links to several are
 * in use.
 */
static uint32_t gt_flow_peer(const struct gt_flow_lowering *flow, uint32_t i)
{
	return (flow->rank + 1 + (i + flow->first_peer) % (flow->n - 1)) %
	       flow->n;
}

/*
 * The steps in an order in which nothing comes, where output and input are one,
 * before all is gone.
 */
static void gt_flow_steps(struct gt_flow_lowering *flow)
{
	uint32_t n = flow->n;

	gt_flow_keep(flow);
	for (uint32_t i = 0; i + 1 < n; i++)
		if (gt_flow_wants(flow, flow->rank, gt_flow_peer(flow, i)))
			gt_flow_send(flow, gt_flow_peer(flow, i));
	for (uint32_t p = 0; p < flow->channel->npaths; p++) {
		const struct gt_plan_path *path = &flow->channel->paths[p];

		if (gt_flow_wants(flow, path->ranks[0],
				  path->ranks[path->nranks - 1]))
			gt_flow_relay(flow, p + 1);
	}
	for (uint32_t i = n - 1; i-- > 0;)
		if (gt_flow_wants(flow, gt_flow_peer(flow, i), flow->rank))
			gt_flow_recv(flow, gt_flow_peer(flow, i));
}

/* Find the paths that begin and end at this rank. */
static void gt_flow_find(struct gt_flow_lowering *flow)
{
	for (uint32_t p = 0; p < flow->channel->npaths; p++) {
		const struct gt_plan_path *path = &flow->channel->paths[p];
		uint32_t first = path->ranks[0];
		uint32_t last = path->ranks[path->nranks - 1];

		if (first == flow->rank)
			flow->to[last] = p + 1;
		if (last == flow->rank)
			flow->from[first] = p + 1;
	}
}

int gt_lower_flow(const struct gt_lowering *l, struct gt_err *err)
{
	size_t n = l->plan->nranks, npaths = l->channel->npaths;
	struct gt_flow_lowering flow = {.plan = l->plan,
					.channel = l->channel,
					.use = l->want->use,
					.n = l->plan->nranks,
					.rank = l->want->rank,
					.first_peer = l->want->channel,
					.program = l->program};
	int rc;

	if (gt_coll_is_rooted(flow.use.coll) && flow.use.root != l->plan->root)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "channel %u: the flow is for root %u",
				  l->channel->id, l->plan->root);
	flow.to = gt_arena_array(l->arena, n, sizeof(*flow.to));
	flow.from = gt_arena_array(l->arena, n, sizeof(*flow.from));
	if (!flow.to || !flow.from)
		return gt_err_nomem(err);
	rc = gt_lower_alloc(l, 2 * n + npaths, 2 * (n + npaths), err);
	if (rc)
		return rc;
	gt_flow_find(&flow);
	gt_flow_steps(&flow);
	return GT_OK;
}
