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

enum { GT_FOLLOW_NAP_NS = 5000000 };

/*
 * A host that is there accepts a connection for its processes within a few
 * round trips, whatever they do.
 */
static const int64_t gt_knock_ns = 300000000;

int gt_regroup_knock(struct gt_regrouping *group, uint32_t rank, int *fd)
{
	struct gt_net_deadline deadline = group->deadline;
	int64_t soon_ns = gt_clock_ns() + gt_knock_ns;
	int error;

	if (soon_ns < deadline.deadline_ns)
		deadline.deadline_ns = soon_ns;
	error = gt_net_connect_once(&group->world->doors[rank], &deadline, fd);
	if (error)
		group->seats[rank].state =
			error == ECONNREFUSED && !group->was_away
				? GT_SEAT_GONE
				: GT_SEAT_SILENT;
	return !error;
}

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
	return has_me != 0;
}

/* What the one that leads says: GT_ENO when it hangs up before. */
static int gt_follow_hear(struct gt_regrouping *group, struct gt_wire *wire,
			  uint32_t first, struct gt_err *err)
{
	const char *called = group->world->members[first].called;
	uint32_t most =
		group->world->config.size * sizeof(uint32_t) + GT_WORLD_WHY_MAX;
	struct pollfd wait = {.fd = wire->fd, .events = POLLIN};
	struct gt_frame frame;
	int nap_ms, here, rc;

	while ((nap_ms = gt_net_poll_ms(&group->deadline))) {
		poll(&wait, 1, nap_ms);
		here = gt_wire_fill(wire, (size_t)most + GT_WIRE_HEADER_BYTES);
		rc = gt_wire_next(wire, most, &frame);
		if (rc > 0 && frame.type == GT_FRAME_ROLL &&
		    gt_follow_read_roll(group, &frame))
			return GT_OK;
		if (rc > 0 && frame.type == GT_FRAME_ABORT) {
			gt_err_set(err, GT_ESYS, NULL, "%s: %.*s", called,
				   (int)frame.bytes, frame.payload);
			gt_text_make_printable(err->text);
			return GT_ESYS;
		}
		if (rc)
			return gt_err_set(err, GT_ESYS, NULL,
					  "%s speaks nonsense", called);
		if (!here)
			return GT_ENO;
	}
	return gt_err_set(err, GT_ESYS, NULL,
			  "%s does not say who is left within %.1f s", called,
			  (double)group->how->timeout_ns / 1e9);
}

/* Prove who this is; GT_ENO when that is cut short. */
static int gt_follow_enter(struct gt_regrouping *group, int fd, uint32_t first,
			   struct gt_err *err)
{
	const struct gt_world *world = group->world;
	const struct gt_auth_answer answer = {.kind = GT_CONNECTION_REGROUP,
					      .rank = world->config.rank,
					      .size = world->config.size,
					      .index = world->epoch};
	enum gt_connect_state state = gt_listener_answer(
		fd, &world->config.secret, &answer, &group->deadline);

	if (state == GT_CONNECT_OPEN)
		return GT_OK;
	return state == GT_CONNECT_TURNED_AWAY
		       ? GT_ENO
		       : gt_err_set(err, GT_ESYS, NULL,
				    "at the door of %s is no process of this "
				    "job",
				    world->members[first].called);
}

int gt_regroup_follow(struct gt_regrouping *group, uint32_t first,
		      struct gt_err *err)
{
	const struct timespec nap = {0, GT_FOLLOW_NAP_NS};
	struct gt_seat *seat = &group->seats[first];
	int fd, rc;

	while (gt_net_poll_ms(&group->deadline)) {
		if (!gt_regroup_knock(group, first, &fd))
			return GT_ENO;
		gt_wire_init(&seat->wire, fd);
		rc = gt_follow_enter(group, fd, first, err);
		if (!rc)
			rc = gt_follow_hear(group, &seat->wire, first, err);
		if (!rc) {
			seat->state = GT_SEAT_HERE;
			return GT_OK;
		}
		gt_wire_close(&seat->wire);
		if (rc != GT_ENO)
			return rc;
		/* It was let go before the end: is it there at all? */
		nanosleep(&nap, NULL);
	}
	return gt_err_set(err, GT_ESYS, NULL,
			  "%s does not regroup within %.1f s",
			  group->world->members[first].called,
			  (double)group->how->timeout_ns / 1e9);
}
