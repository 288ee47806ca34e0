/*
 * The network of one row: programs are lowered for all ranks, reduced to what
 * takes time, and joined by edges that know their links.
 */
#include "plan/cost/network.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/ir/demand.h"
#include "plan/lower/lower.h"
#include "plan/lower/step.h"

/*
 * What joining the programs takes for a while.  Processes of the first group of
 * workers stand for those of all groups.
 */
struct gt_cost_joint {
	struct gt_cost_net *net;
	enum gt_coll coll;
	struct gt_arena *arena;
	struct gt_program *programs; /* by channel, lane and rank */
	uint32_t nprograms;
	uint32_t **edges; /* by program and connection */
};

/* All ranks of a group stand together, in order, as do the groups of a lane. */
static uint32_t gt_cost_place(const struct gt_cost_net *net, uint32_t program)
{
	uint32_t n = net->plan->nranks;

	return program / n * n * net->ngroups + program % n;
}

/*
 * Find the program that receives what another one sends on a connection, on any
 * lane of the peer; *end becomes its connection.
 */
static uint32_t gt_cost_find(const struct gt_cost_joint *j, uint32_t sender,
			     const struct gt_conn *conn, uint32_t *end)
{
	uint32_t n = j->net->plan->nranks, all = j->net->nlanes * n;
	uint32_t at = sender / all * all + conn->peer;

	for (uint32_t last = at + all; at < last; at += n) {
		const struct gt_program *program = &j->programs[at];

		for (uint32_t i = 0; i < program->nconns; i++) {
			const struct gt_conn *other = &program->conns[i];

			*end = i;
			if (!other->sends && other->tag == conn->tag &&
			    other->peer == j->programs[sender].rank)
				return at;
		}
	}
	return UINT32_MAX;
}

/* Join a program's sending ends to the ends that receive. */
static int gt_cost_connect(const struct gt_cost_joint *j,
			   const struct gt_cost_routes *routes, uint32_t p,
			   struct gt_err *err)
{
	const struct gt_program *program = &j->programs[p];
	struct gt_cost_net *net = j->net;
	int rc = GT_OK;

	for (uint32_t i = 0; i < program->nconns && !rc; i++) {
		const struct gt_conn *conn = &program->conns[i];
		struct gt_cost_edge *edge = &net->edges[net->nedges];
		uint32_t peer, end;

		if (!conn->sends)
			continue;
		peer = gt_cost_find(j, p, conn, &end);
		if (peer == UINT32_MAX)
			return gt_err_set(err, GT_EINPUT, net->plan->file,
					  "rank %u sends to rank %u, which "
					  "does not receive",
					  program->rank, conn->peer);
		edge->tag = conn->tag;
		edge->from = gt_cost_place(net, p);
		edge->to = gt_cost_place(net, peer);
		j->edges[p][i] = j->edges[peer][end] = net->nedges++;
		rc = gt_cost_routes_find(routes, program->channel,
					 program->rank, conn->peer, edge, err);
	}
	return rc;
}

static struct gt_cost_end gt_cost_end_of(const struct gt_step *step, uint32_t i)
{
	const struct gt_operand *operand = gt_step_operand(step, i);
	int sends = i >= step->nsrc, buf = operand->buf;

	return (struct gt_cost_end){
		.sends = (uint8_t)sends,
		.waits = (operand->flags & GT_OPERAND_WAIT) != 0,
		.posts = (operand->flags & GT_OPERAND_POST) != 0,
		.moves = buf != GT_BUF_NONE && (sends || buf != GT_BUF_FIFO),
	};
}

static uint32_t gt_cost_noperands(const struct gt_step *step)
{
	return (uint32_t)step->nsrc + step->ndst;
}

/* The number of a program's steps; *nends becomes that of their remote ends. */
static uint32_t gt_cost_count(const struct gt_program *program, size_t *nends)
{
	const struct gt_step *step = program->steps;
	uint32_t n = 0;

	*nends = 0;
	for (; step < program->steps + program->nsteps;
	     step += gt_step_nrecords(step), n++)
		for (uint32_t i = 0; i < gt_cost_noperands(step); i++)
			*nends += gt_operand_is_remote(
					  gt_step_operand(step, i)) != 0;
	return n;
}

