/*
 * Draws steps as dots on ranks' lines and slices as arrows between them.  The
 * k-th slice that is sent over a FIFO is the k-th one that is received, in
 * whichever lanes its ends are.
 */
#include "cli/steps/picture.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "cli/steps/sentence.h"
#include "plan/ir/plan.h"

enum {
	GT_PICTURE_LEFT = 60,
	GT_PICTURE_TOP = 64,
	GT_PICTURE_RANK = 120, /* pixels between ranks' lines */
	GT_PICTURE_LANE = 26,  /* between lanes of a rank */
	GT_PICTURE_STEP = 30,  /* between steps of a lane */
	GT_PICTURE_TURN = 137, /* degrees of hue between chunks */
};

/* One end of a slice's way; which FIFO, and where it is drawn. */
struct gt_picture_end {
	uint32_t from, to, tag, sends;
	uint32_t number; /* in the order of steps */
	uint32_t chunk;
	uint32_t x, y;
};

/* A channel while it is drawn. */
struct gt_picture_part {
	struct gt_picture *picture;
	const struct gt_plan *plan;
	struct gt_lower_query want;
	struct gt_picture_end *ends;
	uint32_t n, room, rows;
	struct gt_buf dots;
};

static uint32_t gt_picture_x(uint32_t rank, uint32_t lane)
{
	return GT_PICTURE_LEFT + rank * GT_PICTURE_RANK +
	       lane * GT_PICTURE_LANE;
}

static uint32_t gt_picture_y(const struct gt_picture_part *part, uint32_t row)
{
	return part->picture->height + GT_PICTURE_TOP + row * GT_PICTURE_STEP;
}

static void gt_picture_arrow(struct gt_picture_part *part,
			     const struct gt_picture_end *from,
			     const struct gt_picture_end *to)
{
	gt_buf_printf(&part->picture->body,
		      "<path d=\"M%" PRIu32 " %" PRIu32 "L%" PRIu32 " %" PRIu32
		      "\" stroke=\"hsl(%" PRIu32
		      ",70%%,45%%)\" marker-end=\"url(#a)\"><title>chunk "
		      "%" PRIu32 "</title></path>\n",
		      from->x, from->y, to->x, to->y,
		      from->chunk * GT_PICTURE_TURN % 360, from->chunk);
}

/* Note one end of a FIFO's slice, or draw the arrow of what needs none. */
static int gt_picture_operand(struct gt_picture_part *part,
			      const struct gt_program *program,
			      const struct gt_step *step,
			      const struct gt_operand *operand,
			      const struct gt_picture_end *here)
{
	struct gt_picture_end end = *here, there = *here;
	uint32_t peer = program->conns[operand->conn].peer, lane;
	struct gt_picture_end *ends;

	end.chunk = step->chunk;
	if (operand->buf == GT_BUF_PEER_INPUT ||
	    operand->buf == GT_BUF_PEER_OUTPUT) {
		lane = part->want.lane;
		there.x = gt_picture_x(peer, lane);
		if (end.sends)
			gt_picture_arrow(part, &end, &there);
		else
			gt_picture_arrow(part, &there, &end);
		return GT_OK;
	}
	if (part->n == GT_PICTURE_ARROWS)
		return GT_ENO;
	ends = gt_vec_grow(part->ends, part->n, &part->room, sizeof(*ends));
	if (!ends)
		return GT_ESYS;
	part->ends = ends;
	end.from = end.sends ? program->rank : peer;
	end.to = end.sends ? peer : program->rank;
	end.tag = program->conns[operand->conn].tag;
	end.number = part->n;
	ends[part->n++] = end;
	return GT_OK;
}

static int gt_picture_reaches(const struct gt_operand *operand)
{
	return operand->buf == GT_BUF_FIFO || operand->buf == GT_BUF_NONE ||
	       operand->buf == GT_BUF_PEER_INPUT ||
	       operand->buf == GT_BUF_PEER_OUTPUT;
}

static int gt_picture_step(struct gt_picture_part *part,
			   const struct gt_program *program,
			   const struct gt_step *step, uint32_t row)
{
	struct gt_picture_end here = {
		.x = gt_picture_x(program->rank, part->want.lane),
		.y = gt_picture_y(part, row)};
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < (uint32_t)step->nsrc + step->ndst;
	     i++) {
		const struct gt_operand *operand = gt_step_operand(step, i);

		here.sends = i >= step->nsrc;
		if (gt_picture_reaches(operand))
			rc = gt_picture_operand(part, program, step, operand,
						&here);
	}
	gt_buf_printf(&part->dots,
		      "<circle cx=\"%" PRIu32 "\" cy=\"%" PRIu32
		      "\" r=\"5\" fill=\"hsl(%" PRIu32 ",70%%,45%%)\"><title>",
		      here.x, here.y, step->chunk * GT_PICTURE_TURN % 360);
	gt_steps_sentence(program, step, &part->dots);
	gt_buf_puts(&part->dots, "</title></circle>\n");
	return rc;
}

