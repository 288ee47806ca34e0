/*
 * sim_library [-f] [-n WORLDS] [-s SEED] [-v]: libgtopo's communicators in some
 * processes, in a simulated system (sim.h), one job a seed; -f ends at the
 * first that fails.  Library, host engine, links and world are the program's
 * own.  Each process all-reduces and sends messages around; where that fails it
 * shrinks the communicator and goes on.
 *
 * Processes are killed, stopped, cut off or without power, connections break,
 * and any thread aborts a communicator at any time.
 *
 * What must hold: no element is ever wrong; all groups that do an operation are
 * nested, so that no two ever go on apart; an abort ends the caller's waits in
 * 0.1 s; those that nothing has hit go on where they are more than those of
 * whom nothing is known, within a second where nobody had to be silent first;
 * who cannot go on says why; nobody waits beyond the limit, and nothing stays
 * open.
 */
#include "fault.h"
#include "ring.h"
#include "sim.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "gtopo.h"
#include "lib/embed.h"
#include "lib/state.h"
#include "world/world.h"

enum {
	JOB_PROCESSES = 4,
	JOB_RANKS = 8,
	JOB_FAULTS = 3,
	JOB_GROUPS = 16,
	JOB_PORT = 7000,
	JOB_ROUNDS = 24,
	JOB_COMMS = 9, /* a job's communicator, and those shrunk from it */
	JOB_MOST = 4096,
	JOB_SENT = 64, /* elements of a message */
	JOB_NAP_NS = 100000000,
	JOB_ABORT_NS = 100000000,
	JOB_SOON_NS = 1000000000, /* from a blow until it is right */
};

/* A seed draws from these, so their order makes its world. */
static const enum sim_fault_kind job_kinds[] = {
	SIM_FAULT_NAP,   SIM_FAULT_CLOG, SIM_FAULT_KILL,
	SIM_FAULT_ABORT, SIM_FAULT_DARK, SIM_FAULT_FREEZE,
	SIM_FAULT_RESET, SIM_FAULT_MUTE, SIM_FAULT_CUT};

enum { JOB_KINDS = sizeof(job_kinds) / sizeof(*job_kinds) };

struct job_process {
	uint32_t id;
	int rc, has_begun, is_failing, is_over;
	struct gtopo_comm *comms[JOB_COMMS];
	int ncomms;
	int32_t done;    /* operations that it knows to be done */
	uint32_t group;  /* of its last operation that was right, as bits */
	int64_t late_ns; /* from the last blow until it was right again */
	int64_t abort_ns,
		deaf_ns; /* when it aborted; how long it still waited */
	int64_t end_ns;
	char text[SIM_TEXT];
};

/* Those that have done an operation together. */
struct job_group {
	uint32_t members;
};

static struct job {
	uint64_t seed;
	uint32_t size, nranks, nfaults, ngroups, nbegun;
	int32_t rounds;
	int64_t timeout_ns, begin_ns, hit_ns;
	struct sim_fault faults[JOB_FAULTS];
	struct job_process processes[JOB_PROCESSES];
	struct job_group groups[JOB_GROUPS];
	char wrong[SIM_TEXT];
} job;

/* The buffers of each rank, by its first number. */
static int32_t job_in[JOB_RANKS][JOB_MOST], job_out[JOB_RANKS][JOB_MOST],
	job_sent[JOB_RANKS][JOB_SENT], job_got[JOB_RANKS][JOB_SENT];

static int32_t job_hash(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = (a * 31 + b) * 0x9e3779b97f4a7c15ull + c;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return (int32_t)((x ^ x >> 32) & 0xffffff);
}

/* What a rank has of an operation, other in each world and communicator. */
static int32_t job_value(const struct job_process *me, uint32_t origin,
			 size_t i)
{
	uint64_t operation =
		(uint64_t)me->done * JOB_COMMS + (uint64_t)me->ncomms;

	return job_hash(job.seed + operation, origin, i);
}

