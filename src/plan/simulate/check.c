/*
 * Programs looked at one by one before they are executed: do their steps,
 * operands and connections make sense?  And which chunks a rank's input and
 * output have.
 */
#include "plan/simulate/state.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "plan/lower/layout.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"
#include "plan/simulate/simulate.h"

int gt_sim_wrong(const struct gt_sim_args *args, uint32_t proc,
		 const struct gt_step *step, struct gt_err *err,
		 const char *fmt, ...)
{
	uint32_t nlanes = args->nlanes ? args->nlanes : 1;
	char where[512], text[1024], at[64] = "", lane[32] = "";
	va_list ap;

	if (step)
		snprintf(at, sizeof(at), ", step %u (%s)", step->id,
			 gt_op_name((enum gt_op)step->op));
	if (nlanes > 1)
		snprintf(lane, sizeof(lane), ", lane %u", proc % nlanes);
	snprintf(where, sizeof(where), "%s%s%s: channel %u, rank %u%s%s",
		 args->file ? args->file : "", args->file ? ": " : "",
		 gt_coll_name(args->coll), args->channel, proc / nlanes, lane,
		 at);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return gt_err_set(err, GT_ENO, where, "%s%s", text,
			  args->inplace ? " (in place; \"out_of_place\": true "
					  "in the plan keeps it from that)"
					: "");
}

uint32_t gt_sim_nprocs(const struct gt_sim_args *args)
{
	return args->nranks * (args->nlanes ? args->nlanes : 1);
}

uint32_t gt_sim_per_block(const struct gt_sim_args *args)
{
	uint32_t nchunks = args->programs[0].nchunks;

	return gt_coll_has_blocks(args->coll) ? nchunks / args->nranks
					      : nchunks;
}

static int gt_extent_has(const struct gt_sim_args *args, enum gt_extent extent,
			 uint32_t rank, uint32_t chunk)
{
	if (extent == GT_EXTENT_OWN)
		return chunk / gt_sim_per_block(args) == rank;
	return extent == GT_EXTENT_ALL;
}

int gt_sim_has_input(const struct gt_sim_args *args, uint32_t rank,
		     uint32_t chunk)
{
	struct gt_channel_use use = {.coll = args->coll, .root = args->root};

	return gt_extent_has(args, gt_layout_input(&use, rank), rank, chunk);
}

int gt_sim_has_output(const struct gt_sim_args *args, uint32_t rank,
		      uint32_t chunk)
{
	struct gt_channel_use use = {.coll = args->coll, .root = args->root};

	return gt_extent_has(args, gt_layout_output(&use, rank), rank, chunk);
}

struct gt_sim_access gt_sim_access_of(uint32_t proc, const struct gt_step *step,
				      uint32_t i)
{
	return (struct gt_sim_access){.proc = proc,
				      .step = step,
				      .operand = gt_step_operand(step, i),
				      .writes = i >= step->nsrc};
}

static int gt_operand_local(const struct gt_operand *operand)
{
	return operand->buf == GT_BUF_INPUT || operand->buf == GT_BUF_OUTPUT ||
	       operand->buf == GT_BUF_SCRATCH;
}

/*
 * The rank whose input or output the operand is in; GT_NO_OWNER for a slot or
 * nothing.
 */
enum { GT_NO_OWNER = -1 };
static int64_t gt_operand_owner(const struct gt_program *program,
				const struct gt_operand *operand)
{
	if (operand->buf == GT_BUF_NONE || operand->buf == GT_BUF_FIFO)
		return GT_NO_OWNER;
	return gt_operand_local(operand) ? program->rank
					 : program->conns[operand->conn].peer;
}

/*
 * Slices of a step are equally long only if their chunks lie alike in their
 * blocks.  Except in an all-to-all, a chunk also stays what it is.
 */
static int gt_operand_fits(const struct gt_sim_args *args, uint32_t chunk,
			   const struct gt_step *step)
{
	uint32_t per_block = gt_sim_per_block(args);

	if (args->coll != GT_COLL_ALLTOALL)
		return chunk == step->chunk;
	return chunk % per_block == step->chunk % per_block;
}

static const char *gt_operand_place_fault(const struct gt_sim_args *args,
					  const struct gt_program *program,
					  const struct gt_sim_access *access)
{
	const struct gt_operand *operand = access->operand;
	int64_t owner = gt_operand_owner(program, operand);
	int input = operand->buf == GT_BUF_INPUT ||
		    operand->buf == GT_BUF_PEER_INPUT;

	if (operand->buf == GT_BUF_SCRATCH)
		return operand->chunk < program->nscratch
			       ? NULL
			       : "reaches outside the scratch";
	if (owner == GT_NO_OWNER)
		return NULL;
	if (operand->chunk >= program->nchunks ||
	    !gt_operand_fits(args, operand->chunk, access->step))
		return "an operand has another chunk than the step";
	if (input && access->writes)
		return "writes an input";
	if (input && !gt_sim_has_input(args, (uint32_t)owner, operand->chunk))
		return "reads outside the input";
	if (!input && !gt_sim_has_output(args, (uint32_t)owner, operand->chunk))
		return "reaches outside the output";
	return NULL;
}

