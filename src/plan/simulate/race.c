/*
 * Races: accesses to one place of memory that no chain of steps and messages
 * orders are found by vector clocks.
 */
#include "plan/simulate/state.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/simulate/simulate.h"

static uint32_t *gt_sim_clocks(struct gt_sim *sim, size_t n)
{
	return gt_arena_array(sim->arena, n * sim->nprocs, sizeof(uint32_t));
}

int gt_sim_is_input(const struct gt_operand *operand)
{
	return operand->buf == GT_BUF_INPUT ||
	       operand->buf == GT_BUF_PEER_INPUT;
}

/*
 * The number of places of a rank: the output, the scratch, and then the input
 * where it is not the output.
 */
static size_t gt_sim_nepochs(const struct gt_sim *sim)
{
	size_t nplaces = (size_t)sim->nchunks * (sim->args->inplace ? 1 : 2);

	return (nplaces + sim->nscratch) * GT_SIM_LOOPS;
}

static uint32_t gt_sim_place_number(const struct gt_sim *sim,
				    const struct gt_operand *operand)
{
	if (operand->buf == GT_BUF_SCRATCH)
		return sim->nchunks + operand->chunk;
	if (gt_sim_is_input(operand) && !sim->args->inplace)
		return sim->nchunks + sim->nscratch + operand->chunk;
	return operand->chunk;
}

/*
 * Set up a rank's clocks.  Its memory counts as written when it starts, by all
 * its lanes.
 */
static int gt_sim_race_rank(struct gt_sim *sim, uint32_t r, struct gt_err *err)
{
	struct gt_sim_rank *rank = &sim->ranks[r];
	uint32_t nlanes = sim->nprocs / sim->nranks, first = r * nlanes;
	size_t n = gt_sim_nepochs(sim);
	uint32_t *reads = gt_sim_clocks(sim, n);

	rank->epochs = gt_arena_array(sim->arena, n, sizeof(*rank->epochs));
	if (!rank->epochs || !reads)
		return gt_err_nomem(err);
	for (uint32_t p = first; p < first + nlanes; p++) {
		sim->procs[p].clock = gt_sim_clocks(sim, 1);
		if (!sim->procs[p].clock)
			return gt_err_nomem(err);
		for (uint32_t q = first; q < first + nlanes; q++)
			sim->procs[p].clock[q] = 1;
	}
	for (size_t i = 0; i < n; i++)
		rank->epochs[i] = (struct gt_sim_epochs){
			first, 1, reads + i * sim->nprocs};
	return GT_OK;
}

int gt_sim_race_init(struct gt_sim *sim, struct gt_err *err)
{
	int rc = GT_OK;

	if (!sim->shared)
		return GT_OK;
	for (uint32_t i = 0; i < sim->nfifos; i++) {
		struct gt_sim_fifo *fifo = &sim->fifos[i];
		size_t n = (size_t)fifo->per_loop * GT_SIM_LOOPS;

		fifo->data_clocks = gt_sim_clocks(sim, n);
		fifo->credit_clocks = gt_sim_clocks(sim, n);
		if (!fifo->data_clocks || !fifo->credit_clocks)
			return gt_err_nomem(err);
	}
	for (uint32_t r = 0; r < sim->nranks && !rc; r++)
		rc = gt_sim_race_rank(sim, r, err);
	return rc;
}

void gt_sim_race_tick(struct gt_sim *sim, uint32_t proc)
{
	if (sim->shared)
		sim->procs[proc].clock[proc]++;
}

static void gt_sim_clock_join(const struct gt_sim *sim, uint32_t *clock,
			      const uint32_t *other)
{
	for (uint32_t p = 0; p < sim->nprocs; p++)
		if (clock[p] < other[p])
			clock[p] = other[p];
}

/*
 * A wait orders its process behind the very post that it needs, not behind
 * later ones that the simulation happened to run first.
 */
void gt_sim_race_wait(struct gt_sim *sim, const struct gt_sim_access *access)
{
	const struct gt_sim_fifo *fifo;
	const uint32_t *posted;

	if (!sim->shared || !(access->operand->flags & GT_OPERAND_WAIT))
		return;
	fifo = sim->procs[access->proc].conns[access->operand->conn];
	if (!access->writes)
		posted = fifo->data_clocks + (size_t)fifo->credit * sim->nprocs;
	else if (fifo->data >= sim->args->slots)
		posted = fifo->credit_clocks +
			 (size_t)(fifo->data - sim->args->slots) * sim->nprocs;
	else
		return;
	gt_sim_clock_join(sim, sim->procs[access->proc].clock, posted);
}

