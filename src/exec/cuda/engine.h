/*
 * The inside of the CUDA engine: one GPU a rank, in one process or several.
 *
 * open maps ranks to devices and allocates their buffers; the programs and
 * FIFOs of a collective are built at its first use and kept; run launches one
 * interpreter kernel a rank from one host thread a rank, and watches them.
 *
 * Memory that other ranks reach is in regions: one allocation of each rank,
 * which other processes open (CUDA IPC).  Everybody makes and drops the same
 * regions in the same order, so that doing so may be a meeting.  Where a
 * process cannot be reached so, FIFOs go over a link (exec/link/link.h): they then
 * lie in pinned host memory, which the GPU reads and writes by itself.
 */
#ifndef GT_EXEC_CUDA_ENGINE_H
#define GT_EXEC_CUDA_ENGINE_H

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/link/bundle.h"
#include "exec/cuda/driver.h"
#include "exec/engine.h"
#include "exec/link/process_group.h"
#include "kernels/kernels.h"
#include "plan/ir/plan.h"

struct gt_arena;
struct gt_cuda_detour;
struct gt_registration;
struct gt_exchange_area;
struct gt_err;

struct gt_fifo_end;
struct gt_cuda_tracing;

/*
 * One collective's programs, on one rank; the last four of local ranks only.
 * Lane l of channel c of the plan is program c * nlanes + l, and a channel to
 * the kernel.
 */
struct gt_cuda_programs {
	uint32_t nlanes, nprograms;
	struct gt_program *programs; /* [nprograms], host */
	uint32_t *workers;           /* [nprograms]: that there are FIFOs for */
	uint32_t *conn_at; /* [nprograms + 1]: where a program's conns begin */
	uint32_t *fifo_at; /* [nprograms + 1]: where its FIFOs begin */
	struct gt_kernel_channel *image;    /* [nprograms], host */
	struct gt_fifo_end *ends;           /* of conns over links, host */
	struct gt_kernel_channel *channels; /* the image on the device */
	struct gt_kernel_conn *conns; /* device: [program][worker][conn] */
	struct gt_step *steps;
};

/*
 * One allocation of each rank.  What a local rank sees of another's: in
 * several processes an address holds for one viewer.
 */
struct gt_cuda_region {
	char **at;      /* [local rank][rank]; NULL: out of reach */
	uint64_t bytes; /* of each rank, if _grow made it */
	struct gt_cuda_mapping
		*maps; /* [rank]: of pieces; NULL: cudaMalloc()'s */
};

/* Which regions there are. */
enum {
	GT_CUDA_DATA,         /* input, then output */
	GT_CUDA_LL_BUFFERS,   /* of flows: mailboxes (ll, ll128), then flags */
	GT_CUDA_SCRATCH,      /* of copy engines */
	GT_CUDA_SENDRECV,     /* of messages: kernels/sendrecv.h */
	GT_CUDA_STEP_SCRATCH, /* of steps that have scratch */
	GT_CUDA_PREMUL,       /* inputs, multiplied */
	GT_CUDA_FIFOS,        /* of collective c at + c: flags, then slots */
	GT_CUDA_REGIONS = GT_CUDA_FIFOS + GT_NCOLLS
};

enum {
	GT_CUDA_FLAG_WORDS = 16,
	GT_CUDA_LINE_BYTES = 128,
	GT_CUDA_CE_PIECES = 32,     /* of a block for copy engines, at most */
	GT_CUDA_DETOUR_REPORTS = 1, /* the last: of a detour */
	GT_CUDA_RETIRED_MAX = 96,   /* each twice as large as the one before */
	/* Of a mailbox, for one sender: kernels.h. */
	GT_CUDA_LL_PART_BYTES = 512 << 10,
	GT_CUDA_LL128_PART_BYTES = 4608 << 10,
};

