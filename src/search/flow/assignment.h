/*
 * One path for each pair of ranks on each of k equal channels, such that no
 * row of links has to carry more than it may.
 *
 * A local search: as long as some row is overfull, the move that helps most
 * takes one path off the row that is over by most.  Rows that stay overfull
 * grow in weight (Morris, "The breakout method for escaping from local minima",
 * 1993).  It may miss an assignment that there is, and finds none where there
 * is none.
 */
#ifndef GT_SEARCH_FLOW_ASSIGNMENT_H
#define GT_SEARCH_FLOW_ASSIGNMENT_H

#include <stdint.h>

struct gt_arena;
struct gt_budget;

/*
 * The load that a path puts on a row, in the unit of the rows' limits; a path
 * has each row once.
 */
struct gt_row_load {
	uint32_t row;
	int32_t units;
};

/* A path that a pair may take. */
struct gt_assign_path {
	uint32_t nloads;
	const struct gt_row_load *loads;
	int64_t times;  /* its loads count so often */
	uint32_t score; /* of two that fit the one with less is better */
};

/* A pair of ranks, and its paths; where several do as well the first counts. */
struct gt_assign_pair {
	uint32_t npaths;
	const uint32_t *paths; /* of gt_assignment.paths */
};

struct gt_assignment {
	uint32_t npairs, nrows;
	const struct gt_assign_pair *pairs;
	const struct gt_assign_path *paths;
	const struct gt_budget *budget; /* or NULL */
	int64_t looks_max; /* how often the search looks at a row, at most */
	uint32_t k;        /* channels, as many as there is room for or fewer */
	uint32_t *pick;    /* [pair * k + channel] -> path */
	int64_t *most;     /* row -> what it may carry */
	int64_t *load;     /* row -> what it has to, after a search */
	/* The search's own. */
	uint32_t *moved; /* as pick: in which step it was moved last */
	int64_t *weight; /* by row */
	uint64_t
		*may_load; /* by row: a bit for each pair with a path over it */
	int64_t looks;
	uint32_t step;
};

/*
 * Room for up to max_channels channels; npairs and nrows are set.  Memory is
 * the arena's; 0 when there is none.
 */
int gt_assignment_init(struct gt_assignment *a, uint32_t max_channels,
		       struct gt_arena *arena);

/*
 * From the paths in `pick` to an assignment that fits; 1 when it was found.
 * `load` is what rows have to carry under the last picks, whether they fit or
 * not.
 */
int gt_assignment_search(struct gt_assignment *a);

#endif
