/* Makes a job of the processes that are left of one. */
#include "cli/run/going.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/run/replan.h"
#include "cli/run/sweep.h"
#include "exec/link/process_group.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "world/world.h"

/* So many of those that are gone are named, and the others counted. */
enum { GT_GOING_NAMED = 4 };

/* One step from a job to the next. */
struct gt_going_step {
	struct gt_run_going *going;
	struct gt_run_sweep *sweep;
	struct gt_world *next;
	uint32_t *left, nleft; /* processes, by their old numbers */
	uint32_t *starts;      /* of the new ones */
	uint8_t *gone;         /* ranks */
	struct gt_plan *plan;
	struct gt_buf words;
};

static uint32_t gt_going_start(const struct gt_going_step *step, uint32_t p)
{
	const struct gt_engine_config *config = &step->sweep->config;

	return config->starts
		       ? config->starts[p]
		       : gt_process_group_first(p, gt_world_size(config->world),
						config->plan->nranks);
}

static void gt_going_name(struct gt_going_step *step, uint32_t p,
			  uint32_t first, uint32_t end)
{
	gt_buf_printf(&step->words, "%s%s with rank%s %u",
		      step->words.len ? ", " : "",
		      gt_world_name(step->sweep->config.world, p),
		      end - first > 1 ? "s" : "", first);
	if (end - first > 1)
		gt_buf_printf(&step->words, "-%u", end - 1);
}

/* Find which ranks are gone with which processes, and say so. */
static void gt_going_count(struct gt_going_step *step)
{
	struct gt_world *old = step->sweep->config.world;
	uint32_t i = 0, n = 0, named = 0;

	for (uint32_t p = 0; p < gt_world_size(old); p++) {
		uint32_t first = gt_going_start(step, p);
		uint32_t end = gt_going_start(step, p + 1);

		if (i < step->nleft && step->left[i] == p) {
			step->starts[i++] = n;
			n += end - first;
			continue;
		}
		if (named++ < GT_GOING_NAMED)
			gt_going_name(step, p, first, end);
		memset(step->gone + first, 1, end - first);
	}
	step->starts[i] = n;
	if (named > GT_GOING_NAMED)
		gt_buf_printf(&step->words, " and %u more",
			      named - GT_GOING_NAMED);
	gt_buf_printf(&step->words, " %s gone; %u of %u ranks go on",
		      named > 1 ? "are" : "is", n,
		      step->sweep->config.plan->nranks);
}

/* The first of the new job finds the plan, and all others read it. */
static int gt_going_share_plan(struct gt_going_step *step, struct gt_err *err)
{
	const struct gt_run_replan_want want = {step->sweep->colls,
						step->sweep->config.invariant};
	struct gt_world_part *parts = calloc(step->nleft, sizeof(*parts));
	struct gt_buf text = GT_BUF_INIT;
	int first = !step->next || !gt_world_rank(step->next);
	int rc = parts ? GT_OK : gt_err_nomem(err);

	if (!rc && first)
		rc = gt_run_replan(step->sweep->config.plan, step->gone, &want,
				   &step->plan, err);
	if (!rc && first)
		rc = gt_plan_print(step->plan, &text, err);
	if (!rc && step->next)
		rc = gt_world_allgather(step->next, text.text, text.len, parts,
					err);
	if (!rc && !first)
		rc = gt_plan_parse("the plan that takes over", parts[0].bytes,
				   parts[0].len, &step->plan, err);
	if (!rc && !first)
		rc = gt_run_replan_check(step->plan, want.colls, err);
	gt_buf_release(&text);
	free(parts);
	return rc;
}

static void gt_going_take_over(struct gt_going_step *step)
{
	struct gt_run_going *going = step->going;
	struct gt_engine_config *config = &step->sweep->config;

	gt_buf_puts(&step->words, " with ");
	gt_run_replan_words(step->plan, &step->words);
	snprintf(going->words, sizeof(going->words), "%s",
		 step->words.failed ? "" : step->words.text);
	gt_run_going_free(going);
	going->plan = step->plan;
	going->starts = step->starts;
	going->world = step->next;
	config->plan = step->plan;
	config->world = step->next;
	config->starts = step->next ? step->starts : NULL;
	step->sweep->quiet = step->next && gt_world_rank(step->next) > 0;
	step->plan = NULL;
	step->starts = NULL;
	step->next = NULL;
}

