/* From a job file and a machine to a report of where its ranks go. */
#include "cli/search/job.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/common/command.h"
#include "search/job/assign.h"
#include "search/job/links.h"
#include "search/job/plans.h"
#include "search/job/site.h"
#include "search/job/workload.h"
#include "search/problem/budget.h"

static void tell_search(const struct gt_cmd_args *args,
			const struct gt_assign *assign, int64_t took_ns)
{
	gt_cmd_note(args,
		    "%" PRIu64 " of %" PRIu64 " assignment%s planned, %.1f ms",
		    assign->nplanned, assign->nnestings,
		    gt_plural(assign->nnestings), (double)took_ns / 1e6);
	if (!assign->complete)
		gt_cmd_warn(args,
			    "there are more assignments than the %" PRIu64
			    " that were planned in %.3g s; one of the others "
			    "may be better (--budget gives more time)",
			    assign->nplanned, (double)took_ns / 1e9);
}

static int report_job(const struct gt_cmd_args *args,
		      const struct gt_job_query *query,
		      const struct gt_job_words *words,
		      const struct gt_assign *assign, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	int rc = GT_OK;

	if (args->out)
		rc = gt_job_write_files(query, assign, args->out, err);
	if (!rc && words->json)
		gt_job_print_json(query, assign, &text);
	else if (!rc)
		rc = gt_job_print(query, assign, words->explain, &text, err);
	if (args->out && !words->json)
		gt_buf_printf(&text,
			      "\nwritten   %s/: report.json, plan-0.json ..., "
			      "ranks.csv, hosts, order.json\n",
			      args->out);
	if (!rc)
		rc = text.failed
			     ? gt_err_nomem(err)
			     : gt_file_write(NULL, text.text, text.len, err);
	gt_buf_release(&text);
	return rc;
}

static int plan_job(const struct gt_cmd_args *args,
		    const struct gt_job_words *words,
		    const struct gt_workload *workload,
		    const struct gt_site *site, struct gt_arena *arena,
		    struct gt_err *err)
{
	int64_t begin_ns = gt_clock_ns();
	struct gt_group_plans plans;
	struct gt_job_links links;
	struct gt_budget budget = {begin_ns + (words->budget_ns
						       ? words->budget_ns
						       : GT_JOB_BUDGET_NS),
				   NULL, NULL};
	struct gt_job_query query = {workload, site,    &links,
				     &plans,   &budget, words->by_node};
	struct gt_assign assign;
	int rc = gt_job_links_init(&links, site, arena, err);

	if (rc)
		return rc;
	gt_group_plans_init(&plans, site, &links, arena);
	plans.budget = &budget;
	rc = gt_assign_find(&query, arena, &assign, err);
	if (!rc) {
		tell_search(args, &assign, gt_clock_ns() - begin_ns);
		rc = report_job(args, &query, words, &assign, err);
	}
	gt_group_plans_release(&plans);
	return rc;
}

int gt_search_job(const struct gt_cmd_args *args, const char *job_file,
		  const struct gt_job_words *words, struct gt_topo *topo,
		  const struct gt_cluster *cluster, enum gt_rates rates,
		  struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_workload *workload;
	struct gt_site site;
	int rc = arena ? gt_workload_read(job_file, arena, &workload, err)
		       : gt_err_nomem(err);

	if (!rc && args->out)
		rc = gt_job_check_folder(args->out, err);
	if (!rc)
		rc = gt_site_init(&site, topo, cluster, rates, arena, err);
	if (!rc)
		rc = plan_job(args, words, workload, &site, arena, err);
	gt_arena_free(arena);
	return rc;
}
