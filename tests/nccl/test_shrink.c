/* Communicators on what is left, and those that are revoked. */
#include "nccl/client.h"

#include <sched.h>
#include <stdatomic.h>

enum { RANKS = 4, COUNT = 5000 };

/* All ranks of a communicator add up what they were at first. */
static void body_sum(void *comm, void *stream, int me, int want)
{
	static _Thread_local int32_t in[COUNT], out[COUNT];

	for (int i = 0; i < COUNT; i++)
		in[i] = (me + 1) * i;
	OK(ncclAllReduce(in, out, COUNT, INT32, SUM, comm, stream));
	sim_stream_sync(stream);
	for (int i = 0; i < COUNT; i++)
		IS(out[i] == want * i);
}

/* Without rank 1, who does not come; the parent works before and behind. */
static void body_shrink(struct rank *rank)
{
	int excluded[] = {1}, size, number, me;
	void *child = NULL, *grandchild = NULL;

	OK(ncclCommUserRank(rank->comm, &me));
	if (me != 1) {
		OK(ncclCommShrink(rank->comm, excluded, 1, &child, NULL, 0));
		OK(ncclCommCount(child, &size));
		OK(ncclCommUserRank(child, &number));
		IS(size == RANKS - 1 && number == me - (me > 1));
		body_sum(child, rank->stream, me, 1 + 3 + 4);
		/* Rank 0 of the child goes as well. */
		if (me) {
			excluded[0] = 0;
			OK(ncclCommShrink(child, excluded, 1, &grandchild, NULL,
					  1));
			body_sum(grandchild, rank->stream, me, 3 + 4);
			OK(ncclCommDestroy(grandchild));
		}
		OK(ncclCommDestroy(child));
	}
	body_sum(rank->comm, rank->stream, me, 1 + 2 + 3 + 4);
}

static void case_shrink(void **state)
{
	(void)state;
	ranks_run(RANKS, body_shrink);
}

/* Rank 2 does not call what the others wait for. */
static void body_hang(struct rank *rank)
{
	static _Thread_local int32_t in[COUNT], out[COUNT];
	int excluded[] = {2}, me, rc;
	void *child = NULL;

	OK(ncclCommUserRank(rank->comm, &me));
	body_sum(rank->comm, rank->stream, me, 1 + 2 + 3 + 4);
	rank_gate(rank);
	if (me == 2)
		return;
	rc = ncclAllReduce(in, out, COUNT, INT32, SUM, rank->comm,
			   rank->stream);
	IS(!rc || rc == REMOTE); /* another rank may have ended it before */
	OK(ncclCommShrink(rank->comm, excluded, 1, &child, NULL, 1));
	sim_stream_sync(rank->stream);
	body_sum(child, rank->stream, me, 1 + 2 + 4);
	OK(ncclCommDestroy(child));
}

static void case_what_hangs_ends(void **state)
{
	(void)state;
	ranks_run(RANKS, body_hang);
}

struct watch {
	void *comm;
	_Atomic int over;
	int last;
};

/*
 * Asks how the communicator fares, as a watchdog does.  Before it is revoked
 * here it may see that another rank has done so; the last answer is of behind.
 */
static void *watch_main(void *arg)
{
	struct watch *watch = arg;
	int over;

	do {
		over = atomic_load(&watch->over);
		OK(ncclCommGetAsyncError(watch->comm, &watch->last));
	} while (!over);
	return NULL;
}

/* Somebody asks all the time, also while it is revoked. */
static void body_watch(struct rank *rank)
{
	struct watch watch = {.comm = rank->comm};
	pthread_t thread;
	int me, result;

	OK(ncclCommUserRank(rank->comm, &me));
	body_sum(rank->comm, rank->stream, me, 1 + 2 + 3 + 4);
	rank_gate(rank);
	IS(!pthread_create(&thread, NULL, watch_main, &watch));
	OK(ncclCommRevoke(rank->comm, 0));
	for (int i = 0; i < 1000; i++)
		OK(ncclCommGetAsyncError(rank->comm, &result));
	atomic_store(&watch.over, 1);
	pthread_join(thread, NULL);
	IS(result == SUCCESS);
	IS(watch.last == SUCCESS);
}

static void case_watched(void **state)
{
	(void)state;
	for (int turn = 0; turn < 20; turn++)
		ranks_run(RANKS, body_watch);
}

/* Once it is revoked there are no operations, but others are made of it. */
static void body_revoke(struct rank *rank)
{
	static _Thread_local int32_t in[COUNT], out[COUNT];
	int me, result, rc = SUCCESS;
	void *child = NULL;

	OK(ncclCommUserRank(rank->comm, &me));
	body_sum(rank->comm, rank->stream, me, 1 + 2 + 3 + 4);
	rank_gate(rank);
	if (me)
		rc = ncclAllReduce(in, out, COUNT, INT32, SUM, rank->comm,
				   rank->stream);
	IS(!rc || rc == REMOTE); /* as above */
	OK(ncclCommRevoke(rank->comm, 0));
	sim_stream_sync(rank->stream);
	WANT(USAGE, ncclAllReduce(in, out, COUNT, INT32, SUM, rank->comm,
				  rank->stream));
	IS(strstr(ncclGetLastError(rank->comm), "was revoked"));
	OK(ncclCommGetAsyncError(rank->comm, &result));
	IS(result == SUCCESS);
	OK(ncclCommSplit(rank->comm, me % 2, 0, &child, NULL));
	body_sum(child, rank->stream, me, me % 2 ? 2 + 4 : 1 + 3);
	OK(ncclCommDestroy(child));
	WANT(ARGUMENT, ncclCommRevoke(rank->comm, 1));
}

static void case_revoke(void **state)
{
	(void)state;
	ranks_run(RANKS, body_revoke);
}

static void body_wrong(struct rank *rank)
{
	int own[1], twice[] = {-1, -1}, me;
	void *child = rank;

	OK(ncclCommUserRank(rank->comm, &me));
	own[0] = me;
	twice[0] = twice[1] = (me + 1) % RANKS;
	WANT(ARGUMENT, ncclCommShrink(rank->comm, own, 1, &child, NULL, 0));
	IS(!child);
	WANT(ARGUMENT, ncclCommShrink(rank->comm, twice, 2, &child, NULL, 0));
	own[0] = RANKS;
	WANT(ARGUMENT, ncclCommShrink(rank->comm, own, 1, &child, NULL, 0));
	WANT(ARGUMENT, ncclCommShrink(rank->comm, own, 1, NULL, NULL, 0));
	WANT(ARGUMENT, ncclCommShrink(rank->comm, NULL, 1, &child, NULL, 0));
	WANT(ARGUMENT, ncclCommShrink(rank->comm, own, 1, &child, NULL, 2));
	WANT(ARGUMENT, ncclCommShrink(NULL, own, 0, &child, NULL, 0));
	OK(ncclCommRevoke(NULL, 0));
	body_sum(rank->comm, rank->stream, me, 1 + 2 + 3 + 4);
}

static void case_wrong(void **state)
{
	(void)state;
	ranks_run(RANKS, body_wrong);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_shrink),
		cmocka_unit_test(case_what_hangs_ends),
		cmocka_unit_test(case_revoke),
		cmocka_unit_test(case_watched),
		cmocka_unit_test(case_wrong),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
