/* Looks up a plan's devices, links and rates in a topology. */
#include "cli/verify/verify.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/common/apart.h"
#include "plan/check/fault.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/edit.h"
#include "topo/graph/name.h"
#include "topo/graph/part.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

/* The name of a link or a GPU, and its index. */
struct named {
	const char *name;
	uint32_t index;
};

struct comparison {
	const struct gt_plan *plan;
	const struct gt_topo *topo;
	const struct gt_paths *paths;
	uint32_t *links; /* of the topology, by the plan's index */
	uint32_t *gpus;  /* nodes, by rank */
};

static int compare_names(const void *a, const void *b)
{
	const struct named *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static const struct named *find_name(const struct named *names, uint32_t n,
				     const char *name)
{
	struct named key = {.name = name ? name : ""};

	return bsearch(&key, names, n, sizeof(key), compare_names);
}

static int compare_digest(const struct comparison *m, struct gt_err *err)
{
	const char *digest = gt_topo_digest(m->topo);
	const char *shape = gt_topo_shape_digest(m->topo);
	int same_shape;

	if (!m->plan->digest || !strcmp(m->plan->digest, digest))
		return GT_OK;
	same_shape =
		m->plan->shape_digest && !strcmp(m->plan->shape_digest, shape);
	return gt_plan_wrong(m->plan, gt_plan_at("topology.digest"), err,
			     same_shape ? "'%s' is an equal machine with other "
					  "bus ids than '%s'"
					: "'%s' is another machine than '%s'",
			     m->plan->digest, gt_topo_source(m->topo));
}

/* Does the link end where a cluster's plan has a port that is no device? */
static int ends_at_port(const struct comparison *m, const char *id)
{
	const struct gt_plan_cluster *cluster = m->plan->cluster;

	for (uint32_t i = 0; cluster && i < cluster->nports; i++) {
		const char *port = cluster->ports[i].id;
		size_t len = strlen(port), all = strlen(id);

		if (gt_topo_find(m->topo, port) != GT_NONE || all <= len)
			continue;
		if ((id[len] == '>' && !strncmp(id, port, len)) ||
		    (id[all - len - 1] == '>' && !strcmp(id + all - len, port)))
			return 1;
	}
	return 0;
}

/* Only machines whose GPUs lack peer access have links into memory. */
static int lacks_link(const struct comparison *m, uint32_t i,
		      struct gt_err *err)
{
	const struct gt_plan_link *link = &m->plan->links[i];
	struct gt_plan_at at = gt_plan_at("links[%u]", i);

	if (link->kind && !strcmp(link->kind, gt_link_kind_name(GT_LINK_MEM)))
		return gt_plan_wrong(m->plan, at, err,
				     "'%s' is for GPUs without peer access, "
				     "and those of '%s' have it; if the search "
				     "had --p2p, give it here as well",
				     link->id, gt_topo_source(m->topo));
	return gt_plan_wrong(m->plan, at, err, "the machine has no link '%s'",
			     link->id);
}

static int compare_link(const struct comparison *m, uint32_t i,
			const struct named *found, struct gt_err *err)
{
	const struct gt_plan_link *link = &m->plan->links[i];
	struct gt_plan_at at = gt_plan_at("links[%u]", i);
	const struct gt_link *real;
	char text[2][GT_RAT_TEXT_MAX];

	m->links[i] = GT_NONE;
	if (!found && ends_at_port(m, link->id))
		return GT_OK;
	if (!found)
		return lacks_link(m, i, err);
	real = gt_topo_link(m->topo, found->index);
	if (link->kind && strcmp(link->kind, gt_link_kind_name(real->kind)))
		return gt_plan_wrong(m->plan, at, err,
				     "'%s' is of kind '%s', not '%s'", link->id,
				     gt_link_kind_name(real->kind), link->kind);
	if (gt_rat_cmp(link->gbs, real->gbs))
		return gt_plan_wrong(m->plan, at, err,
				     "'%s' has '%s' GB/s, not '%s'", link->id,
				     gt_rat_print(real->gbs, text[0]),
				     gt_rat_print(link->gbs, text[1]));
	m->links[i] = found->index;
	return GT_OK;
}

static int compare_links(const struct comparison *m, struct gt_err *err)
{
	uint32_t n = gt_topo_nlinks(m->topo);
	struct named *names = calloc((size_t)n + 1, sizeof(*names));
	int rc = GT_OK;

	if (!names)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		names[i] = (struct named){gt_topo_link(m->topo, i)->id, i};
	qsort(names, n, sizeof(*names), compare_names);
	for (uint32_t i = 0; i < m->plan->nlinks && !rc; i++)
		rc = compare_link(
			m, i, find_name(names, n, m->plan->links[i].id), err);
	free(names);
	return rc;
}

static int compare_ranks(const struct comparison *m, struct gt_err *err)
{
	uint32_t n = gt_topo_ngpus(m->topo);
	struct named *names = calloc((size_t)n + 1, sizeof(*names));
	int rc = GT_OK;

	if (!names)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++) {
		const struct gt_node *gpu =
			gt_topo_node(m->topo, gt_topo_gpu(m->topo, i));

		names[i] = (struct named){gpu->bus_id ? gpu->bus_id : "",
					  gt_topo_gpu(m->topo, i)};
	}
	qsort(names, n, sizeof(*names), compare_names);
	for (uint32_t i = 0; i < m->plan->nranks && !rc; i++) {
		const char *device = m->plan->ranks[i].device;
		const struct named *found = find_name(names, n, device);

		if (found)
			m->gpus[i] = found->index;
		else
			rc = gt_plan_wrong(m->plan,
					   gt_plan_at("ranks[%u].device", i),
					   err, "the machine has no GPU '%s'",
					   device ? device : "");
	}
	free(names);
	return rc;
}

