/* Forms the job's processes, and lets one of them speak for all. */
#include "cli/run/job.h"

#include <config.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/run/sweep.h"
#include "plan/ir/plan.h"
#include "world/launcher.h"
#include "world/world.h"

/* A fact that must be the same in all processes. */
struct gt_run_job_fact {
	const char *name, *value;
};

int gt_run_job_open(const struct gt_run_job_options *options,
		    struct gt_world **world, int *parent, struct gt_err *err)
{
	struct gt_world_config config = {.size = 1, .listen_fd = -1};
	struct gt_launcher_info launch;
	int rc = GT_OK;

	*world = NULL;
	*parent = 0;
	config.timeout_ns = options->timeout_ns;
	config.interrupt = options->interrupt;
	config.has_door = options->keep_going;
	if (options->procs > 1)
		rc = gt_fork_job((uint32_t)options->procs, &config, parent,
				 err);
	else if (!options->procs)
		rc = gt_launcher_find(options->iface, &config, &launch, err);
	if (!rc && !*parent && config.size > 1)
		rc = gt_world_open(&config, world, err);
	gt_secret_wipe(&config.secret);
	return rc;
}

/* Put the values one behind the other, each with its NUL. */
static int gt_run_job_facts_text(const struct gt_run_job_fact *facts,
				 uint32_t nfacts, struct gt_buf *text)
{
	for (uint32_t i = 0; i < nfacts; i++) {
		gt_buf_add(text, facts[i].value, strlen(facts[i].value));
		gt_buf_add(text, "", 1);
	}
	return !text->failed;
}

/* Compare a process's text with process 0's, fact by fact. */
static int gt_run_job_facts_compare(struct gt_world *world, uint32_t process,
				    const struct gt_world_part *parts,
				    const struct gt_run_job_fact *facts,
				    uint32_t nfacts, struct gt_err *err)
{
	const char *at = parts[process].bytes, *end = at + parts[process].len;
	const char *want = parts[0].bytes, *last = want + parts[0].len;
	size_t len, most;

	for (uint32_t i = 0; i < nfacts; i++) {
		len = strnlen(at, (size_t)(end - at));
		most = strnlen(want, (size_t)(last - want));
		if (at + len == end || want + most == last ||
		    strcmp(at, want) != 0)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "%s has %s '%.*s', process 0 '%.*s'",
					  gt_world_name(world, process),
					  facts[i].name, (int)len, at,
					  (int)most, want);
		at += len + 1;
		want += most + 1;
	}
	return GT_OK;
}

static int gt_run_job_compare_facts(struct gt_world *world,
				    const struct gt_run_job_fact *facts,
				    uint32_t nfacts, struct gt_err *err)
{
	uint32_t size = gt_world_size(world);
	struct gt_world_part *parts = calloc(size, sizeof(*parts));
	struct gt_buf text = GT_BUF_INIT;
	int met = GT_OK, rc = GT_OK;

	if (!parts || !gt_run_job_facts_text(facts, nfacts, &text))
		rc = gt_err_nomem(err);
	else
		met = gt_world_allgather(world, text.text, text.len, parts,
					 err);
	/* All come to the same verdict; one of them says it. */
	for (uint32_t p = 1; !rc && !met && p < size; p++)
		rc = gt_run_job_facts_compare(world, p, parts, facts, nfacts,
					      err);
	gt_buf_release(&text);
	free(parts);
	/* Nobody gives up before all have heard. */
	if (!met)
		met = gt_world_allgather(world, NULL, 0, NULL, err);
	return rc ? rc : met;
}

int gt_run_job_check_same(struct gt_world *world,
			  const struct gt_run_sweep *sweep, struct gt_err *err)
{
	const struct gt_engine_config *config = &sweep->config;
	char what[448];
	const struct gt_run_job_fact facts[] = {
		{"version", PACKAGE_VERSION},
		{"plan", sweep->plan_digest},
		{"options", what},
	};

	snprintf(what, sizeof(what),
		 "collectives %x types %x operators %x from %" PRIu64
		 " to %" PRIu64 " by %" PRIu64 " iterations %u+%u root %u "
		 "workers %u slots %u link %s device %s map %d graph %d best "
		 "%d overlap %d invariant %d max blocks %u p2p %.60s "
		 "percentiles %d",
		 sweep->colls, sweep->dtypes, sweep->redops, sweep->begin_bytes,
		 sweep->end_bytes, sweep->factor, sweep->warmup, sweep->iters,
		 config->plan->root, config->workers, config->plan->fifo_slots,
		 config->link ? config->link : "auto", sweep->ops->name,
		 config->map, config->graph, config->best, config->overlap,
		 config->invariant, config->max_blocks,
		 config->p2p ? config->p2p : "on", sweep->percentiles);
	return gt_run_job_compare_facts(world, facts,
					sizeof(facts) / sizeof(*facts), err);
}

int gt_run_job_close(struct gt_world *world, int rc, struct gt_err *err)
{
	if (!world)
		return rc;
	/* All processes know of wrong data: they have added its count up. */
	if (rc && rc != GT_ENO) {
		gt_world_abort_for(world, err);
	} else if (gt_world_allgather(world, NULL, 0, NULL, err)) {
		/* A job that goes on misses nobody who is gone at its end. */
		if (gt_world_config(world)->has_door)
			gt_err_init(err);
		else
			rc = GT_ESYS;
	}
	if (!gt_world_reports_failure(world))
		gt_err_init(err);
	gt_world_close(world);
	return rc;
}
