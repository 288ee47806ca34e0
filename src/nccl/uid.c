/*
 * A rank's side of a unique id: it connects to whoever made it, tells the
 * version of gtopo and the door of rank 0, and waits for the answer.
 */
#include "nccl/uid.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "nccl/uid_root.h"
#include "world/close_on_fork.h"
#include "world/listener.h"
#include "world/world.h"

/* Who made the id listens before it tells it, so this is long. */
static const int64_t gt_uid_connect_ns = 20000000000;

int gt_uid_understand(const gt_nccl_id *told, const struct gt_secret *known,
		      gt_nccl_id *id, struct gt_err *err)
{
	struct gt_world_config config;
	struct gt_uid_card card;
	int rc;

	memcpy(&card, told->bytes, sizeof(card));
	rc = gt_door_find(&card.door, known, &config, err);
	if (!rc)
		memcpy(card.door.secret, config.secret.bytes,
		       sizeof(card.door.secret));
	gt_secret_wipe(&config.secret);
	memcpy(id->bytes, &card, sizeof(card));
	return rc;
}

int gt_uid_invite(const struct gt_secret *known, gt_nccl_id *id,
		  gt_nccl_id *told, struct gt_err *err)
{
	struct gt_uid_card card;
	int fd, rc;

	gt_close_on_fork_begin();
	gt_uid_card_init(&card);
	rc = gt_door_open(&card.door, &fd, err);
	if (rc)
		return rc;
	memcpy(told->bytes, &card, sizeof(card));
	rc = gt_uid_understand(told, known, id, err);
	if (rc) {
		close(fd);
		return rc;
	}
	memcpy(&card, id->bytes, sizeof(card));
	return gt_uid_root_start(&card.door, fd, err);
}

int gt_uid_new(gt_nccl_id *id, struct gt_err *err)
{
	return gt_uid_invite(NULL, id, id, err);
}

/* The frame that came, once there is one; 0: not yet. */
static int gt_uid_hear(struct gt_uid_visit *visit, struct gt_door *door,
		       int *rc, struct gt_err *err)
{
	struct gt_wire *wire = &visit->wire;
	struct gt_frame frame;
	int here = gt_wire_fill(wire, GT_UID_FRAME_BYTES);
	int got = gt_wire_next(wire, GT_UID_FRAME_BYTES, &frame);

	if (!got && here)
		return 0;
	if (got > 0 && frame.type == GT_UID_WELCOME &&
	    frame.bytes == sizeof(*door) && frame.seq < visit->size) {
		memcpy(door, frame.payload, sizeof(*door));
		visit->maker = (uint32_t)frame.seq;
		*rc = GT_OK;
	} else if (got > 0 && frame.type == GT_UID_REFUSAL) {
		*rc = gt_err_set(err, frame.seq ? GT_ENO : GT_EINPUT, NULL,
				 "%.*s", (int)frame.bytes, frame.payload);
	} else {
		*rc = gt_err_set(err, GT_ENO, NULL,
				 "the process that made the unique id is gone");
	}
	return 1;
}

static int gt_uid_wait(struct gt_uid_visit *visit, struct gt_door *door,
		       struct gt_err *err)
{
	struct pollfd poll_in = {.fd = visit->wire.fd, .events = POLLIN};
	int rc;

	for (;;) {
		if (gt_uid_hear(visit, door, &rc, err))
			return rc;
		if (atomic_load(visit->stop))
			return gt_err_set(err, GT_ESYS, NULL, "aborted");
		if (visit->origin_end && atomic_load(visit->origin_end))
			return gt_err_set(err, GT_ENO, NULL,
					  "a process is gone before it has "
					  "come");
		poll(&poll_in, 1, GT_UID_LOOK_MS);
	}
}

/* Where the one listens that made the id, and its secret. */
static int gt_uid_find(const gt_nccl_id *id, struct gt_world_config *config,
		       struct gt_err *err)
{
	struct gt_uid_card card, own;

	memcpy(&card, id->bytes, sizeof(card));
	gt_uid_card_init(&own);
	if (memcmp(card.magic, own.magic, sizeof(own.magic)) != 0)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "this is no unique id that gtopo made");
	return gt_door_find(&card.door, NULL, config, err);
}

int gt_uid_secret(const gt_nccl_id *id, struct gt_secret *secret,
		  struct gt_err *err)
{
	struct gt_world_config config;
	int rc = gt_uid_find(id, &config, err);

	if (!rc)
		*secret = config.secret;
	gt_secret_wipe(&config.secret);
	return rc;
}

static int gt_uid_connect(const gt_nccl_id *id, struct gt_uid_visit *visit,
			  struct gt_err *err)
{
	const struct gt_auth_answer answer = {.kind = GT_CONNECTION_CONTROL,
					      .rank = visit->rank,
					      .size = visit->size};
	const struct gt_net_deadline deadline = {
		gt_clock_ns() + gt_uid_connect_ns, visit->stop, 1};
	struct gt_world_config config;
	int fd, rc = gt_uid_find(id, &config, err);

	if (!rc)
		rc = gt_listener_connect(&config.address, &config.secret,
					 &answer, &deadline, &fd, err);
	gt_secret_wipe(&config.secret);
	if (!rc)
		gt_wire_init(&visit->wire, fd);
	return rc;
}

/* Whoever hangs up at once may take back what it has said. */
void gt_uid_decline(const gt_nccl_id *id, uint32_t rank, uint32_t size,
		    const _Atomic int *stop, const char *why)
{
	struct gt_frame frame = {.type = GT_UID_REFUSAL,
				 .bytes = (uint32_t)strlen(why),
				 .payload = why};
	struct gt_uid_visit visit = {.rank = rank, .size = size, .stop = stop};
	struct gt_door none;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_uid_connect(id, &visit, &err))
		return;
	if (gt_wire_put(&visit.wire, &frame) && gt_wire_flush(&visit.wire))
		gt_uid_wait(&visit, &none, &err);
	gt_wire_close(&visit.wire);
}

int gt_uid_meet(const gt_nccl_id *id, struct gt_uid_visit *visit,
		struct gt_door *door, struct gt_err *err)
{
	struct gt_frame frame = {.type = GT_UID_CARD,
				 .bytes = GT_NCCL_ID_BYTES};
	struct gt_wire *wire = &visit->wire;
	struct gt_uid_card own;
	int rc = gt_uid_connect(id, visit, err);

	if (rc)
		return rc;
	gt_uid_card_init(&own);
	own.door = *door;
	frame.payload = (const char *)&own;
	rc = gt_wire_put(wire, &frame) && gt_wire_flush(wire)
		     ? gt_uid_wait(visit, door, err)
		     : gt_err_set(err, GT_ENO, NULL,
				  "the process that made the unique id is "
				  "gone");
	if (rc)
		gt_wire_close(wire);
	return rc;
}

void gt_uid_leave(struct gt_uid_visit *visit, int has_come)
{
	const struct gt_frame frame = {.type = GT_UID_COME};

	if (has_come && gt_wire_put(&visit->wire, &frame))
		gt_wire_flush(&visit->wire);
	gt_wire_close(&visit->wire);
}