static void job_nap(int64_t most_ns)
{
	struct timespec nap = {.tv_nsec = (long)sim_draw((uint64_t)most_ns)};

	nanosleep(&nap, NULL);
}

/* ---- Operations. */

/* The number that a rank of the youngest communicator had in the first. */
static uint32_t job_origin(const struct job_process *me, int rank)
{
	for (int i = me->ncomms; i-- > 1;)
		rank = gtopo_comm_origin(me->comms[i], rank);
	return (uint32_t)rank;
}

static uint32_t job_process_of(uint32_t rank)
{
	uint32_t p = 0;

	while ((p + 1) * job.nranks / job.size <= rank)
		p++;
	return p;
}

static void job_is_wrong(const struct job_process *me, const char *what)
{
	snprintf(job.wrong, SIM_TEXT, "process %u, operation %d: %s is wrong",
		 me->id, me->done, what);
}

/* All groups that ever do something are to be parts of each other. */
static void job_note_group(struct job_process *me, uint32_t members)
{
	uint32_t i = 0;

	me->group = members;
	while (i < job.ngroups && job.groups[i].members != members)
		i++;
	if (i < job.ngroups || i == JOB_GROUPS)
		return;
	job.groups[job.ngroups++] = (struct job_group){members};
	for (uint32_t k = 0; k < i; k++) {
		uint32_t common = job.groups[k].members & members;

		if (common != members && common != job.groups[k].members)
			snprintf(job.wrong, SIM_TEXT,
				 "groups %x and %x go on apart",
				 job.groups[k].members, members);
	}
}

/* Calls of all ranks of this process; how many elements, all know alike. */
static int job_call(struct job_process *me, struct gtopo_comm *comm, size_t n)
{
	int first, count, size = gtopo_comm_ranks(comm), rc = 0;

	gtopo_comm_local(comm, &first, &count);
	for (int r = first; !rc && r < first + count; r++) {
		uint32_t origin = job_origin(me, r);

		for (size_t i = 0; i < n; i++)
			job_in[origin][i] = job_value(me, origin, i);
		memset(job_out[origin], 0, n * sizeof(*job_out[origin]));
		memset(job_got[origin], 0, sizeof(job_got[origin]));
		for (size_t i = 0; i < JOB_SENT; i++)
			job_sent[origin][i] = job_value(me, origin, n + i);
		rc = gtopo_group_start(comm, r) ||
		     gtopo_allreduce(comm, r, job_in[origin], job_out[origin],
				     n, GTOPO_INT32, GTOPO_SUM) ||
		     gtopo_send(comm, r, job_sent[origin], JOB_SENT,
				GTOPO_INT32, (r + 1) % size) ||
		     gtopo_recv(comm, r, job_got[origin], JOB_SENT, GTOPO_INT32,
				(r + size - 1) % size) ||
		     gtopo_group_end(comm, r);
	}
	return rc;
}

static void job_compare(struct job_process *me, struct gtopo_comm *comm,
			size_t n)
{
	int first, count, size = gtopo_comm_ranks(comm);
	uint32_t members = 0;

	gtopo_comm_local(comm, &first, &count);
	for (int r = 0; r < size; r++)
		members |= 1u << job_process_of(job_origin(me, r));
	for (size_t i = 0; i < n; i++) {
		int32_t want = 0;

		for (int r = 0; r < size; r++)
			want += job_value(me, job_origin(me, r), i);
		for (int r = first; r < first + count; r++)
			if (job_out[job_origin(me, r)][i] != want)
				job_is_wrong(me, "a sum");
	}
	for (int r = first; r < first + count; r++)
		if (job_process_of(job_origin(me, r)) != me->id)
			job_is_wrong(me, "the number that a rank had");
	for (int r = first; r < first + count; r++)
		for (size_t i = 0; i < JOB_SENT; i++)
			if (job_got[job_origin(me, r)][i] !=
			    job_value(me, job_origin(me, (r + size - 1) % size),
				      n + i))
				job_is_wrong(me, "a message");
	job_note_group(me, members);
}

