/* Slices from process to process, over every kind of link. */
#include "unit/job.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/err.h"
#include "exec/link/bell.h"
#include "exec/link/fifo.h"
#include "exec/link/process_group.h"
#include "exec/link/link.h"
#include "exec/link/shared_memory.h"
#include "world/world.h"

enum { MOST = 4, SLOTS = 3 };

/* A process with one rank: it sends to the next and receives from the last. */
struct node {
	struct gt_world *world;
	const struct gt_link_ops *ops;
	struct gt_exec_link *link;
	struct gt_shared_memory bells;
	struct gt_fifo_end out, in;
	struct gt_link_device_memory room;
	uint32_t rank, size;
};

static const char *link_name;
static uint32_t slot_bytes, slices;
static int killed; /* one process ends on the way */
/* Ranks are devices: they see pinned memory only, and ring no bells. */
static int device;

static uint32_t streams; /* of a group; 0: a link alone */

enum { PINS = 16 };
static struct {
	char *base;
	size_t bytes;
} pins[PINS];

/* In a child: a fault is its exit status. */
static int pin(void *base, size_t bytes, struct gt_err *err)
{
	int i = 0;

	while (i < PINS && pins[i].base)
		i++;
	if (i == PINS || (uintptr_t)base % (uintptr_t)sysconf(_SC_PAGESIZE))
		return gt_err_set(err, GT_ENO, NULL, "cannot pin this");
	pins[i].base = base;
	pins[i].bytes = bytes;
	return GT_OK;
}

static void unpin(void *base)
{
	int i = 0;

	while (i < PINS && pins[i].base != (char *)base)
		i++;
	if (i == PINS)
		abort();
	pins[i].base = NULL;
}

/*
 * A file stands for a dma-buf, the host's memory for a device's; that is not
 * ordered if `late` is set.  With `hosts` slots must not be there.
 */
static int rooms, late, hosts;

static int device_memory_new(void *arg, uint32_t rank, uint64_t bytes,
			     struct gt_link_device_memory *room,
			     struct gt_err *err)
{
	(void)rank;
	if (!rooms)
		return gt_err_set(err, GT_ENO, NULL, "no room");
	*room = (struct gt_link_device_memory){.bytes = bytes,
					       .is_ordered = !late};
	room->dmabuf = memfd_create("room", 0);
	if (room->dmabuf < 0 || ftruncate(room->dmabuf, (off_t)bytes))
		return gt_err_set(err, GT_ENO, NULL, "no file");
	room->base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			  room->dmabuf, 0);
	if (room->base == MAP_FAILED)
		return gt_err_set(err, GT_ENO, NULL, "no memory");
	*(struct gt_link_device_memory *)arg = *room;
	return GT_OK;
}

static void device_memory_free(void *arg, uint32_t rank,
			       struct gt_link_device_memory *room)
{
	(void)rank;
	munmap(room->base, room->bytes);
	memset(arg, 0, sizeof(*room));
}

static const struct gt_link_memory_ops device_pins = {
	pin, unpin, device_memory_new, device_memory_free};

static int is_pinned(const void *at, size_t bytes)
{
	const char *byte = at;

	for (int i = 0; i < PINS; i++)
		if (pins[i].base && byte >= pins[i].base &&
		    byte + bytes <= pins[i].base + pins[i].bytes)
			return 1;
	return 0;
}

static int is_in_room(const struct gt_link_device_memory *room, const char *at,
		      uint64_t bytes)
{
	return room->base && at >= room->base &&
	       at + bytes <= room->base + room->bytes;
}

/* All that a rank touches of a FIFO. */
static int end_is_pinned(const struct node *node, const struct gt_fifo_end *end)
{
	size_t bytes = end->nslots * end->slot_bytes;

	return is_pinned(end->fifo, sizeof(*end->fifo)) &&
	       (rooms && !hosts ? is_in_room(&node->room, end->slots, bytes)
				: is_pinned(end->slots, bytes)) &&
	       (!end->lengths ||
		is_pinned(end->lengths, end->nslots * sizeof(*end->lengths)));
}

static uint32_t length_of(uint32_t rank, uint32_t k)
{
	return (rank * 7919 + k * 104729) % (slot_bytes / 4 + 1) * 4;
}

/*
 * Of shared memory a process has its own and that of whom it sends to; nobody
 * needs that of whom it receives from.
 */
