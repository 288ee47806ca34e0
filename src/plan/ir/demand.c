/* Bytes as small whole numbers, and what they make of pairs and ranks. */
#include "plan/ir/demand.h"

#include "base/arena.h"
#include "base/err.h"

/* Sums of bytes stay below this. */
#define MAX_BYTES (INT64_C(1) << 62)

static int is_pair(uint32_t n, uint32_t i)
{
	return i / n != i % n;
}

/* The greatest common divisor of all pairs' bytes; 0: there are none. */
static uint64_t divisor(uint32_t n, const uint64_t *bytes)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < n * n; i++)
		if (is_pair(n, i))
			all = gt_rat_gcd(all, bytes[i]);
	return all;
}

static uint64_t sum_up(uint32_t n, const uint64_t *bytes, uint64_t unit)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n * n; i++)
		if (is_pair(n, i))
			sum += bytes[i] / unit;
	return sum;
}

static int check(uint32_t n, const uint64_t *bytes, struct gt_err *err)
{
	uint64_t sum = 0, unit;

	for (uint32_t i = 0; i < n * n; i++) {
		if (bytes[i] > (uint64_t)MAX_BYTES - sum)
			return gt_err_set(err, GT_EINPUT, "demand",
					  "the sum of all bytes needs more "
					  "than 62 bits");
		sum += bytes[i];
	}
	unit = divisor(n, bytes);
	if (!unit)
		return gt_err_set(err, GT_EINPUT, "demand",
				  "no rank has bytes for another one");
	if (sum_up(n, bytes, unit) > GT_DEMAND_MAX_UNITS)
		return gt_err_set(err, GT_EINPUT, "demand",
				  "is too fine: %llu bytes, which divide all "
				  "of it, are in it more than %d times",
				  (unsigned long long)unit,
				  GT_DEMAND_MAX_UNITS);
	return GT_OK;
}

int gt_demand_new(uint32_t n, const uint64_t *bytes, struct gt_arena *arena,
		  struct gt_plan_demand **demand, struct gt_err *err)
{
	struct gt_plan_demand *made = gt_arena_alloc(arena, sizeof(*made));
	size_t nn = (size_t)n * n;
	uint64_t unit;
	int rc = check(n, bytes, err);

	if (rc)
		return rc;
	if (made) {
		made->bytes = gt_arena_array(arena, nn, sizeof(*made->bytes));
		made->units = gt_arena_array(arena, nn, sizeof(*made->units));
	}
	if (!made || !made->bytes || !made->units)
		return gt_err_nomem(err);
	unit = divisor(n, bytes);
	for (uint32_t i = 0; i < nn; i++) {
		made->bytes[i] = bytes[i];
		if (!is_pair(n, i))
			continue;
		made->units[i] = (uint32_t)(bytes[i] / unit);
		if (made->units[i] > made->most)
			made->most = made->units[i];
	}
	*demand = made;
	return GT_OK;
}

uint64_t gt_demand_round(uint32_t n, uint64_t *bytes)
{
	uint64_t unit = 1, common = divisor(n, bytes);

	if (!common || sum_up(n, bytes, common) <= GT_DEMAND_MAX_UNITS)
		return 1;
	/* Every pair may be rounded up by one. */
	while (sum_up(n, bytes, unit) + (uint64_t)n * n > GT_DEMAND_MAX_UNITS)
		unit *= 2;
	for (uint32_t i = 0; i < n * n; i++)
		if (is_pair(n, i))
			bytes[i] = (bytes[i] + unit - 1) / unit * unit;
	return unit;
}

struct gt_rat gt_demand_busiest(const struct gt_plan_demand *demand, uint32_t n,
				int crossing)
{
	uint64_t largest = 0, most = 0;
	struct gt_rat busiest = GT_RAT(0, 1);

	for (size_t r = 0; r < n; r++) {
		uint64_t out = 0, in = 0;

		for (size_t other = 0; other < n; other++) {
			uint64_t sent = demand->bytes[r * n + other];

			if (other == r && crossing)
				continue;
			out += sent;
			in += demand->bytes[other * n + r];
			if (other != r && sent > largest)
				largest = sent;
		}
		most = out > most ? out : most;
		most = in > most ? in : most;
	}
	gt_rat_make((int64_t)most, (int64_t)largest, &busiest);
	return busiest;
}
