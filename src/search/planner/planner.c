/*
 * Decides between the searches, and keeps the better plan where two are tried.
 */
#include "search/planner/planner.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "plan/cost/cost.h"
#include "plan/ir/plan.h"
#include "search/cluster/quotient.h"
#include "search/cluster/alltoall.h"
#include "search/cluster/search.h"
#include "search/multicast/search.h"
#include "search/emit/select_by_size.h"
#include "search/planner/apart.h"
#include "search/planner/mixed.h"
#include "search/planner/request.h"
#include "search/planner/union_bound.h"
#include "search/planner/unlike.h"
#include "search/problem/flat_cluster.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "search/uneven/search.h"
#include "search/whatif/whatif.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/name.h"
#include "topo/graph/path.h"

/* A size that is large for any cluster that is flattened. */
#define LARGE_BYTES ((uint64_t)1 << 30)

struct gt_planner {
	struct gt_planner_request ask;
	struct gt_arena *arena;
	struct gt_topo *topo;             /* of one machine, else NULL */
	const struct gt_cluster *cluster; /* as it is, else NULL */
	struct gt_cluster *common;        /* homogenized, or NULL */
	uint32_t npaths;
	struct gt_paths **paths;           /* by kind of node */
	struct gt_search_request one;      /* on a machine or flattened */
	struct gt_search_request open;     /* flattened, routes to choose */
	struct gt_cluster_request several; /* on the quotient of a cluster */
	struct gt_plan *plan;
	struct gt_planner_result result;
};

static struct gt_planner *new_planner(const struct gt_planner_request *ask,
				      uint32_t nkinds)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_planner *p = arena ? gt_arena_alloc(arena, sizeof(*p)) : NULL;

	if (p)
		p->paths = gt_arena_array(arena, nkinds, sizeof(*p->paths));
	if (!p || !p->paths) {
		gt_arena_free(arena);
		return NULL;
	}
	p->ask = *ask;
	p->arena = arena;
	p->one = (struct gt_search_request){
		.rates = ask->rates,
		.coll = gt_planner_coll(ask),
		.root = ask->root,
		.demand = ask->demand,
		.max_channels = ask->max_channels,
		.equal = ask->equal,
		.trees_per_root = ask->trees_per_root,
		.budget = ask->budget,
	};
	p->several = (struct gt_cluster_request){
		.rates = ask->rates,
		.coll = gt_planner_coll(ask),
		.root = ask->root,
		.max_channels = ask->max_channels,
		.budget = ask->budget,
	};
	return p;
}

void gt_planner_free(struct gt_planner *p)
{
	if (!p)
		return;
	gt_plan_free(p->plan);
	for (uint32_t i = 0; i < p->npaths; i++)
		gt_paths_free(p->paths[i]);
	gt_cluster_free(p->common);
	gt_arena_free(p->arena);
}

const struct gt_planner_result *gt_planner_result(const struct gt_planner *p)
{
	return &p->result;
}

static int check_root(uint32_t root, uint64_t nranks, struct gt_err *err)
{
	if (root < nranks)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, "--root",
			  "there is no rank '%u', only %u of them", root,
			  (uint32_t)nranks);
}

static int check_demand(const struct gt_planner_request *ask, uint32_t nranks,
			struct gt_err *err)
{
	if (!ask->demand)
		return GT_OK;
	if (gt_planner_coll(ask) != GT_COLL_ALLTOALL ||
	    (ask->algo != GT_PLANNER_AUTO && ask->algo != GT_PLANNER_FLOW &&
	     ask->algo != GT_PLANNER_ALLTOALL))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--demand is for --coll alltoall, and --algo "
				  "auto or flow");
	if (ask->explain)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--explain is not for plans with --demand");
	if (ask->demand_ranks == nranks)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, "--demand",
			  "the matrix is of %u ranks, but there are %u GPUs",
			  ask->demand_ranks, nranks);
}

