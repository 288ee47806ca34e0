/*
 * The master program's result as channels: weights of columns, and channels
 * that have one column of every root.
 */
#include "search/cluster/alltoall_master.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/cluster/quotient.h"
#include "search/lp/exact_basis.h"
#include "search/lp/lp.h"
#include "search/problem/fabric.h"

/*
 * Weights of columns, rounded to a grid; those of a root add up to
 * GT_ALLTOALL_GRID.
 */
static int round_weights(struct gt_alltoall_master *m, int64_t *weights)
{
	enum { GT_ALLTOALL_GRID = 1 << 24 };
	const double *x = gt_lp_values(m->lp) + 1;
	int64_t denominator = GT_ALLTOALL_GRID;

	for (uint32_t root = 0; root < m->nroots; root++) {
		int64_t left = denominator;
		uint32_t most = UINT32_MAX;
		double sum = 0;

		for (uint32_t b = 0; b < m->ncolumns; b++)
			if (m->columns[b].root == root && x[b] > 0)
				sum += x[b];
		for (uint32_t b = 0; b < m->ncolumns && sum > 0; b++) {
			if (m->columns[b].root != root || x[b] <= 0)
				continue;
			weights[b] =
				(int64_t)(x[b] / sum * (double)denominator);
			left -= weights[b];
			if (most == UINT32_MAX || weights[b] > weights[most])
				most = b;
		}
		if (most != UINT32_MAX)
			weights[most] += left;
		else if (gt_alltoall_has_root(m, root))
			return 0;
	}
	m->a2a->denominator = denominator;
	return 1;
}

/* The last basis's solution as whole numbers; GT_ENO when these do not fit. */
static int basis_weights(const struct gt_alltoall_master *m, int64_t *weights)
{
	const struct gt_basis_program program = gt_alltoall_basis(m);
	struct gt_basis basis;
	int64_t den = 0;
	int rc = gt_basis_init(&basis, &program, m->lp);

	if (!rc)
		rc = gt_basis_shares(&basis);
	if (!rc)
		den = gt_basis_denominator(&basis);
	for (uint32_t i = 0; !rc && i < basis.size; i++) {
		int64_t num = gt_basis_numerator(&basis, i, den, 0);

		if (num < 0)
			rc = GT_ENO;
		else if (basis.columns[i])
			weights[basis.columns[i] - 1] = num;
	}
	gt_basis_release(&basis);
	return rc;
}

/* The weight of the root that has least. */
static int64_t least_root_weight(const struct gt_alltoall_master *m,
				 const int64_t *weights)
{
	int64_t least = INT64_MAX;

	for (uint32_t root = 0; root < m->nroots; root++) {
		int64_t sum = 0;

		for (uint32_t b = 0; b < m->ncolumns; b++)
			if (m->columns[b].root == root)
				sum += weights[b];
		if (gt_alltoall_has_root(m, root) && sum < least)
			least = sum;
	}
	return least;
}

/* Leave every root this weight; the divisor that all weights then have. */
static int64_t trim_weights(const struct gt_alltoall_master *m,
			    int64_t denominator, int64_t *weights)
{
	int64_t divisor = denominator;

	for (uint32_t root = 0; root < m->nroots; root++) {
		int64_t left = denominator;

		for (uint32_t b = 0; b < m->ncolumns; b++) {
			if (m->columns[b].root != root)
				continue;
			if (weights[b] > left)
				weights[b] = left;
			left -= weights[b];
			divisor = (int64_t)gt_rat_gcd((uint64_t)divisor,
						      (uint64_t)weights[b]);
		}
	}
	return divisor;
}

/* Exact weights of columns; GT_ENO where these have too many digits. */
static int exact_weights(struct gt_alltoall_master *m, int64_t *weights)
{
	int64_t denominator, divisor;
	int rc = basis_weights(m, weights);

	if (rc)
		return rc == GT_ESYS ? rc : GT_ENO;
	denominator = least_root_weight(m, weights);
	if (denominator <= 0)
		return GT_ENO;
	divisor = trim_weights(m, denominator, weights);
	for (uint32_t b = 0; b < m->ncolumns; b++)
		weights[b] /= divisor;
	m->a2a->denominator = denominator / divisor;
	return m->a2a->denominator < INT64_C(1) << 28 ? GT_OK : GT_ENO;
}

/* The root's first column that has some of its weight left. */
static uint32_t first_column(const struct gt_alltoall_master *m,
			     const int64_t *weights, uint32_t root)
{
	uint32_t b = 0;

	while (b < m->ncolumns && (m->columns[b].root != root || !weights[b]))
		b++;
	return b;
}

/*
 * The next channel: the first columns of all roots side by side, as wide as the
 * narrowest of them.  1 if there was one.
 */
static int cut_channel(struct gt_alltoall_master *m, int64_t *weights)
{
	struct gt_alltoall *a2a = m->a2a;
	struct gt_alltoall_channel *channel = &a2a->channels[a2a->nchannels];
	int64_t width = INT64_MAX;

	for (uint32_t root = 0; root < m->nroots; root++) {
		uint32_t b = first_column(m, weights, root);

		if (b < m->ncolumns && weights[b] < width)
			width = weights[b];
	}
	if (width == INT64_MAX)
		return 0;
	channel->weight = width;
	channel->paths = gt_arena_array(a2a->arena, (size_t)m->nroots * m->n,
					sizeof(*channel->paths));
	if (!channel->paths)
		return GT_ESYS;
	for (uint32_t root = 0; root < m->nroots; root++) {
		uint32_t b = first_column(m, weights, root);

		if (b == m->ncolumns)
			continue;
		memcpy(channel->paths + (size_t)root * m->n,
		       m->columns[b].paths, m->n * sizeof(*channel->paths));
		weights[b] -= width;
	}
	a2a->nchannels++;
	return 1;
}

int gt_alltoall_decompose(struct gt_alltoall_master *m, struct gt_err *err)
{
	struct gt_alltoall *a2a = m->a2a;
	int64_t *weights =
		gt_arena_array(a2a->arena, m->ncolumns, sizeof(*weights));
	int rc;

	a2a->channels =
		gt_arena_array(a2a->arena, m->ncolumns, sizeof(*a2a->channels));
	if (!weights || !a2a->channels)
		return gt_err_nomem(err);
	rc = exact_weights(m, weights);
	if (rc == GT_ENO) {
		memset(weights, 0, m->ncolumns * sizeof(*weights));
		rc = round_weights(m, weights) ? GT_OK : GT_ENO;
	}
	while (!rc || rc == 1)
		if ((rc = cut_channel(m, weights)) != 1)
			break;
	if (rc == GT_ESYS)
		return gt_err_nomem(err);
	if (!rc && gt_alltoall_rate(a2a, NULL))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "the rates need more than 64 bits");
}
