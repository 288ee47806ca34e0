/*
 * How much GPUs carry out to their host's memory and in again: the most that
 * any collective can that goes there.
 *
 *     ceiling [GPUS]
 *
 * Of the first GPU alone and of all GPUs (or so many) at once, by copy engines,
 * in one piece or in pieces of 4 MiB, and by kernels of 4 and 16 thread blocks;
 * out, in, and both at once.  What comes in is what the GPU before has put out.
 *
 * One JSON object on stdout; gbs is of each GPU and direction, in 1e9 bytes a
 * second, the median of 5 rounds.  Status: 0 all right, 2 usage, 3 a failure,
 * 77 no GPUs.
 */
#include "ceiling.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "quantile.h"

enum {
	GPUS = 16, /* at most */
	ROUNDS = 5,
	COPIES = 8, /* of a round */
	BYTES = 64 << 20,
	PIECE_BYTES = 4 << 20,
	OUT = 1,
	IN = 2,
};

static struct gpu {
	cudaStream_t out, in;
	char *from, *to; /* on the GPU */
	char *host;
} gpus[GPUS];

/* The means of a row: copies by engines, of so many bytes, or blocks. */
static const struct means {
	const char *name;
	size_t piece;
	unsigned blocks;
} all_means[] = {{"engine", BYTES, 0},
		 {"engine, 4 MiB", PIECE_BYTES, 0},
		 {"kernel, 4 blocks", BYTES, 4},
		 {"kernel, 16 blocks", BYTES, 16}};

static void must(cudaError_t rc, const char *what)
{
	if (rc == cudaSuccess)
		return;
	fprintf(stderr, "ceiling: cannot %s: %s\n", what,
		cudaGetErrorString(rc));
	exit(3);
}

static void gpu_open(int i)
{
	struct gpu *gpu = &gpus[i];

	must(cudaSetDevice(i), "use a GPU");
	must(cudaStreamCreateWithFlags(&gpu->out, cudaStreamNonBlocking),
	     "make a stream");
	must(cudaStreamCreateWithFlags(&gpu->in, cudaStreamNonBlocking),
	     "make a stream");
	must(cudaMalloc((void **)&gpu->from, BYTES), "allocate");
	must(cudaMalloc((void **)&gpu->to, BYTES), "allocate");
	must(cudaHostAlloc((void **)&gpu->host, BYTES,
			   cudaHostAllocPortable | cudaHostAllocMapped),
	     "pin memory");
}

static void copy(const struct means *means, char *to, const char *from,
		 cudaStream_t stream)
{
	for (size_t at = 0; at < BYTES; at += means->piece)
		must(means->blocks
			     ? gt_ceiling_copy(to, from, BYTES, means->blocks,
					       stream)
			     : cudaMemcpyAsync(to + at, from + at, means->piece,
					       cudaMemcpyDefault, stream),
		     "copy");
}

static void wait_all(int n)
{
	for (int i = 0; i < n; i++) {
		must(cudaStreamSynchronize(gpus[i].out), "wait");
		must(cudaStreamSynchronize(gpus[i].in), "wait");
	}
}

/* One round of the first n GPUs, in GB/s of each direction. */
static double round_gbs(const struct means *means, int ways, int n)
{
	int64_t begin = gt_clock_ns();

	for (int c = 0; c < COPIES; c++)
		for (int i = 0; i < n; i++) {
			const struct gpu *before = &gpus[(i + n - 1) % n];

			must(cudaSetDevice(i), "use a GPU");
			if (ways & OUT)
				copy(means, gpus[i].host, gpus[i].from,
				     gpus[i].out);
			if (ways & IN)
				copy(means, gpus[i].to, before->host,
				     gpus[i].in);
		}
	wait_all(n);
	return (double)BYTES * COPIES / (double)(gt_clock_ns() - begin);
}

static void row(const struct means *means, int ways, int n, const char *end)
{
	static const char *const names[] = {"", "out", "in", "both"};
	double gbs[ROUNDS];

	round_gbs(means, ways, n);
	for (int r = 0; r < ROUNDS; r++)
		gbs[r] = round_gbs(means, ways, n);
	printf("  {\"gpus\": %d, \"means\": \"%s\", \"way\": \"%s\", "
	       "\"gbs\": %.2f}%s\n",
	       n, means->name, names[ways], gt_quantile(gbs, ROUNDS, 0.5), end);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	const int nmeans = sizeof(all_means) / sizeof(*all_means);
	struct cudaDeviceProp prop;
	int most = 0, n;

	if (cudaGetDeviceCount(&most) != cudaSuccess || !most) {
		printf("no GPU here\n");
		return 77;
	}
	n = argc > 1 ? atoi(argv[1]) : most < GPUS ? most : GPUS;
	if (argc > 2 || n < 1 || n > most || n > GPUS) {
		fprintf(stderr, "usage: ceiling [GPUS], of %d\n", most);
		return 2;
	}
	must(cudaGetDeviceProperties(&prop, 0), "read the GPU");
	for (int i = 0; i < n; i++)
		gpu_open(i);
	printf("{\"gpu\": \"%s\", \"rows\": [\n", prop.name);
	for (int i = 0; i < nmeans * IN * 3; i++) {
		int some = i / 3 % 2 ? n : 1;

		row(&all_means[i / 6], i % 3 + 1, some,
		    i + 1 < nmeans * IN * 3 ? "," : "");
	}
	printf("]}\n");
	return 0;
}
