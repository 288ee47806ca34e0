/* Makes tables of JSON; what a row has not is an empty cell. */
#include "cli/page/table.h"

#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/page/html.h"

/* Returns the text of a member, "yes" or "no", or NULL when it is none. */
static const char *member_text(const struct gt_json *row, const char *key)
{
	struct gt_json value;
	int is;

	if (gt_json_get(row, key, &value) && !gt_json_bool(&value, &is, NULL))
		return is ? "yes" : "no";
	return gt_json_member_text(row, key);
}

/* Sets *number, or returns 0 when the member is none, or below 0: not known. */
static int member_number(const struct gt_json *row, const char *key,
			 double *number)
{
	struct gt_json value;

	return gt_json_get(row, key, &value) &&
	       !gt_json_double(&value, number, NULL) && *number >= 0;
}

static int is_told(const struct gt_table *table, const struct gt_json *row)
{
	const char *word = table->only ? member_text(row, table->only) : NULL;

	for (uint32_t i = 0; table->only && table->words[i]; i++)
		if (word && !strcmp(word, table->words[i]))
			return 1;
	return !table->only;
}

static int is_number(enum gt_cell cell)
{
	return cell == GT_CELL_NUMBER || cell == GT_CELL_BAR ||
	       cell == GT_CELL_BYTES;
}

static int has_cell(const struct gt_column *column, const struct gt_json *row)
{
	double number;

	return is_number(column->cell)
		       ? member_number(row, column->key, &number)
		       : member_text(row, column->key) != NULL;
}

/* The rows of an array, 0 if it is none. */
static uint32_t array_size(const struct gt_json *array)
{
	uint32_t n = 0;

	return gt_json_array(array, &n, NULL) ? 0 : n;
}

static int is_column_used(const struct gt_table *table,
			  const struct gt_column *column,
			  const struct gt_json *array)
{
	struct gt_json row;

	for (uint32_t i = 0; i < array_size(array); i++) {
		gt_json_item(array, i, &row);
		if (is_told(table, &row) && has_cell(column, &row))
			return 1;
	}
	return 0;
}

uint32_t gt_table_nrows(const struct gt_table *table,
			const struct gt_json *array)
{
	uint32_t n = 0;
	struct gt_json row;

	for (uint32_t i = 0; i < array_size(array); i++) {
		gt_json_item(array, i, &row);
		n += (uint32_t)is_told(table, &row);
	}
	return n;
}

void gt_table_bytes(struct gt_buf *out, double bytes)
{
	static const char *const units[] = {"B",   "KiB", "MiB",
					    "GiB", "TiB", "PiB"};
	unsigned unit = 0;

	for (; bytes >= 1024 && unit < 5; unit++)
		bytes /= 1024;
	gt_buf_printf(out, "%.4g %s", bytes, units[unit]);
}

/* Returns the least number of a column, which has the longest bar. */
static double least_of(const struct gt_table *table,
		       const struct gt_column *column,
		       const struct gt_json *array)
{
	double least = 0, number;
	struct gt_json row;

	for (uint32_t i = 0; i < array_size(array); i++) {
		gt_json_item(array, i, &row);
		if (is_told(table, &row) &&
		    member_number(&row, column->key, &number) &&
		    (least <= 0 || number < least))
			least = number;
	}
	return least;
}

static void put_number(const struct gt_column *column,
		       const struct gt_json *row, double least,
		       struct gt_buf *out)
{
	double number, part;

	gt_buf_puts(out, "<td class=\"number\">");
	if (member_number(row, column->key, &number)) {
		if (column->cell == GT_CELL_BYTES)
			gt_table_bytes(out, number);
		else
			gt_buf_printf(out,
				      number >= 1000 && number < 1e9 ? "%.0f"
								     : "%.4g",
				      number);
		part = number > 0 ? least / number : 0;
		if (column->cell == GT_CELL_BAR)
			gt_buf_printf(out,
				      "<span class=\"bar\" style=\"width:"
				      "%.1fem\"></span>",
				      0.1 + 4 * part);
	}
	gt_buf_puts(out, "</td>");
}

static void put_cell(const struct gt_column *column, const struct gt_json *row,
		     struct gt_buf *out)
{
	const char *text = member_text(row, column->key);

	if (column->cell == GT_CELL_CODE)
		gt_buf_puts(out, "<td class=\"code\">");
	else if (column->cell == GT_CELL_SEVERITY)
		gt_buf_puts(out, "<td><span class=\"severity\">");
	else
		gt_buf_puts(out, "<td>");
	gt_html_text(out, text ? text : "");
	gt_buf_puts(out, column->cell == GT_CELL_SEVERITY ? "</span></td>"
							  : "</td>");
}

/* Begins a row; scripts find its device by its bus id or its node. */
static void begin_row(const struct gt_json *row, struct gt_buf *out)
{
	static const char *const names[] = {"bus_id", "id", "link", "severity"};
	const char *text;

	gt_buf_puts(out, "<tr");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		text = member_text(row, names[i]);
		if (!text)
			continue;
		gt_buf_printf(out, " data-%s=\"",
			      *names[i] == 'b' ? "bus" : names[i]);
		gt_html_text(out, text);
		gt_buf_puts(out, "\"");
	}
	gt_buf_puts(out, ">");
}

enum { GT_TABLE_COLUMNS = 16 };

/* Which columns are shown, and the least number of each. */
struct shown {
	char is[GT_TABLE_COLUMNS];
	double least[GT_TABLE_COLUMNS];
};

static void put_head(const struct gt_table *table, const struct shown *shown,
		     struct gt_buf *out)
{
	gt_buf_puts(out, "<thead><tr>");
	for (uint32_t i = 0; i < table->ncolumns; i++) {
		if (!shown->is[i])
			continue;
		gt_buf_puts(out, is_number(table->columns[i].cell)
					 ? "<th class=\"number\">"
					 : "<th>");
		gt_html_text(out, table->columns[i].title);
		gt_buf_puts(out, "</th>");
	}
	gt_buf_puts(out, "</tr></thead>\n<tbody>\n");
}

static void put_row(const struct gt_table *table, const struct shown *shown,
		    const struct gt_json *row, struct gt_buf *out)
{
	begin_row(row, out);
	for (uint32_t i = 0; i < table->ncolumns; i++) {
		if (!shown->is[i])
			continue;
		if (is_number(table->columns[i].cell))
			put_number(&table->columns[i], row, shown->least[i],
				   out);
		else
			put_cell(&table->columns[i], row, out);
	}
	gt_buf_puts(out, "</tr>\n");
}

void gt_table(const struct gt_table *table, const struct gt_json *array,
	      struct gt_buf *out)
{
	struct shown shown = {.is = {0}};
	uint32_t n = 0;
	struct gt_json row;

	for (uint32_t i = 0; i < table->ncolumns; i++) {
		const struct gt_column *column = &table->columns[i];

		shown.is[i] = (char)is_column_used(table, column, array);
		shown.least[i] = least_of(table, column, array);
	}
	gt_buf_puts(out, "<div class=\"wide\"><table>");
	put_head(table, &shown, out);
	for (uint32_t i = 0; i < array_size(array); i++) {
		gt_json_item(array, i, &row);
		if (is_told(table, &row) && n++ < table->max_rows)
			put_row(table, &shown, &row, out);
	}
	gt_buf_puts(out, "</tbody></table></div>\n");
	if (n > table->max_rows)
		gt_buf_printf(out, "<p class=\"quiet\">%u more row%s.</p>\n",
			      n - table->max_rows,
			      gt_plural(n - table->max_rows));
}
