/*
 * A schedule at once: whole blocks over the senders' rails, or the receivers',
 * if that is as good as can be.  Else all blocks over all rails alike, which
 * fills no rail more than it must; then, where that is too much for some GPU's
 * links to its switch, parts are moved off the row that is full longest.
 */
#include "search/rails/rails.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/rat.h"
#include "search/problem/fabric.h"
#include "search/rails/meshed.h"

enum {
	/* Rows of a part: two of its rail, two of each switch. */
	ROWS = 6,
	MAX_ROWS = 4 * GT_RAILS_MAX_RANKS,
	MAX_NODES = GT_RAILS_MAX_RANKS / 2,
	/* Of all blocks together about so many parts, but one a rail each. */
	ALL_PARTS = 8192,
	/* How often all moves together may look at a row. */
	LOOKS = 100000,
};

/* Full for hardly longer than the bound is as good as the bound. */
static const double enough = 1 + 1e-9;

struct planner {
	const struct gt_rails *m;
	const uint64_t *bytes;
	struct gt_rails_schedule *s;
	double each[MAX_ROWS];  /* how much fuller a byte makes a row */
	uint8_t seen[MAX_ROWS]; /* in this round */
	uint32_t looks;
};

struct gt_rails_schedule *gt_rails_schedule_new(const struct gt_rails *m,
						struct gt_arena *arena)
{
	struct gt_rails_schedule *s = gt_arena_alloc(arena, sizeof(*s));

	if (!s)
		return NULL;
	s->share = gt_arena_alloc(arena, (size_t)m->n * m->n * m->nrails);
	s->full = gt_arena_array(arena, m->nrows, sizeof(*s->full));
	s->link_bytes = gt_arena_array(arena, m->fabric->nlinks,
				       sizeof(*s->link_bytes));
	return s->share && s->full && s->link_bytes ? s : NULL;
}

uint32_t gt_rails_path(const struct gt_rails *m, uint32_t from, uint32_t to,
		       uint32_t rail, uint32_t ranks[GT_RAILS_MAX_HOPS + 1])
{
	uint32_t out = m->relay[m->node[from] * m->nrails + rail];
	uint32_t in = m->relay[m->node[to] * m->nrails + rail];
	uint32_t n = 0;

	ranks[n] = from;
	if (out != from)
		ranks[++n] = out;
	if (in != ranks[n])
		ranks[++n] = in;
	if (in != to)
		ranks[++n] = to;
	return n;
}

/* ---- the bound ---------------------------------------------------------- */

/* How long a rank's own links need, without which it reaches nobody. */
static double rank_ns(const struct gt_rails *m, uint32_t rank, int in,
		      double bytes)
{
	uint32_t row = in ? gt_rails_down(m, rank) : gt_rails_up(m, rank);
	uint32_t other = in ? m->enter[rank] : m->leave[rank];
	double gbs = m->gbs[row];

	if (other != m->link[row])
		gbs += gt_rat_double(m->fabric->links[other].gbs);
	return bytes / gbs;
}

static double node_ns(const struct gt_rails *m, uint32_t node, int in,
		      double bytes)
{
	double gbs = 0;

	for (uint32_t r = 0; r < m->nrails; r++)
		gbs += m->gbs[in ? gt_rails_in(m, node, r)
				 : gt_rails_out(m, node, r)];
	return bytes / gbs;
}

static void raise_bound(struct gt_rails_schedule *s, double ns,
			enum gt_rails_cut_kind kind, uint32_t which)
{
	if (ns <= s->bound_ns)
		return;
	s->bound_ns = ns;
	s->cut = (struct gt_rails_cut){kind, which};
}

