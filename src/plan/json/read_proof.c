/* The proof from JSON: what it claims, and its certificate. */
#include "plan/json/read_sections.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "plan/json/reader.h"

static int gt_read_member_rat(const struct gt_json *object, const char *key,
			      struct gt_rat *rat, struct gt_err *err)
{
	struct gt_json at;
	int rc = gt_json_need(object, key, &at, err);

	return rc ? rc : gt_json_rat(&at, rat, err);
}

/*
 * An object whose keys are links, or uplinks of a cluster, and whose values are
 * prices.
 */
static int gt_read_price_list(struct gt_plan_reader *reader,
			      const struct gt_json *at,
			      struct gt_plan_prices *prices, struct gt_err *err)
{
	const struct gt_plan *plan = reader->plan;
	struct gt_json member;
	void *iter = NULL;
	uint32_t named = 0;
	int rc = gt_json_object(at, NULL, err);

	if (rc)
		return rc;
	while ((iter = gt_json_next(at, iter, &member)))
		named++;
	prices->list = gt_read_array(reader, named, sizeof(*prices->list), err);
	if (!prices->list)
		return GT_ESYS;
	while (!rc && (iter = gt_json_next(at, iter, &member))) {
		struct gt_plan_price *price = &prices->list[prices->n];

		if (!gt_read_uplink(plan, member.key, &price->link))
			rc = gt_read_link(reader, &member, member.key,
					  &price->link, err);
		if (rc)
			return rc;
		rc = gt_json_rat(&member, &price->price, err);
		prices->n++;
	}
	return rc;
}

static int gt_read_prices(struct gt_plan_reader *reader,
			  const struct gt_json *certificate, struct gt_err *err)
{
	struct gt_plan_proof *proof = &reader->plan->proof;
	struct gt_plan_prices prices = {0};
	struct gt_json at;
	int rc = GT_OK;

	if (gt_json_get(certificate, "prices", &at))
		rc = gt_read_price_list(reader, &at, &prices, err);
	proof->nprices = prices.n;
	proof->prices = prices.list;
	return rc;
}

/* There is one list for each number of rings; an empty one says nothing. */
static int gt_read_equal(struct gt_plan_reader *reader,
			 const struct gt_json *certificate, struct gt_err *err)
{
	struct gt_plan_proof *proof = &reader->plan->proof;
	struct gt_json at, item;
	int rc;

	if (!gt_json_get(certificate, "equal", &at))
		return GT_OK;
	if (reader->plan->cluster)
		return gt_json_fault(&at, err, "is for one machine");
	rc = gt_json_array(&at, &proof->nequal, err);
	if (rc)
		return rc;
	proof->equal = gt_read_array(reader, proof->nequal,
				     sizeof(*proof->equal), err);
	if (!proof->equal)
		return GT_ESYS;
	for (uint32_t i = 0; i < proof->nequal && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_price_list(reader, &item, &proof->equal[i], err);
	}
	return rc;
}

/*
 * An end of a route: a rank, or in a cluster one of a node's ranks or ports,
 * under either of two keys.
 */
static int gt_read_end(struct gt_plan_reader *reader, const struct gt_json *at,
		       const char *const keys[2], uint32_t *end,
		       struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = reader->plan->cluster;
	struct gt_json port;
	int rc;

	if (!cluster || !gt_json_get(at, keys[1], &port)) {
		rc = gt_read_rank(reader, at, keys[0], end, err);
		if (!rc && cluster && *end >= cluster->nlocal)
			rc = gt_json_fault(at, err, "'%u' is no rank of a node",
					   *end);
		return rc;
	}
	if (!cluster->nports)
		return gt_json_fault(&port, err, "there are no ports");
	rc = gt_json_u32(&port, cluster->nports - 1, end, err);
	*end += cluster->nlocal;
	return rc;
}

static int gt_read_route(struct gt_plan_reader *reader,
			 const struct gt_json *at, struct gt_plan_route *route,
			 struct gt_err *err)
{
	static const char *const from[] = {"from", "from_port"};
	static const char *const to[] = {"to", "to_port"};
	static const char *const keys[] = {"from",    "from_port", "to",
					   "to_port", "route",     "charge",
					   "staged",  NULL};
	struct gt_json links, staged;
	int rc = gt_json_object(at, keys, err);

	if (!rc)
		rc = gt_read_end(reader, at, from, &route->from, err);
	if (!rc)
		rc = gt_read_end(reader, at, to, &route->to, err);
	if (!rc)
		rc = gt_json_need(at, "route", &links, err);
	if (!rc)
		rc = gt_read_links(reader, &links, &route->nlinks,
				   &route->links, err);
	if (!rc && gt_json_get(at, "staged", &staged))
		rc = gt_json_bool(&staged, &route->is_staged, err);
	return rc ? rc : gt_read_charge(at, &route->charge, err);
}

static int gt_read_routes(struct gt_plan_reader *reader,
			  const struct gt_json *certificate, struct gt_err *err)
{
	struct gt_plan_proof *proof = &reader->plan->proof;
	struct gt_json at, item;
	int rc;

	if (!gt_json_get(certificate, "routes", &at))
		return GT_OK;
	rc = gt_json_array(&at, &proof->nroutes, err);
	if (rc)
		return rc;
	proof->routes = gt_read_array(reader, proof->nroutes,
				      sizeof(*proof->routes), err);
	if (!proof->routes)
		return GT_ESYS;
	for (uint32_t i = 0; i < proof->nroutes && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_route(reader, &item, &proof->routes[i], err);
	}
	return rc;
}

