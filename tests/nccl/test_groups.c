/*
 * Groups: they belong to the thread, nest, hold what is called for any
 * communicators and streams, and start all of it or nothing.
 */
#include "nccl/client.h"

#include <stdatomic.h>

enum { RANKS = 3 };

/* One thread has all ranks, which only a group can do. */
static void case_one_thread(void **state)
{
	int in[RANKS], out[RANKS] = {0}, got;
	void *comms[RANKS], *streams[RANKS];

	(void)state;
	OK(ncclCommInitAll(comms, RANKS, NULL));
	OK(ncclGroupStart());
	for (int r = 0; r < RANKS; r++) {
		in[r] = r + 1;
		sim_use_device(r);
		streams[r] = sim_stream_new();
		OK(ncclGroupStart());
		OK(ncclAllReduce(&in[r], &out[r], 1, INT32, SUM, comms[r],
				 streams[r]));
		OK(ncclGroupEnd());
		IS(sim_stream_is_idle(streams[r]));
	}
	sim_use_device(5);
	OK(ncclGroupEnd());
	for (int r = 0; r < RANKS; r++) {
		sim_stream_sync(streams[r]);
		IS(out[r] == 6);
		OK(ncclCommCuDevice(comms[r], &got));
		IS(got == r);
	}
	/* One after the other, as programs do. */
	for (int r = 0; r < RANKS; r++)
		OK(ncclCommDestroy(comms[r]));
	for (int r = 0; r < RANKS; r++)
		sim_stream_free(streams[r]);
	WANT(ARGUMENT, ncclCommDestroy(comms[0]));
	WANT(USAGE, ncclCommInitAll(comms, 2, (int[2]){3, 3}));
	WANT(ARGUMENT, ncclCommInitAll(comms, 1, (int[1]){SIM_DEVICES}));
	sim_use_device(0);
}

enum { LARGE_OPS = 32, LARGE_BYTES = 64 << 20 };

/* Give each rank of one thread its part of something large, in one group. */
static void call_large(void **comms, void **streams, uint8_t *bytes, int n)
{
	OK(ncclGroupStart());
	for (int r = 0; r < RANKS; r++)
		for (int i = 0; i < n; i++)
			OK(ncclBcast(bytes + (size_t)r * LARGE_BYTES +
					     (n > 1 ? i : 0),
				     n > 1 ? 1 : LARGE_BYTES, UINT8, 1,
				     comms[r], streams[r]));
	OK(ncclGroupEnd());
	for (int r = 0; r < RANKS; r++)
		sim_stream_sync(streams[r]);
}

/*
 * Streams hold one command: who has filled one waits, and the thread must not
 * wait so for ranks that it has not come to.  Rank 2's two communicators have
 * one stream.
 */
static void case_full_queues(void **state)
{
	void *comms[RANKS], *streams[RANKS], *other[2];
	uint8_t *bytes = calloc(RANKS, LARGE_BYTES);
	int in[2] = {1, 2}, out[2] = {0};

	(void)state;
	IS(bytes);
	OK(ncclCommInitAll(comms, RANKS, NULL));
	OK(ncclCommInitAll(other, 2, (int[2]){2, 0}));
	for (int r = 0; r < RANKS; r++)
		streams[r] = sim_stream_new();
	sim_stream_room(1);
	for (int i = 0; i < LARGE_OPS; i++)
		bytes[LARGE_BYTES + i] = (uint8_t)(i + 1);
	call_large(comms, streams, bytes, LARGE_OPS);
	IS(!memcmp(bytes, bytes + 2 * (size_t)LARGE_BYTES, LARGE_BYTES));
	IS(bytes[LARGE_OPS - 1] == LARGE_OPS);
	bytes[2 * (size_t)LARGE_BYTES - 1] = 9;
	OK(ncclGroupStart());
	call_large(comms, streams, bytes, 1);
	for (int i = 0; i < 2; i++)
		OK(ncclAllReduce(&in[i], &out[i], 1, INT32, SUM, other[i],
				 streams[i ? 0 : 2]));
	OK(ncclGroupEnd());
	for (int r = 0; r < RANKS; r++) {
		sim_stream_sync(streams[r]);
		IS(bytes[(r + 1) * (size_t)LARGE_BYTES - 1] == 9);
	}
	IS(out[0] == 3 && out[1] == 3);
	sim_stream_room(0);
	for (int r = 0; r < RANKS; r++) {
		OK(ncclCommDestroy(comms[r]));
		sim_stream_free(streams[r]);
	}
	for (int i = 0; i < 2; i++)
		OK(ncclCommDestroy(other[i]));
	free(bytes);
}

