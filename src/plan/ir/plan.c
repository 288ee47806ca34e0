/*
 * A plan's memory, the words of its enums, which row is for which message, and
 * what algorithms, shapes and collectives have in common.
 */
#include "plan/ir/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/word.h"
#include "plan/ir/demand.h"

static const char *const gt_coll_names[GT_NCOLLS] = {
	[GT_COLL_ALLREDUCE] = "allreduce",
	[GT_COLL_ALLGATHER] = "allgather",
	[GT_COLL_REDUCESCATTER] = "reducescatter",
	[GT_COLL_BROADCAST] = "broadcast",
	[GT_COLL_REDUCE] = "reduce",
	[GT_COLL_ALLTOALL] = "alltoall",
	[GT_COLL_GATHER] = "gather",
	[GT_COLL_SCATTER] = "scatter",
	[GT_COLL_SENDRECV] = "sendrecv",
};

static const char *const gt_shape_names[GT_NSHAPES] = {
	[GT_SHAPE_RING] = "ring",   [GT_SHAPE_CHAIN] = "chain",
	[GT_SHAPE_TREE] = "tree",   [GT_SHAPE_MESH] = "mesh",
	[GT_SHAPE_FLOW] = "flow",   [GT_SHAPE_TEMPLATE] = "template",
	[GT_SHAPE_STEPS] = "steps", [GT_SHAPE_SWITCH] = "switch",
};

static const char *const gt_algo_names[GT_NALGOS] = {
	[GT_ALGO_RING] = "ring",         [GT_ALGO_TREE] = "tree",
	[GT_ALGO_ONE_SHOT] = "one-shot", [GT_ALGO_TWO_SHOT] = "two-shot",
	[GT_ALGO_FLOW] = "flow",         [GT_ALGO_HIER] = "hier",
	[GT_ALGO_STEPS] = "steps",       [GT_ALGO_NVLS] = "nvls",
	[GT_ALGO_COLLNET] = "collnet",
};

static const char *const gt_transport_names[GT_NTRANSPORTS] = {
	[GT_TRANSPORT_PEER] = "peer",
	[GT_TRANSPORT_SHM] = "shm",
	[GT_TRANSPORT_TCP] = "tcp",
	[GT_TRANSPORT_VERBS] = "verbs",
};

static const char *const gt_protocol_names[GT_NPROTOCOLS] = {
	[GT_PROTOCOL_SIMPLE] = "simple", [GT_PROTOCOL_LL] = "ll",
	[GT_PROTOCOL_LL128] = "ll128",   [GT_PROTOCOL_DIRECT] = "direct",
	[GT_PROTOCOL_CE] = "ce",
};

static const char *const gt_proof_names[GT_NPROOFS] = {
	[GT_PROOF_RING] = "ring",
	[GT_PROOF_TREE] = "tree",
	[GT_PROOF_ANY] = "any",
	[GT_PROOF_SWITCH] = "switch",
};

static const char *const gt_op_names[GT_NOPS] = {
#define GT_OP(NAME, name, recv, local, copy, send) [GT_OP_##NAME] = name,
#include "plan/ir/op.def"
};

static const char *const gt_operand_names[GT_NBUFS] = {
	[GT_BUF_NONE] = "none",
	[GT_BUF_INPUT] = "input",
	[GT_BUF_OUTPUT] = "output",
	[GT_BUF_FIFO] = "slot",
	[GT_BUF_PEER_INPUT] = "peer-input",
	[GT_BUF_PEER_OUTPUT] = "peer-output",
	[GT_BUF_SCRATCH] = "scratch",
};

struct gt_plan *gt_plan_new(void)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_plan *plan;

	plan = arena ? gt_arena_alloc(arena, sizeof(*plan)) : NULL;
	if (!plan) {
		gt_arena_free(arena);
		return NULL;
	}
	plan->arena = arena;
	return plan;
}

void gt_plan_free(struct gt_plan *plan)
{
	if (plan)
		gt_arena_free(plan->arena);
}

uint32_t gt_plan_ring_relay(const struct gt_plan_channel *ring, uint32_t i)
{
	uint32_t at = 0;

	if (ring->nhops <= ring->norder)
		return UINT32_MAX;
	for (uint32_t k = 0;; k++) {
		uint32_t next = ring->order[(k + 1) % ring->norder];
		uint32_t to = ring->hops[at].to;

		if (k == i)
			return to == next ? UINT32_MAX : to;
		at += to == next ? 1 : 2;
	}
}