/* Wait for what was called, and note how long that outlasts an abort. */
static int job_wait(struct job_process *me, struct gtopo_comm *comm)
{
	int64_t begin_ns = sim_now_ns(), deaf_ns;
	int rc = gtopo_wait(comm, GTOPO_ALL_RANKS, -1);

	if (me->abort_ns < begin_ns)
		return rc;
	deaf_ns = sim_now_ns() - me->abort_ns;
	if (deaf_ns > me->deaf_ns)
		me->deaf_ns = deaf_ns;
	return rc;
}

static int job_operate(struct job_process *me)
{
	struct gtopo_comm *comm = me->comms[me->ncomms - 1];
	size_t n = 1 + (size_t)job_hash(job.seed, (uint64_t)me->done, 0) %
			       (me->done % 4 ? JOB_MOST / 16 : JOB_MOST);
	int rc = job_call(me, comm, n);

	if (!rc)
		rc = job_wait(me, comm);
	if (rc)
		return rc;
	job_compare(me, comm, n);
	me->done++;
	if (me->is_failing && sim_now_ns() - job.hit_ns > me->late_ns)
		me->late_ns = sim_now_ns() - job.hit_ns;
	me->is_failing = 0;
	return 0;
}

/* Those that are left go on behind the last operation that one of them did. */
static int job_agree(struct job_process *me)
{
	struct gtopo_comm *comm = me->comms[me->ncomms - 1];
	/* What failed may still write here when this returns. */
	static int32_t all[JOB_PROCESSES][JOB_RANKS];
	int32_t *done = all[me->id];
	int first, count, rc = 0;

	gtopo_comm_local(comm, &first, &count);
	for (int r = first; !rc && r < first + count; r++) {
		done[r] = me->done;
		rc = gtopo_allreduce(comm, r, &done[r], &done[r], 1,
				     GTOPO_INT32, GTOPO_MAX);
	}
	if (!rc)
		rc = job_wait(me, comm);
	if (!rc)
		me->done = done[first];
	return rc;
}

/* One more may be lost meanwhile: then it is tried again. */
static int job_shrink(struct job_process *me)
{
	struct gtopo_comm *old = me->comms[me->ncomms - 1];
	int rc = -1;

	for (uint32_t i = 0; rc && i < job.size && me->ncomms < JOB_COMMS; i++)
		rc = gtopo_comm_shrink(old, NULL, 0, GTOPO_SHRINK_ABORT,
				       &me->comms[me->ncomms], me->text,
				       sizeof(me->text));
	if (!rc && old->state < 0 && !old->has_ended)
		job_is_wrong(me, "that an old operation may still write");
	me->ncomms += !rc;
	return rc;
}

static int job_work(struct job_process *me)
{
	int rc = 0, agreed = 1;

	while (!rc && (!agreed || me->done < job.rounds)) {
		if (agreed)
			job_nap(JOB_NAP_NS);
		if (!(agreed ? job_operate(me) : job_agree(me))) {
			agreed = 1;
			continue;
		}
		me->is_failing = 1;
		rc = job_shrink(me);
		agreed = 0;
	}
	return rc;
}

/* ---- A process. */

static void job_hear(void *none, int warning, const char *text)
{
	(void)none;
	(void)warning;
	(void)text;
}

static int job_create(struct job_process *me, struct gt_err *err)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gt_world_config world = {.rank = me->id,
					.size = job.size,
					.listen_fd = -1,
					.has_door = 1};
	struct sockaddr_in *four = (void *)&world.address.storage;
	int rc = GT_OK;

	config.timeout_ms = job.timeout_ns / 1000000;
	world.address.len = sizeof(*four);
	four->sin_family = AF_INET;
	four->sin_port = htons(JOB_PORT);
	four->sin_addr.s_addr = htonl(0x0a000001u);
	snprintf(world.name, sizeof(world.name), "host%u, pid %u",
		 sim_process_of(me->id)->host, 100 + me->id);
	gt_secret_set(&world.secret, "nobody knows this", NULL);
	if (!me->id)
		rc = gt_net_listen(&world.address, &world.listen_fd, err);
	if (!rc)
		rc = gt_comm_embed(&config, sim_ring_new(job.nranks), &world,
				   job_hear, &me->comms[0], err);
	if (rc)
		return rc;
	me->ncomms = 1;
	return gt_comm_ready(me->comms[0], NULL, err);
}

