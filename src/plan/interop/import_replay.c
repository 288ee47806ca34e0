/*
 * Steps of an algorithm are executed chunk by chunk on the names of chunks,
 * thread blocks in turn, and each becomes a step of a program.
 */
#include "plan/interop/import_replay.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "plan/interop/algorithm.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

/* The step that is being executed. */
struct gt_replay_step {
	struct gt_import_file *algo;
	uint32_t rank;
	struct gt_import_tb *tb;
	const struct gt_import_step *step;
	uint32_t at, count; /* the chunk of its chunks that is executed */
	uint32_t nsrc, ndst, ndata;
	struct gt_operand operands[2 * GT_IMPORT_MAX_OPERANDS];
	struct gt_import_value value;
};

static uint32_t gt_replay_chunks(const struct gt_import_file *algo)
{
	return algo->nchunks / algo->unit;
}

static uint32_t gt_replay_block(const struct gt_import_file *algo)
{
	uint32_t n = gt_replay_chunks(algo);

	return gt_coll_has_blocks(algo->coll) ? n / algo->ngpus : n;
}

static enum gt_extent gt_replay_extent(const struct gt_import_file *algo,
				       enum gt_import_buf buf, uint32_t rank)
{
	struct gt_channel_use use = {.coll = algo->coll, .root = algo->root};

	return buf == GT_IMPORT_INPUT ? gt_layout_input(&use, rank)
				      : gt_layout_output(&use, rank);
}

/*
 * The number that a chunk of a rank's buffer has in the whole buffer;
 * UINT32_MAX where the rank has none.
 */
static uint32_t gt_replay_whole(const struct gt_import_file *algo,
				enum gt_import_buf buf, uint32_t rank,
				uint32_t at)
{
	enum gt_extent extent = gt_replay_extent(algo, buf, rank);
	uint32_t block = gt_replay_block(algo);

	if (extent == GT_EXTENT_OWN && at < block)
		return rank * block + at;
	if (extent == GT_EXTENT_ALL && at < gt_replay_chunks(algo))
		return at;
	/* In place, the smaller buffer is a part of the larger one. */
	if (algo->inplace && at < gt_replay_chunks(algo))
		return at;
	return UINT32_MAX;
}

/* Is this chunk of the whole buffer in the rank's output? */
static int gt_replay_is_output(const struct gt_import_file *algo, uint32_t rank,
			       uint32_t at)
{
	enum gt_extent extent = gt_replay_extent(algo, GT_IMPORT_OUTPUT, rank);

	return extent == GT_EXTENT_ALL ||
	       (extent == GT_EXTENT_OWN && at / gt_replay_block(algo) == rank);
}

static int gt_replay_fail(const struct gt_replay_step *s, const char *attr,
			  struct gt_err *err, const char *what)
{
	return gt_import_fail(s->step, attr, err, "%s", what);
}

static void gt_replay_operand(struct gt_replay_step *s, int writes,
			      struct gt_operand operand)
{
	if (writes)
		s->operands[s->nsrc + s->ndst++] = operand;
	else
		s->operands[s->nsrc++] = operand;
}

/* Add a source's value to the step's sum. */
static int gt_replay_add(struct gt_replay_step *s,
			 const struct gt_import_value *value,
			 struct gt_err *err)
{
	if (!value->known)
		return gt_replay_fail(s, NULL, err,
				      "it reads what nobody has written");
	if (s->ndata && s->value.chunk != value->chunk)
		return gt_replay_fail(s, NULL, err, "it adds different chunks");
	s->value.chunk = value->chunk;
	s->value.count += value->count;
	s->value.known = 1;
	s->ndata++;
	return GT_OK;
}

/* The place that the step's present chunk of an operand is in. */
static uint32_t gt_replay_at(const struct gt_replay_step *s,
			     const struct gt_import_operand *operand)
{
	return operand->at / s->algo->unit + s->at;
}

static int gt_replay_scratch(struct gt_replay_step *s, int writes, uint32_t at,
			     struct gt_err *err)
{
	struct gt_import_gpu *gpu = &s->algo->gpus[s->rank];