static int maps_too_much(const struct node *node)
{
	int n = 0;

	for (int i = 0; i < PINS; i++)
		n += pins[i].base != NULL;
	return node->ops == &gt_link_shm && n != 2;
}

static int node_connect(struct node *node, struct gt_err *err)
{
	uint32_t self = node->rank, next = (self + 1) % node->size;
	uint32_t last = (self + node->size - 1) % node->size;
	struct gt_link_shape shape = {SLOTS, slot_bytes};
	struct gt_link_conn conns[2] = {
		{next, self, next, 5, 1, 1, &node->out},
		{last, last, self, 5, 1, 0, &node->in},
	};

	int rc = node->ops->connect(node->link, &shape, conns, 2, err);

	if (!rc && device &&
	    (!end_is_pinned(node, &node->out) ||
	     !end_is_pinned(node, &node->in)))
		rc = gt_err_set(err, GT_ENO, NULL, "not pinned");
	if (!rc && device && maps_too_much(node))
		rc = gt_err_set(err, GT_ENO, NULL, "other memory is mapped");
	return rc;
}

/* A device rings nobody: its host's thread carries what it posted. */
static void node_ring(const struct node *node, const struct gt_fifo_end *end)
{
	if (!device)
		gt_bell_ring(end->other);
	else if (node->ops->progress)
		node->ops->progress(node->link);
}

static void node_send(struct node *node, uint32_t k)
{
	uint32_t bytes = length_of(node->rank, k);
	uint32_t *slot = (uint32_t *)(void *)gt_fifo_slot(&node->out);

	for (uint32_t i = 0; i < bytes / 4; i++)
		slot[i] = node->rank << 24 ^ k << 8 ^ i;
	if (node->out.lengths)
		node->out.lengths[node->out.at % SLOTS] = bytes;
	gt_fifo_sent(&node->out);
	node_ring(node, &node->out);
}

static int node_receive(struct node *node, uint32_t k)
{
	uint32_t from = (node->rank + node->size - 1) % node->size;
	uint32_t bytes = length_of(from, k), wrong = 0;
	const uint32_t *slot =
		(const uint32_t *)(const void *)gt_fifo_slot(&node->in);

	for (uint32_t i = 0; i < bytes / 4; i++)
		wrong |= slot[i] ^ (from << 24 ^ k << 8 ^ i);
	gt_fifo_received(&node->in);
	node_ring(node, &node->in);
	return !wrong;
}

static void node_poll(const struct node *node)
{
	if (node->ops->progress)
		node->ops->progress(node->link);
	sched_yield();
}

/* Send and receive all slices, whatever is possible first. */
static int node_run(struct node *node, struct gt_err *err)
{
	struct gt_bell *bell = node->bells.base;
	uint32_t sent = 0, received = 0, seen;
	int rc = 0;

	if (device && node->ops->attend)
		node->ops->attend(node->link, 1);
	while (!rc && (sent < slices || received < slices)) {
		seen = gt_bell_look(bell);
		if (sent < slices && gt_fifo_can_send(&node->out)) {
			node_send(node, sent++);
		} else if (received < slices &&
			   gt_fifo_can_receive(&node->in)) {
			if (!node_receive(node, received++))
				rc = gt_err_set(err, GT_ENO, NULL, "wrong");
		} else {
			if (device)
				node_poll(node);
			else
				gt_bell_wait(bell, seen, 20000000);
			rc = gt_world_failed(node->world, err);
		}
		if (killed && node->rank == 1 && sent == slices / 2)
			raise(SIGKILL);
	}
	if (device && node->ops->attend)
		node->ops->attend(node->link, -1);
	return rc;
}

static int node_main(struct node *node, struct gt_err *err)
{
	struct gt_link_config config = {
		.world = node->world,
		.iface = "lo",
		.first_rank = node->rank,
		.nranks = 1,
		.pins = device ? &device_pins : NULL,
		.pins_arg = &node->room,
	};
	int rc =
		gt_shared_memory_new(sizeof(struct gt_bell), &node->bells, err);

	if (rc)
		return rc;
	config.bells = node->bells.base;
	config.bells_fd = node->bells.fd;
	rc = node->ops->open(&config, &node->link, err);
	/* Twice: what was left of the first must not disturb the second. */
	for (int turn = 0; !rc && turn < 2; turn++) {
		rc = node_connect(node, err);
		if (!rc)
			rc = node_run(node, err);
		if (!rc)
			rc = node->ops->check(node->link, err);
		if (!rc)
			rc = gt_world_allgather(node->world, NULL, 0, NULL,
						err);
	}
	node->ops->close(node->link);
	for (int i = 0; i < PINS && !rc; i++)
		if (pins[i].base || node->room.base)
			rc = gt_err_set(err, GT_ENO, NULL, "still pinned");
	gt_shared_memory_free(&node->bells);
	return rc;
}

