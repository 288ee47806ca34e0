/*
 * Which schedule at which size, with hysteresis, and the size at which one
 * hands over to the next.
 */
#include "plan/ir/envelope.h"

#include <math.h>

static const double gt_envelope_worth = 0.97;

enum { GT_ENVELOPE_GRAIN_BYTES = 1024 };

double gt_envelope_worth_us(double time_us)
{
	return time_us * gt_envelope_worth;
}

int gt_envelope_is_near(double time_us, double best_us)
{
	return gt_envelope_worth_us(time_us) <= best_us;
}

uint32_t gt_envelope_choose(const double *time_us, uint32_t nschedules,
			    uint32_t home, uint32_t at)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < nschedules; i++)
		if (time_us[i] < time_us[best])
			best = i;
	if (home < nschedules &&
	    gt_envelope_is_near(time_us[home], time_us[best]))
		return home;
	if (at < nschedules && gt_envelope_is_near(time_us[at], time_us[best]))
		return at;
	return best;
}

uint64_t gt_envelope_crossover(const double time_us[2][2],
			       const uint64_t bytes[2])
{
	double ahead = log(time_us[1][0] / time_us[0][0]);
	double behind = log(time_us[0][1] / time_us[1][1]);
	double at = (double)bytes[0];
	uint64_t cross;

	/* There is nothing in between if one of the two cannot do a size. */
	if (!isfinite(ahead) || !isfinite(behind) || ahead <= 0)
		return bytes[0];
	if (behind > 0)
		at *= pow((double)bytes[1] / at, ahead / (ahead + behind));
	else
		at = (double)bytes[1];
	cross = (uint64_t)at / GT_ENVELOPE_GRAIN_BYTES *
		GT_ENVELOPE_GRAIN_BYTES;
	if (cross >= bytes[1])
		cross = bytes[1] - 1;
	return cross > bytes[0] ? cross : bytes[0];
}
