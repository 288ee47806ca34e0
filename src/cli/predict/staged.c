/*
 * Plan and topology do not know each other, so what leads a plan's hops by the
 * routes that a machine has for them is here.
 */
#include "cli/predict/staged.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/common/apart.h"
#include "plan/check/fault.h"
#include "plan/ir/plan.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/part.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

enum {
	/* All that PCIe carries, of a row's channels together. */
	GT_STAGE_WORKERS = 8,
	/* A mailbox's part for one shot of two, without flags. */
	GT_STAGE_PART_BYTES = 256 << 10,
};

struct gt_stage {
	struct gt_plan *plan;
	struct gt_topo *topo;
	struct gt_paths *paths; /* without any access */
	uint32_t *gpus;         /* by rank: its number in order of dev */
	/* By link of the topology: the plan's, or GT_NONE while it has none. */
	uint32_t *links;
};

static int gt_stage_find_gpus(const struct gt_stage *s, struct gt_err *err)
{
	for (uint32_t r = 0; r < s->plan->nranks; r++) {
		const char *device = s->plan->ranks[r].device;

		s->gpus[r] = gt_apart_gpu(s->topo, s->plan, r);
		if (s->gpus[r] == GT_NONE)
			return gt_err_set(err, GT_EINPUT,
					  gt_topo_source(s->topo),
					  "has no GPU '%s', which is rank %u "
					  "of the plan",
					  device ? device : "", r);
	}
	return GT_OK;
}

/* Find the plan's links in the topology, and make room for all others. */
static int gt_stage_find_links(struct gt_stage *s, struct gt_err *err)
{
	struct gt_plan *plan = s->plan;
	uint32_t n = gt_topo_nlinks(s->topo);
	struct gt_plan_link *all = gt_arena_array(
		plan->arena, (size_t)plan->nlinks + n, sizeof(*all));

	s->links = gt_arena_array(plan->arena, n, sizeof(*s->links));
	if (!all || !s->links)
		return gt_err_nomem(err);
	memcpy(all, plan->links, plan->nlinks * sizeof(*all));
	plan->links = all;
	for (uint32_t i = 0; i < n; i++) {
		s->links[i] = GT_NONE;
		for (uint32_t l = 0; l < plan->nlinks; l++)
			if (!strcmp(plan->links[l].id,
				    gt_topo_link(s->topo, i)->id))
				s->links[i] = l;
	}
	return GT_OK;
}

/* Returns the plan's number of a topology's link; GT_NONE: no memory. */
static uint32_t gt_stage_link(const struct gt_stage *s, uint32_t link)
{
	const struct gt_link *from = gt_topo_link(s->topo, link);
	struct gt_plan *plan = s->plan;
	char *id;

	if (s->links[link] != GT_NONE)
		return s->links[link];
	id = gt_arena_strdup(plan->arena, from->id);
	if (!id)
		return GT_NONE;
	plan->links[plan->nlinks] =
		(struct gt_plan_link){.id = id,
				      .kind = gt_link_kind_name(from->kind),
				      .gbs = from->gbs};
	return s->links[link] = plan->nlinks++;
}

static int gt_stage_hop(const struct gt_stage *s, struct gt_plan_hop *hop,
			struct gt_err *err)
{
	const struct gt_path *path = gt_paths_peer(
		s->paths, gt_topo_gpu(s->topo, s->gpus[hop->from]),
		gt_topo_gpu(s->topo, s->gpus[hop->to]));

	hop->route = gt_arena_array(s->plan->arena, path->nhops,
				    sizeof(*hop->route));
	if (!hop->route)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < path->nhops; i++) {
		hop->route[i] = gt_stage_link(s, path->links[i]);
		if (hop->route[i] == GT_NONE)
			return gt_err_nomem(err);
	}
	hop->nroute = path->nhops;
	hop->charge = path->charge;
	hop->transport = GT_TRANSPORT_SHM;
	return GT_OK;
}

/* Returns the row of the plan's ring that serves the collective, or NULL. */
static const struct gt_plan_select *gt_stage_ring(const struct gt_plan *plan,
						  enum gt_coll coll)
{
	for (uint32_t i = 0; i < plan->nselect; i++)
		if (plan->select[i].algo == GT_ALGO_RING &&
		    gt_plan_row_serves(plan, &plan->select[i], coll))
			return &plan->select[i];
	return NULL;
}

/* Returns the largest size whose blocks the mailboxes of packets hold. */
static uint64_t gt_stage_packet_bytes(const struct gt_plan *plan,
				      const struct gt_plan_select *row)
{
	if (row->algo == GT_ALGO_TWO_SHOT)
		return (uint64_t)GT_STAGE_PART_BYTES * plan->nranks;
	return gt_coll_has_blocks(row->coll)
		       ? 2 * (uint64_t)GT_STAGE_PART_BYTES * plan->nranks
		       : 2 * (uint64_t)GT_STAGE_PART_BYTES;
}

/* FIFOs have fewer workers there, and whole slices instead of packets. */
static struct gt_plan_select gt_stage_fifos(const struct gt_plan_select *row)
{
	struct gt_plan_select staged = *row;
	uint32_t most = row->nchannels < GT_STAGE_WORKERS
				? GT_STAGE_WORKERS / row->nchannels
				: 1;

