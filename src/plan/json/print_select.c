#include "plan/json/print_sections.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/json.h"
#include "plan/ir/plan.h"

static void gt_print_used(const struct gt_plan *plan,
			  const struct gt_plan_select *use, struct gt_buf *out)
{
	gt_buf_puts(out, "[");
	for (uint32_t i = 0; i < use->nchannels; i++)
		gt_buf_printf(out, "%s%" PRIu32, i ? ", " : "",
			      plan->channels[use->channels[i]].id);
	gt_buf_puts(out, "]");
}

/* Behind another member: what rows and measurements have in common. */
static void gt_print_use(const struct gt_plan *plan,
			 const struct gt_plan_select *use, struct gt_buf *out)
{
	if (use->coll != plan->coll)
		gt_buf_printf(out, ", \"coll\": \"%s\"",
			      gt_coll_name(use->coll));
	gt_buf_printf(out,
		      ", \"algo\": \"%s\", \"protocol\": \"%s\", "
		      "\"channels\": ",
		      gt_algo_name(use->algo), gt_protocol_name(use->protocol));
	gt_print_used(plan, use, out);
	gt_buf_printf(out, ", \"workers\": %" PRIu32, use->workers);
	if (use->slots)
		gt_buf_printf(out, ", \"slots\": %" PRIu32, use->slots);
	if (use->slice_bytes)
		gt_buf_printf(out, ", \"slice_bytes\": %" PRIu32,
			      use->slice_bytes);
	if (use->detour_permille)
		gt_buf_printf(out, ", \"detour_permille\": %" PRIu32,
			      use->detour_permille);
}

void gt_print_select(const struct gt_plan *plan, struct gt_buf *out)
{
	gt_buf_puts(out, ",\n  \"select\": [");
	for (uint32_t i = 0; i < plan->nselect; i++) {
		const struct gt_plan_select *select = &plan->select[i];

		gt_buf_printf(out, "%s\n    {\"max_bytes\": ", i ? "," : "");
		if (select->max_bytes == UINT64_MAX)
			gt_buf_puts(out, "null");
		else
			gt_buf_printf(out, "%" PRIu64, select->max_bytes);
		gt_print_use(plan, select, out);
		gt_buf_puts(out, "}");
	}
	gt_buf_puts(out, "\n  ]");
}

static void gt_print_points(const struct gt_plan_measured *measured,
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
	gt_buf_puts(out, "]}");
}

void gt_print_measurements(const struct gt_plan *plan, struct gt_buf *out)
{
	if (!plan->nmeasured)
		return;
	gt_buf_puts(out, ",\n  \"measurements\": [");
	for (uint32_t i = 0; i < plan->nmeasured; i++) {
		const struct gt_plan_measured *measured = &plan->measured[i];

		gt_buf_printf(out, "%s\n    {\"machine\": ", i ? "," : "");
		gt_json_quote(out, measured->machine);
		gt_print_use(plan, &measured->use, out);
		gt_print_points(measured, out);
	}
	gt_buf_puts(out, "\n  ]");
}
