/*
 * Rows of bench/overlap: every way on streams of each priority, in turns.
 */
#include "overlap.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

static int has_products(const struct overlap *o)
{
	return o->options.mode != OVERLAP_ALONE;
}

/* Has the way a schedule for all that is in the load? */
static int way_knows(struct overlap_way *way, const struct overlap_load *load)
{
	char schedule[OVERLAP_TEXT_MAX];

	for (int kind = 0; kind < load->nkinds; kind++)
		if (gt_overlap_way_schedule(way, &load->kinds[kind], schedule))
			return 0;
	return 1;
}

static void row_fill(struct overlap *o, struct overlap_row *row)
{
	for (int i = 0; i < OVERLAP_PRIORITIES * OVERLAP_WAYS; i++) {
		struct overlap_way *way = &o->ways[i % OVERLAP_WAYS];
		struct overlap_run run = {.load = row->load,
					  .way = way,
					  .priority = i / OVERLAP_WAYS,
					  .graph = row->name->graph};
		struct overlap_entry *entry = &row->entries[row->n];

		if (!way->is_open ||
		    !(o->options.priorities & 1 << run.priority) ||
		    !way_knows(way, row->load))
			continue;
		entry->way = way;
		entry->priority = run.priority;
		entry->blocks = -1;
		entry->alone = entry->beside = run;
		entry->beside.products = 1;
		row->n++;
	}
}

/*
 * Each kind of collective is right, and its schedule known: its blocks are what
 * a graph of it has, which also connects NCCL's ranks.
 */
static int entry_look(struct overlap *o, struct overlap_entry *entry, int kind)
{
	const struct overlap_load *all = entry->alone.load;
	const struct gt_exec_request *req = &all->kinds[kind];
	struct overlap_load load = {.items = NULL};
	struct overlap_run run = {.load = &load,
				  .way = entry->way,
				  .priority = entry->priority,
				  .graph = 1};
	char schedule[OVERLAP_TEXT_MAX];
	struct overlap_times times;
	uint64_t wrong = 0;
	size_t len = strlen(entry->schedule);
	int rc = gt_overlap_check(o, &entry->beside, kind, &wrong);

	entry->wrong += wrong;
	gt_overlap_load_collective(&load, req);
	if (!rc)
		rc = gt_overlap_capture(o, &run);
	if (!rc)
		rc = gt_overlap_run(o, &run, &times);
	gt_overlap_drop(o, &run);
	gt_overlap_load_free(&load);
	if (rc)
		return rc;
	entry->blocks = run.blocks > entry->blocks ? run.blocks : entry->blocks;
	gt_overlap_way_schedule(entry->way, req, schedule);
	if (!strstr(entry->schedule, schedule))
		snprintf(entry->schedule + len, sizeof(schedule) - len, "%s%s",
			 len ? ", " : "", schedule);
	return GT_OK;
}

static int entry_prepare(struct overlap *o, struct overlap_entry *entry)
{
	int rc = GT_OK;

	for (int kind = 0; !rc && kind < entry->alone.load->nkinds; kind++)
		rc = entry_look(o, entry, kind);
	if (!rc && entry->alone.graph)
		rc = gt_overlap_capture(o, &entry->alone);
	if (!rc && entry->alone.graph && has_products(o))
		rc = gt_overlap_capture(o, &entry->beside);
	return rc;
}

/* A variant of NCCL that fails does not take part; ours ends everything. */
static int entry_failed(struct overlap_entry *entry, int rc)
{
	if (!rc || !entry->way->is_nccl)
		return rc;
	fprintf(stderr, "overlap: %s is left out from here on\n",
		entry->way->name);
	entry->way->is_open = 0;
	return GT_OK;
}

/*
 * A kernel that is loaded when it is first needed may wait for those that run,
 * and they for what comes behind it: no product is new beside a collective.
 */
static int load_products(struct overlap *o, const struct overlap_row *row)
{
	struct overlap_run run = {.load = row->load, .products = 1};
	struct overlap_times times;

	return has_products(o) ? gt_overlap_run(o, &run, &times) : GT_OK;
}

static int row_prepare(struct overlap *o, struct overlap_row *row)
{
	int rc = load_products(o, row);

	if (!rc && has_products(o) && row->name->graph)
		rc = gt_overlap_capture(o, &row->products);
	for (uint32_t i = 0; !rc && i < row->n; i++)
		rc = entry_failed(&row->entries[i],
				  entry_prepare(o, &row->entries[i]));
	return rc;
}

static void row_drop(struct overlap *o, struct overlap_row *row)
{
	gt_overlap_drop(o, &row->products);
	for (uint32_t i = 0; i < row->n; i++) {
		gt_overlap_drop(o, &row->entries[i].alone);
		gt_overlap_drop(o, &row->entries[i].beside);
	}
}

/* Everyone in each round, of which the first warms up. */
static int run_alone(struct overlap *o, struct overlap_row *row)
{
	struct overlap_times times = {0, 0};
	int rc = GT_OK;

	for (uint32_t round = 0; !rc && round < row->rounds + 1; round++)
		for (uint32_t i = 0; !rc && i < row->n; i++) {
			struct overlap_entry *entry =
				&row->entries[(i + round) % row->n];

			if (!entry->way->is_open)
				continue;
			rc = entry_failed(
				entry,
				gt_overlap_run(o, &entry->alone, &times));
			if (round)
				entry->alone_us[round - 1] = times.done_us;
		}
	return rc;
}

static int run_one_beside(struct overlap *o, struct overlap_row *row,
			  uint32_t who, uint32_t round)
{
	struct overlap_times times = {0, 0};
	struct overlap_entry *entry;
	int rc;

	if (who == row->n) {
		rc = gt_overlap_run(o, &row->products, &times);
		if (round)
			row->products_us[round - 1] = times.computed_us;
		return rc;
	}
	entry = &row->entries[who];
	if (!entry->way->is_open)
		return GT_OK;
	rc = entry_failed(entry, gt_overlap_run(o, &entry->beside, &times));
	if (round) {
		entry->computed_us[round - 1] = times.computed_us;
		entry->done_us[round - 1] = times.done_us;
	}
	return rc;
}

/*
 * All of these have products, so that the GPUs' clocks stay as they are.  The
 * first of a round starts one later in the next one.
 */
static int run_beside(struct overlap *o, struct overlap_row *row)
{
	int rc = GT_OK;

	for (uint32_t round = 0; !rc && round < row->rounds + 1; round++)
		for (uint32_t i = 0; !rc && i < row->n + 1; i++)
			rc = run_one_beside(o, row, (i + round) % (row->n + 1),
					    round);
	return rc;
}

static int is_right(const struct overlap_row *row)
{
	int right = 1;

	for (uint32_t i = 0; i < row->n; i++)
		right &= !row->entries[i].wrong;
	return right;
}

int gt_overlap_row(struct overlap *o, const struct overlap_row_name *name,
		   const struct overlap_load *load)
{
	struct overlap_row *row = calloc(1, sizeof(*row));
	int rc;

	if (!row)
		abort();
	row->name = name;
	row->load = load;
	row->rounds = (uint32_t)o->options.rounds;
	row->products = (struct overlap_run){
		.load = load, .products = 1, .graph = name->graph};
	row_fill(o, row);
	rc = row_prepare(o, row);
	if (!rc)
		rc = run_alone(o, row);
	if (!rc && has_products(o))
		rc = run_beside(o, row);
	row_drop(o, row);
	if (!rc) {
		gt_overlap_print_row(o, row);
		rc = is_right(row) ? GT_OK : GT_ENO;
	}
	free(row);
	return rc;
}
