/* Prints NCCL's choice for programs, as gtopo.nccl/1. */
#include "cli/nccl/print.h"

#include <config.h>

#include "base/buf.h"
#include "base/json_writer.h"
#include "search/nccl/answer.h"
#include "search/nccl/remedy.h"
#include "topo/graph/topo.h"
#include "topo/lint/lint.h"
#include "topo/nccl/rules.h"

static void put_gbs(struct gt_json_writer *json, const char *key, double gbs)
{
	gt_json_put_double(json, key, "%.6g", gbs);
}

static void put_set(struct gt_json_writer *json, const char *key,
		    const struct gt_nccl_told *told,
		    const struct gt_nccl_set *set)
{
	const struct gt_nccl_system *system = told->answer->system;
	uint32_t node;

	gt_json_open_object(json, key, GT_JSON_LINES);
	gt_json_put_int(json, "pattern", set->pattern);
	gt_json_put_int(json, "channels", set->nchannels);
	put_gbs(json, "channel_gbs", (double)set->kbs / 1e6);
	put_gbs(json, "gbs", (double)(set->nchannels * set->kbs) / 1e6);
	gt_json_put_text(json, "kind", gt_path_kind_name(set->kind));
	gt_json_put_bool(json, "alike", set->same);
	gt_json_open_array(json, "orders", GT_JSON_LINES);
	for (uint32_t c = 0; c < set->nchannels; c++) {
		gt_json_open_array(json, NULL, GT_JSON_FLAT);
		for (uint32_t i = 0; i < set->ngpus; i++) {
			node = gt_nccl_system_gpu(
				system, set->orders[c * set->ngpus + i]);
			gt_json_put_int(json, NULL,
					gt_topo_node(told->topo, node)->dev);
		}
		gt_json_end(json);
	}
	gt_json_end(json);
	gt_json_end(json);
}

static void put_best(struct gt_json_writer *json,
		     const struct gt_nccl_answer *answer)
{
	gt_json_open_object(json, "best", GT_JSON_LINES);
	put_gbs(json, "rings_gbs", answer->best_gbs);
	put_gbs(json, "bound_gbs", answer->bound_gbs);
	put_gbs(json, "graph_file_gbs", answer->graph_gbs);
	put_gbs(json, "nccl_part", answer->gbs / answer->best_gbs);
	gt_json_end(json);
}

static void put_reasons(struct gt_json_writer *json,
			const struct gt_nccl_answer *answer)
{
	const struct gt_nccl_reasons *reasons = &answer->reasons;

	gt_json_open_object(json, "without_rule_gbs", GT_JSON_LINES);
	for (int i = 0; i < GT_NCCL_NRULES; i++)
		if (reasons->without_kbs[i])
			put_gbs(json, gt_nccl_rule_name((enum gt_nccl_rule)i),
				(double)reasons->without_kbs[i] / 1e6);
	if (reasons->without_all_kbs)
		put_gbs(json, "all", (double)reasons->without_all_kbs / 1e6);
	gt_json_end(json);
}

static void put_remedies(struct gt_json_writer *json,
			 const struct gt_nccl_told *told)
{
	gt_json_open_array(json, "set", GT_JSON_LINES);
	for (uint32_t i = 0; i < told->nremedies; i++) {
		gt_json_open_object(json, NULL, GT_JSON_LINES);
		gt_json_put_text(json, "variable", told->remedies[i].variable);
		gt_json_put_text(json, "value", told->remedies[i].value);
		gt_json_put_text(json, "why", told->remedies[i].why);
		gt_json_end(json);
	}
	gt_json_end(json);
}

static void put_machine(struct gt_json_writer *json,
			const struct gt_nccl_told *told)
{
	const struct gt_nccl_answer *answer = told->answer;
	const struct gt_nccl_facts *facts = answer->facts;

	gt_json_put_text(json, "schema", "gtopo.nccl/1");
	gt_json_put_text(json, "gtopo", PACKAGE_VERSION);
	gt_json_put_text(json, "file", told->file);
	gt_json_put_text(json, "nccl", GT_NCCL_VERSION);
	gt_json_put_int(json, "gpus", facts->ngpus);
	gt_json_put_int(json, "sm", facts->sm);
	gt_json_put_int(json, "pairs", facts->ngpus * (facts->ngpus - 1) / 2);
	gt_json_put_int(json, "pairs_peer_to_peer", facts->ndirect / 2);
	gt_json_put_int(json, "pairs_by_network", facts->nnet / 2);
	gt_json_put_int(json, "pairs_without_access", facts->ndenied / 2);
	if (facts->apart == GT_NONE)
		gt_json_put_null(json, "apart");
	else
		gt_json_put_int(json, "apart",
				gt_topo_node(told->topo,
					     gt_nccl_system_gpu(answer->system,
								facts->apart))
					->dev);
}

void gt_nccl_print_json(const struct gt_nccl_told *told, struct gt_buf *out)
{
	const struct gt_nccl_answer *answer = told->answer;
	struct gt_json_writer json;
	int64_t misread = 0;

	for (uint32_t i = 0; i < told->lint->nfindings; i++)
		misread +=
			gt_lint_rule_severity(told->lint->findings[i].rule) !=
			GT_LINT_NOTE;
	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_LINES);
	put_machine(&json, told);
	put_set(&json, "rings", told, &answer->rings);
	if (answer->facts->ngpus > 1) {
		put_set(&json, "trees", told, &answer->trees);
		put_best(&json, answer);
	}
	if (answer->has_reasons)
		put_reasons(&json, answer);
	put_remedies(&json, told);
	gt_json_put_int(&json, "misread", misread);
	gt_json_end(&json);
	gt_buf_puts(out, "\n");
}
