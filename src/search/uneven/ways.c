/*
 * Ways are collected node by node, then from the network's cables; then the
 * lists that find them by vertex and by link are made.
 */
#include "search/uneven/ways.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"
#include "topo/graph/path.h"

/* What ways are made with. */
struct maker {
	struct gt_ways *ways;
	const struct gt_flat_cluster *flat;
	struct gt_arena *arena;
	uint32_t *port; /* vertex of the fabric -> 1 + its port's number */
	uint32_t nports;
	uint32_t *first_rank; /* by node; one more at the end */
	int failed;
};

static void *take(struct maker *m, size_t n, size_t size_bytes)
{
	void *array = gt_arena_array(m->arena, n, size_bytes);

	m->failed |= !array;
	return array;
}

/* The place that leaves by a port, or that it leads in by. */
static uint32_t place(const struct maker *m, uint32_t vertex, int in)
{
	const struct gt_flat_cluster *flat = m->flat;
	uint32_t first = flat->first_vertex[flat->cluster->nnodes];

	if (vertex >= first)
		return m->ways->nranks + 2 * m->nports + vertex - first;
	return m->ways->nranks + 2 * (m->port[vertex] - 1) + (uint32_t)in;
}

/* Append a way; of a pair the second one leads back. */
static void add(struct maker *m, const struct gt_way *way)
{
	if (m->failed)
		return;
	m->ways->ways[m->ways->nways++] = *way;
}

/* ---- within nodes ------------------------------------------------------ */

static uint32_t find_link(const struct gt_topo *topo, uint32_t from,
			  uint32_t to)
{
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);

		if (link->from == from && link->to == to &&
		    link->kind == GT_LINK_NVL)
			return i;
	}
	return GT_NONE;
}

/* The way of a path of the node's topology; 0 when it leads nowhere. */
static int of_path(struct maker *m, uint32_t node, uint32_t from, uint32_t to,
		   struct gt_way *way)
{
	const struct gt_cluster *cluster = m->flat->cluster;
	const struct gt_cluster_kind *kind = gt_cluster_kind_of(cluster, node);
	const struct gt_path *path =
		gt_paths_get(m->flat->paths[kind - cluster->kinds], from, to);
	uint32_t *links;

	if (path->kind >= GT_PATH_DIS || !path->nhops)
		return 0;
	links = take(m, path->nhops, sizeof(*links));
	if (!links)
		return 0;
	for (uint32_t i = 0; i < path->nhops; i++) {
		links[i] = m->flat->first_link[node] + path->links[i];
		m->ways->used[links[i]] = 1;
	}
	way->nlinks = path->nhops;
	way->links = links;
	way->charge = path->charge;
	return 1;
}

/* The way over one NVLink, to or from the switch that stands for a node. */
static int of_nvlink(struct maker *m, uint32_t node, uint32_t from, uint32_t to,
		     struct gt_way *way)
{
	const struct gt_topo *topo =
		gt_cluster_kind_of(m->flat->cluster, node)->topo;
	uint32_t link = find_link(topo, from, to), *links;

	if (link == GT_NONE)
		return 0;
	links = take(m, 1, sizeof(*links));
	if (!links)
		return 0;
	*links = m->flat->first_link[node] + link;
	m->ways->used[*links] = 1;
	way->nlinks = 1;
	way->links = links;
	way->charge = GT_RAT(1, 1);
	return 1;
}

static void join_ranks(struct maker *m, uint32_t node)
{
	const uint32_t *gpu = m->flat->gpu_of;
	uint32_t end = m->first_rank[node + 1];

	for (uint32_t u = m->first_rank[node]; u < end; u++)
		for (uint32_t v = u + 1; v < end; v++) {
			struct gt_way there = {.from = u, .to = v};
			struct gt_way back = {.from = v, .to = u};

			if (!of_path(m, node, gpu[u], gpu[v], &there) ||
			    !of_path(m, node, gpu[v], gpu[u], &back))
				continue;
			add(m, &there);
			add(m, &back);
		}
}

