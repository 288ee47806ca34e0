/*
 * Programs executed on symbols: processes run until they wait, a post wakes who
 * may go on, and in the end every output is compared with what the collective
 * owes it.
 */
#include "plan/simulate/state.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"
#include "plan/simulate/simulate.h"

static const struct gt_step *gt_sim_step(const struct gt_sim *sim,
					 uint32_t proc)
{
	return &sim->args->programs[proc].steps[sim->procs[proc].step];
}

static int gt_sim_done(const struct gt_sim *sim, uint32_t proc)
{
	return sim->procs[proc].loop == GT_SIM_LOOPS ||
	       !sim->args->programs[proc].nsteps;
}

static void gt_sim_wake(struct gt_sim *sim, uint32_t proc)
{
	uint32_t at = (sim->queue_at + sim->queue_len) % sim->nprocs;

	if (sim->procs[proc].queued)
		return;
	sim->procs[proc].queued = 1;
	sim->queue[at] = proc;
	sim->queue_len++;
}

static int gt_sim_ready(const struct gt_sim_fifo *fifo, int writes)
{
	uint32_t filled = fifo->data - fifo->credit;

	return writes ? filled < fifo->slots : filled > 0;
}

static uint32_t gt_sim_noperands(const struct gt_step *step)
{
	return (uint32_t)step->nsrc + step->ndst;
}

/*
 * The FIFO that the process's step has to wait for, or NULL.  *writes is set
 * when it waits for a free slot.
 */
static const struct gt_sim_fifo *gt_sim_blocker(const struct gt_sim *sim,
						uint32_t proc, int *writes)
{
	const struct gt_step *step = gt_sim_step(sim, proc);

	for (uint32_t k = 0; k < gt_sim_noperands(step); k++) {
		const struct gt_operand *operand = gt_step_operand(step, k);
		const struct gt_sim_fifo *fifo;

		if (!(operand->flags & GT_OPERAND_WAIT))
			continue;
		fifo = sim->procs[proc].conns[operand->conn];
		*writes = k >= step->nsrc;
		if (!gt_sim_ready(fifo, *writes))
			return fifo;
	}
	return NULL;
}

static void gt_sim_copy(const struct gt_sim *sim, struct gt_sim_value *to,
			const struct gt_sim_value *from)
{
	uint64_t *set = to->set;

	memcpy(set, from->set, sim->nwords * sizeof(*set));
	*to = *from;
	to->set = set;
}

/*
 * The place where an operand's bytes are; *owner becomes the rank whose memory
 * it is, unless it is a slot.
 */
static struct gt_sim_value *gt_sim_place(struct gt_sim *sim,
					 const struct gt_sim_access *access,
					 uint32_t *owner)
{
	const struct gt_operand *operand = access->operand;
	const struct gt_sim_proc *proc = &sim->procs[access->proc];
	const struct gt_program *programs = sim->args->programs;
	struct gt_sim_fifo *fifo;

	*owner = programs[access->proc].rank;
	if (operand->buf == GT_BUF_SCRATCH)
		return gt_sim_cell(sim, *owner, sim->nchunks + operand->chunk,
				   proc->loop);
	if (operand->buf == GT_BUF_INPUT || operand->buf == GT_BUF_OUTPUT)
		return gt_sim_cell(sim, *owner, operand->chunk, proc->loop);
	fifo = proc->conns[operand->conn];
	if (operand->buf == GT_BUF_FIFO)
		return &fifo->slot[(access->writes ? fifo->data
						   : fifo->credit) %
				   fifo->slots];
	*owner = programs[access->writes ? fifo->to : fifo->from].rank;
	return gt_sim_cell(sim, *owner, operand->chunk, proc->loop);
}

static uint32_t gt_sim_count(const struct gt_sim *sim,
			     const struct gt_sim_value *value)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < sim->nwords; w++)
		n += (uint32_t)__builtin_popcountll(value->set[w]);
	return n;
}

/*
 * In an invariant plan source k of a step that adds is rank k's input, so that
 * no sum is added to another.  What a step has alone it copies.
 */
static int gt_sim_order(const struct gt_sim *sim,
			const struct gt_sim_access *access,
			const struct gt_sim_value *from, uint32_t k,
			struct gt_err *err)
{
	uint32_t rank;

	for (rank = 0; rank < sim->nranks; rank++)
		if (from->set[rank / 64] >> rank % 64 & 1)
			break;
	if (gt_sim_count(sim, from) > 1)
		return gt_sim_wrong(sim->args, access->proc, access->step, err,
				    "adds to a sum of %u ranks, whereas one "
				    "step of an invariant plan adds up all",
				    gt_sim_count(sim, from));
	if (rank != k)
		return gt_sim_wrong(sim->args, access->proc, access->step, err,
				    "adds rank %u's contribution as number %u, "
				    "not in the order of ranks, as an "
				    "invariant plan does",
				    rank, k);
	return GT_OK;
}

