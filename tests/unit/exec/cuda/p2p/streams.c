#include "unit/exec/cuda/p2p/streams.h"
#include "unit/test.h"

#include <inttypes.h>
#include <string.h>

enum { NEVER = 2000000000 };

enum queue {
	QUEUE_NONE,
	QUEUE_COPIES,
	QUEUE_ALL,
	NQUEUES,
	QUEUE_ANY = NQUEUES
};

/* How streams take turns. */
static struct manner {
	uint32_t calm; /* the higher, the longer one goes on alone */
	int by_rank;   /* all of a rank's are alike */
	enum queue queue;
	uint64_t random; /* state */
} manner;

struct streams streams;

/* Those that are queued alike. */
struct ranks {
	uint32_t first, end;
};

uint32_t streams_draw(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(((*state >> 32) * below) >> 32);
}

void streams_open(uint32_t nranks)
{
	memset(&streams, 0, sizeof(streams));
	streams.nranks = nranks;
	for (uint32_t i = 0; i < nranks * STREAMS; i++)
		streams.all[i].rank = i / STREAMS;
}

void streams_close(void)
{
	for (uint32_t i = 0; i < streams.nranks * STREAMS; i++) {
		struct stream *stream = &streams.all[i];

		for (uint32_t k = 0; k < stream->n; k++)
			free(stream->commands[k].args);
		free(stream->commands);
	}
	free(streams.marked);
}

struct stream *streams_of(uint32_t rank, uint32_t which)
{
	return &streams.all[rank * STREAMS + which];
}

uint32_t streams_which(const struct stream *stream)
{
	return (uint32_t)(stream - streams.all) % STREAMS;
}

static uint32_t lane_of(uint32_t which)
{
	return (which - STREAM_LANES) / 2;
}

struct command *streams_put(struct stream *stream, enum kind kind)
{
	uint32_t meetings = streams.meetings[stream->rank];
	uint32_t which = streams_which(stream);
	struct command *c;

	if (stream->n == stream->room) {
		stream->room = stream->room ? 2 * stream->room : 64;
		stream->commands =
			realloc(stream->commands,
				stream->room * sizeof(*stream->commands));
	}
	c = &stream->commands[stream->n++];
	*c = (struct command){.kind = kind,
			      .op = streams.nops,
			      .place = streams.places[stream->rank]++};
	if (which >= STREAM_LANES)
		c->step = (meetings + GT_DETOUR_LANES - 1 - lane_of(which)) /
			  GT_DETOUR_LANES;
	return c;
}

void streams_record(struct stream *stream, uint32_t *event)
{
	streams_put(stream, RECORD)->mark = *event = ++streams.marks;
}

void streams_await(struct stream *stream, const uint32_t *event)
{
	streams_put(stream, AWAIT)->mark = *event;
}

cudaError_t streams_event_record(cudaEvent_t event, cudaStream_t on)
{
	streams_record((struct stream *)on, (uint32_t *)event);
	return cudaSuccess;
}

cudaError_t streams_event_await(cudaStream_t on, cudaEvent_t event,
				unsigned int flags)
{
	assert_int_equal(flags, 0);
	streams_await((struct stream *)on, (uint32_t *)event);
	return cudaSuccess;
}

void streams_next(void)
{
	uint32_t meetings = streams.meetings[0];

	for (uint32_t r = 0; r < streams.nranks; r++)
		assert_int_equal(streams.meetings[r], meetings);
	streams.steps[streams.nops++] = meetings / GT_DETOUR_LANES;
	memset(streams.meetings, 0, sizeof(streams.meetings));
}

static uint64_t told_by(const struct gt_detour_args *args)
{
	uint64_t number = args->guard.epoch->count / GT_KERNEL_EPOCH + 1;

	return number * GT_DETOUR_MEETINGS + args->number;
}

static int have_told(const struct gt_detour_args *args)
{
	for (uint32_t r = 0; r < args->nranks; r++)
		if (r != args->me && *args->flags[r] < told_by(args))
			return 0;
	return 1;
}

