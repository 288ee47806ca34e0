#include "world/world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"
#include "world/inside.h"

enum {
	/* Of the limit; others' verdicts on who waits come after all of it. */
	GT_WORLD_NEWS_PARTS = 32,
	GT_WORLD_NEWS_NS = 1000000000, /* at most */
};

static void gt_world_wake(struct gt_world *world)
{
	uint64_t one = 1;

	if (write(world->wake_fd, &one, sizeof(one)) < 0) {
		/* It is full, so the thread is awake. */
	}
}

static void gt_world_free(struct gt_world *world)
{
	for (uint32_t r = 0; world->members && r < world->config.size; r++) {
		gt_wire_close(&world->members[r].wire);
		gt_buf_release(&world->members[r].part);
	}
	if (world->door)
		gt_listener_close(world->door);
	if (world->wake_fd >= 0)
		close(world->wake_fd);
	gt_buf_release(&world->all);
	gt_secret_wipe(&world->config.secret);
	pthread_cond_destroy(&world->changed);
	pthread_mutex_destroy(&world->mutex);
	free(world->door);
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

/* Takes the listening socket, also where it fails. */
static struct gt_world *gt_world_new(const struct gt_world_config *config)
{
	struct gt_world *world = calloc(1, sizeof(*world));
	int has_door = !config->rank && config->size > 1;
	pthread_condattr_t attr;

	if (world)
		world->members = calloc(config->size, sizeof(*world->members));
	if (world && has_door)
		world->door = calloc(1, sizeof(*world->door));
	if (!world || !world->members || (has_door && !world->door)) {
		if (!config->rank && config->listen_fd >= 0)
			close(config->listen_fd);
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
	gt_world_call_members(world);
	if (world->door)
		gt_listener_init(world->door, config->listen_fd,
				 &world->config.secret);
	world->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
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
	const struct gt_net_deadline patience = {
		gt_clock_ns() + config->timeout_ns, NULL};
	int fd, rc;

	rc = gt_listener_connect(&config->address, &config->secret, &answer,
				 &patience, &fd, err);
	if (rc)
		return rc;
	gt_wire_init(&world->members[0].wire, fd);
	world->members[0].state = GT_MEMBER_HERE;
	return GT_OK;
}

static struct timespec gt_world_until(int64_t deadline_ns)
{
	return (struct timespec){.tv_sec = deadline_ns / 1000000000,
				 .tv_nsec = deadline_ns % 1000000000};
}

/* Process 0 waits until all are here. */
static int gt_world_gather(struct gt_world *world, struct gt_err *err)
{
	int64_t limit_ns = world->config.timeout_ns;
	struct timespec until = gt_world_until(gt_clock_ns() + limit_ns);
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

	/* It is printed on terminals. */
	for (size_t i = 0; i < name->len && i < GT_WORLD_NAME_MAX; i++) {
		char c = ((const char *)name->bytes)[i];

		member->called[at++] = c < ' ' || c > '~' ? '?' : c;
	}
	member->called[at++] = ')';
	member->called[at] = '\0';
}

/* The first meeting: all say what they are called. */
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

int gt_world_open(const struct gt_world_config *config, struct gt_world **out,
		  struct gt_err *err)
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
	if (rc) {
		gt_world_free(world);
		return rc;
	}
	if (!config->rank)
		rc = gt_world_gather(world, err);
	if (!rc)
		rc = gt_world_introduce(world, err);
	if (rc) {
		gt_world_close(world);
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

uint32_t gt_world_rank(const struct gt_world *world)
{
	return world->config.rank;
}

uint32_t gt_world_size(const struct gt_world *world)
{
	return world->config.size;
}

int64_t gt_world_timeout_ns(const struct gt_world *world)
{
	return world->config.timeout_ns;
}

int64_t gt_world_grace_ns(const struct gt_world *world)
{
	int64_t part_ns = world->config.timeout_ns / GT_WORLD_NEWS_PARTS;

	return part_ns < GT_WORLD_NEWS_NS ? part_ns : GT_WORLD_NEWS_NS;
}

const struct gt_secret *gt_world_secret(const struct gt_world *world)
{
	return &world->config.secret;
}

const char *gt_world_name(struct gt_world *world, uint32_t rank)
{
	return world->members[rank].called;
}

/* Cut what was told into its parts. */
static int gt_world_parts(struct gt_world *world, struct gt_world_part *parts)
{
	size_t at = 0;
	uint32_t len;

	for (uint32_t r = 0; r < world->config.size; r++) {
		if (world->all.len - at < sizeof(len))
			return 0;
		memcpy(&len, world->all.text + at, sizeof(len));
		len = ntohl(len);
		at += sizeof(len);
		if (world->all.len - at < len)
			return 0;
		parts[r].bytes = world->all.text + at;
		parts[r].len = len;
		at += len;
	}
	return at == world->all.len;
}

static void gt_world_tell(struct gt_world *world, const void *bytes, size_t len)
{
	struct gt_frame frame = {.type = GT_FRAME_PART,
				 .bytes = (uint32_t)len,
				 .seq = world->meeting,
				 .payload = bytes};

	if (gt_world_is_root(world))
		gt_root_part(world, 0, bytes, len);
	else if (!gt_wire_put(&world->members[0].wire, &frame))
		gt_world_fail(world, "out of memory");
}

/* Is the job over?  Who has left comes to no meeting any more. */
static int gt_world_is_off(struct gt_world *world)
{
	const struct gt_member *member;

	for (uint32_t r = gt_world_first(world); r < gt_world_end(world); r++) {
		member = &world->members[r];
		if (member->state == GT_MEMBER_LEFT && !member->has_part)
			gt_world_fail(world, "%s has left", member->called);
	}
	return atomic_load(&world->failed);
}

int gt_world_allgather(struct gt_world *world, const void *bytes, size_t len,
		       struct gt_world_part *parts, struct gt_err *err)
{
	if (len > GT_WORLD_PART_MOST_BYTES)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a process has '%zu' bytes to tell; %d are "
				  "the most",
				  len, GT_WORLD_PART_MOST_BYTES);
	pthread_mutex_lock(&world->mutex);
	world->meeting++;
	gt_world_tell(world, bytes, len);
	gt_world_wake(world);
	while (world->heard < world->meeting && !gt_world_is_off(world))
		pthread_cond_wait(&world->changed, &world->mutex);
	if (!atomic_load(&world->failed) && parts &&
	    !gt_world_parts(world, parts))
		gt_world_fail(world, "%s speaks nonsense",
			      world->members[0].called);
	pthread_mutex_unlock(&world->mutex);
	return gt_world_failed(world, err);
}

int gt_world_agree(struct gt_world *world, int rc, struct gt_err *err)
{
	struct gt_world_part *parts;
	const char *own = !rc ? "" : err ? err->text : "bad input";

	if (rc && rc != GT_EINPUT)
		return rc;
	parts = calloc(world->config.size, sizeof(*parts));
	if (!parts)
		return gt_err_nomem(err);
	if (gt_world_allgather(world, own, strlen(own), parts, err))
		rc = rc ? rc : GT_ESYS;
	for (uint32_t r = 0; !rc && r < world->config.size; r++)
		if (parts[r].len)
			rc = gt_err_set(err, GT_EINPUT, NULL, "%s: %.*s",
					gt_world_name(world, r),
					(int)parts[r].len,
					(const char *)parts[r].bytes);
	free(parts);
	/* Nobody gives up before all have heard. */
	if (rc == GT_EINPUT)
		gt_world_allgather(world, NULL, 0, NULL, NULL);
	return rc;
}

static int gt_world_numbers(struct gt_world *world, uint64_t *number, int sum,
			    struct gt_err *err)
{
	struct gt_world_part *parts =
		calloc(world->config.size, sizeof(*parts));
	uint64_t result = 0, one = *number;
	int rc;

	if (!parts)
		return gt_err_nomem(err);
	rc = gt_world_allgather(world, number, sizeof(*number), parts, err);
	for (uint32_t r = 0; !rc && r < world->config.size; r++) {
		if (parts[r].len != sizeof(one)) {
			rc = gt_err_set(err, GT_ESYS, NULL,
					"%s is at another meeting",
					gt_world_name(world, r));
			break;
		}
		memcpy(&one, parts[r].bytes, sizeof(one));
		result = sum ? result + one : one > result ? one : result;
	}
	free(parts);
	if (!rc)
		*number = result;
	return rc;
}

int gt_world_sum(struct gt_world *world, uint64_t *number, struct gt_err *err)
{
	return gt_world_numbers(world, number, 1, err);
}

int gt_world_max(struct gt_world *world, uint64_t *number, struct gt_err *err)
{
	return gt_world_numbers(world, number, 0, err);
}

void gt_world_abort(struct gt_world *world, const char *why)
{
	pthread_mutex_lock(&world->mutex);
	gt_world_fail(world, "%s: %s", gt_world_name(world, world->config.rank),
		      why);
	pthread_mutex_unlock(&world->mutex);
	gt_world_wake(world);
}

/* By their names, "process 3 (node3, pid 77)". */
static int gt_world_share_host(const struct gt_world *world, uint32_t a,
			       uint32_t b)
{
	const char *one = strchr(world->members[a].called, '(');
	const char *other = strchr(world->members[b].called, '(');
	size_t len = one ? strcspn(one, ",") : 0;

	return one && other && strcspn(other, ",") == len &&
	       !memcmp(one, other, len);
}

int gt_world_reports_failure(const struct gt_world *world)
{
	uint32_t first = 1;

	if (gt_world_is_root(world))
		return 1;
	/* Others may hear of process 0 what is not heard on this host. */
	while (world->by_silence && first < world->config.rank &&
	       !gt_world_share_host(world, first, world->config.rank))
		first++;
	return world->orphan && first == world->config.rank;
}

const _Atomic int *gt_world_end_flag(const struct gt_world *world)
{
	return &world->failed;
}

int gt_world_failed(struct gt_world *world, struct gt_err *err)
{
	if (!atomic_load(&world->failed))
		return GT_OK;
	pthread_mutex_lock(&world->mutex);
	gt_err_set(err, GT_ESYS, NULL, "%s", world->why);
	pthread_mutex_unlock(&world->mutex);
	return GT_ESYS;
}

void gt_world_progress(struct gt_world *world, uint64_t progress)
{
	atomic_store_explicit(&world->progress, progress, memory_order_relaxed);
}
