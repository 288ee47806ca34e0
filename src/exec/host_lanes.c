#include "exec/host.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "exec/select.h"
#include "plan/layout.h"
#include "plan/lower.h"
#include "plan/plan.h"

enum {
	/* Of choice: a slice and its copy stay in a core's own cache. */
	GT_HOST_SLICE_BYTES = 128 << 10,
	GT_HOST_SLICE_LEAST_BYTES = 4 << 10,
	GT_HOST_FIFO_MOST_BYTES = 256 << 20,
};

void gt_host_lanes_free(struct gt_engine *engine)
{
	gt_arena_free(engine->arena);
	free(engine->fifos);
	free(engine->slots);
	engine->arena = NULL;
	engine->fifos = NULL;
	engine->slots = NULL;
	engine->coll = GT_NCOLLS;
}

static int gt_lane_init(struct gt_engine *engine, struct gt_host_lane *lane,
			const struct gt_program *program, struct gt_err *err)
{
	lane->program = program;
	lane->ends = gt_arena_array(engine->arena, program->nconns + 1,
				    sizeof(*lane->ends));
	return lane->ends ? GT_OK : gt_err_nomem(err);
}

/* A rank's programs, each run by all workers of its channel. */
static int gt_lanes_lower(struct gt_engine *engine, struct gt_host_rank *rank,
			  enum gt_coll coll, struct gt_err *err)
{
	const struct gt_plan *plan = engine->config.plan;
	uint32_t workers = engine->workers;
	struct gt_program *programs;
	int rc = GT_OK;

	programs = gt_arena_array(engine->arena, plan->nchannels,
				  sizeof(*programs));
	rank->lanes = gt_arena_array(engine->arena, engine->nlanes,
				     sizeof(*rank->lanes));
	if (!programs || !rank->lanes)
		return gt_err_nomem(err);
	for (uint32_t c = 0; !rc && c < plan->nchannels; c++) {
		rc = gt_lower(plan, coll, rank->rank, c, engine->arena,
			      &programs[c], err);
		for (uint32_t w = 0; !rc && w < workers; w++) {
			rank->lanes[c * workers + w].worker = w;
			rc = gt_lane_init(engine, &rank->lanes[c * workers + w],
					  &programs[c], err);
		}
	}
	return rc;
}

static uint64_t gt_lanes_count_fifos(const struct gt_engine *engine)
{
	const struct gt_program *program;
	uint64_t n = 0;

	for (uint32_t r = 0; r < engine->nranks; r++)
		for (uint32_t l = 0; l < engine->nlanes; l++) {
			program = engine->ranks[r].lanes[l].program;
			for (uint32_t k = 0; k < program->nconns; k++)
				n += program->conns[k].sends;
		}
	return n;
}

/* Slots start on cache lines. */
static uint64_t gt_slot_bytes(uint32_t slice_bytes)
{
	return ((uint64_t)slice_bytes + GT_CACHE_LINE_BYTES - 1) /
	       GT_CACHE_LINE_BYTES * GT_CACHE_LINE_BYTES;
}

static uint32_t gt_lanes_slots(const struct gt_engine *engine)
{
	return engine->config.slots ? engine->config.slots
				    : engine->config.plan->fifo_slots;
}

/* As asked, else as large as the plan and the memory for FIFOs allow. */
static uint32_t gt_lanes_slice_bytes(const struct gt_engine *engine,
				     uint64_t nfifos)
{
	uint32_t slice = engine->config.plan->fifo_slice_bytes;
	uint64_t slots = nfifos * gt_lanes_slots(engine);

	if (engine->config.slice_bytes)
		return engine->config.slice_bytes;
	if (slice > GT_HOST_SLICE_BYTES)
		slice = GT_HOST_SLICE_BYTES;
	while (slice > GT_HOST_SLICE_LEAST_BYTES &&
	       slots * gt_slot_bytes(slice) > GT_HOST_FIFO_MOST_BYTES)
		slice /= 2;
	return slice;
}

/* The other rank's end of rank r's sending connection `conn`, or NULL. */
static struct gt_fifo_end *gt_lane_other_end(const struct gt_engine *engine,
					     uint32_t r, uint32_t l,
					     const struct gt_conn *conn)
{
	const struct gt_host_lane *lane = &engine->ranks[conn->peer].lanes[l];
	const struct gt_conn *other = lane->program->conns;

	for (uint32_t k = 0; k < lane->program->nconns; k++)
		if (!other[k].sends && other[k].peer == r &&
		    other[k].tag == conn->tag && !lane->ends[k].fifo)
			return &lane->ends[k];
	return NULL;
}

