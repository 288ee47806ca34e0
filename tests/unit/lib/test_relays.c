/*
 * All-to-alls whose matrix all ranks know go through other ranks, where that is
 * faster by the plan's rates: right, in bounded memory, planned at once; and a
 * matrix that differs is named.  Ranks are CPUs', of one process or several.
 *
 * GTOPO_TEST_RELAYS=1000 tries so many matrices a machine.
 */
#include "unit/lib/matrix.h"
#include "unit/port.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "lib/batch.h"
#include "lib/relays.h"
#include "lib/state.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

enum { MATRICES = 2 * NPATTERNS, MEMORY_BYTES = 80 << 20 };

static const char *const levels[] = {"<level/>", "<level rail=\"each\"/>"};

struct machine {
	uint32_t nodes, each, level;
};

static const struct machine machines[] = {
	{2, 4, 0}, {2, 2, 1}, {4, 2, 1}, {3, 2, 0}, {2, 8, 0}};

enum { NMACHINES = sizeof(machines) / sizeof(*machines) };

static struct gtopo_comm *create(const char *plan, unsigned flags)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gtopo_comm *comm = NULL;
	char words[512] = "";

	config.plan_text = plan;
	config.flags = flags;
	config.timeout_ms = 60000;
	if (gtopo_comm_create(&config, &comm, words, sizeof(words)))
		fail_msg("%s", words);
	return comm;
}

static struct gtopo_comm *create_on(const struct machine *m, unsigned flags)
{
	char *plan = plan_of(m->nodes, m->each, levels[m->level]);
	struct gtopo_comm *comm = create(plan, flags);

	gtopo_free(plan);
	return comm;
}

/* All ranks here call; what is wrong, or NULL. */
static const char *exchange_all(struct gtopo_comm *comm, struct exchange *x,
				uint64_t seed)
{
	static char words[512];
	int first, count;

	gtopo_comm_local(comm, &first, &count);
	draw_matrix(x, seed);
	for (int r = first; r < first + count; r++)
		fill_rank(x, (uint32_t)r);
	for (int r = first; r < first + count; r++)
		if (call_matrix(comm, x, (uint32_t)r))
			goto failed;
	if (gtopo_wait(comm, GTOPO_ALL_RANKS, -1))
		goto failed;
	for (int r = first; r < first + count; r++)
		if (!is_exchanged(x, (uint32_t)r))
			return "bytes are not where they belong";
	return NULL;
failed:
	gtopo_comm_message(comm, words, sizeof(words));
	return words;
}

/* The most that a rank here passes on at a time. */
static uint64_t passed_on(const struct gtopo_comm *comm)
{
	uint64_t most = 0;

	for (uint32_t r = 0; r < comm->nranks; r++)
		if (comm->ranks[r].relayed_room > most)
			most = comm->ranks[r].relayed_room;
	return most;
}

static uint64_t count_matrices(void)
{
	const char *asked = getenv("GTOPO_TEST_RELAYS");

	return asked                ? strtoull(asked, NULL, 10)
	       : gt_test_is_brief() ? NPATTERNS
				    : MATRICES;
}

static void test_one_process(void **state)
{
	struct exchange x = {0};

	(void)state;
	for (uint32_t i = 0; i < NMACHINES; i++) {
		struct gtopo_comm *comm = create_on(&machines[i], GTOPO_ROWS);

		x.n = (uint32_t)gtopo_comm_ranks(comm);
		for (uint64_t seed = 0; seed < count_matrices(); seed++) {
			const char *fault = exchange_all(comm, &x, seed);

			if (fault)
				fail_msg("machine %u, seed %u: %s", i,
					 (unsigned)seed, fault);
		}
		assert_in_range(passed_on(comm), 1, MEMORY_BYTES);
		gtopo_comm_destroy(comm);
		forget(&x);
	}
}

/* GPUs that no switch joins pass on for each other, if the plan is believed. */
static void test_meshed(void **state)
{
	char *plan = plan_of_nodes(2, "4-no-switch", levels[1]);
	struct gtopo_comm *comm = create(plan, GTOPO_ROWS);
	struct exchange x = {.n = 8};

	(void)state;
	for (uint64_t seed = 0; seed < count_matrices(); seed++) {
		const char *fault = exchange_all(comm, &x, seed);

		if (fault)
			fail_msg("seed %u: %s", (unsigned)seed, fault);
	}
	assert_in_range(passed_on(comm), 1, MEMORY_BYTES);
	gtopo_comm_destroy(comm);
	/* One process's ranks copy, whatever the plan says of links. */
	comm = create(plan, 0);
	assert_null(exchange_all(comm, &x, HOT));
	assert_int_equal(passed_on(comm), 0);
	gtopo_comm_destroy(comm);
	forget(&x);
	gtopo_free(plan);
}

