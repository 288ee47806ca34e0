/* gtopo nccl: what NCCL chooses on a machine, and what it chose in a job. */
#include "cli/common/command.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/text.h"
#include "base/xml.h"
#include "cli/common/colour.h"
#include "cli/common/opt.h"
#include "cli/common/p2p.h"
#include "cli/nccl/file.h"
#include "cli/nccl/log.h"
#include "cli/nccl/print.h"
#include "cli/search/tell.h"
#include "search/nccl/answer.h"
#include "search/nccl/remedy.h"
#include "search/problem/budget.h"
#include "topo/cluster/cluster.h"
#include "topo/cluster/make.h"
#include "topo/graph/part.h"
#include "topo/graph/topo.h"
#include "topo/lint/lint.h"
#include "topo/nccl/advice.h"
#include "topo/nccl/choose.h"
#include "topo/nccl/log.h"
#include "topo/nccl/system.h"

/* Larger files are refused. */
enum { NCCL_MAX_BYTES = 256 << 20 };

struct gt_nccl_opts {
	const char *topo, *p2p;
	int64_t budget_ns;
	int json;
	int colour;
};

static const struct gt_opt gt_nccl_opts[] = {
	{GT_OPT_TOPO, 0, "topo", "FILE", offsetof(struct gt_nccl_opts, topo),
	 "the machine that a graph file or log is of", 0, 0},
	{GT_OPT_TIME, 0, "budget", "TIME",
	 offsetof(struct gt_nccl_opts, budget_ns),
	 "stop looking for the best rings after this time", 0, 0},
	GT_OPT_P2P(struct gt_nccl_opts, p2p),
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_nccl_opts, json),
	 "write JSON", 0, 0},
	GT_OPT_COLOUR(struct gt_nccl_opts, colour),
	GT_OPT_END,
};

/* A run of the command: what it reads, and where its words go. */
struct nccl_run {
	const struct gt_cmd_args *args;
	const char *file; /* the machine's, as messages name it */
	struct gt_arena *arena;
	struct gt_buf text; /* of the file */
	struct gt_buf out;
};

static uint32_t count_repairs(const struct gt_lint *lint)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < lint->nfindings; i++)
		n += lint->findings[i].is_repaired;
	return n;
}

/* Find what is to be told of a machine besides the answer, and tell it. */
static int tell_machine(struct nccl_run *run, const struct gt_topo *topo,
			const struct gt_nccl_answer *answer, struct gt_err *err)
{
	const struct gt_nccl_opts *opts = run->args->opts;
	struct gt_nccl_remedy remedies[GT_NCCL_MAX_REMEDIES];
	struct gt_lint lint;
	struct gt_nccl_told told = {
		.file = run->file,
		.topo = topo,
		.answer = answer,
		.lint = &lint,
		.remedies = remedies,
		.colour = gt_colour((enum gt_colour_when)opts->colour,
				    run->args)};
	int rc = gt_lint_text(run->file, run->text.text, run->text.len,
			      run->arena, &lint, err);

	if (!rc)
		rc = gt_nccl_remedies(
			answer,
			&(struct gt_nccl_origin){run->file, opts->p2p,
						 count_repairs(&lint)},
			run->arena, remedies, &told.nremedies, err);
	if (!rc && opts->json)
		gt_nccl_print_json(&told, &run->out);
	else if (!rc)
		gt_nccl_print(&told, &run->out);
	return rc;
}

/* Ask for the answer, and tell meanwhile how far it is. */
static int find_answer(const struct nccl_run *run, struct gt_topo *topo,
		       struct gt_nccl_answer *answer, struct gt_err *err)
{
	const struct gt_nccl_opts *opts = run->args->opts;
	struct gt_budget budget = {0};
	struct gt_progress progress;
	int rc;

	if (opts->budget_ns)
		budget.deadline_ns = gt_clock_ns() + opts->budget_ns;
	if (!run->args->quiet)
		gt_progress_start(&progress, &budget);
	rc = gt_nccl_answer(topo, &budget, answer, run->arena, err);
	if (!run->args->quiet)
		gt_progress_end(&progress);
	return rc;
}

