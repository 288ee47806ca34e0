/*
 * The restricted master program of an all-to-all: its rows and columns, for the
 * solver in floating point and for the exact one.
 */
#include "search/cluster/alltoall_master.h"

#include <gmp.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/cluster/quotient.h"
#include "search/lp/exact_basis.h"
#include "search/lp/lp.h"

int gt_alltoall_has_root(const struct gt_alltoall_master *m, uint32_t root)
{
	uint32_t class_ = root / m->n;

	return class_ ? m->a2a->nodes[class_] > 0 : m->n > 1;
}

static int32_t master_entry(const void *arg, uint32_t row, uint32_t column)
{
	const struct gt_alltoall_master *m = arg;
	uint32_t links = m->a2a->rows.n;

	if (!column)
		return row >= links && gt_alltoall_has_root(m, row - links);
	if (row < links)
		return m->columns[column - 1].loads[row];
	return -(m->columns[column - 1].root == row - links);
}

static int64_t master_upper(const void *arg, uint32_t row, mpz_ptr upper)
{
	const struct gt_alltoall_master *m = arg;
	struct gt_rat gbs = GT_RAT(0, 1);

	if (row < m->a2a->rows.n)
		gbs = m->a2a->rows.gbs[row];
	mpz_set_si(upper, gbs.num);
	mpz_mul_ui(upper, upper, m->a2a->rows.unit);
	mpz_mul_si(upper, upper, m->nranks);
	return gbs.den;
}

static int master_gain(const void *arg, uint32_t column)
{
	(void)arg;
	return !column;
}

struct gt_basis_program gt_alltoall_basis(const struct gt_alltoall_master *m)
{
	return (struct gt_basis_program){.arg = m,
					 .nrows = m->a2a->rows.n + m->nroots,
					 .nlinks = m->a2a->rows.n,
					 .entry = master_entry,
					 .upper = master_upper,
					 .gain = master_gain,
					 .budget = m->a2a->quotient->budget};
}

void gt_alltoall_master_push(struct gt_alltoall_master *m, uint32_t column)
{
	for (uint32_t r = 0; r < m->a2a->rows.n + m->nroots; r++)
		m->entries[r] = master_entry(m, r, column);
	gt_lp_add(m->lp, column ? 0 : 1, m->entries);
}

int gt_alltoall_master_init(struct gt_alltoall_master *m, struct gt_err *err)
{
	struct gt_alltoall *a2a = m->a2a;
	uint32_t nrows = a2a->rows.n + m->nroots;
	double *upper = gt_arena_array(a2a->arena, nrows, sizeof(*upper));

	m->entries = gt_arena_array(a2a->arena, nrows, sizeof(*m->entries));
	m->prices = gt_arena_array(a2a->arena, nrows, sizeof(*m->prices));
	if (!upper || !m->entries || !m->prices ||
	    gt_alltoall_lengths_init(&m->lengths, a2a))
		return gt_err_nomem(err);
	m->lengths.relaxed = m->relaxed;
	for (uint32_t r = 0; r < a2a->rows.n; r++)
		upper[r] = gt_rat_double(a2a->rows.gbs[r]) * a2a->rows.unit *
			   (double)m->nranks;
	m->lp = gt_lp_new(nrows, upper);
	if (!m->lp)
		return gt_err_nomem(err);
	gt_alltoall_master_push(m, 0);
	return GT_OK;
}
