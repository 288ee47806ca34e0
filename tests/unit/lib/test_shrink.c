/* Communicators on what is left of others, in one process and in several. */
#include "unit/lib/shrink.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

enum { TURNS = 3 };

static void test_ranks_of_one_process(void **state)
{
	static const int three[] = {0, 4, 6}, one[] = {1};
	struct gtopo_comm *line[3];
	struct want want = everybody(8);

	(void)state;
	line[0] = create(0);
	assert_non_null(line[0]);
	line[1] = shrink(line[0], three, 3, 0);
	assert_non_null(line[1]);
	for (int i = 0; i < 3; i++)
		want = without(&want, three[i], three[i] + 1);
	assert_int_equal(is_right(line, 1, &want), 0);
	/* The other one works as before, and one may be made of the new one. */
	want = everybody(8);
	assert_int_equal(is_right(line, 0, &want), 0);
	line[2] = shrink(line[1], one, 1, GTOPO_SHRINK_ABORT);
	assert_non_null(line[2]);
	assert_int_equal(gtopo_comm_state(line[1]), GTOPO_EABORTED);
	for (int i = 0; i < 3; i++)
		want = without(&want, three[i], three[i] + 1);
	want = without(&want, 2, 3);
	assert_int_equal(is_right(line, 2, &want), 0);
	for (int i = 0; i < 3; i++)
		gtopo_comm_destroy(line[i]);
}

/*
 * Sums are wanted in one order, which the plan's rings do not keep, nor would
 * rings of what is left.
 */
static void test_sums_stay_in_order(void **state)
{
	static const int three[] = {3};
	struct gtopo_comm *line[2];
	struct want want = everybody(8);

	(void)state;
	line[0] = create(GTOPO_INVARIANT);
	assert_non_null(line[0]);
	line[1] = shrink(line[0], three, 1, 0);
	assert_non_null(line[1]);
	want = without(&want, 3, 4);
	assert_int_equal(is_right(line, 1, &want), 0);
	gtopo_comm_destroy(line[1]);
	gtopo_comm_destroy(line[0]);
}

/* An operation hangs, as one rank does not call it. */
static void test_what_hangs_ends(void **state)
{
	static const int five[] = {5};
	static int32_t in[COUNT], out[MOST][COUNT];
	struct gtopo_comm *line[2];
	struct want want = everybody(8);

	(void)state;
	line[0] = create(0);
	assert_non_null(line[0]);
	for (int r = 0; r < 8; r++)
		if (r != 5)
			assert_int_equal(gtopo_allreduce(line[0], r, in, out[r],
							 COUNT, GTOPO_INT32,
							 GTOPO_SUM),
					 GTOPO_OK);
	assert_int_equal(gtopo_wait(line[0], 0, 10), GTOPO_IN_PROGRESS);
	line[1] = shrink(line[0], five, 1, GTOPO_SHRINK_ABORT);
	assert_non_null(line[1]);
	want = without(&want, 5, 6);
	assert_int_equal(is_right(line, 1, &want), 0);
	gtopo_comm_destroy(line[0]);
	gtopo_comm_destroy(line[1]);
}

static void test_what_makes_no_sense(void **state)
{
	static const int twice[] = {1, 1}, none[] = {8},
			 all[] = {0, 1, 2, 3, 4, 5, 6, 7};
	struct gtopo_comm *comm = create(0), *out = NULL;
	char message[256];

	(void)state;
	assert_non_null(comm);
	assert_int_equal(gtopo_comm_shrink(comm, twice, 2, 0, &out, message,
					   sizeof(message)),
			 GTOPO_EINPUT);
	assert_string_equal(message, "rank '1' cannot be excluded: it is not "
				     "there, or there twice");
	assert_int_equal(gtopo_comm_shrink(comm, none, 1, 0, &out, NULL, 0),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_comm_shrink(comm, all, 8, 0, &out, message,
					   sizeof(message)),
			 GTOPO_EINPUT);
	assert_string_equal(message, "no rank of this process is left");
	assert_int_equal(gtopo_comm_shrink(comm, all, 1, 2, &out, NULL, 0),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_comm_shrink(comm, NULL, 0, 0, NULL, NULL, 0),
			 GTOPO_EINPUT);
	assert_null(out);
	assert_int_equal(gtopo_comm_origin(comm, 3), 3);
	assert_int_equal(gtopo_comm_origin(comm, 8), GTOPO_EINPUT);
	gtopo_comm_destroy(comm);
}

/* Operations until one fails, as somebody has gone. */
static void run_until_failure(struct gtopo_comm **line, int depth,
			      const struct want *want)
{
	while (!is_right(line, depth, want))
		;
}

static int first_rank(int process, int processes)
{
	return process * 8 / processes;
}

/* How often processes have come somewhere; all see it. */
static _Atomic int *arrived;

/*
 * An operation that is over here may not be so elsewhere: who is to be killed
 * waits until all have come so far.
 */
