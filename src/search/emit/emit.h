/*
 * From what a search of one machine found to a plan: ranks and links by name,
 * hops with their routes, shares, the proof with its certificates, FIFO and
 * selection.
 */
#ifndef GT_SEARCH_EMIT_EMIT_H
#define GT_SEARCH_EMIT_EMIT_H

struct gt_err;
struct gt_fabric;
struct gt_plan;
struct gt_proposal;
struct gt_search_request;

struct gt_solution {
	const struct gt_search_request *request;
	const struct gt_fabric *fabric;
	const struct gt_proposal *proposal;
};

/*
 * *plan is the caller's, owes nothing to what it was made from, and has passed
 * gt_plan_check().
 */
int gt_emit(const struct gt_solution *solution, struct gt_plan **plan,
	    struct gt_err *err);

#endif
