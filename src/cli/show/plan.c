/* Turns the hops of a plan's channels into arrows of a drawing. */
#include "cli/show/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "topo/view/dot.h"
#include "topo/graph/topo.h"

/* Find the GPU of every rank, as a node of the topology. */
static int gt_show_plan_ranks(const struct gt_plan *plan,
			      const struct gt_topo *topo, uint32_t *gpus,
			      struct gt_err *err)
{
	for (uint32_t rank = 0; rank < plan->nranks; rank++) {
		const char *device = plan->ranks[rank].device;

		gpus[rank] = GT_NONE;
		for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
			uint32_t gpu = gt_topo_gpu(topo, i);

			if (!strcmp(gt_topo_node(topo, gpu)->bus_id, device))
				gpus[rank] = gpu;
		}
		if (gpus[rank] == GT_NONE)
			return gt_err_set(err, GT_EINPUT, plan->file,
					  "the GPU '%s' of rank %u is not in "
					  "'%s'",
					  device, rank, gt_topo_source(topo));
	}
	return GT_OK;
}

/* A hop as a number, so that those of two channels are compared as sets. */
static uint64_t hop_key(const struct gt_plan_hop *hop)
{
	return (uint64_t)hop->from << 33 | (uint64_t)hop->to << 1 |
	       (hop->network != 0);
}

static int compare_keys(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The hops of a channel, each once and sorted. */
struct hop_set {
	uint64_t *keys;
	uint32_t n;
};

static int make_set(const struct gt_plan_channel *channel,
		    struct gt_arena *arena, struct hop_set *set)
{
	uint32_t n = 0;

	set->keys = gt_arena_array(arena, channel->nhops, sizeof(*set->keys));
	if (!set->keys)
		return 0;
	for (uint32_t i = 0; i < channel->nhops; i++)
		set->keys[i] = hop_key(&channel->hops[i]);
	if (channel->nhops)
		qsort(set->keys, channel->nhops, sizeof(*set->keys),
		      compare_keys);
	for (uint32_t i = 0; i < channel->nhops; i++)
		if (!n || set->keys[n - 1] != set->keys[i])
			set->keys[n++] = set->keys[i];
	set->n = n;
	return 1;
}

static int is_same_set(const struct hop_set *a, const struct hop_set *b)
{
	return a->n == b->n &&
	       (!a->n || !memcmp(a->keys, b->keys, a->n * sizeof(*a->keys)));
}

/* Channels that look the same are one lane; `lane` says which, by channel. */
struct lanes {
	const struct gt_plan *plan;
	struct hop_set *sets;
	uint32_t *lane;
	uint32_t n;
};

static int make_lanes(const struct gt_plan *plan, struct gt_arena *arena,
		      struct lanes *lanes)
{
	uint32_t n = plan->nchannels, k;

	lanes->plan = plan;
	lanes->sets = gt_arena_array(arena, n, sizeof(*lanes->sets));
	lanes->lane = gt_arena_array(arena, n, sizeof(*lanes->lane));
	if (!lanes->sets || !lanes->lane)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct gt_plan_channel *channel = &plan->channels[i];

		if (!make_set(channel, arena, &lanes->sets[i]))
			return 0;
		for (k = 0; k < i; k++)
			if (plan->channels[k].shape == channel->shape &&
			    plan->channels[k].root == channel->root &&
			    is_same_set(&lanes->sets[k], &lanes->sets[i]))
				break;
		lanes->lane[i] = k < i ? lanes->lane[k] : lanes->n++;
	}
	return 1;
}

/* A template holds a tree for each of a node's ranks. */
static const char *shape_words(enum gt_shape shape)
{
	return shape == GT_SHAPE_TEMPLATE ? "a tree for each GPU"
					  : gt_shape_name(shape);
}

/*
 * Names a lane after its channels: "channel 3", "channels 0-15" or "8
 * channels", what they are, and what each is worth, or all of them.
 */
static const char *name_lane(const struct lanes *lanes, uint32_t lane,
			     struct gt_arena *arena)
{
	const struct gt_plan *plan = lanes->plan;
	uint32_t first = GT_NONE, last = 0, n = 0;
	double sum = 0, one = 0, least = 0;
	char ids[64];

