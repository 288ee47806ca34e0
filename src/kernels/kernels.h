/*
 * The GPU side as C sees it: plain structures that live in device memory and
 * launchers that return a cudaError_t as int.  Nothing here blocks or
 * allocates; everything is enqueued on the stream given, on the current
 * device.  All pointers are valid on that device.
 *
 * guard.h has what all kernels share that wait, p2p.h the collectives between
 * GPUs that reach each other; the rest is here: the interpreter, a GPU's clock,
 * and test data.
 *
 * The interpreter runs one block per worker of a channel.  A block has
 * `threads` threads that move bytes and two warps more: one waits for flags
 * and prepares slices ahead, one posts flags of slices that were moved.
 */
#ifndef GT_KERNELS_KERNELS_H
#define GT_KERNELS_KERNELS_H

#include <stdint.h>

#include "base/dtype.h"
#include "kernels/guard.h"
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

/* Arguments of one launch of one rank; channels with no loops do nothing. */
struct gt_kernel_args {
	struct gt_layout layouts[GT_KERNEL_CHANNELS];
	struct gt_kernel_channel *channels;
	/* [channel of the plan][from][to], on the device; NULL: all alike */
	const struct gt_layout_span *spans;
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

/*
 * Returns the shared memory that a program of this size takes, in bytes.  It
 * has a part for each chunk, or where blocks differ for each record.
 */
static inline uint32_t gt_kernel_shared_bytes(uint32_t nrecords,
					      uint32_t nconns, uint32_t nparts)
{
	return nrecords * (uint32_t)sizeof(struct gt_step) +
	       nconns * (uint32_t)(sizeof(struct gt_kernel_conn) + 8) +
	       nparts * (uint32_t)sizeof(struct gt_range);
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

/*
 * Beside the packets of operation `number`, which are launched behind it on
 * another stream: marks of block 0 say when the first of each rank and part
 * came, the part for a stage.
 */
int gt_packet_watch(int ll128, const struct gt_packet_args *args,
		    uint64_t number, struct CUstream_st *stream);

/* Who checks outputs fills them with this byte before. */
enum { GT_KERNEL_POISON = 0xa5 };

/* A range of test data, whose indices count in the whole buffer. */
struct gt_kernel_data {
	struct gt_pattern pattern;
	void *data;
	uint64_t first; /* index of data[0] */
	uint64_t count;
	uint64_t block_elems; /* check: of an all-gather */
	uint64_t *wrong;      /* check adds to it; device memory */
	/* check: so many elements of each block come, the poison behind them
	 * stays; on the device; NULL: all of them */
	const uint64_t *coming;
	uint32_t rank; /* fill: whose contribution */
};

/* The bits that an output must hold at the index. */
GT_HD static inline uint64_t gt_kernel_wanted(const struct gt_kernel_data *data,
					      uint64_t index)
{
	const uint64_t poison = GT_KERNEL_POISON * 0x0101010101010101u;

	if (data->coming && index % data->block_elems >=
				    data->coming[index / data->block_elems])
		return poison;
	return gt_pattern_output(&data->pattern, data->block_elems, index);
}

int gt_kernel_fill(const struct gt_kernel_data *data,
		   struct CUstream_st *stream);
int gt_kernel_check(const struct gt_kernel_data *data,
		    struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
