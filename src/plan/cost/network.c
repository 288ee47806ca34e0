/*
 * The network of one row: programs are lowered for all ranks, reduced to what
 * takes time, and joined by edges that know their links.
 */
#include "plan/cost/network.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower/lower.h"
#include "plan/lower/step.h"

/*
 * Find the process that receives what another one sends on a connection, on any
 * lane of the peer; *end becomes its connection.  All ranks of a group stand
 * together, in order, as do the groups of a lane, and the lanes of a channel.
 */
static struct gt_cost_proc *gt_cost_find(struct gt_cost_net *net,
					 const struct gt_cost_proc *like,
					 const struct gt_conn *conn,
					 uint32_t *end)
{
	uint32_t n = net->plan->nranks, step = n * net->ngroups;
	uint32_t at = like->selected * net->nlanes * step + like->group * n;

	for (uint32_t lane = 0; lane < net->nlanes; lane++) {
		struct gt_cost_proc *proc =
			&net->procs[at + lane * step + conn->peer];
		const struct gt_conn *conns = proc->program->conns;

		for (uint32_t i = 0; i < proc->program->nconns; i++) {
			*end = i;
			if (!conns[i].sends && conns[i].tag == conn->tag &&
			    conns[i].peer == like->program->rank)
				return proc;
		}
	}
	return NULL;
}

/* Join a process's sending ends to the ends that receive. */
static int gt_cost_connect(struct gt_cost_net *net,
			   const struct gt_cost_routes *routes,
			   struct gt_cost_proc *proc, struct gt_err *err)
{
	const struct gt_program *program = proc->program;

	for (uint32_t i = 0; i < program->nconns; i++) {
		const struct gt_conn *conn = &program->conns[i];
		struct gt_cost_edge *edge = &net->edges[net->nedges];
		struct gt_cost_proc *peer;
		uint32_t end;
		int rc;

		if (!conn->sends)
			continue;
		peer = gt_cost_find(net, proc, conn, &end);
		if (!peer)
			return gt_err_set(err, GT_EINPUT, net->plan->file,
					  "rank %u sends to rank %u, which "
					  "does not receive",
					  program->rank, conn->peer);
		edge->tag = conn->tag;
		rc = gt_cost_routes_find(routes, proc->channel, program->rank,
					 conn->peer, edge, err);
		if (rc)
			return rc;
		edge->from = (uint32_t)(proc - net->procs);
		edge->to = (uint32_t)(peer - net->procs);
		proc->edges[i] = peer->edges[end] = net->nedges++;
	}
	return GT_OK;
}

static struct gt_cost_end gt_cost_end_of(const struct gt_step *step, uint32_t i)
{
	const struct gt_operand *operand = gt_step_operand(step, i);
	int sends = i >= step->nsrc, buf = operand->buf;

	return (struct gt_cost_end){
		.conn = operand->conn,
		.sends = (uint8_t)sends,
		.waits = (operand->flags & GT_OPERAND_WAIT) != 0,
		.posts = (operand->flags & GT_OPERAND_POST) != 0,
		.moves = buf != GT_BUF_NONE && (sends || buf != GT_BUF_FIFO),
	};
}

/*
 * Reduce a program's steps to what takes time.  The result is 0 when memory ran
 * out.
 */
static int gt_cost_ops(const struct gt_program *program, struct gt_arena *arena,
		       struct gt_cost_proc *proc)
{
	uint32_t nends = 0;
	struct gt_cost_op *ops =
		gt_arena_array(arena, program->nsteps, sizeof(*ops));
	struct gt_cost_end *ends = gt_arena_array(
		arena, program->nsteps * GT_STEP_OPERANDS, sizeof(*ends));

	if (!ops || !ends)
		return 0;
	proc->ops = ops;
	for (uint32_t at = 0; at < program->nsteps;) {
		const struct gt_step *step = &program->steps[at];
		struct gt_cost_op *op = &ops[proc->nops++];

		op->chunk = step->chunk;
		op->ends = &ends[nends];
		for (uint32_t i = 0; i < (uint32_t)step->nsrc + step->ndst;
		     i++) {
			const struct gt_operand *operand =
				gt_step_operand(step, i);

			ends[nends] = gt_cost_end_of(step, i);
			if (!gt_operand_is_remote(operand) ||
			    (!ends[nends].moves && operand->buf != GT_BUF_NONE))
				op->nlocal++;
			if (gt_operand_is_remote(operand))
				nends++;
		}
		op->nends = (uint32_t)(&ends[nends] - op->ends);
		at += gt_step_nrecords(step);
	}
	return 1;
}

