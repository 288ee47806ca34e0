#include "topo/show.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "topo/pci.h"

enum {
	GT_SHOW_DEPTH = 256, /* XML is no deeper */
	GT_SHOW_TEXT = 256,
};

/* What a colour stands for. */
enum gt_show_tint {
	GT_TINT_NONE,
	GT_TINT_CPU,
	GT_TINT_GPU,
	GT_TINT_NET,
	GT_TINT_NOTE,
	GT_TINT_PROBLEM,
};

struct gt_show_line {
	int depth;
	enum gt_show_tint tint;
	char label[GT_SHOW_TEXT];
	char rate[48];   /* "gen5 x16" */
	char gbs[32];    /* "63.0 GB/s" */
	char text[2048]; /* the rest */
	char note[128];  /* and what is odd */
	int problem;
};

struct gt_show {
	const struct gt_topo *topo;
	const struct gt_show_style *style;
	struct gt_buf *out;
	int measuring;                /* only look how wide the columns are */
	int width;                    /* of the tree and its labels */
	int rate_width;               /* of "gen5 x16" */
	char more[GT_SHOW_DEPTH + 1]; /* siblings follow, at each depth */
};

static void gt_show_tint(const struct gt_show *show, enum gt_show_tint tint)
{
	static const char *const codes[] = {
		[GT_TINT_NONE] = "\033[0m",  [GT_TINT_CPU] = "\033[1m",
		[GT_TINT_GPU] = "\033[32m",  [GT_TINT_NET] = "\033[36m",
		[GT_TINT_NOTE] = "\033[33m", [GT_TINT_PROBLEM] = "\033[1;31m",
	};

	if (show->style->colour)
		gt_buf_puts(show->out, codes[tint]);
}

/* Names come from the file: no control characters reach the terminal. */
static void gt_show_puts(const struct gt_show *show, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	for (; *at; at++) {
		int c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;

		if (*at < 0x20 || *at == 0x7f || c1 ||
		    (*at >= 0x80 && show->style->ascii))
			gt_buf_puts(show->out, "?");
		else
			gt_buf_add(show->out, at, 1);
		at += c1;
	}
}

static void gt_show_branches(const struct gt_show *show, int depth)
{
	const char *const *lines =
		show->style->ascii
			? (const char *const[]){"|  ", "   ", "|- ", "`- "}
			: (const char *const[]){"│  ", "   ", "├─ ", "└─ "};

	for (int i = 1; i < depth; i++)
		gt_buf_puts(show->out, lines[show->more[i] ? 0 : 1]);
	if (depth)
		gt_buf_puts(show->out, lines[show->more[depth] ? 2 : 3]);
}

static void gt_show_measure(struct gt_show *show,
			    const struct gt_show_line *line)
{
	int width = 3 * line->depth + (int)strlen(line->label);
	int rate = (int)strlen(line->rate);

	if (width > show->width)
		show->width = width;
	if (rate > show->rate_width)
		show->rate_width = rate;
}

static void gt_show_line(struct gt_show *show, const struct gt_show_line *line)
{
	struct gt_buf *out = show->out;

	if (show->measuring) {
		gt_show_measure(show, line);
		return;
	}
	gt_show_branches(show, line->depth);
	gt_show_tint(show, line->tint);
	gt_show_puts(show, line->label);
	gt_show_tint(show, GT_TINT_NONE);
	if (*line->rate || *line->gbs || *line->text || *line->note)
		gt_buf_printf(out, "%*s  %-*s %10s",
			      show->width - 3 * line->depth -
				      (int)strlen(line->label),
			      "", show->rate_width, line->rate, line->gbs);
	if (*line->text) {
		gt_buf_puts(out, "  ");
		gt_show_puts(show, line->text);
	}
	if (*line->note) {
		gt_buf_puts(out, "  ");
		gt_show_tint(show,
			     line->problem ? GT_TINT_PROBLEM : GT_TINT_NOTE);
		gt_buf_puts(out, line->problem ? "! " : "(");
		gt_show_puts(show, line->note);
		gt_buf_puts(out, line->problem ? "" : ")");
		gt_show_tint(show, GT_TINT_NONE);
	}
	gt_buf_puts(out, "\n");
}

/* One more word of the line's text. */
__attribute__((format(printf, 2, 3))) static void gt_show_add(
	struct gt_show_line *line, const char *fmt, ...)
{
	size_t len = strlen(line->text);
	va_list args;

