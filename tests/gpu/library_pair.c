/*
 * Messages of pairs: schedules by chance, alike in all processes, whose outputs
 * are compared byte by byte, with what must stay as it was in between.
 */
#include "gpu/library.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "schedule.h"

enum {
	ROUNDS = 60,
	REPLAYS = 20,
	LIMIT_MS = 1000,
};

static const uint64_t ROOM = 32 << 20;

static uint8_t byte_of(int rank, uint64_t at)
{
	uint64_t x = (at + 1) * 0x9e3779b97f4a7c15u + (uint64_t)rank * 977;

	return (uint8_t)(x >> 56 ^ x >> 24);
}

static int pair_ok(struct library *lib, const char *what, cudaError_t rc)
{
	if (rc != cudaSuccess)
		complain(lib, what, cudaGetErrorString(rc));
	return rc == cudaSuccess;
}

static int fill_inputs(struct library *lib)
{
	uint8_t *bytes = malloc(lib->room);
	int all = bytes != NULL;

	for (int r = lib->first; all && r < lib->end; r++) {
		for (uint64_t i = 0; i < lib->room; i++)
			bytes[i] = byte_of(r, i);
		cudaSetDevice(lib->ranks[r].gpu);
		all = pair_ok(lib, "inputs",
			      cudaMemcpy(lib->ranks[r].input, bytes, lib->room,
					 cudaMemcpyHostToDevice));
	}
	free(bytes);
	return all;
}

/* Sizes are uniform in their logarithm; places are the type's, no better. */
static void draw_schedule(const struct library *lib, uint64_t *state,
			  struct schedule *s)
{
	uint64_t used[MAX_RANKS] = {0}, bytes, least;

	s->n = 0;
	s->groups = 1 + (int)draw(state, 1u << draw(state, 8));
	for (int i = 1 + (int)draw(state, SCHEDULE_MESSAGES); i > 0; i--) {
		struct message *m = &s->list[s->n];

		m->from = (int)draw(state, (uint32_t)lib->nranks);
		m->to = (int)draw(state, (uint32_t)lib->nranks);
		m->type = (enum gtopo_type)draw(state, GT_NDTYPES);
		least = gt_dtype_bytes((enum gt_dtype)m->type);
		m->count = draw(state, 2u << draw(state, 22)) / least;
		bytes = m->count * least;
		m->output = (used[m->to] / least + 1 + draw(state, 16)) * least;
		if (m->output + bytes > lib->room)
			continue;
		m->input = draw(state, (uint32_t)(lib->room - bytes)) / least *
			   least;
		used[m->to] = m->output + bytes;
		s->n++;
	}
}

static struct parties parties_of(const struct library *lib)
{
	struct parties c = {
		.comm = lib->comm, .first = lib->first, .end = lib->end};

	for (int r = c.first; r < c.end; r++) {
		c.input[r] = (uint8_t *)lib->ranks[r].input;
		c.output[r] = (uint8_t *)lib->ranks[r].output;
	}
	return c;
}

static int call_all(struct library *lib, const struct schedule *s, int rank)
{
	const struct parties c = parties_of(lib);
	char message[512];
	int rc = call_schedule(&c, s, rank);

	if (rc) {
		gtopo_comm_message(lib->comm, message, sizeof(message));
		complain(lib, "messages", message);
	}
	lib->operations += (uint64_t)s->n;
	return !rc;
}

static int poison(struct library *lib)
{
	for (int r = lib->first; r < lib->end; r++) {
		cudaSetDevice(lib->ranks[r].gpu);
		if (!pair_ok(lib, "poison",
			     cudaMemsetAsync(lib->ranks[r].output, POISON,
					     lib->room, lib->ranks[r].stream)))
			return 0;
	}
	return 1;
}

static void expect_rank(const struct schedule *s, int rank, uint8_t *want,
			uint64_t room)
{
	memset(want, POISON, room);
	for (int i = 0; i < s->n; i++) {
		const struct message *m = &s->list[i];
		uint64_t bytes = message_bytes(m);

		for (uint64_t b = 0; m->to == rank && b < bytes; b++)
			want[m->output + b] = byte_of(m->from, m->input + b);
	}
}