	gt_replay_operand(s, writes, gt_operand_chunk(GT_BUF_SCRATCH, at));
	if (!writes)
		return gt_replay_add(s, &gpu->scratch[at], err);
	gpu->scratch[at] = s->value;
	if (at >= gpu->nused)
		gpu->nused = at + 1;
	return GT_OK;
}

static int gt_replay_load(struct gt_replay_step *s,
			  const struct gt_import_operand *operand,
			  struct gt_err *err)
{
	struct gt_import_gpu *gpu = &s->algo->gpus[s->rank];
	uint32_t at = gt_replay_at(s, operand);
	int fresh = operand->buf == GT_IMPORT_INPUT;
	const struct gt_import_value *value;

	if (operand->buf == GT_IMPORT_SCRATCH) {
		if (at >= gpu->nscratch)
			return gt_replay_fail(s, NULL, err,
					      "it reads beyond the scratch");
		return gt_replay_scratch(s, 0, at, err);
	}
	at = gt_replay_whole(s->algo, operand->buf, s->rank, at);
	if (at == UINT32_MAX)
		return gt_replay_fail(s, NULL, err,
				      "it reads beyond the buffer");
	if (s->algo->inplace && gpu->scratch[gpu->nscratch + at].known)
		return gt_replay_scratch(s, 0, gpu->nscratch + at, err);
	if (s->algo->inplace)
		fresh = !gpu->output[at].written;
	value = fresh ? &gpu->input[at] : &gpu->output[at];
	gt_replay_operand(
		s, 0,
		gt_operand_chunk(fresh ? GT_BUF_INPUT : GT_BUF_OUTPUT, at));
	return gt_replay_add(s, value, err);
}

static int gt_replay_store(struct gt_replay_step *s,
			   const struct gt_import_operand *operand,
			   struct gt_err *err)
{
	struct gt_import_gpu *gpu = &s->algo->gpus[s->rank];
	uint32_t at = gt_replay_at(s, operand);

	if (operand->buf == GT_IMPORT_SCRATCH) {
		if (at >= gpu->nscratch)
			return gt_replay_fail(s, "dstoff", err,
					      "it writes beyond the scratch");
		return gt_replay_scratch(s, 1, at, err);
	}
	if (operand->buf == GT_IMPORT_INPUT && !s->algo->inplace)
		return gt_replay_fail(
			s, "dstbuf", err,
			"it writes to its input, but does not work "
			"in place only");
	at = gt_replay_whole(s->algo, operand->buf, s->rank, at);
	if (at == UINT32_MAX ||
	    (!gt_replay_is_output(s->algo, s->rank, at) && !s->algo->inplace))
		return gt_replay_fail(s, "dstoff", err,
				      "it writes beyond the output");
	if (!gt_replay_is_output(s->algo, s->rank, at))
		return gt_replay_scratch(s, 1, gpu->nscratch + at, err);
	if (s->algo->coll != GT_COLL_ALLTOALL && at != s->value.chunk)
		return gt_replay_fail(s, "dstoff", err,
				      "it puts a chunk where another belongs");
	gpu->output[at] = s->value;
	gpu->output[at].written = 1;
	gt_replay_operand(s, 1, gt_operand_chunk(GT_BUF_OUTPUT, at));
	return GT_OK;
}

static struct gt_operand gt_replay_none(uint16_t conn)
{
	return (struct gt_operand){.buf = GT_BUF_NONE,
				   .flags = GT_OPERAND_WAIT | GT_OPERAND_POST,
				   .conn = conn};
}

/* The link that an operand comes or goes by; NULL for a place. */
static struct gt_import_link *gt_replay_link(
	const struct gt_import_file *algo,
	const struct gt_import_operand *operand)
{
	return operand->buf == GT_IMPORT_MESSAGE ||
			       operand->buf == GT_IMPORT_FLAG
		       ? &algo->links[operand->at]
		       : NULL;
}

/*
 * Make a source of the program's step.  Flags go with the first chunk of what
 * waits, and the last of what posts.
 */
