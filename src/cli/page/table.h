/*
 * Tables of a page, made of arrays in the JSON that commands write: a row is an
 * object, a column one of its members.
 */
#ifndef GT_CLI_PAGE_TABLE_H
#define GT_CLI_PAGE_TABLE_H

#include <stdint.h>

struct gt_buf;
struct gt_json;

enum gt_cell {
	GT_CELL_TEXT,
	GT_CELL_CODE,     /* text that is copied: a bus id */
	GT_CELL_NUMBER,   /* with 4 digits; below 0 is left out */
	GT_CELL_BYTES,    /* "64 KiB" */
	GT_CELL_BAR,      /* a number, as a bar: the least of all is full */
	GT_CELL_SEVERITY, /* a word and its colour */
};

struct gt_column {
	const char *key;
	const char *title;
	enum gt_cell cell;
};

/* How many columns an array of them has. */
#define GT_COLUMNS(columns) (sizeof(columns) / sizeof((columns)[0]))

struct gt_table {
	const struct gt_column *columns;
	uint32_t ncolumns;
	/* Rows of which the member `only` has none of these words are left out;
	 * NULL: all are told. */
	const char *only;
	const char *const *words; /* NULL ends them */
	uint32_t max_rows;        /* what is beyond is counted */
};

/* Append a table; columns that are empty everywhere are left out. */
void gt_table(const struct gt_table *table, const struct gt_json *array,
	      struct gt_buf *out);

/* Returns how many rows it has. */
uint32_t gt_table_nrows(const struct gt_table *table,
			const struct gt_json *array);

/* Append a size as "64 KiB". */
void gt_table_bytes(struct gt_buf *out, double bytes);

#endif
