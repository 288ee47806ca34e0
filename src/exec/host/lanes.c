/*
 * From a request to lanes: each rank's programs, the FIFOs that connect them,
 * slots, scratch and layouts.
 */
#include "exec/host/host.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/must.h"
#include "plan/lower/layout.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"
#include "world/world.h"

enum {
	/*
	 * The size that is taken if it is free: a slice and its copy stay in a
	 * core's own cache.
	 */
	GT_HOST_SLICE_BYTES = 128 << 10,
	/*
	 * The size over a network, where both sides wait for each other once a
	 * slice.
	 */
	GT_HOST_WIRE_SLICE_BYTES = 256 << 10,
	GT_HOST_SLICE_LEAST_BYTES = 4 << 10,
	GT_HOST_FIFO_MOST_BYTES = 256 << 20,
};

void gt_host_lanes_free(struct gt_engine *engine)
{
	gt_process_group_forget(&engine->group);
	gt_arena_free(engine->arena);
	free(engine->fifos);
	free(engine->slots);
	free(engine->scratch);
	engine->arena = NULL;
	engine->fifos = NULL;
	engine->slots = NULL;
	engine->scratch = NULL;
	engine->scratch_bytes = 0;
	engine->spans = NULL;
	engine->row = NULL;
}

static int gt_lane_init(struct gt_engine *engine, struct gt_host_lane *lane,
			const struct gt_program *program, struct gt_err *err)
{
	lane->program = program;
	lane->ends = gt_arena_array(engine->arena, program->nconns + 1,
				    sizeof(*lane->ends));
	return lane->ends ? GT_OK : gt_err_nomem(err);
}

/* Make a rank's lanes of one channel, for all workers. */
static int gt_lanes_lower(struct gt_engine *engine, struct gt_host_rank *rank,
			  uint32_t i, struct gt_err *err)
{
	struct gt_lower_query want = {.use = engine->use,
				      .rank = rank->rank,
				      .channel = engine->row->channels[i]};
	uint32_t n = engine->nprograms, workers = engine->workers;
	struct gt_host_lane *lanes = &rank->lanes[(size_t)i * workers * n];
	struct gt_program *programs =
		gt_arena_array(engine->arena, n, sizeof(*programs));
	int rc = GT_OK;

	if (!programs)
		return gt_err_nomem(err);
	for (uint32_t p = 0; !rc && p < n; p++) {
		want.lane = p;
		rc = gt_lower(engine->config.plan, &want, engine->arena,
			      &programs[p], err);
		for (uint32_t w = 0; !rc && w < workers; w++) {
			lanes[w * n + p].worker = w;
			rc = gt_lane_init(engine, &lanes[w * n + p],
					  &programs[p], err);
		}
	}
	return rc;
}

/* Count the FIFOs that have memory in this process. */
static uint64_t gt_lanes_count_fifos(const struct gt_engine *engine)
{
	const struct gt_program *program;
	uint64_t n = 0;

	for (uint32_t r = engine->first; r < engine->end; r++)
		for (uint32_t l = 0; l < engine->nlanes; l++) {
			program = engine->ranks[r].lanes[l].program;
			for (uint32_t k = 0; k < program->nconns; k++)
				n += program->conns[k].sends ||
				     !gt_host_is_local(engine,
						       program->conns[k].peer);
		}
	return n;
}

/* The bytes of a slot; slots start on cache lines. */
static uint64_t gt_slot_bytes(uint32_t slice_bytes)
{
	return gt_cache_lines_bytes(slice_bytes);
}

static uint32_t gt_lanes_slots(const struct gt_engine *engine)
{
	if (engine->config.slots)
		return engine->config.slots;
	return engine->row->slots ? engine->row->slots
				  : engine->config.plan->fifo_slots;
}

/*
 * The size of a slice: as it is asked for, else as large as the plan and the
 * memory for FIFOs allow.
 */
