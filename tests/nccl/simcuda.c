/* Streams, events and devices of the simulated CUDA run-time (simcuda.h). */
#include "nccl/simcuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/cuda.h"

/* Of a device: what is more a sanitizer would not try. */
static const size_t sim_memory_bytes = (size_t)1 << 37;

struct sim_item {
	struct sim_item *next;
	void (*fn)(void *arg);
	void *arg;
};

struct sim_stream {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	pthread_t thread;
	struct sim_item *first, **last;
	int items; /* that are not done */
	int busy, quit;
	struct sim_graph *capture;
	unsigned long long id;
	struct sim_stream *renewed; /* what has the handle now; or NULL */
};

/* A call, or a mark that is made when the graph is launched. */
struct sim_node {
	struct sim_node *next;
	void (*fn)(void *arg);
	void *arg;
	struct sim_event *event; /* a reference, if fn is NULL */
	int records;
};

struct sim_graph {
	unsigned long long id;
	int is_invalid;
	struct sim_node *first, **last;
};

/* Whoever may still look at it has a reference. */
struct sim_event {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	unsigned long recorded, passed;
	struct sim_graph *capture; /* of the stream that has recorded it */
	int refs;
};

/* A stream's place in an event's life. */
struct sim_mark {
	struct sim_event *event;
	unsigned long number;
};

static _Thread_local int sim_device;
static _Atomic int sim_room; /* items of a stream; 0: any number */
static const char *const *sim_named;
static int sim_nnamed;
static pthread_mutex_t sim_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct sim_stream *sim_defaults[SIM_DEVICES];

void sim_devices_are(const char *const *bus_ids, int n)
{
	sim_named = bus_ids;
	sim_nnamed = n;
}

void sim_use_device(int device)
{
	sim_device = device;
}

void sim_stream_room(int items)
{
	sim_room = items;
}

static void *sim_stream_main(void *arg)
{
	struct sim_stream *stream = arg;
	struct sim_item *item;

	pthread_mutex_lock(&stream->mutex);
	while (stream->first || !stream->quit) {
		item = stream->first;
		if (!item) {
			pthread_cond_wait(&stream->changed, &stream->mutex);
			continue;
		}
		stream->first = item->next;
		if (!stream->first)
			stream->last = &stream->first;
		stream->busy = 1;
		pthread_mutex_unlock(&stream->mutex);
		item->fn(item->arg);
		free(item);
		pthread_mutex_lock(&stream->mutex);
		stream->busy = 0;
		stream->items--;
		pthread_cond_broadcast(&stream->changed);
	}
	pthread_mutex_unlock(&stream->mutex);
	return NULL;
}

void *sim_stream_new(void)
{
	static _Atomic unsigned long long ids;
	struct sim_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		abort();
	stream->id = ++ids;
	pthread_mutex_init(&stream->mutex, NULL);
	pthread_cond_init(&stream->changed, NULL);
	stream->last = &stream->first;
	if (pthread_create(&stream->thread, NULL, sim_stream_main, stream))
		abort();
	return stream;
}

static struct sim_stream *sim_stream_of(void *stream)
{
	struct sim_stream **own = &sim_defaults[sim_device], *at = stream;

	while (at && at->renewed)
		at = at->renewed;
	if (at)
		return at;
	pthread_mutex_lock(&sim_mutex);
	if (!*own)
		*own = sim_stream_new();
	pthread_mutex_unlock(&sim_mutex);
	return *own;
}

static void sim_graph_add(struct sim_graph *graph, struct sim_node what)
{
	struct sim_node *node = malloc(sizeof(*node));

	if (!node)
		abort();
	*node = what;
	*graph->last = node;
	graph->last = &node->next;
}

void sim_stream_call(void *arg, void (*fn)(void *arg), void *data)
{
	struct sim_stream *stream = sim_stream_of(arg);
	struct sim_item *item;

	if (stream->capture) {
		sim_graph_add(stream->capture,
			      (struct sim_node){.fn = fn, .arg = data});
		return;
	}
	item = calloc(1, sizeof(*item));
	if (!item)
		abort();
	item->fn = fn;
	item->arg = data;
	pthread_mutex_lock(&stream->mutex);
	while (sim_room && stream->items >= sim_room)
		pthread_cond_wait(&stream->changed, &stream->mutex);
	stream->items++;
	*stream->last = item;
	stream->last = &item->next;
	pthread_cond_broadcast(&stream->changed);
	pthread_mutex_unlock(&stream->mutex);
}