/* A thread that aborts whatever communicator there is by then. */
static void *job_abort(void *arg)
{
	struct sim_fault *fault = arg;
	struct job_process *me = &job.processes[fault->process];
	struct gtopo_comm *comm;

	while (!me->is_over && sim_now_ns() < fault->at_ns)
		job_nap(2000000);
	fault->done = 1;
	if (me->is_over)
		return NULL;
	fault->hit = 1;
	job.hit_ns = me->abort_ns = sim_now_ns();
	comm = me->comms[me->ncomms - 1];
	gtopo_comm_abort(comm);
	if (gtopo_comm_state(comm) >= 0)
		job_is_wrong(me, "what is said of an abort");
	return NULL;
}

static void job_main(void *arg)
{
	struct job_process *me = arg;
	pthread_t threads[JOB_FAULTS];
	struct gt_err err;
	uint32_t n = 0;

	gt_err_init(&err);
	job_nap(100000000);
	me->rc = job_create(me, &err);
	if (me->rc)
		snprintf(me->text, SIM_TEXT, "%s", err.text);
	me->has_begun = !me->rc;
	job.nbegun += !me->rc;
	for (uint32_t i = 0; !me->rc && i < job.nfaults; i++)
		if (job.faults[i].kind == SIM_FAULT_ABORT &&
		    job.faults[i].process == me->id)
			pthread_create(&threads[n++], NULL, job_abort,
				       &job.faults[i]);
	if (!me->rc)
		me->rc = job_work(me);
	me->is_over = 1;
	while (n > 0)
		pthread_join(threads[--n], NULL);
	while (me->ncomms > 0)
		gtopo_comm_destroy(me->comms[--me->ncomms]);
	me->end_ns = sim_now_ns();
}

/* ---- Faults. */

static void job_strike(struct sim_fault *fault)
{
	int64_t short_ns = fault->for_ns % (job.timeout_ns / 20);

	/* A thread of the process does that itself. */
	if (fault->kind == SIM_FAULT_ABORT)
		return;
	if (sim_process_of(fault->process)->end == SIM_RUNS)
		job.hit_ns = sim_now_ns();
	sim_fault_strike(fault, short_ns);
}

static void job_each(void *arg)
{
	(void)arg;
	sim_faults_each(job.faults, job.nfaults, job_strike);
	sim_release(job.size);
}

/* The first one comes at any time, others often soon behind it. */
static void job_draw_faults(void)
{
	int only_ends = !sim_draw(2);
	int64_t at_ns = 150000000 + (int64_t)sim_draw(700000000);

	job.nfaults = (uint32_t)sim_draw(JOB_FAULTS + 1);
	for (uint32_t i = 0; i < job.nfaults; i++) {
		job.faults[i] = (struct sim_fault){
			.kind = !only_ends    ? job_kinds[sim_draw(JOB_KINDS)]
				: sim_draw(2) ? SIM_FAULT_ABORT
					      : SIM_FAULT_KILL,
			.process = (uint32_t)sim_draw(job.size),
			.other = (uint32_t)sim_draw(job.size),
			.at_ns = job.begin_ns + at_ns,
			.for_ns = sim_draw_ns(33)};
		at_ns += sim_draw_ns(31);
	}
}

