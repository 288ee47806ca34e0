/* Splits: every colouring, keys, configurations, groups, and what is wrong. */
#include "nccl/client.h"

#include <sched.h>
#include <time.h>

enum { RANKS = 4, COLOURS = 3, COLOURINGS = 81 /* COLOURS to the RANKS */ };

/* The colour of a rank in a colouring: 0, 1, or -1 for none. */
static int colour_of(int colouring, int rank)
{
	while (rank--)
		colouring /= COLOURS;
	return colouring % COLOURS - 1;
}

/* Keys run against the ranks, and two are equal: then the rank decides. */
static int key_of(int rank)
{
	return rank < 2 ? 5 : -rank;
}

/* The rank that a rank has in its new communicator, and of how many. */
static int place_of(int colouring, int rank, int *size)
{
	int place = 0;

	*size = 0;
	for (int r = 0; r < RANKS; r++) {
		if (colour_of(colouring, r) != colour_of(colouring, rank))
			continue;
		++*size;
		place += key_of(r) < key_of(rank) ||
			 (key_of(r) == key_of(rank) && r < rank);
	}
	return place;
}

static void body_colourings(struct rank *rank)
{
	int me = rank->rank, size, place, got;
	void *child, *old = NULL;

	for (int c = 0; c < COLOURINGS; c++) {
		int32_t in = 1 << me, out = 0, all = 0;

		OK(ncclCommSplit(rank->comm, colour_of(c, me), key_of(me),
				 &child, NULL));
		IS((colour_of(c, me) < 0) == !child);
		/* The parent and the one before are as good as ever. */
		OK(ncclAllReduce(&in, &all, 1, INT32, SUM, rank->comm,
				 rank->stream));
		if (old)
			OK(ncclCommDestroy(old));
		old = child;
		place = place_of(c, me, &size);
		if (child) {
			OK(ncclCommUserRank(child, &got));
			IS(got == place);
			OK(ncclCommCount(child, &got));
			IS(got == size);
			OK(ncclAllReduce(&in, &out, 1, INT32, SUM, child,
					 rank->stream));
		}
		sim_stream_sync(rank->stream);
		IS(all == (1 << RANKS) - 1);
		for (int r = 0; child && r < RANKS; r++)
			IS((out >> r & 1) ==
			   (colour_of(c, r) == colour_of(c, me)));
	}
	if (old)
		OK(ncclCommDestroy(old));
}

static void case_colourings(void **state)
{
	(void)state;
	ranks_run(RANKS, body_colourings);
}

/* Several in one group; ranks in the order of their keys see to the order. */
static void body_groups(struct rank *rank)
{
	int me = rank->rank, got, cube[4];
	void *rows, *columns, *all;

	OK(ncclGroupStart());
	OK(ncclCommSplit(rank->comm, me / 2, 0, &rows, NULL));
	OK(ncclCommSplit(rank->comm, me % 2, 0, &columns, NULL));
	OK(ncclCommSplit(rank->comm, 7, -me, &all, NULL));
	IS(!rows && !columns && !all);
	OK(ncclGroupEnd());
	OK(ncclCommUserRank(all, &got));
	IS(got == RANKS - 1 - me);
	OK(ncclAllGather(&me, cube, 1, INT32, rows, rank->stream));
	OK(ncclAllGather(cube, cube, 1, INT32, rows, rank->stream));
	sim_stream_sync(rank->stream);
	OK(ncclAllGather(&me, cube, 1, INT32, columns, rank->stream));
	sim_stream_sync(rank->stream);
	IS(cube[0] == me % 2 && cube[1] == me % 2 + 2);
	OK(ncclCommDestroy(rows));
	OK(ncclCommDestroy(all));
	OK(ncclCommDestroy(columns));
}

static void case_groups(void **state)
{
	(void)state;
	ranks_run(RANKS, body_groups);
}

/* The parent's ways are inherited, unless the program says else. */
static void body_configs(struct rank *rank)
{
	struct client_config config = client_config(48, 22602);
	void *child = NULL, *grandchild = NULL;
	int state;

	config.numbers[0] = 0; /* not blocking */
	OK(ncclCommSplit(rank->comm, 0, 0, &child, &config));
	IS(child);
	WANT(PROGRESS, ncclCommSplit(child, 0, 0, &grandchild, NULL));
	do
		OK(ncclCommGetAsyncError(child, &state));
	while (state == PROGRESS);
	IS(state == SUCCESS && grandchild);
	WANT(PROGRESS, ncclCommFinalize(grandchild));
	do
		OK(ncclCommGetAsyncError(grandchild, &state));
	while (state == PROGRESS);
	IS(state == SUCCESS);
	OK(ncclCommDestroy(grandchild));
	OK(ncclCommDestroy(child));
	config.magic = 0;
	WANT(ARGUMENT, ncclCommSplit(rank->comm, 0, 0, &child, &config));
	WANT(ARGUMENT, ncclCommSplit(rank->comm, -2, 0, &child, NULL));
	WANT(ARGUMENT, ncclCommSplit(NULL, 0, 0, &child, NULL));
	/* None of these was a split, so this is everybody's next one. */
	OK(ncclCommSplit(rank->comm, -1, 0, &child, NULL));
	IS(!child);
}

