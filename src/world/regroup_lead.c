/*
 * The first of those that are left lets the others in.  Of whom has not come it
 * finds out whether he is there: a host answers for a process that has ended,
 * at once, and a connection to a door ends with the process.
 */
#include "world/regroup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"

enum { GT_LEAD_TICK_MS = 5, GT_LEAD_NAMED = 3 };

struct gt_lead {
	struct gt_regrouping *group;
	struct gt_listener *listener;
	struct pollfd *polls; /* the listener's, and a wire of each process */
	int64_t beaten_ns;    /* when it last gave a sign of life; or 0 */
};

/*
 * Does a process come from the world before this one, as it has not heard that
 * this one has begun?
 */
static int gt_lead_is_behind(const struct gt_world *world,
			     const struct gt_auth_answer *answer)
{
	return world->was && answer->index == world->epoch &&
	       answer->size == world->was_size;
}

/* The number of one who had that number in the world before; the size: it has
 * none. */
static uint32_t gt_lead_rank_now(const struct gt_world *world, uint32_t was)
{
	uint32_t r = 0;

	while (r < world->config.size && world->was[r] != was)
		r++;
	return r;
}

static void gt_lead_seat(struct gt_seat *seat, const struct gt_wire *wire,
			 int is_behind)
{
	/* Whoever comes again has given its first connection up. */
	gt_wire_close(&seat->wire);
	seat->wire = *wire;
	seat->state = GT_SEAT_HERE;
	seat->is_behind = is_behind;
}

/*
 * Another world of this process has the same door.  Whoever is let go comes
 * again, and then its own may be listening.
 */
static void gt_lead_enter(void *arg, struct gt_wire *wire,
			  const struct gt_auth_answer *answer)
{
	struct gt_lead *lead = arg;
	const struct gt_world *world = lead->group->world;
	uint32_t size = world->config.size, rank = answer->rank;
	uint32_t attempt = gt_world_attempt(world, answer->index);
	int is_behind = gt_lead_is_behind(world, answer);
	uint32_t *epoch = &lead->group->epoch;

	if (is_behind)
		rank = gt_lead_rank_now(world, rank);
	if (answer->kind != GT_CONNECTION_REGROUP ||
	    rank == world->config.rank ||
	    (!is_behind && (answer->size != size || rank >= size)))
		gt_world_refuse(wire, "this is another job's door");
	else if (rank == size ||
		 lead->group->seats[rank].state == GT_SEAT_EXCLUDED)
		gt_world_refuse(wire, "the others go on without this process");
	else if (!is_behind && !attempt)
		gt_wire_close(wire);
	else {
		gt_lead_seat(&lead->group->seats[rank], wire, is_behind);
		/* No number is given twice, whoever has counted further. */
		if (!is_behind && attempt > gt_world_attempt(world, *epoch))
			*epoch = answer->index;
	}
}

/* The process's port is somebody else's now. */
static int gt_lead_is_stranger(const struct gt_seat *seat)
{
	return seat->heard_bytes == sizeof(seat->greeting) &&
	       !gt_auth_check_greeting(&seat->greeting);
}

/*
 * Is a process still there that has not come?  If it waits at its own door, it
 * greets.
 */
static int gt_lead_probe(struct gt_lead *lead, uint32_t rank,
			 struct gt_err *err)
{
	struct gt_seat *seat = &lead->group->seats[rank];
	char *greeting = (char *)&seat->greeting;
	ssize_t got;

	if (seat->probe_fd < 0)
		return gt_regroup_knock(lead->group, rank, err);
	got = recv(seat->probe_fd, greeting + seat->heard_bytes,
		   sizeof(seat->greeting) - seat->heard_bytes, MSG_DONTWAIT);
	if (got > 0)
		seat->heard_bytes += (size_t)got;
	if (gt_lead_is_stranger(seat))
		seat->state = GT_SEAT_SILENT;
	else if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
		return GT_OK;
	close(seat->probe_fd);
	seat->probe_fd = -1;
	return GT_OK;
}

