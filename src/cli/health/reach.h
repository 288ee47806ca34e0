/*
 * This compares what a machine's GPUs reach, as `gtopo detect --measure` wrote
 * it, against what they should: what an expected file says was measured of the
 * same machine or an equal one, else the line rate of their links and what
 * others of their kind have.
 */
#ifndef GT_CLI_HEALTH_REACH_H
#define GT_CLI_HEALTH_REACH_H

struct gt_arena;
struct gt_buf;
struct gt_err;

/* Rates may differ by so many percent, latencies by twice as much. */
enum { GT_REACH_TOLERANCE = 10 };

struct gt_reach_finding {
	struct gt_reach_finding *next;
	const char *kind;      /* "hidden", "expected", "line", "others",
				* and "no-gpu" of the host */
	const char *from, *to; /* bus ids, or "host" */
	const char *text;
};

struct gt_reach_query {
	const struct gt_buf *machine; /* XML */
	const char *expect;           /* a file, or NULL */
	const char *p2p;  /* its GPUs that are meant to be apart, or NULL */
	int measured;     /* 0: only whether GPUs are seen */
	double tolerance; /* 0.1 */
};

/*
 * Find what is not as it should be, in order of the GPUs; NULL when all is
 * well. Memory is the arena's.
 */
int gt_reach_find(const struct gt_reach_query *ask, struct gt_arena *arena,
		  struct gt_reach_finding **findings, struct gt_err *err);

/* Append a line for each finding, or the elements of a JSON list. */
void gt_reach_print(const struct gt_reach_finding *findings,
		    struct gt_buf *out);
void gt_reach_print_json(const struct gt_reach_finding *findings,
			 struct gt_buf *out);

#endif
