/* An MSCCL algorithm as XML, from thread blocks and ops. */
#include "plan/interop/export_msccl.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "plan/interop/export.h"
#include "plan/ir/plan.h"
#include "plan/simulate/simulate.h"

/* The most that MSCCL's runtimes take. */
enum {
	GT_MSCCL_MAX_CHANNELS = 32,
	GT_MSCCL_MAX_BLOCKS = 64,
	GT_MSCCL_MAX_STEPS = 64,
};

static const char *gt_msccl_type_name(enum gt_msccl_type type)
{
	static const char *const names[] = {"s",   "r",    "rcs", "rrs",
					    "rrc", "rrcs", "cpy", "nop"};

	return names[type];
}

static const char *gt_msccl_proto(enum gt_protocol protocol)
{
	if (protocol == GT_PROTOCOL_LL)
		return "LL";
	return protocol == GT_PROTOCOL_LL128 ? "LL128" : "Simple";
}

static uint32_t gt_msccl_units(const struct gt_msccl *m, enum gt_extent extent)
{
	if (extent == GT_EXTENT_NONE)
		return 0;
	return extent == GT_EXTENT_ALL ? m->nblocks * m->block : m->block;
}

static int gt_msccl_fits(const struct gt_msccl *m, uint32_t rank,
			 const struct gt_msccl_gpu *gpu, struct gt_err *err)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < gpu->ntbs; i++)
		if (gpu->tbs[i].nsteps > most)
			most = gpu->tbs[i].nsteps;
	if (m->nchans > GT_MSCCL_MAX_CHANNELS)
		return gt_err_set(err, GT_EINPUT, m->plan->file,
				  "it takes %" PRIu32 " channels, MSCCL has "
				  "%d; search with --max-channels",
				  m->nchans, GT_MSCCL_MAX_CHANNELS);
	if (gpu->ntbs > GT_MSCCL_MAX_BLOCKS || most > GT_MSCCL_MAX_STEPS)
		return gt_err_set(err, GT_EINPUT, m->plan->file,
				  "rank %" PRIu32 " takes %" PRIu32
				  " thread blocks of up to %" PRIu32
				  " steps; MSCCL takes %d of %d",
				  rank, gpu->ntbs, most, GT_MSCCL_MAX_BLOCKS,
				  GT_MSCCL_MAX_STEPS);
	return GT_OK;
}

/* A step without a place says 'i' and -1, as MSCCL's own tools do. */
static void gt_msccl_place(struct gt_buf *out, const char *name, int used,
			   const struct gt_msccl_at *at)
{
	if (used)
		gt_buf_printf(out, " %sbuf=\"%c\" %soff=\"%" PRIu32 "\"", name,
			      at->buf, name, at->unit);
	else
		gt_buf_printf(out, " %sbuf=\"i\" %soff=\"-1\"", name, name);
}

static void gt_msccl_step(const struct gt_msccl_gpu *gpu,
			  const struct gt_msccl_op *op, struct gt_buf *out)
{
	gt_buf_printf(out, "      <step s=\"%" PRIu32 "\" type=\"%s\"",
		      op->step, gt_msccl_type_name(op->type));
	gt_msccl_place(out, "src", op->reads, &op->src);
	gt_msccl_place(out, "dst", op->writes, &op->dst);
	gt_buf_printf(out, " cnt=\"%" PRIu32 "\"", op->count);
	if (op->has_dep)
		gt_buf_printf(out,
			      " depid=\"%" PRIu32 "\" deps=\"%" PRIu32 "\"",
			      gpu->ops[op->dep].tb, gpu->ops[op->dep].step);
	else
		gt_buf_puts(out, " depid=\"-1\" deps=\"-1\"");
	gt_buf_printf(out, " hasdep=\"%d\"/>\n", op->awaited);
}

