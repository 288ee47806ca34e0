#include "unit/oracle.h"

#include <string.h>

/* What a final step multiplies by, so that one too many or few shows. */
static const uint64_t final_factor = 0x9e3779b97f4a7c15;

/* What is nowhere else. */
static const uint64_t nonsense = 1;

struct oracle_fifo {
	uint64_t data, credit;
	uint64_t slot[ORACLE_SLOTS];
};

typedef uint64_t oracle_memory[ORACLE_RANKS][ORACLE_CHUNKS][ORACLE_LOOPS];

struct oracle {
	const struct oracle_args *args;
	uint32_t seed, nchunks, nblocks;
	uint32_t at[ORACLE_RANKS * ORACLE_LANES]; /* steps done, in all loops */
	oracle_memory in, out, scratch;
	struct oracle_fifo fifos[ORACLE_RANKS][ORACLE_RANKS][ORACLE_TAGS];
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

static struct oracle_fifo *fifo_of(struct oracle *o,
				   const struct gt_program *program,
				   const struct gt_operand *operand)
{
	const struct gt_conn *conn = &program->conns[operand->conn];
	uint32_t from = conn->sends ? program->rank : conn->peer;
	uint32_t to = conn->sends ? conn->peer : program->rank;

	return &o->fifos[from][to][conn->tag % ORACLE_TAGS];
}

static int ready(struct oracle *o, const struct gt_program *program,
		 const struct gt_step *step)
{
	for (int k = 0; k < step->nsrc + step->ndst; k++) {
		const struct gt_operand *operand = operand_of(step, k);
		struct oracle_fifo *fifo;

		if (!(operand->flags & GT_OPERAND_WAIT))
			continue;
		fifo = fifo_of(o, program, operand);
		if (k >= step->nsrc
			    ? fifo->data - fifo->credit >= o->args->slots
			    : fifo->credit >= fifo->data)
			return 0;
	}
	return 1;
}

/* NULL for an operand without bytes. */
static uint64_t *place_of(struct oracle *o, const struct gt_program *program,
			  const struct gt_operand *operand, int writes,
			  uint32_t loop)
{
	uint32_t rank = program->rank;
	struct oracle_fifo *fifo;

	switch (operand->buf) {
	case GT_BUF_NONE:
		return NULL;
	case GT_BUF_INPUT:
		return &o->in[rank][operand->chunk][loop];
	case GT_BUF_OUTPUT:
		return o->args->inplace ? &o->in[rank][operand->chunk][loop]
					: &o->out[rank][operand->chunk][loop];
	case GT_BUF_SCRATCH:
		return &o->scratch[rank][operand->chunk][loop];
	default:
		break;
	}
	fifo = fifo_of(o, program, operand);
	return &fifo->slot[(writes ? fifo->data : fifo->credit) %
			   o->args->slots];
}

static void post(struct oracle *o, const struct gt_program *program,
		 const struct gt_step *step)
{
	for (int k = 0; k < step->nsrc + step->ndst; k++) {
		const struct gt_operand *operand = operand_of(step, k);

		if (!(operand->flags & GT_OPERAND_POST))
			continue;
		if (k >= step->nsrc)
			fifo_of(o, program, operand)->data++;
		else
			fifo_of(o, program, operand)->credit++;
	}
}

static void execute(struct oracle *o, const struct gt_program *program,
		    const struct gt_step *step, uint32_t loop)
{
	uint64_t sum = 0, *place;

	for (int k = 0; k < step->nsrc; k++) {
		place = place_of(o, program, operand_of(step, k), 0, loop);
		sum += place ? *place : 0;
	}
	if (step->flags & GT_STEP_FINAL)
		sum *= final_factor;
	for (int k = step->nsrc; k < step->nsrc + step->ndst; k++) {
		place = place_of(o, program, operand_of(step, k), 1, loop);
		if (place)
			*place = sum;
	}
	post(o, program, step);
}

/* From a random lane on, the first that can go on does one step. */
static int advance_one(struct oracle *o)
{
	uint32_t n = o->args->nranks * o->args->nlanes;
	uint32_t first = oracle_random(&o->seed) % n;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t p = (first + i) % n;
		const struct gt_program *program = &o->args->programs[p];
		const struct gt_step *step;

		if (o->at[p] == program->nsteps * ORACLE_LOOPS)
			continue;
		step = &program->steps[o->at[p] % program->nsteps];
		if (!ready(o, program, step))
			continue;
		execute(o, program, step, o->at[p] / program->nsteps);
		do
			o->at[p]++;
		while ((step++)->flags & GT_STEP_MORE);
		return 1;
	}
	return 0;
}

