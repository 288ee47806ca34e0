/*
 * Writes a recorded run in the format of trace viewers, and names the slowest
 * link.
 */
#include "cli/run/trace.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "cli/common/command.h"
#include "exec/engine.h"
#include "exec/trace/trace.h"
#include "plan/ir/plan.h"

/* The document that is written; its times count from the first step's. */
struct document {
	const struct gt_plan *plan;
	const struct gt_trace *trace;
	struct gt_buf *out;
	int64_t start_ns;
	int any;
};

static void next_event(struct document *t)
{
	gt_buf_puts(t->out, t->any ? ",\n" : "\n");
	t->any = 1;
}

static int64_t find_start(const struct gt_trace *trace)
{
	int64_t start = INT64_MAX;

	for (uint32_t r = 0; r < trace->nranks; r++)
		for (uint64_t i = 0; i < trace->ranks[r].nsteps; i++)
			if (trace->ranks[r].steps[i].since_ns < start)
				start = trace->ranks[r].steps[i].since_ns;
	return start;
}

/* Viewers number threads: one for each worker of each lane. */
static uint32_t thread_of(const struct gt_trace_step *step)
{
	return step->channel << 16 | (step->lane & 15) << 12 |
	       (step->worker & 4095);
}

/* Begin an event on a line of its own; the caller ends the object. */
static void begin_event(struct document *t, struct gt_json_writer *json,
			const char *name)
{
	next_event(t);
	gt_json_begin(json, t->out);
	gt_json_open_object(json, NULL, GT_JSON_FLAT);
	gt_json_put_text(json, "name", name);
}

static void put_us(struct gt_json_writer *json, const char *key, int64_t ns)
{
	gt_json_put_double(json, key, "%.3f", (double)ns / 1e3);
}

static void put_slice(const struct document *t, struct gt_json_writer *json,
		      uint32_t rank, const struct gt_trace_step *step,
		      int64_t from_ns, int64_t to_ns)
{
	gt_json_put_text(json, "ph", "X");
	gt_json_put_int(json, "pid", rank);
	gt_json_put_int(json, "tid", thread_of(step));
	put_us(json, "ts", from_ns - t->start_ns);
	put_us(json, "dur", to_ns - from_ns);
}

static void put_wait(struct document *t, uint32_t rank,
		     const struct gt_trace_step *step)
{
	struct gt_json_writer json;
	char name[32];

	snprintf(name, sizeof(name), "wait for rank %u", step->from);
	begin_event(t, &json, name);
	gt_json_put_text(&json, "cat", "wait");
	put_slice(t, &json, rank, step, step->since_ns, step->begin_ns);
	gt_json_end(&json);
}

static void put_step(struct document *t, uint32_t rank,
		     const struct gt_trace_step *step)
{
	struct gt_json_writer json;

	if (step->from != GT_TRACE_NONE && step->begin_ns > step->since_ns)
		put_wait(t, rank, step);
	begin_event(t, &json, gt_op_name((enum gt_op)step->op));
	gt_json_put_text(&json, "cat", "move");
	put_slice(t, &json, rank, step, step->begin_ns, step->end_ns);
	gt_json_open_object(&json, "args", GT_JSON_FLAT);
	gt_json_put_int(&json, "channel", step->channel);
	gt_json_put_int(&json, "step", step->step);
	gt_json_put_int(&json, "loop", step->loop);
	gt_json_put_int(&json, "bytes", (int64_t)step->bytes);
	if (step->post_ns)
		put_us(&json, "post_us", step->post_ns);
	if (step->from != GT_TRACE_NONE)
		gt_json_put_int(&json, "from", step->from);
	if (step->to != GT_TRACE_NONE)
		gt_json_put_int(&json, "to", step->to);
	gt_json_end(&json);
	gt_json_end(&json);
}

/* Write the name of a rank, or of one of its threads. */
static void put_name(struct document *t, const char *kind, uint32_t rank,
		     const struct gt_trace_step *thread, const char *name)
{
	struct gt_json_writer json;

	begin_event(t, &json, kind);
	gt_json_put_text(&json, "ph", "M");
	gt_json_put_int(&json, "pid", rank);
	if (thread)
		gt_json_put_int(&json, "tid", thread_of(thread));
	gt_json_open_object(&json, "args", GT_JSON_FLAT);
	gt_json_put_text(&json, "name", name);
	gt_json_end(&json);
	gt_json_end(&json);
}

/* Plans need not say which GPU a rank is. */
static const char *device_of(const struct gt_plan *plan, uint32_t rank)
{
	const char *device = plan->ranks[rank].device;

	return device ? device : "unnamed";
}