	if (len && len + 2 < sizeof(line->text)) {
		memcpy(line->text + len, ", ", 3);
		len += 2;
	}
	va_start(args, fmt);
	vsnprintf(line->text + len, sizeof(line->text) - len, fmt, args);
	va_end(args);
}

/* "25.0", "18 x 25.0": GB/s of links side by side. */
static void gt_show_lanes(const struct gt_link *link, char *text, size_t size)
{
	double gbs = gt_rat_double(link->gbs);

	if (link->count > 1)
		snprintf(text, size, "%u x %.1f", link->count,
			 gbs / link->count);
	else
		snprintf(text, size, "%.1f", gbs);
}

/* The link above a function and what is to be said of it. */
static void gt_show_above(const struct gt_show *show, uint32_t index,
			  struct gt_show_line *line)
{
	const struct gt_node *node = gt_topo_node(show->topo, index);
	const struct gt_link *link = gt_show_uplink(show->topo, index);

	if (node->pci)
		gt_show_rate(node->pci->link, line->rate, sizeof(line->rate));
	if (link)
		gt_show_gbs(link->gbs, line->gbs, sizeof(line->gbs));
	line->problem = gt_show_finding(node, line->note, sizeof(line->note));
}

/* Links of a kind straight to other GPUs or to CPUs; 0: there are none. */
static int gt_show_straight(const struct gt_show *show, uint32_t index,
			    enum gt_link_kind kind, struct gt_show_line *line)
{
	const struct gt_topo *topo = show->topo;
	const struct gt_node *to;
	char label[64], lanes[64];

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);

		to = gt_topo_node(topo, link->to);
		if (link->from != index || to->kind == GT_NODE_NVS ||
		    link->kind != kind)
			continue;
		gt_show_label(to, label, sizeof(label));
		gt_show_lanes(link, lanes, sizeof(lanes));
		gt_show_add(line, "%s %s", label, lanes);
	}
	if (!*line->text)
		return 0;
	strncat(line->text, " GB/s",
		sizeof(line->text) - strlen(line->text) - 1);
	return 1;
}

static void gt_show_mesh(struct gt_show *show, uint32_t index, int depth)
{
	const struct gt_node *node = gt_topo_node(show->topo, index);
	struct gt_show_line nvl = {.depth = depth}, c2c = nvl;
	int has_nvl = gt_show_straight(show, index, GT_LINK_NVL, &nvl);
	int has_c2c = gt_show_straight(show, index, GT_LINK_C2C, &c2c);

	snprintf(nvl.label, sizeof(nvl.label), "%s", gt_show_nvlink(node));
	snprintf(c2c.label, sizeof(c2c.label), "%s", "C2C");
	show->more[depth] = (char)has_c2c;
	if (has_nvl)
		gt_show_line(show, &nvl);
	show->more[depth] = 0;
	if (has_c2c)
		gt_show_line(show, &c2c);
}

static void gt_show_gpu(struct gt_show *show, uint32_t index, int depth)
{
	const struct gt_node *node = gt_topo_node(show->topo, index);
	struct gt_show_line line = {.depth = depth, .tint = GT_TINT_GPU};
	char label[64], model[128];

	gt_show_label(node, label, sizeof(label));
	snprintf(line.label, sizeof(line.label), "%s %s", label, node->bus_id);
	gt_show_above(show, index, &line);
	gt_show_model(node, model, sizeof(model));
	if (*model)
		gt_show_add(&line, "%s", model);
	if (node->sm)
		gt_show_add(&line, "sm_%d", node->sm);
	if (node->rank >= 0)
		gt_show_add(&line, "rank %d", node->rank);
	if (node->assumed)
		gt_show_add(&line, "by its PCI class");
	gt_show_line(show, &line);
	gt_show_mesh(show, index, depth + 1);
}

static uint32_t gt_show_child(const struct gt_topo *topo, uint32_t up,
			      uint32_t from)
{
	while (from < gt_topo_nnodes(topo) &&
	       gt_topo_node(topo, from)->up != up)
		from++;
	return from;
}

static void gt_show_port(const struct gt_show *show, uint32_t index,
			 struct gt_show_line *line)
{
	const struct gt_node *node = gt_topo_node(show->topo, index);
	const struct gt_link *link = gt_show_uplink(show->topo, index);
	char label[64], gbs[32] = "";

