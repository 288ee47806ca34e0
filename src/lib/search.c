/* gtopo_search(): a topology or a cluster as text becomes a plan as text. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/word.h"
#include "gtopo.h"
#include "lib/answer.h"
#include "plan/ir/demand.h"
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
	struct gt_arena *arena; /* of the demand */
};

/*
 * Set *found to the first number below n whose name is meant by the text, or
 * leave it where that is NULL.
 */
static int find_word(const char *text, int n, const char *(*name)(int number),
		     int *found)
{
	if (!text)
		return GT_OK;
	for (int i = 0; i < n; i++)
		if (gt_word_is(name(i), text)) {
			*found = i;
			return GT_OK;
		}
	return GT_EINPUT;
}

static const char *algo_name(int algo)
{
	return gt_planner_algo_name((enum gt_planner_algo)algo);
}

static const char *rates_name(int rates)
{
	return gt_rates_name((enum gt_rates)rates);
}

static int find_algo(const char *text, enum gt_planner_algo *algo,
		     struct gt_err *err)
{
	int found = GT_PLANNER_AUTO;

	if (find_word(text, GT_NPLANNER_ALGOS, algo_name, &found))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "algo '%.32s' is not one of auto, ring, "
				  "forest, tree, mesh, flow, alltoall, hier, "
				  "nvls, collnet",
				  text);
	*algo = (enum gt_planner_algo)found;
	return GT_OK;
}

static int find_coll(const char *text, int *coll, struct gt_err *err)
{
	*coll = text ? gt_coll_meant(text) : -1;
	if (!text || *coll >= 0)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "coll '%.32s' is not one of allreduce, allgather, "
			  "reducescatter, broadcast, reduce, alltoall, gather, "
			  "scatter, sendrecv",
			  text);
}

static int find_rates(const char *text, enum gt_rates *rates,
		      struct gt_err *err)
{
	int found = GT_RATES_MEASURED;

	if (find_word(text, GT_RATES_LINE + 1, rates_name, &found))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "rates '%.32s' are not measured, nccl or "
				  "line",
				  text);
	*rates = (enum gt_rates)found;
	return GT_OK;
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

/* What each pair has for each other; too many units are rounded up. */
static int read_demand(struct search *s, struct gt_err *err)
{
	/* It is only read. */
	const struct gt_buf text = {.text = (char *)(uintptr_t)s->config.demand,
				    .len = strlen(s->config.demand)};
	struct gt_plan_demand *demand;
	uint64_t *bytes, unit;
	char words[128];
	int rc = gt_demand_parse("demand", &text, s->arena,
				 &s->request.demand_ranks, &bytes, err);

	if (rc)
		return rc;
	unit = gt_demand_round(s->request.demand_ranks, bytes);
	if (unit > 1) {
		snprintf(words, sizeof(words),
			 "demand: planned for whole multiples of %" PRIu64
			 " bytes, to which it is rounded up",
			 unit);
		gt_answer_warn(s->answer, words);
	}
	rc = gt_demand_new(s->request.demand_ranks, bytes, s->arena, &demand,
			   err);
	if (!rc)
		s->request.demand = demand;
	return rc;
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
	request->trees_per_root = config->trees_per_root;
	request->equal = config->equal;
	request->invariant = config->invariant;
	if (config->budget_ms)
		s->budget.deadline_ns =
			gt_clock_ns() + config->budget_ms * 1000000;
	request->budget = &s->budget;
	request->as_engines = 1;
	return config->demand ? read_demand(s, err) : GT_OK;
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
	if (!rc && gt_planner_result(planner)->unlike)
		gt_answer_warn(s->answer, gt_planner_result(planner)->unlike);
	if (!rc && gt_planner_result(planner)->apart)
		gt_answer_warn(s->answer,
			       "some GPUs have no peer access: planned as if "
			       "none had, since all goes through the host's "
			       "memory then");
	if (!rc)
		rc = gt_plan_print(gt_planner_result(planner)->plan, out, err);
	gt_planner_free(planner);
	return rc;
}

static int search_text(struct search *s, const char *topology,
		       struct gt_buf *out, struct gt_err *err)
{
	int rc;

	s->arena = gt_arena_new();
	rc = s->arena ? make_request(s, err) : gt_err_nomem(err);
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
	gt_arena_free(s->arena);
	return rc;
}

/* Members that the caller's version did not have yet are 0. */
static int complete(const struct gtopo_search_config *given,
		    struct gtopo_search_config *config, struct gt_err *err)
{
	const size_t first = offsetof(struct gtopo_search_config, invariant);

	if (given->size != sizeof(*given) && given->size != first)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the config is not this version's");
	memcpy(config, given, given->size);
	return GT_OK;
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
	else if (config)
		rc = complete(config, &search.config, &err);
	if (!rc)
		rc = search_text(&search, topology, &text, &err);
	return gt_answer_give(&answer, rc, &text, plan, &err);
}
