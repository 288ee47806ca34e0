/*
 * JSON out: objects, arrays and values, with the commas, quotes and indents
 * that belong between them.
 *
 * A container is written over several lines (GT_JSON_LINES: each member on a
 * line of its own, two blanks deeper than the container) or on one
 * (GT_JSON_FLAT); whatever is inside a flat one is flat as well.  `key` names
 * the member of an object and is NULL for an item of an array and for the root.
 * The text goes to a gt_buf, which remembers if memory ran out.
 */
#ifndef GT_BASE_JSON_WRITER_H
#define GT_BASE_JSON_WRITER_H

#include <stdint.h>

struct gt_buf;

enum gt_json_layout { GT_JSON_LINES, GT_JSON_FLAT };

enum {
	GT_JSON_WRITER_DEPTH = 16, /* containers in one another, at most */
};

/* The caller's; set up by gt_json_begin(), nothing to release. */
struct gt_json_writer {
	struct gt_buf *out;
	unsigned depth; /* open containers; the innermost is level[depth - 1] */
	struct gt_json_level {
		char closing; /* '}' or ']' */
		char flat;
		char used; /* has a member already, so a comma goes first */
	} level[GT_JSON_WRITER_DEPTH];
};

void gt_json_begin(struct gt_json_writer *json, struct gt_buf *out);

void gt_json_open_object(struct gt_json_writer *json, const char *key,
			 enum gt_json_layout layout);
void gt_json_open_array(struct gt_json_writer *json, const char *key,
			enum gt_json_layout layout);

/* Close the innermost container. */
void gt_json_end(struct gt_json_writer *json);

void gt_json_put_text(struct gt_json_writer *json, const char *key,
		      const char *text);
void gt_json_put_int(struct gt_json_writer *json, const char *key,
		     int64_t value);
void gt_json_put_bool(struct gt_json_writer *json, const char *key, int value);
void gt_json_put_null(struct gt_json_writer *json, const char *key);

/*
 * A number in the shape that `fmt` gives it, such as "%.6g"; null if it is not
 * finite.
 */
void gt_json_put_double(struct gt_json_writer *json, const char *key,
			const char *fmt, double value)
	__attribute__((format(printf, 3, 0)));

#endif
