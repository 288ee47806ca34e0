/*
 * Collectives between GPUs that all reach each other's memory: what a rank does
 * in one (args.c), the memory that all share (memory.c), and how a rank's part
 * is put on its stream (the other files).  detour.h stands beside this.
 */
#ifndef GT_EXEC_CUDA_P2P_P2P_H
#define GT_EXEC_CUDA_P2P_P2P_H

#include "exec/cuda/device/state.h"

/* args.c: what a rank does, in the words of kernels/p2p.h. */

/* Say what the rank's part is by an algorithm, in one shot or two. */
struct gt_p2p gt_cuda_p2p_of(const struct gt_engine *engine,
			     const struct gt_exec_request *req,
			     enum gt_algo algo, uint32_t rank);

/*
 * Would what comes replace what has yet to go, because the buffers are the
 * same?  Then the input is copied first.
 */
int gt_cuda_p2p_overwrites(const struct gt_exec_request *req);

/*
 * Fill in what every kernel of a rank needs to give up, and to say why it
 * waits.
 */
struct gt_kernel_guard gt_cuda_guard_of(const struct gt_engine *engine,
					uint32_t rank);

/*
 * memory.c: buffers for packets, flags and kernels, which all requests share.
 * Buffers and flags lie in the host's memory where GPUs do not reach each
 * other.
 */

/* Make buffers and flags and load the type's kernels, unless they are there. */
int gt_cuda_p2p_open(struct gt_engine *engine, enum gt_dtype dtype,
		     struct gt_err *err);
int gt_cuda_p2p_load(struct gt_engine *engine, enum gt_dtype dtype,
		     struct gt_err *err);
void gt_cuda_p2p_release(struct gt_engine *engine);

/*
 * How many bytes of a block fit in the buffers as packets, if it goes so?
 * gt_cuda_p2p_fits(): do all of the request's?
 */
uint64_t gt_cuda_p2p_room(const struct gt_engine *engine,
			  const struct gt_exec_request *req,
			  const struct gt_algo_choice *choice);
int gt_cuda_p2p_fits(const struct gt_engine *engine,
		     const struct gt_exec_request *req,
		     const struct gt_algo_choice *choice);

/* Find the rank's flags, as a local rank sees them. */
uint64_t *gt_cuda_p2p_flags(const struct gt_engine *engine, uint32_t viewer,
			    uint32_t rank);

/*
 * Of a protocol's buffer a sender has gt_cuda_ll_buffer_bytes() for operations
 * of one parity: one shot may use all, each of two shots a part.  A rank's
 * buffer begins at gt_cuda_ll_buffer_at(), as a local rank sees it.
 */
uint64_t gt_cuda_ll_part_bytes(int ll128);
uint64_t gt_cuda_ll_buffer_bytes(int ll128);
char *gt_cuda_ll_buffer_at(const struct gt_engine *engine, uint32_t viewer,
			   uint32_t rank, int ll128);

/*
 * launch.c: packets, direct stores and loads, and what goes before.  Launches
 * put one rank's part on its stream and return a cudaError_t.
 */

/*
 * Launch packets of local ranks [first, end); what does not fit goes in parts,
 * each on all of these ranks before the next one.
 */
int gt_cuda_packets_launch(const struct gt_engine *engine,
			   const struct gt_exec_request *req, uint32_t first,
			   uint32_t end);
int gt_cuda_direct_launch(const struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t rank);

/*
 * Launch direct stores and loads with the barriers in kernels of their own:
 * what moves data waits for nobody.
 */
int gt_cuda_apart_launch(const struct gt_engine *engine,
			 const struct gt_exec_request *req, uint32_t rank);

/*
 * Put a barrier of all ranks on one of the rank's streams, of that stage of the
 * operation and perhaps its last kernel.
 */
int gt_cuda_barrier_launch(const struct gt_engine *engine, uint32_t rank,
			   uint32_t stage, int last, cudaStream_t stream);

/*
 * Copy an input that gt_cuda_p2p_overwrites() to scratch, from where it goes.
 */
int gt_cuda_input_launch(const struct gt_engine *engine,
			 const struct gt_exec_request *req, uint32_t rank);

/* Fill in a kernel's grid by engine->choice, and its arguments. */
struct gt_kernel_grid gt_cuda_p2p_grid(const struct gt_engine *engine,
				       const struct gt_exec_request *req,
				       uint32_t rank);
struct gt_direct_args gt_cuda_direct_args(const struct gt_engine *engine,
					  const struct gt_exec_request *req,
					  uint32_t rank);

/*
 * All ranks' streams wait for one another, so that what comes next begins
 * together.  To be called behind gt_cuda_p2p_open().
 */