void gt_sim_race_post(struct gt_sim *sim, const struct gt_sim_access *access)
{
	const struct gt_sim_proc *proc = &sim->procs[access->proc];
	const struct gt_sim_fifo *fifo = proc->conns[access->operand->conn];
	uint32_t *clocks =
		access->writes ? fifo->data_clocks : fifo->credit_clocks;
	uint32_t at = access->writes ? fifo->data : fifo->credit;

	if (sim->shared)
		memcpy(clocks + (size_t)at * sim->nprocs, proc->clock,
		       sim->nprocs * sizeof(*clocks));
}

/*
 * The process that wrote the place, or read it, and that is not ordered before
 * `clock`; nprocs when there is none.
 */
static uint32_t gt_sim_unordered(const struct gt_sim *sim,
				 const struct gt_sim_epochs *epochs,
				 const uint32_t *clock, int reads_too)
{
	if (clock[epochs->writer] < epochs->written)
		return epochs->writer;
	for (uint32_t p = 0; p < sim->nprocs && reads_too; p++)
		if (clock[p] < epochs->read[p])
			return p;
	return sim->nprocs;
}

int gt_sim_race_touch(struct gt_sim *sim, const struct gt_sim_access *access,
		      uint32_t owner, struct gt_err *err)
{
	const struct gt_sim_proc *proc = &sim->procs[access->proc];
	uint32_t other, now, at = gt_sim_place_number(sim, access->operand);
	struct gt_sim_epochs *epochs;

	if (!sim->shared)
		return GT_OK;
	now = proc->clock[access->proc];
	epochs = &sim->ranks[owner].epochs[at * GT_SIM_LOOPS + proc->loop];
	other = gt_sim_unordered(sim, epochs, proc->clock, access->writes);
	if (other < sim->nprocs)
		return gt_sim_wrong(sim->args, access->proc, access->step, err,
				    "race: %s %schunk %u of rank %u, and "
				    "nothing orders this behind rank %u's "
				    "access",
				    access->writes ? "writes" : "reads",
				    access->operand->buf == GT_BUF_SCRATCH
					    ? "scratch "
					    : "",
				    access->operand->chunk, owner,
				    sim->args->programs[other].rank);
	if (!access->writes) {
		epochs->read[access->proc] = now;
		return GT_OK;
	}
	epochs->writer = access->proc;
	epochs->written = now;
	memset(epochs->read, 0, sim->nprocs * sizeof(*epochs->read));
	return GT_OK;
}

/* The clock of a rank's end, which is when all its lanes have ended. */
static void gt_sim_rank_clock(const struct gt_sim *sim, uint32_t r,
			      uint32_t *clock)
{
	uint32_t nlanes = sim->nprocs / sim->nranks;

	memset(clock, 0, sim->nprocs * sizeof(*clock));
	for (uint32_t p = r * nlanes; p < (r + 1) * nlanes; p++)
		gt_sim_clock_join(sim, clock, sim->procs[p].clock);
}

/*
 * A rank that ends may use its buffers for something else, so all accesses to
 * them must be over.
 */
int gt_sim_race_end(struct gt_sim *sim, struct gt_err *err)
{
	uint32_t *clock = gt_sim_clocks(sim, 1), other;
	size_t n = gt_sim_nepochs(sim);

	if (!sim->shared)
		return GT_OK;
	if (!clock)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < sim->nranks; r++) {
		gt_sim_rank_clock(sim, r, clock);
		for (size_t i = 0; i < n; i++) {
			other = gt_sim_unordered(sim, &sim->ranks[r].epochs[i],
						 clock, 1);
			if (other < sim->nprocs)
				return gt_sim_wrong(
					sim->args,
					r * (sim->nprocs / sim->nranks), NULL,
					err,
					"race: may end before rank %u's "
					"access to its chunk %u",
					sim->args->programs[other].rank,
					(uint32_t)(i / GT_SIM_LOOPS %
						   sim->nchunks));
		}
	}
	return GT_OK;
}
