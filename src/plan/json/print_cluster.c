/* The sections that only the file of a cluster's plan has. */
#include "plan/json/print_sections.h"

#include "base/json_writer.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

static void print_levels(const struct gt_plan_cluster *cluster,
			 struct gt_json_writer *json)
{
	gt_json_open_array(json, "levels", GT_JSON_LINES);
	for (uint32_t i = 0; i < cluster->nlevels; i++) {
		const struct gt_plan_level *level = &cluster->levels[i];

		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_int(json, "nodes", level->nodes);
		gt_json_put_bool(json, "rails", level->by_rail);
		gt_json_put_text(json, "spread", gt_spread_name(level->spread));
		if (i + 1 < cluster->nlevels)
			gt_print_rat(json, "uplink_gbs", level->gbs);
		gt_json_end(json);
	}
	gt_json_end(json);
}

void gt_print_cluster(const struct gt_plan *plan, struct gt_json_writer *json)
{
	const struct gt_plan_cluster *cluster = plan->cluster;

	gt_json_open_object(json, "cluster", GT_JSON_LINES);
	gt_json_put_int(json, "nodes", cluster->nnodes);
	if (cluster->common)
		gt_json_put_bool(json, "common", 1);
	gt_print_ranks(json, cluster->nlocal, plan->ranks, 0);
	gt_json_open_array(json, "ports", GT_JSON_FLAT);
	for (uint32_t i = 0; i < cluster->nports; i++) {
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_text(json, "id", cluster->ports[i].id);
		gt_json_put_int(json, "rail", cluster->ports[i].rail);
		gt_json_end(json);
	}
	gt_json_end(json);
	print_levels(cluster, json);
	gt_json_end(json);
}

/* By rank: the network hop that leads to it, or -1 where none does. */
static void print_net(const struct gt_plan_template *tree, uint32_t n,
		      struct gt_json_writer *json)
{
	gt_json_open_array(json, "net", GT_JSON_FLAT);
	for (uint32_t i = 0; i < n; i++)
		gt_json_put_int(json, NULL,
				tree->away[i] < 0 ? (int32_t)tree->net[i] : -1);
	gt_json_end(json);
}

void gt_print_templates(const struct gt_plan *plan,
			const struct gt_plan_channel *channel,
			struct gt_json_writer *json)
{
	uint32_t n = plan->cluster->nlocal;

	gt_json_open_array(json, "trees", GT_JSON_LINES);
	for (uint32_t t = 0; t < n; t++) {
		const struct gt_plan_template *tree = &channel->templates[t];

		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_int(json, "root", tree->root);
		gt_print_parents(json, "home", n, tree->home);
		gt_print_parents(json, "away", n, tree->away);
		print_net(tree, n, json);
		gt_json_end(json);
	}
	gt_json_end(json);
}
