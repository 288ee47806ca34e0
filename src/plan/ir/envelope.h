/*
 * The lower envelope of several ways' times, with hysteresis: which way at
 * which size.  Times may be measured or priced.
 */
#ifndef GT_PLAN_IR_ENVELOPE_H
#define GT_PLAN_IR_ENVELOPE_H

#include <stdint.h>

/*
 * The way for the next size, `at` being that of the size before: another one
 * only when it is quicker by what is worth a change, 3%.  `home` is taken
 * wherever it comes as near as that to the quickest: the way that has to be
 * kept for the largest sizes.  Both may be nways, for none.  INFINITY stands
 * for what a way cannot do.
 */
uint32_t gt_envelope_choose(const double *time_us, uint32_t nways,
			    uint32_t home, uint32_t at);

/*
 * Of two ways' times at two sizes, [way][size]: the largest size that the
 * first should carry when it is the choice at bytes[0] and the second is at
 * bytes[1].  Between, times are straight lines in logarithms.
 */
uint64_t gt_envelope_crossover(const double time_us[2][2],
			       const uint64_t bytes[2]);

#endif