static uint32_t fifos;

/* A word over the first and the last of `fifos` from process 0 to 1. */
static int many_talk(const struct node *node, struct gt_fifo_end *ends,
		     struct gt_err *err)
{
	uint32_t word = 0;
	int rc = 0;

	for (uint32_t i = 0; !rc && i < fifos; i += fifos - 1) {
		while (node->rank && !gt_fifo_can_receive(&ends[i]) && !rc) {
			rc = gt_world_failed(node->world, err);
			sched_yield();
		}
		if (node->rank && !rc)
			memcpy(&word, gt_fifo_slot(&ends[i]), sizeof(word));
		if (node->rank && !rc && word != i + 1)
			rc = gt_err_set(err, GT_ENO, NULL, "another's word");
		if (node->rank)
			continue;
		word = i + 1;
		memcpy(gt_fifo_slot(&ends[i]), &word, sizeof(word));
		ends[i].lengths[0] = sizeof(word);
		gt_fifo_sent(&ends[i]);
		gt_bell_ring(ends[i].other);
	}
	return rc ? rc : gt_world_allgather(node->world, NULL, 0, NULL, err);
}

static int many_connect(const struct node *node, struct gt_err *err)
{
	const struct gt_link_shape shape = {1, GT_CACHE_LINE_BYTES};
	struct gt_link_conn *conns = calloc(fifos, sizeof(*conns));
	struct gt_fifo_end *ends = calloc(fifos, sizeof(*ends));
	int rc = conns && ends ? 0 : gt_err_nomem(err);

	for (uint32_t i = 0; !rc && i < fifos; i++)
		conns[i] = (struct gt_link_conn){.process = !node->rank,
						 .to = 1,
						 .lane = i,
						 .sends = !node->rank,
						 .end = &ends[i]};
	if (!rc)
		rc = node->ops->connect(node->link, &shape, conns, fifos, err);
	if (!rc)
		rc = many_talk(node, ends, err);
	free(conns);
	free(ends);
	return rc;
}

static int many_main(struct gt_world *world, struct gt_err *err)
{
	struct node node = {.world = world,
			    .rank = gt_world_rank(world),
			    .ops = gt_link_find(link_name)};
	struct gt_link_config config = {
		.world = world, .first_rank = node.rank, .nranks = 1};
	int rc = gt_shared_memory_new(sizeof(struct gt_bell), &node.bells, err);

	if (rc)
		return rc;
	config.bells = node.bells.base;
	rc = node.ops->open(&config, &node.link, err);
	if (!rc)
		rc = many_connect(&node, err);
	node.ops->close(node.link);
	gt_shared_memory_free(&node.bells);
	return rc == GT_ESYS && strstr(err->text, " FIFOs with ") ? GT_EINPUT
								  : rc;
}

/*
 * Process 1 has one rank first and says two later, with bells for both: process
 * 0 has mapped one.
 */
static int more_bells_main(struct gt_world *world, struct gt_err *err)
{
	const struct gt_link_shape shape = {1, GT_CACHE_LINE_BYTES};
	struct gt_link_config config = {.world = world,
					.first_rank = gt_world_rank(world)};
	uint32_t self = config.first_rank;
	struct gt_exec_link *links[2] = {NULL, NULL};
	struct gt_shared_memory bells[2];
	struct gt_fifo_end end;
	struct gt_link_conn conn = {!self, 0, 1, 0, 0, !self, &end};
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i <= self; i++) {
		config.nranks = i + 1;
		rc = gt_shared_memory_new(
			config.nranks * sizeof(struct gt_bell), &bells[i], err);
		config.bells = bells[i].base;
		config.bells_fd = bells[i].fd;
		if (!rc)
			rc = gt_link_shm.open(&config, &links[i], err);
	}
	for (uint32_t turn = 0; !rc && turn < 2; turn++) {
		conn.to = turn + 1;
		rc = gt_link_shm.connect(links[turn & self], &shape, &conn, 1,
					 err);
	}
	gt_link_shm.close(links[0]);
	gt_link_shm.close(links[1]);
	return rc == GT_ESYS && strstr(err->text, "the same program?")
		       ? GT_EINPUT
		       : rc;
}

