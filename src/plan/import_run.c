#include "plan/import_run.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/xml.h"
#include "plan/import_msccl.h"
#include "plan/plan.h"
#include "plan/step.h"

enum { GT_IMPORT_OPERANDS = 255 };

/* A step about to be executed. */
struct gt_run_step {
	struct gt_algo_file *algo;
	uint32_t rank;
	struct gt_algo_tb *tb;
	const struct gt_algo_step *step;
	uint32_t at; /* which of its chunks */
	uint32_t nsrc, ndst, ndata;
	struct gt_operand operands[2 * GT_IMPORT_OPERANDS];
	struct gt_algo_value value;
};

static uint32_t gt_run_chunks(const struct gt_algo_file *algo)
{
	return algo->nchunks / algo->unit;
}

static uint32_t gt_run_block(const struct gt_algo_file *algo)
{
	uint32_t n = gt_run_chunks(algo);

	return gt_coll_has_blocks(algo->coll) ? n / algo->ngpus : n;
}

static enum gt_extent gt_run_extent(const struct gt_algo_file *algo, char buf,
				    uint32_t rank)
{
	struct gt_use use = {.coll = algo->coll, .root = algo->root};

	return buf == 'i' ? gt_layout_input(&use, rank)
			  : gt_layout_output(&use, rank);
}

/* A chunk of a buffer as one of the whole; UINT32_MAX where it has none. */
static uint32_t gt_run_whole(const struct gt_algo_file *algo, char buf,
			     uint32_t rank, uint32_t at)
{
	enum gt_extent extent = gt_run_extent(algo, buf, rank);
	uint32_t block = gt_run_block(algo);

	if (extent == GT_EXTENT_OWN && at < block)
		return rank * block + at;
	if (extent == GT_EXTENT_ALL && at < gt_run_chunks(algo))
		return at;
	/* In place, the smaller buffer is a part of the larger one. */
	if (algo->inplace && at < gt_run_chunks(algo))
		return at;
	return UINT32_MAX;
}

static int gt_run_fail(const struct gt_run_step *s, const char *attr,
		       struct gt_err *err, const char *what)
{
	return gt_xml_fail(s->step->elem, attr, err, "%s", what);
}

static void gt_run_operand(struct gt_run_step *s, int writes,
			   struct gt_operand operand)
{
	if (writes)
		s->operands[s->nsrc + s->ndst++] = operand;
	else
		s->operands[s->nsrc++] = operand;
}

/* Another source of the step's sum. */
static int gt_run_add(struct gt_run_step *s, const struct gt_algo_value *value,
		      struct gt_err *err)
{
	if (!value->known)
		return gt_run_fail(s, NULL, err,
				   "it reads what nobody has written");
	if (s->ndata && s->value.chunk != value->chunk)
		return gt_run_fail(s, NULL, err, "it adds different chunks");
	s->value.chunk = value->chunk;
	s->value.count += value->count;
	s->value.known = 1;
	s->ndata++;
	return GT_OK;
}

static int gt_run_load(struct gt_run_step *s, char buf, int place,
		       struct gt_err *err)
{
	struct gt_algo_gpu *gpu = &s->algo->gpus[s->rank];
	uint32_t at = (uint32_t)place / s->algo->unit + s->at;
	const struct gt_algo_value *value;
	int fresh = buf == 'i';

	if (buf == 's') {
		if (at >= gpu->nscratch)
			return gt_run_fail(s, NULL, err,
					   "it reads beyond the scratch");
		gt_run_operand(s, 0, gt_operand_user(GT_BUF_SCRATCH, at));
		return gt_run_add(s, &gpu->scratch[at], err);
	}
	at = gt_run_whole(s->algo, buf, s->rank, at);
	if (at == UINT32_MAX)
		return gt_run_fail(s, NULL, err, "it reads beyond the buffer");
	if (s->algo->inplace)
		fresh = !gpu->output[at].written;
	value = fresh ? &gpu->input[at] : &gpu->output[at];
	gt_run_operand(
		s, 0,
		gt_operand_user(fresh ? GT_BUF_INPUT : GT_BUF_OUTPUT, at));
	return gt_run_add(s, value, err);
}