/*
 * Lower all programs.  Processes are in order of channel, lane, group and rank.
 */
static int gt_cost_lower(struct gt_cost_net *net,
			 const struct gt_plan_select *select, enum gt_coll coll,
			 struct gt_err *err)
{
	const struct gt_plan *plan = net->plan;
	struct gt_lower_query want = {.use = {coll, select->algo, plan->root}};
	uint32_t n, g = net->ngroups;
	struct gt_program *programs;
	struct gt_cost_proc proc;
	int rc = GT_OK;

	net->nlanes = gt_lower_lanes(plan, &want.use);
	n = select->nchannels * net->nlanes * plan->nranks;
	programs = gt_arena_array(net->arena, n, sizeof(*programs));
	net->nselected = select->nchannels;
	net->nprocs = n * g;
	net->selected = select->channels;
	net->procs =
		gt_arena_array(net->arena, net->nprocs, sizeof(*net->procs));
	if (!net->procs || !programs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n && !rc; i++) {
		uint32_t at = i / plan->nranks;

		want.rank = i % plan->nranks;
		want.lane = at % net->nlanes;
		want.channel = select->channels[at / net->nlanes];
		proc = (struct gt_cost_proc){.program = &programs[i],
					     .channel = want.channel,
					     .selected = at / net->nlanes};
		rc = gt_lower(plan, &want, net->arena, &programs[i], err);
		if (!rc && !gt_cost_ops(&programs[i], net->arena, &proc))
			rc = gt_err_nomem(err);
		for (; proc.group < g; proc.group++)
			net->procs[(at * g + proc.group) * plan->nranks +
				   want.rank] = proc;
	}
	return rc;
}

static int gt_cost_join(struct gt_cost_net *net, struct gt_err *err)
{
	struct gt_cost_routes *routes;
	size_t nconns = 0;
	int rc = gt_cost_routes_new(net->plan, net->arena, &routes, err);

	if (rc)
		return rc;
	net->nlinks = gt_cost_routes_nlinks(routes);

	for (uint32_t i = 0; i < net->nprocs; i++)
		nconns += net->procs[i].program->nconns;
	net->edges = gt_arena_array(net->arena, nconns, sizeof(*net->edges));
	if (!net->edges)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < net->nprocs && !rc; i++) {
		struct gt_cost_proc *proc = &net->procs[i];

		proc->edges = gt_arena_array(net->arena, proc->program->nconns,
					     sizeof(*proc->edges));
		if (!proc->edges)
			return gt_err_nomem(err);
	}
	for (uint32_t i = 0; i < net->nprocs && !rc; i++)
		rc = gt_cost_connect(net, routes, &net->procs[i], err);
	return rc;
}

static int gt_cost_room(struct gt_cost_net *net, struct gt_err *err)
{
	size_t n = net->mask + (size_t)1;

	net->link_free_us = gt_arena_array(net->arena, net->nlinks,
					   sizeof(*net->link_free_us));
	net->link_busy_us = gt_arena_array(net->arena, net->nlinks,
					   sizeof(*net->link_busy_us));
	net->local_free_us = gt_arena_array(net->arena, net->plan->nranks,
					    sizeof(*net->local_free_us));
	net->heap = gt_arena_array(net->arena, net->nprocs, sizeof(*net->heap));
	if (!net->link_free_us || !net->link_busy_us || !net->local_free_us ||
	    !net->heap)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < net->nedges; i++) {
		double *times =
			gt_arena_array(net->arena, 2 * n, sizeof(*times));

		if (!times)
			return gt_err_nomem(err);
		net->edges[i].data_us = times;
		net->edges[i].credit_us = times + n;
	}
	return GT_OK;
}

int gt_cost_net_init(struct gt_cost_net *net, const struct gt_plan *plan,
		     uint32_t row, enum gt_coll coll, struct gt_arena *arena,
		     struct gt_err *err)
{
	const struct gt_plan_select *select = &plan->select[row];
	int rc;

	memset(net, 0, sizeof(*net));
	net->plan = plan;
	net->arena = arena;
	net->slots = select->slots ? select->slots : plan->fifo_slots;
	net->slots *= GT_COST_PIECES;
	while (net->mask < net->slots)
		net->mask = 2 * net->mask + 1;
	net->ngroups = select->workers < GT_COST_GROUPS ? select->workers
							: GT_COST_GROUPS;
	rc = gt_cost_lower(net, select, coll, err);
	if (!rc)
		rc = gt_cost_join(net, err);
	return rc ? rc : gt_cost_room(net, err);
}