enum { COMMS = 3, FEW_OPS = 12 };

/*
 * A GPU's queue has room for two communicators' calls, each with its mark, and
 * a group has calls of three: few in each, and many for the GPU.
 */
static void case_full_by_all(void **state)
{
	void *comms[COMMS][2], *streams[2];
	int in[2] = {1, 2}, out[2][COMMS * FEW_OPS];

	(void)state;
	for (int c = 0; c < COMMS; c++)
		OK(ncclCommInitAll(comms[c], 2, NULL));
	for (int r = 0; r < 2; r++)
		streams[r] = sim_stream_new();
	sim_stream_room(4);
	OK(ncclGroupStart());
	for (int r = 0; r < 2; r++)
		for (int i = 0; i < COMMS * FEW_OPS; i++)
			OK(ncclAllReduce(&in[r], &out[r][i], 1, INT32, SUM,
					 comms[i / FEW_OPS][r], streams[r]));
	OK(ncclGroupEnd());
	for (int r = 0; r < 2; r++)
		sim_stream_sync(streams[r]);
	sim_stream_room(0);
	for (int i = 0; i < COMMS * FEW_OPS; i++)
		IS(out[0][i] == 3 && out[1][i] == 3);
	for (int r = 0; r < 2; r++) {
		for (int c = 0; c < COMMS; c++)
			OK(ncclCommDestroy(comms[c][r]));
		sim_stream_free(streams[r]);
	}
}

enum { TIMES = 200 };

/* A communicator of two ranks, both on this thread's GPU. */
static void make_pair(void **comms)
{
	id_t128 id;

	OK(ncclGetUniqueId(&id));
	OK(ncclGroupStart());
	for (int r = 0; r < 2; r++)
		OK(ncclCommInitRank(&comms[r], 2, id, r));
	OK(ncclGroupEnd());
}

/*
 * Two ranks share a GPU.  Each has operations of one communicator on two
 * streams, and of another one on the second of these: they keep their order
 * there, or the ranks wait for one another.
 */
static void case_common_stream(void **state)
{
	int one = 1, out[2][LARGE_OPS + 1];
	void *a[2], *b[2], *streams[2][2];

	(void)state;
	setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
	make_pair(a);
	make_pair(b);
	unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
	for (int i = 0; i < 4; i++)
		streams[i / 2][i % 2] = sim_stream_new();
	for (int t = 0; t < TIMES; t++) {
		OK(ncclGroupStart());
		for (int r = 0; r < 2; r++) {
			for (int i = 0; i < LARGE_OPS; i++)
				OK(ncclAllReduce(&one, &out[r][i], 1, INT32,
						 SUM, a[r], streams[r][i % 2]));
			OK(ncclAllReduce(&one, &out[r][LARGE_OPS], 1, INT32,
					 SUM, b[r], streams[r][1]));
		}
		OK(ncclGroupEnd());
	}
	for (int i = 0; i < 4; i++)
		sim_stream_sync(streams[i / 2][i % 2]);
	for (int i = 0; i < 2 * (LARGE_OPS + 1); i++)
		IS(out[i % 2][i / 2] == 2);
	for (int r = 0; r < 2; r++) {
		OK(ncclCommDestroy(a[r]));
		OK(ncclCommDestroy(b[r]));
		sim_stream_free(streams[r][0]);
		sim_stream_free(streams[r][1]);
	}
}

