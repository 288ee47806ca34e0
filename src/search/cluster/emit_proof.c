/*
 * The proof of a cluster's plan.  Its certificate is the cut that bounds all
 * schedules, as sets of vertices of node 0 and of the classes around it, or
 * prices of one node's links and of uplinks; both come with the routes that
 * they are about.
 */
#include "search/cluster/cut_bound.h"
#include "search/cluster/emit_parts.h"

#include <string.h>

#include "base/arena.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/cluster/alltoall_path.h"
#include "search/cluster/quotient.h"
#include "search/cluster/ring.h"
#include "search/problem/fabric.h"
#include "search/problem/shape.h"

/* ---- routes ------------------------------------------------------------ */

/* Rings may not take all routes to ports; other shapes take those there are. */
static int is_taken(const struct gt_cluster_ring_fabric *rings,
		    const struct gt_fabric_route *there,
		    const struct gt_fabric_route *back)
{
	return rings ? gt_cluster_ring_takes(rings, there, back)
		     : there->nlinks > 0;
}

/* A charge ends at the port, so the routes from ports have none. */
static void emit_port_routes(struct gt_cluster_emitter *e)
{
	const struct gt_quotient *q = e->solution->quotient;
	const struct gt_cluster_ring_fabric *rings = e->solution->ring_fabric;
	uint32_t n = q->fabric->nranks, nports = q->cluster.nports;

	for (uint32_t i = 0; i < n * nports && !e->b.failed; i++) {
		uint32_t rank = i / nports, port = n + i % nports;
		const struct gt_fabric_route *out = &q->out[i];
		struct gt_fabric_route in = q->in[i];

		in.charge = GT_RAT(1, 1);
		if (is_taken(rings, out, &q->in[i]))
			gt_plan_builder_route(&e->b, rank, port, out);
		if (is_taken(rings, &q->in[i], out))
			gt_plan_builder_route(&e->b, port, rank, &in);
	}
}

/*
 * The routes between a node's ranks, and between ranks and ports.  There are
 * none where two ranks are not connected, since a certificate needs them all.
 */
static void emit_routes(struct gt_cluster_emitter *e)
{
	const struct gt_quotient *q = e->solution->quotient;
	uint32_t n = q->fabric->nranks, m = n + 2 * q->cluster.nports;
	struct gt_plan_proof *proof = &e->b.plan->proof;

	for (uint32_t i = 0; i < n * n; i++)
		if (i / n != i % n && !q->fabric->routes[i].nlinks)
			return;
	proof->routes = gt_plan_builder_array(&e->b, (size_t)n * m,
					      sizeof(*proof->routes));
	for (uint32_t i = 0; i < n * n && !e->b.failed; i++)
		if (i / n != i % n)
			gt_plan_builder_route(&e->b, i / n, i % n,
					      &q->fabric->routes[i]);
	/* An all-to-all within one node needs no ports, nor does its proof. */
	if (!e->b.failed && !(e->solution->a2a && q->cluster.nnodes == 1))
		emit_port_routes(e);
}

/* ---- sets -------------------------------------------------------------- */

/* "1/PCI/0000:15:00.0" or "0/switch2.3": the class, then the vertex. */
static const char *vertex_name(struct gt_cluster_emitter *e, uint32_t vertex)
{
	const struct gt_quotient *q = e->solution->quotient;
	uint32_t classes = q->cluster.nlevels + 1, nnodes = q->fabric->nnodes;
	uint32_t rails = q->cluster.nrails;
	char *text;

	if (vertex < classes * nnodes) {
		text = gt_arena_printf(e->b.plan->arena, "%u/%s",
				       vertex / nnodes,
				       q->vertex_ids[vertex % nnodes]);
	} else {
		vertex -= classes * nnodes;
		text = gt_arena_printf(e->b.plan->arena, "%u/switch%u.%u",
				       vertex / rails % classes,
				       vertex / rails / classes,
				       vertex % rails);
	}
	e->b.failed |= !text;
	return text;
}

/* Plans know a node's vertices by their links, and all switches. */
static int is_in_plan(const struct gt_quotient *q, uint32_t vertex)
{
	const struct gt_fabric *f = q->fabric;

	if (vertex >= (q->cluster.nlevels + 1) * f->nnodes)
		return 1;
	for (uint32_t i = 0; i < f->nlinks; i++)
		if (f->links[i].from == vertex % f->nnodes ||
		    f->links[i].to == vertex % f->nnodes)
			return 1;
	return 0;
}

static void emit_set(struct gt_cluster_emitter *e, uint32_t part,
		     struct gt_plan_set *set)
{
	const struct gt_quotient_bound *bound = e->solution->bound;

