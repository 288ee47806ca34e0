/* The traces of all processes come together in process 0, on its clock. */
#include "exec/trace/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "world/world.h"

enum {
	GT_GATHER_PIECE_BYTES = 1 << 20,
	GT_GATHER_SAME_CLOCK_NS = 50000000,
};

/*
 * A process tells this first; each rank's head, links, waits and steps follow.
 */
struct gt_gather_head {
	int64_t now_ns; /* when a round of all processes had ended */
};

struct gt_gather_rank {
	uint64_t nsteps, ndropped;
};

static void gt_gather_pack(const struct gt_trace *trace, int64_t now_ns,
			   struct gt_buf *out)
{
	struct gt_gather_head head = {now_ns};

	gt_buf_add(out, &head, sizeof(head));
	for (uint32_t r = 0; r < trace->nranks; r++) {
		const struct gt_trace_rank *rank = &trace->ranks[r];
		struct gt_gather_rank what = {rank->nsteps, rank->ndropped};

		gt_buf_add(out, &what, sizeof(what));
		gt_buf_add(out, rank->links,
			   trace->nranks * sizeof(*rank->links));
		gt_buf_add(out, rank->waits_ns,
			   trace->nranks * sizeof(*rank->waits_ns));
		if (rank->nsteps)
			gt_buf_add(out, rank->steps,
				   rank->nsteps * sizeof(*rank->steps));
	}
}

/* Take the next bytes of what was told; 0: there are not so many. */
static int gt_gather_next(struct gt_buf *from, size_t *at, void *to, size_t n)
{
	if (n > from->len - *at)
		return 0;
	memcpy(to, from->text + *at, n);
	*at += n;
	return 1;
}

static int gt_gather_unpack_rank(struct gt_trace *trace, uint32_t r,
				 struct gt_buf *from, size_t *at,
				 int64_t ahead_ns)
{
	struct gt_trace_rank *rank = &trace->ranks[r];
	struct gt_gather_rank what;
	struct gt_trace_link link;
	struct gt_trace_step step;
	int64_t waits_ns;

	if (!gt_gather_next(from, at, &what, sizeof(what)))
		return 0;
	rank->ndropped += what.ndropped;
	for (uint32_t p = 0; p < trace->nranks; p++) {
		if (!gt_gather_next(from, at, &link, sizeof(link)))
			return 0;
		rank->links[p].bytes += link.bytes;
		rank->links[p].busy_ns += link.busy_ns;
	}
	for (uint32_t p = 0; p < trace->nranks; p++) {
		if (!gt_gather_next(from, at, &waits_ns, sizeof(waits_ns)))
			return 0;
		rank->waits_ns[p] += waits_ns;
	}
	for (uint64_t i = 0; i < what.nsteps; i++) {
		if (!gt_gather_next(from, at, &step, sizeof(step)))
			return 0;
		step.since_ns -= ahead_ns;
		step.begin_ns -= ahead_ns;
		step.end_ns -= ahead_ns;
		gt_trace_append(rank, &step);
	}
	return 1;
}

/*
 * Read what a process told, on this one's clock.  Processes of a host have one
 * clock, and those of several hosts ended a round at about the same time: two
 * clocks that differ by less than a round may take count as one.
 */
static int gt_gather_unpack(struct gt_trace *trace, int64_t now_ns,
			    struct gt_buf *from)
{
	struct gt_gather_head head;
	int64_t ahead_ns;
	size_t at = 0;

	if (!gt_gather_next(from, &at, &head, sizeof(head)))
		return 0;
	ahead_ns = head.now_ns - now_ns;
	if (ahead_ns > -GT_GATHER_SAME_CLOCK_NS &&
	    ahead_ns < GT_GATHER_SAME_CLOCK_NS)
		ahead_ns = 0;
	for (uint32_t r = 0; r < trace->nranks; r++)
		if (!gt_gather_unpack_rank(trace, r, from, &at, ahead_ns))
			return 0;
	return at == from->len;
}

/* All processes tell their traces, piece by piece; process 0 keeps them. */
static int gt_gather_tell(struct gt_world *world, const struct gt_buf *mine,
			  struct gt_buf *all, struct gt_err *err)
{
	uint32_t size = gt_world_size(world);
	struct gt_world_part *parts = calloc(size, sizeof(*parts));
	uint64_t pieces = mine->len / GT_GATHER_PIECE_BYTES + 1;
	int rc = parts ? gt_world_max(world, &pieces, err) : gt_err_nomem(err);

	for (uint64_t i = 0; !rc && i < pieces; i++) {
		size_t at = i * GT_GATHER_PIECE_BYTES, n = 0;

		if (at < mine->len)
			n = mine->len - at;
		if (n > GT_GATHER_PIECE_BYTES)
			n = GT_GATHER_PIECE_BYTES;
		rc = gt_world_allgather(world, n ? mine->text + at : NULL, n,
					parts, err);
		for (uint32_t p = 1; !rc && !gt_world_rank(world) && p < size;
		     p++)
			if (parts[p].len)
				gt_buf_add(&all[p], parts[p].bytes,
					   parts[p].len);
	}
	free(parts);
	return rc;
}

int gt_trace_gather(struct gt_trace *trace, struct gt_world *world,
		    struct gt_err *err)
{
	uint32_t size = gt_world_size(world);
	struct gt_buf *all = calloc(size, sizeof(*all)), mine = GT_BUF_INIT;
	int rc = all ? gt_world_allgather(world, NULL, 0, NULL, err)
		     : gt_err_nomem(err);
	int64_t now_ns = gt_clock_ns();

	gt_gather_pack(trace, now_ns, &mine);
	if (!rc && mine.failed)
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_gather_tell(world, &mine, all, err);
	for (uint32_t p = 1; !rc && !gt_world_rank(world) && p < size; p++) {
		if (all[p].failed)
			rc = gt_err_nomem(err);
		else if (!gt_gather_unpack(trace, now_ns, &all[p]))
			rc = gt_err_set(err, GT_ESYS, NULL,
					"%s tells another trace",
					gt_world_name(world, p));
	}
	for (uint32_t p = 0; all && p < size; p++)
		gt_buf_release(&all[p]);
	gt_buf_release(&mine);
	free(all);
	return rc;
}
