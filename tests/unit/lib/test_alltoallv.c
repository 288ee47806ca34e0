/* libgtopo's all-to-all whose blocks differ, on ranks of CPUs. */
#include "unit/test.h"

#include <string.h>

#include "gtopo.h"

enum { RANKS = 8, MOST = 5000, ROOM = RANKS * MOST };

struct rank {
	int32_t input[ROOM], output[ROOM];
	uint64_t send[RANKS], recv[RANKS], from[RANKS], to[RANKS];
};

static struct rank ranks[RANKS];
static uint64_t counts[RANKS][RANKS];

static struct gtopo_comm *open_comm(void)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	char path[4096], message[256] = "";
	struct gtopo_comm *comm;

	config.plan =
		gt_test_path(path, "tests/cases/plan/good/ring8-two/plan.json");
	config.flags = GTOPO_NONBLOCKING;
	config.timeout_ms = 30000;
	if (gtopo_comm_create(&config, &comm, message, sizeof(message)))
		fail_msg("%s", message);
	return comm;
}

static int32_t value(int from, int to, uint64_t i)
{
	return (int32_t)(from * 1000003 + to * 10007 + (int)i);
}

/* A hot expert, most blocks small, some empty: rank 3 gets the most. */
static void fill(unsigned round)
{
	for (int a = 0; a < RANKS; a++)
		for (int b = 0; b < RANKS; b++)
			counts[a][b] = b == 3        ? MOST - (unsigned)a
				       : (a + b) % 3 ? ((unsigned)a * 37 +
							(unsigned)b * round) %
							       91
						     : 0;
	memset(ranks, 0xff, sizeof(ranks));
	for (int a = 0; a < RANKS; a++)
		for (int b = 0; b < RANKS; b++) {
			struct rank *r = &ranks[a];

			r->send[b] = counts[a][b];
			r->recv[b] = counts[b][a];
			r->from[b] = (uint64_t)b * MOST;
			r->to[b] = (uint64_t)(RANKS - 1 - b) * MOST;
			for (uint64_t i = 0; i < counts[a][b]; i++)
				r->input[r->from[b] + i] = value(a, b, i);
		}
}

/* Each block is where it belongs, and nothing else was written. */
static void check(void)
{
	for (int a = 0; a < RANKS; a++)
		for (int b = 0; b < RANKS; b++)
			for (uint64_t i = 0; i < MOST; i++)
				assert_int_equal(
					ranks[a].output[ranks[a].to[b] + i],
					i < counts[b][a] ? value(b, a, i) : -1);
}

static int call(struct gtopo_comm *comm, int rank)
{
	struct rank *r = &ranks[rank];

	return gtopo_alltoallv(comm, rank, r->input, r->send, r->from,
			       r->output, r->recv, r->to, GTOPO_INT32);
}

static void test_skewed(void **state)
{
	struct gtopo_comm *comm = open_comm();

	(void)state;
	for (unsigned round = 0; round < 5; round++) {
		fill(round);
		for (int r = 0; r < RANKS; r++)
			assert_int_equal(call(comm, r), GTOPO_OK);
		assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, 30000),
				 GTOPO_OK);
		check();
	}
	gtopo_comm_destroy(comm);
}

/* In the ranks' groups, beside a message of their own. */
static void test_in_group(void **state)
{
	struct gtopo_comm *comm = open_comm();
	int32_t mine[RANKS], left[RANKS];

	(void)state;
	fill(1);
	assert_int_equal(gtopo_group_start(comm, GTOPO_ALL_RANKS), GTOPO_OK);
	for (int r = 0; r < RANKS; r++) {
		mine[r] = r;
		assert_int_equal(call(comm, r), GTOPO_OK);
		assert_int_equal(gtopo_send(comm, r, &mine[r], 1, GTOPO_INT32,
					    (r + 1) % RANKS),
				 GTOPO_OK);
		assert_int_equal(gtopo_recv(comm, r, &left[r], 1, GTOPO_INT32,
					    (r + RANKS - 1) % RANKS),
				 GTOPO_OK);
	}
	assert_int_equal(gtopo_group_end(comm, GTOPO_ALL_RANKS), GTOPO_OK);
	assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, 30000), GTOPO_OK);
	check();
	for (int r = 0; r < RANKS; r++)
		assert_int_equal(left[r], (r + RANKS - 1) % RANKS);
	gtopo_comm_destroy(comm);
}

