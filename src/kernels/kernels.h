/*
 * The GPU side as C sees it: plain structures that live in device memory and
 * launchers that return a cudaError_t as int.  Nothing here blocks or
 * allocates; everything is enqueued on the stream given, on the current
 * device.  All pointers are valid on that device.
 *
 * The interpreter runs one block per worker of a channel.  A block has
 * `threads` threads that move bytes and two warps more: one waits for flags
 * and prepares slices ahead, one posts flags of slices that were moved.
 */
#ifndef GT_KERNELS_KERNELS_H
#define GT_KERNELS_KERNELS_H

#include <stdint.h>

#include "base/dtype.h"
#include "kernels/p2p.h"
#include "kernels/pattern.h"
#include "plan/ir/program.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

enum {
	GT_KERNEL_CONTROL_THREADS = 64, /* besides the moving ones */
	GT_KERNEL_MAX_THREADS = 512,    /* moving ones, multiple of 32 */
	GT_KERNEL_SLOT_ALIGN = 128,
	GT_KERNEL_SLOT_EXTRA = 128, /* slot pitch = slice bytes + this */
	GT_KERNEL_CHANNELS = 64,    /* at most: arguments are below 4 KiB */
	GT_KERNEL_OPERANDS = 32,    /* of a step, at most */
};

/* A conn is one end of a worker's FIFO. */
struct gt_kernel_conn {
	char *slots;    /* in the receiver's memory, or the host's */
	uint64_t *wait; /* there too, or own: data if it receives, or credit */
	uint64_t *post; /* the other end's counter */
	uint32_t *lengths; /* NULL, or where a sender notes bytes by slot */
	uint64_t base;     /* slices before this launch; the kernel adds */
	uint32_t uses;     /* slices per pass of the program */
	uint32_t peer;
	uint32_t sends;
	uint32_t reserved;
};

/*
 * One channel of a rank, or one lane of it.  In `steps`, the chunk of an
 * operand that uses a connection is the number of slices that this carried
 * before it in the same pass.
 */
struct gt_kernel_channel {
	const struct gt_step *steps;
	struct gt_kernel_conn *conns; /* [worker][nconns] */
	uint32_t nrecords;            /* in `steps` */
	uint32_t nsteps;              /* of one record or several */
	uint32_t nconns;
	uint32_t reserved;
};

/*
 * A report says why a block waits. Each block has one in host memory and writes
 * it when a wait lasts long.
 */
struct gt_kernel_report {
	uint32_t state; /* enum gt_kernel_state */
	uint32_t peer;
	uint32_t channel;
	uint32_t step; /* the step's id */
	uint64_t slice;
};

enum gt_kernel_state {
	GT_KERNEL_SILENT,      /* nothing to tell */
	GT_KERNEL_WAIT_DATA,   /* for the peer's data */
	GT_KERNEL_WAIT_CREDIT, /* for the peer to make room */
	GT_KERNEL_MISMATCH,    /* messages: the peer sends `slice` bytes */
};

/*
 * When a slice of a block was waited for, ready, moved and posted, by the
 * GPU's own clock; zeros if it never was.
 */
struct gt_kernel_mark {
	uint64_t at_ns[4]; /* GT_MARK_... */
};

enum {
	GT_MARK_SINCE, /* waits begin, */
	GT_MARK_READY, /* all are over; */
	GT_MARK_DONE,  /* it was moved, */
	GT_MARK_POSTED /* and announced */
};

/*
 * In the kernel of a p2p flow a block has a mark for each of its stages and
 * each rank: its own says when the stage began, had all that it waits for and
 * was done, a peer's when it was READY.
 */
enum { GT_P2P_STAGES = 3 };

/*
 * The watch lies in mapped host memory and is shared by the host and all ranks.
 */
struct gt_kernel_watch {
	uint32_t abort; /* not 0: everyone ends at once */
};

