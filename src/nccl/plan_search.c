/* Asks the cache, then the program gtopo, and checks what either has. */
#include "nccl/plan_search.h"

#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/bus_id.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/file.h"
#include "nccl/helper.h"
#include "nccl/plan_cache.h"
#include "nccl/say.h"
#include "nccl/team.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "plan/simulate/simulate.h"

enum {
	/* With detection, unless GTOPO_SEARCH says else. */
	GT_PLAN_SEARCH_MS = 2000,
	GT_PLAN_SEARCH_MS_MOST = 3600000,
	GT_PLAN_TOPOLOGY_BYTES_MOST = 64 << 20,
};

/*
 * The topology file, or the reference machine, that the user has named; NULL:
 * the machine is detected.
 */
static const char *gt_plan_topology(void)
{
	const char *path = getenv("GTOPO_TOPOLOGY");

	/* Standard input is the program's own. */
	return path && *path && strcmp(path, "-") != 0 ? path : NULL;
}

/* The bus id of a rank's GPU, as topologies and plans spell it. */
struct gt_plan_gpu {
	char bus_id[GT_BUS_ID_MAX];
};

static struct gt_plan_gpu gt_plan_gpu(const struct gt_team *team, uint32_t r)
{
	struct gt_plan_gpu gpu = {""};

	gt_bus_id_normalize(team->members[r].bus_id, gpu.bus_id);
	return gpu;
}

/* How long detection and search may take; 0: there are none. */
static int64_t gt_plan_search_ms(void)
{
	const char *word = getenv("GTOPO_SEARCH");
	char *end;
	long ms;

	if (!word || !*word)
		return GT_PLAN_SEARCH_MS;
	errno = 0;
	ms = strtol(word, &end, 10);
	if (!errno && !*end && ms >= 0 && ms <= GT_PLAN_SEARCH_MS_MOST)
		return ms;
	gt_say_log(GT_SAY_WARN,
		   "GTOPO_SEARCH '%.32s' is no number of milliseconds from 0 "
		   "to %d: it is %d",
		   word, GT_PLAN_SEARCH_MS_MOST, GT_PLAN_SEARCH_MS);
	return GT_PLAN_SEARCH_MS;
}

/* Why there is nothing to search for; NULL: there is. */
static const char *gt_plan_obstacle(const struct gt_team *team, int on_host,
				    int64_t ms)
{
	uint32_t one, other;

	if (!ms)
		return "GTOPO_SEARCH is 0";
	if (team->size < 2)
		return "there is one rank";
	if (on_host && !gt_plan_topology())
		return "ranks are on the host";
	for (uint32_t r = 0; r < team->size; r++) {
		if (strcmp(team->members[r].host, team->members[0].host) != 0)
			return "ranks are on several hosts";
		if (!*gt_plan_gpu(team, r).bus_id)
			return "a rank's GPU has no bus id";
	}
	return gt_team_find_pair(team, &one, &other) ? "ranks share a GPU"
						     : NULL;
}

