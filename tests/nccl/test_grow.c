/* Communicators that take in more ranks, which are told an id. */
#include "nccl/client.h"

#include <sched.h>

enum { OLD = 3, ALL = 5 };

static id_t128 shared_id;
static pthread_barrier_t all_gate; /* of old and new ranks */

/* All ranks have a part in the sum, and know where they are. */
static void want_all(void *comm, int rank, int size)
{
	void *stream = sim_stream_new();
	int32_t in = 1 << rank, out = 0;
	int n = 0, me = -1;

	OK(ncclCommCount(comm, &n));
	OK(ncclCommUserRank(comm, &me));
	IS(n == size && me == rank);
	OK(ncclAllReduce(&in, &out, 1, INT32, SUM, comm, stream));
	sim_stream_sync(stream);
	IS(out == (1 << size) - 1);
	sim_stream_free(stream);
}

/* Who is new has a number behind the others'. */
static void *join_main(void *arg)
{
	int rank = *(int *)arg;
	void *comm = NULL;

	sim_use_device(rank);
	pthread_barrier_wait(&all_gate);
	OK(ncclCommGrow(NULL, ALL, &shared_id, rank, &comm, NULL));
	want_all(comm, rank, ALL);
	pthread_barrier_wait(&all_gate);
	OK(ncclCommDestroy(comm));
	return NULL;
}

/* Rank 1 has asked for the id; it may give it again, and the others none. */
static void body_grow(struct rank *rank)
{
	int me = rank->rank;
	void *grown = NULL;

	if (me == 1)
		OK(ncclCommGetUniqueId(rank->comm, &shared_id));
	pthread_barrier_wait(&all_gate);
	OK(ncclCommGrow(rank->comm, ALL, me == 1 ? &shared_id : NULL, -1,
			&grown, NULL));
	want_all(grown, me, ALL);
	/* The old one is there still, and can be split or grown again. */
	want_all(rank->comm, me, OLD);
	pthread_barrier_wait(&all_gate);
	OK(ncclCommDestroy(grown));
}

static void case_grow(void **state)
{
	pthread_t threads[ALL];
	int ranks[ALL];

	(void)state;
	for (int turn = 0; turn < 3; turn++) {
		IS(!pthread_barrier_init(&all_gate, NULL, ALL));
		for (int r = OLD; r < ALL; r++) {
			ranks[r] = r;
			IS(!pthread_create(&threads[r], NULL, join_main,
					   &ranks[r]));
		}
		ranks_run(OLD, body_grow);
		for (int r = OLD; r < ALL; r++)
			pthread_join(threads[r], NULL);
		pthread_barrier_destroy(&all_gate);
	}
}

/* One thread has all of them, in groups: 1 becomes 2, and 2 become 4. */
static void case_doubled(void **state)
{
	void *comms[4] = {NULL}, *next[4] = {NULL}, *streams[4];
	int in = 1, out[4];
	id_t128 id;

	(void)state;
	OK(ncclCommInitAll(comms, 1, NULL));
	for (int n = 1; n < 4; n *= 2) {
		OK(ncclCommGetUniqueId(comms[n - 1], &id));
		OK(ncclGroupStart());
		for (int r = 0; r < 2 * n; r++) {
			sim_use_device(r);
			OK(ncclCommGrow(comms[r], 2 * n, r < n ? NULL : &id,
					r < n ? -1 : r, &next[r], NULL));
		}
		OK(ncclGroupEnd());
		for (int r = 0; r < n; r++)
			OK(ncclCommDestroy(comms[r]));
		memcpy(comms, next, sizeof(next));
	}
	OK(ncclGroupStart());
	for (int r = 0; r < 4; r++) {
		streams[r] = sim_stream_new();
		OK(ncclAllReduce(&in, &out[r], 1, INT32, SUM, comms[r],
				 streams[r]));
	}
	OK(ncclGroupEnd());
	for (int r = 0; r < 4; r++) {
		sim_stream_sync(streams[r]);
		IS(out[r] == 4);
		OK(ncclCommDestroy(comms[r]));
		sim_stream_free(streams[r]);
	}
	sim_use_device(0);
}

/*
 * Where it does not block, one thread grows all ranks and then shrinks them
 * again, without a group.
 */
static void case_in_progress(void **state)
{
	struct client_config config = client_config(24, 21400);
	void *comms[2], *grown[3], *shrunk[2];
	int last = 2;
	id_t128 id;

	(void)state;
	config.numbers[0] = 0;
	OK(ncclGetUniqueId(&id));
	for (int r = 0; r < 2; r++) {
		sim_use_device(r);
		WANT(PROGRESS,
		     ncclCommInitRankConfig(&comms[r], 2, id, r, &config));
	}
	for (int r = 0; r < 2; r++)
		IS(client_await(comms[r]) == SUCCESS);
	OK(ncclCommGetUniqueId(comms[0], &id));
	for (int r = 0; r < 3; r++) {
		sim_use_device(r);
		WANT(PROGRESS, ncclCommGrow(r < 2 ? comms[r] : NULL, 3,
					    r < 2 ? NULL : &id, r < 2 ? -1 : r,
					    &grown[r], r < 2 ? NULL : &config));
	}
	for (int r = 0; r < 3; r++)
		IS(client_await(r < 2 ? comms[r] : grown[2]) == SUCCESS);
	for (int r = 0; r < 2; r++)
		WANT(PROGRESS,
		     ncclCommShrink(grown[r], &last, 1, &shrunk[r], NULL, 0));
	for (int r = 0; r < 2; r++) {
		IS(client_await(grown[r]) == SUCCESS && shrunk[r]);
		OK(ncclCommDestroy(shrunk[r]));
		OK(ncclCommDestroy(grown[r]));
		OK(ncclCommDestroy(comms[r]));
	}
	OK(ncclCommDestroy(grown[2]));
	sim_use_device(0);
}