static int nccl_machine(struct nccl_run *run, struct gt_err *err)
{
	const struct gt_nccl_opts *opts = run->args->opts;
	struct gt_nccl_answer answer = {0};
	struct gt_topo *topo;
	int rc = gt_topo_parse(run->file, run->text.text, run->text.len,
			       GT_RATES_NCCL, &topo, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < gt_topo_nwarnings(topo); i++)
		gt_cmd_note(run->args, "%s", gt_topo_warning(topo, i));
	rc = gt_topo_need_gpus(topo, err);
	if (!rc)
		rc = gt_topo_part_gpus(topo, opts->p2p, err);
	if (!rc && gt_topo_node(topo, gt_topo_gpu(topo, 0))->xgmi)
		gt_cmd_warn(run->args,
			    "these GPUs run RCCL, which began with NCCL's "
			    "rules and has its own by now");
	if (!rc)
		rc = find_answer(run, topo, &answer, err);
	if (!rc)
		rc = tell_machine(run, topo, &answer, err);
	gt_nccl_answer_release(&answer);
	gt_topo_free(topo);
	return rc;
}

/* Read the machine of --topo, if there is one, as NCCL sees it. */
static int read_topo(struct nccl_run *run, struct gt_topo **topo,
		     struct gt_nccl_system **system, struct gt_err *err)
{
	const struct gt_nccl_opts *opts = run->args->opts;
	int rc;

	if (!opts->topo)
		return opts->p2p ? gt_err_set(err, GT_EINPUT, NULL,
					      "--p2p is of a machine; of a "
					      "graph file or log --topo names "
					      "it")
				 : GT_OK;
	rc = gt_topo_read(opts->topo, GT_RATES_NCCL, topo, err);
	if (!rc)
		rc = gt_topo_part_gpus(*topo, opts->p2p, err);
	return rc ? rc : gt_nccl_system_new(*topo, 1, system, err);
}

static int nccl_graph(struct nccl_run *run, const struct gt_xml *xml,
		      struct gt_err *err)
{
	const struct gt_nccl_opts *opts = run->args->opts;
	struct gt_nccl_file_request request = {
		.name = run->file,
		.json = opts->json,
		.colour = gt_colour((enum gt_colour_when)opts->colour,
				    run->args)};
	struct gt_nccl_system *system = NULL;
	struct gt_topo *topo = NULL;
	int rc = read_topo(run, &topo, &system, err);

	request.system = system;
	if (!rc)
		rc = gt_nccl_file_tell(xml, &request, run->arena, &run->out,
				       err);
	gt_nccl_system_free(system);
	gt_topo_free(topo);
	return rc;
}

/* The rank of a GPU; numbers, in whose order ranks are, may have gaps. */
static uint32_t find_rank(const struct gt_topo *topo, uint32_t gpu)
{
	uint32_t rank = 0;

	while (gt_topo_gpu(topo, rank) != gpu)
		rank++;
	return rank;
}

/* Find what NCCL would choose on the machine of --topo; no machine, none. */
static int choose_rings(struct nccl_run *run, struct gt_nccl_set *rings,
			struct gt_err *err)
{
	struct gt_nccl_system *system = NULL;
	struct gt_topo *topo = NULL;
	struct gt_nccl_rules rules;
	int rc = read_topo(run, &topo, &system, err);

	rings->nchannels = 0;
	if (!rc && system) {
		gt_nccl_rules_init(gt_nccl_system_facts(system)->sm, &rules);
		rc = gt_nccl_choose(system, &rules, NULL, run->arena, rings,
				    err);
	}
	for (uint32_t i = 0; !rc && i < rings->nchannels * rings->ngpus; i++)
		rings->orders[i] = find_rank(
			topo, gt_nccl_system_gpu(system, rings->orders[i]));
	gt_nccl_system_free(system);
	gt_topo_free(topo);
	return rc;
}

static int nccl_log(struct nccl_run *run, struct gt_err *err)
{
	const struct gt_nccl_opts *opts = run->args->opts;
	struct gt_nccl_advice advice[GT_NCCL_MAX_ADVICE];
	struct gt_nccl_log *log = gt_arena_alloc(run->arena, sizeof(*log));
	struct gt_nccl_log_told told = {
		.file = run->file,
		.log = log,
		.advice = advice,
		.colour = gt_colour((enum gt_colour_when)opts->colour,
				    run->args)};
	struct gt_nccl_set rings;
	int rc = log ? choose_rings(run, &rings, err) : gt_err_nomem(err);

	if (!rc)
		rc = gt_nccl_log_read(run->file, run->text.text, run->text.len,
				      run->arena, log, err);
	if (!rc)
		rc = gt_nccl_advise(log, rings.nchannels ? &rings : NULL,
				    run->arena, advice, &told.nadvice, err);
	if (!rc && opts->json)
		gt_nccl_log_print_json(&told, &run->out);
	else if (!rc)
		gt_nccl_log_print(&told, &run->out);
	return rc;
}