static uint32_t gt_lanes_slice_bytes(const struct gt_engine *engine,
				     uint64_t nfifos)
{
	uint32_t slice = engine->row->slice_bytes
				 ? engine->row->slice_bytes
				 : engine->config.plan->fifo_slice_bytes;
	uint32_t most = gt_process_group_has_wires(&engine->group)
				? GT_HOST_WIRE_SLICE_BYTES
				: GT_HOST_SLICE_BYTES;
	uint64_t slots = nfifos * gt_lanes_slots(engine);

	if (engine->config.slice_bytes)
		return engine->config.slice_bytes;
	if (slice > most)
		slice = most;
	while (slice > GT_HOST_SLICE_LEAST_BYTES &&
	       slots * gt_slot_bytes(slice) > GT_HOST_FIFO_MOST_BYTES)
		slice /= 2;
	return slice;
}

/*
 * The other rank's end of rank r's sending connection `conn`, in any program of
 * the same channel and worker, or NULL.
 */
static struct gt_fifo_end *gt_lane_other_end(const struct gt_engine *engine,
					     uint32_t r, uint32_t l,
					     const struct gt_conn *conn)
{
	uint32_t n = engine->nprograms, first = l - l % n;

	for (uint32_t p = first; p < first + n; p++) {
		const struct gt_host_lane *lane =
			&engine->ranks[conn->peer].lanes[p];
		const struct gt_conn *other = lane->program->conns;

		for (uint32_t k = 0; k < lane->program->nconns; k++)
			if (!other[k].sends && other[k].peer == r &&
			    other[k].tag == conn->tag && !lane->ends[k].fifo)
				return &lane->ends[k];
	}
	return NULL;
}

/* Note a connection to or from another process, which a link will make. */
static int gt_lane_connect_far(struct gt_engine *engine, uint32_t r, uint32_t l,
			       uint32_t k, struct gt_err *err)
{
	struct gt_host_lane *lane = &engine->ranks[r].lanes[l];
	const struct gt_conn *conn = &lane->program->conns[k];
	struct gt_link_conn far = {
		.from = conn->sends ? r : conn->peer,
		.to = conn->sends ? conn->peer : r,
		/* Programs of one channel and worker are connected. */
		.lane = l / engine->nprograms,
		.tag = conn->tag,
		.sends = conn->sends,
		.end = &lane->ends[k],
	};

	return gt_process_group_add(&engine->group, &far, conn->peer, err);
}

/* Make the FIFOs of all connections by which rank r sends on lane l. */
static int gt_lane_connect(struct gt_engine *engine, uint32_t r, uint32_t l,
			   uint64_t *at, struct gt_err *err)
{
	struct gt_host_lane *lane = &engine->ranks[r].lanes[l];
	uint64_t slot_bytes = gt_slot_bytes(engine->slice_bytes);
	uint32_t nslots = gt_lanes_slots(engine);
	const struct gt_conn *conn;
	struct gt_fifo_end *other;
	struct gt_fifo *fifo;
	int rc;

	for (uint32_t k = 0; k < lane->program->nconns; k++) {
		conn = &lane->program->conns[k];
		if (!gt_host_is_local(engine, conn->peer)) {
			rc = gt_lane_connect_far(engine, r, l, k, err);
			if (rc)
				return rc;
			continue;
		}
		if (!conn->sends)
			continue;
		other = gt_lane_other_end(engine, r, l, conn);
		if (!other)
			return gt_err_set(err, GT_ENO, NULL,
					  "channel %u: rank %u sends to rank "
					  "%u, which does not receive",
					  lane->program->channel, r,
					  conn->peer);
		fifo = &engine->fifos[*at];
		gt_fifo_init(fifo);
		lane->ends[k] = (struct gt_fifo_end){
			.fifo = fifo,
			.slots = engine->slots + *at * nslots * slot_bytes,
			.other = engine->ranks[conn->peer].bell,
			.slot_bytes = slot_bytes,
			.nslots = nslots,
		};
		*other = lane->ends[k];
		other->other = engine->ranks[r].bell;
		(*at)++;
	}
	return GT_OK;
}

