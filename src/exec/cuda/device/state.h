/*
 * The CUDA engine's state: what it has on its GPUs and what it knows of the
 * request that runs.  Only files of exec/cuda may look inside.
 *
 * Memory that other ranks reach is in regions: one allocation of each rank,
 * which other processes open (CUDA IPC).  Everybody makes and drops the same
 * regions in the same order, so that doing so may be a meeting.  Where a
 * process cannot be reached so, FIFOs go over a link (exec/link/link.h): they
 * then lie in pinned host memory, which the GPU reads and writes by itself.
 */
#ifndef GT_EXEC_CUDA_DEVICE_STATE_H
#define GT_EXEC_CUDA_DEVICE_STATE_H

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "exec/cuda/device/driver.h"
#include "exec/engine.h"
#include "exec/link/process_group.h"
#include "kernels/kernels.h"
#include "plan/ir/plan.h"

struct gt_arena;
struct gt_cuda_capture;
struct gt_cuda_detour;
struct gt_cuda_tracing;
struct gt_err;
struct gt_exchange_area;
struct gt_fifo_end;
struct gt_pair_counters;
struct gt_registration;

/*
 * One collective's programs on one rank.  Lane l of channel c of the plan is
 * program c * nlanes + l, which the kernel takes for a channel.  Only local
 * ranks have what comes after fifo_at.
 */
struct gt_cuda_programs {
	uint32_t nlanes, nprograms;
	struct gt_program *programs; /* [nprograms], on the host */
	uint32_t *workers;           /* [nprograms]: so many have FIFOs */
	uint32_t *conn_at; /* [nprograms + 1]: where a program's conns begin */
	uint32_t *fifo_at; /* [nprograms + 1]: where its FIFOs begin */
	struct gt_kernel_channel *image;    /* [nprograms], on the host */
	struct gt_fifo_end *ends;           /* conns over links, on the host */
	struct gt_kernel_channel *channels; /* the image on the device */
	struct gt_kernel_conn *conns; /* device: [program][worker][conn] */
	struct gt_step *steps;        /* on the device */
};

/*
 * One allocation of each rank.  An address holds for one viewer only, because
 * each process maps the others' memory where it likes.
 */
struct gt_cuda_region {
	char **at;      /* [local rank][rank]; NULL: out of reach */
	uint64_t bytes; /* of each rank, if gt_cuda_region_grow() made it */
	struct gt_cuda_mapping *maps; /* [rank], if it is shared by files;
					 NULL: cudaMalloc() made it ... */
	struct gt_shared_memory host; /* ... or it is memory of the host, if
					 there is some */
};

/* There are these regions. */
enum {
	GT_CUDA_DATA,         /* an input, then an output; what lane 0 holds */
	GT_CUDA_LL_BUFFERS,   /* buffers of LL and LL128, then flags */
	GT_CUDA_SCRATCH,      /* what waits to be reduced on its rank */
	GT_CUDA_SENDRECV,     /* buffers of messages: kernels/sendrecv.h */
	GT_CUDA_STEP_SCRATCH, /* for steps of a plan that have scratch */
	GT_CUDA_PREMUL,       /* inputs that were multiplied; lane 1's */
	GT_CUDA_FIFOS,        /* collective c's at + c: flags, then slots */
	GT_CUDA_REGIONS = GT_CUDA_FIFOS + GT_NCOLLS
};

enum {
	GT_CUDA_FLAG_WORDS = 16,
	GT_CUDA_LINE_BYTES = 128,
	GT_CUDA_LANE_ALIGN = 4096,
	GT_CUDA_CE_PIECES = 32,     /* of a block for copy engines, at most */
	GT_CUDA_DETOUR_REPORTS = 1, /* a detour has the last of a rank's */
	GT_CUDA_RETIRED_MAX = 96,   /* each twice as large as the one before */
};

/* Between the stream of copies and a lane's, of a piece. */
enum gt_cuda_edge {
	GT_CUDA_EDGE_SENT,
	GT_CUDA_EDGE_MET,
	GT_CUDA_EDGE_FETCHED,
	GT_CUDA_EDGES,
};

