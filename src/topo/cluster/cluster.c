/*
 * Answers questions about a finished cluster: nodes by name, the switch of each
 * level that a port hangs below, and what downlinks and uplinks carry.  All is
 * computed from runs and levels; nothing is stored per node.
 */
#include "topo/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/unit.h"
#include "topo/graph/part.h"

enum { GT_ALL_RAILS = UINT32_MAX };

/* Nodes in a row, and which rail of theirs counts. */
struct gt_cluster_span {
	uint32_t first, end, rail;
};

void gt_cluster_free(struct gt_cluster *cluster)
{
	if (!cluster)
		return;
	for (uint32_t i = 0; i < cluster->ntopos; i++)
		gt_topo_free(cluster->topos[i]);
	gt_arena_free(cluster->arena);
}

int gt_cluster_part_gpus(struct gt_cluster *cluster, struct gt_topo *topo,
			 const char *words, struct gt_err *err)
{
	int rc = GT_OK;

	if (!cluster)
		return gt_topo_part_gpus(topo, words, err);
	for (uint32_t i = 0; i < cluster->ntopos && !rc; i++)
		rc = gt_topo_part_gpus(cluster->topos[i], words, err);
	return rc;
}

const struct gt_cluster_run *gt_cluster_run_of(const struct gt_cluster *cluster,
					       uint32_t node)
{
	uint32_t low = 0, high = cluster->nruns;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (cluster->runs[middle].first <= node)
			low = middle;
		else
			high = middle;
	}
	return &cluster->runs[low];
}

const struct gt_cluster_kind *gt_cluster_kind_of(
	const struct gt_cluster *cluster, uint32_t node)
{
	return &cluster->kinds[gt_cluster_run_of(cluster, node)->kind];
}

void gt_cluster_node_name(const struct gt_cluster *cluster, uint32_t node,
			  char *text, size_t size)
{
	const struct gt_cluster_run *run = gt_cluster_run_of(cluster, node);

	if (run->width < 0)
		snprintf(text, size, "%s", run->prefix);
	else
		snprintf(text, size, "%s%0*u%s", run->prefix, run->width,
			 run->number + (node - run->first), run->suffix);
}

/*
 * Only one node of the run can have the number that the name has at that place;
 * returns it if its name is the same, else GT_NONE.
 */
static uint32_t gt_cluster_run_find(const struct gt_cluster *cluster,
				    const struct gt_cluster_run *run,
				    const char *name)
{
	size_t len = strlen(run->prefix), tail, digits;
	char number[16], again[512];
	int64_t value;

	if (run->width < 0)
		return strcmp(name, run->prefix) != 0 ? GT_NONE : run->first;
	if (strncmp(name, run->prefix, len) != 0)
		return GT_NONE;
	/* The suffix may begin with digits. */
	tail = strlen(run->suffix);
	digits = strlen(name + len);
	if (digits <= tail || digits - tail >= sizeof(number))
		return GT_NONE;
	digits -= tail;
	memcpy(number, name + len, digits);
	number[digits] = '\0';
	if (!gt_unit_int(number, run->number,
			 (int64_t)run->number + run->count - 1, &value))
		return GT_NONE;
	value += (int64_t)run->first - run->number;
	gt_cluster_node_name(cluster, (uint32_t)value, again, sizeof(again));
	return strcmp(again, name) != 0 ? GT_NONE : (uint32_t)value;
}

uint32_t gt_cluster_node_find(const struct gt_cluster *cluster,
			      const char *name)
{
	uint32_t node = GT_NONE;

	for (uint32_t i = 0; i < cluster->nruns && node == GT_NONE; i++)
		node = gt_cluster_run_find(cluster, &cluster->runs[i], name);
	return node;
}

static uint32_t gt_cluster_wide(const struct gt_cluster_fabric *fabric,
				uint32_t level)
{
	return fabric->levels[level].by_rail ? fabric->nrails : 1;
}

static int ports_have_coll(const struct gt_cluster_kind *kind)
{
	const struct gt_cluster_ports *ports = &kind->ports[GT_FABRIC_NET];

	for (uint32_t i = 0; i < ports->n; i++)
		if (gt_topo_node(kind->topo, ports->list[i].device)->coll <= 0)
			return 0;
	return ports->n > 0;
}

int gt_cluster_has_sharp(const struct gt_cluster *cluster)
{
	int all = cluster->nkinds > 0;

	for (uint32_t i = 0; i < cluster->nkinds; i++)
		all &= ports_have_coll(&cluster->kinds[i]);
	return all || cluster->fabrics[GT_FABRIC_NET].sharp;
}

uint32_t gt_cluster_joins(const struct gt_cluster *cluster,
			  enum gt_fabric_kind over)
{
	const struct gt_cluster_fabric *f = &cluster->fabrics[over];

	return f->nlevels ? f->levels[f->nlevels - 1].nodes : 0;
}

uint32_t gt_cluster_switch(const struct gt_cluster *cluster,
			   enum gt_fabric_kind over, uint32_t level,
			   uint32_t node, uint32_t rail)
{
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	const struct gt_cluster_level *at = &fabric->levels[level];

	return node / at->nodes * gt_cluster_wide(fabric, level) +
	       (at->by_rail ? rail : 0);
}

