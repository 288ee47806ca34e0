/* Uses of channels in a plan's file: rows of select, and measurements. */
#include "plan/json/print_sections.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/json_writer.h"
#include "plan/ir/plan.h"

/* The members that a row of select and a measurement have in common. */
static void print_use(const struct gt_plan *plan,
		      const struct gt_plan_select *use,
		      struct gt_json_writer *json)
{
	if (use->coll != plan->coll)
		gt_json_put_text(json, "coll", gt_coll_name(use->coll));
	gt_json_put_text(json, "algo", gt_algo_name(use->algo));
	gt_json_put_text(json, "protocol", gt_protocol_name(use->protocol));
	gt_json_open_array(json, "channels", GT_JSON_FLAT);
	for (uint32_t i = 0; i < use->nchannels; i++)
		gt_json_put_int(json, NULL,
				plan->channels[use->channels[i]].id);
	gt_json_end(json);
	gt_json_put_int(json, "workers", use->workers);
	if (use->slots)
		gt_json_put_int(json, "slots", use->slots);
	if (use->slice_bytes)
		gt_json_put_int(json, "slice_bytes", use->slice_bytes);
	if (use->detour_permille)
		gt_json_put_int(json, "detour_permille", use->detour_permille);
	if (use->max_blocks)
		gt_json_put_int(json, "max_blocks", use->max_blocks);
}

void gt_print_select(const struct gt_plan *plan, struct gt_json_writer *json)
{
	gt_json_open_array(json, "select", GT_JSON_LINES);
	for (uint32_t i = 0; i < plan->nselect; i++) {
		const struct gt_plan_select *select = &plan->select[i];

		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		if (select->max_bytes == UINT64_MAX)
			gt_json_put_null(json, "max_bytes");
		else
			gt_json_put_int(json, "max_bytes",
					(int64_t)select->max_bytes);
		print_use(plan, select, json);
		gt_json_end(json);
	}
	gt_json_end(json);
}

/* The two long lists stand on lines of their own within a flat object. */
static void print_points(const struct gt_plan_measured *measured,
			 struct gt_buf *out)
{
	gt_buf_puts(out, ",\n     \"bytes\": [");
	for (uint32_t i = 0; i < measured->npoints; i++)
		gt_buf_printf(out, "%s%" PRIu64, i ? ", " : "",
			      measured->bytes[i]);
	gt_buf_puts(out, "],\n     \"time_us\": [");
	for (uint32_t i = 0; i < measured->npoints; i++)
		gt_buf_printf(out, "%s%.6g", i ? ", " : "",
			      measured->time_us[i]);
	gt_buf_puts(out, "]");
}

void gt_print_measurements(const struct gt_plan *plan,
			   struct gt_json_writer *json)
{
	if (!plan->nmeasured)
		return;
	gt_json_open_array(json, "measurements", GT_JSON_LINES);
	for (uint32_t i = 0; i < plan->nmeasured; i++) {
		const struct gt_plan_measured *measured = &plan->measured[i];

		gt_json_open_object(json, NULL, GT_JSON_FLAT);
		gt_json_put_text(json, "machine", measured->machine);
		print_use(plan, &measured->use, json);
		print_points(measured, json->out);
		gt_json_end(json);
	}
	gt_json_end(json);
}
