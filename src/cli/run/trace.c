#include "cli/run/trace.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/common/command.h"
#include "exec/engine.h"
#include "exec/trace/trace.h"
#include "plan/ir/plan.h"

/* A document under way; times count from the first step's. */
struct gt_tracing {
	const struct gt_plan *plan;
	const struct gt_trace *trace;
	struct gt_buf *out;
	int64_t start_ns;
	int any;
};

static void gt_tracing_next(struct gt_tracing *t)
{
	gt_buf_puts(t->out, t->any ? ",\n" : "\n");
	t->any = 1;
}

static int64_t gt_tracing_start(const struct gt_trace *trace)
{
	int64_t start = INT64_MAX;

	for (uint32_t r = 0; r < trace->nranks; r++)
		for (uint64_t i = 0; i < trace->ranks[r].nsteps; i++)
			if (trace->ranks[r].steps[i].since_ns < start)
				start = trace->ranks[r].steps[i].since_ns;
	return start;
}

/* Viewers number threads: one for each worker of each lane. */
static uint32_t gt_tracing_thread(const struct gt_trace_step *step)
{
	return step->channel << 16 | (step->lane & 15) << 12 |
	       (step->worker & 4095);
}

static void gt_tracing_slice(struct gt_tracing *t, uint32_t rank,
			     const struct gt_trace_step *step, int64_t from_ns,
			     int64_t to_ns)
{
	gt_buf_printf(t->out,
		      "\"ph\": \"X\", \"pid\": %u, \"tid\": %u, \"ts\": %.3f, "
		      "\"dur\": %.3f",
		      rank, gt_tracing_thread(step),
		      (double)(from_ns - t->start_ns) / 1e3,
		      (double)(to_ns - from_ns) / 1e3);
}

static void gt_tracing_step(struct gt_tracing *t, uint32_t rank,
			    const struct gt_trace_step *step)
{
	if (step->from != GT_TRACE_NONE && step->begin_ns > step->since_ns) {
		gt_tracing_next(t);
		gt_buf_printf(t->out,
			      "{\"name\": \"wait for rank %u\", \"cat\": "
			      "\"wait\", ",
			      step->from);
		gt_tracing_slice(t, rank, step, step->since_ns, step->begin_ns);
		gt_buf_puts(t->out, "}");
	}
	gt_tracing_next(t);
	gt_buf_printf(t->out, "{\"name\": \"%s\", \"cat\": \"move\", ",
		      gt_op_name((enum gt_op)step->op));
	gt_tracing_slice(t, rank, step, step->begin_ns, step->end_ns);
	gt_buf_printf(t->out,
		      ", \"args\": {\"channel\": %u, \"step\": %u, "
		      "\"loop\": %u, \"bytes\": %llu",
		      step->channel, step->step, step->loop,
		      (unsigned long long)step->bytes);
	if (step->post_ns)
		gt_buf_printf(t->out, ", \"post_us\": %.3f",
			      (double)step->post_ns / 1e3);
	if (step->from != GT_TRACE_NONE)
		gt_buf_printf(t->out, ", \"from\": %u", step->from);
	if (step->to != GT_TRACE_NONE)
		gt_buf_printf(t->out, ", \"to\": %u", step->to);
	gt_buf_puts(t->out, "}}");
}

/* Write the rank's name, and each thread's at its first step. */
static void gt_tracing_names(struct gt_tracing *t, uint32_t rank)
{
	const struct gt_trace_rank *me = &t->trace->ranks[rank];
	const struct gt_trace_step *step = me->steps;
	struct gt_buf name = GT_BUF_INIT;

	gt_buf_printf(&name, "rank %u %s", rank, t->plan->ranks[rank].device);
	gt_tracing_next(t);
	gt_buf_printf(t->out,
		      "{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": "
		      "%u, \"args\": {\"name\": ",
		      rank);
	gt_json_quote(t->out, name.failed ? "" : name.text);
	gt_buf_puts(t->out, "}}");
	gt_buf_release(&name);
	for (uint64_t i = 0; i < me->nsteps; i++, step++) {
		if (step->loop || step->step)
			continue;
		gt_tracing_next(t);
		gt_buf_printf(t->out,
			      "{\"name\": \"thread_name\", \"ph\": \"M\", "
			      "\"pid\": %u, \"tid\": %u, \"args\": {\"name\": "
			      "\"channel %u lane %u worker %u\"}}",
			      rank, gt_tracing_thread(step), step->channel,
			      step->lane, step->worker);
	}
}

