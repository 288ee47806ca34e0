/*
 * What the face itself asks of CUDA's run-time: this table and nothing else.
 * The real one is the toolkit's (cuda_runtime.c).
 *
 * A program may bring a simulated one, where streams are queues of threads and
 * buffers are memory of the host: a symbol gt_nccl_simulated_cuda, a function
 * that returns such a table.  Then ranks are on the host, which is what tests
 * without GPUs use; nothing that takes time there means anything.
 *
 * Functions return 0 or the run-time's error, of which words() says what it is.
 */
#ifndef GT_NCCL_CUDA_H
#define GT_NCCL_CUDA_H

#include <stddef.h>

enum { GT_CUDA_BUS_ID_MAX = 32 };

/* In the place of a capture's id: it was invalidated, and takes no more. */
#define GT_CUDA_INVALIDATED (~0ULL)

struct gt_cuda {
	const char *name; /* for logs: "CUDA", "simulated CUDA" */
	int on_host;      /* buffers are the host's memory */
	void *own_stream; /* GPUs: the thread's that uses it; never gone */
	const char *(*words)(int error);
	int (*device)(int *device);
	int (*devices)(int *count);
	int (*use_device)(int device);
	int (*bus_id)(int device, char bus_id[GT_CUDA_BUS_ID_MAX]);
	int (*event_new)(void **event);
	int (*event_free)(void *event);
	int (*event_record)(void *event, void *stream);
	/* 1: what was before it on the stream is not done yet. */
	int (*event_pending)(void *event, int *pending);
	int (*stream_wait)(void *stream, void *event);
	/*
	 * A number that no other stream has or will have, as handles are given
	 * again; 0: it cannot be told.  The stream is in no capture.
	 */
	unsigned long long (*stream_id)(void *stream);
	/* Which capture the stream is in; 0: none. */
	int (*stream_capture)(void *stream, unsigned long long *id);
	/*
	 * Between a graph and what is in none, as the event tells: what follows
	 * on a stream that is captured waits, each time the graph runs, for
	 * what the event is behind then; and then the event is behind what
	 * was on the stream by now.  The node is the graph's, NULL at first.
	 */
	int (*graph_wait)(void *stream, void *event);
	int (*graph_record)(void *stream, void *event, void **node);
	/* Call fn when the stream has come to it; only for the host's. */
	int (*call)(void *stream, void (*fn)(void *arg), void *arg);
	int (*memory_new)(void **memory, size_t bytes);
	int (*memory_free)(void *memory);
};

/* The table, or NULL: this library was built without CUDA. */
const struct gt_cuda *gt_cuda_table(void);

extern const struct gt_cuda gt_cuda_runtime; /* if built with CUDA */

#endif