static int compare_all(struct library *lib, const struct schedule *s,
		       const char *what)
{
	uint8_t *want = malloc(lib->room), *have = malloc(lib->room);
	char message[512];
	int all = want && have;

	if (gtopo_wait(lib->comm, GTOPO_ALL_RANKS, 20000)) {
		gtopo_comm_message(lib->comm, message, sizeof(message));
		complain(lib, what, message);
		all = 0;
	}
	for (int r = lib->first; all && r < lib->end; r++) {
		expect_rank(s, r, want, lib->room);
		cudaSetDevice(lib->ranks[r].gpu);
		all = pair_ok(lib, "outputs",
			      cudaMemcpy(have, lib->ranks[r].output, lib->room,
					 cudaMemcpyDeviceToHost));
		if (all && memcmp(want, have, lib->room)) {
			complain(lib, what, "wrong bytes");
			all = 0;
		}
	}
	free(want);
	free(have);
	return all;
}

static int pairs_by_chance(struct library *lib, struct schedule *s)
{
	uint64_t state = 4242;

	for (int i = 0; i < ROUNDS && !late(lib); i++) {
		draw_schedule(lib, &state, s);
		if (!poison(lib) || !call_all(lib, s, GTOPO_ALL_RANKS) ||
		    !compare_all(lib, s, "messages by chance"))
			return 0;
	}
	return 1;
}

struct caller {
	struct library lib;
	const struct schedule *s;
	pthread_t thread;
	int rank, ok;
};

static void *caller_main(void *arg)
{
	struct caller *me = arg;

	me->ok = call_all(&me->lib, me->s, me->rank);
	return NULL;
}

/* A thread a rank: nobody waits for anybody's call. */
static int pairs_in_threads(struct library *lib, struct schedule *s)
{
	struct caller callers[MAX_RANKS];
	uint64_t state = 99;
	int all = 1;

	for (int i = 0; all && i < ROUNDS / 3 && !late(lib); i++) {
		draw_schedule(lib, &state, s);
		all = poison(lib);
		for (int r = lib->first; r < lib->end; r++) {
			callers[r] =
				(struct caller){.lib = *lib, .s = s, .rank = r};
			if (pthread_create(&callers[r].thread, NULL,
					   caller_main, &callers[r]))
				return 0;
		}
		for (int r = lib->first; r < lib->end; r++) {
			pthread_join(callers[r].thread, NULL);
			all &= callers[r].ok;
		}
		all = all && compare_all(lib, s, "messages of threads");
	}
	return all;
}

static int capture(struct library *lib, const struct schedule *s,
		   cudaGraphExec_t *exec)
{
	cudaGraph_t graphs[MAX_RANKS] = {NULL};
	int all = 1;

	for (int r = lib->first; r < lib->end; r++) {
		cudaSetDevice(lib->ranks[r].gpu);
		all &= pair_ok(
			lib, "begin of a capture",
			cudaStreamBeginCapture(lib->ranks[r].stream,
					       cudaStreamCaptureModeGlobal));
	}
	all = all && call_all(lib, s, GTOPO_ALL_RANKS);
	for (int r = lib->first; r < lib->end; r++) {
		cudaSetDevice(lib->ranks[r].gpu);
		all &= pair_ok(
			lib, "end of a capture",
			cudaStreamEndCapture(lib->ranks[r].stream, &graphs[r]));
	}
	for (int r = lib->first; all && r < lib->end; r++) {
		cudaSetDevice(lib->ranks[r].gpu);
		all = pair_ok(lib, "graph",
			      cudaGraphInstantiate(&exec[r], graphs[r], 0));
		cudaGraphDestroy(graphs[r]);
	}
	return all;
}

static int pairs_in_graphs(struct library *lib, struct schedule *s)
{
	cudaGraphExec_t exec[MAX_RANKS] = {NULL};
	uint64_t state = 7;
	int all;

	draw_schedule(lib, &state, s);
	all = capture(lib, s, exec) && poison(lib);
	/* Plain calls and graphs take turns. */
	for (int i = 0; all && i < REPLAYS; i++) {
		if (i == REPLAYS / 2)
			all = call_all(lib, s, GTOPO_ALL_RANKS) && poison(lib);
		for (int r = lib->first; all && r < lib->end; r++) {
			cudaSetDevice(lib->ranks[r].gpu);
			all = pair_ok(
				lib, "launch of a graph",
				cudaGraphLaunch(exec[r], lib->ranks[r].stream));
		}
	}
	all = all && compare_all(lib, s, "messages in graphs");
	for (int r = lib->first; r < lib->end; r++)
		if (exec[r])
			cudaGraphExecDestroy(exec[r]);
	return all;
}