static const char *gt_operand_fault(const struct gt_sim_args *args,
				    const struct gt_program *program,
				    const struct gt_sim_access *access)
{
	const struct gt_operand *operand = access->operand;
	const uint8_t both = GT_OPERAND_WAIT | GT_OPERAND_POST;

	if (operand->buf >= GT_NBUFS || operand->flags > both)
		return "an operand has an unknown buffer or flag";
	if (gt_operand_local(operand) && operand->flags)
		return "waits or posts where no peer is";
	if (!gt_operand_local(operand)) {
		if (operand->conn >= program->nconns)
			return "uses a connection that is not there";
		if (program->conns[operand->conn].sends != access->writes)
			return "uses a connection the wrong way round";
	}
	/*
	 * Without a wait and a post a slot might be read early or overwritten
	 * late.
	 */
	if (operand->buf == GT_BUF_FIFO && operand->flags != both)
		return "a slot is not both waited for and posted";
	return gt_operand_place_fault(args, program, access);
}

static int gt_step_conn_twice(const struct gt_step *step)
{
	for (uint32_t i = 0; i < (uint32_t)step->nsrc + step->ndst; i++)
		for (uint32_t j = 0; j < i; j++) {
			const struct gt_operand *a = gt_step_operand(step, i);
			const struct gt_operand *b = gt_step_operand(step, j);

			if (!gt_operand_local(a) && !gt_operand_local(b) &&
			    a->conn == b->conn)
				return 1;
		}
	return 0;
}

/* Do all records of the step but the last say that more follow? */
static int gt_step_records_agree(const struct gt_program *program, uint32_t i)
{
	const struct gt_step *step = &program->steps[i];
	uint32_t n = gt_step_nrecords(step);

	if (n > program->nsteps - i)
		return 0;
	for (uint32_t k = 0; k < n; k++)
		if (!(step[k].flags & GT_STEP_MORE) != (k + 1 == n))
			return 0;
	return 1;
}

static const char *gt_step_fault(const struct gt_sim_args *args,
				 const struct gt_program *program, uint32_t i)
{
	const struct gt_step *step = &program->steps[i];
	const char *fault;

	if (step->op >= GT_NOPS || !gt_step_matches(step, (enum gt_op)step->op))
		return "operands and operation do not agree";
	if (!gt_step_records_agree(program, i))
		return "does not have as many records as operands need";
	if (step->flags & ~(GT_STEP_FINAL | GT_STEP_MORE))
		return "has an unknown flag";
	if (step->flags & GT_STEP_FINAL && !gt_coll_reduces(args->coll))
		return "is marked final where nothing is reduced";
	if (step->id != i)
		return "is not where its number says";
	if (step->chunk >= program->nchunks)
		return "has no such chunk";
	for (uint32_t k = 0; k < (uint32_t)step->nsrc + step->ndst; k++) {
		struct gt_sim_access access = gt_sim_access_of(0, step, k);

		fault = gt_operand_fault(args, program, &access);
		if (fault)
			return fault;
	}
	return gt_step_conn_twice(step) ? "uses a connection twice" : NULL;
}

static int gt_sim_check_conns(const struct gt_sim_args *args, uint32_t proc,
			      struct gt_err *err)
{
	const struct gt_program *program = &args->programs[proc];

	for (uint32_t i = 0; i < program->nconns; i++) {
		const struct gt_conn *conn = &program->conns[i];

		if (conn->peer >= args->nranks || conn->sends > 1 ||
		    (conn->peer == program->rank && args->nlanes < 2))
			return gt_sim_wrong(args, proc, NULL, err,
					    "connection %u leads to rank '%u'",
					    i, conn->peer);
	}
	return GT_OK;
}

static int gt_sim_check_program(const struct gt_sim_args *args, uint32_t proc,
				struct gt_err *err)
{
	const struct gt_program *program = &args->programs[proc];
	uint32_t nlanes = args->nlanes ? args->nlanes : 1;
	const char *fault;
	int rc;

	if (program->rank != proc / nlanes || program->lane != proc % nlanes ||
	    !program->nchunks || program->nchunks != args->programs[0].nchunks)
		return gt_sim_wrong(args, proc, NULL, err,
				    "the program is that of rank %u with %u "
				    "chunks",
				    program->rank, program->nchunks);
	rc = gt_sim_check_conns(args, proc, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < program->nsteps;
	     i += gt_step_nrecords(&program->steps[i])) {
		fault = gt_step_fault(args, program, i);
		if (fault)
			return gt_sim_wrong(args, proc, &program->steps[i], err,
					    "%s", fault);
	}
	return GT_OK;
}

int gt_sim_check_steps(const struct gt_sim_args *args, struct gt_err *err)
{
	uint32_t nchunks = args->programs[0].nchunks;
	int rc = GT_OK;

	if (gt_coll_has_blocks(args->coll) &&
	    (!nchunks || nchunks % args->nranks))
		rc = gt_sim_wrong(args, 0, NULL, err,
				  "there are %u chunks for %u blocks", nchunks,
				  args->nranks);
	for (uint32_t proc = 0; proc < gt_sim_nprocs(args) && !rc; proc++)
		rc = gt_sim_check_program(args, proc, err);
	return rc;
}
