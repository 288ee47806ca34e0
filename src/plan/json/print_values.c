/* Values that several sections of a plan's file have. */
#include "plan/json/print_sections.h"

#include "base/json_writer.h"
#include "plan/ir/plan.h"

void gt_print_text(struct gt_json_writer *json, const char *key,
		   const char *text)
{
	if (text)
		gt_json_put_text(json, key, text);
}

void gt_print_rat(struct gt_json_writer *json, const char *key,
		  struct gt_rat rat)
{
	char text[GT_RAT_TEXT_MAX];

	gt_json_put_text(json, key, gt_rat_print(rat, text));
}

void gt_print_numbers(struct gt_json_writer *json, const char *key, uint32_t n,
		      const uint32_t *numbers)
{
	gt_json_open_array(json, key, GT_JSON_FLAT);
	for (uint32_t i = 0; i < n; i++)
		gt_json_put_int(json, NULL, numbers[i]);
	gt_json_end(json);
}

void gt_print_parents(struct gt_json_writer *json, const char *key, uint32_t n,
		      const int32_t *parents)
{
	gt_json_open_array(json, key, GT_JSON_FLAT);
	for (uint32_t i = 0; i < n; i++)
		gt_json_put_int(json, NULL, parents[i]);
	gt_json_end(json);
}

void gt_print_ranks(struct gt_json_writer *json, uint32_t n,
		    const struct gt_plan_rank *ranks, int with_node)
{
	gt_json_open_array(json, "ranks", GT_JSON_LINES);
	for (uint32_t i = 0; i < n; i++) {
		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_int(json, "rank", i);
		if (with_node)
			gt_print_text(json, "node", ranks[i].node);
		gt_print_text(json, "device", ranks[i].device);
		if (ranks[i].has_dev)
			gt_json_put_int(json, "dev", ranks[i].dev);
		gt_print_text(json, "name", ranks[i].name);
		gt_json_end(json);
	}
	gt_json_end(json);
}

void gt_print_links(const struct gt_plan *plan, struct gt_json_writer *json,
		    const char *key, uint32_t n, const uint32_t *links)
{
	gt_json_open_array(json, key, GT_JSON_FLAT);
	for (uint32_t i = 0; i < n; i++)
		gt_json_put_text(json, NULL, plan->links[links[i]].id);
	gt_json_end(json);
}

void gt_print_charge(struct gt_json_writer *json, struct gt_rat charge)
{
	if (gt_rat_cmp(charge, GT_RAT(1, 1)))
		gt_print_rat(json, "charge", charge);
}
