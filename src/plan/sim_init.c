#include "plan/sim.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/step.h"

/* The other end of a connection: same two ranks, same tag. */
static int64_t gt_sim_find_end(const struct gt_sim *sim, uint32_t rank,
			       const struct gt_conn *conn, int *several)
{
	const struct gt_program *peer = &sim->args->programs[conn->peer];
	int64_t found = -1;

	for (uint32_t i = 0; i < peer->nconns; i++) {
		const struct gt_conn *end = &peer->conns[i];

		if (end->peer != rank || end->tag != conn->tag ||
		    end->sends == conn->sends)
			continue;
		*several |= found >= 0;
		found = i;
	}
	return found;
}

/* Slices that a rank announces on a connection in one loop. */
static uint32_t gt_sim_posts(const struct gt_program *program, uint32_t conn)
{
	uint32_t posts = 0;

	for (uint32_t i = 0; i < program->nsteps;
	     i += gt_step_nrecords(&program->steps[i])) {
		const struct gt_step *step = &program->steps[i];

		for (uint32_t k = 0; k < (uint32_t)step->nsrc + step->ndst; k++)
			posts += gt_step_operand(step, k)->conn == conn &&
				 gt_step_operand(step, k)->flags &
					 GT_OPERAND_POST;
	}
	return posts;
}

static int gt_sim_values(struct gt_sim *sim, size_t n,
			 struct gt_sim_value **values, struct gt_err *err)
{
	struct gt_sim_value *made =
		gt_arena_array(sim->arena, n, sizeof(*made));
	uint64_t *sets =
		gt_arena_array(sim->arena, n * sim->nwords, sizeof(*sets));

	if (!made || !sets)
		return gt_err_nomem(err);
	for (size_t i = 0; i < n; i++)
		made[i].set = sets + i * sim->nwords;
	*values = made;
	return GT_OK;
}

/*
 * More slots than one loop fills change nothing: a slice then waits for a
 * credit of an earlier loop, with as many slots as slices as with more.
 */
static int gt_sim_fifo_init(struct gt_sim *sim, struct gt_sim_fifo *fifo,
			    struct gt_err *err)
{
	const struct gt_program *from = &sim->args->programs[fifo->from];
	const struct gt_program *to = &sim->args->programs[fifo->to];
	uint32_t sent = gt_sim_posts(from, fifo->from_conn);
	uint32_t taken = gt_sim_posts(to, fifo->to_conn);

	if (sent != taken)
		return gt_sim_wrong(sim->args, fifo->from, NULL, err,
				    "sends %u slices to rank %u, which takes "
				    "%u",
				    sent, fifo->to, taken);
	fifo->per_loop = sent;
	fifo->slots = sim->args->slots < sent ? sim->args->slots : sent;
	if (!fifo->slots)
		fifo->slots = 1;
	return gt_sim_values(sim, fifo->slots, &fifo->slot, err);
}

/* Senders make the FIFOs; receivers' ends are found and filled in. */
static int gt_sim_pair(struct gt_sim *sim, uint32_t rank, uint32_t i,
		       struct gt_err *err)
{
	const struct gt_conn *conn = &sim->args->programs[rank].conns[i];
	struct gt_sim_fifo *fifo = &sim->fifos[sim->nfifos];
	int several = 0;
	int64_t end = gt_sim_find_end(sim, rank, conn, &several);

	if (end < 0 || several)
		return gt_sim_wrong(sim->args, rank, NULL, err,
				    "connection %u has %s at rank %u", i,
				    several ? "several ends" : "no other end",
				    conn->peer);
	if (!conn->sends)
		return GT_OK;
	if (sim->ranks[conn->peer].conns[end])
		return gt_sim_wrong(sim->args, rank, NULL, err,
				    "connection %u shares its end at rank %u",
				    i, conn->peer);
	fifo->from = rank;
	fifo->to = conn->peer;
	fifo->from_conn = i;
	fifo->to_conn = (uint32_t)end;
	sim->ranks[rank].conns[i] = fifo;
	sim->ranks[conn->peer].conns[end] = fifo;
	sim->nfifos++;
	return gt_sim_fifo_init(sim, fifo, err);
}

