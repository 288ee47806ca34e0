/*
 * The state in which a simulation begins: connections are paired and become
 * FIFOs, and every rank gets its memory.
 */
#include "plan/simulate/state.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower/step.h"
#include "plan/simulate/simulate.h"

/* One end of a connection. */
struct gt_sim_end {
	uint32_t proc, conn;
};

/*
 * Count the other ends that a connection has in any lane of the peer: those
 * between the same two ranks with the same tag.  *end becomes the last one.
 */
static uint32_t gt_sim_find_end(const struct gt_sim *sim, uint32_t proc,
				const struct gt_conn *conn,
				struct gt_sim_end *end)
{
	uint32_t nlanes = sim->nprocs / sim->nranks, found = 0;
	uint32_t rank = proc / nlanes, first = conn->peer * nlanes;

	for (uint32_t p = first; p < first + nlanes; p++) {
		const struct gt_program *peer = &sim->args->programs[p];

		for (uint32_t i = 0; i < peer->nconns; i++) {
			const struct gt_conn *other = &peer->conns[i];

			if (other->peer != rank || other->tag != conn->tag ||
			    other->sends == conn->sends)
				continue;
			*end = (struct gt_sim_end){p, i};
			found++;
		}
	}
	return found;
}

/* The number of slices that a program announces on a connection in one loop. */
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
 * Count the slices of a FIFO at both ends and make its slots.  More slots than
 * one loop fills change nothing: a slice then waits for a credit of an earlier
 * loop, with as many slots as slices as with more.
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
				    sent, to->rank, taken);
	fifo->per_loop = sent;
	fifo->slots = sim->args->slots < sent ? sim->args->slots : sent;
	if (!fifo->slots)
		fifo->slots = 1;
	return gt_sim_values(sim, fifo->slots, &fifo->slot, err);
}

/*
 * Pair one connection.  The sending end makes the FIFO and is put into the
 * receiving end as well.
 */
static int gt_sim_pair(struct gt_sim *sim, uint32_t proc, uint32_t i,
		       struct gt_err *err)
{
	const struct gt_conn *conn = &sim->args->programs[proc].conns[i];
	struct gt_sim_fifo *fifo = &sim->fifos[sim->nfifos];
	struct gt_sim_end end = {0};
	uint32_t ends = gt_sim_find_end(sim, proc, conn, &end);

	if (ends != 1)
		return gt_sim_wrong(sim->args, proc, NULL, err,
				    "connection %u has %s at rank %u", i,
				    ends ? "several ends" : "no other end",
				    conn->peer);
	if (!conn->sends)
		return GT_OK;
	if (sim->procs[end.proc].conns[end.conn])
		return gt_sim_wrong(sim->args, proc, NULL, err,
				    "connection %u shares its end at rank %u",
				    i, conn->peer);
	fifo->from = proc;
	fifo->to = end.proc;
	fifo->from_conn = i;
	fifo->to_conn = end.conn;
	sim->procs[proc].conns[i] = fifo;
	sim->procs[end.proc].conns[end.conn] = fifo;
	sim->nfifos++;
	return gt_sim_fifo_init(sim, fifo, err);
}

static int gt_sim_pair_all(struct gt_sim *sim, struct gt_err *err)
{
	size_t nconns = 0;
	int rc = GT_OK;

	for (uint32_t p = 0; p < sim->nprocs; p++) {
		uint32_t n = sim->args->programs[p].nconns;

		nconns += n;
		sim->procs[p].conns = gt_arena_array(
			sim->arena, n, sizeof(*sim->procs[p].conns));
		if (!sim->procs[p].conns)
			return gt_err_nomem(err);
	}
	sim->fifos = gt_arena_array(sim->arena, nconns, sizeof(*sim->fifos));
	if (!sim->fifos)
		return gt_err_nomem(err);
	for (uint32_t p = 0; p < sim->nprocs; p++)
		for (uint32_t i = 0; i < sim->args->programs[p].nconns && !rc;
		     i++)
			rc = gt_sim_pair(sim, p, i, err);
	return rc;
}

struct gt_sim_value *gt_sim_cell(const struct gt_sim *sim, uint32_t rank,
				 uint32_t chunk, uint32_t loop)
{
	return &sim->ranks[rank].cells[chunk * GT_SIM_LOOPS + loop];
}

/*
 * Make a rank's memory.  In place the output begins as the input; out of place
 * nothing in it is known.
 */
static int gt_sim_cells(struct gt_sim *sim, uint32_t rank, struct gt_err *err)
{
	size_t n = (size_t)sim->nchunks * GT_SIM_LOOPS;
	struct gt_sim_value *cell;
	size_t all = n + (size_t)sim->nscratch * GT_SIM_LOOPS;
	int rc = gt_sim_values(sim, all, &sim->ranks[rank].cells, err);

	if (rc || !sim->args->inplace)
		return rc;
	for (uint32_t i = 0; i < n; i++) {
		cell = &sim->ranks[rank].cells[i];
		cell->chunk = i / GT_SIM_LOOPS;
		cell->loop = i % GT_SIM_LOOPS;
		if (!gt_sim_has_input(sim->args, rank, cell->chunk))
			continue;
		cell->known = 1;
		cell->set[rank / 64] = (uint64_t)1 << rank % 64;
	}
	return GT_OK;
}

static int gt_sim_is_peers(const struct gt_operand *operand)
{
	return operand->buf == GT_BUF_PEER_INPUT ||
	       operand->buf == GT_BUF_PEER_OUTPUT;
}

static int gt_sim_has_peers(const struct gt_program *program)
{
	for (uint32_t i = 0; i < program->nsteps;
	     i += gt_step_nrecords(&program->steps[i])) {
		const struct gt_step *step = &program->steps[i];

		for (uint32_t k = 0; k < (uint32_t)step->nsrc + step->ndst; k++)
			if (gt_sim_is_peers(gt_step_operand(step, k)))
				return 1;
	}
	return 0;
}

int gt_sim_init(struct gt_sim *sim, const struct gt_sim_args *args,
		struct gt_arena *arena, struct gt_err *err)
{
	struct gt_sim_value *work = NULL;
	uint32_t nprocs = gt_sim_nprocs(args);
	int rc;

	*sim = (struct gt_sim){.args = args,
			       .arena = arena,
			       .nranks = args->nranks,
			       .nprocs = nprocs,
			       .nchunks = args->programs[0].nchunks,
			       .nscratch = args->programs[0].nscratch,
			       .per_block = gt_sim_per_block(args),
			       .nwords = (args->nranks + 63) / 64};
	sim->ranks = gt_arena_array(arena, sim->nranks, sizeof(*sim->ranks));
	sim->procs = gt_arena_array(arena, nprocs, sizeof(*sim->procs));
	sim->queue = gt_arena_array(arena, nprocs, sizeof(*sim->queue));
	if (!sim->ranks || !sim->procs || !sim->queue)
		return gt_err_nomem(err);
	rc = gt_sim_values(sim, 1, &work, err);
	if (work)
		sim->work = *work;
	if (!rc)
		rc = gt_sim_pair_all(sim, err);
	for (uint32_t r = 0; r < sim->nranks && !rc; r++)
		rc = gt_sim_cells(sim, r, err);
	sim->shared = nprocs > sim->nranks;
	for (uint32_t p = 0; p < nprocs; p++)
		sim->shared |= gt_sim_has_peers(&args->programs[p]);
	return rc ? rc : gt_sim_race_init(sim, err);
}
