/*
 * An engine runs a plan's programs on one kind of device: the host's CPUs or
 * the local GPUs.  It owns the ranks' buffers, FIFOs and threads or streams;
 * what to move and whether it was moved right is asked through this table, so
 * `gtopo run` and the benchmarks know no device.
 *
 * One engine belongs to one thread at a time; several engines may live side by
 * side.  The plan must outlive the engine and must have passed
 * gt_plan_check() and gt_simulate(); between requests nothing of it may change
 * but the detours of its rows.
 */
#ifndef GT_EXEC_ENGINE_H
#define GT_EXEC_ENGINE_H

#include <stdint.h>

#include "base/dtype.h"
#include "plan/ir/program.h"

struct gt_err;
struct gt_plan;
struct gt_trace;
struct gt_engine;
struct gt_world;

/* Ranks find their GPUs in one of these ways. */
enum gt_device_map {
	GT_DEVICE_BY_ID,    /* the one with the plan's bus id */
	GT_DEVICE_BY_INDEX, /* the process's n-th rank is device n */
	/*
	 * By number, and from the first device again when they are used up:
	 * without enough GPUs the results are right and the times mean nothing.
	 */
	GT_DEVICE_SHARED,
};

/* A rank may be stopped on purpose, to test that the others notice. */
enum gt_fault {
	GT_FAULT_NONE,
	GT_FAULT_STALL, /* the rank stops moving and answers nothing */
	GT_FAULT_EXIT,  /* the rank's thread or kernel ends early */
};

/* An engine tells somebody what it has chosen, or could not have. */
struct gt_notice {
	void (*tell)(void *arg, int warning, const char *text);
	void *arg;
};

enum { GT_NOTICE_MAX = 256 };

struct gt_engine_config {
	const struct gt_plan *plan;
	uint64_t max_bytes;     /* of the larger of input and output, per rank;
				 0: all requests bring their own */
	uint32_t workers;       /* per channel; 0: the engine's choice */
	uint32_t slots;         /* 0: the plan's */
	uint32_t slice_bytes;   /* 0: the engine's choice, at most the plan's */
	uint32_t threads;       /* GPUs, per worker; 0: the engine's choice */
	uint32_t turn;          /* GPUs: pieces that a slot is handed over in;
				 0: the engine's choice */
	enum gt_device_map map; /* GPUs */
	/*
	 * GT_DEVICE_SHARED: 1 + the GPU that this process's only rank had in
	 * the job before this one; 0: there was none.
	 */
	uint32_t had_device;
	int graph;   /* GPUs: launch through a CUDA graph */
	int best;    /* GPUs: take what is known to be the fastest,
				 whatever the plan says */
	int overlap; /* GPUs: take what adds least to a program that computes
			meanwhile, whatever the plan says */
	/*
	 * What is added up is so as an invariant plan says (plan/ir/plan.h), or
	 * refused; so it is for such a plan, whatever stands here.
	 */
	int invariant;
	int64_t timeout_ns; /* a run fails after so long without progress */
	enum gt_fault fault;
	uint32_t fault_rank;
	uint64_t fault_step; /* after so many slices of one run() */
	/*
	 * GPUs: a rank's kernels that move or add up bytes have no more thread
	 * blocks at a time, so that other programs keep the multiprocessors; 0:
	 * no limit.  A row of the plan may allow fewer.  All processes have the
	 * same.  CPUs have no blocks.
	 */
	uint32_t max_blocks;
	/*
	 * The processes of a job, each of which has some of the ranks; all do
	 * the same in the same order.  NULL: this process is alone.
	 */
	struct gt_world *world;
	/*
	 * The first rank of each process, and behind them the number of all;
	 * NULL: all processes have equally many, as near as can be.
	 */
	const uint32_t *starts;
	const char *link; /* NULL, or "shm", "tcp" ...: for all connections */
	/*
	 * GPUs of one host: NULL, or which pairs of ranks are not to reach each
	 * other (exec/peer_access.h); without, GTOPO_P2P may say so.
	 */
	const char *p2p;
	const struct gt_notice *notice; /* NULL: nobody */
	const char *trace_links; /* NULL, or where their posts are logged */
	const char *iface;       /* NULL, or which networks (world/net.h) */
	/* NULL, or a flag that a signal handler or another thread sets to end
	 * every wait */
	const _Atomic int *interrupt;
};

/* A rank's buffers for a request, which are the caller's memory. */
struct gt_buffers {
	const void *input;
	void *output;
};

/*
 * A request is carried by an algorithm and a protocol; with 0 blocks, threads
 * or pieces the engine chooses those.
 */
