/*
 * sim_links [-f] [-n WORLDS] [-s SEED] [-v]: collectives of CPU ranks in some
 * processes over TCP links, in a simulated system (sim.h), one job a seed.  The
 * host engine, its process groups, links and proxies are the program's own, and
 * so is the world below them; -f ends at the first that fails.
 *
 * What goes between two hosts is held back, from one pair after the other, and
 * comes free in any order; bytes are late and cut anywhere; connections break;
 * processes are stopped, killed, cut off or without power.
 *
 * What must hold: no element is ever wrong; without a fault that lasts, all is
 * done; else whoever cannot go on says why, in time; nobody waits for ever, and
 * nothing stays open.
 */
#include "fault.h"
#include "ring.h"
#include "sim.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/run/job.h"
#include "exec/engine.h"
#include "plan/ir/plan.h"
#include "world/world.h"

enum {
	JOB_PROCESSES = 4,
	JOB_FAULTS = 4,
	JOB_PORT = 7000,
	JOB_MOST_BYTES = 256 << 10,
	JOB_ROUNDS = 5,
	JOB_SLICES = 60, /* about so many make a large buffer */
};

/* A seed draws from these, so their order makes its world. */
static const enum sim_fault_kind job_kinds[] = {
	SIM_FAULT_NAP,    SIM_FAULT_HOLD,  SIM_FAULT_KILL, SIM_FAULT_DARK,
	SIM_FAULT_FREEZE, SIM_FAULT_RESET, SIM_FAULT_MUTE, SIM_FAULT_CUT};

enum {
	JOB_HOLDS = 2, /* the first ones only hold up */
	JOB_KINDS = sizeof(job_kinds) / sizeof(*job_kinds),
};

struct job_process {
	uint32_t id;
	int rc;
	uint32_t rounds; /* that it has done */
	uint64_t wrong;
	int64_t end_ns;
	char text[SIM_TEXT];
};

static struct job {
	uint64_t seed;
	uint32_t size, nranks, nfaults, rounds, slots, slice_bytes, sockets;
	int64_t timeout_ns, begin_ns;
	enum gt_coll colls[JOB_ROUNDS];
	uint64_t counts[JOB_ROUNDS]; /* elements of a block */
	int64_t held_until_ns[JOB_PROCESSES * JOB_PROCESSES];
	struct sim_fault faults[JOB_FAULTS];
	struct job_process processes[JOB_PROCESSES];
} job;

static void job_nap(int64_t most_ns)
{
	struct timespec nap = {.tv_nsec = (long)sim_draw((uint64_t)most_ns)};

	nanosleep(&nap, NULL);
}

/* ---- A process. */

static int job_open(const struct job_process *me, struct gt_world **world,
		    struct gt_err *err)
{
	struct gt_world_config config = {.rank = me->id,
					 .size = job.size,
					 .listen_fd = -1,
					 .timeout_ns = job.timeout_ns};
	struct sockaddr_in *four = (void *)&config.address.storage;
	int rc = GT_OK;

	config.address.len = sizeof(*four);
	four->sin_family = AF_INET;
	four->sin_port = htons(JOB_PORT);
	four->sin_addr.s_addr = htonl(0x0a000001u);
	snprintf(config.name, sizeof(config.name), "host%u, pid %u",
		 sim_process_of(me->id)->host, 100 + me->id);
	gt_secret_set(&config.secret, "nobody knows this", NULL);
	if (!me->id)
		rc = gt_net_listen(&config.address, &config.listen_fd, err);
	return rc ? rc : gt_world_open(&config, world, err);
}

/* Several collectives; whenever another one comes, FIFOs are new. */
static int job_reduce(struct job_process *me, struct gt_engine *engine,
		      struct gt_err *err)
{
	struct gt_exec_request req = {.dtype = GT_DTYPE_INT32};
	int64_t elapsed_ns;
	uint64_t wrong = 0;
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < job.rounds; i++) {
		req.seed = job.seed + i;
		req.coll = job.colls[i];
		req.count = job.counts[i];
		rc = gt_engine_host.fill(engine, &req, err);
		if (!rc)
			rc = gt_engine_host.run(engine, &req, 1, &elapsed_ns,
						err);
		if (!rc)
			rc = gt_engine_host.check(engine, &req, &wrong, err);
		me->wrong += wrong;
		me->rounds += !rc;
	}
	return rc;
}