static void case_configs(void **state)
{
	(void)state;
	ranks_run(RANKS, body_configs);
}

/* One rank's operation waits in the parent for what follows the split. */
static void body_parent_busy(struct rank *rank)
{
	int one = 1, sum = 0, out = 0;
	void *child;

	if (!rank->rank)
		OK(ncclAllReduce(&one, &sum, 1, INT32, SUM, rank->comm,
				 rank->stream));
	OK(ncclCommSplit(rank->comm, 0, 0, &child, NULL));
	IS(!sum);
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, child, NULL));
	sim_stream_sync(NULL);
	IS(out == RANKS && !sum);
	rank_gate(rank);
	if (rank->rank)
		OK(ncclAllReduce(&one, &sum, 1, INT32, SUM, rank->comm,
				 rank->stream));
	sim_stream_sync(rank->stream);
	IS(sum == RANKS);
	OK(ncclCommDestroy(child));
}

static void case_parent_busy(void **state)
{
	(void)state;
	ranks_run(RANKS, body_parent_busy);
}

enum { TIMES = 20 };

/* A split that does not block goes on when its parent is destroyed. */
static void body_parent_destroyed(struct rank *rank)
{
	struct client_config config = client_config(48, 22602);
	void *parent, *child;
	int one = 1, out, state;

	config.numbers[0] = 0; /* not blocking */
	for (int t = 0; t < TIMES; t++) {
		child = NULL;
		OK(ncclCommSplit(rank->comm, 0, 0, &parent, &config));
		WANT(PROGRESS,
		     ncclCommSplit(parent, rank->rank % 2, 0, &child, NULL));
		OK(ncclCommDestroy(parent));
		WANT(ARGUMENT, ncclCommGetAsyncError(parent, &state));
		while (!__atomic_load_n(&child, __ATOMIC_ACQUIRE))
			sched_yield();
		OK(ncclAllReduce(&one, &out, 1, INT32, SUM, child,
				 rank->stream));
		sim_stream_sync(rank->stream);
		IS(out == RANKS / 2);
		OK(ncclCommDestroy(child));
	}
}

static void case_parent_destroyed(void **state)
{
	(void)state;
	ranks_run(RANKS, body_parent_destroyed);
}

static void nap(void *arg)
{
	const struct timespec a_while = {0, 5000000};

	(void)arg;
	nanosleep(&a_while, NULL);
}

/*
 * A dropped group leaves nothing behind: neither a turn that the next split
 * waits for, nor a communicator that was finalized.
 */
static void body_dropped(struct rank *rank)
{
	void *child = rank, *bad = rank;
	int one = 1, out = 0;

	OK(ncclGroupStart());
	OK(ncclCommSplit(rank->comm, 0, 0, &child, NULL));
	OK(ncclCommFinalize(rank->comm));
	WANT(ARGUMENT, ncclCommSplit(NULL, 0, 0, &bad, NULL));
	WANT(ARGUMENT, ncclGroupEnd());
	IS(!child && !bad);
	OK(ncclCommSplit(rank->comm, 0, 0, &child, NULL));
	IS(child);
	/* Operations of a group are done before it finalizes. */
	sim_stream_call(rank->stream, nap, NULL);
	OK(ncclGroupStart());
	OK(ncclCommFinalize(child));
	OK(ncclAllReduce(&one, &out, 1, INT32, SUM, child, rank->stream));
	OK(ncclGroupEnd());
	IS(out == RANKS);
	WANT(ARGUMENT,
	     ncclAllReduce(&one, &out, 1, INT32, SUM, child, rank->stream));
	bad = rank;
	WANT(ARGUMENT, ncclCommSplit(child, 0, 0, &bad, NULL));
	IS(!bad);
	OK(ncclCommDestroy(child));
}

static void case_dropped(void **state)
{
	(void)state;
	ranks_run(RANKS, body_dropped);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_colourings),
		cmocka_unit_test(case_groups),
		cmocka_unit_test(case_configs),
		cmocka_unit_test(case_parent_busy),
		cmocka_unit_test(case_parent_destroyed),
		cmocka_unit_test(case_dropped),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