/* Of other processes' ranks only the tasks' host part is used. */
struct gt_cuda_rank {
	int device;
	cudaStream_t own;
	cudaStream_t stream; /* where requests go: the own, or the caller's */
	cudaEvent_t begin, end;
	uint64_t *wrong;
	struct gt_kernel_report *reports; /* [nblocks], host */
	struct gt_kernel_epoch *epoch;    /* of flows, on the device */
	struct gt_cuda_tracing *tracing;  /* trace.h; NULL: no trace */
	/* Of copy engines: */
	cudaStream_t side; /* reduces, keeps the own block, moves heads */
	cudaEvent_t done, reduced[GT_CUDA_CE_PIECES];
	struct gt_cuda_detour *detour; /* detour.c; NULL: none yet */
	struct gt_cuda_programs programs[GT_NCOLLS];
	struct gt_registration *registrations; /* user_buffers.h */
	uint64_t nregistrations;               /* so far */
};

/* How a request is cut; see gt_cuda_slicing_of(). */
struct gt_cuda_slicing {
	uint32_t workers; /* per channel */
	uint32_t slice_bytes;
	uint32_t turn;
};

/* How what reaches into all ranks' buffers gets there. */
enum gt_cuda_access {
	GT_CUDA_ACCESS_LOCAL, /* in one process, or nothing reaches there */
	GT_CUDA_ACCESS_REGISTERED, /* all have opened all */
	GT_CUDA_ACCESS_STAGED,     /* over the engine's own buffers */
};

/* Threads that carry slices between pinned FIFOs and sockets. */
struct gt_cuda_proxy {
	_Atomic int stop;
	_Atomic uint32_t calls; /* for whoever sleeps */
	uint32_t n;
	struct gt_cuda_proxy_thread {
		struct gt_engine *engine;
		pthread_t thread;
		int link;
	} carriers[GT_PROCESS_GROUP_LINKS];
};

struct gt_engine {
	struct gt_engine_config config; /* the caller's */
	const struct gt_plan *plan;
	struct gt_arena *arena;
	struct gt_arena *program_arenas[GT_NCOLLS];
	struct gt_process_group group;
	struct gt_cuda_proxy proxy;
	uint8_t *reachable;      /* [processes]: whose memory can be opened */
	int shares_files;        /* regions are, as handles cannot be opened */
	int all_peers_reachable; /* every rank reaches every other's memory */
	int has_128b_stores;     /* stores of 128 bytes arrive so: ll128 */
	int has_detours; /* large messages may go through the host, too */
	int has_devices, is_open,
		failed;             /* opened so far; only close is left */
	struct gt_cuda_rank *ranks; /* [nranks] */
	struct gt_cuda_region regions[GT_CUDA_REGIONS];
	struct gt_cuda_region
		retired[GT_CUDA_RETIRED_MAX]; /* kept until the end */
	uint32_t nretired;
	uint64_t data_bytes; /* of an input, and of an output */
	uint64_t
		step_scratch_bytes; /* of a channel, in the request that runs */
	/* Of all processes on this host, in memory that they share: */
	struct gt_shared_memory host_state;
	struct gt_shared_memory detour_slots; /* detour.c */
	struct gt_kernel_watch *watch;
	struct gt_kernel_report *reports; /* all ranks' */
	struct gt_exchange_area *exchange;
	int meets_always; /* loans have been open: every request is a meeting */
	struct gt_buffers *views; /* [local rank][rank], as it sees them */
	struct gt_cuda_slicing max_slicing; /* what FIFOs have room for */
	struct gt_cuda_slicing slicing;     /* the request's that runs */
	struct gt_layout layouts[GT_KERNEL_CHANNELS]; /* the request's */
	uint32_t nlanes;      /* of the request's collective */
	uint8_t *row_support; /* [coll][nselect]: program.c; 0: not known yet */
	uint32_t *
		channels; /* [nchannels]: the channels that carry the request */
	uint32_t nchannels;
	uint32_t threads;
	uint32_t nslots;
	uint32_t slot_pitch;
	uint32_t nblocks;       /* per rank, at most */
	uint32_t nmarks;        /* of a block, in the run that is traced */
	uint32_t processors;    /* of the GPU that has the fewest */
	uint32_t sharers;       /* other ranks on the same GPU, at most */
	uint32_t connected;     /* bits: collectives whose tasks are built */
	uint32_t loaded_dtypes; /* bits: types whose kernels are loaded */
	uint32_t p2p_dtypes;    /* bits: the same for kernels of flows */
	struct gt_algo_choice choice; /* the request's that runs */
	enum gt_cuda_access access;   /* the same, on callers' streams */
	uint32_t shared_bytes;
};