static void job_main(void *arg)
{
	struct job_process *me = arg;
	struct gt_engine_config config = {.plan = sim_ring(job.nranks),
					  .max_bytes = 2 * JOB_MOST_BYTES,
					  .workers = 1,
					  .slots = job.slots,
					  .slice_bytes = job.slice_bytes,
					  .link = "tcp",
					  .timeout_ns = job.timeout_ns};
	struct gt_engine *engine = NULL;
	struct gt_err err;

	gt_err_init(&err);
	job_nap(100000000);
	me->rc = job_open(me, &config.world, &err);
	if (!me->rc)
		me->rc = gt_engine_host.open(&config, &engine, &err);
	if (!me->rc)
		me->rc = job_reduce(me, engine, &err);
	/* As the program does: others are told before the links close. */
	if (me->rc && config.world)
		gt_world_abort(config.world, err.text);
	gt_engine_host.close(engine);
	snprintf(me->text, SIM_TEXT, "%s", err.text);
	me->rc = gt_run_job_close(config.world, me->rc, &err);
	if (me->rc && !me->text[0])
		snprintf(me->text, SIM_TEXT, "%s", err.text);
	me->end_ns = sim_now_ns();
}

/* ---- Faults. */

/* Hold back what goes between two hosts; what is held already stays so. */
static void job_hold(uint32_t a, uint32_t b, int64_t until_ns)
{
	uint32_t pair = a < b ? a * JOB_PROCESSES + b : b * JOB_PROCESSES + a;

	sim_lasts(&job.held_until_ns[pair], until_ns);
	sim_cut(a, b, job.held_until_ns[pair]);
}

static void job_strike(struct sim_fault *fault)
{
	struct sim_process *process = sim_process_of(fault->process);
	uint32_t other = sim_process_of(fault->other)->host;
	int64_t until_ns = sim_now_ns() + fault->for_ns;

	if (fault->kind != SIM_FAULT_HOLD && fault->kind != SIM_FAULT_CUT) {
		sim_fault_strike(fault, fault->for_ns);
		return;
	}
	fault->done = 1;
	fault->hit = process->end == SIM_RUNS;
	if (fault->hit)
		job_hold(process->host, other,
			 fault->kind == SIM_FAULT_HOLD ? until_ns
						       : SIM_NEVER - 1);
}

static void job_each(void *arg)
{
	(void)arg;
	sim_faults_each(job.faults, job.nfaults, job_strike);
	sim_release(job.size);
}

static void job_draw_faults(void)
{
	int only_holds = !sim_draw(3);

	job.nfaults = (uint32_t)sim_draw(JOB_FAULTS + 1);
	for (uint32_t i = 0; i < job.nfaults; i++)
		job.faults[i] = (struct sim_fault){
			.kind = job_kinds[sim_draw(only_holds ? JOB_HOLDS
							      : JOB_KINDS)],
			.process = (uint32_t)sim_draw(job.size),
			.other = (uint32_t)sim_draw(job.size),
			.at_ns = job.begin_ns + (int64_t)sim_draw(400000000),
			.for_ns = (int64_t)sim_draw((uint64_t)job.timeout_ns /
						    20)};
}

/* Elements: mostly a few slices, at times many; a job is over in a second. */
static uint64_t job_draw_count(void)
{
	uint64_t slices = sim_draw(4) ? JOB_SLICES / 10 : JOB_SLICES;
	uint64_t most = slices * job.slice_bytes / sizeof(int32_t);

	return 1 + sim_draw(most < JOB_MOST_BYTES / sizeof(int32_t)
				    ? most
				    : JOB_MOST_BYTES / sizeof(int32_t));
}

