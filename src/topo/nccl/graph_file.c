/*
 * Reads NCCL's graph files.
 */
#include "topo/nccl/graph_file.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/rat.h"
#include "base/text.h"
#include "base/xml.h"

enum {
	GT_NCCL_FILE_GRAPHS = 64,
	GT_NCCL_FILE_CHANNELS = 64, /* NCCL has arrays of so many */
	GT_NCCL_FILE_DEVS = 4096,
};

/* The reader, with a mark for each GPU of the channel that is being read. */
struct gt_nccl_file_reader {
	struct gt_arena *arena;
	uint32_t seen[GT_NCCL_FILE_DEVS], mark;
};

static uint32_t gt_nccl_file_count(const struct gt_xml_elem *elem,
				   const char *name)
{
	uint32_t n = 0;

	for (elem = gt_xml_child(elem); elem; elem = gt_xml_next(elem))
		n += (uint32_t)gt_xml_is(elem, name);
	return n;
}

/*
 * Reads a device's number: hexadecimal, and above bit 56 that of its system,
 * which is left out.
 */
static int gt_nccl_file_dev(const struct gt_xml_elem *elem, int64_t *dev,
			    struct gt_err *err)
{
	const char *text = gt_xml_attr(elem, "dev");
	unsigned long long value;
	char *end;

	if (!text || !*text)
		return gt_xml_fail(elem, NULL, err, "%s has no dev",
				   gt_xml_name(elem));
	value = strtoull(text, &end, 16);
	if (*end)
		return gt_xml_fail(elem, "dev", err,
				   "dev '%.64s' is not a hexadecimal number",
				   text);
	*dev = (int64_t)(value & 0xffffffffffffffull);
	return GT_OK;
}

static int gt_nccl_file_gpu(struct gt_nccl_file_reader *reader,
			    const struct gt_xml_elem *elem, uint32_t *gpu,
			    struct gt_err *err)
{
	int64_t dev;
	int rc = gt_nccl_file_dev(elem, &dev, err);

	if (rc)
		return rc;
	if (dev >= GT_NCCL_FILE_DEVS)
		return gt_xml_fail(elem, "dev", err,
				   "dev '%.64s' is not below 0x%x",
				   gt_xml_attr(elem, "dev"), GT_NCCL_FILE_DEVS);
	if (reader->seen[dev] == reader->mark)
		return gt_xml_fail(elem, "dev", err,
				   "gpu '%.64s' is twice in the channel",
				   gt_xml_attr(elem, "dev"));
	reader->seen[dev] = reader->mark;
	*gpu = (uint32_t)dev;
	return GT_OK;
}

static int gt_nccl_file_channel_read(struct gt_nccl_file_reader *reader,
				     const struct gt_xml_elem *elem,
				     struct gt_nccl_file_channel *channel,
				     struct gt_err *err)
{
	uint32_t n = gt_nccl_file_count(elem, "gpu"), *gpus;
	const struct gt_xml_elem *sub;
	int rc = GT_OK;

	if (!n)
		return gt_xml_fail(elem, NULL, err, "channel has no gpu");
	gpus = gt_arena_array(reader->arena, n, sizeof(*gpus));
	if (!gpus)
		return gt_err_nomem(err);
	*channel = (struct gt_nccl_file_channel){
		.gpus = gpus, .net_first = -1, .net_last = -1};
	reader->mark++;
	for (sub = gt_xml_child(elem); sub && !rc; sub = gt_xml_next(sub)) {
		if (gt_xml_is(sub, "gpu"))
			rc = gt_nccl_file_gpu(reader, sub,
					      &gpus[channel->ngpus++], err);
		else if (gt_xml_is(sub, "net"))
			rc = gt_nccl_file_dev(sub,
					      channel->net_first < 0
						      ? &channel->net_first
						      : &channel->net_last,
					      err);
	}
	return rc;
}

static int gt_nccl_file_kind(const struct gt_xml_elem *elem, const char *attr,
			     enum gt_path_kind *kind, struct gt_err *err)
{
	const char *text = gt_xml_attr(elem, attr);

	if (!text)
		return gt_xml_fail(elem, NULL, err, "graph has no %s", attr);
	for (int i = 0; i < GT_NPATHKINDS; i++)
		if (!strcmp(text, gt_path_kind_name((enum gt_path_kind)i))) {
			*kind = (enum gt_path_kind)i;
			return GT_OK;
		}
	return gt_xml_fail(elem, attr, err, "%s '%.64s' is no kind of route",
			   attr, text);
}

static int gt_nccl_file_int(const struct gt_xml_elem *elem, const char *attr,
			    int max, int *value, struct gt_err *err)
{
	if (!gt_xml_attr(elem, attr))
		return gt_xml_fail(elem, NULL, err, "graph has no %s", attr);
	if (gt_xml_int(elem, attr, value, err))
		return GT_EINPUT;
	if (*value < 0 || *value > max)
		return gt_xml_fail(elem, attr, err,
				   "%s '%.64s' is not between 0 and %d", attr,
				   gt_xml_attr(elem, attr), max);
	return GT_OK;
}

