/*
 * libnccl.so.2 on GPUs, a process for each: face [RANKS].  What a program does
 * that was compiled against nccl.h: collectives of several types on two
 * streams, messages in a ring, an operator with a scalar, a split, an abort.
 * Exits with 77 where there are fewer GPUs, and with 1 for a wrong result.
 */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

enum { MOST = 16, INT32 = 2, FLOAT = 7, SUM = 0, MAX = 2, MIN = 3, SKIP = 77 };

typedef struct {
	char bytes[128];
} id_t128;

int ncclGetUniqueId(id_t128 *id);
int ncclCommInitRank(void **comm, int size, id_t128 id, int rank);
int ncclCommSplit(void *comm, int colour, int key, void **made, void *config);
int ncclCommFinalize(void *comm);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
int ncclCommGetAsyncError(void *comm, int *state);
const char *ncclGetLastError(void *comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void *in, void *out, size_t count, int type, int op,
		  void *comm, cudaStream_t stream);
int ncclAllGather(const void *in, void *out, size_t count, int type, void *comm,
		  cudaStream_t stream);
int ncclBroadcast(const void *in, void *out, size_t count, int type, int root,
		  void *comm, cudaStream_t stream);
int ncclSend(const void *in, size_t count, int type, int peer, void *comm,
	     cudaStream_t stream);
int ncclRecv(void *out, size_t count, int type, int peer, void *comm,
	     cudaStream_t stream);
int ncclRedOpCreatePreMulSum(int *op, void *scalar, int type, int residence,
			     void *comm);

#define IS(condition)                                                          \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "rank %d, line %d: not so: %s; %s\n",  \
				me, __LINE__, #condition,                      \
				ncclGetLastError(NULL));                       \
			exit(1);                                               \
		}                                                              \
	} while (0)

struct gpu {
	int32_t *in, *out, *host;
	cudaStream_t streams[2];
	void *comm;
};

static void fill(int me, struct gpu *gpu, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gpu->host[i] = me * 3 + (int)(i % 1000);
	IS(!cudaMemcpy(gpu->in, gpu->host, n * 4, cudaMemcpyHostToDevice));
	IS(!cudaMemset(gpu->out, 0xff, n * 4));
	IS(!cudaDeviceSynchronize());
}

static void fetch(int me, struct gpu *gpu, size_t n)
{
	IS(!cudaStreamSynchronize(gpu->streams[0]));
	IS(!cudaStreamSynchronize(gpu->streams[1]));
	IS(!cudaMemcpy(gpu->host, gpu->out, n * 4, cudaMemcpyDeviceToHost));
}

/* Sums, and the largest of them by a call on the other stream behind it. */
static void reduce(int me, int size, struct gpu *gpu, size_t n)
{
	int extra = 3 * size * (size - 1) / 2;

	fill(me, gpu, n);
	IS(!ncclAllReduce(gpu->in, gpu->out, n, INT32, SUM, gpu->comm,
			  gpu->streams[0]));
	IS(!ncclAllReduce(gpu->out, gpu->out, n, INT32, MAX, gpu->comm,
			  gpu->streams[1]));
	fetch(me, gpu, n);
	for (size_t i = 0; i < n; i++)
		IS(gpu->host[i] == size * (int)(i % 1000) + extra);
	fill(me, gpu, n);
	IS(!ncclAllReduce(gpu->in, gpu->in, n, INT32, MIN, gpu->comm,
			  gpu->streams[0]));
	IS(!ncclBroadcast(gpu->in, gpu->out, n, INT32, size - 1, gpu->comm,
			  gpu->streams[0]));
	fetch(me, gpu, n);
	for (size_t i = 0; i < n; i++)
		IS(gpu->host[i] == (int)(i % 1000));
}

/* Blocks to the next rank, one to itself, and a gather of all. */
static void move(int me, int size, struct gpu *gpu, size_t n)
{
	int last = (me + size - 1) % size;

	fill(me, gpu, 2 * n);
	IS(!ncclGroupStart());
	IS(!ncclSend(gpu->in, n, INT32, (me + 1) % size, gpu->comm,
		     gpu->streams[0]));
	IS(!ncclRecv(gpu->out, n, INT32, last, gpu->comm, gpu->streams[1]));
	IS(!ncclSend(gpu->in, n, INT32, me, gpu->comm, gpu->streams[0]));
	IS(!ncclRecv(gpu->out + n, n, INT32, me, gpu->comm, gpu->streams[0]));
	IS(!ncclGroupEnd());
	fetch(me, gpu, 2 * n);
	for (size_t i = 0; i < n; i++) {
		IS(gpu->host[i] == last * 3 + (int)(i % 1000));
		IS(gpu->host[n + i] == me * 3 + (int)(i % 1000));
	}
	fill(me, gpu, n);
	IS(!ncclAllGather(gpu->in, gpu->out, n, INT32, gpu->comm,
			  gpu->streams[1]));
	fetch(me, gpu, n * (size_t)size);
	for (size_t i = 0; i < n * (size_t)size; i++)
		IS(gpu->host[i] == (int)(i / n) * 3 + (int)(i % n % 1000));
}

