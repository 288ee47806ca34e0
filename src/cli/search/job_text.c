/* Tells people of a job's assignment, its phases, and what limits them. */
#include "cli/search/job.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "plan/ir/plan.h"
#include "search/job/assign.h"
#include "search/job/links.h"
#include "search/job/loads.h"
#include "search/job/site.h"
#include "search/job/workload.h"
#include "topo/graph/topo.h"

enum { NAME_MAX_BYTES = 512 };

static void print_job(const struct gt_job_query *query, struct gt_buf *out)
{
	const struct gt_workload *w = query->workload;
	const struct gt_site *site = query->site;

	gt_buf_printf(out, "job       %s%s%u rank%s", w->name ? w->name : "",
		      w->name ? ": " : "", w->nranks, gt_plural(w->nranks));
	for (uint32_t i = 0; i < w->naxes; i++)
		gt_buf_printf(out, "%s%s %u", i ? " x " : " = ",
			      w->axes[i].name, w->axes[i].size);
	gt_buf_printf(out, "\nmachines  %u node%s of %u GPU%s\n", site->nnodes,
		      gt_plural(site->nnodes), site->ngpus,
		      gt_plural(site->ngpus));
}

/* Is the assignment as good as its bound, but for rounding? */
static int is_optimal(const struct gt_assign *assign)
{
	return assign->best.cost.seconds <= assign->bound_s * (1 + 1e-9);
}

static void print_bound(const struct gt_assign *assign, struct gt_buf *out)
{
	double s = assign->best.cost.seconds;

	if (is_optimal(assign))
		gt_buf_puts(out, "bound     the same for any assignment and "
				 "any schedules: optimal, proven\n");
	else
		gt_buf_printf(out,
			      "bound     %.6g ms for any assignment and any "
			      "schedules%s: at most %.3g%% could be saved\n",
			      assign->bound_s * 1e3,
			      assign->joint ? "" : " (of GPUs alone)",
			      100 * (1 - assign->bound_s / s));
}

static void print_times(const struct gt_job_query *query,
			const struct gt_assign *assign, struct gt_buf *out)
{
	const struct gt_assignment *first = &assign->by_number;
	double s = assign->best.cost.seconds;
	int of_machine = gt_assign_is_of_machine(query->workload, query->site);

	gt_buf_printf(out,
		      "time      %.6g ms a step for its bytes, %.6g with "
		      "latency, as gtopo predict has it\n",
		      s * 1e3, assign->best.cost.expected_s * 1e3);
	print_bound(assign, out);
	if (!first->planned)
		gt_buf_printf(out,
			      "by number not planned: %s; at least %.6g ms\n",
			      first->why.text, first->bound_s * 1e3);
	else if (first->cost.expected_s >
		 assign->best.cost.expected_s * (1 + 1e-9))
		gt_buf_printf(
			out,
			"by number %.6g ms, %.6g with latency, %.3g times "
			"as long\n",
			first->cost.seconds * 1e3, first->cost.expected_s * 1e3,
			first->cost.expected_s / assign->best.cost.expected_s);
	else
		gt_buf_puts(out, "by number the same\n");
	gt_buf_printf(out, "tried     %s of %" PRIu64 " %s%s%s\n",
		      assign->complete ? "the best" : "the most promising",
		      assign->nnestings, of_machine ? "placement" : "nesting",
		      gt_plural(assign->nnestings),
		      of_machine ? "" : " of the axes");
}

/* How many ranks in a row of an axis, from rank 0 on, share its node. */
static uint32_t count_inside(const struct gt_job_query *query,
			     const uint32_t *place, uint32_t axis)
{
	const struct gt_job_axis *a = &query->workload->axes[axis];
	uint32_t ngpus = query->site->ngpus, n = 1;

	while (n < a->size && place[n * a->stride] / ngpus == place[0] / ngpus)
		n++;
	return n;
}