static int gt_sim_pair_all(struct gt_sim *sim, struct gt_err *err)
{
	size_t nconns = 0;
	int rc = GT_OK;

	for (uint32_t r = 0; r < sim->nranks; r++) {
		uint32_t n = sim->args->programs[r].nconns;

		nconns += n;
		sim->ranks[r].conns = gt_arena_array(
			sim->arena, n, sizeof(*sim->ranks[r].conns));
		if (!sim->ranks[r].conns)
			return gt_err_nomem(err);
	}
	sim->fifos = gt_arena_array(sim->arena, nconns, sizeof(*sim->fifos));
	if (!sim->fifos)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < sim->nranks; r++)
		for (uint32_t i = 0; i < sim->args->programs[r].nconns && !rc;
		     i++)
			rc = gt_sim_pair(sim, r, i, err);
	return rc;
}

struct gt_sim_value *gt_sim_cell(const struct gt_sim *sim, uint32_t rank,
				 uint32_t chunk, uint32_t loop)
{
	return &sim->ranks[rank].cells[chunk * GT_SIM_LOOPS + loop];
}

/* In place, the output begins as the input; else with nothing known. */
static int gt_sim_cells(struct gt_sim *sim, uint32_t rank, struct gt_err *err)
{
	size_t n = (size_t)sim->nchunks * GT_SIM_LOOPS;
	struct gt_sim_value *cell;
	int rc = gt_sim_values(sim, n, &sim->ranks[rank].cells, err);

	if (rc || !sim->args->inplace)
		return rc;
	for (uint32_t i = 0; i < n; i++) {
		cell = &sim->ranks[rank].cells[i];
		cell->chunk = i / GT_SIM_LOOPS;
		cell->loop = i % GT_SIM_LOOPS;
		if (sim->args->coll == GT_COLL_ALLGATHER && cell->chunk != rank)
			continue;
		cell->known = 1;
		cell->set[rank / 64] = (uint64_t)1 << rank % 64;
	}
	return GT_OK;
}

static int gt_sim_has_peers(const struct gt_program *program)
{
	for (uint32_t i = 0; i < program->nsteps;
	     i += gt_step_nrecords(&program->steps[i])) {
		const struct gt_step *step = &program->steps[i];

		for (uint32_t k = 0; k < (uint32_t)step->nsrc + step->ndst; k++)
			if (gt_step_operand(step, k)->buf >= GT_BUF_PEER_INPUT)
				return 1;
	}
	return 0;
}

int gt_sim_init(struct gt_sim *sim, const struct gt_sim_args *args,
		struct gt_arena *arena, struct gt_err *err)
{
	struct gt_sim_value *work = NULL;
	int rc;

	*sim = (struct gt_sim){.args = args,
			       .arena = arena,
			       .nranks = args->nranks,
			       .nchunks = args->programs[0].nchunks,
			       .nwords = (args->nranks + 63) / 64};
	sim->ranks = gt_arena_array(arena, sim->nranks, sizeof(*sim->ranks));
	sim->queue = gt_arena_array(arena, sim->nranks, sizeof(*sim->queue));
	if (!sim->ranks || !sim->queue)
		return gt_err_nomem(err);
	rc = gt_sim_values(sim, 1, &work, err);
	if (work)
		sim->work = *work;
	if (!rc)
		rc = gt_sim_pair_all(sim, err);
	for (uint32_t r = 0; r < sim->nranks && !rc; r++) {
		rc = gt_sim_cells(sim, r, err);
		sim->peers |= gt_sim_has_peers(&args->programs[r]);
	}
	return rc ? rc : gt_sim_race_init(sim, err);
}
