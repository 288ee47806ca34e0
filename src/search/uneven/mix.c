/*
 * Rows are added when they are found to be overloaded: of thousands of links a
 * few hundred limit.
 */
#include "search/uneven/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/lp/lp.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"

/*
 * Loads are whole numbers of this part of a tree in the program; all parts
 * together are about so many, those of a root that has as much as others just
 * so many; rows are added so often at most.
 */
enum { UNIT = 1000, PARTS = 20000, ROOT_PARTS = 5040, MOST_TURNS = 12 };

/* A link that is as full as this, of the fullest, may limit: at first, then. */
#define HALF_FULL   0.5
#define NEARLY_FULL 0.9

struct mixer {
	const struct gt_ways *ways;
	const struct gt_grown *trees;
	uint32_t ntrees, nlinks, nrows;
	uint32_t nroots; /* that have as much each; 0: any have any part */
	double *of_root; /* by root: a sum */
	float **loads;   /* by tree, then by link */
	double *part;    /* by tree */
	double *full;    /* by link: load over capacity */
	double *worth;   /* by link, of the last program */
	uint32_t *rows;
	unsigned char *is_row;
};

static double capacity(const struct mixer *m, uint32_t link)
{
	return gt_rat_double(m->ways->flat->fabric.links[link].gbs);
}

/* How full links are with these parts; the fullest. */
static double fill(struct mixer *m)
{
	double most = 0;

	memset(m->full, 0, m->nlinks * sizeof(*m->full));
	for (uint32_t t = 0; t < m->ntrees; t++)
		for (uint32_t i = 0; m->part[t] > 0 && i < m->nlinks; i++)
			m->full[i] += m->part[t] * (double)m->loads[t][i];
	for (uint32_t i = 0; i < m->nlinks; i++) {
		m->full[i] /= m->full[i] > 0 ? capacity(m, i) : 1;
		most = fmax(most, m->full[i]);
	}
	return most;
}

/* Links that are as full as `least` become rows; so many are new. */
static uint32_t add_rows(struct mixer *m, double least)
{
	uint32_t before = m->nrows;

	for (uint32_t i = 0; i < m->nlinks; i++) {
		if (m->is_row[i] || m->full[i] < least)
			continue;
		m->is_row[i] = 1;
		m->rows[m->nrows++] = i;
	}
	return m->nrows - before;
}

/*
 * A row for each link; where roots have as much each, one for each root too,
 * and behind the trees a column for how much that is: all that is gained.
 */
static struct gt_lp *make_program(const struct mixer *m)
{
	size_t n = (size_t)m->nrows + m->nroots;
	double *upper = calloc(n, sizeof(*upper));
	int32_t *entries = calloc(n, sizeof(*entries));
	struct gt_lp *lp = NULL;

	for (uint32_t r = 0; upper && r < m->nrows; r++)
		upper[r] = UNIT * capacity(m, m->rows[r]);
	if (upper && entries)
		lp = gt_lp_new((uint32_t)n, upper);
	for (uint32_t t = 0; lp && t < m->ntrees; t++) {
		for (uint32_t r = 0; r < m->nrows; r++)
			entries[r] = (int32_t)lround(
				UNIT * (double)m->loads[t][m->rows[r]]);
		for (uint32_t r = 0; r < m->nroots; r++)
			entries[m->nrows + r] = r == m->trees[t].root ? -1 : 0;
		gt_lp_add(lp, m->nroots ? 0 : 1, entries);
	}
	for (size_t r = 0; lp && r < n; r++)
		entries[r] = r >= m->nrows;
	if (lp && m->nroots)
		gt_lp_add(lp, m->nroots, entries);
	free(upper);
	free(entries);
	return lp;
}

/* The best parts for the rows that there are; they stay if there are none. */
static int solve(struct mixer *m)
{
	struct gt_lp *lp = make_program(m);
	int rc = lp ? gt_lp_solve(lp) : GT_ESYS;

	/* Floats may be a little below 0. */
	for (uint32_t t = 0; lp && !rc && t < m->ntrees; t++)
		m->part[t] = fmax(gt_lp_values(lp)[t], 0);
	memset(m->worth, 0, m->nlinks * sizeof(*m->worth));
	for (uint32_t r = 0; lp && !rc && r < m->nrows; r++)
		m->worth[m->rows[r]] = fmax(gt_lp_prices(lp)[r], 0) * UNIT *
				       capacity(m, m->rows[r]);
	gt_lp_free(lp);
	return lp ? GT_OK : GT_ESYS;
}

