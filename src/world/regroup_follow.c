/* A process asks at another one's door, and hears there who is left. */
#include "world/regroup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"

enum {
	GT_FOLLOW_NAP_NS = 5000000,
	/*
	 * So many doors are knocked at together, which takes no longer than one
	 * where nobody answers.
	 */
	GT_FOLLOW_AHEAD = 16,
};

/* Take over who is left; 0: it makes no sense. */
static int gt_follow_read_roll(struct gt_regrouping *group,
			       const struct gt_frame *frame)
{
	uint32_t rank, size = group->world->config.size, has_me = 0;

	group->nleft = 0;
	for (size_t at = 0; at + sizeof(rank) <= frame->bytes;
	     at += sizeof(rank)) {
		memcpy(&rank, frame->payload + at, sizeof(rank));
		rank = ntohl(rank);
		if (rank >= size || group->nleft == size ||
		    (group->nleft && rank <= group->left[group->nleft - 1]))
			return 0;
		has_me |= rank == group->world->config.rank;
		group->left[group->nleft++] = rank;
	}
	group->epoch = (uint32_t)frame->seq;
	return has_me != 0;
}

/* One frame of the one that leads; GT_ENO: it says only that it is there. */
static int gt_follow_frame(struct gt_regrouping *group,
			   const struct gt_frame *frame, const char *called,
			   struct gt_err *err)
{
	if (frame->type == GT_FRAME_BEAT)
		return GT_ENO;
	if (frame->type == GT_FRAME_ROLL && gt_follow_read_roll(group, frame))
		return GT_OK;
	if (frame->type != GT_FRAME_ABORT)
		return gt_err_set(err, GT_ESYS, NULL, "%s speaks nonsense",
				  called);
	gt_err_set(err, GT_ESYS, NULL, "%s: %.*s", called, (int)frame->bytes,
		   frame->payload);
	gt_text_make_printable(err->text);
	return GT_ESYS;
}

/*
 * What the one that leads says: GT_ENO when it hangs up before, or is silent
 * for as long as in a world that works, and for as long as others may still
 * wait to be let in there.
 */
static int gt_follow_hear(struct gt_regrouping *group, uint32_t first,
			  const struct gt_net_deadline *patience,
			  struct gt_err *err)
{
	const char *called = group->world->members[first].called;
	uint32_t most =
		group->world->config.size * sizeof(uint32_t) + GT_WORLD_WHY_MAX;
	struct gt_seat *seat = &group->seats[first];
	struct pollfd wait = {.fd = seat->wire.fd, .events = POLLIN};
	int64_t silent_ns = 0, now_ns, last_ns = gt_clock_ns();
	struct gt_frame frame;
	int nap_ms, here, rc;

	while ((nap_ms = gt_net_poll_ms(&group->deadline))) {
		poll(&wait, 1, nap_ms);
		here = gt_wire_fill(&seat->wire,
				    (size_t)most + GT_WIRE_HEADER_BYTES);
		now_ns = gt_clock_ns();
		/* Time in which this process stood still is nobody's. */
		silent_ns += now_ns - last_ns > GT_WORLD_GAP_NS
				     ? GT_WORLD_GAP_NS
				     : now_ns - last_ns;
		last_ns = now_ns;
		while ((rc = gt_wire_next(&seat->wire, most, &frame)) > 0) {
			silent_ns = 0;
			rc = gt_follow_frame(group, &frame, called, err);
			if (rc != GT_ENO)
				return rc;
		}
		if (rc)
			return gt_err_set(err, GT_ESYS, NULL,
					  "%s speaks nonsense", called);
		if (!here)
			return GT_ENO;
		if (silent_ns < group->how->timeout_ns / 4 * 3 ||
		    gt_net_poll_ms(patience))
			continue;
		seat->state = GT_SEAT_SILENT;
		return GT_ENO;
	}
	return gt_err_set(err, GT_ESYS, NULL,
			  "%s does not say who is left within %.1f s", called,
			  3 * (double)group->how->timeout_ns / 1e9);
}

/* Knock at the doors from `first` on that are still to be knocked at. */
static int gt_follow_knock_ahead(struct gt_regrouping *group, uint32_t first,
				 struct gt_err *err)
{
	uint32_t n = 0;
	int rc = GT_OK;

