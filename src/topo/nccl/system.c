/*
 * Makes what NCCL knows of a machine: it fixes routes, sends those that may not
 * go peer to peer through a processor, and sums up kinds and speeds.
 */
#include "topo/nccl/system.h"

#include "base/arena.h"
#include "base/err.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"
#include "topo/nccl/order.h"

struct gt_nccl_system {
	struct gt_arena *arena;
	const struct gt_topo *topo;
	struct gt_nccl_links links;
	struct gt_nccl_facts facts;
	uint32_t *gpus;
	struct gt_nccl_path *paths; /* from * ngpus + to */
};

/*
 * While it is made: the routes of all nodes to each GPU, and to each processor.
 */
struct gt_nccl_maker {
	struct gt_nccl_system *system;
	struct gt_arena *arena;
	uint32_t nnodes, ncpus;
	int net_intra;
	uint32_t *order, *places; /* of all nodes; see order.h */
	uint32_t *cpus;
	struct gt_nccl_route *to_gpu, *to_cpu; /* target * nnodes + node */
	/* by GPU: of the fastest port that it reaches over PCI switches */
	int64_t *port_kbs;
};

/* Lists the nodes of a kind in NCCL's order. */
static uint32_t gt_nccl_list(const struct gt_nccl_maker *maker,
			     enum gt_node_kind kind, uint32_t *list)
{
	const struct gt_topo *topo = maker->system->topo;
	uint32_t n = 0;

	for (uint32_t i = 0; i < maker->nnodes; i++)
		if (gt_topo_node(topo, maker->order[i])->kind == kind)
			list[n++] = maker->order[i];
	return n;
}

static int gt_nccl_spread_all(struct gt_nccl_maker *maker,
			      const uint32_t *targets, uint32_t n,
			      struct gt_nccl_route **routes, struct gt_err *err)
{
	int rc = GT_OK;

	*routes = gt_arena_array(maker->arena, (size_t)n * maker->nnodes,
				 sizeof(**routes));
	if (!*routes)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = gt_nccl_spread(&maker->system->links, targets[i],
				    maker->arena,
				    *routes + (size_t)i * maker->nnodes, err);
	return rc;
}

static const struct gt_nccl_route *gt_nccl_to_gpu(
	const struct gt_nccl_maker *maker, uint32_t node, uint32_t gpu)
{
	return &maker->to_gpu[(size_t)gpu * maker->nnodes + node];
}

static const struct gt_nccl_route *gt_nccl_to_cpu(
	const struct gt_nccl_maker *maker, uint32_t node, uint32_t cpu)
{
	return &maker->to_cpu[(size_t)cpu * maker->nnodes + node];
}

/*
 * Returns the processor that is closest to a GPU: by the widest route, then by
 * the best kind, then by the fewest links.
 */
static uint32_t gt_nccl_local_cpu(const struct gt_nccl_maker *maker,
				  uint32_t node)
{
	const struct gt_nccl_route *best, *other;
	uint32_t cpu = 0;

	for (uint32_t i = 1; i < maker->ncpus; i++) {
		best = gt_nccl_to_cpu(maker, node, cpu);
		other = gt_nccl_to_cpu(maker, node, i);
		if (other->kbs > best->kbs ||
		    (other->kbs == best->kbs && (other->kind < best->kind ||
						 (other->kind == best->kind &&
						  other->nhops < best->nhops))))
			cpu = i;
	}
	return cpu;
}

/* Joins two routes into a path; `rest` may be NULL. */
static int gt_nccl_path_join(struct gt_nccl_system *system,
			     const struct gt_nccl_route *start,
			     const struct gt_nccl_route *rest,
			     struct gt_nccl_path *path)
{
	uint32_t n = start->nhops + (rest ? rest->nhops : 0), *links;
	const struct gt_nccl_step *step;

	links = gt_arena_array(system->arena, n, sizeof(*links));
	if (!links)
		return 0;
	path->links = links;
	for (step = start->steps; step; step = step->rest)
		links[path->nlinks++] = step->link;
	for (step = rest ? rest->steps : NULL; step; step = step->rest)
		links[path->nlinks++] = step->link;
	path->kind = start->kind;
	path->kbs = start->kbs;
	if (!rest)
		return 1;
	path->kbs = rest->kbs < path->kbs ? rest->kbs : path->kbs;
	path->kind = rest->kind > path->kind ? rest->kind : path->kind;
	if (path->kind == GT_PATH_PHB &&
	    (start->kind == GT_PATH_C2C || rest->kind == GT_PATH_C2C))
		path->kind = GT_PATH_P2C;
	return 1;
}

