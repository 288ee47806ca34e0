/*
 * Makes kinds of nodes while a cluster is read: which ports of a machine are in
 * use, on which rails, and what each carries.
 */
#include "topo/cluster/make.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "topo/graph/name.h"

/* Returns the node's first link to a node of that kind, or NULL. */
static const struct gt_link *gt_kind_link(const struct gt_topo *topo,
					  uint32_t from, enum gt_node_kind to)
{
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);

		if (link->from == from &&
		    gt_topo_node(topo, link->to)->kind == to)
			return link;
	}
	return NULL;
}

static void gt_kind_add(struct gt_cluster_kind *kind, enum gt_fabric_kind over,
			uint32_t device, uint32_t rail)
{
	const struct gt_link *link =
		gt_kind_link(kind->topo, device,
			     over == GT_FABRIC_NET ? GT_NODE_NIC : GT_NODE_NVS);
	struct gt_cluster_ports *ports = &kind->ports[over];

	if (link)
		ports->list[ports->n++] =
			(struct gt_cluster_port){device, rail, link->gbs};
}

/*
 * Returns the network port that is called so and is in no list yet, or GT_NONE.
 */
static uint32_t gt_kind_net(const struct gt_cluster_kind *kind,
			    const char *word)
{
	const struct gt_cluster_ports *ports = &kind->ports[GT_FABRIC_NET];

	for (uint32_t i = 0; i < gt_topo_nnets(kind->topo); i++) {
		uint32_t net = gt_topo_net(kind->topo, i), k = 0;

		while (k < ports->n && ports->list[k].device != net)
			k++;
		if (k == ports->n &&
		    gt_node_is_called(gt_topo_node(kind->topo, net), word))
			return net;
	}
	return GT_NONE;
}

/* A number alone is a port's here. */
static int gt_kind_nets_word(struct gt_cluster_kind *kind, const char *word,
			     uint32_t rail, struct gt_err *err)
{
	char name[GT_NAME_MAX + 8];
	uint32_t net;

	snprintf(name, sizeof(name), "%s%s",
		 isdigit((unsigned char)*word) && !strpbrk(word, ":.") ? "NET"
								       : "",
		 word);
	net = gt_kind_net(kind, name);
	if (net == GT_NONE)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "nets: '%s' has no port '%s', or it is "
				  "named twice",
				  kind->file, word);
	gt_kind_add(kind, GT_FABRIC_NET, net, rail);
	return GT_OK;
}

/*
 * Adds the ports of a list such as "0,3-5,-,mlx5_9", the rails one after the
 * other; "-" leaves a rail out.
 */
static int gt_kind_nets(struct gt_cluster_kind *kind, const char *nets,
			struct gt_err *err)
{
	struct gt_name_list names = {.rest = nets};
	char word[GT_NAME_MAX];
	uint32_t rail = 0;
	int rc = GT_OK;

	for (; !rc && gt_name_list_next(&names, word); rail++)
		if (strcmp(word, "-") != 0)
			rc = gt_kind_nets_word(kind, word, rail, err);
	return rc;
}

/*
 * Adds all ports.  The rails that the file names are believed when every port
 * has one; else ports are numbered as they come.
 */
static void gt_kind_nets_all(struct gt_cluster_kind *kind)
{
	uint32_t n = gt_topo_nnets(kind->topo);
	int known = 1;

	for (uint32_t i = 0; i < n; i++) {
		int rail = gt_topo_node(kind->topo, gt_topo_net(kind->topo, i))
				   ->rail;

		known = known && rail >= 0 && rail < GT_TOPO_MAX_DEVICES;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t net = gt_topo_net(kind->topo, i);

		gt_kind_add(
			kind, GT_FABRIC_NET, net,
			known ? (uint32_t)gt_topo_node(kind->topo, net)->rail
			      : i);
	}
}

static int gt_kind_by_rail(const void *a, const void *b)
{
	const struct gt_cluster_port *p = a, *q = b;

	if (p->rail != q->rail)
		return p->rail < q->rail ? -1 : 1;
	return p->device < q->device ? -1 : 1;
}

static void gt_kind_rails(struct gt_cluster *cluster,
			  struct gt_cluster_kind *kind)
{
	for (int over = 0; over < GT_NFABRICKINDS; over++) {
		struct gt_cluster_ports *ports = &kind->ports[over];
		uint32_t *nrails = &cluster->fabrics[over].nrails;

		if (!ports->n)
			continue;
		qsort(ports->list, ports->n, sizeof(*ports->list),
		      gt_kind_by_rail);
		if (*nrails <= ports->list[ports->n - 1].rail)
			*nrails = ports->list[ports->n - 1].rail + 1;
	}
}

int gt_cluster_add_kind(struct gt_cluster *cluster,
			const struct gt_cluster_kind *kind, const char *nets,
			struct gt_err *err)
{
	uint32_t ngpus = gt_topo_ngpus(kind->topo);
	uint32_t nnets = gt_topo_nnets(kind->topo);
	struct gt_cluster_kind made = {
		.name = kind->name, .file = kind->file, .topo = kind->topo};
	struct gt_cluster_kind *kinds;
	int rc = GT_OK;

	made.ports[GT_FABRIC_NET].list = gt_arena_array(
		cluster->arena, nnets, sizeof(struct gt_cluster_port));
	made.ports[GT_FABRIC_NVLINK].list = gt_arena_array(
		cluster->arena, ngpus, sizeof(struct gt_cluster_port));
	kinds = gt_vec_grow_in(cluster->arena, cluster->kinds, cluster->nkinds,
			       &cluster->kinds_room, sizeof(*kinds));
	if (!made.name || !made.file || !made.ports[GT_FABRIC_NET].list ||
	    !made.ports[GT_FABRIC_NVLINK].list || !kinds)
		return gt_err_nomem(err);
	cluster->kinds = kinds;
	for (uint32_t i = 0; i < ngpus; i++)
		gt_kind_add(&made, GT_FABRIC_NVLINK, gt_topo_gpu(made.topo, i),
			    i);
	if (nets)
		rc = gt_kind_nets(&made, nets, err);
	else
		gt_kind_nets_all(&made);
	if (rc)
		return rc;
	gt_kind_rails(cluster, &made);
	cluster->kinds[cluster->nkinds++] = made;
	return GT_OK;
}

uint32_t gt_cluster_port_find(const struct gt_cluster_kind *kind,
			      enum gt_fabric_kind over, int dev)
{
	for (uint32_t i = 0; i < kind->ports[over].n; i++)
		if (gt_topo_node(kind->topo, kind->ports[over].list[i].device)
			    ->dev == dev)
			return i;
	return GT_NONE;
}