/* Beside collectives, in the same group. */
static int pairs_mixed(struct library *lib, struct schedule *s)
{
	struct operation op = {.coll = GT_COLL_ALLREDUCE,
			       .type = GTOPO_FLOAT,
			       .count = 1000,
			       .seed = 3,
			       .inplace = 1};
	const struct parties c = parties_of(lib);
	int all = 1, n = lib->nranks;

	*s = (struct schedule){.groups = SCHEDULE_MESSAGES};
	for (int r = 0; r < n; r++)
		s->list[s->n++] = (struct message){.from = r,
						   .to = (r + 1) % n,
						   .type = GTOPO_INT8,
						   .count = 1 << 20,
						   .output = 1 << 20};
	for (int r = lib->first; all && r < lib->end; r++)
		all = fill(lib, &op, r);
	all = all && !gtopo_group_start(lib->comm, GTOPO_ALL_RANKS);
	for (int r = lib->first; all && r < lib->end; r++)
		all = !call_message(&c, &s->list[r], 1) && !call(lib, &op, r) &&
		      !call_message(&c, &s->list[(r + n - 1) % n], 0);
	all = all && !gtopo_group_end(lib->comm, GTOPO_ALL_RANKS);
	for (int r = lib->first; all && r < lib->end; r++)
		all = compare(lib, &op, r) &&
		      cudaSetDevice(lib->ranks[r].gpu) == cudaSuccess &&
		      cudaMemsetAsync(lib->ranks[r].output, POISON, 1 << 20,
				      lib->ranks[r].stream) == cudaSuccess;
	return all && sum_wrong(lib) == 0 &&
	       compare_all(lib, s, "messages beside collectives");
}

/* The blocks of an all-to-all of which rank 0 gets the most, one of each. */
static void draw_skewed(const struct library *lib, struct schedule *s)
{
	uint64_t block = lib->room / MAX_RANKS;

	*s = (struct schedule){.groups = SCHEDULE_MESSAGES};
	for (int a = 0; a < lib->nranks; a++)
		for (int b = 0; b < lib->nranks; b++)
			s->list[s->n++] = (struct message){
				.from = a,
				.to = b,
				.type = GTOPO_INT8,
				.count = b ? (uint64_t)(a * 37 + b * 911) % 5000
					   : block - (uint64_t)a,
				.input = (uint64_t)b * block,
				.output = (uint64_t)a * block};
}

/* `known`: each rank says what all have. */
static int call_skewed(struct library *lib, const struct schedule *s, int rank,
		       int known)
{
	uint64_t send[MAX_RANKS], from[MAX_RANKS], recv[MAX_RANKS];
	uint64_t to[MAX_RANKS], counts[SCHEDULE_MESSAGES];

	for (int p = 0; p < lib->nranks; p++) {
		send[p] = s->list[rank * lib->nranks + p].count;
		from[p] = s->list[rank * lib->nranks + p].input;
		recv[p] = s->list[p * lib->nranks + rank].count;
		to[p] = s->list[p * lib->nranks + rank].output;
	}
	for (int i = 0; i < s->n; i++)
		counts[i] = s->list[i].count;
	lib->operations++;
	return known ? !gtopo_alltoallv_matrix(
			       lib->comm, rank, lib->ranks[rank].input, from,
			       lib->ranks[rank].output, to, counts, GTOPO_INT8)
		     : !gtopo_alltoallv(lib->comm, rank, lib->ranks[rank].input,
					send, from, lib->ranks[rank].output,
					recv, to, GTOPO_INT8);
}

static int pairs_skewed(struct library *lib, struct schedule *s, int known)
{
	int all = poison(lib);

	if (lib->nranks * lib->nranks > SCHEDULE_MESSAGES)
		return 1;
	draw_skewed(lib, s);
	for (int r = lib->first; all && r < lib->end; r++)
		all = call_skewed(lib, s, r, known);
	return all && compare_all(lib, s, "blocks that differ");
}

