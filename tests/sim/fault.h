/*
 * What may happen to the processes of a simulated job, for all simulators: one
 * has a table of the kinds that it draws from.
 */
#ifndef GT_TESTS_SIM_FAULT_H
#define GT_TESTS_SIM_FAULT_H

#include <stdint.h>
#include <stdio.h>

enum sim_fault_kind {
	SIM_FAULT_NAP,  /* stopped, for less than matters */
	SIM_FAULT_CLOG, /* what it sends comes later, by less than matters */
	SIM_FAULT_HOLD, /* what goes between two hosts does, by little */
	SIM_FAULT_KILL,
	SIM_FAULT_ABORT, /* one of its threads aborts its communicator */
	SIM_FAULT_DARK,
	SIM_FAULT_FREEZE, /* stopped for ever */
	SIM_FAULT_STOP,   /* stopped, for any time */
	SIM_FAULT_RESET,
	SIM_FAULT_MUTE, /* what it sends does not come */
	SIM_FAULT_CUT,  /* nothing between two hosts, for any time */
	SIM_FAULT_FILES,
	SIM_FAULT_STRANGER, /* killed, and then somebody else has its port */
};

struct sim_fault {
	enum sim_fault_kind kind;
	uint32_t process, other;
	int64_t at_ns, for_ns;
	int done, hit; /* it came while the process ran */
};

/* What has hit a job. */
struct sim_damage {
	uint32_t dead;    /* bits: they are gone, and their hosts say so */
	uint32_t unknown; /* bits: nobody knows of them for sure */
	int delays, resets, cuts;
	int64_t last_ns; /* when the last one came that was no delay */
};

/* Draw a time of any magnitude from 16 us on, below 2^shift ns. */
int64_t sim_draw_ns(unsigned shift);

/* Have `strike` meet each of the faults once, as soon as its time has come. */
void sim_faults_each(struct sim_fault *faults, uint32_t n,
		     void (*strike)(struct sim_fault *fault));

/*
 * Do to its process what the fault is, if the process still runs.  What is to
 * be less than matters lasts for short_ns; a hold and an abort are not for this
 * function.  Returns fault->hit.
 */
int sim_fault_strike(struct sim_fault *fault, int64_t short_ns);

/* Is the fault one that nobody has to notice? */
int sim_fault_is_harmless(const struct sim_fault *fault);

/* Sum up what has hit; an abort is the job's own doing. */
struct sim_damage sim_damage_of(const struct sim_fault *faults, uint32_t n);

/*
 * Returns those of `size` processes that nothing has hit, as bits, where they
 * must go on; else none.
 */
uint32_t sim_must_go_on(const struct sim_damage *damage, uint32_t size);

/* Print what was to come, from begin_ns on, and what came too late. */
void sim_faults_print(FILE *to, const struct sim_fault *faults, uint32_t n,
		      int64_t begin_ns);

#endif