enum { LANES = 7 };

/* A word over each lane's FIFO, whichever stream carries it. */
static int group_talk(struct gt_process_group *group, struct gt_fifo_end *ends,
		      struct gt_err *err)
{
	uint32_t self = group->self, got = 0, word;
	int rc = 0;

	for (uint32_t i = 0; i < LANES; i++) {
		word = i * 2 + self;
		memcpy(gt_fifo_slot(&ends[i]), &word, sizeof(word));
		ends[i].lengths[0] = sizeof(word);
		gt_fifo_sent(&ends[i]);
		gt_bell_ring(ends[i].other);
	}
	while (!rc && got < LANES) {
		struct gt_fifo_end *in = &ends[LANES + got];

		if (!gt_fifo_can_receive(in)) {
			rc = gt_process_group_check(group, err);
			sched_yield();
			continue;
		}
		memcpy(&word, gt_fifo_slot(in), sizeof(word));
		if (word != got++ * 2 + !self)
			rc = gt_err_set(err, GT_ENO, NULL, "another's word");
	}
	return rc;
}

/* As launchers do: each process has a processor; how many the two have. */
static uint32_t take_cpu(uint32_t rank)
{
	uint32_t n = gt_cpus_count();
	cpu_set_t all, one;
	int cpu = -1;

	sched_getaffinity(0, sizeof(all), &all);
	rank %= n;
	do
		cpu++;
	while (!CPU_ISSET(cpu, &all) || rank--);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
	return n < 2 ? n : 2;
}

/* Two processes with a rank each, LANES FIFOs both ways over some streams. */
static int group_main(struct gt_world *world, struct gt_err *err)
{
	const struct gt_process_group_config config = {.world = world,
						       .nranks = 2,
						       .link = link_name,
						       .iface = "lo",
						       .streams = streams};
	const struct gt_link_shape shape = {SLOTS, slot_bytes};
	/* Of a set-up that failed half-way: there is no such end any more. */
	const struct gt_link_conn stale = {.lane = LANES};
	struct gt_fifo_end ends[2 * LANES];
	struct gt_process_group group = {.self = 0};
	uint32_t ncpus = take_cpu(gt_world_rank(world));
	int rc = gt_process_group_open(&group, &config, err);

	if (!rc)
		rc = gt_process_group_link(&group, NULL, err);
	if (!rc && group.ncpus != ncpus)
		rc = gt_err_set(err, GT_ENO, NULL, "%u processors",
				group.ncpus);
	if (!rc && group.nfar != streams)
		rc = gt_err_set(err, GT_ENO, NULL, "%u streams", group.nfar);
	if (!rc)
		rc = gt_process_group_add(&group, &stale, !group.self, err);
	gt_process_group_forget(&group);
	for (uint32_t i = 0; !rc && i < 2 * LANES; i++) {
		int sends = i < LANES;
		struct gt_link_conn conn = {
			.from = sends ? group.self : !group.self,
			.to = sends ? !group.self : group.self,
			.lane = i % LANES,
			.sends = sends,
			.end = &ends[i]};

		rc = gt_process_group_add(&group, &conn, !group.self, err);
	}
	if (!rc)
		rc = gt_process_group_connect(&group, &shape, err);
	if (!rc)
		rc = group_talk(&group, ends, err);
	if (!rc)
		rc = gt_world_allgather(world, NULL, 0, NULL, err);
	gt_process_group_close(&group);
	return rc;
}

static int link_main(struct gt_world *world, struct gt_err *err)
{
	struct node node = {.world = world,
			    .rank = gt_world_rank(world),
			    .size = gt_world_size(world),
			    .ops = gt_link_find(link_name)};
	int rc;

	if (fifos)
		rc = many_main(world, err);
	else
		rc = streams ? group_main(world, err) : node_main(&node, err);
	/* Or others would wait for slices of who has left. */
	if (rc)
		gt_world_abort(world, err->text);
	return rc;
}

static void run_job(uint32_t size, int *status)
{
	struct job job;

	job_prepare(&job, size, 40000000000, "::1");
	job_start(&job, link_main);
	job_wait(&job);
	memcpy(status, job.status, size * sizeof(*status));
}