/* A rank of any process; only programs are known of other processes' ranks. */
struct gt_cuda_rank {
	int device;
	int numa_node; /* of the host, next to its GPU; -1: not known */
	cudaStream_t own;
	cudaStream_t stream; /* where requests go: the own, or the caller's */
	cudaEvent_t begin, end;
	uint64_t *wrong; /* elements, counted on the device */
	/* On the device, as the engine's; NULL: all blocks are alike. */
	struct gt_layout_span *spans;
	uint64_t *coming;
	struct gt_kernel_report *reports; /* [nblocks], on the host */
	struct gt_kernel_epoch *epoch;    /* [lane]: of p2p kernels, on the
					     device */
	struct gt_cuda_tracing *tracing;  /* NULL: nothing is traced */
	struct gt_pair_counters *message_counts; /* on the device; or NULL */
	/* Messages sent to itself that it has yet to receive, or negative. */
	int64_t own_messages;
	int own_in_graphs;   /* or graphs have such, launched or not */
	cudaStream_t side;   /* beside copy engines: it reduces, keeps the own
			      block and moves heads; or it is lane 0's */
	cudaStream_t second; /* lane 1's; NULL: there are no lanes */
	cudaStream_t caller; /* copies between GPUs, of both lanes */
	cudaEvent_t done, reduced[GT_CUDA_CE_PIECES];
	cudaEvent_t edges[2][GT_CUDA_EDGES]; /* of each lane */
	struct gt_cuda_detour *detour;       /* p2p/detour.h; NULL: none yet */
	/*
	 * Streams for what is captured (p2p/captures.h), and which of them are
	 * in the place of the rank's while it puts a request; NULL: none are.
	 */
	struct gt_cuda_capture *captures, *capture;
	struct gt_cuda_programs programs[GT_NCOLLS];
	struct gt_registration *registrations; /* registration.h */
	uint64_t nregistrations;               /* that were made so far */
};

/* A request is cut into slices so; slicing.c chooses it. */
struct gt_cuda_slicing {
	uint32_t workers; /* per channel */
	uint32_t slice_bytes;
	uint32_t turn; /* slots that a slice of the plan is handed over in */
};

/*
 * A request that reaches into all ranks' buffers gets there in one of these
 * ways.
 */
enum gt_cuda_access {
	GT_CUDA_ACCESS_LOCAL,      /* one process, or nothing reaches there */
	GT_CUDA_ACCESS_REGISTERED, /* everybody has opened all buffers */
	GT_CUDA_ACCESS_STAGED,     /* over the engine's own buffers */
	GT_CUDA_ACCESS_PULLED, /* copy engines fetch from those of the others */
};

/* Threads that carry slices between pinned FIFOs and links (proxy.c). */
struct gt_cuda_proxy {
	_Atomic int stop;
	_Atomic uint32_t calls; /* a thread that sleeps looks at it */
	uint32_t n;
	struct gt_cuda_proxy_thread {
		struct gt_engine *engine;
		pthread_t thread;
		int link;
	} threads[GT_PROCESS_GROUP_LINKS];
};

/* Since when a process is behind others with so many operations called. */
struct gt_cuda_late {
	uint64_t n;
	int64_t since_ns; /* 0: it is not */
	int told;
};

struct gt_engine {
	struct gt_engine_config config; /* the caller's */
	const struct gt_plan *plan;
	struct gt_arena *arena;
	struct gt_process_group group;
	struct gt_cuda_rank *ranks; /* [nranks] */
	/* Open has come so far; after a failure only close is left. */
	int has_devices, is_open, failed;

	/* Who reaches whose memory (device/peers.c). */
	uint8_t *reachable; /* [processes]: its memory can be opened */
	/*
	 * [processes]: it is this one, which may have several ranks of a world
	 * each as a process of its own.
	 */
	uint8_t *same;
	int some_are_same;       /* so it is for any two; all know */
	int all_peers_reachable; /* every rank reaches every other's memory */
	/*
	 * Some GPUs have no peer access, so whatever ranks reach of each other
	 * is in the memory of their host, which all reach.  Buffers are not.
	 */
	int stages_in_host;
	int shares_files;    /* by files, as handles cannot be opened */
	int has_128b_stores; /* 128 bytes arrive as a whole, as LL128 needs */
	int has_detours;     /* large messages may go through the host, too */

	/* Memory on the GPUs (device/ipc_memory.h). */
	struct gt_cuda_region regions[GT_CUDA_REGIONS];
	struct gt_cuda_region retired[GT_CUDA_RETIRED_MAX]; /* until the end */
	uint32_t nretired;
	uint64_t data_bytes; /* of an input, and of an output */
	/*
	 * Several processes on callers' streams: so much of a request goes
	 * through what all have made at the beginning (reserve.c); 0: requests
	 * make what they need.
	 */
	uint64_t reserved_bytes;
	int has_large_regions; /* region_budget.h counts it */

	/* Of the host, for all ranks (device/host_memory.h). */
	uint64_t pinned_bytes, pinned_most;

