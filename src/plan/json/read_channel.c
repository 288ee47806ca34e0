/* Channels from JSON: what their shape needs, shares, and hops. */
#include "plan/json/read_sections.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "plan/json/reader.h"

static int gt_read_hop(struct gt_plan_reader *reader, const struct gt_json *at,
		       struct gt_plan_hop *hop, struct gt_err *err)
{
	static const char *const keys[] = {
		"from", "to", "transport", "route", "charge", "network", NULL};
	struct gt_json route, network;
	int rc = gt_json_object(at, keys, err), transport = 0;

	if (!rc)
		rc = gt_read_rank(reader, at, "from", &hop->from, err);
	if (!rc)
		rc = gt_read_rank(reader, at, "to", &hop->to, err);
	if (!rc)
		rc = gt_read_word(at, "transport", gt_transport_find,
				  &transport, err);
	hop->transport = (enum gt_transport)transport;
	if (!rc && gt_json_get(at, "network", &network))
		rc = gt_json_bool(&network, &hop->network, err);
	if (!rc)
		rc = gt_json_need(at, "route", &route, err);
	if (!rc)
		rc = gt_read_links(reader, &route, &hop->nroute, &hop->route,
				   err);
	return rc ? rc : gt_read_charge(at, &hop->charge, err);
}

/* Read a hop, or the number of one of the plan's. */
static int gt_read_hop_or_number(struct gt_plan_reader *reader,
				 const struct gt_json *at,
				 struct gt_plan_hop *hop, struct gt_err *err)
{
	const struct gt_plan *plan = reader->plan;
	struct gt_err none;
	uint32_t number;

	gt_err_init(&none);
	if (!plan->ncommon || gt_json_u32(at, UINT32_MAX, &number, &none))
		return gt_read_hop(reader, at, hop, err);
	if (number >= plan->ncommon)
		return gt_json_fault(at, err, "the plan has no hop '%u'",
				     number);
	*hop = plan->common[number];
	hop->common = number + 1;
	return GT_OK;
}

int gt_read_common_hops(struct gt_plan_reader *reader,
			const struct gt_json *root, struct gt_err *err)
{
	struct gt_plan *plan = reader->plan;
	struct gt_json at, item;
	uint32_t n;
	int rc;

	if (!gt_json_get(root, "hops", &at))
		return GT_OK;
	rc = gt_json_array(&at, &n, err);
	if (rc)
		return rc;
	plan->common = gt_read_array(reader, n, sizeof(*plan->common), err);
	if (!plan->common)
		return GT_ESYS;
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_hop(reader, &item, &plan->common[i], err);
	}
	plan->ncommon = n;
	return rc;
}

/* Make the hop that a link called "FROM>TO" stands for. */
static int gt_read_implied_hop(struct gt_plan_reader *reader,
			       const struct gt_json *at,
			       struct gt_plan_hop *hop, struct gt_err *err)
{
	char id[32];

	snprintf(id, sizeof(id), "%" PRIu32 ">%" PRIu32, hop->from, hop->to);
	hop->transport = GT_TRANSPORT_PEER;
	hop->charge = GT_RAT(1, 1);
	hop->nroute = 1;
	hop->route = gt_read_array(reader, 1, sizeof(*hop->route), err);
	if (!hop->route)
		return GT_ESYS;
	return gt_read_link(reader, at, id, hop->route, err);
}

/*
 * A tree that lists no hops has its edges as hops, in the directions in which
 * bytes go.
 */
static int gt_read_implied_hops(struct gt_plan_reader *reader,
				const struct gt_json *at,
				struct gt_plan_channel *channel,
				struct gt_err *err)
{
	enum gt_coll coll = reader->plan->coll;
	uint32_t n = reader->plan->nranks;
	int rc = GT_OK;

	channel->hops =
		gt_read_array(reader, 2 * n, sizeof(*channel->hops), err);
	if (!channel->hops)
		return GT_ESYS;
	for (int up = 0; up < 2; up++)
		for (uint32_t i = 0; i < n && !rc; i++) {
			struct gt_plan_hop *hop =
				&channel->hops[channel->nhops];

			if (channel->parent[i] < 0 ||
			    !(up ? gt_coll_goes_up(coll)
				 : gt_coll_goes_down(coll)))
				continue;
			hop->from = up ? i : (uint32_t)channel->parent[i];
			hop->to = up ? (uint32_t)channel->parent[i] : i;
			channel->nhops++;
			rc = gt_read_implied_hop(reader, at, hop, err);
		}
	return rc;
}