/* Add what `from` holds to the step's value. */
static int gt_sim_reduce(struct gt_sim *sim, const struct gt_sim_access *access,
			 const struct gt_sim_value *from, struct gt_err *err)
{
	struct gt_sim_value *work = &sim->work;
	int rc = GT_OK;

	if (sim->args->in_order && sim->nadded == 1)
		rc = gt_sim_order(sim, access, work, 0, err);
	if (!rc && sim->args->in_order && sim->nadded)
		rc = gt_sim_order(sim, access, from, sim->nadded, err);
	if (rc)
		return rc;
	sim->nadded++;
	sim->source = work->known ? NULL : from;
	if (!work->known) {
		gt_sim_copy(sim, work, from);
		return GT_OK;
	}
	if (work->chunk != from->chunk)
		return gt_sim_wrong(sim->args, access->proc, access->step, err,
				    "adds chunk %u to chunk %u", from->chunk,
				    work->chunk);
	if (work->final || from->final)
		return gt_sim_wrong(sim->args, access->proc, access->step, err,
				    "adds to a result that is complete");
	for (uint32_t w = 0; w < sim->nwords; w++) {
		uint64_t both = work->set[w] & from->set[w];

		if (both)
			return gt_sim_wrong(
				sim->args, access->proc, access->step, err,
				"counts rank %u's contribution to "
				"chunk %u twice",
				w * 64 + (uint32_t)__builtin_ctzll(both),
				access->step->chunk);
		work->set[w] |= from->set[w];
	}
	return GT_OK;
}

/* Is something in the place, and is it what the step is about? */
static int gt_sim_expect(const struct gt_sim *sim,
			 const struct gt_sim_access *access,
			 const struct gt_sim_value *from, struct gt_err *err)
{
	const struct gt_sim_proc *proc = &sim->procs[access->proc];
	const struct gt_step *step = access->step;
	uint32_t got = from->chunk, want = step->chunk;

	if (!from->known)
		return gt_sim_wrong(sim->args, access->proc, step, err,
				    "reads chunk %u before it was written",
				    access->operand->chunk);
	if (sim->args->coll == GT_COLL_ALLTOALL) {
		got %= sim->per_block;
		want %= sim->per_block;
	}
	if (got == want && from->loop == proc->loop)
		return GT_OK;
	if (access->operand->buf != GT_BUF_FIFO)
		return gt_sim_wrong(sim->args, access->proc, step, err,
				    "expects chunk %u but finds chunk %u",
				    step->chunk, from->chunk);
	return gt_sim_wrong(
		sim->args, access->proc, step, err,
		"expects chunk %u but gets chunk %u from rank %u", step->chunk,
		from->chunk,
		sim->args->programs[proc->conns[access->operand->conn]->from]
			.rank);
}

static int gt_sim_read(struct gt_sim *sim, const struct gt_sim_access *access,
		       struct gt_err *err)
{
	uint64_t own[GT_SIM_MAX_RANKS / 64] = {0};
	struct gt_sim_value input = {.chunk = access->operand->chunk,
				     .loop = sim->procs[access->proc].loop,
				     .known = 1,
				     .set = own};
	const struct gt_sim_value *from;
	uint32_t owner;
	int rc = GT_OK;

	if (access->operand->buf == GT_BUF_NONE)
		return GT_OK;
	from = gt_sim_place(sim, access, &owner);
	if (access->operand->buf != GT_BUF_FIFO)
		rc = gt_sim_race_touch(sim, access, owner, err);
	if (rc)
		return rc;
	if (gt_sim_is_input(access->operand) && !sim->args->inplace) {
		own[owner / 64] = (uint64_t)1 << owner % 64;
		from = &input;
	}
	rc = gt_sim_expect(sim, access, from, err);
	return rc ? rc : gt_sim_reduce(sim, access, from, err);
}

static int gt_sim_write(struct gt_sim *sim, const struct gt_sim_access *access,
			struct gt_err *err)
{
	struct gt_sim_value *to;
	uint32_t owner;
	int rc = GT_OK;

	if (access->operand->buf == GT_BUF_NONE)
		return GT_OK;
	if (!sim->work.known)
		return gt_sim_wrong(sim->args, access->proc, access->step, err,
				    "writes without having read anything");
	to = gt_sim_place(sim, access, &owner);
	/* A copy in place onto itself moves nothing. */
	if (to == sim->source && !(access->step->flags & GT_STEP_FINAL))
		return GT_OK;
	if (access->operand->buf != GT_BUF_FIFO)
		rc = gt_sim_race_touch(sim, access, owner, err);
	if (!rc)
		gt_sim_copy(sim, to, &sim->work);
	return rc;
}

