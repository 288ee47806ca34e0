/*
 * Reads the <fabric> elements of a cluster file: levels of switches, or
 * switches and cables, with a message for each fault that a file can have.
 */
#include "topo/cluster/make.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/unit.h"
#include "base/vec.h"
#include "base/xml.h"

/*
 * Turns the attribute "ports", a number of ports below a switch, into the
 * number of nodes that have so many of what this level joins.
 */
static int gt_fabric_ports(const struct gt_cluster *cluster,
			   enum gt_fabric_kind over,
			   const struct gt_xml_elem *elem, int by_rail,
			   int *nodes, struct gt_err *err)
{
	uint32_t each = cluster->kinds[0].ports[over].n;
	int ports = 0;

	if (gt_xml_int(elem, "ports", &ports, err))
		return GT_EINPUT;
	if (!ports)
		return GT_OK;
	if (*nodes)
		return gt_xml_fail(elem, "ports", err,
				   "nodes and ports are both there");
	for (uint32_t i = 1; i < cluster->nkinds && !by_rail; i++)
		if (cluster->kinds[i].ports[over].n != each)
			return gt_xml_fail(elem, "ports", err,
					   "nodes have different numbers of "
					   "ports; say how many nodes");
	if (by_rail)
		each = 1;
	if (ports < 0 || !each || (uint32_t)ports % each)
		return gt_xml_fail(elem, "ports", err,
				   "ports '%d' is no multiple of the %u of a "
				   "node",
				   ports, each);
	*nodes = (int)((uint32_t)ports / each);
	return GT_OK;
}

static int gt_fabric_rail(const struct gt_xml_elem *elem, int *by_rail,
			  struct gt_err *err)
{
	const char *rail = gt_xml_attr(elem, "rail");

	*by_rail = rail && !strcmp(rail, "each");
	if (rail && !*by_rail && strcmp(rail, "all") != 0)
		return gt_xml_fail(elem, "rail", err,
				   "rail '%.64s' is neither 'each' nor 'all'",
				   rail);
	return GT_OK;
}

static int gt_fabric_uplink(const struct gt_xml_elem *elem,
			    struct gt_cluster_level *level, struct gt_err *err)
{
	level->oversubscription = GT_RAT(1, 1);
	level->uplink_gbs = GT_RAT(0, 1);
	if (gt_xml_rat(elem, "oversubscription", &level->oversubscription,
		       err) ||
	    gt_xml_rat(elem, "uplink_gbs", &level->uplink_gbs, err))
		return GT_EINPUT;
	if (gt_xml_attr(elem, "oversubscription") &&
	    gt_xml_attr(elem, "uplink_gbs"))
		return gt_xml_fail(elem, "uplink_gbs", err,
				   "oversubscription and uplink_gbs are both "
				   "there");
	if (level->oversubscription.num <= 0)
		return gt_xml_fail(elem, "oversubscription", err,
				   "oversubscription is not more than 0");
	if (level->uplink_gbs.num < 0 ||
	    (gt_xml_attr(elem, "uplink_gbs") && !level->uplink_gbs.num))
		return gt_xml_fail(elem, "uplink_gbs", err,
				   "uplink_gbs is not more than 0");
	return GT_OK;
}

/* Checks that a level goes with the one below it. */
static int gt_fabric_fits(const struct gt_cluster *cluster,
			  const struct gt_cluster_fabric *fabric,
			  const struct gt_cluster_level *level,
			  const struct gt_xml_elem *elem, struct gt_err *err)
{
	const struct gt_cluster_level *low;

	if (!fabric->nlevels)
		return GT_OK;
	low = fabric->levels + fabric->nlevels - 1;
	if (level->by_rail && !low->by_rail)
		return gt_xml_fail(elem, "rail", err,
				   "the level below has joined all rails");
	if (level->nodes < low->nodes ||
	    (level->nodes != cluster->nnodes && level->nodes % low->nodes))
		return gt_xml_fail(elem, "nodes", err,
				   "%u nodes of a switch are no multiple of "
				   "the %u of one below",
				   level->nodes, low->nodes);
	return GT_OK;
}

static int gt_fabric_level(struct gt_cluster *cluster, enum gt_fabric_kind over,
			   const struct gt_xml_elem *elem, struct gt_err *err)
{
	struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	struct gt_cluster_level level = {0}, *levels;
	int nodes = 0, rc;

	if (gt_xml_int(elem, "nodes", &nodes, err))
		return GT_EINPUT;
	if (nodes < 0 || (!nodes && gt_xml_attr(elem, "nodes")))
		return gt_xml_fail(elem, "nodes", err,
				   "nodes '%d' is less than 1", nodes);
	rc = gt_fabric_rail(elem, &level.by_rail, err);
	if (!rc)
		rc = gt_fabric_ports(cluster, over, elem, level.by_rail, &nodes,
				     err);
	if (!rc)
		rc = gt_fabric_uplink(elem, &level, err);
	if (rc)
		return rc;
	level.nodes = nodes && (uint32_t)nodes < cluster->nnodes
			      ? (uint32_t)nodes
			      : cluster->nnodes;
	level.nswitches = (cluster->nnodes - 1) / level.nodes + 1;
	if (level.by_rail)
		level.nswitches *= fabric->nrails;
	rc = gt_fabric_fits(cluster, fabric, &level, elem, err);
	if (rc)
		return rc;
	levels = gt_vec_grow_in(cluster->arena, fabric->levels, fabric->nlevels,
				&fabric->levels_room, sizeof(level));
	if (!levels)
		return gt_err_nomem(err);
	fabric->levels = levels;
	fabric->levels[fabric->nlevels++] = level;
	return GT_OK;
}