/*
 * Find the node of a rank.  A cluster's certificate numbers ports behind the
 * ranks of a node; a port that is no device has GT_NONE.
 */
static uint32_t find_vertex(const struct comparison *m, uint32_t place)
{
	const struct gt_plan_cluster *cluster = m->plan->cluster;

	if (!cluster || place < cluster->nlocal)
		return m->gpus[place];
	place -= cluster->nlocal;
	return gt_topo_find(m->topo, cluster->ports[place].id);
}

/* Do these links of the plan begin with the path?  Its length then, else 0. */
static uint32_t begins_with(const struct comparison *m, const uint32_t *links,
			    uint32_t n, const struct gt_path *path)
{
	uint32_t same = 0;

	while (same < n && same < path->nhops &&
	       m->links[links[same]] == path->links[same])
		same++;
	return same == path->nhops ? same : 0;
}

/* Is the route the NVLinks to some GPU and from there on? */
static int is_relayed(const struct comparison *m,
		      const struct gt_plan_route *route, uint32_t from,
		      uint32_t to)
{
	for (uint32_t i = 0; i < gt_topo_ngpus(m->topo); i++) {
		uint32_t via = gt_topo_gpu(m->topo, i), n;
		const struct gt_path *in = gt_paths_peer(m->paths, from, via);
		const struct gt_path *out = gt_paths_peer(m->paths, via, to);

		if (in->kind != GT_PATH_NVL || out->kind != GT_PATH_NVL)
			continue;
		n = begins_with(m, route->links, route->nlinks, in);
		if (n &&
		    n + begins_with(m, route->links + n, route->nlinks - n,
				    out) ==
			    route->nlinks &&
		    n < route->nlinks)
			return !gt_rat_cmp(route->charge, GT_RAT(1, 1));
	}
	return 0;
}

/* Is this how the machine joins the two?  Charges end at ports. */
static int compare_route(const struct comparison *m,
			 const struct gt_plan_route *route,
			 struct gt_plan_at at, struct gt_err *err)
{
	uint32_t from = find_vertex(m, route->from);
	uint32_t to = find_vertex(m, route->to);
	int enters =
		m->plan->cluster && route->from >= m->plan->cluster->nlocal;
	const struct gt_path *path;

	if (from == GT_NONE || to == GT_NONE)
		return GT_OK;
	path = gt_paths_peer(m->paths, from, to);
	if (!path->is_staged != !route->is_staged)
		return gt_plan_wrong(m->plan, at, err,
				     "the GPUs of ranks %u and %u %s peer "
				     "access in the topology, the plan has "
				     "their hop %s the host's memory",
				     route->from, route->to,
				     path->is_staged ? "have no" : "have",
				     route->is_staged ? "through"
						      : "not through");
	if (path->nhops == route->nlinks &&
	    begins_with(m, route->links, route->nlinks, path) == path->nhops &&
	    (enters || !gt_rat_cmp(route->charge, path->charge)))
		return GT_OK;
	if (is_relayed(m, route, from, to))
		return GT_OK;
	return gt_plan_wrong(m->plan, at, err,
			     "the machine's route from %u to %u (%s) has other "
			     "links or another charge",
			     route->from, route->to,
			     gt_path_kind_name(path->kind));
}

static int compare_routes(const struct comparison *m, struct gt_err *err)
{
	const struct gt_plan_proof *proof = &m->plan->proof;
	int rc = GT_OK;

	for (uint32_t c = 0; c < m->plan->nchannels; c++)
		for (uint32_t i = 0; i < m->plan->channels[c].nhops && !rc;
		     i++) {
			const struct gt_plan_hop *hop =
				&m->plan->channels[c].hops[i];
			int staged = hop->transport == GT_TRANSPORT_SHM;
			struct gt_plan_route route = {hop->from,   hop->to,
						      hop->charge, hop->nroute,
						      hop->route,  staged};

			if ((hop->transport == GT_TRANSPORT_PEER || staged) &&
			    !hop->network)
				rc = compare_route(
					m, &route,
					gt_plan_at("channels[%u].hops[%u]", c,
						   i),
					err);
		}
	for (uint32_t i = 0; i < proof->nroutes && !rc; i++)
		rc = compare_route(
			m, &proof->routes[i],
			gt_plan_at("proof.certificate.routes[%u]", i), err);
	return rc;
}