/* The axes by how far apart neighbours are, within a node and among nodes. */
static void print_axes(const struct gt_job_query *query, const uint32_t *place,
		       int outside, struct gt_buf *out)
{
	const struct gt_workload *w = query->workload;
	const char *comma = "";

	for (uint32_t far = 1; far < query->site->nnodes * query->site->ngpus;
	     far++)
		for (uint32_t i = 0; i < w->naxes; i++) {
			uint32_t in = count_inside(query, place, i);
			uint32_t step = outside ? in : 1;
			uint32_t n = outside ? w->axes[i].size / in : in;

			if (n < 2 ||
			    place[step * w->axes[i].stride] != place[0] + far)
				continue;
			gt_buf_printf(out, "%s%s %u", comma, w->axes[i].name,
				      n);
			comma = ", ";
		}
	gt_buf_puts(out, *comma ? "\n" : "-\n");
}

/* The GPU of each rank, by the driver's numbers. */
static void print_gpus(const struct gt_job_query *query, const uint32_t *place,
		       struct gt_buf *out)
{
	const struct gt_topo *topo = query->site->topo;

	gt_buf_puts(out, "GPUs      ");
	for (uint32_t r = 0; r < query->workload->nranks; r++)
		gt_buf_printf(
			out, "%s%d", r ? "," : "",
			gt_topo_node(topo, gt_topo_gpu(topo, place[r]))->dev);
	gt_buf_puts(out, ", in order of rank\n");
}

static void print_places(const struct gt_job_query *query,
			 const uint32_t *place, struct gt_buf *out)
{
	if (!query->workload->naxes)
		return;
	if (gt_assign_is_of_machine(query->workload, query->site)) {
		print_gpus(query, place, out);
		return;
	}
	gt_buf_puts(out, "in a node ");
	print_axes(query, place, 0, out);
	if (query->site->nnodes < 2)
		return;
	gt_buf_puts(out, "among     ");
	print_axes(query, place, 1, out);
}

/* ---- phases ------------------------------------------------------------- */

/* The time that an entry's groups would take if nothing else was there. */
static double alone_s(const struct gt_job_cost *cost, uint32_t e)
{
	double most = 0;

	for (size_t i = 0; i < cost->nlinks; i++)
		if (cost->gbs[i] > 0 &&
		    cost->bytes[e * cost->nlinks + i] / cost->gbs[i] > most)
			most = cost->bytes[e * cost->nlinks + i] / cost->gbs[i];
	return most / 1e9;
}

/* What goes on at the same time as others stands below them, further in. */
static void print_entry(const struct gt_job_query *query,
			const struct gt_job_cost *cost, uint32_t e, int indent,
			struct gt_buf *out)
{
	const struct gt_traffic *t = &query->workload->traffic[e];
	const struct gt_group_plan *plan = cost->plans[e][0];
	char groups[32];

	snprintf(groups, sizeof(groups), "%u x %u", t->ngroups, t->size);
	gt_buf_printf(out, "%*s%-*s %-14s %-9s %9.4g %10.4g %9.5g", indent, "",
		      20 - indent, t->name, gt_coll_name(t->coll), groups,
		      gt_traffic_bytes(t) / 1e9, alone_s(cost, e) * 1e3,
		      plan ? plan->algbw_gbs : 0);
	if (plan)
		gt_buf_printf(out, "  %u x %u GPU%s\n", plan->place.nnodes,
			      plan->place.ngpus, gt_plural(plan->place.ngpus));
	else
		gt_buf_puts(out, "  -\n");
}

/* They come in the order in which the job's file first names them. */
static void print_phases(const struct gt_job_query *query,
			 const struct gt_job_cost *cost, struct gt_buf *out)
{
	const struct gt_workload *w = query->workload;

	gt_buf_printf(out, "\n  %-18s %-14s %-9s %9s %10s %9s  %s\n",
		      "communication", "collective", "groups", "GB a step",
		      "ms", "algbw", "nodes x GPUs of a group");
	for (uint32_t p = 0; p < w->nphases; p++) {
		if (w->phases[p])
			gt_buf_printf(out,
				      "  %s: %.5g ms, all at the same time\n",
				      w->phases[p], cost->phase_s[p] * 1e3);
		for (uint32_t e = 0; e < w->ntraffic; e++)
			if (w->traffic[e].phase == p)
				print_entry(query, cost, e,
					    w->phases[p] ? 4 : 2, out);
	}
}

