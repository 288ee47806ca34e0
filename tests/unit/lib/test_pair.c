/* Messages of pairs of ranks, on the host. */
#include "draw.h"
#include "unit/port.h"
#include "unit/test.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "schedule.h"

enum { RANKS = 4, MESSAGES = 60, ROOM = 3 << 20 };

/* A linear congruential generator (Knuth): the same sequence everywhere. */
static unsigned launched; /* flags of a process of a job */

static struct gtopo_comm *open_comm(int64_t timeout_ms)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	char path[4096], message[256] = "";
	struct gtopo_comm *comm = NULL;

	/* Another one may name cards that go to other hosts. */
	config.plan = getenv("GTOPO_TEST_PLAN");
	if (!config.plan)
		config.plan = gt_test_path(
			path, "tests/cases/plan/good/ring4/plan.json");
	config.timeout_ms = timeout_ms;
	config.flags = launched;
	if (gtopo_comm_create(&config, &comm, message, sizeof(message)))
		fail_msg("%s", message);
	return comm;
}

/* Others' work may keep a process waiting for long. */
enum { PATIENT_MS = 60000, FAULT_MS = 20000, DEADLOCK_MS = 2000 };

static void open_fixture(struct parties *f, int64_t timeout_ms)
{
	*f = (struct parties){.comm = open_comm(timeout_ms), .end = RANKS};
	for (int r = 0; r < RANKS; r++) {
		f->input[r] = malloc(ROOM);
		f->output[r] = malloc(ROOM);
		assert_non_null(f->input[r]);
		assert_non_null(f->output[r]);
		for (size_t i = 0; i < ROOM; i++)
			f->input[r][i] =
				(uint8_t)(i * 7 + i / 251 + (size_t)r * 31);
		memset(f->output[r], POISON, ROOM);
	}
}

static void close_fixture(struct parties *f)
{
	gtopo_comm_destroy(f->comm);
	for (int r = 0; r < RANKS; r++) {
		free(f->input[r]);
		free(f->output[r]);
	}
}

/* Sizes are uniform in their logarithm; some go to their sender. */
static void draw_schedule(uint64_t *state, struct schedule *s)
{
	uint64_t used[RANKS] = {0}, bytes, elem;
	int n = 1 + (int)draw(state, MESSAGES);

	*s = (struct schedule){.groups = 1 + (int)draw(state, 20)};
	while (n--) {
		struct message *m = &s->list[s->n];

		m->from = (int)draw(state, RANKS);
		m->to = (int)draw(state, RANKS);
		m->type = (enum gtopo_type)draw(state, GT_NDTYPES);
		elem = gt_dtype_bytes((enum gt_dtype)m->type);
		m->count = draw(state, 2u << draw(state, 21)) / elem;
		bytes = m->count * elem;
		if (used[m->to] + bytes > ROOM)
			continue;
		m->input = draw(state, (uint32_t)(ROOM - bytes) + 1);
		m->output = used[m->to];
		used[m->to] += bytes;
		s->n++;
	}
}

static void check_outputs(const struct parties *f, const struct schedule *s)
{
	uint8_t *want = malloc(ROOM);

	assert_non_null(want);
	for (int r = 0; r < RANKS; r++) {
		memset(want, POISON, ROOM);
		for (int i = 0; i < s->n; i++) {
			const struct message *m = &s->list[i];

			if (m->to == r)
				memcpy(want + m->output,
				       f->input[m->from] + m->input,
				       message_bytes(m));
		}
		assert_memory_equal(want, f->output[r], ROOM);
	}
	free(want);
}

/* What is to be sent, and outputs that nothing has come to. */
static void begin_round(const struct parties *f, struct schedule *s,
			uint64_t *chance)
{
	draw_schedule(chance, s);
	for (int r = 0; r < RANKS; r++)
		memset(f->output[r], POISON, ROOM);
}

