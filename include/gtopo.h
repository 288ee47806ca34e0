/*
 * libgtopo: run the collectives of a plan that `gtopo search` made.
 *
 * A communicator is made from a plan file and has the plan's ranks, all of
 * them in this process or shared by those of a job.  Each rank calls the same operations in the same
 * order, from any thread; a call only queues, and the k-th operation runs once
 * every rank has called its k-th.  Buffers belong to the operation until
 * gtopo_wait() says that it is done.
 *
 * There are no globals: any number of communicators live side by side, each
 * with threads of its own.  All functions but gtopo_comm_create() and
 * gtopo_comm_destroy() may be called by several threads at once.
 *
 * Functions return GTOPO_OK, GTOPO_IN_PROGRESS where that is an answer, or a
 * negative error; gtopo_comm_message() has the words.  A failure of an
 * operation is the communicator's: it shows in gtopo_comm_state() and in all
 * later calls, and the communicator can then only be destroyed.
 *
 * Ranks are on the host; gtopo(3) says what that means.
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
};

/* Averages are a sum that is divided once; those of integers truncate. */
enum gtopo_op {
	GTOPO_SUM,
	GTOPO_PROD,
	GTOPO_MIN,
	GTOPO_MAX,
	GTOPO_AVG,
};

enum {
	GTOPO_ALL_RANKS = -1,
	GTOPO_NONBLOCKING = 1, /* gtopo_comm_create() returns at once */
	GTOPO_LAUNCHED = 2, /* with the other processes of the launcher's job */
};

struct gtopo_comm;

struct gtopo_config {
	size_t size;        /* of this struct; later versions add members */
	const char *plan;   /* the file */
	int64_t timeout_ms; /* an operation without progress fails then */
	unsigned flags;
	/*
	 * NULL, or a communicator with the same processes, for the job's
	 * second and further ones.  All processes make them after the same
	 * operations of that one, which must stay until this one is made.
	 */
	struct gtopo_comm *beside;
};

#define GTOPO_CONFIG_INIT                                                      \
	{                                                                      \
		sizeof(struct gtopo_config), NULL, 30000, 0, NULL              \
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

/* The ranks of this process: all, but with GTOPO_LAUNCHED. */
GTOPO_API void gtopo_comm_local(const struct gtopo_comm *comm, int *first,
				int *count);

/* GTOPO_IN_PROGRESS while it is made, GTOPO_OK, or what failed. */
GTOPO_API int gtopo_comm_state(struct gtopo_comm *comm);

/* What failed, in words; "" if nothing did. */
GTOPO_API void gtopo_comm_message(struct gtopo_comm *comm, char *message,
				  size_t size);

/* All operations end, done or not, within some tens of milliseconds. */
GTOPO_API void gtopo_comm_abort(struct gtopo_comm *comm);

/*
 * Until all that the rank has called is done, or all ranks with
 * GTOPO_ALL_RANKS; GTOPO_IN_PROGRESS after timeout_ms (negative: no limit).
 */
GTOPO_API int gtopo_wait(struct gtopo_comm *comm, int rank, int64_t timeout_ms);

/*
 * What a rank calls in between starts together, at the end, or not at all when
 * one of the calls was refused: gtopo_group_end() then returns the error.
 */
GTOPO_API int gtopo_group_start(struct gtopo_comm *comm, int rank);
GTOPO_API int gtopo_group_end(struct gtopo_comm *comm, int rank);

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

#ifdef __cplusplus
}
#endif

#endif
