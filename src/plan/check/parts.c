/*
 * The certificate of parts, which are cuts: sets of ranks and links that every
 * route out of the set crosses, or every path if there are no routes.  The
 * capacity of the links over the bytes that have to cross them bounds every
 * schedule.
 */
#include "plan/check/bounds.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/ir/plan.h"

struct gt_parts_check {
	const struct gt_plan *plan;
	const struct gt_plan_route **table;
	/* by rank: 1 + the index of its part, 0 for none */
	uint32_t *owner;
	unsigned char *named; /* by link: 1 for those of the part looked at */
	struct gt_rat capacity;
};

static struct gt_plan_at gt_part_at(uint32_t part)
{
	return gt_plan_at("proof.certificate.parts[%u]", part);
}

static int gt_part_ranks(const struct gt_parts_check *check, uint32_t p,
			 struct gt_err *err)
{
	const struct gt_plan_part *part = &check->plan->proof.parts[p];

	for (uint32_t i = 0; i < part->nranks; i++) {
		uint32_t rank = part->ranks[i];

		if (rank >= check->plan->nranks || check->owner[rank])
			return gt_plan_wrong(check->plan, gt_part_at(p), err,
					     "rank '%u' does not exist or is "
					     "in a part already",
					     rank);
		check->owner[rank] = p + 1;
	}
	return GT_OK;
}

/*
 * An all-reduce's parts hold every rank; other collectives have one part, with
 * the root in it if there is one.
 */
static int gt_parts_ranks(const struct gt_parts_check *check,
			  struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	const struct gt_plan_proof *proof = &plan->proof;
	int all = plan->coll == GT_COLL_ALLREDUCE, rc = GT_OK;
	uint64_t nranks = 0;

	for (uint32_t p = 0; p < proof->nparts && !rc; p++) {
		rc = gt_part_ranks(check, p, err);
		nranks += proof->parts[p].nranks;
	}
	if (rc)
		return rc;
	if (all && (proof->nparts < 2 || nranks != plan->nranks))
		return gt_plan_wrong(plan,
				     gt_plan_at("proof.certificate.parts"), err,
				     "must be at least 2, and hold every rank");
	if (!all && (proof->nparts != 1 || !nranks || nranks == plan->nranks))
		return gt_plan_wrong(plan,
				     gt_plan_at("proof.certificate.parts"), err,
				     "must be one, and hold some ranks but not "
				     "all");
	if (!all && gt_coll_is_rooted(plan->coll) && !check->owner[plan->root])
		return gt_plan_wrong(plan,
				     gt_plan_at("proof.certificate.parts"), err,
				     "must hold the root, rank %u", plan->root);
	return GT_OK;
}

static int gt_part_links(struct gt_parts_check *check, uint32_t p,
			 struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	const struct gt_plan_part *part = &plan->proof.parts[p];

	memset(check->named, 0, plan->nlinks);
	for (uint32_t i = 0; i < part->nlinks; i++) {
		uint32_t link = part->links[i];

		if (link >= plan->nlinks || check->named[link]++)
			return gt_plan_wrong(plan, gt_part_at(p), err,
					     "link number %u does not exist "
					     "or is named twice",
					     link);
		if (!gt_rat_add(check->capacity, plan->links[link].gbs,
				&check->capacity))
			return gt_plan_wrong(plan, gt_part_at(p), err,
					     "the capacity needs more than 64 "
					     "bits");
	}
	return GT_OK;
}

static int gt_route_crosses(const struct gt_parts_check *check,
			    const struct gt_plan_route *route)
{
	for (uint32_t k = 0; k < route->nlinks; k++)
		if (check->named[route->links[k]])
			return 1;
	return 0;
}

/* Do bytes flow into the parts, as the collective collects? */
static int gt_parts_enter(const struct gt_plan *plan)
{
	return plan->coll == GT_COLL_REDUCESCATTER ||
	       plan->coll == GT_COLL_REDUCE || plan->coll == GT_COLL_GATHER;
}

/* All routes that leave the part, or that enter it, cross one of its links. */
static int gt_part_routes(const struct gt_parts_check *check, uint32_t p,
			  struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	const struct gt_plan_part *part = &plan->proof.parts[p];
	int enter = gt_parts_enter(plan);
	uint32_t n = plan->nranks;

	for (uint32_t i = 0; i < part->nranks; i++)
		for (uint32_t other = 0; other < n; other++) {
			uint32_t from = enter ? other : part->ranks[i];
			uint32_t to = enter ? part->ranks[i] : other;

			if (check->owner[other] == p + 1 ||
			    gt_route_crosses(check,
					     check->table[from * n + to]))
				continue;
			return gt_plan_wrong(plan, gt_part_at(p), err,
					     "the route from %u to %u crosses "
					     "none of its links",
					     from, to);
		}
	return GT_OK;
}

