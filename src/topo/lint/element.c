/*
 * Applies the rules about single elements: whether NCCL knows them where they
 * are, which attributes it cannot do without, and which values it takes for
 * something else.
 */
#include "topo/lint/linter.h"

#include <stdio.h>
#include <string.h>

#include "base/bus_id.h"
#include "base/rat.h"
#include "base/text.h"
#include "base/xml.h"
#include "topo/lint/device.h"
#include "topo/graph/model.h"

/* The elements that NCCL knows, and below which others it looks for them. */
static const struct gt_lint_place {
	const char *name, *up[3];
} gt_lint_places[] = {
	{"system", {NULL}},  {"cpu", {"system"}},     {"pci", {"cpu", "pci"}},
	{"gpu", {"pci"}},    {"nic", {"cpu", "pci"}}, {"net", {"nic"}},
	{"nvlink", {"gpu"}}, {"c2c", {"gpu"}},        {"pcilink", {"pci"}},
};

/*
 * The attributes of an element that NCCL uses: those that it cannot do without,
 * and those for which it asks the machine that it runs on.  Files that clouds
 * publish leave the latter out.
 */
static const struct {
	const char *name, *attrs[3], *asked[4];
} gt_lint_needs[] = {
	{"system", {"version"}, {NULL}},
	{"cpu", {"numaid"}, {"arch"}},
	{"pci", {"busid"}, {"class", "link_speed", "link_width"}},
	{"gpu", {NULL}, {"dev", "sm"}},
	{"nvlink", {"target", "count"}, {"tclass"}},
	{"c2c", {"bw", "count"}, {NULL}},
	{"pcilink", {"target"}, {NULL}},
	{"net", {"name"}, {NULL}},
};

#define GT_COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void gt_lint_need(struct gt_linter *l, const struct gt_xml_elem *elem,
			 const char *attr)
{
	if (gt_xml_attr(elem, attr))
		return;
	gt_linter_report_elem(l, GT_LINT_MISSING_RULE, elem, NULL,
			      "%s has no %s, and NCCL fails without it",
			      gt_xml_name(elem), attr);
	gt_linter_remedy(l, "add %s", attr);
}

static void gt_lint_asked(struct gt_linter *l, const struct gt_xml_elem *elem,
			  const char *attr)
{
	if (!gt_xml_attr(elem, attr))
		gt_linter_report_elem(
			l, GT_LINT_LEFT_OUT_RULE, elem, NULL,
			"%s has no %s, for which NCCL asks the machine that it "
			"runs on",
			gt_xml_name(elem), attr);
}

static void gt_lint_needed(struct gt_linter *l, const struct gt_xml_elem *elem)
{
	size_t i = 0;

	while (i < GT_COUNT(gt_lint_needs) &&
	       !gt_xml_is(elem, gt_lint_needs[i].name))
		i++;
	if (i == GT_COUNT(gt_lint_needs))
		return;
	for (size_t k = 0; k < 3 && gt_lint_needs[i].attrs[k]; k++)
		gt_lint_need(l, elem, gt_lint_needs[i].attrs[k]);
	for (size_t k = 0; k < 4 && gt_lint_needs[i].asked[k]; k++)
		gt_lint_asked(l, elem, gt_lint_needs[i].asked[k]);
	if (!gt_xml_is(elem, "cpu") ||
	    strcmp(gt_xml_text(elem, "arch"), "x86_64"))
		return;
	gt_lint_asked(l, elem, "vendor");
	if (!strcmp(gt_xml_text(elem, "vendor"), "GenuineIntel") ||
	    !strcmp(gt_xml_text(elem, "vendor"), "CentaurHauls") ||
	    !strcmp(gt_xml_text(elem, "vendor"), "  Shanghai  ")) {
		gt_lint_asked(l, elem, "familyid");
		gt_lint_asked(l, elem, "modelid");
	}
}

/*
 * Returns whether NCCL knows the speed: it compares with the beginnings of
 * these.
 */
