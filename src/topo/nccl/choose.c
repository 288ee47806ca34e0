/*
 * Chooses as NCCL does: goes down the grid of speeds, and up again from what
 * was found.
 */
#include "topo/nccl/choose.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/nccl/system.h"

struct gt_nccl_choice {
	const struct gt_nccl_facts *facts;
	const struct gt_nccl_rules *rules;
	struct gt_nccl_fill *fill;
	struct gt_nccl_set ask, *best;
	int64_t left;   /* tries for all searches together */
	int64_t unused; /* what the last search left of its tries */
};

/* Searches once; returns whether nothing better is to be expected. */
static int gt_nccl_search(struct gt_nccl_choice *choice)
{
	const struct gt_nccl_rules *rules = choice->rules;
	int64_t tries = choice->ask.same ? rules->tries_same : rules->tries;

	choice->left -= tries;
	choice->unused =
		gt_nccl_fill(choice->fill, &choice->ask, tries, choice->best);
	return choice->unused == -1 ||
	       (rules->enough &&
		choice->best->nchannels * choice->best->inter_kbs >=
			choice->facts->total_kbs);
}

/* Searches with all channels alike, then, where it may, with different ones. */
static int gt_nccl_search_both(struct gt_nccl_choice *choice)
{
	int alike = choice->rules->amd_same && choice->facts->amd &&
		    choice->ask.kind == GT_PATH_SYS;
	int done;

	choice->ask.same = 1;
	done = gt_nccl_search(choice);
	if (!done && !alike) {
		choice->ask.same = 0;
		done = gt_nccl_search(choice);
	}
	if (!done)
		choice->left += choice->unused;
	return done || (choice->left < 0 && choice->best->nchannels);
}

/* Balanced trees that are not found may be simple ones on newer GPUs. */
static int gt_nccl_search_patterns(struct gt_nccl_choice *choice)
{
	choice->ask.pattern = choice->best->pattern;
	if (gt_nccl_search_both(choice))
		return 1;
	if (choice->ask.pattern != GT_NCCL_BALANCED_TREE ||
	    choice->facts->sm < 90)
		return 0;
	choice->ask.pattern = GT_NCCL_TREE;
	return gt_nccl_search_both(choice);
}

/* Tries worse and worse kinds of routes until there is a solution. */
static int gt_nccl_search_kinds(struct gt_nccl_choice *choice)
{
	const struct gt_nccl_set *best = choice->best;

	for (choice->ask.kind = choice->facts->min_kind;; choice->ask.kind++) {
		if (gt_nccl_search_patterns(choice))
			return 1;
		if (choice->ask.kind >= choice->facts->max_kind ||
		    (choice->rules->kinds_in_turn && best->nchannels &&
		     choice->ask.kind >= best->kind))
			return 0;
	}
}

/*
 * With several ports NCCL searches a second time, for rings that use two of
 * them; within one machine that changes nothing but the tries that are left.
 */
static int gt_nccl_search_ports(struct gt_nccl_choice *choice)
{
	int again;

	choice->ask.cross_nic = 0;
	if (gt_nccl_search_kinds(choice))
		return 1;
	again = choice->facts->nports > 1 &&
		choice->best->pattern != GT_NCCL_TREE;
	if (!again)
		return 0;
	choice->ask.cross_nic = 2;
	return gt_nccl_search_kinds(choice);
}

/* Returns the first speed of the grid that a machine can have at all. */
static uint32_t gt_nccl_first_speed(const struct gt_nccl_choice *choice)
{
	const struct gt_nccl_facts *facts = choice->facts;
	const int64_t *speeds = choice->rules->speeds_kbs;
	int64_t total = facts->total_kbs;
	uint32_t i = 0;

	/* A tree need not come back to where it starts. */
	if (choice->ask.pattern != GT_NCCL_RING && facts->ngpus > 1)
		total = total * facts->ngpus / (facts->ngpus - 1);
	while (i + 1 < choice->rules->nspeeds &&
	       (speeds[i] > facts->max_kbs ||
		speeds[i] * choice->ask.min_channels > total))
		i++;
	return i;
}

/*
 * Goes down the grid.  A slower speed is tried after a solution only if it is
 * more than 0.49 of that.
 */
