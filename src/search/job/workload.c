/* Reads job files, and makes the groups of ranks that they speak of. */
#include "search/job/workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/unit.h"
#include "plan/ir/plan.h"

/* Products of both, and of several, stay whole numbers in a double. */
enum { MAX_COUNT = 1 << 20, MAX_TEXT = 64 };
#define MAX_BYTES ((uint64_t)1 << 50)

double gt_traffic_bytes(const struct gt_traffic *t)
{
	return (double)t->bytes * (double)t->count;
}

/* Counts characters of UTF-8, which JSON has been found to be. */
static size_t count_characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* A name that people are shown: short, and nothing that a terminal obeys. */
static int read_name(const struct gt_json *at, struct gt_arena *arena,
		     const char **name, struct gt_err *err)
{
	const char *text;
	size_t length;
	int rc = gt_json_text(at, &text, err);

	if (rc)
		return rc;
	length = count_characters(text);
	if (!length || length > MAX_TEXT)
		return gt_json_fault(at, err,
				     "a name has 1 to %d characters; this has "
				     "%zu",
				     MAX_TEXT, length);
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return gt_json_fault(at, err,
					     "a name has no control "
					     "characters; take them out");
	*name = gt_arena_strdup(arena, text);
	return *name ? GT_OK : gt_err_nomem(err);
}

/* ---- axes --------------------------------------------------------------- */

static int find_axis(const struct gt_workload *w, const char *name)
{
	for (uint32_t i = 0; i < w->naxes; i++)
		if (!strcmp(w->axes[i].name, name))
			return (int)i;
	return -1;
}

static int read_axis(const struct gt_json *at, struct gt_arena *arena,
		     struct gt_workload *w, struct gt_err *err)
{
	static const char *const keys[] = {"name", "size", NULL};
	struct gt_job_axis axis = {.stride = w->nranks};
	struct gt_json name, size;
	int rc = gt_json_object(at, keys, err);

	if (!rc)
		rc = gt_json_need(at, "name", &name, err);
	if (!rc)
		rc = read_name(&name, arena, &axis.name, err);
	if (!rc && find_axis(w, axis.name) >= 0)
		return gt_json_fault(&name, err,
				     "there is an axis '%s' already; name each "
				     "once",
				     axis.name);
	if (!rc)
		rc = gt_json_need(at, "size", &size, err);
	if (!rc)
		rc = gt_json_u32(&size, GT_JOB_MAX_RANKS, &axis.size, err);
	if (rc)
		return rc;
	if (!axis.size)
		return gt_json_fault(&size, err,
				     "an axis has at least one rank; leave it "
				     "out or give it size 1");
	if ((uint64_t)w->nranks * axis.size > GT_JOB_MAX_RANKS)
		return gt_json_fault(&size, err,
				     "the axes have '%" PRIu64 "' ranks "
				     "together; at most %d are planned for",
				     (uint64_t)w->nranks * axis.size,
				     GT_JOB_MAX_RANKS);
	w->axes[w->naxes++] = axis;
	w->nranks *= axis.size;
	return GT_OK;
}

static int read_axes(const struct gt_json *root, struct gt_arena *arena,
		     struct gt_workload *w, struct gt_err *err)
{
	struct gt_json axes, at;
	uint32_t n;
	int rc;

	w->nranks = 1;
	if (!gt_json_get(root, "axes", &axes)) {
		if (!gt_json_get(root, "ranks", &axes))
			return gt_json_fault(root, err,
					     "a job has 'axes', or says how "
					     "many 'ranks' there are");
		rc = gt_json_u32(&axes, GT_JOB_MAX_RANKS, &w->nranks, err);
		if (!rc && !w->nranks)
			rc = gt_json_fault(&axes, err,
					   "a job has at least one rank");
		return rc;
	}
	if (gt_json_get(root, "ranks", &at))
		return gt_json_fault(&at, err,
				     "the axes say how many ranks there are; "
				     "leave 'ranks' out");
	rc = gt_json_array(&axes, &n, err);
	if (!rc && (!n || n > GT_JOB_MAX_AXES))
		rc = gt_json_fault(&axes, err, "there are 1 to %d axes",
				   GT_JOB_MAX_AXES);
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&axes, i, &at);
		rc = read_axis(&at, arena, w, err);
	}
	return rc;
}

/* ---- groups of ranks ---------------------------------------------------- */

/*
 * Ranks that differ on these axes alone form a group, in order of rank.  A
 * group's first rank has 0 on each of them.
 */
static int make_groups(const struct gt_workload *w, struct gt_arena *arena,
		       struct gt_traffic *t)
{
	uint32_t group = 0;

