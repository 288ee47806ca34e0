/*
 * A simulated CUDA run-time for programs that test libnccl.so.2 without GPUs:
 * a stream is a queue with a thread, an event a number that a stream passes,
 * and buffers are memory of the host.  It keeps CUDA's order and no more; its
 * times mean nothing.  A program that is linked with it has ranks on the host
 * (src/nccl/cuda.h).
 */
#ifndef GT_TESTS_NCCL_SIMCUDA_H
#define GT_TESTS_NCCL_SIMCUDA_H

enum { SIM_DEVICES = 64 };

struct gt_cuda;

__attribute__((visibility("default"))) const struct gt_cuda *
gt_nccl_simulated_cuda(void);

/*
 * From now on the first n devices have these bus ids, which stay the caller's;
 * the others have those that count them.
 */
void sim_devices_are(const char *const *bus_ids, int n);

/* The calling thread's device, 0 at first. */
void sim_use_device(int device);

void *sim_stream_new(void);
void sim_stream_free(void *stream); /* waits for all that is on it */
void sim_stream_sync(void *stream); /* NULL: the device's default stream */
int sim_stream_is_idle(void *stream);

/*
 * A graph, of what is put on streams while these are captured in it; NULL: in
 * none any more.  Such a stream can wait for no event of another graph's.  The
 * graph is launched once, all of it in the order in which it was captured, and
 * is gone then.
 */
void *sim_graph_new(void);
void sim_stream_capture(void *stream, void *graph);
void sim_graph_launch(void *graph, void *stream);

/*
 * Something forbidden was done while the graph was captured: nothing more is
 * put into it, and it is not launched but freed.
 */
void sim_graph_invalidate(void *graph);
void sim_graph_free(void *graph);

/*
 * The stream is destroyed, its work goes on, and from now on another one has
 * its handle.
 */
void sim_stream_renew(void *stream);

/*
 * From now on a stream holds so many commands that are not done, and who puts
 * one more on it waits, as for the queue of a GPU; 0: any number.
 */
void sim_stream_room(int items);

/* Call fn when the stream has come to it. */
void sim_stream_call(void *stream, void (*fn)(void *arg), void *arg);

#endif