static int gt_run_store(struct gt_run_step *s, struct gt_err *err)
{
	struct gt_algo_gpu *gpu = &s->algo->gpus[s->rank];
	uint32_t at = (uint32_t)s->step->dst_at / s->algo->unit + s->at;
	char buf = s->step->dst;

	if (buf == 's') {
		if (at >= gpu->nscratch)
			return gt_run_fail(s, "dstoff", err,
					   "it writes beyond the scratch");
		gpu->scratch[at] = s->value;
		gt_run_operand(s, 1, gt_operand_user(GT_BUF_SCRATCH, at));
		return GT_OK;
	}
	if (buf == 'i' && !s->algo->inplace)
		return gt_run_fail(s, "dstbuf", err,
				   "it writes to its input, but does not work "
				   "in place only");
	at = gt_run_whole(s->algo, buf, s->rank, at);
	if (at == UINT32_MAX ||
	    (gt_run_extent(s->algo, 'o', s->rank) == GT_EXTENT_OWN &&
	     at / gt_run_block(s->algo) != s->rank))
		return gt_run_fail(s, "dstoff", err,
				   "it writes beyond the output");
	if (s->algo->coll != GT_COLL_ALLTOALL && at != s->value.chunk)
		return gt_run_fail(s, "dstoff", err,
				   "it puts a chunk where another belongs");
	gpu->output[at] = s->value;
	gpu->output[at].written = 1;
	gt_run_operand(s, 1, gt_operand_user(GT_BUF_OUTPUT, at));
	return GT_OK;
}

static struct gt_operand gt_run_none(uint16_t conn)
{
	return (struct gt_operand){.buf = GT_BUF_NONE,
				   .flags = GT_OPERAND_WAIT | GT_OPERAND_POST,
				   .conn = conn};
}

static int gt_run_sources(struct gt_run_step *s, struct gt_err *err)
{
	const struct gt_algo_step *step = s->step;
	struct gt_algo_tb *tb = s->tb;
	int rc = GT_OK;

	if (!s->at && step->dep_tb >= 0)
		gt_run_operand(
			s, 0,
			gt_run_none((uint16_t)tb->dep_conn[step->dep_tb]));
	if (gt_algo_receives(step->type)) {
		gt_run_operand(s, 0, gt_operand_slot(tb->recv_conn));
		rc = gt_run_add(s, &tb->from->sent[tb->ntaken++], err);
	}
	if (!rc && gt_algo_loads(step->type))
		rc = gt_run_load(s, step->src, step->src_at, err);
	if (!rc && step->type == GT_ALGO_TYPE_RE)
		rc = gt_run_load(s, step->dst, step->dst_at, err);
	return rc;
}

static int gt_run_targets(struct gt_run_step *s, struct gt_err *err)
{
	const struct gt_algo_step *step = s->step;
	uint32_t last = (uint32_t)step->count / s->algo->unit - 1;
	struct gt_algo_tb *tb = s->tb;
	int rc = GT_OK;

	if (gt_algo_stores(step->type))
		rc = gt_run_store(s, err);
	if (gt_algo_sends(step->type)) {
		gt_run_operand(s, 1, gt_operand_slot(tb->send_conn));
		tb->sent[tb->nsent++] = s->value;
	}
	if (step->type != GT_ALGO_TYPE_NOP && s->at < last)
		return rc;
	for (const struct gt_algo_wait *w = step->waits; w; w = w->next)
		gt_run_operand(s, 1, gt_run_none(w->conn));
	return rc;
}