/* No schedule brings all bytes sooner over the links around a GPU or a node. */
static void find_bound(const struct planner *p)
{
	const struct gt_rails *m = p->m;
	double ranks[2][GT_RAILS_MAX_RANKS] = {{0}};
	double nodes[2][GT_RAILS_MAX_RANKS] = {{0}};

	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t k = 0; k < m->n; k++) {
			double bytes = (double)p->bytes[i * m->n + k];

			if (i == k)
				continue;
			ranks[0][i] += bytes;
			ranks[1][k] += bytes;
			if (m->node[i] == m->node[k])
				continue;
			nodes[0][m->node[i]] += bytes;
			nodes[1][m->node[k]] += bytes;
		}
	p->s->bound_ns = 0;
	for (int in = 0; in < 2; in++) {
		for (uint32_t a = 0; a < m->nnodes; a++)
			raise_bound(p->s, node_ns(m, a, in, nodes[in][a]),
				    in ? GT_RAILS_TO_NODE : GT_RAILS_FROM_NODE,
				    a);
		for (uint32_t i = 0; i < m->n; i++)
			raise_bound(p->s, rank_ns(m, i, in, ranks[in][i]),
				    in ? GT_RAILS_TO_GPU : GT_RAILS_FROM_GPU,
				    i);
	}
}

/* ---- all rails alike ---------------------------------------------------- */

/* The rows that a part of a block for another node loads on its rail. */
static uint32_t rows_of(const struct gt_rails *m, uint32_t from, uint32_t to,
			uint32_t rail, uint32_t rows[ROWS])
{
	uint32_t a = m->node[from], b = m->node[to], n = 0;
	uint32_t out = m->relay[a * m->nrails + rail];
	uint32_t in = m->relay[b * m->nrails + rail];

	rows[n++] = gt_rails_out(m, a, rail);
	rows[n++] = gt_rails_in(m, b, rail);
	if (out != from) {
		rows[n++] = gt_rails_up(m, from);
		rows[n++] = gt_rails_down(m, out);
	}
	if (in != to) {
		rows[n++] = gt_rails_up(m, in);
		rows[n++] = gt_rails_down(m, to);
	}
	return n;
}

static void add_load(struct planner *p, uint32_t pair, uint32_t rail,
		     double bytes)
{
	uint32_t rows[ROWS];
	uint32_t n = rows_of(p->m, pair / p->m->n, pair % p->m->n, rail, rows);

	for (uint32_t i = 0; i < n; i++)
		p->s->full[rows[i]] += bytes * p->each[rows[i]];
}

/* How wide each rail is between two nodes; returns the sum. */
static double find_widths(const struct gt_rails *m, uint32_t a, uint32_t b,
			  double width[GT_RAILS_MAX])
{
	double sum = 0;

	for (uint32_t r = 0; r < m->nrails; r++) {
		double out = m->gbs[gt_rails_out(m, a, r)];
		double in = m->gbs[gt_rails_in(m, b, r)];

		width[r] = out < in ? out : in;
		sum += width[r];
	}
	return sum;
}

/* So many whole parts for each rail as it is wide; returns what is left. */
static uint32_t share_whole(const struct planner *p, const double *width,
			    double sum, uint8_t *share)
{
	uint32_t left = p->s->parts;

	for (uint32_t r = 0; r < p->m->nrails; r++) {
		share[r] = (uint8_t)(width[r] / sum * p->s->parts + 1e-6);
		left -= share[r];
	}
	return left;
}

/*
 * So many parts for each rail as it is wide between two nodes; what is left of
 * the parts goes to the first of those that are as wide, from `turn` on.
 */
static void share_alike(const struct planner *p, uint32_t a, uint32_t b,
			uint32_t turn, uint8_t *share)
{
	const struct gt_rails *m = p->m;
	double width[GT_RAILS_MAX];
	double sum = find_widths(m, a, b, width);
	uint32_t left = share_whole(p, width, sum, share);

	while (left) {
		uint32_t best = turn % m->nrails;

		for (uint32_t k = 1; k < m->nrails; k++) {
			uint32_t r = (turn + k) % m->nrails;

			if (width[r] / (share[r] + 1) >
			    width[best] / (share[best] + 1) + 1e-9)
				best = r;
		}
		share[best]++;
		left--;
	}
}

/* ---- all blocks of two nodes at once ------------------------------------- */

/*
 * Bytes between a rank and another node, which all are shared alike: what they
 * take of the node's rails and of the links to its switch.
 */