static void job_make(uint64_t seed)
{
	static const enum gt_coll colls[] = {
		GT_COLL_ALLREDUCE, GT_COLL_ALLREDUCE, GT_COLL_ALLGATHER,
		GT_COLL_REDUCESCATTER};
	char text[16];

	memset(&job, 0, sizeof(job));
	sim_begin(seed);
	job.seed = seed;
	job.size = 2 + (uint32_t)sim_draw(JOB_PROCESSES - 1);
	job.nranks = job.size + (uint32_t)sim_draw(2);
	job.rounds = 1 + (uint32_t)sim_draw(JOB_ROUNDS);
	job.slots = 2 + (uint32_t)sim_draw(3);
	job.slice_bytes = 64u << sim_draw(7);
	job.sockets = 1 + (uint32_t)sim_draw(3);
	/* Only slices as large as this are cut into parts for each socket. */
	if (job.sockets > 1 && !sim_draw(2))
		job.slice_bytes = 128 << 10;
	snprintf(text, sizeof(text), "%u", job.sockets);
	setenv("GTOPO_TCP_SOCKETS", text, 1);
	job.timeout_ns = 1000000000ll << sim_draw(3);
	job.begin_ns = sim_now_ns();
	for (uint32_t i = 0; i < job.rounds; i++) {
		job.colls[i] = colls[sim_draw(4)];
		job.counts[i] = job_draw_count();
		if (gt_coll_has_blocks(job.colls[i]))
			job.counts[i] = job.counts[i] / job.nranks + 1;
	}
	job_draw_faults();
	for (uint32_t p = 0; p < job.size; p++) {
		job.processes[p].id = p;
		job.processes[p].rc = -1;
		sim_add(job_main, &job.processes[p], p);
	}
}

/* ---- The judge. */

/* Is there a fault that lasts, or of those one that is no broken connection? */
static int job_is_disturbed(int but_for_resets)
{
	for (uint32_t i = 0; i < job.nfaults; i++)
		if (job.faults[i].hit &&
		    !sim_fault_is_harmless(&job.faults[i]) &&
		    (job.faults[i].kind != SIM_FAULT_RESET || !but_for_resets))
			return 1;
	return 0;
}

/* One of those that have failed says it for all. */
static int job_says_why(void)
{
	for (uint32_t p = 0; p < job.size; p++)
		if (sim_process_of(p)->end == SIM_ENDED &&
		    job.processes[p].text[0])
			return 1;
	return 0;
}

static int job_judge_process(const struct job_process *me, char why[SIM_TEXT])
{
	int64_t limit_ns = job.begin_ns + 2000000000 + 4 * job.timeout_ns;

	if (me->wrong)
		return snprintf(why, SIM_TEXT, "process %u has %llu wrong",
				me->id, (unsigned long long)me->wrong);
	if (sim_process_of(me->id)->end != SIM_ENDED)
		return 0;
	if (me->rc && !job_is_disturbed(0))
		return snprintf(why, SIM_TEXT, "process %u failed: %.900s",
				me->id, me->text);
	if (me->rc && !job_says_why())
		return snprintf(why, SIM_TEXT, "nobody says why %u failed",
				me->id);
	if (strstr(me->text, " waited ") && !job_is_disturbed(1))
		return snprintf(why, SIM_TEXT,
				"process %u has not noticed what broke: %.900s",
				me->id, me->text);
	if (!me->rc && me->rounds < job.rounds)
		return snprintf(why, SIM_TEXT, "process %u has not done all",
				me->id);
	if (me->end_ns > limit_ns)
		return snprintf(why, SIM_TEXT, "process %u needed %.1f s",
				me->id,
				(double)(me->end_ns - job.begin_ns) / 1e9);
	return 0;
}

static void job_tell(const char *why)
{
	printf("seed %llu: %u processes, %u ranks, %u rounds, %u slots of %u, "
	       "%u sockets, limit %.0f s",
	       (unsigned long long)job.seed, job.size, job.nranks, job.rounds,
	       job.slots, job.slice_bytes, job.sockets,
	       (double)job.timeout_ns / 1e9);
	sim_faults_print(stdout, job.faults, job.nfaults, job.begin_ns);
	printf(": %s\n", why);
	for (uint32_t p = 0; p < job.size; p++)
		printf("    process %u: status %d after %u rounds, %.3f s: "
		       "%s\n",
		       p, job.processes[p].rc, job.processes[p].rounds,
		       (double)(job.processes[p].end_ns - job.begin_ns) / 1e9,
		       job.processes[p].text);
}

static int job_run(uint64_t seed, int verbose)
{
	char why[SIM_TEXT] = "";
	int bad;

	job_make(seed);
	bad = sim_run(8 * job.timeout_ns + 5000000000, job_each, NULL, why);
	for (uint32_t p = 0; !bad && p < job.size; p++)
		bad = job_judge_process(&job.processes[p], why);
	if (bad || verbose)
		job_tell(bad ? why : "as it should");
	sim_memory_close_left();
	return bad != 0;
}

int main(int argc, char **argv)
{
	return sim_seeds(argc, argv, stdout, job_run);
}