static int gt_lint_speed_known(const char *speed)
{
	static const char *const known[] = {
		"2.5 GT/s",       "5 GT/s",         "8 GT/s",
		"16 GT/s",        "32 GT/s",        "64 GT/s",
		"5.0 GT/s PCIe",  "8.0 GT/s PCIe",  "16.0 GT/s PCIe",
		"32.0 GT/s PCIe", "64.0 GT/s PCIe",
	};

	for (size_t i = 0; i < GT_COUNT(known); i++)
		if (gt_starts_with(speed, known[i]))
			return 1;
	return 0;
}

static void gt_lint_speed(struct gt_linter *l, const struct gt_xml_elem *elem)
{
	static const char *const known[][2] = {
		{"5", "5.0 GT/s PCIe"},   {"16", "16.0 GT/s PCIe"},
		{"32", "32.0 GT/s PCIe"}, {"64", "64.0 GT/s PCIe"},
		{"5/2", "2.5 GT/s PCIe"},
	};
	const char *speed = gt_xml_attr(elem, "link_speed");
	char gts[GT_RAT_TEXT_MAX];

	if (!speed || gt_lint_speed_known(speed))
		return;
	gt_rat_print(gt_model_gts(speed), gts);
	if (!strcmp(gts, "8"))
		return;
	gt_linter_report_elem(l, GT_LINT_SPEED_RULE, elem, "link_speed",
			      "link_speed '%.64s', which NCCL takes for 8 GT/s",
			      speed);
	gt_linter_remedy(l, "write a speed such as '32.0 GT/s PCIe'");
	for (size_t i = 0; i < GT_COUNT(known); i++) {
		if (strcmp(gts, known[i][0]))
			continue;
		gt_linter_remedy(l, "write '%s'", known[i][1]);
		gt_linter_edit_attr(l, GT_LINT_SPEED_RULE, elem, "link_speed",
				    known[i][1]);
	}
}

static void gt_lint_width(struct gt_linter *l, const struct gt_xml_elem *elem)
{
	const char *width = gt_xml_attr(elem, "link_width");
	int lanes = width ? gt_lint_int(elem, "link_width") : 16;

	if (lanes > 0 && lanes <= 32 && (lanes == 12 || !(lanes & (lanes - 1))))
		return;
	if (lanes)
		gt_linter_report_elem(
			l, GT_LINT_WIDTH_RULE, elem, "link_width",
			"link_width '%.64s' is none of PCI Express", width);
	else
		gt_linter_report_elem(
			l, GT_LINT_WIDTH_RULE, elem, "link_width",
			"link_width '%.64s', which NCCL takes for 16", width);
	gt_linter_remedy(l, "write the number of lanes");
}

/* Checks a bus id: NCCL finds it only in its own spelling, "0000:1b:00.0". */
static void gt_lint_busid(struct gt_linter *l, const struct gt_xml_elem *elem,
			  const char *attr)
{
	const char *text = gt_xml_attr(elem, attr);
	char own[GT_BUS_ID_MAX];

	if (!text || gt_starts_with(text, "fffffff") ||
	    !gt_bus_id_normalize(text, own) || !strcmp(own, text))
		return;
	gt_linter_report_elem(l, GT_LINT_BUSID_RULE, elem, attr,
			      "%s '%s', which NCCL does not find so spelled",
			      attr, text);
	gt_linter_remedy(l, "write '%s'", own);
	gt_linter_edit_attr(l, GT_LINT_BUSID_RULE, elem, attr, own);
}

