/*
 * Ranks make a communicator on what is left of another one, and one of them
 * loses a connection before it hears the end of a round, which the others are
 * behind then.  All are together in the end, whichever round it was.
 */
#include "nccl/client.h"
#include "unit/lib/deaf.h"

enum { RANKS = 4, LAST = RANKS - 1, COUNT = 5000, TRIES = 4 };

/* Which round it is, of the ranks' world or of one beside; 0: all is heard. */
static uint64_t round_number;
static int beside;

/* Whether all ranks add up what they were at first. */
static int is_sum(void *comm, void *stream, int me, int want)
{
	static _Thread_local int32_t in[COUNT], out[COUNT];
	int state, wrong = 0;

	for (int i = 0; i < COUNT; i++)
		in[i] = (me + 1) * i;
	if (ncclAllReduce(in, out, COUNT, INT32, SUM, comm, stream))
		return 0;
	sim_stream_sync(stream);
	OK(ncclCommGetAsyncError(comm, &state));
	for (int i = 0; !state && i < COUNT; i++)
		wrong += out[i] != want * i;
	IS(!wrong);
	return !state;
}

/* Once two sums are there all know that all have come to the first. */
static int is_sum_twice(void *comm, void *stream, int me, int want)
{
	return is_sum(comm, stream, me, want) && is_sum(comm, stream, me, want);
}

static void body_deaf(struct rank *rank)
{
	int excluded[] = {LAST}, me, depth = 0, done = 0;
	void *line[TRIES + 1] = {rank->comm};

	OK(ncclCommUserRank(rank->comm, &me));
	IS(is_sum_twice(rank->comm, rank->stream, me, 1 + 2 + 3 + 4));
	rank_gate(rank);
	if (!me)
		deaf_begin(round_number, beside);
	rank_gate(rank);
	for (int i = 0; me != LAST && !done && i < TRIES; i++) {
		depth += !ncclCommShrink(line[depth], excluded, !depth,
					 &line[depth + 1], NULL, depth > 0);
		done = depth &&
		       is_sum_twice(line[depth], rank->stream, me, 1 + 2 + 3);
	}
	IS(done || me == LAST);
	rank_gate(rank);
	for (; depth > 0; depth--)
		OK(ncclCommDestroy(line[depth]));
}

/* How many rounds there are until it is made. */
static void body_count(struct rank *rank)
{
	int excluded[] = {LAST}, me;
	void *child = NULL;

	OK(ncclCommUserRank(rank->comm, &me));
	rank_gate(rank);
	if (!me)
		deaf_begin(UINT64_MAX, 0);
	rank_gate(rank);
	if (me != LAST)
		OK(ncclCommShrink(rank->comm, excluded, 1, &child, NULL, 0));
	rank_gate(rank);
	if (!me)
		atomic_store(&deaf_round, 0);
	rank_gate(rank);
	if (child)
		OK(ncclCommDestroy(child));
}

static void case_one_hears_less(void **state)
{
	uint64_t last[2];

	(void)state;
	ranks_run(RANKS, body_count);
	for (int i = 0; i < 2; i++)
		last[i] = atomic_load(&deaf_last[!i]);
	/* Two begin the world, one tells who is in it, one that all are. */
	assert_true(last[0] >= 4 && last[1] >= 1);
	for (beside = 0; beside < 2; beside++)
		for (round_number = 1; round_number <= last[beside];
		     round_number++) {
			ranks_run(RANKS, body_deaf);
			assert_int_equal(atomic_load(&deaf_round), 0);
		}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_one_hears_less),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
