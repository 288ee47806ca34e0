#include "unit/oracle.h"

#include <string.h>

/* What a final step multiplies by, so that one too many or few shows. */
static const uint64_t final_factor = 0x9e3779b97f4a7c15;

struct oracle_fifo {
	uint64_t data, credit;
	uint64_t slot[ORACLE_SLOTS];
};

struct oracle {
	const struct oracle_args *args;
	uint32_t seed;
	uint32_t at[ORACLE_RANKS]; /* steps done, over all loops */
	uint64_t in[ORACLE_RANKS][ORACLE_RANKS][ORACLE_LOOPS];
	uint64_t out[ORACLE_RANKS][ORACLE_RANKS][ORACLE_LOOPS];
	struct oracle_fifo fifos[ORACLE_RANKS][ORACLE_RANKS];
};

uint32_t oracle_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static uint64_t given(uint64_t rank, uint64_t chunk, uint64_t loop)
{
	uint64_t x = (rank * 64 + chunk) * 64 + loop + 1;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static const struct gt_operand *operand_of(const struct gt_step *step, int k)
{
	return &step[k / GT_STEP_OPERANDS].operand[k % GT_STEP_OPERANDS];
}

/* Tests have at most one FIFO from a rank to another. */
static struct oracle_fifo *fifo_of(struct oracle *o, uint32_t rank,
				   const struct gt_operand *operand, int writes)
{
	uint32_t peer = o->args->programs[rank].conns[operand->conn].peer;

	return writes ? &o->fifos[rank][peer] : &o->fifos[peer][rank];
}

static int ready(struct oracle *o, uint32_t rank, const struct gt_step *step)
{
	for (int k = 0; k < step->nsrc + step->ndst; k++) {
		const struct gt_operand *operand = operand_of(step, k);
		struct oracle_fifo *fifo;

		if (!(operand->flags & GT_OPERAND_WAIT))
			continue;
		fifo = fifo_of(o, rank, operand, k >= step->nsrc);
		if (k >= step->nsrc
			    ? fifo->data - fifo->credit >= o->args->slots
			    : fifo->credit >= fifo->data)
			return 0;
	}
	return 1;
}

static uint64_t *place_of(struct oracle *o, uint32_t rank,
			  const struct gt_operand *operand, int writes,
			  uint32_t loop)
{
	struct oracle_fifo *fifo;

	if (operand->buf == GT_BUF_INPUT)
		return &o->in[rank][operand->chunk][loop];
	if (operand->buf == GT_BUF_OUTPUT)
		return o->args->inplace ? &o->in[rank][operand->chunk][loop]
					: &o->out[rank][operand->chunk][loop];
	fifo = fifo_of(o, rank, operand, writes);
	return &fifo->slot[(writes ? fifo->data : fifo->credit) %
			   o->args->slots];
}

static void execute(struct oracle *o, uint32_t rank, const struct gt_step *step,
		    uint32_t loop)
{
	uint64_t sum = 0;

	for (int k = 0; k < step->nsrc; k++)
		sum += *place_of(o, rank, operand_of(step, k), 0, loop);
	if (step->flags & GT_STEP_FINAL)
		sum *= final_factor;
	for (int k = step->nsrc; k < step->nsrc + step->ndst; k++)
		*place_of(o, rank, operand_of(step, k), 1, loop) = sum;
	for (int k = 0; k < step->nsrc + step->ndst; k++) {
		const struct gt_operand *operand = operand_of(step, k);

		if (!(operand->flags & GT_OPERAND_POST))
			continue;
		if (k >= step->nsrc)
			fifo_of(o, rank, operand, 1)->data++;
		else
			fifo_of(o, rank, operand, 0)->credit++;
	}
}

/* From a random rank on, the first that can go on does one step. */
static int advance_one(struct oracle *o)
{
	uint32_t n = o->args->nranks, first = oracle_random(&o->seed) % n;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t rank = (first + i) % n;
		const struct gt_program *program = &o->args->programs[rank];
		const struct gt_step *step;

		if (o->at[rank] == program->nsteps * ORACLE_LOOPS)
			continue;
		step = &program->steps[o->at[rank] % program->nsteps];
		if (!ready(o, rank, step))
			continue;
		execute(o, rank, step, o->at[rank] / program->nsteps);
		do
			o->at[rank]++;
		while ((step++)->flags & GT_STEP_MORE);
		return 1;
	}
	return 0;
}

static int right(const struct oracle *o, uint32_t rank, uint32_t chunk,
		 uint32_t loop)
{
	uint64_t got = o->args->inplace ? o->in[rank][chunk][loop]
					: o->out[rank][chunk][loop];
	uint64_t want = 0;

	if (o->args->rooted && chunk != o->args->root)
		return 1;
	if (o->args->coll == GT_COLL_ALLGATHER)
		return got == given(chunk, chunk, loop);
	if (o->args->coll == GT_COLL_REDUCESCATTER && chunk != rank)
		return 1;
	for (uint32_t r = 0; r < o->args->nranks; r++)
		want += given(r, chunk, loop);
	return got == want * final_factor;
}

static void begin(struct oracle *o)
{
	for (uint32_t r = 0; r < ORACLE_RANKS; r++)
		for (uint32_t c = 0; c < ORACLE_RANKS; c++)
			for (uint32_t l = 0; l < ORACLE_LOOPS; l++) {
				o->out[r][c][l] = 1;
				o->in[r][c][l] = given(r, c, l);
				if (o->args->coll == GT_COLL_ALLGATHER &&
				    c != r)
					o->in[r][c][l] = 1;
			}
}

int oracle_agrees(const struct oracle_args *args)
{
	static struct oracle o;
	uint32_t nchunks = args->programs[0].nchunks;

	memset(&o, 0, sizeof(o));
	o.args = args;
	o.seed = args->seed | 1;
	begin(&o);
	while (advance_one(&o))
		;
	for (uint32_t r = 0; r < args->nranks; r++) {
		if (o.at[r] != args->programs[r].nsteps * ORACLE_LOOPS)
			return 0;
		for (uint32_t c = 0; c < nchunks; c++)
			for (uint32_t l = 0; l < ORACLE_LOOPS; l++)
				if (!right(&o, r, c, l))
					return 0;
	}
	return 1;
}
