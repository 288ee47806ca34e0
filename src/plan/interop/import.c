/*
 * The way in: the format is found, the algorithm is read and replayed, and the
 * plan's mesh becomes a channel of explicit steps.
 */
#include "plan/interop/import.h"

#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/rat.h"
#include "base/file.h"
#include "base/xml.h"
#include "plan/interop/algorithm.h"
#include "plan/interop/import_replay.h"
#include "plan/ir/plan.h"

enum {
	GT_IMPORT_SLOTS = 8,
	GT_IMPORT_MAX_BYTES = 64 << 20,
};

/* The chunks that one rank sends to another in a loop. */
struct gt_import_pair {
	uint32_t messages;
	int used;
};

static uint32_t gt_import_list_unit(const struct gt_import_list *list,
				    uint32_t unit)
{
	for (uint32_t i = 0; i < list->n; i++)
		if (list->operands[i].buf != GT_IMPORT_MESSAGE &&
		    list->operands[i].buf != GT_IMPORT_FLAG)
			unit = gt_rat_gcd(unit, list->operands[i].at);
	return unit;
}

/*
 * Find the unit of chunks: those that are never apart become one, which makes
 * steps and slots fewer.
 */
static void gt_import_unit(struct gt_import_file *algo)
{
	uint32_t blocks = gt_coll_has_blocks(algo->coll) ? algo->ngpus : 1;
	uint32_t unit = algo->nchunks / blocks;

	for (uint32_t r = 0; r < algo->ngpus; r++)
		for (uint32_t t = 0; t < algo->gpus[r].ntbs; t++) {
			const struct gt_import_tb *tb = &algo->gpus[r].tbs[t];

			for (uint32_t i = 0; i < tb->nsteps; i++) {
				const struct gt_import_step *s = &tb->steps[i];

				unit = gt_rat_gcd(unit, s->count);
				unit = gt_import_list_unit(&s->src, unit);
				unit = gt_import_list_unit(&s->dst, unit);
			}
		}
	algo->unit = unit ? unit : 1;
}

static struct gt_import_pair *gt_import_pairs(const struct gt_import_file *algo)
{
	uint32_t n = algo->ngpus;
	struct gt_import_pair *pairs =
		gt_arena_array(algo->arena, (size_t)n * n, sizeof(*pairs));

	for (uint32_t i = 0; pairs && i < algo->nlinks; i++) {
		const struct gt_import_link *link = &algo->links[i];
		struct gt_import_pair *pair = &pairs[link->from * n + link->to];

		pair->used = 1;
		if (!link->flags)
			pair->messages += link->nsent;
	}
	return pairs;
}

/* Keep the hops of the mesh that are used. */
static void gt_import_hops(struct gt_plan *plan,
			   const struct gt_import_pair *pairs)
{
	struct gt_plan_channel *channel = &plan->channels[0];
	uint32_t n = 0;

	for (uint32_t i = 0; i < channel->nhops; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];

		if (pairs[hop->from * plan->nranks + hop->to].used)
			channel->hops[n++] = *hop;
	}
	channel->nhops = n;
}

/*
 * The rate of each chunk on every hop that it takes, so that no link carries
 * more than its capacity.
 */
static int gt_import_rate(struct gt_plan *plan,
			  const struct gt_import_pair *pairs)
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
				pairs[hop->from * plan->nranks + hop->to]
					.messages;

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

/* Slots, enough that no sender waits where the algorithm's own do not. */
static uint32_t gt_import_slots(const struct gt_import_file *algo)
{
	uint32_t slots = algo->slots / algo->unit;

	for (uint32_t i = 0; !algo->slots && i < algo->nlinks; i++)
		if (algo->links[i].nsent > slots)
			slots = algo->links[i].nsent;
	return slots > GT_IMPORT_SLOTS ? slots : GT_IMPORT_SLOTS;
}

static int gt_import_plan(const struct gt_import_file *algo,
			  struct gt_plan *plan, struct gt_err *err)
{
	struct gt_plan_channel *channel = &plan->channels[0];
	struct gt_plan_select *row = &plan->select[0];
	struct gt_import_pair *pairs = gt_import_pairs(algo);

	if (!pairs)
		return gt_err_nomem(err);
	channel->shape = GT_SHAPE_STEPS;
	channel->nchunks = algo->nchunks / algo->unit;
	for (uint32_t r = 0; r < algo->ngpus; r++)
		if (algo->gpus[r].nused > channel->nscratch)
			channel->nscratch = algo->gpus[r].nused;
	gt_import_hops(plan, pairs);
	if (!gt_import_rate(plan, pairs))
		return gt_err_set(err, GT_EINPUT, algo->name,
				  "its load on the links does not fit 64 bits");
	for (uint32_t i = 0; i < plan->nprograms; i++) {
		plan->programs[i].nchunks = channel->nchunks;
		plan->programs[i].nscratch = channel->nscratch;
	}
	plan->coll = algo->coll;
	plan->root = algo->root;
	plan->has_proof = 0;
	plan->nselect = 1;
	plan->fifo_slots = gt_import_slots(algo);
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

/* MSCCL's files are XML, those of MSCCL++ are JSON. */
static int gt_import_text(const char *text, size_t len,
			  struct gt_import_file *algo, struct gt_xml **xml,
			  struct gt_err *err)
{
	size_t at = 0;

	while (at < len && isspace((unsigned char)text[at]))
		at++;
	return at < len && text[at] == '{'
		       ? gt_import_mscclpp(text, len, algo, err)
		       : gt_import_msccl(text, len, algo, xml, err);
}

static int gt_import_all(struct gt_import_file *algo, struct gt_plan *plan,
			 struct gt_err *err)
{
	int rc = gt_import_is_for(algo, algo->ngpus, err);

	if (rc)
		return rc;
	gt_import_unit(algo);
	rc = gt_import_replay(algo, plan, err);
	return rc ? rc : gt_import_plan(algo, plan, err);
}

int gt_import_parse(const char *name, const char *text, size_t len,
		    struct gt_plan *plan, struct gt_err *err)
{
	struct gt_import_file algo = {
		.name = name, .arena = gt_arena_new(), .nranks = plan->nranks};
	struct gt_xml *xml = NULL;
	int rc;

	if (!algo.arena)
		return gt_err_nomem(err);
	rc = gt_import_text(text, len, &algo, &xml, err);
	if (!rc)
		rc = gt_import_all(&algo, plan, err);
	gt_xml_free(xml);
	gt_arena_free(algo.arena);
	return rc;
}

int gt_import(const char *path, struct gt_plan *plan, struct gt_err *err)
{
	const char *name = strcmp(path, "-") ? path : "standard input";
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_file_read(path, GT_IMPORT_MAX_BYTES, &text, err);

	if (!rc)
		rc = gt_import_parse(name, gt_buf_text(&text), text.len, plan,
				     err);
	gt_buf_release(&text);
	return rc;
}