static int gt_plan_is_device(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/*
 * Tell which machine it is: what is known without detection, which would take
 * as long as the search.  Links that come up or fail are not told of; that is
 * why what is kept grows old.
 */
static void gt_plan_tell_machine(struct gt_buf *key)
{
	struct dirent **all = NULL;
	int n = scandir("/sys/bus/pci/devices", &all, gt_plan_is_device,
			alphasort);

	gt_buf_puts(key, "start ");
	if (gt_file_read("/proc/sys/kernel/random/boot_id", 4096, key, NULL))
		gt_buf_puts(key, "unknown\n");
	/* There is none where the driver is not NVIDIA's. */
	gt_file_read("/proc/driver/nvidia/version", 4096, key, NULL);
	for (int i = 0; i < n; i++) {
		gt_buf_printf(key, "device %s\n", all[i]->d_name);
		free(all[i]);
	}
	free(all);
}

/* The program looks for a machine of that name where there is no such file. */
static int gt_plan_is_name(const char *path)
{
	return !strpbrk(path, "./") && access(path, F_OK);
}

/* Tell which topology file it is, or which machine of which folder. */
static int gt_plan_tell_file(const char *path, struct gt_buf *key,
			     struct gt_err *err)
{
	char digest[GT_DIGEST_TEXT_MAX];
	struct gt_buf file = GT_BUF_INIT;
	const char *folder = getenv("GTOPO_XML");
	int rc;

	if (gt_plan_is_name(path)) {
		gt_buf_printf(key, "machine %s in %s\n", path,
			      folder ? folder : "");
		return GT_OK;
	}
	rc = gt_file_read(path, GT_PLAN_TOPOLOGY_BYTES_MOST, &file, err);

	if (!rc && !gt_digest_text(file.text, file.len, digest))
		rc = gt_err_nomem(err);
	if (!rc)
		gt_buf_printf(key, "topology %s\n", digest);
	gt_buf_release(&file);
	return rc;
}

/* Tell all that a plan depends on. */
static int gt_plan_key(const struct gt_team *team, int invariant,
		       struct gt_buf *key, struct gt_err *err)
{
	const char *path = gt_plan_topology();
	int rc = GT_OK;

	gt_buf_printf(key, "gtopo %s\ninvariant %d\n", PACKAGE_VERSION,
		      invariant);
	for (uint32_t r = 0; r < team->size; r++)
		gt_buf_printf(key, "gpu %s\n", gt_plan_gpu(team, r).bus_id);
	if (path)
		rc = gt_plan_tell_file(path, key, err);
	else
		gt_plan_tell_machine(key);
	return !rc && key->failed ? gt_err_nomem(err) : rc;
}

/* Does it do all that it has rows for, as `gtopo verify` would find? */
static int gt_plan_prove(const struct gt_plan *plan, struct gt_err *err)
{
	int rc = gt_plan_check(plan, err);

	for (int coll = 0; !rc && coll < GT_NCOLLS; coll++) {
		int has = (int)plan->coll == coll;

		for (uint32_t i = 0; i < plan->nselect; i++)
			has |= (int)plan->select[i].coll == coll;
		if (has)
			rc = gt_simulate(plan, (enum gt_coll)coll, err);
	}
	return rc;
}

/* Is it a plan, and for these GPUs, each of its rank? */
static int gt_plan_fits(const struct gt_team *team, int invariant,
			const struct gt_buf *text, struct gt_err *err)
{
	struct gt_plan *plan;
	int rc = gt_plan_parse("the plan", text->len ? text->text : "",
			       text->len, &plan, err);

	if (rc)
		return rc;
	rc = gt_plan_prove(plan, err);
	if (!rc &&
	    (plan->nranks != team->size || plan->coll != GT_COLL_ALLREDUCE ||
	     plan->out_of_place || (invariant && !plan->invariant)))
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"it is for something else");
	for (uint32_t r = 0; !rc && r < team->size; r++)
		if (strcmp(plan->ranks[r].device,
			   gt_plan_gpu(team, r).bus_id) != 0)
			rc = gt_err_set(err, GT_EINPUT, NULL,
					"rank %u has another GPU there, %s", r,
					plan->ranks[r].device);
	gt_plan_free(plan);
	return rc;
}

/*
 * Set when a search took too long: this process does not wait for another one.
 * It is of the machine, which all communicators of a process share.
 */
static _Atomic int gt_plan_is_slow;

/* A search that is under way. */
struct gt_plan_run {
	const struct gt_team *team;
	int invariant;
	struct gt_helper_limit limit;
};

/* Have the program search on the file, or on what it has detected. */
static int gt_plan_find_on(const struct gt_plan_run *run, const char *gpus,
			   const struct gt_buf *detected, struct gt_buf *text,
			   struct gt_err *err)
{
	const char *path = gt_plan_topology();
	const char *const search[] = {
		"gtopo", "search",
		"-q",    "--gpus",
		gpus,    run->invariant ? "--invariant" : "-q",
		"--",    path ? path : "-",
		NULL};

	return gt_helper_run(search, detected, run->limit, text, err);
}

