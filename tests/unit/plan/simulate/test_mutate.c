/*
 * Good programs, broken at random in small ways: each must be refused by the
 * simulator, or still compute the right result, which is found out by really
 * moving numbers (oracle.h).  Seeds are fixed, so failures come again.
 */
#include "unit/test.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/lower/lower.h"
#include "plan/ir/plan.h"
#include "plan/simulate/simulate.h"
#include "plan/lower/step.h"
#include "unit/oracle.h"

enum { STEP_MUTATIONS = 30000, SLOT_TRIALS = 6000, MOST_RANKS = 8 };

/* What a channel of random shape does, for a collective that it can do. */
struct programs {
	struct gt_arena *arena;
	struct gt_plan plan;
	struct gt_plan_channel channel;
	uint32_t order[ORACLE_RANKS];
	int32_t parent[ORACLE_RANKS];
	struct gt_plan_path paths[ORACLE_TAGS - 1];
	struct gt_program of[ORACLE_RANKS * ORACLE_LANES];
	struct oracle_args args;
};

static void shuffle(uint32_t *order, uint32_t n, uint32_t *seed)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = oracle_random(seed) % (i + 1);

		order[i] = order[j];
		order[j] = i;
	}
}

/* Up to so many of different pairs, each over one rank or two. */
static void make_paths(struct programs *p, uint32_t n, uint32_t *seed)
{
	struct gt_plan_channel *channel = &p->channel;
	uint32_t most = ORACLE_TAGS - 1 < n ? ORACLE_TAGS - 1 : n;

	channel->shape = GT_SHAPE_FLOW;
	channel->paths = p->paths;
	channel->npaths = n < 3 ? 0 : oracle_random(seed) % (most + 1);
	for (uint32_t i = 0; i < channel->npaths; i++) {
		struct gt_plan_path *path = &p->paths[i];

		path->nranks = n > 3 ? 3 + oracle_random(seed) % 2 : 3;
		path->ranks = gt_arena_array(p->arena, path->nranks,
					     sizeof(*path->ranks));
		assert_non_null(path->ranks);
		for (uint32_t k = 0; k < path->nranks; k++)
			path->ranks[k] = p->order[(i + k) % n];
	}
}

static void make_channel(struct programs *p, uint32_t n, enum gt_algo algo,
			 uint32_t *seed)
{
	struct gt_plan_channel *channel = &p->channel;

	shuffle(p->order, n, seed);
	*channel = (struct gt_plan_channel){.share = GT_RAT(1, 1)};
	channel->shape = GT_SHAPE_MESH;
	channel->norder = n;
	channel->order = p->order;
	channel->parent = p->parent;
	channel->root = p->order[0];
	if (algo == GT_ALGO_RING)
		channel->shape = GT_SHAPE_RING;
	if (algo == GT_ALGO_TREE)
		channel->shape = oracle_random(seed) % 3 ? GT_SHAPE_TREE
							 : GT_SHAPE_CHAIN;
	if (algo == GT_ALGO_FLOW)
		make_paths(p, n, seed);
	p->parent[p->order[0]] = -1;
	for (uint32_t i = 1; i < n; i++)
		p->parent[p->order[i]] =
			(int32_t)p->order[oracle_random(seed) % i];
	p->plan = (struct gt_plan){
		.nranks = n, .nchannels = 1, .channels = channel};
}

static struct gt_channel_use random_use(uint32_t *seed)
{
	struct gt_channel_use use;

	do {
		use.algo = (enum gt_algo)(oracle_random(seed) % GT_ALGO_HIER);
		use.coll = (enum gt_coll)(oracle_random(seed) % GT_NCOLLS);
	} while (!gt_algo_supports(use.algo, use.coll));
	return use;
}

