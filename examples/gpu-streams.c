/*
 * One thread, all GPUs of the plan, a stream each: an all-reduce between what
 * comes before and behind it on the streams, and the same as CUDA graphs.
 *
 *     gtopo detect | gtopo search --algo ring - -o plan.json
 *     cc gpu-streams.c $(pkg-config --cflags --libs gtopo) -lcudart
 *     ./a.out plan.json
 *
 * Ends with status 77 where there are fewer than two GPUs.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include <gtopo.h>

enum { COUNT = 1 << 20, REPLAYS = 10, MAX_RANKS = 64 };

struct rank {
	int gpu;
	cudaStream_t stream;
	uint32_t *data, *host;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
};

static void must(cudaError_t rc)
{
	if (rc == cudaSuccess)
		return;
	fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(rc));
	exit(1);
}

static void prepare(struct gtopo_comm *comm, struct rank *ranks, int nranks)
{
	for (int r = 0; r < nranks; r++) {
		struct rank *me = &ranks[r];

		me->gpu = gtopo_comm_gpu(comm, r);
		must(cudaSetDevice(me->gpu));
		must(cudaStreamCreate(&me->stream));
		must(cudaMalloc((void **)&me->data, COUNT * sizeof(uint32_t)));
		must(cudaMallocHost((void **)&me->host,
				    COUNT * sizeof(uint32_t)));
		gtopo_comm_stream(comm, r, me->stream);
	}
}

/*
 * Every byte of rank r is r + 1; the sum; back to the host.  Nothing of it
 * waits: the streams keep the order.
 */
static int enqueue(struct gtopo_comm *comm, struct rank *ranks, int nranks)
{
	size_t bytes = COUNT * sizeof(uint32_t);
	int rc = gtopo_group_start(comm, GTOPO_ALL_RANKS);

	for (int r = 0; r < nranks && !rc; r++) {
		must(cudaSetDevice(ranks[r].gpu));
		must(cudaMemsetAsync(ranks[r].data, r + 1, bytes,
				     ranks[r].stream));
		rc = gtopo_allreduce(comm, r, ranks[r].data, ranks[r].data,
				     COUNT, GTOPO_UINT32, GTOPO_SUM);
	}
	if (!rc)
		rc = gtopo_group_end(comm, GTOPO_ALL_RANKS);
	for (int r = 0; r < nranks && !rc; r++) {
		must(cudaSetDevice(ranks[r].gpu));
		must(cudaMemcpyAsync(ranks[r].host, ranks[r].data, bytes,
				     cudaMemcpyDeviceToHost, ranks[r].stream));
	}
	return rc;
}

/* Once, and look: gtopo_wait() is told of failures, too. */
static int check(struct gtopo_comm *comm, const struct rank *ranks, int nranks)
{
	uint32_t want = (uint32_t)(nranks * (nranks + 1) / 2) * 0x01010101u;
	int rc = gtopo_wait(comm, GTOPO_ALL_RANKS, -1);

	for (int r = 0; r < nranks && !rc; r++)
		for (size_t i = 0; i < COUNT; i++)
			if (ranks[r].host[i] != want) {
				fprintf(stderr, "rank %d element %zu is %u\n",
					r, i, ranks[r].host[i]);
				return 1;
			}
	return rc;
}

/* A graph a GPU; all captures end before a graph is made. */
static int capture(struct gtopo_comm *comm, struct rank *ranks, int nranks)
{
	int rc;

	for (int r = 0; r < nranks; r++)
		must(cudaStreamBeginCapture(ranks[r].stream,
					    cudaStreamCaptureModeThreadLocal));
	rc = enqueue(comm, ranks, nranks);
	for (int r = 0; r < nranks; r++)
		must(cudaStreamEndCapture(ranks[r].stream, &ranks[r].graph));
	for (int r = 0; r < nranks && !rc; r++)
		must(cudaGraphInstantiate(&ranks[r].exec, ranks[r].graph, 0));
	return rc;
}

static void replay(const struct rank *ranks, int nranks)
{
	for (int i = 0; i < REPLAYS; i++)
		for (int r = 0; r < nranks; r++) {
			must(cudaSetDevice(ranks[r].gpu));
			must(cudaGraphLaunch(ranks[r].exec, ranks[r].stream));
		}
}

static int run(struct gtopo_comm *comm, struct rank *ranks, int nranks)
{
	char message[512];
	int rc;

	prepare(comm, ranks, nranks);
	rc = enqueue(comm, ranks, nranks);
	if (!rc)
		rc = check(comm, ranks, nranks);
	if (!rc)
		rc = capture(comm, ranks, nranks);
	if (!rc) {
		replay(ranks, nranks);
		rc = check(comm, ranks, nranks);
	}
	gtopo_comm_message(comm, message, sizeof(message));
	if (rc)
		fprintf(stderr, "failed: %s\n", message);
	else
		printf("%d GPUs have the sum of %d elements, %d times\n",
		       nranks, COUNT, REPLAYS + 1);
	return rc != 0;
}

int main(int argc, char **argv)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct rank ranks[MAX_RANKS] = {0};
	struct gtopo_comm *comm;
	char message[512];
	int gpus = 0, bad = 1;

	if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < 2) {
		printf("2 GPUs needed, here are %d\n", gpus);
		return 77;
	}
	config.plan = argc > 1 ? argv[1] : "plan.json";
	config.device = GTOPO_CUDA;
	if (gtopo_comm_create(&config, &comm, message, sizeof(message))) {
		fprintf(stderr, "%s\n", message);
		return 1;
	}
	if (gtopo_comm_ranks(comm) <= MAX_RANKS)
		bad = run(comm, ranks, gtopo_comm_ranks(comm));
	gtopo_comm_destroy(comm);
	return bad;
}
