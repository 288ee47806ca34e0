/*
 * The launch protocol: who uses a communicator's engine, and when.
 *
 * Several threads want the engine: the communicator's own, and on GPUs every
 * caller.  One at a time has it, and without the mutex, since a launch may
 * wait for others.  comm->state and comm->engine_busy say where it stands:
 *
 *   state        engine_busy  who may go on
 *   IN_PROGRESS  0            only the thread, which makes the engine; others
 *                             wait in gt_comm_await_open()
 *   OK           0            whoever holds the mutex may take the engine
 *   OK           1            only the one who has taken it; others sleep until
 *                             `changed`, then look again
 *   an error     0 or 1       nobody takes it any more; who has it gives it
 *                             back
 *
 * The engine's await(), watch(), device(), owns(), release_requested() and
 * service_releases() need nobody's leave (exec/engine.h); everything else goes
 * through these functions, all of which are called with the mutex held:
 *
 *   function             called by                         takes the engine
 *   gt_launch_called()   who has queued a call             on GPUs
 *   gt_launch_spawn()    the thread                        if it is free
 *   gt_launch_next()     the thread, on the host           it is the only one
 *   gt_launch_limit()    the thread, on the host           no
 *   gt_launch_acquire()  who registers memory, on GPUs     waits for it
 *   gt_launch_release()  the one who acquired it           gives it back
 *   gt_launch_await()    who waits for a rank's stream     no
 *
 * On the host gt_launch_called() wakes the thread and returns.  On GPUs it
 * returns when the rank's calls are on the streams: whoever finds that all
 * ranks have called launches for all, and the others wait.
 */
#ifndef GT_LIB_LAUNCH_H
#define GT_LIB_LAUNCH_H

#include "lib/state.h"

/* The rank, or GTOPO_ALL_RANKS, has called; GTOPO_OK or why it failed. */
int gt_launch_called(struct gtopo_comm *comm, int rank);

/* Make a child communicator that is due; 0: there is none. */
int gt_launch_spawn(struct gtopo_comm *comm);

/* Run or launch the next operation; 0: not all ranks have called it. */
int gt_launch_next(struct gtopo_comm *comm);

/*
 * Host: until when ranks that have called a collective wait for one that has
 * called nothing, or INT64_MAX when none does.  When that is over, the
 * communicator fails.
 */
int64_t gt_launch_limit(struct gtopo_comm *comm);

/*
 * Take the engine, and let the mutex go; an error if the communicator has
 * failed, with the mutex still held.  _release holds the mutex again.
 */
int gt_launch_acquire(struct gtopo_comm *comm);
void gt_launch_release(struct gtopo_comm *comm);

/*
 * GPUs: wait until all is done that was launched on the rank's stream, or on
 * all; GTOPO_IN_PROGRESS when it is not at until_ns (negative: no limit).
 */
int gt_launch_await(struct gtopo_comm *comm, int rank, int64_t until_ns);

#endif