static int gt_picture_lane(struct gt_picture_part *part, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_program program;
	int rc = arena ? gt_lower(part->plan, &part->want, arena, &program, err)
		       : gt_err_nomem(err);
	uint32_t row = 0;

	for (uint32_t i = 0; !rc && i < program.nsteps;
	     i += gt_step_nrecords(&program.steps[i])) {
		rc = gt_picture_step(part, &program, &program.steps[i], row++);
		if (rc == GT_ESYS)
			gt_err_nomem(err);
		if (rc == GT_ENO)
			rc = gt_err_set(err, GT_EINPUT, part->plan->file,
					"has more than %d arrows in a channel, "
					"too many for a picture",
					GT_PICTURE_ARROWS);
	}
	if (row > part->rows)
		part->rows = row;
	gt_arena_free(arena);
	return rc;
}

static int gt_picture_order(const void *left, const void *right)
{
	const struct gt_picture_end *a = left, *b = right;
	const uint32_t one[] = {a->from, a->to, a->tag, a->sends, a->number};
	const uint32_t two[] = {b->from, b->to, b->tag, b->sends, b->number};

	for (size_t i = 0; i < sizeof(one) / sizeof(*one); i++)
		if (one[i] != two[i])
			return one[i] < two[i] ? -1 : 1;
	return 0;
}

static int gt_picture_same_fifo(const struct gt_picture_end *a,
				const struct gt_picture_end *b)
{
	return a->from == b->from && a->to == b->to && a->tag == b->tag;
}

/* The order puts a FIFO's receives before its sends; both are as many. */
static void gt_picture_arrows(struct gt_picture_part *part)
{
	uint32_t begin = 0, end, sent;

	if (part->n)
		qsort(part->ends, part->n, sizeof(*part->ends),
		      gt_picture_order);
	for (; begin < part->n; begin = end) {
		for (end = sent = begin;
		     end < part->n &&
		     gt_picture_same_fifo(&part->ends[begin], &part->ends[end]);
		     end++)
			sent += !part->ends[end].sends;
		for (uint32_t k = 0; begin + k < sent && sent + k < end; k++)
			gt_picture_arrow(part, &part->ends[sent + k],
					 &part->ends[begin + k]);
	}
}

/* The heading, the ranks' names and their lines. */
static void gt_picture_frame(struct gt_picture_part *part, uint32_t nlanes)
{
	const struct gt_plan_channel *channel =
		&part->plan->channels[part->want.channel];
	struct gt_buf *out = &part->picture->body;
	uint32_t top = part->picture->height;

	gt_buf_printf(out,
		      "<text x=\"8\" fill=\"black\" y=\"%" PRIu32
		      "\" font-weight=\"bold\">"
		      "channel %" PRIu32 "</text>\n",
		      top + 20, channel->id);
	for (uint32_t r = 0; r < part->plan->nranks; r++) {
		gt_buf_printf(
			out,
			"<text fill=\"black\" x=\"%" PRIu32 "\" y=\"%" PRIu32
			"\" text-anchor=\"middle\">rank %" PRIu32 "</text>\n",
			gt_picture_x(r, 0), top + 44, r);
		for (uint32_t lane = 0; lane < nlanes; lane++)
			gt_buf_printf(out,
				      "<path d=\"M%" PRIu32 " %" PRIu32
				      "V%" PRIu32 "\" stroke=\"#bbb\"/>\n",
				      gt_picture_x(r, lane), top + 52,
				      gt_picture_y(part, part->rows));
	}
}

int gt_picture_channel(struct gt_picture *picture, const struct gt_plan *plan,
		       const struct gt_lower_query *want, struct gt_err *err)
{
	struct gt_picture_part part = {.picture = picture,
				       .plan = plan,
				       .want = *want,
				       .dots = GT_BUF_INIT};
	uint32_t nlanes = gt_lower_lanes(plan, &want->use);
	uint32_t width = gt_picture_x(plan->nranks, 0);
	int rc = GT_OK;

	for (uint32_t r = 0; !rc && r < plan->nranks; r++)
		for (uint32_t lane = 0; !rc && lane < nlanes; lane++) {
			part.want.rank = r;
			part.want.lane = lane;
			rc = gt_picture_lane(&part, err);
		}
	if (!rc) {
		gt_picture_frame(&part, nlanes);
		gt_picture_arrows(&part);
		gt_buf_add(&picture->body, part.dots.text, part.dots.len);
		picture->height = gt_picture_y(&part, part.rows);
		if (width > picture->width)
			picture->width = width;
	}
	free(part.ends);
	gt_buf_release(&part.dots);
	return rc;
}

void gt_picture_end(struct gt_picture *picture, struct gt_buf *out)
{
	if (out) {
		gt_buf_printf(out,
			      "<svg xmlns=\"http://www.w3.org/2000/svg\" "
			      "width=\"%" PRIu32 "\" height=\"%" PRIu32
			      "\" font-family=\"sans-serif\" font-size=\"13\" "
			      "fill=\"none\" stroke-width=\"1.5\">\n"
			      "<defs><marker id=\"a\" markerWidth=\"8\" "
			      "markerHeight=\"8\" refX=\"11\" refY=\"4\" "
			      "orient=\"auto\" markerUnits=\"userSpaceOnUse\">"
			      "<path d=\"M0 0L8 4L0 8z\" fill=\"#333\"/>"
			      "</marker></defs>\n"
			      "<rect width=\"100%%\" height=\"100%%\" "
			      "fill=\"white\"/>\n<g>\n",
			      picture->width, picture->height);
		gt_buf_add(out, picture->body.text, picture->body.len);
		gt_buf_puts(out, "</g>\n</svg>\n");
	}
	gt_buf_release(&picture->body);
}