static int gt_read_hops(struct gt_plan_reader *reader,
			const struct gt_json *object,
			struct gt_plan_channel *channel, struct gt_err *err)
{
	struct gt_json at, item;
	uint32_t n;
	int rc;

	if (channel->shape == GT_SHAPE_SWITCH)
		return GT_OK;
	if (!gt_json_get(object, "hops", &at) && !reader->plan->cluster &&
	    channel->shape == GT_SHAPE_TREE)
		return gt_read_implied_hops(reader, object, channel, err);
	rc = gt_json_need(object, "hops", &at, err);
	if (!rc)
		rc = gt_json_array(&at, &n, err);
	if (rc)
		return rc;
	channel->hops = gt_read_array(reader, n, sizeof(*channel->hops), err);
	if (!channel->hops)
		return GT_ESYS;
	channel->nhops = n;
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_hop_or_number(reader, &item, &channel->hops[i],
					   err);
	}
	return rc;
}

static int gt_read_parents(struct gt_plan_reader *reader,
			   const struct gt_json *object,
			   struct gt_plan_channel *channel, struct gt_err *err)
{
	struct gt_json at, item;
	int64_t parent = 0;
	const struct gt_plan_cluster *cluster = reader->plan->cluster;
	uint32_t n, nranks = cluster ? cluster->nlocal : reader->plan->nranks;
	int rc = gt_json_need(object, "parent", &at, err);

	if (!rc)
		rc = gt_json_array(&at, &n, err);
	if (rc)
		return rc;
	if (n != nranks)
		return gt_json_fault(&at, err, "has %u entries for %u ranks", n,
				     nranks);
	channel->parent =
		gt_read_array(reader, n, sizeof(*channel->parent), err);
	if (!channel->parent)
		return GT_ESYS;
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_json_int(&item, -1, (int64_t)n - 1, &parent, err);
		channel->parent[i] = (int32_t)parent;
	}
	return rc;
}

static int gt_read_tree(struct gt_plan_reader *reader,
			const struct gt_json *object,
			struct gt_plan_channel *channel, struct gt_err *err)
{
	int rc = gt_read_rank(reader, object, "root", &channel->root, err);
	struct gt_json second;

	if (!rc && gt_json_get(object, "second", &second))
		rc = gt_json_bool(&second, &channel->second, err);
	return rc ? rc : gt_read_parents(reader, object, channel, err);
}

static int gt_read_order(struct gt_plan_reader *reader,
			 const struct gt_json *object,
			 struct gt_plan_channel *channel, struct gt_err *err)
{
	struct gt_json at;
	int rc = gt_json_need(object, "order", &at, err);

	if (rc)
		return rc;
	return gt_read_numbers(reader, &at, reader->plan->nranks - 1,
			       &channel->norder, &channel->order, err);
}

static int gt_read_chunks(const struct gt_json *object,
			  struct gt_plan_channel *channel, struct gt_err *err)
{
	struct gt_json at;
	int rc = gt_json_need(object, "chunks", &at, err);

	if (!rc)
		rc = gt_json_u32(&at, UINT32_MAX, &channel->nchunks, err);
	if (rc || !gt_json_get(object, "scratch", &at))
		return rc;
	return gt_json_u32(&at, UINT32_MAX, &channel->nscratch, err);
}

/* A path is an array of ranks, or in a cluster a class and hops. */
static int gt_read_path(struct gt_plan_reader *reader, const struct gt_json *at,
			struct gt_plan_path *path, struct gt_err *err)
{
	static const char *const keys[] = {"class", "hops", NULL};
	struct gt_json member;
	int rc;

	if (!reader->plan->cluster)
		return gt_read_numbers(reader, at, reader->plan->nranks - 1,
				       &path->nranks, &path->ranks, err);
	rc = gt_json_object(at, keys, err);
	if (!rc)
		rc = gt_json_need(at, "class", &member, err);
	if (!rc)
		rc = gt_json_u32(&member, UINT16_MAX, &path->class_, err);
	if (!rc)
		rc = gt_json_need(at, "hops", &member, err);
	return rc ? rc
		  : gt_read_numbers(reader, &member, UINT32_MAX - 1,
				    &path->nhops, &path->hops, err);
}

/*
 * Pairs of ranks that are not named go directly; in a cluster all have a path.
 */
static int gt_read_paths(struct gt_plan_reader *reader,
			 const struct gt_json *object,
			 struct gt_plan_channel *channel, struct gt_err *err)
{
	struct gt_json at, item;
	uint32_t n;
	int rc;

