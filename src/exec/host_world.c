#include "exec/host_world.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exec/host.h"
#include "plan/plan.h"
#include "world/world.h"

/* Within a host, and between hosts. */
static const char *const gt_host_link_names[GT_HOST_LINKS] = {"shm", "tcp"};

enum { GT_HOST_NEAR, GT_HOST_FAR };

uint32_t gt_host_world_first(uint32_t p, uint32_t nprocesses, uint32_t nranks)
{
	return (uint32_t)((uint64_t)p * nranks / nprocesses);
}

/* Which process a rank is in. */
static uint32_t gt_host_process(const struct gt_engine *engine, uint32_t rank)
{
	uint32_t n = engine->far.nprocesses, p = 0;

	while (gt_host_world_first(p + 1, n, engine->nranks) <= rank)
		p++;
	return p;
}

/* Processes on one host share memory; another --link is for all. */
static int gt_host_choose_links(struct gt_engine *engine, int used[],
				struct gt_err *err)
{
	struct gt_host_world *far = &engine->far;
	const char *forced = engine->config.link;
	struct gt_world_part *parts = calloc(far->nprocesses, sizeof(*parts));
	char own[GT_HOST_ID_MAX] = "";
	int rc;

	if (!parts)
		return gt_err_nomem(err);
	far->nhere = 0;
	gt_share_host_id(own);
	rc = gt_world_meet(far->world, own, sizeof(own), parts, err);
	for (uint32_t p = 0; !rc && p < far->nprocesses; p++) {
		int same = parts[p].len == sizeof(own) &&
			   !memcmp(parts[p].bytes, own, sizeof(own));

		if (same)
			far->nhere +=
				gt_host_world_first(p + 1, far->nprocesses,
						    engine->nranks) -
				gt_host_world_first(p, far->nprocesses,
						    engine->nranks);
		if (p == gt_world_rank(far->world))
			continue;
		if (forced && !strcmp(forced, "shm") && !same)
			rc = gt_err_set(err, GT_EINPUT, NULL,
					"--link shm: %s is on another host",
					gt_world_name(far->world, p));
		far->link_of[p] = same && (!forced || !strcmp(forced, "shm"))
					  ? GT_HOST_NEAR
					  : GT_HOST_FAR;
		used[far->link_of[p]] = 1;
	}
	free(parts);
	return rc;
}

/* A link is opened by all processes as soon as one pair needs it. */
static int gt_host_open_links(struct gt_engine *engine, const int used[],
			      struct gt_err *err)
{
	struct gt_host_world *far = &engine->far;
	struct gt_link_config config = {
		.world = far->world,
		.iface = engine->config.iface,
		.bells = far->bells.base,
		.first_rank = engine->first,
		.nranks = engine->end - engine->first,
		.bells_fd = far->bells.fd,
	};
	int rc = GT_OK;

	for (int i = 0; !rc && i < GT_HOST_LINKS; i++) {
		uint64_t needed = (uint64_t)used[i];

		rc = gt_world_max(far->world, &needed, err);
		far->links[i].ops =
			gt_link_find(i == GT_HOST_FAR && engine->config.link
					     ? engine->config.link
					     : gt_host_link_names[i]);
		if (!rc && needed && !far->links[i].ops)
			rc = gt_err_set(err, GT_EINPUT, NULL,
					"--link '%s' is not part of this "
					"program",
					engine->config.link);
		if (!rc && needed)
			rc = far->links[i].ops->open(&config,
						     &far->links[i].link, err);
	}
	return rc;
}

/* In shared memory: ranks of other processes ring them, too. */
static int gt_host_hang_bells(struct gt_engine *engine, uint32_t first,
			      uint32_t end, struct gt_err *err)
{
	struct gt_bell *bells;
	int rc = gt_share_new((end - first) * sizeof(*bells),
			      &engine->far.bells, err);

	if (rc)
		return rc;
	bells = engine->far.bells.base;
	for (uint32_t r = first; r < end; r++)
		engine->ranks[r].bell = &bells[r - first];
	engine->first = first;
	engine->end = end;
	return GT_OK;
}