static struct gt_cluster_span gt_cluster_below(const struct gt_cluster *cluster,
					       enum gt_fabric_kind over,
					       uint32_t level, uint32_t which)
{
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	const struct gt_cluster_level *at = &fabric->levels[level];
	uint32_t wide = gt_cluster_wide(fabric, level);
	struct gt_cluster_span span = {.first = which / wide * at->nodes,
				       .rail = at->by_rail ? which % wide
							   : GT_ALL_RAILS};

	span.end = cluster->nnodes - span.first < at->nodes
			   ? cluster->nnodes
			   : span.first + at->nodes;
	return span;
}

uint32_t gt_cluster_parent_switch(const struct gt_cluster *cluster,
				  enum gt_fabric_kind over, uint32_t level,
				  uint32_t which)
{
	struct gt_cluster_span span =
		gt_cluster_below(cluster, over, level, which);

	return gt_cluster_switch(cluster, over, level + 1, span.first,
				 span.rail == GT_ALL_RAILS ? 0 : span.rail);
}

uint32_t gt_cluster_common_level(const struct gt_cluster *cluster,
				 enum gt_fabric_kind over, const uint32_t a[2],
				 const uint32_t b[2])
{
	for (uint32_t i = 0; i < cluster->fabrics[over].nlevels; i++)
		if (gt_cluster_switch(cluster, over, i, a[0], a[1]) ==
		    gt_cluster_switch(cluster, over, i, b[0], b[1]))
			return i;
	return GT_NONE;
}

/* Adds n times gbs to *sum; 0 when the sum is no 64-bit fraction. */
static int gt_cluster_add(struct gt_rat *sum, uint32_t n, struct gt_rat gbs)
{
	return gt_rat_mul(gbs, GT_RAT(n, 1), &gbs) &&
	       gt_rat_add(*sum, gbs, sum);
}

static int gt_cluster_ports_sum(const struct gt_cluster *cluster,
				enum gt_fabric_kind over,
				const struct gt_cluster_span *span,
				struct gt_rat *sum)
{
	const struct gt_cluster_run *run =
		gt_cluster_run_of(cluster, span->first);
	const struct gt_cluster_run *end = cluster->runs + cluster->nruns;

	for (*sum = GT_RAT(0, 1); run < end && run->first < span->end; run++) {
		const struct gt_cluster_ports *ports =
			&cluster->kinds[run->kind].ports[over];
		uint32_t from =
			run->first > span->first ? run->first : span->first;
		uint32_t to = run->first + run->count < span->end
				      ? run->first + run->count
				      : span->end;

		for (uint32_t i = 0; i < ports->n; i++)
			if ((span->rail == GT_ALL_RAILS ||
			     span->rail == ports->list[i].rail) &&
			    !gt_cluster_add(sum, to - from, ports->list[i].gbs))
				return 0;
	}
	return 1;
}

/* Sums all that comes up to a level from these nodes. */
static int gt_cluster_sum(const struct gt_cluster *cluster,
			  enum gt_fabric_kind over, uint32_t level,
			  const struct gt_cluster_span *span,
			  struct gt_rat *sum)
{
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	const struct gt_cluster_level *low;
	uint32_t n;

	if (!level)
		return gt_cluster_ports_sum(cluster, over, span, sum);
	low = &fabric->levels[level - 1];
	if (low->uplink_gbs.num) {
		n = (span->end - span->first + low->nodes - 1) / low->nodes;
		if (low->by_rail && span->rail == GT_ALL_RAILS)
			n *= fabric->nrails;
		*sum = GT_RAT(0, 1);
		return gt_cluster_add(sum, n, low->uplink_gbs);
	}
	return gt_cluster_sum(cluster, over, level - 1, span, sum) &&
	       gt_rat_div(*sum, low->oversubscription, sum);
}

int gt_cluster_downlink(const struct gt_cluster *cluster,
			enum gt_fabric_kind over, uint32_t level,
			uint32_t which, struct gt_rat *gbs, struct gt_err *err)
{
	struct gt_cluster_span span =
		gt_cluster_below(cluster, over, level, which);
	struct gt_rat sum;

	if (!gt_cluster_sum(cluster, over, level, &span, &sum))
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "bandwidths of a fabric do not add up in 64 "
				  "bits");
	*gbs = sum;
	return GT_OK;
}

int gt_cluster_uplink(const struct gt_cluster *cluster,
		      enum gt_fabric_kind over, uint32_t level, uint32_t which,
		      struct gt_rat *gbs, struct gt_err *err)
{
	const struct gt_cluster_level *at =
		&cluster->fabrics[over].levels[level];
	struct gt_rat sum;
	int rc;

	if (at->uplink_gbs.num) {
		*gbs = at->uplink_gbs;
		return GT_OK;
	}
	rc = gt_cluster_downlink(cluster, over, level, which, &sum, err);
	if (!rc && !gt_rat_div(sum, at->oversubscription, gbs))
		rc = gt_err_set(err, GT_EINPUT, cluster->source,
				"an uplink is no 64-bit fraction");
	return rc;
}

const char *gt_fabric_kind_name(enum gt_fabric_kind over)
{
	return over == GT_FABRIC_NET ? "net" : "nvlink";
}