static const struct gt_path *path_to(const struct maker *m, uint32_t rank,
				     uint32_t device)
{
	const struct gt_cluster *cluster = m->flat->cluster;
	const struct gt_cluster_kind *kind =
		gt_cluster_kind_of(cluster, m->flat->node_of[rank]);

	return gt_paths_get(m->flat->paths[kind - cluster->kinds],
			    m->flat->gpu_of[rank], device);
}

/*
 * Is no GPU of the node nearer to the port, or no port nearer to the GPU?
 * Others use it through a GPU that is: that relays, as ranks do, and leaves PCI
 * and CPUs in peace.
 */
static int is_near(const struct maker *m, uint32_t rank, uint32_t device)
{
	uint32_t node = m->flat->node_of[rank];
	const struct gt_cluster_ports *ports =
		&gt_cluster_kind_of(m->flat->cluster, node)
			 ->ports[GT_FABRIC_NET];
	enum gt_path_kind kind = path_to(m, rank, device)->kind;
	int nearer[2] = {0, 0};

	for (uint32_t u = m->first_rank[node]; u < m->first_rank[node + 1]; u++)
		nearer[0] |= path_to(m, u, device)->kind < kind;
	for (uint32_t i = 0; i < ports->n; i++)
		nearer[1] |=
			path_to(m, rank, ports->list[i].device)->kind < kind;
	return !nearer[0] || !nearer[1];
}

/* Is a GPU of the node nearer to both the port and the GPU than these are? */
static int has_relay(const struct maker *m, uint32_t rank, uint32_t device)
{
	enum gt_path_kind kind = path_to(m, rank, device)->kind;
	uint32_t node = m->flat->node_of[rank], found = 0;

	for (uint32_t u = m->first_rank[node]; u < m->first_rank[node + 1]; u++)
		found |= u != rank && path_to(m, u, device)->kind < kind &&
			 path_to(m, rank, m->flat->gpu_of[u])->kind < kind;
	return (int)found;
}

static void join_port(struct maker *m, enum gt_fabric_kind over, uint32_t node,
		      uint32_t port)
{
	int (*const make)(struct maker *, uint32_t, uint32_t, uint32_t,
			  struct gt_way *) =
		over == GT_FABRIC_NVLINK ? of_nvlink : of_path;
	uint32_t vertex = gt_flat_port(m->flat, over, node, port);
	uint32_t device = vertex - m->flat->first_vertex[node];
	const uint32_t *gpu = m->flat->gpu_of;

	for (uint32_t u = m->first_rank[node]; u < m->first_rank[node + 1];
	     u++) {
		struct gt_way there = {.from = u, .to = place(m, vertex, 0)};
		struct gt_way back = {.from = place(m, vertex, 1), .to = u};

		if (!make(m, node, gpu[u], device, &there) ||
		    !make(m, node, device, gpu[u], &back) ||
		    (over == GT_FABRIC_NET && !is_near(m, u, device)))
			continue;
		there.has_relay = back.has_relay =
			over == GT_FABRIC_NET && has_relay(m, u, device);
		add(m, &there);
		add(m, &back);
	}
}

/* The ports of a node in use; over NVLink one stands for all. */
static uint32_t count_ports(const struct gt_flat_cluster *flat,
			    enum gt_fabric_kind over, uint32_t node)
{
	uint32_t n = gt_cluster_kind_of(flat->cluster, node)->ports[over].n;

	if (over == GT_FABRIC_NVLINK)
		return n && flat->cluster->fabrics[over].nlevels;
	return n;
}

static void join_node(struct maker *m, uint32_t node)
{
	join_ranks(m, node);
	for (int over = 0; over < GT_NFABRICKINDS; over++) {
		enum gt_fabric_kind kind = (enum gt_fabric_kind)over;

		for (uint32_t i = 0; i < count_ports(m->flat, kind, node); i++)
			join_port(m, kind, node, i);
	}
}