/* A refused call says so at once, and nothing of the group starts. */
static void body_refused(struct rank *rank)
{
	float one = 1, out = 0;

	OK(ncclGroupStart());
	OK(ncclAllReduce(&one, &out, 1, FLOAT, SUM, rank->comm, rank->stream));
	WANT(ARGUMENT,
	     ncclAllReduce(&one, &out, 1, 99, SUM, rank->comm, rank->stream));
	OK(ncclAllReduce(&one, &out, 1, FLOAT, SUM, rank->comm, rank->stream));
	WANT(ARGUMENT, ncclGroupEnd());
	sim_stream_sync(rank->stream);
	IS(out == 0);
	WANT(USAGE, ncclGroupEnd());
	/* What is estimated does not start either. */
	OK(ncclGroupStart());
	OK(ncclAllReduce(&one, &out, 1, FLOAT, SUM, rank->comm, rank->stream));
	OK(ncclGroupSimulateEnd(NULL));
	WANT(USAGE, ncclGroupSimulateEnd(NULL));
	sim_stream_sync(rank->stream);
	IS(out == 0);
	OK(ncclAllReduce(&one, &out, 1, FLOAT, SUM, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	IS(out == RANKS);
}

static void case_refused(void **state)
{
	(void)state;
	ranks_run(RANKS, body_refused);
}

/* A user's work on a stream, which others have to wait for. */
struct work {
	struct timespec nap;
	int *value, adds;
};

static void do_work(void *arg)
{
	struct work *work = arg;

	nanosleep(&work->nap, NULL);
	*work->value += work->adds;
}

/*
 * Operations of one communicator follow each other on any streams, and all of a
 * group's streams are joined before it and behind it.
 */
static void body_streams(struct rank *rank)
{
	void *other = sim_stream_new(), *third = sim_stream_new();
	int a = 0, b = 0, out = 0, again = 0, late = 0;
	struct work slow = {{0, 3000000}, &a, 1}, more = {{0, 2000000}, &b, 1};
	struct work after = {{0, 0}, &late, 1};

	for (int i = 1; i <= 5; i++) {
		sim_stream_call(rank->stream, do_work, &slow);
		OK(ncclAllReduce(&a, &out, 1, INT32, SUM, rank->comm,
				 rank->stream));
		/* It reads what the one before has written. */
		OK(ncclAllReduce(&out, &again, 1, INT32, MAX, rank->comm,
				 other));
		sim_stream_sync(other);
		IS(again == i * RANKS);
	}
	sim_stream_call(other, do_work, &more);
	OK(ncclGroupStart());
	OK(ncclAllReduce(&b, &out, 1, INT32, SUM, rank->comm, third));
	OK(ncclAllReduce(&a, &again, 1, INT32, SUM, rank->comm, other));
	OK(ncclGroupEnd());
	sim_stream_call(other, do_work, &after);
	sim_stream_call(other, do_work, &more);
	sim_stream_sync(third);
	IS(out == RANKS && again == 5 * RANKS);
	sim_stream_sync(other);
	IS(late == 1);
	sim_stream_free(other);
	sim_stream_free(third);
	/* The default stream is one as well. */
	OK(ncclAllReduce(&b, &out, 1, INT32, SUM, rank->comm, NULL));
	sim_stream_sync(NULL);
	IS(out == 2 * RANKS);
}

static void case_streams(void **state)
{
	(void)state;
	ranks_run(RANKS, body_streams);
}

/* Two streams of one graph, as graphs fork, and what is beside it. */
static void body_captures(struct rank *rank)
{
	void *one_of = sim_stream_new(), *other = sim_stream_new(), *graph;
	int one = 1, out = 0, again = 0;

	for (int i = 0; i < 3; i++) {
		OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm,
				 rank->stream));
		sim_stream_sync(rank->stream);
		graph = sim_graph_new();
		sim_stream_capture(one_of, graph);
		OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm,
				 one_of));
		sim_stream_capture(other, graph);
		OK(ncclAllReduce(&out, &again, 1, INT32, SUM, rank->comm,
				 other));
		sim_stream_capture(one_of, NULL);
		sim_stream_capture(other, NULL);
		IS(sim_stream_is_idle(one_of) && sim_stream_is_idle(other));
		out = again = 0;
		sim_graph_launch(graph, rank->stream);
		sim_stream_sync(rank->stream);
		IS(out == RANKS && again == RANKS * RANKS);
		OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm, other));
		sim_stream_sync(other);
		IS(out == RANKS);
	}
	sim_stream_free(one_of);
	sim_stream_free(other);
}

static void case_captures(void **state)
{
	(void)state;
	ranks_run(RANKS, body_captures);
}

/*
 * Two graphs are captured in turns, one of them on two streams: its operations
 * follow each other, and one node of it tells of all.
 */