static void add_alike(struct planner *p, uint32_t rank, uint32_t b, int in,
		      double bytes, const uint8_t *share)
{
	const struct gt_rails *m = p->m;
	uint32_t a = m->node[rank];
	double *full = p->s->full, part = bytes / p->s->parts;

	for (uint32_t r = 0; r < m->nrails; r++) {
		double one = part * share[r];
		uint32_t relay = m->relay[a * m->nrails + r];

		if (!in) {
			full[gt_rails_out(m, a, r)] += one;
			full[gt_rails_in(m, b, r)] += one;
		}
		if (relay == rank)
			continue;
		full[gt_rails_up(m, in ? relay : rank)] += one;
		full[gt_rails_down(m, in ? rank : relay)] += one;
	}
}

/* Share all of a rank's blocks for another node; the bytes that come back. */
static void begin_alike(struct planner *p, uint32_t rank, uint32_t b,
			const uint8_t *there, const uint8_t *back)
{
	const struct gt_rails *m = p->m;
	uint32_t n = m->n;
	double out = 0, in = 0;

	for (uint32_t i = 0; i < m->each; i++) {
		uint32_t k = m->member[b * m->each + i];

		out += (double)p->bytes[rank * n + k];
		in += (double)p->bytes[k * n + rank];
		if (p->bytes[rank * n + k])
			memcpy(&p->s->share[(rank * n + k) * m->nrails], there,
			       m->nrails);
	}
	add_alike(p, rank, b, 0, out, there);
	add_alike(p, rank, b, 1, in, back);
}

/* Do whole parts suffice for all nodes?  Then share all blocks alike. */
static int begin_all_alike(struct planner *p)
{
	const struct gt_rails *m = p->m;
	uint8_t share[MAX_NODES * MAX_NODES][GT_RAILS_MAX];
	double width[GT_RAILS_MAX];

	for (uint32_t i = 0; i < m->nnodes * m->nnodes; i++) {
		uint32_t a = i / m->nnodes, b = i % m->nnodes;

		if (a != b && share_whole(p, width, find_widths(m, a, b, width),
					  share[i]))
			return 0;
	}
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t b = 0; b < m->nnodes; b++)
			if (b != m->node[i])
				begin_alike(p, i, b,
					    share[m->node[i] * m->nnodes + b],
					    share[b * m->nnodes + m->node[i]]);
	for (uint32_t i = 0; i < m->nrows; i++)
		p->s->full[i] *= p->each[i];
	return 1;
}

/* Whose rail a block takes to begin with. */
enum whose { SENDERS, RECEIVERS, ALL };

static void begin_pair(struct planner *p, enum whose whose, uint32_t from,
		       uint32_t to)
{
	const struct gt_rails *m = p->m;
	uint32_t pair = from * m->n + to;
	uint8_t *share = &p->s->share[pair * m->nrails];
	double bytes = (double)p->bytes[pair];

	if (m->node[from] == m->node[to]) {
		uint32_t up = gt_rails_up(m, from);
		uint32_t down = gt_rails_down(m, to);

		p->s->full[up] += bytes * p->each[up];
		p->s->full[down] += bytes * p->each[down];
		return;
	}
	if (whose == ALL)
		share_alike(p, m->node[from], m->node[to], from + to, share);
	else
		share[m->own[whose == SENDERS ? from : to]] = 1;
	for (uint32_t r = 0; r < m->nrails; r++)
		if (share[r])
			add_load(p, pair, r, bytes * share[r] / p->s->parts);
}

/* Few parts where there are many blocks, and a multiple of the rails. */
static uint32_t count_parts(const struct planner *p)
{
	const struct gt_rails *m = p->m;
	uint32_t blocks = 0, times, most = GT_RAILS_PARTS / m->nrails;

	for (uint32_t i = 0; i < m->n * m->n; i++)
		blocks += p->bytes[i] && m->node[i / m->n] != m->node[i % m->n];
	times = blocks ? ALL_PARTS / (blocks * m->nrails) : 1;
	times = times > most ? most : times;
	return m->nrails * (times ? times : 1);
}

