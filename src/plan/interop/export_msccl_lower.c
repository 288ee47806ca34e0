/*
 * Programs as MSCCL's thread blocks: each has one connection in and one out,
 * and steps of different thread blocks wait for each other where they touch the
 * same memory.
 */
#include "plan/interop/export_msccl.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

enum { GT_MSCCL_NONE = UINT32_MAX };

/* A program while it is turned into thread blocks. */
struct gt_msccl_lowering {
	const struct gt_msccl *m;
	struct gt_msccl_gpu *gpu;
	struct gt_program program;
	uint32_t selected; /* which of the row's channels */
	uint32_t lane;     /* among all of the GPU's programs */
	uint32_t *tb;      /* by connection: its thread block */
	uint32_t local;    /* the thread block of steps without one, or NONE */
	uint32_t *scratch; /* by chunk: its unit, or NONE */
	uint32_t first;    /* the program's first op */
};

/*
 * The place where a chunk of the input or output begins, in units of that
 * buffer.
 */
static struct gt_msccl_at gt_msccl_place_of(const struct gt_msccl *m,
					    uint32_t selected, uint32_t rank,
					    char buf, uint32_t chunk)
{
	enum gt_extent extent = buf == 'i' ? gt_layout_input(&m->use, rank)
					   : gt_layout_output(&m->use, rank);
	uint32_t block = chunk / m->per_block, part = chunk % m->per_block;
	struct gt_msccl_at at = {.buf = buf, .chunk = chunk};

	at.unit = m->before[selected] + part * m->count[selected];
	if (extent == GT_EXTENT_ALL)
		at.unit += block * m->block;
	return at;
}

static struct gt_msccl_at gt_msccl_lower_scratch(struct gt_msccl_lowering *t,
						 uint32_t chunk)
{
	if (t->scratch[chunk] == GT_MSCCL_NONE) {
		t->scratch[chunk] = t->gpu->nscratch;
		t->gpu->nscratch += t->m->count[t->selected];
	}
	return (struct gt_msccl_at){
		.buf = 's', .chunk = chunk, .unit = t->scratch[chunk]};
}

void gt_msccl_sort(const struct gt_msccl *m, uint32_t selected, uint32_t rank,
		   const struct gt_step *step, struct gt_msccl_step *out)
{
	memset(out, 0, sizeof(*out));
	for (uint32_t i = 0; i < (uint32_t)step->nsrc + step->ndst; i++) {
		const struct gt_operand *operand = gt_step_operand(step, i);
		int dst = i >= step->nsrc;
		char buf = operand->buf == GT_BUF_INPUT ? 'i' : 'o';

		if (operand->buf == GT_BUF_FIFO) {
			if (dst)
				out->sends[out->nsends++] = operand->conn;
			else
				out->recvs[out->nrecvs++] = operand->conn;
			continue;
		}
		if ((operand->buf != GT_BUF_INPUT &&
		     operand->buf != GT_BUF_OUTPUT) ||
		    (dst ? out->has_dst : out->has_src)) {
			out->other = 1;
			continue;
		}
		if (dst) {
			out->has_dst = 1;
			out->dst = gt_msccl_place_of(m, selected, rank, buf,
						     operand->chunk);
		} else {
			out->has_src = 1;
			out->src = gt_msccl_place_of(m, selected, rank, buf,
						     operand->chunk);
		}
	}
}

static uint32_t gt_msccl_lower_tb(struct gt_msccl_lowering *t, int recv,
				  int send, uint32_t tag)
{
	const struct gt_msccl *m = t->m;
	struct gt_msccl_tb *tb = &t->gpu->tbs[t->gpu->ntbs];

	tb->recv = recv;
	tb->send = send;
	tb->chan = m->chan[t->selected] + tag;
	return t->gpu->ntbs++;
}

/*
 * Make the thread blocks: a connection in and one out share one if some step
 * uses just these two; each other connection has its own.
 */
