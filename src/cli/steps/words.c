/* Lowers a plan and says each step of it as a sentence (sentence.h). */
#include "cli/steps/words.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/steps/picture.h"
#include "cli/steps/sentence.h"
#include "plan/ir/program.h"
#include "plan/lower/lower.h"

static void put_step(const struct gt_program *program,
		     const struct gt_step *step, struct gt_buf *out)
{
	gt_buf_printf(out, "    %3" PRIu32 "  ", step->id);
	gt_steps_sentence(program, step, out);
	gt_buf_puts(out, "\n");
}

/* A row of the plan, and one of its channels. */
struct part {
	const struct gt_steps_query *ask;
	struct gt_lower_query want;
	struct gt_buf *out;
	struct gt_picture picture;
};

/* Plans need not say which GPU a rank is. */
static void put_name(const struct part *part)
{
	const char *device = part->ask->plan->ranks[part->want.rank].device;

	gt_buf_printf(part->out, "  rank %" PRIu32, part->want.rank);
	if (!device)
		return;
	gt_buf_puts(part->out, " (");
	gt_buf_put_plain(part->out, device);
	gt_buf_puts(part->out, ")");
}

static int put_lane(const struct part *part, uint32_t nlanes,
		    struct gt_arena *arena, struct gt_err *err)
{
	struct gt_program program;
	int rc = gt_lower(part->ask->plan, &part->want, arena, &program, err);

	if (rc || !program.nsteps)
		return rc;
	put_name(part);
	if (nlanes > 1)
		gt_buf_printf(part->out, ", lane %" PRIu32, part->want.lane);
	gt_buf_puts(part->out, "\n");
	for (uint32_t i = 0; i < program.nsteps;
	     i += gt_step_nrecords(&program.steps[i]))
		put_step(&program, &program.steps[i], part->out);
	return GT_OK;
}

/* Says what a rank does on a channel; its lanes run beside each other. */
static int put_rank(struct part *part, struct gt_err *err)
{
	uint32_t n = gt_lower_lanes(part->ask->plan, &part->want.use);
	struct gt_arena *arena = gt_arena_new();
	int rc = arena ? GT_OK : gt_err_nomem(err);

	for (uint32_t lane = 0; lane < n && !rc; lane++) {
		part->want.lane = lane;
		rc = put_lane(part, n, arena, err);
	}
	gt_arena_free(arena);
	return rc;
}

static int put_channel(struct part *part, struct gt_err *err)
{
	const struct gt_plan *plan = part->ask->plan;
	const struct gt_plan_channel *channel =
		&plan->channels[part->want.channel];
	char share[GT_RAT_TEXT_MAX];
	uint32_t chunks =
		gt_layout_nchunks(plan, part->want.channel, &part->want.use);
	int rc = GT_OK;

	gt_buf_printf(
		part->out,
		"channel %" PRIu32 ": %s, share %s, in %" PRIu32 " chunk%s\n",
		channel->id, gt_shape_name(channel->shape),
		gt_rat_print(channel->share, share), chunks, gt_plural(chunks));
	for (uint32_t rank = 0; rank < plan->nranks && !rc; rank++) {
		if (part->ask->rank >= 0 && part->ask->rank != rank)
			continue;
		part->want.rank = rank;
		rc = put_rank(part, err);
	}
	return rc;
}

/* Refuses ranks that are not there, and plans too large to be told whole. */
static int check_rank(const struct gt_steps_query *ask, struct gt_err *err)
{
	uint32_t n = ask->plan->nranks;

	if (ask->rank >= (int64_t)n)
		return gt_err_set(err, GT_EINPUT, ask->plan->file,
				  "has %" PRIu32 " ranks, no rank '%" PRId64
				  "'",
				  n, ask->rank);
	if (ask->rank < 0 && n > GT_STEPS_RANKS)
		return gt_err_set(err, GT_EINPUT, ask->plan->file,
				  "has %" PRIu32 " ranks; name one with --rank",
				  n);
	return GT_OK;
}

static int put_channels(const struct gt_plan_select *row, struct part *part,
			struct gt_err *err)
{
	const struct gt_plan *plan = part->ask->plan;
	uint32_t n = 0;
	int rc = GT_OK;

	for (uint32_t i = 0; i < row->nchannels && !rc; i++) {
		if (part->ask->channel >= 0 &&
		    plan->channels[row->channels[i]].id != part->ask->channel)
			continue;
		part->want.channel = row->channels[i];
		rc = part->ask->svg ? gt_picture_channel(&part->picture, plan,
							 &part->want, err)
				    : put_channel(part, err);
		n++;
	}
	if (!rc && !n)
		rc = gt_err_set(err, GT_EINPUT, plan->file,
				"does not use channel '%" PRId64
				"' at this size",
				part->ask->channel);
	return rc;
}

int gt_steps(const struct gt_steps_query *ask, struct gt_buf *out,
	     struct gt_err *err)
{
	const struct gt_plan *plan = ask->plan;
	const struct gt_plan_select *row =
		gt_plan_row(plan, ask->coll, ask->bytes);
	struct part part = {
		.ask = ask, .out = out, .picture = {.body = GT_BUF_INIT}};
	int rc = check_rank(ask, err);

	if (!rc && !row)
		rc = gt_err_set(err, GT_EINPUT, plan->file,
				"has no channels that can do '%s'",
				gt_coll_name(ask->coll));
	if (rc)
		return rc;
	part.want.use =
		(struct gt_channel_use){ask->coll, row->algo, plan->root};
	if (ask->svg) {
		rc = put_channels(row, &part, err);
		gt_picture_end(&part.picture, rc ? NULL : out);
		return rc;
	}
	gt_buf_printf(out,
		      "%s of %" PRIu32 " rank%s by %s; each rank does its "
		      "steps in order, slice after slice of each chunk\n",
		      gt_coll_name(ask->coll), plan->nranks,
		      gt_plural(plan->nranks), gt_algo_name(row->algo));
	return put_channels(row, &part, err);
}
