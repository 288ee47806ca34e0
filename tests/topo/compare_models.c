/*
 * Compares our graph and routes with what NCCL itself built from the same
 * file ($GTOPO_TEST_TOPOLOGIES/nccl-models): the same links, no route that is
 * narrower, and none of a worse kind where both are as wide.  TAP; one case a
 * file.
 *
 * NCCL keeps a GPU's PCI function (DEV/x) apart from the GPU and spells ids
 * without punctuation; both are brought to one form here.
 */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

enum { MAX_LINKS = 4096, MAX_ID = 64 };

struct model_link {
	char kind[8];
	char from[MAX_ID], to[MAX_ID];
	struct gt_rat gbs;
};

struct model {
	struct model_link links[MAX_LINKS];
	uint32_t nlinks;
};

static int differences;

static void differ(const char *what, const char *from, const char *to)
{
	if (differences++ < 5)
		printf("# %s: %s to %s\n", what, from, to);
}

/* "GPU/0000:1b:00.0" as "GPU/1b000"; NET and CPU numbers as hexadecimal. */
static void plain(const char *id, char out[MAX_ID])
{
	const char *digits = strchr(id, '/') + 1;
	char hex[MAX_ID];
	size_t n = 0;

	snprintf(out, MAX_ID, "%.4s", id);
	if (!strncmp(digits, "cpu", 3)) {
		snprintf(out, MAX_ID, "NIC/0");
		return;
	}
	if (!strchr(digits, ':')) {
		snprintf(out + 4, MAX_ID - 4, "%" PRIx64,
			 (uint64_t)strtoll(digits, NULL, 10) &
				 0xffffffffffffffu);
		return;
	}
	for (; *digits && *digits != '#'; digits++)
		if (isxdigit((unsigned char)*digits))
			hex[n++] = *digits;
	hex[n] = '\0';
	snprintf(out + 4, MAX_ID - 4, "%" PRIx64,
		 (uint64_t)strtoull(hex, NULL, 16));
}

static void merge(char *id)
{
	if (!strncmp(id, "DEV/", 4))
		memcpy(id, "GPU/", 4);
}

static void model_read(FILE *file, struct model *model)
{
	struct model_link *link;
	char line[8192], gbs[32];

	model->nlinks = 0;
	while (fgets(line, sizeof(line), file)) {
		link = &model->links[model->nlinks];
		if (sscanf(line, "L %*d %7s %31s %63s %63s", link->kind, gbs,
			   link->from, link->to) != 4)
			continue;
		merge(link->from);
		merge(link->to);
		if (!gt_rat_parse(gbs, &link->gbs))
			abort();
		model->nlinks++;
	}
}

/* Ours exists in the model, alone or as the sum of parallel links. */
static void compare_link(const struct gt_topo *topo, uint32_t index,
			 struct model *model, char *seen)
{
	const struct gt_link *ours = gt_topo_link(topo, index);
	struct gt_rat sum = GT_RAT(0, 1);
	char from[MAX_ID], to[MAX_ID];
	int single = 0;

	plain(gt_topo_node(topo, ours->from)->id, from);
	plain(gt_topo_node(topo, ours->to)->id, to);
	for (uint32_t i = 0; i < model->nlinks; i++) {
		struct model_link *theirs = &model->links[i];

		if (strcmp(theirs->kind, gt_link_kind_name(ours->kind)) ||
		    strcmp(theirs->from, from) || strcmp(theirs->to, to))
			continue;
		seen[i] = 1;
		single |= !gt_rat_cmp(theirs->gbs, ours->gbs);
		gt_rat_add(sum, theirs->gbs, &sum);
	}
	if (!single && gt_rat_cmp(sum, ours->gbs))
		differ(sum.num ? "other GB/s" : "no such link there", from, to);
}

static void compare_links(const struct gt_topo *topo, struct model *model)
{
	char *seen = calloc(MAX_LINKS, 1);

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++)
		compare_link(topo, i, model, seen);
	for (uint32_t i = 0; i < model->nlinks; i++)
		/* A GPU to its own PCI function, or NVLink to itself. */
		if (!seen[i] &&
		    strcmp(model->links[i].from, model->links[i].to))
			differ("no such link here", model->links[i].from,
			       model->links[i].to);
	free(seen);
}

/* Our device of that id; a port also by its card, as ids may repeat. */
static uint32_t device(const struct gt_topo *topo, const char *id,
		       const char *card)
{
	uint32_t ngpus = gt_topo_ngpus(topo), node;
	char ours[MAX_ID], above[MAX_ID];

	for (uint32_t i = 0; i < ngpus; i++) {
		plain(gt_topo_node(topo, gt_topo_gpu(topo, i))->id, ours);
		if (!strcmp(ours, id))
			return gt_topo_gpu(topo, i);
	}
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		node = gt_topo_link(topo, i)->from;
		if (gt_topo_link(topo, i)->kind != GT_LINK_NET ||
		    gt_topo_node(topo, node)->kind != GT_NODE_NET)
			continue;
		plain(gt_topo_node(topo, node)->id, ours);
		plain(gt_topo_node(topo, gt_topo_link(topo, i)->to)->id, above);
		if (!strcmp(ours, id) && !strcmp(above, card))
			return node;
	}
	return UINT32_MAX;
}