static void make_programs(struct programs *p, struct gt_channel_use use,
			  uint32_t n, uint32_t *seed)
{
	struct gt_lower_query want = {.use = use};
	uint32_t nlanes;

	p->arena = gt_arena_new();
	assert_non_null(p->arena);
	make_channel(p, n, use.algo, seed);
	want.use.root = oracle_random(seed) % n;
	if (use.algo == GT_ALGO_TREE)
		want.use.root = gt_layout_tree_root(&p->channel, use.coll);
	p->plan.root = want.use.root;
	nlanes = gt_lower_lanes(&p->plan, &want.use);
	p->args = (struct oracle_args){.coll = use.coll,
				       .root = want.use.root,
				       .nranks = n,
				       .nlanes = nlanes,
				       .slots = 2 + oracle_random(seed) % 9,
				       .programs = p->of,
				       .seed = oracle_random(seed)};
	p->args.one_block =
		gt_layout_only_block(&p->channel, use.coll, &p->args.block);
	for (uint32_t i = 0; i < n * nlanes; i++) {
		want.rank = i / nlanes;
		want.lane = i % nlanes;
		assert_int_equal(
			gt_lower(&p->plan, &want, p->arena, &p->of[i], NULL),
			0);
	}
}

static int programs_are_accepted(const struct programs *p)
{
	struct gt_sim_args args = {.coll = p->args.coll,
				   .root = p->args.root,
				   .nranks = p->args.nranks,
				   .nlanes = p->args.nlanes,
				   .slots = p->args.slots,
				   .inplace = p->args.inplace,
				   .one_block = p->args.one_block,
				   .block = p->args.block,
				   .programs = p->of};
	struct gt_err err;

	gt_err_init(&err);
	if (!gt_simulate_programs(&args, &err))
		return 1;
	assert_int_equal(err.code, GT_ENO);
	assert_true(err.text[0]);
	return 0;
}

/* As many slots as it takes and not one fewer, as with real numbers. */
static void test_slots(void **state)
{
	uint32_t seed = 7, accepted = 0;
	struct programs p;

	(void)state;
	for (uint32_t i = 0; i < SLOT_TRIALS; i++) {
		make_programs(&p, random_use(&seed), 1 + i % MOST_RANKS, &seed);
		p.args.slots = 1 + i / MOST_RANKS % 5;
		p.args.inplace = (int)(i / MOST_RANKS / 5 % 2);
		if (programs_are_accepted(&p) != oracle_agrees(&p.args))
			fail_msg("%s by %u of %u ranks, %u slots",
				 gt_coll_name(p.args.coll), p.channel.shape,
				 p.args.nranks, p.args.slots);
		accepted += (uint32_t)oracle_agrees(&p.args);
		gt_arena_free(p.arena);
	}
	print_message("%u of %u programs run with their slots\n", accepted,
		      SLOT_TRIALS);
	assert_true(accepted > SLOT_TRIALS / 2 && accepted < SLOT_TRIALS);
}

static void change_operand(struct gt_operand *operand, uint32_t *seed)
{
	switch (oracle_random(seed) % 4) {
	case 0:
		operand->buf = (uint8_t)(oracle_random(seed) % 4);
		break;
	case 1:
		operand->flags = (uint8_t)(oracle_random(seed) % 5);
		break;
	case 2:
		operand->conn = (uint16_t)(oracle_random(seed) % 5);
		break;
	default:
		operand->chunk = oracle_random(seed) % (MOST_RANKS + 1);
	}
}

static void double_source(struct gt_step *step)
{
	if (!step->nsrc || step->nsrc + step->ndst >= GT_STEP_OPERANDS)
		return;
	memmove(&step->operand[step->nsrc + 1], &step->operand[step->nsrc],
		step->ndst * sizeof(step->operand[0]));
	step->operand[step->nsrc] = step->operand[step->nsrc - 1];
	step->nsrc++;
	step->op = GT_OP_GENERIC;
}

static void swap_operands(struct gt_step *step, uint32_t *seed)
{
	uint32_t a = oracle_random(seed) % GT_STEP_OPERANDS;
	uint32_t b = oracle_random(seed) % GT_STEP_OPERANDS;
	struct gt_operand keep = step->operand[a];

	step->op = GT_OP_GENERIC;
	step->operand[a] = step->operand[b];
	step->operand[b] = keep;
}