/* Not the interpreter's FIFOs: packets, direct stores or copy engines. */
static inline int gt_choice_is_p2p(const struct gt_algo_choice *choice)
{
	return choice->protocol != GT_PROTOCOL_SIMPLE;
}

/* Directly, but through scratch: where everybody adds up. */
static inline int gt_choice_is_scratch_reduce(
	const struct gt_algo_choice *choice, enum gt_coll coll)
{
	return choice->protocol == GT_PROTOCOL_DIRECT &&
	       (coll == GT_COLL_ALLREDUCE || coll == GT_COLL_REDUCESCATTER);
}

/* Where a rank's data of a request lie. */
struct gt_cuda_span {
	char *input, *output;
	uint64_t input_first, output_first;
	uint64_t input_count, output_count;
};

/* Rank's buffers, at the addresses that hold for a local rank. */
struct gt_cuda_span gt_cuda_span_of(const struct gt_engine *engine,
				    const struct gt_exec_request *req,
				    uint32_t viewer, uint32_t rank);

/* Rank's part of a region, as a local rank sees it. */
static inline char *gt_cuda_region_at(const struct gt_engine *engine,
				      int region, uint32_t viewer,
				      uint32_t rank)
{
	return engine->regions[region]
		.at[(viewer - engine->group.first) * engine->plan->nranks +
		    rank];
}

/*
 * ipc_memory.c: several processes.  _region_new is a meeting: it makes
 * bytes[rank] zeros for every rank.  _reach is the first, with which it is
 * found out who reaches whom.  _region_drop is a meeting, too; _region_keep
 * makes room for a new one, but frees nothing before the end.  _grow makes it
 * anew unless each rank has `need` bytes.  _data_need grows
 * the first region so, to have room for `bytes`.  _leave closes
 * what is other processes' in all regions, behind which _free may follow.
 */
int gt_cuda_region_new(struct gt_engine *engine, int region,
		       const uint64_t *bytes, struct gt_err *err);
int gt_cuda_region_drop(struct gt_engine *engine, int region,
			struct gt_err *err);
int gt_cuda_data_grow(struct gt_engine *engine, uint64_t bytes,
		      struct gt_err *err);
int gt_cuda_peers_probe(struct gt_engine *engine, struct gt_err *err);
int gt_cuda_region_grow(struct gt_engine *engine, int region, uint64_t need,
			const struct gt_exec_request *req, struct gt_err *err);
void gt_cuda_region_retire(struct gt_engine *engine, int region);
void gt_cuda_regions_unmap(struct gt_engine *engine);
void gt_cuda_regions_free(struct gt_engine *engine);

/* Zeros that all processes of this host map: a meeting. */
int gt_cuda_host_share(struct gt_engine *engine, size_t bytes,
		       struct gt_shared_memory *share, struct gt_err *err);

/* The board of this host; nblocks is known. */
int gt_cuda_host_state_open(struct gt_engine *engine, struct gt_err *err);
void gt_cuda_host_state_close(struct gt_engine *engine);

/* What links do to the memory of FIFOs; of the last two the engine is `arg`. */
extern const struct gt_link_memory_ops gt_cuda_pins;
int gt_cuda_gdr_new(void *arg, uint32_t rank, uint64_t bytes,
		    struct gt_link_device_memory *room, struct gt_err *err);
void gt_cuda_gdr_free(void *arg, uint32_t rank,
		      struct gt_link_device_memory *room);

/* GT_ESYS in words: "rank 2 (0000:00:08.0): cannot ...: out of memory". */
int gt_cuda_fail(const struct gt_engine *engine, uint32_t rank, int code,
		 const char *what, struct gt_err *err);

/*
 * Ranks to devices by bus id, or by number; refuses what cannot work, in all
 * processes alike.
 */