static int add_paths(struct gt_planner *p, const struct gt_topo *topo,
		     struct gt_err *err)
{
	int rc = gt_paths_new(topo, &p->paths[p->npaths], err);

	p->npaths += !rc;
	return rc;
}

/* ---- switches that multicast and add up -------------------------------- */

static int plan_switches(struct gt_planner *p, struct gt_err *err)
{
	int64_t begin_ns = gt_clock_ns();
	int rc = gt_planner_refuse_for_switches(&p->ask, err);

	if (!rc)
		rc = gt_multicast_search(&p->one,
					 p->ask.algo == GT_PLANNER_COLLNET,
					 &p->plan, err);
	p->result.search_ns = gt_clock_ns() - begin_ns;
	return rc;
}

/* ---- one machine, or a cluster as one ---------------------------------- */

static int search_one(struct gt_planner *p, struct gt_err *err)
{
	int64_t begin_ns = gt_clock_ns();
	int rc = gt_search(&p->one, gt_planner_algo_name(p->ask.algo), &p->plan,
			   &p->result.stats, err);

	p->result.search_ns = gt_clock_ns() - begin_ns;
	return rc;
}

static int plan_machine(struct gt_planner *p, struct gt_err *err)
{
	int rc = gt_planner_refuse(&p->ask, GT_PLANNER_ON_MACHINE, err);

	p->one.topo = p->topo;
	if (!rc)
		rc = gt_gpu_list_read(p->topo, p->ask.gpus, p->arena,
				      &p->one.gpus, &p->one.nranks, err);
	if (!rc)
		rc = check_root(p->ask.root, p->one.nranks, err);
	if (!rc)
		rc = check_demand(&p->ask, p->one.nranks, err);
	if (!rc && p->ask.as_engines)
		rc = gt_apart_as_engines(p->topo, p->one.gpus, p->one.nranks,
					 &p->result.apart, err);
	if (!rc)
		rc = add_paths(p, p->topo, err);
	if (rc)
		return rc;
	p->one.paths = p->paths[0];
	return gt_planner_uses_switches(&p->ask) ? plan_switches(p, err)
						 : search_one(p, err);
}

/* Make the flat cluster, with one route a pair or open (flat_cluster.h). */
static int flatten(struct gt_planner *p, int open, struct gt_err *err)
{
	struct gt_flat_cluster *flat;
	int rc = GT_OK;

	while (p->npaths < p->cluster->nkinds && !rc)
		rc = add_paths(p, p->cluster->kinds[p->npaths].topo, err);
	if (!rc)
		rc = (open ? gt_flat_new_open
			   : gt_flat_new)(p->cluster, p->paths, p->ask.gpus,
					  p->arena, &flat, err);
	if (rc)
		return rc;
	p->one.flat = flat;
	p->one.nranks = flat->fabric.nranks;
	rc = check_root(p->ask.root, p->one.nranks, err);
	return rc ? rc : check_demand(&p->ask, p->one.nranks, err);
}

static int plan_flattened(struct gt_planner *p, struct gt_err *err)
{
	int rc = flatten(p, 0, err);

	return rc ? rc : search_one(p, err);
}

/* Of a cluster all links matter then, and no routes between GPUs. */
static int plan_cluster_switches(struct gt_planner *p, struct gt_err *err)
{
	int rc = flatten(p, 1, err);

	return rc ? rc : plan_switches(p, err);
}

/* ---- nodes that are not alike, with routes to choose ------------------- */

/* Its paths are made without relays, as the ranks of a tree relay. */
static int search_uneven(struct gt_planner *p, struct gt_paths **paths,
			 struct gt_plan **plan, struct gt_err *err)
{
	const struct gt_cluster *cluster = p->cluster;
	struct gt_search_request request = p->one;
	struct gt_uneven_stats stats = {0};
	struct gt_flat_cluster *flat;
	int rc = GT_OK;