/* One thread for all ranks, one rank after another. */
static void test_by_chance(void **state)
{
	uint64_t chance = 20;
	struct parties f;
	struct schedule s;

	(void)state;
	open_fixture(&f, PATIENT_MS);
	for (int i = 0; i < 60; i++) {
		begin_round(&f, &s, &chance);
		for (int r = 0; r < RANKS; r++)
			assert_int_equal(call_schedule(&f, &s, (r + i) % RANKS),
					 GTOPO_OK);
		assert_int_equal(gtopo_wait(f.comm, GTOPO_ALL_RANKS, -1),
				 GTOPO_OK);
		check_outputs(&f, &s);
	}
	close_fixture(&f);
}

struct caller {
	const struct parties *f;
	const struct schedule *s;
	pthread_t thread;
	int rank, rc;
};

static void *caller_main(void *arg)
{
	struct caller *me = arg;

	me->rc = call_schedule(me->f, me->s, me->rank);
	if (!me->rc)
		me->rc = gtopo_wait(me->f->comm, me->rank, -1);
	return NULL;
}

static void test_threads(void **state)
{
	uint64_t chance = 21;
	struct caller callers[RANKS];
	struct parties f;
	struct schedule s;

	(void)state;
	open_fixture(&f, PATIENT_MS);
	for (int i = 0; i < 30; i++) {
		begin_round(&f, &s, &chance);
		for (int r = 0; r < RANKS; r++) {
			callers[r] =
				(struct caller){.f = &f, .s = &s, .rank = r};
			assert_int_equal(pthread_create(&callers[r].thread,
							NULL, caller_main,
							&callers[r]),
					 0);
		}
		for (int r = 0; r < RANKS; r++) {
			pthread_join(callers[r].thread, NULL);
			assert_int_equal(callers[r].rc, GTOPO_OK);
		}
		check_outputs(&f, &s);
	}
	close_fixture(&f);
}

/* Of rank r: collectives and messages of a group, a collective on each side. */
static int call_mixed(struct gtopo_comm *comm, int r, int32_t *data,
		      int32_t *moved)
{
	int rc =
		gtopo_allreduce(comm, r, data, data, 1, GTOPO_INT32, GTOPO_SUM);

	if (!rc)
		rc = gtopo_group_start(comm, r);
	/* Behind the group's collective, whatever the order. */
	if (!rc)
		rc = gtopo_send(comm, r, data, 1, GTOPO_INT32, (r + 1) % RANKS);
	if (!rc)
		rc = gtopo_allreduce(comm, r, data, data, 1, GTOPO_INT32,
				     GTOPO_SUM);
	if (!rc)
		rc = gtopo_recv(comm, r, moved, 1, GTOPO_INT32,
				(r + RANKS - 1) % RANKS);
	if (!rc)
		rc = gtopo_group_end(comm, r);
	return rc ? rc
		  : gtopo_allreduce(comm, r, moved, moved, 1, GTOPO_INT32,
				    GTOPO_SUM);
}

/* 0 when all is as it should be, in this process. */
static int run_mixed(struct gtopo_comm *comm)
{
	int32_t data[RANKS], moved[RANKS];
	int first, count, rc = 0;

	gtopo_comm_local(comm, &first, &count);
	for (int r = first; !rc && r < first + count; r++) {
		data[r] = r + 1;
		rc = call_mixed(comm, r, &data[r], &moved[r]);
	}
	if (!rc)
		rc = gtopo_wait(comm, GTOPO_ALL_RANKS, -1);
	for (int r = first; !rc && r < first + count; r++)
		rc = data[r] != 40 || moved[r] != 160;
	return rc;
}

static void test_mixed(void **state)
{
	struct gtopo_comm *comm = open_comm(PATIENT_MS);

	(void)state;
	assert_int_equal(run_mixed(comm), 0);
	gtopo_comm_destroy(comm);
}

static void assert_fails(struct gtopo_comm *comm, int want, const char *words)
{
	char message[256];

	assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, 20000), want);
	gtopo_comm_message(comm, message, sizeof(message));
	if (!strstr(message, words))
		fail_msg("'%s' has no '%s'", message, words);
	gtopo_comm_destroy(comm);
}

