#include "plan/cluster.h"

#include <string.h>

static const char *const gt_spread_names[GT_NSPREADS] = {
	[GT_SPREAD_STAR] = "star",
	[GT_SPREAD_BINOMIAL] = "binomial",
	[GT_SPREAD_CHAIN] = "chain",
};

const char *gt_spread_name(enum gt_spread spread)
{
	return gt_spread_names[spread];
}

int gt_spread_find(const char *name)
{
	for (int i = 0; i < GT_NSPREADS; i++)
		if (!strcmp(gt_spread_names[i], name))
			return i;
	return -1;
}

/* Nodes that a step of a level's digit skips. */
static uint32_t gt_nodes_unit(const struct gt_plan_cluster *cluster,
			      uint32_t level)
{
	return level ? cluster->levels[level - 1].nodes : 1;
}

uint32_t gt_nodes_radix(const struct gt_plan_cluster *cluster, uint32_t level)
{
	return cluster->levels[level].nodes / gt_nodes_unit(cluster, level);
}

static uint32_t gt_nodes_digit(const struct gt_plan_cluster *cluster,
			       uint32_t level, uint32_t number)
{
	return number / gt_nodes_unit(cluster, level) %
	       gt_nodes_radix(cluster, level);
}

uint32_t gt_nodes_place(const struct gt_plan_cluster *cluster, uint32_t origin,
			uint32_t node)
{
	uint32_t place = 0, radix, digit;

	for (uint32_t i = 0; i < cluster->nlevels; i++) {
		radix = gt_nodes_radix(cluster, i);
		digit = gt_nodes_digit(cluster, i, node) + radix -
			gt_nodes_digit(cluster, i, origin);
		place += digit % radix * gt_nodes_unit(cluster, i);
	}
	return place;
}

uint32_t gt_nodes_at(const struct gt_plan_cluster *cluster, uint32_t origin,
		     uint32_t place)
{
	uint32_t node = 0, radix, digit;

	for (uint32_t i = 0; i < cluster->nlevels; i++) {
		radix = gt_nodes_radix(cluster, i);
		digit = gt_nodes_digit(cluster, i, place) +
			gt_nodes_digit(cluster, i, origin);
		node += digit % radix * gt_nodes_unit(cluster, i);
	}
	return node;
}

/* The lowest level whose digit is not 0; nlevels for place 0. */
static uint32_t gt_nodes_lowest(const struct gt_plan_cluster *cluster,
				uint32_t place)
{
	uint32_t level = 0;

	while (level < cluster->nlevels &&
	       !gt_nodes_digit(cluster, level, place))
		level++;
	return level;
}

uint32_t gt_nodes_parent(const struct gt_plan_cluster *cluster, uint32_t place)
{
	uint32_t level = gt_nodes_lowest(cluster, place);
	uint32_t digit = gt_nodes_digit(cluster, level, place);
	uint32_t up = 0;

	if (cluster->levels[level].spread == GT_SPREAD_BINOMIAL)
		up = digit & (digit - 1);
	else if (cluster->levels[level].spread == GT_SPREAD_CHAIN)
		up = digit - 1;
	return place - (digit - up) * gt_nodes_unit(cluster, level);
}

/* Children that differ from a place, which has no lower digits, in a level. */
static uint32_t gt_nodes_below(const struct gt_plan_cluster *cluster,
			       uint32_t level, uint32_t place,
			       uint32_t *children)
{
	uint32_t unit = gt_nodes_unit(cluster, level), n = 0;
	uint32_t digit = gt_nodes_digit(cluster, level, place);
	uint32_t left = gt_nodes_radix(cluster, level) - digit;
	enum gt_spread spread = cluster->levels[level].spread;

	if (spread == GT_SPREAD_CHAIN && left > 1)
		children[n++] = place + unit;
	if (spread == GT_SPREAD_STAR && !digit)
		for (uint32_t i = 1; i < left; i++)
			children[n++] = place + i * unit;
	if (spread == GT_SPREAD_BINOMIAL)
		for (uint32_t i = 1; i < left && !(digit & i); i *= 2)
			children[n++] = place + i * unit;
	return n;
}

uint32_t gt_nodes_children(const struct gt_plan_cluster *cluster,
			   uint32_t place, uint32_t *children)
{
	uint32_t last = gt_nodes_lowest(cluster, place), n = 0;

	for (uint32_t i = cluster->nlevels; i--;)
		if (i <= last)
			n += gt_nodes_below(cluster, i, place, children + n);
	return n;
}

uint32_t gt_nodes_fan(const struct gt_plan_cluster *cluster)
{
	uint32_t fan = 1;

	for (uint32_t i = 0; i < cluster->nlevels; i++)
		fan += cluster->levels[i].spread == GT_SPREAD_STAR
			       ? gt_nodes_radix(cluster, i)
			       : 32;
	return fan;
}
