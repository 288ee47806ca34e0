/*
 * What clients need of libnccl.so.2, found by name as vLLM's and JAX's loaders
 * do: each of the names is called, with a result that is right or a refusal in
 * words.  Ranks are threads on the host, with a SIMULATED CUDA run-time.
 */
#include "nccl/client.h"

#include <dlfcn.h>

enum { RANKS = 2, COUNT = 5 };

/* ncclCommProperties_t of 2.29, whose numbers are what a client set. */
struct properties {
	size_t size;
	unsigned magic, version;
	int rank, ranks, rest[8];
};

/* A function that clients need, from tests/nccl/clients. */
struct need {
	char name[32], clients[64];
	_Atomic int called;
};

enum { NEEDS_MOST = 100 };

static struct need needs[NEEDS_MOST];
static int nneeds;

/* Lines of a name, a tab and clients; others are comments. */
static void read_needs(void)
{
	char path[4096], line[128];
	FILE *file = fopen(gt_test_path(path, "tests/nccl/clients"), "r");

	IS(file);
	while (fgets(line, sizeof(line), file)) {
		struct need *need = &needs[nneeds];

		if (*line == '#')
			continue;
		IS(nneeds < NEEDS_MOST);
		IS(sscanf(line, "%31[A-Za-z]\t%63[^\n]", need->name,
			  need->clients) == 2);
		nneeds++;
	}
	fclose(file);
	IS(nneeds);
}

/* Find a function by its name, as a program without nccl.h does. */
static void *find(const char *name)
{
	char whole[64];
	void *at;

	for (int i = 0; i < nneeds; i++) {
		if (strcmp(needs[i].name, name) != 0)
			continue;
		needs[i].called = 1;
		snprintf(whole, sizeof(whole), "nccl%s", name);
		at = dlsym(RTLD_DEFAULT, whole);
		IS(at);
		return at;
	}
	fprintf(stderr, "nobody needs %s\n", name);
	abort();
}

#define CALL(name) ((__typeof__(&nccl##name))find(#name))

/* What gtopo does not have says so, whatever it is called with. */
typedef int refused(void *a, void *b, void *c, void *d, void *e, void *f);

static void want_refusal(const char *name)
{
	refused *call = (refused *)find(name);

	IS(call(NULL, NULL, NULL, NULL, NULL, NULL) == USAGE);
	IS(strstr(ncclGetLastError(NULL), name));
	IS(strstr(ncclGetLastError(NULL), "gtopo"));
}

static void body_collectives(struct rank *me)
{
	int in[COUNT * RANKS], out[COUNT * RANKS], n = me->size;
	void *comm = me->comm, *on = me->stream;

	for (int i = 0; i < COUNT * RANKS; i++)
		in[i] = 100 * me->rank + i;
	OK(CALL(AllReduce)(in, out, COUNT, INT32, SUM, comm, on));
	sim_stream_sync(on);
	IS(out[1] == 100 + 2);
	OK(CALL(Reduce)(in, out, COUNT, INT32, MAX, 0, comm, on));
	OK(CALL(Broadcast)(out, out, COUNT, INT32, 0, comm, on));
	sim_stream_sync(on);
	IS(out[2] == 102);
	OK(CALL(Bcast)(out, COUNT, INT32, 1, comm, on));
	OK(CALL(AllGather)(in, out, COUNT, INT32, comm, on));
	sim_stream_sync(on);
	IS(out[COUNT] == 100 && out[0] == 0);
	OK(CALL(ReduceScatter)(in, out, COUNT, INT32, SUM, comm, on));
	sim_stream_sync(on);
	IS(out[0] == 100 + 2 * me->rank * COUNT);
	OK(CALL(AlltoAll)(in, out, COUNT, INT32, comm, on));
	sim_stream_sync(on);
	IS(out[COUNT] == 100 + me->rank * COUNT);
	OK(CALL(Gather)(in, out, COUNT, INT32, 1, comm, on));
	OK(CALL(Scatter)(in, out, COUNT, INT32, 0, comm, on));
	OK(CALL(GroupStart)());
	OK(CALL(Send)(in, COUNT, INT32, n - 1 - me->rank, comm, on));
	OK(CALL(Recv)(out, COUNT, INT32, n - 1 - me->rank, comm, on));
	OK(CALL(GroupEnd)());
	sim_stream_sync(on);
	IS(out[3] == 100 * (n - 1 - me->rank) + 3);
}

static void body_memory(struct rank *me)
{
	float half = 0.5F, *data, out[2];
	void *handle = NULL, *window = me;
	int op, state;

	OK(CALL(MemAlloc)((void **)&data, 2 * sizeof(*data)));
	data[0] = data[1] = 4;
	OK(CALL(CommRegister)(me->comm, data, 2 * sizeof(*data), &handle));
	OK(CALL(CommWindowRegister)(me->comm, data, 2 * sizeof(*data), &window,
				    1));
	IS(!window);
	OK(CALL(RedOpCreatePreMulSum)(&op, &half, FLOAT, 1, me->comm));
	OK(CALL(AllReduce)(data, out, 2, FLOAT, op, me->comm, me->stream));
	OK(CALL(RedOpDestroy)(op, me->comm));
	sim_stream_sync(me->stream);
	IS(out[0] == 4 && out[1] == 4);
	OK(CALL(CommWindowDeregister)(me->comm, window));
	OK(CALL(CommDeregister)(me->comm, handle));
	OK(CALL(MemFree)(data));
	OK(CALL(CommGetAsyncError)(me->comm, &state));
	IS(state == SUCCESS);
}

