/*
 * What programs call of libnccl.so.2, with ranks that are threads on the host
 * under a simulated CUDA run-time.
 */
#include "nccl/client.h"

enum { RANKS = 3, COUNT = 1000 };

/* Every value is small and whole, so that any order of sums is right. */
static float value(int rank, size_t i)
{
	return (float)(rank * 7 + (int)(i % 50));
}

static void fill(const struct rank *rank, float *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		in[i] = value(rank->rank, i);
}

static float sum(const struct rank *rank, size_t i)
{
	float all = 0;

	for (int r = 0; r < rank->size; r++)
		all += value(r, i);
	return all;
}

static void body_allreduce(struct rank *rank)
{
	float *in = calloc(COUNT, sizeof(*in)), *out = calloc(COUNT, 4);

	fill(rank, in, COUNT);
	OK(ncclAllReduce(in, out, COUNT, FLOAT, SUM, rank->comm, rank->stream));
	/* In place, behind it on the same stream. */
	OK(ncclAllReduce(in, in, COUNT, FLOAT, MAX, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	for (size_t i = 0; i < COUNT; i++) {
		IS(out[i] == sum(rank, i));
		IS(in[i] == value(rank->size - 1, i));
	}
	free(in);
	free(out);
}

static void case_allreduce(void **state)
{
	(void)state;
	for (int n = 1; n <= 4; n++)
		ranks_run(n, body_allreduce);
}

/* A plan that somebody has searched, in place of the ring. */
static void case_plan(void **state)
{
	char path[4096];
	id_t128 id;
	void *comm;

	(void)state;
	setenv("GTOPO_PLAN",
	       gt_test_path(path, "tests/cases/plan/good/auto4/plan.json"), 1);
	ranks_run(4, body_allreduce);
	OK(ncclGetUniqueId(&id));
	WANT(USAGE, ncclCommInitRank(&comm, 1, id, 0));
	IS(strstr(ncclGetLastError(NULL), "the plan has 4 ranks"));
	unsetenv("GTOPO_PLAN");
}

/* Three bf16 whose sum is 258, but 256 if it is rounded after each addition. */
static void body_invariant(struct rank *rank)
{
	static const uint16_t in[3] = {0x4380 /* 256 */, 0x3f80 /* 1 */,
				       0x3f80};
	uint16_t out = 0;

	OK(ncclAllReduce(&in[rank->rank], &out, 1, BF16, SUM, rank->comm,
			 rank->stream));
	sim_stream_sync(rank->stream);
	IS(out == 0x4381);
}

/* The order of ranks, by a variable; a plan must keep it, too. */
static void case_invariant(void **state)
{
	char path[4096];
	id_t128 id;
	void *comm;

	(void)state;
	setenv("GTOPO_INVARIANT", "1", 1);
	for (int n = 1; n <= 4; n++)
		ranks_run(n, body_allreduce);
	ranks_run(3, body_invariant);
	setenv("GTOPO_PLAN",
	       gt_test_path(path, "tests/cases/plan/good/ring1/plan.json"), 1);
	OK(ncclGetUniqueId(&id));
	WANT(USAGE, ncclCommInitRank(&comm, 1, id, 0));
	IS(strstr(ncclGetLastError(NULL), "the plan is not invariant"));
	unsetenv("GTOPO_PLAN");
	unsetenv("GTOPO_INVARIANT");
}

/* Types and operators are numbers: bf16 9, MAX 2, MIN 3. */
static void body_values(struct rank *rank)
{
	double d[3] = {rank->rank + 1.0, -rank->rank, 2}, max[3], min[3];
	uint16_t bf16 = 0x4000 /* 2.0 */, bf16_out = 0;
	int8_t i8 = (int8_t)(rank->rank + 2), i8_out = 0;
	double avg = 3.0 * rank->rank, avg_out = 0;

	OK(ncclAllReduce(d, max, 3, DOUBLE, MAX, rank->comm, rank->stream));
	OK(ncclAllReduce(d, min, 3, DOUBLE, MIN, rank->comm, rank->stream));
	OK(ncclAllReduce(&bf16, &bf16_out, 1, BF16, PROD, rank->comm,
			 rank->stream));
	OK(ncclAllReduce(&i8, &i8_out, 1, INT8, PROD, rank->comm,
			 rank->stream));
	OK(ncclAllReduce(&avg, &avg_out, 1, DOUBLE, AVG, rank->comm,
			 rank->stream));
	sim_stream_sync(rank->stream);
	IS(max[0] == rank->size && max[1] == 0 && max[2] == 2);
	IS(min[0] == 1 && min[1] == 1 - rank->size && min[2] == 2);
	IS(bf16_out == 0x4100); /* 8.0 */
	IS(i8_out == 2 * 3 * 4);
	IS(avg_out == 3);
	WANT(ARGUMENT, ncclAllReduce(d, d, 1, 12, SUM, rank->comm, NULL));
	WANT(ARGUMENT, ncclAllReduce(d, d, 1, DOUBLE, 5, rank->comm, NULL));
	WANT(ARGUMENT, ncclAllReduce(d, d, 1, DOUBLE, -1, rank->comm, NULL));
}

static void case_values(void **state)
{
	(void)state;
	ranks_run(RANKS, body_values);
}

static void body_rooted(struct rank *rank)
{
	float in[8], out[8] = {0}, again[8];
	int root = 1;

	fill(rank, in, 8);
	fill(rank, again, 8);
	OK(ncclBroadcast(rank->rank == root ? in : NULL, out, 8, FLOAT, root,
			 rank->comm, rank->stream));
	OK(ncclBcast(again, 8, FLOAT, root, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	for (size_t i = 0; i < 8; i++)
		IS(out[i] == value(root, i) && again[i] == value(root, i));
	OK(ncclReduce(in, rank->rank == root ? out : NULL, 8, FLOAT, SUM, root,
		      rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	for (size_t i = 0; rank->rank == root && i < 8; i++)
		IS(out[i] == sum(rank, i));
	WANT(ARGUMENT, ncclBcast(in, 8, FLOAT, RANKS, rank->comm, NULL));
	WANT(ARGUMENT,
	     ncclReduce(NULL, out, 8, FLOAT, SUM, 0, rank->comm, rank->stream));
}

static void case_rooted(void **state)
{
	(void)state;
	ranks_run(RANKS, body_rooted);
}

/* Blocks: all-gather, reduce-scatter, all-to-all, gather, scatter. */
static void body_blocks(struct rank *rank)
{
	int me = rank->rank, n = rank->size;
	int32_t in[RANKS * 2], out[RANKS * 2] = {0}, one[2] = {0};

	for (int i = 0; i < n * 2; i++)
		in[i] = me * 100 + i;
	OK(ncclAllGather(in, out, 2, INT32, rank->comm, rank->stream));
	OK(ncclReduceScatter(in, one, 2, INT32, SUM, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	for (int i = 0; i < n * 2; i++)
		IS(out[i] == i / 2 * 100 + i % 2);
	IS(one[0] == 300 + n * me * 2 && one[1] == one[0] + n);
	OK(ncclAlltoAll(in, out, 2, INT32, rank->comm, rank->stream));
	OK(ncclScatter(in, one, 2, INT32, 2, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	for (int i = 0; i < n * 2; i++)
		IS(out[i] == i / 2 * 100 + me * 2 + i % 2);
	IS(one[0] == 200 + me * 2 && one[1] == one[0] + 1);
	OK(ncclGather(one, out, 2, INT32, 0, rank->comm, rank->stream));
	/* In place: the root's own block stays where it is. */
	OK(ncclScatter(in, me == 1 ? in + 2 : one, 2, INT32, 1, rank->comm,
		       rank->stream));
	sim_stream_sync(rank->stream);
	for (int i = 0; me == 0 && i < n * 2; i++)
		IS(out[i] == 200 + i);
	if (me != 1)
		IS(one[0] == 100 + me * 2);
	else
		IS(in[2] == 102 && in[3] == 103);
}

static void case_blocks(void **state)
{
	(void)state;
	ranks_run(RANKS, body_blocks);
}

/* A collective of nothing is nothing: the others need not even call it. */
static void body_nothing(struct rank *rank)
{
	float one = 1, out = 0;

	if (rank->rank == 1)
		OK(ncclAllReduce(NULL, NULL, 0, FLOAT, SUM, rank->comm, NULL));
	if (rank->rank == 2)
		OK(ncclAlltoAll(NULL, NULL, 0, FLOAT, rank->comm, NULL));
	OK(ncclAllReduce(&one, &out, 1, FLOAT, SUM, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	IS(out == RANKS);
	/* Messages of no bytes match each other as any do. */
	OK(ncclGroupStart());
	for (int r = 0; r < rank->size; r++) {
		OK(ncclSend(NULL, 0, FLOAT, r, rank->comm, rank->stream));
		OK(ncclRecv(NULL, 0, FLOAT, r, rank->comm, rank->stream));
	}
	OK(ncclGroupEnd());
	OK(ncclAllReduce(&one, &out, 1, FLOAT, PROD, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	IS(out == 1);
}

static void case_nothing(void **state)
{
	(void)state;
	ranks_run(RANKS, body_nothing);
}

/* Uneven messages in one group, several to one peer in their order. */
static void body_messages(struct rank *rank)
{
	int me = rank->rank, n = rank->size, next = (me + 1) % n;
	int last = (me + n - 1) % n;
	int32_t out[64], in[64] = {0}, self = me + 40, own = 0;

	for (int i = 0; i < 64; i++)
		out[i] = me * 1000 + i;
	OK(ncclGroupStart());
	for (int i = 0; i < 8; i++) {
		OK(ncclSend(out + i * 8, (size_t)i, INT32, next, rank->comm,
			    rank->stream));
		OK(ncclRecv(in + i * 8, (size_t)i, INT32, last, rank->comm,
			    rank->stream));
	}
	OK(ncclSend(&self, 1, INT32, me, rank->comm, rank->stream));
	OK(ncclRecv(&own, 1, INT32, me, rank->comm, rank->stream));
	OK(ncclGroupEnd());
	sim_stream_sync(rank->stream);
	IS(own == me + 40);
	for (int i = 0; i < 64; i++)
		IS(in[i] == (i % 8 < i / 8 ? last * 1000 + i : 0));
	WANT(USAGE, ncclSend(&self, 1, INT32, me, rank->comm, NULL));
	WANT(ARGUMENT, ncclSend(&self, 1, INT32, n, rank->comm, NULL));
}

static void case_messages(void **state)
{
	(void)state;
	ranks_run(RANKS, body_messages);
}

/* A scalar of each rank; the operator may end before the operation has. */
static void body_premul(struct rank *rank)
{
	double scalar = rank->rank + 1, in = 10, out = 0, later = 0;
	double blocks[RANKS] = {1, 2, 3};
	int host, device;

	OK(ncclRedOpCreatePreMulSum(&host, &scalar, DOUBLE, 1, rank->comm));
	OK(ncclRedOpCreatePreMulSum(&device, &later, DOUBLE, 0, rank->comm));
	IS(host >= 5 && device >= 5 && host != device);
	scalar = -1;
	OK(ncclAllReduce(&in, &out, 1, DOUBLE, host, rank->comm, rank->stream));
	WANT(ARGUMENT,
	     ncclAllReduce(&in, &out, 1, FLOAT, host, rank->comm, NULL));
	OK(ncclRedOpDestroy(host, rank->comm));
	WANT(ARGUMENT, ncclRedOpDestroy(host, rank->comm));
	WANT(ARGUMENT, ncclRedOpDestroy(INT32_MIN, rank->comm));
	WANT(ARGUMENT,
	     ncclAllReduce(&in, &out, 1, DOUBLE, host, rank->comm, NULL));
	sim_stream_sync(rank->stream);
	IS(out == 60);
	later = 2; /* read by the operation, not before */
	OK(ncclReduceScatter(blocks, &out, 1, DOUBLE, device, rank->comm,
			     rank->stream));
	sim_stream_sync(rank->stream);
	IS(out == 2.0 * RANKS * (rank->rank + 1));
	OK(ncclRedOpDestroy(device, rank->comm));
}

static void case_premul(void **state)
{
	(void)state;
	ranks_run(RANKS, body_premul);
}

static void body_asked(struct rank *rank)
{
	int n = -1, r = -1, device = -1, state = -1;
	void *memory = NULL, *handle = NULL, *window = &n;

	OK(ncclCommCount(rank->comm, &n));
	OK(ncclCommUserRank(rank->comm, &r));
	OK(ncclCommCuDevice(rank->comm, &device));
	OK(ncclCommGetAsyncError(rank->comm, &state));
	IS(n == rank->size && r == rank->rank && device == rank->rank);
	IS(state == SUCCESS);
	OK(ncclMemAlloc(&memory, 4096));
	/* One rank registers, the others do not. */
	if (rank->rank == 1)
		OK(ncclCommRegister(rank->comm, memory, 4096, &handle));
	OK(ncclCommDeregister(rank->comm, handle));
	OK(ncclCommWindowRegister(rank->comm, memory, 4096, &window, 1));
	IS(!window);
	OK(ncclMemFree(memory));
	OK(ncclCommFinalize(rank->comm));
	WANT(ARGUMENT, ncclBcast(&n, 1, INT32, 0, rank->comm, rank->stream));
}

static void case_asked(void **state)
{
	(void)state;
	ranks_run(RANKS, body_asked);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_allreduce),
		cmocka_unit_test(case_plan),
		cmocka_unit_test(case_invariant),
		cmocka_unit_test(case_values),
		cmocka_unit_test(case_rooted),
		cmocka_unit_test(case_blocks),
		cmocka_unit_test(case_nothing),
		cmocka_unit_test(case_messages),
		cmocka_unit_test(case_premul),
		cmocka_unit_test(case_asked),
	};

	alarm(300);
	return cmocka_run_group_tests(cases, NULL, NULL);
}