static void arrive(int all, int waits)
{
	const struct timespec nap = {0, 1000000};

	atomic_fetch_add(arrived, 1);
	while (waits && atomic_load(arrived) < all)
		nanosleep(&nap, NULL);
}

/*
 * Process `victim` is killed, then the one behind it; what is left goes on
 * twice.
 */
static int lose_two(int me, int processes, int victim)
{
	int next = (victim + 1) % processes;
	struct gtopo_comm *line[TURNS] = {NULL};
	struct want want = everybody(8);

	line[0] = create(GTOPO_LAUNCHED);
	if (!line[0] || is_right_twice(line, 0, &want))
		return 10;
	arrive(processes, me == victim);
	if (me == victim)
		raise(SIGKILL);
	for (int i = 1; i < TURNS; i++) {
		int lost = i == 1 ? victim : next;

		run_until_failure(line, i - 1, &want);
		want = without(&want, first_rank(lost, processes),
			       first_rank(lost + 1, processes));
		line[i] = shrink(line[i - 1], NULL, 0, 0);
		if (!line[i] || is_right_twice(line, i, &want))
			return 11;
		if (i == 1)
			arrive(2 * processes - 1, me == next);
		if (i == 1 && me == next)
			raise(SIGKILL);
	}
	for (int i = TURNS; i-- > 0;)
		gtopo_comm_destroy(line[i]);
	return 0;
}

/*
 * A communicator beside has the same ranks in each process; of them some have
 * fewer than others.
 */
static int is_right_beside(struct gtopo_comm **line, const struct want *want)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	static int32_t in[MOST][COUNT], out[MOST][COUNT];
	struct gtopo_comm *beside;
	char path[4096], message[512] = "";
	int first, count, first_beside, count_beside, rc = 0;

	config.plan = gt_test_path(
		path, "tests/cases/plan/good/tree5-allreduce/plan.json");
	config.timeout_ms = LIMIT_MS;
	config.beside = line[1];
	if (gtopo_comm_create(&config, &beside, message, sizeof(message))) {
		fprintf(stderr, "# %s\n", message);
		return 20;
	}
	gtopo_comm_local(line[1], &first, &count);
	gtopo_comm_local(beside, &first_beside, &count_beside);
	if (first != first_beside || count != count_beside)
		rc = 21;
	for (int r = first; !rc && r < first + count; r++) {
		for (int i = 0; i < COUNT; i++)
			in[r][i] = r + i;
		if (gtopo_allreduce(beside, r, in[r], out[r], COUNT,
				    GTOPO_INT32, GTOPO_SUM))
			rc = 22;
	}
	if (!rc && gtopo_wait(beside, GTOPO_ALL_RANKS, -1))
		rc = 23;
	for (int r = first; !rc && r < first + count; r++)
		for (int i = 0; i < COUNT; i++)
			if (out[r][i] != 0 + 1 + 2 + 3 + 4 + 5 * i)
				rc = 24;
	gtopo_comm_destroy(beside);
	return rc ? rc : is_right(line, 1, want);
}

/* All of process 1's ranks are excluded, and one of process 2's. */
static int exclude(int me, int processes, int unused)
{
	int excluded[] = {2, 3, 5};
	struct gtopo_comm *line[2] = {NULL};
	struct want all = everybody(8), want = without(&all, 2, 4);
	int rc = 0;

	(void)unused;
	(void)processes;
	want = without(&want, 5, 6);
	line[0] = create(GTOPO_LAUNCHED);
	if (!line[0])
		return 10;
	if (me != 1) {
		line[1] = shrink(line[0], excluded, 3, 0);
		rc = line[1] ? is_right(line, 1, &want) : 11;
		if (!rc)
			rc = is_right_beside(line, &want);
	}
	if (!rc)
		rc = is_right(line, 0, &all);
	gtopo_comm_destroy(line[1]);
	gtopo_comm_destroy(line[0]);
	return rc;
}

static void test_processes_are_killed(void **state)
{
	int status[MOST];

	(void)state;
	arrived = mmap(NULL, sizeof(*arrived), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(arrived, MAP_FAILED);
	for (int processes = 3; processes < 9; processes += 5)
		for (int victim = 0; victim < processes; victim += 2) {
			atomic_store(arrived, 0);
			launch(processes, lose_two, victim, status);
			for (int p = 0; p < processes; p++)
				assert_int_equal(
					status[p],
					p == victim || p == (victim +
							     1) % processes
						? 128 + SIGKILL
						: 0);
		}
}

static void test_ranks_of_several_processes(void **state)
{
	int status[MOST];

	(void)state;
	launch(4, exclude, 0, status);
	for (int p = 0; p < 4; p++)
		assert_int_equal(status[p], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranks_of_one_process),
		cmocka_unit_test(test_sums_stay_in_order),
		cmocka_unit_test(test_what_hangs_ends),
		cmocka_unit_test(test_what_makes_no_sense),
		cmocka_unit_test(test_processes_are_killed),
		cmocka_unit_test(test_ranks_of_several_processes),
	};

	gt_test_path(plan_path, "tests/cases/plan/good/ring8-three/plan.json");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