/* As stage.cuh has it. */
static uint64_t stage_of(const struct gt_barrier_args *args)
{
	uint64_t number = args->guard.epoch->count / GT_KERNEL_EPOCH + 1;

	return number * GT_DIRECT_STAGES + args->stage;
}

static int have_reached(const struct gt_barrier_args *args)
{
	for (uint32_t r = 0; r < args->nranks; r++)
		if (r != args->me && args->flags[args->me][r] < stage_of(args))
			return 0;
	return 1;
}

/* Can its next half be done now? */
static int can_go(const struct stream *stream)
{
	const struct command *c = &stream->commands[stream->at];

	if (stream->at == stream->n)
		return 0;
	if (manner.queue == QUEUE_ALL && streams.done[stream->rank] != c->place)
		return 0;
	if (manner.queue == QUEUE_ANY && streams.done[stream->rank] != c->turn)
		return 0;
	if (manner.queue == QUEUE_COPIES && c->kind == COPY)
		return streams.copied[stream->rank] == c->turn;
	if (c->kind == AWAIT)
		return !c->mark || streams.marked[c->mark];
	if (c->kind == BARRIER)
		return !stream->half || have_reached(c->args);
	return c->kind != MEET || !stream->half || have_told(c->args);
}

/* The first half or the second. */
static uint64_t half_of(uint64_t count, uint32_t half)
{
	return half ? count - count / 2 : count / 2;
}

static void do_copy(const struct command *c, uint32_t half)
{
	uint64_t at = half ? half_of(c->bytes, 0) : 0;

	memcpy(c->to + at, c->from + at, half_of(c->bytes, half));
}

/* As barrier.cu has it. */
static void do_meet(const struct gt_detour_args *args, uint32_t half)
{
	uint64_t *flag = args->flags[args->me], told = told_by(args);

	if (!half) {
		/* Whoever waits beside the first barrier tells the same. */
		assert_true(*flag <= told);
		*flag = told;
	} else if (args->last) {
		args->guard.epoch->count =
			told / GT_DETOUR_MEETINGS * GT_KERNEL_EPOCH;
	}
}

static void do_barrier(const struct gt_barrier_args *args, uint32_t half)
{
	uint64_t stage = stage_of(args);

	for (uint32_t r = 0; !half && r < args->nranks; r++) {
		if (r == args->me)
			continue;
		assert_true(args->flags[r][args->me] < stage + streams.heads);
		args->flags[r][args->me] = stage;
	}
	if (half && args->last)
		args->guard.epoch->count =
			stage / GT_DIRECT_STAGES * GT_KERNEL_EPOCH;
}

/* As direct.cuh has it. */
static int32_t sum_of(const struct gt_direct_args *args, uint64_t at)
{
	const struct gt_p2p *flow = &args->flow;
	int32_t sum = 0;

	for (uint32_t s = 0; s < flow->nranks; s++)
		if (flow->adds >> s & 1)
			sum += ((const int32_t *)args->input[s])[at];
	return flow->divide ? sum / (int32_t)flow->divide : sum;
}

static void do_sum(const struct gt_direct_args *args, uint32_t half)
{
	const struct gt_p2p *flow = &args->flow;
	uint64_t from = half ? half_of(flow->count, 0) : 0;
	uint64_t to = from + half_of(flow->count, half);
	uint64_t in = flow->me * flow->in_stride;
	int32_t *out =
		(int32_t *)args->output[flow->me] + flow->me * flow->out_stride;

	for (uint64_t i = from; i < to; i++) {
		out[i] = sum_of(args, in + i);
		if (args->also)
			((int32_t *)args->also)[i] = out[i];
	}
}

static void do_move(const struct gt_direct_args *args, uint32_t half)
{
	const struct gt_p2p *flow = &args->flow;
	uint64_t from = half ? half_of(flow->count, 0) : 0;
	uint64_t n = half_of(flow->count, half);

	for (uint32_t d = 0; d < flow->nranks; d++) {
		const int32_t *in = (const int32_t *)args->input[flow->me] +
				    d * flow->in_stride;
		int32_t *out = (int32_t *)args->output[d] +
			       flow->me * flow->out_stride;

		if (flow->to >> d & 1 && in != out)
			memcpy(out + from, in + from, n * sizeof(*out));
	}
}

