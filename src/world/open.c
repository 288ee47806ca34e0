/*
 * A process joins a job and leaves it: process 0 waits for all to come, the
 * others connect to it, and a thread of each keeps the connections (loop.c).
 */
#include "world/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"

enum {
	GT_WORLD_FILES = 16, /* enough for sockets and memory to a neighbour */
	GT_WORLD_DECLINE_NS = 2000000000,
};

static void gt_world_free(struct gt_world *world)
{
	for (uint32_t r = 0; world->members && r < world->config.size; r++) {
		gt_wire_close(&world->members[r].wire);
		gt_buf_release(&world->members[r].part);
	}
	if (world->listener)
		gt_listener_close(world->listener);
	if (world->wake_fd >= 0)
		close(world->wake_fd);
	if (world->door_fd >= 0)
		close(world->door_fd);
	gt_buf_release(&world->all);
	gt_secret_wipe(&world->config.secret);
	pthread_cond_destroy(&world->changed);
	pthread_mutex_destroy(&world->mutex);
	free(world->doors);
	free(world->was);
	free(world->listener);
	free(world->members);
	free(world);
}

static void gt_world_call_members(struct gt_world *world)
{
	struct gt_member *member;

	for (uint32_t r = 0; r < world->config.size; r++) {
		member = &world->members[r];
		gt_wire_init(&member->wire, -1);
		snprintf(member->called, sizeof(member->called), "process %u",
			 r);
	}
}

/* Takes the listening socket of the configuration, unless it fails. */
static struct gt_world *gt_world_new(const struct gt_world_config *config)
{
	struct gt_world *world = calloc(1, sizeof(*world));
	int has_listener = !config->rank && config->size > 1;
	pthread_condattr_t attr;

	if (world)
		world->members = calloc(config->size, sizeof(*world->members));
	if (world && has_listener)
		world->listener = calloc(1, sizeof(*world->listener));
	if (!world || !world->members || (has_listener && !world->listener)) {
		if (world)
			free(world->listener);
		free(world ? world->members : NULL);
		free(world);
		return NULL;
	}
	world->config = *config;
	pthread_mutex_init(&world->mutex, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&world->changed, &attr);
	pthread_condattr_destroy(&attr);
	world->nhere = 1;
	world->door_fd = -1;
	gt_world_call_members(world);
	world->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (world->listener)
		gt_listener_init(world->listener,
				 world->wake_fd < 0 ? -1 : config->listen_fd,
				 &world->config.secret);
	if (world->wake_fd < 0) {
		gt_world_free(world);
		return NULL;
	}
	return world;
}

static int gt_world_join(struct gt_world *world, struct gt_err *err)
{
	const struct gt_world_config *config = &world->config;
	struct gt_auth_answer answer = {.kind = GT_CONNECTION_CONTROL,
					.rank = config->rank,
					.size = config->size};
	/* Beside a parent process 0 listens already, and nobody waits. */
	const struct gt_net_deadline deadline = {
		gt_clock_ns() + config->timeout_ns,
		config->has_parent ? NULL : config->interrupt,
		config->is_listening};
	struct gt_err why;
	int fd, rc;

	gt_err_init(&why);
	rc = gt_listener_connect(&config->address, &config->secret, &answer,
				 &deadline, &fd, &why);
	if (rc && gt_world_is_interrupted(world))
		return gt_err_set(err, GT_ESYS, NULL, "interrupted");
	if (rc)
		return gt_err_set(err, rc, NULL, "%s%s",
				  config->is_listening ? "process 0 is gone: "
						       : "",
				  why.text);
	gt_wire_init(&world->members[0].wire, fd);
	world->members[0].state = GT_MEMBER_HERE;
	return GT_OK;
}

