#include "plan/json/print_sections.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/json.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

static void gt_print_levels(const struct gt_plan_cluster *cluster,
			    struct gt_buf *out)
{
	char text[GT_RAT_TEXT_MAX];

	gt_buf_puts(out, "    \"levels\": [");
	for (uint32_t i = 0; i < cluster->nlevels; i++) {
		const struct gt_plan_level *level = &cluster->levels[i];

		gt_buf_printf(out,
			      "%s\n      {\"nodes\": %" PRIu32
			      ", \"rails\": %s, \"spread\": \"%s\"",
			      i ? "," : "", level->nodes,
			      level->by_rail ? "true" : "false",
			      gt_spread_name(level->spread));
		if (i + 1 < cluster->nlevels)
			gt_buf_printf(out, ", \"uplink_gbs\": \"%s\"",
				      gt_rat_print(level->gbs, text));
		gt_buf_puts(out, "}");
	}
	gt_buf_puts(out, "\n    ]\n");
}

static void gt_print_local(const struct gt_plan *plan, struct gt_buf *out)
{
	gt_buf_puts(out, "    \"ranks\": [");
	for (uint32_t i = 0; i < plan->cluster->nlocal; i++) {
		const struct gt_plan_rank *rank = &plan->ranks[i];

		gt_buf_printf(out, "%s\n      {\"rank\": %" PRIu32,
			      i ? "," : "", i);
		if (rank->device) {
			gt_buf_puts(out, ", \"device\": ");
			gt_json_quote(out, rank->device);
		}
		if (rank->has_dev)
			gt_buf_printf(out, ", \"dev\": %" PRIu32, rank->dev);
		if (rank->name) {
			gt_buf_puts(out, ", \"name\": ");
			gt_json_quote(out, rank->name);
		}
		gt_buf_puts(out, "}");
	}
	gt_buf_puts(out, "\n    ],\n");
}

void gt_print_cluster(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_cluster *cluster = plan->cluster;

	gt_buf_printf(out, "  \"cluster\": {\n    \"nodes\": %" PRIu32 ",\n",
		      cluster->nnodes);
	gt_print_local(plan, out);
	gt_buf_puts(out, "    \"ports\": [");
	for (uint32_t i = 0; i < cluster->nports; i++) {
		gt_buf_puts(out, i ? ", {\"id\": " : "{\"id\": ");
		gt_json_quote(out, cluster->ports[i].id);
		gt_buf_printf(out, ", \"rail\": %" PRIu32 "}",
			      cluster->ports[i].rail);
	}
	gt_buf_puts(out, "],\n");
	gt_print_levels(cluster, out);
	gt_buf_puts(out, "  },\n");
}

static void gt_print_parents(struct gt_buf *out, const char *key, uint32_t n,
			     const int32_t *parents)
{
	gt_buf_printf(out, ", \"%s\": [", key);
	for (uint32_t i = 0; i < n; i++)
		gt_buf_printf(out, "%s%" PRId32, i ? ", " : "", parents[i]);
	gt_buf_puts(out, "]");
}

void gt_print_templates(const struct gt_plan *plan,
			const struct gt_plan_channel *channel,
			struct gt_buf *out)
{
	uint32_t n = plan->cluster->nlocal;

	gt_buf_puts(out, "      \"trees\": [");
	for (uint32_t t = 0; t < n; t++) {
		const struct gt_plan_template *tree = &channel->templates[t];

		gt_buf_printf(out, "%s\n        {\"root\": %" PRIu32,
			      t ? "," : "", tree->root);
		gt_print_parents(out, "home", n, tree->home);
		gt_print_parents(out, "away", n, tree->away);
		gt_buf_puts(out, ", \"net\": [");
		for (uint32_t i = 0; i < n; i++)
			gt_buf_printf(out, "%s%" PRId32, i ? ", " : "",
				      tree->away[i] < 0 ? (int32_t)tree->net[i]
							: -1);
		gt_buf_puts(out, "]}");
	}
	gt_buf_puts(out, "\n      ],\n");
}

void gt_print_sets(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;

	gt_buf_puts(out, "      \"sets\": [");
	for (uint32_t i = 0; i < proof->nsets; i++) {
		const struct gt_plan_set *set = &proof->sets[i];

		gt_buf_printf(out, "%s\n        [", i ? "," : "");
		for (uint32_t k = 0; k < set->n; k++) {
			gt_buf_puts(out, k ? ", " : "");
			gt_json_quote(out, set->vertices[k]);
		}
		gt_buf_puts(out, "]");
	}
	gt_buf_puts(out, "\n      ]");
	for (uint32_t i = 0; i < proof->nunused; i++) {
		gt_buf_puts(out, i ? ", " : ",\n      \"unused\": [");
		gt_json_quote(out, plan->links[proof->unused[i]].id);
	}
	if (proof->nunused)
		gt_buf_puts(out, "]");
}

/* "switch0.3>": up from the switch of level 0, rail 3; ">switch0.3": down. */
void gt_print_uplink(const struct gt_plan *plan, uint32_t link,
		     struct gt_buf *out)
{
	uint32_t up = link - plan->nlinks, rails = plan->cluster->nrails;

	gt_buf_printf(out, "\"%sswitch%" PRIu32 ".%" PRIu32 "%s\"",
		      up % 2 ? ">" : "", up / 2 / rails, up / 2 % rails,
		      up % 2 ? "" : ">");
}