enum gt_transport gt_plan_transport(const struct gt_plan *plan,
				    const uint32_t *links, uint32_t nlinks,
				    int is_staged)
{
	for (uint32_t i = 0; i < nlinks; i++) {
		const char *kind = plan->links[links[i]].kind;

		if (kind && !strcmp(kind, "NET"))
			return GT_TRANSPORT_VERBS;
	}
	return is_staged ? GT_TRANSPORT_SHM : GT_TRANSPORT_PEER;
}

static int gt_plan_has_hop(const struct gt_plan *plan, enum gt_transport by)
{
	for (uint32_t c = 0; c < plan->nchannels; c++) {
		const struct gt_plan_channel *channel = &plan->channels[c];

		for (uint32_t i = 0; i < channel->nhops; i++)
			if (channel->hops[i].transport == by)
				return 1;
	}
	return 0;
}

int gt_plan_is_staged(const struct gt_plan *plan)
{
	return gt_plan_has_hop(plan, GT_TRANSPORT_SHM);
}

int gt_plan_is_mixed(const struct gt_plan *plan)
{
	return gt_plan_is_staged(plan) &&
	       gt_plan_has_hop(plan, GT_TRANSPORT_PEER);
}

int gt_plan_stages_rank(const struct gt_plan *plan, uint32_t rank)
{
	int from = 0, to = 0;

	for (uint32_t c = 0; c < plan->nchannels; c++) {
		const struct gt_plan_channel *channel = &plan->channels[c];

		for (uint32_t i = 0; i < channel->nhops; i++) {
			const struct gt_plan_hop *hop = &channel->hops[i];

			if (hop->transport != GT_TRANSPORT_SHM)
				continue;
			from |= hop->from == rank;
			to |= hop->to == rank;
		}
	}
	return from && to;
}

const struct gt_plan_select *gt_plan_main_row(const struct gt_plan *plan)
{
	const struct gt_plan_select *main = &plan->select[plan->nselect - 1];

	for (uint32_t i = 0; i < plan->nselect; i++)
		if (plan->select[i].coll == plan->coll)
			main = &plan->select[i];
	return main;
}

static int gt_plan_names(const struct gt_plan *plan, enum gt_coll coll)
{
	for (uint32_t i = 0; i < plan->nselect; i++)
		if (plan->select[i].coll == coll)
			return 1;
	return 0;
}

int gt_plan_row_serves(const struct gt_plan *plan,
		       const struct gt_plan_select *row, enum gt_coll coll)
{
	if (gt_plan_names(plan, coll))
		return row->coll == coll;
	return row->coll == plan->coll && gt_algo_supports(row->algo, coll) &&
	       row->algo != GT_ALGO_TREE && row->algo != GT_ALGO_FLOW &&
	       row->algo != GT_ALGO_STEPS && row->algo != GT_ALGO_NVLS &&
	       row->algo != GT_ALGO_COLLNET;
}

const struct gt_plan_select *gt_plan_row(const struct gt_plan *plan,
					 enum gt_coll coll, uint64_t bytes)
{
	const struct gt_plan_select *last = NULL;

	for (uint32_t i = 0; i < plan->nselect; i++) {
		if (!gt_plan_row_serves(plan, &plan->select[i], coll))
			continue;
		last = &plan->select[i];
		if (bytes <= last->max_bytes)
			return last;
	}
	return last;
}

const struct gt_program *gt_plan_program(const struct gt_plan *plan,
					 uint32_t channel, uint32_t rank,
					 uint32_t lane)
{
	const struct gt_program key = {
		.channel = channel, .rank = rank, .lane = lane};

	return plan->nprograms ? bsearch(&key, plan->programs, plan->nprograms,
					 sizeof(key), gt_program_cmp)
			       : NULL;
}

int gt_algo_fits_shape(enum gt_algo algo, enum gt_shape shape)
{
	if (algo == GT_ALGO_RING)
		return shape == GT_SHAPE_RING;
	if (algo == GT_ALGO_TREE)
		return shape == GT_SHAPE_TREE || shape == GT_SHAPE_CHAIN;
	if (algo == GT_ALGO_FLOW)
		return shape == GT_SHAPE_FLOW;
	if (algo == GT_ALGO_STEPS)
		return shape == GT_SHAPE_STEPS;
	if (algo == GT_ALGO_HIER)
		return shape == GT_SHAPE_TEMPLATE;
	if (algo == GT_ALGO_NVLS || algo == GT_ALGO_COLLNET)
		return shape == GT_SHAPE_SWITCH;
	return shape == GT_SHAPE_MESH;
}