static void body_captures_in_turns(struct rank *rank)
{
	void *streams[] = {sim_stream_new(), sim_stream_new()};
	void *beside = sim_stream_new(), *graph = sim_graph_new();
	void *another = sim_graph_new();
	int sums[3] = {1}, one = 1, out = 0, after = 0;

	sim_stream_capture(beside, another);
	for (int i = 0; i < 2; i++) {
		sim_stream_capture(streams[i], graph);
		OK(ncclAllReduce(&sums[i], &sums[i + 1], 1, INT32, SUM,
				 rank->comm, streams[i]));
		OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm,
				 beside));
	}
	for (int i = 0; i < 2; i++)
		sim_stream_capture(streams[i], NULL);
	sim_stream_capture(beside, NULL);
	sim_graph_launch(graph, streams[0]);
	sim_graph_launch(another, beside);
	OK(ncclAllReduce(&sums[2], &after, 1, INT32, SUM, rank->comm,
			 rank->stream));
	sim_stream_sync(rank->stream);
	sim_stream_sync(beside);
	IS(sums[2] == RANKS * RANKS && after == RANKS * RANKS * RANKS);
	IS(out == RANKS);
	sim_stream_free(streams[0]);
	sim_stream_free(streams[1]);
	sim_stream_free(beside);
}

static void case_captures_in_turns(void **state)
{
	(void)state;
	ranks_run(RANKS, body_captures_in_turns);
}

/* A graph of the caller's work, and of an operation that is behind it. */
static void *capture_sum(struct rank *rank, struct work *work, const int *in,
			 int *out)
{
	void *graph = sim_graph_new(), *stream = sim_stream_new();

	sim_stream_capture(stream, graph);
	if (work)
		sim_stream_call(stream, do_work, work);
	OK(ncclAllReduce(in, out, 1, INT32, SUM, rank->comm, stream));
	sim_stream_capture(stream, NULL);
	sim_stream_free(stream);
	return graph;
}

/*
 * Graphs and what is in none are launched on streams of their own, and each
 * reads what the one before it has written.
 */
static void body_graph_order(struct rank *rank)
{
	void *on = sim_stream_new(), *graphs[2];
	int a = 0, sums[4] = {0};
	struct work slow = {{0, 3000000}, &a, 1}, more = {{0, 3000000}, &a, 1};

	graphs[0] = capture_sum(rank, NULL, &sums[0], &sums[1]);
	graphs[1] = capture_sum(rank, &more, &sums[1], &sums[2]);
	sim_stream_call(rank->stream, do_work, &slow);
	OK(ncclAllReduce(&a, &sums[0], 1, INT32, SUM, rank->comm,
			 rank->stream));
	sim_graph_launch(graphs[0], on);
	sim_graph_launch(graphs[1], on);
	OK(ncclAllReduce(&sums[2], &sums[3], 1, INT32, SUM, rank->comm,
			 rank->stream));
	OK(ncclCommFinalize(rank->comm));
	for (int i = 0, want = 1; i < 4; i++)
		IS(sums[i] == (want *= RANKS));
	sim_stream_sync(on);
	sim_stream_free(on);
}

static void case_graph_order(void **state)
{
	(void)state;
	ranks_run(RANKS, body_graph_order);
}

/* A caller's work that is done when the caller says so. */
static void do_hold(void *arg)
{
	const struct timespec nap = {0, 1000000};

	while (!atomic_load((_Atomic int *)arg))
		nanosleep(&nap, NULL);
}

/*
 * Who says that graphs and streams are not mixed has no such order: an
 * operation waits for no graph that was launched before it.
 */
static void body_graph_alone(struct rank *rank)
{
	void *on = sim_stream_new(), *graph;
	int one = 1, sum = 0, out = 0;
	_Atomic int held = 0;

	graph = capture_sum(rank, NULL, &one, &sum);
	sim_stream_call(on, do_hold, &held);
	sim_graph_launch(graph, on);
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	IS(out == RANKS && !sum);
	rank_gate(rank);
	atomic_store(&held, 1);
	sim_stream_sync(on);
	IS(sum == RANKS);
	sim_stream_free(on);
}

static void case_graph_alone(void **state)
{
	(void)state;
	setenv("NCCL_GRAPH_MIXING_SUPPORT", "0", 1);
	ranks_run(RANKS, body_graph_alone);
	unsetenv("NCCL_GRAPH_MIXING_SUPPORT");
}