/* Does an output, or an input, have what the collective says is there? */
static int has_output(const struct oracle *o, uint32_t rank, uint32_t block)
{
	switch (o->args->coll) {
	case GT_COLL_REDUCESCATTER:
	case GT_COLL_SCATTER:
		return block == rank;
	case GT_COLL_REDUCE:
	case GT_COLL_GATHER:
		return rank == o->args->root;
	default:
		return 1;
	}
}

static int has_input(const struct oracle *o, uint32_t rank, uint32_t block)
{
	switch (o->args->coll) {
	case GT_COLL_ALLGATHER:
	case GT_COLL_GATHER:
		return block == rank;
	case GT_COLL_BROADCAST:
	case GT_COLL_SCATTER:
		return rank == o->args->root;
	default:
		return 1;
	}
}

static uint64_t wanted(const struct oracle *o, uint32_t rank, uint32_t chunk,
		       uint32_t loop)
{
	uint32_t n = o->args->nranks, each = o->nchunks / o->nblocks;
	uint64_t sum = 0;

	switch (o->args->coll) {
	case GT_COLL_ALLGATHER:
	case GT_COLL_GATHER:
		return given(chunk / each, chunk, loop);
	case GT_COLL_BROADCAST:
	case GT_COLL_SCATTER:
		return given(o->args->root, chunk, loop);
	case GT_COLL_SENDRECV:
		return given(rank ? rank - 1 : n - 1, chunk, loop);
	case GT_COLL_ALLTOALL:
		return given(chunk / each, rank * each + chunk % each, loop);
	default:
		for (uint32_t r = 0; r < n; r++)
			sum += given(r, chunk, loop);
		return sum * final_factor;
	}
}

/* Does a demand have nothing for this block of a rank's output? */
static int is_empty(const struct oracle *o, uint32_t rank, uint32_t from)
{
	return o->args->units && from != rank &&
	       !o->args->units[from * o->args->nranks + rank];
}

static int right(const struct oracle *o, uint32_t rank, uint32_t chunk)
{
	uint32_t block = chunk / (o->nchunks / o->nblocks);

	if (!has_output(o, rank, block) || is_empty(o, rank, block) ||
	    (o->args->one_block && block != o->args->block))
		return 1;
	for (uint32_t l = 0; l < ORACLE_LOOPS; l++)
		if ((o->args->inplace ? o->in : o->out)[rank][chunk][l] !=
		    wanted(o, rank, chunk, l))
			return 0;
	return 1;
}

static void begin(struct oracle *o)
{
	uint32_t each = o->nchunks / o->nblocks;

	for (uint32_t r = 0; r < ORACLE_RANKS; r++)
		for (uint32_t c = 0; c < ORACLE_CHUNKS; c++)
			for (uint32_t l = 0; l < ORACLE_LOOPS; l++) {
				o->out[r][c][l] = nonsense;
				o->scratch[r][c][l] = nonsense;
				o->in[r][c][l] = has_input(o, r, c / each)
							 ? given(r, c, l)
							 : nonsense;
			}
}

static uint32_t blocks_of(const struct oracle_args *args)
{
	switch (args->coll) {
	case GT_COLL_ALLREDUCE:
	case GT_COLL_BROADCAST:
	case GT_COLL_REDUCE:
	case GT_COLL_SENDRECV:
		return 1;
	default:
		return args->nranks;
	}
}

int oracle_agrees(const struct oracle_args *args)
{
	static struct oracle o;

	memset(&o, 0, sizeof(o));
	o.args = args;
	o.seed = args->seed | 1;
	o.nchunks = args->programs[0].nchunks;
	o.nblocks = blocks_of(args);
	begin(&o);
	while (advance_one(&o))
		;
	for (uint32_t p = 0; p < args->nranks * args->nlanes; p++)
		if (o.at[p] != args->programs[p].nsteps * ORACLE_LOOPS)
			return 0;
	for (uint32_t r = 0; r < args->nranks; r++)
		for (uint32_t c = 0; c < o.nchunks; c++)
			if (!right(&o, r, c))
				return 0;
	return 1;
}
