/* Messages between processes of a host, one of which says what is not so. */
#include "unit/job.h"

#include <stdatomic.h>
#include <stdint.h>

#include "exec/link/process_group.h"
#include "exec/link/shared_memory.h"
#include "lib/sendrecv_remote.h"
#include "lib/state.h"

enum { RING_BYTES = 1 << 20, LINE = 128, RANKS = 2 };

/* A ring as src/lib/sendrecv_remote.c lays it out. */
struct ring {
	_Alignas(LINE) _Atomic uint64_t written;
	_Alignas(LINE) _Atomic uint64_t read;
	_Alignas(LINE) char bytes[RING_BYTES];
};

static size_t area_bytes;       /* of the exchange area that process 1 makes */
static int honest_sends;        /* process 0 sends to it, or receives from it */
static uint64_t written, read_; /* what the counters between them say then */

/* Process 0 begins a message, and goes on when process 1 has lied. */
static int honest(struct gtopo_comm *comm, struct gt_err *err)
{
	static char buffer[2 * RING_BYTES];
	const struct gt_message message = {.peer = 1,
					   .sends = honest_sends,
					   .dtype = GT_DTYPE_INT8,
					   .buffer = buffer,
					   .bytes = sizeof(buffer)};
	int rc = gt_remote_open(comm, err), moved = 0;

	for (int turn = 0; !rc && turn < 2; turn++) {
		rc = gt_remote_move(comm, 0, &message, &moved, err);
		for (int i = turn; !rc && i < 2; i++)
			rc = gt_world_allgather(comm->world, NULL, 0, NULL,
						err);
	}
	gt_remote_close(comm);
	return rc == GT_ESYS && (strstr(err->text, "miscounts") ||
				 strstr(err->text, "another meeting"))
		       ? GT_EINPUT
		       : rc;
}

/* Get the ring between the two: the receiver's process makes it. */
static int find_ring(const struct gt_shared_memory_handle *theirs,
		     const struct gt_shared_memory *own,
		     struct gt_shared_memory *made, struct gt_err *err)
{
	struct gt_shared_memory_handle name = *theirs;
	struct gt_shared_memory area;
	int rc;

	if (honest_sends) {
		rc = gt_shared_memory_new(sizeof(struct ring), made, err);
		if (!rc)
			*(uint64_t *)own->base = (uint64_t)made->fd + 1;
		return rc;
	}
	rc = gt_shared_memory_map(&name, &area, err);
	if (rc)
		return rc;
	name.fd = (int32_t)((const uint64_t *)area.base)[1] - 1;
	name.bytes = sizeof(struct ring);
	return gt_shared_memory_map(&name, made, err);
}

/* Process 1 comes to all meetings, and lies. */
static int liar(struct gtopo_comm *comm, struct gt_err *err)
{
	const struct gt_process_group_config config = {.world = comm->world,
						       .nranks = RANKS};
	struct gt_process_group group = {.self = 0};
	struct gt_shared_memory own, made;
	struct gt_shared_memory_handle name;
	struct gt_world_part parts[RANKS];
	struct ring *ring;
	uint64_t none = 0;
	int rc = gt_process_group_open(&group, &config, err);

	if (!rc)
		rc = gt_shared_memory_new(area_bytes, &own, err);
	if (rc)
		return rc;
	name = gt_shared_memory_handle(&own);
	rc = gt_world_allgather(comm->world, &name, sizeof(name), parts, err);
	if (!rc)
		memcpy(&name, parts[0].bytes, sizeof(name));
	for (int i = 0; !rc && i < 4; i++) /* two of them are numbers */
		rc = i == 1 || i == 2 ? gt_world_max(comm->world, &none, err)
				      : gt_world_allgather(comm->world, NULL, 0,
							   NULL, err);
	if (rc || find_ring(&name, &own, &made, err))
		return rc;
	ring = made.base;
	atomic_store(&ring->written, written);
	atomic_store(&ring->read, read_);
	for (int i = 0; !rc && i < 2; i++)
		rc = gt_world_allgather(comm->world, NULL, 0, NULL, err);
	return rc;
}

static int part(struct gt_world *world, struct gt_err *err)
{
	uint32_t self = gt_world_rank(world);
	struct gtopo_comm comm = {.world = world,
				  .nranks = RANKS,
				  .first = self,
				  .end = self + 1};

	return self ? liar(&comm, err) : honest(&comm, err);
}

static int first_status(size_t bytes, int sends, uint64_t w, uint64_t r)
{
	struct job job;

	area_bytes = bytes;
	honest_sends = sends;
	written = w;
	read_ = r;
	job_prepare(&job, 2, 20000000000, "127.0.0.1");
	job_start(&job, part);
	job_wait(&job);
	return job.status[0];
}

enum { AREA_BYTES = RANKS * 8 };

/* An exchange area that is too small holds no entry of all senders. */
static void test_area(void **state)
{
	(void)state;
	assert_int_equal(first_status(AREA_BYTES, 1, 0, 0), 0);
	assert_int_equal(first_status(AREA_BYTES / 2, 1, 0, 0), -GT_EINPUT);
}

/* Counters that say more than a ring holds move nothing. */
static void test_counters(void **state)
{
	(void)state;
	assert_int_equal(first_status(AREA_BYTES, 1, 0, 5), -GT_EINPUT);
	assert_int_equal(first_status(AREA_BYTES, 1, RING_BYTES + 1, 0),
			 -GT_EINPUT);
	assert_int_equal(first_status(AREA_BYTES, 0, RING_BYTES + 1, 0),
			 -GT_EINPUT);
	assert_int_equal(first_status(AREA_BYTES, 0, 0, 1), -GT_EINPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_area),
		cmocka_unit_test(test_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