	if (!gt_json_get(object, "paths", &at) && !reader->plan->cluster)
		return GT_OK;
	rc = gt_json_need(object, "paths", &at, err);
	if (!rc)
		rc = gt_json_array(&at, &n, err);
	if (rc)
		return rc;
	channel->paths = gt_read_array(reader, n, sizeof(*channel->paths), err);
	if (!channel->paths)
		return GT_ESYS;
	channel->npaths = n;
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_path(reader, &item, &channel->paths[i], err);
	}
	return rc;
}

#define GT_CHANNEL_KEYS(...)                                                   \
	{                                                                      \
		"id", "shape", "share", "gbs", "bw_gbs", "hops", __VA_ARGS__   \
	}

static int gt_read_shape(struct gt_plan_reader *reader,
			 const struct gt_json *object,
			 struct gt_plan_channel *channel, struct gt_err *err)
{
	static const char *const keys[GT_NSHAPES][10] = {
		[GT_SHAPE_RING] = GT_CHANNEL_KEYS("order"),
		[GT_SHAPE_CHAIN] = GT_CHANNEL_KEYS("order"),
		[GT_SHAPE_TREE] = GT_CHANNEL_KEYS("root", "parent", "second"),
		[GT_SHAPE_MESH] = GT_CHANNEL_KEYS(NULL),
		[GT_SHAPE_STEPS] = GT_CHANNEL_KEYS("chunks", "scratch"),
		[GT_SHAPE_FLOW] = GT_CHANNEL_KEYS("paths"),
		[GT_SHAPE_TEMPLATE] = GT_CHANNEL_KEYS("trees", "lag"),
	};
	int shape = 0,
	    rc = gt_read_word(object, "shape", gt_shape_find, &shape, err);

	if (rc)
		return rc;
	channel->shape = (enum gt_shape)shape;
	if (channel->shape == GT_SHAPE_SWITCH)
		return gt_read_vertices(reader, object, channel, err);
	rc = gt_json_object(object, keys[shape], err);
	if (rc)
		return rc;
	switch (channel->shape) {
	case GT_SHAPE_MESH:
		return GT_OK;
	case GT_SHAPE_FLOW:
		return gt_read_paths(reader, object, channel, err);
	case GT_SHAPE_STEPS:
		return gt_read_chunks(object, channel, err);
	case GT_SHAPE_TREE:
		return gt_read_tree(reader, object, channel, err);
	case GT_SHAPE_TEMPLATE:
		return gt_read_templates(reader, object, channel, err);
	default:
		return gt_read_order(reader, object, channel, err);
	}
}

static int gt_read_rates(struct gt_plan_reader *reader,
			 const struct gt_json *object,
			 struct gt_plan_channel *channel, struct gt_err *err)
{
	const struct gt_plan *plan = reader->plan;
	struct gt_json at;
	int rc = gt_json_need(object, "share", &at, err);

	if (!rc)
		rc = gt_json_rat(&at, &channel->share, err);
	if (rc)
		return rc;
	if (gt_json_get(object, "gbs", &at))
		return gt_json_rat(&at, &channel->gbs, err);
	if (!plan->has_proof)
		return gt_json_need(object, "gbs", &at, err);
	if (!gt_rat_mul(channel->share, plan->proof.value, &channel->gbs))
		return gt_json_fault(object, err,
				     "share times value does not fit");
	return GT_OK;
}

static int gt_read_channel(struct gt_plan_reader *reader,
			   const struct gt_json *object, uint32_t i,
			   struct gt_err *err)
{
	struct gt_plan_channel *channel = &reader->plan->channels[i];
	struct gt_json at;
	int rc = gt_read_shape(reader, object, channel, err);

	channel->id = i;
	if (!rc && gt_json_get(object, "id", &at))
		rc = gt_json_u32(&at, UINT32_MAX, &channel->id, err);
	if (!rc)
		rc = gt_read_rates(reader, object, channel, err);
	return rc ? rc : gt_read_hops(reader, object, channel, err);
}

int gt_read_channels(struct gt_plan_reader *reader, const struct gt_json *root,
		     struct gt_err *err)
{
	struct gt_plan *plan = reader->plan;
	struct gt_json at, item;
	int rc = gt_json_need(root, "channels", &at, err);

	if (!rc)
		rc = gt_json_array(&at, &plan->nchannels, err);
	if (rc)
		return rc;
	if (!plan->nchannels)
		return gt_json_fault(&at, err, "there are no channels");
	plan->channels = gt_read_array(reader, plan->nchannels,
				       sizeof(*plan->channels), err);
	if (!plan->channels)
		return GT_ESYS;
	for (uint32_t i = 0; i < plan->nchannels && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_channel(reader, &item, i, err);
	}
	return rc;
}
