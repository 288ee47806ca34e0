/* Jansson parses the text; this file finds values and says where a fault is. */
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/file.h"
#include "base/kind.h"
#include "base/rat.h"
#include "base/utf8.h"

enum {
	GT_JSON_MAX_BYTES = 64 << 20,
	GT_JSON_MAX_DEPTH = 64,
};

struct gt_json_doc {
	char *name;
	json_t *root;
};

/* A message is one line whatever the file's strings hold. */
static void gt_json_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static int gt_json_syntax(const char *name, size_t line, size_t column,
			  const char *what, struct gt_err *err)
{
	char where[512], text[256];

	snprintf(where, sizeof(where), "%s:%zu:%zu", name, line, column);
	snprintf(text, sizeof(text), "%s", what);
	gt_json_one_line(text);
	return gt_err_set(err, GT_EINPUT, where, "%s", text);
}

/*
 * The parser recurses, so depth is counted first.  Strings are skipped;
 * whether anything else is well formed is the parser's business.
 */
static int gt_json_check_depth(const char *name, const char *text, size_t len,
			       struct gt_err *err)
{
	size_t line = 1, begin = 0, depth = 0;
	int quoted = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n') {
			line++;
			begin = i + 1;
		}
		if (quoted && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			quoted = !quoted;
		else if (quoted)
			continue;
		else if (text[i] == ']' || text[i] == '}')
			depth -= depth > 0;
		else if ((text[i] == '[' || text[i] == '{') &&
			 ++depth > GT_JSON_MAX_DEPTH)
			return gt_json_syntax(name, line, i - begin + 1,
					      "nested more than 64 deep", err);
	}
	return GT_OK;
}

int gt_json_parse(const char *name, const char *text, size_t len,
		  struct gt_json_doc **doc, struct gt_err *err)
{
	struct gt_json_doc *made;
	json_error_t fault;
	json_t *root;
	int rc;

	rc = gt_json_check_depth(name, text, len, err);
	if (rc)
		return rc;
	if (gt_first_char(text, len) == '<')
		return gt_err_set(err, GT_EINPUT, name, "%s",
				  gt_kind_of_xml(text, len));
	/*
	 * Out of memory, jansson often reports bad syntax; malloc() sets errno.
	 */
	errno = 0;
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &fault);
	if (!root && (errno == ENOMEM ||
		      json_error_code(&fault) == json_error_out_of_memory))
		return gt_err_nomem(err);
	if (!root)
		return gt_json_syntax(
			name, (size_t)fault.line, (size_t)fault.column,
			json_error_code(&fault) == json_error_null_character
				? "a string holds \\u0000"
				: fault.text,
			err);
	made = calloc(1, sizeof(*made));
	if (made)
		made->name = strdup(name);
	if (!made || !made->name) {
		free(made);
		json_decref(root);
		return gt_err_nomem(err);
	}
	made->root = root;
	*doc = made;
	return GT_OK;
}

int gt_json_open(const char *path, struct gt_json_doc **doc, struct gt_err *err)
{
	const char *name = strcmp(path, "-") ? path : "standard input";
	struct gt_buf text = GT_BUF_INIT;
	int rc;

	rc = gt_file_read(path, GT_JSON_MAX_BYTES, &text, err);
	if (!rc)
		rc = gt_json_parse(name, text.text ? text.text : "", text.len,
				   doc, err);
	gt_buf_release(&text);
	return rc;
}

void gt_json_close(struct gt_json_doc *doc)
{
	if (!doc)
		return;
	json_decref(doc->root);
	free(doc->name);
	free(doc);
}

const char *gt_json_name(const struct gt_json_doc *doc)
{
	return doc->name;
}

struct gt_json gt_json_root(const struct gt_json_doc *doc)
{
	return (struct gt_json){.value = doc->root, .doc = doc};
}

static void gt_json_path(const struct gt_json *at, struct gt_buf *out)
{
	if (!at->up)
		return;
	gt_json_path(at->up, out);
	if (at->key)
		gt_buf_printf(out, "%s%s", at->up->up ? "." : "", at->key);
	else
		gt_buf_printf(out, "[%zu]", at->index);
}

int gt_json_fault(const struct gt_json *at, struct gt_err *err, const char *fmt,
		  ...)
{
	struct gt_buf where = GT_BUF_INIT;
	char text[1024];
	va_list ap;
	int rc;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_buf_puts(&where, at->doc->name);
	if (at->up)
		gt_buf_puts(&where, ": ");
	gt_json_path(at, &where);
	gt_json_one_line(text);
	if (where.text)
		gt_json_one_line(where.text);
	rc = gt_err_set(err, GT_EINPUT, gt_buf_text(&where), "%s", text);
	gt_buf_release(&where);
	return rc;
}

static const char *gt_json_type(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "true or false";
	case JSON_NULL:
		break;
	}
	return "null";
}

static int gt_json_not(const struct gt_json *at, const char *wanted,
		       struct gt_err *err)
{
	return gt_json_fault(at, err, "is %s, not %s", gt_json_type(at->value),
			     wanted);
}

