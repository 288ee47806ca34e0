/* What those who know the secret, but not the rules, are told and believed. */
#include "unit/job.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "world/internal.h"
#include "world/listener.h"
#include "world/net.h"

#define TEST_SECOND_NS 1000000000ll

/* Process 0 comes to one meeting and gives up. */
static int part_give_up(struct gt_world *world, struct gt_err *err)
{
	int rc = gt_world_allgather(world, NULL, 0, NULL, err);

	if (!rc)
		gt_world_abort(world, "had enough");
	return rc ? rc : gt_world_failed(world, err);
}

/* Somebody who knows the secret comes in as process 1 and says anything. */
static void impostor_enter(const struct job *job, struct gt_wire *wire)
{
	const struct gt_auth_answer who = {.kind = GT_CONNECTION_CONTROL,
					   .rank = 1,
					   .size = job->config.size};
	const struct gt_net_deadline patience = {
		.deadline_ns = gt_clock_ns() + 20 * TEST_SECOND_NS};
	int fd;

	assert_int_equal(gt_listener_connect(&job->config.address,
					     &job->config.secret, &who,
					     &patience, &fd, NULL),
			 0);
	gt_wire_init(wire, fd);
}

static void impostor_listen(struct gt_wire *wire, enum gt_world_frame type,
			    struct gt_frame *frame)
{
	struct pollfd wait = {.fd = wire->fd, .events = POLLIN};
	int rc;

	do {
		while (!(rc = gt_wire_next(wire, 1 << 20, frame))) {
			assert_int_equal(poll(&wait, 1, 20000), 1);
			assert_true(gt_wire_fill(wire, 1 << 20) ||
				    wire->in.len);
		}
		assert_int_equal(rc, 1);
	} while (frame->type != type);
}

/* Who comes after the verdict, while the door is still open, is told why. */
static void test_late_comer(void **state)
{
	const char *why = "process 0 (p0): had enough";
	struct gt_wire first, late;
	struct gt_frame frame;
	struct job job;

	(void)state;
	job_prepare(&job, 2, 40 * TEST_SECOND_NS, "127.0.0.1");
	job.size = 1;
	job_start(&job, part_give_up);
	impostor_enter(&job, &first);
	for (uint64_t seq = 1; seq <= 2; seq++) {
		frame = (struct gt_frame){.type = GT_FRAME_PART, .seq = seq};
		assert_true(gt_wire_put(&first, &frame));
		assert_true(gt_wire_flush(&first));
		impostor_listen(&first, GT_FRAME_ALL, &frame);
	}
	impostor_listen(&first, GT_FRAME_ABORT, &frame);
	/* The first one's connection is open still, so process 0 lingers. */
	impostor_enter(&job, &late);
	impostor_listen(&late, GT_FRAME_ABORT, &frame);
	assert_int_equal(frame.bytes, strlen(why));
	assert_memory_equal(frame.payload, why, frame.bytes);
	gt_wire_close(&first);
	gt_wire_close(&late);
	job_wait(&job);
	assert_int_equal(job.status[0], 3);
}

/*
 * Beside a parent an interrupt is heeded as soon as all have come in: one of
 * them may come to no meeting.
 */
static void test_interrupt_beside_parent(void **state)
{
	static const _Atomic int interrupted = 1;
	const char *why = "process 0: interrupted";
	struct gt_frame frame;
	struct gt_wire wire;
	struct job job;

	(void)state;
	job_prepare(&job, 2, 40 * TEST_SECOND_NS, "127.0.0.1");
	job.config.has_parent = 1;
	job.config.interrupt = &interrupted;
	job.size = 1;
	job_start(&job, part_give_up);
	impostor_enter(&job, &wire);
	impostor_listen(&wire, GT_FRAME_ABORT, &frame);
	assert_int_equal(frame.bytes, strlen(why));
	assert_memory_equal(frame.payload, why, frame.bytes);
	gt_wire_close(&wire);
	job_wait(&job);
	assert_int_equal(job.status[0], 3);
}

