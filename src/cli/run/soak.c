/*
 * Draws random operations, runs them and checks every element of their results.
 */
#include "cli/run/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/run/going.h"
#include "exec/link/process_group.h"
#include "plan/ir/plan.h"
#include "world/world.h"

enum { GT_SOAK_MOST_SHIFT = 15, GT_SOAK_MOST_ITERS = 3 };

struct gt_soak {
	struct gt_run_sweep *sweep;
	struct gt_run_going *going; /* NULL: the first failure is the end */
	int64_t noticed_ns; /* a failure, until an operation is right again */
	struct gt_engine *engine;
	uint64_t random; /* the same in all processes */
	uint64_t done, wrong;
	int64_t begin_ns, told_ns;
};

/* Draw a number by splitmix64 (Steele, Lea and Flood 2014). */
static uint64_t gt_soak_random(struct gt_soak *soak, uint64_t below)
{
	uint64_t z = soak->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) % below;
}

/* Draw one of the set's bits below n; the set is not empty. */
static int gt_soak_pick(struct gt_soak *soak, unsigned set, int n)
{
	int bit;

	do
		bit = (int)gt_soak_random(soak, (uint64_t)n);
	while (!(set >> bit & 1));
	return bit;
}

/* Draw a size: all magnitudes are alike, and odd ones are among them. */
static uint64_t gt_soak_bytes(struct gt_soak *soak)
{
	uint64_t most = soak->sweep->end_bytes, limit = 1;
	int magnitudes = 1;

	while (magnitudes < 63 && 1ull << magnitudes <= most)
		magnitudes++;
	limit <<= gt_soak_random(soak, (uint64_t)magnitudes) + 1;
	return gt_soak_random(soak, limit < most ? limit : most + 1);
}

static struct gt_exec_request gt_soak_request(struct gt_soak *soak)
{
	const struct gt_run_sweep *sweep = soak->sweep;
	const struct gt_plan *plan = sweep->config.plan;
	struct gt_exec_request req = {.root = plan->root};
	uint64_t blocks;

	req.coll = (enum gt_coll)gt_soak_pick(soak, sweep->colls, GT_NCOLLS);
	req.dtype =
		(enum gt_dtype)gt_soak_pick(soak, sweep->dtypes, GT_NDTYPES);
	req.op = (enum gt_redop)gt_soak_pick(soak, sweep->redops, GT_NREDOPS);
	blocks = gt_coll_has_blocks(req.coll) ? plan->nranks : 1;
	req.count = gt_soak_bytes(soak) / gt_dtype_bytes(req.dtype) / blocks;
	req.inplace = (int)gt_soak_random(soak, 2) && !plan->out_of_place;
	req.shift = (uint32_t)gt_soak_random(soak, GT_SOAK_MOST_SHIFT + 1);
	req.seed = soak->done + 1;
	return req;
}

static int gt_soak_one(struct gt_soak *soak, struct gt_err *err)
{
	const struct gt_engine_ops *ops = soak->sweep->ops;
	struct gt_exec_request req = gt_soak_request(soak);
	uint32_t more = (uint32_t)gt_soak_random(soak, GT_SOAK_MOST_ITERS + 1);
	int64_t elapsed_ns;
	uint64_t wrong;
	int rc = ops->fill(soak->engine, &req, err);

	if (!rc)
		rc = ops->run(soak->engine, &req, 1, &elapsed_ns, err);
	if (!rc)
		rc = ops->check(soak->engine, &req, &wrong, err);
	/* Some more runs follow straight behind each other, without a check. */
	if (!rc && more)
		rc = ops->run(soak->engine, &req, more, &elapsed_ns, err);
	if (rc)
		return rc;
	soak->done += 1 + more;
	soak->wrong += wrong;
	if (wrong && !soak->sweep->quiet)
		printf("%s of %" PRIu64 " %s, %s, %s, %u elements shifted: "
		       "%" PRIu64 " are wrong\n",
		       gt_coll_name(req.coll), req.count,
		       gt_dtype_name(req.dtype), gt_redop_name(req.op),
		       req.inplace ? "in place" : "out of place", req.shift,
		       wrong);
	return GT_OK;
}

static int gt_soak_is_interrupted(const struct gt_soak *soak)
{
	const _Atomic int *interrupt = soak->sweep->config.interrupt;

	return interrupt && atomic_load(interrupt);
}

/*
 * All processes stop after the same operation.  Engines look at the interrupt
 * while they wait, which in short operations they do not.
 */
static int gt_soak_is_over(struct gt_soak *soak, int64_t duration_ns, int *over,
			   struct gt_err *err)
{
	struct gt_world *world = soak->sweep->config.world;
	int64_t now = gt_clock_ns();
	uint64_t any = now - soak->begin_ns >= duration_ns;
	int rc;