static void do_kernel(const struct gt_direct_args *args, uint32_t half)
{
	if (args->flow.flags & GT_P2P_REDUCE)
		do_sum(args, half);
	else
		do_move(args, half);
}

static void finish(struct stream *stream, const struct command *c)
{
	streams.done[stream->rank]++;
	if (c->kind == COPY)
		streams.copied[stream->rank]++;
	if (c->kind == RECORD)
		streams.marked[c->mark] = 1;
	if (c->kind == CALL)
		c->call(c->op, stream->rank);
	stream->at++;
	stream->half = 0;
}

/* Half of a stream's next command, or all of it. */
static void go(struct stream *stream)
{
	const struct command *c = &stream->commands[stream->at];

	if (c->kind == COPY || c->kind == LOCAL)
		do_copy(c, stream->half);
	else if (c->kind == SUM)
		do_kernel(c->args, stream->half);
	else if (c->kind == MEET)
		do_meet(c->args, stream->half);
	else if (c->kind == BARRIER)
		do_barrier(c->args, stream->half);
	if (c->kind > SUM || stream->half)
		finish(stream, c);
	else
		stream->half = 1;
}

static void urge(struct stream *stream)
{
	uint32_t urge = streams_draw(&manner.random, NEVER);

	stream->urge = urge;
	for (uint32_t i = 0; manner.by_rank && i < STREAMS; i++)
		streams_of(stream->rank, i)->urge = urge;
}

/* Any one that can go, if none stays urgent. */
static struct stream *most_urgent(void)
{
	uint32_t n = streams.nranks * STREAMS;
	uint32_t first = streams_draw(&manner.random, n);
	struct stream *best = NULL;

	for (uint32_t i = 0; i < n; i++) {
		struct stream *s = &streams.all[(first + i) % n];

		if ((!best || s->urge > best->urge) && can_go(s))
			best = s;
		if (best && manner.calm == 1)
			break;
	}
	return best;
}

static void expect_done(void)
{
	for (uint32_t i = 0; i < streams.nranks * STREAMS; i++) {
		const struct stream *s = &streams.all[i];

		if (s->at < s->n)
			fail_msg("%" PRIu32 " ranks, seed %" PRIu64
				 ": rank %" PRIu32 " hangs in stream %" PRIu32
				 ", operation %" PRIu32 ", command %" PRIu32
				 " of %" PRIu32,
				 streams.nranks, streams.seed, s->rank,
				 i % STREAMS, s->commands[s->at].op, s->at,
				 s->n);
	}
}

/* The copies of a step of an operation on such a stream are next. */
static void queue_step(uint32_t op, uint32_t which, uint32_t step,
		       struct ranks ranks)
{
	for (uint32_t r = ranks.first; r < ranks.end; r++) {
		struct stream *s = streams_of(r, which);

		for (; s->queued < s->n; s->queued++) {
			struct command *c = &s->commands[s->queued];

			if (c->kind != COPY)
				continue;
			if (c->op != op || c->step != step)
				break;
			c->turn = streams.copied[r]++;
		}
	}
}

/*
 * Is the meeting before a step behind only what is queued?  Those of lanes
 * follow one another.
 */
static int can_queue(uint32_t op, const uint32_t *steps, uint32_t which)
{
	uint32_t number = steps[which] * GT_DETOUR_LANES + lane_of(which);

	if (which == STREAM_MAIN)
		return steps[which] < STREAMS_MAIN_STEPS;
	if (which < STREAM_LANES || steps[which] == streams.steps[op])
		return 0;
	for (uint32_t i = STREAM_LANES; i < STREAMS; i++)
		if (steps[i] < streams.steps[op] &&
		    (steps[i] + 1) * GT_DETOUR_LANES + lane_of(i) <= number)
			return 0;
	return 1;
}

/* The most urgent of those that can be next; STREAMS: none. */
static uint32_t queue_next(uint32_t op, const uint32_t *steps,
			   const uint32_t *urges)
{
	uint32_t best = STREAMS;

	for (uint32_t i = 0; i < STREAMS; i++)
		if (can_queue(op, steps, i) &&
		    (best == STREAMS || urges[i] > urges[best]))
			best = i;
	return best;
}