/*
 * Nobody is gone, so it is the way between them; where that was RDMA there is
 * another one.
 */
static int gt_going_change_way(struct gt_going_step *step,
			       const struct gt_err *why, struct gt_err *err)
{
	struct gt_engine_config *config = &step->sweep->config;

	if (!config->link || !strcmp(config->link, "verbs")) {
		config->link = "tcp";
		gt_buf_printf(&step->words, "%.300s: TCP from now on",
			      why->text);
		return GT_OK;
	}
	return gt_err_set(err, GT_ESYS, NULL, "%s", why->text);
}

static int gt_going_regroup(struct gt_going_step *step, struct gt_err *err)
{
	const struct gt_engine_config *config = &step->sweep->config;
	const struct gt_regroup how = {.timeout_ns = config->timeout_ns,
				       .stop = config->interrupt};
	struct gt_err why = *err;
	char words[sizeof(why.text)];
	int rc;

	/* Others may not know yet what has failed only here. */
	snprintf(words, sizeof(words), "%s", why.text);
	gt_world_abort(config->world, words);
	rc = gt_world_regroup(config->world, &how, &step->next, step->left,
			      &step->nleft, err);
	if (rc)
		return rc;
	gt_going_count(step);
	if (step->nleft < gt_world_size(config->world))
		return GT_OK;
	step->words.len = 0;
	return gt_going_change_way(step, &why, err);
}

/*
 * Another one was lost while the plan was searched for: the old job is where
 * those that are left find each other again.
 */
static int gt_going_try_again(struct gt_going_step *step, struct gt_err *err)
{
	struct gt_err why;

	gt_err_init(&why);
	if (!step->next || !gt_world_failed(step->next, &why))
		return 0;
	gt_world_take_back(step->sweep->config.world, step->next);
	gt_world_abandon(step->next);
	gt_plan_free(step->plan);
	step->next = NULL;
	step->plan = NULL;
	step->words.len = 0;
	memset(step->gone, 0, step->sweep->config.plan->nranks);
	*err = why;
	return 1;
}

/* Each attempt but the last has lost a process, or a connection. */
static int gt_going_attempts(struct gt_going_step *step, struct gt_err *err)
{
	uint32_t left = gt_world_size(step->sweep->config.world);
	int rc;

	do {
		rc = gt_going_regroup(step, err);
		if (rc)
			return rc;
		rc = gt_going_share_plan(step, err);
	} while (rc && left-- && gt_going_try_again(step, err));
	return rc;
}

int gt_run_go_on(struct gt_run_going *going, struct gt_run_sweep *sweep,
		 struct gt_err *err)
{
	struct gt_world *old = sweep->config.world;
	uint32_t size = gt_world_size(old);
	struct gt_going_step step = {
		.going = going,
		.sweep = sweep,
		.left = calloc(size, sizeof(*step.left)),
		.starts = calloc(size + 1, sizeof(*step.starts)),
		.gone = calloc(sweep->config.plan->nranks, 1),
		.words = GT_BUF_INIT,
	};
	int rc = step.left && step.starts && step.gone
			 ? gt_going_attempts(&step, err)
			 : gt_err_nomem(err);

	if (!rc) {
		gt_going_take_over(&step);
		gt_world_close(old);
	}
	if (rc && step.next) {
		gt_world_abort(step.next, err->text);
		gt_world_close(step.next);
	}
	gt_plan_free(step.plan);
	gt_buf_release(&step.words);
	free(step.left);
	free(step.starts);
	free(step.gone);
	return rc;
}

void gt_run_going_free(struct gt_run_going *going)
{
	gt_plan_free(going->plan);
	free(going->starts);
	going->plan = NULL;
	going->starts = NULL;
}
