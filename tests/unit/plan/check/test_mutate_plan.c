/*
 * Good plans and good proofs, broken at random in small ways.  A plan must be
 * refused, or still be right: by numbers really moved (oracle.h), and by the
 * host engine.  A proof must be refused.  Seeds are fixed.
 */
#include "unit/test.h"

#include <ctype.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "exec/engine.h"
#include "plan/check/check.h"
#include "plan/lower/lower.h"
#include "plan/ir/demand.h"
#include "plan/ir/measured.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "plan/simulate/simulate.h"
#include "unit/oracle.h"

enum { PLAN_MUTATIONS = 6000, PROOF_MUTATIONS = 2200, RUN_BYTES = 1 << 16 };

static const char *const plan_files[] = {
	"ring4",
	"ring4-relayed",
	"rings-by-parts",
	"ring8-two",
	"ring2-gather",
	"ring3-scatter",
	"ring2-pci-charge",
	"tree8-star-gather",
	"chain4-gather",
	"tree8-star-scatter",
	"chain4-scatter",
	"tree5-allreduce",
	"tree6-broadcast",
	"tree6-reduce",
	"mesh4-two-shot",
	"mesh7-one-shot",
	"mesh5-alltoall",
	"mesh5-broadcast",
	"mesh4-gather",
	"mesh3-sendrecv",
	"flow4-alltoall",
	"flow4-demand",
	"flow4-gather",
	"flow4-scatter",
	"flow3-sendrecv",
	"auto4",
	"tuned4",
	"steps3-scratch",
	"cluster2x2-gather",
	"cluster3x2-allreduce",
	"cluster3x3-ring-scatter",
	"cluster4x2-ring-uplinks",
	"cluster2x3-ring-broadcast",
	"nvlink4x2-allgather",
	"uneven6-allreduce",
	"cluster3x3-tree-allreduce",
	"cluster4x2-tree-broadcast",
	"cluster4x2-tree-reduce",
	"cluster4x2-sets-broadcast",
	"cluster4x2-sets-reduce",
	"cluster4x2-alltoall",
	"cluster3x2-alltoall",
};

static const char *const proof_files[] = {
	"ring4",
	"ring4-relayed",
	"rings-by-parts",
	"ring8-two",
	"ring8-three",
	"ring2-gather",
	"ring3-scatter",
	"chain4-gather",
	"tree8-star-gather",
	"mesh4-two-shot",
	"tree6-broadcast",
	"mesh5-alltoall",
	"mesh4-gather",
	"mesh3-sendrecv",
	"flow4-alltoall",
	"flow4-demand",
	"flow4-gather",
	"flow4-scatter",
	"flow3-sendrecv",
	"cluster2x2-gather",
	"cluster3x2-allreduce",
	"cluster3x3-ring-scatter",
	"cluster4x2-ring-uplinks",
	"cluster2x3-ring-broadcast",
	"nvlink4x2-allgather",
	"uneven6-allreduce",
	"cluster3x3-tree-allreduce",
	"cluster4x2-sets-broadcast",
	"cluster4x2-sets-reduce",
	"cluster4x2-alltoall",
	"cluster3x2-alltoall",
};

enum {
	PLAN_FILES = sizeof(plan_files) / sizeof(*plan_files),
	PROOF_FILES = sizeof(proof_files) / sizeof(*proof_files),
};

static void read_case(const char *name, struct gt_buf *text)
{
	char path[4096], file[128];

	snprintf(file, sizeof(file), "tests/cases/plan/good/%s/plan.json",
		 name);
	assert_int_equal(
		gt_file_read(gt_test_path(path, file), 1 << 20, text, NULL), 0);
}

