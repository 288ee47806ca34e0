/*
 * libnccl.so.2 on GPUs: face [RANKS [processes|threads|groups|queues]].  What a
 * program does that was compiled against nccl.h: collectives of several types
 * on two streams, in graphs and in none, memory that is not a GPU's, messages
 * in a ring, an operator with a scalar, a split, an abort, one that grows; and
 * two communicators that each rank uses in an order of its own.  Ranks have a
 * process each, or threads of one, or one thread that calls for all of them in
 * groups, with queues also more than a GPU's queue holds.  Exits with 77 where
 * there are fewer GPUs, unless NCCL_MULTI_RANK_GPU_ENABLE lets ranks share one,
 * and with 1 for a wrong result.
 */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

enum { MOST = 16, INT32 = 2, FLOAT = 7, SUM = 0, MAX = 2, MIN = 3, SKIP = 77 };

enum {
	ELEMENTS = 4 << 20, /* of a buffer */
	LARGE = 24 << 20,   /* more than goes at once (GTOPO_REGION_MIB) */
	QUEUED = 500,       /* operations of one group */
	MIXED = 400,        /* operations of each of two communicators */
	MIXED_MOST = 100000,
	ELSEWHERE = 100000, /* elements of memory that is not the GPU's */
};

typedef struct {
	char bytes[128];
} id_t128;

int ncclGetUniqueId(id_t128 *id);
int ncclCommInitRank(void **comm, int size, id_t128 id, int rank);
int ncclCommSplit(void *comm, int colour, int key, void **made, void *config);
int ncclCommGetUniqueId(void *comm, id_t128 *id);
int ncclCommGrow(void *comm, int size, const id_t128 *id, int rank, void **made,
		 void *config);
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
	int32_t *pinned, *managed; /* of ELSEWHERE */
	cudaStream_t streams[2];
	void *comm;
};

/* cudaMemcpy() may return before all is there for streams but its own. */
static void put(int me, struct gpu *gpu, const void *values, size_t n)
{
	IS(!cudaMemcpyAsync(gpu->in, values, n * 4, cudaMemcpyHostToDevice,
			    gpu->streams[0]));
	IS(!cudaStreamSynchronize(gpu->streams[0]));
}

/*
 * Never waits for the whole GPU, where another thread's rank may be that waits
 * for this one.
 */
static void fill(int me, struct gpu *gpu, size_t n)
{
	for (size_t i = 0; i < n; i++)
		gpu->host[i] = me * 3 + (int)(i % 1000);
	put(me, gpu, gpu->host, n);
	IS(!cudaMemsetAsync(gpu->out, 0xff, n * 4, gpu->streams[0]));
	IS(!cudaStreamSynchronize(gpu->streams[0]));
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

	put(me, gpu, &one, 1);
	IS(!ncclRedOpCreatePreMulSum(&op, &scalar, FLOAT, 1, gpu->comm));
	IS(!ncclAllReduce(gpu->in, gpu->out, 1, FLOAT, op, gpu->comm,
			  gpu->streams[0]));
	fetch(me, gpu, 1);
	memcpy(&sum, gpu->host, sizeof(sum));
	IS(sum == (float)(size * (size + 1) / 2));
}

/*
 * What waits for somebody who does not come is ended by an abort.  All have met
 * in the parent by then: whoever aborts sooner could do so before the others
 * call anything, and their calls would fail.
 */
static void split(int me, int size, struct gpu *gpu)
{
	void *parent = gpu->comm, *child;
	cudaStream_t waits;
	int state;

	IS(!cudaStreamCreateWithFlags(&waits, cudaStreamNonBlocking));
	IS(!ncclCommSplit(parent, 0, -me, &child, NULL));
	gpu->comm = child;
	reduce(size - 1 - me, size, gpu, 1000);
	IS(!ncclCommGetAsyncError(child, &state) && !state);
	gpu->comm = parent;
	if (!me) /* from who was last, and is first in the child */
		IS(!ncclRecv(gpu->out + 1, 1, INT32, 0, child, waits));
	reduce(me, size, gpu, 1);
	IS(!ncclCommAbort(child));
	IS(!cudaStreamSynchronize(waits));
	IS(!cudaStreamDestroy(waits));
}