	for (uint32_t i = 0; i < cluster->nkinds && !rc; i++)
		rc = gt_paths_new_direct(cluster->kinds[i].topo, &paths[i],
					 err);
	if (!rc)
		rc = gt_flat_new_open(cluster, paths, p->ask.gpus, p->arena,
				      &flat, err);
	if (rc)
		return rc;
	request.flat = flat;
	request.nranks = flat->fabric.nranks;
	rc = check_root(p->ask.root, request.nranks, err);
	if (!rc)
		rc = gt_uneven_search(&request, plan, &stats, err);
	p->open = request;
	p->result.stats = (struct gt_search_stats){.nrows = stats.nlinks,
						   .ncolumns = stats.ntrees,
						   .nrounds = stats.nrounds};
	return rc;
}

static int plan_uneven(struct gt_planner *p, struct gt_err *err)
{
	uint32_t nkinds = p->cluster->nkinds;
	int64_t begin_ns = gt_clock_ns();
	struct gt_paths **paths =
		gt_arena_array(p->arena, nkinds, sizeof(*paths));
	int rc = paths ? search_uneven(p, paths, &p->plan, err)
		       : gt_err_nomem(err);

	for (uint32_t i = 0; paths && i < nkinds; i++)
		gt_paths_free(paths[i]);
	p->result.search_ns = gt_clock_ns() - begin_ns;
	return rc;
}

/*
 * Of more ranks than this a forest with fixed routes takes many seconds, so
 * trees that choose theirs take its place beside rings and the mesh.
 */
enum { FOREST_MAX_RANKS = 32 };

/*
 * Where rings carry more, their proof is about one route a pair, which trees do
 * not keep to: they are left out.  Trees are the first of the tries.
 */
static void leave_trees(struct gt_by_size_tries *tries)
{
	const struct gt_plan *trees = tries->plans[0];
	int more = 0;

	for (uint32_t i = 1; i < tries->n; i++)
		more |= gt_plan_algbw(tries->plans[i],
				      tries->plans[i]->proof.value) >
			gt_plan_algbw(trees, trees->proof.value);
	if (!more)
		return;
	gt_plan_free(tries->plans[0]);
	tries->n--;
	for (uint32_t i = 0; i < tries->n; i++)
		tries->plans[i] = tries->plans[i + 1];
}

static int plan_both(struct gt_planner *p, struct gt_err *err)
{
	struct gt_by_size_tries tries = {.n = 0};
	uint32_t nothers;
	int64_t begin_ns = gt_clock_ns();
	int rc = plan_uneven(p, err);

	gt_err_init(&tries.why);
	if (rc)
		return rc;
	tries.plans[tries.n++] = p->plan;
	p->plan = NULL;
	tries.rc = gt_search_ring_and_mesh(&p->one, &tries.plans[tries.n],
					   &nothers, &tries.why);
	tries.n += nothers;
	leave_trees(&tries);
	rc = gt_by_size_take(&tries, &p->plan, err);
	p->result.search_ns = gt_clock_ns() - begin_ns;
	return rc;
}

/* ---- nodes that are alike ---------------------------------------------- */

static int search_quotient(const struct gt_cluster_request *request,
			   enum gt_planner_algo algo, struct gt_plan **plan,
			   struct gt_err *err)
{
	if (gt_coll_only_moves(request->coll))
		return gt_cluster_search_alltoall(request, plan, err);
	switch (algo) {
	case GT_PLANNER_RING:
		return gt_cluster_search_rings(request, plan, err);
	case GT_PLANNER_TREE:
		return gt_cluster_search_trees(request, plan, err);
	case GT_PLANNER_HIER:
		return gt_cluster_search_templates(request, plan, err);
	default:
		return gt_cluster_search_by_size(request, plan, err);
	}
}

/* Find the best plan of nodes that are alike, into *plan. */
static int plan_quotient(struct gt_planner *p, const struct gt_cluster *cluster,
			 struct gt_plan **plan, struct gt_err *err)
{
	const struct gt_topo *topo = cluster->kinds[0].topo;
	int rc = gt_gpu_list_read(topo, p->ask.gpus, p->arena, &p->several.gpus,
				  &p->several.ngpus, err);

