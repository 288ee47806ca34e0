/*
 * Processes that do not wait for each other: two communicators, which each uses
 * in an order of its own, and what is found when they call different things.
 */
#include "gpu/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum {
	ORDERS = 1500,    /* operations of each communicator */
	REGISTERED = 100, /* buffers are registered so often, or not any more */
	LARGE_OF = 25,    /* one of so many is large */
	LIMIT_MS = 20000,
};

static const uint64_t LARGE = 40 << 20, ROOM = 96 << 20; /* elements, bytes */

static struct gtopo_comm *make_beside(struct library *lib)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gtopo_comm *made = NULL;
	char message[512] = "";

	config.plan = lib->plan;
	config.device = GTOPO_CUDA;
	config.flags = GTOPO_LAUNCHED | lib->map;
	config.beside = lib->comm;
	config.timeout_ms = LIMIT_MS;
	if (gtopo_comm_create(&config, &made, message, sizeof(message)))
		complain(lib, "a communicator beside", message);
	return made;
}

/* The k-th operation of a communicator, in its half of the buffers. */
static int call_one(struct library *lib, struct gtopo_comm *comm, int which,
		    int k)
{
	uint64_t half = ROOM / 2, count = (uint64_t)k * 37 % 5000 + 1;
	uint64_t at = half * (uint64_t)which;
	int rc = GTOPO_OK;

	if (k % LARGE_OF == 0)
		count = LARGE / sizeof(float) + (uint64_t)k;
	gtopo_group_start(comm, GTOPO_ALL_RANKS);
	for (int r = lib->first; !rc && r < lib->end; r++)
		rc = gtopo_allreduce(comm, r, lib->ranks[r].input + at,
				     lib->ranks[r].output + at, count,
				     GTOPO_FLOAT, GTOPO_SUM);
	return rc ? rc : gtopo_group_end(comm, GTOPO_ALL_RANKS);
}

/* All of both buffers come and go, behind what uses them. */
static int change_registration(struct library *lib, struct gtopo_comm *comm,
			       int k)
{
	int rc = GTOPO_OK;

	if (k % (2 * REGISTERED))
		rc = gtopo_wait(comm, GTOPO_ALL_RANKS, LIMIT_MS);
	for (int i = 0; i < 2; i++)
		for (int r = lib->first; !rc && r < lib->end; r++) {
			char *at =
				i ? lib->ranks[r].output : lib->ranks[r].input;

			rc = k % (2 * REGISTERED)
				     ? gtopo_deregister(comm, r, at)
				     : gtopo_register(comm, r, at,
						      ROOM + TAIL_BYTES);
		}
	return rc;
}

/* So many operations of each communicator, in an order of this process's. */
static int call_mixed(struct library *lib, struct gtopo_comm *const comms[2],
		      int begin, uint64_t *random)
{
	int done[2] = {begin, begin}, end = begin + REGISTERED, rc = GTOPO_OK;

	while (!rc && (done[0] < end || done[1] < end)) {
		int which = (int)draw(random, 2);

		if (done[which] == end)
			which = !which;
		rc = call_one(lib, comms[which], which, done[which]++);
	}
	return rc;
}

/* To register is a meeting, which all processes come to in one order. */
static int call_orders(struct library *lib, struct gtopo_comm *const comms[2])
{
	uint64_t random = (uint64_t)lib->first + 17;
	int rc = GTOPO_OK;

	for (int k = 0; !rc && k < ORDERS; k += REGISTERED) {
		for (int i = 0; !rc && i < 2; i++)
			rc = change_registration(lib, comms[i], k);
		if (!rc)
			rc = call_mixed(lib, comms, k, &random);
	}
	for (int i = 0; !rc && i < 2; i++)
		rc = gtopo_wait(comms[i], GTOPO_ALL_RANKS, LIMIT_MS);
	return rc;
}

