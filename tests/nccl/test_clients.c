/*
 * What clients need of libnccl.so.2, found by name as vLLM's and JAX's loaders
 * do: each of the names is called, with a result that is right or a refusal in
 * words.  Ranks are threads on the host, with a SIMULATED CUDA run-time.
 */
#include "nccl/client.h"

#include <dlfcn.h>

enum { RANKS = 2, COUNT = 5 };

int ncclCommWindowDeregister(void *comm, void *window);
int ncclCommQueryProperties(void *comm, void *properties);

/* ncclCommProperties_t of 2.29, whose numbers are what a client set. */
struct properties {
	size_t size;
	unsigned magic, version;
	int rank, ranks, rest[8];
};

/* Who needs a name; letters of clients: see clients below. */
static const struct {
	const char *name, *clients;
} names[] = {
	{"GetVersion", "TPCVH"},
	{"GetUniqueId", "TPCVH"},
	{"GetErrorString", "TPCVH"},
	{"GetLastError", "TP"},
	{"CommInitRank", "TPCVH"},
	{"CommInitRankConfig", "TPC"},
	{"CommInitRankScalable", "P"},
	{"CommInitAll", "PC"},
	{"CommFinalize", "P"},
	{"CommDestroy", "TPCVH"},
	{"CommAbort", "TPCH"},
	{"CommGetAsyncError", "TPCH"},
	{"CommCount", "TPCH"},
	{"CommUserRank", "TPCH"},
	{"CommCuDevice", "C"},
	{"AllReduce", "TPCVH"},
	{"Reduce", "TPCVH"},
	{"AllGather", "TPCVH"},
	{"ReduceScatter", "TPCVH"},
	{"Broadcast", "TPCVH"},
	{"Bcast", "TPCH"},
	{"Send", "TPCVH"},
	{"Recv", "TPCVH"},
	{"GroupStart", "TPCVH"},
	{"GroupEnd", "TPCVH"},
	{"GroupSimulateEnd", "P"},
	{"AlltoAll", "TP"},
	{"Gather", "T"},
	{"Scatter", "T"},
	{"RedOpCreatePreMulSum", "TP"},
	{"RedOpDestroy", "TP"},
	{"MemAlloc", "TPV"},
	{"MemFree", "TPV"},
	{"CommRegister", "TP"},
	{"CommDeregister", "TP"},
	{"CommWindowRegister", "TPV"},
	{"CommWindowDeregister", "TPV"},
	{"CommSplit", "PC"},
	{"CommShrink", "P"},
	{"CommRevoke", "P"},
	{"CommGetUniqueId", "P"},
	{"CommGrow", "P"},
	{"CommSuspend", "P"},
	{"CommResume", "P"},
	{"CommMemStats", "P"},
	{"PutSignal", "P"},
	{"Signal", "P"},
	{"WaitSignal", "P"},
	{"WinGetUserPtr", "P"},
	{"CommQueryProperties", "TP"},
	{"DevCommCreate", "TP"},
	{"DevCommDestroy", "TP"},
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

static _Atomic int called[NAMES];

/* Find a function by its name, as a program without nccl.h does. */
static void *find(const char *name)
{
	char whole[64];
	void *at;

	for (int i = 0; i < NAMES; i++) {
		if (strcmp(names[i].name, name) != 0)
			continue;
		called[i] = 1;
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
	OK(CALL(CommInitAll)(comms, RANKS, NULL));
	OK(CALL(GroupStart)());
	OK(CALL(GroupSimulateEnd)(NULL));
	for (int r = 0; r < RANKS; r++)
		OK(CALL(CommDestroy)(comms[r]));
}

static void case_refused(void **state)
{
	static const char *const these[] = {
		"CommGetUniqueId", "CommGrow",       "CommSuspend",
		"CommResume",      "CommMemStats",   "PutSignal",
		"Signal",          "WaitSignal",     "WinGetUserPtr",
		"DevCommCreate",   "DevCommDestroy",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(these) / sizeof(these[0]); i++)
		want_refusal(these[i]);
	IS(*CALL(GetLastError)(NULL));
}

/* Every name was called, by whomever it is needed; last, as it counts. */
static void case_all(void **state)
{
	static const struct {
		char letter;
		const char *name;
	} clients[] = {{'T', "nccl-tests"},
		       {'P', "PyTorch"},
		       {'C', "CuPy"},
		       {'V', "vLLM"},
		       {'H', "Horovod"}};

	(void)state;
	for (size_t c = 0; c < sizeof(clients) / sizeof(clients[0]); c++) {
		int needs = 0;

		for (int i = 0; i < NAMES; i++) {
			if (!strchr(names[i].clients, clients[c].letter))
				continue;
			needs++;
			if (!called[i])
				fail_msg("%s needs nccl%s, which was not "
					 "called",
					 clients[c].name, names[i].name);
		}
		print_message("%s: %d names\n", clients[c].name, needs);
	}
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_called),
		cmocka_unit_test(case_refused),
		cmocka_unit_test(case_all),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