static void test_mismatch(void **state)
{
	struct gtopo_comm *comm = open_comm(PATIENT_MS);
	double data[4] = {0};

	(void)state;
	assert_int_equal(gtopo_recv(comm, 2, data, 3, GTOPO_FLOAT, 1),
			 GTOPO_OK);
	assert_int_equal(gtopo_send(comm, 1, data, 4, GTOPO_FLOAT, 2),
			 GTOPO_EINPUT);
	assert_fails(comm, GTOPO_EINPUT,
		     "rank 1 sends 4 float to rank 2, which receives 3 float");

	comm = open_comm(PATIENT_MS);
	assert_int_equal(gtopo_send(comm, 1, data, 2, GTOPO_FLOAT, 2),
			 GTOPO_OK);
	assert_int_equal(gtopo_send(comm, 1, data, 2, GTOPO_FLOAT, 2),
			 GTOPO_OK);
	assert_int_equal(gtopo_recv(comm, 2, data + 2, 2, GTOPO_FLOAT, 1),
			 GTOPO_OK);
	/* As many bytes are not the same. */
	assert_int_equal(gtopo_recv(comm, 2, data + 2, 1, GTOPO_DOUBLE, 1),
			 GTOPO_EINPUT);
	assert_fails(comm, GTOPO_EINPUT, "which receives 1 double");
}

/* Each process calls for its own ranks; 0 when all is as it should be. */
static int run_schedules(struct parties *f)
{
	uint64_t chance = 77;
	struct schedule s;
	int first, count, rc = 0;

	gtopo_comm_local(f->comm, &first, &count);
	for (int i = 0; !rc && i < 40; i++) {
		draw_schedule(&chance, &s);
		for (int r = first; r < first + count; r++)
			memset(f->output[r], POISON, ROOM);
		for (int r = first; !rc && r < first + count; r++)
			rc = call_schedule(f, &s, r);
		if (!rc)
			rc = gtopo_wait(f->comm, GTOPO_ALL_RANKS, -1);
		for (int k = 0; k < s.n; k++)
			if (s.list[k].to < first ||
			    s.list[k].to >= first + count)
				s.list[k].count = 0;
		for (int r = 0; r < RANKS; r++)
			if (r < first || r >= first + count)
				memset(f->output[r], POISON, ROOM);
		if (!rc)
			check_outputs(f, &s);
	}
	return rc;
}

/* Ranks 0 and 1 go on when rank 2's process has all of what was before. */
static int run_handover(struct gtopo_comm *comm, int first)
{
	int32_t data = 0;

	if (first < 2) {
		gtopo_recv(comm, first, &data, 1, GTOPO_INT32, 2);
	} else if (first == 2) {
		gtopo_send(comm, 2, &data, 1, GTOPO_INT32, 0);
		gtopo_send(comm, 2, &data, 1, GTOPO_INT32, 1);
	}
	return gtopo_wait(comm, GTOPO_ALL_RANKS, -1);
}

/* What only the receiver's process can see; it ends all of them. */
static int run_mismatch(struct gtopo_comm *comm)
{
	char message[256];
	double data[4] = {0};
	int first, count, rc;

	gtopo_comm_local(comm, &first, &count);
	rc = run_handover(comm, first);
	/* Who only helps may hear of the end first. */
	if (rc && first < 2)
		return rc;
	if (first == 0)
		gtopo_send(comm, 0, data, 4, GTOPO_FLOAT, 1);
	if (first == 1)
		gtopo_recv(comm, 1, data, 2, GTOPO_DOUBLE, 0);
	rc = gtopo_wait(comm, GTOPO_ALL_RANKS, 20000);
	gtopo_comm_message(comm, message, sizeof(message));
	if (first != 1)
		return 0;
	return rc == GTOPO_EINPUT &&
			       strstr(message, "rank 0 sends 4 float to rank "
					       "1, which receives 2 double")
		       ? 0
		       : 1;
}

