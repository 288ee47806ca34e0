/*
 * The check of a schedule, which knows of rails only what gt_rails_path() says
 * and counts over the fabric's routes in whole numbers.
 */
#include "search/rails/rails.h"

#include <stdlib.h>

#include "base/err.h"
#include "search/problem/fabric.h"

/* How much less exact floats may have said when links are free again. */
static const double rounding = 1e-9;

struct loads {
	const struct gt_rails *m;
	uint64_t *hops;  /* [from * n + to]: bytes times parts */
	uint64_t *links; /* by the fabric's link, times `den` */
	int64_t den;     /* of all charges */
};

static int add(uint64_t *load, uint64_t more)
{
	return !__builtin_add_overflow(*load, more, load) &&
	       *load <= INT64_MAX / 2;
}

/* Follow a part from rank to rank; it has to get where it belongs. */
static int add_path(struct loads *l, uint32_t pair, uint32_t rail,
		    uint64_t bytes, struct gt_err *err)
{
	uint32_t ranks[GT_RAILS_MAX_HOPS + 1], n = l->m->n, at = pair / n;
	uint32_t nhops = gt_rails_path(l->m, at, pair % n, rail, ranks);

	for (uint32_t h = 0; h < nhops; h++) {
		uint32_t hop = at * n + ranks[h + 1];

		if (ranks[h] != at || !l->m->fabric->routes[hop].nlinks)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "rail %u has no way from %u to %u",
					  rail, at, ranks[h + 1]);
		if (!add(&l->hops[hop], bytes))
			return gt_err_set(err, GT_EINPUT, NULL,
					  "the bytes need more than 62 bits");
		at = ranks[h + 1];
	}
	if (at != pair % n)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a part from %u for %u ends at %u", pair / n,
				  pair % n, at);
	return GT_OK;
}

/* All parts of a block, no less and no more. */
static int add_pair(struct loads *l, uint32_t pair, uint64_t bytes,
		    const struct gt_rails_schedule *s, struct gt_err *err)
{
	const struct gt_rails *m = l->m;
	const uint8_t *share = &s->share[pair * m->nrails];
	uint32_t from = pair / m->n, to = pair % m->n, sum = 0, wanted;
	int rc = GT_OK;

	wanted = bytes && m->node[from] != m->node[to] ? s->parts : 0;
	for (uint32_t r = 0; r < m->nrails; r++)
		sum += share[r];
	if (sum != wanted)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "from %u to %u %u parts go, of %u", from, to,
				  sum, wanted);
	if (bytes > INT64_MAX / 2 / s->parts)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the bytes need more than 62 bits");
	if (!sum && !add(&l->hops[pair], bytes * s->parts))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the bytes need more than 62 bits");
	for (uint32_t r = 0; r < m->nrails && !rc; r++)
		if (share[r])
			rc = add_path(l, pair, r, bytes * share[r], err);
	return rc;
}

/* What all routes' charges are whole multiples of, as 1 / den. */
static int find_den(struct loads *l)
{
	const struct gt_fabric *f = l->m->fabric;

	l->den = 1;
	for (uint32_t hop = 0; hop < l->m->n * l->m->n; hop++) {
		int64_t den =
			f->routes[hop].nlinks ? f->routes[hop].charge.den : 1;

		den /= (int64_t)gt_rat_gcd((uint64_t)l->den, (uint64_t)den);
		if (__builtin_mul_overflow(l->den, den, &l->den))
			return 0;
	}
	return 1;
}

/* A hop's bytes on a link, which a charge may count more or less often. */
static int add_link(struct loads *l, uint32_t hop, uint32_t link)
{
	const struct gt_fabric *f = l->m->fabric;
	struct gt_rat charge =
		f->links[link].charged ? f->routes[hop].charge : GT_RAT(1, 1);
	uint64_t bytes;

	return !__builtin_mul_overflow(
		       l->hops[hop], (uint64_t)(l->den / charge.den), &bytes) &&
	       !__builtin_mul_overflow(bytes, (uint64_t)charge.num, &bytes) &&
	       add(&l->links[link], bytes);
}

static int add_routes(struct loads *l, struct gt_err *err)
{
	const struct gt_fabric *f = l->m->fabric;
	int fits = find_den(l);

	for (uint32_t hop = 0; hop < l->m->n * l->m->n; hop++)
		for (uint32_t k = 0; l->hops[hop] && k < f->routes[hop].nlinks;
		     k++)
			fits = fits &&
			       add_link(l, hop, f->routes[hop].links[k]);
	return fits ? GT_OK
		    : gt_err_set(err, GT_EINPUT, NULL,
				 "the bytes need more than 62 bits");
}

/* The link that is full longest, against what the schedule says. */
static int compare(const struct loads *l, const struct gt_rails_schedule *s,
		   struct gt_rat *slowest, struct gt_err *err)
{
	const struct gt_fabric *f = l->m->fabric;
	struct gt_rat most = GT_RAT(0, 1), one;

	for (uint32_t i = 0; i < f->nlinks; i++) {
		if (!l->links[i])
			continue;
		if (!gt_rat_make((int64_t)l->links[i], l->den, &one) ||
		    !gt_rat_div(one, f->links[i].gbs, &one))
			return gt_err_set(err, GT_ENO, NULL,
					  "a time needs more than 64 bits");
		if (gt_rat_cmp(one, most) > 0)
			most = one;
	}
	if (gt_rat_double(most) > s->ns * s->parts * (1 + rounding))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a link is full for %.9g ns, not %.9g",
				  gt_rat_double(most) / s->parts, s->ns);
	*slowest = most;
	return GT_OK;
}

int gt_rails_check(const struct gt_rails *m, const uint64_t *bytes,
		   const struct gt_rails_schedule *s, struct gt_rat *slowest,
		   struct gt_err *err)
{
	uint32_t nn = m->n * m->n;
	struct loads l = {.m = m};
	int rc = GT_OK;

	l.hops = calloc(nn, sizeof(*l.hops));
	l.links = calloc(m->fabric->nlinks, sizeof(*l.links));
	if (!l.hops || !l.links)
		rc = gt_err_nomem(err);
	for (uint32_t pair = 0; pair < nn && !rc; pair++)
		if (pair / m->n != pair % m->n)
			rc = add_pair(&l, pair, bytes[pair], s, err);
	if (!rc)
		rc = add_routes(&l, err);
	if (!rc)
		rc = compare(&l, s, slowest, err);
	free(l.hops);
	free(l.links);
	return rc;
}