static void begin_by(struct planner *p, enum whose whose)
{
	const struct gt_rails *m = p->m;
	int alike;

	p->s->parts = whose == ALL ? count_parts(p) : 1;
	memset(p->s->share, 0, (size_t)m->n * m->n * m->nrails);
	memset(p->s->full, 0, m->nrows * sizeof(*p->s->full));
	alike = whose == ALL && begin_all_alike(p);
	for (uint32_t i = 0; i < m->n; i++)
		for (uint32_t k = 0; k < m->n; k++)
			if (i != k && p->bytes[i * m->n + k] &&
			    (!alike || m->node[i] == m->node[k]))
				begin_pair(p, whose, i, k);
}

/* How full the row is that is full longest. */
static double fullest(const struct planner *p)
{
	double most = 0;

	for (uint32_t i = 0; i < p->m->nrows; i++)
		if (p->s->full[i] > most)
			most = p->s->full[i];
	return most;
}

/* Do whole blocks of those ranks fit their rails?  Most do not. */
static int may_fit(const struct planner *p, enum whose whose)
{
	const struct gt_rails *m = p->m;

	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t a = m->node[i];
		uint32_t row = whose == SENDERS ? gt_rails_out(m, a, m->own[i])
						: gt_rails_in(m, a, m->own[i]);
		double bytes = 0;

		for (uint32_t k = 0; k < m->n; k++)
			if (m->node[k] != a)
				bytes +=
					(double)p
						->bytes[whose == SENDERS
								? i * m->n + k
								: k * m->n + i];
		if (bytes * p->each[row] >= enough)
			return 0;
	}
	return 1;
}

/* Whole blocks over one rank's rail each have fewer hops, if they fit. */
static void begin(struct planner *p)
{
	const struct gt_rails *m = p->m;

	find_bound(p);
	for (uint32_t i = 0; i < m->nrows; i++)
		p->each[i] = 1 / (m->gbs[i] * p->s->bound_ns);
	for (enum whose w = SENDERS; w < ALL && m->nrails == m->each; w++) {
		if (!may_fit(p, w))
			continue;
		begin_by(p, w);
		if (fullest(p) < enough)
			return;
	}
	begin_by(p, ALL);
}

/* ---- moves -------------------------------------------------------------- */

/* The row that is full longest, of those not yet seen; nrows: none is over. */
static uint32_t worst_row(const struct planner *p)
{
	uint32_t worst = p->m->nrows;
	double most = enough;

	for (uint32_t i = 0; i < p->m->nrows; i++)
		if (!p->seen[i] && p->s->full[i] > most) {
			most = p->s->full[i];
			worst = i;
		}
	return worst;
}

/*
 * What so many bytes more cost: by how much rows are over the bound, squared,
 * and as many times as a row is wide, so that a byte too much is as bad
 * everywhere.
 */
static double cost_of(struct planner *p, uint32_t pair, uint32_t rail,
		      double bytes, double limit)
{
	uint32_t rows[ROWS];
	uint32_t n = rows_of(p->m, pair / p->m->n, pair % p->m->n, rail, rows);
	double sum = 0;

	for (uint32_t i = 0; i < n && sum < limit; i++) {
		double was = p->s->full[rows[i]] - 1;
		double is = was + bytes * p->each[rows[i]];

		p->looks++;
		if (is > 0)
			sum += (is * is - (was > 0 ? was * was : 0)) *
			       p->m->gbs[rows[i]];
	}
	return sum;
}

/* Move a part of the block off that rail to where it is best; 1: it was. */
static int move_part(struct planner *p, uint32_t pair, uint32_t rail)
{
	uint8_t *share = &p->s->share[pair * p->m->nrails];
	double bytes = (double)p->bytes[pair] / p->s->parts;
	uint32_t best = rail;
	double least;

	add_load(p, pair, rail, -bytes);
	least = cost_of(p, pair, rail, bytes, INFINITY) * (1 - 1e-9);
	for (uint32_t r = 0; r < p->m->nrails; r++) {
		double cost =
			r == rail ? least : cost_of(p, pair, r, bytes, least);

		if (cost < least) {
			least = cost;
			best = r;
		}
	}
	add_load(p, pair, best, bytes);
	share[rail]--;
	share[best]++;
	return best != rail;
}