static void ring(const char *name, uint32_t bytes)
{
	static const uint32_t sizes[] = {2, 4};
	int status[MOST];

	link_name = name;
	slot_bytes = bytes;
	slices = bytes > 65536 ? 500 : 3000;
	if (!strcmp(name, "verbs"))
		slices /= 5; /* the simulation takes its time */
	/* Devices poll, and on a busy machine each slice waits for them. */
	if (device && slices > 200)
		slices = 200;
	killed = 0;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		run_job(sizes[i], status);
		for (uint32_t r = 0; r < sizes[i]; r++)
			assert_int_equal(status[r], 0);
	}
}

static void kill_one(const char *name)
{
	int status[MOST];

	link_name = name;
	slot_bytes = 4096;
	slices = 3000;
	killed = 1;
	run_job(4, status);
	for (uint32_t r = 0; r < 4; r++)
		if (r != 1)
			assert_int_equal(status[r], 3);
}

/* Messages of few and of so many bytes, to and from a device, and a fault. */
static void carries(const char *link, uint32_t bytes)
{
	ring(link, 64);
	ring(link, bytes);
	device = 1;
	ring(link, 4096);
	device = 0;
	kill_one(link);
}

static void test_shm(void **state)
{
	struct job job;

	(void)state;
	carries("shm", 65536);
	job_prepare(&job, 2, 40000000000, "127.0.0.1");
	job_start(&job, more_bells_main);
	job_wait(&job);
	assert_int_equal(job.status[0], -GT_EINPUT);
}

static void test_tcp(void **state)
{
	(void)state;
	carries("tcp", 131072);
}

/* By simulated devices (tests/verbs/soft.h), whose blocks come in any order. */
static void test_verbs(void **state)
{
	(void)state;
	if (!gt_link_find("verbs"))
		skip();
	carries("verbs", 262144);
}

/*
 * As many FIFOs as their numbers in RDMA's messages tell apart, and one more.
 */
static void test_many(void **state)
{
	int status[MOST];

	(void)state;
	if (!gt_link_find("verbs"))
		skip();
	link_name = "verbs";
	fifos = 65536;
	run_job(2, status);
	assert_int_equal(status[0] | status[1], 0);
	fifos++;
	run_job(2, status);
	/* One says so first, which the other may have heard by then. */
	assert_true(status[0] == 2 || status[1] == 2);
	assert_true(status[0] && status[1]);
	fifos = 0;
}

/* Who does not wait for what is late must find it missing. */
static void late_unflushed(void)
{
	int status[MOST];

	link_name = "verbs";
	slot_bytes = 262144;
	slices = 100;
	late = 0;
	run_job(2, status);
	assert_true(status[0] || status[1]);
}

/* The same with slots in memory of a device, which may be late. */
static void test_rooms(void **state)
{
	(void)state;
	if (!gt_link_find("verbs"))
		skip();
	device = rooms = 1;
	setenv("GTOPO_NET_GDR_LEVEL", "SYS", 1);
	ring("verbs", 64);
	ring("verbs", 262144);
	setenv("GTOPO_SOFT_VERBS", "late", 1);
	late = 1;
	ring("verbs", 64);
	ring("verbs", 262144);
	late_unflushed();
	setenv("GTOPO_NET_FORCE_FLUSH", "1", 1);
	ring("verbs", 4096);
	unsetenv("GTOPO_NET_FORCE_FLUSH");
	/* Not known to be near, and not asked for: the host's memory. */
	unsetenv("GTOPO_SOFT_VERBS");
	setenv("GTOPO_NET_GDR_LEVEL", "PXB", 1);
	hosts = 1;
	ring("verbs", 4096);
	unsetenv("GTOPO_NET_GDR_LEVEL");
	ring("verbs", 4096);
	device = rooms = hosts = 0;
}

/* Slices in parts, which overtake each other. */
static void test_sockets(void **state)
{
	(void)state;
	setenv("GTOPO_TCP_SOCKETS", "3", 1);
	ring("tcp", 64);
	ring("tcp", 262144);
	kill_one("tcp");
	unsetenv("GTOPO_TCP_SOCKETS");
}

static void test_streams(void **state)
{
	int status[MOST];

	(void)state;
	link_name = "tcp";
	slot_bytes = 64;
	killed = 0;
	for (streams = 1; streams <= GT_PROCESS_GROUP_STREAMS; streams += 2) {
		run_job(2, status);
		assert_int_equal(status[0], 0);
		assert_int_equal(status[1], 0);
	}
	streams = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shm),     cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_sockets), cmocka_unit_test(test_streams),
		cmocka_unit_test(test_verbs),   cmocka_unit_test(test_many),
		cmocka_unit_test(test_rooms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