/* One channel of a row, in each placement that the plan allows. */
static int channel_is_right(const struct gt_plan *plan,
			    const struct gt_plan_select *row, uint32_t channel,
			    uint32_t seed)
{
	static struct gt_program programs[ORACLE_RANKS * ORACLE_LANES];
	struct gt_lower_query want = {.use = {row->coll, row->algo, plan->root},
				      .channel = channel};
	struct oracle_args args = {
		.coll = row->coll,
		.root = plan->root,
		.nranks = plan->nranks,
		.nlanes = gt_lower_lanes(plan, &want.use),
		.slots = row->slots ? row->slots : plan->fifo_slots,
		.units = gt_plan_blocks_differ(plan, row->coll)
				 ? plan->demand->units
				 : NULL,
		.programs = programs,
		.seed = seed};

	if (args.nlanes > ORACLE_LANES || args.nranks > ORACLE_RANKS)
		return 1;
	if (args.slots > ORACLE_SLOTS)
		args.slots = ORACLE_SLOTS;
	for (uint32_t i = 0; i < plan->nranks * args.nlanes; i++) {
		want.rank = i / args.nlanes;
		want.lane = i % args.nlanes;
		assert_int_equal(
			gt_lower(plan, &want, plan->arena, &programs[i], NULL),
			0);
	}
	if (programs->nchunks > ORACLE_CHUNKS ||
	    programs->nscratch > ORACLE_CHUNKS)
		return 1;
	args.one_block = gt_layout_only_block(&plan->channels[channel],
					      row->coll, &args.block);
	for (; args.inplace <= !plan->out_of_place; args.inplace++)
		if (!oracle_agrees(&args))
			return 0;
	return 1;
}

/* All collectives that the plan names. */
static int plan_is_accepted(const struct gt_plan *plan)
{
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	rc = gt_plan_check(plan, &err);
	for (uint32_t i = 0; i < plan->nselect && !rc; i++)
		rc = gt_simulate(plan, plan->select[i].coll, &err);
	if (!rc)
		return 1;
	assert_true(err.code == GT_ENO || err.code == GT_EINPUT);
	assert_true(err.text[0]);
	return 0;
}

static void run_row(struct gt_engine *engine, const struct gt_plan *plan,
		    const struct gt_plan_select *row, const char *text)
{
	struct gt_exec_request req = {.coll = row->coll,
				      .dtype = GT_DTYPE_INT32,
				      .root = plan->root,
				      .seed = 5};
	uint64_t most =
		row->max_bytes < RUN_BYTES / 2 ? row->max_bytes : RUN_BYTES / 2;
	int64_t elapsed_ns;
	uint64_t wrong = 0;
	struct gt_err err;

	gt_err_init(&err);
	req.count = most / 4;
	if (gt_coll_has_blocks(row->coll))
		req.count /= plan->nranks;
	for (; req.inplace <= !plan->out_of_place; req.inplace++)
		if (gt_engine_host.fill(engine, &req, &err) ||
		    gt_engine_host.run(engine, &req, 1, &elapsed_ns, &err) ||
		    gt_engine_host.check(engine, &req, &wrong, &err) || wrong)
			fail_msg("%s\n%lu wrong: %s", text,
				 (unsigned long)wrong, err.text);
}

static void run_plan(const struct gt_plan *plan, const char *text)
{
	struct gt_engine_config config = {.plan = plan,
					  .max_bytes = RUN_BYTES,
					  .slice_bytes = 1024,
					  .timeout_ns = 20000000000};
	struct gt_engine *engine;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_engine_host.open(&config, &engine, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < plan->nselect; i++)
		run_row(engine, plan, &plan->select[i], text);
	gt_engine_host.close(engine);
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

	switch (oracle_random(seed) % 5) {
	case 0: /* a digit */
	case 1:
		if (digit)
			*digit = (char)('0' + oracle_random(seed) % 10);
		break;
	case 2: /* two digits change places */
		other = find_number(text + oracle_random(seed) % strlen(text));
		if (digit && other) {
			char c = *digit;

			*digit = *other;
			*other = c;
		}
		break;
	case 3:
		drop_line(text, at);
		break;
	default:
		swap_lines(text, at);
	}
}

static void assert_right(const struct gt_plan *plan, const char *text,
			 uint32_t seed)
{
	for (uint32_t i = 0; i < plan->nselect; i++)
		for (uint32_t k = 0; k < plan->select[i].nchannels; k++)
			if (!channel_is_right(plan, &plan->select[i],
					      plan->select[i].channels[k],
					      seed))
				fail_msg("%s\nwrong plan accepted", text);
}

/* Whatever was measured, the table that follows from it is right. */
static void retune(struct gt_plan *plan, const char *text, uint32_t seed)
{
	struct gt_err err;

	gt_err_init(&err);
	assert_int_equal(gt_plan_measured_select(plan, &err), 0);
	if (gt_plan_check(plan, &err))
		fail_msg("%s\n%s: %s", text, err.where, err.text);
	if (plan_is_accepted(plan))
		assert_right(plan, text, seed);
}

