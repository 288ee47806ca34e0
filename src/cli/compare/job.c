/* Reads the reports of two jobs and prints their phases side by side. */
#include "cli/compare/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/text.h"

enum { MAX_PHASES = 8192 };

/* Names a phase without a name by what is said in it: "gradients, blocks". */
static const char *name_phase(const struct gt_json *made, uint32_t phase,
			      struct gt_arena *arena)
{
	struct gt_json entries, at, value;
	struct gt_buf list = GT_BUF_INIT;
	const char *name, *made_up;
	uint32_t n = 0;
	double of;

	if (gt_json_get(made, "communication", &entries))
		gt_json_array(&entries, &n, NULL);
	for (uint32_t i = 0; i < n; i++) {
		gt_json_item(&entries, i, &at);
		if (gt_json_get(&at, "phase", &value) &&
		    !gt_json_double(&value, &of, NULL) && of == phase &&
		    gt_json_get(&at, "name", &value) &&
		    !gt_json_text(&value, &name, NULL))
			gt_buf_printf(&list, "%s%s", list.len ? ", " : "",
				      name);
	}
	made_up = list.len && !list.failed
			  ? gt_arena_strdup(arena, list.text)
			  : gt_arena_printf(arena, "phase %" PRIu32, phase + 1);
	gt_buf_release(&list);
	return made_up;
}

static int read_phase(const struct gt_json *made, uint32_t i,
		      struct gt_arena *arena, struct gt_compare_phase *phase,
		      struct gt_err *err)
{
	const char *name = NULL, *full = NULL;
	struct gt_json phases, at, value;
	int rc = gt_json_need(made, "phases", &phases, err);

	if (rc)
		return rc;
	gt_json_item(&phases, i, &at);
	rc = gt_json_need(&at, "seconds", &value, err);
	if (!rc)
		rc = gt_json_double(&value, &phase->seconds, err);
	if (!rc && gt_json_get(&at, "name", &value))
		rc = gt_json_text(&value, &name, err);
	if (!rc && gt_json_get(&at, "full", &value))
		rc = gt_json_text(&value, &full, err);
	if (rc)
		return rc;
	phase->name = name ? gt_arena_strdup(arena, name)
			   : name_phase(made, i, arena);
	phase->full = full ? gt_arena_strdup(arena, full) : NULL;
	return phase->name && (!full || phase->full) ? GT_OK
						     : gt_err_nomem(err);
}

/* The whole step counts latency, too, which phases do not. */
static int read_step(const struct gt_json *made, struct gt_compare_side *side,
		     struct gt_err *err)
{
	struct gt_compare_phase *step = &side->phases[side->nphases];
	struct gt_json value;
	int rc = gt_json_need(made, "seconds", &value, err);

	if (!rc)
		rc = gt_json_double(&value, &step[0].seconds, err);
	if (!rc)
		rc = gt_json_need(made, "expected_s", &value, err);
	if (!rc)
		rc = gt_json_double(&value, &step[1].seconds, err);
	if (rc)
		return rc;
	step[0].name = "the step";
	step[1].name = "with latency";
	side->nphases += 2;
	return GT_OK;
}

/* Reads the phases of the best assignment. */
static int read_phases(const struct gt_json *made, struct gt_arena *arena,
		       struct gt_compare_side *side, struct gt_err *err)
{
	struct gt_json phases;
	uint32_t n;
	int rc = gt_json_need(made, "phases", &phases, err);

	if (!rc)
		rc = gt_json_array(&phases, &n, err);
	if (rc)
		return rc;
	if (n > MAX_PHASES)
		return gt_json_fault(&phases, err, "has more than %d phases",
				     MAX_PHASES);
	side->phases = gt_arena_array(arena, n + 2, sizeof(*side->phases));
	if (!side->phases)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n && !rc; i++)
		rc = read_phase(made, i, arena, &side->phases[i], err);
	side->nphases = n;
	return rc ? rc : read_step(made, side, err);
}

int gt_compare_read_job(const struct gt_json *root, struct gt_arena *arena,
			struct gt_compare_side *side, struct gt_err *err)
{
	struct gt_json made, ranks, why;
	int rc = gt_json_need(root, "assignment", &made, err);

	side->is_job = 1;
	if (!rc && gt_json_get(&made, "unplanned", &why))
		return gt_json_fault(&why, err,
				     "says that the job could not be planned");
	if (!rc)
		rc = gt_json_need(&made, "ranks", &ranks, err);
	if (!rc)
		rc = gt_json_array(&ranks, &side->ranks, err);
	return rc ? rc : read_phases(&made, arena, side, err);
}

/* The last two are of the whole step, whatever phases before are called. */
static int is_of_step(const struct gt_compare_side *side, uint32_t i)
{
	return i + 2 >= side->nphases;
}

/*
 * Take the first phase of that name that is free, for several may have it, or
 * return NULL.
 */
static const struct gt_compare_phase *take_phase(
	const struct gt_compare_side *side, const char *name, int of_step)
{
	for (uint32_t i = 0; i < side->nphases; i++) {
		struct gt_compare_phase *phase = &side->phases[i];

		if (!phase->is_matched && is_of_step(side, i) == of_step &&
		    !strcmp(phase->name, name)) {
			phase->is_matched = 1;
			return phase;
		}
	}
	return NULL;
}

static void put_full(const struct gt_compare_phase *a,
		     const struct gt_compare_phase *b, struct gt_buf *out)
{
	if (a->full) {
		gt_buf_puts(out, "  A: ");
		gt_buf_put_plain(out, a->full);
	}
	if (b->full) {
		gt_buf_puts(out, "  B: ");
		gt_buf_put_plain(out, b->full);
	}
}

static void put_phase(const struct gt_compare_phase *a,
		      const struct gt_compare_phase *b, struct gt_buf *out)
{
	char ratio[32] = "-";

	if (a->seconds > 0 && b->seconds > 0)
		snprintf(ratio, sizeof(ratio), "%.3f", a->seconds / b->seconds);
	gt_buf_printf(out, " %12.6g %12.6g %8s  ", a->seconds * 1e3,
		      b->seconds * 1e3, ratio);
	gt_buf_put_plain(out, a->name);
	put_full(a, b, out);
	gt_buf_puts(out, "\n");
}

void gt_compare_job_text(const struct gt_comparison *comparison,
			 struct gt_buf *out)
{
	const struct gt_compare_side *a = &comparison->sides[0];
	const struct gt_compare_side *b = &comparison->sides[1];
	uint32_t matched = 0;

	for (int i = 0; i < 2; i++) {
		const struct gt_compare_side *side = &comparison->sides[i];

		gt_buf_printf(out, "# %c: ", 'A' + i);
		gt_buf_put_plain(out, side->file);
		gt_buf_printf(out,
			      ", a step predicted for GPUs, %" PRIu32
			      " rank%s\n",
			      side->ranks, gt_plural(side->ranks));
	}
	gt_buf_printf(out, "#%12s %12s %8s  %s\n", "A (ms)", "B (ms)", "B/A",
		      "phase, and which links are busy longest");
	for (uint32_t i = 0; i < a->nphases; i++) {
		const struct gt_compare_phase *other =
			take_phase(b, a->phases[i].name, is_of_step(a, i));

		if (!other)
			continue;
		matched++;
		put_phase(&a->phases[i], other, out);
	}
	for (int i = 0; i < 2; i++) {
		uint32_t n = comparison->sides[i].nphases - matched;

		if (n)
			gt_buf_printf(out,
				      "# %" PRIu32 " phase%s of %c alone\n", n,
				      gt_plural(n), 'A' + i);
	}
}
