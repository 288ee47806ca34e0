/*
 * libgtopo: run the collectives of a plan that `gtopo search` made.
 *
 * A communicator is made from a plan file and has the plan's ranks, all of
 * them in this process or shared by those of a job, on the host or on GPUs.
 * Each rank calls the same collectives in the same order, from any thread; the
 * k-th one runs once every rank has called its k-th.  Messages concern two
 * ranks only.  Buffers belong to the operation until it is done.
 *
 * On the host a call only queues, and gtopo_wait() says what is done.
 *
 * On GPUs an operation is one on the rank's CUDA stream: it comes behind what
 * is there and before what comes later.  A call returns when the operation is
 * on the stream, and so waits for the calls of the process's other ranks; a
 * thread that calls for several ranks puts the calls in a group of
 * GTOPO_ALL_RANKS.  Nothing waits for the GPUs, but that the first operation of
 * a collective, a type or a larger size may allocate.  Streams can be captured
 * into graphs, those of all the process's ranks at once.  GPUs that do not
 * reach each other's memory, as those of several hosts, go over links, which
 * threads of the communicator carry.
 *
 * There are no globals: any number of communicators live side by side, each
 * with threads of its own.  All functions but gtopo_comm_create() and
 * gtopo_comm_destroy() may be called by several threads at once.
 *
 * Functions return GTOPO_OK, GTOPO_IN_PROGRESS where that is an answer, or a
 * negative error; gtopo_comm_message() has the words.  A failure of an
 * operation is the communicator's: it shows in gtopo_comm_state() and in all
 * later calls, and the communicator can then only be destroyed.
 */
#ifndef GTOPO_H
#define GTOPO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GTOPO_API __attribute__((visibility("default")))

enum gtopo_result {
	GTOPO_OK = 0,
	GTOPO_IN_PROGRESS = 1, /* not yet */
	GTOPO_EINPUT = -2,     /* arguments or the plan at fault */
	GTOPO_ESYSTEM = -3,    /* a rank stopped, memory, a time limit */
	GTOPO_EABORTED = -4,   /* by gtopo_comm_abort() */
};

enum gtopo_type {
	GTOPO_INT8,
	GTOPO_UINT8,
	GTOPO_INT32,
	GTOPO_UINT32,
	GTOPO_INT64,
	GTOPO_UINT64,
	GTOPO_HALF,
	GTOPO_BF16,
	GTOPO_FLOAT,
	GTOPO_DOUBLE,
	GTOPO_FP8_E4M3,
	GTOPO_FP8_E5M2,
};

/*
 * Averages are a sum that is divided once; those of integers truncate.  What
 * gtopo_op_create_premul() makes are further ones.
 */
enum gtopo_op {
	GTOPO_SUM,
	GTOPO_PROD,
	GTOPO_MIN,
	GTOPO_MAX,
	GTOPO_AVG,
	GTOPO_OP_LAST = 0x7fffffff, /* room for those that are made */
};

/* Where a scalar lies. */
enum gtopo_residence {
	GTOPO_SCALAR_HOST,   /* read when the operator is made */
	GTOPO_SCALAR_DEVICE, /* on the rank's GPU; read by each operation */
};

enum {
	GTOPO_ALL_RANKS = -1,
	GTOPO_NONBLOCKING = 1, /* gtopo_comm_create() returns at once */
	GTOPO_LAUNCHED = 2, /* with the other processes of the launcher's job */
	/*
	 * GPUs that all reach each other carry collectives so that they add
	 * least to what else runs there, such as matrix products.  These take
	 * what is known to be fastest where nothing does, or what the plan's
	 * rows say, which others always take.
	 */
	GTOPO_BEST = 4,
	GTOPO_ROWS = 32,
	GTOPO_MAP_INDEX = 8, /* rank r is CUDA's GPU r, whatever its bus id */
	/*
	 * GPUs in order, from the first again when they are used up; to test.
	 */
	GTOPO_MAP_SHARE = 16,
};

/* What ends before a communicator is shrunk. */
enum {
	GTOPO_SHRINK_ABORT = 1, /* all operations, as by gtopo_comm_abort() */
};

enum gtopo_device {
	GTOPO_HOST, /* a thread a rank; buffers are ordinary memory */
	GTOPO_CUDA, /* a GPU a rank; buffers are memory of that GPU */
	GTOPO_AUTO, /* GPUs where there are any: gtopo_comm_gpu() tells */
};

struct gtopo_comm;

struct gtopo_config {
	size_t size;      /* of this struct; later versions add members */
	const char *plan; /* the file */
	/*
	 * An operation without progress fails then, and so does one that some
	 * ranks have called and another rank has not.
	 */
	int64_t timeout_ms;
	unsigned flags;
	/*
	 * NULL, or a communicator with the same processes, for the job's
	 * second and further ones.  All processes make them after the same
	 * operations of that one, which must stay until this one is made.
	 */
	struct gtopo_comm *beside;
	enum gtopo_device device;
	/*
	 * GPUs: a rank's kernels have no more thread blocks at a time, so that
	 * programs that compute beside keep the other multiprocessors; 0: no
	 * limit.  All processes say the same.
	 */
	uint64_t max_blocks;
};

