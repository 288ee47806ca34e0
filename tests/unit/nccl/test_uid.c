/*
 * Unique ids: ranks that come with another version, or with nonsense, and what
 * all are told.
 */
#include "unit/test.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "nccl/uid.h"
#include "nccl/uid_root.h"
#include "world/listener.h"
#include "world/world.h"

/* Rank 0 of two, which does nothing wrong. */
struct good {
	pthread_t thread;
	gt_nccl_id id;
	_Atomic int stop;
	struct gt_uid_visit visit;
	struct gt_door door;
	struct gt_err err;
	int rc;
};

static void *good_main(void *arg)
{
	struct good *good = arg;

	good->rc =
		gt_uid_meet(&good->id, &good->visit, &good->door, &good->err);
	if (!good->rc)
		gt_uid_leave(&good->visit, 1);
	return NULL;
}

static void good_start(struct good *good)
{
	memset(good, 0, sizeof(*good));
	gt_err_init(&good->err);
	good->visit = (struct gt_uid_visit){.size = 2, .stop = &good->stop};
	assert_int_equal(gt_uid_new(&good->id, &good->err), 0);
	assert_int_equal(pthread_create(&good->thread, NULL, good_main, good),
			 0);
}

/* Connect as rank 1, prove to know the secret, and send that. */
static int come(const gt_nccl_id *id, const void *bytes, uint32_t len)
{
	const struct gt_auth_answer answer = {
		.kind = GT_CONNECTION_CONTROL, .rank = 1, .size = 2};
	const struct gt_net_deadline deadline = {.deadline_ns = gt_clock_ns() +
								20000000000};
	struct gt_frame frame = {
		.type = GT_UID_CARD, .bytes = len, .payload = bytes};
	struct gt_world_config config;
	struct gt_uid_card card;
	struct gt_wire wire;
	int fd;

	memcpy(&card, id->bytes, sizeof(card));
	assert_int_equal(gt_door_find(&card.door, NULL, &config, NULL), 0);
	assert_int_equal(gt_listener_connect(&config.address, &config.secret,
					     &answer, &deadline, &fd, NULL),
			 0);
	gt_wire_init(&wire, fd);
	assert_true(gt_wire_put(&wire, &frame) && gt_wire_flush(&wire));
	gt_buf_release(&wire.in);
	gt_buf_release(&wire.out);
	return fd;
}

static void good_end(struct good *good, int rc, const char *words, int fd)
{
	pthread_join(good->thread, NULL);
	assert_int_equal(good->rc, rc);
	if (!strstr(good->err.text, words))
		fail_msg("'%s' is not '%s'", good->err.text, words);
	if (fd >= 0)
		close(fd);
}

static void case_version(void **state)
{
	struct gt_uid_card card;
	struct good good;
	int fd;

	(void)state;
	good_start(&good);
	gt_uid_card_init(&card);
	memcpy(card.version, "0.0.9", sizeof("0.0.9"));
	fd = come(&good.id, &card, sizeof(card));
	good_end(&good, GT_EINPUT, "rank 1 has gtopo 0.0.9, the process", fd);
}

static void case_nonsense(void **state)
{
	struct good good;
	int fd;

	(void)state;
	good_start(&good);
	fd = come(&good.id, "hello", 5);
	good_end(&good, GT_EINPUT, "rank 1 speaks nonsense", fd);
}

static void case_stopped(void **state)
{
	struct good good;

	(void)state;
	good_start(&good);
	atomic_store(&good.stop, 1);
	good_end(&good, GT_ESYS, "", -1);
}

/* Who hears of a door, and does not know what its ranks know, has no secret. */
static void case_doors(void **state)
{
	struct gt_world_config mine, theirs, listener, next;
	struct gt_secret known, other;
	struct gt_door door, another;
	int fd;

	(void)state;
	assert_int_equal(gt_secret_make(&known, NULL), 0);
	assert_int_equal(gt_secret_make(&other, NULL), 0);
	assert_int_equal(gt_door_open(&door, &fd, NULL), 0);
	close(fd);
	assert_int_equal(gt_door_open(&another, &fd, NULL), 0);
	close(fd);
	assert_int_equal(gt_door_find(&door, &known, &mine, NULL), 0);
	assert_int_equal(gt_door_find(&door, &known, &theirs, NULL), 0);
	assert_int_equal(gt_door_find(&door, &other, &listener, NULL), 0);
	assert_int_equal(gt_door_find(&another, &known, &next, NULL), 0);
	assert_int_equal(mine.secret.len, GT_DOOR_SECRET_BYTES);
	assert_memory_equal(mine.secret.bytes, theirs.secret.bytes,
			    GT_DOOR_SECRET_BYTES);
	assert_memory_not_equal(mine.secret.bytes, door.secret,
				GT_DOOR_SECRET_BYTES);
	assert_memory_not_equal(mine.secret.bytes, listener.secret.bytes,
				GT_DOOR_SECRET_BYTES);
	assert_memory_not_equal(mine.secret.bytes, next.secret.bytes,
				GT_DOOR_SECRET_BYTES);
}

/*
 * An id for ranks that come to others: these make it of what they are told, and
 * of what they know, and nobody else does.
 */
static void case_invited(void **state)
{
	struct gt_secret known, other;
	gt_nccl_id id, told, mine;

	(void)state;
	assert_int_equal(gt_secret_make(&known, NULL), 0);
	assert_int_equal(gt_secret_make(&other, NULL), 0);
	assert_int_equal(gt_uid_invite(&known, &id, &told, NULL), 0);
	assert_memory_not_equal(&id, &told, sizeof(id));
	assert_int_equal(gt_uid_understand(&told, &known, &mine, NULL), 0);
	assert_memory_equal(&id, &mine, sizeof(id));
	assert_int_equal(gt_uid_understand(&told, &other, &mine, NULL), 0);
	assert_memory_not_equal(&id, &mine, sizeof(id));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_doors),    cmocka_unit_test(case_version),
		cmocka_unit_test(case_nonsense), cmocka_unit_test(case_stopped),
		cmocka_unit_test(case_invited),
	};

	alarm(120);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
