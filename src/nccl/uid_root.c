/*
 * The thread that a unique id has in the process that made it.  It ends when
 * it has told all ranks where to go and they are there, or why not, and with
 * the process.
 */
#include "nccl/uid_root.h"

#include <config.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/thread.h"
#include "world/listener.h"
#include "world/world.h"

enum {
	GT_UID_RANKS_MOST = 1 << 20,
	GT_UID_PART_MS = 1000, /* for one who does not hang up */
};

/* As long as a rank tries to come. */
static const int64_t gt_uid_late_ns = 20000000000;

/* A rank that has come; without a wire it has not, or has left again. */
struct gt_uid_rank {
	struct gt_wire wire;
	int told;     /* its card is here */
	int is_own;   /* it is of this process */
	int answered; /* it has been told how it ends */
};

struct gt_uid_root {
	struct gt_listener listener;
	struct gt_secret secret;
	struct gt_uid_card own;
	struct gt_uid_rank *ranks; /* [size]; size is the first comer's */
	uint32_t size, ntold;
	struct gt_door door;    /* rank 0's */
	struct gt_uid_rank odd; /* one that came and should not have */
	struct gt_uid_rank end; /* who says that nobody will come ... */
	uint32_t end_rank;      /* ... and does not know how many they are */
	char why[256];          /* it has failed; "": not */
	int gone;               /* because a rank has gone */
};

void gt_uid_card_init(struct gt_uid_card *card)
{
	static _Atomic int64_t since_ns;
	int64_t never = 0;

	_Static_assert(sizeof(PACKAGE_VERSION) <=
			       sizeof(((struct gt_uid_card *)0)->version),
		       "versions are told whole");

	atomic_compare_exchange_strong(&since_ns, &never, gt_clock_ns());
	memset(card, 0, sizeof(*card));
	card->pid = (int32_t)getpid();
	card->since_ns = atomic_load(&since_ns);
	memcpy(card->magic, "gtopoid1", sizeof(card->magic));
	snprintf(card->version, sizeof(card->version), "%s", PACKAGE_VERSION);
}

/* The first comer says how many there are. */
static int gt_uid_expect(struct gt_uid_root *root, uint32_t size)
{
	if (root->size || !size || size > GT_UID_RANKS_MOST)
		return root->size == size;
	root->ranks = calloc(size, sizeof(*root->ranks));
	if (!root->ranks)
		return 0;
	root->size = size;
	for (uint32_t r = 0; r < size; r++)
		gt_wire_init(&root->ranks[r].wire, -1);
	return 1;
}

/* Why a rank cannot come in; "": it can. */
static void gt_uid_check(struct gt_uid_root *root,
			 const struct gt_auth_answer *who, char *why,
			 size_t size)
{
	*why = '\0';
	if (!gt_uid_expect(root, who->size))
		snprintf(why, size,
			 "rank %u says there are %u ranks, another one %u",
			 who->rank, who->size, root->size);
	else if (who->rank >= root->size)
		snprintf(why, size, "there is no rank %u of %u", who->rank,
			 root->size);
	else if (root->ranks[who->rank].wire.fd >= 0 ||
		 root->ranks[who->rank].answered)
		snprintf(why, size,
			 "there are two ranks %u, or the unique id is used "
			 "twice",
			 who->rank);
}

static void gt_uid_enter(void *arg, struct gt_wire *wire,
			 const struct gt_auth_answer *who)
{
	struct gt_uid_root *root = arg;
	char why[sizeof(root->why)];

	if (!who->size && root->end.wire.fd < 0) {
		root->end = (struct gt_uid_rank){.wire = *wire};
		root->end_rank = who->rank;
		return;
	}
	gt_uid_check(root, who, why, sizeof(why));
	if (*why && !*root->why)
		memcpy(root->why, why, sizeof(why));
	if (!*why)
		root->ranks[who->rank].wire = *wire;
	else if (root->odd.wire.fd < 0)
		root->odd = (struct gt_uid_rank){.wire = *wire};
	else
		gt_wire_close(wire);
}

static void gt_uid_take_refusal(struct gt_uid_root *root, uint32_t r,
				const struct gt_frame *frame)
{
	snprintf(root->why, sizeof(root->why), "rank %u cannot come: %.*s", r,
		 (int)frame->bytes, frame->payload);
	gt_text_make_printable(root->why);
	root->gone = 1;
}