static void gt_nccl_go_down(struct gt_nccl_choice *choice)
{
	const int64_t *speeds = choice->rules->speeds_kbs;
	const struct gt_nccl_set *best = choice->best;

	for (uint32_t i = gt_nccl_first_speed(choice);; i++) {
		choice->ask.kbs = choice->ask.inter_kbs = speeds[i];
		if (gt_nccl_search_ports(choice) ||
		    i + 1 == choice->rules->nspeeds ||
		    (best->nchannels &&
		     speeds[i + 1] * 100 <= best->inter_kbs * 49))
			return;
	}
}

/*
 * Doubles few fast channels: a GPU needs several to fill its links.  Their
 * speed is halved.
 */
static void gt_nccl_double(const struct gt_nccl_choice *choice)
{
	struct gt_nccl_set *best = choice->best;
	uint32_t n = best->nchannels, more = 2 * n;

	if (!n || best->kbs < 25 * 1000000 ||
	    (choice->facts->sm > 80 && best->kbs < 50 * 1000000 && n > 4))
		return;
	if (more > best->max_channels)
		more = best->max_channels;
	memcpy(best->orders + (size_t)n * best->ngpus, best->orders,
	       (size_t)(more - n) * best->ngpus * sizeof(*best->orders));
	if (more > n) {
		best->kbs /= 2;
		best->inter_kbs /= 2;
	}
	best->nchannels = more;
}

/* Goes up from what was found, with as many channels or more. */
static void gt_nccl_go_up(struct gt_nccl_choice *choice)
{
	const int64_t *speeds = choice->rules->speeds_kbs;
	const struct gt_nccl_set *best = choice->best;
	struct gt_nccl_set *ask = &choice->ask;
	uint32_t i = 0;

	*ask = *best;
	while (i + 1 < choice->rules->nspeeds && speeds[i] > best->inter_kbs)
		i++;
	ask->kbs = ask->inter_kbs = speeds[i];
	ask->min_channels = best->nchannels;
	for (choice->unused = -1; choice->unused && i;) {
		if (ask->pattern == GT_NCCL_RING)
			ask->inter_kbs = speeds[i - 1];
		else if (ask->kbs != best->kbs ||
			 ask->kbs >= 2 * ask->inter_kbs)
			return;
		ask->kbs = speeds[--i];
		gt_nccl_search(choice);
	}
}

static void gt_nccl_fall_back(struct gt_nccl_set *set)
{
	for (uint32_t i = 0; i < set->ngpus; i++)
		set->orders[i] = i;
	set->nchannels = 1;
	set->kbs = 100000;
	set->inter_kbs = 0;
	set->kind = GT_PATH_SYS;
}

int gt_nccl_choose(const struct gt_nccl_system *system,
		   const struct gt_nccl_rules *rules,
		   const struct gt_nccl_set *rings, struct gt_arena *arena,
		   struct gt_nccl_set *set, struct gt_err *err)
{
	const struct gt_nccl_facts *facts = gt_nccl_system_facts(system);
	uint32_t max = rings ? rings->nchannels : rules->max_channels;
	struct gt_nccl_choice choice = {.facts = facts,
					.rules = rules,
					.best = set,
					.left = rules->tries_all};
	int rc;

	*set = (struct gt_nccl_set){.pattern = rings ? GT_NCCL_BALANCED_TREE
						     : GT_NCCL_RING,
				    .min_channels = rings ? max : 1,
				    .max_channels = max,
				    .ngpus = facts->ngpus,
				    .same = 1};
	if (facts->ngpus == 1 && rings)
		set->pattern = GT_NCCL_TREE;
	if (!rings && facts->split && max >= 2)
		set->min_channels = 2;
	set->kind = facts->min_kind;
	set->orders = gt_arena_array(arena, (size_t)max * facts->ngpus,
				     sizeof(*set->orders));
	if (!set->orders)
		return gt_err_nomem(err);
	rc = gt_nccl_fill_new(system, max, &choice.fill, err);
	if (rc)
		return rc;
	choice.ask = *set;
	gt_nccl_go_down(&choice);
	gt_nccl_double(&choice);
	gt_nccl_go_up(&choice);
	if (!set->nchannels)
		gt_nccl_fall_back(set);
	gt_nccl_fill_free(choice.fill);
	return GT_OK;
}