int gt_host_world_open(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_host_world *far = &engine->far;
	uint32_t self, n = engine->nranks;
	int used[GT_HOST_LINKS] = {0};
	int rc;

	far->world = engine->config.world;
	far->nprocesses = 1;
	far->nhere = engine->nranks;
	if (!far->world)
		return gt_host_hang_bells(engine, 0, n, err);
	self = gt_world_rank(far->world);
	far->nprocesses = gt_world_size(far->world);
	if (far->nprocesses > n)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "'%u' processes are more than the plan's %u "
				  "ranks",
				  far->nprocesses, n);
	far->link_of = calloc(far->nprocesses, sizeof(*far->link_of));
	if (!far->link_of)
		return gt_err_nomem(err);
	rc = gt_host_hang_bells(
		engine, gt_host_world_first(self, far->nprocesses, n),
		gt_host_world_first(self + 1, far->nprocesses, n), err);
	if (!rc)
		rc = gt_host_choose_links(engine, used, err);
	return rc ? rc : gt_host_open_links(engine, used, err);
}

void gt_host_world_close(struct gt_engine *engine)
{
	struct gt_host_world *far = &engine->far;

	for (int i = 0; i < GT_HOST_LINKS; i++) {
		if (far->links[i].link)
			far->links[i].ops->close(far->links[i].link);
		free(far->links[i].conns);
	}
	gt_share_free(&far->bells);
	free(far->link_of);
}

int gt_host_world_add(struct gt_engine *engine, const struct gt_link_conn *conn,
		      uint32_t other_rank, struct gt_err *err)
{
	uint32_t process = gt_host_process(engine, other_rank);
	struct gt_host_link *link =
		&engine->far.links[engine->far.link_of[process]];
	size_t n = link->nconns + 1;
	struct gt_link_conn *more;

	/* Grown by doubling whenever the number is a power of two. */
	if (!(link->nconns & (link->nconns - 1))) {
		more = realloc(link->conns, 2 * n * sizeof(*more));
		if (!more)
			return gt_err_nomem(err);
		link->conns = more;
	}
	link->conns[link->nconns] = *conn;
	link->conns[link->nconns++].process = process;
	return GT_OK;
}

int gt_host_world_connect(struct gt_engine *engine,
			  const struct gt_link_shape *shape, struct gt_err *err)
{
	struct gt_host_link *links = engine->far.links;
	int rc = GT_OK;

	for (int i = 0; !rc && i < GT_HOST_LINKS; i++) {
		if (links[i].link)
			rc = links[i].ops->connect(links[i].link, shape,
						   links[i].conns,
						   links[i].nconns, err);
		links[i].nconns = 0;
	}
	return rc;
}

void gt_host_world_attend(struct gt_engine *engine, int change)
{
	const struct gt_host_link *links = engine->far.links;

	for (int i = 0; i < GT_HOST_LINKS; i++)
		if (links[i].link && links[i].ops->attend)
			links[i].ops->attend(links[i].link, change);
}

void gt_host_world_progress(struct gt_engine *engine)
{
	const struct gt_host_link *links = engine->far.links;

	for (int i = 0; i < GT_HOST_LINKS; i++)
		if (links[i].link && links[i].ops->progress)
			links[i].ops->progress(links[i].link);
}

int gt_host_world_check(struct gt_engine *engine, struct gt_err *err)
{
	struct gt_host_world *far = &engine->far;
	int rc = far->world ? gt_world_failed(far->world, err) : GT_OK;

	for (int i = 0; !rc && i < GT_HOST_LINKS; i++)
		if (far->links[i].link)
			rc = far->links[i].ops->check(far->links[i].link, err);
	return rc;
}
