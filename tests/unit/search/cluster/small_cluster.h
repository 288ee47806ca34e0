/*
 * Clusters for tests, made by hand: equal nodes below one switch.
 */
#ifndef GT_TESTS_UNIT_SEARCH_CLUSTER_SMALL_CLUSTER_H
#define GT_TESTS_UNIT_SEARCH_CLUSTER_SMALL_CLUSTER_H

#include "base/arena.h"
#include "search/cluster/quotient.h"
#include "search/problem/fabric.h"
#include "unit/search/fabrics.h"

/*
 * Each node has `gpus` GPUs on a crossbar (NVSwitch), with `nvl` GB/s each,
 * and a port of `net` GB/s for every `shared` of them.
 */
struct small_cluster {
	uint32_t nodes, gpus, shared;
	struct gt_rat nvl, net;
};

static inline struct gt_quotient *small_cluster_quotient(
	struct gt_arena *arena, const struct small_cluster *c)
{
	uint32_t n = c->gpus, nports = n / c->shared;
	struct gt_fabric *f = gt_fabric_bare(arena, n, 1 + 2 * nports);
	struct gt_quotient *q = gt_arena_alloc(arena, sizeof(*q));
	struct gt_fabric_route *out, *in;
	uint32_t *ports = gt_arena_array(arena, nports, sizeof(*ports));
	uint32_t up[128], down[128], to[128], from[128], leave[128], enter[128];

	out = gt_arena_array(arena, n * nports, sizeof(*out));
	in = gt_arena_array(arena, n * nports, sizeof(*in));
	q->cluster.ports =
		gt_arena_array(arena, nports, sizeof(*q->cluster.ports));
	q->cluster.levels =
		gt_arena_array(arena, 1, sizeof(*q->cluster.levels));
	for (uint32_t i = 0; i < nports; i++) {
		uint32_t card = n + 1 + 2 * i;

		ports[i] = card + 1;
		leave[i] = gt_fabric_link(f, card, card + 1, c->net);
		enter[i] = gt_fabric_link(f, card + 1, card, c->net);
		q->cluster.ports[i].rail = i;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t card = n + 1 + 2 * (i / c->shared);

		up[i] = gt_fabric_link(f, i, n, c->nvl);
		down[i] = gt_fabric_link(f, n, i, c->nvl);
		to[i] = gt_fabric_link(f, i, card, GT_RAT(5000, 1));
		from[i] = gt_fabric_link(f, card, i, GT_RAT(5000, 1));
	}
	for (uint32_t i = 0; i < n * n; i++) {
		const uint32_t links[2] = {up[i / n], down[i % n]};

		if (i / n != i % n)
			gt_fabric_route(f, arena, i / n, i % n, links, 2);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t p = i / c->shared;
		uint32_t *links = gt_arena_array(arena, 4, sizeof(*links));

		links[0] = to[i];
		links[1] = leave[p];
		links[2] = enter[p];
		links[3] = from[i];
		out[i * nports + p] = (struct gt_fabric_route){
			.charge = GT_RAT(1, 1), .nlinks = 2, .links = links};
		in[i * nports + p] =
			(struct gt_fabric_route){.charge = GT_RAT(1, 1),
						 .nlinks = 2,
						 .links = links + 2};
	}
	q->fabric = f;
	q->ports = ports;
	q->out = out;
	q->in = in;
	q->cluster.nnodes = c->nodes;
	q->cluster.nlocal = n;
	q->cluster.nports = q->cluster.nrails = nports;
	q->cluster.nlevels = 1;
	q->cluster.levels[0].nodes = c->nodes;
	q->cluster.levels[0].gbs = GT_RAT(0, 1);
	return q;
}

static inline void check_rat(struct gt_rat got, struct gt_rat want,
			     const char *what)
{
	char a[GT_RAT_TEXT_MAX], b[GT_RAT_TEXT_MAX];

	if (gt_rat_cmp(got, want))
		fail_msg("%s: %s, not %s", what, gt_rat_print(got, a),
			 gt_rat_print(want, b));
}

#endif