static uint32_t gt_fabric_find(const struct gt_cluster_fabric *fabric,
			       const char *name)
{
	for (uint32_t i = 0; i < fabric->nswitches; i++)
		if (!strcmp(fabric->switches[i], name))
			return i;
	return GT_NONE;
}

static int gt_fabric_switch(struct gt_cluster *cluster,
			    enum gt_fabric_kind over,
			    const struct gt_xml_elem *elem, struct gt_err *err)
{
	struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	const char *name = gt_xml_attr(elem, "name"), **switches;

	if (!name || !*name || strchr(name, ':'))
		return gt_xml_fail(elem, name ? "name" : NULL, err,
				   "switch has no name, or one with ':'");
	if (gt_fabric_find(fabric, name) != GT_NONE)
		return gt_xml_fail(elem, "name", err,
				   "two switches are named '%.80s'", name);
	name = gt_arena_strdup(cluster->arena, name);
	switches = gt_vec_grow_in(cluster->arena, fabric->switches,
				  fabric->nswitches, &fabric->switches_room,
				  sizeof(*switches));
	if (!name || !switches)
		return gt_err_nomem(err);
	fabric->switches = switches;
	fabric->switches[fabric->nswitches++] = name;
	return GT_OK;
}

/*
 * Parses an end such as "leaf1", a switch, or "gpu01:3", the port with dev 3 of
 * a node.
 */
static int gt_fabric_end(const struct gt_cluster *cluster,
			 enum gt_fabric_kind over,
			 const struct gt_xml_elem *elem, const char *attr,
			 struct gt_cluster_end *end, struct gt_err *err)
{
	const char *text = gt_xml_attr(elem, attr);
	const char *colon = text ? strchr(text, ':') : NULL;
	char node[256];
	int64_t dev;

	if (!text)
		return gt_xml_fail(elem, NULL, err, "link has no '%s'", attr);
	end->node = GT_NONE;
	end->at = gt_fabric_find(&cluster->fabrics[over], text);
	if (end->at != GT_NONE)
		return GT_OK;
	if (!colon || (size_t)(colon - text) >= sizeof(node) ||
	    !gt_unit_int(colon + 1, 0, INT32_MAX, &dev))
		return gt_xml_fail(elem, attr, err,
				   "'%.80s' is neither a switch nor a port "
				   "such as 'node:0'",
				   text);
	memcpy(node, text, (size_t)(colon - text));
	node[colon - text] = '\0';
	end->node = gt_cluster_node_find(cluster, node);
	if (end->node == GT_NONE)
		return gt_xml_fail(elem, attr, err, "there is no node '%.80s'",
				   node);
	end->at = gt_cluster_port_find(gt_cluster_kind_of(cluster, end->node),
				       over, (int)dev);
	if (end->at == GT_NONE)
		return gt_xml_fail(elem, attr, err,
				   "node '%.80s' has no port '%d'", node,
				   (int)dev);
	return GT_OK;
}

static int gt_fabric_cable_gbs(const struct gt_cluster *cluster,
			       enum gt_fabric_kind over,
			       const struct gt_xml_elem *elem,
			       struct gt_cluster_cable *cable,
			       struct gt_err *err)
{
	int count = 1;

	if (gt_xml_int(elem, "count", &count, err) ||
	    gt_xml_rat(elem, "gbs", &cable->gbs, err))
		return GT_EINPUT;
	if (count < 1)
		return gt_xml_fail(elem, "count", err,
				   "count '%d' is less than 1", count);
	for (int i = 0; i < 2 && !gt_xml_attr(elem, "gbs"); i++) {
		const struct gt_cluster_end *end = &cable->ends[i];
		const struct gt_cluster_port *port;

		if (end->node == GT_NONE)
			continue;
		port = &gt_cluster_kind_of(cluster, end->node)
				->ports[over]
				.list[end->at];
		if (!cable->gbs.num || gt_rat_cmp(port->gbs, cable->gbs) < 0)
			cable->gbs = port->gbs;
	}
	if (cable->gbs.num <= 0)
		return gt_xml_fail(elem,
				   gt_xml_attr(elem, "gbs") ? "gbs" : NULL, err,
				   "link between switches has no gbs more "
				   "than 0");
	cable->count = (uint32_t)count;
	if (!gt_rat_mul(cable->gbs, GT_RAT(count, 1), &cable->gbs))
		return gt_xml_fail(elem, "gbs", err, "gbs is out of range");
	return GT_OK;
}