static void queue_op(uint32_t op, struct ranks ranks)
{
	uint32_t steps[STREAMS] = {0}, urges[STREAMS], next;

	for (uint32_t i = 0; i < STREAMS; i++)
		urges[i] = streams_draw(&manner.random, NEVER);
	while ((next = queue_next(op, steps, urges)) < STREAMS) {
		queue_step(op, next, steps[next]++, ranks);
		if (!streams_draw(&manner.random, manner.calm))
			urges[next] = streams_draw(&manner.random, NEVER);
	}
}

/* What a stream has next, whoever waits for others then. */
static int can_follow(const struct stream *stream)
{
	const struct command *c = &stream->commands[stream->queued];

	return stream->queued < stream->n &&
	       (c->kind != AWAIT || !c->mark || streams.marked[c->mark]);
}

static struct stream *follow_next(uint32_t rank, const uint32_t *urges)
{
	struct stream *best = NULL;

	for (uint32_t i = 0; i < STREAMS; i++) {
		struct stream *s = streams_of(rank, i);

		if (can_follow(s) &&
		    (!best || urges[i] > urges[streams_which(best)]))
			best = s;
	}
	return best;
}

/* A rank's copies come as its streams and their events leave open. */
static void queue_rank(uint32_t rank, uint64_t *random)
{
	uint32_t urges[STREAMS];
	struct stream *s;

	for (uint32_t i = 0; i < STREAMS; i++)
		urges[i] = streams_draw(random, NEVER);
	while ((s = follow_next(rank, urges))) {
		struct command *c = &s->commands[s->queued++];

		if (c->kind == RECORD)
			streams.marked[c->mark] = 1;
		if (c->kind == COPY || manner.queue == QUEUE_ANY)
			c->turn = streams.copied[rank]++;
		if (!streams_draw(random, manner.calm))
			urges[streams_which(s)] = streams_draw(random, NEVER);
	}
}

/* All ranks' alike, or each one's in its own way. */
static void queue_ranks(void)
{
	int alike = (int)streams_draw(&manner.random, 2);

	for (uint32_t r = 0; r < streams.nranks; r++) {
		uint64_t random = manner.random;

		queue_rank(r, alike ? &random : &manner.random);
	}
	memset(streams.marked, 0, streams.marks + 1);
}

static void queue_all(void)
{
	const struct ranks all = {0, streams.nranks};
	int any_order = streams.any_order || manner.queue == QUEUE_ANY;

	for (uint32_t i = 0; i < streams.nranks * STREAMS; i++)
		streams.all[i].queued = 0;
	memset(streams.copied, 0, sizeof(streams.copied));
	if (any_order)
		queue_ranks();
	for (uint32_t op = 0; op < streams.nops && !any_order; op++)
		if (streams.alike[op])
			queue_op(op, all);
		else
			for (uint32_t r = 0; r < streams.nranks; r++)
				queue_op(op, (struct ranks){r, r + 1});
	/* No copy is left. */
	for (uint32_t i = 0; i < STREAMS; i++)
		queue_step(streams.nops, i, 0, all);
	for (uint32_t i = 0; i < streams.nranks * STREAMS; i++)
		assert_int_equal(streams.all[i].queued, streams.all[i].n);
	memset(streams.copied, 0, sizeof(streams.copied));
}

static void rewind_all(void)
{
	if (!streams.marked)
		streams.marked = malloc(streams.marks + 1);
	memset(streams.marked, 0, streams.marks + 1);
	memset(streams.done, 0, sizeof(streams.done));
	for (uint32_t i = 0; i < streams.nranks * STREAMS; i++) {
		streams.all[i].at = streams.all[i].half = 0;
		urge(&streams.all[i]);
	}
	queue_all();
}

void streams_play(uint64_t seed)
{
	static const uint32_t calms[] = {1, 4, 32, NEVER};
	struct stream *stream;

	const uint32_t queues = NQUEUES + (streams.in_graph != 0);

	streams.seed = seed;
	manner = (struct manner){.calm = calms[seed % 4],
				 .queue = (enum queue)(seed / 4 % queues),
				 .by_rank = (int)((seed + seed / 12) % 2),
				 .random = seed};
	rewind_all();
	while ((stream = most_urgent())) {
		go(stream);
		if (!streams_draw(&manner.random, manner.calm))
			urge(stream);
	}
	expect_done();
}

