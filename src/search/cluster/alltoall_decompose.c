#include "search/cluster/alltoall_lp.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/lp/exact_basis.h"
#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/lp/lp.h"

/* What rows carry, in parts of a whole; 0 when that needs more than 64 bits. */
static int gt_hier_flow_loads(const struct gt_alltoall *flow,
			      const struct gt_alltoall_channel *lane,
			      int64_t *loads)
{
	uint32_t n = flow->hier->box->nranks;
	int64_t more;

	for (uint32_t p = 0; p < flow->nclasses * n * n; p++) {
		const struct gt_alltoall_path *way = lane->ways[p];

		for (uint32_t k = 0; way && k < way->nparts; k++) {
			int64_t *load = &loads[way->parts[k].row];

			if (__builtin_mul_overflow(lane->weight,
						   flow->nodes[p / n / n],
						   &more) ||
			    __builtin_mul_overflow(more, way->parts[k].units,
						   &more) ||
			    __builtin_add_overflow(*load, more, load))
				return 0;
		}
	}
	return 1;
}

/* The rate that this much on a row allows. */
static int gt_hier_flow_allows(const struct gt_alltoall *flow, uint32_t row,
			       int64_t load, struct gt_rat *rate)
{
	return gt_rat_make(flow->whole, load, rate) &&
	       gt_rat_mul(*rate, GT_RAT(flow->rows.unit, 1), rate) &&
	       gt_rat_mul(*rate, flow->rows.gbs[row], rate);
}

int gt_alltoall_rate(struct gt_alltoall *flow, uint8_t *full)
{
	int64_t *loads = calloc((size_t)flow->rows.n + 1, sizeof(*loads));
	struct gt_rat at;
	int found = 0, ok = loads != NULL;

	for (uint32_t i = 0; ok && i < flow->nlanes; i++)
		ok = gt_hier_flow_loads(flow, &flow->lanes[i], loads);
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t r = 0; ok && r < flow->rows.n; r++) {
			if (pass && full)
				full[r] = 0;
			if (!loads[r])
				continue;
			ok = gt_hier_flow_allows(flow, r, loads[r], &at);
			if (ok && pass && full)
				full[r] = !gt_rat_cmp(at, flow->rate);
			else if (ok && !pass &&
				 (!found || gt_rat_cmp(at, flow->rate) < 0))
				flow->rate = at;
			found = 1;
		}
	free(loads);
	return ok && found;
}

/* Weights of bunches in a grid; those of a root come to `whole`. */
static int gt_hier_flow_weights(struct gt_alltoall_master *m, int64_t *weights)
{
	enum { GT_HIER_FLOW_GRID = 1 << 24 };
	const double *x = gt_lp_values(m->lp) + 1;
	int64_t whole = GT_HIER_FLOW_GRID;

	for (uint32_t root = 0; root < m->nroots; root++) {
		int64_t left = whole;
		uint32_t most = UINT32_MAX;
		double sum = 0;

		for (uint32_t b = 0; b < m->nbunches; b++)
			if (m->bunches[b].root == root && x[b] > 0)
				sum += x[b];
		for (uint32_t b = 0; b < m->nbunches && sum > 0; b++) {
			if (m->bunches[b].root != root || x[b] <= 0)
				continue;
			weights[b] = (int64_t)(x[b] / sum * (double)whole);
			left -= weights[b];
			if (most == UINT32_MAX || weights[b] > weights[most])
				most = b;
		}
		if (most != UINT32_MAX)
			weights[most] += left;
		else if (gt_alltoall_has_root(m, root))
			return 0;
	}
	m->flow->whole = whole;
	return 1;
}

/* The same exactly, where that takes few enough digits. */
static int gt_hier_flow_exact(struct gt_alltoall_master *m, int64_t *weights)
{
	const struct gt_basis_program of = gt_alltoall_basis(m);
	struct gt_basis basis;
	int64_t den = 0, whole = INT64_MAX;
	int rc = gt_basis_init(&basis, &of, m->lp);

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
	/* Each root gets what the poorest has, and all by their divisor. */
	for (uint32_t root = 0; !rc && root < m->nroots; root++) {
		int64_t sum = 0;

		for (uint32_t b = 0; b < m->nbunches; b++)
			if (m->bunches[b].root == root)
				sum += weights[b];
		if (gt_alltoall_has_root(m, root) && sum < whole)
			whole = sum;
	}
	if (rc || whole <= 0)
		return rc == GT_ESYS ? rc : GT_ENO;
	den = whole;
	for (uint32_t root = 0; root < m->nroots; root++) {
		int64_t left = whole;

		for (uint32_t b = 0; b < m->nbunches; b++) {
			if (m->bunches[b].root != root)
				continue;
			if (weights[b] > left)
				weights[b] = left;
			left -= weights[b];
			den = gt_alltoall_gcd(den, weights[b]);
		}
	}
	for (uint32_t b = 0; b < m->nbunches; b++)
		weights[b] /= den;
	m->flow->whole = whole / den;
	return m->flow->whole < INT64_C(1) << 28 ? GT_OK : GT_ENO;
}

/* The root's first bunch of which there is some left. */
static uint32_t gt_hier_flow_first(const struct gt_alltoall_master *m,
				   const int64_t *weights, uint32_t root)
{
	uint32_t b = 0;

	while (b < m->nbunches && (m->bunches[b].root != root || !weights[b]))
		b++;
	return b;
}

/* All roots' bunches side by side, cut where one of them ends. */
static int gt_hier_flow_lane(struct gt_alltoall_master *m, int64_t *weights)
{
	struct gt_alltoall *flow = m->flow;
	struct gt_alltoall_channel *lane = &flow->lanes[flow->nlanes];
	int64_t width = INT64_MAX;

	for (uint32_t root = 0; root < m->nroots; root++) {
		uint32_t b = gt_hier_flow_first(m, weights, root);

		if (b < m->nbunches && weights[b] < width)
			width = weights[b];
	}
	if (width == INT64_MAX)
		return 0;
	lane->weight = width;
	lane->ways = gt_arena_array(flow->arena, (size_t)m->nroots * m->n,
				    sizeof(*lane->ways));
	if (!lane->ways)
		return GT_ESYS;
	for (uint32_t root = 0; root < m->nroots; root++) {
		uint32_t b = gt_hier_flow_first(m, weights, root);

		if (b == m->nbunches)
			continue;
		memcpy(lane->ways + (size_t)root * m->n, m->bunches[b].ways,
		       m->n * sizeof(*lane->ways));
		weights[b] -= width;
	}
	flow->nlanes++;
	return 1;
}

int gt_alltoall_decompose(struct gt_alltoall_master *m, struct gt_err *err)
{
	struct gt_alltoall *flow = m->flow;
	int64_t *weights =
		gt_arena_array(flow->arena, m->nbunches, sizeof(*weights));
	int rc;

	flow->lanes =
		gt_arena_array(flow->arena, m->nbunches, sizeof(*flow->lanes));
	if (!weights || !flow->lanes)
		return gt_err_nomem(err);
	rc = gt_hier_flow_exact(m, weights);
	if (rc == GT_ENO) {
		memset(weights, 0, m->nbunches * sizeof(*weights));
		rc = gt_hier_flow_weights(m, weights) ? GT_OK : GT_ENO;
	}
	while (!rc || rc == 1)
		if ((rc = gt_hier_flow_lane(m, weights)) != 1)
			break;
	if (rc == GT_ESYS)
		return gt_err_nomem(err);
	if (!rc && gt_alltoall_rate(flow, NULL))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "the rates need more than 64 bits");
}
