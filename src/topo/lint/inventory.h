/*
 * The devices of a file, for rules that need several of them.
 *
 * Of a file with more than 4096 functions, or ports, the first so many count.
 */
#ifndef GT_TOPO_LINT_INVENTORY_H
#define GT_TOPO_LINT_INVENTORY_H

#include <stdint.h>

#include "base/rat.h"

struct gt_linter;
struct gt_xml_elem;

/* A device is a <pci> element. */
struct gt_lint_dev {
	const struct gt_xml_elem *elem;
	const struct gt_xml_elem *gpu; /* or NULL */
	const char *rank;              /* of the GPU, or NULL */
	const char *key;               /* the normalized bus id */
	/*
	 * vendor and device, "0x10de:0x2330", the same text for all of a model;
	 * NULL where the file has none
	 */
	const char *kind;
	int lanes, nvlinks;
	/* of a switch: the quickest device below, its rate and that upwards */
	const struct gt_xml_elem *quickest;
	struct gt_rat up, down;
	uint32_t depth; /* the number of elements above it */
	/* the values that most of its model have */
	int usual_lanes, usual_nvlinks;
	int has_slow_link; /* of which is told already */
};

/* What a <net> must not share with others. */
enum { GT_LINT_NET_DEV, GT_LINT_NET_NAME, GT_LINT_NET_GUID, GT_LINT_NET_IDS };

struct gt_lint_net {
	const struct gt_xml_elem *elem;
	const struct gt_xml_elem *pci;    /* its card, or NULL */
	const char *card;                 /* the card's bus id, or "" */
	const char *ids[GT_LINT_NET_IDS]; /* "" if there is none */
};

struct gt_lint_graph {
	struct gt_linter *l;
	struct gt_lint_dev *pcis, **by_key; /* sorted by key, then as listed */
	struct gt_lint_net *nets;
	uint32_t npcis, nnets;
	const char **kinds; /* each model once */
	uint32_t nkinds;
};

/*
 * List all below an element; memory is the linter's arena's.  Returns 0 when
 * memory ran out, which the linter is told.
 */
int gt_lint_list(struct gt_lint_graph *g, const struct gt_xml_elem *root);

/* Returns the first device of that normalized bus id, or NULL. */
const struct gt_lint_dev *gt_lint_find(const struct gt_lint_graph *g,
				       const char *key);

#endif