static double sum(const struct mixer *m)
{
	double all = 0;

	for (uint32_t t = 0; t < m->ntrees; t++)
		all += m->part[t];
	return all;
}

/* Take off what a root has more than the one that has least. */
static void make_even(struct mixer *m)
{
	double least = HUGE_VAL;

	for (uint32_t r = 0; r < m->nroots; r++)
		m->of_root[r] = 0;
	for (uint32_t t = 0; m->nroots && t < m->ntrees; t++)
		m->of_root[m->trees[t].root] += m->part[t];
	for (uint32_t r = 0; r < m->nroots; r++)
		least = fmin(least, m->of_root[r]);
	for (uint32_t t = 0; m->nroots && t < m->ntrees; t++)
		m->part[t] *= least / m->of_root[m->trees[t].root];
}

/* The tree of the root that has the largest part. */
static uint32_t find_largest(const struct mixer *m, uint32_t root)
{
	uint32_t largest = UINT32_MAX;

	for (uint32_t t = 0; t < m->ntrees; t++)
		if (m->trees[t].root == root &&
		    (largest == UINT32_MAX || m->part[t] > m->part[largest]))
			largest = t;
	return largest;
}

/* Parts as whole numbers, of which all are as many, or those of each root. */
static void round_parts(const struct mixer *m, double all, int64_t *parts)
{
	double times = m->nroots ? (double)ROOT_PARTS * m->nroots : PARTS;

	for (uint32_t t = 0; t < m->ntrees; t++)
		parts[t] = (int64_t)floor(m->part[t] / all * times);
	for (uint32_t r = 0; r < m->nroots; r++) {
		int64_t left = ROOT_PARTS;

		for (uint32_t t = 0; t < m->ntrees; t++)
			left -= m->trees[t].root == r ? parts[t] : 0;
		parts[find_largest(m, r)] += left;
	}
}

/* Parts as whole numbers; the best of all turns. */
static int mix(struct mixer *m, struct gt_mix *out)
{
	int rc = GT_OK;

	out->gbs = 0;
	for (uint32_t t = 0; t < m->ntrees; t++)
		m->part[t] = 1;
	for (int turn = 0; turn < MOST_TURNS && !rc; turn++) {
		double most, all;

		make_even(m);
		most = fill(m);
		all = sum(m);
		if (all / most > out->gbs) {
			out->gbs = all / most;
			round_parts(m, all, out->parts);
		}
		if (!add_rows(m, most * (turn ? NEARLY_FULL : HALF_FULL)))
			break;
		rc = solve(m);
	}
	return rc;
}

static int read_loads(struct mixer *m)
{
	for (uint32_t t = 0; t < m->ntrees; t++) {
		m->loads[t] = calloc(m->nlinks + (size_t)1, sizeof(float));
		if (!m->loads[t])
			return GT_ESYS;
		gt_grown_load(m->ways, &m->trees[t], m->loads[t]);
	}
	return GT_OK;
}

int gt_mix_trees(const struct gt_ways *ways, const struct gt_mix_of *of,
		 struct gt_mix *out)
{
	uint32_t ntrees = of->n;
	struct mixer m = {.ways = ways,
			  .trees = of->trees,
			  .ntrees = ntrees,
			  .nroots = of->each ? ways->nranks : 0,
			  .worth = out->worth};
	int rc;

	m.of_root = calloc(m.nroots + (size_t)1, sizeof(*m.of_root));
	m.nlinks = ways->flat->fabric.nlinks;
	m.loads = calloc(ntrees, sizeof(*m.loads));
	m.part = calloc(ntrees, sizeof(*m.part));
	m.full = calloc(m.nlinks + (size_t)1, sizeof(*m.full));
	m.rows = calloc(m.nlinks + (size_t)1, sizeof(*m.rows));
	m.is_row = calloc(m.nlinks + (size_t)1, 1);
	rc = m.of_root && m.loads && m.part && m.full && m.rows && m.is_row
		     ? read_loads(&m)
		     : GT_ESYS;
	if (!rc)
		rc = mix(&m, out);
	for (uint32_t t = 0; m.loads && t < ntrees; t++)
		free(m.loads[t]);
	free(m.loads);
	free(m.of_root);
	free(m.part);
	free(m.full);
	free(m.rows);
	free(m.is_row);
	return rc;
}
