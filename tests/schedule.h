/*
 * Messages of pairs of ranks in groups, as tests draw them, and the calls that
 * they are, for the engines of the host and of GPUs.
 */
#ifndef GT_TESTS_SCHEDULE_H
#define GT_TESTS_SCHEDULE_H

#include <stdint.h>

#include "base/dtype.h"
#include "gtopo.h"

enum {
	SCHEDULE_MESSAGES = 200, /* at most */
	SCHEDULE_RANKS = 16,
	POISON = 0xa5, /* in outputs that nothing comes to */
};

struct message {
	int from, to;
	enum gtopo_type type;
	uint64_t count, input, output; /* bytes from the buffers' begin */
};

struct schedule {
	struct message list[SCHEDULE_MESSAGES];
	int n, groups; /* so many in a row start together */
};

/* Ranks and their buffers; those from `first` to before `end` call here. */
struct parties {
	struct gtopo_comm *comm;
	int first, end;
	uint8_t *input[SCHEDULE_RANKS], *output[SCHEDULE_RANKS];
};

static inline uint64_t message_bytes(const struct message *m)
{
	return m->count * gt_dtype_bytes((enum gt_dtype)m->type);
}

/* The sender's call or the receiver's, if it is this process's. */
static inline int call_message(const struct parties *p, const struct message *m,
			       int sends)
{
	int rank = sends ? m->from : m->to;

	if (rank < p->first || rank >= p->end)
		return GTOPO_OK;
	return sends ? gtopo_send(p->comm, rank, p->input[rank] + m->input,
				  m->count, m->type, m->to)
		     : gtopo_recv(p->comm, rank, p->output[rank] + m->output,
				  m->count, m->type, m->from);
}

/* All of one rank's calls, or of all ranks; odd groups send first. */
static inline int call_schedule(const struct parties *p,
				const struct schedule *s, int rank)
{
	int rc = GTOPO_OK;

	for (int begin = 0; !rc && begin < s->n; begin += s->groups) {
		rc = gtopo_group_start(p->comm, rank);
		for (int i = 0; !rc && i < 2 * s->groups; i++) {
			int k = begin + i % s->groups;
			int sends = i / s->groups ^ (begin / s->groups & 1);

			if (k < s->n &&
			    (rank == GTOPO_ALL_RANKS ||
			     rank == (sends ? s->list[k].from : s->list[k].to)))
				rc = call_message(p, &s->list[k], sends);
		}
		if (!rc)
			rc = gtopo_group_end(p->comm, rank);
	}
	return rc;
}

#endif
