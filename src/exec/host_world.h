/*
 * The host engine's ranks in several processes: which are local, and the
 * links to those that are not.  With one process all of it is nothing.
 */
#ifndef GT_EXEC_HOST_WORLD_H
#define GT_EXEC_HOST_WORLD_H

#include <stdint.h>

#include "exec/link.h"
#include "exec/share.h"

struct gt_engine;
struct gt_err;
struct gt_world;

enum { GT_HOST_LINKS = 2 };

struct gt_host_world {
	struct gt_world *world; /* NULL: this process is alone */
	uint32_t nprocesses;
	uint32_t nhere;        /* ranks of all processes on this host */
	struct gt_share bells; /* of the local ranks */
	uint8_t *link_of;      /* process to which of `links` */
	struct gt_host_link {
		const struct gt_link_ops *ops;
		struct gt_link *link; /* NULL: no process needs it */
		struct gt_link_conn *conns;
		uint32_t nconns;
	} links[GT_HOST_LINKS];
};

/*
 * Process p of P has the ranks [_first(p), _first(p + 1)) of n: neighbours in
 * the plan's numbering, as launchers place them.
 */
uint32_t gt_host_world_first(uint32_t p, uint32_t nprocesses, uint32_t nranks);

/* Choose links and open them; engine->first and engine->end are set. */
int gt_host_world_open(struct gt_engine *engine, struct gt_err *err);
void gt_host_world_close(struct gt_engine *engine);

/* Note a connection to a rank that is not local; made by _connect. */
int gt_host_world_add(struct gt_engine *engine, const struct gt_link_conn *conn,
		      uint32_t other_rank, struct gt_err *err);
int gt_host_world_connect(struct gt_engine *engine,
			  const struct gt_link_shape *shape,
			  struct gt_err *err);

/*
 * A rank that stays on its processor carries slices of links that need it
 * (exec/link.h); all of it is nothing where there are none.
 */
void gt_host_world_attend(struct gt_engine *engine, int change);
void gt_host_world_progress(struct gt_engine *engine);

/* Whether the others and the links to them still work; cheap. */
int gt_host_world_check(struct gt_engine *engine, struct gt_err *err);

#endif
