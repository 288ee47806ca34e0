/*
 * An MSCCL++ execution plan as JSON: each program becomes a thread block that
 * puts messages into the receiver's scratch and signals.
 */
#include "plan/interop/export.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "plan/interop/export_msccl.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"
#include "plan/lower/step.h"

/* The most that MSCCL++'s executor takes of a thread block. */
enum { GT_PP_MAX_OPS = 64, GT_PP_MAX_CHANNELS = 16, GT_PP_MAX_IDS = 8 };

/*
 * A FIFO.  Every message has a place of its own in the receiver's scratch, so
 * that nobody waits for room; at the end the receiver tells that all is read.
 * Both ends number their channels in the order of FIFOs.
 */
struct gt_mscclpp_write_fifo {
	uint32_t from, to; /* programs */
	uint32_t from_conn, to_conn;
	uint32_t from_id, to_id; /* the FIFO's channel on either GPU */
	uint32_t slot, count;    /* first unit, units of a message */
	uint32_t nsent, nread;
};

struct gt_mscclpp_writer {
	const struct gt_msccl *m;
	uint32_t nprograms, nfifos;
	struct gt_program *programs; /* [rank][selected][lane] */
	struct gt_mscclpp_write_fifo *fifos;
	uint32_t *nchannels, *nscratch; /* by rank */
	struct gt_buf *out;
	uint32_t nops; /* ops of the thread block that is being written */
};

static uint32_t gt_mscclpp_write_selected(const struct gt_mscclpp_writer *pp,
					  uint32_t p)
{
	return p / pp->m->nlanes % pp->m->row->nchannels;
}

static int gt_mscclpp_write_lower(struct gt_mscclpp_writer *pp,
				  struct gt_err *err)
{
	const struct gt_msccl *m = pp->m;
	struct gt_lower_query want = {.use = m->use};
	int rc = GT_OK;

	for (uint32_t p = 0; !rc && p < pp->nprograms; p++) {
		want.rank = p / (m->nlanes * m->row->nchannels);
		want.channel =
			m->row->channels[gt_mscclpp_write_selected(pp, p)];
		want.lane = p % m->nlanes;
		rc = gt_lower(m->plan, &want, m->arena, &pp->programs[p], err);
	}
	return rc;
}

/* Find the program and the connection that receive what a connection sends. */
static int gt_mscclpp_write_peer(const struct gt_mscclpp_writer *pp, uint32_t p,
				 const struct gt_conn *conn,
				 struct gt_mscclpp_write_fifo *fifo)
{
	const struct gt_msccl *m = pp->m;
	uint32_t first = (conn->peer * m->row->nchannels +
			  gt_mscclpp_write_selected(pp, p)) *
			 m->nlanes;

	for (uint32_t q = first; q < first + m->nlanes; q++)
		for (uint32_t c = 0; c < pp->programs[q].nconns; c++) {
			const struct gt_conn *other = &pp->programs[q].conns[c];

			if (other->sends || other->tag != conn->tag ||
			    other->peer != pp->programs[p].rank)
				continue;
			fifo->to = q;
			fifo->to_conn = c;
			return 1;
		}
	return 0;
}

/* The number of messages of a connection in one pass of its program. */
static uint32_t gt_mscclpp_write_messages(const struct gt_program *program,
					  uint32_t conn)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < program->nsteps;
	     i += gt_step_nrecords(&program->steps[i])) {
		const struct gt_step *step = &program->steps[i];

		for (uint32_t k = step->nsrc;
		     k < (uint32_t)step->nsrc + step->ndst; k++) {
			const struct gt_operand *operand =
				gt_step_operand(step, k);

			n += operand->buf == GT_BUF_FIFO &&
			     operand->conn == conn;
		}
	}
	return n;
}

static int gt_mscclpp_write_connect(struct gt_mscclpp_writer *pp,
				    struct gt_err *err)
{
	size_t nconns = 0;

