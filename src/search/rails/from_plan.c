/*
 * The two levels of a plan's machine.  A plan of an all-to-all has the routes
 * of all pairs of ranks, which is what rails are recognized by.
 */
#include "search/rails/rails.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/problem/fabric.h"
#include "search/rails/meshed.h"

/*
 * A link ends at the rank that it leads routes to, or at a vertex of its own.
 * All links begin at one more vertex, as nobody asks where.
 */
static void set_links(struct gt_fabric *f, const struct gt_plan *plan)
{
	uint32_t n = plan->nranks;

	for (uint32_t i = 0; i < plan->nlinks; i++)
		f->links[i] = (struct gt_fabric_link){
			.from = n + plan->nlinks,
			.to = n + i,
			.gbs = plan->links[i].gbs,
			.charged = !strcmp(plan->links[i].kind, "PCI")};
	for (uint32_t i = 0; i < plan->proof.nroutes; i++) {
		const struct gt_plan_route *route = &plan->proof.routes[i];

		if (route->nlinks)
			f->links[route->links[route->nlinks - 1]].to =
				route->to;
	}
}

static void set_routes(struct gt_fabric *f, const struct gt_plan *plan)
{
	for (uint32_t i = 0; i < plan->nranks; i++)
		f->ranks[i] = i;
	for (uint32_t i = 0; i < plan->proof.nroutes; i++) {
		const struct gt_plan_route *route = &plan->proof.routes[i];

		f->routes[route->from * plan->nranks + route->to] =
			(struct gt_fabric_route){.charge = route->charge,
						 .nlinks = route->nlinks,
						 .links = route->links,
						 .is_staged = route->is_staged};
	}
}

int gt_rails_from_plan(const struct gt_plan *plan, struct gt_arena *arena,
		       struct gt_rails **rails, struct gt_err *err)
{
	size_t n = plan->nranks;
	struct gt_fabric *f;
	int rc;

	if (plan->cluster || !plan->has_proof ||
	    plan->proof.nroutes != n * (n - 1))
		return gt_err_set(err, GT_ENO, plan->file,
				  "does not have the routes of all pairs of "
				  "ranks");
	f = gt_arena_alloc(arena, sizeof(*f));
	if (!f)
		return gt_err_nomem(err);
	f->nranks = plan->nranks;
	f->nlinks = plan->nlinks;
	f->nnodes = plan->nranks + plan->nlinks + 1;
	f->links = gt_arena_array(arena, plan->nlinks, sizeof(*f->links));
	f->ranks = gt_arena_array(arena, n, sizeof(*f->ranks));
	f->routes = gt_arena_array(arena, n * n, sizeof(*f->routes));
	if (!f->links || !f->ranks || !f->routes)
		return gt_err_nomem(err);
	set_links(f, plan);
	set_routes(f, plan);
	rc = gt_rails_new(f, arena, rails, err);
	return rc == GT_ENO ? gt_meshed_new(f, arena, rails, err) : rc;
}