static void gt_uid_take(struct gt_uid_root *root, uint32_t r,
			const struct gt_frame *frame)
{
	struct gt_uid_card card;

	if (frame->type == GT_UID_REFUSAL) {
		gt_uid_take_refusal(root, r, frame);
		return;
	}
	if (frame->type != GT_UID_CARD || frame->bytes != sizeof(card) ||
	    root->ranks[r].told) {
		snprintf(root->why, sizeof(root->why),
			 "rank %u speaks nonsense", r);
		return;
	}
	memcpy(&card, frame->payload, sizeof(card));
	if (memcmp(card.version, root->own.version, sizeof(card.version)) != 0)
		snprintf(root->why, sizeof(root->why),
			 "rank %u has gtopo %.*s, the process that made the "
			 "unique id has %s",
			 r, (int)sizeof(card.version), card.version,
			 root->own.version);
	if (!r)
		root->door = card.door;
	root->ranks[r].is_own = card.pid == root->own.pid &&
				card.since_ns == root->own.since_ns;
	root->ranks[r].told = 1;
	root->ntold++;
}

static void gt_uid_read(struct gt_uid_root *root, uint32_t r)
{
	struct gt_wire *wire = &root->ranks[r].wire;
	int here = gt_wire_fill(wire, GT_UID_FRAME_BYTES);
	struct gt_frame frame;
	int got;

	if (!here && root->ranks[r].answered)
		gt_wire_close(wire);
	if (*root->why)
		return;
	while ((got = gt_wire_next(wire, GT_UID_FRAME_BYTES, &frame)) > 0)
		gt_uid_take(root, r, &frame);
	if (*root->why || (here && got >= 0))
		return;
	snprintf(root->why, sizeof(root->why),
		 "rank %u has gone before all were there", r);
	root->gone = 1;
}

/* Only why it ends is heard from who knows no number. */
static void gt_uid_read_end(struct gt_uid_root *root)
{
	struct gt_wire *wire = &root->end.wire;
	int here = gt_wire_fill(wire, GT_UID_FRAME_BYTES);
	struct gt_frame frame;
	int got = gt_wire_next(wire, GT_UID_FRAME_BYTES, &frame);

	if (got > 0 && frame.type == GT_UID_REFUSAL && !*root->why)
		gt_uid_take_refusal(root, root->end_rank, &frame);
	if (!here || got < 0)
		gt_wire_close(wire);
}

static int gt_uid_is_over(const struct gt_uid_root *root)
{
	return *root->why || (root->size && root->ntold == root->size);
}

/* 0: no memory to wait with. */
static int gt_uid_serve(struct gt_uid_root *root)
{
	size_t room = GT_LISTENER_PENDING_MAX + 2 + (size_t)root->size;
	struct pollfd *polls = calloc(room, sizeof(*polls));
	uint32_t n;

	if (!polls)
		return 0;
	n = gt_listener_polls(&root->listener, polls);
	polls[n++] = (struct pollfd){.fd = root->end.wire.fd, .events = POLLIN};
	for (uint32_t r = 0; r < root->size; r++)
		polls[n++] = (struct pollfd){.fd = root->ranks[r].wire.fd,
					     .events = POLLIN};
	poll(polls, n, GT_UID_LOOK_MS * (root->size ? 1 : 50));
	free(polls);
	gt_listener_serve(&root->listener, gt_uid_enter, root);
	if (root->end.wire.fd >= 0)
		gt_uid_read_end(root);
	for (uint32_t r = 0; r < root->size; r++)
		if (root->ranks[r].wire.fd >= 0)
			gt_uid_read(root, r);
	return 1;
}

/* The first rank of this process, with which rank 0 hears no more of it. */
static uint32_t gt_uid_find_own(const struct gt_uid_root *root)
{
	uint32_t r = 0;

	while (r < root->size && !root->ranks[r].is_own)
		r++;
	return r < root->size ? r : 0;
}

/* To rank 0 the connection stays, and ends with this process. */
static void gt_uid_answer(struct gt_uid_root *root, struct gt_uid_rank *rank)
{
	struct gt_wire *wire = &rank->wire;
	struct gt_frame frame = {.type = GT_UID_WELCOME,
				 .bytes = sizeof(root->door),
				 .payload = (const char *)&root->door};
	int is_first = rank == root->ranks;

	if (wire->fd < 0 || rank->answered)
		return;
	if (is_first)
		frame.seq = gt_uid_find_own(root);
	if (*root->why)
		frame = (struct gt_frame){.type = GT_UID_REFUSAL,
					  .bytes = (uint32_t)strlen(root->why),
					  .seq = (uint64_t)root->gone,
					  .payload = root->why};
	/* Who has gone in the meantime need not hear it. */
	if (gt_wire_put(wire, &frame))
		gt_wire_flush(wire);
	if (!is_first || *root->why)
		shutdown(wire->fd, SHUT_WR);
	rank->answered = 1;
}

/*
 * Answer all that are here; how many have been by now?  Rank 0 is the last: if
 * this process ends before it has come to that, rank 0 knows, and whoever has
 * been told where it is finds it gone.
 */