int gt_cuda_p2p_barrier(const struct gt_engine *engine, uint32_t rank);

/*
 * The pre-multiplied sum: each rank first writes its input, multiplied, into a
 * region of its own, and the sum takes it from there, however it goes.  Others
 * that read a rank's input need its scalar neither by value nor by address, and
 * every algorithm rounds alike: the product, then each addition.  _need makes
 * the memory and loads the kernel, unless they are there.
 */
int gt_cuda_premul_need(struct gt_engine *engine,
			const struct gt_exec_request *req, struct gt_err *err);
int gt_cuda_premul_launch(const struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t rank);

/*
 * copy_engine_needs.c and copy_engine.c: blocks by copy engines, and reductions
 * beside them.
 */

/*
 * May a rank send blocks ahead to where their receivers hold what they send?
 * It takes a place for every sender, as many as are held anyway where there are
 * two ranks or every receiver has a block of its own.
 */
static inline int gt_cuda_may_send_ahead(const struct gt_engine *engine,
					 const struct gt_exec_request *req)
{
	return !gt_coll_reduces(req->coll) &&
	       (engine->plan->nranks == 2 || req->coll == GT_COLL_ALLTOALL ||
		req->coll == GT_COLL_SCATTER);
}

/*
 * May what a root adds up be sent to it?  In one process it pulls from where
 * others have it, and of more ranks it would get everything.
 */
static inline int gt_cuda_may_send_to_root(const struct gt_engine *engine)
{
	return engine->group.world && engine->plan->nranks == 2;
}

/* Say why copy engines cannot do it; NULL: they can. */
const char *gt_cuda_ce_fault(const struct gt_engine *engine, enum gt_coll coll);

/* How many bytes of scratch does any rank take by engine->choice? */
uint64_t gt_cuda_scratch_bytes(const struct gt_engine *engine,
			       const struct gt_exec_request *req);

/* Make streams and events, and with _need scratch, unless they are there. */
int gt_cuda_ce_open(struct gt_engine *engine, struct gt_err *err);
int gt_cuda_ce_need(struct gt_engine *engine, const struct gt_exec_request *req,
		    struct gt_err *err);
void gt_cuda_ce_release(struct gt_engine *engine);

/* Put one rank's part on its streams; a cudaError_t. */
int gt_cuda_ce_launch(const struct gt_engine *engine,
		      const struct gt_exec_request *req, uint32_t rank);

/*
 * copy_engine_lanes.c: a piece of what others fetch (gt_cuda_pulls()), in four
 * steps: it sends or holds what it has; all have done so, and sums are made;
 * it is fetched and copied to its places; all have ended.
 */
enum gt_cuda_step {
	GT_CUDA_STEP_START,
	GT_CUDA_STEP_MEET,
	GT_CUDA_STEP_MOVE,
	GT_CUDA_STEP_END,
};

int gt_cuda_ce_step(const struct gt_engine *engine,
		    const struct gt_exec_request *req, uint32_t rank,
		    enum gt_cuda_step step);

/*
 * scratch_reduce.c: reductions by direct stores.  Each rank stores its blocks
 * into the others' scratch, in pieces, and they add them up there.
 */

int gt_scratch_reduce_launch(const struct gt_engine *engine,
			     const struct gt_exec_request *req, uint32_t rank);

/* How many bytes of scratch does a request take on each rank? */
uint64_t gt_scratch_reduce_bytes(const struct gt_engine *engine,
				 const struct gt_exec_request *req);

/* How many elements has a piece? */
uint64_t gt_scratch_reduce_piece(const struct gt_p2p *p2p, uint32_t blocks,
				 size_t elem_bytes);

/*
 * scratch_reduce_group.c: reductions of a group through scratch, several in one
 * launch.
 */

/* May this one be among them? */
int gt_scratch_group_can(const struct gt_engine *engine,
			 const struct gt_exec_request *req);

/* How many of the first, 1 at least, fit in one launch? */
uint32_t gt_scratch_group_fit(const struct gt_engine *engine,
			      const struct gt_exec_request *const *reqs,
			      uint32_t n);

/* Make scratch for all of them, which are of one type and operator. */
int gt_scratch_group_need(struct gt_engine *engine,
			  const struct gt_exec_request *const *reqs, uint32_t n,
			  struct gt_err *err);

struct gt_scratch_group {
	const struct gt_exec_request *const *reqs;
	uint32_t n;
	uint32_t blocks; /* of the launch */
};

/* Launch one rank's part of all; a cudaError_t. */
int gt_scratch_group_launch(const struct gt_engine *engine,
			    const struct gt_scratch_group *group,
			    uint32_t rank);

#endif