/* Returns whether a kind before has the same machine. */
static int is_kind_told(const struct gt_cluster *cluster, uint32_t kind)
{
	uint32_t i = 0;

	while (i < kind &&
	       strcmp(cluster->kinds[i].file, cluster->kinds[kind].file))
		i++;
	return i < kind;
}

/* Tell of each kind of node what NCCL chooses inside it. */
static int nccl_kinds(struct nccl_run *run, const struct gt_cluster *cluster,
		      struct gt_err *err)
{
	const struct gt_nccl_opts *opts = run->args->opts;
	int rc = GT_OK;

	if (opts->json && cluster->nkinds > 1)
		return gt_err_set(err, GT_EINPUT, run->file,
				  "has %u kinds of nodes; --json tells of one "
				  "machine, such as '%.256s'",
				  cluster->nkinds, cluster->kinds[0].file);
	for (uint32_t i = 0; i < cluster->nkinds && !rc; i++) {
		if (is_kind_told(cluster, i))
			continue;
		run->file = cluster->kinds[i].file;
		gt_buf_release(&run->text);
		rc = gt_file_read(run->file, NCCL_MAX_BYTES, &run->text, err);
		if (!rc)
			rc = nccl_machine(run, err);
	}
	return rc;
}

static int nccl_cluster(struct nccl_run *run, const struct gt_xml *xml,
			struct gt_err *err)
{
	const struct gt_nccl_opts *opts = run->args->opts;
	struct gt_cluster *cluster;
	int rc = gt_cluster_from_xml(xml, GT_RATES_NCCL, &cluster, err);

	if (rc)
		return rc;
	if (!opts->json) {
		gt_buf_put_plain(&run->out, run->file);
		gt_buf_printf(&run->out,
			      ": %u nodes; what NCCL chooses inside one is "
			      "told, not between them\n",
			      cluster->nnodes);
	}
	rc = nccl_kinds(run, cluster, err);
	gt_cluster_free(cluster);
	return rc;
}

/* Tell by the first element what XML is about. */
static int nccl_xml(struct nccl_run *run, struct gt_err *err)
{
	const struct gt_nccl_opts *opts = run->args->opts;
	struct gt_xml *xml;
	int rc = gt_xml_parse(run->file, run->text.text, run->text.len, &xml,
			      err);

	if (rc)
		return rc;
	if (gt_xml_is(gt_xml_root(xml), "graphs"))
		rc = nccl_graph(run, xml, err);
	else if (opts->topo)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--topo is for graph files and logs; '%.256s' "
				"is a machine itself",
				run->file);
	else if (gt_xml_is(gt_xml_root(xml), "cluster"))
		rc = nccl_cluster(run, xml, err);
	else
		rc = nccl_machine(run, err);
	gt_xml_free(xml);
	return rc;
}

static int cmd_nccl(const struct gt_cmd_args *args, struct gt_err *err)
{
	struct nccl_run run = {.args = args,
			       .file = args->operands[0],
			       .arena = gt_arena_new(),
			       .text = GT_BUF_INIT,
			       .out = GT_BUF_INIT};
	int rc = run.arena ? GT_OK : gt_err_nomem(err);

	if (!rc && args->noperands > 1)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"'%s' is one operand too many; 'cat *.log | "
				"gtopo nccl -' reads the logs of all processes "
				"of a job",
				args->operands[1]);
	if (!rc)
		rc = gt_file_read(run.file, NCCL_MAX_BYTES, &run.text, err);
	if (!rc)
		rc = gt_first_char(run.text.text, run.text.len) == '<'
			     ? nccl_xml(&run, err)
			     : nccl_log(&run, err);
	gt_buf_release(&run.text);
	gt_arena_free(run.arena);
	return gt_cmd_write(args, &run.out, rc, err);
}

const struct gt_cmd gt_cmd_nccl = {
	.name = "nccl",
	.summary = "tell what NCCL chooses on a machine, and how good it is",
	.operands = "FILE",
	.operands_min = 1,
	.takes_machines = 1,
	.operands_max = -1,
	.opts = gt_nccl_opts,
	.opts_bytes = sizeof(struct gt_nccl_opts),
	.run = cmd_nccl,
};