/* Nobody ends what others have not finished making. */
static void meet(struct rank *me)
{
	int32_t in = 1, out = 0;

	OK(CALL(AllReduce)(&in, &out, 1, INT32, SUM, me->comm, me->stream));
	sim_stream_sync(me->stream);
	IS(out == RANKS);
}

static void body_comms(struct rank *me)
{
	struct client_config config = client_config(48, 22602);
	int others[1] = {me->rank}, n = 0, rank = -1, device = -1;
	struct properties all = {sizeof(all), 0xcafebeef, 22900, 0, 0, {0}};
	void *made = NULL, *alone = NULL;
	id_t128 ids[1];

	OK(CALL(CommCount)(me->comm, &n));
	OK(CALL(CommUserRank)(me->comm, &rank));
	OK(CALL(CommCuDevice)(me->comm, &device));
	IS(n == RANKS && rank == me->rank && device == me->rank);
	OK(CALL(CommQueryProperties)(me->comm, &all));
	IS(all.rank == me->rank && all.ranks == RANKS);
	OK(CALL(CommSplit)(me->comm, 0, -me->rank, &made, NULL));
	OK(CALL(CommUserRank)(made, &rank));
	IS(rank == RANKS - 1 - me->rank);
	meet(me);
	OK(CALL(CommRevoke)(made, 0));
	if (!me->rank) {
		OK(CALL(CommShrink)(made, others, 1, &alone, NULL, 0));
		OK(CALL(CommFinalize)(alone));
		OK(CALL(CommDestroy)(alone));
	}
	OK(CALL(CommAbort)(made));
	OK(CALL(GetUniqueId)(&ids[0]));
	OK(CALL(CommInitRankScalable)(&made, 1, 0, 1, ids, NULL));
	OK(CALL(CommDestroy)(made));
	OK(CALL(GetUniqueId)(&ids[0]));
	OK(CALL(CommInitRankConfig)(&made, 1, ids[0], 0, &config));
	OK(CALL(CommDestroy)(made));
	OK(CALL(GetUniqueId)(&ids[0]));
	OK(CALL(CommInitRank)(&made, 1, ids[0], 0));
	OK(CALL(CommDestroy)(made));
}

/* One rank takes another one in. */
static void call_grow(void)
{
	void *old, *grown[2];
	id_t128 id;

	OK(CALL(CommInitAll)(&old, 1, NULL));
	OK(CALL(CommGetUniqueId)(old, &id));
	OK(CALL(GroupStart)());
	OK(CALL(CommGrow)(old, 2, NULL, -1, &grown[0], NULL));
	sim_use_device(1);
	OK(CALL(CommGrow)(NULL, 2, &id, 1, &grown[1], NULL));
	OK(CALL(GroupEnd)());
	sim_use_device(0);
	OK(CALL(CommDestroy)(old));
	OK(CALL(CommDestroy)(grown[0]));
	OK(CALL(CommDestroy)(grown[1]));
}

static void case_called(void **state)
{
	void *comms[RANKS];
	int version = 0;

	(void)state;
	OK(CALL(GetVersion)(&version));
	IS(version == 22707);
	IS(!strcmp(CALL(GetErrorString)(0), "no error"));
	ranks_run(RANKS, body_collectives);
	ranks_run(RANKS, body_memory);
	ranks_run(RANKS, body_comms);
	call_grow();
	OK(CALL(CommInitAll)(comms, RANKS, NULL));
	OK(CALL(GroupStart)());
	OK(CALL(GroupSimulateEnd)(NULL));
	for (int r = 0; r < RANKS; r++)
		OK(CALL(CommDestroy)(comms[r]));
}

static void case_refused(void **state)
{
	static const char *const these[] = {
		"CommSuspend",   "CommResume",    "CommMemStats",
		"PutSignal",     "Signal",        "WaitSignal",
		"WinGetUserPtr", "DevCommCreate", "DevCommDestroy",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(these) / sizeof(these[0]); i++)
		want_refusal(these[i]);
	IS(*CALL(GetLastError)(NULL));
}

/* Every name was called; last, as it counts. */
static void case_all(void **state)
{
	(void)state;
	for (int i = 0; i < nneeds; i++)
		if (!needs[i].called)
			fail_msg("%s: nccl%s was not called", needs[i].clients,
				 needs[i].name);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_called),
		cmocka_unit_test(case_refused),
		cmocka_unit_test(case_all),
	};

	alarm(300);
	read_needs();
	return cmocka_run_group_tests(cases, NULL, NULL);
}