/*
 * Does a path between GPUs pass the host bridge of a processor that charges for
 * it?
 */
static int gt_nccl_path_overhead(const struct gt_nccl_system *system,
				 const struct gt_nccl_path *path)
{
	const struct gt_topo *topo = system->topo;
	uint32_t node;

	for (uint32_t i = 0; path->kind == GT_PATH_PHB && i < path->nlinks;
	     i++) {
		node = gt_topo_link(topo, path->links[i])->to;
		if (gt_topo_node(topo, node)->make == GT_CPU_INTEL)
			return 1;
	}
	return 0;
}

/* Returns the number of a GPU of the topology, in order of dev, by its node. */
static uint32_t gt_nccl_number(const struct gt_topo *topo, uint32_t node)
{
	uint32_t i = 0;

	while (gt_topo_gpu(topo, i) != node)
		i++;
	return i;
}

/*
 * Does the driver give access from each GPU of the route to the next one, both
 * ways?  A GPU may relay.
 */
static int gt_nccl_has_access(const struct gt_topo *topo, uint32_t start,
			      const struct gt_nccl_route *route)
{
	uint32_t here = gt_nccl_number(topo, start), next;

	for (const struct gt_nccl_step *step = route->steps; step;
	     step = step->rest) {
		uint32_t node = gt_topo_link(topo, step->link)->to;

		if (gt_topo_node(topo, node)->kind != GT_NODE_GPU)
			continue;
		next = gt_nccl_number(topo, node);
		if (!gt_topo_may_access(topo, here, next) ||
		    !gt_topo_may_access(topo, next, here))
			return 0;
		here = next;
	}
	return 1;
}

/*
 * Sets the path between two GPUs: the fixed route if it may be used peer to
 * peer, else one through the processor near the second.
 */
static int gt_nccl_path_set(struct gt_nccl_maker *maker, uint32_t from,
			    uint32_t to, struct gt_err *err)
{
	struct gt_nccl_system *system = maker->system;
	struct gt_nccl_facts *facts = &system->facts;
	uint32_t start = system->gpus[from], end = system->gpus[to], cpu;
	const struct gt_nccl_route *route = gt_nccl_to_gpu(maker, start, to);
	struct gt_nccl_path *path = &system->paths[from * facts->ngpus + to];
	enum gt_path_kind limit =
		facts->amd && facts->ngpus <= 2 ? GT_PATH_SYS : GT_PATH_PXB;
	const struct gt_nccl_route *rest = NULL;
	int denied = !gt_nccl_has_access(system->topo, start, route);

	facts->ndenied += (uint32_t)denied;
	facts->nrefused += denied && route->kind <= GT_PATH_NVB;
	if (route->kind > limit || denied) {
		cpu = gt_nccl_local_cpu(maker, end);
		route = gt_nccl_to_cpu(maker, start, cpu);
		rest = gt_nccl_to_gpu(maker, maker->cpus[cpu], to);
	} else {
		facts->ndirect += from != to;
	}
	if (!gt_nccl_path_join(system, route, rest, path))
		return gt_err_nomem(err);
	/* A GPU is two nodes to NCCL: itself and its PCI function. */
	path->nhops = path->nlinks ? path->nlinks + 2 : 0;
	path->overhead = gt_nccl_path_overhead(system, path);
	return GT_OK;
}

/*
 * Finds how fast each GPU reaches a port without passing a processor; the
 * routes to one port are kept only as long as they are looked at.
 */
static int gt_nccl_ports(struct gt_nccl_maker *maker, struct gt_err *err)
{
	const struct gt_nccl_system *system = maker->system;
	struct gt_nccl_route *routes;
	const struct gt_nccl_route *route;
	struct gt_arena *arena;
	int rc = GT_OK;

	for (uint32_t p = 0; p < system->facts.nports && !rc; p++) {
		arena = gt_arena_new();
		routes = arena ? gt_arena_array(arena, maker->nnodes,
						sizeof(*routes))
			       : NULL;
		rc = routes ? gt_nccl_spread(&system->links,
					     gt_topo_net(system->topo, p),
					     arena, routes, err)
			    : gt_err_nomem(err);
		for (uint32_t i = 0; i < system->facts.ngpus && !rc; i++) {
			route = &routes[system->gpus[i]];
			if (route->kind <= GT_PATH_PXB &&
			    route->kbs > maker->port_kbs[i])
				maker->port_kbs[i] = route->kbs;
		}
		gt_arena_free(arena);
	}
	return rc;
}