/* Every input is 1 everywhere. */
static int fill_ones(struct library *lib)
{
	uint64_t n = ROOM / sizeof(float);
	float *ones = malloc(ROOM);
	int all = ones != NULL;

	for (uint64_t i = 0; all && i < n; i++)
		ones[i] = 1;
	for (int r = lib->first; all && r < lib->end; r++)
		all = cuda_ok(lib, "cudaMemcpy",
			      cudaMemcpy(lib->ranks[r].input, ones, ROOM,
					 cudaMemcpyHostToDevice));
	free(ones);
	return all &&
	       cuda_ok(lib, "cudaDeviceSynchronize", cudaDeviceSynchronize());
}

static int check_sums(struct library *lib)
{
	uint64_t n = LARGE / sizeof(float);
	float *sums = malloc(ROOM);
	int all = sums != NULL;

	for (int r = lib->first; all && r < lib->end; r++) {
		all = cuda_ok(lib, "cudaMemcpy",
			      cudaMemcpy(sums, lib->ranks[r].output, ROOM,
					 cudaMemcpyDeviceToHost));
		for (uint64_t i = 0; all && i < n; i++)
			all = sums[i] == (float)lib->nranks &&
			      sums[ROOM / 2 / sizeof(float) + i] ==
				      (float)lib->nranks;
		if (!all)
			complain(lib, "two communicators", "wrong elements");
	}
	free(sums);
	return all;
}

int part_orders(struct library *lib)
{
	struct gtopo_comm *comms[2] = {NULL, NULL};
	char message[512];
	int rc;

	if (!open_ranks(lib, ROOM) || !open_comm(lib, 0, LIMIT_MS) ||
	    !fill_ones(lib))
		return 0;
	comms[0] = lib->comm;
	comms[1] = make_beside(lib);
	if (!comms[1])
		return 0;
	for (int r = lib->first; r < lib->end; r++) {
		gtopo_comm_stream(comms[0], r, lib->ranks[r].stream);
		gtopo_comm_stream(comms[1], r, lib->ranks[r].other);
	}
	rc = call_orders(lib, comms);
	for (int i = 0; rc && i < 2; i++) {
		gtopo_comm_message(comms[i], message, sizeof(message));
		complain(lib, "two communicators in any order", message);
	}
	lib->operations += 2 * ORDERS;
	gtopo_comm_destroy(comms[1]);
	return !rc && check_sums(lib);
}

/* Somebody's count, or place in what is registered, is another one. */
static void call_apart(struct library *lib, uint64_t count, uint64_t at)
{
	const int64_t begin = gt_clock_ns();
	int other = lib->first > 0, rc = GTOPO_OK;

	gtopo_group_start(lib->comm, GTOPO_ALL_RANKS);
	for (int r = lib->first; !rc && r < lib->end; r++)
		rc = gtopo_allreduce(lib->comm, r, lib->ranks[r].input,
				     lib->ranks[r].output + (other ? at : 0),
				     count + (at || !other ? 0 : 1),
				     GTOPO_FLOAT, GTOPO_SUM);
	gtopo_group_end(lib->comm, GTOPO_ALL_RANKS);
	while (!rc && !gtopo_comm_state(lib->comm) &&
	       gt_clock_ns() - begin < LIMIT_MS * 1000000ll)
		gtopo_wait(lib->comm, GTOPO_ALL_RANKS, 20);
	expect(lib, "different calls of processes", gtopo_comm_state(lib->comm),
	       GTOPO_EINPUT, "calls 'allreduce", begin, LIMIT_MS / 2);
}

int part_apart(struct library *lib)
{
	int rc;

	if (!open_ranks(lib, ROOM) || !open_comm(lib, 0, LIMIT_MS))
		return 0;
	call_apart(lib, 1000, 0);
	close_comm(lib);
	if (!open_comm(lib, 0, LIMIT_MS))
		return 0;
	rc = change_registration(lib, lib->comm, 0);
	if (rc)
		complain(lib, "gtopo_register", "failed");
	call_apart(lib, LARGE / sizeof(float), 4096);
	close_comm(lib);
	return !rc;
}