/* With the step behind it, records and all. */
static void swap_steps(struct gt_program *program, uint32_t at)
{
	uint32_t n = gt_step_nrecords(&program->steps[at]), m;
	struct gt_step keep[2 * ORACLE_RANKS];

	if (at + n >= program->nsteps)
		return;
	m = gt_step_nrecords(&program->steps[at + n]);
	memcpy(keep, &program->steps[at], n * sizeof(*keep));
	memmove(&program->steps[at], &program->steps[at + n],
		m * sizeof(*keep));
	memcpy(&program->steps[at + m], keep, n * sizeof(*keep));
	for (uint32_t i = 0; i < n + m; i++)
		program->steps[at + i].id = at + i;
}

static void change_conn(struct gt_program *program, uint32_t nranks,
			uint32_t *seed)
{
	struct gt_conn *conn;

	if (!program->nconns)
		return;
	conn = &program->conns[oracle_random(seed) % program->nconns];
	switch (oracle_random(seed) % 3) {
	case 0:
		conn->peer = oracle_random(seed) % nranks;
		break;
	case 1:
		conn->tag = (uint16_t)(oracle_random(seed) % ORACLE_TAGS);
		break;
	default:
		conn->sends ^= 1;
	}
}

/* GENERIC says nothing of its operands, so they are judged by themselves. */
static void change_step(struct gt_program *program, uint32_t at, uint32_t *seed)
{
	struct gt_step *step = &program->steps[at];

	switch (oracle_random(seed) % 10) {
	case 0:
		step->op = (uint8_t)(oracle_random(seed) % (GT_NOPS + 1));
		break;
	case 1:
		step->chunk = oracle_random(seed) % MOST_RANKS;
		for (int k = 0; k < GT_STEP_OPERANDS; k++)
			step->operand[k].chunk = step->chunk;
		break;
	case 2:
		step->flags ^= GT_STEP_FINAL;
		break;
	case 3:
		step->nsrc = (uint8_t)(oracle_random(seed) % 4);
		break;
	case 4:
		step->ndst = (uint8_t)(oracle_random(seed) % 4);
		break;
	case 5:
		swap_operands(step, seed);
		break;
	case 6:
		swap_steps(program, at);
		break;
	case 7:
		double_source(step);
		break;
	case 8:
		step->flags ^= GT_STEP_MORE;
		break;
	default:
		step->op = GT_OP_GENERIC;
		change_operand(
			&step->operand[oracle_random(seed) % GT_STEP_OPERANDS],
			seed);
	}
}

/* Somewhere in a program; in one of seven, who is connected with whom. */
static void change_program(struct programs *p, uint32_t *seed)
{
	uint32_t n = p->args.nranks * p->args.nlanes, at = 0, pick;
	struct gt_program *program = &p->of[oracle_random(seed) % n];

	if (!(oracle_random(seed) % 7)) {
		change_conn(program, p->args.nranks, seed);
		return;
	}
	if (!program->nsteps)
		return;
	pick = oracle_random(seed) % program->nsteps;
	while (at + gt_step_nrecords(&program->steps[at]) <= pick)
		at += gt_step_nrecords(&program->steps[at]);
	change_step(program, at, seed);
}

/* Once more in other orders, where lanes might race. */
static int oracle_insists(struct oracle_args *args)
{
	int times = args->nlanes > 1 ? 4 : 1;

	for (int i = 0; i < times; i++, args->seed += 77)
		if (!oracle_agrees(args))
			return 0;
	return 1;
}

static void test_steps(void **state)
{
	uint32_t seed = 5, refused = 0;
	struct programs p;

	(void)state;
	for (uint32_t i = 0; i < STEP_MUTATIONS; i++) {
		make_programs(&p, random_use(&seed), 2 + i % (MOST_RANKS - 1),
			      &seed);
		change_program(&p, &seed);
		p.args.inplace = (int)(oracle_random(&seed) % 2);
		if (!programs_are_accepted(&p))
			refused++;
		else if (!oracle_insists(&p.args))
			fail_msg("wrong program accepted, number %u: %s, "
				 "shape %u, %u ranks",
				 i, gt_coll_name(p.args.coll), p.channel.shape,
				 p.args.nranks);
		gt_arena_free(p.arena);
	}
	print_message("%u of %u changed programs refused\n", refused,
		      STEP_MUTATIONS);
	assert_true(refused > STEP_MUTATIONS / 2);
	assert_true(refused < STEP_MUTATIONS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
