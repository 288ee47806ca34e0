#include "cli/run/sweep.h"

#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/file.h"
#include "plan/ir/plan.h"
#include "report/report.h"

/* A sweep under way. */
struct gt_sweep_state {
	const struct gt_run_sweep *sweep;
	struct gt_engine *engine;
	struct gt_report report;
	struct gt_exec_request last; /* that was run, but for its place */
	struct gt_buf out;
	struct gt_err *err;
};

/* To standard output as it comes; a file gets everything at the end. */
static int measure_flush(struct gt_sweep_state *run)
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

/* Fill, run once, check: the run that counts for correctness. */
static int measure_check(struct gt_sweep_state *run,
			 const struct gt_exec_request *req, uint64_t *wrong)
{
	const struct gt_engine_ops *ops = run->sweep->ops;
	int64_t elapsed_ns;
	int rc = ops->fill(run->engine, req, run->err);

	if (!rc)
		rc = ops->run(run->engine, req, 1, &elapsed_ns, run->err);
	if (!rc && !run->sweep->unchecked)
		rc = ops->check(run->engine, req, wrong, run->err);
	return rc;
}

static int measure_placement(struct gt_sweep_state *run,
			     const struct gt_exec_request *req,
			     const struct gt_report_row *row,
			     struct gt_report_side *side)
{
	const struct gt_run_sweep *sweep = run->sweep;
	uint64_t wrong = 0;
	int64_t elapsed_ns = 0;
	int rc = measure_check(run, req, &wrong);

	if (!rc && sweep->warmup)
		rc = sweep->ops->run(run->engine, req, sweep->warmup,
				     &elapsed_ns, run->err);
	if (!rc)
		rc = sweep->ops->run(run->engine, req, sweep->iters,
				     &elapsed_ns, run->err);
	if (!rc)
		*side = gt_report_measure(&run->report, row, elapsed_ns, wrong);
	return rc;
}

/* One size, out of place and in place. */
static int measure_size(struct gt_sweep_state *run, struct gt_exec_request req,
			uint64_t bytes)
{
	const struct gt_plan *plan = run->sweep->config.plan;
	uint64_t blocks = gt_coll_has_blocks(req.coll) ? plan->nranks : 1;
	struct gt_report_row row = {
		.coll = gt_coll_name(req.coll),
		.dtype = gt_dtype_name(req.dtype),
		.op = gt_coll_reduces(req.coll) ? gt_redop_name(req.op)
						: "none",
		.root = gt_coll_is_rooted(req.coll) ? (int64_t)req.root : -1,
	};
	int rc;

	req.count = bytes / gt_dtype_bytes(req.dtype) / blocks;
	row.count = req.count;
	row.bytes = req.count * blocks * gt_dtype_bytes(req.dtype);
	req.inplace = 0;
	req.seed = bytes + 1;
	run->last = req;
	rc = measure_placement(run, &req, &row, &row.out_of_place);
	req.inplace = 1;
	req.seed++;
	if (!rc)
		rc = measure_placement(run, &req, &row, &row.in_place);
	if (rc)
		return rc;
	gt_report_add(&run->report, &row);
	return measure_flush(run);
}

static int measure_sizes(struct gt_sweep_state *run,
			 const struct gt_exec_request *req)
{
	const struct gt_run_sweep *sweep = run->sweep;
	uint64_t bytes = sweep->begin_bytes;
	int rc = measure_size(run, *req, bytes);

	while (!rc && bytes <= sweep->end_bytes / sweep->factor &&
	       bytes < sweep->end_bytes) {
		bytes *= sweep->factor;
		rc = measure_size(run, *req, bytes);
	}
	return rc;
}

/* Where nothing is reduced one operator stands for all. */
static int measure_operators(struct gt_sweep_state *run,
			     struct gt_exec_request req)
{
	unsigned redops = run->sweep->redops;
	int rc = GT_OK;

	if (!gt_coll_reduces(req.coll))
		redops = 1;
	for (int op = 0; !rc && op < GT_NREDOPS; op++) {
		req.op = op;
		if (redops >> op & 1)
			rc = measure_sizes(run, &req);
	}
	return rc;
}

static int measure_all(struct gt_sweep_state *run)
{
	const struct gt_run_sweep *sweep = run->sweep;
	struct gt_exec_request req = {.root = sweep->config.plan->root};
	int rc = GT_OK;

	for (int coll = 0; !rc && coll < GT_NCOLLS; coll++) {
		req.coll = coll;
		if (!(sweep->colls >> coll & 1))
			continue;
		for (int dtype = 0; !rc && dtype < GT_NDTYPES; dtype++) {
			req.dtype = dtype;
			if (sweep->dtypes >> dtype & 1)
				rc = measure_operators(run, req);
		}
	}
	return rc;
}

static void gt_run_head(const struct gt_run_sweep *sweep,
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
		.slots = config->slots ? config->slots : plan->fifo_slots,
		.iters = sweep->iters,
		.warmup = sweep->warmup,
		.unchecked = sweep->unchecked,
	};
}

/* As the run that is checked, and recorded. */
static int measure_traced(struct gt_sweep_state *run)
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

/* Everything between open and close of the engine. */
static int measure_report(struct gt_sweep_state *run)
{
	int rc;

	gt_report_begin(&run->report);
	rc = measure_flush(run);
	if (!rc)
		rc = measure_all(run);
	if (!rc)
		rc = measure_traced(run);
	gt_report_end(&run->report, rc ? run->err->text : NULL);
	if (rc) {
		measure_flush(run);
		return rc;
	}
	rc = measure_flush(run);
	if (!rc && run->out.len)
		rc = gt_file_write(run->sweep->out, run->out.text, run->out.len,
				   run->err);
	return !rc && run->report.wrong ? GT_ENO : rc;
}

int gt_run_sweep(const struct gt_run_sweep *sweep, struct gt_err *err)
{
	struct gt_sweep_state run = {.sweep = sweep, .err = err};
	struct gt_engine_config config = sweep->config;
	struct gt_report_head head;
	struct utsname uts = {.nodename = "unknown", .machine = "unknown"};
	int rc;

	uname(&uts);
	gt_run_head(sweep, &uts, &head);
	run.report.head = &head;
	run.report.writer = sweep->json ? &gt_report_json : &gt_report_text;
	run.report.out = &run.out;
	config.max_bytes = sweep->end_bytes;
	rc = sweep->ops->open(&config, &run.engine, err);
	if (!rc) {
		rc = measure_report(&run);
		sweep->ops->close(run.engine);
	}
	gt_buf_release(&run.out);
	return rc;
}