/* Of two processes the second is gone, which the first one hears of. */
static int run_gone(struct gtopo_comm *comm, int rank)
{
	char message[256];
	int32_t data = 0;

	/* Not before the first one has all of what was before. */
	if (rank) {
		gtopo_recv(comm, RANKS - 1, &data, 1, GTOPO_INT32, 0);
		_exit(gtopo_wait(comm, GTOPO_ALL_RANKS, -1) != GTOPO_OK);
	}
	gtopo_send(comm, 0, &data, 1, GTOPO_INT32, RANKS - 1);
	gtopo_recv(comm, 0, &data, 1, GTOPO_INT32, RANKS - 1);
	if (gtopo_wait(comm, GTOPO_ALL_RANKS, 20000) != GTOPO_ESYSTEM)
		return 1;
	gtopo_comm_message(comm, message, sizeof(message));
	return !strstr(message, "process 1");
}

/* All pairs send each other messages, again and again, until the job fails. */
static int run_endless(struct parties *f)
{
	char message[256];
	int first, count, rc = GTOPO_OK;

	gtopo_comm_local(f->comm, &first, &count);
	for (int turn = 0; !rc; turn++) {
		rc = gtopo_group_start(f->comm, GTOPO_ALL_RANKS);
		for (int i = 0; !rc && i < count * RANKS; i++) {
			int r = first + i / RANKS, peer = i % RANKS;

			gtopo_send(f->comm, r, f->input[r], ROOM / RANKS,
				   GTOPO_UINT8, peer);
			rc = gtopo_recv(f->comm, r,
					f->output[r] + ROOM / RANKS * peer,
					ROOM / RANKS, GTOPO_UINT8, peer);
		}
		if (!rc)
			rc = gtopo_group_end(f->comm, GTOPO_ALL_RANKS);
		if (!rc)
			rc = gtopo_wait(f->comm, GTOPO_ALL_RANKS, -1);
		if (!rc && !turn)
			puts("all messages of the first turn have come");
		fflush(stdout);
	}
	gtopo_comm_message(f->comm, message, sizeof(message));
	fprintf(stderr, "%s\n", message);
	return rc == GTOPO_ESYSTEM ? 3 : 1;
}

/* One after another, until one fails, which is told with its reason. */
static int run_parts(struct parties *f, int rank, int size)
{
	const char *part = "collectives and messages";
	char message[256];
	int rc = run_mixed(f->comm);

	if (!rc) {
		part = "schedules";
		rc = run_schedules(f);
	}
	if (!rc) {
		part = "collectives and messages again";
		rc = run_mixed(f->comm);
	}
	if (!rc) {
		part = size == 2 ? "gone" : "mismatch";
		rc = size == 2 ? run_gone(f->comm, rank)
			       : run_mismatch(f->comm);
	}
	gtopo_comm_message(f->comm, message, sizeof(message));
	if (rc)
		fprintf(stderr, "process %d of %d: %s: %d: %s\n", rank, size,
			part, rc, message);
	return rc != 0;
}

