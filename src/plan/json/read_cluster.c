/*
 * The sections that only a cluster's plan has are read here: nodes, ports,
 * levels, templates, and the sets of its certificate.
 */
#include "plan/json/read_sections.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "plan/json/reader.h"

/*
 * These are enough for any cluster, and keep what a hostile file can ask for
 * within bounds.
 */
enum { GT_CLUSTER_MAX_RANKS = 1 << 24, GT_CLUSTER_MAX_LOCAL = 512 };

static int gt_read_level(const struct gt_json *at, struct gt_plan_level *level,
			 struct gt_err *err)
{
	static const char *const keys[] = {"nodes", "rails", "spread",
					   "uplink_gbs", NULL};
	struct gt_json member;
	int rc = gt_json_object(at, keys, err), spread = 0;

	level->gbs = GT_RAT(0, 1);
	if (!rc)
		rc = gt_json_need(at, "nodes", &member, err);
	if (!rc)
		rc = gt_json_u32(&member, UINT32_MAX, &level->nodes, err);
	if (!rc && gt_json_get(at, "rails", &member))
		rc = gt_json_bool(&member, &level->by_rail, err);
	if (!rc)
		rc = gt_read_word(at, "spread", gt_spread_find, &spread, err);
	level->spread = (enum gt_spread)spread;
	if (!rc && gt_json_get(at, "uplink_gbs", &member))
		rc = gt_json_rat(&member, &level->gbs, err);
	return rc;
}

static int gt_read_levels(struct gt_plan_reader *reader,
			  const struct gt_json *object, struct gt_err *err)
{
	struct gt_plan_cluster *cluster = reader->plan->cluster;
	struct gt_json at, item;
	int rc = gt_json_need(object, "levels", &at, err);

	if (!rc)
		rc = gt_json_array(&at, &cluster->nlevels, err);
	if (rc)
		return rc;
	cluster->levels = gt_read_array(reader, cluster->nlevels,
					sizeof(*cluster->levels), err);
	if (!cluster->levels)
		return GT_ESYS;
	for (uint32_t i = 0; i < cluster->nlevels && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_level(&item, &cluster->levels[i], err);
	}
	return rc;
}

static int gt_read_port(struct gt_plan_reader *reader, const struct gt_json *at,
			struct gt_plan_port *port, struct gt_err *err)
{
	static const char *const keys[] = {"id", "rail", NULL};
	struct gt_json member;
	int rc = gt_json_object(at, keys, err);

	if (!rc)
		rc = gt_read_text(reader, at, "id", &port->id, err);
	if (!rc && !port->id)
		rc = gt_json_fault(at, err, "'id' is missing");
	if (!rc && gt_json_get(at, "rail", &member))
		rc = gt_json_u32(&member, UINT16_MAX, &port->rail, err);
	return rc;
}

static int gt_read_ports(struct gt_plan_reader *reader,
			 const struct gt_json *object, struct gt_err *err)
{
	struct gt_plan_cluster *cluster = reader->plan->cluster;
	struct gt_json at, item;
	int rc = gt_json_need(object, "ports", &at, err);

	if (!rc)
		rc = gt_json_array(&at, &cluster->nports, err);
	if (rc)
		return rc;
	cluster->nrails = 1;
	cluster->ports = gt_read_array(reader, cluster->nports,
				       sizeof(*cluster->ports), err);
	if (!cluster->ports)
		return GT_ESYS;
	for (uint32_t i = 0; i < cluster->nports && !rc; i++) {
		struct gt_plan_port *port = &cluster->ports[i];

		gt_json_item(&at, i, &item);
		rc = gt_read_port(reader, &item, port, err);
		if (port->rail >= cluster->nrails)
			cluster->nrails = port->rail + 1;
	}
	return rc;
}