static int gt_nccl_file_speed(const struct gt_xml_elem *elem, const char *attr,
			      double *gbs, struct gt_err *err)
{
	struct gt_rat value = GT_RAT(0, 1);

	if (!gt_xml_attr(elem, attr))
		return gt_xml_fail(elem, NULL, err, "graph has no %s", attr);
	if (gt_xml_rat(elem, attr, &value, err))
		return GT_EINPUT;
	if (value.num < 0)
		return gt_xml_fail(elem, attr, err, "%s is below 0", attr);
	*gbs = gt_rat_double(value);
	return GT_OK;
}

static int gt_nccl_file_head(const struct gt_xml_elem *elem,
			     struct gt_nccl_file_graph *graph, int *nchannels,
			     struct gt_err *err)
{
	int id = 0;

	if (gt_nccl_file_int(elem, "id", GT_NCCL_NGRAPHIDS - 1, &id, err) ||
	    gt_nccl_file_int(elem, "pattern", 6, &graph->pattern, err) ||
	    gt_nccl_file_int(elem, "crossnic", 2, &graph->cross_nic, err) ||
	    gt_nccl_file_int(elem, "nchannels", GT_NCCL_FILE_CHANNELS,
			     nchannels, err) ||
	    gt_nccl_file_int(elem, "samechannels", 1, &graph->same, err) ||
	    gt_nccl_file_speed(elem, "speedintra", &graph->intra_gbs, err) ||
	    gt_nccl_file_speed(elem, "speedinter", &graph->inter_gbs, err) ||
	    gt_nccl_file_kind(elem, "typeintra", &graph->intra, err) ||
	    gt_nccl_file_kind(elem, "typeinter", &graph->inter, err))
		return GT_EINPUT;
	graph->id = (enum gt_nccl_graph_id)id;
	graph->line = gt_xml_line(elem);
	return GT_OK;
}

static int gt_nccl_file_graph_read(struct gt_nccl_file_reader *reader,
				   const struct gt_xml_elem *elem,
				   struct gt_nccl_file_graph *graph,
				   struct gt_err *err)
{
	uint32_t n = gt_nccl_file_count(elem, "channel");
	struct gt_nccl_file_channel *channels;
	const struct gt_xml_elem *sub;
	int nchannels = 0, rc = gt_nccl_file_head(elem, graph, &nchannels, err);

	if (rc)
		return rc;
	if (n != (uint32_t)nchannels)
		return gt_xml_fail(elem, "nchannels", err,
				   "graph has %u channel%s and says %d", n,
				   gt_plural(n), nchannels);
	channels = gt_arena_array(reader->arena, n, sizeof(*channels));
	if (!channels)
		return gt_err_nomem(err);
	graph->channels = channels;
	for (sub = gt_xml_child(elem); sub && !rc; sub = gt_xml_next(sub)) {
		if (!gt_xml_is(sub, "channel"))
			continue;
		rc = gt_nccl_file_channel_read(
			reader, sub, &channels[graph->nchannels], err);
		if (!rc &&
		    channels[graph->nchannels].ngpus != channels[0].ngpus)
			rc = gt_xml_fail(sub, NULL, err,
					 "channel has %u GPUs, the first has "
					 "%u",
					 channels[graph->nchannels].ngpus,
					 channels[0].ngpus);
		graph->nchannels++;
	}
	return rc;
}

static int gt_nccl_file_check(const struct gt_xml_elem *root,
			      struct gt_err *err)
{
	int version = 0;

	if (!gt_xml_is(root, "graphs"))
		return gt_xml_fail(root, NULL, err,
				   "root element '%.64s' is not 'graphs'",
				   gt_xml_name(root));
	if (gt_xml_int(root, "version", &version, err))
		return GT_EINPUT;
	if (version != 1)
		return gt_xml_fail(root, NULL, err,
				   "version '%d' of graphs is not 1", version);
	if (gt_nccl_file_count(root, "graph") > GT_NCCL_FILE_GRAPHS)
		return gt_xml_fail(root, NULL, err, "more than %d graphs",
				   GT_NCCL_FILE_GRAPHS);
	return GT_OK;
}

int gt_nccl_file_read(const struct gt_xml *xml, struct gt_arena *arena,
		      struct gt_nccl_file *file, struct gt_err *err)
{
	const struct gt_xml_elem *root = gt_xml_root(xml), *elem;
	struct gt_nccl_file_reader *reader;
	struct gt_nccl_file_graph *graphs;
	uint32_t n = 0;
	int rc = gt_nccl_file_check(root, err);

	if (rc)
		return rc;
	reader = gt_arena_alloc(arena, sizeof(*reader));
	graphs = gt_arena_array(arena, GT_NCCL_FILE_GRAPHS, sizeof(*graphs));
	if (!reader || !graphs)
		return gt_err_nomem(err);
	reader->arena = arena;
	for (elem = gt_xml_child(root); elem && !rc; elem = gt_xml_next(elem))
		if (gt_xml_is(elem, "graph"))
			rc = gt_nccl_file_graph_read(reader, elem, &graphs[n++],
						     err);
	if (!rc && !n)
		rc = gt_xml_fail(root, NULL, err, "graphs has no graph");
	if (rc)
		return rc;
	*file = (struct gt_nccl_file){n, graphs};
	return GT_OK;
}

const char *gt_nccl_graph_name(enum gt_nccl_graph_id id)
{
	static const char *const names[GT_NCCL_NGRAPHIDS] = {
		"ring", "tree", "collnet chain", "nvls", "collnet direct"};

	return names[id];
}