/* Write the rank's name, and each thread's at its first step. */
static void put_names(struct document *t, uint32_t rank)
{
	const struct gt_trace_rank *me = &t->trace->ranks[rank];
	const struct gt_trace_step *step = me->steps;
	struct gt_buf name = GT_BUF_INIT;
	char thread[64];

	gt_buf_printf(&name, "rank %u %s", rank, device_of(t->plan, rank));
	put_name(t, "process_name", rank, NULL, name.failed ? "" : name.text);
	gt_buf_release(&name);
	for (uint64_t i = 0; i < me->nsteps; i++, step++) {
		if (step->loop || step->step)
			continue;
		snprintf(thread, sizeof(thread), "channel %u lane %u worker %u",
			 step->channel, step->lane, step->worker);
		put_name(t, "thread_name", rank, step, thread);
	}
}

/* Write the links that carried something, each on a line of its own. */
static void put_links(const struct document *t)
{
	uint32_t n = t->trace->nranks;
	const char *between = "\n ";
	struct gt_json_writer json;

	for (uint32_t i = 0; i < n * n; i++) {
		const struct gt_trace_link *link =
			&t->trace->ranks[i / n].links[i % n];

		if (!link->bytes)
			continue;
		gt_buf_puts(t->out, between);
		between = ",\n ";
		gt_json_begin(&json, t->out);
		gt_json_open_object(&json, NULL, GT_JSON_FLAT);
		gt_json_put_int(&json, "from", i / n);
		gt_json_put_int(&json, "to", i % n);
		gt_json_put_int(&json, "bytes", (int64_t)link->bytes);
		put_us(&json, "busy_us", link->busy_ns);
		gt_json_put_double(&json, "gbs", "%.3f", gt_trace_gbs(link));
		put_us(&json, "receiver_waited_us",
		       t->trace->ranks[i % n].waits_ns[i / n]);
		gt_json_end(&json);
	}
}

/* Write what the run was, its slowest link and all links. */
static void put_run(struct document *t, const struct gt_exec_request *req)
{
	struct gt_json_writer json;
	uint64_t dropped = 0;
	uint32_t from, to;

	for (uint32_t r = 0; r < t->trace->nranks; r++)
		dropped += t->trace->ranks[r].ndropped;
	gt_json_begin(&json, t->out);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	gt_json_put_text(&json, "schema", "gtopo.trace/1");
	gt_json_put_text(&json, "coll", gt_coll_name(req->coll));
	gt_json_put_text(&json, "dtype", gt_dtype_name(req->dtype));
	gt_json_put_text(&json, "op", gt_redop_name(req->op));
	gt_json_put_int(&json, "count", (int64_t)req->count);
	gt_json_put_int(&json, "steps_dropped", (int64_t)dropped);
	gt_buf_puts(t->out, ",\n\"slowest_link\": ");
	if (gt_trace_slowest(t->trace, &from, &to))
		gt_buf_printf(t->out, "{\"from\": %u, \"to\": %u}", from, to);
	else
		gt_buf_puts(t->out, "null");
	gt_buf_puts(t->out, ",\n\"links\": [");
	put_links(t);
	gt_buf_puts(t->out, "]");
	gt_json_end(&json);
}

static void tell_slowest(const struct gt_cmd_args *args,
			 const struct document *t)
{
	const struct gt_trace_link *link;
	uint32_t from, to;

	if (!gt_trace_slowest(t->trace, &from, &to))
		return;
	link = &t->trace->ranks[from].links[to];
	gt_cmd_warn(args,
		    "the slowest link: rank %u (%s) to rank %u (%s), %.2f GB/s "
		    "while it carried %.1f MB; rank %u waited for it %.1f us",
		    from, device_of(t->plan, from), to, device_of(t->plan, to),
		    gt_trace_gbs(link), (double)link->bytes / 1e6, to,
		    (double)t->trace->ranks[to].waits_ns[from] / 1e3);
}

int gt_run_trace_write(const struct gt_cmd_args *args, const char *path,
		       const struct gt_plan *plan,
		       const struct gt_exec_request *req,
		       const struct gt_trace *trace, struct gt_err *err)
{
	struct gt_buf out = GT_BUF_INIT;
	struct document t = {plan, trace, &out, find_start(trace), 0};
	int rc;

	gt_buf_puts(&out, "{\"traceEvents\": [");
	for (uint32_t r = 0; r < trace->nranks; r++) {
		put_names(&t, r);
		for (uint64_t i = 0; i < trace->ranks[r].nsteps; i++)
			put_step(&t, r, &trace->ranks[r].steps[i]);
	}
	gt_buf_puts(&out, "\n], \"displayTimeUnit\": \"ns\",\n\"otherData\": ");
	put_run(&t, req);
	gt_buf_puts(&out, "}\n");
	rc = out.failed ? gt_err_nomem(err)
			: gt_file_write(path, out.text, out.len, err);
	gt_buf_release(&out);
	if (!rc)
		tell_slowest(args, &t);
	return rc;
}
