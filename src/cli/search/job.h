/*
 * `gtopo search --job`: the communication of a whole job is planned, told of on
 * standard output, and written as files into a folder.
 */
#ifndef GT_CLI_SEARCH_JOB_H
#define GT_CLI_SEARCH_JOB_H

#include "topo/graph/topo.h"

struct gt_assign;
struct gt_buf;
struct gt_cluster;
struct gt_cmd_args;
struct gt_err;
struct gt_job_query;

/* How the report is told. */
struct gt_job_words {
	int json;
	int explain;
	int by_node;       /* how ranks are numbered: node after node in turn */
	int64_t budget_ns; /* of the search; 0: GT_JOB_BUDGET_NS */
};

/* An assignment is looked for no longer than this, unless --budget says. */
#define GT_JOB_BUDGET_NS INT64_C(60000000000)

/*
 * Plan the job of a file for one machine (cluster is NULL) or for a cluster of
 * it, and report.
 */
int gt_search_job(const struct gt_cmd_args *args, const char *job_file,
		  const struct gt_job_words *words, struct gt_topo *topo,
		  const struct gt_cluster *cluster, enum gt_rates rates,
		  struct gt_err *err);

/* job_text.c: print for people what was found. */
int gt_job_print(const struct gt_job_query *query,
		 const struct gt_assign *assign, int explain,
		 struct gt_buf *out, struct gt_err *err);

/* job_json.c: print it as JSON, gtopo-job(5). */
void gt_job_print_json(const struct gt_job_query *query,
		       const struct gt_assign *assign, struct gt_buf *out);

/*
 * job_files.c: GT_EINPUT for what is a file, or has the name of one, where a
 * folder is written.
 */
int gt_job_check_folder(const char *folder, struct gt_err *err);

/*
 * job_files.c: write the report, the plans of groups and the places of ranks
 * into a folder, which is made unless it is there.
 */
int gt_job_write_files(const struct gt_job_query *query,
		       const struct gt_assign *assign, const char *folder,
		       struct gt_err *err);

#endif
