/*
 * The files of `gtopo search --job -o FOLDER`: the report, a plan for each
 * place of a group, and where ranks go, for those who start jobs.
 */
#include "cli/search/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "plan/json/json.h"
#include "search/job/assign.h"
#include "search/job/loads.h"
#include "search/job/plans.h"
#include "search/job/site.h"
#include "search/job/workload.h"

enum { NAME_MAX_BYTES = 512 };

static int write_file(const char *folder, const char *name, struct gt_buf *text,
		      struct gt_err *err)
{
	struct gt_buf path = GT_BUF_INIT;
	int rc;

	gt_buf_printf(&path, "%s/%s", folder, name);
	rc = text->failed || path.failed
		     ? gt_err_nomem(err)
		     : gt_file_write(path.text, text->text, text->len, err);
	gt_buf_release(&path);
	gt_buf_release(text);
	return rc;
}

static int dev_of(const struct gt_site *site, uint32_t place)
{
	uint32_t gpu = gt_topo_gpu(site->topo, place % site->ngpus);

	return gt_topo_node(site->topo, gpu)->dev;
}

/* A line a rank: which GPU of which node. */
static int write_ranks(const struct gt_job_query *query, const uint32_t *place,
		       const char *folder, struct gt_err *err)
{
	struct gt_buf ranks = GT_BUF_INIT, hosts = GT_BUF_INIT;
	char name[NAME_MAX_BYTES];
	int rc;

	gt_buf_puts(&ranks, "rank,node,gpu\n");
	for (uint32_t r = 0; r < query->workload->nranks; r++) {
		gt_site_node_name(query->site, place[r] / query->site->ngpus,
				  name, sizeof(name));
		gt_buf_printf(&ranks, "%u,%s,%d\n", r, name,
			      dev_of(query->site, place[r]));
		gt_buf_printf(&hosts, "%s\n", name);
	}
	rc = write_file(folder, "ranks.csv", &ranks, err);
	if (rc)
		gt_buf_release(&hosts);
	return rc ? rc : write_file(folder, "hosts", &hosts, err);
}

/*
 * The job's rank of each GPU that is used, in order of node and GPU: torchrun
 * numbers processes so, and this is the tensor that a device mesh takes.
 */
static int write_order(const struct gt_job_query *query, const uint32_t *place,
		       const char *folder, struct gt_err *err)
{
	const struct gt_site *site = query->site;
	struct gt_buf text = GT_BUF_INIT;
	uint32_t n = 0;

	gt_buf_puts(&text, "[");
	for (uint32_t at = 0; at < site->nnodes * site->ngpus; at++)
		for (uint32_t r = 0; r < query->workload->nranks; r++)
			if (place[r] == at)
				gt_buf_printf(&text, "%s%u", n++ ? ", " : "",
					      r);
	gt_buf_puts(&text, "]\n");
	return write_file(folder, "order.json", &text, err);
}

static int write_plans(const struct gt_job_query *query,
		       const struct gt_assign *assign, const char *folder,
		       struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t i = 0; i < gt_group_plans_count(query->plans) && !rc;
	     i++) {
		const struct gt_group_plan *group =
			gt_group_plans_at(query->plans, i);
		struct gt_buf text = GT_BUF_INIT;
		char name[32];

		if (!gt_assign_uses(assign, query->workload, group))
			continue;
		snprintf(name, sizeof(name), "plan-%u.json", i);
		rc = gt_plan_print(group->plan, &text, err);
		if (!rc)
			rc = write_file(folder, name, &text, err);
		gt_buf_release(&text);
	}
	return rc;
}

int gt_job_check_folder(const char *folder, struct gt_err *err)
{
	static const char *const files[] = {".json", ".csv", ".xml", ".txt"};
	size_t len = strlen(folder);
	struct stat is;

	if (!stat(folder, &is))
		return S_ISDIR(is.st_mode)
			       ? GT_OK
			       : gt_err_set(err, GT_EINPUT, folder,
					    "is no folder, and --job has "
					    "several files to write: name "
					    "one, or take the report alone "
					    "by --json >FILE");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t end = strlen(files[i]);

		if (len > end && !strcmp(folder + len - end, files[i]))
			return gt_err_set(err, GT_EINPUT, folder,
					  "would be a folder, for --job has "
					  "several files to write: name it "
					  "without '%s', or take the report "
					  "alone by --json >FILE",
					  files[i]);
	}
	return GT_OK;
}

int gt_job_write_files(const struct gt_job_query *query,
		       const struct gt_assign *assign, const char *folder,
		       struct gt_err *err)
{
	struct gt_buf report = GT_BUF_INIT;
	int rc = GT_OK;

	if (mkdir(folder, 0777) && errno != EEXIST)
		return gt_err_set(err, GT_ESYS, folder,
				  "the folder cannot be made: %s",
				  strerror(errno));
	gt_job_print_json(query, assign, &report);
	rc = write_file(folder, "report.json", &report, err);
	if (!rc)
		rc = write_plans(query, assign, folder, err);
	if (!rc)
		rc = write_ranks(query, assign->best.place, folder, err);
	return rc ? rc : write_order(query, assign->best.place, folder, err);
}
