/*
 * Shares as whole numbers of units of a chunk, which is all that MSCCL's
 * formats know, and channel numbers for tags.
 */
#include "plan/interop/export_msccl.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/rat.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"

/*
 * A chunk may be cut into so many units at most, all channels together;
 * shares that need more are rounded.
 */
enum { GT_MSCCL_UNITS = 64 };

/*
 * The root whose blocks alone a channel moves, or nranks when it moves parts of
 * all blocks: channels of one root are a group.
 */
static uint32_t gt_units_group(const struct gt_msccl *m, uint32_t i)
{
	uint32_t root;

	if (gt_layout_only_block(&m->plan->channels[m->row->channels[i]],
				 m->use.coll, &root))
		return root;
	return m->plan->nranks;
}

/* The channel's part of what its group moves; 0 when that does not fit. */
static struct gt_rat gt_units_part(const struct gt_msccl *m, uint32_t i)
{
	struct gt_rat sum = GT_RAT(0, 1), part;

	for (uint32_t k = 0; k < m->row->nchannels; k++)
		if (gt_units_group(m, k) == gt_units_group(m, i) &&
		    !gt_rat_add(sum,
				m->plan->channels[m->row->channels[k]].share,
				&sum))
			return GT_RAT(0, 1);
	if (!gt_rat_div(m->plan->channels[m->row->channels[i]].share, sum,
			&part))
		return GT_RAT(0, 1);
	return part;
}

/*
 * The smallest number of units in which all parts are whole, unless it is above
 * GT_MSCCL_UNITS.
 */
static uint32_t gt_units_whole(const struct gt_msccl *m)
{
	uint32_t units = 1;

	for (uint32_t i = 0; i < m->row->nchannels; i++) {
		int64_t den = gt_units_part(m, i).den;

		if (den > GT_MSCCL_UNITS)
			return GT_MSCCL_UNITS;
		units = units / gt_rat_gcd(units, (uint32_t)den) *
			(uint32_t)den;
		if (units > GT_MSCCL_UNITS)
			return GT_MSCCL_UNITS;
	}
	return units;
}

/*
 * Give what a group lacks of all units, or take what it has too many, from its
 * largest channel.
 */
static int gt_units_settle(struct gt_msccl *m, uint32_t i, uint32_t units,
			   struct gt_err *err)
{
	uint32_t sum = 0, most = i;

	for (uint32_t k = 0; k < m->row->nchannels; k++) {
		if (gt_units_group(m, k) != gt_units_group(m, i))
			continue;
		sum += m->count[k];
		if (m->count[k] > m->count[most])
			most = k;
	}
	if (m->count[most] + units <= sum)
		return gt_err_set(err, GT_EINPUT, m->plan->file,
				  "its channels are too many for %u units of "
				  "a chunk",
				  units);
	m->count[most] = m->count[most] + units - sum;
	return GT_OK;
}

/*
 * Find the units of each channel, one at least, and where they begin in a
 * block.
 */
static int gt_units_share_out(struct gt_msccl *m, struct gt_err *err)
{
	uint32_t n = m->row->nchannels, units = gt_units_whole(m);
	int rc = GT_OK;

	for (uint32_t i = 0; i < n; i++) {
		m->count[i] =
			(uint32_t)gt_rat_floor_mul(gt_units_part(m, i), units);
		if (!m->count[i])
			m->count[i] = 1;
	}
	for (uint32_t i = 0; !rc && i < n; i++)
		rc = gt_units_settle(m, i, units, err);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < i; k++)
			if (gt_units_group(m, k) == gt_units_group(m, i))
				m->before[i] += m->count[k] * m->per_block;
	m->block = units * m->per_block;
	return rc;
}

/*
 * Give each tag a channel number, which names a FIFO together with its peers.
 */
static int gt_units_chans(struct gt_msccl *m, struct gt_err *err)
{
	struct gt_lower_query want = {.use = m->use};
	int rc = GT_OK;

	for (uint32_t i = 0; i < m->row->nchannels; i++) {
		uint32_t ntags = 1;

		want.channel = m->row->channels[i];
		for (uint32_t k = 0; k < m->nlanes * m->plan->nranks; k++) {
			struct gt_program program;

			want.rank = k / m->nlanes;
			want.lane = k % m->nlanes;
			rc = gt_lower(m->plan, &want, m->arena, &program, err);
			if (rc)
				return rc;
			for (uint32_t c = 0; c < program.nconns; c++)
				if (program.conns[c].tag >= ntags)
					ntags = program.conns[c].tag + 1u;
		}
		m->chan[i] = m->nchans;
		m->nchans += ntags;
	}
	return rc;
}

int gt_msccl_init(struct gt_msccl *m, const struct gt_plan *plan,
		  struct gt_arena *arena, struct gt_err *err)
{
	uint32_t n;
	int rc;

	*m = (struct gt_msccl){.plan = plan, .arena = arena};
	m->row = gt_plan_main_row(plan);
	m->use = (struct gt_channel_use){plan->coll, m->row->algo, plan->root};
	n = m->row->nchannels;
	m->nlanes = gt_lower_lanes(plan, &m->use);
	m->nblocks = gt_coll_has_blocks(plan->coll) ? plan->nranks : 1;
	m->per_block = gt_layout_nchunks(plan, m->row->channels[0], &m->use) /
		       m->nblocks;
	m->count = gt_arena_array(arena, n, sizeof(*m->count));
	m->before = gt_arena_array(arena, n, sizeof(*m->before));
	m->chan = gt_arena_array(arena, n, sizeof(*m->chan));
	if (!m->count || !m->before || !m->chan)
		return gt_err_nomem(err);
	rc = gt_units_share_out(m, err);
	return rc ? rc : gt_units_chans(m, err);
}
