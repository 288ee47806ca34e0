/*
 * sim_going [-f] [-n WORLDS] [-s SEED] [-v]: jobs that go on without those that
 * are gone, in a simulated system (sim.h), one a seed; -f ends at the first
 * that fails.  Each process does what `gtopo run --soak --keep-going` does, in
 * its own code: soak.c, going.c, a plan of what is left, and the regrouping of
 * src/world.  Only the engine is made up: it carries values by meetings of the
 * world.
 *
 * Processes are killed, stopped and continued, lose power or files; connections
 * break, hosts are cut off from each other, strangers listen at the ports of
 * the dead; the second blow often comes at once behind the first.
 *
 * What must hold: every value is right; all groups that do an operation are
 * nested, so that no two ever go on apart; who cannot go on says why; nobody
 * waits beyond the limit; nothing stays open; and those that nothing has hit go
 * on where they are more than those of whom nothing is known.
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
#include "cli/run/going.h"
#include "cli/run/job.h"
#include "cli/run/sweep.h"
#include "plan/ir/plan.h"
#include "world/world.h"

enum {
	JOB_PROCESSES = 6,
	JOB_FAULTS = 4,
	JOB_GROUPS = 16,
	JOB_PORT = 7000,
	JOB_NAP_NS = 30000000,
};

static const int64_t job_soak_ns = 1200000000;
static const int64_t job_soon_ns =
	1000000000; /* from a kill until it is right */

/* A seed draws from these, so their order makes its world. */
static const enum sim_fault_kind job_kinds[] = {
	SIM_FAULT_NAP,    SIM_FAULT_CLOG,  SIM_FAULT_KILL,    SIM_FAULT_DARK,
	SIM_FAULT_FREEZE, SIM_FAULT_STOP,  SIM_FAULT_RESET,   SIM_FAULT_MUTE,
	SIM_FAULT_CUT,    SIM_FAULT_FILES, SIM_FAULT_STRANGER};

enum { JOB_KINDS = sizeof(job_kinds) / sizeof(*job_kinds) };

struct job_process {
	uint32_t id;
	int rc, has_begun, has_failed_to_begin;
	uint32_t group; /* of its last operation that was right, as bits */
	int64_t end_ns;
	char text[SIM_TEXT];
	char wrong[SIM_TEXT];
};

/* Those that have done an operation together. */
struct job_group {
	uint32_t members;
	int64_t first_ns;
};

static struct job {
	uint64_t seed;
	uint32_t size, nranks, nfaults, ngroups, nbegun;
	int64_t timeout_ns, begin_ns;
	const struct gt_plan *plan;
	struct sim_fault faults[JOB_FAULTS];
	struct job_process processes[JOB_PROCESSES];
	struct job_group groups[JOB_GROUPS];
	char wrong[SIM_TEXT];
} job;

static FILE *report; /* standard output is the soaks' */

static uint64_t job_hash(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = (a * 31 + b) * 0x9e3779b97f4a7c15ull + c;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 32;
}

static void job_nap(int64_t most_ns)
{
	struct timespec nap = {.tv_nsec = (long)sim_draw((uint64_t)most_ns)};

	nanosleep(&nap, NULL);
}

/* ---- The engine: a collective is a meeting. */

struct gt_engine {
	struct gt_world *world; /* NULL: alone */
	uint32_t n, ids[JOB_PROCESSES], members;
	uint64_t wrong;
};

static struct job_process *job_me(void)
{
	return &job.processes[sim_self()];
}

static uint32_t job_first_rank(uint32_t p)
{
	return p * job.nranks / job.size;
}

/* Each process has the ranks that it had, and nobody else's are there. */
static void job_check_ranks(const struct gt_engine *engine,
			    const struct gt_engine_config *config)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < engine->n; i++) {
		uint32_t id = engine->ids[i];
		uint32_t had = job_first_rank(id + 1) - job_first_rank(id);

		if (config->starts && config->world &&
		    config->starts[i + 1] - config->starts[i] != had)
			snprintf(job.wrong, SIM_TEXT,
				 "process %u has other ranks", id);
		n += had;
	}
	if (n != config->plan->nranks)
		snprintf(job.wrong, SIM_TEXT, "%u ranks in a plan for %u", n,
			 config->plan->nranks);
}