	t->size = 1;
	for (uint32_t a = 0; a < w->naxes; a++)
		if (t->axes >> a & 1)
			t->size *= w->axes[a].size;
	t->ngroups = w->nranks / t->size;
	t->ranks = gt_arena_array(arena, w->nranks, sizeof(*t->ranks));
	if (!t->ranks)
		return GT_ESYS;
	for (uint32_t first = 0; first < w->nranks; first++) {
		uint32_t *ranks = t->ranks + (size_t)group * t->size, n = 1;

		for (uint32_t a = 0; a < w->naxes; a++)
			if (t->axes >> a & 1 &&
			    first / w->axes[a].stride % w->axes[a].size)
				n = 0;
		if (!n)
			continue;
		ranks[0] = first;
		for (uint32_t a = 0; a < w->naxes; a++)
			for (uint32_t k = 1, had = n;
			     t->axes >> a & 1 && k < w->axes[a].size; k++)
				for (uint32_t i = 0; i < had; i++)
					ranks[n++] = ranks[i] +
						     k * w->axes[a].stride;
		group++;
	}
	return GT_OK;
}

static int read_over(const struct gt_json *over, const struct gt_workload *w,
		     struct gt_arena *arena, struct gt_traffic *t,
		     struct gt_err *err)
{
	struct gt_json at;
	uint32_t n;
	int rc = gt_json_array(over, &n, err);

	if (!rc && !n)
		rc = gt_json_fault(over, err, "name at least one axis");
	for (uint32_t i = 0; i < n && !rc; i++) {
		const char *name = NULL;
		int axis = -1;

		gt_json_item(over, i, &at);
		rc = gt_json_text(&at, &name, err);
		if (!rc)
			axis = find_axis(w, name);
		if (!rc && axis < 0)
			rc = gt_json_fault(&at, err,
					   "'%.*s' is no axis; 'axes' has "
					   "those that there are",
					   MAX_TEXT, name);
		if (!rc && t->axes >> axis & 1)
			rc = gt_json_fault(&at, err, "'%s' stands there twice",
					   name);
		if (!rc)
			t->axes |= 1u << axis;
	}
	if (rc)
		return rc;
	return make_groups(w, arena, t) ? gt_err_nomem(err) : GT_OK;
}

static int read_group(const struct gt_json *at, const struct gt_workload *w,
		      struct gt_traffic *t, unsigned char *seen,
		      struct gt_err *err)
{
	uint32_t *ranks = t->ranks + (size_t)t->ngroups * t->size;
	struct gt_json item;
	uint32_t n;
	int rc = gt_json_array(at, &n, err);

	if (!rc && n != t->size)
		rc = gt_json_fault(at, err,
				   "this group has %u ranks, the first %u; "
				   "groups of another size are another entry",
				   n, t->size);
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(at, i, &item);
		rc = gt_json_u32(&item, w->nranks - 1, &ranks[i], err);
		if (!rc && seen[ranks[i]])
			rc = gt_json_fault(&item, err,
					   "rank '%u' is there twice; an entry "
					   "has each rank in one group",
					   ranks[i]);
		if (!rc)
			seen[ranks[i]] = 1;
	}
	t->ngroups++;
	return rc;
}

static int read_ranks(const struct gt_json *lists, const struct gt_workload *w,
		      struct gt_arena *arena, struct gt_traffic *t,
		      struct gt_err *err)
{
	unsigned char *seen = gt_arena_alloc(arena, w->nranks);
	struct gt_json at;
	uint32_t n;
	int rc = gt_json_array(lists, &n, err);

	if (!rc && !n)
		rc = gt_json_fault(lists, err, "list at least one group");
	if (rc)
		return rc;
	gt_json_item(lists, 0, &at);
	rc = gt_json_array(&at, &t->size, err);
	if (!rc && (!t->size || (uint64_t)n * t->size > w->nranks))
		rc = gt_json_fault(lists, err,
				   "%u groups of %u of the %u ranks cannot be; "
				   "each rank is in one group",
				   n, t->size, w->nranks);
	if (rc)
		return rc;
	t->ranks =
		gt_arena_array(arena, (size_t)n * t->size, sizeof(*t->ranks));
	if (!t->ranks || !seen)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(lists, i, &at);
		rc = read_group(&at, w, t, seen, err);
	}
	return rc;
}

/* ---- traffic ------------------------------------------------------------ */

static int read_bytes(const struct gt_json *at, uint64_t *bytes,
		      struct gt_err *err)
{
	const char *text;
	int64_t number;

	if (!gt_json_int(at, 1, (int64_t)MAX_BYTES, &number, NULL)) {
		*bytes = (uint64_t)number;
		return GT_OK;
	}
	if (!gt_json_text(at, &text, NULL) && gt_unit_bytes(text, bytes) &&
	    *bytes && *bytes <= MAX_BYTES)
		return GT_OK;
	return gt_json_fault(at, err,
			     "is no number of bytes such as 4096 or \"16M\", 1 "
			     "to 2^50");
}

static int read_coll(const struct gt_json *at, enum gt_coll *coll,
		     struct gt_err *err)
{
	const char *text;
	int rc = gt_json_text(at, &text, err);