/* 1: refused, 0: accepted and right. */
static int try_plan_text(const char *text, const char *was, uint32_t seed)
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
	if (accepted)
		assert_right(plan, text, seed);
	if (accepted && strcmp(text, was))
		run_plan(plan, text);
	if (accepted && plan->nmeasured)
		retune(plan, text, seed);
	gt_plan_free(plan);
	return !accepted;
}

static void test_plans(void **state)
{
	const uint32_t mutations =
		gt_test_is_brief() ? PLAN_MUTATIONS / 4 : PLAN_MUTATIONS;
	uint32_t seed = 20, refused = 0;

	(void)state;
	for (uint32_t i = 0; i < mutations; i++) {
		struct gt_buf text = GT_BUF_INIT, was = GT_BUF_INIT;

		read_case(plan_files[i % PLAN_FILES], &text);
		read_case(plan_files[i % PLAN_FILES], &was);
		for (uint32_t k = oracle_random(&seed) % 2 + 1; k; k--)
			change_text(text.text, &seed);
		refused += (uint32_t)try_plan_text(text.text, was.text, seed);
		gt_buf_release(&text);
		gt_buf_release(&was);
	}
	print_message("%u of %u changed plans refused\n", refused, mutations);
	assert_true(refused > mutations / 2);
	assert_true(refused < mutations);
}

static void change_rat(struct gt_rat *rat, uint32_t *seed)
{
	int64_t add = 1 + oracle_random(seed) % 5;

	if (oracle_random(seed) % 2 && rat->num > add)
		add = -add;
	gt_rat_make(rat->num + add, rat->den, rat);
}

/* One link or rank less, or one that was not among them. */
static void change_list(uint32_t *n, uint32_t **list, uint32_t below,
			struct gt_arena *arena, uint32_t *seed)
{
	uint32_t *longer = gt_arena_array(arena, *n + 1, sizeof(*longer));
	uint32_t add = oracle_random(seed) % below;

	assert_non_null(longer);
	memcpy(longer, *list, *n * sizeof(*longer));
	for (uint32_t i = 0; i < *n; i++)
		if (longer[i] == add) {
			longer[i] = longer[--*n];
			*list = longer;
			return;
		}
	longer[(*n)++] = add;
	*list = longer;
}

/* Does the hop take it?  Of a cluster's network the part up to the port. */
static int takes_route(const struct gt_plan_hop *hop,
		       const struct gt_plan_route *route)
{
	return hop->from == route->from &&
	       (hop->network || hop->to == route->to) &&
	       route->nlinks <= hop->nroute &&
	       !memcmp(route->links, hop->route,
		       route->nlinks * sizeof(*hop->route)) &&
	       !hop->network == (route->nlinks == hop->nroute);
}

/* A route that a hop of the plan takes. */
static struct gt_plan_route *used_route(struct gt_plan *plan, uint32_t *seed)
{
	const struct gt_plan_channel *channel =
		&plan->channels[oracle_random(seed) % plan->nchannels];
	const struct gt_plan_hop *hop =
		&channel->hops[oracle_random(seed) % channel->nhops];
	struct gt_plan_route *routes = plan->proof.routes;

	for (uint32_t i = 0; i < plan->proof.nroutes; i++)
		if (takes_route(hop, &routes[i]))
			return &routes[i];
	return NULL;
}

static int change_route(struct gt_plan *plan, uint32_t *seed)
{
	struct gt_plan_route *route = used_route(plan, seed);

	if (!route)
		return 0;
	switch (oracle_random(seed) % 4) {
	case 0:
		change_list(&route->nlinks, &route->links, plan->nlinks,
			    plan->arena, seed);
		break;
	case 1:
		change_rat(&route->charge, seed);
		break;
	case 2:
		*route = plan->proof.routes[--plan->proof.nroutes];
		break;
	default:
		route->to = route->from;
	}
	return 1;
}

static int change_part(struct gt_plan *plan, uint32_t *seed)
{
	struct gt_plan_proof *proof = &plan->proof;
	struct gt_plan_part *part;

	if (!proof->nparts)
		return 0;
	part = &proof->parts[oracle_random(seed) % proof->nparts];
	switch (oracle_random(seed) % 3) {
	case 0:
		change_list(&part->nlinks, &part->links, plan->nlinks,
			    plan->arena, seed);
		break;
	case 1:
		change_list(&part->nranks, &part->ranks, plan->nranks,
			    plan->arena, seed);
		break;
	default:
		*part = proof->parts[--proof->nparts];
		if (!proof->nparts)
			return 0;
	}
	return 1;
}

