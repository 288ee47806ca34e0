/*
 * The lower envelope of the times of several schedules (an algorithm on
 * channels with a protocol), with hysteresis: which one to use at which size.
 * Times may be measured or priced.
 */
#ifndef GT_PLAN_IR_ENVELOPE_H
#define GT_PLAN_IR_ENVELOPE_H

#include <stdint.h>

/*
 * The schedule for the next size; `at` is the one for the size before.  Another
 * one is taken only when it is quicker by what is worth a change, 3%.  `home`,
 * which has to be kept for the largest sizes, is taken wherever it comes as
 * near as that to the quickest.  Both may be nschedules, for none.  INFINITY
 * stands for what a schedule cannot do.
 */
uint32_t gt_envelope_choose(const double *time_us, uint32_t nschedules,
			    uint32_t home, uint32_t at);

/* Is the time so near to the best one that a change is not worth it? */
int gt_envelope_is_near(double time_us, double best_us);

/* The time below which another schedule is worth a change from this one. */
double gt_envelope_worth_us(double time_us);

/*
 * The largest size that the first of two schedules should carry, which is the
 * choice at bytes[0], when the second is the choice at bytes[1].  time_us is by
 * [schedule][size]; in between, times are straight lines in logarithms.
 */
uint64_t gt_envelope_crossover(const double time_us[2][2],
			       const uint64_t bytes[2]);

#endif
