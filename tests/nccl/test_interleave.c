/*
 * Random programs: each rank is a thread with several communicators, which
 * overlap in a circle, and calls what belongs to each in the order of that
 * communicator alone.  Which of them comes first, what is called in one group,
 * and on which stream, each rank decides for itself: an interleaving.  None of
 * them may deadlock, and every result is checked.
 */
#include "nccl/client.h"

#include <sched.h>

enum {
	RANKS = 3,
	COMMS = 4,   /* all ranks, and the three pairs of them */
	OPS_MAX = 3, /* of one bundle */
};

/* What the ranks of a communicator call together. */
struct bundle {
	int n;
	unsigned kinds; /* two bits each: all-reduce, exchange, all-gather */
};

/* A rank's part of one bundle. */
struct part {
	int32_t in[OPS_MAX], out[OPS_MAX][RANKS];
};

static struct bundle *bundles[COMMS];
static int nbundles;
static int nturn; /* of them, until all streams are empty once */
static uint64_t seed;

static uint32_t next_random(uint64_t *at, uint32_t below)
{
	*at = *at * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*at >> 33) % below;
}

/* A rank in all its communicators. */
struct player {
	struct rank *rank;
	uint64_t random;
	void *comms[COMMS], *streams[COMMS][2];
	int places[COMMS], sizes[COMMS], done[COMMS];
	struct part *parts[COMMS];
};

static int is_member(int comm, int rank)
{
	return !comm || rank == comm - 1 || rank == comm % RANKS;
}

static void player_call(struct player *p, int c)
{
	const struct bundle *bundle = &bundles[c][p->done[c]];
	struct part *part = &p->parts[c][p->done[c]];
	void *comm = p->comms[c];
	void *stream = p->streams[c][next_random(&p->random, 2)];

	if (bundle->n > 1)
		OK(ncclGroupStart());
	for (int i = 0; i < bundle->n; i++) {
		unsigned kind = bundle->kinds >> 2 * i & 3;
		int peer = p->sizes[c] - 1 - p->places[c];
		int32_t *in = &part->in[i], *out = part->out[i];

		*in = p->done[c] * 4 + p->places[c];
		if (kind == 2) {
			OK(ncclAllGather(in, out, 1, INT32, comm, stream));
		} else if (kind == 1) {
			OK(ncclGroupStart());
			OK(ncclSend(in, 1, INT32, peer, comm, stream));
			OK(ncclRecv(out, 1, INT32, peer, comm, stream));
			OK(ncclGroupEnd());
		} else {
			OK(ncclAllReduce(in, out, 1, INT32, SUM, comm, stream));
		}
	}
	if (bundle->n > 1)
		OK(ncclGroupEnd());
	p->done[c]++;
}

static void player_check(const struct player *p, int c, int number)
{
	const struct bundle *bundle = &bundles[c][number];
	int n = p->sizes[c], base = number * 4;

	for (int i = 0; i < bundle->n; i++) {
		unsigned kind = bundle->kinds >> 2 * i & 3;
		const int32_t *out = p->parts[c][number].out[i];

		if (kind == 2)
			for (int r = 0; r < n; r++)
				IS(out[r] == base + r);
		else if (kind == 1)
			IS(out[0] == base + n - 1 - p->places[c]);
		else
			IS(out[0] == n * base + n * (n - 1) / 2);
	}
}

/* Some communicators at once, each with its next bundle, or one alone. */
static void player_step(struct player *p, int end)
{
	int grouped = (int)next_random(&p->random, 3) == 0;

	if (grouped)
		OK(ncclGroupStart());
	for (int c = 0; c < COMMS; c++)
		if (p->comms[c] && p->done[c] < end &&
		    !next_random(&p->random, 2))
			player_call(p, c);
	if (grouped)
		OK(ncclGroupEnd());
	/* To wait for one communicator here would be the program's deadlock. */
	if (!next_random(&p->random, 8))
		sched_yield();
}

