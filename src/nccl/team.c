/*
 * Teams: ranks that have found each other.  Beside the world in which they
 * agree on things stands a second one, for the engine, as both may be in a
 * round at the same time.
 */
#include "nccl/team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "nccl/door.h"
#include "nccl/uid.h"
#include "world/launcher.h"

enum {
	/*
	 * Programs have limits of their own and leave ranks idle for as long as
	 * they like, so this is about as long as a kernel's timers can be.
	 */
	GT_TEAM_LIMIT_DAYS = 24,
};

static int64_t gt_team_limit_ns(void)
{
	return INT64_C(86400000000000) * GT_TEAM_LIMIT_DAYS;
}

/* What goes round first. */
struct gt_team_card {
	struct gt_team_member member;
	struct gt_door engine; /* rank 0's */
};

struct gt_team_seat {
	uint32_t rank, size; /* 0: in no team */
	struct gt_door door; /* of its rank 0 */
	int listen_fd;       /* of its rank 0; -1: another one's */
	/* What all that come in have known before. */
	struct gt_secret known;
	const _Atomic int *parent_end; /* NULL: it has no parent */
	uint32_t maker;                /* as that of a struct gt_uid_visit */
	int maker_fd;
};

static void gt_team_config(struct gt_team *team, const _Atomic int *stop,
			   struct gt_world_config *config)
{
	memset(config, 0, sizeof(*config));
	config->rank = team->rank;
	config->size = team->size;
	config->listen_fd = -1;
	config->timeout_ns = gt_team_limit_ns();
	config->interrupt = stop;
	/* A door is open before anybody hears of it. */
	config->is_listening = 1;
	gt_launcher_process_name(config->name);
}

/* All tell who they are, and rank 0 where the engines meet. */
static int gt_team_introduce(struct gt_team *team,
			     const struct gt_team_member *me,
			     struct gt_err *err)
{
	struct gt_world_part *parts = calloc(team->size, sizeof(*parts));
	struct gt_team_card card = {.member = *me};
	int rc = parts ? GT_OK : gt_err_nomem(err);

	if (!rc && !team->rank)
		rc = gt_door_open(&card.engine, &team->engine.listen_fd, err);
	if (!rc)
		rc = gt_world_allgather(team->world, &card, sizeof(card), parts,
					err);
	for (uint32_t r = 0; !rc && r < team->size; r++) {
		if (parts[r].len != sizeof(card)) {
			rc = gt_err_set(err, GT_ESYS, NULL,
					"rank %u speaks nonsense", r);
			break;
		}
		memcpy(&card, parts[r].bytes, sizeof(card));
		team->members[r] = card.member;
		if (!r)
			rc = gt_door_find(&card.engine,
					  gt_world_secret(team->world),
					  &team->engine, err);
	}
	free(parts);
	return rc;
}

/* A team without a world yet; NULL when memory ran out. */
static struct gt_team *gt_team_new(uint32_t rank, uint32_t size,
				   const struct gt_team_member *me,
				   const _Atomic int *stop)
{
	struct gt_team *team = calloc(1, sizeof(*team));

	if (team)
		team->members = calloc(size, sizeof(*team->members));
	if (!team || !team->members) {
		free(team);
		return NULL;
	}
	team->rank = rank;
	team->size = size;
	team->members[rank] = *me;
	gt_team_config(team, stop, &team->engine);
	return team;
}

/* Tell the others of a seat's team not to wait.  Takes the socket. */
static void gt_team_decline(const struct gt_team_seat *seat, const char *why)
{
	struct gt_team team = {.rank = seat->rank, .size = seat->size};
	struct gt_world_config config;

	gt_team_config(&team, NULL, &config);
	config.listen_fd = seat->listen_fd;
	if (seat->size > 1 &&
	    !gt_door_find(&seat->door, &seat->known, &config, NULL))
		gt_world_decline(&config, why);
	else if (seat->listen_fd >= 0)
		close(seat->listen_fd);
	gt_secret_wipe(&config.secret);
}

/* Make a team whose rank 0 listens at the door.  The socket is taken. */
static int gt_team_open(const struct gt_team_seat *seat,
			const struct gt_team_member *me,
			const _Atomic int *stop, struct gt_team **out,
			struct gt_err *err)
{
	struct gt_team *team = gt_team_new(seat->rank, seat->size, me, stop);
	struct gt_world_config config;
	int rc = GT_OK;