static int gt_lanes_connect(struct gt_engine *engine, struct gt_err *err)
{
	uint64_t n = gt_lanes_count_fifos(engine), most = n, at = 0, bytes;
	struct gt_link_shape shape = {.nslots = gt_lanes_slots(engine)};
	int rc = GT_OK;

	/* All processes must cut slices alike. */
	if (engine->group.world)
		rc = gt_world_max(engine->group.world, &most, err);
	if (rc)
		return rc;
	engine->slice_bytes = gt_lanes_slice_bytes(engine, most);
	shape.slot_bytes = (uint32_t)gt_slot_bytes(engine->slice_bytes);
	engine->pitch_bytes = shape.slot_bytes;
	bytes = n * gt_lanes_slots(engine) * gt_slot_bytes(engine->slice_bytes);
	engine->fifos = aligned_alloc(GT_CACHE_LINE_BYTES,
				      (n + 1) * sizeof(*engine->fifos));
	engine->slots =
		aligned_alloc(GT_CACHE_LINE_BYTES, bytes + GT_CACHE_LINE_BYTES);
	if (!engine->fifos || !engine->slots)
		return gt_err_nomem(err);
	for (uint32_t r = engine->first; !rc && r < engine->end; r++)
		for (uint32_t l = 0; !rc && l < engine->nlanes; l++)
			rc = gt_lane_connect(engine, r, l, &at, err);
	/* What was counted has room for all that is connected. */
	GT_MUST(at <= n);
	return rc ? rc : gt_process_group_connect(&engine->group, &shape, err);
}

/* Make room for what each pair has of each channel, if blocks differ. */
static int gt_lanes_spans(struct gt_engine *engine, struct gt_err *err)
{
	const struct gt_plan *plan = engine->config.plan;
	size_t pairs = (size_t)engine->nranks * engine->nranks;

	if (!gt_plan_blocks_differ(plan, engine->use.coll))
		return GT_OK;
	engine->spans =
		gt_arena_array(engine->arena, engine->row->nchannels * pairs,
			       sizeof(*engine->spans));
	return engine->spans ? GT_OK : gt_err_nomem(err);
}

static int gt_lanes_new(struct gt_engine *engine, struct gt_err *err)
{
	int rc;

	engine->arena = gt_arena_new();
	if (!engine->arena)
		return gt_err_nomem(err);
	rc = gt_lanes_spans(engine, err);
	engine->nprograms = gt_lower_lanes(engine->config.plan, &engine->use);
	engine->nlanes =
		engine->row->nchannels * engine->workers * engine->nprograms;
	for (uint32_t r = engine->first; !rc && r < engine->end; r++) {
		struct gt_host_rank *rank = &engine->ranks[r];

		rank->lanes = gt_arena_array(engine->arena, engine->nlanes,
					     sizeof(*rank->lanes));
		if (!rank->lanes)
			return gt_err_nomem(err);
		for (uint32_t i = 0; !rc && i < engine->row->nchannels; i++)
			rc = gt_lanes_lower(engine, rank, i, err);
	}
	return rc ? rc : gt_lanes_connect(engine, err);
}

/* Set a channel's layout on all its lanes, and the lanes to their start. */
static void gt_lanes_start(struct gt_engine *engine, uint32_t i,
			   const struct gt_layout *layout,
			   const struct gt_layout_span *spans)
{
	uint32_t n = engine->workers * engine->nprograms;
	struct gt_host_lane *lane;

	for (uint32_t r = engine->first; r < engine->end; r++)
		for (uint32_t l = i * n; l < (i + 1) * n; l++) {
			lane = &engine->ranks[r].lanes[l];
			lane->layout = *layout;
			lane->spans = spans;
			lane->iter = lane->program->nsteps && layout->loops
					     ? 0
					     : GT_HOST_IDLE;
			lane->loop = 0;
			lane->step = 0;
			lane->since_ns = 0;
		}
}

/*
 * Hand out all ranks' scratch on row's channel i, from `at` on; the end of it.
 */
static uint64_t gt_lanes_scratch(struct gt_engine *engine, uint32_t i,
				 uint64_t at)
{
	uint32_t n = engine->workers * engine->nprograms;

	for (uint32_t r = engine->first; r < engine->end; r++) {
		struct gt_host_lane *lanes = &engine->ranks[r].lanes[i * n];
		const struct gt_layout *layout = &lanes->layout;

		for (uint32_t l = 0; l < n && engine->scratch; l++)
			lanes[l].scratch = engine->scratch + at;
		at += (uint64_t)lanes->program->nscratch * layout->nworkers *
		      layout->loops * engine->pitch_bytes;
	}
	return at;
}

