/* A demand in a file of its own: JSON, or a table of numbers. */
#include "plan/json/json.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "plan/ir/demand.h"
#include "plan/json/read_sections.h"

enum { MAX_BYTES = 64 << 20, PLACE_MAX = 512 };

static int read_json(const char *path, const struct gt_buf *file,
		     struct gt_arena *arena, uint32_t *n, uint64_t **bytes,
		     struct gt_err *err)
{
	struct gt_json_doc *doc;
	struct gt_json root, at;
	int rc = gt_json_parse(path, file->text, file->len, &doc, err);

	if (rc)
		return rc;
	root = at = gt_json_root(doc);
	if (gt_first_char(file->text, file->len) == '{')
		rc = gt_json_need(&root, "demand", &at, err);
	if (!rc)
		rc = gt_read_demand_matrix(&at, arena, n, bytes, err);
	gt_json_close(doc);
	return rc;
}

/* A table while it is read. */
struct table {
	const char *path;
	const char *at;
	uint32_t line, nrows, ncolumns;
	uint64_t *bytes; /* by row * GT_DEMAND_MAX_RANKS + column */
};

static int fault(const struct table *t, struct gt_err *err, const char *text)
{
	char place[PLACE_MAX];

	snprintf(place, sizeof(place), "%s:%u", t->path, t->line);
	return gt_err_set(err, GT_EINPUT, place, "%s", text);
}

static int is_between(char c)
{
	return c == ',' || c == ';' || c == ' ' || c == '\t' || c == '\r';
}

/* Take a number off the line; its end is the table's new place. */
static int read_number(struct table *t, uint64_t *value, struct gt_err *err)
{
	*value = 0;
	if (!isdigit((unsigned char)*t->at))
		return fault(t, err, "what is no whole number stands there");
	for (; isdigit((unsigned char)*t->at); t->at++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(*t->at - '0'),
					   value))
			return fault(t, err,
				     "a number needs more than 64 "
				     "bits");
	return GT_OK;
}

/* Take a line; one without numbers is none. */
static int read_line(struct table *t, struct gt_err *err)
{
	uint32_t columns = 0;
	int rc = GT_OK;

	t->line++;
	for (; !rc && *t->at && *t->at != '\n';) {
		if (is_between(*t->at)) {
			t->at++;
			continue;
		}
		if (columns == GT_DEMAND_MAX_RANKS ||
		    t->nrows == GT_DEMAND_MAX_RANKS)
			return fault(t, err, "there are too many ranks");
		rc = read_number(
			t,
			&t->bytes[(size_t)t->nrows * GT_DEMAND_MAX_RANKS +
				  columns++],
			err);
	}
	if (rc || !columns)
		return rc;
	if (t->nrows && columns != t->ncolumns)
		return fault(t, err,
			     "the line has not as many numbers as "
			     "those before");
	t->ncolumns = columns;
	t->nrows++;
	return GT_OK;
}

static int read_table(const char *path, const struct gt_buf *file,
		      struct gt_arena *arena, uint32_t *n, uint64_t **bytes,
		      struct gt_err *err)
{
	struct table t = {.path = path, .at = file->text};
	size_t most = GT_DEMAND_MAX_RANKS;
	int rc = GT_OK;

	t.bytes = calloc(most * most, sizeof(*t.bytes));
	if (!t.bytes)
		return gt_err_nomem(err);
	while (!rc && *t.at) {
		rc = read_line(&t, err);
		t.at += *t.at == '\n';
	}
	if (!rc && t.at != file->text + file->len)
		rc = fault(&t, err, "what is no whole number stands there");
	if (!rc && (!t.nrows || t.nrows != t.ncolumns))
		rc = gt_err_set(err, GT_EINPUT, path,
				"has %u lines of %u numbers; a demand has as "
				"many as there are ranks",
				t.nrows, t.ncolumns);
	if (!rc) {
		*bytes = gt_arena_array(arena, (size_t)t.nrows * t.nrows,
					sizeof(**bytes));
		rc = *bytes ? GT_OK : gt_err_nomem(err);
	}
	for (uint32_t i = 0; !rc && i < t.nrows * t.nrows; i++)
		(*bytes)[i] = t.bytes[i / t.nrows * most + i % t.nrows];
	*n = t.nrows;
	free(t.bytes);
	return rc;
}

int gt_demand_parse(const char *name, const struct gt_buf *text,
		    struct gt_arena *arena, uint32_t *n, uint64_t **bytes,
		    struct gt_err *err)
{
	char first = text->len ? gt_first_char(text->text, text->len) : '\0';

	if (!text->len)
		return gt_err_set(err, GT_EINPUT, name, "is empty");
	return first == '{' || first == '['
		       ? read_json(name, text, arena, n, bytes, err)
		       : read_table(name, text, arena, n, bytes, err);
}

int gt_demand_read(const char *path, struct gt_arena *arena, uint32_t *n,
		   uint64_t **bytes, struct gt_err *err)
{
	struct gt_buf file = GT_BUF_INIT;
	int rc = gt_file_read(path, MAX_BYTES, &file, err);

	if (!rc && !gt_buf_text(&file))
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_demand_parse(path, &file, arena, n, bytes, err);
	gt_buf_release(&file);
	return rc;
}