int gt_json_object(const struct gt_json *at, const char *const *keys,
		   struct gt_err *err)
{
	struct gt_json member;
	void *iter = NULL;

	if (!json_is_object(at->value))
		return gt_json_not(at, "an object", err);
	while (keys && (iter = gt_json_next(at, iter, &member))) {
		const char *const *known = keys;

		while (*known && strcmp(*known, member.key))
			known++;
		if (!*known && strncmp(member.key, "x_", 2))
			return gt_json_fault(&member, err,
					     "is not a known key; own keys "
					     "begin with 'x_'");
	}
	return GT_OK;
}

int gt_json_get(const struct gt_json *object, const char *key,
		struct gt_json *out)
{
	json_t *value = json_object_get(object->value, key);

	if (!value)
		return 0;
	*out = (struct gt_json){
		.value = value, .up = object, .doc = object->doc, .key = key};
	return 1;
}

int gt_json_need(const struct gt_json *object, const char *key,
		 struct gt_json *out, struct gt_err *err)
{
	if (gt_json_get(object, key, out))
		return GT_OK;
	return gt_json_fault(object, err, "'%s' is missing", key);
}

void *gt_json_next(const struct gt_json *object, void *iter,
		   struct gt_json *out)
{
	iter = iter ? json_object_iter_next(object->value, iter)
		    : json_object_iter(object->value);
	if (iter)
		*out = (struct gt_json){.value = json_object_iter_value(iter),
					.up = object,
					.doc = object->doc,
					.key = json_object_iter_key(iter)};
	return iter;
}

int gt_json_array(const struct gt_json *at, uint32_t *n, struct gt_err *err)
{
	if (!json_is_array(at->value))
		return gt_json_not(at, "an array", err);
	*n = (uint32_t)json_array_size(at->value);
	return GT_OK;
}

void gt_json_item(const struct gt_json *array, uint32_t i, struct gt_json *out)
{
	*out = (struct gt_json){.value = json_array_get(array->value, i),
				.up = array,
				.doc = array->doc,
				.index = i};
}

int gt_json_text(const struct gt_json *at, const char **text,
		 struct gt_err *err)
{
	if (!json_is_string(at->value))
		return gt_json_not(at, "a string", err);
	*text = json_string_value(at->value);
	return GT_OK;
}

const char *gt_json_member_text(const struct gt_json *object, const char *key)
{
	struct gt_json value;

	return gt_json_get(object, key, &value) ? json_string_value(value.value)
						: NULL;
}

int gt_json_int(const struct gt_json *at, int64_t min, int64_t max,
		int64_t *value, struct gt_err *err)
{
	int64_t number = json_integer_value(at->value);

	if (!json_is_integer(at->value))
		return gt_json_not(at, "a whole number", err);
	if (number < min || number > max)
		return gt_json_fault(at, err,
				     "'%" PRId64 "' is not within %" PRId64
				     " and %" PRId64,
				     number, min, max);
	*value = number;
	return GT_OK;
}

int gt_json_double(const struct gt_json *at, double *value, struct gt_err *err)
{
	if (!json_is_number(at->value))
		return gt_json_not(at, "a number", err);
	*value = json_number_value(at->value);
	return GT_OK;
}

int gt_json_u32(const struct gt_json *at, uint32_t max, uint32_t *value,
		struct gt_err *err)
{
	int64_t wide = 0;
	int rc = gt_json_int(at, 0, max, &wide, err);

	if (!rc)
		*value = (uint32_t)wide;
	return rc;
}

int gt_json_bool(const struct gt_json *at, int *value, struct gt_err *err)
{
	if (!json_is_boolean(at->value))
		return gt_json_not(at, "true or false", err);
	*value = json_is_true(at->value);
	return GT_OK;
}

int gt_json_is_null(const struct gt_json *at)
{
	return json_is_null(at->value);
}

int gt_json_rat(const struct gt_json *at, struct gt_rat *value,
		struct gt_err *err)
{
	struct gt_rat rat;
	const char *text;

	if (!json_is_string(at->value))
		return gt_json_not(at, "a string with an exact number, '103/5'",
				   err);
	text = json_string_value(at->value);
	if (!gt_rat_parse(text, &rat))
		return gt_json_fault(
			at, err, "'%s' is not a number such as '103/5'", text);
	if (rat.num < 0)
		return gt_json_fault(at, err, "'%s' is negative", text);
	*value = rat;
	return GT_OK;
}

/* Bytes that are no UTF-8 become U+FFFD, for no reader takes them. */
void gt_json_quote(struct gt_buf *out, const char *text)
{
	size_t len;

	gt_buf_puts(out, "\"");
	for (; *text; text += len ? len : 1) {
		len = gt_utf8_char(text);
		if (!len)
			gt_buf_puts(out, "\\ufffd");
		else if (*text == '"' || *text == '\\')
			gt_buf_printf(out, "\\%c", *text);
		else if ((unsigned char)*text < 0x20)
			gt_buf_printf(out, "\\u%04x", (unsigned char)*text);
		else
			gt_buf_add(out, text, len);
	}
	gt_buf_puts(out, "\"");
}