int sim_stream_is_idle(void *arg)
{
	struct sim_stream *stream = sim_stream_of(arg);
	int idle;

	pthread_mutex_lock(&stream->mutex);
	idle = !stream->first && !stream->busy;
	pthread_mutex_unlock(&stream->mutex);
	return idle;
}

void sim_stream_sync(void *arg)
{
	struct sim_stream *stream = sim_stream_of(arg);

	pthread_mutex_lock(&stream->mutex);
	while (stream->first || stream->busy)
		pthread_cond_wait(&stream->changed, &stream->mutex);
	pthread_mutex_unlock(&stream->mutex);
}

void sim_stream_free(void *arg)
{
	struct sim_stream *stream = arg;

	if (stream->renewed)
		sim_stream_free(stream->renewed);
	pthread_mutex_lock(&stream->mutex);
	stream->quit = 1;
	pthread_cond_broadcast(&stream->changed);
	pthread_mutex_unlock(&stream->mutex);
	pthread_join(stream->thread, NULL);
	pthread_cond_destroy(&stream->changed);
	pthread_mutex_destroy(&stream->mutex);
	free(stream);
}

void sim_stream_renew(void *stream)
{
	sim_stream_of(stream)->renewed = sim_stream_new();
}

static unsigned long long sim_stream_id(void *stream)
{
	return sim_stream_of(stream)->id;
}

static const char *sim_words(int error)
{
	return error ? "invalid argument of a simulated call" : "no error";
}

static int sim_get_device(int *device)
{
	*device = sim_device;
	return 0;
}

static int sim_count(int *count)
{
	*count = SIM_DEVICES;
	return 0;
}

static int sim_set_device(int device)
{
	if (device < 0 || device >= SIM_DEVICES)
		return 1;
	sim_device = device;
	return 0;
}

static int sim_bus_id(int device, char bus_id[GT_CUDA_BUS_ID_MAX])
{
	if (device < sim_nnamed)
		return snprintf(bus_id, GT_CUDA_BUS_ID_MAX, "%s",
				sim_named[device]) < 0;
	return snprintf(bus_id, GT_CUDA_BUS_ID_MAX, "0000:%02x:00.0", device) <
	       0;
}

static int sim_event_new(void **out)
{
	struct sim_event *event = calloc(1, sizeof(*event));

	if (!event)
		return 1;
	pthread_mutex_init(&event->mutex, NULL);
	pthread_cond_init(&event->changed, NULL);
	event->refs = 1;
	*out = event;
	return 0;
}

static int sim_event_free(void *arg)
{
	struct sim_event *event = arg;
	int refs;

	pthread_mutex_lock(&event->mutex);
	refs = --event->refs;
	pthread_mutex_unlock(&event->mutex);
	if (refs)
		return 0;
	pthread_cond_destroy(&event->changed);
	pthread_mutex_destroy(&event->mutex);
	free(event);
	return 0;
}

static void sim_mark_pass(void *arg)
{
	struct sim_mark *mark = arg;
	struct sim_event *event = mark->event;

	pthread_mutex_lock(&event->mutex);
	if (event->passed < mark->number)
		event->passed = mark->number;
	pthread_cond_broadcast(&event->changed);
	pthread_mutex_unlock(&event->mutex);
	sim_event_free(event);
	free(mark);
}

static void sim_mark_await(void *arg)
{
	struct sim_mark *mark = arg;
	struct sim_event *event = mark->event;

	pthread_mutex_lock(&event->mutex);
	while (event->passed < mark->number)
		pthread_cond_wait(&event->changed, &event->mutex);
	pthread_mutex_unlock(&event->mutex);
	sim_event_free(event);
	free(mark);
}

/* Put a mark on the stream, with the number that the event has now. */
static int sim_mark(void *stream, struct sim_event *event, int records)
{
	struct sim_mark *mark = calloc(1, sizeof(*mark));

	if (!mark)
		return 1;
	pthread_mutex_lock(&event->mutex);
	event->refs++;
	event->recorded += records ? 1 : 0;
	mark->event = event;
	mark->number = event->recorded;
	pthread_mutex_unlock(&event->mutex);
	sim_stream_call(stream, records ? sim_mark_pass : sim_mark_await, mark);
	return 0;
}

void *sim_graph_new(void)
{
	static _Atomic unsigned long long ids;
	struct sim_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		abort();
	graph->id = ++ids;
	graph->last = &graph->first;
	return graph;
}

