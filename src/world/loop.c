/* The thread that keeps a process's connections to the others. */
#include "world/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

enum { GT_WORLD_LINGER_NS = 2000000000 };

static void gt_world_hear(struct gt_world *world, const struct gt_frame *frame)
{
	world->all.len = 0;
	gt_buf_add(&world->all, frame->payload, frame->bytes);
	if (world->all.failed)
		gt_world_lacks_memory(world);
	world->last_round = frame->seq;
	pthread_cond_broadcast(&world->changed);
}

/*
 * A caller that waits in a round is to see that this process will not take
 * part.
 */
static void gt_world_leaves(struct gt_world *world, struct gt_member *member)
{
	member->state = GT_MEMBER_LEFT;
	pthread_cond_broadcast(&world->changed);
}

/* Process 0 tells whom it does not hear, for when the job is regrouped. */
static void gt_world_hear_silent(struct gt_world *world,
				 const struct gt_frame *frame)
{
	uint32_t rank;

	for (size_t at = 0; at + sizeof(rank) <= frame->bytes;
	     at += sizeof(rank)) {
		memcpy(&rank, frame->payload + at, sizeof(rank));
		rank = ntohl(rank);
		if (rank < world->config.size)
			world->members[rank].is_silent = 1;
	}
}

static void gt_world_frame(struct gt_world *world, uint32_t rank,
			   const struct gt_frame *frame)
{
	struct gt_member *member = &world->members[rank];
	int root = gt_world_is_root(world);

	if (frame->type == GT_FRAME_BEAT)
		member->progress = frame->seq;
	else if (frame->type == GT_FRAME_BYE)
		gt_world_leaves(world, member);
	else if (frame->type == GT_FRAME_SILENT && !root)
		gt_world_hear_silent(world, frame);
	else if (frame->type == GT_FRAME_ABORT)
		gt_world_fail(world, "%.*s", (int)frame->bytes, frame->payload);
	else if (frame->type == GT_FRAME_PART && root && !member->has_part)
		gt_root_part(world, rank, frame->payload, frame->bytes);
	else if (frame->type == GT_FRAME_ALL && !root &&
		 frame->seq == world->last_round + 1 &&
		 frame->seq == world->round) /* or somebody reads `all` */
		gt_world_hear(world, frame);
	else
		gt_world_fail(world, "%s speaks nonsense", member->called);
}

/*
 * The most bytes of a frame from another process: a part of a round, or from
 * process 0 all parts of one.
 */
static uint32_t gt_world_longest(const struct gt_world *world)
{
	uint64_t most = GT_WORLD_PART_MOST_BYTES + sizeof(uint32_t);

	if (!gt_world_is_root(world))
		most *= world->config.size;
	return most > INT32_MAX ? INT32_MAX : (uint32_t)most;
}

static void gt_world_read(struct gt_world *world, uint32_t rank)
{
	struct gt_member *member = &world->members[rank];
	uint32_t most = gt_world_longest(world);
	int here = gt_wire_fill(&member->wire,
				(size_t)most + GT_WIRE_HEADER_BYTES);
	struct gt_frame frame;
	int rc;

	while ((rc = gt_wire_next(&member->wire, most, &frame)) > 0) {
		if (member->silent_ns >= world->config.timeout_ns / 4)
			world->late_ns = gt_clock_ns();
		member->silent_ns = 0;
		gt_world_frame(world, rank, &frame);
	}
	if (rc < 0)
		gt_world_fail(world, "%s speaks nonsense", member->called);
	if (here)
		return;
	if (member->state == GT_MEMBER_HERE && !world->closing &&
	    !atomic_load(&world->failed))
		world->orphan = !gt_world_is_root(world);
	if (member->state == GT_MEMBER_HERE && !world->closing)
		gt_world_fail(world, "%s ended without a word", member->called);
	member->state = GT_MEMBER_LEFT;
	gt_wire_close(&member->wire);
}

static void gt_world_exchange(struct gt_world *world)
{
	struct gt_member *member;

	for (uint32_t r = gt_world_first(world); r < gt_world_end(world); r++) {
		member = &world->members[r];
		if (member->wire.fd < 0)
			continue;
		/*
		 * If it cannot be sent, reading will show that the connection
		 * is gone.
		 */
		gt_wire_flush(&member->wire);
		gt_world_read(world, r);
	}
}

/* Process 0 is silent, as seen from this process at least. */
static void gt_world_orphan(struct gt_world *world)
{
	world->orphan = world->by_silence = 1;
	world->members[0].is_silent = 1;
	gt_world_fail(world, "%s is silent for %.1f s",
		      world->members[0].called,
		      (double)world->members[0].silent_ns / 1e9);
}

/*
 * A process counts as gone after silence of three quarters of the time limit;
 * the rest is for telling the others.
 */
static void gt_world_watch(struct gt_world *world, int64_t passed_ns)
{
	int64_t limit_ns = world->config.timeout_ns / 4 * 3;
	int is_root = gt_world_is_root(world), late = 0;
	struct gt_member *member;

	for (uint32_t r = gt_world_first(world); r < gt_world_end(world); r++) {
		member = &world->members[r];
		if (member->state != GT_MEMBER_HERE)
			continue;
		member->silent_ns += passed_ns;
		late |= member->silent_ns >= limit_ns;
	}
	late = late && !atomic_load(&world->failed);
	if (late && is_root)
		gt_root_silence(world);
	else if (late)
		gt_world_orphan(world);
	if (is_root)
		gt_root_watch(world, passed_ns);
}