static void test_refused(void **state)
{
	struct gtopo_comm *comm = open_comm();
	struct rank *r = &ranks[0];

	(void)state;
	fill(2);
	assert_int_equal(gtopo_alltoallv(comm, RANKS, r->input, r->send,
					 r->from, r->output, r->recv, r->to,
					 GTOPO_INT32),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_alltoallv(comm, 0, r->input, NULL, r->from,
					 r->output, r->recv, r->to,
					 GTOPO_INT32),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_alltoallv(comm, 0, NULL, r->send, r->from,
					 r->output, r->recv, r->to,
					 GTOPO_INT32),
			 GTOPO_EINPUT);
	r->from[RANKS - 1] = UINT64_MAX / 2;
	assert_int_equal(call(comm, 0), GTOPO_EINPUT);
	/* Nothing was left behind. */
	fill(3);
	for (int k = 0; k < RANKS; k++)
		assert_int_equal(call(comm, k), GTOPO_OK);
	assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, 30000), GTOPO_OK);
	check();
	gtopo_comm_destroy(comm);
}

/* Ends that differ are named, where both come. */
static void test_unlike(void **state)
{
	struct gtopo_comm *comm = open_comm();

	(void)state;
	fill(4);
	ranks[5].recv[2]++;
	for (int r = 0; r < RANKS; r++)
		call(comm, r);
	assert_int_not_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, 30000),
			     GTOPO_OK);
	gtopo_comm_destroy(comm);
}

/* ---- a plan with a demand ------------------------------------------------ */

enum { FOUR = 4, LONGEST = 9 };

/* As tests/cases/plan/good/flow4-demand has it. */
static const uint64_t demand[FOUR][FOUR] = {
	{0, 3, 5, 2}, {4, 0, 0, 9}, {5, 1, 0, 2}, {1, 7, 3, 0}};

static void demand_is_met(struct gtopo_comm *comm, uint64_t count)
{
	static int32_t in[FOUR][FOUR * 999], out[FOUR][FOUR * 999];

	memset(out, 0xff, sizeof(out));
	for (int a = 0; a < FOUR; a++)
		for (uint64_t i = 0; i < FOUR * count; i++)
			in[a][i] = value(a, (int)(i / count), i % count);
	for (int a = 0; a < FOUR; a++)
		assert_int_equal(gtopo_alltoall(comm, a, in[a], out[a], count,
						GTOPO_INT32),
				 GTOPO_OK);
	assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, 30000), GTOPO_OK);
	for (int a = 0; a < FOUR; a++)
		for (uint64_t i = 0; i < FOUR * count; i++) {
			uint64_t from = i / count, at = i % count;
			int has = at < count * demand[from][a] / LONGEST;

			assert_int_equal(out[a][i],
					 has ? value((int)from, a, at) : -1);
		}
}

static void test_demand(void **state)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	char path[4096], words[256] = "";
	struct gtopo_comm *comm;
	int32_t same[FOUR][FOUR * LONGEST] = {{0}};

	(void)state;
	config.plan = gt_test_path(
		path, "tests/cases/plan/good/flow4-demand/plan.json");
	if (gtopo_comm_create(&config, &comm, words, sizeof(words)))
		fail_msg("%s", words);
	demand_is_met(comm, 9);
	demand_is_met(comm, 999);
	demand_is_met(comm, 100);
	/* In place one channel would overwrite what another has to send. */
	for (int a = 0; a < FOUR; a++)
		assert_int_equal(gtopo_alltoall(comm, a, same[a], same[a],
						LONGEST, GTOPO_INT32),
				 GTOPO_OK);
	assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, 30000),
			 GTOPO_EINPUT);
	gtopo_comm_message(comm, words, sizeof(words));
	assert_non_null(strstr(words, "out of place only"));
	gtopo_comm_destroy(comm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skewed),  cmocka_unit_test(test_in_group),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_unlike),
		cmocka_unit_test(test_demand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
