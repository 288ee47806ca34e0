/* Prints the verdict, as the two formats of `gtopo verify` need it. */
#include "cli/verify/verify.h"

#include <config.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/tint.h"
#include "cli/common/proof_text.h"

static const char *const gt_verdict_classes[GT_NPROOFS] = {
	[GT_PROOF_RING] = "rings",
	[GT_PROOF_TREE] = "trees",
	[GT_PROOF_ANY] = "any schedule",
	[GT_PROOF_SWITCH] = "trees through its switches",
};

/* A value below its bound is told as at most so many percent of it. */
#define GT_VERDICT_NEARLY 99.99

/* A verdict as text, as far as it is written. */
struct gt_verdict_lines {
	const struct gt_verdict *verdict;
	int colour;
	struct gt_buf *out;
};

/* Say whether a bound holds; what is not proven may be wrong. */
static void gt_verdict_state(const struct gt_verdict_lines *lines,
			     enum gt_bound_state state)
{
	gt_tint_put(lines->out, lines->colour,
		    state == GT_BOUND_PROVEN ? GT_TINT_GREEN : GT_TINT_YELLOW,
		    gt_bound_state_text(state));
	gt_buf_puts(lines->out, "\n");
}

/* Say how near the value is to a bound, and whether the bound holds. */
static void gt_verdict_bound(const struct gt_verdict_lines *lines,
			     struct gt_rat bound, enum gt_bound_state state)
{
	struct gt_rat value = lines->verdict->plan->proof.value;
	int is_less = gt_rat_cmp(value, bound) != 0;
	double percent = 100 * gt_rat_double(value) / gt_rat_double(bound);
	char words[48];

	if (is_less && gt_proof_text_is_rounding(gt_proof_text_gap(
			       gt_rat_double(value), gt_rat_double(bound))))
		snprintf(words, sizeof(words),
			 "reached but for the rounding of shares");
	else if (is_less && percent > GT_VERDICT_NEARLY)
		snprintf(words, sizeof(words), "over %g%% reached",
			 GT_VERDICT_NEARLY);
	else if (is_less)
		snprintf(words, sizeof(words), "%.4g%% reached", percent);
	else
		snprintf(words, sizeof(words), "%s",
			 state == GT_BOUND_PROVEN ? "optimal" : "reached");
	gt_tint_put(lines->out, lines->colour,
		    is_less ? GT_TINT_YELLOW : GT_TINT_GREEN, words);
	gt_buf_puts(lines->out, ", ");
	gt_verdict_state(lines, state);
}

/* Say of which numbers of rings of one share none reach more. */
static void gt_verdict_equal(const struct gt_verdict_lines *lines)
{
	const struct gt_plan_proof *proof = &lines->verdict->plan->proof;

	if (!proof->nequal)
		return;
	gt_buf_printf(lines->out,
		      "equal     no %" PRIu32 " equal rings or fewer",
		      proof->nequal);
	gt_proof_text_open(proof, lines->out);
	gt_buf_puts(lines->out, " reach more, ");
	gt_verdict_state(lines, lines->verdict->report.equal);
}

static void gt_verdict_proof(const struct gt_verdict_lines *lines)
{
	const struct gt_plan *plan = lines->verdict->plan;
	const struct gt_plan_proof *proof = &plan->proof;
	struct gt_buf *out = lines->out;
	char rate[GT_PROOF_RATE_MAX];

	if (!plan->has_proof) {
		gt_buf_puts(out, "proof     none\n");
		return;
	}
	gt_buf_printf(out, "value     %s\n", gt_proof_text_value(plan, rate));
	gt_buf_printf(out, "bound     %g GB/s busbw for ",
		      gt_plan_busbw(plan, proof->bound));
	if (proof->max_channels)
		gt_proof_text_rings(proof->max_channels, out);
	else
		gt_buf_puts(out, gt_verdict_classes[proof->class_]);
	gt_buf_printf(out, "%s: ", gt_proof_text_routes(plan, 0));
	gt_verdict_bound(lines, proof->bound, lines->verdict->report.bound);
	gt_verdict_equal(lines);
	if (!proof->has_any_bound)
		return;
	gt_buf_printf(out, "any bound %g GB/s busbw for any schedule%s: ",
		      gt_plan_busbw(plan, proof->any_bound),
		      gt_proof_text_routes(plan, 1));
	gt_verdict_bound(lines, proof->any_bound,
			 lines->verdict->report.any_bound);
}

static void gt_verdict_colls(const struct gt_verdict *verdict,
			     struct gt_buf *out)
{
	const char *between = "";

	for (int coll = 0; coll < GT_NCOLLS; coll++) {
		if (!(verdict->colls >> coll & 1))
			continue;
		gt_buf_printf(out, "%s%s", between,
			      gt_coll_name((enum gt_coll)coll));
		between = ", ";
	}
}

void gt_verdict_text(const struct gt_verdict *verdict, int colour,
		     struct gt_buf *out)
{
	const struct gt_verdict_lines lines = {verdict, colour, out};
	const struct gt_plan *plan = verdict->plan;