/* How many are in this state. */
static uint32_t gt_lead_count(const struct gt_lead *lead,
			      enum gt_seat_state state)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < lead->group->world->config.size; r++)
		n += lead->group->seats[r].state == state;
	return n;
}

static int gt_lead_look(struct gt_lead *lead, struct gt_err *err)
{
	const struct gt_world *world = lead->group->world;
	int rc = GT_OK;

	for (uint32_t r = 0; !rc && r < world->config.size; r++) {
		struct gt_seat *seat = &lead->group->seats[r];

		if (r == world->config.rank)
			continue;
		if (seat->state == GT_SEAT_HERE &&
		    !gt_wire_fill(&seat->wire, GT_WIRE_HEADER_BYTES)) {
			gt_wire_close(&seat->wire);
			seat->state = GT_SEAT_AWAITED;
		}
		if (seat->state == GT_SEAT_AWAITED)
			rc = gt_lead_probe(lead, r, err);
	}
	return rc;
}

static void gt_lead_wait(struct gt_lead *lead)
{
	uint32_t n = gt_listener_polls(lead->listener, lead->polls);

	for (uint32_t r = 0; r < lead->group->world->config.size; r++)
		if (lead->group->seats[r].state == GT_SEAT_HERE)
			lead->polls[n++] = (struct pollfd){
				.fd = lead->group->seats[r].wire.fd,
				.events = POLLIN};
	poll(lead->polls, n, GT_LEAD_TICK_MS);
}

/* Those that have come are to know that this process still waits with them. */
static int gt_lead_beat(struct gt_lead *lead, struct gt_err *err)
{
	const struct gt_frame beat = {.type = GT_FRAME_BEAT};
	int64_t now_ns = gt_clock_ns();

	if (now_ns - lead->beaten_ns < GT_WORLD_BEAT_TICKS * GT_WORLD_TICK_NS)
		return GT_OK;
	lead->beaten_ns = now_ns;
	for (uint32_t r = 0; r < lead->group->world->config.size; r++) {
		struct gt_seat *seat = &lead->group->seats[r];

		if (seat->state != GT_SEAT_HERE || seat->wire.fd < 0)
			continue;
		if (!gt_wire_put(&seat->wire, &beat))
			return gt_err_nomem(err);
		/* If it cannot be sent, reading shows that it is gone. */
		gt_wire_flush(&seat->wire);
	}
	return GT_OK;
}

/*
 * Those that are not heard may be together elsewhere and come to the same
 * conclusion about this side; only one of the two may go on.
 */
static int gt_lead_has_right(const struct gt_lead *lead, struct gt_err *err)
{
	const struct gt_world *world = lead->group->world;
	uint32_t here = gt_lead_count(lead, GT_SEAT_HERE), n = 0;
	uint32_t silent = gt_lead_count(lead, GT_SEAT_SILENT);
	uint32_t first = 0;
	char names[512] = "";
	size_t at = 0;

	while (lead->group->seats[first].state != GT_SEAT_HERE &&
	       lead->group->seats[first].state != GT_SEAT_SILENT)
		first++;
	if (here > silent || (here == silent && first == world->config.rank))
		return GT_OK;
	for (uint32_t r = 0; r < world->config.size; r++)
		if (lead->group->seats[r].state == GT_SEAT_SILENT &&
		    n++ < GT_LEAD_NAMED)
			at += (size_t)snprintf(names + at, sizeof(names) - at,
					       "%s%s", at ? ", " : "",
					       world->members[r].called);
	return gt_err_set(err, GT_ESYS, NULL,
			  "%u of %u processes are left and may be cut off from "
			  "those that are not heard: %s%s",
			  here, here + silent, names,
			  n > GT_LEAD_NAMED ? " ..." : "");
}

