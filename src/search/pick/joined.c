/* Makes one fabric of sets of several nodes, and bounds an all-reduce on it. */
#include "search/pick/joined.h"

#include "base/arena.h"
#include "base/err.h"
#include "search/bound/bound.h"
#include "search/pick/stock.h"
#include "search/problem/fabric.h"
#include "topo/cluster/cluster.h"

int gt_joined_by_nvlink(const struct gt_cluster *cluster)
{
	return gt_cluster_joins(cluster, GT_FABRIC_NVLINK) == cluster->nnodes;
}

/* ---- the quick bound ---------------------------------------------------- */

/* p parts, out of which so much goes, as bus bandwidth of n ranks. */
static int bound_parts(struct gt_rat out, uint32_t p, uint32_t n,
		       struct gt_rat *gbs)
{
	struct gt_rat factor;

	return p > 1 &&
	       gt_rat_make((int64_t)n - 1, (int64_t)n * (p - 1), &factor) &&
	       gt_rat_mul(out, factor, gbs);
}

int gt_joined_at_most(const struct gt_joined_part *parts, uint32_t nparts,
		      struct gt_rat *gbs)
{
	struct gt_rat out = GT_RAT(0, 1), gpus = GT_RAT(0, 1), one;
	uint32_t n = 0;
	int found = 0, fits = 1;

	if (nparts == 1) {
		*gbs = parts[0].set->gbs;
		return 1;
	}
	for (uint32_t i = 0; i < nparts; i++) {
		n += parts[i].set->n;
		fits = fits && gt_rat_add(out, parts[i].set->net_gbs, &out) &&
		       gt_rat_add(gpus, parts[i].set->gpus_gbs, &gpus);
	}
	if (fits && bound_parts(out, nparts, n, gbs))
		found = 1;
	if (fits && bound_parts(gpus, n, n, &one)) {
		*gbs = found ? gt_rat_min(*gbs, one) : one;
		found = 1;
	}
	return found;
}

/* ---- the exact bound ---------------------------------------------------- */

/* The fabric under way: vertices of parts, one part behind another, switches.
 */
struct joint {
	const struct gt_cluster *cluster;
	const struct gt_joined_part *parts;
	uint32_t nparts;
	enum gt_fabric_kind over;
	uint32_t *first;    /* by part: its first vertex */
	uint32_t *switches; /* by level: the first one's vertex */
	struct gt_fabric fabric;
};

static void add_link(struct joint *j, uint32_t from, uint32_t to,
		     struct gt_rat gbs)
{
	j->fabric.links[j->fabric.nlinks++] =
		(struct gt_fabric_link){.from = from, .to = to, .gbs = gbs};
}

static void add_both(struct joint *j, uint32_t a, uint32_t b, struct gt_rat gbs)
{
	add_link(j, a, b, gbs);
	add_link(j, b, a, gbs);
}

static const struct gt_cluster_kind *kind_of(const struct joint *j,
					     uint32_t part)
{
	return gt_cluster_kind_of(j->cluster, j->parts[part].node);
}

/* Vertices, and room for all links. */
static int make_room(struct joint *j, struct gt_arena *arena)
{
	const struct gt_cluster_fabric *f = &j->cluster->fabrics[j->over];
	uint32_t n = 0, nlinks = 0, nranks = 0;

	j->first = gt_arena_array(arena, j->nparts, sizeof(*j->first));
	j->switches = gt_arena_array(arena, f->nlevels, sizeof(uint32_t));
	if (!j->first || !j->switches)
		return GT_ESYS;
	for (uint32_t i = 0; i < j->nparts; i++) {
		const struct gt_cluster_kind *kind = kind_of(j, i);

		j->first[i] = n;
		n += gt_topo_nnodes(kind->topo);
		nlinks += j->parts[i].set->nlinks + 2 * kind->ports[j->over].n;
		nranks += j->parts[i].set->n;
	}
	for (uint32_t l = 0; l < f->nlevels; l++) {
		j->switches[l] = n;
		n += f->levels[l].nswitches;
		nlinks += 2 * f->levels[l].nswitches;
	}
	j->fabric.nnodes = n;
	j->fabric.links =
		gt_arena_array(arena, nlinks, sizeof(*j->fabric.links));
	j->fabric.ranks =
		gt_arena_array(arena, nranks, sizeof(*j->fabric.ranks));
	return j->fabric.links && j->fabric.ranks ? GT_OK : GT_ESYS;
}

