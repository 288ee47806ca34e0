/* Plans groups of ranks one by one, each place once. */
#include "search/job/plans.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "plan/cost/cost.h"
#include "plan/ir/plan.h"
#include "search/job/links.h"
#include "search/job/loads.h"
#include "search/job/site.h"
#include "search/planner/planner.h"
#include "search/planner/request.h"
#include "topo/cluster/cluster.h"

/* How long one use of a plan takes. */
struct price {
	uint64_t bytes;
	double seconds;
};

/* A plan, or why there is none for such a place. */
struct gt_group_kept {
	struct gt_group_plan *group;
	struct gt_cost_model *model; /* made when a price is asked for */
	struct price *prices;
	uint32_t nprices, prices_room;
	struct gt_planner *planner;
	struct gt_err why;
};

void gt_group_plans_init(struct gt_group_plans *plans,
			 const struct gt_site *site, struct gt_job_links *links,
			 struct gt_arena *arena)
{
	*plans = (struct gt_group_plans){
		.arena = arena, .site = site, .links = links};
}

void gt_group_plans_release(struct gt_group_plans *plans)
{
	for (uint32_t i = 0; i < plans->n; i++) {
		gt_cost_free(plans->list[i].model);
		gt_planner_free(plans->list[i].planner);
	}
}

uint32_t gt_group_plans_count(const struct gt_group_plans *plans)
{
	return plans->n;
}

const struct gt_group_plan *gt_group_plans_at(
	const struct gt_group_plans *plans, uint32_t index)
{
	return plans->list[index].group;
}

uint32_t gt_group_plans_index(const struct gt_group_plans *plans,
			      const struct gt_group_plan *plan)
{
	uint32_t i = 0;

	while (plans->list[i].group != plan)
		i++;
	return i;
}

/* Do two lists of nodes have the same ones below a switch at each level? */
static int are_alike(const struct gt_site *site, const uint32_t *a,
		     const uint32_t *b, uint32_t n)
{
	for (uint32_t l = 0; l < site->nlevels; l++)
		for (uint32_t i = 1; i < n; i++) {
			uint32_t span = site->levels[l].nodes;

			if ((a[i] / span == a[i - 1] / span) !=
			    (b[i] / span == b[i - 1] / span))
				return 0;
		}
	return 1;
}

static int is_place(const struct gt_site *site, const struct gt_group_place *a,
		    const struct gt_group_place *b)
{
	return a->coll == b->coll && a->nnodes == b->nnodes &&
	       a->ngpus == b->ngpus &&
	       !memcmp(a->gpus, b->gpus, a->ngpus * sizeof(*a->gpus)) &&
	       are_alike(site, a->nodes, b->nodes, a->nnodes);
}

static int copy_place(struct gt_arena *arena, const struct gt_group_place *from,
		      struct gt_group_place *to)
{
	uint32_t *nodes = gt_arena_array(arena, from->nnodes, sizeof(*nodes));
	uint32_t *gpus = gt_arena_array(arena, from->ngpus, sizeof(*gpus));

	if (!nodes || !gpus)
		return GT_ESYS;
	memcpy(nodes, from->nodes, from->nnodes * sizeof(*nodes));
	memcpy(gpus, from->gpus, from->ngpus * sizeof(*gpus));
	*to = *from;
	to->nodes = nodes;
	to->gpus = gpus;
	return GT_OK;
}

/* What the plan proves of any schedule, or 0. */
static double proven_gbs(const struct gt_plan *plan)
{
	const struct gt_plan_proof *proof = &plan->proof;

	if (proof->class_ == GT_PROOF_ANY)
		return gt_plan_algbw(plan, proof->bound);
	return proof->has_any_bound ? gt_plan_algbw(plan, proof->any_bound) : 0;
}

/* Ask the planner for the group's machine, or the part of the cluster. */
static int plan_place(const struct gt_group_plans *plans, const char *gpus,
		      const struct gt_cluster *part, struct gt_group_kept *kept,
		      struct gt_err *err)
{
	const struct gt_site *site = plans->site;
	enum gt_coll coll = kept->group->place.coll;
	struct gt_planner_request ask = {
		.algo = gt_coll_only_moves(coll) ? GT_PLANNER_FLOW
			: part                   ? GT_PLANNER_HIER
						 : GT_PLANNER_AUTO,
		.coll = (int)coll,
		.rates = site->rates,
		.gpus = gpus,
		.budget = plans->budget,
	};
	int rc = part ? gt_planner_cluster(&ask, part, &kept->planner, err)
		      : gt_planner_machine(&ask, site->topo, &kept->planner,
					   err);

	if (rc)
		return rc;
	kept->group->plan = gt_planner_result(kept->planner)->plan;
	kept->group->algbw_gbs = gt_plan_algbw(kept->group->plan,
					       kept->group->plan->proof.value);
	kept->group->bound_gbs = proven_gbs(kept->group->plan);
	return GT_OK;
}