static int compare_all(struct comparison *m, struct gt_err *err)
{
	int rc;

	m->links = calloc((size_t)m->plan->nlinks + 1, sizeof(*m->links));
	m->gpus = calloc(m->plan->nranks, sizeof(*m->gpus));
	if (m->links && m->gpus) {
		rc = compare_digest(m, err);
		if (!rc)
			rc = compare_ranks(m, err);
		if (!rc)
			rc = compare_links(m, err);
		if (!rc)
			rc = compare_routes(m, err);
	} else {
		rc = gt_err_nomem(err);
	}
	free(m->links);
	free(m->gpus);
	return rc;
}

/* Nodes that were planned as one machine: no file has their routes. */
static int joins_nodes(const struct gt_plan *plan)
{
	for (uint32_t i = 1; i < plan->nranks && !plan->cluster; i++)
		if (plan->ranks[i].node && plan->ranks[0].node &&
		    strcmp(plan->ranks[i].node, plan->ranks[0].node))
			return 1;
	return 0;
}

/* A topology file holds either one machine or a cluster; the other is NULL. */
struct source {
	struct gt_topo *topo;
	struct gt_cluster *cluster;
	struct gt_cluster *even; /* what all nodes of the cluster have */
};

/* The search can leave out parts of one machine only. */
static int leave_out(const struct gt_verify_machine *machine,
		     struct gt_topo *topo, struct gt_err *err)
{
	int rc = gt_topo_exclude_links(topo, machine->exclude_link, err);

	if (!rc)
		rc = gt_topo_exclude_devices(topo, machine->exclude_device,
					     err);
	return rc;
}

/*
 * A cluster's plan by templates is about one node, all being alike, or made so.
 */
static int find_node(struct comparison *m,
		     const struct gt_verify_machine *machine,
		     struct source *source, struct gt_err *err)
{
	int rc;

	if (!source->cluster) {
		m->topo = source->topo;
		return leave_out(machine, source->topo, err);
	}
	if (!m->plan->cluster && source->cluster->nnodes > 1)
		return gt_err_set(err, GT_EINPUT, machine->path,
				  "is a cluster; the plan is of one machine");
	if (machine->exclude_link || machine->exclude_device)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--exclude-link and --exclude-device are for "
				  "one machine");
	m->topo = source->cluster->kinds[0].topo;
	if (source->cluster->nkinds == 1)
		return GT_OK;
	rc = gt_cluster_homogenize(source->cluster, GT_INTERSECTION,
				   &source->even, err);
	if (!rc)
		m->topo = source->even->kinds[0].topo;
	return rc;
}

/*
 * Did the search have all go through the host's memory, as engines do, since
 * only some of the plan's GPUs reach each other?
 */
static int is_as_engines(const struct comparison *m)
{
	return !m->plan->cluster && gt_plan_is_staged(m->plan) &&
	       !gt_plan_is_mixed(m->plan) &&
	       gt_apart_pairs(m->topo, m->plan) > 0;
}

static int compare_source(struct comparison *m,
			  const struct gt_verify_machine *machine,
			  struct source *source, struct gt_err *err)
{
	struct gt_paths *paths = NULL;
	int rc = find_node(m, machine, source, err);

	if (!rc && source->topo && is_as_engines(m))
		rc = gt_topo_part_gpus(source->topo, "off", err);
	if (!rc)
		rc = gt_paths_new(m->topo, &paths, err);
	m->paths = paths;
	if (!rc)
		rc = compare_all(m, err);
	gt_paths_free(paths);
	return rc;
}

int gt_verify_topology(const struct gt_plan *plan,
		       const struct gt_verify_machine *machine,
		       struct gt_err *err)
{
	struct comparison comparison = {.plan = plan};
	struct source source = {NULL, NULL, NULL};
	int rc;

	if (joins_nodes(plan))
		return gt_err_set(err, GT_EINPUT, machine->path,
				  "cannot be compared with a plan of several "
				  "nodes as one machine; leave out --topology");
	rc = gt_cluster_read(machine->path, gt_rates_find(plan->rates),
			     &source.cluster, &source.topo, err);
	if (!rc)
		rc = gt_cluster_part_gpus(source.cluster, source.topo,
					  machine->p2p, err);
	if (!rc)
		rc = compare_source(&comparison, machine, &source, err);
	gt_topo_free(source.topo);
	gt_cluster_free(source.even);
	gt_cluster_free(source.cluster);
	return rc;
}
