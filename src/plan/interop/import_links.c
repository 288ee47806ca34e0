/*
 * Links of an algorithm as connections of programs, and the programs' memory.
 */
#include "plan/interop/algorithm.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"

/* The numbering of tags, which tell FIFOs between the same two ranks apart. */
struct gt_links {
	struct gt_import_file *algo;
	uint32_t *ntags; /* by ordered pair of ranks: tags in use */
};

static struct gt_import_tb *gt_links_tb(const struct gt_import_file *algo,
					uint32_t rank, uint32_t tb)
{
	return tb == GT_IMPORT_NOBODY ? NULL : &algo->gpus[rank].tbs[tb];
}

static int gt_links_count(const struct gt_import_file *algo, struct gt_err *err)
{
	for (uint32_t i = 0; i < algo->nlinks; i++) {
		const struct gt_import_link *link = &algo->links[i];
		struct gt_import_tb *ends[] = {
			gt_links_tb(algo, link->from, link->from_tb),
			gt_links_tb(algo, link->to, link->to_tb)};

		for (int k = 0; k < 2; k++)
			if (ends[k] && ends[k]->nconns++ == UINT16_MAX)
				return gt_err_set(
					err, GT_EINPUT, algo->name,
					"a thread block of gpu %u has more "
					"than %d connections",
					k ? link->to : link->from, UINT16_MAX);
	}
	return GT_OK;
}

/*
 * Make room for a thread block's program.  A step becomes a record for each
 * chunk and for each six operands of it.
 */
static int gt_links_program(struct gt_import_file *algo, struct gt_plan *plan,
			    uint32_t rank, uint32_t t, struct gt_err *err)
{
	struct gt_program *program = &plan->programs[plan->nprograms++];
	struct gt_import_tb *tb = &algo->gpus[rank].tbs[t];
	/* for copies at the end, of algorithms in place */
	size_t nrecords = algo->nchunks;

	for (uint32_t i = 0; i < tb->nsteps; i++) {
		const struct gt_import_step *step = &tb->steps[i];
		size_t n = step->src.n + step->dst.n;

		nrecords += (step->count / algo->unit + 1) *
			    (n / GT_STEP_OPERANDS + 1);
	}
	*program = (struct gt_program){.rank = rank, .lane = t};
	program->conns = gt_arena_array(plan->arena, tb->nconns,
					sizeof(*program->conns));
	program->steps =
		gt_arena_array(plan->arena, nrecords, sizeof(*program->steps));
	tb->program = program;
	return program->conns && program->steps ? GT_OK : gt_err_nomem(err);
}

static int gt_links_programs(struct gt_import_file *algo, struct gt_plan *plan,
			     struct gt_err *err)
{
	size_t n = 0;
	int rc = GT_OK;

	for (uint32_t r = 0; r < algo->ngpus; r++)
		n += algo->gpus[r].ntbs;
	plan->nprograms = 0;
	plan->programs =
		gt_arena_array(plan->arena, n, sizeof(*plan->programs));
	if (!plan->programs)
		return gt_err_nomem(err);
	for (uint32_t r = 0; !rc && r < algo->ngpus; r++)
		for (uint32_t t = 0; !rc && t < algo->gpus[r].ntbs; t++)
			rc = gt_links_program(algo, plan, r, t, err);
	return rc;
}

static uint16_t gt_links_end(struct gt_program *program, struct gt_conn conn)
{
	program->conns[program->nconns] = conn;
	return (uint16_t)program->nconns++;
}

static int gt_links_join(struct gt_links *links, struct gt_import_link *link,
			 struct gt_err *err)
{
	struct gt_import_file *algo = links->algo;
	uint32_t pair = link->from * algo->ngpus + link->to;
	struct gt_import_tb *to = gt_links_tb(algo, link->to, link->to_tb);
	struct gt_conn conn = {.peer = link->from,
			       .tag = (uint16_t)links->ntags[pair]};

	if (links->ntags[pair]++ > UINT16_MAX)
		return gt_err_set(err, GT_EINPUT, algo->name,
				  "gpu %u has more than %d connections with "
				  "gpu %u",
				  link->from, UINT16_MAX, link->to);
	if (to)
		link->to_conn = gt_links_end(to->program, conn);
	conn.peer = link->to;
	conn.sends = 1;
	link->from_conn = gt_links_end(
		gt_links_tb(algo, link->from, link->from_tb)->program, conn);
	return GT_OK;
}

int gt_import_links(struct gt_import_file *algo, struct gt_plan *plan,
		    struct gt_err *err)
{
	struct gt_links links = {.algo = algo};
	int rc = gt_links_count(algo, err);

	if (!rc)
		rc = gt_links_programs(algo, plan, err);
	if (rc)
		return rc;
	links.ntags =
		gt_arena_array(algo->arena, (size_t)algo->ngpus * algo->ngpus,
			       sizeof(*links.ntags));
	if (!links.ntags)
		return gt_err_nomem(err);
	for (uint32_t i = 0; !rc && i < algo->nlinks; i++)
		rc = gt_links_join(&links, &algo->links[i], err);
	return rc;
}