static void gt_msccl_lower_blocks(struct gt_msccl_lowering *t)
{
	const struct gt_program *program = &t->program;
	const struct gt_conn *conns = program->conns;
	struct gt_msccl_step step;

	for (uint32_t i = 0; i < program->nsteps;
	     i += gt_step_nrecords(&program->steps[i])) {
		uint32_t r, s;

		gt_msccl_sort(t->m, t->selected, program->rank,
			      &program->steps[i], &step);
		if (step.nrecvs != 1 || step.nsends != 1)
			continue;
		r = step.recvs[0];
		s = step.sends[0];
		if (t->tb[r] != GT_MSCCL_NONE || t->tb[s] != GT_MSCCL_NONE ||
		    conns[r].tag != conns[s].tag)
			continue;
		t->tb[r] = t->tb[s] =
			gt_msccl_lower_tb(t, (int)conns[r].peer,
					  (int)conns[s].peer, conns[r].tag);
	}
	for (uint32_t c = 0; c < program->nconns; c++)
		if (t->tb[c] == GT_MSCCL_NONE)
			t->tb[c] = gt_msccl_lower_tb(
				t, conns[c].sends ? -1 : (int)conns[c].peer,
				conns[c].sends ? (int)conns[c].peer : -1,
				conns[c].tag);
}

static int gt_msccl_lower_same(const struct gt_msccl_at *a,
			       const struct gt_msccl_at *b)
{
	return (a->buf == 's') == (b->buf == 's') && a->chunk == b->chunk;
}

/* Must op b wait for op a?  Input and output may be one memory. */
static int gt_msccl_lower_conflict(const struct gt_msccl_op *a,
				   const struct gt_msccl_op *b)
{
	return (a->writes && b->reads &&
		gt_msccl_lower_same(&a->dst, &b->src)) ||
	       (a->reads && b->writes &&
		gt_msccl_lower_same(&a->src, &b->dst)) ||
	       (a->writes && b->writes &&
		gt_msccl_lower_same(&a->dst, &b->dst));
}

static struct gt_msccl_op *gt_msccl_lower_append(struct gt_msccl_lowering *t,
						 const struct gt_msccl_op *op)
{
	struct gt_msccl_op *made = &t->gpu->ops[t->gpu->nops++];

	*made = *op;
	made->step = t->gpu->tbs[op->tb].nsteps++;
	return made;
}

/* Has the thread block already waited for this op, or for one behind it? */
static int gt_msccl_lower_waited(const struct gt_msccl_lowering *t, uint32_t tb,
				 uint32_t dep)
{
	const struct gt_msccl_op *ops = t->gpu->ops;

	for (uint32_t i = t->first; i < t->gpu->nops; i++)
		if (ops[i].tb == tb && ops[i].has_dep &&
		    ops[ops[i].dep].tb == ops[dep].tb &&
		    ops[ops[i].dep].step >= ops[dep].step)
			return 1;
	return 0;
}

/*
 * Append an op behind those of other thread blocks that it has to wait for;
 * it can name one, no-ops before it name the others.
 */
static void gt_msccl_lower_add(struct gt_msccl_lowering *t,
			       struct gt_msccl_op op)
{
	uint32_t last = GT_MSCCL_NONE;

	op.lane = t->lane;
	op.count = t->m->count[t->selected];
	for (uint32_t i = t->gpu->nops; i-- > t->first;) {
		const struct gt_msccl_op *before = &t->gpu->ops[i];
		struct gt_msccl_op nop = {.type = GT_MSCCL_NOP, .tb = op.tb};

		if (before->tb == op.tb || before->type == GT_MSCCL_NOP ||
		    !gt_msccl_lower_conflict(before, &op) ||
		    gt_msccl_lower_waited(t, op.tb, i) ||
		    (last != GT_MSCCL_NONE &&
		     before->tb == t->gpu->ops[last].tb))
			continue;
		if (last != GT_MSCCL_NONE) {
			nop.has_dep = 1;
			nop.dep = last;
			t->gpu->ops[last].awaited = 1;
			gt_msccl_lower_append(t, &nop);
		}
		last = i;
	}
	if (last != GT_MSCCL_NONE) {
		op.has_dep = 1;
		op.dep = last;
		t->gpu->ops[last].awaited = 1;
	}
	gt_msccl_lower_append(t, &op);
}