/*
 * Marks what NCCL would rather send over the network: pairs without a relay
 * whose two GPUs both have a port that is faster than their path.
 */
static void gt_nccl_mark_net(struct gt_nccl_maker *maker)
{
	struct gt_nccl_system *system = maker->system;
	uint32_t n = system->facts.ngpus;
	struct gt_nccl_path *path;

	for (uint32_t i = 0; i < n * n; i++) {
		path = &system->paths[i];
		if (i / n == i % n || path->kind == GT_PATH_NVB ||
		    path->kind == GT_PATH_DIS ||
		    maker->port_kbs[i / n] <= path->kbs ||
		    maker->port_kbs[i % n] <= path->kbs)
			continue;
		path->kind = GT_PATH_NET;
		system->facts.nnet++;
	}
}

/*
 * Joins GPUs that reach each other otherwise, each with those before it, and
 * finds the first that is not with GPU 0.
 */
static uint32_t gt_nccl_apart(const struct gt_nccl_system *system)
{
	uint32_t n = system->facts.ngpus, with[GT_NCCL_MAX_GPUS];

	for (uint32_t i = 0; i < n; i++) {
		with[i] = i;
		for (uint32_t j = 0; j < i; j++)
			if (system->paths[i * n + j].kind < GT_PATH_NET &&
			    with[j] < with[i])
				with[i] = with[j];
		if (with[i])
			return i;
	}
	return GT_NONE;
}

static int64_t gt_nccl_gpu_total(const struct gt_nccl_links *links,
				 uint32_t node)
{
	int64_t nvlink = 0, pci = 0;
	uint32_t link;

	for (uint32_t i = links->first[node]; i < links->first[node + 1]; i++) {
		link = links->links[i];
		if (gt_topo_link(links->topo, link)->kind == GT_LINK_NVL)
			nvlink += links->kbs[link];
		if (gt_topo_link(links->topo, link)->kind == GT_LINK_PCI)
			pci = links->kbs[link];
	}
	return nvlink > pci ? nvlink : pci;
}

/*
 * Finds whether NVLinks make exactly two islands of several GPUs.  NCCL looks
 * at neighbours only once, in order, and so do we.
 */
static int gt_nccl_is_split(const struct gt_nccl_system *system)
{
	uint32_t n = system->facts.ngpus, islands = 0;
	uint32_t of[GT_NCCL_MAX_GPUS], size[GT_NCCL_MAX_GPUS] = {0};

	for (uint32_t i = 0; i < n; i++)
		of[i] = i;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++)
			if (system->paths[i * n + j].kind == GT_PATH_NVL)
				of[j] = of[i];
	for (uint32_t i = 0; i < n; i++)
		size[of[i]]++;
	for (uint32_t i = 0; i < n; i++)
		islands += size[i] > 1;
	return islands == 2;
}

static void gt_nccl_sum_up(struct gt_nccl_maker *maker)
{
	struct gt_nccl_system *system = maker->system;
	struct gt_nccl_facts *facts = &system->facts;
	const struct gt_nccl_route *route;
	enum gt_path_kind kind;
	int64_t total;

	facts->min_kind = facts->ngpus > 1 ? GT_PATH_SYS : GT_PATH_LOC;
	facts->max_kind = facts->ngpus > 1 ? GT_PATH_LOC : GT_PATH_SYS;
	for (uint32_t i = 0; i < facts->ngpus; i++) {
		total = gt_nccl_gpu_total(&system->links, system->gpus[i]);
		if (total > facts->total_kbs)
			facts->total_kbs = total;
		for (uint32_t j = 0; j < facts->ngpus; j++) {
			if (i == j)
				continue;
			route = gt_nccl_to_gpu(maker, system->gpus[i], j);
			if (route->nhops && route->kbs > facts->max_kbs)
				facts->max_kbs = route->kbs;
			kind = system->paths[i * facts->ngpus + j].kind;
			if (kind < facts->min_kind)
				facts->min_kind = kind;
			if (kind > facts->max_kind)
				facts->max_kind = kind;
		}
	}
	if (facts->ngpus == 1)
		facts->max_kbs = facts->total_kbs = GT_NCCL_LOCAL_KBS;
	facts->split = gt_nccl_is_split(system);
	facts->apart = gt_nccl_apart(system);
}