int gt_algo_supports(enum gt_algo algo, enum gt_coll coll)
{
	if (algo == GT_ALGO_ONE_SHOT || algo == GT_ALGO_STEPS)
		return 1;
	if (algo == GT_ALGO_FLOW)
		return gt_coll_only_moves(coll);
	if (algo == GT_ALGO_NVLS)
		return !gt_coll_only_moves(coll);
	if (algo == GT_ALGO_COLLNET)
		return coll == GT_COLL_ALLREDUCE;
	if (algo == GT_ALGO_HIER)
		return coll == GT_COLL_ALLREDUCE || coll == GT_COLL_ALLGATHER ||
		       coll == GT_COLL_REDUCESCATTER;
	if (coll == GT_COLL_ALLREDUCE || coll == GT_COLL_BROADCAST ||
	    coll == GT_COLL_REDUCE)
		return 1;
	return algo != GT_ALGO_TWO_SHOT &&
	       (coll == GT_COLL_ALLGATHER || coll == GT_COLL_REDUCESCATTER);
}

/*
 * The part of the result that a hop carries depends on the algorithm.  A ring's
 * hop carries all blocks but one, for an all-reduce twice, or all of a
 * broadcast.  An edge of a tree carries a channel's whole share, also where
 * switches multicast and add up.  A pair of a
 * mesh or a flow carries one block, or, of what has no blocks, all at once
 * (one-shot) or a rank's part once to be brought together and once to be spread
 * (two-shot).
 */
static struct gt_rat gt_algbw_factor(const struct gt_plan *plan,
				     enum gt_algo algo)
{
	int64_t n = plan->nranks;
	int blocks = gt_coll_has_blocks(plan->coll);

	if (plan->demand)
		return gt_demand_busiest(plan->demand, plan->nranks, 0);
	if (n < 2 || algo == GT_ALGO_TREE || algo == GT_ALGO_HIER ||
	    algo == GT_ALGO_STEPS || algo == GT_ALGO_NVLS ||
	    algo == GT_ALGO_COLLNET || plan->coll == GT_COLL_SENDRECV)
		return GT_RAT(1, 1);
	if (algo == GT_ALGO_RING && plan->coll == GT_COLL_ALLREDUCE)
		return n % 2 ? GT_RAT(n, 2 * (n - 1)) : GT_RAT(n / 2, n - 1);
	if (algo == GT_ALGO_RING)
		return blocks ? GT_RAT(n, n - 1) : GT_RAT(1, 1);
	if (blocks)
		return GT_RAT(n, 1);
	if (algo == GT_ALGO_ONE_SHOT)
		return GT_RAT(1, 1);
	return n % 2 ? GT_RAT(n, 2) : GT_RAT(n / 2, 1);
}

struct gt_rat gt_plan_algbw_factor(const struct gt_plan *plan)
{
	return gt_algbw_factor(plan, gt_plan_main_row(plan)->algo);
}

double gt_coll_busbw_factor(enum gt_coll coll, uint64_t n)
{
	double others = n ? (double)(n - 1) / (double)n : 0;

	if (coll == GT_COLL_ALLREDUCE)
		return 2 * others;
	return gt_coll_has_blocks(coll) ? others : 1;
}

double gt_plan_algbw(const struct gt_plan *plan, struct gt_rat value)
{
	return gt_rat_double(value) * gt_rat_double(gt_plan_algbw_factor(plan));
}

double gt_plan_busbw(const struct gt_plan *plan, struct gt_rat value)
{
	if (plan->demand)
		return gt_rat_double(value) *
		       gt_rat_double(gt_demand_busiest(plan->demand,
						       plan->nranks, 1));
	return gt_plan_algbw(plan, value) *
	       gt_coll_busbw_factor(plan->coll, plan->nranks);
}

double gt_plan_gap(const struct gt_plan *plan)
{
	double bound = gt_rat_double(plan->proof.bound);

	return bound > 0 ? 1 - gt_rat_double(plan->proof.value) / bound : 0;
}

static int gt_row_uses(const struct gt_plan_select *row, uint32_t channel)
{
	for (uint32_t i = 0; i < row->nchannels; i++)
		if (row->channels[i] == channel)
			return 1;
	return 0;
}