static int gt_fabric_cable(struct gt_cluster *cluster, enum gt_fabric_kind over,
			   const struct gt_xml_elem *elem, struct gt_err *err)
{
	struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	struct gt_cluster_cable cable = {.gbs = GT_RAT(0, 1)}, *cables;
	int rc =
		gt_fabric_end(cluster, over, elem, "from", &cable.ends[0], err);

	if (!rc)
		rc = gt_fabric_end(cluster, over, elem, "to", &cable.ends[1],
				   err);
	if (!rc)
		rc = gt_fabric_cable_gbs(cluster, over, elem, &cable, err);
	if (rc)
		return rc;
	if (cable.ends[0].node == cable.ends[1].node &&
	    cable.ends[0].at == cable.ends[1].at)
		return gt_xml_fail(elem, "to", err,
				   "both ends of a link are '%.80s'",
				   gt_xml_attr(elem, "to"));
	cables = gt_vec_grow_in(cluster->arena, fabric->cables, fabric->ncables,
				&fabric->cables_room, sizeof(cable));
	if (!cables)
		return gt_err_nomem(err);
	fabric->cables = cables;
	fabric->cables[fabric->ncables++] = cable;
	return GT_OK;
}

static int gt_fabric_part(struct gt_cluster *cluster, enum gt_fabric_kind over,
			  const struct gt_xml_elem *elem, struct gt_err *err)
{
	if (gt_xml_is(elem, "level"))
		return gt_fabric_level(cluster, over, elem, err);
	if (gt_xml_is(elem, "switch"))
		return gt_fabric_switch(cluster, over, elem, err);
	if (gt_xml_is(elem, "link"))
		return gt_fabric_cable(cluster, over, elem, err);
	return gt_xml_fail(elem, NULL, err,
			   "'%.64s' is neither level nor switch nor link",
			   gt_xml_name(elem));
}

/*
 * Checks that the fabric is described in one way only, and that nothing is
 * above its last level.
 */
static int gt_fabric_check(const struct gt_cluster_fabric *fabric,
			   const struct gt_xml_elem *elem,
			   const struct gt_xml_elem *last, struct gt_err *err)
{
	if (fabric->nlevels && (fabric->nswitches || fabric->ncables))
		return gt_xml_fail(elem, NULL, err,
				   "fabric has levels and links; it may have "
				   "either");
	if (!fabric->nlevels || !last)
		return GT_OK;
	if (gt_xml_attr(last, "oversubscription"))
		return gt_xml_fail(last, "oversubscription", err,
				   "nothing is above the last level");
	if (gt_xml_attr(last, "uplink_gbs"))
		return gt_xml_fail(last, "uplink_gbs", err,
				   "nothing is above the last level");
	return GT_OK;
}

static int read_sharp(const struct gt_xml_elem *elem, enum gt_fabric_kind over,
		      int *sharp, struct gt_err *err)
{
	int rc = gt_xml_int(elem, "sharp", sharp, err);

	if (rc)
		return GT_EINPUT;
	if (*sharp != 0 && *sharp != 1)
		return gt_xml_fail(elem, "sharp", err,
				   "sharp '%d' is neither 0 nor 1", *sharp);
	if (*sharp && over == GT_FABRIC_NVLINK)
		return gt_xml_fail(elem, "sharp", err,
				   "sharp is of networks; what NVSwitches do "
				   "goes by their GPUs");
	return GT_OK;
}

int gt_cluster_add_fabric(struct gt_cluster *cluster,
			  const struct gt_xml_elem *elem, struct gt_err *err)
{
	const char *word = gt_xml_attr(elem, "over");
	enum gt_fabric_kind over = word && !strcmp(word, "nvlink")
					   ? GT_FABRIC_NVLINK
					   : GT_FABRIC_NET;
	struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	const struct gt_xml_elem *part, *last = NULL;
	int rc = GT_OK;

	if (word && strcmp(word, gt_fabric_kind_name(over)) != 0)
		return gt_xml_fail(elem, "over", err,
				   "over '%.64s' is neither 'net' nor 'nvlink'",
				   word);
	if (fabric->nlevels || fabric->nswitches || fabric->ncables)
		return gt_xml_fail(elem, NULL, err, "two fabrics are over '%s'",
				   gt_fabric_kind_name(over));
	if (!fabric->nrails)
		return gt_xml_fail(elem, NULL, err,
				   over == GT_FABRIC_NET
					   ? "no node has a network port"
					   : "no node has GPUs on NVSwitches");
	rc = read_sharp(elem, over, &fabric->sharp, err);
	for (part = gt_xml_child(elem); part && !rc; part = gt_xml_next(part)) {
		rc = gt_fabric_part(cluster, over, part, err);
		last = part;
	}
	if (!rc && !last)
		rc = gt_cluster_one_switch(cluster, over, err);
	return rc ? rc : gt_fabric_check(fabric, elem, last, err);
}