static void gt_msccl_block(const struct gt_msccl_gpu *gpu, uint32_t tb,
			   struct gt_buf *out)
{
	gt_buf_printf(out,
		      "    <tb id=\"%" PRIu32 "\" send=\"%d\" recv=\"%d\" "
		      "chan=\"%" PRIu32 "\">\n",
		      tb, gpu->tbs[tb].send, gpu->tbs[tb].recv,
		      gpu->tbs[tb].chan);
	for (uint32_t i = 0; i < gpu->nops; i++)
		if (gpu->ops[i].tb == tb)
			gt_msccl_step(gpu, &gpu->ops[i], out);
	gt_buf_puts(out, "    </tb>\n");
}

static int gt_msccl_gpu(const struct gt_msccl *m, uint32_t rank,
			struct gt_buf *out, struct gt_err *err)
{
	struct gt_msccl_gpu gpu;
	int rc = gt_msccl_lower(m, rank, &gpu, err);

	if (!rc)
		rc = gt_msccl_fits(m, rank, &gpu, err);
	if (rc)
		return rc;
	gt_buf_printf(out,
		      "  <gpu id=\"%" PRIu32 "\" i_chunks=\"%" PRIu32
		      "\" o_chunks=\"%" PRIu32 "\" s_chunks=\"%" PRIu32 "\">\n",
		      rank, gt_msccl_units(m, gt_layout_input(&m->use, rank)),
		      gt_msccl_units(m, gt_layout_output(&m->use, rank)),
		      gpu.nscratch);
	for (uint32_t i = 0; i < gpu.ntbs; i++)
		gt_msccl_block(&gpu, i, out);
	gt_buf_puts(out, "  </gpu>\n");
	return GT_OK;
}

/*
 * The smallest message that the row is for: the one after the limit of the row
 * before.
 */
static uint64_t gt_msccl_min(const struct gt_msccl *m)
{
	uint64_t min = 0;

	for (uint32_t i = 0; i < m->plan->nselect; i++) {
		const struct gt_plan_select *row = &m->plan->select[i];

		if (row != m->row && row->coll == m->plan->coll &&
		    row->max_bytes != UINT64_MAX && row->max_bytes + 1 > min)
			min = row->max_bytes + 1;
	}
	return min;
}

static int gt_msccl_print(const struct gt_msccl *m, struct gt_buf *out,
			  struct gt_err *err)
{
	const struct gt_plan *plan = m->plan;
	int rc = GT_OK;

	gt_buf_printf(
		out,
		"<algo name=\"gtopo_%s_%" PRIu32 "\" proto=\"%s\" "
		"nchannels=\"%" PRIu32 "\" nchunksperloop=\"%" PRIu32
		"\" ngpus=\"%" PRIu32 "\" coll=\"%s\" inplace=\"%d\" "
		"outofplace=\"1\" minBytes=\"%" PRIu64 "\" maxBytes=\"0\">\n",
		gt_coll_name(plan->coll), plan->nranks,
		gt_msccl_proto(m->row->protocol), m->nchans,
		m->nblocks * m->block, plan->nranks, gt_coll_name(plan->coll),
		plan->coll != GT_COLL_ALLTOALL && !plan->out_of_place,
		gt_msccl_min(m));
	for (uint32_t rank = 0; !rc && rank < plan->nranks; rank++)
		rc = gt_msccl_gpu(m, rank, out, err);
	gt_buf_puts(out, "</algo>\n");
	return rc;
}

int gt_export_msccl(const struct gt_plan *plan, struct gt_buf *out,
		    struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_msccl m;
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	if (plan->coll == GT_COLL_SENDRECV)
		rc = gt_err_set(err, GT_EINPUT, plan->file,
				"MSCCL has no 'sendrecv'");
	else if (plan->nranks > GT_SIM_MAX_RANKS)
		rc = gt_err_set(err, GT_EINPUT, plan->file,
				"there are %u ranks; at most %d are written "
				"one by one",
				plan->nranks, GT_SIM_MAX_RANKS);
	else
		rc = gt_msccl_init(&m, plan, arena, err);
	if (!rc)
		rc = gt_msccl_print(&m, out, err);
	gt_arena_free(arena);
	if (!rc && out->failed)
		rc = gt_err_nomem(err);
	return rc;
}