	gt_show_label(node, label, sizeof(label));
	if (link)
		gt_show_gbs(link->gbs, gbs, sizeof(gbs));
	gt_show_add(line, "%s%s%s%s%s", label, node->name ? " " : "",
		    node->name ? node->name : "", *gbs ? " " : "", gbs);
	if (node->no_speed)
		gt_show_add(line, "speed unknown, counted as NCCL does");
	if (node->port > 1)
		gt_show_add(line, "port %d", node->port);
}

/* A card and its ports, in one line. */
static void gt_show_nic(struct gt_show *show, uint32_t index, int depth)
{
	const struct gt_topo *topo = show->topo;
	const struct gt_node *node = gt_topo_node(topo, index);
	struct gt_show_line line = {.depth = depth, .tint = GT_TINT_NET};
	char model[128];

	snprintf(line.label, sizeof(line.label), "NIC %s",
		 node->bus_id ? node->bus_id : "without PCI");
	gt_show_above(show, index, &line);
	gt_show_model(node, model, sizeof(model));
	if (*model)
		gt_show_add(&line, "%s", model);
	for (uint32_t i = gt_show_child(topo, index, 0);
	     i < gt_topo_nnodes(topo); i = gt_show_child(topo, index, i + 1))
		gt_show_port(show, i, &line);
	if (node->assumed)
		gt_show_add(&line, "by its PCI class");
	gt_show_line(show, &line);
}

/* Everything below a CPU or switch; XML's depth is bounded. */
static void gt_show_below(struct gt_show *show, uint32_t up, int depth);

static void gt_show_node(struct gt_show *show, uint32_t index, int depth)
{
	const struct gt_node *node = gt_topo_node(show->topo, index);
	struct gt_show_line line = {.depth = depth};
	char label[64], model[128];

	if (node->kind == GT_NODE_GPU) {
		gt_show_gpu(show, index, depth);
	} else if (node->kind == GT_NODE_NIC) {
		gt_show_nic(show, index, depth);
	} else {
		gt_show_label(node, label, sizeof(label));
		snprintf(line.label, sizeof(line.label), "%s%s%s", label,
			 node->bus_id ? " " : "",
			 node->bus_id ? node->bus_id : "");
		if (node->kind == GT_NODE_CPU)
			line.tint = GT_TINT_CPU;
		gt_show_above(show, index, &line);
		gt_show_model(node, model, sizeof(model));
		if (*model)
			gt_show_add(&line, "%s", model);
		gt_show_line(show, &line);
		gt_show_below(show, index, depth + 1);
	}
}

static void gt_show_below(struct gt_show *show, uint32_t up, int depth)
{
	const struct gt_topo *topo = show->topo;
	uint32_t n = gt_topo_nnodes(topo), next;

	if (depth == GT_SHOW_DEPTH)
		return;
	for (uint32_t i = gt_show_child(topo, up, 0); i < n; i = next) {
		next = gt_show_child(topo, up, i + 1);
		show->more[depth] = next < n;
		gt_show_node(show, i, depth);
	}
}

/* The link of a GPU to the NVSwitches, or NULL. */
static const struct gt_link *gt_show_switched(const struct gt_topo *topo,
					      uint32_t gpu)
{
	const struct gt_link *link;

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		link = gt_topo_link(topo, i);
		if (link->from == gpu &&
		    gt_topo_node(topo, link->to)->kind == GT_NODE_NVS)
			return link;
	}
	return NULL;
}

/* GPUs of numbers that follow each other and `count` links each. */
static uint32_t gt_show_run(const struct gt_topo *topo, uint32_t first,
			    uint32_t count)
{
	const struct gt_link *link;
	uint32_t last = first;

	for (; last < gt_topo_ngpus(topo); last++) {
		link = gt_show_switched(topo, gt_topo_gpu(topo, last));
		if (!link || link->count != count)
			break;
		if (last > first &&
		    gt_topo_node(topo, link->from)->dev !=
			    gt_topo_node(topo, gt_topo_gpu(topo, last - 1))
					    ->dev +
				    1)
			break;
	}
	return last;
}