/* The narrowest of n links, a PCI link counting as gbs / charge. */
static void narrow(struct gt_rat gbs, const char *kind, struct gt_rat charge,
		   struct gt_rat *least)
{
	if (!strcmp(kind, "PCI"))
		gt_rat_div(gbs, charge, &gbs);
	if (!least->num || gt_rat_cmp(gbs, *least) < 0)
		*least = gbs;
}

static int kind_of(const char *name)
{
	int kind = 0;

	while (kind < GT_NPATHKINDS &&
	       strcmp(gt_path_kind_name((enum gt_path_kind)kind), name))
		kind++;
	return kind;
}

/* "PATH from to kind GB/s overhead links..." */
static void compare_path(const struct gt_topo *topo,
			 const struct gt_paths *paths,
			 const struct model *model, char *line)
{
	struct gt_rat one = GT_RAT(1, 1), charge = one;
	struct gt_rat theirs[2] = {{0, 1}, {0, 1}}, ours = GT_RAT(0, 1);
	const struct model_link *first = NULL, *last = NULL;
	const struct gt_path *path;
	uint32_t from, to;
	char *word = strtok(line, " \n"), *kind = NULL;

	for (int i = 0; word; i++, word = strtok(NULL, " \n")) {
		if (i == 3)
			kind = word;
		if (i == 5 && *word == '1')
			charge = GT_RAT(6, 5);
		if (i < 6)
			continue;
		last = &model->links[atoi(word)];
		first = first ? first : last;
		narrow(last->gbs, last->kind, one, &theirs[0]);
		narrow(last->gbs, last->kind, charge, &theirs[1]);
	}
	if (!first)
		return; /* NCCL found none */
	from = device(topo, first->from, first->to);
	to = device(topo, last->to, last->from);
	if (from == UINT32_MAX || to == UINT32_MAX) {
		differ("no such devices here", first->from, last->to);
		return;
	}
	path = gt_paths_get(paths, from, to);
	for (uint32_t i = 0; i < path->nhops; i++)
		narrow(gt_topo_link(topo, path->links[i])->gbs, "", one, &ours);
	if (gt_rat_cmp(ours, theirs[0]) < 0 ||
	    gt_rat_cmp(path->gbs, theirs[1]) < 0)
		differ("narrower route", first->from, last->to);
	else if (!gt_rat_cmp(ours, theirs[0]) &&
		 (int)path->kind > kind_of(kind))
		differ("route of a worse kind", first->from, last->to);
}

static void compare(const char *dir, const char *name, struct model *model)
{
	struct gt_paths *paths;
	struct gt_topo *topo;
	struct gt_err err;
	char path[8192], line[8192];
	FILE *file;

	gt_err_init(&err);
	snprintf(path, sizeof(path), "%s/%.*s.xml", dir,
		 (int)(strlen(name) - strlen(".model")), name);
	if (gt_topo_read(path, GT_RATES_NCCL, &topo, &err)) {
		differ(err.text, err.where, "?");
		return;
	}
	snprintf(path, sizeof(path), "%s/nccl-models/%s", dir, name);
	file = fopen(path, "r");
	if (!file || gt_paths_new(topo, &paths, &err))
		abort();
	model_read(file, model);
	compare_links(topo, model);
	rewind(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "PATH ", 5))
			compare_path(topo, paths, model, line);
	fclose(file);
	gt_paths_free(paths);
	gt_topo_free(topo);
}

static int is_model(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return end && !strcmp(end, ".model");
}

int main(void)
{
	const char *dir = getenv("GTOPO_TEST_TOPOLOGIES");
	struct model *model = calloc(1, sizeof(*model));
	struct dirent **entries;
	char path[4096];
	int n = 0;

	if (!dir || !*dir) {
		printf("1..0 # GTOPO_TEST_TOPOLOGIES is unset\n");
		free(model);
		return 0;
	}
	snprintf(path, sizeof(path), "%s/nccl-models", dir);
	n = scandir(path, &entries, is_model, alphasort);
	if (n <= 0) {
		printf("1..0 # %s has no *.model\n", path);
		free(model);
		return 0;
	}
	for (int i = 0; i < n; i++) {
		differences = 0;
		compare(dir, entries[i]->d_name, model);
		printf("%sok %d - %s\n", differences ? "not " : "", i + 1,
		       entries[i]->d_name);
		free(entries[i]);
	}
	printf("1..%d\n", n);
	free(entries);
	free(model);
	return 0;
}
