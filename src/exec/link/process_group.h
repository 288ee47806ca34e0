/*
 * An engine's ranks in several processes: which are in this one, and the links
 * to those that are not.  With one process there are no links.
 *
 * A group belongs to one thread, the engine's; _open, _link and _connect are
 * called by all processes together.
 */
#ifndef GT_EXEC_LINK_PROCESS_GROUP_H
#define GT_EXEC_LINK_PROCESS_GROUP_H

#include <stdint.h>

#include "exec/link/link.h"
#include "exec/link/nic_of_rank.h"
#include "exec/link/shared_memory.h"

struct gt_bell;
struct gt_err;
struct gt_world;

struct gt_notice;
struct gt_plan;

/*
 * The first link is within the host; the others, all alike, are between hosts.
 */
enum {
	GT_PROCESS_GROUP_LINKS = 5,
	GT_PROCESS_GROUP_STREAMS = GT_PROCESS_GROUP_LINKS - 1
};

struct gt_process_group_config {
	struct gt_world *world; /* NULL: this process is alone */
	const struct gt_plan *plan;
	uint32_t nranks;        /* of all processes */
	const uint32_t *starts; /* NULL, or as in exec/engine.h */
	const char *link;       /* NULL, or for all connections */
	const char *iface;      /* NULL, or which networks (world/net.h) */
	const char *trace;      /* NULL, or where posts are written down */
	const struct gt_notice *notice; /* NULL, or who wants to know */
	const struct gt_link_memory_ops
		*pins; /* NULL, or as in exec/link/link.h */
	void *pins_arg;
	uint32_t streams; /* links between hosts side by side, each with a
			     proxy and a socket; 0: one */
};

struct gt_process_group {
	struct gt_process_group_config config;
	struct gt_world *world; /* config's */
	uint32_t nprocesses, self;
	uint32_t first, end; /* the ranks of this process */
	uint32_t nhere;      /* ranks of all processes on this host */
	uint32_t ncpus;      /* processors that one of these may use */
	uint32_t place;      /* how many of those come before `first` */
	uint8_t *is_here;    /* of each process: is it on this host? */
	/* Of each process: is it reached by links between hosts? */
	uint8_t *is_far;
	uint32_t nfar;                 /* links between hosts that are open */
	struct gt_shared_memory bells; /* of the local ranks */
	/* The card that the plan goes over, or "". */
	char nic[GT_NIC_OF_RANK_MAX];
	struct gt_process_group_link {
		const struct gt_link_ops *ops;
		struct gt_exec_link *link; /* NULL: no process needs it */
		struct gt_link_conn *conns;
		uint32_t nconns, room;
	} links[GT_PROCESS_GROUP_LINKS];
};

/*
 * Unless it is said otherwise, process p of P has the ranks
 * [_first(p), _first(p + 1)) of n: neighbours in the plan's numbering, as
 * launchers place them.
 */
uint32_t gt_process_group_first(uint32_t p, uint32_t nprocesses,
				uint32_t nranks);

/*
 * The first rank of a process of the group, whose processes may have any number
 * of ranks.
 */
uint32_t gt_process_group_begin(const struct gt_process_group *group,
				uint32_t p);

/* The process that a rank is in. */
uint32_t gt_process_group_of_rank(const struct gt_process_group *group,
				  uint32_t rank);

/*
 * Tell the other processes why this one fails, before it frees what they may
 * look for; bad input they find alike, and need not be told of.
 */
void gt_process_group_tell(const struct gt_process_group *group, int rc,
			   const struct gt_err *err);

/*
 * Find out which processes are on this host.  *group holds zeros before, and
 * may be closed in any case.
 */
int gt_process_group_open(struct gt_process_group *group,
			  const struct gt_process_group_config *config,
			  struct gt_err *err);
void gt_process_group_close(struct gt_process_group *group);

/*
 * Choose links to all processes and open them, except to those p with
 * reached[p], which need none; NULL if there are none of those.  Between hosts
 * the link is RDMA if the plan's hops leave by cards with a port that works, in
 * all processes, else TCP.
 */
int gt_process_group_link(struct gt_process_group *group,
			  const uint8_t *reached, struct gt_err *err);

/* Does any process of the group need a link? */
int gt_process_group_has_links(const struct gt_process_group *group);

/*
 * Does a link carry bytes, rather than map memory?  The answer is alike in all
 * processes.
 */
int gt_process_group_has_wires(const struct gt_process_group *group);

/*
 * Note a connection to a rank that is not local.  _connect makes all that were
 * noted, and forgets them; _forget does that where an end is freed before.
 */
int gt_process_group_add(struct gt_process_group *group,
			 const struct gt_link_conn *conn, uint32_t other_rank,
			 struct gt_err *err);
int gt_process_group_connect(struct gt_process_group *group,
			     const struct gt_link_shape *shape,
			     struct gt_err *err);
void gt_process_group_forget(struct gt_process_group *group);

/*
 * A thread that stays on its processor carries slices of the links that need it
 * (exec/link/link.h); without such links all of these do nothing.  _carries
 * says whether a link needs it, and _carry does it for that link, 0 when there
 * was nothing: several threads may share the work.
 */
void gt_process_group_attend(struct gt_process_group *group, int change);
void gt_process_group_progress(struct gt_process_group *group);
int gt_process_group_carries(const struct gt_process_group *group, int link);
int gt_process_group_carry(struct gt_process_group *group, int link);

/* In process 0, tell config.notice what all processes have come to. */
void gt_process_group_notice(const struct gt_process_group *group, int warning,
			     const char *text);

/* Cheap; GT_OK while the other processes and the links to them work. */
int gt_process_group_check(struct gt_process_group *group, struct gt_err *err);

static inline int gt_process_group_is_local(
	const struct gt_process_group *group, uint32_t rank)
{
	return rank >= group->first && rank < group->end;
}

#endif
