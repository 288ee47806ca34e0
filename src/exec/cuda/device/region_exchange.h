/*
 * How the parts of a region become known to other processes, which open them:
 * what ipc_memory.c does when it makes a region, and peers.c with the first.
 * All processes do it for the same region; the local parts are made before.
 */
#ifndef GT_EXEC_CUDA_DEVICE_REGION_EXCHANGE_H
#define GT_EXEC_CUDA_DEVICE_REGION_EXCHANGE_H

#include <stdint.h>

struct gt_cuda_key;
struct gt_engine;
struct gt_err;
struct gt_fd_packet;
struct gt_world_part;

/* What there is to tell other processes of a region, and what they tell. */
struct gt_region_exchange {
	struct gt_cuda_key *keys;    /* of local ranks */
	struct gt_world_part *parts; /* [processes]: the keys of others */
	struct gt_fd_packet *mine;   /* of local ranks, where files are */
	struct gt_fd_packet *theirs; /* [ranks] */
	uint32_t ntheirs;
};

/*
 * The steps of an exchange, in order.  Prepare has ready what the others need:
 * what fails there fails before the meeting.  Meet tells the others, or sends
 * files to all who reach them, and hears of theirs.  Open opens these: with
 * `tries` a process that cannot be reached loses its engine->reachable, else
 * that is a failure.  End frees what the exchange has, which prepare has begun
 * or which is zeros.
 */
int gt_region_exchange_prepare(const struct gt_engine *engine, int region,
			       struct gt_region_exchange *exchange,
			       struct gt_err *err);
int gt_region_exchange_meet(const struct gt_engine *engine,
			    struct gt_region_exchange *exchange,
			    struct gt_err *err);
int gt_region_exchange_open(struct gt_engine *engine, int region, int tries,
			    const struct gt_region_exchange *exchange,
			    struct gt_err *err);
void gt_region_exchange_end(const struct gt_engine *engine,
			    struct gt_region_exchange *exchange);

/* Do all of these steps. */
int gt_cuda_region_share(struct gt_engine *engine, int region, int tries,
			 struct gt_err *err);

/* Close what process p has in a region. */
void gt_cuda_region_detach(struct gt_engine *engine, int region, uint32_t p);

#endif