static int gt_read_local(struct gt_plan_reader *reader,
			 const struct gt_json *object, struct gt_err *err)
{
	struct gt_plan *plan = reader->plan;
	struct gt_plan_cluster *cluster = plan->cluster;
	struct gt_json at;
	int rc = gt_json_need(object, "ranks", &at, err);

	if (!rc)
		rc = gt_read_rank_list(reader, &at, err);
	if (rc)
		return rc;
	cluster->nlocal = plan->nranks;
	if (cluster->nlocal > GT_CLUSTER_MAX_LOCAL || !cluster->nnodes ||
	    cluster->nnodes > GT_CLUSTER_MAX_RANKS / cluster->nlocal)
		return gt_json_fault(object, err,
				     "%u nodes of %u ranks are too many, or "
				     "none",
				     cluster->nnodes, cluster->nlocal);
	return gt_plan_expand_ranks(plan, plan->ranks) ? gt_err_nomem(err)
						       : GT_OK;
}

int gt_read_cluster(struct gt_plan_reader *reader, const struct gt_json *at,
		    struct gt_err *err)
{
	static const char *const keys[] = {"nodes", "common", "ranks",
					   "ports", "levels", NULL};
	struct gt_plan *plan = reader->plan;
	struct gt_json nodes, common;
	int rc = gt_json_object(at, keys, err);

	plan->cluster = gt_read_array(reader, 1, sizeof(*plan->cluster), err);
	if (!plan->cluster)
		return GT_ESYS;
	if (!rc)
		rc = gt_json_need(at, "nodes", &nodes, err);
	if (!rc)
		rc = gt_json_u32(&nodes, UINT32_MAX, &plan->cluster->nnodes,
				 err);
	if (!rc && gt_json_get(at, "common", &common))
		rc = gt_json_bool(&common, &plan->cluster->common, err);
	if (!rc)
		rc = gt_read_local(reader, at, err);
	if (!rc)
		rc = gt_read_ports(reader, at, err);
	return rc ? rc : gt_read_levels(reader, at, err);
}

/* An array of nlocal numbers from -1 on. */
static int gt_read_places(struct gt_plan_reader *reader,
			  const struct gt_json *object, const char *key,
			  int32_t **places, struct gt_err *err)
{
	uint32_t n = reader->plan->cluster->nlocal, len;
	struct gt_json at, item;
	int64_t value = 0;
	int rc = gt_json_need(object, key, &at, err);

	if (!rc)
		rc = gt_json_array(&at, &len, err);
	if (!rc && len != n)
		rc = gt_json_fault(&at, err, "has %u entries for %u ranks", len,
				   n);
	if (rc)
		return rc;
	*places = gt_read_array(reader, n, sizeof(**places), err);
	if (!*places)
		return GT_ESYS;
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_json_int(&item, -1, INT32_MAX, &value, err);
		(*places)[i] = (int32_t)value;
	}
	return rc;
}

static int gt_read_template(struct gt_plan_reader *reader,
			    const struct gt_json *at,
			    struct gt_plan_template *tree, struct gt_err *err)
{
	static const char *const keys[] = {"root", "home", "away", "net", NULL};
	uint32_t n = reader->plan->cluster->nlocal;
	int rc = gt_json_object(at, keys, err);
	int32_t *net = NULL;

	if (!rc)
		rc = gt_read_rank(reader, at, "root", &tree->root, err);
	if (!rc)
		rc = gt_read_places(reader, at, "home", &tree->home, err);
	if (!rc)
		rc = gt_read_places(reader, at, "away", &tree->away, err);
	if (!rc)
		rc = gt_read_places(reader, at, "net", &net, err);
	if (rc)
		return rc;
	tree->net = gt_read_array(reader, n, sizeof(*tree->net), err);
	if (!tree->net)
		return GT_ESYS;
	for (uint32_t i = 0; i < n; i++)
		tree->net[i] = (uint32_t)net[i]; /* -1 is no hop at all */
	return GT_OK;
}

