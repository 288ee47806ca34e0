/*
 * Writes what this process puts on its streams into the ledger, and compares it
 * with what others have written there.
 */
#include "exec/cuda/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "exec/cuda/user_buffers.h"
#include "plan/ir/plan.h"
#include "world/world.h"

enum { GT_LEDGER_TEXT_MAX = 240 };

static struct gt_ledger *gt_ledger_of(const struct gt_engine *engine,
				      uint32_t process)
{
	return &engine->exchange->slots[process].ledger;
}

static uint64_t gt_ledger_count(const struct gt_ledger *ledger)
{
	return __atomic_load_n(&ledger->n, __ATOMIC_ACQUIRE);
}

void gt_ledger_add(struct gt_engine *engine, const struct gt_exec_request *req,
		   uint64_t group, const struct gt_registered_place *place)
{
	struct gt_ledger *mine;

	if (!engine->group.world || !engine->exchange)
		return;
	mine = gt_ledger_of(engine, engine->group.self);
	mine->lines[mine->n % GT_LEDGER_LINES] =
		(struct gt_ledger_line){.coll = req->coll,
					.count = req->count,
					.dtype = req->dtype,
					.op = req->op,
					.root = req->root,
					.group = group,
					.input = place->input,
					.output = place->output,
					.ngrown = engine->ngrown};
	__atomic_store_n(&mine->n, mine->n + 1, __ATOMIC_RELEASE);
}

static int gt_ledger_print_place(char *text, int size, const char *what,
				 struct gt_registered_offset at)
{
	if (at.number == GT_OFFSET_NONE)
		return 0;
	if (at.number == GT_OFFSET_UNREGISTERED)
		return snprintf(text, (size_t)size, ", %s not registered",
				what);
	return snprintf(text, (size_t)size,
			", %s %" PRIu64 " bytes into registration %" PRIu64,
			what, at.offset, at.number);
}

static void gt_ledger_print(const struct gt_ledger_line *line,
			    char text[GT_LEDGER_TEXT_MAX])
{
	int len = snprintf(text, GT_LEDGER_TEXT_MAX,
			   "%s of %" PRIu64 " %s, op %s, root %" PRIu64,
			   line->coll < GT_NCOLLS
				   ? gt_coll_name((enum gt_coll)line->coll)
				   : "?",
			   line->count,
			   line->dtype < GT_NDTYPES
				   ? gt_dtype_name((enum gt_dtype)line->dtype)
				   : "?",
			   line->op <= GT_REDOP_PREMUL
				   ? gt_redop_name((enum gt_redop)line->op)
				   : "?",
			   line->root);

	if (line->group > 1)
		len += snprintf(text + len, (size_t)(GT_LEDGER_TEXT_MAX - len),
				", in a group of %" PRIu64, line->group);
	len += gt_ledger_print_place(text + len, GT_LEDGER_TEXT_MAX - len,
				     "input", line->input);
	len += gt_ledger_print_place(text + len, GT_LEDGER_TEXT_MAX - len,
				     "output", line->output);
	if (line->ngrown)
		snprintf(text + len, (size_t)(GT_LEDGER_TEXT_MAX - len),
			 ", behind %" PRIu64 " that made memory larger",
			 line->ngrown);
}

static int gt_ledger_differs(const struct gt_engine *engine, uint32_t p,
			     uint64_t number, const struct gt_ledger_line *own,
			     const struct gt_ledger_line *other,
			     struct gt_err *err)
{
	char a[GT_LEDGER_TEXT_MAX], b[GT_LEDGER_TEXT_MAX];

	gt_ledger_print(own, a);
	gt_ledger_print(other, b);
	return gt_err_set(err, GT_EINPUT, NULL,
			  "operation %" PRIu64
			  ": rank %u calls '%s', rank %u '%s'",
			  number, engine->group.first, a,
			  gt_process_group_begin(&engine->group, p), b);
}