static int job_engine_open(const struct gt_engine_config *config,
			   struct gt_engine **out, struct gt_err *err)
{
	struct gt_world_part parts[JOB_PROCESSES];
	struct gt_engine *engine = calloc(1, sizeof(*engine));
	uint32_t id = job_me()->id;
	int rc = GT_OK;

	engine->world = config->world;
	engine->n = engine->world ? gt_world_size(engine->world) : 1;
	parts[0] = (struct gt_world_part){&id, sizeof(id)};
	if (engine->world)
		rc = gt_world_allgather(engine->world, &id, sizeof(id), parts,
					err);
	for (uint32_t i = 0; !rc && i < engine->n; i++) {
		memcpy(&engine->ids[i], parts[i].bytes, sizeof(id));
		engine->members |= 1u << engine->ids[i];
	}
	if (rc) {
		free(engine);
		return rc;
	}
	job_check_ranks(engine, config);
	*out = engine;
	return GT_OK;
}

static void job_engine_close(struct gt_engine *engine)
{
	free(engine);
}

static int job_engine_fill(struct gt_engine *engine,
			   const struct gt_exec_request *req,
			   struct gt_err *err)
{
	(void)req;
	(void)err;
	engine->wrong = 0;
	return GT_OK;
}

/* All groups that ever do something are to be parts of each other. */
static void job_note_group(uint32_t members)
{
	uint32_t i = 0;

	job_me()->group = members;
	while (i < job.ngroups && job.groups[i].members != members)
		i++;
	if (i < job.ngroups || i == JOB_GROUPS)
		return;
	job.groups[job.ngroups++] = (struct job_group){members, sim_now_ns()};
	for (uint32_t k = 0; k < i; k++) {
		uint32_t common = job.groups[k].members & members;

		if (common != members && common != job.groups[k].members)
			snprintf(job.wrong, SIM_TEXT,
				 "groups %x and %x go on apart",
				 job.groups[k].members, members);
	}
}

static int job_engine_run(struct gt_engine *engine,
			  const struct gt_exec_request *req, uint32_t iters,
			  int64_t *elapsed_ns, struct gt_err *err)
{
	struct gt_world_part parts[JOB_PROCESSES];
	uint32_t id = job_me()->id;
	uint64_t own = job_hash(req->seed, req->count, id), want;
	int rc;

	(void)iters;
	*elapsed_ns = 1;
	job_nap(JOB_NAP_NS);
	parts[0] = (struct gt_world_part){&own, sizeof(own)};
	rc = engine->world ? gt_world_allgather(engine->world, &own,
						sizeof(own), parts, err)
			   : GT_OK;
	for (uint32_t i = 0; !rc && i < engine->n; i++) {
		want = job_hash(req->seed, req->count, engine->ids[i]);
		if (parts[i].len == sizeof(own) &&
		    !memcmp(parts[i].bytes, &want, sizeof(want)))
			continue;
		engine->wrong++;
		snprintf(job.wrong, SIM_TEXT,
			 "process %u heard a wrong value of %u", id,
			 engine->ids[i]);
	}
	if (!rc)
		job_note_group(engine->members);
	return rc;
}

static int job_engine_check(struct gt_engine *engine,
			    const struct gt_exec_request *req, uint64_t *wrong,
			    struct gt_err *err)
{
	(void)req;
	*wrong = engine->wrong;
	return engine->world ? gt_world_sum(engine->world, wrong, err) : GT_OK;
}

static const struct gt_engine_ops job_engine = {
	.name = "meeting",
	.open = job_engine_open,
	.close = job_engine_close,
	.fill = job_engine_fill,
	.run = job_engine_run,
	.check = job_engine_check,
};

/* ---- A process. */

static void job_address(struct gt_net_address *address, int port)
{
	struct sockaddr_in *four = (void *)&address->storage;

	*address = (struct gt_net_address){.len = sizeof(*four)};
	four->sin_family = AF_INET;
	four->sin_port = htons((uint16_t)port);
	four->sin_addr.s_addr = htonl(0x0a000001u);
}

static int job_open(const struct job_process *me, struct gt_world **world,
		    struct gt_err *err)
{
	struct gt_world_config config = {.rank = me->id,
					 .size = job.size,
					 .listen_fd = -1,
					 .timeout_ns = job.timeout_ns,
					 .has_door = 1};
	int rc = GT_OK;