int gt_cuda_devices_assign(struct gt_engine *engine, struct gt_err *err);

/* Make all choices that the caller left open; GT_EINPUT for wrong ones. */
int gt_cuda_sizes_choose(struct gt_engine *engine, struct gt_err *err);

/* Workers of each channel and lane, as many as the row asks for or as fit. */
uint32_t gt_cuda_row_workers(const struct gt_engine *engine,
			     const struct gt_plan_select *row, uint32_t lanes);

/* The best cut for a request, within what was chosen. */
struct gt_cuda_slicing gt_cuda_slicing_of(const struct gt_engine *engine,
					  const struct gt_exec_request *req);

/* program.c: can kernels do a row's steps?  If not, *err says why. */
int gt_cuda_row_supported(const struct gt_engine *engine,
			  const struct gt_plan_select *row, enum gt_coll coll,
			  struct gt_err *err);

uint32_t gt_cuda_row_lanes(const struct gt_engine *engine,
			   const struct gt_plan_select *row, enum gt_coll coll);

/* How many of the first n connections receive: only those have a FIFO. */
uint32_t gt_cuda_conns_receiving(const struct gt_program *program, uint32_t n);

/* The programs of any rank: where a peer's FIFOs lie follows from its own. */
int gt_cuda_programs_lower(struct gt_engine *engine, enum gt_coll coll,
			   uint32_t rank, struct gt_err *err);

/*
 * Build the collective's programs and FIFOs unless they are there.  _all does
 * so for all that the plan has, if some go over links: those hold either one
 * collective's FIFOs or, for callers' streams, all of them for ever.
 */
int gt_cuda_connect(struct gt_engine *engine, enum gt_coll coll,
		    struct gt_err *err);
int gt_cuda_connect_all(struct gt_engine *engine, struct gt_err *err);

/* Does the plan have programs for it that GPUs can run? */
int gt_cuda_row_exists(const struct gt_engine *engine, enum gt_coll coll);

/* The plan's row for a request; can its channels run on GPUs? */
const struct gt_plan_select *gt_cuda_row_of(const struct gt_engine *engine,
					    const struct gt_exec_request *req);
int gt_cuda_row_check(const struct gt_engine *engine,
		      const struct gt_exec_request *req, struct gt_err *err);
/*
 * A number that changes when a local rank has used a FIFO over a link; 0: it
 * has none.
 */
int gt_cuda_link_progress(const struct gt_engine *engine, enum gt_coll coll,
			  uint32_t rank, uint64_t *moved);
void gt_cuda_disconnect(struct gt_engine *engine);

/* Set the layouts of a request; loads the type's kernels. */
int gt_cuda_layout_set(struct gt_engine *engine,
		       const struct gt_exec_request *req, struct gt_err *err);

/*
 * How to carry a request: what it asks for, or the fastest that is known.
 * GT_EINPUT when that is not possible.
 */
int gt_cuda_choose_algo(const struct gt_engine *engine,
			const struct gt_exec_request *req,
			struct gt_algo_choice *choice, struct gt_err *err);

/* A rank's part in a collective between GPUs that all reach each other. */
struct gt_p2p gt_cuda_p2p_of(const struct gt_engine *engine,
			     const struct gt_exec_request *req,
			     enum gt_algo algo, uint32_t rank);

/* Do packets of this way fit in the mailboxes? */
int gt_cuda_p2p_fits(const struct gt_engine *engine,
		     const struct gt_exec_request *req,
		     const struct gt_algo_choice *choice);

/* What a request's flow needs on all ranks, unless it is there. */
int gt_cuda_p2p_need(struct gt_engine *engine,
		     const struct gt_exec_request *req, struct gt_err *err);
int gt_cuda_ce_need(struct gt_engine *engine, const struct gt_exec_request *req,
		    struct gt_err *err);
void gt_cuda_ce_release(struct gt_engine *engine);

/* Mailboxes, flags and kernels of flows, unless they are there. */
int gt_cuda_p2p_open(struct gt_engine *engine, enum gt_dtype dtype,
		     struct gt_err *err);

