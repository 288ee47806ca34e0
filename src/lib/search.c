/* gtopo_search(): a topology or a cluster as text becomes a plan as text. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "gtopo.h"
#include "lib/answer.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "search/planner/planner.h"
#include "search/planner/request.h"
#include "search/problem/budget.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/edit.h"

/* What is searched, from the caller's text and options. */
struct search {
	const struct gt_answer *answer;
	struct gtopo_search_config config;
	struct gt_budget budget;
	struct gt_planner_request request;
	/* One of these is NULL; `copies` is made of the machine, or NULL. */
	struct gt_topo *topo;
	struct gt_cluster *cluster, *copies;
};

static int find_algo(const char *name, enum gt_planner_algo *algo,
		     struct gt_err *err)
{
	for (int i = 0; i < GT_NPLANNER_ALGOS; i++)
		if (!name || !strcmp(name, gt_planner_algo_name(
						   (enum gt_planner_algo)i))) {
			*algo = (enum gt_planner_algo)i;
			return GT_OK;
		}
	return gt_err_set(
		err, GT_EINPUT, NULL,
		"algo '%.32s' is not one of auto, ring, forest, tree, "
		"mesh, flow, alltoall, hier",
		name);
}

static int find_coll(const char *name, int *coll, struct gt_err *err)
{
	*coll = name ? gt_coll_find(name) : -1;
	if (!name || *coll >= 0)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "coll '%.32s' is not one of allreduce, allgather, "
			  "reducescatter, broadcast, reduce, alltoall, gather, "
			  "scatter, sendrecv",
			  name);
}

static int find_rates(const char *name, enum gt_rates *rates,
		      struct gt_err *err)
{
	for (int i = GT_RATES_MEASURED; i <= GT_RATES_LINE; i++)
		if (!name || !strcmp(name, gt_rates_name((enum gt_rates)i))) {
			*rates = (enum gt_rates)i;
			return GT_OK;
		}
	return gt_err_set(err, GT_EINPUT, NULL,
			  "rates '%.32s' are not measured, nccl or line", name);
}

static int check_numbers(const struct gtopo_search_config *config,
			 struct gt_err *err)
{
	if (config->root < 0)
		return gt_err_set(err, GT_EINPUT, NULL, "root '%d' is no rank",
				  config->root);
	if (config->budget_ms < 0 || config->budget_ms > INT64_MAX / 2000000)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "budget_ms '%" PRId64
				  "' is no time to search",
				  config->budget_ms);
	if (config->nodes > GT_CLUSTER_MAX_NODES)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "nodes '%u' are more than %d", config->nodes,
				  GT_CLUSTER_MAX_NODES);
	return GT_OK;
}

/* Make the planner's request of the caller's config. */
static int make_request(struct search *s, struct gt_err *err)
{
	const struct gtopo_search_config *config = &s->config;
	struct gt_planner_request *request = &s->request;
	int rc = find_algo(config->algo, &request->algo, err);

	if (!rc)
		rc = find_coll(config->coll, &request->coll, err);
	if (!rc)
		rc = find_rates(config->rates, &request->rates, err);
	if (!rc)
		rc = check_numbers(config, err);
	if (rc)
		return rc;
	request->gpus = config->gpus;
	request->root = (uint32_t)config->root;
	request->max_channels = config->max_channels;
	request->equal = config->equal;
	if (config->budget_ms)
		s->budget.deadline_ns =
			gt_clock_ns() + config->budget_ms * 1000000;
	request->budget = &s->budget;
	return GT_OK;
}

/* Leave out what the config excludes; make copies of one machine. */
static int prepare(struct search *s, struct gt_err *err)
{
	const struct gtopo_search_config *config = &s->config;
	int rc;

	if (s->cluster)
		return config->nodes || config->links_out || config->devices_out
			       ? gt_err_set(err, GT_EINPUT, NULL,
					    "nodes, links_out and devices_out "
					    "are for one machine, not for a "
					    "cluster")
			       : GT_OK;
	for (uint32_t i = 0; i < gt_topo_nwarnings(s->topo); i++)
		gt_answer_warn(s->answer, gt_topo_warning(s->topo, i));
	rc = gt_topo_exclude_links(s->topo, config->links_out, err);
	if (!rc)
		rc = gt_topo_exclude_devices(s->topo, config->devices_out, err);
	if (!rc && config->nodes > 1)
		rc = gt_cluster_copies(s->topo, config->nodes, NULL, &s->copies,
				       err);
	return rc;
}

static int search_prepared(struct search *s, struct gt_buf *out,
			   struct gt_err *err)
{
	const struct gt_cluster *cluster = s->copies ? s->copies : s->cluster;
	struct gt_planner *planner = NULL;
	int rc = cluster ? gt_planner_cluster(&s->request, cluster, &planner,
					      err)
			 : gt_planner_machine(&s->request, s->topo, &planner,
					      err);

	if (!rc && gt_planner_result(planner)->homogenized)
		gt_answer_warn(s->answer,
			       "nodes or switches are not all alike: planned "
			       "with what all have");
	if (!rc)
		rc = gt_plan_print(gt_planner_result(planner)->plan, out, err);
	gt_planner_free(planner);
	return rc;
}

static int search_text(struct search *s, const char *topology,
		       struct gt_buf *out, struct gt_err *err)
{
	int rc = make_request(s, err);

	if (!rc)
		rc = gt_cluster_parse("topology", topology, strlen(topology),
				      s->request.rates, &s->cluster, &s->topo,
				      err);
	if (!rc)
		rc = prepare(s, err);
	if (!rc)
		rc = search_prepared(s, out, err);
	gt_cluster_free(s->copies);
	gt_cluster_free(s->cluster);
	gt_topo_free(s->topo);
	return rc;
}

int gtopo_search(const char *topology, const struct gtopo_search_config *config,
		 char **plan, char *message, size_t size)
{
	const struct gt_answer answer = {message, size};
	struct search search = {.answer = &answer,
				.config = GTOPO_SEARCH_CONFIG_INIT};
	struct gt_buf text = GT_BUF_INIT;
	struct gt_err err;
	int rc = GT_OK;

	gt_err_init(&err);
	gt_answer_init(&answer);
	if (!topology || !plan)
		rc = gt_err_set(&err, GT_EINPUT, NULL, "there is no %s",
				plan ? "topology" : "place for the plan");
	else if (config && config->size != sizeof(*config))
		rc = gt_err_set(&err, GT_EINPUT, NULL,
				"the config is not this version's");
	else if (config)
		search.config = *config;
	if (!rc)
		rc = search_text(&search, topology, &text, &err);
	return gt_answer_give(&answer, rc, &text, plan, &err);
}
