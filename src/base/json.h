/*
 * JSON in, behind one door: a bounded document and typed access to it, with
 * errors that say where.  Syntax is complained about as file:line:col,
 * content as "file: channels[0].order[3]".  Strings are borrowed from the
 * document.  (base/json_writer.h writes JSON.)
 *
 * Limits: 64 MiB, 64 levels; no duplicate keys, no NUL inside.  Reading
 * never changes a document, so several threads may share one.
 */
#ifndef GT_BASE_JSON_H
#define GT_BASE_JSON_H

#include <stddef.h>
#include <stdint.h>

struct gt_buf;
struct gt_err;
struct gt_json_doc;
struct gt_rat;
struct json_t;

/*
 * A value and its place; `up` must live as long as this does, as it does
 * when functions hand their own `struct gt_json` down.
 */
struct gt_json {
	struct json_t *value;
	const struct gt_json *up;      /* NULL at the root */
	const struct gt_json_doc *doc; /* for its name */
	const char *key;               /* NULL: item `index` of an array */
	size_t index;
};

/* Read a document ("-": standard input); *doc is the caller's. */
int gt_json_open(const char *path, struct gt_json_doc **doc,
		 struct gt_err *err);

/* Read a document from memory; `name` is how messages call it. */
int gt_json_parse(const char *name, const char *text, size_t len,
		  struct gt_json_doc **doc, struct gt_err *err);

/* NULL is allowed. */
void gt_json_close(struct gt_json_doc *doc);

/* How messages call the document; borrowed. */
const char *gt_json_name(const struct gt_json_doc *doc);

struct gt_json gt_json_root(const struct gt_json_doc *doc);

/* Record a fault of this value: GT_EINPUT, with the JSON path. */
int gt_json_fault(const struct gt_json *at, struct gt_err *err, const char *fmt,
		  ...) __attribute__((format(printf, 3, 4)));

/*
 * An object with no keys but those listed (NULL ends the list) and those
 * that begin with "x_": a mistyped key must not silently change a meaning.
 * keys NULL: an object with any keys.
 */
int gt_json_object(const struct gt_json *at, const char *const *keys,
		   struct gt_err *err);

/* The member called key: 1 and *out, or 0 when there is none. */
int gt_json_get(const struct gt_json *object, const char *key,
		struct gt_json *out);

/* The member called key; GT_EINPUT when there is none. */
int gt_json_need(const struct gt_json *object, const char *key,
		 struct gt_json *out, struct gt_err *err);

/* Walk an object in the file's order: NULL begins and ends. */
void *gt_json_next(const struct gt_json *object, void *iter,
		   struct gt_json *out);

/* An array and its length; its i-th item. */
int gt_json_array(const struct gt_json *at, uint32_t *n, struct gt_err *err);
void gt_json_item(const struct gt_json *array, uint32_t i, struct gt_json *out);

/* Typed values; outputs are set only when the value is of that type. */
int gt_json_text(const struct gt_json *at, const char **text,
		 struct gt_err *err);
int gt_json_int(const struct gt_json *at, int64_t min, int64_t max,
		int64_t *value, struct gt_err *err);
int gt_json_u32(const struct gt_json *at, uint32_t max, uint32_t *value,
		struct gt_err *err);
int gt_json_double(const struct gt_json *at, double *value, struct gt_err *err);
int gt_json_bool(const struct gt_json *at, int *value, struct gt_err *err);
int gt_json_is_null(const struct gt_json *at);

/* The text of the member called key; NULL when that is none. */
const char *gt_json_member_text(const struct gt_json *object, const char *key);

/* An exact number in a string, "1854/5" or "20.6", that is not negative. */
int gt_json_rat(const struct gt_json *at, struct gt_rat *value,
		struct gt_err *err);

/* Append text as a JSON string, quoted and escaped. */
void gt_json_quote(struct gt_buf *out, const char *text);

#endif
