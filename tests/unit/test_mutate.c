/*
 * Good plans and good programs, broken at random in small ways: each must be
 * refused, or still compute the right result, which is found out by really
 * moving numbers (oracle.h).  Seeds are fixed, so failures come again.
 */
#include "unit/test.h"

#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "plan/lower.h"
#include "plan/plan.h"
#include "plan/simulate.h"
#include "unit/oracle.h"

enum { PLAN_MUTATIONS = 4500, STEP_MUTATIONS = 20000 };

static const char *const plan_files[] = {"ring4",
					 "ring8-two",
					 "ring2-gather",
					 "ring3-scatter",
					 "ring2-pci-charge",
					 "tree8-star-gather",
					 "tree8-star-scatter",
					 "chain4-gather",
					 "chain4-scatter"};

/* One channel of a plan, in both placements. */
static int channel_is_right(const struct gt_plan *plan, enum gt_coll coll,
			    uint32_t channel, uint32_t seed)
{
	struct gt_program programs[ORACLE_RANKS];
	struct oracle_args args = {.coll = coll,
				   .nranks = plan->nranks,
				   .slots = plan->fifo_slots,
				   .programs = programs,
				   .seed = seed};
	struct gt_lower_want want = {
		.use = {coll, gt_plan_main(plan)->algo, plan->root},
		.channel = channel};

	if (args.slots > ORACLE_SLOTS)
		args.slots = ORACLE_SLOTS;
	for (uint32_t r = 0; r < plan->nranks; r++) {
		want.rank = r;
		assert_int_equal(
			gt_lower(plan, &want, plan->arena, &programs[r], NULL),
			0);
	}
	args.rooted =
		gt_layout_root(&plan->channels[channel], coll, &args.root);
	args.inplace = 0;
	if (!oracle_agrees(&args))
		return 0;
	args.inplace = 1;
	return oracle_agrees(&args);
}

static int plan_is_accepted(const struct gt_plan *plan)
{
	struct gt_err err;

	gt_err_init(&err);
	if (!gt_plan_check(plan, &err) && !gt_simulate(plan, plan->coll, &err))
		return 1;
	assert_true(err.code == GT_ENO || err.code == GT_EINPUT);
	assert_true(err.text[0]);
	return 0;
}

/* The next number in the text at or behind `at`, or NULL. */
static char *find_number(char *at)
{
	while (*at && !isdigit((unsigned char)*at))
		at++;
	return *at ? at : NULL;
}

static void swap_lines(char *text, size_t at)
{
	char *first = text + at, *second, *end, c;

	while (first > text && first[-1] != '\n')
		first--;
	second = strchr(first, '\n');
	end = second ? strchr(second + 1, '\n') : NULL;
	if (!end)
		return;
	/* Rotate by one character at a time: slow, short and good enough. */
	for (size_t n = (size_t)(second - first) + 1; n; n--) {
		c = *first;
		memmove(first, first + 1, (size_t)(end - first));
		*end = c;
	}
}

static void drop_line(char *text, size_t at)
{
	char *begin = text + at, *end;

	while (begin > text && begin[-1] != '\n')
		begin--;
	end = strchr(begin, '\n');
	if (end)
		memmove(begin, end + 1, strlen(end));
}

static void change_text(char *text, uint32_t *seed)
{
	size_t at = oracle_random(seed) % strlen(text);
	char *digit = find_number(text + at), *other;

	switch (oracle_random(seed) % 4) {
	case 0: /* a digit */
		if (digit)
			*digit = (char)('0' + oracle_random(seed) % 10);
		break;
	case 1: /* two digits change places */
		other = find_number(text + oracle_random(seed) % strlen(text));
		if (digit && other) {
			char c = *digit;

			*digit = *other;
			*other = c;
		}
		break;
	case 2:
		drop_line(text, at);
		break;
	default:
		swap_lines(text, at);
	}
}

/* 1: refused, 0: accepted and right. */
static int try_plan_text(const char *text, uint32_t seed)
{
	struct gt_plan *plan;
	struct gt_err err;
	int accepted;

	gt_err_init(&err);
	if (gt_plan_parse("mutant", text, strlen(text), &plan, &err)) {
		assert_int_equal(err.code, GT_EINPUT);
		assert_true(err.text[0]);
		return 1;
	}
	accepted = plan_is_accepted(plan);
	for (uint32_t c = 0; accepted && c < plan->nchannels; c++)
		if (!channel_is_right(plan, plan->coll, c, seed)) {
			print_message("%s\n", text);
			fail_msg("wrong plan accepted, seed %u", seed);
		}
	gt_plan_free(plan);
	return !accepted;
}

static void test_plans(void **state)
{
	char path[4096], name[128];
	uint32_t seed = 20, refused = 0;

	(void)state;
	for (uint32_t i = 0; i < PLAN_MUTATIONS; i++) {
		struct gt_buf text = GT_BUF_INIT;

		snprintf(name, sizeof(name),
			 "tests/cases/plan/good/%s/plan.json",
			 plan_files[i % 9]);
		assert_int_equal(gt_file_read(gt_test_path(path, name), 1 << 20,
					      &text, NULL),
				 0);
		for (uint32_t k = oracle_random(&seed) % 2 + 1; k; k--)
			change_text(text.text, &seed);
		refused += (uint32_t)try_plan_text(text.text, seed);
		gt_buf_release(&text);
	}
	print_message("%u of %u changed plans refused\n", refused,
		      PLAN_MUTATIONS);
	assert_true(refused > PLAN_MUTATIONS / 2);
	assert_true(refused < PLAN_MUTATIONS);
}