int gt_cuda_p2p_load(struct gt_engine *engine, enum gt_dtype dtype,
		     struct gt_err *err);

/*
 * premul.c: the memory and the kernel that multiplies a rank's input; where
 * a local rank finds another's then.
 */
int gt_cuda_premul_need(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err);
int gt_cuda_premul_launch(const struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t rank);
char *gt_cuda_premul_input(const struct gt_engine *engine, const char *input,
			   uint32_t viewer, uint32_t rank);

/* Rank's flags, as a local rank sees them. */
uint64_t *gt_cuda_p2p_flags(const struct gt_engine *engine, uint32_t viewer,
			    uint32_t rank);

/*
 * All ranks' streams wait for one another, so that what comes next begins
 * together; a cudaError_t.  Behind gt_cuda_p2p_open().
 */
int gt_cuda_p2p_barrier(const struct gt_engine *engine, enum gt_dtype dtype,
			uint32_t rank);
void gt_cuda_p2p_release(struct gt_engine *engine);

struct gt_kernel_guard gt_cuda_guard_of(const struct gt_engine *engine,
					uint32_t rank);

/* In place, what comes would replace what has yet to go: it is copied first. */
int gt_cuda_p2p_overwrites(const struct gt_exec_request *req);

/* One rank's kernel of engine->choice; a cudaError_t. */
int gt_cuda_p2p_launch(const struct gt_engine *engine,
		       const struct gt_exec_request *req, uint32_t rank);

/* Of a protocol's mailbox: a sender's box for operations of one parity; and
 * where a rank's mailbox begins, as a local rank sees it. */
uint64_t gt_cuda_ll_buffer_bytes(int ll128);
char *gt_cuda_ll_buffer_at(const struct gt_engine *engine, uint32_t viewer,
			   uint32_t rank, int ll128);

/*
 * group.c: requests that are launched together.  _takes, behind
 * gt_cuda_prepare(): does this one go as packets or through scratch?  _flush
 * launches those that were added, on all local ranks, in as few launches as
 * they fit in.
 */
struct gt_cuda_fusion {
	const struct gt_exec_request *reqs[GT_GROUP_OPS];
	struct gt_bundle_op ops[GT_GROUP_OPS];
	uint32_t n;
};

int gt_cuda_fusion_takes(const struct gt_engine *engine,
			 const struct gt_exec_request *req);
void gt_cuda_fusion_add(const struct gt_engine *engine,
			struct gt_cuda_fusion *bundle,
			const struct gt_exec_request *req);
int gt_cuda_fusion_flush(struct gt_engine *engine,
			 struct gt_cuda_fusion *bundle, struct gt_err *err);

/*
 * scratch_reduce.c: the same where gt_choice_is_scratch_reduce(), how much scratch it takes, and
 * in pieces of how many elements.
 */
int gt_scratch_reduce_launch(const struct gt_engine *engine,
			     const struct gt_exec_request *req,
			     const struct gt_kernel_grid *grid, uint32_t rank);
uint64_t gt_scratch_reduce_bytes(const struct gt_engine *engine,
				 const struct gt_exec_request *req);
uint64_t gt_scratch_reduce_piece(const struct gt_p2p *flow, uint32_t blocks,
				 size_t elem_bytes);

/*
 * scratch_reduce_group.c: several in one launch.  _can: may this one be among them?
 * _fit: how many of the first, 1 at least; _need: scratch for all of them, of
 * one type and operator; _launch: one rank's, a cudaError_t.
 */
int gt_scratch_group_can(const struct gt_engine *engine,
			 const struct gt_exec_request *req);
uint32_t gt_scratch_group_fit(const struct gt_engine *engine,
			      const struct gt_exec_request *const *reqs,
			      uint32_t n);
int gt_scratch_group_need(struct gt_engine *engine,
			  const struct gt_exec_request *const *reqs, uint32_t n,
			  struct gt_err *err);
int gt_scratch_group_launch(const struct gt_engine *engine,
			    const struct gt_exec_request *const *reqs,
			    uint32_t n, uint32_t rank);

