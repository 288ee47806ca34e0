/*
 * libgtopo: run the collectives of a plan that `gtopo search` made, or that
 * gtopo_search() makes of what gtopo_detect() finds.
 *
 * A communicator is made from a plan and has the plan's ranks, all of
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
 * GTOPO_ALL_RANKS.  Nothing waits for the GPUs, but that in one process the
 * first operation of a collective, a type or a larger size may allocate; in
 * several all memory is made with the communicator.  Streams can be captured
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
 * later calls, and the communicator can then only be shrunk or destroyed.
 *
 * A call that is refused, with GTOPO_EINPUT, has done nothing, and the
 * communicator goes on as before.  That the plan does not do a collective, or
 * not from that root, or not in place, is found when all ranks have called it;
 * on the host gtopo_wait() tells each rank so, once.
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
	/*
	 * Sums, of all-reduce, reduce-scatter and reduce, are added up by one
	 * rank, in the order of ranks, and rounded once: an element's bits
	 * depend on its type, the operator, the number of ranks and what they
	 * hold there, and on nothing else; see gtopo(3).  What cannot be so is
	 * refused.  All processes say the same.
	 */
	GTOPO_INVARIANT = 64,
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
	const char *plan; /* the file; NULL: plan_text is the plan */
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
	/*
	 * The plan itself, in place of its file, or NULL.  It is only read
	 * before gtopo_comm_create() returns.
	 */
	const char *plan_text;
};

#define GTOPO_CONFIG_INIT                                                      \
	{                                                                      \
		sizeof(struct gtopo_config), NULL, 30000, 0, NULL, GTOPO_HOST, \
			0, NULL                                                \
	}

/* "0.2.0": of the library that runs. */
GTOPO_API const char *gtopo_version(void);

/*
 * Machines and plans are texts in memory here: topologies and clusters are XML
 * (gtopo-topology(5), gtopo-cluster(5)), plans JSON (gtopo-plan(5)); each ends
 * in '\0'.  What a function returns is the caller's, who ends it with
 * gtopo_free().  Rates are in GB/s, 1e9 bytes a second; busbw is bus bandwidth
 * as nccl-tests define it.
 *
 * On an error nothing is returned, and `message` (NULL, or room for `size`
 * bytes) has the words: where in the text, what is wrong, what would help.  On
 * GTOPO_OK it has what is to be warned of, a line each, or nothing.  All these
 * functions may be called by several threads at once.
 */
GTOPO_API void gtopo_free(void *text);

enum { GTOPO_DETECT_ALL = 1 }; /* virtual interfaces and functions, too */

/*
 * Ask hwloc, NVML, sysfs and libibverbs what this machine is made of, as `gtopo
 * detect` does.  hwloc itself may print errors of the system's tables unless
 * the environment has HWLOC_HIDE_ERRORS=2.  GTOPO_ESYSTEM where the machine
 * cannot be read.
 */
GTOPO_API int gtopo_detect(unsigned flags, char **topology, char *message,
			   size_t size);

/*
 * What `gtopo search` has as options; gtopo-search(1) says what each does.
 * Words are understood with other capitals, dashes and underscores, too.
 */
struct gtopo_search_config {
	size_t size;           /* of this struct; later versions add members */
	const char *algo;      /* NULL: "auto" */
	const char *coll;      /* NULL: "allreduce", of flows "alltoall" */
	const char *gpus;      /* "0-3,GPU6", by rank; NULL: all */
	const char *rates;     /* "measured" (NULL), "nccl" or "line" */
	const char *links_out; /* --exclude-link, or NULL */
	const char *devices_out; /* --exclude-device, or NULL */
	int64_t budget_ms;       /* the best found by then; 0: no limit */
	int root;
	unsigned nodes; /* copies of the machine on one switch; 0, 1: itself */
	unsigned max_channels;   /* 0: as many as help */
	int equal;               /* all channels have the same share */
	int invariant;           /* --invariant: sums in the order of ranks */
	unsigned trees_per_root; /* forests: at most, of equal shares; 0: any */
	const char *demand;      /* --demand's text, CSV or JSON; or NULL */
};

#define GTOPO_SEARCH_CONFIG_INIT                                               \
	{                                                                      \
		sizeof(struct gtopo_search_config), NULL, NULL, NULL, NULL,    \
			NULL, NULL, 0, 0, 0, 0, 0, 0, 0, NULL                  \
	}

/*
 * Find the best plan for a machine, or for a cluster whose nodes' files are
 * looked for in the current folder; it has passed all checks of its proof.
 * config NULL: all defaults.  GTOPO_EINPUT where the text is no topology, an
 * option is not known or cannot be honoured, or there is no plan, as for GPUs
 * without routes to each other.
 */
GTOPO_API int gtopo_search(const char *topology,
			   const struct gtopo_search_config *config,
			   char **plan, char *message, size_t size);