/* All GPUs of `count` links each to the NVSwitches, in one line. */
static void gt_show_nvswitch(struct gt_show *show, uint32_t count,
			     uint32_t most)
{
	const struct gt_topo *topo = show->topo;
	struct gt_show_line line = {.depth = 1, .label = "NVSwitch"};
	const struct gt_node *first, *last;
	const struct gt_link *one = NULL;
	char lanes[64];
	uint32_t end;

	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i = end) {
		end = gt_show_run(topo, i, count);
		if (end == i) {
			end++;
			continue;
		}
		first = gt_topo_node(topo, gt_topo_gpu(topo, i));
		last = gt_topo_node(topo, gt_topo_gpu(topo, end - 1));
		one = gt_show_switched(topo, gt_topo_gpu(topo, i));
		if (first == last)
			gt_show_add(&line, "GPU%d", first->dev);
		else
			gt_show_add(&line, "GPU%d-%d", first->dev, last->dev);
	}
	gt_show_lanes(one, lanes, sizeof(lanes));
	snprintf(line.rate, sizeof(line.rate), "%s", "NVLink");
	gt_show_gbs(one->gbs, line.gbs, sizeof(line.gbs));
	gt_show_add(&line, "%s each", lanes);
	line.problem = count < most;
	if (line.problem)
		snprintf(line.note, sizeof(line.note), "others have %u links",
			 most);
	gt_show_line(show, &line);
}

/* The most links, but fewer than `below`, of a GPU to the NVSwitches. */
static uint32_t gt_show_most(const struct gt_topo *topo, uint32_t below)
{
	const struct gt_link *link;
	uint32_t most = 0;

	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
		link = gt_show_switched(topo, gt_topo_gpu(topo, i));
		if (link && link->count > most && link->count < below)
			most = link->count;
	}
	return most;
}

/* What no branch holds: NVSwitches, and the slowest link between CPUs. */
static void gt_show_across(struct gt_show *show)
{
	const struct gt_topo *topo = show->topo;
	struct gt_show_line line = {.depth = 1, .label = "between NUMA nodes"};
	uint32_t most = gt_show_most(topo, UINT32_MAX);
	const struct gt_link *sys = NULL;

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);

		if (link->kind == GT_LINK_SYS &&
		    (!sys || gt_rat_cmp(link->gbs, sys->gbs) < 0))
			sys = link;
	}
	for (uint32_t count = most; count; count = gt_show_most(topo, count)) {
		show->more[1] = sys || gt_show_most(topo, count);
		gt_show_nvswitch(show, count, most);
	}
	if (!sys)
		return;
	gt_show_gbs(sys->gbs, line.gbs, sizeof(line.gbs));
	gt_show_add(&line, "%s",
		    *line.gbs ? "NCCL's figure for these processors"
			      : "unknown processors");
	show->more[1] = 0;
	gt_show_line(show, &line);
}

/* All lines: a NUMA node each and what hangs on it, then what is across. */
static void gt_show_lines(struct gt_show *show)
{
	const struct gt_topo *topo = show->topo;
	uint32_t n = gt_topo_nnodes(topo), left = 0;
	int across = gt_show_most(topo, UINT32_MAX) > 0;

	for (uint32_t i = 0; i < n; i++)
		left += gt_topo_node(topo, i)->kind == GT_NODE_CPU;
	across |= left > 1;
	for (uint32_t i = 0; i < n; i++) {
		if (gt_topo_node(topo, i)->kind != GT_NODE_CPU)
			continue;
		show->more[1] = --left || across;
		gt_show_node(show, i, 1);
	}
	gt_show_across(show);
}

static void gt_show_title(const struct gt_show *show)
{
	const struct gt_topo *topo = show->topo;
	uint32_t cpus = 0, gpus = gt_topo_ngpus(topo);
	uint32_t nets = gt_topo_nnets(topo);

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		cpus += gt_topo_node(topo, i)->kind == GT_NODE_CPU;
	gt_show_puts(show, gt_topo_source(topo));
	gt_buf_printf(show->out,
		      ": %u GPU%s, %u network port%s, %u NUMA node%s\n", gpus,
		      gpus == 1 ? "" : "s", nets, nets == 1 ? "" : "s", cpus,
		      cpus == 1 ? "" : "s");
}

void gt_show_tree(const struct gt_topo *topo, const struct gt_show_style *style,
		  struct gt_buf *out)
{
	struct gt_show show = {
		.topo = topo, .style = style, .out = out, .measuring = 1};

	gt_show_lines(&show);
	show.measuring = 0;
	gt_show_title(&show);
	gt_show_lines(&show);
	for (uint32_t i = 0; i < gt_topo_nwarnings(topo); i++) {
		gt_show_tint(&show, GT_TINT_PROBLEM);
		gt_buf_puts(out, "! ");
		gt_show_tint(&show, GT_TINT_NONE);
		gt_show_puts(&show, gt_topo_warning(topo, i));
		gt_buf_puts(out, "\n");
	}
}
