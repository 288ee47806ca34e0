#include "plan/import_msccl.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/xml.h"
#include "plan/import.h"
#include "plan/import_run.h"
#include "plan/plan.h"

enum { GT_IMPORT_SLOTS = 8 };

static uint32_t gt_import_gcd(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Chunks that are never apart are one: fewer steps, and fewer slots. */
static void gt_import_unit(struct gt_algo_file *algo)
{
	uint32_t blocks = gt_coll_has_blocks(algo->coll) ? algo->ngpus : 1;
	uint32_t unit = gt_import_gcd(algo->nchunks / blocks, 0);

	for (uint32_t r = 0; r < algo->ngpus; r++)
		for (uint32_t t = 0; t < algo->gpus[r].ntbs; t++) {
			const struct gt_algo_tb *tb = &algo->gpus[r].tbs[t];

			for (uint32_t i = 0; i < tb->nsteps; i++) {
				const struct gt_algo_step *s = &tb->steps[i];

				if (s->type == GT_ALGO_TYPE_NOP)
					continue;
				unit = gt_import_gcd(unit, (uint32_t)s->count);
				unit = gt_import_gcd(unit, (uint32_t)s->src_at);
				unit = gt_import_gcd(unit, (uint32_t)s->dst_at);
			}
		}
	algo->unit = unit ? unit : 1;
}

/* Which thread block sends what this one receives. */
static int gt_import_pair(struct gt_algo_file *algo, uint32_t rank,
			  struct gt_algo_tb *tb, const struct gt_xml_elem *elem,
			  struct gt_err *err)
{
	struct gt_algo_gpu *peer;

	if (tb->recv < 0)
		return GT_OK;
	peer = &algo->gpus[tb->recv];
	for (uint32_t i = 0; i < peer->ntbs; i++) {
		struct gt_algo_tb *from = &peer->tbs[i];

		if (from->send != (int)rank || from->chan != tb->chan)
			continue;
		if (tb->from)
			return gt_xml_fail(elem, "recv", err,
					   "two thread blocks of gpu %d send "
					   "on channel %d",
					   tb->recv, tb->chan);
		tb->from = from;
	}
	if (!tb->from)
		return gt_xml_fail(elem, "recv", err,
				   "no thread block of gpu %d sends here on "
				   "channel %d",
				   tb->recv, tb->chan);
	return GT_OK;
}

static int gt_import_pairs(struct gt_algo_file *algo, struct gt_err *err)
{
	const struct gt_xml_elem *gpu = gt_xml_child(gt_xml_root(algo->xml));
	int rc = GT_OK;

	for (uint32_t r = 0; !rc && r < algo->ngpus; r++) {
		const struct gt_xml_elem *elem = gt_xml_child(gpu);

		for (uint32_t t = 0; !rc && t < algo->gpus[r].ntbs; t++) {
			struct gt_algo_tb *tb = &algo->gpus[r].tbs[t];

			if (tb->send == (int)r || tb->recv == (int)r)
				rc = gt_xml_fail(elem, NULL, err,
						 "gpu %u sends to itself", r);
			if (!rc)
				rc = gt_import_pair(algo, r, tb, elem, err);
			elem = gt_xml_next(elem);
		}
		gpu = gt_xml_next(gpu);
	}
	return rc;
}

/* What each ordered pair of ranks moves in a loop, in chunks. */
static uint32_t *gt_import_traffic(const struct gt_algo_file *algo)
{
	uint32_t n = algo->ngpus;
	uint32_t *traffic =
		gt_arena_array(algo->arena, (size_t)n * n, sizeof(*traffic));

	for (uint32_t r = 0; traffic && r < n; r++)
		for (uint32_t t = 0; t < algo->gpus[r].ntbs; t++) {
			const struct gt_algo_tb *tb = &algo->gpus[r].tbs[t];

			if (tb->send >= 0)
				traffic[r * n + (uint32_t)tb->send] +=
					tb->nsent;
		}
	return traffic;
}

/* The hops that are used, of all those of the mesh. */
static void gt_import_hops(struct gt_plan *plan, const uint32_t *traffic)
{
	struct gt_plan_channel *channel = &plan->channels[0];
	uint32_t n = 0;

	for (uint32_t i = 0; i < channel->nhops; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];

		if (traffic[hop->from * plan->nranks + hop->to])
			channel->hops[n++] = *hop;
	}
	channel->nhops = n;
}

