/* Which GPUs and ports may be taken, by what a user says. */
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/pick/pick.h"
#include "topo/graph/name.h"
#include "topo/graph/topo.h"

/* Nodes that a list names, marked. */
struct marks {
	const struct gt_topo *topo;
	const char *option;
	int ports;             /* may the list name ports? */
	unsigned char *marked; /* by node */
};

/* Where ports are meant, the name of a card stands for all its ports. */
static int is_meant(const struct marks *marks, uint32_t node, const char *word)
{
	const struct gt_node *port = gt_topo_node(marks->topo, node);

	return gt_node_is_called(port, word) ||
	       (port->kind == GT_NODE_NET && port->up != GT_NONE &&
		gt_node_is_called(gt_topo_node(marks->topo, port->up), word));
}

static int mark_word(const struct marks *marks, const char *word,
		     struct gt_err *err)
{
	const struct gt_topo *topo = marks->topo;
	uint32_t n =
		marks->ports ? gt_topo_ndevices(topo) : gt_topo_ngpus(topo);
	const char *misspelling = gt_name_misspelling(word);
	int found = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = gt_topo_device(topo, i);

		if (!is_meant(marks, node, word))
			continue;
		marks->marked[node] = 1;
		found = 1;
	}
	if (found)
		return GT_OK;
	if (misspelling)
		return gt_err_set(err, GT_EINPUT, marks->option, "'%s': %s",
				  word, misspelling);
	return gt_err_set(err, GT_EINPUT, marks->option,
			  "'%s' is no GPU%s of this machine; write 0-3, "
			  "GPU0,GPU2 or bus ids, which gtopo paths shows",
			  word, marks->ports ? " or port" : "");
}

static int mark_list(const struct marks *marks, const char *list,
		     struct gt_err *err)
{
	struct gt_name_list names = {.rest = list};
	char word[GT_NAME_MAX];
	int rc = GT_OK;

	while (!rc && gt_name_list_next(&names, word))
		rc = mark_word(marks, word, err);
	return rc;
}

static int keep_free(const struct gt_topo *topo, const unsigned char *among,
		     const unsigned char *taken, struct gt_arena *arena,
		     struct gt_pick_query *query)
{
	uint32_t *gpus =
		gt_arena_array(arena, gt_topo_ngpus(topo), sizeof(*gpus));
	uint32_t *ports =
		gt_arena_array(arena, gt_topo_nnets(topo), sizeof(*ports));

	query->ngpus = query->nports = 0;
	if (!gpus || !ports)
		return GT_ESYS;
	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++)
		if (among[gt_topo_gpu(topo, i)] && !taken[gt_topo_gpu(topo, i)])
			gpus[query->ngpus++] = gt_topo_gpu(topo, i);
	for (uint32_t i = 0; i < gt_topo_nnets(topo); i++)
		if (!taken[gt_topo_net(topo, i)])
			ports[query->nports++] = gt_topo_net(topo, i);
	query->gpus = gpus;
	query->ports = ports;
	return GT_OK;
}

int gt_pick_read(const char *among, const char *taken, struct gt_arena *arena,
		 struct gt_pick_query *query, struct gt_err *err)
{
	const struct gt_topo *topo = query->topo;
	uint32_t n = gt_topo_nnodes(topo);
	struct marks in = {topo, "--among", 0, gt_arena_alloc(arena, n)};
	struct marks out = {topo, "--taken", 1, gt_arena_alloc(arena, n)};
	int rc = gt_topo_need_gpus(topo, err);

	if (rc)
		return rc;
	if (!in.marked || !out.marked)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n && !among; i++)
		in.marked[i] = 1;
	rc = mark_list(&in, among, err);
	if (!rc && taken && *taken) /* a script's variable may be empty */
		rc = mark_list(&out, taken, err);
	if (!rc && keep_free(topo, in.marked, out.marked, arena, query))
		rc = gt_err_nomem(err);
	return rc;
}