static int gt_replay_source(struct gt_replay_step *s,
			    const struct gt_import_operand *operand,
			    struct gt_err *err)
{
	struct gt_import_link *link = gt_replay_link(s->algo, operand);

	if (!link)
		return gt_replay_load(s, operand, err);
	if (operand->buf == GT_IMPORT_FLAG) {
		if (s->at)
			return GT_OK;
		link->ntaken++;
		gt_replay_operand(s, 0, gt_replay_none(link->to_conn));
		return GT_OK;
	}
	gt_replay_operand(s, 0, gt_operand_slot(link->to_conn));
	return gt_replay_add(s, &link->sent[link->ntaken++], err);
}

static int gt_replay_target(struct gt_replay_step *s,
			    const struct gt_import_operand *operand,
			    struct gt_err *err)
{
	struct gt_import_link *link = gt_replay_link(s->algo, operand);

	if (!link)
		return gt_replay_store(s, operand, err);
	if (operand->buf == GT_IMPORT_FLAG) {
		if (s->at + 1 < s->count)
			return GT_OK;
		link->nsent++;
		gt_replay_operand(s, 1, gt_replay_none(link->from_conn));
		return GT_OK;
	}
	link->sent = gt_vec_grow_in(s->algo->arena, link->sent, link->nsent,
				    &link->room, sizeof(*link->sent));
	if (!link->sent)
		return gt_err_nomem(err);
	link->sent[link->nsent++] = s->value;
	gt_replay_operand(s, 1, gt_operand_slot(link->from_conn));
	return GT_OK;
}

/* Execute one chunk of a step, or a step of flags only. */
static int gt_replay_chunk(struct gt_replay_step *s, struct gt_err *err)
{
	const struct gt_import_list *src = &s->step->src, *dst = &s->step->dst;
	struct gt_step_list list = {.operands = s->operands};
	int rc = GT_OK;

	s->nsrc = s->ndst = s->ndata = 0;
	s->value = (struct gt_import_value){0};
	for (uint32_t i = 0; !rc && i < src->n; i++)
		rc = gt_replay_source(s, &src->operands[i], err);
	for (uint32_t i = 0; !rc && i < dst->n; i++)
		rc = gt_replay_target(s, &dst->operands[i], err);
	if (rc || (!s->nsrc && !s->ndst))
		return rc;
	list.nsrc = s->nsrc;
	list.ndst = s->ndst;
	list.chunk = s->value.chunk;
	if (gt_coll_reduces(s->algo->coll) && s->ndata > 1 &&
	    s->value.count == s->algo->ngpus)
		list.flags = GT_STEP_FINAL;
	gt_step_add_list(s->tb->program, &list);
	return GT_OK;
}

/*
 * How often a step is executed: once for each chunk, and once when it has no
 * bytes.
 */
static uint32_t gt_replay_count(const struct gt_import_file *algo,
				const struct gt_import_step *step)
{
	return step->count ? step->count / algo->unit : 1;
}

/* Has all that the thread block's next step takes been sent? */
static int gt_replay_ready(const struct gt_import_file *algo,
			   const struct gt_import_tb *tb)
{
	const struct gt_import_step *step = &tb->steps[tb->step];

	for (uint32_t i = 0; i < step->src.n; i++) {
		const struct gt_import_operand *operand =
			&step->src.operands[i];
		const struct gt_import_link *link =
			gt_replay_link(algo, operand);
		uint32_t n = operand->buf == GT_IMPORT_FLAG
				     ? 1
				     : gt_replay_count(algo, step);

		if (link && link->nsent < link->ntaken + n)
			return 0;
	}
	return 1;
}

/*
 * Execute a thread block's steps as far as it gets; *moved is set when it got
 * on.
 */
static int gt_replay_block_on(struct gt_import_file *algo, uint32_t rank,
			      struct gt_import_tb *tb, int *moved,
			      struct gt_err *err)
{
	struct gt_replay_step s = {.algo = algo, .rank = rank, .tb = tb};
	int rc = GT_OK;