	/* All processes of this host share these (engine.c). */
	struct gt_shared_memory host_state;
	struct gt_kernel_watch *watch;    /* the abort word */
	struct gt_kernel_report *reports; /* [nranks][nblocks] */
	/* Where buffers lie; NULL if more than GT_P2P_RANKS ranks. */
	struct gt_exchange_area *exchange;
	struct gt_shared_memory detour_slots;

	/* Callers' buffers (user_buffers.h). */
	struct gt_buffers *views; /* [local rank][rank], as it sees them */
	struct gt_registration *_Atomic left; /* to be closed by and by */
	uint32_t turns_missed; /* to do that, in a row (closing_turn.h) */
	uint32_t ngrown;       /* times that registering has made memory anew */
	uint64_t compared[GT_P2P_RANKS]; /* lines of ledgers, with each other */
	struct gt_cuda_late late[GT_P2P_RANKS]; /* of processes; the watch's */

	/* Sizes, alike for all requests (slicing.c). */
	struct gt_cuda_slicing max_slicing; /* what FIFOs have room for */
	uint32_t threads;                   /* of a block, that move bytes */
	uint32_t nslots;
	uint32_t slot_pitch;   /* bytes from one slot to the next */
	uint32_t nblocks;      /* per rank, at most */
	uint32_t processors;   /* of the GPU that has the fewest */
	uint32_t sharers;      /* other ranks on the same GPU, at most */
	uint32_t shared_bytes; /* of a block's shared memory, so far */

	/* Programs and kernels; bits are collectives or types. */
	struct gt_arena *program_arenas[GT_NCOLLS];
	/*
	 * mesh.c: a row for what only moves, through FIFOs in the host's
	 * memory, that no plan has to name; or NULL.
	 */
	const struct gt_plan_select *mesh_row;
	/* [row][coll], the last row the mesh's: row.c; 0: not known yet. */
	uint8_t *row_support;
	uint32_t connected;     /* bits: collectives whose FIFOs are built */
	uint32_t loaded_dtypes; /* bits: the interpreter is loaded */
	uint32_t p2p_dtypes;    /* bits: p2p kernels are loaded */
	struct gt_cuda_proxy proxy;

	/* The request that runs. */
	struct gt_algo_choice choice;
	enum gt_cuda_access access; /* on callers' streams */
	uint64_t piece_count;       /* elements of a block that go at a time */
	/*
	 * Pieces go in two lanes, each with flags and numbers of its own and a
	 * part of what is reserved, so that one copies while the other waits.
	 */
	uint32_t lane;
	int shares_wire; /* both copy on the caller's stream */
	struct gt_cuda_slicing slicing;
	struct gt_layout layouts[GT_KERNEL_CHANNELS];
	/* Where the plan's demand has blocks differ (demand.c); or NULL. */
	struct gt_layout_span *spans; /* [channel of the plan][from][to] */
	uint64_t *coming;   /* [from]: elements, to the rank that is checked */
	uint32_t nlanes;    /* of its collective */
	uint32_t *channels; /* [nchannels]: those that carry it */
	uint32_t nchannels;
	uint64_t step_scratch_bytes; /* of a channel */
	uint32_t nmarks;             /* of a block, if it is traced */
};

/* Does it go as packets, by direct stores or copy engines, not by FIFOs? */
static inline int gt_choice_is_p2p(const struct gt_algo_choice *choice)
{
	return choice->protocol != GT_PROTOCOL_SIMPLE;
}

/* Does one rank's block go to all, or do all of them come to one? */
static inline int gt_choice_has_one_root(enum gt_coll coll)
{
	return coll == GT_COLL_BROADCAST || coll == GT_COLL_REDUCE;
}

/*
 * Does it go by direct stores through scratch?  That is how ranks add up where
 * each has a part of the sum.
 */
static inline int gt_choice_is_scratch_reduce(
	const struct gt_algo_choice *choice, enum gt_coll coll)
{
	return choice->protocol == GT_PROTOCOL_DIRECT && !choice->waits_apart &&
	       (coll == GT_COLL_ALLREDUCE || coll == GT_COLL_REDUCESCATTER);
}

/*
 * Do copy engines fetch from the engine's own buffers to the caller's?  So what
 * others cannot reach is copied once, or not at all, instead of before and
 * behind.
 */
static inline int gt_cuda_pulls(const struct gt_engine *engine)
{
	return engine->access == GT_CUDA_ACCESS_PULLED;
}

/*
 * How many blocks may a rank's kernels have at a time?  Blocks wait for those
 * of other ranks, so never more than the GPU runs at once; and no more than the
 * caller, or who chose the algorithm, allows (0: any number).
 */
