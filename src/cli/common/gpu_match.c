/*
 * Matches GPUs by bus id where that is enough, else by the shape of their
 * links.
 */
#include "cli/common/gpu_match.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/xml.h"
#include "topo/diff/match.h"
#include "topo/xml/measured.h"
#include "topo/diff/device_tree.h"

static uint32_t gt_gpu_of(const struct gt_measured *measured,
			  const struct gt_device_tree *server, uint32_t dev)
{
	const struct gt_device *d = gt_device_tree_device(server, dev);

	return d->kind == GT_DEVICE_GPU
		       ? gt_measured_find(measured,
					  gt_xml_attr(d->elem, "busid"))
		       : UINT32_MAX;
}

static int gt_gpu_match_trees(const struct gt_gpu_match_query *pair,
			      const struct gt_device_tree *wanted,
			      const struct gt_device_tree *is,
			      struct gt_arena *arena, uint32_t *image)
{
	uint32_t na = gt_device_tree_ndevices(wanted), a, b;
	struct gt_match match;

	match.image = gt_arena_array(arena, na, sizeof(*match.image));
	match.back = gt_arena_array(arena, gt_device_tree_ndevices(is),
				    sizeof(*match.back));
	if (!match.image || !match.back ||
	    gt_match_find(wanted, is, &match, NULL))
		return GT_ESYS;
	for (uint32_t i = 0; i < na; i++) {
		if (match.image[i] == GT_UNMATCHED)
			continue;
		a = gt_gpu_of(pair->wanted, wanted, i);
		b = gt_gpu_of(pair->is, is, match.image[i]);
		if (a != UINT32_MAX && b != UINT32_MAX)
			image[b] = a;
	}
	return GT_OK;
}

/* Match by bus ids; 1 when the smaller server's are all in the other. */
static int gt_gpu_match_ids(const struct gt_gpu_match_query *pair,
			    uint32_t *image)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < pair->is->ngpus; i++) {
		image[i] = gt_measured_find(pair->wanted,
					    pair->is->gpus[i].bus_id);
		found += image[i] != UINT32_MAX;
	}
	return found == pair->is->ngpus || found == pair->wanted->ngpus;
}

int gt_gpu_match(const struct gt_gpu_match_query *pair, struct gt_arena *arena,
		 uint32_t *image, struct gt_err *err)
{
	struct gt_device_tree *wanted = NULL, *is = NULL;
	int rc;

	if (gt_gpu_match_ids(pair, image))
		return GT_OK;
	for (uint32_t i = 0; i < pair->is->ngpus; i++)
		image[i] = UINT32_MAX;
	rc = gt_device_tree_read(pair->file, 0, &wanted, err);
	if (!rc)
		rc = gt_device_tree_parse("this machine", pair->text->text,
					  pair->text->len, 0, &is, err);
	if (!rc && gt_gpu_match_trees(pair, wanted, is, arena, image))
		rc = gt_err_nomem(err);
	gt_device_tree_free(wanted);
	gt_device_tree_free(is);
	return rc;
}