/* Move what of a pair's block is on the row by that rail; 1: some was moved. */
static int relieve_by(struct planner *p, uint32_t row, uint32_t pair,
		      uint32_t rail)
{
	const struct gt_rails *m = p->m;
	const uint8_t *share = &p->s->share[pair * m->nrails + rail];
	uint32_t rows[ROWS], n, i = 0;
	int moved = 0;

	p->looks++;
	if (!*share)
		return 0;
	n = rows_of(m, pair / m->n, pair % m->n, rail, rows);
	while (i < n && rows[i] != row)
		i++;
	while (i < n && *share && p->s->full[row] > enough &&
	       p->looks < LOOKS && move_part(p, pair, rail))
		moved = 1;
	return moved;
}

/*
 * Look at all blocks between the rank and other nodes, out of it or into it, by
 * that rail, or (nrails) by any.
 */
static int relieve_at(struct planner *p, uint32_t row, uint32_t rank, int in,
		      uint32_t rail)
{
	const struct gt_rails *m = p->m;
	uint32_t first = rail < m->nrails ? rail : 0;
	uint32_t end = rail < m->nrails ? rail + 1 : m->nrails;
	int moved = 0;

	for (uint32_t k = 0; k < m->n; k++)
		for (uint32_t r = first; r < end && m->node[k] != m->node[rank];
		     r++)
			moved |= relieve_by(
				p, row, in ? k * m->n + rank : rank * m->n + k,
				r);
	return moved;
}

/*
 * On a node's rail are the blocks of its ranks that go by it.  On a rank's link
 * are its own blocks and those that it relays, the other way.
 */
static int relieve(struct planner *p, uint32_t row)
{
	const struct gt_rails *m = p->m;
	int is_rank = row < 2 * m->n, moved = 0;
	uint32_t way = row - 2 * m->n, rank = row % m->n;
	int in = is_rank ? row >= m->n : way >= m->nnodes * m->nrails;
	uint32_t node = is_rank ? m->node[rank] : way / m->nrails % m->nnodes;
	uint32_t rail = is_rank ? m->own[rank] : way % m->nrails;

	if (is_rank) {
		moved = relieve_at(p, row, rank, in, m->nrails);
		in = !in;
		if (rail == m->nrails)
			return moved;
	}
	for (uint32_t i = 0; i < m->each; i++)
		moved |= relieve_at(p, row, m->member[node * m->each + i], in,
				    rail);
	return moved;
}

/* As few parts as say the same: all shares over what divides them. */
static void use_few_parts(struct planner *p)
{
	size_t n = (size_t)p->m->n * p->m->n * p->m->nrails;
	struct gt_rails_schedule *s = p->s;
	uint32_t common = s->parts;

	for (size_t i = 0; i < n && common > 1; i++)
		if (s->share[i])
			common = (uint32_t)gt_rat_gcd(common, s->share[i]);
	for (size_t i = 0; i < n && common > 1; i++)
		s->share[i] = (uint8_t)(s->share[i] / common);
	s->parts /= common;
}

/* Relieve each row that is over, the worst first; 1: something was moved. */
static int relieve_all(struct planner *p)
{
	int moved = 0;
	uint32_t row;

	memset(p->seen, 0, p->m->nrows);
	while (p->looks < LOOKS && (row = worst_row(p)) < p->m->nrows) {
		p->seen[row] = 1;
		moved |= relieve(p, row);
	}
	return moved;
}

void gt_rails_plan(const struct gt_rails *m, const uint64_t *bytes,
		   struct gt_rails_schedule *schedule)
{
	struct planner p = {.m = m, .bytes = bytes, .s = schedule};

	if (m->meshed) {
		gt_meshed_plan(m, bytes, schedule);
		use_few_parts(&p);
		return;
	}
	begin(&p);
	while (relieve_all(&p))
		;
	schedule->ns = fullest(&p) * schedule->bound_ns;
	use_few_parts(&p);
}
