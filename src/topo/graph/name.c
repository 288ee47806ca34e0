/* Compares words of users with nodes, and takes lists of words apart. */
#include "topo/graph/name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/bus_id.h"
#include "base/unit.h"

/* Returns the kind whose name the word begins with, and moves behind it. */
static enum gt_node_kind skip_kind(const char **word)
{
	for (int kind = 0; kind < GT_NNODEKINDS; kind++) {
		const char *name = gt_node_kind_name((enum gt_node_kind)kind);
		size_t len = strlen(name);

		if (!strncasecmp(*word, name, len)) {
			*word += len;
			return (enum gt_node_kind)kind;
		}
	}
	return GT_NNODEKINDS;
}

/* Reads one end of a range; 0 when it is no number behind the name of a kind.
 */
static int read_end(const char *word, enum gt_node_kind *kind, int64_t *number)
{
	*kind = skip_kind(&word);
	return isdigit((unsigned char)*word) &&
	       gt_unit_int(word, 0, INT32_MAX, number);
}

/* Returns 1 when the word is a number or a range of such, else 0. */
static int parse_range(const char *word, struct gt_name_range *range)
{
	const char *dash = strchr(word, '-');
	char first[GT_NAME_MAX];
	enum gt_node_kind kind;

	if (snprintf(first, sizeof(first), "%.*s",
		     (int)(dash ? dash - word : (ptrdiff_t)strlen(word)),
		     word) >= (int)sizeof(first) ||
	    !read_end(first, &range->kind, &range->first))
		return 0;
	range->last = range->first;
	if (!dash)
		return 1;
	return read_end(dash + 1, &kind, &range->last) &&
	       (kind == range->kind || kind == GT_NNODEKINDS) &&
	       range->first <= range->last;
}

const char *gt_name_misspelling(const char *word)
{
	const char *dash = strchr(word, '-');
	char first[GT_NAME_MAX];
	enum gt_node_kind kind;
	int64_t from, until;

	if (!*word)
		return "no name stands there; the list is empty, or has a "
		       "comma too many";
	if (strpbrk(word, " \t;"))
		return "names have commas between and no blanks: 0,1,2";
	if (!dash)
		return NULL;
	snprintf(first, sizeof(first), "%.*s", (int)(dash - word), word);
	if (read_end(first, &kind, &from) &&
	    read_end(dash + 1, &kind, &until) && from > until)
		return "a range goes up, as 0-3 does";
	return NULL;
}

/* A number alone is a GPU's. */
static int has_number(const struct gt_node *node, const char *word)
{
	struct gt_name_range range;

	if (!parse_range(word, &range) || range.first != range.last)
		return 0;
	return range.first == node->dev &&
	       node->kind ==
		       (range.kind == GT_NNODEKINDS ? GT_NODE_GPU : range.kind);
}

/* "1b:00.0" is in domain 0. */
static int has_bus_id(const struct gt_node *node, const char *word)
{
	char full[GT_NAME_MAX], own[GT_BUS_ID_MAX];

	if (!node->bus_id)
		return 0;
	if (!strcasecmp(node->bus_id, word))
		return 1;
	snprintf(full, sizeof(full), "0:%s", word);
	return (gt_bus_id_normalize(word, own) ||
		gt_bus_id_normalize(full, own)) &&
	       !strcmp(node->bus_id, own);
}

/* Only ports' names tell one from another; those of GPUs are models. */
static int has_port_name(const struct gt_node *node, const char *word)
{
	char full[GT_NAME_MAX];

	if (node->kind != GT_NODE_NET || !node->name)
		return 0;
	snprintf(full, sizeof(full), "%s:%d", node->name, node->port);
	return !strcasecmp(node->name, word) || !strcasecmp(full, word);
}

int gt_node_is_called(const struct gt_node *node, const char *word)
{
	return !strcasecmp(node->id, word) || has_bus_id(node, word) ||
	       has_number(node, word) || has_port_name(node, word);
}

uint32_t gt_topo_find(const struct gt_topo *topo, const char *word)
{
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		if (gt_node_is_called(gt_topo_node(topo, i), word))
			return i;
	return GT_NONE;
}

static void write_number(struct gt_name_list *list, char word[GT_NAME_MAX])
{
	const struct gt_name_range *range = &list->range;

	snprintf(word, GT_NAME_MAX, "%s%d",
		 range->kind == GT_NNODEKINDS ? ""
					      : gt_node_kind_name(range->kind),
		 (int)range->first);
	list->in_range = list->range.first++ < range->last;
}

int gt_name_list_next(struct gt_name_list *list, char word[GT_NAME_MAX])
{
	size_t len;

	if (list->in_range) {
		write_number(list, word);
		return 1;
	}
	if (!list->rest)
		return 0;
	len = strcspn(list->rest, ",");
	snprintf(word, GT_NAME_MAX, "%.*s", (int)len, list->rest);
	list->rest = list->rest[len] ? list->rest + len + 1 : NULL;
	if (strchr(word, '-') && parse_range(word, &list->range) &&
	    list->range.last - list->range.first < GT_TOPO_MAX_DEVICES)
		write_number(list, word);
	return 1;
}