/* ---- what limits, and what would help ----------------------------------- */

/* Which entries share a link in a phase, and how much each has of it. */
static void print_sharing(const struct gt_job_query *query,
			  const struct gt_job_cost *cost, uint32_t phase,
			  struct gt_buf *out)
{
	const struct gt_workload *w = query->workload;
	size_t link = cost->full[phase];
	double sum = 0;

	for (uint32_t e = 0; e < w->ntraffic; e++)
		if (w->traffic[e].phase == phase)
			sum += cost->bytes[e * cost->nlinks + link];
	for (uint32_t e = 0; e < w->ntraffic; e++) {
		double bytes = cost->bytes[e * cost->nlinks + link];

		if (w->traffic[e].phase == phase && bytes > 0)
			gt_buf_printf(out, "      %5.3g%% of it is %s\n",
				      100 * bytes / sum, w->traffic[e].name);
	}
}

/* A phase's name, or that of the entry that is one by itself. */
static const char *name_phase(const struct gt_workload *w, uint32_t phase)
{
	uint32_t e = 0;

	while (!w->phases[phase] && w->traffic[e].phase != phase)
		e++;
	return w->phases[phase] ? w->phases[phase] : w->traffic[e].name;
}

static int explain_phase(const struct gt_job_query *query,
			 const struct gt_job_cost *cost, uint32_t phase,
			 struct gt_buf *out, struct gt_err *err)
{
	size_t full[GT_JOB_MAX_FULL];
	uint32_t n = gt_job_cost_full(query, cost, phase, full);
	char name[NAME_MAX_BYTES];
	double seconds = 0;
	int rc = gt_job_cost_widened(query, cost, phase, 2, &seconds, err);

	if (rc)
		return rc;
	if (n)
		gt_buf_printf(out, "  %s\n",
			      name_phase(query->workload, phase));
	for (uint32_t i = 0; i < n; i++) {
		gt_job_link_name(query->links, full[i], name, sizeof(name));
		gt_buf_printf(out, "    busy for %.5g ms: %s, %g GB/s\n",
			      gt_job_cost_link_s(query, cost, phase, full[i]) *
				      1e3,
			      name, cost->gbs[full[i]]);
	}
	if (!n)
		return GT_OK;
	print_sharing(query, cost, phase, out);
	gt_buf_printf(
		out,
		"      if all links like %s were twice as wide: %.5g ms less a "
		"step\n",
		n == 1 ? "it" : "these", (cost->seconds - seconds) * 1e3);
	return GT_OK;
}

/* Phases that take longest come first. */
static int explain(const struct gt_job_query *query,
		   const struct gt_job_cost *cost, struct gt_buf *out,
		   struct gt_err *err)
{
	uint32_t n = query->workload->nphases;
	unsigned char told[GT_JOB_MAX_TRAFFIC] = {0};
	int rc = GT_OK;

	gt_buf_puts(out, "\nwhat limits, longest first\n");
	for (uint32_t k = 0; k < n && !rc; k++) {
		uint32_t most = UINT32_MAX;

		for (uint32_t p = 0; p < n; p++)
			if (!told[p] &&
			    (most == UINT32_MAX ||
			     cost->phase_s[p] > cost->phase_s[most]))
				most = p;
		told[most] = 1;
		rc = explain_phase(query, cost, most, out, err);
	}
	return rc;
}

int gt_job_print(const struct gt_job_query *query,
		 const struct gt_assign *assign, int explained,
		 struct gt_buf *out, struct gt_err *err)
{
	const struct gt_job_cost *cost = &assign->best.cost;

	print_job(query, out);
	print_times(query, assign, out);
	print_places(query, assign->best.place, out);
	print_phases(query, cost, out);
	return explained ? explain(query, cost, out, err) : GT_OK;
}