/* Wait, in process 0, until all processes have connected. */
static int gt_world_gather(struct gt_world *world, struct gt_err *err)
{
	int64_t limit_ns = world->config.timeout_ns;
	struct timespec until = gt_clock_timespec(gt_clock_ns() + limit_ns);
	char missing[256] = "";
	size_t at = 0;
	int rc = 0;

	pthread_mutex_lock(&world->mutex);
	while (!rc && world->nhere < world->config.size &&
	       !atomic_load(&world->failed))
		rc = pthread_cond_timedwait(&world->changed, &world->mutex,
					    &until);
	for (uint32_t r = 1; r < world->config.size; r++)
		if (world->members[r].state == GT_MEMBER_ABSENT &&
		    at < sizeof(missing))
			at += (size_t)snprintf(missing + at,
					       sizeof(missing) - at, "%s%u",
					       at ? ", " : "", r);
	world->gave_up = rc != 0;
	if (at)
		gt_world_fail(world, "process %s did not come within %.1f s",
			      missing, (double)limit_ns / 1e9);
	pthread_mutex_unlock(&world->mutex);
	return gt_world_failed(world, err);
}

static void gt_world_call(struct gt_world *world, uint32_t rank,
			  const struct gt_world_part *name)
{
	struct gt_member *member = &world->members[rank];
	int at = snprintf(member->called, sizeof(member->called),
			  "process %u (", rank);

	/*
	 * The name is printed on terminals, so it gets no control characters.
	 */
	for (size_t i = 0; i < name->len && i < GT_WORLD_NAME_MAX; i++) {
		char c = ((const char *)name->bytes)[i];

		member->called[at++] = c < ' ' || c > '~' ? '?' : c;
	}
	member->called[at++] = ')';
	member->called[at] = '\0';
}

/* In the first round all tell their names. */
static int gt_world_introduce(struct gt_world *world, struct gt_err *err)
{
	struct gt_world_part *names =
		calloc(world->config.size, sizeof(*names));
	const char *own = world->config.name;
	int rc;

	if (!names)
		return gt_err_nomem(err);
	rc = gt_world_allgather(world, own, strlen(own), names, err);
	pthread_mutex_lock(&world->mutex);
	for (uint32_t r = 0; !rc && r < world->config.size; r++)
		gt_world_call(world, r, &names[r]);
	pthread_mutex_unlock(&world->mutex);
	free(names);
	return rc;
}

/* Process 0 has a connection to each of the others. */
int gt_world_check_files(const struct gt_world_config *config,
			 struct gt_err *err)
{
	uint32_t need = GT_WORLD_FILES + (config->rank ? 0 : config->size);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= need)
		return GT_OK;
	return gt_err_set(err, GT_ESYS, NULL,
			  "a process of this job needs about %u open files, "
			  "and 'ulimit -n' allows %u",
			  need, (unsigned)limit.rlim_cur);
}

/* A world whose thread keeps the connections, and that others come into. */
static int gt_world_begin(const struct gt_world_config *config,
			  struct gt_world **out, struct gt_err *err)
{
	struct gt_world *world = gt_world_new(config);
	int rc;

	if (!world)
		return gt_err_set(err, GT_ESYS, NULL,
				  "no memory or no file for a job: %s",
				  strerror(errno));
	rc = config->rank ? gt_world_join(world, err) : GT_OK;
	if (!rc)
		rc = gt_thread_start(&world->thread, gt_world_main, world, err);
	if (!rc) {
		*out = world;
		return GT_OK;
	}
	/* The caller has the socket still. */
	if (world->listener)
		world->listener->fd = -1;
	gt_world_free(world);
	return rc;
}

/* The words of a failure, for the others. */
static const char *gt_world_words(const struct gt_err *err)
{
	return err && *err->text ? err->text : "no memory or no file for a job";
}

static void gt_world_forgo(const struct gt_world_config *config)
{
	if (!config->rank && config->listen_fd >= 0)
		close(config->listen_fd);
}

void gt_world_decline(const struct gt_world_config *config, const char *why)
{
	struct gt_world_config own = *config;
	struct gt_world *world;

	/* Those that are left may wait in vain for process 0 as well. */
	if (own.rank && own.timeout_ns > GT_WORLD_DECLINE_NS)
		own.timeout_ns = GT_WORLD_DECLINE_NS;
	if (own.size < 2 || own.has_parent ||
	    gt_world_begin(&own, &world, NULL)) {
		gt_world_forgo(config);
		return;
	}
	gt_world_abort(world, why);
	gt_world_close(world);
}

