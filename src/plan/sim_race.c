#include "plan/sim.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"

static uint32_t *gt_sim_clocks(struct gt_sim *sim, size_t n)
{
	return gt_arena_array(sim->arena, n * sim->nranks, sizeof(uint32_t));
}

int gt_sim_is_input(const struct gt_operand *operand)
{
	return operand->buf == GT_BUF_INPUT ||
	       operand->buf == GT_BUF_PEER_INPUT;
}

/* Output places, then those of an input that is not the output. */
static size_t gt_sim_nepochs(const struct gt_sim *sim)
{
	return (size_t)sim->nchunks * GT_SIM_LOOPS *
	       (sim->args->inplace ? 1 : 2);
}

/* A rank's own start is the first write to all of its memory. */
static int gt_sim_race_rank(struct gt_sim *sim, uint32_t r, struct gt_err *err)
{
	struct gt_sim_rank *rank = &sim->ranks[r];
	size_t n = gt_sim_nepochs(sim);
	uint32_t *reads = gt_sim_clocks(sim, n);

	rank->clock = gt_sim_clocks(sim, 1);
	rank->epochs = gt_arena_array(sim->arena, n, sizeof(*rank->epochs));
	if (!rank->clock || !rank->epochs || !reads)
		return gt_err_nomem(err);
	rank->clock[r] = 1;
	for (size_t i = 0; i < n; i++)
		rank->epochs[i] =
			(struct gt_sim_epochs){r, 1, reads + i * sim->nranks};
	return GT_OK;
}

int gt_sim_race_init(struct gt_sim *sim, struct gt_err *err)
{
	int rc = GT_OK;

	if (!sim->peers)
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

void gt_sim_race_tick(struct gt_sim *sim, uint32_t rank)
{
	if (sim->peers)
		sim->ranks[rank].clock[rank]++;
}

/*
 * A wait orders its rank behind the very post that it needs, not behind
 * later ones that the simulation happened to run first.
 */
void gt_sim_race_wait(struct gt_sim *sim, const struct gt_sim_access *access)
{
	uint32_t *clock = sim->ranks[access->rank].clock;
	const struct gt_sim_fifo *fifo;
	const uint32_t *posted;

	if (!sim->peers || !(access->operand->flags & GT_OPERAND_WAIT))
		return;
	fifo = sim->ranks[access->rank].conns[access->operand->conn];
	if (!access->writes)
		posted = fifo->data_clocks + (size_t)fifo->credit * sim->nranks;
	else if (fifo->data >= sim->args->slots)
		posted = fifo->credit_clocks +
			 (size_t)(fifo->data - sim->args->slots) * sim->nranks;
	else
		return;
	for (uint32_t r = 0; r < sim->nranks; r++)
		if (clock[r] < posted[r])
			clock[r] = posted[r];
}

void gt_sim_race_post(struct gt_sim *sim, const struct gt_sim_access *access)
{
	const struct gt_sim_rank *rank = &sim->ranks[access->rank];
	const struct gt_sim_fifo *fifo = rank->conns[access->operand->conn];
	uint32_t *clocks =
		access->writes ? fifo->data_clocks : fifo->credit_clocks;
	uint32_t at = access->writes ? fifo->data : fifo->credit;

	if (sim->peers)
		memcpy(clocks + (size_t)at * sim->nranks, rank->clock,
		       sim->nranks * sizeof(*clocks));
}

/* The rank whose access is not ordered before `clock`, or nranks. */
static uint32_t gt_sim_unordered(const struct gt_sim *sim,
				 const struct gt_sim_epochs *epochs,
				 const uint32_t *clock, int reads_too)
{
	if (clock[epochs->writer] < epochs->written)
		return epochs->writer;
	for (uint32_t r = 0; r < sim->nranks && reads_too; r++)
		if (clock[r] < epochs->read[r])
			return r;
	return sim->nranks;
}

int gt_sim_race_touch(struct gt_sim *sim, const struct gt_sim_access *access,
		      uint32_t owner, struct gt_err *err)
{
	const struct gt_sim_rank *rank = &sim->ranks[access->rank];
	uint32_t other, now, at = access->operand->chunk;
	struct gt_sim_epochs *epochs;

	if (!sim->peers)
		return GT_OK;
	now = rank->clock[access->rank];
	if (gt_sim_is_input(access->operand) && !sim->args->inplace)
		at += sim->nchunks;
	epochs = &sim->ranks[owner].epochs[at * GT_SIM_LOOPS + rank->loop];
	other = gt_sim_unordered(sim, epochs, rank->clock, access->writes);
	if (other < sim->nranks)
		return gt_sim_wrong(sim->args, access->rank, access->step, err,
				    "race: %s chunk %u of rank %u, and "
				    "nothing orders this behind rank %u's "
				    "access",
				    access->writes ? "writes" : "reads",
				    access->step->chunk, owner, other);
	if (!access->writes) {
		epochs->read[access->rank] = now;
		return GT_OK;
	}
	epochs->writer = access->rank;
	epochs->written = now;
	memset(epochs->read, 0, sim->nranks * sizeof(*epochs->read));
	return GT_OK;
}

/* Whoever ends may use his buffers: all accesses to them must be over. */
int gt_sim_race_end(const struct gt_sim *sim, struct gt_err *err)
{
	size_t n = gt_sim_nepochs(sim);
	uint32_t other;

	if (!sim->peers)
		return GT_OK;
	for (uint32_t r = 0; r < sim->nranks; r++)
		for (size_t i = 0; i < n; i++) {
			const struct gt_sim_rank *rank = &sim->ranks[r];

			other = gt_sim_unordered(sim, &rank->epochs[i],
						 rank->clock, 1);
			if (other < sim->nranks)
				return gt_sim_wrong(
					sim->args, r, NULL, err,
					"race: may end before rank %u's "
					"access to its chunk %u",
					other,
					(uint32_t)(i / GT_SIM_LOOPS %
						   sim->nchunks));
		}
	return GT_OK;
}