/* ---- between nodes ----------------------------------------------------- */

/* Cables are pairs of links, one each way, behind those of all nodes. */
static void join_cables(struct maker *m)
{
	const struct gt_fabric *f = &m->flat->fabric;
	uint32_t *links = take(m, f->nlinks, sizeof(*links));

	for (uint32_t i = m->flat->first_net; links && i < f->nlinks; i++) {
		links[i] = i;
		m->ways->used[i] = 1;
		add(m, &(struct gt_way){.from = place(m, f->links[i].from, 0),
					.to = place(m, f->links[i].to, 1),
					.nlinks = 1,
					.links = &links[i],
					.charge = GT_RAT(1, 1)});
	}
}

/* ---- numbers, and room ------------------------------------------------- */

/* Number ports and find each node's ranks; count the ways that there can be. */
static void number(struct maker *m)
{
	const struct gt_flat_cluster *flat = m->flat;
	uint32_t rank = 0;

	for (uint32_t node = 0; node < flat->cluster->nnodes; node++) {
		uint32_t ports = 0, ranks;

		m->first_rank[node] = rank;
		while (rank < flat->fabric.nranks &&
		       flat->node_of[rank] == node)
			rank++;
		ranks = rank - m->first_rank[node];
		for (int over = 0; over < GT_NFABRICKINDS; over++) {
			enum gt_fabric_kind kind = (enum gt_fabric_kind)over;
			uint32_t n = count_ports(flat, kind, node);

			for (uint32_t i = 0; i < n; i++)
				m->port[gt_flat_port(flat, kind, node, i)] =
					++m->nports;
			ports += n;
		}
		m->ways->room += ranks * (ranks + 2 * ports);
	}
	m->first_rank[flat->cluster->nnodes] = rank;
	m->ways->room += flat->fabric.nlinks - flat->first_net;
}

static void make_ways(struct maker *m)
{
	const struct gt_flat_cluster *flat = m->flat;
	uint32_t nnodes = flat->cluster->nnodes;
	struct gt_ways *w = m->ways;

	m->port = take(m, flat->fabric.nnodes, sizeof(*m->port));
	m->first_rank = take(m, (size_t)nnodes + 1, sizeof(*m->first_rank));
	if (m->failed)
		return;
	number(m);
	w->ways = take(m, w->room, sizeof(*w->ways));
	w->used = take(m, flat->fabric.nlinks, 1);
	for (uint32_t node = 0; node < nnodes && !m->failed; node++)
		join_node(m, node);
	if (!m->failed)
		join_cables(m);
	w->nvertices = w->nranks + 2 * m->nports + flat->fabric.nnodes -
		       flat->first_vertex[nnodes];
}

/* ---- what is found by vertex and by link ------------------------------- */

/* What a list of pairs is filled in from: pair i is (key[i], value[i]). */
struct pairs {
	uint32_t n;
	uint32_t *key, *value;
};

static void sort_pairs(struct maker *m, const struct pairs *pairs,
		       uint32_t nkeys, struct gt_ways_lists *lists)
{
	lists->first = take(m, (size_t)nkeys + 2, sizeof(*lists->first));
	lists->list = take(m, pairs->n, sizeof(*lists->list));
	if (m->failed)
		return;
	/* Counts stand two places on, and become places one on. */
	for (uint32_t i = 0; i < pairs->n; i++)
		lists->first[pairs->key[i] + 2]++;
	for (uint32_t k = 0; k < nkeys; k++)
		lists->first[k + 2] += lists->first[k + 1];
	for (uint32_t i = 0; i < pairs->n; i++)
		lists->list[lists->first[pairs->key[i] + 1]++] =
			pairs->value[i];
}

/*
 * Would bytes that cross the way be charged on PCI, though a GPU could relay
 * them?  The charge holds at the other end of their hop as well, where it may
 * be PCI that limits.
 */