	snprintf(config.name, sizeof(config.name), "host%u, pid %u",
		 sim_process_of(me->id)->host, 100 + me->id);
	job_address(&config.address, JOB_PORT);
	gt_secret_set(&config.secret, "nobody knows this", NULL);
	if (!me->id)
		rc = gt_net_listen(&config.address, &config.listen_fd, err);
	return rc ? rc : gt_world_open(&config, world, err);
}

static void job_main(void *arg)
{
	struct job_process *me = arg;
	struct gt_run_going going = {0};
	struct gt_run_sweep sweep = {
		.ops = &job_engine,
		.config = {.plan = job.plan, .timeout_ns = job.timeout_ns},
		.colls = 1u << GT_COLL_ALLREDUCE,
		.dtypes = 1,
		.redops = 1,
		.end_bytes = 4096,
		.quiet = 1,
	};
	struct gt_err err;

	gt_err_init(&err);
	job_nap(200000000);
	me->rc = job_open(me, &going.world, &err);
	me->has_failed_to_begin = me->rc != 0;
	if (!me->rc) {
		me->has_begun = 1;
		job.nbegun++;
		sweep.config.world = going.world;
		me->rc = gt_run_soak(&sweep, job_soak_ns, &going, &err);
	}
	snprintf(me->text, SIM_TEXT, "%s", err.text);
	me->rc = gt_run_job_close(going.world, me->rc, &err);
	gt_run_going_free(&going);
	me->end_ns = sim_now_ns();
}

/* ---- Faults. */

static int job_is_over(void)
{
	for (uint32_t p = 0; p < job.size; p++)
		if (sim_process_of(p)->end == SIM_RUNS)
			return 0;
	return 1;
}

/* Somebody who knows nothing of the job gets the port of one that is dead. */
static void job_stranger(void *arg)
{
	static const char banner[] =
		"SSH-2.0-a stranger, who says more than any greeting is long\n";
	const struct sim_fault *fault = arg;
	struct gt_net_address address;
	int fd = -1, fds[16], n = 0;

	while (!fault->done && !job_is_over())
		job_nap(2000000);
	if (fault->hit && sim_port_of(fault->process) > 0) {
		job_address(&address, sim_port_of(fault->process));
		gt_net_listen(&address, &fd, NULL);
	}
	while (fd >= 0 && !job_is_over()) {
		job_nap(2000000);
		if (n == 16 || (fds[n] = accept(fd, NULL, NULL)) < 0)
			continue;
		if (fault->for_ns % 2)
			send(fds[n], banner, sizeof(banner), MSG_NOSIGNAL);
		n++;
	}
	while (n > 0)
		close(fds[--n]);
	if (fd >= 0)
		close(fd);
}

static void job_strike(struct sim_fault *fault)
{
	sim_fault_strike(fault, fault->for_ns % (job.timeout_ns / 20));
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
	int only_kills = !sim_draw(3);
	int64_t at_ns = 150000000 + (int64_t)sim_draw(1000000000);

	job.nfaults = (uint32_t)sim_draw(JOB_FAULTS + 1);
	for (uint32_t i = 0; i < job.nfaults; i++) {
		job.faults[i] = (struct sim_fault){
			.kind = only_kills ? SIM_FAULT_KILL
					   : job_kinds[sim_draw(JOB_KINDS)],
			.process = (uint32_t)sim_draw(job.size),
			.other = (uint32_t)sim_draw(job.size),
			.at_ns = job.begin_ns + at_ns,
			.for_ns = sim_draw_ns(34)};
		at_ns += sim_draw_ns(33);
	}
}

static void job_make(uint64_t seed)
{
	memset(&job, 0, sizeof(job));
	sim_begin(seed);
	sim_lose_first_packets();
	job.seed = seed;
	job.size = 2 + (uint32_t)sim_draw(JOB_PROCESSES - 1);
	job.nranks = job.size + (uint32_t)sim_draw(job.size + 1);
	job.timeout_ns = 3000000000ll << sim_draw(3);
	job.begin_ns = sim_now_ns();
	job.plan = sim_ring(job.nranks);
	job_draw_faults();
	for (uint32_t p = 0; p < job.size; p++) {
		job.processes[p].id = p;
		job.processes[p].rc = -1;
		sim_add(job_main, &job.processes[p],
			(uint32_t)sim_draw(job.size));
	}
	for (uint32_t i = 0; i < job.nfaults; i++)
		if (job.faults[i].kind == SIM_FAULT_STRANGER)
			sim_add(job_stranger, &job.faults[i],
				sim_process_of(job.faults[i].process)->host);
}