/* In one process copies are faster than what the plan says of cards. */
static void test_straight(void **state)
{
	struct gtopo_comm *comm = create_on(&machines[0], 0);
	struct exchange x = {.n = (uint32_t)gtopo_comm_ranks(comm)};

	(void)state;
	for (uint64_t seed = 0; seed < NPATTERNS; seed++)
		assert_null(exchange_all(comm, &x, seed));
	assert_int_equal(passed_on(comm), 0);
	gtopo_comm_destroy(comm);
	forget(&x);
}

/* Several in a group, beside messages, and one behind another. */
static void test_group(void **state)
{
	struct gtopo_comm *comm = create_on(&machines[0], GTOPO_ROWS);
	struct exchange x[3] = {{.n = 8}, {.n = 8}, {.n = 8}};
	int32_t mine[8], left[8];

	(void)state;
	for (int i = 0; i < 3; i++) {
		draw_matrix(&x[i], HOT + (uint64_t)i * NPATTERNS);
		for (uint32_t r = 0; r < 8; r++)
			fill_rank(&x[i], r);
	}
	gtopo_group_start(comm, GTOPO_ALL_RANKS);
	for (int r = 0; r < 8; r++) {
		mine[r] = r;
		assert_int_equal(call_matrix(comm, &x[0], (uint32_t)r), 0);
		assert_int_equal(gtopo_send(comm, r, &mine[r], 1, GTOPO_INT32,
					    (r + 1) % 8),
				 0);
		assert_int_equal(gtopo_recv(comm, r, &left[r], 1, GTOPO_INT32,
					    (r + 7) % 8),
				 0);
		assert_int_equal(call_matrix(comm, &x[1], (uint32_t)r), 0);
	}
	assert_int_equal(gtopo_group_end(comm, GTOPO_ALL_RANKS), 0);
	for (uint32_t r = 0; r < 8; r++)
		assert_int_equal(call_matrix(comm, &x[2], r), 0);
	assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, -1), 0);
	for (int r = 0; r < 8; r++) {
		assert_int_equal(left[r], (r + 7) % 8);
		for (int i = 0; i < 3; i++)
			assert_true(is_exchanged(&x[i], (uint32_t)r));
	}
	gtopo_comm_destroy(comm);
	for (int i = 0; i < 3; i++)
		forget(&x[i]);
}

/* ---- a matrix that differs ---------------------------------------------- */

static void test_differs(void **state)
{
	/* Of another one the schedule may be another one, too. */
	static const uint64_t seeds[][2] = {{HOT, HOT + NPATTERNS},
					    {HOT, NOTHING},
					    {TINY, EVEN},
					    {SPARSE, SPARSE + NPATTERNS}};
	char words[512];

	(void)state;
	for (size_t i = 0; i < sizeof(seeds) / sizeof(*seeds); i++) {
		struct gtopo_comm *comm = create_on(&machines[0], GTOPO_ROWS);
		struct exchange x = {.n = 8}, other = {.n = 8};

		draw_matrix(&x, seeds[i][0]);
		draw_matrix(&other, seeds[i][1]);
		for (uint32_t r = 0; r < 8; r++) {
			struct exchange *own = r == 3 ? &other : &x;

			fill_rank(own, r);
			call_matrix(comm, own, r);
		}
		assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, -1),
				 GTOPO_EINPUT);
		gtopo_comm_message(comm, words, sizeof(words));
		assert_non_null(strstr(words, "the same matrix"));
		assert_non_null(strstr(words, "3"));
		gtopo_comm_destroy(comm);
		forget(&x);
		forget(&other);
	}
}

static void test_refused(void **state)
{
	struct gtopo_comm *comm = create_on(&machines[0], GTOPO_ROWS);
	struct exchange x = {.n = 8};
	uint64_t kept;
	char words[512];

	(void)state;
	assert_null(exchange_all(comm, &x, HOT));
	assert_int_equal(call_matrix(comm, &x, 8), GTOPO_EINPUT);
	assert_int_equal(gtopo_alltoallv_matrix(comm, 0, x.input[0],
						x.send_displs, x.output[0],
						x.recv_displs, NULL, x.type),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_alltoallv_matrix(comm, 0, NULL, x.send_displs,
						x.output[0], x.recv_displs,
						x.counts, x.type),
			 GTOPO_EINPUT);
	/* Also where the rank itself has nothing to do with it. */
	kept = x.counts[5 * 8 + 6];
	x.counts[5 * 8 + 6] = UINT64_MAX / 2;
	assert_int_equal(call_matrix(comm, &x, 0), GTOPO_EINPUT);
	gtopo_comm_message(comm, words, sizeof(words));
	assert_non_null(strstr(words, "more than memory"));
	x.counts[5 * 8 + 6] = kept;
	assert_null(exchange_all(comm, &x, HOT));
	gtopo_comm_destroy(comm);
	forget(&x);
}