/* What is wrong is said, by all that see it, and the communicator stays. */
static void body_wrong(struct rank *rank)
{
	void *grown = rank;
	id_t128 id;

	WANT(ARGUMENT, ncclCommGetUniqueId(rank->comm, NULL));
	WANT(ARGUMENT, ncclCommGetUniqueId(NULL, &id));
	WANT(ARGUMENT, ncclCommGrow(rank->comm, OLD, NULL, -1, &grown, NULL));
	IS(!grown);
	WANT(ARGUMENT,
	     ncclCommGrow(rank->comm, ALL, NULL, rank->rank, &grown, NULL));
	WANT(ARGUMENT, ncclCommGrow(rank->comm, ALL, NULL, -1, NULL, NULL));
	WANT(ARGUMENT, ncclCommGrow(NULL, ALL, NULL, OLD, &grown, NULL));
	WANT(USAGE, ncclCommGrow(rank->comm, ALL, NULL, -1, &grown, NULL));
	IS(!grown && strstr(ncclGetLastError(NULL), "0 ranks have called "
						    "ncclCommGetUniqueId()"));
	if (rank->rank) {
		OK(ncclCommGetUniqueId(rank->comm, &id));
		WANT(USAGE, ncclCommGetUniqueId(rank->comm, &id));
	}
	WANT(USAGE, ncclCommGrow(rank->comm, ALL, NULL, -1, &grown, NULL));
	IS(strstr(ncclGetLastError(NULL), "2 ranks have called"));
	want_all(rank->comm, rank->rank, OLD);
}

static void case_wrong(void **state)
{
	(void)state;
	ranks_run(OLD, body_wrong);
}

struct joiner {
	id_t128 id;
	int rank, size, result;
	char said[256];
};

static void *join_in_vain(void *arg)
{
	struct joiner *joiner = arg;
	void *comm;

	sim_use_device(joiner->rank);
	joiner->result = ncclCommGrow(NULL, joiner->size, &joiner->id,
				      joiner->rank, &comm, NULL);
	snprintf(joiner->said, sizeof(joiner->said), "%s",
		 ncclGetLastError(NULL));
	IS(!comm);
	return NULL;
}

enum aborts { IN_PLACE, BEFORE, WITHOUT, ABORTS };

static enum aborts aborts;

static int is_failed(void *comm)
{
	int state = SUCCESS;

	OK(ncclCommGetAsyncError(comm, &state));
	return state != SUCCESS;
}

/*
 * Who is new is told so, whether it has come before or comes later, and however
 * many are to come.
 */
static void want_told(struct joiner *joiner)
{
	pthread_t thread;

	IS(joiner->result == REMOTE);
	IS(aborts != WITHOUT ||
	   strstr(joiner->said, "rank 1 cannot come: it has ended its comm"));
	joiner->result = -1;
	joiner->rank++;
	IS(!pthread_create(&thread, NULL, join_in_vain, joiner));
	pthread_join(thread, NULL);
	IS(joiner->result == REMOTE);
	IS(aborts != WITHOUT ||
	   strstr(joiner->said, "rank 1 cannot come: it has ended its comm"));
}

/*
 * Where one of the old ranks ends the communicator in place of growing it, or
 * before the others grow it, the others and who is new are told so; and so is
 * who is new where nobody grows it.
 */
static void body_aborts(struct rank *rank)
{
	struct joiner joiner = {.rank = OLD, .size = OLD + 2, .result = -1};
	pthread_t thread;
	void *grown;

	if (rank->rank == 1) {
		OK(ncclCommGetUniqueId(rank->comm, &joiner.id));
		IS(!pthread_create(&thread, NULL, join_in_vain, &joiner));
	}
	rank_gate(rank);
	if (rank->rank == 2)
		OK(ncclCommAbort(rank->comm));
	while (rank->rank != 2 && aborts == BEFORE && !is_failed(rank->comm))
		sched_yield();
	if (rank->rank != 2 && aborts != WITHOUT)
		IS(ncclCommGrow(rank->comm, OLD + 2, NULL, -1, &grown, NULL) !=
		   SUCCESS);
	else if (rank->rank != 2)
		OK(ncclCommAbort(rank->comm));
	if (rank->rank == 1) {
		pthread_join(thread, NULL);
		want_told(&joiner);
	}
	if (rank->rank != 2 && aborts != WITHOUT)
		OK(ncclCommAbort(rank->comm));
	rank->comm = NULL;
}

static void case_aborted(void **state)
{
	(void)state;
	for (aborts = IN_PLACE; aborts < ABORTS; aborts++)
		ranks_run(OLD, body_aborts);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_grow),
		cmocka_unit_test(case_doubled),
		cmocka_unit_test(case_in_progress),
		cmocka_unit_test(case_wrong),
		cmocka_unit_test(case_aborted),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