/* ---- The judge. */

static int job_judge_process(const struct job_process *me, uint32_t must,
			     char why[SIM_TEXT])
{
	int64_t limit_ns = job.begin_ns + job_soak_ns + 2000000000;

	for (uint32_t i = 0; i <= job.nfaults; i++)
		limit_ns +=
			3 * job.timeout_ns +
			(i < job.nfaults && job.faults[i].kind == SIM_FAULT_STOP
				 ? job.faults[i].for_ns
				 : 0);
	if (sim_process_of(me->id)->end != SIM_ENDED)
		return 0;
	if (me->rc && !me->text[0] && me->has_begun)
		return snprintf(why, SIM_TEXT, "process %u does not say why",
				me->id);
	if (me->end_ns > limit_ns)
		return snprintf(why, SIM_TEXT, "process %u needed %.1f s",
				me->id,
				(double)(me->end_ns - job.begin_ns) / 1e9);
	if (must >> me->id & 1 && me->rc)
		return snprintf(why, SIM_TEXT, "process %u does not go on",
				me->id);
	return 0;
}

/* Where processes were killed and nothing else, it takes no second. */
static int job_judge_time(const struct sim_damage *damage, uint32_t must,
			  char why[SIM_TEXT])
{
	if (!must || !damage->dead || damage->unknown || damage->resets ||
	    damage->last_ns > job.begin_ns + job_soak_ns)
		return 0;
	for (uint32_t i = 0; i < job.ngroups; i++)
		if (job.groups[i].members == must &&
		    job.groups[i].first_ns > damage->last_ns + job_soon_ns)
			return snprintf(why, SIM_TEXT,
					"it took %.3f s to be right again",
					(double)(job.groups[i].first_ns -
						 damage->last_ns) /
						1e9);
	return 0;
}

static void job_tell(const char *why)
{
	fprintf(report, "seed %llu: %u processes, %u ranks, limit %.0f s",
		(unsigned long long)job.seed, job.size, job.nranks,
		(double)job.timeout_ns / 1e9);
	sim_faults_print(report, job.faults, job.nfaults, job.begin_ns);
	fprintf(report, ": %s\n", why);
	for (uint32_t p = 0; p < job.size; p++)
		fprintf(report,
			"    process %u on host %u: status %d, %.3f s, group "
			"%x: %s\n",
			p, sim_process_of(p)->host, job.processes[p].rc,
			(double)(job.processes[p].end_ns - job.begin_ns) / 1e9,
			job.processes[p].group, job.processes[p].text);
	for (uint32_t i = 0; i < job.ngroups; i++)
		fprintf(report, "    group %x from %.3f s\n",
			job.groups[i].members,
			(double)(job.groups[i].first_ns - job.begin_ns) / 1e9);
}

static int job_run(uint64_t seed, int verbose)
{
	char why[SIM_TEXT] = "";
	struct sim_damage damage;
	uint32_t must = 0;
	int bad;

	job_make(seed);
	bad = sim_run(job_soak_ns + 60 * job.timeout_ns, job_each, NULL, why);
	damage = sim_damage_of(job.faults, job.nfaults);
	if (job.nbegun == job.size)
		must = sim_must_go_on(&damage, job.size);
	if (!bad && job.wrong[0])
		bad = snprintf(why, SIM_TEXT, "%s", job.wrong);
	for (uint32_t p = 0; !bad && p < job.size; p++)
		bad = job_judge_process(&job.processes[p], must, why);
	if (!bad)
		bad = job_judge_time(&damage, must, why);
	if (bad || verbose)
		job_tell(bad ? why : "as it should");
	return bad != 0;
}

int main(int argc, char **argv)
{
	int rc;

	report = fdopen(dup(STDOUT_FILENO), "w");
	if (!report || !freopen("/dev/null", "w", stdout))
		return 2;
	rc = sim_seeds(argc, argv, report, job_run);
	return fclose(report) ? 1 : rc;
}
