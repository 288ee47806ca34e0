/*
 * sim_world [-n WORLDS] [-s SEED] [-v]: jobs of src/world in a simulated system
 * (sim.h), one a seed, with what may happen to them drawn from it: processes
 * late, stopped, killed or without power, connections broken or clogged.
 *
 * What must hold: without a fault that lasts, all hear what all told; nobody
 * ever hears anything else; who cannot go on learns why, and who is gone, in
 * time; nobody waits for ever; nothing stays open.
 */
#include "fault.h"
#include "sim.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "world/world.h"

enum {
	JOB_PROCESSES = 6,
	JOB_ROUNDS = 8,
	JOB_BYTES = 40000,
	JOB_FAULTS = 2,
	JOB_PORT = 7000,
	JOB_CONNECT_NS = 100000000, /* until it knocks again, and is let in */
};

/* A seed draws from these, so their order makes its world. */
static const enum sim_fault_kind job_kinds[] = {
	SIM_FAULT_NAP,    SIM_FAULT_CLOG,  SIM_FAULT_KILL, SIM_FAULT_DARK,
	SIM_FAULT_FREEZE, SIM_FAULT_RESET, SIM_FAULT_MUTE};

enum { JOB_KINDS = sizeof(job_kinds) / sizeof(*job_kinds) };

struct job_process {
	uint32_t rank;
	int rc, has_told;
	uint32_t rounds; /* that it has heard */
	int64_t begin_ns, end_ns;
	char text[SIM_TEXT];
	char wrong[SIM_TEXT];
};

static struct job {
	uint64_t seed;
	uint32_t size, rounds, nfaults;
	int has_parent;
	int64_t timeout_ns, begin_ns;
	struct sim_fault faults[JOB_FAULTS];
	struct job_process processes[JOB_PROCESSES];
} job;

static uint64_t job_hash(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t x = (a * 31 + b) * 0x9e3779b97f4a7c15ull + c;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return x ^ x >> 32;
}

static size_t job_len(uint32_t round, uint32_t rank)
{
	uint64_t hash = job_hash(job.seed, round, rank);

	return hash % 4 ? hash / 4 % 64 : hash / 4 % JOB_BYTES;
}

static void job_fill(uint32_t round, uint32_t rank, unsigned char *bytes)
{
	size_t len = job_len(round, rank);

	for (size_t i = 0; i < len; i++)
		bytes[i] = (unsigned char)job_hash(round, rank, i);
}

static void job_nap(int64_t most_ns)
{
	struct timespec nap = {.tv_nsec = (long)sim_draw((uint64_t)most_ns)};

	nanosleep(&nap, NULL);
}

static void job_compare(struct job_process *me, uint32_t round,
			const struct gt_world_part *parts)
{
	static unsigned char want[JOB_BYTES];

	for (uint32_t r = 0; r < job.size; r++) {
		job_fill(round, r, want);
		if (parts[r].len == job_len(round, r) &&
		    !memcmp(parts[r].bytes, want, parts[r].len))
			continue;
		snprintf(me->wrong, SIM_TEXT,
			 "process %u heard wrong bytes of %u in round %u",
			 me->rank, r, round);
	}
}

static int job_meet(struct job_process *me, struct gt_world *world,
		    struct gt_err *err)
{
	unsigned char *bytes = malloc(JOB_BYTES);
	struct gt_world_part parts[JOB_PROCESSES];
	int rc = bytes ? GT_OK : GT_ESYS;

	for (uint32_t round = 0; !rc && round < job.rounds; round++) {
		if (!sim_draw(2))
			job_nap(50000000);
		job_fill(round, me->rank, bytes);
		me->has_told = round + 1 == job.rounds;
		rc = gt_world_allgather(world, bytes, job_len(round, me->rank),
					parts, err);
		if (!rc)
			job_compare(me, round, parts);
		me->rounds += !rc;
	}
	free(bytes);
	return rc;
}

static void job_address(struct gt_net_address *address)
{
	struct sockaddr_in *four = (void *)&address->storage;

	*address = (struct gt_net_address){.len = sizeof(*four)};
	four->sin_family = AF_INET;
	four->sin_port = htons(JOB_PORT);
	four->sin_addr.s_addr = htonl(0x0a000001u);
}

static void job_main(void *arg)
{
	struct job_process *me = arg;
	struct gt_world_config config = {.rank = me->rank,
					 .size = job.size,
					 .listen_fd = -1,
					 .timeout_ns = job.timeout_ns,
					 .has_parent = job.has_parent};
	struct gt_world *world = NULL;
	struct gt_err err;

	gt_err_init(&err);
	snprintf(config.name, sizeof(config.name), "host%u, pid %u",
		 sim_process_of(me->rank)->host, 100 + me->rank);
	job_address(&config.address);
	gt_secret_set(&config.secret, "nobody knows this", NULL);
	job_nap(200000000);
	me->begin_ns = sim_now_ns();
	me->rc = me->rank ? GT_OK
			  : gt_net_listen(&config.address, &config.listen_fd,
					  &err);
	if (!me->rc)
		me->rc = gt_world_open(&config, &world, &err);
	if (!me->rc)
		me->rc = job_meet(me, world, &err);
	snprintf(me->text, SIM_TEXT, "%s", err.text);
	gt_world_close(world);
	me->end_ns = sim_now_ns();
}