double gt_plan_channel_busbw(const struct gt_plan *plan, uint32_t channel)
{
	const struct gt_plan_select *row = NULL;

	for (uint32_t i = 0; i < plan->nselect; i++)
		if (plan->select[i].coll == plan->coll &&
		    gt_row_uses(&plan->select[i], channel))
			row = &plan->select[i];
	if (!row)
		return 0;
	if (plan->demand)
		return gt_plan_busbw(plan, plan->channels[channel].gbs);
	return gt_rat_double(plan->channels[channel].gbs) *
	       gt_rat_double(gt_algbw_factor(plan, row->algo)) *
	       gt_coll_busbw_factor(plan->coll, plan->nranks);
}

int gt_coll_goes_down(enum gt_coll coll)
{
	return coll == GT_COLL_ALLREDUCE || coll == GT_COLL_ALLGATHER ||
	       coll == GT_COLL_BROADCAST;
}

int gt_coll_goes_up(enum gt_coll coll)
{
	return coll == GT_COLL_ALLREDUCE || coll == GT_COLL_REDUCESCATTER ||
	       coll == GT_COLL_REDUCE;
}

int gt_coll_reduces(enum gt_coll coll)
{
	return coll == GT_COLL_ALLREDUCE || coll == GT_COLL_REDUCESCATTER ||
	       coll == GT_COLL_REDUCE;
}

int gt_coll_only_moves(enum gt_coll coll)
{
	return coll == GT_COLL_ALLTOALL || coll == GT_COLL_GATHER ||
	       coll == GT_COLL_SCATTER || coll == GT_COLL_SENDRECV;
}

int gt_coll_has_pair(enum gt_coll coll, uint32_t n, uint32_t root,
		     uint32_t from, uint32_t to)
{
	if (from == to)
		return 0;
	switch (coll) {
	case GT_COLL_ALLTOALL:
		return 1;
	case GT_COLL_GATHER:
		return to == root;
	case GT_COLL_SCATTER:
		return from == root;
	case GT_COLL_SENDRECV:
		return to == (from + 1) % n;
	default:
		return 0;
	}
}

int gt_plan_blocks_differ(const struct gt_plan *plan, enum gt_coll coll)
{
	return plan->demand && coll == plan->coll;
}

uint32_t gt_plan_pair_units(const struct gt_plan *plan, enum gt_coll coll,
			    uint32_t from, uint32_t to)
{
	if (gt_plan_blocks_differ(plan, coll))
		return plan->demand->units[(size_t)from * plan->nranks + to];
	return (uint32_t)gt_coll_has_pair(coll, plan->nranks, plan->root, from,
					  to);
}

uint32_t gt_plan_most_units(const struct gt_plan *plan, enum gt_coll coll)
{
	return gt_plan_blocks_differ(plan, coll) ? plan->demand->most : 1;
}

uint64_t gt_plan_block_count(const struct gt_plan *plan, enum gt_coll coll,
			     uint64_t count)
{
	struct gt_rat one = GT_RAT(0, 1);

	if (!gt_plan_blocks_differ(plan, coll))
		return count / (gt_coll_has_blocks(coll) ? plan->nranks : 1);
	gt_rat_div(GT_RAT(1, 1), gt_demand_most(plan->demand, plan->nranks),
		   &one);
	return (uint64_t)gt_rat_floor_mul(one, (int64_t)count);
}

double gt_plan_busbw_factor(const struct gt_plan *plan, enum gt_coll coll)
{
	if (!gt_plan_blocks_differ(plan, coll))
		return gt_coll_busbw_factor(coll, plan->nranks);
	return gt_plan_busbw(plan, GT_RAT(1, 1)) /
	       gt_plan_algbw(plan, GT_RAT(1, 1));
}

int gt_plan_need_even(const struct gt_plan *plan, const char *what,
		      struct gt_err *err)
{
	if (!plan->demand)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, plan->file,
			  "has a demand, blocks that are not all alike, which "
			  "%s cannot do yet; gtopo verify, predict and run can",
			  what);
}

int gt_plan_uses_switches(const struct gt_plan *plan)
{
	for (uint32_t i = 0; i < plan->nchannels; i++)
		if (plan->channels[i].shape == GT_SHAPE_SWITCH)
			return 1;
	return 0;
}