	for (uint32_t p = 0; p < pp->nprograms; p++)
		nconns += pp->programs[p].nconns;
	pp->fifos = gt_arena_array(pp->m->arena, nconns, sizeof(*pp->fifos));
	if (!pp->fifos)
		return gt_err_nomem(err);
	for (uint32_t p = 0; p < pp->nprograms; p++)
		for (uint32_t c = 0; c < pp->programs[p].nconns; c++) {
			const struct gt_conn *conn = &pp->programs[p].conns[c];
			struct gt_mscclpp_write_fifo *fifo =
				&pp->fifos[pp->nfifos];

			if (!conn->sends ||
			    !gt_mscclpp_write_peer(pp, p, conn, fifo))
				continue;
			fifo->from = p;
			fifo->from_conn = c;
			fifo->count =
				pp->m->count[gt_mscclpp_write_selected(pp, p)];
			fifo->from_id = pp->nchannels[pp->programs[p].rank]++;
			fifo->to_id = pp->nchannels[conn->peer]++;
			fifo->slot = pp->nscratch[conn->peer];
			pp->nscratch[conn->peer] +=
				fifo->count *
				gt_mscclpp_write_messages(&pp->programs[p], c);
			pp->nfifos++;
		}
	return GT_OK;
}

static struct gt_mscclpp_write_fifo *gt_mscclpp_write_fifo(
	const struct gt_mscclpp_writer *pp, uint32_t p, uint32_t conn)
{
	for (uint32_t i = 0; i < pp->nfifos; i++) {
		struct gt_mscclpp_write_fifo *fifo = &pp->fifos[i];

		if ((fifo->from == p && fifo->from_conn == conn) ||
		    (fifo->to == p && fifo->to_conn == conn))
			return fifo;
	}
	return NULL;
}

/*
 * Begin an op.  A thread block's channels and remote buffers are those of its
 * FIFOs.
 */
static void gt_mscclpp_write_op(struct gt_mscclpp_writer *pp, const char *name)
{
	gt_buf_printf(pp->out, "%s\n       {\"name\": \"%s\"",
		      pp->nops++ ? "," : "", name);
}

static void gt_mscclpp_write_end(struct gt_mscclpp_writer *pp)
{
	gt_buf_puts(pp->out, "}");
}

static void gt_mscclpp_write_nop(struct gt_mscclpp_writer *pp)
{
	gt_mscclpp_write_op(pp, "nop");
	gt_mscclpp_write_end(pp);
}

/*
 * Signal to connections, or wait for them.  Connections are the thread block's
 * channels, in the same order.
 */
static void gt_mscclpp_write_flags(struct gt_mscclpp_writer *pp,
				   const char *name, const uint32_t *conns,
				   uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i % GT_PP_MAX_IDS == 0) {
			if (i) {
				gt_buf_puts(pp->out, "]");
				gt_mscclpp_write_end(pp);
			}
			gt_mscclpp_write_op(pp, name);
			gt_buf_puts(pp->out, ", \"channel_type\": \"memory\", "
					     "\"channel_ids\": [");
		}
		gt_buf_printf(pp->out, "%s%" PRIu32,
			      i % GT_PP_MAX_IDS ? ", " : "", conns[i]);
	}
	if (!n)
		return;
	gt_buf_puts(pp->out, "]");
	gt_mscclpp_write_end(pp);
}

static void gt_mscclpp_write_local(struct gt_mscclpp_writer *pp,
				   const struct gt_msccl_at *at, uint32_t count)
{
	gt_buf_printf(pp->out,
		      "{\"type\": \"%c\", \"index\": %" PRIu32
		      ", \"size\": %" PRIu32 "}",
		      at->buf, at->unit, count);
}

static void gt_mscclpp_write_copy(struct gt_mscclpp_writer *pp,
				  const struct gt_msccl_at *src,
				  const struct gt_msccl_at *dst, uint32_t count)
{
	gt_mscclpp_write_op(pp, "copy");
	gt_buf_puts(pp->out, ", \"src_buff\": [");
	gt_mscclpp_write_local(pp, src, count);
	gt_buf_puts(pp->out, "], \"dst_buff\": [");
	gt_mscclpp_write_local(pp, dst, count);
	gt_buf_puts(pp->out, "]");
	gt_mscclpp_write_end(pp);
}

