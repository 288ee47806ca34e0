/*
 * Runs Kuhn's Hungarian method as hungarian.h cites it: rows are assigned one
 * after the other, each by a shortest augmenting path under potentials.
 */
#include "topo/diff/hungarian.h"

#include <limits.h>
#include <stdlib.h>

/*
 * Columns and rows count from 1; column 0 is where an augmenting path begins.
 */
struct gt_hungarian {
	uint32_t n;
	const int *price;
	/* potentials of rows and columns, slack of each column */
	int64_t *u, *v, *least;
	/* by column: its row, and the column before it on the path */
	uint32_t *row, *way;
	unsigned char *used;
};

/*
 * Goes on from a column: updates slacks and potentials, and returns the column
 * with the least slack.
 */
static uint32_t gt_hungarian_step(struct gt_hungarian *s, uint32_t column)
{
	uint32_t row = s->row[column], next = 0, n = s->n;
	int64_t delta = INT64_MAX, slack;

	s->used[column] = 1;
	for (uint32_t j = 1; j <= n; j++) {
		if (s->used[j])
			continue;
		slack = s->price[(size_t)(row - 1) * n + j - 1] - s->u[row] -
			s->v[j];
		if (slack < s->least[j]) {
			s->least[j] = slack;
			s->way[j] = column;
		}
		if (s->least[j] < delta) {
			delta = s->least[j];
			next = j;
		}
	}
	for (uint32_t j = 0; j <= n; j++)
		if (s->used[j]) {
			s->u[s->row[j]] += delta;
			s->v[j] -= delta;
		} else {
			s->least[j] -= delta;
		}
	return next;
}

static void gt_hungarian_row(struct gt_hungarian *s, uint32_t row)
{
	uint32_t column = 0;

	s->row[0] = row;
	for (uint32_t j = 0; j <= s->n; j++) {
		s->least[j] = INT64_MAX / 2;
		s->used[j] = 0;
	}
	do
		column = gt_hungarian_step(s, column);
	while (s->row[column]);
	while (column) {
		s->row[column] = s->row[s->way[column]];
		column = s->way[column];
	}
}

int gt_hungarian(uint32_t n, const int *price, uint32_t *pick, int *failed)
{
	size_t size = (size_t)n + 1;
	int64_t *memory =
		calloc(size, 3 * sizeof(*memory) + 2 * sizeof(uint32_t) + 1);
	struct gt_hungarian s = {.n = n, .price = price, .u = memory};
	int sum = 0;

	if (!memory) {
		*failed = 1;
		return 0;
	}
	s.v = s.u + size;
	s.least = s.v + size;
	s.row = (uint32_t *)(s.least + size);
	s.way = s.row + size;
	s.used = (unsigned char *)(s.way + size);
	for (uint32_t row = 1; row <= n; row++)
		gt_hungarian_row(&s, row);
	for (uint32_t j = 1; j <= n; j++) {
		pick[s.row[j] - 1] = j - 1;
		sum += price[(size_t)(s.row[j] - 1) * n + j - 1];
	}
	free(memory);
	return sum;
}