	for (uint32_t i = 0; i < plan->nchannels; i++) {
		if (lanes->lane[i] != lane)
			continue;
		first = first == GT_NONE ? i : first;
		last = i;
		one = gt_plan_channel_busbw(plan, i);
		least = !n || one < least ? one : least;
		sum += one;
		n++;
	}
	if (n == 1)
		snprintf(ids, sizeof(ids), "channel %u",
			 plan->channels[first].id);
	else if (last - first + 1 == n)
		snprintf(ids, sizeof(ids), "channels %u-%u",
			 plan->channels[first].id, plan->channels[last].id);
	else
		snprintf(ids, sizeof(ids), "%u channels", n);
	if (n > 1 && sum <= least * n * 1.000001)
		return gt_arena_printf(arena, "%s\n%s\n%u x %.4g GB/s", ids,
				       shape_words(plan->channels[first].shape),
				       n, one);
	return gt_arena_printf(arena, "%s\n%s\n%.4g GB/s", ids,
			       shape_words(plan->channels[first].shape), sum);
}

static int gt_show_plan_arrows(const struct lanes *lanes, const uint32_t *gpus,
			       struct gt_arena *arena,
			       struct gt_dot_overlay *overlay)
{
	const struct gt_plan *plan = lanes->plan;
	struct gt_dot_group *groups =
		gt_arena_array(arena, lanes->n, sizeof(*groups));
	struct gt_dot_arrow *arrows;
	uint32_t n = 0, done = 0;

	for (uint32_t i = 0; i < plan->nchannels; i++)
		n += lanes->sets[i].n;
	arrows = gt_arena_array(arena, n, sizeof(*arrows));
	if (!groups || !arrows)
		return 0;
	n = 0;
	for (uint32_t i = 0; i < plan->nchannels; i++) {
		const struct gt_plan_channel *channel = &plan->channels[i];
		const struct hop_set *set = &lanes->sets[i];

		if (lanes->lane[i] != done)
			continue;
		groups[done].name = name_lane(lanes, done, arena);
		groups[done].root = channel->shape == GT_SHAPE_TREE
					    ? gpus[channel->root]
					    : GT_NONE;
		if (!groups[done].name)
			return 0;
		for (uint32_t hop = 0; hop < set->n; hop++)
			arrows[n++] = (struct gt_dot_arrow){
				.from = gpus[set->keys[hop] >> 33],
				.to = gpus[(uint32_t)(set->keys[hop] >> 1)],
				.group = done,
				.network = set->keys[hop] & 1};
		done++;
	}
	*overlay = (struct gt_dot_overlay){.arrows = arrows,
					   .narrows = n,
					   .groups = groups,
					   .ngroups = lanes->n};
	return 1;
}

int gt_show_plan_overlay(const char *path, const struct gt_topo *topo,
			 struct gt_arena *arena, struct gt_dot_overlay *overlay,
			 struct gt_err *err)
{
	struct lanes lanes = {.n = 0};
	struct gt_plan *plan;
	uint32_t *gpus;
	int rc = gt_plan_read(path, &plan, err);

	if (rc)
		return rc;
	gpus = gt_arena_array(arena, plan->nranks, sizeof(*gpus));
	rc = gpus ? gt_plan_need_even(plan, "gtopo show", err)
		  : gt_err_nomem(err);
	if (!rc)
		rc = gt_show_plan_ranks(plan, topo, gpus, err);
	if (!rc && (!make_lanes(plan, arena, &lanes) ||
		    !gt_show_plan_arrows(&lanes, gpus, arena, overlay)))
		rc = gt_err_nomem(err);
	gt_plan_free(plan);
	return rc;
}

/* Writes the links that the lane's channels use; some are there twice. */
static void put_lane(const struct lanes *lanes, uint32_t lane,
		     struct gt_json_writer *json)
{
	const struct gt_plan *plan = lanes->plan;

	gt_json_open_array(json, NULL, GT_JSON_FLAT);
	for (uint32_t i = 0; i < plan->nchannels; i++) {
		const struct gt_plan_channel *channel = &plan->channels[i];

		/* Of channels that look the same one stands for all. */
		if (lanes->lane[i] != lane)
			continue;
		for (uint32_t hop = 0; hop < channel->nhops; hop++)
			for (uint32_t k = 0; k < channel->hops[hop].nroute; k++)
				gt_json_put_text(
					json, NULL,
					plan->links[channel->hops[hop].route[k]]
						.id);
		break;
	}
	gt_json_end(json);
}

int gt_show_plan_lanes(const char *path, struct gt_arena *arena,
		       struct gt_buf *out, struct gt_err *err)
{
	struct lanes lanes = {.n = 0};
	struct gt_json_writer json;
	struct gt_plan *plan;
	int rc = gt_plan_read(path, &plan, err);

	if (rc)
		return rc;
	if (!make_lanes(plan, arena, &lanes))
		rc = gt_err_nomem(err);
	gt_json_begin(&json, out);
	gt_json_open_array(&json, NULL, GT_JSON_FLAT);
	for (uint32_t lane = 0; lane < lanes.n && !rc; lane++)
		put_lane(&lanes, lane, &json);
	gt_json_end(&json);
	gt_plan_free(plan);
	return rc;
}