static void gt_msccl_lower_op(struct gt_msccl_lowering *t,
			      enum gt_msccl_type type, uint32_t tb,
			      const struct gt_msccl_at *src,
			      const struct gt_msccl_at *dst)
{
	struct gt_msccl_op op = {.type = type, .tb = tb};

	op.reads = src != NULL;
	op.writes = dst != NULL;
	if (src)
		op.src = *src;
	if (dst)
		op.dst = *dst;
	gt_msccl_lower_add(t, op);
}

/* A step that receives nothing copies, and sends. */
static void gt_msccl_lower_give(struct gt_msccl_lowering *t,
				const struct gt_msccl_step *step)
{
	if (step->has_dst && !step->nsends && t->local == GT_MSCCL_NONE)
		t->local = t->program.nconns ? t->tb[0]
					     : gt_msccl_lower_tb(t, -1, -1, 0);
	if (step->has_dst)
		gt_msccl_lower_op(t, GT_MSCCL_CPY,
				  step->nsends ? t->tb[step->sends[0]]
					       : t->local,
				  &step->src, &step->dst);
	for (uint32_t i = 0; i < step->nsends; i++)
		gt_msccl_lower_op(t, GT_MSCCL_S, t->tb[step->sends[i]],
				  &step->src, NULL);
}

/* A step whose one message comes in and goes on by the same thread block. */
static void gt_msccl_lower_pass(struct gt_msccl_lowering *t,
				const struct gt_msccl_step *step,
				uint32_t chunk)
{
	uint32_t tb = t->tb[step->recvs[0]];
	struct gt_msccl_at at =
		step->has_dst ? step->dst : gt_msccl_lower_scratch(t, chunk);

	if (step->has_src && step->has_dst)
		gt_msccl_lower_op(t, GT_MSCCL_RRCS, tb, &step->src, &step->dst);
	else if (step->has_src)
		gt_msccl_lower_op(t, GT_MSCCL_RRS, tb, &step->src, NULL);
	else
		gt_msccl_lower_op(t, GT_MSCCL_RCS, tb, NULL, &at);
}

/*
 * A step with several messages gathers them in one place, and sends from there.
 */
static void gt_msccl_lower_join(struct gt_msccl_lowering *t,
				const struct gt_msccl_step *step,
				uint32_t chunk)
{
	struct gt_msccl_at at =
		step->has_dst ? step->dst : gt_msccl_lower_scratch(t, chunk);

	for (uint32_t i = 0; i < step->nrecvs; i++) {
		uint32_t tb = t->tb[step->recvs[i]];

		if (i)
			gt_msccl_lower_op(t, GT_MSCCL_RRC, tb, &at, &at);
		else if (step->has_src)
			gt_msccl_lower_op(t, GT_MSCCL_RRC, tb, &step->src, &at);
		else
			gt_msccl_lower_op(t, GT_MSCCL_R, tb, NULL, &at);
	}
	for (uint32_t i = 0; i < step->nsends; i++)
		gt_msccl_lower_op(t, GT_MSCCL_S, t->tb[step->sends[i]], &at,
				  NULL);
}