int gt_plan_need_forwarding(const struct gt_plan *plan, const char *what,
			    struct gt_err *err)
{
	if (!gt_plan_uses_switches(plan))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, plan->file,
			  "has switches multicast and add up (%s), which %s "
			  "cannot have them do; gtopo search --algo auto plans "
			  "without",
			  gt_algo_name(gt_plan_main_row(plan)->algo), what);
}

int gt_coll_has_blocks(enum gt_coll coll)
{
	return coll == GT_COLL_ALLGATHER || coll == GT_COLL_REDUCESCATTER ||
	       coll == GT_COLL_ALLTOALL || coll == GT_COLL_GATHER ||
	       coll == GT_COLL_SCATTER;
}

int gt_coll_is_rooted(enum gt_coll coll)
{
	return coll == GT_COLL_BROADCAST || coll == GT_COLL_REDUCE ||
	       coll == GT_COLL_GATHER || coll == GT_COLL_SCATTER;
}

static const char *gt_word(const char *const *words, unsigned n, unsigned i)
{
	return i < n ? words[i] : "?";
}

static int gt_word_find(const char *const *words, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(words[i], name))
			return i;
	return -1;
}

const char *gt_coll_name(enum gt_coll coll)
{
	return gt_word(gt_coll_names, GT_NCOLLS, coll);
}

const char *gt_shape_name(enum gt_shape shape)
{
	return gt_word(gt_shape_names, GT_NSHAPES, shape);
}

const char *gt_algo_name(enum gt_algo algo)
{
	return gt_word(gt_algo_names, GT_NALGOS, algo);
}

const char *gt_transport_name(enum gt_transport transport)
{
	return gt_word(gt_transport_names, GT_NTRANSPORTS, transport);
}

const char *gt_protocol_name(enum gt_protocol protocol)
{
	return gt_word(gt_protocol_names, GT_NPROTOCOLS, protocol);
}

const char *gt_proof_name(enum gt_proof_class class_)
{
	return gt_word(gt_proof_names, GT_NPROOFS, class_);
}

const char *gt_op_name(enum gt_op op)
{
	return gt_word(gt_op_names, GT_NOPS, op);
}

int gt_coll_find(const char *name)
{
	return gt_word_find(gt_coll_names, GT_NCOLLS, name);
}

int gt_coll_meant(const char *text)
{
	for (int i = 0; i < GT_NCOLLS; i++)
		if (gt_word_is(gt_coll_names[i], text))
			return i;
	return -1;
}

int gt_shape_find(const char *name)
{
	return gt_word_find(gt_shape_names, GT_NSHAPES, name);
}

int gt_algo_find(const char *name)
{
	return gt_word_find(gt_algo_names, GT_NALGOS, name);
}

int gt_transport_find(const char *name)
{
	return gt_word_find(gt_transport_names, GT_NTRANSPORTS, name);
}

int gt_protocol_find(const char *name)
{
	return gt_word_find(gt_protocol_names, GT_NPROTOCOLS, name);
}

int gt_proof_find(const char *name)
{
	return gt_word_find(gt_proof_names, GT_NPROOFS, name);
}

const char *gt_operand_name(enum gt_operand_buf buf)
{
	return gt_word(gt_operand_names, GT_NBUFS, buf);
}

int gt_operand_find(const char *name)
{
	return gt_word_find(gt_operand_names, GT_NBUFS, name);
}

int gt_program_cmp(const void *a, const void *b)
{
	const struct gt_program *left = a, *right = b;

	if (left->channel != right->channel)
		return left->channel < right->channel ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	return (left->lane > right->lane) - (left->lane < right->lane);
}

static int gt_links_are_nvlink(const struct gt_plan *plan, uint32_t n,
			       const uint32_t *links)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *kind = plan->links[links[i]].kind;

		if (kind && strcmp(kind, "NVL"))
			return 0;
	}
	return 1;
}

int gt_plan_allows_ll128(const struct gt_plan *plan)
{
	for (uint32_t c = 0; c < plan->nchannels; c++) {
		const struct gt_plan_channel *channel = &plan->channels[c];

		for (uint32_t i = 0; i < channel->nhops; i++)
			if (!gt_links_are_nvlink(plan, channel->hops[i].nroute,
						 channel->hops[i].route))
				return 0;
	}
	for (uint32_t i = 0; i < plan->proof.nroutes; i++)
		if (!gt_links_are_nvlink(plan, plan->proof.routes[i].nlinks,
					 plan->proof.routes[i].links))
			return 0;
	return 1;
}