	gt_tint_put(out, colour, GT_TINT_GREEN, "correct");
	gt_buf_puts(out, "   ");
	gt_verdict_colls(verdict, out);
	gt_buf_printf(out,
		      " of %" PRIu32 " rank%s over %" PRIu32 " channel%s\n",
		      plan->nranks, gt_plural(plan->nranks), plan->nchannels,
		      gt_plural(plan->nchannels));
	if (plan->out_of_place)
		gt_buf_puts(out, "buffers   out of place only\n");
	if (plan->invariant)
		gt_buf_puts(out, "sums      in the order of ranks, rounded "
				 "once\n");
	gt_verdict_proof(&lines);
	gt_verdict_rows_text(verdict, out);
	gt_buf_printf(out, "fifo      %" PRIu32 " slots of %" PRIu32 " bytes\n",
		      plan->fifo_slots, plan->fifo_slice_bytes);
	if (!verdict->machine.path)
		return;
	gt_buf_puts(out, "machine   ");
	gt_buf_put_plain(out, verdict->machine.path);
	gt_buf_puts(out, " has these links and routes\n");
}

/* A bound, and how far it could be proven. */
struct gt_verdict_put {
	const char *key;
	struct gt_rat bound;
	enum gt_bound_state state;
};

static void put_bound(struct gt_json_writer *json, const struct gt_plan *plan,
		      const struct gt_verdict_put *put)
{
	enum gt_bound_state state = put->state;
	char text[GT_RAT_TEXT_MAX];

	gt_json_open_object(json, put->key, GT_JSON_FLAT);
	gt_json_put_text(json, "gbs", gt_rat_print(put->bound, text));
	gt_json_put_double(json, "busbw_gbs", "%.6g",
			   gt_plan_busbw(plan, put->bound));
	gt_json_put_bool(json, "proven", state == GT_BOUND_PROVEN);
	gt_json_put_text(json, "state", gt_bound_state_text(state));
	gt_json_end(json);
}

static void put_proof(struct gt_json_writer *json,
		      const struct gt_verdict *verdict)
{
	const struct gt_plan *plan = verdict->plan;
	const struct gt_plan_proof *proof = &plan->proof;
	const struct gt_plan_report *report = &verdict->report;
	const struct gt_verdict_put bound = {"bound", proof->bound,
					     report->bound};
	const struct gt_verdict_put any = {"any_bound", proof->any_bound,
					   report->any_bound};
	char text[GT_RAT_TEXT_MAX];

	gt_json_put_text(json, "class", gt_proof_name(proof->class_));
	gt_json_put_text(json, "value", gt_rat_print(proof->value, text));
	gt_json_put_double(json, "busbw_gbs", "%.6g",
			   gt_plan_busbw(plan, proof->value));
	gt_json_put_double(json, "algbw_gbs", "%.6g",
			   gt_plan_algbw(plan, proof->value));
	gt_json_put_bool(json, "optimal", proof->optimal);
	put_bound(json, plan, &bound);
	if (proof->nequal) {
		gt_json_open_object(json, "equal", GT_JSON_FLAT);
		gt_json_put_int(json, "max_channels", proof->nequal);
		gt_json_put_int(json, "open", report->nopen);
		gt_json_put_text(json, "state",
				 gt_bound_state_text(report->equal));
		gt_json_end(json);
	}
	if (proof->has_any_bound)
		put_bound(json, plan, &any);
}

void gt_verdict_json(const struct gt_verdict *verdict, const struct gt_err *err,
		     struct gt_buf *out)
{
	const struct gt_plan *plan = verdict->plan;
	struct gt_buf colls = GT_BUF_INIT;
	struct gt_json_writer json;

	gt_verdict_colls(verdict, &colls);
	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	gt_json_put_text(&json, "schema", "gtopo.verdict/1");
	gt_json_put_text(&json, "gtopo", PACKAGE_VERSION);
	gt_json_put_text(&json, "coll", gt_buf_text(&colls));
	/* What "coll" was called before it was so in every report. */
	gt_json_put_text(&json, "collective", gt_buf_text(&colls));
	gt_json_put_int(&json, "ranks", plan->nranks);
	gt_json_put_int(&json, "channels", plan->nchannels);
	gt_json_put_int(&json, "slots", plan->fifo_slots);
	gt_json_put_bool(&json, "correct", !err->code);
	if (plan->out_of_place)
		gt_json_put_bool(&json, "out_of_place", 1);
	if (plan->invariant)
		gt_json_put_bool(&json, "invariant", 1);
	if (err->code) {
		gt_json_put_text(&json, "where", err->where);
		gt_json_put_text(&json, "fault", err->text);
	} else {
		if (verdict->machine.path)
			gt_json_put_text(&json, "topology",
					 verdict->machine.path);
		if (plan->has_proof)
			put_proof(&json, verdict);
		gt_verdict_rows_json(verdict, &json);
	}
	gt_json_end(&json);
	gt_buf_puts(out, "\n");
	out->failed |= colls.failed;
	gt_buf_release(&colls);
}
