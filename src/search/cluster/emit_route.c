#include "search/cluster/emit.h"

#include <string.h>

#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/cluster/search.h"
#include "search/cluster/ring.h"

static void gt_hier_emit_route(struct gt_cluster_emit *e, uint32_t from,
			       uint32_t to, const struct gt_fabric_route *in)
{
	struct gt_plan_proof *proof = &e->plan->proof;
	struct gt_plan_route *out = &proof->routes[proof->nroutes++];

	out->from = from;
	out->to = to;
	out->charge = in->charge;
	out->nlinks = in->nlinks;
	out->links = gt_cluster_emit_array(e, in->nlinks, sizeof(*out->links));
	if (!e->failed)
		memcpy(out->links, in->links, in->nlinks * sizeof(*out->links));
}

static int gt_hier_route_taken(const struct gt_cluster_ring_fabric *doors,
			       const struct gt_fabric_route *way,
			       const struct gt_fabric_route *back)
{
	return doors ? gt_cluster_ring_takes(doors, way, back)
		     : way->nlinks > 0;
}

/*
 * To ports and from them, of rings those that they may take; the charge is that
 * of the way out.
 */
static void gt_hier_route_doors(struct gt_cluster_emit *e)
{
	const struct gt_quotient *q = e->found->quotient;
	const struct gt_cluster_ring_fabric *doors = e->found->ring_fabric;
	uint32_t n = q->fabric->nranks, nports = q->cluster.nports;

	for (uint32_t i = 0; i < n * nports && !e->failed; i++) {
		uint32_t rank = i / nports, port = n + i % nports;
		const struct gt_fabric_route *out = &q->out[i];
		struct gt_fabric_route in = q->in[i];

		if (gt_hier_route_taken(doors, out, &in))
			gt_hier_emit_route(e, rank, port, out);
		in.charge = GT_RAT(1, 1);
		if (gt_hier_route_taken(doors, &q->in[i], out))
			gt_hier_emit_route(e, port, rank, &in);
	}
}

void gt_cluster_emit_routes(struct gt_cluster_emit *e)
{
	const struct gt_quotient *q = e->found->quotient;
	uint32_t n = q->fabric->nranks, m = n + 2 * q->cluster.nports;
	struct gt_plan_proof *proof = &e->plan->proof;

	proof->routes =
		gt_cluster_emit_array(e, (size_t)n * m, sizeof(*proof->routes));
	for (uint32_t i = 0; i < n * n && !e->failed; i++)
		if (i / n != i % n && !q->fabric->routes[i].nlinks)
			return;
	for (uint32_t i = 0; i < n * n && !e->failed; i++)
		if (i / n != i % n)
			gt_hier_emit_route(e, i / n, i % n,
					   &q->fabric->routes[i]);
	/* A flow in one node alone does without ports, and so does its proof. */
	if (!e->failed && !(e->found->a2a && q->cluster.nnodes == 1))
		gt_hier_route_doors(e);
}

void gt_cluster_emit_unused(struct gt_cluster_emit *e)
{
	const struct gt_quotient *q = e->found->quotient;
	const struct gt_quotient_bound *bound = e->found->bound;
	struct gt_plan_proof *proof = &e->plan->proof;

	if (!bound->unused)
		return;
	proof->unused = gt_cluster_emit_array(e, q->fabric->nlinks,
					      sizeof(*proof->unused));
	for (uint32_t i = 0; i < q->fabric->nlinks && !e->failed; i++)
		if (bound->unused[i])
			proof->unused[proof->nunused++] = i;
}
