/*
 * Parameters of the cost model as JSON, as bench/fit prints them:
 *
 *	{"schema": "gtopo.cost/1",
 *	 "protocols": {"simple": {"base_us": "4.1", "hop_us": {"NVL": "3.9"},
 *	                          "rate": "0.98", "worker_gbs": "12",
 *	                          "local_gbs": "3900"}}}
 *
 * Whatever is missing keeps its value.
 */
#ifndef GT_PLAN_COST_READ_H
#define GT_PLAN_COST_READ_H

struct gt_cost_model;
struct gt_err;

/*
 * Read the file into the model.  GT_EINPUT, with file and JSON path, when it is
 * not of this form.
 */
int gt_cost_read(const char *path, struct gt_cost_model *model,
		 struct gt_err *err);

#endif
