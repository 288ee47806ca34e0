/*
 * The sections of a plan's file, each read by a file of its own.  They are read
 * in the order of this list, and rely on those before them.  `root` is the
 * outermost object.
 */
#ifndef GT_PLAN_JSON_READ_SECTIONS_H
#define GT_PLAN_JSON_READ_SECTIONS_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_json;
struct gt_plan;
struct gt_plan_channel;
struct gt_plan_reader;
struct gt_plan_select;

/* "cluster", which stands in place of "ranks". */
int gt_read_cluster(struct gt_plan_reader *reader, const struct gt_json *at,
		    struct gt_err *err);

/* "demand". */
int gt_read_demand(struct gt_plan_reader *reader, const struct gt_json *root,
		   struct gt_err *err);

/* A matrix of bytes, of as many rows as numbers in each. */
int gt_read_demand_matrix(const struct gt_json *at, struct gt_arena *arena,
			  uint32_t *n, uint64_t **bytes, struct gt_err *err);

/* "proof"; its value gives a tree without "gbs" its rate. */
int gt_read_proof(struct gt_plan_reader *reader, const struct gt_json *root,
		  struct gt_err *err);

/* The sets of vertices that the certificate of a cluster's proof has. */
int gt_read_sets(struct gt_plan_reader *reader,
		 const struct gt_json *certificate, struct gt_err *err);

/*
 * The uplink of a cluster that a price is for: *link is its number, which
 * follows those of links.  The result is 0 when `id` names no uplink.
 */
int gt_read_uplink(const struct gt_plan *plan, const char *id, uint32_t *link);

/* "channels". */
int gt_read_common_hops(struct gt_plan_reader *reader,
			const struct gt_json *root, struct gt_err *err);
int gt_read_channels(struct gt_plan_reader *reader, const struct gt_json *root,
		     struct gt_err *err);

/* The trees of one channel, when it is a template. */
int gt_read_templates(struct gt_plan_reader *reader,
		      const struct gt_json *object,
		      struct gt_plan_channel *channel, struct gt_err *err);

/* All of a channel through switches but its id, share and rates. */
int gt_read_vertices(struct gt_plan_reader *reader,
		     const struct gt_json *object,
		     struct gt_plan_channel *channel, struct gt_err *err);

/* "programs", which name channels. */
int gt_read_programs(struct gt_plan_reader *reader, const struct gt_json *root,
		     struct gt_err *err);

/* "fifo", or the defaults. */
int gt_read_fifo(struct gt_plan_reader *reader, const struct gt_json *root,
		 struct gt_err *err);

/* "select"; without it one row uses all channels for messages of any size. */
int gt_read_select(struct gt_plan_reader *reader, const struct gt_json *root,
		   struct gt_err *err);

/*
 * Read what a row of select and a measurement have in common: which channels
 * are used, for what, and how.  use->max_bytes stays as it is.
 */
int gt_read_use(struct gt_plan_reader *reader, const struct gt_json *object,
		struct gt_plan_select *use, struct gt_err *err);

/* "measurements". */
int gt_read_measurements(struct gt_plan_reader *reader,
			 const struct gt_json *root, struct gt_err *err);

#endif