	if (!rc && !p->npaths)
		rc = add_paths(p, topo, err);
	if (rc)
		return rc;
	p->several.cluster = cluster;
	p->several.paths = p->paths[0];
	rc = check_root(p->ask.root,
			(uint64_t)cluster->nnodes * p->several.ngpus, err);
	return rc ? rc : search_quotient(&p->several, p->ask.algo, plan, err);
}

static int plan_alike(struct gt_planner *p, const struct gt_cluster *cluster,
		      struct gt_err *err)
{
	int64_t begin_ns = gt_clock_ns();
	int rc = gt_planner_refuse(&p->ask, GT_PLANNER_ON_QUOTIENT, err);

	if (!rc)
		rc = plan_quotient(p, cluster, &p->plan, err);
	p->result.by_quotient = 1;
	p->result.search_ns = gt_clock_ns() - begin_ns;
	return rc;
}

/* Plan with what all nodes have: these are too many to be flattened. */
static int plan_homogenized(struct gt_planner *p, struct gt_err *err)
{
	int rc = gt_mixed_even(p->cluster, p->ask.gpus, p->arena, &p->common,
			       err);

	if (!rc)
		rc = gt_unlike_words(p->cluster, p->arena, &p->result.unlike,
				     err);
	p->result.homogenized = 1;
	if (!rc)
		rc = plan_alike(p, p->common, err);
	if (!rc)
		p->plan->cluster->common = 1;
	return rc;
}

/* ---- both, and the better one ------------------------------------------ */

/* The time of a large message in microseconds. */
static int price_large(const struct gt_plan *plan, double *us,
		       struct gt_err *err)
{
	struct gt_cost_model *model;
	struct gt_cost cost;
	int rc = gt_cost_new(plan, plan->coll, &model, err);

	if (rc)
		return rc;
	rc = gt_cost_price(model, LARGE_BYTES, &cost, err);
	gt_cost_free(model);
	*us = rc ? 0 : cost.time_us;
	return rc;
}

/*
 * GT_ENO unless the plan beats its rival, not by its proof alone: what shares a
 * FIFO does not share its load.
 */
static int beat_rival(const struct gt_plan *plan, const struct gt_plan *rival,
		      struct gt_err *err)
{
	double us[2];
	int rc = GT_ENO;

	if (gt_rat_cmp(plan->proof.value, rival->proof.value) > 0)
		rc = price_large(plan, &us[0], err);
	if (!rc)
		rc = price_large(rival, &us[1], err);
	return rc || us[0] < us[1] ? rc : GT_ENO;
}

/*
 * A plan of the quotient takes the place of the flattened cluster's if it is
 * better; that it is not, or that there is none, is no failure.
 */
static int try_quotient(struct gt_planner *p, struct gt_err *err)
{
	int64_t begin_ns = gt_clock_ns();
	struct gt_plan *better = NULL;
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	rc = plan_quotient(p, p->cluster, &better, &why);
	if (!rc) {
		rc = beat_rival(better, p->plan, &why);
		if (rc)
			gt_plan_free(better);
	}
	if (rc == GT_ESYS)
		return gt_err_set(err, rc, why.where, "%s", why.text);
	if (rc)
		return GT_OK;
	gt_plan_free(p->plan);
	p->plan = better;
	p->result.by_quotient = 1;
	p->result.search_ns = gt_clock_ns() - begin_ns;
	return GT_OK;
}

/* Does the plan reach what no schedule exceeds? */
static int reaches_all(const struct gt_plan_proof *proof)
{
	if (proof->has_any_bound)
		return gt_rat_cmp(proof->value, proof->any_bound) >= 0;
	return proof->class_ == GT_PROOF_ANY && proof->optimal;
}

/*
 * The other way round, where one rank is the root: trees that differ from node
 * to node may carry more than those that are alike in all.
 */