static void job_strike(struct sim_fault *fault)
{
	fault->for_ns = (int64_t)sim_draw((uint64_t)job.timeout_ns / 20);
	sim_fault_strike(fault, fault->for_ns);
}

static void job_each(void *arg)
{
	(void)arg;
	sim_faults_each(job.faults, job.nfaults, job_strike);
	sim_release(job.size);
}

static void job_make(uint64_t seed)
{
	memset(&job, 0, sizeof(job));
	sim_begin(seed);
	job.seed = seed;
	job.size = 2 + (uint32_t)sim_draw(JOB_PROCESSES - 1);
	job.rounds = 1 + (uint32_t)sim_draw(JOB_ROUNDS);
	job.timeout_ns = 1000000000ll << sim_draw(3);
	job.has_parent = !sim_draw(4);
	job.begin_ns = sim_now_ns();
	job.nfaults = (uint32_t)sim_draw(JOB_FAULTS + 1);
	for (uint32_t i = 0; i < job.nfaults; i++)
		job.faults[i] = (struct sim_fault){
			.kind = job_kinds[sim_draw(JOB_KINDS)],
			.process = (uint32_t)sim_draw(job.size),
			.at_ns = sim_now_ns() + (int64_t)sim_draw(500000000)};
	for (uint32_t p = 0; p < job.size; p++) {
		job.processes[p].rank = p;
		job.processes[p].rc = -1;
		sim_add(job_main, &job.processes[p],
			(uint32_t)sim_draw(job.size));
	}
}

/* The one process that is gone for good, or -1: none or several. */
static int job_culprit(void)
{
	int culprit = -1;

	for (uint32_t i = 0; i < job.nfaults; i++) {
		const struct sim_fault *fault = &job.faults[i];

		if (sim_fault_is_harmless(fault) || !fault->hit)
			continue;
		if (fault->kind == SIM_FAULT_RESET ||
		    fault->kind == SIM_FAULT_MUTE || culprit >= 0)
			return -1;
		culprit = (int)fault->process;
	}
	return culprit;
}

static int job_is_disturbed(void)
{
	for (uint32_t i = 0; i < job.nfaults; i++)
		if (job.faults[i].hit && !sim_fault_is_harmless(&job.faults[i]))
			return 1;
	return 0;
}

static int job_names(const char *text, int culprit)
{
	char name[32];

	snprintf(name, sizeof(name), "process %d", culprit);
	if (strstr(text, name))
		return 1;
	snprintf(name, sizeof(name), ", %d", culprit); /* of several */
	if (strstr(text, "did not come") && strstr(text, name))
		return 1;
	return !culprit && (strstr(text, "cannot connect") ||
			    strstr(text, "lets us not in"));
}

/*
 * It came when process 0 had gone, after it had told all who were there, which
 * does not wait for who comes late beside a parent.
 */
static int job_came_too_late(const struct job_process *me)
{
	const struct job_process *root = &job.processes[0];

	return strstr(me->text, "cannot connect") && root->end_ns &&
	       (job.has_parent || root->end_ns < me->begin_ns + JOB_CONNECT_NS);
}

static int job_judge_process(const struct job_process *me, char why[SIM_TEXT])
{
	int culprit = job_culprit();
	int64_t limit_ns = job.begin_ns + 700000000 + 4 * job.timeout_ns;

	if (me->wrong[0])
		return snprintf(why, SIM_TEXT, "%s", me->wrong);
	if (sim_process_of(me->rank)->end != SIM_ENDED)
		return 0;
	if (me->rc && !job_is_disturbed())
		return snprintf(why, SIM_TEXT, "process %u failed: %.900s",
				me->rank, me->text);
	if (me->rc && !me->text[0] && !job.has_parent)
		return snprintf(why, SIM_TEXT, "process %u does not say why",
				me->rank);
	if (me->rc && me->text[0] && culprit >= 0 &&
	    !job_names(me->text, culprit) && !job_came_too_late(me))
		return snprintf(why, SIM_TEXT,
				"process %u does not name %d: %.900s", me->rank,
				culprit, me->text);
	if (me->end_ns > limit_ns)
		return snprintf(why, SIM_TEXT, "process %u needed %.1f s",
				me->rank,
				(double)(me->end_ns - job.begin_ns) / 1e9);
	return 0;
}

static void job_tell(const char *why)
{
	printf("seed %llu: %u processes, %u rounds, limit %.0f s%s",
	       (unsigned long long)job.seed, job.size, job.rounds,
	       (double)job.timeout_ns / 1e9,
	       job.has_parent ? ", with a parent" : "");
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
	return bad != 0;
}

int main(int argc, char **argv)
{
	return sim_seeds(argc, argv, stdout, job_run);
}
