/*
 * Variables of NCCL's environment that take something from it.
 */
#ifndef GT_TOPO_NCCL_LIMITS_H
#define GT_TOPO_NCCL_LIMITS_H

struct gt_nccl_log;

/* A variable, and the verb and object that tell what it does. */
struct gt_nccl_limit {
	const char *variable;
	const char *what;
};

enum { GT_NCCL_NLIMITS = 15 };

/* Those that are known, what costs most first. */
extern const struct gt_nccl_limit gt_nccl_limits[GT_NCCL_NLIMITS];

/*
 * Returns the setting, "NCCL_P2P_DISABLE=1", with which a log's job was limited
 * by a variable; NULL where it was not, or by a value that limits nothing.
 */
const char *gt_nccl_limit_set(const struct gt_nccl_log *log,
			      const char *variable);

#endif
