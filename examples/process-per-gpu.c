/*
 * Started by a launcher, once for each GPU of one machine or for some of them
 * each:
 *
 *     gtopo detect | gtopo search --algo ring - -o plan.json
 *     cc process-per-gpu.c $(pkg-config --cflags --libs gtopo) -lcudart
 *     mpirun -n 2 ./a.out plan.json
 *
 * Ends with status 77 where there is no GPU.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include <gtopo.h>

enum { COUNT = 1 << 20, MAX_RANKS = 64 };

static void must(cudaError_t rc)
{
	if (rc == cudaSuccess)
		return;
	fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(rc));
	exit(1);
}

/* Rank r's bytes are r + 1, on the GPU's default stream. */
static uint8_t *make(struct gtopo_comm *comm, int rank)
{
	uint8_t *data;

	must(cudaSetDevice(gtopo_comm_gpu(comm, rank)));
	must(cudaMalloc((void **)&data, COUNT));
	must(cudaMemsetAsync(data, rank + 1, COUNT, NULL));
	return data;
}

/* The largest is the number of ranks. */
static int check(const uint8_t *data, int nranks)
{
	uint8_t *host = malloc(COUNT);
	int bad = !host;

	if (host)
		must(cudaMemcpy(host, data, COUNT, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < COUNT && !bad; i++)
		bad = host[i] != nranks;
	free(host);
	return bad;
}

static int run(struct gtopo_comm *comm, int first, int count)
{
	uint8_t *data[MAX_RANKS];
	int rc = gtopo_group_start(comm, GTOPO_ALL_RANKS);

	for (int k = 0; k < count && !rc; k++) {
		data[k] = make(comm, first + k);
		rc = gtopo_allreduce(comm, first + k, data[k], data[k], COUNT,
				     GTOPO_UINT8, GTOPO_MAX);
	}
	if (!rc)
		rc = gtopo_group_end(comm, GTOPO_ALL_RANKS);
	if (!rc)
		rc = gtopo_wait(comm, GTOPO_ALL_RANKS, -1);
	for (int k = 0; k < count && !rc; k++) {
		rc = check(data[k], gtopo_comm_ranks(comm));
		must(cudaFree(data[k]));
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gtopo_comm *comm;
	int gpus = 0, first, count, rc = 1;
	char message[512];

	if (cudaGetDeviceCount(&gpus) != cudaSuccess || !gpus) {
		printf("no GPU here\n");
		return 77;
	}
	config.plan = argc > 1 ? argv[1] : "plan.json";
	config.flags = GTOPO_LAUNCHED;
	config.device = GTOPO_CUDA;
	if (gtopo_comm_create(&config, &comm, message, sizeof(message))) {
		fprintf(stderr, "%s\n", message);
		return 1;
	}
	gtopo_comm_local(comm, &first, &count);
	if (count <= MAX_RANKS)
		rc = run(comm, first, count);
	gtopo_comm_message(comm, message, sizeof(message));
	if (rc)
		fprintf(stderr, "failed: %s\n", message);
	else
		printf("ranks %d to %d of %d: all right\n", first,
		       first + count - 1, gtopo_comm_ranks(comm));
	if (rc)
		gtopo_comm_abort(comm);
	gtopo_comm_destroy(comm);
	return rc != 0;
}