static int try_flattened(struct gt_planner *p, struct gt_err *err)
{
	const struct gt_planner_result known = p->result;
	struct gt_plan *plan = p->plan;
	struct gt_err why;
	int rc;

	if (reaches_all(&plan->proof))
		return GT_OK;
	gt_err_init(&why);
	p->plan = NULL;
	rc = plan_flattened(p, &why);
	if (!rc)
		rc = beat_rival(p->plan, plan, &why);
	if (rc) {
		gt_plan_free(p->plan);
		p->plan = plan;
		p->result = known;
		return rc == GT_ESYS
			       ? gt_err_set(err, rc, why.where, "%s", why.text)
			       : GT_OK;
	}
	gt_plan_free(plan);
	p->result.by_quotient = 0;
	return GT_OK;
}

/* ---- which of these ---------------------------------------------------- */

/* How many GPUs are there, or are named? */
static uint64_t count_gpus(const struct gt_planner_request *ask,
			   const struct gt_cluster *cluster)
{
	struct gt_name_list names = {.rest = ask->gpus};
	char word[GT_NAME_MAX];
	uint32_t named = 0;
	uint64_t n = 0;

	while (gt_name_list_next(&names, word))
		named++;
	for (uint32_t i = 0; i < cluster->nkinds; i++)
		n += (uint64_t)cluster->kinds[i].nnodes *
		     (ask->gpus ? named
				: gt_topo_ngpus(cluster->kinds[i].topo));
	return n;
}

/* Has the cluster few enough GPUs to be flattened? */
static int fits_flat(const struct gt_planner_request *ask,
		     const struct gt_cluster *cluster)
{
	return count_gpus(ask, cluster) <= GT_FLAT_MAX_RANKS;
}

/* Can trees over routes of their own do it, of so many GPUs? */
static int fits_uneven(const struct gt_planner_request *ask,
		       const struct gt_cluster *cluster)
{
	int trees = ask->algo == GT_PLANNER_AUTO ||
		    ask->algo == GT_PLANNER_FOREST ||
		    ask->algo == GT_PLANNER_TREE;

	return trees && !gt_coll_only_moves(gt_planner_coll(ask)) &&
	       !ask->demand && !ask->equal && !ask->trees_per_root &&
	       !ask->max_channels &&
	       count_gpus(ask, cluster) <= GT_FLAT_OPEN_RANKS;
}

/* Has the quotient no plans for the collective, or none of this shape? */
static int needs_flat(const struct gt_planner_request *ask)
{
	enum gt_coll coll = gt_planner_coll(ask);

	if (ask->algo == GT_PLANNER_TREE)
		return gt_coll_has_blocks(coll);
	return gt_coll_only_moves(coll) ||
	       (ask->algo != GT_PLANNER_AUTO && ask->algo != GT_PLANNER_RING);
}

static int plan_cluster(struct gt_planner *p, struct gt_err *err)
{
	const struct gt_planner_request *ask = &p->ask;
	struct gt_err why;
	int alike, flat, rc;

	if (gt_planner_uses_switches(&p->ask))
		return plan_cluster_switches(p, err);
	gt_err_init(&why);
	alike = gt_quotient_accepts(p->cluster, &why) != GT_EINPUT;
	flat = fits_flat(ask, p->cluster) && ask->algo != GT_PLANNER_HIER &&
	       (needs_flat(ask) || !alike);
	if (!flat && !alike && fits_uneven(ask, p->cluster))
		return plan_uneven(p, err);
	if (!flat && !alike)
		return plan_homogenized(p, err);
	if (!flat) {
		rc = plan_alike(p, p->cluster, err);
		if (!rc && ask->algo == GT_PLANNER_AUTO && !ask->max_channels &&
		    gt_coll_is_rooted(gt_planner_coll(ask)) &&
		    fits_flat(ask, p->cluster))
			rc = try_flattened(p, err);
		return rc;
	}
	rc = flatten(p, 0, err);
	if (rc)
		return rc;
	if (fits_uneven(ask, p->cluster) && gt_mixed_needs_open(p->one.flat))
		return ask->algo == GT_PLANNER_AUTO ? plan_both(p, err)
						    : plan_uneven(p, err);
	if (!alike && ask->algo == GT_PLANNER_AUTO &&
	    fits_uneven(ask, p->cluster) &&
	    count_gpus(ask, p->cluster) > FOREST_MAX_RANKS)
		return plan_both(p, err);
	rc = search_one(p, err);
	if (!rc && alike && ask->algo == GT_PLANNER_AUTO && !ask->demand &&
	    !ask->max_channels && gt_planner_coll(ask) == GT_COLL_ALLTOALL)
		rc = try_quotient(p, err);
	return rc;
}