/* What a chunk's every hop may have so that no link has too much. */
static int gt_import_rate(struct gt_plan *plan, const uint32_t *traffic)
{
	struct gt_plan_channel *channel = &plan->channels[0];
	int found = 0;

	channel->gbs = GT_RAT(0, 1);
	for (uint32_t l = 0; l < plan->nlinks; l++) {
		struct gt_rat load = GT_RAT(0, 1), part, rate;
		int pci = plan->links[l].kind &&
			  !strcmp(plan->links[l].kind, "PCI");

		for (uint32_t i = 0; i < channel->nhops; i++) {
			const struct gt_plan_hop *hop = &channel->hops[i];
			int64_t times =
				traffic[hop->from * plan->nranks + hop->to];

			for (uint32_t k = 0; k < hop->nroute; k++)
				if (hop->route[k] == l &&
				    (!gt_rat_mul(pci ? hop->charge
						     : GT_RAT(1, 1),
						 GT_RAT(times, 1), &part) ||
				     !gt_rat_add(load, part, &load)))
					return 0;
		}
		if (!load.num)
			continue;
		if (!gt_rat_mul(plan->links[l].gbs,
				GT_RAT((int64_t)channel->nchunks, 1), &rate) ||
		    !gt_rat_div(rate, load, &rate))
			return 0;
		if (!found || gt_rat_cmp(rate, channel->gbs) < 0)
			channel->gbs = rate;
		found = 1;
	}
	return 1;
}

static int gt_import_plan(const struct gt_algo_file *algo, struct gt_plan *plan,
			  struct gt_err *err)
{
	struct gt_plan_channel *channel = &plan->channels[0];
	struct gt_plan_select *row = &plan->select[0];
	uint32_t *traffic = gt_import_traffic(algo), slots;

	if (!traffic)
		return gt_err_nomem(err);
	channel->shape = GT_SHAPE_STEPS;
	channel->nchunks = algo->nchunks / algo->unit;
	for (uint32_t r = 0; r < algo->ngpus; r++)
		if (algo->gpus[r].nscratch > channel->nscratch)
			channel->nscratch = algo->gpus[r].nscratch;
	gt_import_hops(plan, traffic);
	if (!gt_import_rate(plan, traffic))
		return gt_err_set(err, GT_EINPUT, gt_xml_source(algo->xml),
				  "its load on the links does not fit 64 bits");
	for (uint32_t i = 0; i < plan->nprograms; i++) {
		plan->programs[i].nchunks = channel->nchunks;
		plan->programs[i].nscratch = channel->nscratch;
	}
	plan->coll = algo->coll;
	plan->root = algo->root;
	plan->has_proof = 0;
	plan->nselect = 1;
	slots = 2 * algo->most / algo->unit;
	plan->fifo_slots = slots > GT_IMPORT_SLOTS ? slots : GT_IMPORT_SLOTS;
	*row = (struct gt_plan_select){.max_bytes = UINT64_MAX,
				       .coll = algo->coll,
				       .algo = GT_ALGO_STEPS,
				       .protocol = algo->protocol,
				       .nchannels = 1,
				       .channels = row->channels,
				       .workers = row->workers};
	row->channels[0] = 0;
	return GT_OK;
}

static int gt_import_all(const char *path, struct gt_algo_file *algo,
			 struct gt_plan *plan, struct gt_err *err)
{
	int rc = gt_algo_read(path, algo, err);

	if (!rc && algo->ngpus != plan->nranks)
		rc = gt_err_set(err, GT_EINPUT, gt_xml_source(algo->xml),
				"it is for %u GPUs, there are %u", algo->ngpus,
				plan->nranks);
	if (!rc && gt_coll_has_blocks(algo->coll) &&
	    algo->nchunks % algo->ngpus)
		rc = gt_xml_fail(gt_xml_root(algo->xml), "nchunksperloop", err,
				 "'%u' chunks are not whole blocks",
				 algo->nchunks);
	if (rc)
		return rc;
	gt_import_unit(algo);
	rc = gt_import_pairs(algo, err);
	if (!rc)
		rc = gt_import_run(algo, plan, err);
	return rc ? rc : gt_import_plan(algo, plan, err);
}

int gt_import_msccl(const char *path, struct gt_plan *plan, struct gt_err *err)
{
	struct gt_algo_file algo = {.arena = gt_arena_new()};
	int rc;

	if (!algo.arena)
		return gt_err_nomem(err);
	rc = gt_import_all(path, &algo, plan, err);
	gt_xml_free(algo.xml);
	gt_arena_free(algo.arena);
	return rc;
}