enum gt_kernel_fault {
	GT_KERNEL_FAULT_NONE,
	GT_KERNEL_FAULT_STALL,
	GT_KERNEL_FAULT_EXIT,
};

/* Arguments of one launch of one rank; channels with no loops do nothing. */
struct gt_kernel_args {
	struct gt_layout layouts[GT_KERNEL_CHANNELS];
	struct gt_kernel_channel *channels;
	struct gt_kernel_watch *watch;
	struct gt_kernel_report *reports; /* of this rank's blocks */
	const void *input;
	void *output;
	uint64_t input_first; /* index of the input's first element */
	uint64_t output_first;
	char *scratch;          /* [channel of the plan][place][worker][loop] */
	uint64_t scratch_bytes; /* of a channel */
	struct gt_kernel_mark *marks; /* [block][nmarks] */
	uint64_t timeout_ns;          /* of one wait */
	uint64_t fault_slice;
	uint32_t fault; /* enum gt_kernel_fault */
	uint32_t op;    /* enum gt_redop */
	uint32_t nranks;
	uint32_t nchannels;
	uint32_t nlanes; /* so many of them are a channel of the plan */
	uint32_t nworkers;
	uint32_t nslots;
	uint32_t slot_pitch; /* bytes; of a place in scratch, too */
	uint32_t renames;    /* who receives has another name for a chunk */
	uint32_t nmarks;     /* of a block; 0: no trace */
	uint32_t turn;       /* slices of a step before the next, >= 1 */
	uint32_t threads;    /* that move */
	uint32_t shared_bytes;
};

/* Returns the shared memory that a program of this size takes, in bytes. */
static inline uint32_t gt_kernel_shared_bytes(uint32_t nrecords,
					      uint32_t nconns, uint32_t nchunks)
{
	return nrecords * (uint32_t)sizeof(struct gt_step) +
	       nconns * (uint32_t)(sizeof(struct gt_kernel_conn) + 8) +
	       nchunks * (uint32_t)sizeof(struct gt_range);
}

/* Load the kernels on the current device and allow shared_bytes. */
int gt_kernel_prepare(enum gt_dtype dtype, uint32_t shared_bytes);

int gt_kernel_run(enum gt_dtype dtype, const struct gt_kernel_args *args,
		  struct CUstream_st *stream);

/*
 * The clock exchange lies in host memory: the host asks for round 1, 2 ..., the
 * GPU tells the time of each. It tells nothing once all takes longer than
 * limit_ns.
 */
struct gt_kernel_clock {
	uint32_t asked;
	uint32_t reserved;
	uint64_t told_ns;
};

int gt_kernel_clock_run(struct gt_kernel_clock *clock, uint32_t rounds,
			uint64_t limit_ns, struct CUstream_st *stream);

enum { GT_KERNEL_EPOCH = 1 << 16 }; /* more than a launch has blocks */

/*
 * The epoch counts the operations on this rank so far, in device memory. The
 * blocks of one launch of each operation add up to GT_KERNEL_EPOCH.
 */
struct gt_kernel_epoch {
	uint64_t count;
};

/* The guard is what every kernel of a p2p flow needs to wait safely. */
struct gt_kernel_guard {
	struct gt_kernel_epoch *epoch;
	struct gt_kernel_watch *watch;
	struct gt_kernel_report *reports; /* of this rank's blocks */
	uint64_t timeout_ns;              /* of one wait */
	uint32_t fault;                   /* enum gt_kernel_fault */
	uint32_t reserved;
	/* [block][GT_P2P_STAGES][GT_P2P_RANKS], or NULL: no trace */
	struct gt_kernel_mark *marks;
};

enum {
	GT_PACKET_WARPS = 16, /* per block, at most */
	GT_PACKET_THREADS = GT_PACKET_WARPS * 32,
	GT_PACKET_CHUNK_BYTES = 1024,
	GT_LL_CHUNK_DATA = 512, /* bytes of data in a chunk */
	GT_LL128_CHUNK_DATA = 960,
	GT_DIRECT_THREADS = 512,
	GT_PREMUL_THREADS = 512,
	GT_DIRECT_STAGES = 4096, /* of one operation, more than there are */
};