static int is_dear(const struct gt_ways *w, uint32_t way, enum gt_coll coll)
{
	const int goes[2] = {gt_coll_goes_down(coll), gt_coll_goes_up(coll)};
	int dear = 0;

	for (uint32_t back = 0; back < 2; back++)
		dear |= goes[back] && gt_rat_cmp(w->ways[way ^ back].charge,
						 GT_RAT(1, 1)) > 0;
	return dear && w->ways[way].has_relay;
}

static void by_vertex(struct maker *m, enum gt_coll coll, int dear)
{
	struct gt_ways *w = m->ways;
	struct pairs pairs = {.n = 0};

	pairs.key = take(m, w->nways, sizeof(*pairs.key));
	pairs.value = take(m, w->nways, sizeof(*pairs.value));
	for (int in = 0; in < 2 && !m->failed; in++) {
		pairs.n = 0;
		for (uint32_t i = 0; i < w->nways; i++) {
			if (!dear && is_dear(w, i, coll)) {
				w->ndear++;
				continue;
			}
			pairs.key[pairs.n] =
				in ? w->ways[i].to : w->ways[i].from;
			pairs.value[pairs.n++] = i;
		}
		sort_pairs(m, &pairs, w->nvertices, in ? &w->in : &w->out);
	}
}

/* Append the links of a way, as what `user` loads in one direction. */
static void use_links(struct maker *m, uint32_t user, int back,
		      struct pairs *pairs)
{
	struct gt_ways *w = m->ways;
	const struct gt_way *way = &w->ways[user ^ (uint32_t)back];

	for (uint32_t k = 0; k < way->nlinks; k++) {
		struct gt_ways_use *use = &w->loads[pairs->n];
		int charged = m->flat->fabric.links[way->links[k]].charged;

		use->load = charged ? gt_rat_double(way->charge) : 1;
		use->charged = !charged ? 0 : back ? 2 : 1;
		pairs->key[pairs->n] = way->links[k];
		pairs->value[pairs->n++] = user;
	}
}

/* Write the links that each way loads; a way back is that of its pair. */
static void by_link(struct maker *m, enum gt_coll coll)
{
	struct gt_ways *w = m->ways;
	int goes[2] = {gt_coll_goes_down(coll), gt_coll_goes_up(coll)};
	struct pairs pairs = {.n = 0};
	size_t room = 0;

	for (uint32_t i = 0; i < w->nways; i++)
		room += 2 * (size_t)w->ways[i].nlinks;
	w->uses.first = take(m, (size_t)w->nways + 1, sizeof(uint32_t));
	w->uses.list = pairs.key = take(m, room, sizeof(uint32_t));
	pairs.value = take(m, room, sizeof(uint32_t));
	w->loads = take(m, room, sizeof(*w->loads));
	if (m->failed)
		return;
	for (uint32_t i = 0; i < w->nways; i++) {
		for (int back = 0; back < 2; back++)
			if (goes[back])
				use_links(m, i, back, &pairs);
		w->uses.first[i + 1] = pairs.n;
	}
	sort_pairs(m, &pairs, m->flat->fabric.nlinks, &w->users);
}

int gt_ways_new(const struct gt_flat_cluster *flat, enum gt_coll coll, int dear,
		struct gt_arena *arena, struct gt_ways **ways,
		struct gt_err *err)
{
	struct maker m = {.flat = flat, .arena = arena};

	*ways = m.ways = take(&m, 1, sizeof(**ways));
	if (m.failed)
		return gt_err_nomem(err);
	m.ways->flat = flat;
	m.ways->nranks = flat->fabric.nranks;
	make_ways(&m);
	if (!m.failed)
		by_vertex(&m, coll, dear);
	if (!m.failed)
		by_link(&m, coll);
	return m.failed ? gt_err_nomem(err) : GT_OK;
}