/*
 * detour.c: a part of a request goes through the host's memory.  _open
 * asks all processes whether there are to be detours.  _need makes what they
 * need, for the first that is one: a meeting.  Where a process cannot, none has
 * engine->has_detours any more, and who wants to know is told; that is GT_OK, but
 * a request that names a way with a detour is refused then.
 * _rest is what goes the main way, its part_count 0 if that is all.  Of that,
 * the main way puts the detour beside itself: it goes on from where a rank's
 * stream comes to _begin until where it comes to _launch; cudaError_ts.
 */
int gt_cuda_detour_open(struct gt_engine *engine, struct gt_err *err);
int gt_cuda_detour_need(struct gt_engine *engine, struct gt_err *err);
struct gt_exec_request gt_cuda_detour_rest(const struct gt_engine *engine,
					   const struct gt_exec_request *req);
int gt_cuda_detour_begin(const struct gt_engine *engine, uint32_t rank);
int gt_cuda_detour_launch(const struct gt_engine *engine,
			  const struct gt_exec_request *rest, uint32_t rank);
void gt_cuda_detour_release(struct gt_engine *engine);

/* The same by copy engines. */
int gt_cuda_ce_launch(const struct gt_engine *engine,
		      const struct gt_exec_request *req, uint32_t rank);

/* Choose a request's way and make what it needs, unless it is there. */
int gt_cuda_prepare(struct gt_engine *engine, const struct gt_exec_request *req,
		    struct gt_err *err);

/*
 * Processes come from a meeting at different times.  Their GPUs then wait for
 * one another before the clocks start, if they can.
 */
int gt_cuda_starts_together(const struct gt_engine *engine);

/* Put one rank's part on its stream; a cudaError_t. */
int gt_cuda_launch(const struct gt_engine *engine,
		   const struct gt_exec_request *req, uint32_t rank);

/*
 * sendrecv.c: messages, as engine_ops.async has them.  _blame: after an
 * abort, GT_ESYS or GT_EINPUT when a message was the reason, else GT_OK.
 */
int gt_cuda_sendrecv_setup(struct gt_engine *engine, struct gt_err *err);
int gt_cuda_sendrecv(struct gt_engine *engine, uint32_t rank, void *stream,
		     const struct gt_message *messages, uint32_t n,
		     struct gt_err *err);
int gt_cuda_sendrecv_diagnose(const struct gt_engine *engine,
			      struct gt_err *err);

/* The abort word. */
static inline void gt_cuda_abort(struct gt_engine *engine)
{
	__atomic_store_n(&engine->watch->abort, 1, __ATOMIC_RELEASE);
}

static inline int gt_cuda_is_aborted(const struct gt_engine *engine)
{
	return __atomic_load_n(&engine->watch->abort, __ATOMIC_ACQUIRE) != 0;
}

static inline int gt_cuda_interrupted(const struct gt_engine *engine)
{
	return engine->config.interrupt && *engine->config.interrupt;
}

/*
 * proxy.c: carry slices of links while kernels run.  GPUs ring no bells,
 * so whoever carries for them looks; on callers' streams for as long as the
 * engine lives, and more and more rarely until _call.
 */
int gt_cuda_proxy_start(struct gt_engine *engine, struct gt_err *err);
void gt_cuda_proxy_wake(struct gt_engine *engine);
void gt_cuda_proxy_stop(struct gt_engine *engine);

/* Are requests on callers' streams?  Their graphs have all addresses. */
static inline int gt_cuda_is_async(const struct gt_engine *engine)
{
	return !engine->config.max_bytes;
}

/* engine_ops.async. */
extern const struct gt_async_ops gt_cuda_async;

/* engine_ops.run. */
int gt_cuda_run(struct gt_engine *engine, const struct gt_exec_request *req,
		uint32_t iters, int64_t *elapsed_ns, struct gt_err *err);

/*
 * After an abort: GT_ESYS, naming the rank that the others waited for, or
 * when nobody waited the one that was late (nranks: none was).
 */
int gt_cuda_diagnose(const struct gt_engine *engine, uint32_t late,
		     struct gt_err *err);

#endif