static void gt_lint_class(struct gt_linter *l, const struct gt_xml_elem *elem)
{
	const char *class = gt_xml_attr(elem, "class");
	const char *what = gt_xml_find(elem, "gpu")   ? "gpu"
			   : gt_xml_find(elem, "nic") ? "nic"
						      : NULL;
	const char *want = what && *what == 'g' ? "0x03" : "0x02";

	/* RCCL knows AMD's accelerators by 0x12, too. */
	if (what && *what == 'g' &&
	    gt_xml_attr(gt_xml_find(elem, "gpu"), "gcn"))
		return;
	if (!class ||
	    (what ? gt_starts_with(class, want) : gt_starts_with(class, "0x")))
		return;
	gt_linter_report_elem(l, GT_LINT_CLASS_RULE, elem, "class",
			      "class '%.64s', by which NCCL does not know a %s",
			      class, what ? what : "device");
	gt_linter_remedy(l, "write a class such as '%s'",
			 !what          ? "0x060400"
			 : *what == 'g' ? "0x030200"
					: "0x020700");
}

/*
 * Tells of a link that runs below its maximum.  The speed of a GPU that idles
 * says nothing.
 */
static void gt_lint_degraded(struct gt_linter *l,
			     const struct gt_xml_elem *elem)
{
	const char *text = gt_xml_attr(elem, "gt_cur");
	struct gt_pci_rate now = gt_model_rate(text);
	struct gt_rat most = gt_model_gts(gt_xml_text(elem, "link_speed"));
	int width = gt_lint_int(elem, "link_width");
	int slow = now.gts.num && most.num && gt_rat_cmp(now.gts, most) < 0 &&
		   !gt_lint_has_gpu_class(elem);
	int narrow = now.width && width && now.width < width;
	char runs[GT_RAT_TEXT_MAX], can[GT_RAT_TEXT_MAX];

	snprintf(runs, sizeof(runs), "%g", gt_rat_double(now.gts));
	snprintf(can, sizeof(can), "%g", gt_rat_double(most));
	if (slow && narrow)
		gt_linter_report_elem(
			l, GT_LINT_DEGRADED_RULE, elem, "gt_cur",
			"link runs at %s GT/s x%d, can do %s GT/s x%d", runs,
			now.width, can, width);
	else if (slow)
		gt_linter_report_elem(l, GT_LINT_DEGRADED_RULE, elem, "gt_cur",
				      "link runs at %s GT/s, can do %s GT/s",
				      runs, can);
	else if (narrow)
		gt_linter_report_elem(l, GT_LINT_DEGRADED_RULE, elem, "gt_cur",
				      "link runs at x%d, can do x%d", now.width,
				      width);
	else
		return;
	gt_linter_remedy(l, "seat the card anew, look at the slot");
}

static void gt_lint_gpu(struct gt_linter *l, const struct gt_xml_elem *elem)
{
	const char *dev = gt_xml_attr(elem, "dev");
	char value[64];
	size_t at, len;

	if (gt_xml_attr(elem, "rank"))
		return;
	gt_linter_report_elem(l, GT_LINT_RANK_RULE, elem, NULL,
			      "gpu has no rank; NCCL gives one to each that it "
			      "uses");
	gt_linter_remedy(l, "add rank=\"%.32s\"", dev ? dev : "0");
	if (!dev || strlen(dev) > 8 ||
	    strspn(dev, "0123456789") < strlen(dev) ||
	    !gt_xml_span(elem, "dev", &at, &len))
		return;
	snprintf(value, sizeof(value), "%s\" rank=\"%s", dev, dev);
	gt_linter_edit(l, GT_LINT_RANK_RULE, at, len, value);
}

static void gt_lint_net(struct gt_linter *l, const struct gt_xml_elem *elem)
{
	const char *speed = gt_xml_attr(elem, "speed");

	if (speed && gt_lint_int(elem, "speed") <= 0) {
		gt_linter_report_elem(
			l, GT_LINT_NET_SPEED_RULE, elem, "speed",
			"speed '%.64s', which NCCL takes for 10000", speed);
		gt_linter_remedy(l, "write the port's rate in Mb/s");
	}
	if (!gt_xml_attr(elem, "dev"))
		gt_linter_report_elem(l, GT_LINT_NET_DEV_RULE, elem, NULL,
				      "net has no dev, and NCCL leaves it out");
}