	if (staged.workers > most)
		staged.workers = most;
	staged.protocol = GT_PROTOCOL_SIMPLE;
	return staged;
}

/*
 * Append what engines make of a row: nobody gets 128 bytes as a whole or
 * reaches buffers, so a mesh's bytes go as packets with a flag to each store
 * while mailboxes hold a block, and then around the plan's ring, or by copy
 * engines if it has none.
 */
static void gt_stage_row(const struct gt_plan *plan,
			 const struct gt_plan_select *row,
			 struct gt_plan_select *rows, uint32_t *nrows)
{
	const struct gt_plan_select *ring = gt_stage_ring(plan, row->coll);
	uint64_t most = gt_stage_packet_bytes(plan, row);
	struct gt_plan_select last = *row;

	if (row->algo != GT_ALGO_ONE_SHOT && row->algo != GT_ALGO_TWO_SHOT) {
		last = gt_stage_fifos(row);
	} else if (row->protocol != GT_PROTOCOL_CE) {
		last.protocol = GT_PROTOCOL_LL;
		if (row->max_bytes > most) {
			last.max_bytes = most;
			rows[(*nrows)++] = last;
			last.protocol = GT_PROTOCOL_CE;
			if (ring)
				last = gt_stage_fifos(ring);
			last.coll = row->coll;
			last.max_bytes = row->max_bytes;
		}
	}
	last.detour_permille = 0;
	rows[(*nrows)++] = last;
}

static int gt_stage_rows(struct gt_plan *plan, struct gt_err *err)
{
	uint32_t n = 0;
	struct gt_plan_select *rows = gt_arena_array(
		plan->arena, 2 * (size_t)plan->nselect, sizeof(*rows));

	if (!rows)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < plan->nselect; i++)
		gt_stage_row(plan, &plan->select[i], rows, &n);
	plan->select = rows;
	plan->nselect = n;
	return GT_OK;
}

static int gt_stage_all(struct gt_stage *s, struct gt_err *err)
{
	struct gt_plan *plan = s->plan;
	int rc = gt_topo_part_gpus(s->topo, "off", err);

	if (!rc)
		rc = gt_paths_new(s->topo, &s->paths, err);
	if (!rc)
		rc = gt_stage_find_links(s, err);
	for (uint32_t c = 0; c < plan->nchannels; c++)
		for (uint32_t i = 0; i < plan->channels[c].nhops && !rc; i++)
			rc = gt_stage_hop(s, &plan->channels[c].hops[i], err);
	if (!rc)
		rc = gt_stage_rows(plan, err);
	plan->nmeasured = 0;
	gt_paths_free(s->paths);
	return rc;
}

static int gt_stage_on(struct gt_topo *topo, const char *p2p,
		       struct gt_plan *plan, uint32_t *apart,
		       struct gt_err *err)
{
	struct gt_stage s = {.plan = plan, .topo = topo};
	int rc;

	if (plan->digest && strcmp(plan->digest, gt_topo_digest(topo)) != 0)
		return gt_plan_wrong(plan, gt_plan_at("topology.digest"), err,
				     "'%s' is another machine than '%s'",
				     plan->digest, gt_topo_source(topo));
	s.gpus = gt_arena_array(plan->arena, plan->nranks, sizeof(*s.gpus));
	if (!s.gpus)
		return gt_err_nomem(err);
	rc = gt_stage_find_gpus(&s, err);
	if (!rc)
		rc = gt_topo_part_gpus(topo, p2p, err);
	if (rc)
		return rc;
	*apart = gt_apart_pairs(topo, plan);
	if (!*apart || (gt_plan_is_staged(plan) && !gt_plan_is_mixed(plan)))
		return GT_OK;
	return gt_stage_all(&s, err);
}

/* Ranks of several hosts have links between them, whoever reaches whom. */
static int gt_stage_has_links(const struct gt_plan *plan)
{
	for (uint32_t i = 1; i < plan->nranks && !plan->cluster; i++)
		if (plan->ranks[i].node && plan->ranks[0].node &&
		    strcmp(plan->ranks[i].node, plan->ranks[0].node) != 0)
			return 1;
	return plan->cluster != NULL;
}

int gt_predict_stage(const struct gt_predict_machine *machine,
		     struct gt_plan *plan, uint32_t *apart, struct gt_err *err)
{
	struct gt_cluster *cluster = NULL;
	struct gt_topo *topo = NULL;
	int rc = gt_plan_need_forwarding(plan, "gtopo predict --topology", err);

	*apart = 0;
	if (rc)
		return rc;
	if (gt_stage_has_links(plan))
		return gt_err_set(err, GT_EINPUT, machine->path,
				  "is for plans of one machine; of several "
				  "nodes gtopo search --p2p makes a plan that "
				  "tells");
	rc = gt_cluster_read(machine->path, gt_rates_find(plan->rates),
			     &cluster, &topo, err);
	if (!rc && cluster)
		rc = gt_err_set(err, GT_EINPUT, machine->path,
				"is a cluster; the plan is of one machine");
	else if (!rc)
		rc = gt_stage_on(topo, machine->p2p, plan, apart, err);
	gt_topo_free(topo);
	gt_cluster_free(cluster);
	return rc;
}