/*
 * Flows as packets. An LL buffer holds, for operations of even and of odd
 * number, a box for each rank that sends. A box has two parts; a flow that does
 * not spread uses both as one. The buffer begins as zeros and belongs to one
 * protocol.
 */
struct gt_packet_part {
	struct gt_p2p flow;
	const char *input;
	char *output;
	/*
	 * The size of a part, the size of the box that it is in, and where the
	 * box begins in the LL buffer.
	 */
	uint64_t part_bytes, box_bytes, ll_buffer_at;
	uint32_t dtype, op; /* to a kernel for all of them */
};

struct gt_packet_args {
	struct gt_kernel_guard guard;
	struct gt_packet_part part;
	char *ll_buffer[GT_P2P_RANKS];
};

enum {
	GT_GROUP_OPS = 72,   /* at most: arguments are below 4 KiB */
	GT_GROUP_WARPS = 16, /* per block, at most */
};

/*
 * One of several operations that one launch carries as packets.  Sizes are in
 * bytes, those of the flow too; what it is to the others is in chunks.
 */
struct gt_group_op {
	const char *input;
	char *output;
	uint32_t count, end, in_stride, out_stride;
	uint32_t divide;
	uint16_t to, from;
	uint16_t ll_chunk; /* its first chunk in a sender's LL buffer */
	uint16_t chunks;   /* of a part */
	uint8_t flags;
	uint8_t ll128;
	uint8_t dtype;
	uint8_t op;
};

struct gt_group_args {
	struct gt_kernel_guard guard;
	char *ll_buffer[GT_P2P_RANKS];
	uint64_t ll_buffer_at[2]; /* ll, ll128: where their mailboxes begin */
	uint64_t box_bytes[2]; /* of a sender, for operations of one parity */
	uint32_t me, nranks;
	uint32_t nops;
	uint32_t reserved;
	uint16_t ends[GT_GROUP_OPS]; /* of each operation's warps */
	struct gt_group_op ops[GT_GROUP_OPS];
};

/*
 * Flows between registered buffers. Flags are in each rank's memory, zeros at
 * first, GT_P2P_RANKS words a block. A stage of 0 is left out.
 */
struct gt_direct_args {
	struct gt_kernel_guard guard;
	struct gt_p2p flow;
	const char *input[GT_P2P_RANKS];
	char *output[GT_P2P_RANKS];
	uint64_t *flags[GT_P2P_RANKS];
	uint32_t begin_post, begin_wait; /* stages, before */
	uint32_t moves; /* whether it moves data, not flags alone */
	uint32_t end_post, end_wait; /* stages, behind */
	uint32_t last;               /* kernel of its operation */
	uint32_t one_word;           /* block 0's flags are for all */
	uint32_t keepers; /* the first blocks: move what stays on this rank */
};

/*
 * Flows through scratch. Data that rank r sends to be added up here comes to
 * mine[r]; data that this rank sends there goes to theirs[r].
 */
struct gt_scratch_args {
	struct gt_kernel_guard guard;
	struct gt_p2p flow;
	const char *input;
	char *output[GT_P2P_RANKS];
	char *theirs[GT_P2P_RANKS];
	const char *mine[GT_P2P_RANKS];
	uint64_t *flags[GT_P2P_RANKS];
	uint64_t piece; /* elements; a multiple of 16 bytes */
};

enum {
	GT_SCRATCH_GROUP_OPS = 66, /* at most: arguments are below 4 KiB */
	GT_SCRATCH_GROUP_OUTPUTS = GT_SCRATCH_GROUP_OPS * 4,
	GT_SCRATCH_GROUP_LINE_BYTES = 128,
};

/*
 * One of several reductions that one launch carries through scratch.  Its
 * slices begin with lines, on 16-byte boundaries of all ranks' inputs.
 */
