/*
 * Numbers for all links that traffic of a job may load: those of each node, and
 * those between switches.
 */
#ifndef GT_SEARCH_JOB_LINKS_H
#define GT_SEARCH_JOB_LINKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_err;
struct gt_site;

/* A load that is the same on all nodes of a group. */
enum { GT_EVERY_MEMBER = UINT32_MAX };

/* What a plan puts on one link of one of its nodes, or an uplink above it. */
struct gt_group_load {
	uint32_t member; /* of the group's nodes, or GT_EVERY_MEMBER */
	uint32_t local;  /* the link of the node, or UINT32_MAX: an uplink */
	uint32_t fabric, level, rail;
	int in;         /* into the switch below, else out of it */
	double portion; /* bytes on it for each of the group's buffer */
};

struct gt_job_links {
	struct gt_arena *arena;
	const struct gt_site *site;
	uint32_t n, room; /* links of a node */
	const char **names;
	double *gbs;
};

/* The links of the site; memory is the arena's, the site is borrowed. */
int gt_job_links_init(struct gt_job_links *links, const struct gt_site *site,
		      struct gt_arena *arena, struct gt_err *err);

/*
 * The number that a node's link of this name has among its node's, which it
 * gets now if it has none; UINT32_MAX when memory ran out.
 */
uint32_t gt_job_links_local(struct gt_job_links *links, const char *name,
			    struct gt_rat gbs);

/* How many numbers there are for links of all nodes and of all switches. */
size_t gt_job_links_count(const struct gt_job_links *links);

/* The number of the link of a load whose member is on this node. */
size_t gt_job_link_of(const struct gt_job_links *links,
		      const struct gt_group_load *load, uint32_t node);

/* What a link carries in GB/s, and its name, cut to size. */
int gt_job_link_gbs(const struct gt_job_links *links, size_t link, double *gbs,
		    struct gt_err *err);
void gt_job_link_name(const struct gt_job_links *links, size_t link, char *text,
		      size_t size);

/*
 * Are two links of a kind: between such devices and as wide, in nodes, or
 * uplinks of one level and fabric?
 */
int gt_job_links_are_alike(const struct gt_job_links *links, size_t a,
			   size_t b);

#endif
