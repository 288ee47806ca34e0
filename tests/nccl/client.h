/*
 * NCCL as a program sees it that was compiled against some nccl.h, in our own
 * words; and ranks that are threads of a test, each with a stream.
 */
#ifndef GT_TESTS_NCCL_CLIENT_H
#define GT_TESTS_NCCL_CLIENT_H

#include "unit/test.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nccl/simcuda.h"

typedef struct {
	char bytes[128];
} id_t128;

enum { SUCCESS, CUDA, SYSTEM, INTERNAL, ARGUMENT, USAGE, REMOTE, PROGRESS };
enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, HALF, FLOAT, DOUBLE, BF16 };
enum { SUM, PROD, MAX, MIN, AVG };

int ncclGetVersion(int *version);
int ncclGetUniqueId(id_t128 *id);
int ncclCommInitRank(void **comm, int size, id_t128 id, int rank);
int ncclCommInitRankConfig(void **comm, int size, id_t128 id, int rank,
			   void *config);
int ncclCommInitRankScalable(void **comm, int size, int rank, int nids,
			     id_t128 *ids, void *config);
int ncclCommInitAll(void **comms, int n, const int *devices);
int ncclCommSplit(void *comm, int colour, int key, void **made, void *config);
int ncclCommFinalize(void *comm);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
int ncclCommGetAsyncError(void *comm, int *state);
int ncclCommCount(void *comm, int *count);
int ncclCommUserRank(void *comm, int *rank);
int ncclCommCuDevice(void *comm, int *device);
const char *ncclGetErrorString(int result);
const char *ncclGetLastError(void *comm);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclGroupSimulateEnd(void *info);
int ncclAllReduce(const void *in, void *out, size_t count, int type, int op,
		  void *comm, void *stream);
int ncclReduce(const void *in, void *out, size_t count, int type, int op,
	       int root, void *comm, void *stream);
int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op,
		      void *comm, void *stream);
int ncclAllGather(const void *in, void *out, size_t count, int type, void *comm,
		  void *stream);
int ncclBroadcast(const void *in, void *out, size_t count, int type, int root,
		  void *comm, void *stream);
int ncclBcast(void *buffer, size_t count, int type, int root, void *comm,
	      void *stream);
int ncclAlltoAll(const void *in, void *out, size_t count, int type, void *comm,
		 void *stream);
int ncclGather(const void *in, void *out, size_t count, int type, int root,
	       void *comm, void *stream);
int ncclScatter(const void *in, void *out, size_t count, int type, int root,
		void *comm, void *stream);
int ncclSend(const void *in, size_t count, int type, int peer, void *comm,
	     void *stream);
int ncclRecv(void *out, size_t count, int type, int peer, void *comm,
	     void *stream);
int ncclRedOpCreatePreMulSum(int *op, void *scalar, int type, int residence,
			     void *comm);
int ncclRedOpDestroy(int op, void *comm);
int ncclCommRegister(void *comm, void *buffer, size_t bytes, void **handle);
int ncclCommDeregister(void *comm, void *handle);
int ncclCommWindowRegister(void *comm, void *buffer, size_t bytes,
			   void **window, int flags);
int ncclCommWindowDeregister(void *comm, void *window);
int ncclCommQueryProperties(void *comm, void *properties);
int ncclMemAlloc(void **memory, size_t bytes);
int ncclMemFree(void *memory);
int ncclCommGetUniqueId(void *comm, id_t128 *id);
int ncclCommGrow(void *comm, int size, const id_t128 *id, int rank, void **made,
		 void *config);
int ncclCommRevoke(void *comm, int flags);
int ncclCommShrink(void *comm, int *ranks, int n, void **made, void *config,
		   int flags);

/*
 * Cases run in threads, where cmocka's own checks cannot jump: a program whose
 * check fails says so and ends.
 */
#define IS(condition)                                                          \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__,       \
				__LINE__, #condition);                         \
			abort();                                               \
		}                                                              \
	} while (0)

/* Is the call's result that?  The words say why not. */
#define WANT(result, call)                                                     \
	do {                                                                   \
		int got_ = (call);                                             \
		if (got_ != (result)) {                                        \
			fprintf(stderr, "%s:%d: %s: %d, %s\n", __FILE__,       \
				__LINE__, #call, got_,                         \
				ncclGetLastError(NULL));                       \
			abort();                                               \
		}                                                              \
	} while (0)
#define OK(call) WANT(SUCCESS, call)

/* The configuration that a program of some version has, by offsets. */
struct client_config {
	size_t size;
	unsigned magic, version;
	int numbers[26];
};

static inline struct client_config client_config(size_t size, unsigned version)
{
	struct client_config config = {size, 0xcafebeef, version, {0}};

	for (int i = 0; i < 26; i++)
		config.numbers[i] = INT32_MIN;
	for (size_t i = 0; i < sizeof(char *); i += sizeof(int)) {
		config.numbers[4 + i / sizeof(int)] = 0; /* netName */
		config.numbers[8 + i / sizeof(int)] = 0; /* commName */
	}
	return config;
}

/* How a communicator fares, once nothing of it is in progress. */
static inline int client_await(void *comm)
{
	int state = PROGRESS;

	while (state == PROGRESS)
		OK(ncclCommGetAsyncError(comm, &state));
	return state;
}

/* A rank of a test; cases add what they need. */
struct rank {
	pthread_t thread;
	int rank, size;
	id_t128 id;
	void *comm, *stream;
	void (*body)(struct rank *rank);
	pthread_barrier_t *gate; /* all ranks' */
};

/*
 * Waits until all ranks have come.  An operation does not do that: one that is
 * over for this rank may be under way for others, and who ends the communicator
 * then ends it for these.
 */
static inline void rank_gate(struct rank *rank)
{
	pthread_barrier_wait(rank->gate);
}

static inline void *rank_main(void *arg)
{
	struct rank *rank = arg;

	sim_use_device(rank->rank);
	rank->stream = sim_stream_new();
	OK(ncclCommInitRank(&rank->comm, rank->size, rank->id, rank->rank));
	rank->body(rank);
	sim_stream_sync(rank->stream);
	if (rank->comm)
		OK(ncclCommDestroy(rank->comm));
	sim_stream_free(rank->stream);
	return NULL;
}

/* Run a body in so many ranks, each a thread. */
static inline void ranks_run(int size, void (*body)(struct rank *rank))
{
	struct rank *ranks = calloc((size_t)size, sizeof(*ranks));
	pthread_barrier_t gate;
	id_t128 id;

	IS(ranks && !pthread_barrier_init(&gate, NULL, (unsigned)size));
	OK(ncclGetUniqueId(&id));
	for (int r = 0; r < size; r++) {
		ranks[r].rank = r;
		ranks[r].size = size;
		ranks[r].id = id;
		ranks[r].body = body;
		ranks[r].gate = &gate;
		IS(!pthread_create(&ranks[r].thread, NULL, rank_main,
				   &ranks[r]));
	}
	for (int r = 0; r < size; r++)
		pthread_join(ranks[r].thread, NULL);
	pthread_barrier_destroy(&gate);
	free(ranks);
}

#endif