static void scalars(int me, int size, struct gpu *gpu)
{
	float scalar = (float)(me + 1), one = 1, sum;
	int op;

	IS(!cudaMemcpy(gpu->in, &one, 4, cudaMemcpyHostToDevice));
	IS(!ncclRedOpCreatePreMulSum(&op, &scalar, FLOAT, 1, gpu->comm));
	IS(!ncclAllReduce(gpu->in, gpu->out, 1, FLOAT, op, gpu->comm,
			  gpu->streams[0]));
	fetch(me, gpu, 1);
	memcpy(&sum, gpu->host, sizeof(sum));
	IS(sum == (float)(size * (size + 1) / 2));
}

/* Operations of nobody's interest are ended; the child is whole meanwhile. */
static void split(int me, int size, struct gpu *gpu)
{
	void *parent = gpu->comm, *child;
	int state;

	IS(!ncclCommSplit(parent, 0, -me, &child, NULL));
	gpu->comm = child;
	reduce(size - 1 - me, size, gpu, 1000);
	IS(!ncclCommGetAsyncError(child, &state) && !state);
	if (!me)
		IS(!ncclRecv(gpu->out, 1, INT32, 1, child, gpu->streams[0]));
	IS(!ncclCommAbort(child));
	IS(!cudaStreamSynchronize(gpu->streams[0]));
	gpu->comm = parent;
}

static void run(int me, int size, const id_t128 *id)
{
	size_t most = (size_t)4 << 20;
	struct gpu gpu = {0};
	int count;

	if (cudaGetDeviceCount(&count) || count < size)
		exit(SKIP);
	IS(!cudaSetDevice(me));
	IS(!cudaMalloc((void **)&gpu.in, most * 4));
	IS(!cudaMalloc((void **)&gpu.out, most * 4));
	IS(gpu.host = malloc(most * 4));
	IS(!cudaStreamCreateWithFlags(&gpu.streams[0], cudaStreamNonBlocking));
	IS(!cudaStreamCreateWithFlags(&gpu.streams[1], cudaStreamNonBlocking));
	IS(!ncclCommInitRank(&gpu.comm, size, *id, me));
	for (size_t n = 1; n <= most; n *= 8)
		reduce(me, size, &gpu, n);
	reduce(me, size, &gpu, 0);
	for (size_t n = 1; n * (size_t)size <= most / 2; n *= 16)
		move(me, size, &gpu, n);
	scalars(me, size, &gpu);
	split(me, size, &gpu);
	reduce(me, size, &gpu, 4096);
	IS(!ncclCommFinalize(gpu.comm));
	IS(!ncclCommDestroy(gpu.comm));
	exit(0);
}

static pid_t start(int me, int size, int *door)
{
	int ends[2];
	id_t128 id;
	pid_t pid;

	if (pipe(ends))
		exit(1);
	pid = fork();
	if (pid)
		close(ends[0]);
	*door = ends[1];
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(120);
	close(ends[1]);
	IS(read(ends[0], &id, sizeof(id)) == sizeof(id));
	run(me, size, &id);
	return 0;
}

int main(int argc, char **argv)
{
	int size = argc > 1 ? atoi(argv[1]) : 2, me = -1, worst = 0, status;
	int doors[MOST];
	id_t128 id;

	IS(size >= 2 && size <= MOST);
	for (int r = 0; r < size; r++)
		IS(start(r, size, &doors[r]) > 0);
	IS(!ncclGetUniqueId(&id));
	for (int r = 0; r < size; r++)
		IS(write(doors[r], &id, sizeof(id)) == sizeof(id));
	for (int r = 0; r < size; r++) {
		IS(wait(&status) > 0);
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		worst = status > worst ? status : worst;
	}
	if (worst == SKIP)
		printf("%d GPUs needed\n", size);
	else if (!worst)
		printf("%d processes: all right\n", size);
	return worst;
}