/* All but the last rank have a communicator, which takes that one in. */
static void grow(int me, int size, struct gpu *gpu)
{
	void *parent = gpu->comm, *most, *grown;
	int is_new = me == size - 1;
	id_t128 id = {{0}};

	IS(!ncclCommSplit(parent, is_new ? -1 : 0, me, &most, NULL));
	if (!me)
		IS(!ncclCommGetUniqueId(most, &id));
	put(me, gpu, &id, sizeof(id) / 4);
	IS(!ncclBroadcast(gpu->in, gpu->out, sizeof(id) / 4, INT32, 0, parent,
			  gpu->streams[0]));
	fetch(me, gpu, sizeof(id) / 4);
	memcpy(&id, gpu->host, sizeof(id));
	IS(!ncclCommGrow(most, size, is_new ? &id : NULL, is_new ? me : -1,
			 &grown, NULL));
	gpu->comm = grown;
	reduce(me, size, gpu, 1000);
	gpu->comm = parent;
	IS(!ncclCommDestroy(grown));
	if (most)
		IS(!ncclCommDestroy(most));
}

/*
 * In and out, of so many elements: once for all, since freeing or making memory
 * may wait for all that runs on a GPU, where ranks of other threads may be.
 */
static void take(int me, struct gpu *gpu, size_t n)
{
	IS(!cudaMalloc((void **)&gpu->in, n * 4));
	IS(!cudaMalloc((void **)&gpu->out, n * 4));
	IS(!cudaHostAlloc((void **)&gpu->pinned, ELSEWHERE * 4,
			  cudaHostAllocDefault));
	IS(!cudaMallocManaged((void **)&gpu->managed, ELSEWHERE * 4,
			      cudaMemAttachGlobal));
	IS(gpu->host = malloc(n * 4));
}

/* Pinned memory of the host, and managed memory, are buffers, too. */
static void elsewhere(int me, int size, struct gpu *gpu)
{
	for (int i = 0; i < ELSEWHERE; i++)
		gpu->pinned[i] = me + i % 1000;
	for (int i = 0; i < 2; i++) {
		IS(!ncclAllReduce(i ? gpu->managed : gpu->pinned,
				  i ? gpu->pinned : gpu->managed, ELSEWHERE,
				  INT32, MAX, gpu->comm, gpu->streams[0]));
		IS(!cudaStreamSynchronize(gpu->streams[0]));
	}
	for (int i = 0; i < ELSEWHERE; i++)
		IS(gpu->managed[i] == size - 1 + i % 1000 &&
		   gpu->pinned[i] == gpu->managed[i]);
}

/* A graph of two sums in place. */
static cudaGraphExec_t capture(int me, struct gpu *gpu, size_t n)
{
	cudaStream_t stream = gpu->streams[1];
	cudaGraphExec_t run;
	cudaGraph_t graph;

	IS(!cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int i = 0; i < 2; i++)
		IS(!ncclAllReduce(gpu->out, gpu->out, n, INT32, SUM, gpu->comm,
				  stream));
	IS(!cudaStreamEndCapture(stream, &graph));
	IS(!cudaGraphInstantiate(&run, graph, 0));
	IS(!cudaGraphDestroy(graph));
	return run;
}

enum { GRAPHS = 3 };

/*
 * A graph and what is in none take turns, on a stream each that waits for
 * nothing of the other's: the communicator keeps their order.
 */
static void graphs(int me, int size, struct gpu *gpu)
{
	int extra = 3 * size * (size - 1) / 2;
	const size_t n = ELEMENTS;
	cudaGraphExec_t run = capture(me, gpu, n);
	uint32_t times = 1;

	fill(me, gpu, n);
	IS(!ncclAllReduce(gpu->in, gpu->out, n, INT32, SUM, gpu->comm,
			  gpu->streams[0]));
	for (int i = 0; i < GRAPHS; i++) {
		IS(!cudaGraphLaunch(run, gpu->streams[1]));
		IS(!ncclAllReduce(gpu->out, gpu->out, n, INT32, SUM, gpu->comm,
				  gpu->streams[0]));
		times *= (uint32_t)(size * size * size);
	}
	fetch(me, gpu, n);
	for (size_t i = 0; i < n; i++)
		IS((uint32_t)gpu->host[i] ==
		   times * (uint32_t)(size * (int)(i % 1000) + extra));
	IS(!cudaGraphExecDestroy(run));
}