#define GTOPO_CONFIG_INIT                                                      \
	{                                                                      \
		sizeof(struct gtopo_config), NULL, 30000, 0, NULL, GTOPO_HOST, \
			0                                                      \
	}

/* "0.1.0": of the library that runs. */
GTOPO_API const char *gtopo_version(void);

/*
 * Read the plan, verify it and start its ranks.  With GTOPO_NONBLOCKING only
 * the plan is read before it returns; operations may be called at once, and
 * gtopo_comm_state() tells when the rest is done, and how.  *comm is the
 * caller's on GTOPO_OK; on an error `message` (NULL, or room for `size` bytes)
 * has the words.
 */
GTOPO_API int gtopo_comm_create(const struct gtopo_config *config,
				struct gtopo_comm **comm, char *message,
				size_t size);

/*
 * Ends when all operations that every rank called are done, or at once after
 * an abort or a failure.  No other call may be under way.  NULL is allowed.
 */
GTOPO_API void gtopo_comm_destroy(struct gtopo_comm *comm);

GTOPO_API int gtopo_comm_ranks(const struct gtopo_comm *comm);

/*
 * The ranks of this process: all, but with GTOPO_LAUNCHED.  Either may be NULL.
 */
GTOPO_API void gtopo_comm_local(const struct gtopo_comm *comm, int *first,
				int *count);

/*
 * The rank's GPU, as CUDA numbers them; -1 for a rank on the host or in another
 * process.  Waits until the communicator is made.
 */
GTOPO_API int gtopo_comm_gpu(struct gtopo_comm *comm, int rank);

/*
 * The rank's cudaStream_t, of its GPU, for all later calls; before the first
 * it is NULL, the default stream.  It must live as long as the communicator
 * uses it.  Operations share memory, so whoever changes streams, or launches a
 * graph of operations on another, orders that behind the operations before.
 * GTOPO_EINPUT for ranks on the host.
 */
GTOPO_API int gtopo_comm_stream(struct gtopo_comm *comm, int rank,
				void *stream);

/*
 * Tell of memory that the rank will use as a buffer: GTOPO_EINPUT unless it is
 * on the rank's GPU.  Large operations between processes of a host reach
 * straight into the buffers where those of all ranks are registered, and else
 * copy them through memory of the communicator.  Memory made by cuMemMap() that
 * other GPUs of this process have no access to must be registered.
 *
 * All processes register before the same operation; from the first that has
 * used registered memory so, all calls wait for those of the other processes.
 *
 * Deregister behind the operations that use it (gtopo_wait()) and before it is
 * freed; that returns once no process has it open, and may wait for what runs
 * on all GPUs, as cudaFree() does.  Graphs that were captured with it must not
 * be launched any more.
 */
GTOPO_API int gtopo_register(struct gtopo_comm *comm, int rank,
			     const void *buffer, size_t bytes);
GTOPO_API int gtopo_deregister(struct gtopo_comm *comm, int rank,
			       const void *buffer);

/* GTOPO_IN_PROGRESS while it is made, GTOPO_OK, or what failed. */
GTOPO_API int gtopo_comm_state(struct gtopo_comm *comm);

/* What failed, in words; "" if nothing did. */
GTOPO_API void gtopo_comm_message(struct gtopo_comm *comm, char *message,
				  size_t size);

/*
 * All operations end, done or not, within some tens of milliseconds; also those
 * on GPUs, whose results are then anything.
 */
GTOPO_API void gtopo_comm_abort(struct gtopo_comm *comm);

/*
 * A communicator on what is left of `comm`: without the ranks of processes that
 * are gone, and without the nexcluded ranks that are excluded, which all
 * processes name alike.  One thread calls it in each process that has ranks
 * left, also where `comm` has not failed, and it waits for the others within
 * the time limit.  The ranks that are left keep their order.  The plan is that
 * of `comm` without them, verified as any.
 *
 * A failure of `comm` has ended all operations, also those that hung; while it
 * works, they go on, unless flags has GTOPO_SHRINK_ABORT.  `comm` is still to
 * be destroyed.
 *
 * GTOPO_ESYSTEM where processes are not heard, rather than gone, and may be
 * more than those that are left, or as many with the first: they may go on
 * somewhere else.  *out and `message` are as of gtopo_comm_create().
 */
GTOPO_API int gtopo_comm_shrink(struct gtopo_comm *comm, const int *excluded,
				int nexcluded, unsigned flags,
				struct gtopo_comm **out, char *message,
				size_t size);

