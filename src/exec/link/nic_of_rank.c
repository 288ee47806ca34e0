/*
 * Each of a rank's hops may leave its host by a network card; the card that
 * most of them leave by is the rank's.
 */
#include "exec/link/nic_of_rank.h"

#include <stdio.h>
#include <string.h>

#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

/* The plan's link by which a hop of the rank leaves its host, or NULL. */
static const char *gt_nic_of_rank_exit(const struct gt_plan *plan,
				       const struct gt_plan_hop *hop,
				       uint32_t rank)
{
	const char *id;

	if (hop->from != rank)
		return NULL;
	for (uint32_t i = 0; i < hop->nroute; i++) {
		id = plan->links[hop->route[i]].id;
		if (!strncmp(id, "NIC/", 4) && strstr(id, ">NET/"))
			return id;
	}
	return NULL;
}

/* Count the hops of the rank that leave by this link. */
static uint32_t gt_nic_of_rank_count(const struct gt_plan *plan, uint32_t rank,
				     const char *exit)
{
	const char *other;
	uint32_t n = 0;

	for (uint32_t c = 0; c < plan->nchannels; c++)
		for (uint32_t h = 0; h < plan->channels[c].nhops; h++) {
			other = gt_nic_of_rank_exit(
				plan, &plan->channels[c].hops[h], rank);
			n += other && !strcmp(other, exit);
		}
	return n;
}

int gt_nic_of_rank(const struct gt_plan *plan, uint32_t rank,
		   char nic[GT_NIC_OF_RANK_MAX])
{
	const char *best = NULL, *exit;
	uint32_t most = 0, n;

	/* In a cluster's plan hops are between the ranks of one node. */
	if (plan->cluster)
		rank %= plan->cluster->nlocal;
	for (uint32_t c = 0; c < plan->nchannels; c++)
		for (uint32_t h = 0; h < plan->channels[c].nhops; h++) {
			exit = gt_nic_of_rank_exit(
				plan, &plan->channels[c].hops[h], rank);
			n = exit ? gt_nic_of_rank_count(plan, rank, exit) : 0;
			if (n > most) {
				most = n;
				best = exit;
			}
		}
	if (best)
		snprintf(nic, GT_NIC_OF_RANK_MAX, "%.*s",
			 (int)(strchr(best, '>') - best - 4), best + 4);
	return best != NULL;
}
