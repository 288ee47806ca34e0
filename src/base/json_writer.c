/* The commas and indents of JSON, in the one place that counts the members. */
#include "base/json_writer.h"

#include <inttypes.h>
#include <math.h>

#include "base/buf.h"
#include "base/json.h"

void gt_json_begin(struct gt_json_writer *json, struct gt_buf *out)
{
	*json = (struct gt_json_writer){.out = out};
}

static void json_new_line(struct gt_json_writer *json)
{
	gt_buf_printf(json->out, "\n%*s", (int)(2 * json->depth), "");
}

/* Writes the comma, the line's indent and the key that go before a value. */
static void json_lead(struct gt_json_writer *json, const char *key)
{
	struct gt_json_level *level;

	if (json->depth) {
		level = &json->level[json->depth - 1];
		if (level->used)
			gt_buf_puts(json->out, level->flat ? ", " : ",");
		if (!level->flat)
			json_new_line(json);
		level->used = 1;
	}
	if (key) {
		gt_json_quote(json->out, key);
		gt_buf_puts(json->out, ": ");
	}
}

static void json_open(struct gt_json_writer *json, const char *key,
		      enum gt_json_layout layout, const char *brackets)
{
	struct gt_json_level level = {.closing = brackets[1]};

	json_lead(json, key);
	level.flat = layout == GT_JSON_FLAT ||
		     (json->depth && json->level[json->depth - 1].flat);
	gt_buf_add(json->out, brackets, 1);
	if (json->depth == GT_JSON_WRITER_DEPTH) {
		json->out->failed = 1;
		return;
	}
	json->level[json->depth++] = level;
}

void gt_json_open_object(struct gt_json_writer *json, const char *key,
			 enum gt_json_layout layout)
{
	json_open(json, key, layout, "{}");
}

void gt_json_open_array(struct gt_json_writer *json, const char *key,
			enum gt_json_layout layout)
{
	json_open(json, key, layout, "[]");
}

void gt_json_end(struct gt_json_writer *json)
{
	struct gt_json_level level;

	if (json->out->failed) /* maybe for a container that was not opened */
		return;
	level = json->level[--json->depth];
	if (level.used && !level.flat)
		json_new_line(json);
	gt_buf_add(json->out, &level.closing, 1);
}

void gt_json_put_text(struct gt_json_writer *json, const char *key,
		      const char *text)
{
	json_lead(json, key);
	gt_json_quote(json->out, text);
}

void gt_json_put_int(struct gt_json_writer *json, const char *key,
		     int64_t value)
{
	json_lead(json, key);
	gt_buf_printf(json->out, "%" PRId64, value);
}

void gt_json_put_bool(struct gt_json_writer *json, const char *key, int value)
{
	json_lead(json, key);
	gt_buf_puts(json->out, value ? "true" : "false");
}

void gt_json_put_null(struct gt_json_writer *json, const char *key)
{
	json_lead(json, key);
	gt_buf_puts(json->out, "null");
}

void gt_json_put_double(struct gt_json_writer *json, const char *key,
			const char *fmt, double value)
{
	json_lead(json, key);
	/* JSON has no word for what is infinite, or no number. */
	if (isfinite(value))
		gt_buf_printf(json->out, fmt, value);
	else
		gt_buf_puts(json->out, "null");
}