static uint32_t gt_uid_answer_all(struct gt_uid_root *root)
{
	uint32_t n = 0, r;

	for (uint32_t i = 1; i <= root->size; i++) {
		r = i % root->size;
		gt_uid_answer(root, &root->ranks[r]);
		n += root->ranks[r].answered ? 1 : 0;
	}
	gt_uid_answer(root, &root->odd);
	gt_uid_answer(root, &root->end);
	return n;
}

/*
 * Wait until one has hung up: to close a connection on which something was not
 * read would take back what was sent.
 */
static void gt_uid_part(struct gt_wire *wire)
{
	struct pollfd poll_in = {.fd = wire->fd, .events = POLLIN};

	while (wire->fd >= 0 && poll(&poll_in, 1, GT_UID_PART_MS) == 1 &&
	       gt_wire_fill(wire, GT_UID_FRAME_BYTES) &&
	       wire->in.len < GT_UID_FRAME_BYTES)
		;
	gt_wire_close(wire);
}

/*
 * Rank 0 waits for a rank that has gone: tell it so in that one's place.  If it
 * was there already, rank 0 lets nobody in with its number.
 */
static void gt_uid_stand_in(struct gt_uid_root *root, uint32_t r)
{
	struct gt_world_config config = {.rank = r,
					 .size = root->size,
					 .listen_fd = -1,
					 .timeout_ns = gt_uid_late_ns,
					 .is_listening = 1};

	if (!gt_door_find(&root->door, &root->secret, &config, NULL))
		gt_world_decline(&config, "it has gone on its way to rank 0");
	gt_secret_wipe(&config.secret);
}

/* Has the rank come to rank 0, or gone? */
static void gt_uid_follow(struct gt_uid_root *root, uint32_t r)
{
	struct gt_wire *wire = &root->ranks[r].wire;
	int here = gt_wire_fill(wire, GT_UID_FRAME_BYTES);
	struct gt_frame frame;
	int got = gt_wire_next(wire, GT_UID_FRAME_BYTES, &frame);
	int has_come = got > 0 && frame.type == GT_UID_COME;

	if (here && !got)
		return;
	gt_wire_close(wire);
	if (r && !has_come)
		gt_uid_stand_in(root, r);
}

/* All have been told where rank 0 is: wait until they are there. */
static void gt_uid_follow_all(struct gt_uid_root *root)
{
	struct pollfd *polls = calloc(root->size, sizeof(*polls));
	uint32_t left = polls ? root->size : 0;

	while (left) {
		for (uint32_t r = 0; r < root->size; r++)
			polls[r] = (struct pollfd){.fd = root->ranks[r].wire.fd,
						   .events = POLLIN};
		poll(polls, root->size, -1);
		left = 0;
		for (uint32_t r = 0; r < root->size; r++) {
			if (polls[r].revents)
				gt_uid_follow(root, r);
			left += root->ranks[r].wire.fd >= 0;
		}
	}
	free(polls);
}

/* Ranks that come when there will be no communicator are told so as well. */
static void gt_uid_end(struct gt_uid_root *root)
{
	int64_t until_ns = gt_clock_ns() + gt_uid_late_ns;

	while ((gt_uid_answer_all(root) < root->size || !root->size) &&
	       *root->why && gt_clock_ns() < until_ns && gt_uid_serve(root))
		;
	/* Nobody else is served any more, who should not wait for it. */
	gt_listener_close(&root->listener);
	if (!*root->why)
		gt_uid_follow_all(root);
	for (uint32_t r = 0; r < root->size; r++)
		gt_uid_part(&root->ranks[r].wire);
	gt_uid_part(&root->odd.wire);
	gt_uid_part(&root->end.wire);
}

static void *gt_uid_main(void *arg)
{
	struct gt_uid_root *root = arg;

	while (!gt_uid_is_over(root) && gt_uid_serve(root))
		;
	gt_uid_end(root);
	gt_listener_close(&root->listener);
	gt_secret_wipe(&root->secret);
	free(root->ranks);
	free(root);
	return NULL;
}

int gt_uid_root_start(const struct gt_door *door, int fd, struct gt_err *err)
{
	struct gt_uid_root *root = calloc(1, sizeof(*root));
	struct gt_world_config config;
	pthread_t thread;
	int rc = root ? gt_door_find(door, NULL, &config, err)
		      : gt_err_nomem(err);

	if (!rc) {
		root->secret = config.secret;
		gt_uid_card_init(&root->own);
		gt_wire_init(&root->odd.wire, -1);
		gt_wire_init(&root->end.wire, -1);
		gt_listener_init(&root->listener, fd, &root->secret);
		rc = gt_thread_start(&thread, gt_uid_main, root, err);
	}
	if (rc) {
		close(fd);
		free(root);
		return rc;
	}
	pthread_detach(thread);
	return GT_OK;
}
