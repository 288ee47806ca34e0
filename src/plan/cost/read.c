/* The cost model's parameters from a file. */
#include "plan/cost/cost.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"

static int gt_cost_find_hop(const char *name)
{
	for (int i = 0; i < GT_NCOSTHOPS; i++)
		if (!strcmp(gt_cost_hop_name(i), name))
			return i;
	return -1;
}

/*
 * Read a number above 0 if the object has it; *value stays as it is otherwise.
 */
static int gt_cost_number(const struct gt_json *object, const char *key,
			  double *value, struct gt_err *err)
{
	struct gt_json at;
	struct gt_rat rat;
	int rc;

	if (!gt_json_get(object, key, &at))
		return GT_OK;
	rc = gt_json_rat(&at, &rat, err);
	if (!rc && rat.num <= 0)
		rc = gt_json_fault(&at, err, "it has to be above 0");
	if (!rc)
		*value = gt_rat_double(rat);
	return rc;
}

static int gt_cost_read_hops(const struct gt_json *object,
			     struct gt_cost_params *params, struct gt_err *err)
{
	struct gt_json hops, at;
	void *iter;
	int rc;

	if (!gt_json_get(object, "hop_us", &hops))
		return GT_OK;
	rc = gt_json_object(&hops, NULL, err);
	if (rc)
		return rc;
	for (iter = gt_json_next(&hops, NULL, &at); iter && !rc;
	     iter = gt_json_next(&hops, iter, &at)) {
		int hop = gt_cost_find_hop(at.key);

		if (hop < 0)
			rc = gt_json_fault(
				&at, err,
				"'%s' is none of NVL, PCI, SYS, NET, "
				"HOST",
				at.key);
		else
			rc = gt_cost_number(&hops, at.key, &params->hop_us[hop],
					    err);
	}
	return rc;
}

static int gt_cost_read_protocol(const struct gt_json *object,
				 struct gt_cost_params *params,
				 struct gt_err *err)
{
	static const char *const keys[] = {"base_us",
					   "hop_us",
					   "rate",
					   "host_rate",
					   "host_one_way_rate",
					   "worker_gbs",
					   "local_gbs",
					   "host_base_us",
					   NULL};
	int rc = gt_json_object(object, keys, err);

	if (!rc)
		rc = gt_cost_number(object, "base_us", &params->base_us, err);
	if (!rc)
		rc = gt_cost_read_hops(object, params, err);
	if (!rc)
		rc = gt_cost_number(object, "rate", &params->rate, err);
	if (!rc)
		rc = gt_cost_number(object, "host_rate", &params->host_rate,
				    err);
	if (!rc)
		rc = gt_cost_number(object, "host_base_us",
				    &params->host_base_us, err);
	if (!rc)
		rc = gt_cost_number(object, "host_one_way_rate",
				    &params->host_one_way_rate, err);
	if (!rc)
		rc = gt_cost_number(object, "worker_gbs", &params->worker_gbs,
				    err);
	if (!rc)
		rc = gt_cost_number(object, "local_gbs", &params->local_gbs,
				    err);
	return rc;
}

static int gt_cost_read_all(const struct gt_json *root,
			    struct gt_cost_model *model, struct gt_err *err)
{
	static const char *const keys[] = {"schema", "protocols", "rows",
					   "residual", NULL};
	struct gt_json at, protocols;
	const char *schema;
	void *iter;
	int rc = gt_json_object(root, keys, err);

	if (!rc)
		rc = gt_json_need(root, "schema", &at, err);
	if (!rc)
		rc = gt_json_text(&at, &schema, err);
	if (!rc && strcmp(schema, "gtopo.cost/1"))
		rc = gt_json_fault(&at, err, "'%s' is not 'gtopo.cost/1'",
				   schema);
	if (!rc)
		rc = gt_json_need(root, "protocols", &protocols, err);
	if (!rc)
		rc = gt_json_object(&protocols, NULL, err);
	if (rc)
		return rc;
	for (iter = gt_json_next(&protocols, NULL, &at); iter && !rc;
	     iter = gt_json_next(&protocols, iter, &at)) {
		int protocol = gt_protocol_find(at.key);
		struct gt_cost_params params;

		if (protocol < 0)
			return gt_json_fault(&at, err,
					     "'%s' is not a known protocol",
					     at.key);
		params = gt_cost_get(model, protocol);
		rc = gt_cost_read_protocol(&at, &params, err);
		gt_cost_set(model, protocol, &params);
	}
	return rc;
}

int gt_cost_read(const char *path, struct gt_cost_model *model,
		 struct gt_err *err)
{
	struct gt_json_doc *doc;
	struct gt_json root;
	int rc = gt_json_open(path, &doc, err);

	if (rc)
		return rc;
	root = gt_json_root(doc);
	rc = gt_cost_read_all(&root, model, err);
	gt_json_close(doc);
	return rc;
}