/* Compare what both have written since, as far as both still have it. */
static int gt_ledger_compare_with(struct gt_engine *engine, uint32_t p,
				  struct gt_err *err)
{
	const struct gt_ledger *mine = gt_ledger_of(engine, engine->group.self);
	const struct gt_ledger *theirs = gt_ledger_of(engine, p);
	uint64_t own = gt_ledger_count(mine), other = gt_ledger_count(theirs);
	uint64_t end = own < other ? own : other;
	uint64_t most = own < other ? other : own;
	uint64_t at = __atomic_load_n(&engine->compared[p], __ATOMIC_RELAXED);
	int rc = GT_OK;

	if (most > GT_LEDGER_LINES && at < most - GT_LEDGER_LINES)
		at = most - GT_LEDGER_LINES;
	for (; !rc && at < end; at++) {
		struct gt_ledger_line a = mine->lines[at % GT_LEDGER_LINES];
		struct gt_ledger_line b = theirs->lines[at % GT_LEDGER_LINES];

		/* A line that may be written anew by now says nothing. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (memcmp(&a, &b, sizeof(a)) != 0 &&
		    gt_ledger_count(mine) - at < GT_LEDGER_LINES &&
		    gt_ledger_count(theirs) - at < GT_LEDGER_LINES)
			rc = gt_ledger_differs(engine, p, at, &a, &b, err);
	}
	if (!rc)
		__atomic_store_n(&engine->compared[p], at, __ATOMIC_RELAXED);
	return rc;
}

int gt_ledger_compare(struct gt_engine *engine, struct gt_err *err)
{
	int rc = GT_OK;

	if (!engine->group.world || !engine->exchange)
		return GT_OK;
	for (uint32_t p = 0; !rc && p < engine->group.nprocesses; p++)
		if (p != engine->group.self && engine->group.is_here[p])
			rc = gt_ledger_compare_with(engine, p, err);
	return rc;
}

static void gt_ledger_tell(const struct gt_engine *engine, uint32_t p,
			   uint64_t n, uint32_t ahead)
{
	uint32_t ranks = engine->plan->nranks;
	const struct gt_ledger *theirs = gt_ledger_of(engine, ahead);
	char what[GT_LEDGER_TEXT_MAX] = "one that is long past";
	char text[GT_NOTICE_MAX];

	if (gt_ledger_count(theirs) - n < GT_LEDGER_LINES)
		gt_ledger_print(&theirs->lines[n % GT_LEDGER_LINES], what);
	snprintf(
		text, sizeof(text),
		"of %u ranks, rank %u (%.60s) has not called operation %" PRIu64
		" for %d s, which rank %u has: %.90s",
		ranks, gt_process_group_begin(&engine->group, p),
		gt_world_name(engine->group.world, p), n, GT_LEDGER_LATE_S,
		gt_process_group_begin(&engine->group, ahead), what);
	gt_process_group_notice(&engine->group, 1, text);
}

void gt_ledger_warn(struct gt_engine *engine, int64_t now_ns)
{
	const struct gt_process_group *group = &engine->group;
	uint64_t most = 0, n;
	uint32_t ahead = 0;

	if (!group->world || !engine->exchange || group->self)
		return;
	for (uint32_t p = 0; p < group->nprocesses; p++) {
		n = gt_ledger_count(gt_ledger_of(engine, p));
		if (group->is_here[p] && n > most) {
			most = n;
			ahead = p;
		}
	}
	for (uint32_t p = 0; p < group->nprocesses; p++) {
		struct gt_cuda_late *late = &engine->late[p];

		n = gt_ledger_count(gt_ledger_of(engine, p));
		if (!group->is_here[p] || n == most || n != late->n ||
		    !late->since_ns)
			*late = (struct gt_cuda_late){n, n == most ? 0 : now_ns,
						      0};
		if (late->since_ns && !late->told &&
		    now_ns - late->since_ns >=
			    GT_LEDGER_LATE_S * 1000000000ll) {
			late->told = 1;
			gt_ledger_tell(engine, p, n, ahead);
		}
	}
}