	if (rc)
		return rc;
	*coll = (enum gt_coll)gt_coll_meant(text);
	if ((int)*coll >= 0 && (!gt_coll_is_rooted(*coll)))
		return GT_OK;
	return gt_json_fault(at, err,
			     "'%.*s' is none of allreduce, allgather, "
			     "reducescatter, alltoall and sendrecv",
			     MAX_TEXT, text);
}

/* An entry without a phase is one by itself. */
static int read_phase(const struct gt_json *entry, struct gt_workload *w,
		      struct gt_arena *arena, struct gt_traffic *t,
		      struct gt_err *err)
{
	const char *name = NULL;
	struct gt_json at;
	int rc;

	if (!gt_json_get(entry, "phase", &at)) {
		t->phase = w->nphases;
		w->phases[w->nphases++] = NULL;
		return GT_OK;
	}
	rc = read_name(&at, arena, &name, err);
	if (rc)
		return rc;
	for (t->phase = 0; t->phase < w->nphases; t->phase++)
		if (w->phases[t->phase] && !strcmp(w->phases[t->phase], name))
			return GT_OK;
	w->phases[w->nphases++] = name;
	return GT_OK;
}

static int read_where(const struct gt_json *entry, const struct gt_workload *w,
		      struct gt_arena *arena, struct gt_traffic *t,
		      struct gt_err *err)
{
	struct gt_json over, lists;
	int has_over = gt_json_get(entry, "over", &over);
	int has_lists = gt_json_get(entry, "groups", &lists);

	if (has_over == has_lists)
		return gt_json_fault(entry, err,
				     "an entry has either 'over', axes, or "
				     "'groups', lists of ranks");
	return has_over ? read_over(&over, w, arena, t, err)
			: read_ranks(&lists, w, arena, t, err);
}

static int read_entry(const struct gt_json *at, struct gt_arena *arena,
		      struct gt_workload *w, struct gt_err *err)
{
	static const char *const keys[] = {"name",  "collective", "bytes",
					   "count", "over",       "groups",
					   "phase", NULL};
	struct gt_traffic *t = &w->traffic[w->ntraffic++];
	struct gt_json value;
	int64_t count = 1;
	int rc = gt_json_object(at, keys, err);

	if (!rc)
		rc = gt_json_need(at, "name", &value, err);
	if (!rc)
		rc = read_name(&value, arena, &t->name, err);
	if (!rc)
		rc = gt_json_need(at, "collective", &value, err);
	if (!rc)
		rc = read_coll(&value, &t->coll, err);
	if (!rc)
		rc = gt_json_need(at, "bytes", &value, err);
	if (!rc)
		rc = read_bytes(&value, &t->bytes, err);
	if (!rc && gt_json_get(at, "count", &value))
		rc = gt_json_int(&value, 1, MAX_COUNT, &count, err);
	t->count = (uint64_t)count;
	if (!rc)
		rc = read_phase(at, w, arena, t, err);
	return rc ? rc : read_where(at, w, arena, t, err);
}

static int read_root(const struct gt_json *root, struct gt_arena *arena,
		     struct gt_workload *w, struct gt_err *err)
{
	static const char *const keys[] = {"schema", "name",  "source",
					   "axes",   "ranks", "communication",
					   NULL};
	const char *schema = NULL, *source;
	struct gt_json at, item;
	uint32_t n = 0;
	int rc = gt_json_object(root, keys, err);

	if (!rc)
		rc = gt_json_need(root, "schema", &at, err);
	if (!rc)
		rc = gt_json_text(&at, &schema, err);
	if (!rc && strcmp(schema, "gtopo.job/1") != 0)
		rc = gt_json_fault(&at, err,
				   "'%.*s' is not known; 'gtopo.job/1' is",
				   MAX_TEXT, schema);
	if (!rc && gt_json_get(root, "name", &at))
		rc = read_name(&at, arena, &w->name, err);
	if (!rc && gt_json_get(root, "source", &at))
		rc = gt_json_text(&at, &source, err);
	if (!rc)
		rc = read_axes(root, arena, w, err);
	if (!rc)
		rc = gt_json_need(root, "communication", &at, err);
	if (!rc)
		rc = gt_json_array(&at, &n, err);
	if (!rc && (!n || n > GT_JOB_MAX_TRAFFIC))
		rc = gt_json_fault(&at, err, "there are 1 to %d entries",
				   GT_JOB_MAX_TRAFFIC);
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = read_entry(&item, arena, w, err);
	}
	return rc;
}

int gt_workload_read(const char *path, struct gt_arena *arena,
		     struct gt_workload **out, struct gt_err *err)
{
	struct gt_workload *w = gt_arena_alloc(arena, sizeof(*w));
	struct gt_json_doc *doc;
	struct gt_json root;
	int rc;

	if (!w)
		return gt_err_nomem(err);
	rc = gt_json_open(path, &doc, err);
	if (rc)
		return rc;
	w->file = gt_arena_strdup(arena, gt_json_name(doc));
	root = gt_json_root(doc);
	rc = w->file ? read_root(&root, arena, w, err) : gt_err_nomem(err);
	gt_json_close(doc);
	if (!rc)
		*out = w;
	return rc;
}
