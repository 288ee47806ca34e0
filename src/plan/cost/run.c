/*
 * A network executed in time, event by event: the process that can go on first
 * moves the next piece, and its posts let others go on.
 */
#include "plan/cost/network.h"

#include <string.h>

/* The moving of one piece by one step. */
struct gt_cost_move {
	double bytes;
	double begin_us, end_us;
};

static int gt_cost_before(const struct gt_cost_event *a,
			  const struct gt_cost_event *b)
{
	return a->time_us < b->time_us ||
	       (a->time_us == b->time_us && a->proc < b->proc);
}

static void gt_cost_push(struct gt_cost_net *net, uint32_t proc)
{
	struct gt_cost_event *heap = net->heap;
	struct gt_cost_event event = {net->procs[proc].time_us, proc};
	uint32_t at = net->heap_len++, up;

	while (at && gt_cost_before(&event, &heap[up = (at - 1) / 2])) {
		heap[at] = heap[up];
		at = up;
	}
	heap[at] = event;
	net->procs[proc].queued = 1;
}

static uint32_t gt_cost_pop(struct gt_cost_net *net)
{
	struct gt_cost_event *heap = net->heap;
	struct gt_cost_event last = heap[--net->heap_len];
	uint32_t first = heap[0].proc, at = 0, down;

	while ((down = 2 * at + 1) < net->heap_len) {
		if (down + 1 < net->heap_len &&
		    gt_cost_before(&heap[down + 1], &heap[down]))
			down++;
		if (!gt_cost_before(&heap[down], &last))
			break;
		heap[at] = heap[down];
		at = down;
	}
	heap[at] = last;
	net->procs[first].queued = 0;
	return first;
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

/* Queue the process if its step has all that it waits for. */
static void gt_cost_try(struct gt_cost_net *net, uint32_t p,
			const struct gt_cost_run *run)
{
	struct gt_cost_proc *proc = &net->procs[p];
	const struct gt_cost_op *op = &proc->ops[proc->op];
	double time_us = proc->time_us;

	if (proc->queued || proc->loop == run->loops || !proc->nops)
		return;
	for (uint32_t i = 0; i < op->nends; i++) {
		const struct gt_cost_end *end = &op->ends[i];

		if (end->waits &&
		    !gt_cost_awaits(net, &net->edges[proc->edges[end->conn]],
				    end->sends, &time_us))
			return;
	}
	proc->time_us = time_us;
	gt_cost_push(net, p);
}

const struct gt_cost_route *gt_cost_edge_route(const struct gt_cost_edge *edge,
					       uint32_t chunk)
{
	return &edge->routes[edge->nroutes > 1 ? chunk % edge->nroutes : 0];
}

/* Move bytes over all links of a hop, which pass them on as they come. */
static void gt_cost_transfer(struct gt_cost_net *net,
			     const struct gt_cost_edge *edge,
			     const struct gt_cost_run *run, uint32_t chunk,
			     struct gt_cost_move *move)
{
	const struct gt_cost_route *route = gt_cost_edge_route(edge, chunk);

	for (uint32_t i = 0; i < route->nlegs; i++) {
		uint32_t link = route->legs[i].link;
		double us = move->bytes * route->legs[i].us / run->params->rate;
		double end;

		net->link_busy_us[link] += us;
		end = gt_cost_serve(&net->link_free_us[link], move->begin_us,
				    us);
		if (move->end_us < end)
			move->end_us = end;
	}
}

/* Move what the step moves over links, and in the rank's memory. */
static void gt_cost_work(struct gt_cost_net *net,
			 const struct gt_cost_proc *proc,
			 const struct gt_cost_run *run,
			 struct gt_cost_move *move)
{
	const struct gt_cost_op *op = &proc->ops[proc->op];
	const struct gt_cost_slicing *slicing = &run->slicings[proc->selected];
	double end;

	for (uint32_t i = 0; i < op->nends; i++)
		if (op->ends[i].moves)
			gt_cost_transfer(
				net, &net->edges[proc->edges[op->ends[i].conn]],
				run, op->chunk, move);
	end = gt_cost_serve(
		&net->local_free_us[proc->program->rank], move->begin_us,
		op->nlocal * move->bytes / 1e3 / run->params->local_gbs);
	if (move->end_us < end)
		move->end_us = end;
	end = move->begin_us +
	      move->bytes * run->ngroups / 1e3 /
		      (slicing->workers * run->params->worker_gbs);
	if (move->end_us < end)
		move->end_us = end;
}

static void gt_cost_take(struct gt_cost_net *net, struct gt_cost_edge *edge,
			 int sends)
{
	if (!sends)
		edge->read++;
	else if (edge->written - edge->taken == net->slots)
		edge->taken++;
}

/*
 * Tell the other ends of the step's FIFOs, so that they go on if that was all
 * they lacked.
 */
static void gt_cost_post(struct gt_cost_net *net, uint32_t p,
			 const struct gt_cost_run *run, double now_us)
{
	struct gt_cost_proc *proc = &net->procs[p];
	const struct gt_cost_op *op = &proc->ops[proc->op];

	for (uint32_t i = 0; i < op->nends; i++) {
		const struct gt_cost_end *end = &op->ends[i];
		struct gt_cost_edge *edge = &net->edges[proc->edges[end->conn]];
		double seen_us = now_us + run->params->hop_us[edge->kind];

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

/* Go on to the next piece, else the next step, else the next loop. */
static void gt_cost_advance(struct gt_cost_proc *proc, struct gt_cost_run *run)
{
	if (++proc->piece < run->slicings[proc->selected].pieces)
		return;
	proc->piece = 0;
	if (++proc->op < proc->nops)
		return;
	proc->op = 0;
	if (run->end_us[proc->loop] < proc->time_us)
		run->end_us[proc->loop] = proc->time_us;
	proc->loop++;
}

static void gt_cost_step(struct gt_cost_net *net, uint32_t p,
			 struct gt_cost_run *run)
{
	struct gt_cost_proc *proc = &net->procs[p];
	const struct gt_cost_op *op = &proc->ops[proc->op];
	struct gt_cost_move move = {
		.bytes = run->slicings[proc->selected].piece_bytes /
			 run->ngroups,
		.begin_us = proc->time_us,
		.end_us = proc->time_us,
	};

	gt_cost_work(net, proc, run, &move);
	gt_cost_post(net, p, run, move.end_us);
	proc->time_us = move.end_us;
	gt_cost_advance(proc, run);
	gt_cost_try(net, p, run);
	for (uint32_t i = 0; i < op->nends; i++) {
		const struct gt_cost_edge *edge =
			&net->edges[proc->edges[op->ends[i].conn]];

		gt_cost_try(net, edge->from == p ? edge->to : edge->from, run);
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
		proc->queued = 0;
		/*
		 * A process is idle when it has no steps, or when nothing of
		 * the message is its own.
		 */
		if (!proc->nops || proc->group >= run->ngroups ||
		    !run->slicings[proc->selected].pieces)
			proc->loop = run->loops;
	}
}

void gt_cost_net_run(struct gt_cost_net *net, struct gt_cost_run *run)
{
	gt_cost_reset(net, run);
	memset(run->end_us, 0, sizeof(run->end_us));
	for (uint32_t i = 0; i < net->nprocs; i++)
		gt_cost_try(net, i, run);
	while (net->heap_len)
		gt_cost_step(net, gt_cost_pop(net), run);
}