int gt_world_open(const struct gt_world_config *config, struct gt_world **out,
		  struct gt_err *err)
{
	int64_t until_ns = gt_clock_ns() + config->timeout_ns;
	int rc = gt_world_check_files(config, err);
	struct gt_world *world;

	if (!rc)
		rc = gt_world_begin(config, &world, err);
	/* Whom nobody has let in until now nobody hears, or waits for. */
	if (rc && gt_clock_ns() < until_ns)
		gt_world_decline(config, gt_world_words(err));
	else if (rc)
		gt_world_forgo(config);
	if (rc)
		return rc;
	if (!config->rank)
		rc = gt_world_gather(world, err);
	if (!rc)
		rc = gt_world_introduce(world, err);
	if (!rc && config->has_door)
		rc = gt_world_open_door(world, NULL, err);
	/* What failed only here is told; what has before is why. */
	if (rc)
		gt_world_abort(world, gt_world_words(err));
	if (rc && err) {
		gt_err_init(err);
		gt_world_failed(world, err);
	}
	if (rc && err && config->has_parent && !gt_world_reports_failure(world))
		gt_err_init(err);
	if (rc) {
		gt_world_close(world);
		return rc;
	}
	*out = world;
	return GT_OK;
}

/* The members whose wires are there have come. */
static void gt_world_seat(struct gt_world *world, struct gt_wire *wires)
{
	for (uint32_t r = gt_world_first(world); r < gt_world_end(world); r++) {
		world->members[r].wire = wires[r];
		world->members[r].state = GT_MEMBER_HERE;
		gt_wire_init(&wires[r], -1);
	}
	world->nhere = world->config.size;
}

/* GT_ENO: others are lost; else what this process lacks is told to them. */
static int gt_world_settle(struct gt_world *world,
			   const struct gt_world *origin, struct gt_err *err)
{
	int rc = gt_world_introduce(world, err);

	if (!rc)
		rc = gt_world_open_door(world, origin, err);
	if (rc && atomic_load(&world->failed))
		return GT_ENO;
	if (rc)
		gt_world_abort(world, err->text);
	return rc;
}

int gt_world_start(const struct gt_world_config *config,
		   const struct gt_world_descent *descent,
		   struct gt_wire *wires, struct gt_world **out,
		   struct gt_err *err)
{
	uint32_t *was = calloc(config->size, sizeof(*was));
	struct gt_world *world = was ? gt_world_new(config) : NULL;
	int rc;

	if (!world) {
		free(was);
		return gt_err_set(err, GT_ESYS, NULL,
				  "no memory or no file for a job: %s",
				  strerror(errno));
	}
	memcpy(was, descent->left, config->size * sizeof(*was));
	world->was = was;
	world->was_size = descent->origin->config.size;
	world->epoch = descent->epoch;
	gt_world_seat(world, wires);
	rc = gt_thread_start(&world->thread, gt_world_main, world, err);
	if (rc) {
		gt_world_free(world);
		return rc;
	}
	rc = gt_world_settle(world, descent->origin, err);
	if (rc) {
		gt_world_abandon(world);
		return rc;
	}
	*out = world;
	return GT_OK;
}

void gt_world_close(struct gt_world *world)
{
	struct gt_frame bye = {.type = GT_FRAME_BYE};

	if (!world)
		return;
	pthread_mutex_lock(&world->mutex);
	for (uint32_t r = gt_world_first(world); r < gt_world_end(world); r++)
		if (world->members[r].state == GT_MEMBER_HERE)
			gt_wire_put(&world->members[r].wire, &bye);
	world->closing = 1;
	pthread_mutex_unlock(&world->mutex);
	gt_world_wake(world);
	pthread_join(world->thread, NULL);
	gt_world_free(world);
}

void gt_world_abandon(struct gt_world *world)
{
	world->has_moved = 1;
	gt_world_close(world);
}