	if (!team) {
		gt_team_decline(seat, "out of memory");
		return gt_err_nomem(err);
	}
	gt_team_config(team, stop, &config);
	config.has_door = 1;
	config.listen_fd = seat->listen_fd;
	config.origin_end = seat->parent_end;
	config.herald = seat->maker;
	config.herald_fd = seat->maker_fd;
	if (team->size > 1)
		rc = gt_door_find(&seat->door, &seat->known, &config, err);
	else if (seat->listen_fd >= 0)
		close(seat->listen_fd);
	if (rc)
		gt_team_decline(seat, err->text);
	if (!rc && team->size > 1)
		rc = gt_world_open(&config, &team->world, err);
	if (!rc && team->size > 1)
		rc = gt_team_introduce(team, me, err);
	gt_secret_wipe(&config.secret);
	if (rc) {
		gt_team_close(team);
		return rc;
	}
	*out = team;
	return GT_OK;
}

int gt_team_meet(const gt_nccl_id *id, uint32_t rank, uint32_t size,
		 const struct gt_team_member *me, const struct gt_team *before,
		 const _Atomic int *stop, struct gt_team **team,
		 struct gt_err *err)
{
	const _Atomic int *end = before && before->world
					 ? gt_world_end_flag(before->world)
					 : NULL;
	struct gt_team_seat seat = {
		.rank = rank, .size = size, .listen_fd = -1, .parent_end = end};
	struct gt_uid_visit visit = {
		.rank = rank, .size = size, .stop = stop, .origin_end = end};
	int rc = gt_uid_secret(id, &seat.known, err);

	if (!rc && !rank && size > 1)
		rc = gt_door_open(&seat.door, &seat.listen_fd, err);
	if (rc)
		gt_uid_decline(id, rank, size, stop, err->text);
	else
		rc = gt_uid_meet(id, &visit, &seat.door, err);
	if (!rc) {
		seat.maker = rank ? 0 : visit.maker;
		seat.maker_fd = visit.wire.fd;
		rc = gt_team_open(&seat, me, stop, team, err);
		gt_uid_leave(&visit, !rc);
	} else if (seat.listen_fd >= 0) {
		close(seat.listen_fd);
	}
	gt_secret_wipe(&seat.known);
	return rc;
}

/* What goes round in a split. */
struct gt_team_bid {
	struct gt_team_wish wish;
	struct gt_door door;
	char why[128]; /* this rank can be in none; "": it can */
};

/* Does rank a, with its bid, come before rank b in their team? */
static int gt_team_is_before(const struct gt_team_bid *bids, uint32_t a,
			     uint32_t b)
{
	return bids[a].wish.key != bids[b].wish.key
		       ? bids[a].wish.key < bids[b].wish.key
		       : a < b;
}

/* Find the own place among those of the same colour, and their rank 0. */
static void gt_team_place(const struct gt_team *parent,
			  const struct gt_team_bid *bids,
			  struct gt_team_seat *seat)
{
	uint32_t me = parent->rank, first = me;

	for (uint32_t r = 0; r < parent->size; r++) {
		if (bids[r].wish.colour != bids[me].wish.colour)
			continue;
		seat->size++;
		seat->rank += gt_team_is_before(bids, r, me) ? 1 : 0;
		if (gt_team_is_before(bids, r, first))
			first = r;
	}
	seat->door = bids[first].door;
	if (first != me && seat->listen_fd >= 0) {
		close(seat->listen_fd);
		seat->listen_fd = -1;
	}
}

/* What rank r has told. */
static int gt_team_hear(struct gt_team_bid *bid, uint32_t r,
			const struct gt_world_part *part, struct gt_err *err)
{
	if (part->len != sizeof(*bid))
		return gt_err_set(err, GT_ESYS, NULL, "rank %u speaks nonsense",
				  r);
	memcpy(bid, part->bytes, sizeof(*bid));
	bid->why[sizeof(bid->why) - 1] = '\0';
	gt_text_make_printable(bid->why);
	return *bid->why ? gt_err_set(err, GT_ENO, NULL,
				      "rank %u cannot split: %s", r, bid->why)
			 : GT_OK;
}

/*
 * The round of a split, to which whoever has failed comes all the same: else
 * the others would wait for it, and the parent's rounds be out of step.
 */