/* A vertex less in a set of a cluster, or a set less. */
static int change_set(struct gt_plan *plan, uint32_t *seed)
{
	struct gt_plan_proof *proof = &plan->proof;
	struct gt_plan_set *set;

	if (!proof->nsets)
		return 0;
	set = &proof->sets[oracle_random(seed) % proof->nsets];
	if (oracle_random(seed) % 4) {
		uint32_t which = oracle_random(seed) % set->n;

		set->vertices[which] = set->vertices[--set->n];
	} else {
		*set = proof->sets[--proof->nsets];
	}
	return proof->nsets > 0;
}

/*
 * A pair has far more to send than links let through at the rate; a little more
 * where there is room would be as good a plan.
 */
static int change_demand(struct gt_plan *plan, uint32_t *seed)
{
	uint32_t n = plan->nranks, pair = oracle_random(seed) % (n * n);

	if (!plan->demand || pair / n == pair % n)
		return 0;
	plan->demand->units[pair] += 2 * plan->demand->most;
	return 1;
}

static int change_price(struct gt_plan *plan, uint32_t *seed)
{
	struct gt_plan_proof *proof = &plan->proof;
	struct gt_plan_price *price;

	if (!proof->nprices)
		return 0;
	price = &proof->prices[oracle_random(seed) % proof->nprices];
	if (oracle_random(seed) % 2)
		change_rat(&price->price, seed);
	else
		*price = proof->prices[--proof->nprices];
	return proof->nprices > 0;
}

/* The bound has a price for each of so many channels. */
static int change_limit(struct gt_plan_proof *proof, uint32_t *seed)
{
	if (!proof->max_channels)
		return 0;
	if (oracle_random(seed) % 2)
		change_rat(&proof->channel_price, seed);
	else
		proof->max_channels += 1 + oracle_random(seed) % 3;
	return 1;
}

/* 0: nothing was changed, or nothing is claimed any more. */
static int change_proof(struct gt_plan *plan, uint32_t *seed)
{
	struct gt_plan_proof *proof = &plan->proof;

	switch (oracle_random(seed) % 12) {
	case 0:
		change_rat(&proof->value, seed);
		return 1;
	case 1:
		change_rat(&proof->bound, seed);
		return proof->nprices || proof->class_ == GT_PROOF_ANY ||
		       gt_rat_cmp(proof->bound, proof->value) < 0;
	case 2:
		proof->optimal = !proof->optimal;
		return 1;
	case 3:
		change_rat(&proof->any_bound, seed);
		return proof->has_any_bound && (proof->nparts || proof->nsets);
	case 4:
		return change_price(plan, seed);
	case 5:
	case 6:
		return change_part(plan, seed);
	case 7: /* what proves something of all proves it of some as well */
		if (proof->class_ == GT_PROOF_RING)
			return 0;
		proof->class_ = GT_PROOF_RING;
		return 1;
	case 8:
		return change_route(plan, seed);
	case 9:
		return change_set(plan, seed);
	case 10:
		return change_demand(plan, seed);
	default:
		return change_limit(proof, seed);
	}
}

static void test_proofs(void **state)
{
	uint32_t seed = 9, changed = 0;

	(void)state;
	for (uint32_t i = 0; i < PROOF_MUTATIONS; i++) {
		struct gt_buf text = GT_BUF_INIT;
		struct gt_plan *plan;
		struct gt_err err;
		int rc;

		gt_err_init(&err);
		read_case(proof_files[i % PROOF_FILES], &text);
		assert_int_equal(gt_plan_parse("proof", text.text, text.len,
					       &plan, &err),
				 0);
		assert_int_equal(gt_plan_check(plan, &err), 0);
		if (change_proof(plan, &seed)) {
			changed++;
			rc = gt_plan_check(plan, &err);
			if (rc != GT_ENO) {
				gt_plan_print(plan, &text, NULL);
				fputs(gt_buf_text(&text), stderr);
				fail_msg("false proof accepted, number %u", i);
			}
		}
		gt_plan_free(plan);
		gt_buf_release(&text);
	}
	print_message("%u changed proofs refused\n", changed);
	assert_true(changed > PROOF_MUTATIONS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plans),
		cmocka_unit_test(test_proofs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
