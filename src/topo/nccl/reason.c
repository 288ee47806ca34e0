/*
 * Lifts rules of NCCL's search one by one.
 */
#include "topo/nccl/reason.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "topo/nccl/choose.h"
#include "topo/nccl/system.h"

/* Parts of a path's width that a channel may have without the grid. */
enum { GT_NCCL_PARTS = 16, GT_NCCL_MORE_TRIES = 8 };

static int gt_nccl_faster_first(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a < b) - (a > b);
}

static uint32_t gt_nccl_unique(int64_t *speeds, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (!kept || speeds[kept - 1] != speeds[i])
			speeds[kept++] = speeds[i];
	return kept;
}

/*
 * Lists as speeds of channels the widths of all links that paths use, halves,
 * thirds and so on of them, and the grid.  With a charge, only 5/6 of a PCI
 * link is there.
 */
static int gt_nccl_fine_speeds(const struct gt_nccl_system *system,
			       struct gt_arena *arena,
			       struct gt_nccl_rules *rules, struct gt_err *err)
{
	const struct gt_nccl_facts *facts = gt_nccl_system_facts(system);
	uint32_t n = facts->ngpus, widths = 0, count = rules->nspeeds;
	int64_t *speeds, *all;

	speeds = gt_arena_array(arena, 2 * (size_t)n * n + 1, sizeof(*speeds));
	if (!speeds)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n * n; i++) {
		speeds[widths++] =
			gt_nccl_system_path(system, i / n, i % n)->kbs;
		speeds[widths] = speeds[widths - 1] * 5 / 6;
		widths++;
	}
	qsort(speeds, widths, sizeof(*speeds), gt_nccl_faster_first);
	widths = gt_nccl_unique(speeds, widths);
	all = gt_arena_array(arena, (size_t)widths * GT_NCCL_PARTS + count,
			     sizeof(*all));
	if (!all)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < count; i++)
		all[i] = rules->speeds_kbs[i];
	for (uint32_t i = 0; i < widths; i++)
		for (int64_t part = 1; part <= GT_NCCL_PARTS; part++)
			if (speeds[i] / part >= 3000000)
				all[count++] = speeds[i] / part;
	qsort(all, count, sizeof(*all), gt_nccl_faster_first);
	rules->nspeeds = gt_nccl_unique(all, count);
	rules->speeds_kbs = all;
	return GT_OK;
}

/* Chooses rings without the rules whose bits are set in `lifted`. */
static int gt_nccl_without(const struct gt_nccl_system *system, int lifted,
			   int64_t *kbs, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_nccl_rules rules;
	struct gt_nccl_set rings;
	int rc = arena ? GT_OK : gt_err_nomem(err);

	gt_nccl_rules_init(gt_nccl_system_facts(system)->sm, &rules);
	if (lifted & 1 << GT_NCCL_RULE_KIND)
		rules.kinds_in_turn = 0;
	if (lifted & 1 << GT_NCCL_RULE_ENOUGH)
		rules.enough = 0;
	if (lifted & 1 << GT_NCCL_RULE_AMD)
		rules.amd_same = 0;
	if (lifted & 1 << GT_NCCL_RULE_TRIES) {
		rules.tries_same *= GT_NCCL_MORE_TRIES;
		rules.tries *= GT_NCCL_MORE_TRIES;
		rules.tries_all *= GT_NCCL_MORE_TRIES;
	}
	if (!rc && lifted & 1 << GT_NCCL_RULE_GRID)
		rc = gt_nccl_fine_speeds(system, arena, &rules, err);
	if (!rc)
		rc = gt_nccl_choose(system, &rules, NULL, arena, &rings, err);
	if (!rc)
		*kbs = rings.nchannels * rings.kbs;
	gt_arena_free(arena);
	return rc;
}

static int is_late(int64_t deadline_ns)
{
	return deadline_ns && gt_clock_ns() >= deadline_ns;
}

int gt_nccl_reasons(const struct gt_nccl_system *system, int64_t deadline_ns,
		    struct gt_nccl_reasons *reasons, struct gt_err *err)
{
	int rc = GT_OK;

	*reasons = (struct gt_nccl_reasons){.without_all_kbs = 0};
	if (!is_late(deadline_ns))
		rc = gt_nccl_without(system, GT_NCCL_ALL_RULES,
				     &reasons->without_all_kbs, err);
	for (int i = 0; i < GT_NCCL_NRULES && !rc && !is_late(deadline_ns); i++)
		rc = gt_nccl_without(system, 1 << i, &reasons->without_kbs[i],
				     err);
	return rc;
}

const char *gt_nccl_rule_name(enum gt_nccl_rule rule)
{
	static const char *const names[GT_NCCL_NRULES] = {
		"kind", "enough", "grid", "amd", "tries"};

	return names[rule];
}

const char *gt_nccl_rule_words(enum gt_nccl_rule rule)
{
	static const char *const words[GT_NCCL_NRULES] = {
		"it tries routes of a worse kind only where better ones give "
		"no ring at all",
		"it is content when a GPU's NVLinks, or else its PCI link, are "
		"full",
		"its channels have a speed out of a fixed list",
		"with an AMD processor, channels that pass between processors "
		"are all alike",
		"it gives up after a number of tries",
	};

	return words[rule];
}
