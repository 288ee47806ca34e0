/*
 * Prints a machine's routes in short: what joins its GPUs, and where each of
 * them sits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "topo/graph/path.h"
#include "topo/view/peer_access.h"
#include "topo/view/print.h"
#include "topo/view/show_text.h"

void gt_print_rates(enum gt_rates rates, struct gt_buf *buf)
{
	static const char *const words[] = {
		[GT_RATES_MEASURED] =
			("GB/s as measured where the file says "
			 "so, else NCCL's constants; gtopo show has "
			 "line rates"),
		[GT_RATES_NCCL] = "GB/s by NCCL's constants; gtopo show has "
				  "line rates",
		[GT_RATES_LINE] = "GB/s at line rate, as gtopo show has them",
	};

	gt_buf_printf(buf, "%s\n", words[rates]);
}

/* ---- pairs of GPUs ------------------------------------------------------ */

/* Pairs of GPUs whose routes are alike. */
struct gt_pairs {
	char words[64]; /* "2 NVLinks" */
	double gbs;
	enum gt_path_kind kind;
	uint32_t n;
};

enum { GT_PAIRS_MAX = 64 };

/* The route of two GPUs in words, as the worse of its two ways. */
static struct gt_pairs gt_pair(const struct gt_topo *topo,
			       const struct gt_paths *paths, uint32_t a,
			       uint32_t b)
{
	const struct gt_path *path = gt_paths_get(paths, a, b);
	const struct gt_path *back = gt_paths_get(paths, b, a);
	struct gt_pairs pair = {.n = 1};
	const char *link = gt_show_nvlink(gt_topo_node(topo, a));

	if (gt_rat_cmp(back->gbs, path->gbs) < 0)
		path = back;
	pair.kind = path->kind;
	pair.gbs = gt_rat_double(path->gbs);
	if (path->kind == GT_PATH_NVL && path->nhops == 1) {
		uint32_t n = gt_topo_link(topo, path->links[0])->count;

		snprintf(pair.words, sizeof(pair.words), "%u %s%s%s", n, link,
			 strcmp(link, "xGMI") ? "" : " link", gt_plural(n));
	} else {
		snprintf(pair.words, sizeof(pair.words), "%s",
			 path->kind == GT_PATH_NVL
				 ? "NVLink through NVSwitch"
				 : gt_print_kind_meaning(topo, path->kind));
	}
	return pair;
}

static int gt_pairs_cmp(const void *left, const void *right)
{
	const struct gt_pairs *a = left, *b = right;

	if (a->gbs != b->gbs)
		return a->gbs < b->gbs ? 1 : -1;
	return a->kind != b->kind ? (a->kind > b->kind ? 1 : -1)
				  : strcmp(a->words, b->words);
}

/* Sort the pairs into at most GT_PAIRS_MAX groups; what is more is left out. */
static uint32_t gt_pairs_count(const struct gt_topo *topo,
			       const struct gt_paths *paths,
			       struct gt_pairs groups[GT_PAIRS_MAX])
{
	uint32_t ngpus = gt_topo_ngpus(topo), n = 0, g;

	for (uint32_t i = 0; i < ngpus * ngpus; i++) {
		struct gt_pairs pair;

		if (i / ngpus >= i % ngpus)
			continue;
		pair = gt_pair(topo, paths, gt_topo_gpu(topo, i / ngpus),
			       gt_topo_gpu(topo, i % ngpus));
		for (g = 0; g < n && gt_pairs_cmp(&groups[g], &pair); g++)
			;
		if (g < n)
			groups[g].n++;
		else if (n < GT_PAIRS_MAX)
			groups[n++] = pair;
	}
	qsort(groups, n, sizeof(*groups), gt_pairs_cmp);
	return n;
}

static void gt_print_group(const struct gt_pairs *group, struct gt_buf *buf)
{
	if (group->kind == GT_PATH_DIS)
		gt_buf_puts(buf, "not connected\n");
	else
		gt_buf_printf(buf, "%s, %.4g GB/s each way\n", group->words,
			      group->gbs);
}

static void gt_print_pairs(const struct gt_topo *topo,
			   const struct gt_paths *paths, struct gt_buf *buf)
{
	struct gt_pairs groups[GT_PAIRS_MAX];
	uint32_t ngpus = gt_topo_ngpus(topo);
	uint32_t n = gt_pairs_count(topo, paths, groups);

	gt_buf_printf(buf, "%u GPU%s", ngpus, gt_plural(ngpus));
	if (n == 1)
		gt_buf_puts(buf, ngpus == 2 ? ": " : ", all pairs ");
	else
		gt_buf_puts(buf, n ? ", pairs:\n" : "\n");
	for (uint32_t g = 0; g < n; g++) {
		if (n > 1)
			gt_buf_printf(buf, "%5u  ", groups[g].n);
		gt_print_group(&groups[g], buf);
	}
}

/* ---- each GPU ----------------------------------------------------------- */

/* The processor that a device hangs on, or NULL. */
static const struct gt_node *gt_find_cpu(const struct gt_topo *topo,
					 const struct gt_node *node)
{
	for (uint32_t steps = 0; steps < gt_topo_nnodes(topo); steps++) {
		if (node->kind == GT_NODE_CPU)
			return node;
		if (node->up == GT_NONE)
			return NULL;
		node = gt_topo_node(topo, node->up);
	}
	return NULL;
}