/* Tell one who is left, by the numbers that it knows. */
static int gt_lead_tell(const struct gt_regrouping *group, struct gt_seat *seat)
{
	struct gt_buf list = GT_BUF_INIT;
	struct gt_frame frame = {.type = GT_FRAME_ROLL, .seq = group->epoch};
	uint32_t rank;
	int done;

	for (uint32_t i = 0; i < group->nleft; i++) {
		rank = group->left[i];
		rank = htonl(seat->is_behind ? group->world->was[rank] : rank);
		gt_buf_add(&list, &rank, sizeof(rank));
	}
	frame.bytes = (uint32_t)list.len;
	frame.payload = list.text;
	done = !list.failed && gt_wire_put(&seat->wire, &frame);
	/* Whoever is gone by now is missed in the new world. */
	if (done)
		gt_wire_flush(&seat->wire);
	gt_buf_release(&list);
	return done;
}

/* Tell all that are here who is left. */
static int gt_lead_call_roll(struct gt_lead *lead, struct gt_err *err)
{
	struct gt_regrouping *group = lead->group;

	for (uint32_t r = 0; r < group->world->config.size; r++)
		if (group->seats[r].state == GT_SEAT_HERE)
			group->left[group->nleft++] = r;
	for (uint32_t i = 1; i < group->nleft; i++)
		if (!gt_lead_tell(group, &group->seats[group->left[i]]))
			return gt_err_nomem(err);
	return GT_OK;
}

/* Nobody is to wait for this process any more. */
static void gt_lead_dismiss(struct gt_lead *lead, const char *why)
{
	for (uint32_t r = 0; r < lead->group->world->config.size; r++)
		if (lead->group->seats[r].wire.fd >= 0)
			gt_world_refuse(&lead->group->seats[r].wire, why);
}

/*
 * Wait for all that are there; whoever is late counts as silent, unless it is
 * this process that cannot let it in.
 */
static int gt_lead_gather(struct gt_lead *lead, struct gt_err *err)
{
	struct gt_regrouping *group = lead->group;
	uint32_t own = group->world->config.rank;
	struct gt_net_deadline deadline = gt_regroup_patience(group, own);
	int rc = GT_OK;

	group->seats[own].state = GT_SEAT_HERE;
	while (!rc && gt_lead_count(lead, GT_SEAT_AWAITED) &&
	       gt_net_poll_ms(&deadline)) {
		gt_lead_wait(lead);
		gt_listener_serve(lead->listener, gt_lead_enter, lead);
		rc = gt_lead_look(lead, err);
		if (!rc)
			rc = gt_lead_beat(lead, err);
	}
	if (rc || !gt_lead_count(lead, GT_SEAT_AWAITED))
		return rc;
	if (lead->listener->rests_until_ns)
		return gt_err_set(err, GT_ESYS, NULL,
				  "no file is left to let others in");
	if (!gt_net_poll_ms(&group->deadline))
		return gt_err_set(err, GT_ESYS, NULL,
				  "not all that are left have come within "
				  "%.1f s",
				  3 * (double)group->how->timeout_ns / 1e9);
	for (uint32_t r = 0; r < group->world->config.size; r++)
		if (group->seats[r].state == GT_SEAT_AWAITED)
			group->seats[r].state = GT_SEAT_SILENT;
	return GT_OK;
}

int gt_regroup_lead(struct gt_regrouping *group, struct gt_err *err)
{
	uint32_t size = group->world->config.size;
	struct gt_lead lead = {
		.group = group,
		.listener = calloc(1, sizeof(*lead.listener)),
		.polls = calloc(size + GT_LISTENER_PENDING_MAX + 1,
				sizeof(*lead.polls)),
	};
	int rc;

	if (!lead.listener || !lead.polls) {
		free(lead.listener);
		free(lead.polls);
		return gt_err_nomem(err);
	}
	gt_listener_init(lead.listener, group->world->door_fd,
			 &group->world->config.secret);
	rc = gt_lead_gather(&lead, err);
	if (!rc)
		rc = gt_lead_has_right(&lead, err);
	if (!rc)
		rc = gt_lead_call_roll(&lead, err);
	if (rc)
		gt_lead_dismiss(&lead, err->text);
	lead.listener->fd = -1; /* the door stays open */
	gt_listener_close(lead.listener);
	free(lead.listener);
	free(lead.polls);
	return rc;
}