static void job_make(uint64_t seed)
{
	memset(&job, 0, sizeof(job));
	sim_begin(seed);
	job.seed = seed;
	job.size = 2 + (uint32_t)sim_draw(JOB_PROCESSES - 1);
	job.nranks = job.size + (uint32_t)sim_draw(3);
	job.rounds = 1 + (int32_t)sim_draw(JOB_ROUNDS);
	job.timeout_ns = 2000000000ll << sim_draw(3);
	job.begin_ns = sim_now_ns();
	job_draw_faults();
	for (uint32_t p = 0; p < job.size; p++) {
		job.processes[p].id = p;
		job.processes[p].rc = -1;
		sim_add(job_main, &job.processes[p], p);
	}
}

/* ---- The judge. */

static int job_judge_process(const struct job_process *me, uint32_t must,
			     char why[SIM_TEXT])
{
	int64_t limit_ns = job.begin_ns + JOB_ROUNDS * (int64_t)JOB_NAP_NS +
			   2000000000 +
			   3 * (1 + (int64_t)job.nfaults) * job.timeout_ns;

	if (sim_process_of(me->id)->end != SIM_ENDED)
		return 0;
	if (me->rc && !me->text[0])
		return snprintf(why, SIM_TEXT, "process %u does not say why",
				me->id);
	if (me->end_ns > limit_ns)
		return snprintf(why, SIM_TEXT, "process %u needed %.1f s",
				me->id,
				(double)(me->end_ns - job.begin_ns) / 1e9);
	if (must >> me->id & 1 && me->rc)
		return snprintf(why, SIM_TEXT, "process %u does not go on: %s",
				me->id, me->text);
	return 0;
}

/* Where nobody had to be silent first, all is quick. */
static int job_judge_time(const struct job_process *me,
			  const struct sim_damage *damage, uint32_t must,
			  char why[SIM_TEXT])
{
	if (!(must >> me->id & 1) || damage->unknown || damage->resets ||
	    damage->delays)
		return 0;
	if (me->deaf_ns > JOB_ABORT_NS)
		return snprintf(why, SIM_TEXT,
				"process %u waits for %.3f s after its abort",
				me->id, (double)me->deaf_ns / 1e9);
	if (me->late_ns > JOB_SOON_NS)
		return snprintf(why, SIM_TEXT,
				"it took process %u %.3f s to be right again",
				me->id, (double)me->late_ns / 1e9);
	return 0;
}

static void job_tell(const char *why)
{
	printf("seed %llu: %u processes, %u ranks, %d rounds, limit %.0f s",
	       (unsigned long long)job.seed, job.size, job.nranks, job.rounds,
	       (double)job.timeout_ns / 1e9);
	sim_faults_print(stdout, job.faults, job.nfaults, job.begin_ns);
	printf(": %s\n", why);
	for (uint32_t p = 0; p < job.size; p++)
		printf("    process %u: status %d after %d operations, %.3f s, "
		       "group %x: %s\n",
		       p, job.processes[p].rc, job.processes[p].done,
		       (double)(job.processes[p].end_ns - job.begin_ns) / 1e9,
		       job.processes[p].group, job.processes[p].text);
}

static int job_run(uint64_t seed, int verbose)
{
	char why[SIM_TEXT] = "";
	struct sim_damage damage;
	uint32_t must = 0;
	int bad;

	job_make(seed);
	bad = sim_run(60 * job.timeout_ns, job_each, NULL, why);
	damage = sim_damage_of(job.faults, job.nfaults);
	if (job.nbegun == job.size)
		must = sim_must_go_on(&damage, job.size);
	if (!bad && job.wrong[0])
		bad = snprintf(why, SIM_TEXT, "%s", job.wrong);
	for (uint32_t p = 0; !bad && p < job.size; p++)
		bad = job_judge_process(&job.processes[p], must, why);
	for (uint32_t p = 0; !bad && p < job.size; p++)
		bad = job_judge_time(&job.processes[p], &damage, must, why);
	if (bad || verbose)
		job_tell(bad ? why : "as it should");
	sim_memory_close_left();
	return bad != 0;
}

int main(int argc, char **argv)
{
	return sim_seeds(argc, argv, stdout, job_run);
}
