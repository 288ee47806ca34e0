/* Dinic's algorithm, on arcs that are kept in pairs with their reverses. */
#include "search/graph/graph.h"

#include <stdlib.h>

enum { GT_MAXFLOW_END = UINT32_MAX };

/* Arc 2a is the a-th arc, 2a + 1 its reverse. */
struct gt_maxflow {
	uint32_t nnodes, narcs;
	uint32_t *head;  /* node -> first arc */
	uint32_t *at;    /* node -> arc to go on with */
	uint32_t *level; /* node -> distance from the source, or END */
	uint32_t *queue; /* nodes; also the arcs of the path */
	uint32_t *next, *to;
	int64_t *left; /* what an arc can still take */
	int64_t *capacity;
};

struct gt_maxflow *gt_maxflow_new(uint32_t nnodes, uint32_t max_arcs)
{
	struct gt_maxflow *flow = calloc(1, sizeof(*flow));
	size_t n = (size_t)nnodes + 1, m = (size_t)max_arcs + 1;

	if (!flow)
		return NULL;
	flow->nnodes = nnodes;
	flow->head = malloc(n * sizeof(*flow->head));
	flow->at = malloc(n * sizeof(*flow->at));
	flow->level = malloc(n * sizeof(*flow->level));
	flow->queue = malloc(n * sizeof(*flow->queue));
	flow->next = malloc(2 * m * sizeof(*flow->next));
	flow->to = malloc(2 * m * sizeof(*flow->to));
	flow->left = malloc(2 * m * sizeof(*flow->left));
	flow->capacity = malloc(m * sizeof(*flow->capacity));
	if (!flow->head || !flow->at || !flow->level || !flow->queue ||
	    !flow->next || !flow->to || !flow->left || !flow->capacity) {
		gt_maxflow_free(flow);
		return NULL;
	}
	for (uint32_t i = 0; i < nnodes; i++)
		flow->head[i] = flow->level[i] = GT_MAXFLOW_END;
	return flow;
}

void gt_maxflow_free(struct gt_maxflow *flow)
{
	if (!flow)
		return;
	free(flow->head);
	free(flow->at);
	free(flow->level);
	free(flow->queue);
	free(flow->next);
	free(flow->to);
	free(flow->left);
	free(flow->capacity);
	free(flow);
}

static void gt_flow_half(struct gt_maxflow *flow, uint32_t half, uint32_t from,
			 uint32_t to)
{
	flow->to[half] = to;
	flow->next[half] = flow->head[from];
	flow->head[from] = half;
}

uint32_t gt_maxflow_add(struct gt_maxflow *flow, uint32_t from, uint32_t to)
{
	uint32_t arc = flow->narcs++;

	gt_flow_half(flow, 2 * arc, from, to);
	gt_flow_half(flow, 2 * arc + 1, to, from);
	flow->capacity[arc] = 0;
	return arc;
}

void gt_maxflow_set(struct gt_maxflow *flow, uint32_t arc, int64_t capacity)
{
	flow->capacity[arc] = capacity;
}

/* Compute distances from the source; 1 while the sink can be reached. */
static int gt_maxflow_levels(struct gt_maxflow *flow, uint32_t source,
			     uint32_t sink)
{
	uint32_t begin = 0, end = 0;

	for (uint32_t i = 0; i < flow->nnodes; i++) {
		flow->level[i] = GT_MAXFLOW_END;
		flow->at[i] = flow->head[i];
	}
	flow->level[source] = 0;
	flow->queue[end++] = source;
	while (begin < end) {
		uint32_t u = flow->queue[begin++];

		for (uint32_t a = flow->head[u]; a != GT_MAXFLOW_END;
		     a = flow->next[a]) {
			uint32_t v = flow->to[a];

			if (!flow->left[a] || flow->level[v] != GT_MAXFLOW_END)
				continue;
			flow->level[v] = flow->level[u] + 1;
			flow->queue[end++] = v;
		}
	}
	return flow->level[sink] != GT_MAXFLOW_END;
}

/* The next usable arc of u one level on, or END. */
static uint32_t gt_maxflow_step(struct gt_maxflow *flow, uint32_t u)
{
	uint32_t a = flow->at[u];

	while (a != GT_MAXFLOW_END &&
	       (!flow->left[a] ||
		flow->level[flow->to[a]] != flow->level[u] + 1))
		a = flow->next[a];
	flow->at[u] = a;
	return a;
}

static int64_t gt_flow_push(struct gt_maxflow *flow, uint32_t len)
{
	const uint32_t *path = flow->queue;
	int64_t amount = GT_MAXFLOW_INF;

	for (uint32_t i = 0; i < len; i++)
		if (flow->left[path[i]] < amount)
			amount = flow->left[path[i]];
	for (uint32_t i = 0; i < len; i++) {
		flow->left[path[i]] -= amount;
		flow->left[path[i] ^ 1] += amount;
	}
	return amount;
}

/*
 * Push along one more path to the sink, found by walking and backing off; 0
 * when there is none.
 */
static int64_t gt_maxflow_augment(struct gt_maxflow *flow, uint32_t source,
				  uint32_t sink)
{
	uint32_t *path = flow->queue;
	uint32_t len = 0, u = source;

	while (u != sink) {
		uint32_t a = gt_maxflow_step(flow, u);

		if (a != GT_MAXFLOW_END) {
			path[len++] = a;
			u = flow->to[a];
		} else if (len) {
			a = path[--len];
			u = flow->to[a ^ 1];
			flow->at[u] = flow->next[a];
		} else {
			return 0;
		}
	}
	return gt_flow_push(flow, len);
}

int64_t gt_maxflow_run(struct gt_maxflow *flow, uint32_t source, uint32_t sink)
{
	int64_t total = 0, more;

	for (uint32_t a = 0; a < flow->narcs; a++) {
		flow->left[2 * a] = flow->capacity[a];
		flow->left[2 * a + 1] = 0;
	}
	while (gt_maxflow_levels(flow, source, sink))
		while ((more = gt_maxflow_augment(flow, source, sink)))
			total += more;
	return total;
}

int gt_maxflow_is_source_side(const struct gt_maxflow *flow, uint32_t node)
{
	return flow->level[node] != GT_MAXFLOW_END;
}
