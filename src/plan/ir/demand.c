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

static int sum_fits(uint32_t n, const uint64_t *bytes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n * n; i++) {
		if (bytes[i] > (uint64_t)MAX_BYTES - sum)
			return 0;
		sum += bytes[i];
	}
	return 1;
}

static int check(uint32_t n, const uint64_t *bytes, struct gt_err *err)
{
	uint64_t unit;

	if (!sum_fits(n, bytes))
		return gt_err_set(err, GT_EINPUT, "demand",
				  "the sum of all bytes needs more than 62 "
				  "bits");
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
		if (bytes[i] > made->largest)
			made->largest = bytes[i];
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
	uint64_t unit = 1, common;

	/* gt_demand_new() refuses it; sums would overflow here. */
	if (!sum_fits(n, bytes))
		return 1;
	common = divisor(n, bytes);
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

uint64_t gt_demand_elems(const struct gt_plan_demand *demand, uint32_t pair,
			 uint64_t count)
{
	return (uint64_t)((__int128)count * (__int128)demand->bytes[pair] /
			  (__int128)demand->largest);
}

/* The most bytes that one rank sends or gets. */
static uint64_t busiest(const struct gt_plan_demand *demand, uint32_t n,
			int crossing)
{
	uint64_t most = 0;

	for (size_t r = 0; r < n; r++) {
		uint64_t out = 0, in = 0;

		for (size_t other = 0; other < n; other++) {
			if (other == r && crossing)
				continue;
			out += demand->bytes[r * n + other];
			in += demand->bytes[other * n + r];
		}
		most = out > most ? out : most;
		most = in > most ? in : most;
	}
	return most;
}

struct gt_rat gt_demand_most(const struct gt_plan_demand *demand, uint32_t n)
{
	struct gt_rat most = GT_RAT(0, 1);

	gt_rat_make((int64_t)busiest(demand, n, 0), (int64_t)demand->largest,
		    &most);
	return most;
}

struct gt_rat gt_demand_busiest(const struct gt_plan_demand *demand, uint32_t n,
				int crossing)
{
	struct gt_rat most = GT_RAT(0, 1);
	uint64_t largest = 0;

	for (size_t i = 0; i < (size_t)n * n; i++)
		if (is_pair(n, (uint32_t)i) && demand->bytes[i] > largest)
			largest = demand->bytes[i];
	gt_rat_make((int64_t)busiest(demand, n, crossing), (int64_t)largest,
		    &most);
	return most;
}