/* Programs of a ring of n ranks in a shuffled order. */
struct programs {
	struct gt_arena *arena;
	struct gt_program of[ORACLE_RANKS];
	struct oracle_args args;
};

static void make_programs(struct programs *p, enum gt_coll coll, uint32_t n,
			  uint32_t *seed)
{
	uint32_t order[ORACLE_RANKS];
	struct gt_plan_channel channel = {.shape = GT_SHAPE_RING,
					  .norder = n,
					  .order = order,
					  .share = GT_RAT(1, 1)};
	struct gt_plan plan = {
		.nranks = n, .nchannels = 1, .channels = &channel};

	p->arena = gt_arena_new();
	assert_non_null(p->arena);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = oracle_random(seed) % (i + 1);

		order[i] = order[j];
		order[j] = i;
	}
	for (uint32_t r = 0; r < n; r++) {
		const struct gt_lower_want want = {.use = {.coll = coll},
						   .rank = r};

		assert_int_equal(
			gt_lower(&plan, &want, p->arena, &p->of[r], NULL), 0);
	}
	p->args = (struct oracle_args){.coll = coll,
				       .nranks = n,
				       .slots = 2 + oracle_random(seed) % 9,
				       .programs = p->of,
				       .seed = oracle_random(seed)};
}

static int programs_are_accepted(const struct programs *p)
{
	struct gt_sim_args args = {.coll = p->args.coll,
				   .nranks = p->args.nranks,
				   .slots = p->args.slots,
				   .inplace = p->args.inplace,
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
	uint32_t seed = 7;
	struct programs p;

	(void)state;
	for (uint32_t i = 0; i < TEST_NCOLLS * ORACLE_RANKS * 12 * 2; i++) {
		make_programs(&p, (enum gt_coll)(i % 3),
			      1 + i / 3 % ORACLE_RANKS, &seed);
		p.args.slots = 1 + i / 27 % 12;
		p.args.inplace = (int)(i / 324);
		assert_int_equal(programs_are_accepted(&p),
				 oracle_agrees(&p.args));
		gt_arena_free(p.arena);
	}
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
		operand->conn = (uint16_t)(oracle_random(seed) % 3);
		break;
	default:
		operand->chunk = oracle_random(seed) % (ORACLE_RANKS + 1);
	}
}

static void double_source(struct gt_step *step)
{
	if (!step->nsrc || step->nsrc + step->ndst == GT_STEP_OPERANDS)
		return;
	memmove(&step->operand[step->nsrc + 1], &step->operand[step->nsrc],
		step->ndst * sizeof(step->operand[0]));
	step->operand[step->nsrc] = step->operand[step->nsrc - 1];
	step->nsrc++;
	step->op = GT_OP_GENERIC;
}

/* GENERIC says nothing of its operands, so they are judged by themselves. */
static void change_step(struct gt_program *program, uint32_t at, uint32_t *seed)
{
	struct gt_step *step = &program->steps[at], keep;

	switch (oracle_random(seed) % 9) {
	case 0:
		step->op = (uint8_t)(oracle_random(seed) % (GT_NOPS + 1));
		break;
	case 1:
		step->chunk = oracle_random(seed) % ORACLE_RANKS;
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
	case 5: /* two operands change places */
		step->op = GT_OP_GENERIC;
		keep = *step;
		step->operand[0] = keep.operand[1];
		step->operand[1] = keep.operand[0];
		break;
	case 6: /* steps change places */
		if (at + 1 < program->nsteps) {
			keep = step[0];
			step[0] = step[1];
			step[1] = keep;
			step[0].id = at;
			step[1].id = at + 1;
		}
		break;
	case 7:
		double_source(step);
		break;
	default:
		step->op = GT_OP_GENERIC;
		change_operand(&step->operand[oracle_random(seed) % 4], seed);
	}
}

static void test_steps(void **state)
{
	uint32_t seed = 5, refused = 0;
	struct programs p;

	(void)state;
	for (uint32_t i = 0; i < STEP_MUTATIONS; i++) {
		struct gt_program *program;

		make_programs(&p, (enum gt_coll)(i % 3), 2 + i / 3 % 7, &seed);
		program = &p.of[oracle_random(&seed) % p.args.nranks];
		for (uint32_t k = oracle_random(&seed) % 2 + 1; k; k--)
			change_step(program,
				    oracle_random(&seed) % program->nsteps,
				    &seed);
		p.args.inplace = (int)(oracle_random(&seed) % 2);
		if (!programs_are_accepted(&p))
			refused++;
		else if (!oracle_agrees(&p.args))
			fail_msg("wrong program accepted, number %u", i);
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
		cmocka_unit_test(test_plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
