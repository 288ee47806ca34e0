/*
 * The processes of a job exchange data here: each tells something and hears
 * what all have told, in meetings that all processes count alike.
 */
#include "world/internal.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/must.h"
#include "base/text.h"

/* Cut what all have told into one part for each process; 0: it is malformed. */
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
				 .seq = world->round,
				 .payload = bytes};

	if (gt_world_is_root(world))
		gt_root_part(world, 0, bytes, len);
	else if (!gt_wire_put(&world->members[0].wire, &frame))
		gt_world_lacks_memory(world);
}

/*
 * Is the job over?  A process that has left takes part in no round any more, so
 * the job fails as soon as one is missing.
 */
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
	int is_over;

	if (len > GT_WORLD_PART_MOST_BYTES)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a process has '%zu' bytes to tell; %d are "
				  "the most",
				  len, GT_WORLD_PART_MOST_BYTES);
	pthread_mutex_lock(&world->mutex);
	/* A process has one round at a time; one that failed is the last. */
	GT_MUST(world->round == world->last_round ||
		atomic_load(&world->failed));
	world->round++;
	gt_world_tell(world, bytes, len);
	gt_world_wake(world);
	while (world->last_round < world->round && !gt_world_is_off(world))
		pthread_cond_wait(&world->changed, &world->mutex);
	/*
	 * Where the job may go on, a round that is over is so for all, also for
	 * one that has seen a failure since.
	 */
	is_over = world->last_round >= world->round &&
		  (world->config.has_door || !atomic_load(&world->failed));
	if (is_over && parts && !gt_world_parts(world, parts)) {
		gt_world_fail(world, "%s speaks nonsense",
			      world->members[0].called);
		is_over = 0;
	}
	pthread_mutex_unlock(&world->mutex);
	return is_over ? GT_OK : gt_world_failed(world, err);
}

/* Take another process's words over. */
static int gt_world_quote(struct gt_world *world, uint32_t rank,
			  const struct gt_world_part *part, struct gt_err *err)
{
	char words[GT_WORLD_WHY_MAX];

	snprintf(words, sizeof(words), "%.*s", (int)part->len,
		 (const char *)part->bytes);
	gt_text_make_printable(words);
	return gt_err_set(err, GT_EINPUT, NULL, "%s: %s",
			  gt_world_name(world, rank), words);
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
			rc = gt_world_quote(world, r, &parts[r], err);
	free(parts);
	/* Nobody gives up before all have heard the reason. */
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