/* ---- processes ---------------------------------------------------------- */

static void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

typedef int part_of(struct gtopo_comm *comm, int process);

/* All matrices; those of hot ranks go through others. */
static int exchange_part(struct gtopo_comm *comm, int process)
{
	struct exchange x = {.n = (uint32_t)gtopo_comm_ranks(comm)};
	const char *fault = NULL;

	for (uint64_t seed = 0; !fault && seed < count_matrices(); seed++)
		fault = exchange_all(comm, &x, seed);
	if (!fault && !passed_on(comm))
		fault = "nothing was passed on";
	if (fault)
		fprintf(stderr, "# process %d: %s\n", process, fault);
	forget(&x);
	return fault != NULL;
}

/* The last process has another matrix, and all hear of it. */
static int differing_part(struct gtopo_comm *comm, int process)
{
	struct exchange x = {.n = (uint32_t)gtopo_comm_ranks(comm)};
	int first, count;
	const char *fault;

	gtopo_comm_local(comm, &first, &count);
	fault = exchange_all(comm, &x,
			     first + count == (int)x.n ? HOT + NPATTERNS
						       : (uint64_t)HOT);
	forget(&x);
	if (fault && strstr(fault, "the same matrix"))
		return 0;
	fprintf(stderr, "# process %d: %s\n", process, fault ? fault : "-");
	return 1;
}

/* The last process is killed while others pass on what it waits for. */
static int dying_part(struct gtopo_comm *comm, int process)
{
	struct exchange x = {.n = (uint32_t)gtopo_comm_ranks(comm)};
	const char *fault = exchange_all(comm, &x, HOT);
	int first, count;

	gtopo_comm_local(comm, &first, &count);
	if (!fault && first + count == (int)x.n)
		raise(SIGKILL);
	if (!fault)
		fault = exchange_all(comm, &x, HOT + NPATTERNS);
	forget(&x);
	if (fault && strstr(fault, "process 3"))
		return 0;
	fprintf(stderr, "# process %d: %s\n", process, fault ? fault : "-");
	return 1;
}

/*
 * Processes in the order of ranks, as many on each node's host; they end well,
 * but the last one as `last` says.
 */
static void run_hosts(const struct machine *m, int each, part_of *part,
		      int last)
{
	int n = (int)m->nodes * each, port = test_free_port(), status;
	int bad = 0;
	char *plan = plan_of(m->nodes, m->each, levels[m->level]);
	pid_t pids[MOST_RANKS];

	for (int p = 0; p < n; p++) {
		struct gtopo_comm *comm;

		fflush(NULL);
		pids[p] = fork();
		assert_true(pids[p] >= 0);
		if (pids[p])
			continue;
		alarm(120);
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		setenv("GTOPO_SECRET", "a secret for tests only", 1);
		setenv("MASTER_ADDR", "127.0.0.1", 1);
		set_number("MASTER_PORT", port);
		set_number("WORLD_SIZE", n);
		set_number("RANK", p);
		set_number("GTOPO_HOSTID", p / each);
		comm = create(plan, GTOPO_LAUNCHED);
		status = part(comm, p);
		gtopo_comm_destroy(comm);
		_exit(status);
	}
	for (int p = 0; p < n; p++) {
		assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
		if (p == n - 1)
			status -= last;
		if (status)
			fprintf(stderr, "# process %d: status %#x\n", p,
				(unsigned)status);
		bad += status != 0;
	}
	assert_int_equal(bad, 0);
	gtopo_free(plan);
}

static void test_hosts(void **state)
{
	(void)state;
	run_hosts(&machines[0], 1, exchange_part, 0);
	run_hosts(&machines[0], 2, exchange_part, 0);
	run_hosts(&machines[1], 2, exchange_part, 0);
	run_hosts(&machines[2], 1, exchange_part, 0);
}

static void test_hosts_differ(void **state)
{
	(void)state;
	run_hosts(&machines[0], 1, differing_part, 0);
	run_hosts(&machines[2], 2, differing_part, 0);
}