static int gt_nccl_system_make(struct gt_nccl_maker *maker, struct gt_err *err)
{
	struct gt_nccl_system *system = maker->system;
	struct gt_nccl_facts *facts = &system->facts;
	uint32_t n = facts->ngpus;
	int rc = gt_nccl_links_new(system->topo, maker->places, system->arena,
				   &system->links, err);

	if (!rc)
		rc = gt_nccl_spread_all(maker, system->gpus, n, &maker->to_gpu,
					err);
	if (!rc)
		rc = gt_nccl_spread_all(maker, maker->cpus, maker->ncpus,
					&maker->to_cpu, err);
	if (!rc && maker->net_intra)
		rc = gt_nccl_ports(maker, err);
	for (uint32_t i = 0; i < n * n && !rc; i++)
		rc = gt_nccl_path_set(maker, i / n, i % n, err);
	if (rc)
		return rc;
	gt_nccl_mark_net(maker);
	gt_nccl_sum_up(maker);
	return GT_OK;
}

/* Lists the devices, and what the topology says of the machine as a whole. */
static int gt_nccl_system_list(struct gt_nccl_maker *maker, struct gt_err *err)
{
	struct gt_nccl_system *system = maker->system;
	const struct gt_topo *topo = system->topo;
	struct gt_nccl_facts *facts = &system->facts;
	const struct gt_node *node;
	int rc = gt_nccl_order_new(topo, maker->arena, &maker->order,
				   &maker->places, err);

	if (rc)
		return rc;
	maker->nnodes = gt_topo_nnodes(topo);
	maker->cpus = gt_arena_array(maker->arena, maker->nnodes,
				     sizeof(*maker->cpus));
	system->gpus = gt_arena_array(system->arena, maker->nnodes,
				      sizeof(*system->gpus));
	if (!maker->cpus || !system->gpus)
		return gt_err_nomem(err);
	maker->ncpus = gt_nccl_list(maker, GT_NODE_CPU, maker->cpus);
	facts->ngpus = gt_nccl_list(maker, GT_NODE_GPU, system->gpus);
	facts->nports = gt_topo_nnets(topo);
	facts->links = &system->links;
	facts->amd = gt_topo_node(topo, maker->cpus[0])->make == GT_CPU_AMD;
	facts->sm = INT32_MAX;
	for (uint32_t i = 0; i < maker->nnodes; i++) {
		node = gt_topo_node(topo, i);
		facts->switches |= node->kind == GT_NODE_NVS;
		if (node->kind == GT_NODE_GPU && node->sm < facts->sm)
			facts->sm = node->sm;
	}
	system->paths = gt_arena_array(system->arena,
				       (size_t)facts->ngpus * facts->ngpus,
				       sizeof(*system->paths));
	maker->port_kbs = gt_arena_array(maker->arena, facts->ngpus,
					 sizeof(*maker->port_kbs));
	return system->paths && maker->port_kbs ? GT_OK : gt_err_nomem(err);
}

int gt_nccl_system_new(const struct gt_topo *topo, int net_intra,
		       struct gt_nccl_system **out, struct gt_err *err)
{
	struct gt_nccl_maker maker = {.net_intra = net_intra};
	struct gt_arena *arena;
	int rc = gt_topo_need_gpus(topo, err);

	if (rc)
		return rc;
	if (gt_topo_ngpus(topo) > GT_NCCL_MAX_GPUS)
		return gt_err_set(err, GT_EINPUT, gt_topo_source(topo),
				  "more than %d GPUs in one machine",
				  GT_NCCL_MAX_GPUS);
	arena = gt_arena_new();
	maker.arena = gt_arena_new();
	if (arena)
		maker.system = gt_arena_alloc(arena, sizeof(*maker.system));
	if (!maker.arena || !maker.system) {
		rc = gt_err_nomem(err);
	} else {
		maker.system->arena = arena;
		maker.system->topo = topo;
		rc = gt_nccl_system_list(&maker, err);
	}
	if (!rc)
		rc = gt_nccl_system_make(&maker, err);
	gt_arena_free(maker.arena);
	if (rc)
		gt_arena_free(arena);
	else
		*out = maker.system;
	return rc;
}

void gt_nccl_system_free(struct gt_nccl_system *system)
{
	if (system)
		gt_arena_free(system->arena);
}

const struct gt_nccl_facts *gt_nccl_system_facts(
	const struct gt_nccl_system *system)
{
	return &system->facts;
}

uint32_t gt_nccl_system_gpu(const struct gt_nccl_system *system, uint32_t i)
{
	return system->gpus[i];
}

const struct gt_nccl_path *gt_nccl_system_path(
	const struct gt_nccl_system *system, uint32_t from, uint32_t to)
{
	return &system->paths[from * system->facts.ngpus + to];
}
