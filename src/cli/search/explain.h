/*
 * `gtopo search --explain`: the proof of a plan in words, and what would make
 * it better, found by searching again on a machine that has it.
 */
#ifndef GT_CLI_SEARCH_EXPLAIN_H
#define GT_CLI_SEARCH_EXPLAIN_H

struct gt_buf;
struct gt_err;
struct gt_plan;
struct gt_request;
struct gt_topo;

struct gt_explain {
	/* Edited meanwhile, left as it was; or request->whole is. */
	struct gt_topo *topo;
	const struct gt_request *request;
	const char *algo;
	const struct gt_plan *plan; /* what the search found */
};

/* Append the text. */
int gt_search_explain(const struct gt_explain *explain, struct gt_buf *out,
		      struct gt_err *err);

#endif
