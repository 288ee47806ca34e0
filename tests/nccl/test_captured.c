/*
 * Operations of libnccl.so.2 that are captured beside others, on a SIMULATED
 * run-time of CUDA (tests/gpu/simcudart.c): nothing is computed, but CUDA's
 * rules of captures hold.  Large ones go on streams of the engine's beside the
 * program's, which a capture binds until it ends.  Ranks are of this process,
 * a GPU each.
 */
#include "unit/test.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu/simcudart.h"

enum { RANKS = 2, SMALL = 16, LARGE = 48 << 20, FLOAT = 7, SUM = 0 };
enum { SUCCESS = 0, CUDA = 1 };

int ncclCommInitAll(void **comms, int n, const int *devices);
int ncclCommDestroy(void *comm);
int ncclCommGetAsyncError(void *comm, int *state);
const char *ncclGetLastError(void *comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void *in, void *out, size_t count, int type, int op,
		  void *comm, void *stream);
int ncclAllGather(const void *in, void *out, size_t count, int type, void *comm,
		  void *stream);

#define OK(call) assert_int_equal((int)(call), 0)

/* Of all ranks, each on its GPU. */
struct streams {
	cudaStream_t of[RANKS];
};

static void *comms[RANKS];
static float *buffers[RANKS];

static int open_comms(void **state)
{
	(void)state;
	if (ncclCommInitAll(comms, RANKS, NULL))
		fail_msg("%s", ncclGetLastError(NULL));
	for (int r = 0; r < RANKS; r++) {
		OK(cudaSetDevice(r));
		OK(cudaMalloc((void **)&buffers[r],
			      (size_t)LARGE * RANKS * sizeof(float)));
	}
	return 0;
}

static int close_comms(void **state)
{
	(void)state;
	for (int r = 0; r < RANKS; r++) {
		OK(ncclCommDestroy(comms[r]));
		OK(cudaFree(buffers[r]));
	}
	return 0;
}

static struct streams streams_new(void)
{
	struct streams streams;

	for (int r = 0; r < RANKS; r++) {
		OK(cudaSetDevice(r));
		OK(cudaStreamCreateWithFlags(&streams.of[r],
					     cudaStreamNonBlocking));
	}
	return streams;
}

static void streams_free(struct streams streams)
{
	for (int r = 0; r < RANKS; r++)
		OK(cudaStreamDestroy(streams.of[r]));
}

static void begin(struct streams streams)
{
	for (int r = 0; r < RANKS; r++)
		OK(cudaStreamBeginCapture(streams.of[r],
					  cudaStreamCaptureModeRelaxed));
}

/* What was captured is a graph, whatever went on beside. */
static void end(struct streams streams)
{
	cudaGraph_t graph;

	for (int r = 0; r < RANKS; r++) {
		OK(cudaStreamEndCapture(streams.of[r], &graph));
		OK(cudaGraphDestroy(graph));
	}
}

static int add_up(struct streams streams, size_t count)
{
	OK(ncclGroupStart());
	for (int r = 0; r < RANKS; r++)
		OK(ncclAllReduce(buffers[r], buffers[r], count, FLOAT, SUM,
				 comms[r], streams.of[r]));
	return ncclGroupEnd();
}

static int gather(struct streams streams, size_t count)
{
	OK(ncclGroupStart());
	for (int r = 0; r < RANKS; r++)
		OK(ncclAllGather(buffers[r] + (size_t)r * count, buffers[r],
				 count, FLOAT, comms[r], streams.of[r]));
	return ncclGroupEnd();
}

static void expect_well(void)
{
	for (int r = 0; r < RANKS; r++) {
		int state = -1;

		OK(ncclCommGetAsyncError(comms[r], &state));
		if (state)
			fail_msg("rank %d: %s", r, ncclGetLastError(NULL));
	}
}

static void want(int result, int got)
{
	if (got != result)
		fail_msg("%d, not %d: %s", got, result, ncclGetLastError(NULL));
}

