/* Looks at all subsets of a node's GPUs, each by a maximum flow. */
#include "search/job/cuts.h"

#include <math.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/rat.h"
#include "search/graph/graph.h"
#include "search/problem/fabric.h"
#include "search/problem/request.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

/* Flows are whole numbers: GB/s times this, rounded up. */
enum { SCALE = 1 << 30 };

/*
 * A flow from link to link: each is an arc, and the others lead from one to the
 * next as routes do, so none turns where no route does.
 */
struct finder {
	const struct gt_topo *topo;
	struct gt_paths *paths;
	struct gt_arena *arena; /* of fabrics */
	struct gt_job_cuts *cuts;
	struct gt_maxflow *flow;
	uint32_t nlinks, npairs;
	double *gbs; /* by link: what it carries of the routes that are open */
	/* By pair of GPUs, from * ngpus + to, in order: its first arc. */
	uint32_t first[GT_CUTS_MAX_GPUS * GT_CUTS_MAX_GPUS + 1];
	/* By pair: do NVLinks through a third member stand in for its route? */
	unsigned char relayed[GT_CUTS_MAX_GPUS * GT_CUTS_MAX_GPUS];
};

static const struct gt_path *path_of(const struct finder *f, uint32_t pair)
{
	uint32_t n = f->cuts->ngpus;

	return gt_paths_peer(f->paths, gt_topo_gpu(f->topo, pair / n),
			     gt_topo_gpu(f->topo, pair % n));
}

/* Has each GPU as wide a way to each, over one switch of NVLinks? */
static int is_switched(const struct finder *f)
{
	const struct gt_path *first = NULL;

	for (uint32_t i = 0; i < f->npairs; i++) {
		const struct gt_path *path = path_of(f, i);

		if (i / f->cuts->ngpus == i % f->cuts->ngpus)
			continue;
		first = first ? first : path;
		if (path->kind != GT_PATH_NVL || path->nhops != 2 ||
		    gt_rat_cmp(path->gbs, first->gbs))
			return 0;
	}
	return 1;
}

/* Is there a route for each pair? */
static int is_routed(const struct finder *f)
{
	for (uint32_t i = 0; i < f->npairs; i++)
		if (i / f->cuts->ngpus != i % f->cuts->ngpus &&
		    path_of(f, i)->kind >= GT_PATH_DIS)
			return 0;
	return 1;
}

/* ---- the flow ----------------------------------------------------------- */

/* Arcs from the source along a pair's route to the sink. */
static void add_route(struct finder *f, uint32_t pair)
{
	const struct gt_path *path = path_of(f, pair);
	uint32_t at = 2 * f->nlinks;

	f->first[pair + 1] = f->first[pair];
	if (pair / f->cuts->ngpus == pair % f->cuts->ngpus)
		return;
	for (uint32_t k = 0; k < path->nhops; k++) {
		gt_maxflow_add(f->flow, at, 2 * path->links[k]);
		at = 2 * path->links[k] + 1;
	}
	gt_maxflow_add(f->flow, at, 2 * f->nlinks + 1);
	f->first[pair + 1] += path->nhops + 1;
}

/* Let a pair's route carry what its charge leaves of links. */
static void open_route(const struct finder *f, uint32_t pair)
{
	const struct gt_path *path = path_of(f, pair);
	double charge = gt_rat_double(path->charge);

	for (uint32_t k = 0; k < path->nhops; k++) {
		const struct gt_link *link =
			gt_topo_link(f->topo, path->links[k]);
		double gbs = gt_rat_double(link->gbs);

		gbs /= link->kind == GT_LINK_PCI ? charge : 1;
		f->gbs[path->links[k]] = fmax(f->gbs[path->links[k]], gbs);
	}
	for (uint32_t k = f->first[pair]; k < f->first[pair + 1]; k++)
		gt_maxflow_set(f->flow, k, GT_MAXFLOW_INF / 64);
}

static int init_flow(struct finder *f)
{
	uint32_t narcs = f->nlinks;

	for (uint32_t i = 0; i < f->npairs; i++)
		narcs += path_of(f, i)->nhops + 1;
	f->flow = gt_maxflow_new(2 * f->nlinks + 2, narcs);
	if (!f->flow)
		return 0;
	for (uint32_t i = 0; i < f->nlinks; i++)
		gt_maxflow_add(f->flow, 2 * i, 2 * i + 1);
	f->first[0] = f->nlinks;
	for (uint32_t i = 0; i < f->npairs; i++)
		add_route(f, i);
	return 1;
}

/* What a set sends to another over routes, all or those that members keep. */
static double run(const struct finder *f, uint32_t from, uint32_t to, int all)
{
	uint32_t n = f->cuts->ngpus;

	for (uint32_t i = 0; i < f->nlinks; i++)
		f->gbs[i] = 0;
	for (uint32_t k = f->nlinks; k < f->first[f->npairs]; k++)
		gt_maxflow_set(f->flow, k, 0);
	for (uint32_t i = 0; i < f->npairs; i++)
		if ((from >> i / n & 1) && (to >> i % n & 1) &&
		    (all || !f->relayed[i]))
			open_route(f, i);
	for (uint32_t i = 0; i < f->nlinks; i++)
		gt_maxflow_set(f->flow, i, (int64_t)ceil(f->gbs[i] * SCALE));
	return (double)gt_maxflow_run(f->flow, 2 * f->nlinks,
				      2 * f->nlinks + 1) /
	       SCALE;
}