/* The end of both: hand the planner out if it has a plan. */
static int finish(struct gt_planner *p, int rc, struct gt_planner **planner)
{
	p->result.plan = p->plan;
	if (rc) {
		gt_planner_free(p);
		return rc;
	}
	p->plan->invariant = p->ask.invariant;
	*planner = p;
	return GT_OK;
}

int gt_planner_machine(const struct gt_planner_request *request,
		       struct gt_topo *topo, struct gt_planner **planner,
		       struct gt_err *err)
{
	struct gt_planner *p = new_planner(request, 1);
	int rc;

	if (!p)
		return gt_err_nomem(err);
	p->topo = topo;
	rc = gt_planner_algo(request, &p->ask.algo, err);
	return finish(p, rc ? rc : plan_machine(p, err), planner);
}

int gt_planner_cluster(const struct gt_planner_request *request,
		       const struct gt_cluster *cluster,
		       struct gt_planner **planner, struct gt_err *err)
{
	struct gt_planner *p;
	int rc = gt_mixed_need_gpus(cluster, err);

	/* Nothing crosses a network to itself. */
	if (!rc && cluster->nnodes == 1 && cluster->ntopos == 1)
		return gt_planner_machine(request, cluster->topos[0], planner,
					  err);
	p = rc ? NULL : new_planner(request, cluster->nkinds);
	if (!p)
		return rc ? rc : gt_err_nomem(err);
	p->cluster = cluster;
	rc = gt_planner_algo(request, &p->ask.algo, err);
	return finish(p, rc ? rc : plan_cluster(p, err), planner);
}

/* ---- what is asked afterwards ------------------------------------------ */

int gt_planner_union_bound(const struct gt_planner *p, int *found,
			   struct gt_rat *value, struct gt_err *err)
{
	return gt_union_bound(p->cluster, &p->several, found, value, err);
}

/*
 * What found a plan of one machine, or of a cluster as one.  Trees that choose
 * their routes take too long to be searched again for each link.
 */
static struct gt_whatif_machine find_origin(const struct gt_planner *p)
{
	enum gt_algo algo = gt_plan_main_row(p->plan)->algo;
	struct gt_whatif_machine machine = {
		p->topo, &p->one, gt_planner_algo_name(p->ask.algo), p->plan};

	if (!p->open.flat)
		return machine;
	if (algo == GT_ALGO_RING) {
		machine.algo = "ring";
	} else if (algo == GT_ALGO_ONE_SHOT || algo == GT_ALGO_TWO_SHOT) {
		machine.algo = "mesh";
	} else {
		machine.request = &p->open;
		machine.algo = NULL;
	}
	return machine;
}

int gt_planner_explain(const struct gt_planner *p, struct gt_whatif **whatif,
		       struct gt_err *err)
{
	const struct gt_whatif_machine machine = find_origin(p);
	const char *unlike = p->result.unlike;
	int rc = GT_OK;

	if (p->cluster && !unlike)
		rc = gt_unlike_words(p->cluster, p->arena, &unlike, err);
	if (!rc)
		rc = p->result.by_quotient
			     ? gt_whatif_of_cluster(&p->several, whatif, err)
			     : gt_whatif_of_machine(&machine, whatif, err);
	if (rc)
		return rc;
	(*whatif)->unlike = unlike;
	(*whatif)->homogenized = p->result.homogenized;
	return GT_OK;
}