/* Operations of a size in a capture, beside it, and in another capture. */
static void mix(size_t count)
{
	struct streams graph = streams_new(), other = streams_new();
	struct streams eager = streams_new();

	want(SUCCESS, add_up(eager, count));
	for (int i = 0; i < 3; i++) {
		begin(graph);
		want(SUCCESS, add_up(graph, count));
		want(SUCCESS, gather(eager, count));
		begin(other);
		want(SUCCESS, gather(other, count));
		want(SUCCESS, gather(graph, count));
		want(SUCCESS, add_up(eager, count));
		end(graph);
		want(SUCCESS, add_up(other, count));
		/* Before the other one ends. */
		begin(graph);
		want(SUCCESS, add_up(graph, count));
		end(other);
		want(SUCCESS, gather(graph, count));
		want(SUCCESS, gather(eager, count));
		end(graph);
	}
	expect_well();
	streams_free(graph);
	streams_free(other);
	streams_free(eager);
}

static void test_mixed(void **state)
{
	(void)state;
	mix(SMALL);
	mix(LARGE);
}

/* What was captured is dropped; the first rank's capture may be a good one. */
static void end_in_vain(struct streams streams, int all)
{
	cudaGraph_t graph;
	int lost = 0;

	for (int r = 0; r < RANKS; r++) {
		lost += cudaStreamEndCapture(streams.of[r], &graph) ==
			cudaErrorStreamCaptureInvalidated;
		if (graph)
			OK(cudaGraphDestroy(graph));
	}
	assert_in_range(lost, all ? RANKS : 1, RANKS);
}

static void want_invalidated(int got)
{
	want(CUDA, got);
	assert_non_null(strstr(ncclGetLastError(NULL), "invalidated"));
}

/* The program asks for a stream that is captured, which CUDA forbids. */
static void lose_before(struct streams streams, size_t count)
{
	begin(streams);
	for (int r = 0; r < RANKS; r++)
		assert_int_not_equal(cudaStreamSynchronize(streams.of[r]), 0);
	want_invalidated(add_up(streams, count));
	want_invalidated(gather(streams, count));
	end_in_vain(streams, 1);
}

/* Another thread does so while an operation is put, at any place of it. */
static void lose_meanwhile(struct streams streams, size_t count)
{
	int rc = CUDA;

	for (long n = 1; rc; n++) {
		begin(streams);
		sim_cuda_invalidate_at(n);
		rc = add_up(streams, count);
		sim_cuda_invalidate_at(0);
		if (rc)
			want_invalidated(rc);
		if (rc)
			end_in_vain(streams, 0);
		else
			end(streams);
		expect_well();
		assert_true(n < 10000);
	}
}

/* Who calls hears of it, and the communicator stays. */
static void test_invalidated(void **state)
{
	static const size_t counts[] = {SMALL, LARGE};
	struct streams streams = streams_new();

	(void)state;
	for (int i = 0; i < 2; i++) {
		lose_before(streams, counts[i]);
		lose_meanwhile(streams, counts[i]);
		begin(streams);
		want(SUCCESS, gather(streams, counts[i]));
		end(streams);
		want(SUCCESS, add_up(streams, counts[i]));
	}
	expect_well();
	streams_free(streams);
}

/* Everything goes through the host's memory. */
static int open_apart(void **state)
{
	setenv("SIM_CUDA_APART", "1", 1);
	return open_comms(state);
}

static int close_apart(void **state)
{
	unsetenv("SIM_CUDA_APART");
	return close_comms(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_mixed, open_comms,
						close_comms),
		cmocka_unit_test_setup_teardown(test_mixed, open_apart,
						close_apart),
		cmocka_unit_test_setup_teardown(test_invalidated, open_comms,
						close_comms),
		cmocka_unit_test_setup_teardown(test_invalidated, open_apart,
						close_apart),
	};

	alarm(300);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