struct gt_algo_choice {
	uint8_t algo;     /* enum gt_algo */
	uint8_t protocol; /* enum gt_protocol */
	uint32_t blocks, threads;
	uint32_t pieces; /* copy engines: in flight one behind the other */
	/*
	 * On GPUs kernels of one warp wait for other ranks, and those that move
	 * data wait for nobody: what multiprocessors are for is left to the
	 * program that computes beside.
	 */
	uint8_t waits_apart;
	/*
	 * On GPUs this part of the bytes goes through the host's memory beside
	 * the others.
	 */
	uint32_t detour_permille;
	/* GPUs: no more blocks, as in the config; an engine says what held. */
	uint32_t max_blocks;
};

/* One collective on all ranks. */
struct gt_exec_request {
	enum gt_coll coll;
	enum gt_dtype dtype;
	enum gt_redop op;
	uint64_t count; /* elements of a block (plan/ir/program.h) */
	/*
	 * Set by the CUDA engine alone: only these elements of each block are
	 * meant; a part_count of 0: all.
	 */
	uint64_t part_first, part_count;
	uint32_t root; /* of the collectives that have one */
	int inplace;
	uint32_t shift; /* elements, at most 15, that buffers begin behind an
			   aligned address; for tests */
	uint64_t seed;  /* of the test data */
	/*
	 * [nranks], in place where they overlap; NULL: the engine's own, of
	 * config.max_bytes.  run() of GPUs knows only the latter.
	 */
	const struct gt_buffers *buffers;
	/* [nranks], for GT_REDOP_PREMUL; NULL: those of the test data. */
	const struct gt_scalar *scalars;
	int premultiplied;      /* GPUs' own: inputs lie multiplied aside */
	void *const *streams;   /* enqueue(): of each rank, a cudaStream_t */
	struct gt_trace *trace; /* run() records its steps in it, if it is of
				     one iteration; or NULL */
	const struct gt_algo_choice *choice; /* NULL: the engine's choice */
};

/*
 * A message is what one rank sends to or receives from a peer, which may be
 * itself.
 */
struct gt_message {
	void *buffer;
	uint64_t bytes;
	uint32_t peer;
	uint8_t sends;
	uint8_t dtype; /* enum gt_dtype */
	/* The digest of the matrix of an all-to-all that all ranks know; both
	 * ends have the same.  0: it is not of one. */
	uint64_t matrix;
};

/* How many elements of a block are meant? */
static inline uint64_t gt_exec_request_count(const struct gt_exec_request *req)
{
	return req->part_count ? req->part_count : req->count;
}

/* Are inputs multiplied before they are added? */
int gt_exec_request_premultiplies(const struct gt_exec_request *req);

/* Do two requests differ only in where their buffers are? */
static inline int gt_exec_request_is_like(const struct gt_exec_request *a,
					  const struct gt_exec_request *b)
{
	return a->coll == b->coll && a->dtype == b->dtype && a->op == b->op &&
	       a->count == b->count && a->root == b->root &&
	       a->inplace == b->inplace && a->shift == b->shift &&
	       a->choice == b->choice;
}

/*
 * Requests on the callers' streams, in the callers' buffers.  await(), watch()
 * and device() may be called by other threads at any time; the others by one
 * thread at a time.
 */
struct gt_async_ops {
	/*
	 * Put n requests, 1 at least, on the streams, the first one's, and
	 * return without waiting for a GPU.  They are in no order and may run
	 * side by side.  Streams may be captured.  In one process, what no
	 * request before it needed is allocated and loaded, which may wait for
	 * what runs on the GPUs.  Requests must begin on all streams in the
	 * order of their calls.  After a failure everything enqueued ends by
	 * itself and nothing more may be enqueued; but for GT_ENO: all of it
	 * went into captures of which one was invalidated, and nothing is left
	 * of it once all of them are thrown away.
	 */
	int (*enqueue)(struct gt_engine *engine,
		       const struct gt_exec_request *reqs, uint32_t n,
		       struct gt_err *err);

	/*
	 * Make what messages need, unless it is there: in several processes a
	 * meeting of all, before the first message.  GT_EINPUT where there can
	 * be none.
	 */
	int (*sendrecv_setup)(struct gt_engine *engine, struct gt_err *err);

	/*
	 * Put messages of one rank, which start together, on its stream.  The
	 * peers' may follow later: those of a pair match in their order, and a
	 * message is done when both ranks' streams have come to it.
	 */
	int (*sendrecv)(struct gt_engine *engine, uint32_t rank, void *stream,
			const struct gt_message *messages, uint32_t n,
			struct gt_err *err);