static int gt_plan_find(const struct gt_plan_run *run, struct gt_buf *text,
			struct gt_err *err)
{
	const char *const detect[] = {"gtopo", "detect", "-q", NULL};
	struct gt_buf detected = GT_BUF_INIT, gpus = GT_BUF_INIT;
	int rc = gt_plan_topology() ? GT_OK
				    : gt_helper_run(detect, NULL, run->limit,
						    &detected, err);

	for (uint32_t r = 0; r < run->team->size; r++)
		gt_buf_printf(&gpus, "%s%s", r ? "," : "",
			      gt_plan_gpu(run->team, r).bus_id);
	if (!rc)
		rc = gpus.failed ? gt_err_nomem(err)
				 : gt_plan_find_on(run, gpus.text, &detected,
						   text, err);
	gt_buf_release(&detected);
	gt_buf_release(&gpus);
	return rc;
}

/* An abort, or the end of another rank, is also that of the search. */
static struct gt_helper_limit gt_plan_limit(const struct gt_team *team,
					    int64_t ms)
{
	struct gt_world *world = team->world;

	return (struct gt_helper_limit){
		.until_ns = gt_clock_ns() + ms * 1000000,
		.stop = world ? gt_world_config(world)->interrupt : NULL,
		.end = world ? gt_world_end_flag(world) : NULL};
}

/* What is kept, if it is good; 0: there is nothing. */
static int gt_plan_recall(const struct gt_plan_run *run,
			  const struct gt_plan_cache *cache,
			  struct gt_buf *text)
{
	struct gt_err err;

	gt_err_init(&err);
	if (!gt_plan_cache_read(cache, text))
		return 0;
	if (!gt_plan_fits(run->team, run->invariant, text, &err))
		return 1;
	gt_plan_cache_distrust(cache, err.text);
	return 0;
}

static int gt_plan_get(const struct gt_plan_run *run, const char *key,
		       struct gt_buf *text, struct gt_err *err)
{
	int64_t begin = gt_clock_ns();
	struct gt_plan_cache cache;
	int rc;

	gt_plan_cache_find(key, &cache);
	if (gt_plan_recall(run, &cache, text)) {
		gt_say_log(GT_SAY_INFO, "the plan is %s", cache.path);
		return GT_OK;
	}
	gt_buf_release(text);
	*text = (struct gt_buf)GT_BUF_INIT;
	if (atomic_load(&gt_plan_is_slow))
		return gt_err_set(err, GT_ENO, NULL,
				  "a search took too long before");
	rc = gt_plan_find(run, text, err);
	if (rc && gt_clock_ns() >= run->limit.until_ns)
		atomic_store(&gt_plan_is_slow, 1);
	if (!rc)
		rc = gt_plan_fits(run->team, run->invariant, text, err);
	if (rc)
		return rc;
	gt_say_log(GT_SAY_INFO, "the plan was found in %.3f s",
		   (double)(gt_clock_ns() - begin) / 1e9);
	gt_plan_cache_write(&cache, text);
	return GT_OK;
}

int gt_plan_search(const struct gt_team *team, int on_host, int invariant,
		   struct gt_buf *text, struct gt_err *err)
{
	int64_t ms = gt_plan_search_ms();
	const char *obstacle = gt_plan_obstacle(team, on_host, ms);
	struct gt_plan_run run = {team, invariant, gt_plan_limit(team, ms)};
	struct gt_buf key = GT_BUF_INIT;
	int rc;

	if (obstacle)
		return gt_err_set(err, GT_ENO, NULL, "%s", obstacle);
	rc = gt_plan_key(team, invariant, &key, err);
	if (!rc)
		rc = gt_plan_get(&run, key.text, text, err);
	gt_buf_release(&key);
	/* A machine that the user has named is not passed over in silence. */
	if (rc && gt_plan_topology())
		gt_say_log(GT_SAY_WARN, "GTOPO_TOPOLOGY '%.64s': %s",
			   gt_plan_topology(), err->text);
	return rc ? GT_ENO : GT_OK;
}
