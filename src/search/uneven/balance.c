/*
 * Rounds over all trees.  Loads are whole numbers of trees, so where few trees
 * cross a link it cannot be even; more trees are then for the caller to ask
 * for.
 */
#include "search/uneven/balance.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/problem/budget.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"

/* How steep prices are at first, and at most; and how they get there. */
#define FLAT  8.0
#define STEEP 120.0
#define RISE  1.5
#define ADDED 4.0

/* What is nearer to the most possible than this is not made better. */
#define NEAR_ENOUGH 1.001

/*
 * Rounds at most, and at least; between them, no more than so many hops in all,
 * of trees to be mixed and of others.  So many without getting better are the
 * last.
 */
enum {
	MOST_ROUNDS = 40,
	LEAST_ROUNDS = 2,
	MOST_MIXED = 200000,
	MOST_WORK = 6000000,
	MOST_IDLE = 6,
};

/* A hop's part that a step from the root to its parent costs besides. */
#define STEP 0.05

struct balancer {
	struct gt_balance *b;
	struct gt_grower *grower;
	struct gt_grown *now; /* the trees that are being changed */
	double best;          /* how busy the busiest link was at best */
	uint32_t idle;        /* rounds since then */
};

static int copy_tree(const struct gt_grown *from, uint32_t n,
		     struct gt_grown *to)
{
	size_t nways = from->first[n];

	gt_grown_release(to);
	to->root = from->root;
	to->parent = malloc(n * sizeof(*to->parent));
	to->first = malloc(((size_t)n + 1) * sizeof(*to->first));
	to->ways = malloc((nways + 1) * sizeof(*to->ways));
	if (!to->parent || !to->first || !to->ways)
		return GT_ESYS;
	memcpy(to->parent, from->parent, n * sizeof(*to->parent));
	memcpy(to->first, from->first, ((size_t)n + 1) * sizeof(*to->first));
	memcpy(to->ways, from->ways, nways * sizeof(*to->ways));
	return GT_OK;
}

/* Keep what there is if it is better than all before, or in any case. */
static int keep(struct balancer *r)
{
	struct gt_balance *b = r->b;
	double busiest = gt_grower_busiest(r->grower);
	uint32_t first = b->all ? b->nkept : 0;
	int rc = GT_OK;

	r->idle++;
	if (r->best <= 0 || busiest < r->best) {
		r->best = busiest;
		r->idle = 0;
		b->gbs = b->ntrees / busiest;
	} else if (!b->all) {
		return GT_OK;
	}
	for (uint32_t i = 0; i < b->ntrees && !rc; i++)
		rc = copy_tree(&r->now[i], b->ways->nranks,
			       &b->trees[first + i]);
	b->nkept = first + b->ntrees;
	return rc;
}

static int unreachable(const struct balancer *r, uint32_t rank,
		       struct gt_err *err)
{
	return gt_err_set(err, GT_ENO, NULL,
			  "no tree joins all %u GPUs: there are no routes for "
			  "one, to rank %u",
			  r->b->ways->nranks, rank);
}

static int round_of_all(struct balancer *r, struct gt_err *err)
{
	uint32_t missing;
	int rc = GT_OK;

	for (uint32_t i = 0; i < r->b->ntrees && !rc; i++) {
		struct gt_grown *tree = &r->now[i];

		if (tree->first)
			gt_grower_forget(r->grower, tree);
		gt_grown_release(tree);
		rc = gt_grower_grow(r->grower, r->b->roots[i], tree, &missing);
		gt_budget_go_on(r->b->budget);
	}
	if (rc == GT_ENO)
		return unreachable(r, missing, err);
	return rc || keep(r) ? gt_err_nomem(err) : GT_OK;
}

static uint32_t rounds_of(const struct gt_balance *b)
{
	uint64_t work = (uint64_t)b->ntrees * b->ways->nranks;
	uint64_t rounds = (b->all ? MOST_MIXED : MOST_WORK) / work;

	if (rounds < LEAST_ROUNDS)
		return LEAST_ROUNDS;

	return rounds < MOST_ROUNDS ? (uint32_t)rounds : MOST_ROUNDS;
}

static int run(struct balancer *r, struct gt_err *err)
{
	struct gt_balance *b = r->b;
	uint32_t rounds = rounds_of(b);
	double steepness = FLAT;
	int rc = GT_OK;

	for (b->nrounds = 0; b->nrounds < rounds && !rc; b->nrounds++) {
		if (b->nrounds && (gt_budget_is_spent(b->budget) ||
				   (!b->all && r->idle == MOST_IDLE)))
			break;
		gt_grower_aim(r->grower, b->most_gbs, steepness, STEP);
		rc = round_of_all(r, err);
		if (r->best * b->most_gbs < NEAR_ENOUGH)
			break;
		steepness *= steepness * RISE < STEEP ? RISE : 1;
	}
	return rc;
}

int gt_balance_run(struct gt_balance *b, struct gt_err *err)
{
	struct balancer r = {.b = b};
	int rc;

	b->trees = calloc((size_t)b->ntrees * (b->all ? rounds_of(b) : 1),
			  sizeof(*b->trees));
	r.now = calloc(b->ntrees, sizeof(*r.now));
	r.grower = gt_grower_new(b->ways);
	rc = b->trees && r.now && r.grower ? run(&r, err) : gt_err_nomem(err);
	for (uint32_t i = 0; r.now && i < b->ntrees; i++)
		gt_grown_release(&r.now[i]);
	free(r.now);
	gt_grower_free(r.grower);
	return rc;
}

void gt_balance_drop(struct gt_balance *b, const int64_t *parts, int64_t *best)
{
	uint32_t n = b->nkept, kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (parts[i] || best[i]) {
			best[kept] = best[i];
			b->trees[kept++] = b->trees[i];
		} else {
			gt_grown_release(&b->trees[i]);
		}
	}
	memset(best + kept, 0, (n - kept) * sizeof(*best));
	b->nkept = kept;
}

int gt_balance_add(struct gt_balance *b, uint32_t n, const double *worth,
		   struct gt_err *err)
{
	struct gt_grown *trees =
		realloc(b->trees, (b->nkept + (size_t)n) * sizeof(*trees));
	struct gt_grower *grower = trees ? gt_grower_new(b->ways) : NULL;
	uint32_t missing;
	int rc = grower ? GT_OK : GT_ESYS;

	b->trees = trees ? trees : b->trees;
	if (!rc)
		gt_grower_begin_at(grower, worth);
	if (!rc)
		gt_grower_aim(grower, b->most_gbs * b->ntrees / n, ADDED, STEP);
	for (uint32_t i = 0; i < n && !rc; i++) {
		struct gt_grown *tree = &b->trees[b->nkept];

		rc = gt_grower_grow(grower, b->roots[i % b->ntrees], tree,
				    &missing);
		if (rc)
			gt_grown_release(tree);
		else
			b->nkept++;
		gt_budget_go_on(b->budget);
	}
	gt_grower_free(grower);
	return rc ? gt_err_nomem(err) : GT_OK;
}

void gt_balance_release(struct gt_balance *b)
{
	for (uint32_t i = 0; b->trees && i < b->nkept; i++)
		gt_grown_release(&b->trees[i]);
	free(b->trees);
	b->trees = NULL;
}