static int gt_sim_final(struct gt_sim *sim, uint32_t proc,
			const struct gt_step *step, struct gt_err *err)
{
	if (!(step->flags & GT_STEP_FINAL))
		return GT_OK;
	if (!sim->work.known || sim->work.final ||
	    gt_sim_count(sim, &sim->work) != sim->nranks)
		return gt_sim_wrong(sim->args, proc, step, err,
				    "is marked final, but holds %u of %u "
				    "contributions%s",
				    gt_sim_count(sim, &sim->work), sim->nranks,
				    sim->work.final ? ", final already" : "");
	if (sim->args->in_order && sim->nadded != sim->nranks)
		return gt_sim_wrong(sim->args, proc, step, err,
				    "is marked final, but adds %u source%s: "
				    "one step of an invariant plan adds up "
				    "all %u ranks",
				    sim->nadded, sim->nadded == 1 ? "" : "s",
				    sim->nranks);
	sim->work.final = 1;
	return GT_OK;
}

static void gt_sim_post(struct gt_sim *sim, const struct gt_sim_access *access)
{
	struct gt_sim_fifo *fifo;

	if (!(access->operand->flags & GT_OPERAND_POST))
		return;
	gt_sim_race_post(sim, access);
	fifo = sim->procs[access->proc].conns[access->operand->conn];
	if (access->writes)
		fifo->data++;
	else
		fifo->credit++;
	gt_sim_wake(sim, access->writes ? fifo->to : fifo->from);
}

/*
 * Execute the step that a process is at.  Reads come before writes, writes
 * before posts, as in plan/ir/program.h.
 */
static int gt_sim_execute(struct gt_sim *sim, uint32_t proc, struct gt_err *err)
{
	const struct gt_step *step = gt_sim_step(sim, proc);
	uint32_t n = gt_sim_noperands(step), k;
	struct gt_sim_access access;
	int rc = GT_OK;

	gt_sim_race_tick(sim, proc);
	for (k = 0; k < n; k++) {
		access = gt_sim_access_of(proc, step, k);
		gt_sim_race_wait(sim, &access);
	}
	sim->work.known = 0;
	sim->nadded = 0;
	memset(sim->work.set, 0, sim->nwords * sizeof(*sim->work.set));
	for (k = 0; k < n && !rc; k++) {
		if (k == step->nsrc)
			rc = gt_sim_final(sim, proc, step, err);
		access = gt_sim_access_of(proc, step, k);
		if (!rc)
			rc = access.writes ? gt_sim_write(sim, &access, err)
					   : gt_sim_read(sim, &access, err);
	}
	if (!rc && !step->ndst)
		rc = gt_sim_final(sim, proc, step, err);
	for (k = 0; k < n && !rc; k++) {
		access = gt_sim_access_of(proc, step, k);
		gt_sim_post(sim, &access);
	}
	return rc;
}

/* Execute steps as far as the process gets without another's help. */
static int gt_sim_advance(struct gt_sim *sim, uint32_t proc, struct gt_err *err)
{
	struct gt_sim_proc *at = &sim->procs[proc];
	int rc = GT_OK, writes;

	while (!rc && !gt_sim_done(sim, proc) &&
	       !gt_sim_blocker(sim, proc, &writes)) {
		rc = gt_sim_execute(sim, proc, err);
		at->step += gt_step_nrecords(gt_sim_step(sim, proc));
		if (at->step < sim->args->programs[proc].nsteps)
			continue;
		at->step = 0;
		at->loop++;
	}
	return rc;
}

/*
 * Tell who waits for whom, until the circle closes or a process is reached that
 * has finished.
 */
static int gt_sim_deadlock(const struct gt_sim *sim, uint32_t proc,
			   struct gt_err *err)
{
	uint32_t at = proc;
	char text[512];
	size_t len = 0;
	int writes;

	for (uint32_t i = 0; i <= sim->nprocs && len < sizeof(text) - 64; i++) {
		const struct gt_sim_fifo *fifo;

		if (gt_sim_done(sim, at) || (i && at == proc))
			break;
		fifo = gt_sim_blocker(sim, at, &writes);
		at = writes ? fifo->to : fifo->from;
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					"%swaits for %s rank %u",
					i ? ", which " : "",
					writes ? "a free slot at" : "data from",
					sim->args->programs[at].rank);
	}
	return gt_sim_wrong(sim->args, proc, gt_sim_step(sim, proc), err,
			    "deadlock with %u slot%s: %s%s", sim->args->slots,
			    sim->args->slots == 1 ? "" : "s", text,
			    gt_sim_done(sim, at) ? ", which has finished" : "");
}