static uint32_t ncame;

static void come_in(void *arg, struct gt_wire *wire,
		    const struct gt_auth_answer *answer)
{
	(void)answer;
	((struct gt_wire *)arg)[ncame++] = *wire;
}

/* Come in as this process; the status says whether there are words. */
static void come_as(struct job *job, uint32_t rank)
{
	struct gt_world *world;
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	job->config.rank = rank;
	rc = gt_world_open(&job->config, &world, &err);
	_exit(!rc ? 0 : *err.text ? 1 : 2);
}

/*
 * When process 0 is gone one of those that it leaves beside a parent says so,
 * also before they know each other's names.
 */
static void test_one_speaks(void **state)
{
	struct pollfd polls[GT_LISTENER_PENDING_MAX + 1];
	static struct gt_listener door;
	struct gt_wire wires[2];
	struct job job;

	(void)state;
	job_prepare(&job, 3, 40 * TEST_SECOND_NS, "127.0.0.1");
	job.config.has_parent = 1;
	for (uint32_t i = 0; i < 2; i++) {
		job.pids[i] = fork();
		if (!job.pids[i])
			come_as(&job, i + 1);
	}
	gt_listener_init(&door, job.config.listen_fd, &job.config.secret);
	while (ncame < 2) {
		assert_true(poll(polls, gt_listener_polls(&door, polls),
				 20000) > 0);
		gt_listener_serve(&door, come_in, wires);
	}
	for (int i = 0; i < 2; i++) {
		assert_true(gt_wire_flush(&wires[i]));
		gt_wire_close(&wires[i]);
	}
	gt_listener_close(&door);
	job.size = 2;
	job_wait(&job);
	assert_int_equal(job.status[0], 1);
	assert_int_equal(job.status[1], 2);
}

/* Process 0 tells of two rounds where process 1 has come to one. */
static void tell_two_rounds(void *arg, struct gt_wire *wire,
			    const struct gt_auth_answer *answer)
{
	static const char parts[2 * sizeof(uint32_t)];
	struct gt_frame frame = {
		.type = GT_FRAME_ALL, .bytes = sizeof(parts), .payload = parts};

	(void)answer;
	for (frame.seq = 1; frame.seq <= 2; frame.seq++)
		assert_true(gt_wire_put(wire, &frame));
	*(struct gt_wire *)arg = *wire;
}

static int part_nothing(struct gt_world *world, struct gt_err *err)
{
	(void)world;
	(void)err;
	return GT_OK;
}

static void test_round_nobody_came_to(void **state)
{
	struct pollfd polls[GT_LISTENER_PENDING_MAX + 1];
	struct gt_wire wire = {.fd = -1};
	static struct gt_listener door;
	struct gt_frame frame;
	struct job job;
	int own;

	(void)state;
	job_prepare(&job, 2, 40 * TEST_SECOND_NS, "127.0.0.1");
	own = dup(job.config.listen_fd);
	job.size = 1;
	job.pids[0] = fork();
	if (!job.pids[0])
		job_child(&job, 1, part_nothing);
	gt_listener_init(&door, own, &job.config.secret);
	while (wire.fd < 0) {
		assert_true(poll(polls, gt_listener_polls(&door, polls),
				 20000) > 0);
		gt_listener_serve(&door, tell_two_rounds, &wire);
	}
	impostor_listen(&wire, GT_FRAME_PART, &frame);
	assert_true(gt_wire_flush(&wire));
	job_wait(&job);
	assert_int_equal(job.status[0], 3);
	gt_wire_close(&wire);
	gt_listener_close(&door);
	close(job.config.listen_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late_comer),
		cmocka_unit_test(test_interrupt_beside_parent),
		cmocka_unit_test(test_one_speaks),
		cmocka_unit_test(test_round_nobody_came_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