/* Reduce a step to what takes time; its ends are put where op->ends is. */
static void gt_cost_reduce(const struct gt_step *step, const uint32_t *edges,
			   struct gt_cost_end *ends, struct gt_cost_op *op)
{
	op->ends = ends;
	for (uint32_t i = 0; i < gt_cost_noperands(step); i++) {
		const struct gt_operand *operand = gt_step_operand(step, i);
		struct gt_cost_end end = gt_cost_end_of(step, i);
		int remote = gt_operand_is_remote(operand);

		if (!remote || (!end.moves && operand->buf != GT_BUF_NONE))
			op->nlocal++;
		if (!remote)
			continue;
		end.edge = edges[operand->conn];
		ends[op->nends++] = end;
	}
}

/* What the step's pair has of the largest block; 1 where all are alike. */
static double gt_cost_scale(const struct gt_cost_joint *j,
			    const struct gt_step *step)
{
	const struct gt_plan *plan = j->net->plan;

	if (!gt_plan_blocks_differ(plan, j->coll))
		return 1;
	return (double)plan->demand->bytes[step->pair] /
	       (double)plan->demand->largest;
}

/* The operations of a program, and the process that executes them. */
static int gt_cost_proc_init(const struct gt_cost_joint *j, uint32_t p,
			     struct gt_cost_proc *proc)
{
	const struct gt_program *program = &j->programs[p];
	struct gt_cost_net *net = j->net;
	const struct gt_plan *plan = net->plan;
	int hier = plan->channels[program->channel].templates != NULL;
	uint32_t nroutes = hier ? plan->cluster->nlocal : 1;
	const struct gt_step *step = program->steps;
	size_t nends;
	uint32_t nops = gt_cost_count(program, &nends);
	struct gt_cost_op *ops = gt_arena_array(net->arena, nops, sizeof(*ops));
	struct gt_cost_end *ends =
		gt_arena_array(net->arena, nends, sizeof(*ends));

	if (!ops || !ends)
		return 0;
	for (uint32_t i = 0; i < nops; i++) {
		gt_cost_reduce(step, j->edges[p], ends, &ops[i]);
		ops[i].route = step->chunk % nroutes;
		ops[i].scale = gt_cost_scale(j, step);
		ends += ops[i].nends;
		step += gt_step_nrecords(step);
		if (net->nlocal <= ops[i].nlocal)
			net->nlocal = ops[i].nlocal + 1;
	}
	proc->ops = ops;
	proc->nops = nops;
	return 1;
}

/* Lower all programs. */
static int gt_cost_lower(struct gt_cost_joint *j,
			 const struct gt_plan_select *select, enum gt_coll coll,
			 struct gt_err *err)
{
	const struct gt_plan *plan = j->net->plan;
	struct gt_lower_query want = {.use = {coll, select->algo, plan->root}};
	uint32_t nlanes = gt_lower_lanes(plan, &want.use);
	int rc = GT_OK;

	j->net->nlanes = nlanes;
	j->net->nselected = select->nchannels;
	j->net->selected = select->channels;
	j->nprograms = select->nchannels * nlanes * plan->nranks;
	j->programs =
		gt_arena_array(j->arena, j->nprograms, sizeof(*j->programs));
	if (!j->programs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < j->nprograms && !rc; i++) {
		uint32_t at = i / plan->nranks;

		want.rank = i % plan->nranks;
		want.lane = at % nlanes;
		want.channel = select->channels[at / nlanes];
		rc = gt_lower(plan, &want, j->arena, &j->programs[i], err);
	}
	return rc;
}

/* Connect all programs: the edges of the first group of workers. */
static int gt_cost_join(struct gt_cost_joint *j, struct gt_err *err)
{
	struct gt_cost_net *net = j->net;
	struct gt_cost_routes *routes;
	size_t nedges = 0;
	int rc = gt_cost_routes_new(net->plan, net->arena, &routes, err);

	if (rc)
		return rc;
	net->nlinks = gt_cost_routes_nlinks(routes);
	j->edges = gt_arena_array(j->arena, j->nprograms, sizeof(*j->edges));
	if (!j->edges)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < j->nprograms; i++) {
		uint32_t n = j->programs[i].nconns;

		j->edges[i] = gt_arena_array(j->arena, n, sizeof(uint32_t));
		if (!j->edges[i])
			return gt_err_nomem(err);
		while (n--)
			nedges += j->programs[i].conns[n].sends;
	}
	net->edges = gt_arena_array(net->arena, nedges * net->ngroups,
				    sizeof(*net->edges));
	if (!net->edges)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < j->nprograms && !rc; i++)
		rc = gt_cost_connect(j, routes, i, err);
	return rc;
}