/* Put a message into the next place of each FIFO, then tell. */
static void gt_mscclpp_write_puts(struct gt_mscclpp_writer *pp, uint32_t p,
				  const struct gt_msccl_step *step,
				  const struct gt_msccl_at *src)
{
	for (uint32_t i = 0; i < step->nsends; i++) {
		struct gt_mscclpp_write_fifo *fifo =
			gt_mscclpp_write_fifo(pp, p, step->sends[i]);

		gt_mscclpp_write_op(pp, "put");
		gt_buf_printf(pp->out,
			      ", \"channel_type\": \"memory\", "
			      "\"channel_ids\": [%" PRIu32 "], \"src_buff\": [",
			      step->sends[i]);
		gt_mscclpp_write_local(pp, src, fifo->count);
		gt_buf_printf(
			pp->out,
			"], \"dst_buff\": [{\"buffer_id\": %" PRIu32
			", \"index\": %" PRIu32 ", \"size\": %" PRIu32 "}]",
			step->sends[i],
			fifo->slot + fifo->nsent++ * fifo->count, fifo->count);
		gt_mscclpp_write_end(pp);
	}
	if (!step->nsends)
		return;
	gt_mscclpp_write_nop(pp);
	gt_mscclpp_write_flags(pp, "signal", step->sends, step->nsends);
}

/*
 * Write the sum of what came and of what is here to `at`.  An operation takes
 * two local buffers; each thread goes on with the elements that it wrote
 * before.
 */
static void gt_mscclpp_write_reduce(struct gt_mscclpp_writer *pp,
				    const struct gt_msccl_step *step,
				    const struct gt_msccl_at *slots,
				    const struct gt_msccl_at *at,
				    uint32_t count)
{
	const struct gt_msccl_at *acc = step->has_src ? &step->src : slots;

	for (uint32_t i = step->has_src ? 0 : 1; i < step->nrecvs; i++) {
		gt_mscclpp_write_op(pp, "re");
		gt_buf_puts(pp->out, ", \"src_buff\": [");
		gt_mscclpp_write_local(pp, acc, count);
		gt_buf_puts(pp->out, ", ");
		gt_mscclpp_write_local(pp, &slots[i], count);
		gt_buf_puts(pp->out, "], \"dst_buff\": [");
		gt_mscclpp_write_local(pp, at, count);
		gt_buf_puts(pp->out, "]");
		gt_mscclpp_write_end(pp);
		acc = at;
	}
	gt_mscclpp_write_nop(pp);
}

static void gt_mscclpp_write_step(struct gt_mscclpp_writer *pp, uint32_t p,
				  const struct gt_msccl_step *step)
{
	struct gt_msccl_at slots[UINT8_MAX + 1], at = step->src;
	uint32_t count = pp->m->count[gt_mscclpp_write_selected(pp, p)];

	for (uint32_t i = 0; i < step->nrecvs; i++) {
		struct gt_mscclpp_write_fifo *fifo =
			gt_mscclpp_write_fifo(pp, p, step->recvs[i]);

		slots[i] = (struct gt_msccl_at){
			.buf = 's',
			.unit = fifo->slot + fifo->nread++ * fifo->count};
	}
	gt_mscclpp_write_flags(pp, "wait", step->recvs, step->nrecvs);
	if (step->nrecvs) {
		gt_mscclpp_write_nop(pp);
		at = slots[0];
	}
	if (step->nrecvs + (uint32_t)step->has_src > 1) {
		if (step->has_dst)
			at = step->dst;
		gt_mscclpp_write_reduce(pp, step, slots, &at, count);
	} else if (step->has_dst) {
		gt_mscclpp_write_copy(pp, &at, &step->dst, count);
	}
	gt_mscclpp_write_puts(pp, p, step, &at);
}

static int gt_mscclpp_write_steps(struct gt_mscclpp_writer *pp, uint32_t p,
				  struct gt_err *err)
{
	const struct gt_program *program = &pp->programs[p];
	struct gt_msccl_step step;