static int gt_msccl_lower_steps(struct gt_msccl_lowering *t, struct gt_err *err)
{
	const struct gt_program *program = &t->program;
	struct gt_msccl_step step;

	for (uint32_t i = 0; i < program->nsteps;
	     i += gt_step_nrecords(&program->steps[i])) {
		gt_msccl_sort(t->m, t->selected, program->rank,
			      &program->steps[i], &step);
		if (step.other || (!step.nrecvs && !step.has_src))
			return gt_err_set(err, GT_EINPUT, t->m->plan->file,
					  "rank %u: step %u has no counterpart "
					  "in MSCCL",
					  program->rank, program->steps[i].id);
		if (!step.nrecvs)
			gt_msccl_lower_give(t, &step);
		else if (step.nrecvs == 1 && step.nsends == 1 &&
			 t->tb[step.recvs[0]] == t->tb[step.sends[0]])
			gt_msccl_lower_pass(t, &step, program->steps[i].chunk);
		else
			gt_msccl_lower_join(t, &step, program->steps[i].chunk);
	}
	return GT_OK;
}

static int gt_msccl_lower_begin(struct gt_msccl_lowering *t, struct gt_err *err)
{
	struct gt_arena *arena = t->m->arena;
	const struct gt_program *program = &t->program;

	t->tb = gt_arena_array(arena, program->nconns + 1, sizeof(*t->tb));
	t->scratch =
		gt_arena_array(arena, program->nchunks, sizeof(*t->scratch));
	if (!t->tb || !t->scratch)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < program->nconns; i++)
		t->tb[i] = GT_MSCCL_NONE;
	for (uint32_t i = 0; i < program->nchunks; i++)
		t->scratch[i] = GT_MSCCL_NONE;
	t->local = GT_MSCCL_NONE;
	t->first = t->gpu->nops;
	return GT_OK;
}

/* Make room for the thread blocks and ops of all programs, no-ops included. */
static int gt_msccl_room(const struct gt_msccl *m,
			 const struct gt_program *programs, uint32_t n,
			 struct gt_msccl_gpu *gpu, struct gt_err *err)
{
	size_t ntbs = 0, nops = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct gt_program *program = &programs[i];
		size_t operands = 0;

		ntbs += program->nconns + 1;
		for (uint32_t k = 0; k < program->nsteps;
		     k += gt_step_nrecords(&program->steps[k]))
			operands += program->steps[k].nsrc +
				    (size_t)program->steps[k].ndst;
		nops += operands * (program->nconns + 2);
	}
	gpu->tbs = gt_arena_array(m->arena, ntbs, sizeof(*gpu->tbs));
	gpu->ops = gt_arena_array(m->arena, nops, sizeof(*gpu->ops));
	return gpu->tbs && gpu->ops ? GT_OK : gt_err_nomem(err);
}

int gt_msccl_lower(const struct gt_msccl *m, uint32_t rank,
		   struct gt_msccl_gpu *gpu, struct gt_err *err)
{
	uint32_t n = m->row->nchannels * m->nlanes;
	struct gt_program *programs =
		gt_arena_array(m->arena, n, sizeof(*programs));
	struct gt_lower_query want = {.use = m->use, .rank = rank};
	int rc = programs ? GT_OK : gt_err_nomem(err);

	memset(gpu, 0, sizeof(*gpu));
	for (uint32_t i = 0; !rc && i < n; i++) {
		want.channel = m->row->channels[i / m->nlanes];
		want.lane = i % m->nlanes;
		rc = gt_lower(m->plan, &want, m->arena, &programs[i], err);
	}
	if (!rc)
		rc = gt_msccl_room(m, programs, n, gpu, err);
	for (uint32_t i = 0; !rc && i < n; i++) {
		struct gt_msccl_lowering lowering = {.m = m,
						     .gpu = gpu,
						     .program = programs[i],
						     .selected = i / m->nlanes,
						     .lane = i};

		if (!programs[i].nsteps)
			continue;
		rc = gt_msccl_lower_begin(&lowering, err);
		if (rc)
			break;
		gt_msccl_lower_blocks(&lowering);
		rc = gt_msccl_lower_steps(&lowering, err);
	}
	return rc;
}