static int gt_team_bids(struct gt_team *parent, struct gt_team_bid *own, int rc,
			struct gt_team_bid *bids, struct gt_world_part *parts,
			struct gt_err *err)
{
	struct gt_err why;

	gt_err_init(&why);
	if (rc)
		snprintf(own->why, sizeof(own->why), "%.127s", err->text);
	if (gt_world_allgather(parent->world, own, sizeof(*own),
			       rc ? NULL : parts, &why))
		return rc ? rc : gt_err_set(err, GT_ESYS, NULL, "%s", why.text);
	for (uint32_t r = 0; !rc && r < parent->size; r++)
		rc = gt_team_hear(&bids[r], r, &parts[r], err);
	return rc;
}

/* Everybody opens a door, since nobody knows yet who is the first. */
int gt_team_split(struct gt_team *parent, const struct gt_team_wish *wish,
		  struct gt_team_seat **out, struct gt_err *err)
{
	struct gt_team_seat *seat = calloc(1, sizeof(*seat));
	struct gt_team_bid *bids = calloc(parent->size, sizeof(*bids));
	struct gt_world_part *parts = calloc(parent->size, sizeof(*parts));
	struct gt_team_bid own = {.wish = *wish};
	int rc = seat && bids && parts ? GT_OK : gt_err_nomem(err);

	if (seat)
		seat->listen_fd = -1;
	if (!rc && wish->colour >= 0 && parent->size > 1)
		rc = gt_door_open(&own.door, &seat->listen_fd, err);
	if (parent->size > 1)
		rc = gt_team_bids(parent, &own, rc, bids, parts, err);
	else if (!rc)
		bids[0] = own;
	if (!rc && wish->colour >= 0)
		gt_team_place(parent, bids, seat);
	if (!rc && parent->world)
		seat->parent_end = gt_world_end_flag(parent->world);
	if (!rc && parent->world)
		seat->known = *gt_world_secret(parent->world);
	free(bids);
	free(parts);
	if (rc) {
		if (seat && seat->listen_fd >= 0)
			close(seat->listen_fd);
		free(seat);
		return rc;
	}
	*out = seat;
	return GT_OK;
}

int gt_team_enter(struct gt_team_seat *seat, const struct gt_team_member *me,
		  const _Atomic int *stop, struct gt_team **team,
		  struct gt_err *err)
{
	int rc = gt_team_open(seat, me, stop, team, err);

	gt_secret_wipe(&seat->known);
	free(seat);
	return rc;
}

/* Are others than those that are excluded gone, too? */
static int gt_team_miss(const struct gt_team *parent, const uint8_t *excluded,
			const uint32_t *left, uint32_t nleft,
			struct gt_err *err)
{
	uint32_t i = 0;

	for (uint32_t r = 0; r < parent->size; r++) {
		if (i < nleft && left[i] == r)
			i++;
		else if (!excluded[r])
			return gt_err_set(err, GT_ENO, NULL,
					  "rank %u is gone as well; exclude it",
					  r);
	}
	return GT_OK;
}

/*
 * Make a team of a world, which is taken where that succeeds; NULL: this rank
 * is alone.
 */
static int gt_team_of_world(struct gt_world *world,
			    const struct gt_team_member *me,
			    const _Atomic int *stop, struct gt_team **out,
			    struct gt_err *err)
{
	struct gt_team *team =
		gt_team_new(world ? gt_world_rank(world) : 0,
			    world ? gt_world_size(world) : 1, me, stop);
	int rc;

	if (!team)
		return gt_err_nomem(err);
	team->world = world;
	rc = world ? gt_team_introduce(team, me, err) : GT_OK;
	if (rc) {
		team->world = NULL;
		gt_team_close(team);
		return rc;
	}
	*out = team;
	return GT_OK;
}

int gt_team_shrink(struct gt_team *parent, const uint8_t *excluded,
		   const struct gt_team_member *me, const _Atomic int *stop,
		   struct gt_team **team, struct gt_err *err)
{
	const struct gt_regroup how = {.excluded = excluded,
				       .timeout_ns = gt_team_limit_ns(),
				       .stop = stop};
	uint32_t *left = calloc(parent->size, sizeof(*left)), nleft = 1;
	struct gt_world *world = NULL;
	int rc = left ? GT_OK : gt_err_nomem(err);