	if (gt_soak_is_interrupted(soak))
		return gt_err_set(err, GT_ESYS, NULL, "interrupted");
	rc = world ? gt_world_max(world, &any, err) : GT_OK;
	*over = !rc && any > 0;
	if (!soak->sweep->quiet && isatty(STDERR_FILENO) &&
	    now - soak->told_ns > 500000000) {
		fprintf(stderr, "\r%" PRIu64 " operations in %.0f s ",
			soak->done, (double)(now - soak->begin_ns) / 1e9);
		soak->told_ns = now;
	}
	return rc;
}

static int gt_soak_open(struct gt_soak *soak, struct gt_err *err)
{
	struct gt_engine_config config = soak->sweep->config;

	config.max_bytes = soak->sweep->end_bytes;
	return soak->sweep->ops->open(&config, &soak->engine, err);
}

/* Some may have done an operation more than others. */
static int gt_soak_align(struct gt_soak *soak, struct gt_err *err)
{
	struct gt_world *world = soak->sweep->config.world;
	int rc = world ? gt_world_max(world, &soak->done, err) : GT_OK;

	if (world && !rc)
		rc = gt_world_max(world, &soak->wrong, err);
	soak->random = soak->done;
	return rc;
}

/* May the job go on without those that are gone?  Nobody wants an end here. */
static int gt_soak_may_go_on(const struct gt_soak *soak, int rc)
{
	return rc == GT_ESYS && soak->going && soak->sweep->config.world &&
	       !gt_soak_is_interrupted(soak);
}

/* So that whoever shares GPUs keeps his. */
static void gt_soak_note_device(struct gt_soak *soak)
{
	struct gt_engine_config *config = &soak->sweep->config;
	const struct gt_async_ops *async = soak->sweep->ops->async;
	uint32_t p = gt_world_rank(config->world);
	uint32_t first = config->starts
				 ? config->starts[p]
				 : gt_process_group_first(
					   p, gt_world_size(config->world),
					   config->plan->nranks);

	if (async)
		config->had_device =
			1 + (uint32_t)async->device(soak->engine, first);
}

/* Go on as often as it takes: the next may be gone before all have begun. */
static int gt_soak_go_on(struct gt_soak *soak, int rc, struct gt_err *err)
{
	if (!soak->noticed_ns)
		soak->noticed_ns = gt_clock_ns();
	while (gt_soak_may_go_on(soak, rc)) {
		if (soak->engine) {
			gt_soak_note_device(soak);
			soak->sweep->ops->close(soak->engine);
		}
		soak->engine = NULL;
		rc = gt_run_go_on(soak->going, soak->sweep, err);
		if (rc)
			return rc;
		rc = gt_soak_align(soak, err);
		if (!rc)
			rc = gt_soak_open(soak, err);
	}
	return rc;
}

/* The first operation behind a failure was right. */
static void gt_soak_tell(struct gt_soak *soak)
{
	if (!soak->noticed_ns)
		return;
	if (!soak->sweep->quiet) {
		printf("%s; right again %.3f s after it was noticed\n",
		       soak->going->words,
		       (double)(gt_clock_ns() - soak->noticed_ns) / 1e9);
		fflush(stdout);
	}
	soak->noticed_ns = 0;
}

/* Run one operation after the other until the time is over. */
static int gt_soak_all(struct gt_soak *soak, int64_t duration_ns,
		       struct gt_err *err)
{
	int rc = GT_OK, over = 0;

	while (!rc && !over) {
		rc = gt_soak_one(soak, err);
		if (!rc)
			gt_soak_tell(soak);
		if (!rc)
			rc = gt_soak_is_over(soak, duration_ns, &over, err);
		if (gt_soak_may_go_on(soak, rc))
			rc = gt_soak_go_on(soak, rc, err);
	}
	return rc;
}

int gt_run_soak(const struct gt_run_sweep *sweep, int64_t duration_ns,
		struct gt_run_going *going, struct gt_err *err)
{
	struct gt_run_sweep own = *sweep;
	struct gt_soak soak = {
		.sweep = &own, .going = going, .begin_ns = gt_clock_ns()};
	int rc = gt_soak_open(&soak, err);

	if (gt_soak_may_go_on(&soak, rc))
		rc = gt_soak_go_on(&soak, rc, err);
	if (rc)
		return rc;
	rc = gt_soak_all(&soak, duration_ns, err);
	if (soak.engine)
		sweep->ops->close(soak.engine);
	sweep = &own;
	if (soak.told_ns)
		fprintf(stderr, "\r%40s\r", "");
	if (!sweep->quiet)
		printf("%" PRIu64 " operations in %.1f s, %" PRIu64
		       " elements wrong%s\n",
		       soak.done, (double)(gt_clock_ns() - soak.begin_ns) / 1e9,
		       soak.wrong, rc ? ", then it failed" : "");
	return !rc && soak.wrong ? GT_ENO : rc;
}