/* The rank's number in what the communicator was shrunk from; else its own. */
GTOPO_API int gtopo_comm_origin(const struct gtopo_comm *comm, int rank);

/*
 * Until all that the rank has called is done, or all ranks with
 * GTOPO_ALL_RANKS; GTOPO_IN_PROGRESS after timeout_ms (negative: no limit).
 * GPUs: also what else is on the stream; GTOPO_EINPUT while it is captured.
 */
GTOPO_API int gtopo_wait(struct gtopo_comm *comm, int rank, int64_t timeout_ms);

/*
 * What a rank calls in between starts together, at the end, or not at all when
 * one of the calls was refused: gtopo_group_end() then returns the error.
 * GTOPO_ALL_RANKS opens and ends the groups of all the process's ranks.
 *
 * On GPUs small operations of a group are one launch, on the stream that the
 * rank has at the end.  They run side by side: none may touch what another one
 * writes, and all ranks have the same operations in their groups.
 */
GTOPO_API int gtopo_group_start(struct gtopo_comm *comm, int rank);
GTOPO_API int gtopo_group_end(struct gtopo_comm *comm, int rank);

/*
 * An operator of one rank: the sum of all inputs, each multiplied before by
 * its rank's scalar and rounded to its type, which is `type`.  Each rank makes
 * one, and all call an operation with their own.  A scalar on the GPU is read
 * when the operation runs, by a graph in each replay; of a rank on the host it
 * is any memory.  An operator may end when the last call with it has returned,
 * and ends with the communicator.
 */
GTOPO_API int gtopo_op_create_premul(struct gtopo_comm *comm, int rank,
				     const void *scalar, enum gtopo_type type,
				     enum gtopo_residence residence,
				     enum gtopo_op *op);
GTOPO_API int gtopo_op_destroy(struct gtopo_comm *comm, int rank,
			       enum gtopo_op op);

/*
 * Collectives, those that the plan has.  Input and output may be the same
 * place; where one of them is a block of what the other has for all ranks, that
 * is the rank's own block of it.  What a rank does not have (the input of a
 * broadcast but at its root) may be NULL.
 */

/* count elements in, count elements out. */
GTOPO_API int gtopo_allreduce(struct gtopo_comm *comm, int rank,
			      const void *input, void *output, uint64_t count,
			      enum gtopo_type type, enum gtopo_op op);

/* count elements in, a block of count elements of every rank out. */
GTOPO_API int gtopo_allgather(struct gtopo_comm *comm, int rank,
			      const void *input, void *output, uint64_t count,
			      enum gtopo_type type);

/* A block of count elements for every rank in, the own one out. */
GTOPO_API int gtopo_reducescatter(struct gtopo_comm *comm, int rank,
				  const void *input, void *output,
				  uint64_t count, enum gtopo_type type,
				  enum gtopo_op op);

/* A block of count elements for every rank in, one of every rank out. */
GTOPO_API int gtopo_alltoall(struct gtopo_comm *comm, int rank,
			     const void *input, void *output, uint64_t count,
			     enum gtopo_type type);

/* count elements in at the root, out everywhere; in everywhere, out there. */
GTOPO_API int gtopo_broadcast(struct gtopo_comm *comm, int rank,
			      const void *input, void *output, uint64_t count,
			      enum gtopo_type type, int root);
GTOPO_API int gtopo_reduce(struct gtopo_comm *comm, int rank, const void *input,
			   void *output, uint64_t count, enum gtopo_type type,
			   enum gtopo_op op, int root);

/* A block of count elements of every rank, at the root: out, and in. */
GTOPO_API int gtopo_gather(struct gtopo_comm *comm, int rank, const void *input,
			   void *output, uint64_t count, enum gtopo_type type,
			   int root);
GTOPO_API int gtopo_scatter(struct gtopo_comm *comm, int rank,
			    const void *input, void *output, uint64_t count,
			    enum gtopo_type type, int root);

/*
 * Messages, of which only the two ranks know and which need nothing of the
 * plan.  What one sends to the other matches what that one receives from it, in
 * the order of their calls, in number and type.  A rank's calls begin one after
 * another, and a message ends when both ranks have come to it: those that send
 * to each other, or one to itself, do so in a group, whose messages begin all
 * together, behind its collectives.  Waiting for longer than the time limit is
 * a failure.
 *
 * On GPUs a call does not wait for the peer's.  On the host the two may be in
 * any two processes of the job.
 */
GTOPO_API int gtopo_send(struct gtopo_comm *comm, int rank, const void *buffer,
			 uint64_t count, enum gtopo_type type, int peer);
GTOPO_API int gtopo_recv(struct gtopo_comm *comm, int rank, void *buffer,
			 uint64_t count, enum gtopo_type type, int peer);

#ifdef __cplusplus
}
#endif

#endif