	set->vertices = gt_plan_builder_array(&e->b, bound->nvertices,
					      sizeof(*set->vertices));
	for (uint32_t v = 0; v < bound->nvertices && !e->b.failed; v++)
		if (bound->outside[v] == part &&
		    is_in_plan(e->solution->quotient, v))
			set->vertices[set->n++] = vertex_name(e, v);
}

/* Links that leave a set, but that no route crosses, so that none counts. */
static void emit_unused(struct gt_cluster_emitter *e)
{
	const struct gt_quotient *q = e->solution->quotient;
	const struct gt_quotient_bound *bound = e->solution->bound;
	struct gt_plan_proof *proof = &e->b.plan->proof;

	if (!bound->unused)
		return;
	proof->unused = gt_plan_builder_array(&e->b, q->fabric->nlinks,
					      sizeof(*proof->unused));
	for (uint32_t i = 0; i < q->fabric->nlinks && !e->b.failed; i++)
		if (bound->unused[i])
			proof->unused[proof->nunused++] = i;
}

static void emit_sets(struct gt_cluster_emitter *e)
{
	const struct gt_quotient_bound *bound = e->solution->bound;
	struct gt_plan_proof *proof = &e->b.plan->proof;
	uint32_t nsets = bound->nparts ? bound->nparts : 1;

	proof->sets = gt_plan_builder_array(&e->b, nsets, sizeof(*proof->sets));
	for (uint32_t i = 0; i < nsets && !e->b.failed; i++)
		emit_set(e, i + 1, &proof->sets[proof->nsets++]);
	if (!e->b.failed)
		emit_unused(e);
}

/* ---- proofs ------------------------------------------------------------ */

void gt_cluster_emit_cut_proof(struct gt_cluster_emitter *e)
{
	const struct gt_quotient_bound *bound = e->solution->bound;

	if (!bound->found)
		return;
	gt_plan_builder_proof(&e->b, GT_PROOF_ANY, e->value, bound->value);
	emit_sets(e);
	if (e->b.plan->proof.nunused)
		emit_routes(e);
}

/*
 * Prices of the plan's links, then of uplinks.  0 when there are none that
 * prove the bound: prices of channels are proved of one machine alone, and
 * those of nodes of odd number have no place in a plan.
 */
static int emit_ring_prices(struct gt_cluster_emitter *e)
{
	const struct gt_proposal *rings = e->solution->rings;
	const struct gt_cluster_ring_fabric *f = e->solution->ring_fabric;
	struct gt_plan_proof *proof = &e->b.plan->proof;

	if (!rings->has_bound || rings->max_channels || !f->complete)
		return 0;
	for (uint32_t i = 0; i < rings->nprices; i++)
		if (rings->prices[i].link < f->first)
			return 0;
	proof->prices = gt_plan_builder_array(&e->b, rings->nprices,
					      sizeof(*proof->prices));
	for (uint32_t i = 0; i < rings->nprices && !e->b.failed; i++)
		proof->prices[proof->nprices++] =
			(struct gt_plan_price){rings->prices[i].link - f->first,
					       rings->prices[i].price};
	return 1;
}

/* What bounds all schedules bounds rings too, and may bound them tighter. */
void gt_cluster_emit_ring_proof(struct gt_cluster_emitter *e)
{
	const struct gt_quotient_bound *cut = e->solution->bound;
	struct gt_plan *plan = e->b.plan;
	struct gt_plan_proof *proof = &plan->proof;
	int has = emit_ring_prices(e);
	struct gt_rat bound = has ? e->solution->rings->bound : GT_RAT(0, 1);

	if (cut->found && gt_rat_div(cut->value, gt_plan_algbw_factor(plan),
				     &proof->any_bound)) {
		proof->has_any_bound = 1;
		emit_sets(e);
	}
	if (proof->has_any_bound &&
	    (!has || gt_rat_cmp(proof->any_bound, bound) < 0)) {
		bound = proof->any_bound;
		proof->nprices = 0;
		has = 1;
	}
	if (!has)
		return;
	gt_plan_builder_proof(&e->b, GT_PROOF_RING, e->value, bound);
	if (proof->nprices || proof->nunused)
		emit_routes(e);
}

void gt_cluster_emit_alltoall_proof(struct gt_cluster_emitter *e)
{
	const struct gt_alltoall *a2a = e->solution->a2a;
	struct gt_plan_proof *proof = &e->b.plan->proof;

	if (!a2a->has_bound)
		return;
	gt_plan_builder_proof(&e->b, GT_PROOF_ANY, e->value, a2a->bound);
	proof->prices = gt_plan_builder_copy(&e->b, a2a->prices, a2a->nprices,
					     sizeof(*proof->prices));
	proof->nprices = a2a->nprices;
	if (!e->b.failed)
		emit_routes(e);
}