/* ---- sets --------------------------------------------------------------- */

/* Find which pairs of members relay over a third one. */
static int find_relayed(struct finder *f, uint32_t members, struct gt_err *err)
{
	uint32_t gpus[GT_CUTS_MAX_GPUS], numbers[GT_CUTS_MAX_GPUS];
	struct gt_search_request request = {
		.topo = f->topo, .paths = f->paths, .gpus = gpus};
	struct gt_fabric *fabric;
	uint32_t n = 0;
	int rc;

	for (uint32_t i = 0; i < f->cuts->ngpus; i++)
		if (members >> i & 1) {
			gpus[n] = gt_topo_gpu(f->topo, i);
			numbers[n++] = i;
		}
	request.nranks = n;
	rc = gt_search_request_fabric(&request, f->arena, &fabric, err);
	for (uint32_t i = 0; i < n * n && !rc; i++)
		f->relayed[numbers[i / n] * f->cuts->ngpus + numbers[i % n]] =
			(unsigned char)fabric->routes[i].relayed;
	return rc;
}

/*
 * The least ratio of what leaves the parts to messages, over the partitions
 * that have `nparts` parts of `sum` GB/s already and are to split the rest.
 */
static double split(const double *out, uint32_t rest, uint32_t nparts,
		    double sum)
{
	uint32_t low = rest & (~rest + 1);
	double least = HUGE_VAL;

	if (!rest)
		return nparts > 1 ? sum / (2 * (nparts - 1)) : HUGE_VAL;
	/* The next part has the lowest GPU of the rest and some others. */
	for (uint32_t more = rest ^ low;; more = (more - 1) & (rest ^ low)) {
		least = fmin(least, split(out, rest ^ low ^ more, nparts + 1,
					  sum + out[low | more]));
		if (!more)
			return least;
	}
}

static int find_members(struct finder *f, uint32_t members, struct gt_err *err)
{
	size_t at = (size_t)members * GT_CUTS_SETS;
	int rc = find_relayed(f, members, err);

	if (rc)
		return rc;
	for (uint32_t set = members; set; set = (set - 1) & members) {
		uint32_t to = set == members ? members : members & ~set;

		f->cuts->out[at + set] = run(f, set, to, 0);
		f->cuts->any[at + set] = run(f, set, to, 1);
	}
	f->cuts->strength[members] = split(f->cuts->out + at, members, 0, 0);
	return GT_OK;
}

static int find_all(struct finder *f, struct gt_err *err)
{
	uint32_t sets = 1u << f->cuts->ngpus;
	int rc = GT_OK;

	for (uint32_t members = 1; members < sets && !rc; members++)
		if (members & (members - 1))
			rc = find_members(f, members, err);
	return rc;
}

static int init_cuts(struct finder *f, struct gt_arena *arena)
{
	struct gt_job_cuts *cuts = f->cuts;
	size_t sets = (size_t)1 << cuts->ngpus;

	cuts->out =
		gt_arena_array(arena, sets * GT_CUTS_SETS, sizeof(*cuts->out));
	cuts->any =
		gt_arena_array(arena, sets * GT_CUTS_SETS, sizeof(*cuts->any));
	cuts->strength = gt_arena_array(arena, sets, sizeof(*cuts->strength));
	f->arena = gt_arena_new();
	if (!cuts->out || !cuts->any || !cuts->strength || !f->arena)
		return 0;
	f->gbs = gt_arena_array(f->arena, f->nlinks, sizeof(*f->gbs));
	return f->gbs && init_flow(f);
}

int gt_job_cuts_find(const struct gt_topo *topo, struct gt_arena *arena,
		     const struct gt_job_cuts **cuts, struct gt_err *err)
{
	struct finder f = {.topo = topo, .nlinks = gt_topo_nlinks(topo)};
	uint32_t n = gt_topo_ngpus(topo);
	int rc;

	*cuts = NULL;
	if (n > GT_CUTS_MAX_GPUS)
		return GT_OK;
	f.cuts = gt_arena_alloc(arena, sizeof(*f.cuts));
	if (!f.cuts)
		return gt_err_nomem(err);
	f.cuts->ngpus = n;
	f.npairs = n * n;
	rc = gt_paths_new(topo, &f.paths, err);
	if (!rc && is_routed(&f) && !is_switched(&f)) {
		rc = init_cuts(&f, arena) ? find_all(&f, err)
					  : gt_err_nomem(err);
		*cuts = rc ? NULL : f.cuts;
	}
	gt_maxflow_free(f.flow);
	gt_arena_free(f.arena);
	gt_paths_free(f.paths);
	return rc;
}
