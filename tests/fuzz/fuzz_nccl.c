/*
 * libFuzzer target: any bytes as what gtopo nccl reads: a machine, up to NCCL's
 * choice on it, a graph file, or the log of a job.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "base/xml.h"
#include "topo/graph/topo.h"
#include "topo/nccl/advice.h"
#include "topo/nccl/choose.h"
#include "topo/nccl/graph_file.h"
#include "topo/nccl/log.h"
#include "topo/nccl/system.h"

enum { FUZZ_GPUS = 16, FUZZ_TRIES = 256 };

/* Every channel has every GPU once. */
static void check_set(const struct gt_nccl_set *set)
{
	for (uint32_t c = 0; c < set->nchannels; c++) {
		uint64_t seen = 0;

		for (uint32_t i = 0; i < set->ngpus; i++)
			seen |= (uint64_t)1 << set->orders[c * set->ngpus + i];
		if (seen != ((uint64_t)1 << set->ngpus) - 1)
			abort();
	}
}

static void choose(struct gt_topo *topo, struct gt_arena *arena,
		   struct gt_err *err)
{
	struct gt_nccl_set rings, trees;
	struct gt_nccl_system *system;
	struct gt_nccl_rules rules;

	if (gt_topo_ngpus(topo) > FUZZ_GPUS ||
	    gt_nccl_system_new(topo, 1, &system, err))
		return;
	gt_nccl_rules_init(gt_nccl_system_facts(system)->sm, &rules);
	rules.tries_same = rules.tries = FUZZ_TRIES;
	if (!gt_nccl_choose(system, &rules, NULL, arena, &rings, err)) {
		check_set(&rings);
		if (!gt_nccl_choose(system, &rules, &rings, arena, &trees, err))
			check_set(&trees);
	}
	gt_nccl_system_free(system);
}

static void read_xml(const char *text, size_t len, struct gt_arena *arena,
		     struct gt_err *err)
{
	struct gt_nccl_file file;
	struct gt_topo *topo;
	struct gt_xml *xml;

	if (gt_xml_parse("input", text, len, &xml, err))
		return;
	if (gt_xml_is(gt_xml_root(xml), "graphs")) {
		gt_nccl_file_read(xml, arena, &file, err);
	} else if (!gt_topo_parse("input", text, len, GT_RATES_NCCL, &topo,
				  err)) {
		choose(topo, arena, err);
		gt_topo_free(topo);
	}
	gt_xml_free(xml);
}

static void read_log(const char *text, size_t len, struct gt_arena *arena,
		     struct gt_err *err)
{
	struct gt_nccl_log *log = gt_arena_alloc(arena, sizeof(*log));
	struct gt_nccl_advice advice[GT_NCCL_MAX_ADVICE];
	uint32_t n = 0;

	if (!log || gt_nccl_log_read("input", text, len, arena, log, err))
		return;
	gt_nccl_advise(log, NULL, arena, advice, &n, err);
	if (n > GT_NCCL_MAX_ADVICE || !log->ncomms)
		abort();
	for (uint32_t i = 0; i < log->ncomms; i++)
		if (log->comms[i]->nrings > GT_NCCL_LOG_RINGS)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct gt_arena *arena = gt_arena_new();
	struct gt_err err;

	if (!arena)
		return 0;
	gt_err_init(&err);
	if (gt_first_char(text, size) == '<')
		read_xml(text, size, arena, &err);
	else
		read_log(text, size, arena, &err);
	gt_arena_free(arena);
	return 0;
}