/* Is the bit set in "ffffffff,00000000", whose last word has the lowest? */
static int gt_mask_has(const char *mask, uint32_t bit)
{
	const char *word = mask + strlen(mask);
	char digit[2] = "";

	for (uint32_t words = bit / 32; words; words--) {
		while (word > mask && word[-1] != ',')
			word--;
		if (word == mask)
			return 0;
		word--;
	}
	for (uint32_t digits = bit % 32 / 4; digits; digits--) {
		if (word == mask || word[-1] == ',')
			return 0;
		word--;
	}
	if (word == mask || word[-1] == ',')
		return 0;
	digit[0] = word[-1];
	return (int)(strtoul(digit, NULL, 16) >> bit % 4 & 1);
}

/* No machine has so many digits of cores. */
enum { GT_MASK_MAX = 2048 };

/* Print the cores of a mask as "0-47,96-143". */
static void gt_print_cores(const char *mask, struct gt_buf *buf)
{
	uint32_t end, last;
	const char *between = "";

	if (strnlen(mask, GT_MASK_MAX + 1) > GT_MASK_MAX)
		return;
	end = (uint32_t)strlen(mask) * 4;

	for (uint32_t bit = 0; bit < end; bit = last + 1) {
		last = bit;
		if (!gt_mask_has(mask, bit))
			continue;
		while (gt_mask_has(mask, last + 1))
			last++;
		gt_buf_printf(buf, "%s%u", between, bit);
		if (last > bit)
			gt_buf_printf(buf, "-%u", last);
		between = ",";
	}
}

/* The best way to a port: the better kind, then the wider route. */
static int gt_is_nearer(const struct gt_path *a, const struct gt_path *b)
{
	if (!b || a->kind != b->kind)
		return !b || a->kind < b->kind;
	return gt_rat_cmp(a->gbs, b->gbs) > 0;
}

enum { GT_SUMMARY_PORTS = 28, GT_SUMMARY_NAMED = 2 };

/* Print the ports that are nearest to a GPU, padded. */
static void gt_print_near(const struct gt_topo *topo,
			  const struct gt_paths *paths, uint32_t gpu,
			  struct gt_buf *buf)
{
	const struct gt_path *best = NULL;
	char text[160] = "-";
	uint32_t named = 0;
	size_t len = 0;

	for (uint32_t i = 0; i < gt_topo_nnets(topo); i++) {
		const struct gt_path *path =
			gt_paths_get(paths, gpu, gt_topo_net(topo, i));

		if (path->kind != GT_PATH_DIS && gt_is_nearer(path, best))
			best = path;
	}
	for (uint32_t i = 0; best && i < gt_topo_nnets(topo); i++) {
		uint32_t net = gt_topo_net(topo, i);
		char label[32];

		if (gt_is_nearer(best, gt_paths_get(paths, gpu, net)) ||
		    named++ >= GT_SUMMARY_NAMED)
			continue;
		gt_show_label(gt_topo_node(topo, net), label, sizeof(label));
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
					len ? " " : "", label);
	}
	if (named > GT_SUMMARY_NAMED)
		len += (size_t)snprintf(text + len, sizeof(text) - len, " +%u",
					named - GT_SUMMARY_NAMED);
	if (best)
		snprintf(text + len, sizeof(text) - len, " %s %.4g",
			 gt_path_kind_name(best->kind),
			 gt_rat_double(best->gbs));
	gt_buf_printf(buf, " %-*s", GT_SUMMARY_PORTS, text);
}

static void gt_print_gpu(const struct gt_topo *topo,
			 const struct gt_paths *paths, uint32_t gpu,
			 struct gt_buf *buf)
{
	const struct gt_node *node = gt_topo_node(topo, gpu);
	const struct gt_node *cpu = gt_find_cpu(topo, node);
	char label[32];

	gt_show_label(node, label, sizeof(label));
	gt_buf_printf(buf, "%-7s %-14s", label,
		      node->bus_id ? node->bus_id : "-");
	gt_print_near(topo, paths, gpu, buf);
	if (cpu)
		gt_buf_printf(buf, " %-4d  ", cpu->dev);
	else
		gt_buf_puts(buf, " -     ");
	if (cpu && cpu->affinity)
		gt_print_cores(cpu->affinity, buf);
	else
		gt_buf_puts(buf, "-");
	gt_print_newline(buf);
}

void gt_print_summary(const struct gt_topo *topo, const struct gt_paths *paths,
		      struct gt_buf *buf)
{
	uint32_t ngpus = gt_topo_ngpus(topo), nnets = gt_topo_nnets(topo);

	gt_print_pairs(topo, paths, buf);
	gt_print_peer_access(topo, buf);
	gt_buf_printf(buf, "%u network port%s\n", nnets, gt_plural(nnets));
	if (!ngpus)
		return;
	gt_buf_printf(buf, "\n%-7s %-14s %-*s %-4s  %s\n", "GPU", "bus id",
		      GT_SUMMARY_PORTS, "nearest ports, GB/s", "NUMA", "CPUs");
	for (uint32_t i = 0; i < ngpus; i++)
		gt_print_gpu(topo, paths, gt_topo_gpu(topo, i), buf);
	gt_buf_puts(buf, "\n--matrix: every route; --from and --to: one of "
			 "them, link by link\n");
}
