/*
 * Numbers links of nodes and uplinks of switches; of nodes only those are named
 * that the topology has, or a plan.
 */
#include "search/job/links.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/job/site.h"
#include "topo/cluster/cluster.h"

/* A port has a link to a switch and one back; so have a node's NVSwitches. */
enum { OTHERS = 16 };

int gt_job_links_init(struct gt_job_links *links, const struct gt_site *site,
		      struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_topo *topo = site->topo;
	uint32_t n = gt_topo_nlinks(topo);

	*links = (struct gt_job_links){.site = site, .arena = arena};
	links->room = n + 2 * gt_topo_nnets(topo) + OTHERS;
	links->names =
		gt_arena_array(arena, links->room, sizeof(*links->names));
	links->gbs = gt_arena_array(arena, links->room, sizeof(*links->gbs));
	if (!links->names || !links->gbs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		gt_job_links_local(links, gt_topo_link(topo, i)->id,
				   gt_topo_link(topo, i)->gbs);
	return GT_OK;
}

uint32_t gt_job_links_local(struct gt_job_links *links, const char *name,
			    struct gt_rat gbs)
{
	uint32_t i = 0;

	while (i < links->n && strcmp(links->names[i], name) != 0)
		i++;
	if (i < links->n)
		return i;
	if (i == links->room)
		return UINT32_MAX;
	links->names[i] = gt_arena_strdup(links->arena, name);
	if (!links->names[i])
		return UINT32_MAX;
	links->gbs[i] = gt_rat_double(gbs);
	return links->n++;
}

/* How many switches a fabric's levels have together below the last one. */
static size_t count_switches(const struct gt_cluster_fabric *f, uint32_t levels)
{
	size_t n = 0;

	for (uint32_t l = 0; l < levels; l++)
		n += f->levels[l].nswitches;
	return n;
}

size_t gt_job_links_count(const struct gt_job_links *links)
{
	const struct gt_cluster *cluster = links->site->cluster;
	size_t n = (size_t)links->site->nnodes * links->room;

	for (int o = 0; cluster && o < GT_NFABRICKINDS; o++)
		n += 2 * count_switches(&cluster->fabrics[o],
					cluster->fabrics[o].nlevels);
	return n;
}

size_t gt_job_link_of(const struct gt_job_links *links,
		      const struct gt_group_load *load, uint32_t node)
{
	const struct gt_cluster *cluster = links->site->cluster;
	size_t base = (size_t)links->site->nnodes * links->room;
	uint32_t which;

	if (load->local != UINT32_MAX)
		return (size_t)node * links->room + load->local;
	for (uint32_t o = 0; o < load->fabric; o++)
		base += 2 * count_switches(&cluster->fabrics[o],
					   cluster->fabrics[o].nlevels);
	base += 2 *
		count_switches(&cluster->fabrics[load->fabric], load->level);
	which = gt_cluster_switch(cluster, (enum gt_fabric_kind)load->fabric,
				  load->level, node, load->rail);
	return base + 2 * (size_t)which + (size_t)load->in;
}

/* An uplink: whose fabric, level and switch it is, and which way. */
struct uplink {
	uint32_t fabric, level, which;
	int in;
};

static struct uplink find_uplink(const struct gt_job_links *links, size_t link)
{
	const struct gt_cluster *cluster = links->site->cluster;
	size_t at = link - (size_t)links->site->nnodes * links->room;

	for (uint32_t o = 0; o < GT_NFABRICKINDS; o++)
		for (uint32_t l = 0; l < cluster->fabrics[o].nlevels; l++) {
			size_t n = cluster->fabrics[o].levels[l].nswitches;

			if (at < 2 * n)
				return (struct uplink){o, l, (uint32_t)(at / 2),
						       (int)(at % 2)};
			at -= 2 * n;
		}
	return (struct uplink){0};
}

int gt_job_link_gbs(const struct gt_job_links *links, size_t link, double *gbs,
		    struct gt_err *err)
{
	struct uplink up;
	struct gt_rat rate = GT_RAT(0, 1);
	int rc;

	if (link < (size_t)links->site->nnodes * links->room) {
		*gbs = links->gbs[link % links->room];
		return GT_OK;
	}
	up = find_uplink(links, link);
	rc = gt_cluster_uplink(links->site->cluster,
			       (enum gt_fabric_kind)up.fabric, up.level,
			       up.which, &rate, err);
	*gbs = gt_rat_double(rate);
	return rc;
}

void gt_job_link_name(const struct gt_job_links *links, size_t link, char *text,
		      size_t size)
{
	const struct gt_cluster *cluster = links->site->cluster;
	char below[64], above[64], node[256];
	struct uplink up;

	if (link < (size_t)links->site->nnodes * links->room) {
		gt_site_node_name(links->site, (uint32_t)(link / links->room),
				  node, sizeof(node));
		snprintf(text, size, "%s:%s", node,
			 links->names[link % links->room]);
		return;
	}
	up = find_uplink(links, link);
	snprintf(below, sizeof(below), "%sswitch%u.%u", up.fabric ? "nv" : "",
		 up.level, up.which);
	snprintf(above, sizeof(above), "%sswitch%u.%u", up.fabric ? "nv" : "",
		 up.level + 1,
		 gt_cluster_parent_switch(cluster,
					  (enum gt_fabric_kind)up.fabric,
					  up.level, up.which));
	snprintf(text, size, "%s>%s", up.in ? above : below,
		 up.in ? below : above);
}

/* The kinds of the devices of a link: its name without what tells them apart.
 */
static void write_kinds(const char *name, char *text, size_t size)
{
	size_t n = 0;
	int skip = 0;

	for (; *name && n + 1 < size; name++) {
		skip = *name == '/' || (skip && *name != '>');
		if (!skip)
			text[n++] = *name;
	}
	text[n] = '\0';
}

int gt_job_links_are_alike(const struct gt_job_links *links, size_t a, size_t b)
{
	size_t nodes = (size_t)links->site->nnodes * links->room;
	char kinds[2][64];
	struct uplink up[2];

	if ((a < nodes) != (b < nodes))
		return 0;
	if (a < nodes) {
		a %= links->room;
		b %= links->room;
		if (a >= links->n || b >= links->n ||
		    links->gbs[a] != links->gbs[b])
			return 0;
		write_kinds(links->names[a], kinds[0], sizeof(kinds[0]));
		write_kinds(links->names[b], kinds[1], sizeof(kinds[1]));
		return !strcmp(kinds[0], kinds[1]);
	}
	up[0] = find_uplink(links, a);
	up[1] = find_uplink(links, b);
	return up[0].fabric == up[1].fabric && up[0].level == up[1].level;
}