static inline uint32_t gt_cuda_blocks_allowed(const struct gt_engine *engine,
					      uint32_t max_blocks)
{
	uint32_t given = engine->config.max_blocks, most = engine->processors;

	if (given && given < most)
		most = given;
	return max_blocks && max_blocks < most ? max_blocks : most;
}

/*
 * Beside a program that computes, packets wait in few blocks, and carry no more
 * than these do at once.
 */
enum { GT_CUDA_OVERLAP_BLOCKS = 24 };

static inline uint32_t gt_cuda_packet_blocks(const struct gt_engine *engine,
					     uint32_t max_blocks)
{
	return engine->config.overlap && max_blocks > GT_CUDA_OVERLAP_BLOCKS
		       ? GT_CUDA_OVERLAP_BLOCKS
		       : max_blocks;
}

/*
 * May a launch of so many blocks at most be set up while the one before still
 * runs?  It holds as many blocks more till then, so only where all are allowed.
 */
static inline int gt_cuda_may_overlap(const struct gt_engine *engine,
				      uint32_t max_blocks)
{
	return max_blocks >= engine->processors;
}

/* A lane has its part of each region that pieces go through. */
static inline uint64_t gt_cuda_lane_bytes(const struct gt_engine *engine,
					  int region)
{
	uint64_t all = region == GT_CUDA_SCRATCH ? engine->regions[region].bytes
		       : region == GT_CUDA_DATA || region == GT_CUDA_PREMUL
			       ? engine->reserved_bytes
			       : 0;

	return all / 2 / GT_CUDA_LANE_ALIGN * GT_CUDA_LANE_ALIGN;
}

/* The address of all of a rank's part of a region, as a local rank sees it. */
static inline char **gt_cuda_region_slot(const struct gt_engine *engine,
					 int region, uint32_t viewer,
					 uint32_t rank)
{
	return &engine->regions[region].at[(viewer - engine->group.first) *
						   engine->plan->nranks +
					   rank];
}

/* The address at which the part of the lane that goes on begins. */
static inline char *gt_cuda_region_at(const struct gt_engine *engine,
				      int region, uint32_t viewer,
				      uint32_t rank)
{
	return *gt_cuda_region_slot(engine, region, viewer, rank) +
	       engine->lane * gt_cuda_lane_bytes(engine, region);
}

/*
 * What copy engines fetch, and what waits to be added up before, is held here,
 * reserved_bytes of it at most, where nothing is made anew while the engine is
 * open: who sends may have begun before others have.  Whoever ends an operation
 * has read what it holds: others may write there before this rank begins the
 * next one.
 */
static inline char *gt_cuda_held_at(const struct gt_engine *engine,
				    uint32_t viewer, uint32_t rank)
{
	return *gt_cuda_region_slot(
		engine, engine->lane ? GT_CUDA_PREMUL : GT_CUDA_DATA, viewer,
		rank);
}

/* An input may begin behind any boundary of so many bytes, which a pack has. */
enum { GT_PREMUL_EDGE_BYTES = 16 };

/* A rank's data of a request lie here. */
struct gt_cuda_span {
	char *input, *output;
	uint64_t input_first, output_first; /* elements, in the whole buffer */
	uint64_t input_count, output_count; /* elements */
};

/* Find the rank's buffers, at the addresses that hold for a local rank. */
struct gt_cuda_span gt_cuda_span_of(const struct gt_engine *engine,
				    const struct gt_exec_request *req,
				    uint32_t viewer, uint32_t rank);

/* Say where a local rank finds the rank's input after it was multiplied. */
char *gt_cuda_premul_input(const struct gt_engine *engine, const char *input,
			   uint32_t viewer, uint32_t rank);

/* devices.c: give each rank its device; refuses what cannot work, in all
 * processes alike. */
int gt_cuda_devices_assign(struct gt_engine *engine, struct gt_err *err);

/* List the GPUs of this process; return how many they are. */
uint32_t gt_cuda_local_devices(const struct gt_engine *engine,
			       int devices[GT_P2P_RANKS]);

/* Set GT_ESYS in words: "rank 2 (0000:00:08.0): cannot ...: out of memory". */
int gt_cuda_fail(const struct gt_engine *engine, uint32_t rank, int code,
		 const char *what, struct gt_err *err);

/* Make all kernels and waits of this host's processes end. */
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

/* Are requests on callers' streams?  Their graphs then hold all addresses. */
static inline int gt_cuda_is_async(const struct gt_engine *engine)
{
	return !engine->config.max_bytes;
}

#endif