/* Where the k-th operation of a communicator writes, and how much. */
static size_t mixed(int which, int k, size_t *n)
{
	uint32_t random = (uint32_t)k * 2246822519u + 7;
	size_t base = ELEMENTS / 2 * (size_t)which;

	*n = 1 + (random >> 8) % 64;
	if (random & 64) /* small ones have a place of their own */
		return base + (size_t)k * 64;
	*n = MIXED_MOST * (random & 16 ? 10 : 1) + (random >> 8) % 1000;
	return base + MIXED * 64;
}

static void check_mix(int me, int size, struct gpu *gpu)
{
	int sum = size * (size + 1) / 2;

	fetch(me, gpu, ELEMENTS);
	for (int k = 0; k < 2 * MIXED; k++) {
		size_t n, at = mixed(k % 2, k / 2, &n);

		for (size_t i = 0; i < n; i++)
			IS(gpu->host[at + i] == sum);
	}
}

/*
 * Two communicators, each on a stream: which of them comes next a rank decides
 * by itself, what it calls there all alike.  A host that waited for another
 * one's call would stand still here.
 */
static void mix(int me, int size, struct gpu *gpu)
{
	void *comms[2] = {gpu->comm, NULL};
	uint32_t random = (uint32_t)me * 2654435761u + 1;
	int done[2] = {0, 0};

	for (size_t i = 0; i < ELEMENTS; i++)
		gpu->host[i] = me + 1;
	put(me, gpu, gpu->host, ELEMENTS);
	IS(!ncclCommSplit(gpu->comm, 0, me, &comms[1], NULL));
	while (done[0] < MIXED || done[1] < MIXED) {
		int which = done[0] == MIXED   ? 1
			    : done[1] == MIXED ? 0
					       : (int)(random >> 16 & 1);
		size_t n, at = mixed(which, done[which]++, &n);

		random = random * 1664525u + 1013904223u;
		IS(!ncclAllReduce(gpu->in + at, gpu->out + at, n, INT32, SUM,
				  comms[which], gpu->streams[which]));
	}
	check_mix(me, size, gpu);
	IS(!ncclCommDestroy(comms[1]));
}

/* What is larger than the memory that ranks share goes in pieces. */
static void large(int me, int size, struct gpu *gpu)
{
	reduce(me, size, gpu, LARGE);
	reduce(me, size, gpu, LARGE - 77);
	move(me, size, gpu, LARGE / 2 / (size_t)size);
}

static void choose_gpu(int me, int size)
{
	int count;

	if (cudaGetDeviceCount(&count) || !count)
		exit(SKIP);
	if (count < size && !getenv("NCCL_MULTI_RANK_GPU_ENABLE"))
		exit(SKIP);
	IS(!cudaSetDevice(me % count));
}

static void open_gpu(int me, int size, struct gpu *gpu)
{
	choose_gpu(me, size);
	take(me, gpu, LARGE);
	for (int i = 0; i < 2; i++)
		IS(!cudaStreamCreateWithFlags(&gpu->streams[i],
					      cudaStreamNonBlocking));
}

static void run(int me, int size, const id_t128 *id)
{
	const size_t most = ELEMENTS;
	struct gpu gpu = {0};

	open_gpu(me, size, &gpu);
	IS(!ncclCommInitRank(&gpu.comm, size, *id, me));
	for (size_t n = 1; n <= most; n *= 8)
		reduce(me, size, &gpu, n);
	reduce(me, size, &gpu, 0);
	for (size_t n = 1; n * (size_t)size <= most / 2; n *= 16)
		move(me, size, &gpu, n);
	large(me, size, &gpu);
	scalars(me, size, &gpu);
	elsewhere(me, size, &gpu);
	graphs(me, size, &gpu);
	mix(me, size, &gpu);
	split(me, size, &gpu);
	grow(me, size, &gpu);
	reduce(me, size, &gpu, 4096);
	IS(!ncclCommFinalize(gpu.comm));
	IS(!ncclCommDestroy(gpu.comm));
}

/* A rank that is a thread. */
struct rank {
	pthread_t thread;
	int me, size;
	const id_t128 *id;
	struct gpu gpu;
};

static void *run_thread(void *arg)
{
	struct rank *rank = arg;

	run(rank->me, rank->size, rank->id);
	return NULL;
}