/* The FIFOs of all connections in which rank r sends on lane l. */
static int gt_lane_connect(struct gt_engine *engine, uint32_t r, uint32_t l,
			   uint64_t *at, struct gt_err *err)
{
	struct gt_host_lane *lane = &engine->ranks[r].lanes[l];
	uint64_t slot_bytes = gt_slot_bytes(engine->slice_bytes);
	uint32_t nslots = gt_lanes_slots(engine);
	const struct gt_conn *conn;
	struct gt_fifo_end *other;
	struct gt_fifo *fifo;

	for (uint32_t k = 0; k < lane->program->nconns; k++) {
		conn = &lane->program->conns[k];
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
			.other = &engine->ranks[conn->peer].bell,
			.slot_bytes = slot_bytes,
			.nslots = nslots,
		};
		*other = lane->ends[k];
		other->other = &engine->ranks[r].bell;
		(*at)++;
	}
	return GT_OK;
}

static int gt_lanes_connect(struct gt_engine *engine, struct gt_err *err)
{
	uint64_t n = gt_lanes_count_fifos(engine), at = 0, bytes;
	int rc = GT_OK;

	engine->slice_bytes = gt_lanes_slice_bytes(engine, n);
	bytes = n * gt_lanes_slots(engine) * gt_slot_bytes(engine->slice_bytes);
	engine->fifos = aligned_alloc(GT_CACHE_LINE_BYTES,
				      (n + 1) * sizeof(*engine->fifos));
	engine->slots =
		aligned_alloc(GT_CACHE_LINE_BYTES, bytes + GT_CACHE_LINE_BYTES);
	if (!engine->fifos || !engine->slots)
		return gt_err_nomem(err);
	for (uint32_t r = 0; !rc && r < engine->nranks; r++)
		for (uint32_t l = 0; !rc && l < engine->nlanes; l++)
			rc = gt_lane_connect(engine, r, l, &at, err);
	return rc;
}

static int gt_lanes_new(struct gt_engine *engine, enum gt_coll coll,
			struct gt_err *err)
{
	int rc = GT_OK;

	engine->arena = gt_arena_new();
	if (!engine->arena)
		return gt_err_nomem(err);
	for (uint32_t r = 0; !rc && r < engine->nranks; r++)
		rc = gt_lanes_lower(engine, &engine->ranks[r], coll, err);
	return rc ? rc : gt_lanes_connect(engine, err);
}

/* Set a channel's layout on all its lanes, and the lanes to their start. */
static void gt_lanes_start(struct gt_engine *engine, uint32_t channel,
			   const struct gt_layout *layout)
{
	uint32_t first = channel * engine->workers;
	struct gt_host_lane *lane;

	for (uint32_t r = 0; r < engine->nranks; r++)
		for (uint32_t w = 0; w < engine->workers; w++) {
			lane = &engine->ranks[r].lanes[first + w];
			lane->layout = *layout;
			lane->iter = 0;
			lane->loop = 0;
			lane->step = 0;
			lane->since_ns = 0;
		}
}

/* Lay out the channels of the request's size; the others stay empty. */
static int gt_lanes_layout(struct gt_engine *engine,
			   const struct gt_request *req, uint32_t *sel,
			   struct gt_err *err)
{
	const struct gt_plan *plan = engine->config.plan;
	uint64_t blocks = req->coll == GT_COLL_ALLREDUCE ? 1 : plan->nranks;
	struct gt_layout_args args = {.coll = req->coll, .count = req->count};
	struct gt_layout layout = {.loops = 0};
	int rc = GT_OK;

	args.elem_bytes = (uint32_t)gt_dtype_bytes(req->dtype);
	args.slice_bytes = engine->slice_bytes;
	args.nworkers = engine->workers;
	args.nsel = gt_select_channels(
		plan, req->count * blocks * args.elem_bytes, sel);
	args.sel = sel;
	for (uint32_t c = 0; c < plan->nchannels; c++)
		gt_lanes_start(engine, c, &layout);
	for (uint32_t i = 0; !rc && i < args.nsel; i++) {
		rc = gt_layout_init(plan, sel[i], &args, &layout, err);
		if (!rc)
			gt_lanes_start(engine, sel[i], &layout);
	}
	return rc;
}

int gt_host_lanes_prepare(struct gt_engine *engine,
			  const struct gt_request *req, struct gt_err *err)
{
	uint32_t *sel;
	int rc = GT_OK;

	if (engine->coll != req->coll) {
		gt_host_lanes_free(engine);
		rc = gt_lanes_new(engine, req->coll, err);
		if (rc) {
			gt_host_lanes_free(engine);
			return rc;
		}
		engine->coll = req->coll;
	}
	sel = calloc(engine->config.plan->nchannels, sizeof(*sel));
	if (!sel)
		return gt_err_nomem(err);
	rc = gt_lanes_layout(engine, req, sel, err);
	free(sel);
	return rc;
}