static void be_launched_as(int rank, int size, int port, const char *host)
{
	char text[16];

	/* What fails ends the child: it must not go on with other tests. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	snprintf(text, sizeof(text), "%d", rank);
	setenv("RANK", text, 1);
	snprintf(text, sizeof(text), "%d", size);
	setenv("WORLD_SIZE", text, 1);
	snprintf(text, sizeof(text), "%d", port);
	setenv("MASTER_PORT", text, 1);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("GTOPO_SECRET", "not so secret: a test", 1);
	if (host)
		setenv("GTOPO_HOSTID", host, 1);
	launched = GTOPO_LAUNCHED;
}

static int be_process(int rank, int size, int port, const char *host)
{
	struct parties f;
	int rc;

	be_launched_as(rank, size, port, host);
	open_fixture(&f, PATIENT_MS);
	rc = run_parts(&f, rank, size);
	close_fixture(&f);
	return rc;
}

static void all_end_well(const pid_t *pids, int n)
{
	int status;

	for (int p = 0; p < n; p++) {
		assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
		assert_int_equal(status, 0);
	}
}

/* Of three processes, ranks 0, 1, and 2 and 3; on hosts of these names. */
static void run_processes(int size, const char *hosts)
{
	char host[2] = "";
	pid_t pids[3];
	int port = test_free_port();

	for (int p = 0; p < size; p++) {
		pids[p] = fork();
		assert_true(pids[p] >= 0);
		host[0] = hosts ? hosts[p] : '\0';
		if (!pids[p])
			_exit(be_process(p, size, port, hosts ? host : NULL));
	}
	all_end_well(pids, size);
}

static void test_processes(void **state)
{
	(void)state;
	run_processes(3, NULL);
	run_processes(2, "ab");
	run_processes(3, "aba");
}

/*
 * All is well so far in both processes: rank 0 says so to rank 2, and does not
 * wait, as rank 2 may be gone before it sees that this has come.
 */
static int begin_early(struct gtopo_comm *comm, int rank)
{
	static int32_t data;
	int rc = run_mixed(comm);

	if (rc)
		return rc;
	if (!rank)
		return gtopo_send(comm, 0, &data, 1, GTOPO_INT32, 2);
	rc = gtopo_recv(comm, 2, &data, 1, GTOPO_INT32, 0);
	return rc ? rc : gtopo_wait(comm, GTOPO_ALL_RANKS, -1);
}

/* Rank 3 goes when it has just come to receive, and rank 0 comes to send. */
static int be_early(int rank, int port, int turn)
{
	struct gtopo_comm *comm;
	char message[256];
	int32_t data = 0;

	be_launched_as(rank, 2, port, NULL);
	comm = open_comm(PATIENT_MS);
	if (begin_early(comm, rank))
		return 1;
	if (rank)
		gtopo_recv(comm, 3, &data, 1, GTOPO_INT32, 0);
	usleep(rank ? 200 : (unsigned)turn * 50);
	if (rank)
		_exit(0);
	/* It may be known that nobody is there. */
	gtopo_send(comm, 0, &data, 1, GTOPO_INT32, 3);
	gtopo_recv(comm, 0, &data, 1, GTOPO_INT32, 3);
	gtopo_wait(comm, GTOPO_ALL_RANKS, 20000);
	gtopo_comm_message(comm, message, sizeof(message));
	gtopo_comm_destroy(comm);
	if (strstr(message, "process 1 "))
		return 0;
	fprintf(stderr, "%s\n", message);
	return 1;
}

static void test_gone_early(void **state)
{
	pid_t pids[2];
	int port;

	(void)state;
	for (int turn = 0; turn < 20; turn++) {
		port = test_free_port();
		for (int p = 0; p < 2; p++) {
			pids[p] = fork();
			assert_true(pids[p] >= 0);
			if (!pids[p])
				_exit(be_early(p, port, turn));
		}
		all_end_well(pids, 2);
	}
}

static void test_refused(void **state)
{
	struct gtopo_comm *comm = open_comm(PATIENT_MS);
	int32_t data[2] = {0};

	(void)state;
	assert_int_equal(gtopo_send(comm, RANKS, data, 1, GTOPO_INT32, 0),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_send(comm, 0, data, 1, GTOPO_INT32, RANKS),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_recv(comm, 0, data, 1, GTOPO_INT32, -1),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_recv(comm, 0, data, 1, 300, 1), GTOPO_EINPUT);
	assert_int_equal(gtopo_send(comm, 0, NULL, 1, GTOPO_INT32, 1),
			 GTOPO_EINPUT);
	assert_int_equal(
		gtopo_send(comm, 0, data, UINT64_MAX / 2, GTOPO_INT32, 1),
		GTOPO_EINPUT);
	/* What a refused group had is forgotten, also for the peer. */
	assert_int_equal(gtopo_group_start(comm, 0), GTOPO_OK);
	assert_int_equal(gtopo_send(comm, 0, data, 2, GTOPO_INT32, 1),
			 GTOPO_OK);
	assert_int_equal(gtopo_send(comm, 0, data, 1, GTOPO_INT32, 9),
			 GTOPO_EINPUT);
	assert_int_equal(gtopo_group_end(comm, 0), GTOPO_EINPUT);
	assert_int_equal(gtopo_send(comm, 0, data, 0, GTOPO_INT32, 1),
			 GTOPO_OK);
	assert_int_equal(gtopo_recv(comm, 1, NULL, 0, GTOPO_INT32, 0),
			 GTOPO_OK);
	assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	gtopo_comm_destroy(comm);
}

/* Ranks that wait for each other are named when the time is up. */
static void test_deadlock(void **state)
{
	struct gtopo_comm *comm = open_comm(DEADLOCK_MS);
	int64_t begin = gt_clock_ns();
	int32_t data[2] = {0};

	(void)state;
	assert_int_equal(gtopo_send(comm, 0, data, 1, GTOPO_INT32, 3),
			 GTOPO_OK);
	assert_int_equal(gtopo_send(comm, 3, data, 1, GTOPO_INT32, 0),
			 GTOPO_OK);
	assert_int_equal(gtopo_recv(comm, 0, data + 1, 1, GTOPO_INT32, 3),
			 GTOPO_OK);
	assert_int_equal(gtopo_recv(comm, 3, data + 1, 1, GTOPO_INT32, 0),
			 GTOPO_OK);
	assert_fails(comm, GTOPO_ESYSTEM,
		     "rank 0 waits to send to rank 3 for 2.0 s, which waits to "
		     "send to rank 0");
	assert_true(gt_clock_ns() - begin < INT64_C(20000000000));

	comm = open_comm(DEADLOCK_MS);
	assert_int_equal(gtopo_send(comm, 2, data, 1, GTOPO_INT32, 2),
			 GTOPO_OK);
	assert_fails(comm, GTOPO_ESYSTEM, "rank 2 waits to send to rank 2");

	comm = open_comm(DEADLOCK_MS);
	assert_int_equal(gtopo_recv(comm, 1, data, 1, GTOPO_INT32, 0),
			 GTOPO_OK);
	assert_int_equal(
		gtopo_allreduce(comm, 0, data, data, 1, GTOPO_INT32, GTOPO_SUM),
		GTOPO_OK);
	assert_fails(comm, GTOPO_ESYSTEM,
		     "which waits for all at its collective 0, allreduce");
}

static void test_end_while_waiting(void **state)
{
	struct gtopo_comm *comm = open_comm(PATIENT_MS);
	int32_t data = 0;

	(void)state;
	assert_int_equal(gtopo_recv(comm, 1, &data, 1, GTOPO_INT32, 0),
			 GTOPO_OK);
	assert_int_equal(gtopo_wait(comm, 1, 20), GTOPO_IN_PROGRESS);
	assert_int_equal(gtopo_wait(comm, 0, 20), GTOPO_OK);
	gtopo_comm_destroy(comm);

	comm = open_comm(PATIENT_MS);
	assert_int_equal(gtopo_recv(comm, 1, &data, 1, GTOPO_INT32, 0),
			 GTOPO_OK);
	gtopo_comm_abort(comm);
	assert_int_equal(gtopo_send(comm, 0, &data, 1, GTOPO_INT32, 1),
			 GTOPO_EABORTED);
	assert_fails(comm, GTOPO_EABORTED, "aborted");
}

/* A process of a job that somebody else has started, on its host. */
static int join_job(const char *part)
{
	struct parties f;
	int rc;

	launched = GTOPO_LAUNCHED;
	open_fixture(&f, strcmp(part, "endless") ? PATIENT_MS : FAULT_MS);
	rc = !strcmp(part, "endless") ? run_endless(&f)
				      : run_parts(&f, atoi(getenv("RANK")),
						  atoi(getenv("WORLD_SIZE")));
	close_fixture(&f);
	return rc;
}

/* Or only what fits this pattern; --launched parts, --launched endless. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_chance),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_mismatch),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_gone_early),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_end_while_waiting),
	};

	if (argc > 2 && !strcmp(argv[1], "--launched"))
		return join_job(argv[2]);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