	for (uint32_t r = first; r < group->world->config.rank; r++) {
		if (group->seats[r].state != GT_SEAT_AWAITED)
			continue;
		if (rc || n++ == GT_FOLLOW_AHEAD)
			break;
		if (group->seats[r].probe_fd < 0)
			rc = gt_regroup_knock(group, r, err);
	}
	return rc;
}

/*
 * Knock until it is known of process `first` whether it can be reached, which
 * it may not be in time.
 */
static int gt_follow_knock(struct gt_regrouping *group, uint32_t first,
			   const struct gt_net_deadline *deadline,
			   struct gt_err *err)
{
	const struct timespec nap = {0, GT_FOLLOW_NAP_NS / 5};
	const struct gt_seat *seat = &group->seats[first];
	int rc = gt_follow_knock_ahead(group, first, err);

	while (!rc && seat->state == GT_SEAT_AWAITED && seat->probe_fd < 0 &&
	       gt_net_poll_ms(deadline)) {
		nanosleep(&nap, NULL);
		rc = gt_follow_knock_ahead(group, first, err);
	}
	return rc;
}

/*
 * Prove who this is at the open door; GT_ENO when that is cut short, or when
 * somebody else has the port that was the process's.
 */
static int gt_follow_enter(struct gt_regrouping *group, uint32_t first,
			   const struct gt_net_deadline *deadline)
{
	const struct gt_world *world = group->world;
	const struct gt_auth_answer answer = {
		.kind = GT_CONNECTION_REGROUP,
		.rank = world->config.rank,
		.size = world->config.size,
		.index = gt_world_next_epoch(world)};
	struct gt_seat *seat = &group->seats[first];
	enum gt_connect_state state;

	gt_wire_init(&seat->wire, seat->probe_fd);
	seat->probe_fd = -1;
	state = gt_listener_answer(seat->wire.fd, &world->config.secret,
				   &answer, deadline);
	if (state == GT_CONNECT_FOREIGN)
		seat->state = GT_SEAT_SILENT;
	return state == GT_CONNECT_OPEN ? GT_OK : GT_ENO;
}

/*
 * Whose connection to process 0 is broken sees nothing of it but its door.  The
 * others take it for silent after three quarters of the limit and go on at the
 * next door; so must this one, or it is with a process that nobody waits for.
 */
static struct gt_net_deadline gt_follow_patience(
	const struct gt_regrouping *group, uint32_t first)
{
	struct gt_net_deadline deadline = gt_regroup_patience(group, first);
	int64_t until_ns = group->begin_ns + group->how->timeout_ns / 4 * 3 -
			   group->unheard_ns;

	if (!first && group->unheard_ns >= 0 && until_ns < deadline.deadline_ns)
		deadline.deadline_ns = until_ns;
	return deadline;
}

int gt_regroup_follow(struct gt_regrouping *group, uint32_t first,
		      struct gt_err *err)
{
	const struct timespec nap = {0, GT_FOLLOW_NAP_NS};
	struct gt_net_deadline deadline = gt_follow_patience(group, first);
	struct gt_seat *seat = &group->seats[first];
	int rc;

	while (gt_net_poll_ms(&deadline)) {
		rc = gt_follow_knock(group, first, &deadline, err);
		if (rc || seat->state != GT_SEAT_AWAITED)
			return rc ? rc : GT_ENO;
		if (seat->probe_fd < 0)
			break;
		rc = gt_follow_enter(group, first, &deadline);
		if (!rc)
			rc = gt_follow_hear(group, first, &deadline, err);
		if (!rc) {
			seat->state = GT_SEAT_HERE;
			return GT_OK;
		}
		gt_wire_close(&seat->wire);
		if (rc != GT_ENO)
			return rc;
		if (seat->state != GT_SEAT_AWAITED)
			return GT_ENO;
		/* It was let go before the end: is it there at all? */
		nanosleep(&nap, NULL);
	}
	if (!gt_net_poll_ms(&group->deadline))
		return gt_err_set(err, GT_ESYS, NULL,
				  "%s does not regroup within %.1f s",
				  group->world->members[first].called,
				  3 * (double)group->how->timeout_ns / 1e9);
	/* Whatever it is at, the others wait no longer. */
	seat->state = GT_SEAT_SILENT;
	return GT_ENO;
}
