/*
 * Paths of an all-to-all with what they load, and the rate that channels of
 * paths reach.
 */
#include "search/cluster/alltoall_path.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "plan/ir/cluster.h"
#include "search/flow/assignment.h"
#include "search/cluster/quotient.h"
#include "search/problem/fabric.h"

int32_t gt_alltoall_link_units(const struct gt_alltoall *a2a, uint32_t link,
			       struct gt_rat charge)
{
	if (!a2a->quotient->fabric->links[link].charged)
		return (int32_t)a2a->rows.unit;
	return (int32_t)(charge.num * (a2a->rows.unit / charge.den));
}

uint32_t gt_alltoall_uplink_row(const struct gt_alltoall *a2a, uint32_t level,
				uint32_t port, int in)
{
	const struct gt_plan_cluster *cluster = &a2a->quotient->cluster;

	return a2a->quotient->fabric->nlinks +
	       gt_nodes_uplink(cluster, level, cluster->ports[port].rail, in);
}

static void add_route_loads(const struct gt_alltoall *a2a,
			    struct gt_alltoall_path *path,
			    const struct gt_fabric_route *route,
			    struct gt_rat charge)
{
	for (uint32_t k = 0; k < route->nlinks; k++)
		path->loads[path->nloads++] = (struct gt_row_load){
			route->links[k],
			gt_alltoall_link_units(a2a, route->links[k], charge)};
}

/* The routes of the hop from the k-th rank, one or (over the network) two. */
static uint32_t hop_routes(const struct gt_alltoall *a2a,
			   const struct gt_alltoall_path *path, uint32_t k,
			   const struct gt_fabric_route *routes[2])
{
	const struct gt_quotient *q = a2a->quotient;
	uint32_t n = q->fabric->nranks, nports = q->cluster.nports;

	routes[0] = &q->fabric->routes[path->ranks[k] * n + path->ranks[k + 1]];
	if (!path->class_ || k + 1 != path->nout)
		return 1;
	routes[0] = &q->out[path->ranks[k] * nports + path->out];
	routes[1] = &q->in[path->ranks[k + 1] * nports + path->in];
	return 2;
}

uint32_t gt_alltoall_path_nloads(const struct gt_alltoall *a2a,
				 const struct gt_alltoall_path *model)
{
	uint32_t n = model->class_ ? 2 * (model->class_ - 1) : 0;
	const struct gt_fabric_route *routes[2];

	for (uint32_t k = 0; k + 1 < model->nranks; k++)
		for (uint32_t r = hop_routes(a2a, model, k, routes); r--;)
			n += routes[r]->nlinks;
	return n;
}

const struct gt_alltoall_path *gt_alltoall_path_new(
	const struct gt_alltoall *a2a, const struct gt_alltoall_path *model)
{
	struct gt_alltoall_path *path =
		gt_arena_alloc(a2a->arena, sizeof(*path));
	const struct gt_fabric_route *routes[2];

	if (!path)
		return NULL;
	*path = *model;
	path->nloads = 0;
	path->ranks =
		gt_arena_array(a2a->arena, model->nranks, sizeof(*path->ranks));
	if (!path->ranks)
		return NULL;
	memcpy(path->ranks, model->ranks, model->nranks * sizeof(*path->ranks));
	path->loads =
		gt_arena_array(a2a->arena, gt_alltoall_path_nloads(a2a, model),
			       sizeof(*path->loads));
	if (!path->loads)
		return NULL;
	for (uint32_t k = 0; k + 1 < path->nranks; k++)
		for (uint32_t r = hop_routes(a2a, path, k, routes); r--;)
			add_route_loads(a2a, path, routes[r],
					r ? GT_RAT(1, 1) : routes[0]->charge);
	for (uint32_t l = 0; l + 1 < path->class_; l++)
		for (int in = 0; in < 2; in++)
			path->loads[path->nloads++] = (struct gt_row_load){
				gt_alltoall_uplink_row(
					a2a, l, in ? path->in : path->out, in),
				(int32_t)a2a->rows.unit};
	return path;
}

/* Add a channel's weighted loads; 0 when that needs more than 64 bits. */
static int add_channel_loads(const struct gt_alltoall *a2a,
			     const struct gt_alltoall_channel *channel,
			     int64_t *loads)
{
	uint32_t n = a2a->quotient->fabric->nranks;
	int64_t more;

	for (uint32_t p = 0; p < a2a->nclasses * n * n; p++) {
		const struct gt_alltoall_path *path = channel->paths[p];

		for (uint32_t k = 0; path && k < path->nloads; k++) {
			int64_t *load = &loads[path->loads[k].row];

			if (__builtin_mul_overflow(channel->weight,
						   a2a->nodes[p / n / n],
						   &more) ||
			    __builtin_mul_overflow(more, path->loads[k].units,
						   &more) ||
			    __builtin_add_overflow(*load, more, load))
				return 0;
		}
	}
	return 1;
}

/* The rate that a row allows with such a load; 0 when that needs more bits. */
static int rate_of_load(const struct gt_alltoall *a2a, uint32_t row,
			int64_t load, struct gt_rat *rate)
{
	return gt_rat_make(a2a->denominator, load, rate) &&
	       gt_rat_mul(*rate, GT_RAT(a2a->rows.unit, 1), rate) &&
	       gt_rat_mul(*rate, a2a->rows.gbs[row], rate);
}

int gt_alltoall_rate(struct gt_alltoall *a2a, uint8_t *full)
{
	int64_t *loads = calloc((size_t)a2a->rows.n + 1, sizeof(*loads));
	struct gt_rat at;
	int found = 0, ok = loads != NULL;

	for (uint32_t i = 0; ok && i < a2a->nchannels; i++)
		ok = add_channel_loads(a2a, &a2a->channels[i], loads);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t r = 0; ok && r < a2a->rows.n; r++) {
			if (pass && full)
				full[r] = 0;
			if (!loads[r])
				continue;
			ok = rate_of_load(a2a, r, loads[r], &at);
			if (ok && pass && full)
				full[r] = !gt_rat_cmp(at, a2a->rate);
			else if (ok && !pass &&
				 (!found || gt_rat_cmp(at, a2a->rate) < 0))
				a2a->rate = at;
			found = 1;
		}
	free(loads);
	return ok && found;
}