	while (!rc && tb->step < tb->nsteps && gt_replay_ready(algo, tb)) {
		s.step = &tb->steps[tb->step++];
		s.count = gt_replay_count(algo, s.step);
		for (s.at = 0; !rc && s.at < s.count; s.at++)
			rc = gt_replay_chunk(&s, err);
		*moved = 1;
	}
	return rc;
}

static int gt_replay_stuck(const struct gt_import_file *algo,
			   struct gt_err *err)
{
	for (uint32_t r = 0; r < algo->ngpus; r++)
		for (uint32_t t = 0; t < algo->gpus[r].ntbs; t++) {
			const struct gt_import_tb *tb = &algo->gpus[r].tbs[t];

			if (tb->step < tb->nsteps)
				return gt_import_fail(
					&tb->steps[tb->step], NULL, err,
					"gpu %u, thread block %u: this step "
					"waits for ever",
					r, t);
		}
	return GT_OK;
}

static int gt_replay_all(struct gt_import_file *algo, struct gt_err *err)
{
	int moved = 1, rc = GT_OK;

	while (moved && !rc) {
		moved = 0;
		for (uint32_t r = 0; !rc && r < algo->ngpus; r++)
			for (uint32_t t = 0; !rc && t < algo->gpus[r].ntbs; t++)
				rc = gt_replay_block_on(algo, r,
							&algo->gpus[r].tbs[t],
							&moved, err);
	}
	return rc ? rc : gt_replay_stuck(algo, err);
}

/*
 * An algorithm in place may leave a chunk of the output as it is in the input;
 * the plan has to copy it.
 */
static void gt_replay_complete(struct gt_import_file *algo, uint32_t rank)
{
	struct gt_import_gpu *gpu = &algo->gpus[rank];
	struct gt_operand operands[2];
	struct gt_step_list list = {.nsrc = 1, .ndst = 1, .operands = operands};

	for (uint32_t c = 0; c < gt_replay_chunks(algo); c++) {
		if (!gpu->input[c].known || gpu->output[c].written ||
		    !gt_replay_is_output(algo, rank, c))
			continue;
		list.chunk = c;
		operands[0] = gt_operand_chunk(GT_BUF_INPUT, c);
		operands[1] = gt_operand_chunk(GT_BUF_OUTPUT, c);
		gt_step_add_list(gpu->tbs[0].program, &list);
	}
}

static int gt_replay_values(struct gt_import_file *algo, uint32_t rank,
			    struct gt_err *err)
{
	struct gt_import_gpu *gpu = &algo->gpus[rank];
	uint32_t n = gt_replay_chunks(algo), block = gt_replay_block(algo);
	enum gt_extent extent = gt_replay_extent(algo, GT_IMPORT_INPUT, rank);

	gpu->nscratch = (gpu->nscratch + algo->unit - 1) / algo->unit;
	gpu->nused = gpu->nscratch;
	gpu->input = gt_arena_array(algo->arena, n, sizeof(*gpu->input));
	gpu->output = gt_arena_array(algo->arena, n, sizeof(*gpu->output));
	gpu->scratch = gt_arena_array(algo->arena,
				      gpu->nscratch + (algo->inplace ? n : 0),
				      sizeof(*gpu->scratch));
	if (!gpu->input || !gpu->output || !gpu->scratch)
		return gt_err_nomem(err);
	for (uint32_t c = 0; c < n; c++) {
		if (extent == GT_EXTENT_NONE ||
		    (extent == GT_EXTENT_OWN && c / block != rank))
			continue;
		gpu->input[c] = (struct gt_import_value){
			.chunk = c, .count = 1, .known = 1};
	}
	return GT_OK;
}

int gt_import_replay(struct gt_import_file *algo, struct gt_plan *plan,
		     struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t r = 0; !rc && r < algo->ngpus; r++)
		rc = gt_replay_values(algo, r, err);
	if (!rc)
		rc = gt_import_links(algo, plan, err);
	if (!rc)
		rc = gt_replay_all(algo, err);
	for (uint32_t r = 0; !rc && algo->inplace && r < algo->ngpus; r++)
		if (algo->gpus[r].ntbs)
			gt_replay_complete(algo, r);
	return rc;
}