struct gtopo_verdict {
	size_t size; /* of this struct, set by the caller */
	int ranks, channels;
	double busbw_gbs, algbw_gbs; /* that the plan claims; 0: it has none */
	/*
	 * What no plan of its kind (rings, trees) over its routes exceeds, and
	 * no schedule at all over them, as busbw; 0: no such bound is proved.
	 */
	double bound_gbs, any_bound_gbs;
	int optimal; /* busbw_gbs is bound_gbs, exactly */
};

/*
 * Check the plan, its claims and its proof, and simulate its programs for all
 * collectives that it is for.  GTOPO_EINPUT, and which place of it is wrong.
 * verdict may be NULL.
 */
GTOPO_API int gtopo_verify(const char *plan, struct gtopo_verdict *verdict,
			   char *message, size_t size);

/*
 * How long a collective of the plan (NULL: its own) takes for buffers of
 * bytes[0..n-1], the larger of input and output, in microseconds: as measured,
 * where the plan has that, else by the cost model of gtopo-predict(1).  times
 * has room for n; GTOPO_EINPUT if the plan is wrong or does not do it.
 */
GTOPO_API int gtopo_predict(const char *plan, const char *coll,
			    const uint64_t *bytes, double *times_us, size_t n,
			    char *message, size_t size);

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
 * On GPUs of several processes all ranks register together: the n-th memory of
 * one belongs with the n-th of the others, and the call of a process's last
 * rank waits for the other processes.  No later call does.  Each rank then
 * knows where the others' buffers are from where its own are: if a buffer of an
 * operation lies in registered memory, all ranks' do, at the same place in what
 * belongs together.  Breaking that is a failure of the communicator, some 20 ms
 * later; the operation may meanwhile have written anywhere in that memory.
 *
 * Deregister behind the operations that use it (gtopo_wait()) and before it is
 * freed; all ranks do so, each at its time.  That waits for nobody.  Graphs
 * that were captured with it must not be launched any more.
 */
GTOPO_API int gtopo_register(struct gtopo_comm *comm, int rank,
			     const void *buffer, size_t bytes);
GTOPO_API int gtopo_deregister(struct gtopo_comm *comm, int rank,
			       const void *buffer);

/* GTOPO_IN_PROGRESS while it is made, GTOPO_OK, or what failed. */
GTOPO_API int gtopo_comm_state(struct gtopo_comm *comm);

/*
 * What failed, in words; else why the last call was refused, by any thread; ""
 * if none was.
 */
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
 * of the first communicator which `comm` comes from, without all that are gone,
 * verified as any.
 *
 * A failure of `comm` has ended all operations, also those that hung; while it
 * works, they go on, unless flags has GTOPO_SHRINK_ABORT.  `comm` is still to
 * be destroyed.
 *
 * GTOPO_ESYSTEM where processes are not heard, rather than gone, and may be
 * more than those that are left, or as many with the first: they may go on
 * somewhere else.  Where it fails as one more has gone meanwhile, it may be
 * called again.  *out and `message` are as of gtopo_comm_create().
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

/*
 * A block of count elements for every rank in, one of every rank out.  Of a
 * plan with a demand, on the host, these are the places of blocks: the longest
 * fills its own, others have the beginning of theirs.
 */
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

/*
 * An all-to-all whose blocks differ, as messages straight from each rank to
 * each: send_counts[p] elements from input + send_displs[p] go to rank p, and
 * recv_counts[p] from it to output + recv_displs[p], in elements.  All ranks
 * call it; what a rank sends to another that one receives, zeros too.  Blocks
 * of output do not overlap, nor do input and output.  The arrays are read
 * before the call returns.  It is a group of messages, or part of the rank's.
 */
GTOPO_API int gtopo_alltoallv(struct gtopo_comm *comm, int rank,
			      const void *input, const uint64_t *send_counts,
			      const uint64_t *send_displs, void *output,
			      const uint64_t *recv_counts,
			      const uint64_t *recv_displs,
			      enum gtopo_type type);

/*
 * An all-to-all whose matrix each rank knows: of n ranks, p has
 * counts[p * n + q] elements for q, and all give the same n * n numbers.  From
 * these each call is planned anew, without a meeting.  On the host, where the
 * plan is an all-to-all of a cluster's and its nodes are the hosts, bytes may
 * go through other ranks, which have up to 64 MiB for that, if it is faster by
 * the plan's rates (with GTOPO_ROWS on whatever hosts); else they go straight.
 * A matrix that is not the others' is a failure that names two ranks.  Waits
 * until the communicator is made.
 */
GTOPO_API int gtopo_alltoallv_matrix(struct gtopo_comm *comm, int rank,
				     const void *input,
				     const uint64_t *send_displs, void *output,
				     const uint64_t *recv_displs,
				     const uint64_t *counts,
				     enum gtopo_type type);

#ifdef __cplusplus
}
#endif

#endif