	for (uint32_t i = 0; i < program->nsteps;
	     i += gt_step_nrecords(&program->steps[i])) {
		gt_msccl_sort(pp->m, gt_mscclpp_write_selected(pp, p),
			      program->rank, &program->steps[i], &step);
		if (step.other || (!step.nrecvs && !step.has_src))
			return gt_err_set(err, GT_EINPUT, pp->m->plan->file,
					  "rank %u: step %u has no counterpart "
					  "in MSCCL++",
					  program->rank, program->steps[i].id);
		gt_mscclpp_write_step(pp, p, &step);
	}
	return GT_OK;
}

/*
 * In the end tell the senders that all that came is read, and wait until the
 * receivers have read all that went.
 */
static int gt_mscclpp_write_finish(struct gt_mscclpp_writer *pp, uint32_t p,
				   struct gt_err *err)
{
	const struct gt_program *program = &pp->programs[p];
	uint32_t *conns =
		gt_arena_array(pp->m->arena, program->nconns, sizeof(*conns));
	uint32_t n;

	if (!conns)
		return gt_err_nomem(err);
	gt_mscclpp_write_nop(pp);
	for (int sends = 0; sends < 2; sends++) {
		n = 0;
		for (uint32_t c = 0; c < program->nconns; c++)
			if (program->conns[c].sends == sends)
				conns[n++] = c;
		gt_mscclpp_write_flags(pp, sends ? "wait" : "signal", conns, n);
	}
	return GT_OK;
}

static int gt_mscclpp_write_block(struct gt_mscclpp_writer *pp, uint32_t p,
				  uint32_t id, struct gt_err *err)
{
	const struct gt_program *program = &pp->programs[p];
	int rc;

	pp->nops = 0;
	gt_buf_printf(pp->out,
		      "%s\n     {\"id\": %" PRIu32
		      ",\n      \"channels\": [{\"channel_type\": \"memory\", "
		      "\"channel_ids\": [",
		      id ? "," : "", id);
	for (uint32_t c = 0; c < program->nconns; c++) {
		const struct gt_mscclpp_write_fifo *fifo =
			gt_mscclpp_write_fifo(pp, p, c);

		gt_buf_printf(pp->out, "%s%" PRIu32, c ? ", " : "",
			      fifo->from == p ? fifo->from_id : fifo->to_id);
	}
	gt_buf_puts(pp->out, "]}],\n      \"remote_buffer_refs\": "
			     "[{\"access_channel_type\": \"memory\", "
			     "\"remote_buffer_ids\": [");
	for (uint32_t c = 0; c < program->nconns; c++)
		gt_buf_printf(pp->out, "%s%" PRIu32, c ? ", " : "",
			      program->conns[c].peer -
				      (program->conns[c].peer > program->rank));
	gt_buf_puts(pp->out, "]}],\n      \"ops\": [");
	rc = gt_mscclpp_write_steps(pp, p, err);
	if (!rc)
		rc = gt_mscclpp_write_finish(pp, p, err);
	gt_buf_puts(pp->out, "]}");
	if (!rc &&
	    (pp->nops > GT_PP_MAX_OPS || program->nconns > GT_PP_MAX_CHANNELS))
		rc = gt_err_set(err, GT_EINPUT, pp->m->plan->file,
				"rank %" PRIu32 " takes %" PRIu32
				" operations on %" PRIu32 " channels in one "
				"thread block; MSCCL++ takes %d on %d",
				program->rank, pp->nops, program->nconns,
				GT_PP_MAX_OPS, GT_PP_MAX_CHANNELS);
	return rc;
}

static uint32_t gt_mscclpp_write_units(const struct gt_msccl *m,
				       enum gt_extent extent)
{
	if (extent == GT_EXTENT_NONE)
		return 0;
	return extent == GT_EXTENT_ALL ? m->nblocks * m->block : m->block;
}