static int list_gpus(const struct gt_site *site,
		     const struct gt_group_place *place, struct gt_buf *gpus)
{
	for (uint32_t i = 0; i < place->ngpus; i++) {
		uint32_t gpu = gt_topo_gpu(site->topo, place->gpus[i]);

		gt_buf_printf(gpus, "%s%d", i ? "," : "",
			      gt_topo_node(site->topo, gpu)->dev);
	}
	return gpus->failed ? GT_ESYS : GT_OK;
}

static int make_plan(struct gt_group_plans *plans, struct gt_group_kept *kept,
		     struct gt_err *err)
{
	const struct gt_group_place *place = &kept->group->place;
	struct gt_cluster *part = NULL;
	struct gt_buf gpus = GT_BUF_INIT;
	int rc = list_gpus(plans->site, place, &gpus) ? gt_err_nomem(err)
						      : GT_OK;

	if (!rc && place->nnodes > 1)
		rc = gt_cluster_subset(plans->site->cluster, place->nodes,
				       place->nnodes, &part, err);
	if (!rc)
		rc = plan_place(plans, gpus.text, part, kept, err);
	if (!rc)
		rc = gt_group_loads_find(kept->group, plans->links, part, err);
	gt_cluster_free(part);
	gt_buf_release(&gpus);
	return rc;
}

static int add_place(struct gt_group_plans *plans,
		     const struct gt_group_place *place, struct gt_err *err)
{
	struct gt_group_kept *list =
		gt_vec_grow_in(plans->arena, plans->list, plans->n,
			       &plans->room, sizeof(*list));
	struct gt_group_kept *kept;
	int rc;

	if (!list)
		return gt_err_nomem(err);
	plans->list = list;
	kept = &list[plans->n];
	*kept = (struct gt_group_kept){
		.group = gt_arena_alloc(plans->arena, sizeof(*kept->group))};
	gt_err_init(&kept->why);
	if (!kept->group ||
	    copy_place(plans->arena, place, &kept->group->place))
		return gt_err_nomem(err);
	plans->n++;
	rc = make_plan(plans, kept, &kept->why);
	return rc == GT_ESYS ? gt_err_set(err, rc, kept->why.where, "%s",
					  kept->why.text)
			     : GT_OK;
}

int gt_group_plans_find(struct gt_group_plans *plans,
			const struct gt_group_place *place,
			const struct gt_group_plan **plan, struct gt_err *err)
{
	const struct gt_group_kept *kept;
	uint32_t i = 0;
	int rc = GT_OK;

	while (i < plans->n &&
	       !is_place(plans->site, &plans->list[i].group->place, place))
		i++;
	if (i == plans->n)
		rc = add_place(plans, place, err);
	if (rc)
		return rc;
	kept = &plans->list[i];
	if (kept->why.code)
		return gt_err_set(err, kept->why.code, kept->why.where, "%s",
				  kept->why.text);
	*plan = kept->group;
	return GT_OK;
}

/* Ask the cost model; what it cannot price is no failure. */
static int ask_price(struct gt_group_kept *kept, uint64_t bytes,
		     double *seconds, struct gt_err *err)
{
	const struct gt_plan *plan = kept->group->plan;
	struct gt_cost cost;
	struct gt_err why;
	int rc = GT_OK;

	gt_err_init(&why);
	*seconds = 0;
	if (!kept->model) {
		rc = gt_cost_new(plan, plan->coll, &kept->model, &why);
		if (!rc)
			rc = gt_cost_set_fast(kept->model, &why);
	}
	if (!rc)
		rc = gt_cost_price(kept->model, bytes, &cost, &why);
	if (!rc)
		*seconds = cost.time_us / 1e6;
	return rc == GT_ESYS ? gt_err_set(err, rc, why.where, "%s", why.text)
			     : GT_OK;
}

int gt_group_plans_price(struct gt_group_plans *plans,
			 const struct gt_group_plan *group, uint64_t bytes,
			 double *seconds, struct gt_err *err)
{
	struct gt_group_kept *kept =
		&plans->list[gt_group_plans_index(plans, group)];
	struct price *list;
	int rc;

	for (uint32_t i = 0; i < kept->nprices; i++)
		if (kept->prices[i].bytes == bytes) {
			*seconds = kept->prices[i].seconds;
			return GT_OK;
		}
	rc = ask_price(kept, bytes, seconds, err);
	if (rc)
		return rc;
	list = gt_vec_grow_in(plans->arena, kept->prices, kept->nprices,
			      &kept->prices_room, sizeof(*list));
	if (!list)
		return gt_err_nomem(err);
	kept->prices = list;
	list[kept->nprices++] = (struct price){bytes, *seconds};
	return GT_OK;
}