/* Write what the run was and every link, and tell of the slowest one. */
static void gt_tracing_other(struct gt_tracing *t,
			     const struct gt_exec_request *req)
{
	const struct gt_trace_link *link;
	uint32_t from, to, n = t->trace->nranks;
	uint64_t dropped = 0;
	int any = 0;

	for (uint32_t r = 0; r < n; r++)
		dropped += t->trace->ranks[r].ndropped;
	gt_buf_printf(t->out,
		      "\n], \"displayTimeUnit\": \"ns\",\n\"otherData\": "
		      "{\"schema\": \"gtopo.trace/1\", \"coll\": \"%s\", "
		      "\"dtype\": \"%s\", \"op\": \"%s\", \"count\": %llu, "
		      "\"steps_dropped\": %llu,\n\"slowest_link\": ",
		      gt_coll_name(req->coll), gt_dtype_name(req->dtype),
		      gt_redop_name(req->op), (unsigned long long)req->count,
		      (unsigned long long)dropped);
	if (gt_trace_slowest(t->trace, &from, &to))
		gt_buf_printf(t->out, "{\"from\": %u, \"to\": %u}", from, to);
	else
		gt_buf_puts(t->out, "null");
	gt_buf_puts(t->out, ",\n\"links\": [");
	for (uint32_t i = 0; i < n * n; i++) {
		link = &t->trace->ranks[i / n].links[i % n];
		if (!link->bytes)
			continue;
		gt_buf_printf(t->out,
			      "%s\n {\"from\": %u, \"to\": %u, \"bytes\": "
			      "%llu, \"busy_us\": %.3f, \"gbs\": %.3f, "
			      "\"receiver_waited_us\": %.3f}",
			      any++ ? "," : "", i / n, i % n,
			      (unsigned long long)link->bytes,
			      (double)link->busy_ns / 1e3, gt_trace_gbs(link),
			      (double)t->trace->ranks[i % n].waits_ns[i / n] /
				      1e3);
	}
	gt_buf_puts(t->out, "]}}\n");
}

static void gt_tracing_tell(const struct gt_cmd_args *args,
			    const struct gt_tracing *t)
{
	const struct gt_plan_rank *ranks = t->plan->ranks;
	const struct gt_trace_link *link;
	uint32_t from, to;

	if (!gt_trace_slowest(t->trace, &from, &to))
		return;
	link = &t->trace->ranks[from].links[to];
	gt_cmd_warn(args,
		    "the slowest link: rank %u (%s) to rank %u (%s), %.2f GB/s "
		    "while it carried %.1f MB; rank %u waited for it %.1f us",
		    from, ranks[from].device, to, ranks[to].device,
		    gt_trace_gbs(link), (double)link->bytes / 1e6, to,
		    (double)t->trace->ranks[to].waits_ns[from] / 1e3);
}

int gt_run_trace_write(const struct gt_cmd_args *args, const char *path,
		       const struct gt_plan *plan,
		       const struct gt_exec_request *req,
		       const struct gt_trace *trace, struct gt_err *err)
{
	struct gt_buf out = GT_BUF_INIT;
	struct gt_tracing t = {plan, trace, &out, gt_tracing_start(trace), 0};
	int rc;

	gt_buf_puts(&out, "{\"traceEvents\": [");
	for (uint32_t r = 0; r < trace->nranks; r++) {
		gt_tracing_names(&t, r);
		for (uint64_t i = 0; i < trace->ranks[r].nsteps; i++)
			gt_tracing_step(&t, r, &trace->ranks[r].steps[i]);
	}
	gt_tracing_other(&t, req);
	rc = out.failed ? gt_err_nomem(err)
			: gt_file_write(path, out.text, out.len, err);
	gt_buf_release(&out);
	if (!rc)
		gt_tracing_tell(args, &t);
	return rc;
}