/* The remote buffers are the scratch of all others, in order of rank. */
static int gt_mscclpp_write_gpu(struct gt_mscclpp_writer *pp, uint32_t rank,
				struct gt_err *err)
{
	const struct gt_msccl *m = pp->m;
	uint32_t each = m->row->nchannels * m->nlanes, id = 0, n = 0;
	int rc = GT_OK;

	gt_buf_printf(
		pp->out,
		"%s\n  {\"id\": %" PRIu32 ", \"input_chunks\": %" PRIu32
		", \"output_chunks\": %" PRIu32 ", \"scratch_chunks\": %" PRIu32
		",\n   \"channels\": [{\"channel_type\": \"memory\", "
		"\"connected_to\": [",
		rank ? "," : "", rank,
		gt_mscclpp_write_units(m, gt_layout_input(&m->use, rank)),
		gt_mscclpp_write_units(m, gt_layout_output(&m->use, rank)),
		pp->nscratch[rank]);
	for (uint32_t i = 0; i < pp->nfifos; i++) {
		uint32_t from = pp->programs[pp->fifos[i].from].rank;
		uint32_t to = pp->programs[pp->fifos[i].to].rank;

		if (from == rank || to == rank)
			gt_buf_printf(pp->out, "%s%" PRIu32, n++ ? ", " : "",
				      from == rank ? to : from);
	}
	gt_buf_puts(pp->out, "]}],\n   \"remote_buffers\": [");
	n = 0;
	for (uint32_t r = 0; r < m->plan->nranks; r++)
		if (r != rank)
			gt_buf_printf(pp->out,
				      "%s{\"rank\": %" PRIu32
				      ", \"type\": \"s\", "
				      "\"access_channel_types\": "
				      "[\"memory\"]}",
				      n++ ? ", " : "", r);
	gt_buf_puts(pp->out, "],\n   \"semaphores\": [],\n"
			     "   \"threadblocks\": [");
	for (uint32_t p = rank * each; !rc && p < (rank + 1) * each; p++)
		if (pp->programs[p].nsteps)
			rc = gt_mscclpp_write_block(pp, p, id++, err);
	gt_buf_puts(pp->out, "]}");
	return rc;
}

static int gt_mscclpp_write_print(const struct gt_msccl *m, struct gt_buf *out,
				  struct gt_err *err)
{
	const struct gt_plan *plan = m->plan;
	struct gt_mscclpp_writer pp = {.m = m, .out = out};
	int rc;

	pp.nprograms = plan->nranks * m->row->nchannels * m->nlanes;
	pp.programs =
		gt_arena_array(m->arena, pp.nprograms, sizeof(*pp.programs));
	pp.nchannels =
		gt_arena_array(m->arena, plan->nranks, sizeof(*pp.nchannels));
	pp.nscratch =
		gt_arena_array(m->arena, plan->nranks, sizeof(*pp.nscratch));
	if (!pp.programs || !pp.nchannels || !pp.nscratch)
		return gt_err_nomem(err);
	rc = gt_mscclpp_write_lower(&pp, err);
	if (!rc)
		rc = gt_mscclpp_write_connect(&pp, err);
	gt_buf_printf(out,
		      "{\"name\": \"gtopo_%s_%" PRIu32
		      "\", \"collective\": \"%s\", \"protocol\": \"Simple\", "
		      "\"inplace\": false,\n \"gpus\": [",
		      gt_coll_name(plan->coll), plan->nranks,
		      gt_coll_name(plan->coll));
	for (uint32_t r = 0; !rc && r < plan->nranks; r++)
		rc = gt_mscclpp_write_gpu(&pp, r, err);
	gt_buf_puts(out, "]}\n");
	return rc;
}

int gt_export_mscclpp(const struct gt_plan *plan, struct gt_buf *out,
		      struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_msccl m;
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	rc = gt_msccl_init(&m, plan, arena, err);
	if (!rc)
		rc = gt_mscclpp_write_print(&m, out, err);
	gt_arena_free(arena);
	if (!rc && out->failed)
		rc = gt_err_nomem(err);
	return rc;
}
