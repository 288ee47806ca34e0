/*
 * A machine has cards of one model at several speeds where they have several
 * purposes, such as those for storage beside those of the GPUs.  So network
 * cards are sisters only if board, ports and network are the same, too, and all
 * or none are beside a GPU; and one is told of only where it is an exception
 * among them.
 */
#include "topo/lint/sisters.h"

#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/xml.h"
#include "topo/graph/model.h"
#include "topo/lint/device.h"
#include "topo/lint/inventory.h"
#include "topo/lint/linter.h"

enum {
	LINK,  /* of a GPU: GT/s a lane; of a network card: of all lanes */
	PORTS, /* the first port's Mb/s, and so on */
	VALUES = PORTS + 4,
	/* Of a file with more cards the first so many count. */
	MAX_CARDS = 1024,
};

struct card {
	struct gt_lint_dev *dev;
	const struct gt_xml_elem *nic; /* NULL of a GPU */
	const struct gt_xml_elem *nets[VALUES];
	double values[VALUES]; /* 0 is not known */
	int is_beside_gpu;
	uint32_t nnets;
	uint32_t family; /* the first sister in the list */
};

struct cards {
	struct gt_lint_graph *g;
	struct card *all;
	uint32_t n;
};

/* What most sisters have, and how many have it, less, or something else. */
struct usual {
	double value;
	uint32_t n, others;
};

/* Returns whether a GPU is below an element, at most so many levels down. */
static int has_gpu(const struct gt_xml_elem *elem, int levels)
{
	if (!elem || !gt_xml_is(elem, "pci"))
		return 0;
	if (gt_xml_find(elem, "gpu"))
		return 1;
	for (elem = gt_xml_child(elem); elem && levels;
	     elem = gt_xml_next(elem))
		if (has_gpu(elem, levels - 1))
			return 1;
	return 0;
}

static void read_ports(struct card *card)
{
	const struct gt_xml_elem *net = gt_xml_child(card->nic);

	for (; net; net = gt_xml_next(net)) {
		if (!gt_xml_is(net, "net"))
			continue;
		if (PORTS + card->nnets < VALUES) {
			card->nets[PORTS + card->nnets] = net;
			card->values[PORTS + card->nnets] =
				gt_lint_int(net, "speed");
		}
		card->nnets++;
	}
}

static void read_card(struct card *card, struct gt_lint_dev *dev)
{
	const struct gt_xml_elem *elem = dev->elem;
	double gts =
		gt_rat_double(gt_model_gts(gt_xml_text(elem, "link_speed")));

	card->dev = dev;
	card->nic = dev->gpu ? NULL : gt_xml_find(elem, "nic");
	if (!strstr(gt_xml_text(elem, "gt_assumed"), "link_"))
		card->values[LINK] = card->nic ? gts * dev->lanes : gts;
	if (!card->nic)
		return;
	card->is_beside_gpu = has_gpu(gt_xml_parent(elem), 2);
	read_ports(card);
}

static int same_text(const struct gt_xml_elem *a, const struct gt_xml_elem *b,
		     const char *attr)
{
	return !strcmp(gt_xml_text(a, attr), gt_xml_text(b, attr));
}

static int are_sisters(const struct card *a, const struct card *b)
{
	if (a->dev->kind != b->dev->kind || !a->nic != !b->nic)
		return 0;
	return !a->nic ||
	       (a->nnets == b->nnets && a->is_beside_gpu == b->is_beside_gpu &&
		same_text(a->dev->elem, b->dev->elem, "subsystem_vendor") &&
		same_text(a->dev->elem, b->dev->elem, "subsystem_device") &&
		same_text(a->dev->elem, b->dev->elem, "class") &&
		same_text(a->nic, b->nic, "gt_layer"));
}

/* Lists the GPUs and network cards whose models are known, by families. */
static void list_cards(struct cards *cards)
{
	struct gt_lint_graph *g = cards->g;
	struct card *card;
	uint32_t k;

	for (uint32_t i = 0; i < g->npcis && cards->n < MAX_CARDS; i++) {
		struct gt_lint_dev *dev = &g->pcis[i];

		if (!dev->kind || (!dev->gpu && !gt_xml_find(dev->elem, "nic")))
			continue;
		card = &cards->all[cards->n];
		read_card(card, dev);
		for (k = 0; k < cards->n; k++)
			if (cards->all[k].family == k &&
			    are_sisters(&cards->all[k], card))
				break;
		card->family = k;
		cards->n++;
	}
}

/* Finds what most of a family have; of two values as frequent the greater. */
static struct usual find_usual(const struct cards *cards, uint32_t family,
			       int which)
{
	struct usual best = {0};
	uint32_t known = 0, n;
	double value;

	for (uint32_t i = family; i < cards->n; i++) {
		value = cards->all[i].values[which];
		if (cards->all[i].family != family || value <= 0)
			continue;
		known++;
		n = 0;
		for (uint32_t k = family; k < cards->n; k++)
			n += cards->all[k].family == family &&
			     cards->all[k].values[which] == value;
		if (n > best.n || (n == best.n && value > best.value))
			best = (struct usual){value, n, 0};
	}
	best.others = known - best.n;
	return best;
}

static void tell(struct cards *cards, const struct card *card, int which,
		 const struct usual *usual)
{
	struct gt_linter *l = cards->g->l;
	double value = card->values[which];

	if (which >= PORTS) {
		gt_linter_report_elem(
			l, GT_LINT_SLOW_PORT_RULE, card->nets[which], "speed",
			"a port of %g Gb/s, where %u sister%s of %g",
			value / 1e3, usual->n,
			usual->n == 1 ? " has one" : "s have ones",
			usual->value / 1e3);
		gt_linter_remedy(l, "look at the cable, its modules and the "
				    "switch's port");
		return;
	}
	card->dev->has_slow_link = 1;
	gt_linter_report_elem(
		l, card->nic ? GT_LINT_SLOW_NIC_RULE : GT_LINT_SLOW_GPU_RULE,
		card->dev->elem, "link_speed",
		"a link of %g GT/s%s, where %u other%s of model %s %s %g",
		value, card->nic ? " in all" : " a lane", usual->n,
		gt_plural(usual->n), card->dev->kind,
		usual->n == 1 ? "has" : "have", usual->value);
	gt_linter_remedy(l, "seat the card anew, look at the slot and at its "
			    "setting in the firmware");
}

/* Tells of all in a family that are below what is usual there. */
static void tell_family(struct cards *cards, uint32_t family, int which)
{
	struct usual usual = find_usual(cards, family, which);
	int is_clear = cards->all[family].nic
			       ? usual.n >= 3 && usual.n >= 3 * usual.others
			       : usual.n > usual.others;

	for (uint32_t i = family; is_clear && i < cards->n; i++) {
		const struct card *card = &cards->all[i];

		if (card->family == family && card->values[which] > 0 &&
		    card->values[which] < usual.value)
			tell(cards, card, which, &usual);
	}
}

void gt_lint_sisters(struct gt_lint_graph *g)
{
	struct cards cards = {.g = g};

	if (!g->npcis)
		return;
	cards.all = gt_arena_array(g->l->arena, MAX_CARDS, sizeof(*cards.all));
	g->l->failed |= !cards.all;
	if (!cards.all)
		return;
	list_cards(&cards);
	for (uint32_t i = 0; i < cards.n; i++)
		for (int which = 0; which < VALUES; which++)
			if (cards.all[i].family == i)
				tell_family(&cards, i, which);
}