/* A group of which a part is captured is refused, and nothing is spoilt. */
static void body_captured_in_part(struct rank *rank)
{
	void *stream = sim_stream_new();
	void *graphs[] = {sim_graph_new(), sim_graph_new()};
	int one = 1, out = 0, other = 0, state;

	sim_stream_capture(stream, graphs[0]);
	for (int i = 0; i < 2; i++) {
		sim_stream_capture(rank->stream, i ? graphs[1] : NULL);
		OK(ncclGroupStart());
		OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm,
				 stream));
		OK(ncclAllReduce(&one, &other, 1, INT32, SUM, rank->comm,
				 rank->stream));
		WANT(USAGE, ncclGroupEnd());
		IS(strstr(ncclGetLastError(NULL), "captured in another graph"));
	}
	sim_stream_capture(stream, NULL);
	sim_stream_capture(rank->stream, NULL);
	for (int i = 0; i < 2; i++)
		sim_graph_launch(graphs[i], stream);
	OK(ncclCommGetAsyncError(rank->comm, &state));
	IS(state == SUCCESS && !out && !other);
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, rank->comm, stream));
	sim_stream_sync(stream);
	IS(out == RANKS);
	sim_stream_free(stream);
}

static void case_captured_in_part(void **state)
{
	(void)state;
	ranks_run(RANKS, body_captured_in_part);
}

/* Many communicators of one thread in one group. */
static void case_many(void **state)
{
	void *comms[2][RANKS], *stream = sim_stream_new(), *late;
	int in[2][RANKS], out[2][RANKS];

	(void)state;
	OK(ncclCommInitAll(comms[0], RANKS, NULL));
	OK(ncclCommInitAll(comms[1], RANKS, (int[RANKS]){2, 0, 1}));
	OK(ncclGroupStart());
	for (int c = 0; c < 2; c++)
		for (int r = 0; r < RANKS; r++) {
			in[c][r] = c * 10 + r;
			late = sim_stream_new();
			OK(ncclBcast(&in[c][r], 1, INT32, 1, comms[c][r],
				     late));
			OK(ncclAllReduce(&in[c][r], &out[c][r], 1, INT32, SUM,
					 comms[c][r], late));
		}
	OK(ncclGroupEnd());
	for (int c = 0; c < 2; c++)
		for (int r = 0; r < RANKS; r++) {
			OK(ncclCommFinalize(comms[c][r]));
			IS(out[c][r] == RANKS * (c * 10 + 1));
			OK(ncclCommDestroy(comms[c][r]));
		}
	sim_stream_free(stream);
}

/* Communicators that do not block: one thread makes all ranks, and polls. */
static void case_nonblocking(void **state)
{
	struct client_config config = client_config(24, 21400);
	void *comms[RANKS], *blocking;
	int one = 1, out = 0, now;
	id_t128 id, other;

	(void)state;
	config.numbers[0] = 0;
	OK(ncclGetUniqueId(&id));
	OK(ncclGetUniqueId(&other));
	for (int r = 0; r < RANKS; r++) {
		sim_use_device(r);
		comms[r] = NULL;
		WANT(PROGRESS,
		     ncclCommInitRankConfig(&comms[r], RANKS, id, r, &config));
		IS(comms[r]);
		if (!r) {
			OK(ncclCommGetAsyncError(comms[0], &now));
			IS(now == PROGRESS);
			WANT(ARGUMENT,
			     ncclBcast(&out, 1, INT32, 0, comms[0], NULL));
		}
	}
	for (int r = 0; r < RANKS; r++)
		IS(client_await(comms[r]) == SUCCESS);
	OK(ncclCommInitRank(&blocking, 1, other, 0));
	OK(ncclGroupStart());
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, comms[0], NULL));
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, blocking, NULL));
	WANT(USAGE, ncclGroupEnd());
	for (int r = 0; r < RANKS; r++)
		OK(ncclCommAbort(comms[r]));
	OK(ncclCommDestroy(blocking));
	sim_use_device(0);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_one_thread),
		cmocka_unit_test(case_full_queues),
		cmocka_unit_test(case_full_by_all),
		cmocka_unit_test(case_common_stream),
		cmocka_unit_test(case_refused),
		cmocka_unit_test(case_streams),
		cmocka_unit_test(case_captures),
		cmocka_unit_test(case_captures_in_turns),
		cmocka_unit_test(case_captured_in_part),
		cmocka_unit_test(case_graph_order),
		cmocka_unit_test(case_graph_alone),
		cmocka_unit_test(case_many),
		cmocka_unit_test(case_nonblocking),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