	if (!rc)
		*left = parent->rank;
	if (!rc && parent->world)
		rc = gt_world_regroup(parent->world, &how, &world, left, &nleft,
				      err);
	if (!rc)
		rc = gt_team_miss(parent, excluded, left, nleft, err);
	free(left);
	if (!rc)
		rc = gt_team_of_world(world, me, stop, team, err);
	if (rc && world) {
		gt_world_take_back(parent->world, world);
		gt_world_close(world);
	}
	return rc;
}

int gt_team_conclude(struct gt_team *team, struct gt_err *err)
{
	return team->world ? gt_world_allgather(team->world, NULL, 0, NULL, err)
			   : GT_OK;
}

void gt_team_take_back(struct gt_team *parent, const struct gt_team *team)
{
	if (team->world)
		gt_world_take_back(parent->world, team->world);
}

void gt_team_stay_out(struct gt_team_seat *seat, const char *why)
{
	if (why) {
		gt_team_decline(seat, why);
		seat->listen_fd = -1;
	}
	if (seat->listen_fd >= 0)
		close(seat->listen_fd);
	gt_secret_wipe(&seat->known);
	free(seat);
}

/* Who is alone tells nobody. */
static const struct gt_secret *gt_team_secret(const struct gt_team *team)
{
	return team->world ? gt_world_secret(team->world) : NULL;
}

int gt_team_invite(const struct gt_team *team, gt_nccl_id *id, gt_nccl_id *told,
		   struct gt_err *err)
{
	return gt_uid_invite(gt_team_secret(team), id, told, err);
}

/* The one of several that has told, or NULL; *n is how many have. */
static const void *gt_team_find_told(const struct gt_team *team,
				     const struct gt_world_part *parts, int *n)
{
	const void *told = NULL;

	*n = 0;
	for (uint32_t r = 0; r < team->size; r++) {
		if (parts[r].len != sizeof(gt_nccl_id))
			continue;
		told = parts[r].bytes;
		++*n;
	}
	return told;
}

int gt_team_tell_id(struct gt_team *team, const gt_nccl_id *told,
		    gt_nccl_id *id, struct gt_err *err)
{
	struct gt_world_part *parts = calloc(team->size, sizeof(*parts));
	int rc = parts ? GT_OK : gt_err_nomem(err), n = 0;
	gt_nccl_id heard;

	/* The others would wait for who does not come. */
	if (team->world && !parts)
		gt_world_abort(team->world, err->text);
	else if (team->world)
		rc = gt_world_allgather(team->world, told,
					told ? sizeof(*told) : 0, parts, err);
	else if (!rc && told)
		parts[0] = (struct gt_world_part){told, sizeof(*told)};
	if (!rc)
		told = gt_team_find_told(team, parts, &n);
	if (!rc && n != 1)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"%d ranks have called ncclCommGetUniqueId(); "
				"one does",
				n);
	if (!rc) {
		heard = *told;
		rc = gt_uid_understand(&heard, gt_team_secret(team), id, err);
	}
	free(parts);
	return rc;
}

void gt_team_close(struct gt_team *team)
{
	if (!team)
		return;
	gt_world_close(team->world);
	if (team->engine.listen_fd >= 0)
		close(team->engine.listen_fd);
	gt_secret_wipe(&team->engine.secret);
	free(team->members);
	free(team);
}

/* Ranks wait for each other block by block, so all have equally many. */
uint32_t gt_team_max_ctas(const struct gt_team *team)
{
	int32_t least = 0;

	for (uint32_t r = 0; r < team->size; r++)
		if (team->members[r].max_ctas > 0 &&
		    (!least || team->members[r].max_ctas < least))
			least = team->members[r].max_ctas;
	return (uint32_t)least;
}

static int gt_team_share(const struct gt_team_member *a,
			 const struct gt_team_member *b)
{
	return !strcmp(a->host, b->host) && *a->bus_id &&
	       !strcmp(a->bus_id, b->bus_id);
}

int gt_team_find_pair(const struct gt_team *team, uint32_t *one,
		      uint32_t *other)
{
	for (uint32_t r = 0; r < team->size; r++)
		for (uint32_t q = 0; q < r; q++) {
			if (!gt_team_share(&team->members[q],
					   &team->members[r]))
				continue;
			*one = q;
			*other = r;
			return 1;
		}
	return 0;
}
