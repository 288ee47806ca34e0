#include "plan/cost_net.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower.h"

/* Of the links of a route, the one that takes longest to answer. */
static enum gt_cost_hop gt_cost_kind(const struct gt_plan *plan,
				     const struct gt_plan_hop *route)
{
	enum gt_cost_hop worst = GT_COST_HOP_NVL;

	for (uint32_t i = 0; i < route->nroute; i++) {
		const char *kind = plan->links[route->route[i]].kind;

		for (int k = worst + 1; kind && k < GT_NCOSTHOPS; k++)
			if (!strcmp(kind, gt_cost_hop_name(k)))
				worst = k;
	}
	return worst;
}

static const struct gt_plan_hop *gt_cost_route(
	const struct gt_plan_channel *channel, uint32_t from, uint32_t to)
{
	for (uint32_t i = 0; i < channel->nhops; i++)
		if (channel->hops[i].from == from && channel->hops[i].to == to)
			return &channel->hops[i];
	return NULL;
}

static struct gt_cost_proc *gt_cost_find(struct gt_cost_net *net,
					 const struct gt_cost_proc *like,
					 uint32_t rank)
{
	/* All ranks of a lane stand together, in order. */
	return &net->procs[like - net->procs - like->program->rank + rank];
}

static int gt_cost_conn(const struct gt_cost_proc *proc, uint32_t peer,
			uint16_t tag, uint32_t *conn)
{
	const struct gt_program *program = proc->program;

	for (uint32_t i = 0; i < program->nconns; i++)
		if (!program->conns[i].sends &&
		    program->conns[i].peer == peer &&
		    program->conns[i].tag == tag) {
			*conn = i;
			return 1;
		}
	return 0;
}

/* Join a process's sending ends to the ends that receive. */
static int gt_cost_connect(struct gt_cost_net *net, struct gt_cost_proc *proc,
			   struct gt_err *err)
{
	const struct gt_program *program = proc->program;
	const struct gt_plan_channel *channel =
		&net->plan->channels[proc->channel];

	for (uint32_t i = 0; i < program->nconns; i++) {
		const struct gt_conn *conn = &program->conns[i];
		struct gt_cost_edge *edge = &net->edges[net->nedges];
		struct gt_cost_proc *peer;
		uint32_t end;

		if (!conn->sends)
			continue;
		peer = gt_cost_find(net, proc, conn->peer);
		edge->route = gt_cost_route(channel, program->rank, conn->peer);
		if (!edge->route ||
		    !gt_cost_conn(peer, program->rank, conn->tag, &end))
			return gt_err_set(err, GT_EINPUT, net->plan->file,
					  "channel %u: rank %u sends to rank "
					  "%u, but there is no such hop",
					  channel->id, program->rank,
					  conn->peer);
		edge->kind = gt_cost_kind(net->plan, edge->route);
		edge->from = (uint32_t)(proc - net->procs);
		edge->to = (uint32_t)(peer - net->procs);
		proc->edges[i] = peer->edges[end] = net->nedges++;
	}
	return GT_OK;
}

/* Processes in order of channel, lane, group and rank. */
static int gt_cost_lower(struct gt_cost_net *net,
			 const struct gt_plan_select *select, enum gt_coll coll,
			 struct gt_err *err)
{
	const struct gt_plan *plan = net->plan;
	uint32_t n = select->nchannels * plan->nranks, g = net->ngroups;
	struct gt_program *programs =
		gt_arena_array(net->arena, n, sizeof(*programs));
	int rc = GT_OK;

	net->nselected = select->nchannels;
	net->nprocs = n * g;
	net->selected = select->channels;
	net->procs =
		gt_arena_array(net->arena, net->nprocs, sizeof(*net->procs));
	if (!net->procs || !programs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n && !rc; i++) {
		uint32_t at = i / plan->nranks, rank = i % plan->nranks;
		uint32_t channel = select->channels[at];

		rc = gt_lower(plan, coll, rank, channel, net->arena,
			      &programs[i], err);
		for (uint32_t k = 0; k < g; k++)
			net->procs[(at * g + k) * plan->nranks + rank] =
				(struct gt_cost_proc){.program = &programs[i],
						      .channel = channel,
						      .group = k,
						      .selected = at};
	}
	return rc;
}

static int gt_cost_join(struct gt_cost_net *net, struct gt_err *err)
{
	size_t nconns = 0;
	int rc = GT_OK;

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
		rc = gt_cost_connect(net, &net->procs[i], err);
	return rc;
}

static int gt_cost_room(struct gt_cost_net *net, struct gt_err *err)
{
	size_t n = net->slots;

	net->link_free_us = gt_arena_array(net->arena, net->plan->nlinks,
					   sizeof(*net->link_free_us));
	net->link_busy_us = gt_arena_array(net->arena, net->plan->nlinks,
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
	net->slots *= GT_COST_TURN;
	net->ngroups = select->workers < GT_COST_GROUPS ? select->workers
							: GT_COST_GROUPS;
	rc = gt_cost_lower(net, select, coll, err);
	if (!rc)
		rc = gt_cost_join(net, err);
	return rc ? rc : gt_cost_room(net, err);
}
