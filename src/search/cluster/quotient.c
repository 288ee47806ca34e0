/*
 * The numbering of the quotient's vertices, and which of its ports meet.
 */
#include "search/cluster/quotient.h"

#include "search/problem/fabric.h"

uint32_t gt_quotient_nvertices(const struct gt_quotient *q)
{
	uint32_t classes = q->cluster.nlevels + 1;

	return classes * q->fabric->nnodes +
	       q->cluster.nlevels * classes * q->cluster.nrails;
}

uint32_t gt_quotient_switch(const struct gt_quotient *q, uint32_t level,
			    uint32_t class_, uint32_t rail)
{
	const struct gt_plan_cluster *cluster = &q->cluster;
	uint32_t classes = cluster->nlevels + 1;

	if (class_ <= level + 1) /* the switch that is above node 0 too */
		class_ = 0;
	if (!cluster->levels[level].by_rail)
		rail = 0;
	return classes * q->fabric->nnodes +
	       (level * classes + class_) * cluster->nrails + rail;
}

int gt_quotient_ports_joined(const struct gt_quotient *q, uint32_t out,
			     uint32_t in)
{
	const struct gt_plan_cluster *cluster = &q->cluster;

	return !cluster->levels[0].by_rail ||
	       cluster->ports[out].rail == cluster->ports[in].rail;
}