/* The NVSwitch behind a GPU's NVLink port. */
static uint32_t nvswitch_of(const struct gt_topo *topo, uint32_t gpu)
{
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++)
		if (gt_topo_link(topo, i)->from == gpu &&
		    gt_topo_node(topo, gt_topo_link(topo, i)->to)->kind ==
			    GT_NODE_NVS)
			return gt_topo_link(topo, i)->to;
	return gpu;
}

/* A part's own links, its ranks, and its ports below their switches. */
static void add_part(struct joint *j, uint32_t part)
{
	const struct gt_joined_part *p = &j->parts[part];
	const struct gt_cluster_kind *kind = kind_of(j, part);
	const struct gt_cluster_ports *ports = &kind->ports[j->over];
	uint32_t first = j->first[part];

	for (uint32_t i = 0; i < p->set->nlinks; i++)
		add_link(j, first + p->set->links[i].from,
			 first + p->set->links[i].to, p->set->links[i].gbs);
	for (uint32_t i = 0; i < gt_topo_ngpus(kind->topo); i++)
		if (p->set->gpus >> i & 1)
			j->fabric.ranks[j->fabric.nranks++] =
				first + gt_topo_gpu(kind->topo, i);
	for (uint32_t i = 0; i < ports->n; i++) {
		const struct gt_cluster_port *port = &ports->list[i];
		uint32_t at = j->over == GT_FABRIC_NVLINK
				      ? nvswitch_of(kind->topo, port->device)
				      : port->device;

		add_both(j, first + at,
			 j->switches[0] + gt_cluster_switch(j->cluster, j->over,
							    0, p->node,
							    port->rail),
			 port->gbs);
	}
}

static int add_uplinks(struct joint *j, struct gt_err *err)
{
	const struct gt_cluster_fabric *f = &j->cluster->fabrics[j->over];
	struct gt_rat gbs;
	int rc = GT_OK;

	for (uint32_t l = 0; l + 1 < f->nlevels; l++)
		for (uint32_t i = 0; i < f->levels[l].nswitches && !rc; i++) {
			rc = gt_cluster_uplink(j->cluster, j->over, l, i, &gbs,
					       err);
			if (rc || !gbs.num)
				continue;
			add_both(j, j->switches[l] + i,
				 j->switches[l + 1] +
					 gt_cluster_parent_switch(
						 j->cluster, j->over, l, i),
				 gbs);
		}
	return rc;
}

static int find_worth(struct joint *j, struct gt_arena *arena,
		      struct gt_rat *gbs, struct gt_err *err)
{
	struct gt_bound_query ask = {.fabric = &j->fabric,
				     .coll = GT_COLL_ALLREDUCE};
	struct gt_bound bound = {.found = 0};
	int rc = make_room(j, arena) ? gt_err_nomem(err) : GT_OK;

	for (uint32_t i = 0; i < j->nparts && !rc; i++)
		add_part(j, i);
	if (!rc)
		rc = add_uplinks(j, err);
	if (!rc)
		rc = gt_bound_find(&ask, arena, &bound, err);
	if (!rc && !bound.found)
		rc = gt_err_set(err, GT_EINPUT, j->cluster->source,
				"has rates that are no fractions of 64 bits");
	if (!rc)
		*gbs = bound.value;
	return rc;
}

int gt_joined_worth(const struct gt_cluster *cluster,
		    const struct gt_joined_part *parts, uint32_t nparts,
		    struct gt_rat *gbs, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct joint j = {.cluster = cluster, .parts = parts, .nparts = nparts};
	int rc;

	j.over =
		gt_joined_by_nvlink(cluster) ? GT_FABRIC_NVLINK : GT_FABRIC_NET;
	if (nparts == 1) {
		*gbs = parts[0].set->gbs;
		rc = GT_OK;
	} else {
		rc = arena ? find_worth(&j, arena, gbs, err)
			   : gt_err_nomem(err);
	}
	gt_arena_free(arena);
	return rc;
}