static int gt_read_part(struct gt_plan_reader *reader, const struct gt_json *at,
			const char *ranks, struct gt_plan_part *part,
			struct gt_err *err)
{
	const char *const keys[] = {ranks, "links", NULL};
	struct gt_json member;
	int rc = gt_json_object(at, keys, err);

	if (!rc)
		rc = gt_json_need(at, ranks, &member, err);
	if (!rc)
		rc = gt_read_numbers(reader, &member, reader->plan->nranks - 1,
				     &part->nranks, &part->ranks, err);
	if (!rc)
		rc = gt_json_need(at, "links", &member, err);
	if (!rc)
		rc = gt_read_links(reader, &member, &part->nlinks, &part->links,
				   err);
	return rc;
}

/* A "cut" of "inside" and "links" is a short way to write a single part. */
static int gt_read_parts(struct gt_plan_reader *reader,
			 const struct gt_json *certificate, struct gt_err *err)
{
	struct gt_plan_proof *proof = &reader->plan->proof;
	struct gt_json at, item;
	int cut = gt_json_get(certificate, "cut", &at), rc = GT_OK;

	if (cut && gt_json_get(certificate, "parts", &item))
		return gt_json_fault(&at, err, "stands beside 'parts'");
	if (!cut && !gt_json_get(certificate, "parts", &at))
		return GT_OK;
	proof->nparts = 1;
	if (!cut)
		rc = gt_json_array(&at, &proof->nparts, err);
	if (rc)
		return rc;
	proof->parts = gt_read_array(reader, proof->nparts,
				     sizeof(*proof->parts), err);
	if (!proof->parts)
		return GT_ESYS;
	if (cut)
		return gt_read_part(reader, &at, "inside", proof->parts, err);
	for (uint32_t i = 0; i < proof->nparts && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_part(reader, &item, "ranks", &proof->parts[i],
				  err);
	}
	return rc;
}

static int gt_read_certificate(struct gt_plan_reader *reader,
			       const struct gt_json *object, struct gt_err *err)
{
	static const char *const keys[] = {
		"prices", "channel_price", "routes", "parts",  "cut",
		"sets",   "unused",        "equal",  "relays", NULL};
	struct gt_json at, price, relays;
	int rc;

	if (!gt_json_get(object, "certificate", &at))
		return GT_OK;
	rc = gt_json_object(&at, keys, err);
	if (!rc)
		rc = gt_read_prices(reader, &at, err);
	if (!rc && gt_json_get(&at, "channel_price", &price))
		rc = gt_json_rat(&price, &reader->plan->proof.channel_price,
				 err);
	if (!rc && gt_json_get(&at, "relays", &relays))
		rc = gt_json_bool(&relays, &reader->plan->proof.relays, err);
	if (!rc)
		rc = gt_read_routes(reader, &at, err);
	if (!rc)
		rc = gt_read_equal(reader, &at, err);
	if (!rc)
		rc = gt_read_sets(reader, &at, err);
	return rc ? rc : gt_read_parts(reader, &at, err);
}

static int gt_read_claims(struct gt_plan_proof *proof,
			  const struct gt_json *object, struct gt_err *err)
{
	struct gt_json at;
	int rc = gt_read_member_rat(object, "value", &proof->value, err);

	if (!rc)
		rc = gt_read_member_rat(object, "bound", &proof->bound, err);
	if (!rc)
		rc = gt_json_need(object, "optimal", &at, err);
	if (!rc)
		rc = gt_json_bool(&at, &proof->optimal, err);
	proof->has_busbw = gt_json_get(object, "busbw_gbs", &at);
	if (!rc && proof->has_busbw)
		rc = gt_json_double(&at, &proof->busbw_gbs, err);
	proof->has_gap = gt_json_get(object, "gap", &at);
	if (!rc && proof->has_gap)
		rc = gt_json_double(&at, &proof->gap, err);
	if (!rc && gt_json_get(object, "max_channels", &at))
		rc = gt_json_u32(&at, UINT32_MAX, &proof->max_channels, err);
	if (rc || !gt_json_get(object, "any_bound", &at))
		return rc;
	proof->has_any_bound = 1;
	return gt_json_rat(&at, &proof->any_bound, err);
}

int gt_read_proof(struct gt_plan_reader *reader, const struct gt_json *root,
		  struct gt_err *err)
{
	static const char *const keys[] = {
		"class",     "algbw_gbs",   "busbw_gbs", "value",
		"bound",     "optimal",     "gap",       "max_channels",
		"any_bound", "certificate", NULL};
	struct gt_plan_proof *proof = &reader->plan->proof;
	struct gt_json at;
	int rc, class_ = 0;

	if (!gt_json_get(root, "proof", &at))
		return GT_OK;
	reader->plan->has_proof = 1;
	proof->channel_price = GT_RAT(0, 1);
	rc = gt_json_object(&at, keys, err);
	if (!rc)
		rc = gt_read_word(&at, "class", gt_proof_find, &class_, err);
	proof->class_ = (enum gt_proof_class)class_;
	if (!rc)
		rc = gt_read_claims(proof, &at, err);
	return rc ? rc : gt_read_certificate(reader, &at, err);
}