/*
 * The number of ranks of the part that send to one outside it: rank r sends to
 * rank r + 1.
 */
static int64_t gt_parts_sendrecv(const struct gt_parts_check *check)
{
	uint32_t n = check->plan->nranks;
	int64_t leave = 0;

	for (uint32_t r = 0; r < n; r++)
		leave += check->owner[r] && !check->owner[(r + 1) % n];
	return leave;
}

/*
 * The bytes that have to cross the parts' links, as a fraction of the result.
 */
static int gt_parts_cross(const struct gt_parts_check *check,
			  struct gt_rat *cross)
{
	const struct gt_plan_proof *proof = &check->plan->proof;
	int64_t n = check->plan->nranks, k = proof->parts[0].nranks;

	switch (check->plan->coll) {
	case GT_COLL_ALLREDUCE:
		return gt_rat_make(2 * ((int64_t)proof->nparts - 1), 1, cross);
	case GT_COLL_ALLGATHER:
	case GT_COLL_REDUCESCATTER:
		return gt_rat_make(k, n, cross);
	case GT_COLL_ALLTOALL:
		return gt_rat_make(k * (n - k), n, cross);
	case GT_COLL_GATHER:
	case GT_COLL_SCATTER:
		return gt_rat_make(n - k, n, cross);
	case GT_COLL_SENDRECV:
		return gt_rat_make(gt_parts_sendrecv(check), 1, cross);
	default:
		return gt_rat_make(1, 1, cross);
	}
}

/*
 * The bound that plan/ir/plan.h derives from parts, in the unit of the plan's
 * value.
 */
static int gt_parts_bound(const struct gt_parts_check *check,
			  struct gt_rat *bound)
{
	struct gt_rat cross, factor = gt_plan_algbw_factor(check->plan);

	return gt_parts_cross(check, &cross) && cross.num &&
	       gt_rat_div(check->capacity, cross, bound) &&
	       gt_rat_div(*bound, factor, bound);
}

static int gt_parts_claim(const struct gt_parts_check *check,
			  struct gt_err *err)
{
	const struct gt_plan *plan = check->plan;
	const struct gt_plan_proof *proof = &plan->proof;
	int any = proof->class_ == GT_PROOF_ANY;
	struct gt_rat bound;
	char text[GT_RAT_TEXT_MAX];

	if (!gt_parts_bound(check, &bound))
		return gt_plan_wrong(
			plan, gt_plan_at("proof.certificate.parts"), err,
			"prove nothing, or what needs more than 64 "
			"bits");
	if (!any && !proof->has_any_bound)
		return gt_plan_wrong(plan,
				     gt_plan_at("proof.certificate.parts"), err,
				     "prove an any_bound, and there is none");
	if (gt_rat_cmp(bound, any ? proof->bound : proof->any_bound))
		return gt_plan_wrong(
			plan,
			gt_plan_at(any ? "proof.bound" : "proof.any_bound"),
			err, "is not the '%s' that the parts prove",
			gt_rat_print(bound, text));
	return GT_OK;
}

static int gt_parts_run(struct gt_parts_check *check,
			enum gt_bound_state *state, struct gt_err *err)
{
	const struct gt_plan_proof *proof = &check->plan->proof;
	int rc = gt_parts_ranks(check, err);

	for (uint32_t p = 0; p < proof->nparts && !rc; p++) {
		rc = gt_part_links(check, p, err);
		if (!rc && proof->nroutes)
			rc = gt_part_routes(check, p, err);
	}
	if (!rc)
		rc = gt_parts_claim(check, err);
	if (!rc)
		*state = GT_BOUND_PROVEN;
	if (!rc && !proof->nroutes)
		rc = gt_check_part_paths(check->plan, check->owner,
					 gt_parts_enter(check->plan), state,
					 err);
	return rc;
}

int gt_check_parts(const struct gt_plan *plan,
		   const struct gt_plan_route **table,
		   enum gt_bound_state *state, struct gt_err *err)
{
	struct gt_parts_check check = {
		.plan = plan, .table = table, .capacity = GT_RAT(0, 1)};
	int rc;

	check.owner = calloc(plan->nranks, sizeof(*check.owner));
	check.named = calloc((size_t)plan->nlinks + 1, 1);
	if (check.owner && check.named)
		rc = gt_parts_run(&check, state, err);
	else
		rc = gt_err_nomem(err);
	free(check.owner);
	free(check.named);
	return rc;
}
