/*
 * Programs of explicit steps: they belong to a channel of that shape, use
 * connections that exist, and send over hops of the channel.  Whether they
 * compute the collective is for the simulator to say.
 */
#include "plan/check/stages.h"

#include "base/err.h"
#include "plan/check/fault.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

enum { GT_MAX_LANES = 1024 };

static struct gt_plan_at gt_program_at(const struct gt_plan *plan,
				       const struct gt_program *program)
{
	return gt_plan_at("programs[channel %u, rank %u, lane %u]",
			  plan->channels[program->channel].id, program->rank,
			  program->lane);
}

int64_t gt_check_hop_find(const struct gt_plan_channel *channel, uint32_t from,
			  uint32_t to)
{
	for (uint32_t i = 0; i < channel->nhops; i++)
		if (channel->hops[i].from == from && channel->hops[i].to == to)
			return i;
	return -1;
}

/*
 * A program sends over hops of its channel only, so that everything counts as
 * load.
 */
static int gt_check_conns(const struct gt_plan *plan,
			  const struct gt_program *program, struct gt_err *err)
{
	for (uint32_t i = 0; i < program->nconns; i++) {
		const struct gt_conn *conn = &program->conns[i];

		if (conn->peer >= plan->nranks)
			return gt_plan_wrong(plan, gt_program_at(plan, program),
					     err, "there is no rank '%u'",
					     conn->peer);
		if (!conn->sends || conn->peer == program->rank ||
		    gt_check_hop_find(&plan->channels[program->channel],
				      program->rank, conn->peer) >= 0)
			continue;
		return gt_plan_wrong(plan, gt_program_at(plan, program), err,
				     "sends to rank %u, but the channel has no "
				     "such hop",
				     conn->peer);
	}
	return GT_OK;
}

/*
 * Every step has the records and the connections that its operands need; what
 * the operands mean is for the simulator to check.
 */
static int gt_check_records(const struct gt_plan *plan,
			    const struct gt_program *program,
			    struct gt_err *err)
{
	uint32_t i = 0, n;

	for (; i < program->nsteps; i += n) {
		n = gt_step_nrecords(&program->steps[i]);
		if (n > program->nsteps - i)
			break;
		for (uint32_t k = 0; k < (uint32_t)program->steps[i].nsrc +
						 program->steps[i].ndst;
		     k++)
			if (gt_step_operand(&program->steps[i], k)->conn >=
				    program->nconns &&
			    gt_operand_is_remote(
				    gt_step_operand(&program->steps[i], k)))
				return gt_plan_wrong(
					plan, gt_program_at(plan, program), err,
					"step %u uses a connection that is "
					"not there",
					i);
	}
	if (i == program->nsteps)
		return GT_OK;
	return gt_plan_wrong(plan, gt_program_at(plan, program), err,
			     "step %u has fewer records than operands need", i);
}

int gt_check_programs(const struct gt_plan *plan, struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t i = 0; i < plan->nprograms && !rc; i++) {
		const struct gt_program *program = &plan->programs[i];

		if (program->channel >= plan->nchannels ||
		    plan->channels[program->channel].shape != GT_SHAPE_STEPS)
			return gt_plan_wrong(
				plan, gt_plan_at("programs"), err,
				"one is for a channel that is not of shape "
				"'steps'");
		if (program->rank >= plan->nranks ||
		    program->lane >= GT_MAX_LANES)
			return gt_plan_wrong(plan, gt_program_at(plan, program),
					     err,
					     "there is no such rank, or lane");
		if (i && gt_program_cmp(program - 1, program) >= 0)
			return gt_plan_wrong(plan, gt_program_at(plan, program),
					     err,
					     "is there twice, or out of order");
		rc = gt_check_conns(plan, program, err);
		if (!rc)
			rc = gt_check_records(plan, program, err);
	}
	return rc;
}