int gt_sim_run(struct gt_sim *sim, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t p = 0; p < sim->nprocs; p++)
		gt_sim_wake(sim, p);
	while (sim->queue_len && !rc) {
		uint32_t proc = sim->queue[sim->queue_at];

		sim->queue_at = (sim->queue_at + 1) % sim->nprocs;
		sim->queue_len--;
		sim->procs[proc].queued = 0;
		rc = gt_sim_advance(sim, proc, err);
	}
	for (uint32_t p = 0; p < sim->nprocs && !rc; p++)
		if (!gt_sim_done(sim, p))
			rc = gt_sim_deadlock(sim, p, err);
	return rc;
}

/*
 * The only rank whose contribution belongs into a chunk of a rank's output,
 * when nothing is reduced.
 */
static uint32_t gt_sim_origin(const struct gt_sim *sim, uint32_t rank,
			      uint32_t chunk)
{
	switch (sim->args->coll) {
	case GT_COLL_BROADCAST:
	case GT_COLL_SCATTER:
		return sim->args->root;
	case GT_COLL_SENDRECV:
		return (rank + sim->nranks - 1) % sim->nranks;
	default:
		return chunk / sim->per_block;
	}
}

/*
 * The chunk of the inputs that belongs there: an all-to-all exchanges blocks.
 */
static uint32_t gt_sim_wanted(const struct gt_sim *sim, uint32_t rank,
			      uint32_t chunk)
{
	if (sim->args->coll != GT_COLL_ALLTOALL)
		return chunk;
	return rank * sim->per_block + chunk % sim->per_block;
}

/*
 * The rank whose contribution a value lacks; nranks when it has all that it
 * should have.
 */
static uint32_t gt_sim_lacks(const struct gt_sim *sim,
			     const struct gt_sim_value *cell, uint32_t rank,
			     uint32_t chunk)
{
	int all = gt_coll_reduces(sim->args->coll);
	uint32_t origin = gt_sim_origin(sim, rank, chunk);

	for (uint32_t r = 0; r < sim->nranks; r++)
		if ((all || r == origin) && !(cell->set[r / 64] >> r % 64 & 1))
			return r;
	return sim->nranks;
}

static int gt_sim_check_cell(const struct gt_sim *sim, uint32_t rank,
			     uint32_t chunk, uint32_t loop, struct gt_err *err)
{
	const struct gt_sim_value *cell = gt_sim_cell(sim, rank, chunk, loop);
	uint32_t proc = rank * (sim->nprocs / sim->nranks);
	uint32_t lacks, wanted = gt_sim_wanted(sim, rank, chunk);
	int all = gt_coll_reduces(sim->args->coll);

	if (!cell->known)
		return gt_sim_wrong(sim->args, proc, NULL, err,
				    "chunk %u of the output is never written",
				    chunk);
	lacks = gt_sim_lacks(sim, cell, rank, chunk);
	if (lacks < sim->nranks)
		return gt_sim_wrong(sim->args, proc, NULL, err,
				    "chunk %u of the output lacks rank %u's "
				    "contribution",
				    chunk, lacks);
	if (cell->chunk != wanted)
		return gt_sim_wrong(sim->args, proc, NULL, err,
				    "chunk %u of the output holds chunk %u, "
				    "not %u",
				    chunk, cell->chunk, wanted);
	if (!all && gt_sim_count(sim, cell) != 1)
		return gt_sim_wrong(sim->args, proc, NULL, err,
				    "chunk %u of the output holds more than "
				    "its block",
				    chunk);
	if (all && !cell->final)
		return gt_sim_wrong(sim->args, proc, NULL, err,
				    "chunk %u of the output was never marked "
				    "final",
				    chunk);
	return GT_OK;
}

/* Has a demand nothing for this chunk of a rank's output? */
static int gt_sim_is_empty(const struct gt_sim *sim, uint32_t rank,
			   uint32_t chunk)
{
	uint32_t from = chunk / sim->per_block;

	return sim->args->units && from != rank &&
	       !sim->args->units[(size_t)from * sim->nranks + rank];
}

int gt_sim_check_result(struct gt_sim *sim, struct gt_err *err)
{
	const struct gt_sim_args *args = sim->args;
	int rc = GT_OK;

	for (uint32_t r = 0; r < sim->nranks; r++)
		for (uint32_t c = 0; c < sim->nchunks; c++) {
			if (!gt_sim_has_output(args, r, c) ||
			    gt_sim_is_empty(sim, r, c) ||
			    (args->one_block &&
			     c / sim->per_block != args->block))
				continue;
			for (uint32_t l = 0; l < GT_SIM_LOOPS && !rc; l++)
				rc = gt_sim_check_cell(sim, r, c, l, err);
		}
	return rc ? rc : gt_sim_race_end(sim, err);
}