struct gt_scratch_group_op {
	const char *input;
	uint32_t end_line; /* where the next one's slice begins */
	uint32_t slice;    /* bytes of a rank's */
	uint32_t bytes;    /* of all slices of one that spreads */
	uint8_t spreads;
	uint8_t divides;
	uint16_t reserved;
};

struct gt_scratch_group_args {
	struct gt_kernel_guard guard;
	uint64_t *flags[GT_P2P_RANKS];
	char *scratch[GT_P2P_RANKS]; /* slices of all ranks but the owner */
	uint32_t lines;              /* of all slices of a rank */
	uint32_t piece;              /* lines */
	uint32_t me, nranks;
	uint32_t nops;
	uint32_t reserved;
	struct gt_scratch_group_op ops[GT_SCRATCH_GROUP_OPS];
	char *outputs[GT_SCRATCH_GROUP_OUTPUTS]; /* [op][rank] */
};

struct gt_kernel_grid {
	enum gt_dtype dtype;
	enum gt_redop op;
	uint32_t blocks, threads;
	int overlaps; /* set up while the kernel before it still runs */
	struct CUstream_st *stream;
};

/* to[i] = from[i] * by. */
struct gt_premul_args {
	const void *from;
	void *to;
	uint64_t count; /* elements */
	struct gt_scalar by;
};

/* Loads all kernels of p2p flows of this type on the current device. */
int gt_p2p_prepare(enum gt_dtype dtype);

int gt_packet_run(const struct gt_kernel_grid *grid, int ll128,
		  const struct gt_packet_args *args);
int gt_direct_run(const struct gt_kernel_grid *grid,
		  const struct gt_direct_args *args);
int gt_scratch_run(const struct gt_kernel_grid *grid,
		   const struct gt_scratch_args *args);
int gt_scratch_group_run(const struct gt_kernel_grid *grid,
			 const struct gt_scratch_group_args *args);
int gt_premul_run(const struct gt_kernel_grid *grid,
		  const struct gt_premul_args *args);

/*
 * Runs several operations in one launch. A grid of one type takes sums,
 * averages and collectives that only move; a grid of GT_NDTYPES takes any types
 * and operators, and gt_group_prepare() loads its kernel.
 */
int gt_group_prepare(void);
int gt_group_run(const struct gt_kernel_grid *grid,
		 const struct gt_group_args *args);

/*
 * Beside the packets of operation `number`, which are launched behind it on
 * another stream: marks of block 0 say when the first of each rank and part
 * came, the part for a stage.
 */
int gt_packet_watch(int ll128, const struct gt_packet_args *args,
		    uint64_t number, struct CUstream_st *stream);

enum { GT_DETOUR_MEETINGS = 1 << 20 }; /* of an operation, far more */

/*
 * A detour's barrier: tells all ranks that this one has come, and waits for
 * them. The operation's number is from the detours' own epoch.
 */
struct gt_detour_args {
	struct gt_kernel_guard guard;  /* one report */
	uint64_t *flags[GT_P2P_RANKS]; /* in the host's memory; only grow */
	uint32_t number;               /* of the operation's meetings, from 1 */
	uint32_t me, nranks;
	uint32_t last; /* of its operation */
};

int gt_detour_prepare(void);
int gt_detour_run(const struct gt_detour_args *args,
		  struct CUstream_st *stream);

/* A range of test data, whose indices count in the whole buffer. */
struct gt_kernel_data {
	struct gt_pattern pattern;
	void *data;
	uint64_t first; /* index of data[0] */
	uint64_t count;
	uint64_t block_elems; /* check: of an all-gather */
	uint64_t *wrong;      /* check adds to it; device memory */
	uint32_t rank;        /* fill: whose contribution */
};

int gt_kernel_fill(const struct gt_kernel_data *data,
		   struct CUstream_st *stream);
int gt_kernel_check(const struct gt_kernel_data *data,
		    struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
