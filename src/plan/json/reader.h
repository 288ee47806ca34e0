/*
 * The files of the plan's reader share this: the plan being made, its links and
 * channels by name, and tools to read values.  Each function reports a fault
 * with the JSON path of the value.  gt_plan_read() (plan/json/json.h) is the
 * way in for others.
 */
#ifndef GT_PLAN_JSON_READER_H
#define GT_PLAN_JSON_READER_H

#include <stddef.h>
#include <stdint.h>

struct gt_err;
struct gt_json;
struct gt_plan;
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

/* The word under `key`, as the number that find() has for it in its table. */
int gt_read_word(const struct gt_json *object, const char *key,
		 int (*find)(const char *), int *value, struct gt_err *err);

/* The member `key` of an object as a rank. */
int gt_read_rank(struct gt_plan_reader *reader, const struct gt_json *object,
		 const char *key, uint32_t *rank, struct gt_err *err);

/* The array of the plan's ranks, which are numbered from 0 on. */
int gt_read_rank_list(struct gt_plan_reader *reader, const struct gt_json *at,
		      struct gt_err *err);

/* An array of numbers up to max. */
int gt_read_numbers(struct gt_plan_reader *reader, const struct gt_json *at,
		    uint32_t max, uint32_t *n, uint32_t **numbers,
		    struct gt_err *err);

/* Fill reader->names from the plan's links; `at` is their array in the file. */
int gt_read_link_names(struct gt_plan_reader *reader, const struct gt_json *at,
		       struct gt_err *err);

/* The index of a link by its id, and those of an array of ids. */
int gt_read_link(struct gt_plan_reader *reader, const struct gt_json *at,
		 const char *id, uint32_t *link, struct gt_err *err);
int gt_read_links(struct gt_plan_reader *reader, const struct gt_json *at,
		  uint32_t *n, uint32_t **links, struct gt_err *err);

/* The optional "charge", which is 1 when it is left out. */
int gt_read_charge(const struct gt_json *object, struct gt_rat *charge,
		   struct gt_err *err);

#endif