void sim_stream_capture(void *stream, void *graph)
{
	sim_stream_of(stream)->capture = graph;
}

void sim_graph_launch(void *arg, void *stream)
{
	struct sim_graph *graph = arg;
	struct sim_node *node;

	while ((node = graph->first)) {
		graph->first = node->next;
		if (node->fn)
			sim_stream_call(stream, node->fn, node->arg);
		else if (sim_mark(stream, node->event, node->records))
			abort();
		if (node->event)
			sim_event_free(node->event);
		free(node);
	}
	free(graph);
}

void sim_graph_invalidate(void *arg)
{
	struct sim_graph *graph = arg;

	graph->is_invalid = 1;
}

/* Calls that never come would be missed by those who have put them. */
void sim_graph_free(void *arg)
{
	struct sim_graph *graph = arg;
	struct sim_node *node;

	while ((node = graph->first)) {
		graph->first = node->next;
		if (!node->event)
			abort();
		sim_event_free(node->event);
		free(node);
	}
	free(graph);
}

static int sim_is_invalid(void *stream)
{
	const struct sim_graph *graph = sim_stream_of(stream)->capture;

	return graph && graph->is_invalid;
}

static int sim_stream_get_capture(void *stream, unsigned long long *id)
{
	const struct sim_graph *graph = sim_stream_of(stream)->capture;

	*id = sim_is_invalid(stream) ? GT_CUDA_INVALIDATED
	      : graph                ? graph->id
				     : 0;
	return 0;
}

/* Streams of one graph are in order anyhow, as it runs on one. */
static int sim_event_record(void *arg, void *stream)
{
	struct sim_event *event = arg;

	if (sim_is_invalid(stream))
		return 1;
	event->capture = sim_stream_of(stream)->capture;
	return event->capture ? 0 : sim_mark(stream, event, 1);
}

static int sim_stream_wait(void *stream, void *arg)
{
	struct sim_event *event = arg;

	if (sim_is_invalid(stream) ||
	    event->capture != sim_stream_of(stream)->capture)
		return 1;
	return event->capture ? 0 : sim_mark(stream, event, 0);
}

static int sim_graph_mark(void *stream, struct sim_event *event, int records)
{
	struct sim_graph *graph = sim_stream_of(stream)->capture;

	if (!graph || graph->is_invalid)
		return 1;
	pthread_mutex_lock(&event->mutex);
	event->refs++;
	pthread_mutex_unlock(&event->mutex);
	sim_graph_add(graph,
		      (struct sim_node){.event = event, .records = records});
	return 0;
}

static int sim_graph_wait(void *stream, void *event)
{
	return sim_graph_mark(stream, event, 0);
}

/* Behind each operation, of which the last one counts. */
static int sim_graph_record(void *stream, void *event, void **node)
{
	*node = event;
	return sim_graph_mark(stream, event, 1);
}

static int sim_event_pending(void *arg, int *pending)
{
	struct sim_event *event = arg;

	pthread_mutex_lock(&event->mutex);
	*pending = event->passed < event->recorded;
	pthread_mutex_unlock(&event->mutex);
	return 0;
}

static int sim_call(void *stream, void (*fn)(void *arg), void *arg)
{
	if (sim_is_invalid(stream))
		return 1;
	sim_stream_call(stream, fn, arg);
	return 0;
}

static int sim_memory_new(void **memory, size_t bytes)
{
	*memory = bytes > sim_memory_bytes ? NULL : malloc(bytes);
	return !*memory;
}

static int sim_memory_free(void *memory)
{
	free(memory);
	return 0;
}

const struct gt_cuda *gt_nccl_simulated_cuda(void)
{
	static const struct gt_cuda table = {
		.name = "simulated CUDA",
		.on_host = 1,
		.words = sim_words,
		.device = sim_get_device,
		.devices = sim_count,
		.use_device = sim_set_device,
		.bus_id = sim_bus_id,
		.event_new = sim_event_new,
		.event_free = sim_event_free,
		.event_record = sim_event_record,
		.event_pending = sim_event_pending,
		.stream_wait = sim_stream_wait,
		.stream_id = sim_stream_id,
		.stream_capture = sim_stream_get_capture,
		.graph_wait = sim_graph_wait,
		.graph_record = sim_graph_record,
		.call = sim_call,
		.memory_new = sim_memory_new,
		.memory_free = sim_memory_free,
	};

	return &table;
}