int part_pairs(struct library *lib)
{
	struct schedule *s = malloc(sizeof(*s));
	int all;

	all = s && open_ranks(lib, ROOM) && open_comm(lib, GTOPO_BEST, 10000) &&
	      fill_inputs(lib) && pairs_in_graphs(lib, s) &&
	      pairs_by_chance(lib, s) && pairs_in_threads(lib, s);
	for (int known = 0; all && known < 2; known++)
		all = pairs_skewed(lib, s, known);
	all = all && poison(lib) && pairs_mixed(lib, s);
	if (!all)
		complain(lib, "pairs", "not all were done");
	close_comm(lib);
	free(s);
	return all;
}

/* Calls that do not fit, or never come. */
int part_pairs_fault(struct library *lib)
{
	char *in = NULL, *out = NULL;
	int64_t begin;
	int rc;

	if (!open_ranks(lib, ROOM) || !open_comm(lib, GTOPO_BEST, LIMIT_MS))
		return 0;
	in = lib->ranks[0].input;
	out = lib->ranks[1].output;
	if (gtopo_send(lib->comm, 0, in + 1, 1, GTOPO_FLOAT, 1) !=
		    GTOPO_EINPUT ||
	    gtopo_send(lib->comm, 0, in, 1, GTOPO_FLOAT, lib->nranks) !=
		    GTOPO_EINPUT ||
	    gtopo_send(lib->comm, 0, NULL, 1, GTOPO_FLOAT, 1) != GTOPO_EINPUT)
		complain(lib, "a wrong call", "was taken");
	begin = gt_clock_ns();
	rc = gtopo_send(lib->comm, 0, in, 1000, GTOPO_FLOAT, 1);
	rc = rc ? rc : gtopo_recv(lib->comm, 1, out, 999, GTOPO_FLOAT, 0);
	expect(lib, "different counts", rc, GTOPO_EINPUT,
	       "rank 0 sends 1000 float to rank 1, which receives 999 float",
	       begin, 500);
	if (!again(lib, LIMIT_MS))
		return 0;
	begin = gt_clock_ns();
	rc = gtopo_recv(lib->comm, 1, out, 1000, GTOPO_FLOAT, 0);
	rc = rc ? rc : gtopo_wait(lib->comm, 1, 20000);
	expect(lib, "a message that nobody sends", rc, GTOPO_ESYSTEM,
	       "to receive from", begin, LIMIT_MS + 1000);
	if (!again(lib, LIMIT_MS))
		return 0;
	begin = gt_clock_ns();
	rc = gtopo_send(lib->comm, 0, in, ROOM, GTOPO_INT8, 1);
	rc = rc ? rc : gtopo_send(lib->comm, 1, out, ROOM, GTOPO_INT8, 0);
	rc = rc ? rc : gtopo_recv(lib->comm, 0, in, ROOM, GTOPO_INT8, 1);
	rc = rc ? rc : gtopo_recv(lib->comm, 1, out, ROOM, GTOPO_INT8, 0);
	rc = rc ? rc : gtopo_wait(lib->comm, GTOPO_ALL_RANKS, 20000);
	expect(lib, "both send first", rc, GTOPO_ESYSTEM,
	       "ranks wait for one another", begin, LIMIT_MS + 1000);
	return again(lib, LIMIT_MS);
}

/* Between processes nobody sees both calls: the kernels compare them. */
int part_pairs_apart(struct library *lib)
{
	const int64_t begin = gt_clock_ns();
	static const uint64_t counts[] = {100, 1 << 20};
	int rc;

	if (!open_ranks(lib, ROOM))
		return 0;
	for (int i = 0; i < 2; i++) {
		uint64_t n = counts[i];

		if (!open_comm(lib, GTOPO_BEST, 5000))
			return 0;
		rc = lib->first == 0
			     ? gtopo_send(lib->comm, 0, lib->ranks[0].input, n,
					  GTOPO_FLOAT, 1)
			     : gtopo_recv(lib->comm, 1, lib->ranks[1].output,
					  n - 1, GTOPO_FLOAT, 0);
		rc = rc ? rc
			: gtopo_wait(lib->comm, lib->first == 0 ? 0 : 1, 20000);
		if (lib->first == 1)
			expect(lib, "different counts of processes", rc,
			       GTOPO_EINPUT, "rank 0 sends", begin, 10000);
		close_comm(lib);
	}
	return 1;
}