static void gt_lint_pci(struct gt_linter *l, const struct gt_xml_elem *elem)
{
	gt_lint_speed(l, elem);
	gt_lint_width(l, elem);
	gt_lint_busid(l, elem, "busid");
	gt_lint_class(l, elem);
	gt_lint_degraded(l, elem);
}

/* Returns whether any element below has GPUs as RCCL describes them. */
static int gt_lint_is_rccl(const struct gt_xml_elem *up)
{
	const struct gt_xml_elem *elem = gt_xml_child(up);

	for (; elem; elem = gt_xml_next(elem))
		if ((gt_xml_is(elem, "gpu") && gt_xml_attr(elem, "gcn")) ||
		    gt_lint_is_rccl(elem))
			return 1;
	return 0;
}

static void gt_lint_values(struct gt_linter *l, const struct gt_xml_elem *elem)
{
	const char *version = gt_xml_attr(elem, "version");

	/* RCCL's files are of version 2. */
	if (gt_xml_is(elem, "system") && version && strcmp(version, "1") &&
	    (strcmp(version, "2") || !gt_lint_is_rccl(elem))) {
		gt_linter_report_elem(l, GT_LINT_VERSION_RULE, elem, "version",
				      "version '%.64s', NCCL reads 1", version);
		gt_linter_remedy(l, "let 'gtopo detect' write the file anew");
	}
	if (gt_xml_is(elem, "pci"))
		gt_lint_pci(l, elem);
	else if (gt_xml_is(elem, "gpu"))
		gt_lint_gpu(l, elem);
	else if (gt_xml_is(elem, "net"))
		gt_lint_net(l, elem);
	else if (gt_xml_is(elem, "nvlink") || gt_xml_is(elem, "pcilink"))
		gt_lint_busid(l, elem, "target");
}

/* Returns whether NCCL looks at the element where it is. */
static int gt_lint_seen(struct gt_linter *l, const struct gt_xml_elem *elem)
{
	const struct gt_xml_elem *up = gt_xml_parent(elem);
	size_t i = 0, k = 0;

	/* Elements of gtopo's own are meant to be left out. */
	if (gt_starts_with(gt_xml_name(elem), "gt_"))
		return 0;
	while (i < GT_COUNT(gt_lint_places) &&
	       !gt_xml_is(elem, gt_lint_places[i].name))
		i++;
	/* RCCL knows this one below a GPU of AMD's. */
	if (gt_xml_is(elem, "xgmi") && up && gt_xml_attr(up, "gcn"))
		return 0;
	if (i == GT_COUNT(gt_lint_places)) {
		gt_linter_report_elem(
			l, GT_LINT_ELEMENT_RULE, elem, NULL,
			"element '%.64s', which NCCL does not know",
			gt_xml_name(elem));
		return 0;
	}
	if (!up && !gt_lint_places[i].up[0])
		return 1;
	while (up && gt_lint_places[i].up[k] &&
	       !gt_xml_is(up, gt_lint_places[i].up[k]))
		k++;
	if (up && gt_lint_places[i].up[k])
		return 1;
	gt_linter_report_elem(l, GT_LINT_PLACE_RULE, elem, NULL,
			      "%s below %.64s, where NCCL does not look for it",
			      gt_xml_name(elem),
			      up ? gt_xml_name(up) : "nothing");
	return 0;
}

/* Looks at an element and all below it; the XML parser bounds the depth. */
static void gt_lint_walk(struct gt_linter *l, const struct gt_xml_elem *elem)
{
	if (!gt_lint_seen(l, elem))
		return;
	gt_lint_needed(l, elem);
	gt_lint_values(l, elem);
	for (elem = gt_xml_child(elem); elem; elem = gt_xml_next(elem))
		gt_lint_walk(l, elem);
}

void gt_lint_elems(struct gt_linter *l, const struct gt_xml *xml)
{
	gt_lint_walk(l, gt_xml_root(xml));
}