	/*
	 * Wait until what is on the rank's stream is done: 1 when it is not at
	 * until_ns (base/clock.h; negative: no limit), GT_ENO while the
	 * stream is captured, or watch()'s error.
	 */
	int (*await)(struct gt_engine *engine, uint32_t rank, void *stream,
		     int64_t until_ns, struct gt_err *err);

	/*
	 * Say whether anything that was enqueued, or a graph of it, has failed:
	 * GT_ESYS, naming the rank, or GT_EINPUT for messages that do not
	 * match. Ends everything when config.interrupt is set.  To be called
	 * every few milliseconds.
	 */
	int (*watch)(struct gt_engine *engine, struct gt_err *err);

	/* Say which GPU a rank has, as CUDA numbers them. */
	int (*device)(const struct gt_engine *engine, uint32_t rank);

	/* GT_EINPUT unless the bytes, 1 at least, are memory of that GPU. */
	int (*owns)(const struct gt_engine *engine, uint32_t rank,
		    const void *buffer, uint64_t bytes, struct gt_err *err);

	/*
	 * Make what pre-multiplied sums need besides, for an operator that will
	 * be called: a call makes no memory then.  No meeting.
	 */
	int (*prepare_premul)(struct gt_engine *engine, struct gt_err *err);

	/*
	 * Register memory that requests will use, for other processes to reach
	 * into: a meeting of all, of which each process's last rank comes to
	 * its n-th.  deregister_buffer() does not wait.  GT_EINPUT unless the
	 * bytes, 1 at least, are memory of the rank's GPU and not registered
	 * yet; or not registered.
	 */
	int (*register_buffer)(struct gt_engine *engine, uint32_t rank,
			       const void *buffer, uint64_t bytes,
			       struct gt_err *err);
	int (*deregister_buffer)(struct gt_engine *engine, uint32_t rank,
				 const void *buffer, struct gt_err *err);

	/*
	 * Is there memory of other processes to be closed, as it was
	 * deregistered?  Then service_releases() does so, which may wait for
	 * what runs on the GPUs: for a thread that nobody waits for, which need
	 * not have the engine.
	 */
	int (*release_requested)(const struct gt_engine *engine);
	void (*service_releases)(struct gt_engine *engine);
};

struct gt_engine_ops {
	const char *name; /* "host", "cuda" */

	/* Has this machine what the engine needs? */
	int (*usable)(void);

	/*
	 * Open an engine, which leaves nothing behind when it fails; close()
	 * takes NULL.
	 */
	int (*open)(const struct gt_engine_config *config,
		    struct gt_engine **engine, struct gt_err *err);
	void (*close)(struct gt_engine *engine);

	/* Write known inputs, poison outputs. */
	int (*fill)(struct gt_engine *engine, const struct gt_exec_request *req,
		    struct gt_err *err);

	/*
	 * Run the collective `iters` times back to back; *elapsed_ns is the
	 * time of all of them.  GT_ESYS within the time limit, naming the
	 * rank, when a rank stops; the engine can then only be closed.
	 */
	int (*run)(struct gt_engine *engine, const struct gt_exec_request *req,
		   uint32_t iters, int64_t *elapsed_ns, struct gt_err *err);

	/*
	 * Say how run() carries a request; blocks of rings are those of the
	 * last run().  NULL where there is nothing but the plan's choice.
	 */
	int (*algo_choice)(struct gt_engine *engine,
			   const struct gt_exec_request *req,
			   struct gt_algo_choice *choice, struct gt_err *err);

	/*
	 * Count the elements of all outputs that are not what they should be
	 * after one fill() and one run() of a single iteration.
	 */
	int (*check)(struct gt_engine *engine,
		     const struct gt_exec_request *req, uint64_t *wrong,
		     struct gt_err *err);

	/*
	 * How many bytes of the host's memory are pinned for all ranks so far
	 * because GPUs do not reach each other?  0: they do.  NULL where there
	 * are no GPUs.
	 */
	uint64_t (*staged_bytes)(const struct gt_engine *engine);

	const struct gt_async_ops *async; /* NULL: there is only run() */
};

extern const struct gt_engine_ops gt_engine_host;
extern const struct gt_engine_ops gt_engine_cuda; /* if built with CUDA */

/*
 * Find the engine of that name; NULL when there is none or it was not built in.
 * Without a name it is the first usable one; GPUs come before CPUs.
 */
const struct gt_engine_ops *gt_engine_find(const char *name);

/*
 * Find the first usable engine in a child of this process: a GPU's driver that
 * was started here would be of no use to processes forked later.
 */
const struct gt_engine_ops *gt_engine_find_in_child(void);

#endif
