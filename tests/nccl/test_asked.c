/*
 * What programs ask for and set beside operations: windows, ids, variables,
 * and structs of several versions.
 */
#include "nccl/client.h"

/*
 * There are no windows: to register one gives none, with success, wherever it
 * is called, and that one can be deregistered.
 */
static void body_windows(struct rank *rank)
{
	void *memory, *windows[2] = {rank, rank};

	OK(ncclMemAlloc(&memory, 8192));
	for (int flags = 0; flags < 2; flags++)
		OK(ncclCommWindowRegister(rank->comm, memory, 8192,
					  &windows[flags], flags));
	IS(!windows[0] && !windows[1]);
	windows[0] = rank;
	OK(ncclGroupStart());
	OK(ncclCommWindowRegister(rank->comm, memory, 4096, &windows[0], 1));
	OK(ncclGroupEnd());
	IS(!windows[0]);
	OK(ncclCommWindowDeregister(rank->comm, windows[0]));
	WANT(ARGUMENT, ncclCommWindowDeregister(rank->comm, memory));
	WANT(ARGUMENT,
	     ncclCommWindowRegister(NULL, memory, 4096, &windows[0], 0));
	OK(ncclMemFree(memory));
}

static void case_windows(void **state)
{
	(void)state;
	ranks_run(2, body_windows);
}

/* Large jobs have several ids, made by several ranks, which all are told. */
static void case_several_ids(void **state)
{
	void *comms[3];
	id_t128 ids[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		OK(ncclGetUniqueId(&ids[i]));
	OK(ncclGroupStart());
	for (int r = 0; r < 3; r++) {
		sim_use_device(r);
		OK(ncclCommInitRankScalable(&comms[r], 3, r, 3, ids, NULL));
	}
	OK(ncclGroupEnd());
	for (int r = 0; r < 3; r++)
		OK(ncclCommDestroy(comms[r]));
	WANT(ARGUMENT, ncclCommInitRankScalable(&comms[0], 2, 0, 3, ids, NULL));
	WANT(ARGUMENT,
	     ncclCommInitRankScalable(&comms[0], 2, 0, 1, NULL, NULL));
	sim_use_device(0);
}

/* What programs set for NCCL is heeded, or refused in words. */
static void case_variables(void **state)
{
	void *comm;
	id_t128 id;

	(void)state;
	setenv("NCCL_COMM_ID", "127.0.0.1:2000", 1);
	WANT(USAGE, ncclGetUniqueId(&id));
	IS(strstr(ncclGetLastError(NULL), "NCCL_COMM_ID"));
	unsetenv("NCCL_COMM_ID");
	setenv("NCCL_SOCKET_IFNAME", "none0", 1);
	IS(ncclGetUniqueId(&id) != SUCCESS);
	IS(strstr(ncclGetLastError(NULL), "none0"));
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	OK(ncclGetUniqueId(&id));
	unsetenv("NCCL_SOCKET_IFNAME");
	setenv("NCCL_COMM_BLOCKING", "0", 1);
	WANT(PROGRESS, ncclCommInitRank(&comm, 1, id, 0));
	IS(client_await(comm) == SUCCESS);
	OK(ncclCommDestroy(comm));
	/* It goes before what the program has set, if it is 0 or 1. */
	for (int i = 0; i < 3; i++) {
		struct client_config config = client_config(24, 21400);

		config.numbers[0] = i == 1;
		setenv("NCCL_COMM_BLOCKING", i < 2 ? "1" : "no", 1);
		OK(ncclGetUniqueId(&id));
		WANT(i < 2 ? SUCCESS : PROGRESS,
		     ncclCommInitRankConfig(&comm, 1, id, 0, &config));
		IS(client_await(comm) == SUCCESS);
		OK(ncclCommDestroy(comm));
	}
	unsetenv("NCCL_COMM_BLOCKING");
}

/*
 * Structs that are filled in, by the sizes that versions of NCCL have given
 * them: what is behind is not touched.
 */
static void case_structs(void **state)
{
	static const size_t sizes[] = {40, 56, 200};
	struct {
		size_t size;
		unsigned magic, version;
		unsigned char rest[240];
	} all;
	struct {
		size_t size;
		unsigned magic, version;
		float time, behind;
	} info = {24, 0x74685283, 22200, 1, 2};
	void *comm;
	int numbers[4];

	(void)state;
	sim_use_device(5);
	OK(ncclCommInitAll(&comm, 1, (int[1]){5}));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memset(&all, 0x5a, sizeof(all));
		all.size = sizes[i];
		WANT(ARGUMENT, ncclCommQueryProperties(comm, &all));
		all.magic = 0xcafebeef;
		OK(ncclCommQueryProperties(comm, &all));
		memcpy(numbers, all.rest, sizeof(numbers));
		IS(numbers[0] == 0 && numbers[1] == 1);
		IS(numbers[2] == 5 && numbers[3] == 5);
		IS(!all.rest[16] && !all.rest[17] && !all.rest[18]);
		for (size_t at = sizes[i] < 56 ? sizes[i] : 56;
		     at < sizeof(all); at++)
			IS(all.rest[at - 16] == 0x5a);
	}
	WANT(ARGUMENT, ncclCommQueryProperties(comm, NULL));
	OK(ncclCommDestroy(comm));
	OK(ncclGroupStart());
	OK(ncclGroupSimulateEnd(&info));
	IS(info.time < 0 && info.behind == 2);
	info.magic = 1;
	OK(ncclGroupStart());
	WANT(ARGUMENT, ncclGroupSimulateEnd(&info));
	sim_use_device(0);
}

/* What CUDA refuses has the code for that, and its words. */
static void case_cuda_error(void **state)
{
	void *memory = NULL;

	(void)state;
	WANT(CUDA, ncclMemAlloc(&memory, PTRDIFF_MAX));
	IS(strstr(ncclGetLastError(NULL), "ncclMemAlloc: "));
	WANT(ARGUMENT, ncclMemAlloc(NULL, 1));
	/* Of none there is none, as CUDA has it. */
	memory = &memory;
	OK(ncclMemAlloc(&memory, 0));
	IS(!memory);
	OK(ncclMemFree(NULL));
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_windows),
		cmocka_unit_test(case_several_ids),
		cmocka_unit_test(case_variables),
		cmocka_unit_test(case_structs),
		cmocka_unit_test(case_cuda_error),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