/* Processes and edges of the other groups are those of the first once more. */
static void gt_cost_groups(struct gt_cost_net *net, uint32_t nedges)
{
	uint32_t n = net->plan->nranks;

	for (uint32_t i = 0; i < net->nprocs; i++) {
		uint32_t group = i / n % net->ngroups;
		struct gt_cost_proc *proc = &net->procs[i];

		*proc = net->procs[i - group * n];
		proc->group = group;
		proc->edges = net->edges + (size_t)group * nedges;
	}
	for (uint32_t i = nedges; i < net->nedges; i++) {
		struct gt_cost_edge *edge = &net->edges[i];

		*edge = net->edges[i % nedges];
		edge->from += i / nedges * n;
		edge->to += i / nedges * n;
	}
}

/*
 * Make the processes.  They are in order of channel, lane, group and rank.
 */
static int gt_cost_procs(struct gt_cost_joint *j, struct gt_err *err)
{
	struct gt_cost_net *net = j->net;
	uint32_t nedges = net->nedges;

	net->nprocs = j->nprograms * net->ngroups;
	net->procs =
		gt_arena_array(net->arena, net->nprocs, sizeof(*net->procs));
	if (!net->procs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < j->nprograms; i++) {
		struct gt_cost_proc *proc = &net->procs[gt_cost_place(net, i)];

		proc->rank = j->programs[i].rank;
		proc->selected = i / net->plan->nranks / net->nlanes;
		if (!gt_cost_proc_init(j, i, proc))
			return gt_err_nomem(err);
	}
	net->nedges *= net->ngroups;
	gt_cost_groups(net, nedges);
	return GT_OK;
}

static int gt_cost_paces(struct gt_cost_net *net, struct gt_err *err)
{
	net->paces =
		gt_arena_array(net->arena, net->nselected, sizeof(*net->paces));
	if (!net->paces)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < net->nselected; i++) {
		net->paces[i].local_us =
			gt_arena_array(net->arena, net->nlocal, sizeof(double));
		if (!net->paces[i].local_us)
			return gt_err_nomem(err);
	}
	return GT_OK;
}

static int gt_cost_room(struct gt_cost_net *net, struct gt_err *err)
{
	size_t n = net->mask + (size_t)1;
	double *times =
		gt_arena_array(net->arena, 2 * n * net->nedges, sizeof(*times));

	net->link_free_us = gt_arena_array(net->arena, net->nlinks,
					   sizeof(*net->link_free_us));
	net->link_busy_us = gt_arena_array(net->arena, net->nlinks,
					   sizeof(*net->link_busy_us));
	net->local_free_us = gt_arena_array(net->arena, net->plan->nranks,
					    sizeof(*net->local_free_us));
	net->heap = gt_arena_array(net->arena, net->nprocs, sizeof(*net->heap));
	if (!net->link_free_us || !net->link_busy_us || !net->local_free_us ||
	    !net->heap || !times)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < net->nedges; i++) {
		net->edges[i].data_us = times + 2 * n * i;
		net->edges[i].credit_us = times + 2 * n * i + n;
	}
	return gt_cost_paces(net, err);
}

int gt_cost_net_init(struct gt_cost_net *net, const struct gt_plan *plan,
		     uint32_t row, enum gt_coll coll, struct gt_arena *arena,
		     struct gt_err *err)
{
	const struct gt_plan_select *select = &plan->select[row];
	struct gt_cost_joint joint = {
		.net = net, .coll = coll, .arena = gt_arena_new()};
	int rc;

	if (!joint.arena)
		return gt_err_nomem(err);
	memset(net, 0, sizeof(*net));
	net->plan = plan;
	net->arena = arena;
	net->slots = select->slots ? select->slots : plan->fifo_slots;
	net->slots *= GT_COST_PIECES;
	while (net->mask < net->slots)
		net->mask = 2 * net->mask + 1;
	net->ngroups = select->workers < GT_COST_GROUPS ? select->workers
							: GT_COST_GROUPS;
	rc = gt_cost_lower(&joint, select, coll, err);
	if (!rc)
		rc = gt_cost_join(&joint, err);
	if (!rc)
		rc = gt_cost_procs(&joint, err);
	if (!rc)
		rc = gt_cost_room(net, err);
	gt_arena_free(joint.arena);
	return rc;
}
