/*
 * What the files of the plan's reader share: the plan being made and its
 * links by name.  Not for others; gt_plan_read() is the way in.
 */
#ifndef GT_PLAN_JSON_READ_H
#define GT_PLAN_JSON_READ_H

#include <stddef.h>
#include <stdint.h>

struct gt_err;
struct gt_json;
struct gt_plan;
struct gt_plan_channel;
struct gt_plan_select;
struct gt_rat;

struct gt_link_name {
	const char *id;
	uint32_t index;
};

struct gt_channel_id {
	uint32_t id, index;
};

struct gt_plan_reader {
	struct gt_plan *plan;
	struct gt_link_name *names; /* sorted by id, plan->nlinks of them */
	struct gt_channel_id *ids;  /* sorted, plan->nchannels of them */
};

/* Zeroed memory of the plan for n things; NULL when it ran out. */
void *gt_read_array(struct gt_plan_reader *reader, uint32_t n,
		    size_t size_bytes, struct gt_err *err);

/* An optional text; *text stays as it is when there is none. */
int gt_read_text(struct gt_plan_reader *reader, const struct gt_json *object,
		 const char *key, const char **text, struct gt_err *err);

/* An array of ranks: the plan's, numbered from 0 on. */
int gt_read_rank_list(struct gt_plan_reader *reader, const struct gt_json *at,
		      struct gt_err *err);

/*
 * What plans of clusters have: the cluster, in place of ranks; a channel's
 * templates; the sets of a certificate.
 */
int gt_read_cluster(struct gt_plan_reader *reader, const struct gt_json *at,
		    struct gt_err *err);
int gt_read_templates(struct gt_plan_reader *reader,
		      const struct gt_json *object,
		      struct gt_plan_channel *channel, struct gt_err *err);
int gt_read_sets(struct gt_plan_reader *reader,
		 const struct gt_json *certificate, struct gt_err *err);

/* The number of an uplink, behind those of links; 0: it is none. */
int gt_read_uplink(const struct gt_plan *plan, const char *id, uint32_t *link);

/* The member `key` of an object as a rank. */
int gt_read_rank(struct gt_plan_reader *reader, const struct gt_json *object,
		 const char *key, uint32_t *rank, struct gt_err *err);

/* An array of numbers up to max. */
int gt_read_numbers(struct gt_plan_reader *reader, const struct gt_json *at,
		    uint32_t max, uint32_t *n, uint32_t **numbers,
		    struct gt_err *err);

/* A link by its id, and an array of such. */
int gt_read_link(struct gt_plan_reader *reader, const struct gt_json *at,
		 const char *id, uint32_t *link, struct gt_err *err);
int gt_read_links(struct gt_plan_reader *reader, const struct gt_json *at,
		  uint32_t *n, uint32_t **links, struct gt_err *err);

/* Optional "charge", 1 when there is none. */
int gt_read_charge(const struct gt_json *object, struct gt_rat *charge,
		   struct gt_err *err);

/* One of a table's words. */
int gt_read_word(const struct gt_json *object, const char *key,
		 int (*find)(const char *), int *value, struct gt_err *err);

int gt_read_proof(struct gt_plan_reader *reader, const struct gt_json *root,
		  struct gt_err *err);

/* After the proof, whose value gives a tree without gbs its rate. */
int gt_read_channels(struct gt_plan_reader *reader, const struct gt_json *root,
		     struct gt_err *err);

int gt_read_fifo(struct gt_plan_reader *reader, const struct gt_json *root,
		 struct gt_err *err);

/* After the channels, that they are for. */
int gt_read_programs(struct gt_plan_reader *reader, const struct gt_json *root,
		     struct gt_err *err);

/* After the channels: without a table every size uses all of them. */
int gt_read_select(struct gt_plan_reader *reader, const struct gt_json *root,
		   struct gt_err *err);

/*
 * What rows of select and measurements have in common: which channels are used
 * for what, and how; max_bytes stays as it is.
 */
int gt_read_use(struct gt_plan_reader *reader, const struct gt_json *object,
		struct gt_plan_select *use, struct gt_err *err);

/* After the channels. */
int gt_read_measurements(struct gt_plan_reader *reader,
			 const struct gt_json *root, struct gt_err *err);

#endif
