/*
 * A network executed in time, event by event: the process that can go on first
 * moves the next piece, and its posts let others go on.
 */
#include "plan/cost/network.h"

#include <string.h>

#include "base/err.h"
#include "plan/ir/plan.h"

/*
 * Events are ordered by time, and those at one time by process, so that it does
 * not matter in which order they are queued.  Which one is first is as good as
 * random; that is why this does not branch.
 */
static uint32_t gt_cost_before(const struct gt_cost_event *a,
			       const struct gt_cost_event *b)
{
	return (uint32_t)(a->time_us < b->time_us) |
	       ((uint32_t)(a->time_us == b->time_us) &
		(uint32_t)(a->proc < b->proc));
}

/* Put an event at `at` or above, where the heap has a hole. */
static void gt_cost_raise(struct gt_cost_net *net, uint32_t at,
			  struct gt_cost_event event)
{
	struct gt_cost_event *heap = net->heap;

	while (at && gt_cost_before(&event, &heap[(at - 1) / 2])) {
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = event;
}

static void gt_cost_push(struct gt_cost_net *net, uint32_t proc)
{
	struct gt_cost_event event = {net->procs[proc].time_us, proc};

	gt_cost_raise(net, net->heap_len++, event);
}

/*
 * Put an event in place of the first one.  It is most likely among the last, so
 * the hole goes down first.
 */
static void gt_cost_replace(struct gt_cost_net *net, struct gt_cost_event event)
{
	struct gt_cost_event *heap = net->heap;
	uint32_t at = 0, down = 2;

	for (; down < net->heap_len; down = 2 * at + 2) {
		down -= gt_cost_before(&heap[down - 1], &heap[down]);
		heap[at] = heap[down];
		at = down;
	}
	if (down == net->heap_len) {
		heap[at] = heap[down - 1];
		at = down - 1;
	}
	gt_cost_raise(net, at, event);
}

/*
 * A server that is busy until *free_us serves in order; the result is when it
 * has served this, which came at `at`.
 */
static double gt_cost_serve(double *free_us, double at, double us)
{
	if (*free_us < at)
		*free_us = at;
	return *free_us += us;
}

/* Can the operand be used, and when?  The result is 0 when nobody knows yet. */
static int gt_cost_awaits(const struct gt_cost_net *net,
			  const struct gt_cost_edge *edge, int sends,
			  double *time_us)
{
	double at = 0;

	if (sends && edge->written - edge->taken < net->slots)
		return 1;
	if (sends && edge->freed == edge->taken)
		return 0;
	if (!sends && edge->written == edge->read)
		return 0;
	at = sends ? edge->credit_us[edge->taken & net->mask]
		   : edge->data_us[edge->read & net->mask];
	if (*time_us < at)
		*time_us = at;
	return 1;
}

/*
 * Does the process's step have all that it waits for?  If not, the process
 * keeps what it lacks.
 */
static int gt_cost_try(const struct gt_cost_net *net, struct gt_cost_proc *proc)
{
	const struct gt_cost_op *op = &proc->ops[proc->op];
	double time_us = proc->time_us;

	for (uint32_t i = 0; i < op->nends; i++) {
		const struct gt_cost_end *end = &op->ends[i];
		const struct gt_cost_edge *edge = &proc->edges[end->edge];

		if (end->waits &&
		    !gt_cost_awaits(net, edge, end->sends, &time_us)) {
			proc->lacks = edge;
			return 0;
		}
	}
	proc->lacks = NULL;
	proc->time_us = time_us;
	return 1;
}

/*
 * Move bytes over all links of a hop, which pass them on as they come, from
 * begin_us on.  The result is when that is done, or end_us if that is later.
 */
static double gt_cost_transfer(struct gt_cost_net *net,
			       const struct gt_cost_route *route, double bytes,
			       const struct gt_cost_params *params,
			       double begin_us, double end_us)
{
	for (uint32_t i = 0; i < route->nlegs; i++) {
		const struct gt_cost_leg *leg = &route->legs[i];
		uint32_t link = leg->link;
		double us = bytes * leg->us / gt_cost_leg_rate(leg, params);
		double end;

		net->link_busy_us[link] += us;
		end = gt_cost_serve(&net->link_free_us[link], begin_us, us);
		if (end_us < end)
			end_us = end;
	}
	return end_us;
}

/*
 * Move what the step moves over links, and in the rank's memory; the result is
 * when that is done.
 */
static double gt_cost_work(struct gt_cost_net *net,
			   const struct gt_cost_proc *proc,
			   const struct gt_cost_op *op,
			   const struct gt_cost_params *params)
{
	const struct gt_cost_pace *pace = &net->paces[proc->selected];
	double begin_us = proc->time_us, end_us = begin_us, end;

	for (uint32_t i = 0; i < op->nends; i++) {
		const struct gt_cost_edge *edge =
			&proc->edges[op->ends[i].edge];

		if (op->ends[i].moves)
			end_us = gt_cost_transfer(net,
						  gt_cost_edge_route(edge, op),
						  pace->bytes * op->scale,
						  params, begin_us, end_us);
	}
	end = gt_cost_serve(&net->local_free_us[proc->rank], begin_us,
			    pace->local_us[op->nlocal] * op->scale);
	if (end_us < end)
		end_us = end;
	end = begin_us + pace->worker_us * op->scale;
	return end_us < end ? end : end_us;
}

static void gt_cost_take(const struct gt_cost_net *net,
			 struct gt_cost_edge *edge, int sends)
{
	if (!sends)
		edge->read++;
	else if (edge->written - edge->taken == net->slots)
		edge->taken++;
}

/* Tell the other ends of the step's FIFOs. */
static void gt_cost_post(const struct gt_cost_net *net,
			 const struct gt_cost_proc *proc,
			 const struct gt_cost_op *op, const double *hop_us)
{
	for (uint32_t i = 0; i < op->nends; i++) {
		const struct gt_cost_end *end = &op->ends[i];
		struct gt_cost_edge *edge = &proc->edges[end->edge];
		double seen_us = proc->time_us + hop_us[edge->kind];

		if (end->waits)
			gt_cost_take(net, edge, end->sends);
		if (!end->posts)
			continue;
		if (end->sends)
			edge->data_us[edge->written++ & net->mask] = seen_us;
		else
			edge->credit_us[edge->freed++ & net->mask] = seen_us;
	}
}

/* Queue the processes that go on with what a step has posted. */
static void gt_cost_wake(struct gt_cost_net *net,
			 const struct gt_cost_edge *edges,
			 const struct gt_cost_op *op)
{
	for (uint32_t i = 0; i < op->nends; i++) {
		const struct gt_cost_edge *edge = &edges[op->ends[i].edge];
		uint32_t p = op->ends[i].sends ? edge->to : edge->from;

		if (net->procs[p].lacks == edge &&
		    gt_cost_try(net, &net->procs[p]))
			gt_cost_push(net, p);
	}
}

/*
 * Go on to the next piece, else the next step, else the next loop; the result
 * is 0 when that was the last one.
 */
static int gt_cost_advance(const struct gt_cost_net *net,
			   struct gt_cost_proc *proc, struct gt_cost_run *run)
{
	if (++proc->piece < net->paces[proc->selected].pieces)
		return 1;
	proc->piece = 0;
	if (++proc->op < proc->nops)
		return 1;
	proc->op = 0;
	if (run->end_us[proc->loop] < proc->time_us)
		run->end_us[proc->loop] = proc->time_us;
	return ++proc->loop < run->loops;
}

/* Execute the first event. */
static void gt_cost_step(struct gt_cost_net *net, struct gt_cost_run *run)
{
	uint32_t p = net->heap[0].proc;
	struct gt_cost_proc *proc = &net->procs[p];
	const struct gt_cost_op *op = &proc->ops[proc->op];

	proc->time_us = gt_cost_work(net, proc, op, run->params);
	gt_cost_post(net, proc, op, run->params->hop_us);
	if (gt_cost_advance(net, proc, run) && gt_cost_try(net, proc))
		gt_cost_replace(net, (struct gt_cost_event){proc->time_us, p});
	else
		gt_cost_replace(net, net->heap[--net->heap_len]);
	gt_cost_wake(net, proc->edges, op);
}

/* Work out what is the same for all pieces of a channel. */
static void gt_cost_set_paces(const struct gt_cost_net *net,
			      const struct gt_cost_run *run)
{
	for (uint32_t i = 0; i < net->nselected; i++) {
		const struct gt_cost_slicing *slicing = &run->slicings[i];
		struct gt_cost_pace *pace = &net->paces[i];

		pace->pieces = slicing->pieces;
		pace->bytes = slicing->piece_bytes / run->ngroups;
		pace->worker_us = pace->bytes * run->ngroups / 1e3 /
				  (slicing->workers * run->params->worker_gbs);
		for (uint32_t n = 0; n < net->nlocal; n++)
			pace->local_us[n] =
				n * pace->bytes / 1e3 / run->params->local_gbs;
	}
}

static void gt_cost_reset(struct gt_cost_net *net,
			  const struct gt_cost_run *run)
{
	for (uint32_t i = 0; i < net->nlinks; i++)
		net->link_free_us[i] = net->link_busy_us[i] = 0;
	for (uint32_t i = 0; i < net->plan->nranks; i++)
		net->local_free_us[i] = 0;
	for (uint32_t i = 0; i < net->nedges; i++) {
		struct gt_cost_edge *edge = &net->edges[i];

		edge->written = edge->read = edge->freed = edge->taken = 0;
	}
	net->heap_len = 0;
	for (uint32_t i = 0; i < net->nprocs; i++) {
		struct gt_cost_proc *proc = &net->procs[i];

		proc->loop = proc->piece = proc->op = 0;
		proc->time_us = 0;
		proc->lacks = NULL;
		/*
		 * A process is idle when it has no steps, or when nothing of
		 * the message is its own.
		 */
		if (!proc->nops || proc->group >= run->ngroups ||
		    !run->slicings[proc->selected].pieces)
			proc->loop = run->loops;
	}
}

/* Whoever still waits when nobody can go on does so in a circle. */
static int gt_cost_is_stuck(const struct gt_cost_net *net)
{
	for (uint32_t i = 0; i < net->nprocs; i++)
		if (net->procs[i].lacks)
			return 1;
	return 0;
}

int gt_cost_net_run(struct gt_cost_net *net, struct gt_cost_run *run,
		    struct gt_err *err)
{
	gt_cost_reset(net, run);
	gt_cost_set_paces(net, run);
	memset(run->end_us, 0, sizeof(run->end_us));
	for (uint32_t i = 0; i < net->nprocs; i++)
		if (net->procs[i].loop < run->loops &&
		    gt_cost_try(net, &net->procs[i]))
			gt_cost_push(net, i);
	while (net->heap_len)
		gt_cost_step(net, run);
	if (gt_cost_is_stuck(net))
		return gt_err_set(err, GT_ENO, net->plan->file,
				  "deadlock: ranks wait for each other; "
				  "gtopo verify says where");
	return GT_OK;
}