/* Has the connection that ends with a process that is to come ended? */
static int gt_world_has_lost_herald(const struct gt_world *world)
{
	const struct gt_world_config *config = &world->config;
	char byte;
	ssize_t got;

	if (!config->herald ||
	    world->members[config->herald].state != GT_MEMBER_ABSENT)
		return 0;
	got = recv(config->herald_fd, &byte, sizeof(byte),
		   MSG_PEEK | MSG_DONTWAIT);
	return !got || (got < 0 && errno != EAGAIN && errno != EINTR);
}

/*
 * A caller that waits for others looks at nothing else, so this thread looks
 * for it whether the user has interrupted the process, or somebody has gone.
 */
static void gt_world_heed_interrupt(struct gt_world *world)
{
	int gathers =
		gt_world_is_root(world) && world->nhere < world->config.size;

	if ((gathers || world->last_round < world->round) &&
	    gt_world_is_interrupted(world))
		gt_world_fail(world, "%s: interrupted",
			      world->members[world->config.rank].called);
	if (gathers && world->config.origin_end &&
	    atomic_load(world->config.origin_end))
		gt_world_fail(world, "a process is gone before it has come");
	if (gathers && gt_world_has_lost_herald(world))
		gt_world_fail(world, "%s: it has gone on its way to rank 0",
			      world->members[world->config.herald].called);
}

/*
 * May others come yet, who would find nobody to tell them why the job has
 * failed?  A parent tells them.
 */
static int gt_world_has_latecomers(const struct gt_world *world)
{
	return gt_world_is_root(world) && atomic_load(&world->failed) &&
	       world->nhere < world->config.size && !world->gave_up &&
	       !world->config.has_parent;
}

/* Has everything been said and heard, or does it take too long? */
static int gt_world_is_over(struct gt_world *world, int64_t passed_ns)
{
	int64_t linger_ns = world->config.timeout_ns / 8;
	int open = gt_world_has_latecomers(world);

	/* gt_world_watch() decides after three quarters of the limit. */
	if (linger_ns > GT_WORLD_LINGER_NS)
		linger_ns = GT_WORLD_LINGER_NS;
	if (!world->closing)
		return 0;
	for (uint32_t r = gt_world_first(world); r < gt_world_end(world); r++) {
		struct gt_wire *wire = &world->members[r].wire;

		if (wire->fd < 0)
			continue;
		if (!gt_wire_has_output(wire))
			shutdown(wire->fd, SHUT_WR);
		open = 1;
	}
	world->closing_ns += passed_ns;
	return !open || world->has_moved || world->closing_ns > linger_ns;
}

static uint32_t gt_world_polls(struct gt_world *world, struct pollfd *polls)
{
	uint32_t n = 0;

	polls[n++] = (struct pollfd){.fd = world->wake_fd, .events = POLLIN};
	for (uint32_t r = gt_world_first(world); r < gt_world_end(world); r++) {
		struct gt_wire *wire = &world->members[r].wire;

		if (wire->fd < 0)
			continue;
		polls[n].fd = wire->fd;
		polls[n].events = POLLIN;
		if (gt_wire_has_output(wire))
			polls[n].events |= POLLOUT;
		n++;
	}
	if (world->listener)
		n += gt_listener_polls(world->listener, polls + n);
	return n;
}

static void gt_world_wait(struct gt_world *world, struct pollfd *polls)
{
	uint32_t n = gt_world_polls(world, polls);
	uint64_t calls;

	pthread_mutex_unlock(&world->mutex);
	poll(polls, n, GT_WORLD_TICK_NS / 1000000);
	if (read(world->wake_fd, &calls, sizeof(calls)) < 0) {
		/* Nobody called: it was a socket, or the tick is over. */
	}
	pthread_mutex_lock(&world->mutex);
}

void *gt_world_main(void *arg)
{
	struct gt_world *world = arg;
	struct gt_frame beat = {.type = GT_FRAME_BEAT};
	int64_t last = gt_clock_ns(), beaten = 0, now, passed;
	struct pollfd *polls =
		calloc(world->config.size + GT_LISTENER_PENDING_MAX + 3,
		       sizeof(*polls));

	pthread_mutex_lock(&world->mutex);
	if (!polls)
		gt_world_lacks_memory(world);
	for (passed = 0; polls && !gt_world_is_over(world, passed);) {
		gt_world_wait(world, polls);
		now = gt_clock_ns();
		passed = now - last > GT_WORLD_GAP_NS ? GT_WORLD_GAP_NS
						      : now - last;
		last = now;
		gt_world_note_gap(world);
		world->looked_ns = now;
		if (world->listener)
			gt_listener_serve(world->listener, gt_root_enter,
					  world);
		gt_world_exchange(world);
		gt_world_watch(world, passed);
		gt_world_heed_interrupt(world);
		beat.seq = atomic_load(&world->progress);
		if (now - beaten >= GT_WORLD_BEAT_TICKS * GT_WORLD_TICK_NS &&
		    !world->closing) {
			gt_world_send(world, &beat);
			beaten = now;
		}
		gt_world_exchange(world);
	}
	pthread_mutex_unlock(&world->mutex);
	free(polls);
	return NULL;
}