static void test_dies(void **state)
{
	(void)state;
	run_hosts(&machines[0], 2, dying_part, SIGKILL);
}

/* ---- how long it takes to plan ------------------------------------------ */

static int64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Memory is only pointed to: nothing is moved. */
static struct gt_batch *straight_batch(uint32_t n)
{
	struct gt_batch *batch = NULL;

	for (uint32_t k = 0; k < 2 * n; k++)
		assert_int_equal(
			gt_batch_add(&batch,
				     &(struct gt_message){.buffer = &batch,
							  .peer = k / 2,
							  .sends = k % 2 == 0}),
			GTOPO_OK);
	return batch;
}

/* The call of one rank: who plans for the matrix, and makes its messages. */
static double plan_us(struct gt_relays *relays, uint32_t n, uint64_t *counts,
		      uint32_t *nmessages)
{
	struct gt_batch *batch = straight_batch(n);
	int64_t begin = processor_ns();

	assert_int_equal(gt_relays_reroute(relays, n - 1, counts,
					   GT_DTYPE_INT32, &batch),
			 GTOPO_OK);
	begin = processor_ns() - begin;
	*nmessages = batch->n;
	gt_batch_free(batch);
	return (double)begin / 1e3;
}

enum { PLANNED = 101 };

/* A plan of an all-to-all on a machine of share/xml, of the caller. */
static char *plan_on(const char *machine)
{
	struct gtopo_search_config config = GTOPO_SEARCH_CONFIG_INIT;
	char name[64], path[4096], words[512], *plan = NULL;
	struct gt_buf text = GT_BUF_INIT;
	struct gt_err err;

	gt_err_init(&err);
	snprintf(name, sizeof(name), "share/xml/%s.xml", machine);
	if (gt_file_read(gt_test_path(path, name), 1 << 20, &text, &err))
		fail_msg("%s", err.text);
	config.coll = "alltoall";
	if (gtopo_search(text.text, &config, &plan, words, sizeof(words)))
		fail_msg("%s", words);
	gt_buf_release(&text);
	return plan;
}

/* `text` is freed. */
static void time_plans(uint32_t n, char *text, const char *what)
{
	uint32_t nmessages, most = 0, relayed = 0;
	uint64_t *counts = malloc((size_t)n * n * sizeof(*counts));
	struct gt_random c = {.state = n};
	struct gtopo_comm comm = {.nranks = n};
	struct gt_relays *relays;
	double us[PLANNED];
	struct gt_err err;

	gt_err_init(&err);
	assert_non_null(counts);
	assert_int_equal(
		gt_plan_parse("plan", text, strlen(text), &comm.plan, &err),
		GT_OK);
	assert_int_equal(gt_relays_new(&comm, &relays, &err), GT_OK);
	assert_non_null(relays);
	for (uint32_t k = 0; k < PLANNED; k++) {
		for (uint32_t i = 0; i < n * n; i++)
			counts[i] =
				1 + gt_random(&c, 1 << 20) / (1 + i % n % 13);
		us[k] = plan_us(relays, n, counts, &nmessages);
		relayed += nmessages > 2 * n;
		most = nmessages > most ? nmessages : most;
	}
	qsort(us, PLANNED, sizeof(*us), compare);
	print_message("%u ranks on %s: planned in %.0f us, at most "
		      "%.0f; %u of %u relayed, at most %u messages a rank\n",
		      n, what, us[PLANNED / 2], us[PLANNED - 1], relayed,
		      PLANNED, most);
	/* Under sanitizers and emulators all takes longer. */
	assert_true(us[0] < 20000);
	gt_relays_free(relays);
	gt_plan_free(comm.plan);
	free(counts);
	gtopo_free(text);
}

static void test_time(void **state)
{
	(void)state;
	time_plans(8, plan_of(2, 4, levels[1]), "2 nodes");
	time_plans(16, plan_of(4, 4, levels[1]), "4 nodes");
	time_plans(32, plan_of(4, 8, levels[1]), "4 nodes");
	time_plans(64, plan_of(8, 8, levels[1]), "8 nodes");
	time_plans(8, plan_on("dgx-1v"), "dgx-1v");
	time_plans(8, plan_on("mi250x"), "mi250x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_process),
		cmocka_unit_test(test_meshed),
		cmocka_unit_test(test_straight),
		cmocka_unit_test(test_group),
		cmocka_unit_test(test_differs),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_hosts_differ),
		cmocka_unit_test(test_dies),
		cmocka_unit_test(test_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