static int gt_read_lag(const struct gt_json *object,
		       struct gt_plan_channel *channel, struct gt_err *err)
{
	struct gt_json at;
	int64_t lag = 0;
	int rc = GT_OK;

	if (gt_json_get(object, "lag", &at))
		rc = gt_json_int(&at, 0, GT_TEMPLATE_LAG_MAX, &lag, err);
	channel->lag = (uint32_t)lag;
	return rc;
}

int gt_read_templates(struct gt_plan_reader *reader,
		      const struct gt_json *object,
		      struct gt_plan_channel *channel, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = reader->plan->cluster;
	struct gt_json at, item;
	uint32_t n;
	int rc = gt_json_need(object, "trees", &at, err);

	if (!rc && !cluster)
		rc = gt_json_fault(&at, err, "templates need a 'cluster'");
	if (!rc)
		rc = gt_json_array(&at, &n, err);
	if (!rc && n != cluster->nlocal)
		rc = gt_json_fault(&at, err, "has %u trees for %u ranks a node",
				   n, cluster->nlocal);
	if (rc)
		return rc;
	channel->templates =
		gt_read_array(reader, n, sizeof(*channel->templates), err);
	if (!channel->templates)
		return GT_ESYS;
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_template(reader, &item, &channel->templates[i],
				      err);
	}
	return rc ? rc : gt_read_lag(object, channel, err);
}

static int gt_read_set(struct gt_plan_reader *reader, const struct gt_json *at,
		       struct gt_plan_set *set, struct gt_err *err)
{
	struct gt_json item;
	const char *text;
	int rc = gt_json_array(at, &set->n, err);

	if (rc)
		return rc;
	set->vertices =
		gt_read_array(reader, set->n, sizeof(*set->vertices), err);
	if (!set->vertices)
		return GT_ESYS;
	for (uint32_t i = 0; i < set->n && !rc; i++) {
		gt_json_item(at, i, &item);
		rc = gt_json_text(&item, &text, err);
		if (rc)
			return rc;
		set->vertices[i] = gt_arena_strdup(reader->plan->arena, text);
		if (!set->vertices[i])
			return gt_err_nomem(err);
	}
	return rc;
}

int gt_read_sets(struct gt_plan_reader *reader,
		 const struct gt_json *certificate, struct gt_err *err)
{
	struct gt_plan_proof *proof = &reader->plan->proof;
	struct gt_json at, item;
	int rc;

	if (!gt_json_get(certificate, "sets", &at))
		return gt_json_get(certificate, "unused", &at)
			       ? gt_json_fault(&at, err, "needs 'sets'")
			       : GT_OK;
	if (!reader->plan->cluster)
		return gt_json_fault(&at, err, "sets need a 'cluster'");
	rc = gt_json_array(&at, &proof->nsets, err);
	if (rc)
		return rc;
	proof->sets =
		gt_read_array(reader, proof->nsets, sizeof(*proof->sets), err);
	if (!proof->sets)
		return GT_ESYS;
	for (uint32_t i = 0; i < proof->nsets && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_set(reader, &item, &proof->sets[i], err);
	}
	if (rc || !gt_json_get(certificate, "unused", &at))
		return rc;
	return gt_read_links(reader, &at, &proof->nunused, &proof->unused, err);
}

int gt_read_uplink(const struct gt_plan *plan, const char *id, uint32_t *link)
{
	const struct gt_plan_cluster *cluster = plan->cluster;
	int in = id[0] == '>', end = 0;
	unsigned level, rail;

	if (!cluster ||
	    sscanf(id + in, "switch%u.%u%n", &level, &rail, &end) != 2)
		return 0;
	id += in + end;
	if (level + 1 >= cluster->nlevels || rail >= cluster->nrails ||
	    (in ? *id : id[0] != '>' || id[1]))
		return 0;
	*link = plan->nlinks + gt_nodes_uplink(cluster, level, rail, in);
	return 1;
}
