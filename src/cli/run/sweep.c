/* Numbers the cases of a sweep, measures each one and checks its result. */
#include "cli/run/sweep.h"

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/file.h"
#include "base/rat.h"
#include "plan/ir/demand.h"
#include "plan/ir/plan.h"
#include "report/report.h"

/* The state of a sweep between the opening of the engine and its end. */
struct gt_sweep_state {
	const struct gt_run_sweep *sweep;
	struct gt_engine *engine;
	struct gt_report report;
	struct gt_exec_request last; /* the last one, out of place */
	struct gt_buf out;
	struct gt_err *err;
};

/* Write rows to standard output as they come; a file gets them at the end. */
static int flush_rows(struct gt_sweep_state *run)
{
	if (run->out.failed)
		return gt_err_nomem(run->err);
	if (run->sweep->quiet)
		run->out.len = 0;
	if (run->sweep->out && strcmp(run->sweep->out, "-"))
		return GT_OK;
	errno = 0;
	if (fwrite(run->out.text, 1, run->out.len, stdout) != run->out.len ||
	    fflush(stdout))
		return gt_err_set(run->err, GT_ESYS, "standard output",
				  "cannot write: %s", strerror(errno));
	run->out.len = 0;
	return GT_OK;
}

/* Time as many iterations once more, one by one: averages hide stalls. */
static int measure_one_by_one(struct gt_sweep_state *run,
			      const struct gt_exec_request *req,
			      struct gt_report_side *side)
{
	const struct gt_run_sweep *sweep = run->sweep;
	int64_t *times_ns = calloc(sweep->iters, sizeof(*times_ns));
	int rc = times_ns ? GT_OK : gt_err_nomem(run->err);

	for (uint32_t i = 0; !rc && i < sweep->iters; i++)
		rc = sweep->ops->run(run->engine, req, 1, &times_ns[i],
				     run->err);
	if (!rc)
		gt_report_percentiles(side, times_ns, sweep->iters);
	free(times_ns);
	return rc;
}

/*
 * Measure one placement.  The first run is the one that counts for correctness;
 * the runs that are timed go straight behind each other.
 */
static int measure_placement(struct gt_sweep_state *run,
			     const struct gt_exec_request *req,
			     const struct gt_report_row *row,
			     struct gt_report_side *side)
{
	const struct gt_run_sweep *sweep = run->sweep;
	const struct gt_engine_ops *ops = sweep->ops;
	uint64_t wrong = 0;
	int64_t elapsed_ns = 0;
	int rc = ops->fill(run->engine, req, run->err);

	if (!rc)
		rc = ops->run(run->engine, req, 1, &elapsed_ns, run->err);
	if (!rc && !sweep->unchecked)
		rc = ops->check(run->engine, req, &wrong, run->err);
	if (!rc && sweep->warmup)
		rc = ops->run(run->engine, req, sweep->warmup, &elapsed_ns,
			      run->err);
	if (!rc)
		rc = ops->run(run->engine, req, sweep->iters, &elapsed_ns,
			      run->err);
	if (!rc)
		*side = gt_report_measure(&run->report, row, elapsed_ns, wrong);
	if (!rc && sweep->percentiles)
		rc = measure_one_by_one(run, req, side);
	return rc;
}

/*
 * What a rank has most of, in blocks: without a demand a block of each rank, or
 * the whole.
 */
static struct gt_rat count_blocks(const struct gt_plan *plan, enum gt_coll coll)
{
	if (gt_plan_blocks_differ(plan, coll))
		return gt_demand_most(plan->demand, plan->nranks);
	return GT_RAT(gt_coll_has_blocks(coll) ? plan->nranks : 1, 1);
}

/*
 * Measure one size, out of place and, where the plan can, in place, and report
 * it as a row.
 */
static int measure_row(struct gt_sweep_state *run, struct gt_exec_request req,
		       uint64_t bytes)
{
	const struct gt_plan *plan = run->sweep->config.plan;
	struct gt_rat blocks = count_blocks(plan, req.coll), one;
	size_t elem = gt_dtype_bytes(req.dtype);
	struct gt_report_row row = {
		.coll = gt_coll_name(req.coll),
		.dtype = gt_dtype_name(req.dtype),
		.op = gt_coll_reduces(req.coll) ? gt_redop_name(req.op)
						: "none",
		.root = gt_coll_is_rooted(req.coll) ? (int64_t)req.root : -1,
	};
	int rc;

	gt_rat_div(GT_RAT(1, 1), blocks, &one);
	req.count = (uint64_t)gt_rat_floor_mul(one, (int64_t)(bytes / elem));
	row.count = req.count;
	row.bytes =
		(uint64_t)gt_rat_floor_mul(blocks, (int64_t)req.count) * elem;
	if (gt_plan_blocks_differ(plan, req.coll))
		row.factor = gt_plan_busbw_factor(plan, req.coll);
	req.inplace = 0;
	req.seed = bytes + 1;
	run->last = req;
	rc = measure_placement(run, &req, &row, &row.out_of_place);
	req.inplace = 1;
	req.seed++;
	row.out_of_place_only = plan->out_of_place;
	if (!rc && !plan->out_of_place)
		rc = measure_placement(run, &req, &row, &row.in_place);
	if (rc)
		return rc;
	gt_report_add(&run->report, &row);
	return flush_rows(run);
}

