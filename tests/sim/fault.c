/* What may happen to processes, what it comes to, and in words. */
#include "fault.h"

#include "sim.h"

static const char *const sim_fault_names[] = {
	[SIM_FAULT_NAP] = "nap",          [SIM_FAULT_CLOG] = "clog",
	[SIM_FAULT_HOLD] = "hold",        [SIM_FAULT_KILL] = "kill",
	[SIM_FAULT_ABORT] = "abort",      [SIM_FAULT_DARK] = "dark",
	[SIM_FAULT_FREEZE] = "freeze",    [SIM_FAULT_STOP] = "stop",
	[SIM_FAULT_RESET] = "reset",      [SIM_FAULT_MUTE] = "mute",
	[SIM_FAULT_CUT] = "cut",          [SIM_FAULT_FILES] = "no files",
	[SIM_FAULT_STRANGER] = "stranger"};

int64_t sim_draw_ns(unsigned shift)
{
	uint64_t most = 1ull << (14 + sim_draw(shift - 13));

	return (int64_t)sim_draw(most);
}

void sim_faults_each(struct sim_fault *faults, uint32_t n,
		     void (*strike)(struct sim_fault *fault))
{
	for (uint32_t i = 0; i < n; i++)
		if (!faults[i].done && sim_now_ns() >= faults[i].at_ns)
			strike(&faults[i]);
}

static void sim_fault_meet(struct sim_fault *fault, int64_t short_ns)
{
	struct sim_process *process = sim_process_of(fault->process);
	int64_t until_ns = sim_now_ns() + fault->for_ns;
	int64_t soon_ns = sim_now_ns() + short_ns;

	if (fault->kind == SIM_FAULT_NAP)
		sim_lasts(&process->frozen_until_ns, soon_ns);
	else if (fault->kind == SIM_FAULT_STOP)
		sim_lasts(&process->frozen_until_ns, until_ns);
	else if (fault->kind == SIM_FAULT_FREEZE)
		sim_lasts(&process->frozen_until_ns, SIM_NEVER);
	else if (fault->kind == SIM_FAULT_CLOG)
		sim_lasts(&process->clogged_until_ns, soon_ns);
	else if (fault->kind == SIM_FAULT_MUTE)
		sim_lasts(&process->clogged_until_ns, SIM_NEVER - 1);
	else if (fault->kind == SIM_FAULT_FILES)
		sim_lasts(&process->no_files_until_ns, until_ns);
	else if (fault->kind == SIM_FAULT_RESET)
		fault->hit = sim_reset(fault->process);
	else if (fault->kind == SIM_FAULT_CUT)
		sim_cut(process->host, sim_process_of(fault->other)->host,
			until_ns);
	else
		sim_kill(fault->process,
			 fault->kind == SIM_FAULT_DARK ? SIM_DARK : SIM_KILLED);
}

int sim_fault_strike(struct sim_fault *fault, int64_t short_ns)
{
	fault->done = 1;
	fault->hit = sim_process_of(fault->process)->end == SIM_RUNS;
	if (fault->hit)
		sim_fault_meet(fault, short_ns);
	return fault->hit;
}

int sim_fault_is_harmless(const struct sim_fault *fault)
{
	return fault->kind == SIM_FAULT_NAP || fault->kind == SIM_FAULT_CLOG ||
	       fault->kind == SIM_FAULT_HOLD;
}

struct sim_damage sim_damage_of(const struct sim_fault *faults, uint32_t n)
{
	struct sim_damage damage = {0};

	for (uint32_t i = 0; i < n; i++) {
		const struct sim_fault *fault = &faults[i];

		if (!fault->hit || fault->kind == SIM_FAULT_ABORT)
			continue;
		if (sim_fault_is_harmless(fault)) {
			damage.delays++;
			continue;
		}
		damage.last_ns = fault->at_ns;
		if (fault->kind == SIM_FAULT_RESET)
			damage.resets++;
		else if (fault->kind == SIM_FAULT_CUT)
			damage.cuts++;
		else if (fault->kind == SIM_FAULT_KILL)
			damage.dead |= 1u << fault->process;
		else
			damage.unknown |= 1u << fault->process;
	}
	damage.dead &= ~damage.unknown;
	return damage;
}

static uint32_t sim_count(uint32_t bits)
{
	return (uint32_t)__builtin_popcount(bits);
}

/*
 * Two that are silent one after the other may take all the time that there is.
 */
uint32_t sim_must_go_on(const struct sim_damage *damage, uint32_t size)
{
	uint32_t all = (1u << size) - 1;
	uint32_t sound = all & ~(damage->dead | damage->unknown);

	/* Where somebody is silent, nobody is known to be dead. */
	uint32_t lost = damage->unknown ? damage->unknown | damage->dead : 0;

	return damage->resets < 2 && !damage->cuts &&
			       sim_count(damage->unknown) < 2 &&
			       sim_count(sound) > sim_count(lost)
		       ? sound
		       : 0;
}

void sim_faults_print(FILE *to, const struct sim_fault *faults, uint32_t n,
		      int64_t begin_ns)
{
	for (uint32_t i = 0; i < n; i++)
		fprintf(to, "; %s of %u (%u) at %.6f s for %.6f s%s",
			sim_fault_names[faults[i].kind], faults[i].process,
			faults[i].other,
			(double)(faults[i].at_ns - begin_ns) / 1e9,
			(double)faults[i].for_ns / 1e9,
			faults[i].hit ? "" : " (too late)");
}