/*
 * Get as much scratch as the request needs: it is measured first, then handed
 * out.
 */
static int gt_lanes_scratch_all(struct gt_engine *engine, struct gt_err *err)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < engine->row->nchannels; i++)
		bytes = gt_lanes_scratch(engine, i, bytes);
	if (bytes > engine->scratch_bytes) {
		free(engine->scratch);
		engine->scratch_bytes = bytes;
		engine->scratch =
			aligned_alloc(GT_CACHE_LINE_BYTES,
				      bytes + GT_CACHE_LINE_BYTES -
					      bytes % GT_CACHE_LINE_BYTES);
		if (!engine->scratch) {
			engine->scratch_bytes = 0;
			return gt_err_nomem(err);
		}
	}
	bytes = 0;
	for (uint32_t i = 0; i < engine->row->nchannels; i++)
		bytes = gt_lanes_scratch(engine, i, bytes);
	/* No more is handed out than was measured. */
	GT_MUST(bytes <= engine->scratch_bytes);
	return GT_OK;
}

static int gt_lanes_layout(struct gt_engine *engine,
			   const struct gt_exec_request *req,
			   struct gt_err *err)
{
	const struct gt_plan_select *row = engine->row;
	struct gt_layout_args args = {
		.use = engine->use,
		.count = req->count,
		.elem_bytes = (uint32_t)gt_dtype_bytes(req->dtype),
		.slice_bytes = engine->slice_bytes,
		.nworkers = engine->workers,
		.nsel = row->nchannels,
		.sel = row->channels,
	};
	const struct gt_plan *plan = engine->config.plan;
	struct gt_layout_span *spans = NULL;
	struct gt_layout layout;
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < row->nchannels; i++) {
		if (engine->spans)
			spans = engine->spans +
				(size_t)i * engine->nranks * engine->nranks;
		rc = spans ? gt_layout_init_demand(plan, row->channels[i],
						   &args, spans, &layout, err)
			   : gt_layout_init(plan, row->channels[i], &args,
					    &layout, err);
		if (!rc)
			gt_lanes_start(engine, i, &layout, spans);
	}
	return rc ? rc : gt_lanes_scratch_all(engine, err);
}

/* Make programs anew for another row, collective or root. */
static int gt_lanes_switch(struct gt_engine *engine,
			   const struct gt_plan_select *row,
			   const struct gt_channel_use *use, struct gt_err *err)
{
	int rc;

	if (engine->row == row && engine->use.coll == use->coll &&
	    engine->use.root == use->root)
		return GT_OK;
	gt_host_lanes_free(engine);
	engine->row = row;
	engine->use = *use;
	rc = gt_lanes_new(engine, err);
	if (rc)
		gt_host_lanes_free(engine);
	return rc;
}

int gt_host_lanes_prepare(struct gt_engine *engine,
			  const struct gt_exec_request *req, struct gt_err *err)
{
	const struct gt_plan *plan = engine->config.plan;
	uint64_t blocks = gt_coll_has_blocks(req->coll) ? plan->nranks : 1;
	uint64_t bytes = req->count * blocks * gt_dtype_bytes(req->dtype);
	const struct gt_plan_select *row = gt_plan_row(plan, req->coll, bytes);
	struct gt_channel_use use = {.coll = req->coll, .root = req->root};
	int rc;

	if (!row)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the plan has nothing for '%s'",
				  gt_coll_name(req->coll));
	use.algo = row->algo;
	/* Of an invariant plan it has been proven. */
	if (engine->config.invariant && !plan->invariant &&
	    gt_coll_reduces(req->coll) && row->algo != GT_ALGO_ONE_SHOT &&
	    row->algo != GT_ALGO_TWO_SHOT)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%s by %s is not invariant: it adds up from "
				  "rank to rank; 'gtopo search --invariant' "
				  "makes a plan that is",
				  gt_coll_name(req->coll),
				  gt_algo_name(row->algo));
	if (!gt_coll_is_rooted(req->coll))
		use.root = 0;
	rc = gt_lanes_switch(engine, row, &use, err);
	return rc ? rc : gt_lanes_layout(engine, req, err);
}