/* The next size, or 0 behind the last one. */
static uint64_t next_size(const struct gt_run_sweep *sweep, uint64_t bytes)
{
	if (bytes > sweep->end_bytes / sweep->factor ||
	    bytes >= sweep->end_bytes)
		return 0;
	return bytes * sweep->factor;
}

/* Collectives, types and operators are numbered together. */
enum { NCASES = GT_NCOLLS * GT_NDTYPES * GT_NREDOPS };

/*
 * Set the request to the i-th case; 0 if the sweep leaves it out.  Where
 * nothing is reduced one operator stands for all.
 */
static int choose_case(const struct gt_run_sweep *sweep, unsigned i,
		       struct gt_exec_request *req)
{
	unsigned redops;

	req->coll = (enum gt_coll)(i / (GT_NDTYPES * GT_NREDOPS));
	req->dtype = (enum gt_dtype)(i / GT_NREDOPS % GT_NDTYPES);
	req->op = (enum gt_redop)(i % GT_NREDOPS);
	redops = gt_coll_reduces(req->coll) ? sweep->redops : 1;
	return sweep->colls >> req->coll & sweep->dtypes >> req->dtype &
	       redops >> req->op & 1;
}

static void fill_head(const struct gt_run_sweep *sweep,
		      const struct utsname *uts, struct gt_report_head *head)
{
	const struct gt_engine_config *config = &sweep->config;
	const struct gt_plan *plan = config->plan;

	*head = (struct gt_report_head){
		.version = PACKAGE_VERSION,
		.host = uts->nodename,
		.arch = uts->machine,
		.cpus = gt_cpus_count(),
		.engine = sweep->ops->name,
		.plan = sweep->plan_digest,
		.topology = plan->digest,
		.ranks = plan->nranks,
		.channels = plan->nchannels,
		.workers = config->workers,
		.max_blocks = config->max_blocks,
		.slots = config->slots ? config->slots : plan->fifo_slots,
		.iters = sweep->iters,
		.warmup = sweep->warmup,
		.unchecked = sweep->unchecked,
	};
}

/* Run the last size once more, recorded; it is filled as for a check. */
static int run_recorded(struct gt_sweep_state *run)
{
	const struct gt_run_sweep *sweep = run->sweep;
	struct gt_exec_request req = run->last;
	int64_t elapsed_ns;
	int rc;

	if (!sweep->trace)
		return GT_OK;
	req.trace = sweep->trace;
	rc = sweep->ops->fill(run->engine, &req, run->err);
	if (!rc)
		rc = sweep->ops->run(run->engine, &req, 1, &elapsed_ns,
				     run->err);
	*sweep->traced = req;
	return rc;
}

/* End the report and write what has not been written as it came. */
static int finish_report(struct gt_sweep_state *run, int rc)
{
	gt_report_end(&run->report, rc ? run->err->text : NULL);
	if (rc) {
		flush_rows(run);
		return rc;
	}
	rc = flush_rows(run);
	if (!rc && run->out.len)
		rc = gt_file_write(run->sweep->out, run->out.text, run->out.len,
				   run->err);
	return !rc && run->report.wrong ? GT_ENO : rc;
}

/*
 * The size of ranks' buffers.  With a demand each block has room for the
 * largest.
 */
static uint64_t buffer_bytes(const struct gt_run_sweep *sweep)
{
	const struct gt_plan *plan = sweep->config.plan;
	struct gt_rat room;

	if (!plan->demand ||
	    !gt_rat_div(GT_RAT(plan->nranks, 1),
			gt_demand_most(plan->demand, plan->nranks), &room) ||
	    gt_rat_cmp(room, GT_RAT(1, 1)) < 0)
		return sweep->end_bytes;
	return (uint64_t)gt_rat_floor_mul(room, (int64_t)sweep->end_bytes);
}

int gt_run_sweep(const struct gt_run_sweep *sweep, struct gt_err *err)
{
	struct gt_sweep_state run = {.sweep = sweep, .err = err};
	struct gt_engine_config config = sweep->config;
	struct gt_exec_request req = {.root = config.plan->root};
	struct gt_report_head head;
	struct utsname uts = {.nodename = "unknown", .machine = "unknown"};
	int rc;

	uname(&uts);
	fill_head(sweep, &uts, &head);
	run.report.head = &head;
	run.report.writer = sweep->json ? &gt_report_json : &gt_report_text;
	run.report.out = &run.out;
	run.report.colour = sweep->colour;
	config.max_bytes = buffer_bytes(sweep);
	rc = sweep->ops->open(&config, &run.engine, err);
	if (rc)
		goto release_out;
	gt_report_begin(&run.report);
	rc = flush_rows(&run);
	for (unsigned i = 0; !rc && i < NCASES; i++) {
		uint64_t bytes = sweep->begin_bytes;

		if (!choose_case(sweep, i, &req))
			continue;
		do
			rc = measure_row(&run, req, bytes);
		while (!rc && (bytes = next_size(sweep, bytes)));
	}
	if (!rc)
		rc = run_recorded(&run);
	if (sweep->ops->staged_bytes)
		head.staged_bytes = sweep->ops->staged_bytes(run.engine) /
				    config.plan->nranks;
	rc = finish_report(&run, rc);
	sweep->ops->close(run.engine);
release_out:
	gt_buf_release(&run.out);
	return rc;
}