/* One chunk of a step, or a no-op. */
static int gt_run_chunk(struct gt_run_step *s, struct gt_err *err)
{
	struct gt_step_list list = {.operands = s->operands};
	int rc;

	s->nsrc = s->ndst = s->ndata = 0;
	s->value = (struct gt_algo_value){0};
	rc = gt_run_sources(s, err);
	if (!rc)
		rc = gt_run_targets(s, err);
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

/* Has what it receives been sent, and what it waits for been done? */
static int gt_run_ready(const struct gt_algo_file *algo, uint32_t rank,
			const struct gt_algo_tb *tb)
{
	const struct gt_algo_step *step = &tb->steps[tb->step];
	uint32_t n = (uint32_t)step->count / algo->unit;

	if (gt_algo_receives(step->type) && tb->from->nsent < tb->ntaken + n)
		return 0;
	return step->dep_tb < 0 || algo->gpus[rank].tbs[step->dep_tb].step >
					   (uint32_t)step->dep_step;
}

/* As far as a thread block gets; 1 when it got on. */
static int gt_run_block_on(struct gt_algo_file *algo, uint32_t rank,
			   struct gt_algo_tb *tb, int *moved,
			   struct gt_err *err)
{
	struct gt_run_step s = {.algo = algo, .rank = rank, .tb = tb};
	int rc = GT_OK;

	while (!rc && tb->step < tb->nsteps && gt_run_ready(algo, rank, tb)) {
		s.step = &tb->steps[tb->step];
		s.at = 0;
		do
			rc = gt_run_chunk(&s, err);
		while (!rc && s.step->type != GT_ALGO_TYPE_NOP &&
		       ++s.at < (uint32_t)s.step->count / algo->unit);
		tb->step++;
		*moved = 1;
	}
	return rc;
}

static int gt_run_stuck(const struct gt_algo_file *algo, struct gt_err *err)
{
	for (uint32_t r = 0; r < algo->ngpus; r++)
		for (uint32_t t = 0; t < algo->gpus[r].ntbs; t++) {
			const struct gt_algo_tb *tb = &algo->gpus[r].tbs[t];

			if (tb->step < tb->nsteps)
				return gt_xml_fail(
					tb->steps[tb->step].elem, NULL, err,
					"gpu %u, thread block %u: this step "
					"waits for ever",
					r, t);
		}
	return GT_OK;
}

static int gt_run_all(struct gt_algo_file *algo, struct gt_err *err)
{
	int moved = 1, rc = GT_OK;

	while (moved && !rc) {
		moved = 0;
		for (uint32_t r = 0; !rc && r < algo->ngpus; r++)
			for (uint32_t t = 0; !rc && t < algo->gpus[r].ntbs; t++)
				rc = gt_run_block_on(algo, r,
						     &algo->gpus[r].tbs[t],
						     &moved, err);
	}
	return rc ? rc : gt_run_stuck(algo, err);
}

/* What is in place already has to be copied where it is not. */
static void gt_run_complete(struct gt_algo_file *algo, uint32_t rank)
{
	struct gt_algo_gpu *gpu = &algo->gpus[rank];
	struct gt_operand operands[2];
	struct gt_step_list list = {.nsrc = 1, .ndst = 1, .operands = operands};

	for (uint32_t c = 0; c < gt_run_chunks(algo); c++) {
		if (!gpu->input[c].known || gpu->output[c].written ||
		    gt_run_extent(algo, 'o', rank) == GT_EXTENT_NONE ||
		    (gt_run_extent(algo, 'o', rank) == GT_EXTENT_OWN &&
		     c / gt_run_block(algo) != rank))
			continue;
		list.chunk = c;
		operands[0] = gt_operand_user(GT_BUF_INPUT, c);
		operands[1] = gt_operand_user(GT_BUF_OUTPUT, c);
		gt_step_add_list(gpu->tbs[0].program, &list);
	}
}

static int gt_run_values(struct gt_algo_file *algo, uint32_t rank,
			 struct gt_err *err)
{
	struct gt_algo_gpu *gpu = &algo->gpus[rank];
	uint32_t n = gt_run_chunks(algo), block = gt_run_block(algo);
	enum gt_extent extent = gt_run_extent(algo, 'i', rank);

	gpu->nscratch = (gpu->nscratch + algo->unit - 1) / algo->unit;
	gpu->input = gt_arena_array(algo->arena, n, sizeof(*gpu->input));
	gpu->output = gt_arena_array(algo->arena, n, sizeof(*gpu->output));
	gpu->scratch = gt_arena_array(algo->arena, gpu->nscratch,
				      sizeof(*gpu->scratch));
	if (!gpu->input || !gpu->output || !gpu->scratch)
		return gt_err_nomem(err);
	for (uint32_t c = 0; c < n; c++) {
		if (extent == GT_EXTENT_NONE ||
		    (extent == GT_EXTENT_OWN && c / block != rank))
			continue;
		gpu->input[c] = (struct gt_algo_value){
			.chunk = c, .count = 1, .known = 1};
	}
	return GT_OK;
}

int gt_import_run(struct gt_algo_file *algo, struct gt_plan *plan,
		  struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t r = 0; !rc && r < algo->ngpus; r++)
		rc = gt_run_values(algo, r, err);
	if (!rc)
		rc = gt_import_lanes(algo, plan, err);
	if (!rc)
		rc = gt_run_all(algo, err);
	for (uint32_t r = 0; !rc && algo->inplace && r < algo->ngpus; r++)
		if (algo->gpus[r].ntbs)
			gt_run_complete(algo, r);
	return rc;
}