/* Nodes by their places, as bits. */
struct nodes {
	uint64_t *bits;
};

/* A rank while it is captured. */
struct capture {
	uint32_t words;
	struct nodes ends[STREAMS]; /* what a stream's next node waits for */
	struct nodes *marks;
	uint64_t nodes, edges;
};

static void take_nodes(const struct capture *at, struct nodes *to,
		       const struct nodes *from)
{
	if (!to->bits)
		to->bits = calloc(at->words, sizeof(*to->bits));
	for (uint32_t w = 0; w < at->words; w++)
		to->bits[w] |= from->bits[w];
}

static void capture_node(struct capture *at, struct nodes *end, uint32_t place)
{
	at->nodes++;
	for (uint32_t w = 0; w < at->words; w++) {
		at->edges += (uint32_t)__builtin_popcountll(end->bits[w]);
		end->bits[w] = 0;
	}
	end->bits[place / 64] = 1ull << place % 64;
}

static void capture(struct capture *at, uint32_t which,
		    const struct command *command)
{
	struct nodes *end = &at->ends[which];

	if (command->kind == RECORD)
		take_nodes(at, &at->marks[command->mark], end);
	else if (command->kind == AWAIT)
		take_nodes(at, end, &at->marks[command->mark]);
	else
		capture_node(at, end, command->place);
}

uint64_t streams_edges(uint32_t rank, uint64_t *nodes)
{
	struct capture at = {.words = streams.places[rank] / 64 + 1};
	uint32_t next[STREAMS] = {0};

	at.marks = calloc(streams.marks + 1, sizeof(*at.marks));
	for (uint32_t i = 0; i < STREAMS; i++)
		at.ends[i].bits = calloc(at.words, sizeof(uint64_t));
	for (uint32_t place = 0; place < streams.places[rank]; place++)
		for (uint32_t i = 0; i < STREAMS; i++) {
			const struct stream *stream = streams_of(rank, i);

			if (next[i] < stream->n &&
			    stream->commands[next[i]].place == place)
				capture(&at, i, &stream->commands[next[i]++]);
		}
	for (uint32_t i = 0; i < STREAMS; i++)
		free(at.ends[i].bits);
	for (uint32_t m = 0; m <= streams.marks; m++)
		free(at.marks[m].bits);
	free(at.marks);
	*nodes = at.nodes;
	return at.edges;
}

static int awaits(const struct stream *stream, uint32_t mark)
{
	for (uint32_t k = 0; k < stream->n; k++)
		if (stream->commands[k].kind == AWAIT &&
		    stream->commands[k].mark == mark)
			return 1;
	return 0;
}

/* Does one of the joined wait for the end of another, which has one? */
static int joins(uint32_t rank, const int *joined, const struct stream *other)
{
	const struct command *last = &other->commands[other->n - 1];

	if (last->kind != RECORD)
		return 0;
	for (uint32_t i = 0; i < STREAMS; i++)
		if (joined[i] && awaits(streams_of(rank, i), last->mark))
			return 1;
	return 0;
}

int streams_joined(uint32_t rank)
{
	int joined[STREAMS] = {[STREAM_MAIN] = 1}, all = 1;

	for (uint32_t turn = 0; turn < STREAMS; turn++)
		for (uint32_t i = 0; i < STREAMS; i++) {
			const struct stream *stream = streams_of(rank, i);

			if (!joined[i])
				joined[i] = !stream->n ||
					    joins(rank, joined, stream);
		}
	for (uint32_t i = 0; i < STREAMS; i++)
		all &= joined[i];
	return all;
}

void streams_expect_few_edges(uint32_t n)
{
	uint64_t nodes, edges;

	for (uint32_t r = 0; r < n; r++) {
		edges = streams_edges(r, &nodes);
		assert_in_range(edges, nodes - 1, 3 * nodes);
		assert_true(streams_joined(r));
	}
}