static int run_threads(int size)
{
	struct rank ranks[MOST];
	int me = -1;
	id_t128 id;

	alarm(120);
	IS(!ncclGetUniqueId(&id));
	for (int r = 0; r < size; r++) {
		ranks[r] = (struct rank){.me = r, .size = size, .id = &id};
		IS(!pthread_create(&ranks[r].thread, NULL, run_thread,
				   &ranks[r]));
	}
	for (int r = 0; r < size; r++)
		IS(!pthread_join(ranks[r].thread, NULL));
	printf("%d threads: all right\n", size);
	return 0;
}

/* One thread, which puts an operation on all ranks' streams. */
static void reduce_together(struct rank *ranks, int size, size_t n)
{
	int extra = 3 * size * (size - 1) / 2, me = -1;

	for (int r = 0; r < size; r++) {
		choose_gpu(r, size);
		fill(r, &ranks[r].gpu, n);
	}
	IS(!ncclGroupStart());
	for (int r = 0; r < size; r++)
		IS(!ncclAllReduce(ranks[r].gpu.in, ranks[r].gpu.out, n, INT32,
				  SUM, ranks[r].gpu.comm,
				  ranks[r].gpu.streams[0]));
	IS(!ncclGroupEnd());
	for (int r = 0; r < size; r++) {
		choose_gpu(r, size);
		fetch(r, &ranks[r].gpu, n);
		for (size_t i = 0; i < n; i++)
			IS(ranks[r].gpu.host[i] ==
			   size * (int)(i % 1000) + extra);
	}
}

/*
 * More commands for each rank than its GPU's queue has room for, of which the
 * first wait for the next rank's.
 */
static void fill_queues(struct rank *ranks, int size, size_t n)
{
	int me = -1;

	for (int r = 0; r < size; r++) {
		choose_gpu(r, size);
		fill(r, &ranks[r].gpu, n);
	}
	IS(!ncclGroupStart());
	for (int r = 0; r < size; r++)
		for (int k = 0; k < QUEUED; k++)
			IS(!ncclAllReduce(
				k ? ranks[r].gpu.out : ranks[r].gpu.in,
				ranks[r].gpu.out, n, INT32, MAX,
				ranks[r].gpu.comm, ranks[r].gpu.streams[0]));
	IS(!ncclGroupEnd());
	for (int r = 0; r < size; r++) {
		choose_gpu(r, size);
		fetch(r, &ranks[r].gpu, n);
		for (size_t i = 0; i < n; i++)
			IS(ranks[r].gpu.host[i] ==
			   3 * (size - 1) + (int)(i % 1000));
	}
}

static int run_groups(int size, int queues)
{
	struct rank ranks[MOST] = {0};
	int me = -1;
	id_t128 id;

	alarm(120);
	IS(!ncclGetUniqueId(&id));
	for (int r = 0; r < size; r++)
		open_gpu(r, size, &ranks[r].gpu);
	IS(!ncclGroupStart());
	for (int r = 0; r < size; r++) {
		choose_gpu(r, size);
		IS(!ncclCommInitRank(&ranks[r].gpu.comm, size, id, r));
	}
	IS(!ncclGroupEnd());
	for (size_t n = 1; n <= ELEMENTS; n *= 4)
		reduce_together(ranks, size, n);
	reduce_together(ranks, size, LARGE - 3);
	if (queues)
		fill_queues(ranks, size, ELEMENTS / 4);
	for (int r = 0; r < size; r++)
		IS(!ncclCommDestroy(ranks[r].gpu.comm));
	printf("%d ranks of one thread: all right\n", size);
	return 0;
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
	exit(0);
}

static int run_processes(int size)
{
	int me = -1, worst = 0, status;
	int doors[MOST];
	id_t128 id;

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

int main(int argc, char **argv)
{
	int size = argc > 1 ? atoi(argv[1]) : 2, me = -1;
	const char *how = argc > 2 ? argv[2] : "processes";

	IS(size >= 2 && size <= MOST);
	if (!strcmp(how, "threads"))
		return run_threads(size);
	if (!strcmp(how, "groups") || !strcmp(how, "queues"))
		return run_groups(size, !strcmp(how, "queues"));
	IS(!strcmp(how, "processes"));
	return run_processes(size);
}