static int player_is_done(const struct player *p, int end)
{
	for (int c = 0; c < COMMS; c++)
		if (p->comms[c] && p->done[c] < end)
			return 0;
	return 1;
}

static void player_begin(struct player *p)
{
	int me = p->rank->rank;

	for (int c = 0; c < COMMS; c++) {
		OK(ncclCommSplit(p->rank->comm, is_member(c, me) ? c : -1, 0,
				 &p->comms[c], NULL));
		if (!p->comms[c])
			continue;
		OK(ncclCommUserRank(p->comms[c], &p->places[c]));
		OK(ncclCommCount(p->comms[c], &p->sizes[c]));
		p->streams[c][0] = sim_stream_new();
		p->streams[c][1] = sim_stream_new();
		p->parts[c] = calloc((size_t)nbundles, sizeof(struct part));
	}
}

static void player_end(struct player *p)
{
	for (int c = 0; c < COMMS; c++) {
		if (!p->comms[c])
			continue;
		sim_stream_free(p->streams[c][0]);
		sim_stream_free(p->streams[c][1]);
		for (int i = 0; i < nbundles; i++)
			player_check(p, c, i);
		OK(ncclCommDestroy(p->comms[c]));
		free(p->parts[c]);
	}
}

/* One interleaving is over: what comes next is mixed with nothing of it. */
static void player_sync(const struct player *p)
{
	for (int c = 0; c < COMMS; c++)
		for (int i = 0; p->comms[c] && i < 2; i++)
			sim_stream_sync(p->streams[c][i]);
}

static void body_play(struct rank *rank)
{
	struct player p = {.rank = rank,
			   .random = seed * 1000 + (uint64_t)rank->rank};

	player_begin(&p);
	for (int end = nturn; end <= nbundles; end += nturn) {
		while (!player_is_done(&p, end))
			player_step(&p, end);
		player_sync(&p);
	}
	player_end(&p);
}

/* What all ranks call in a program. */
static void bundles_make(void)
{
	uint64_t random = seed;

	for (int c = 0; c < COMMS; c++) {
		bundles[c] = calloc((size_t)nbundles, sizeof(**bundles));
		for (int i = 0; i < nbundles; i++) {
			struct bundle *b = &bundles[c][i];

			b->n = 1 + (int)next_random(&random, OPS_MAX);
			for (int k = 0; k < b->n; k++)
				b->kinds |= next_random(&random, 3) << 2 * k;
		}
	}
}

/*
 * So many programs, whose seeds follow one another, each with so many
 * interleavings of `turn` bundles a communicator.
 */
static void play(uint64_t first, int programs, int turns, int turn)
{
	nturn = turn;
	nbundles = turns * turn;
	for (seed = first; seed < first + (uint64_t)programs; seed++) {
		bundles_make();
		ranks_run(RANKS, body_play);
		for (int c = 0; c < COMMS; c++)
			free(bundles[c]);
	}
}

/* One interleaving that takes long, as many calls are under way in it. */
static void case_long(void **state)
{
	(void)state;
	play(1, 2, 1, gt_test_is_brief() ? 30 : 125);
}

/* 10^4 of them, or a tenth; communicators are made anew now and then. */
static void case_interleave(void **state)
{
	(void)state;
	play(3, 10, gt_test_is_brief() ? 100 : 1000, 2);
}

/* GTOPO_PROGRAMS of a few calls each, from GTOPO_SEED on. */
static void case_many(void **state)
{
	const char *programs = getenv("GTOPO_PROGRAMS");
	const char *first = getenv("GTOPO_SEED");

	(void)state;
	if (!programs) {
		print_message("GTOPO_PROGRAMS says how many more to try\n");
		skip();
	}
	alarm(0);
	play(first ? strtoull(first, NULL, 10) : 13, atoi(programs), 1, 8);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_long),
		cmocka_unit_test(case_interleave),
		cmocka_unit_test(case_many),
	};

	alarm(900);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
