/*
 * Numbers go up or down until the queue is in order again.
 */
#include "search/uneven/heap.h"

enum { NONE = UINT32_MAX };

static int is_before(const struct gt_heap *q, uint32_t a, uint32_t b)
{
	if (q->key[a] < q->key[b] || q->key[a] > q->key[b])
		return q->key[a] < q->key[b];
	return a < b;
}

static void put(struct gt_heap *q, uint32_t at, uint32_t number)
{
	q->items[at] = number;
	q->place[number] = at;
}

/* From the place, towards the first, to where it belongs. */
static void rise(struct gt_heap *q, uint32_t at, uint32_t number)
{
	while (at && is_before(q, number, q->items[(at - 1) / 2])) {
		put(q, at, q->items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put(q, at, number);
}

/* From the place, away from the first. */
static void sink(struct gt_heap *q, uint32_t at, uint32_t number)
{
	uint32_t below;

	while ((below = 2 * at + 1) < q->n) {
		if (below + 1 < q->n &&
		    is_before(q, q->items[below + 1], q->items[below]))
			below++;
		if (!is_before(q, q->items[below], number))
			break;
		put(q, at, q->items[below]);
		at = below;
	}
	put(q, at, number);
}

static void settle(struct gt_heap *q, uint32_t at, uint32_t number)
{
	if (at && is_before(q, number, q->items[(at - 1) / 2]))
		rise(q, at, number);
	else
		sink(q, at, number);
}

void gt_heap_set(struct gt_heap *q, uint32_t number, double key)
{
	q->key[number] = key;
	if (q->place[number] == NONE)
		rise(q, q->n++, number);
	else
		settle(q, q->place[number], number);
}

void gt_heap_remove(struct gt_heap *q, uint32_t number)
{
	uint32_t at = q->place[number], last;

	if (at == NONE)
		return;
	q->place[number] = NONE;
	last = q->items[--q->n];
	if (last != number)
		settle(q, at, last);
}
