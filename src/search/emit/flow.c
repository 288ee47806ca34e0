#include "search/emit/proof.h"

#include <string.h>

#include "plan/ir/plan.h"
#include "search/emit/emit.h"
#include "search/problem/fabric.h"
#include "search/problem/shape.h"

/* Hops from rank to rank in their order, each over the fabric's one route. */
static void gt_emit_used(struct gt_emit *e, const unsigned char *used,
			 struct gt_plan_channel *out)
{
	const struct gt_fabric *f = e->found->fabric;
	uint32_t n = f->nranks;

	out->hops = gt_emit_array(e, (size_t)n * n, sizeof(*out->hops));
	for (uint32_t i = 0; !e->failed && i < n * n; i++)
		if (used[i])
			gt_emit_hop(e, &out->hops[out->nhops++], i / n, i % n,
				    &f->routes[i]);
}

static void gt_emit_path(struct gt_emit *e, const struct gt_proposal_path *in,
			 struct gt_plan_path *out)
{
	out->nranks = in->nhops + 1;
	out->ranks = gt_emit_array(e, out->nranks, sizeof(*out->ranks));
	if (!e->failed)
		memcpy(out->ranks, in->ranks,
		       out->nranks * sizeof(*out->ranks));
}

void gt_emit_flow(struct gt_emit *e, const struct gt_proposal_channel *in,
		  struct gt_plan_channel *out)
{
	uint32_t n = e->plan->nranks;
	unsigned char *used = gt_emit_array(e, (size_t)n * n, 1);

	out->paths = gt_emit_array(e, in->npaths, sizeof(*out->paths));
	for (uint32_t p = 0; !e->failed && p < in->npaths; p++) {
		const struct gt_proposal_path *path = &in->paths[p];

		for (uint32_t k = 0; k < path->nhops; k++)
			used[path->ranks[k] * n + path->ranks[k + 1]] = 1;
		if (path->nhops > 1)
			gt_emit_path(e, path, &out->paths[out->npaths++]);
	}
	if (!e->failed)
		gt_emit_used(e, used, out);
}

void gt_emit_mesh(struct gt_emit *e, struct gt_plan_channel *out)
{
	uint32_t n = e->plan->nranks;
	unsigned char *used = gt_emit_array(e, (size_t)n * n, 1);

	for (uint32_t i = 0; !e->failed && i < n * n; i++)
		used[i] = i / n != i % n;
	if (!e->failed)
		gt_emit_used(e, used, out);
}
