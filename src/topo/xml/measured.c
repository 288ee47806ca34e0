/*
 * Reads measurements from a topology file, and finds which of its GPUs they
 * belong to.
 */
#include "topo/xml/measured.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/bus_id.h"
#include "base/err.h"
#include "base/rat.h"
#include "base/xml.h"

int gt_measured_new(uint32_t ngpus, struct gt_arena *arena,
		    struct gt_measured *measured, struct gt_err *err)
{
	struct gt_measured made = {.ngpus = ngpus};

	made.gpus = gt_arena_array(arena, ngpus, sizeof(*made.gpus));
	made.peers = gt_arena_array(arena, (size_t)ngpus * ngpus,
				    sizeof(*made.peers));
	if (!made.gpus || !made.peers)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < ngpus; i++) {
		made.gpus[i].dev = -1;
		made.gpus[i].numa = -1;
	}
	*measured = made;
	return GT_OK;
}

uint32_t gt_measured_find(const struct gt_measured *measured,
			  const char *bus_id)
{
	char own[GT_BUS_ID_MAX];

	if (!bus_id || !gt_bus_id_normalize(bus_id, own))
		return UINT32_MAX;
	for (uint32_t i = 0; i < measured->ngpus; i++)
		if (!strcmp(measured->gpus[i].bus_id, own))
			return i;
	return UINT32_MAX;
}

/*
 * Counts the GPUs below an element, and describes them where `gpus` has room.
 */
static uint32_t gt_measured_gpus(const struct gt_xml_elem *elem, int numa,
				 struct gt_measured_gpu *gpus)
{
	const struct gt_xml_elem *gpu = gt_xml_find(elem, "gpu");
	const char *bus_id = gt_xml_attr(elem, "busid"), *hidden;
	char own[GT_BUS_ID_MAX];
	uint32_t n = 0;

	if (gt_xml_is(elem, "cpu"))
		gt_xml_int(elem, "numaid", &numa, NULL);
	if (gpu && bus_id && gt_bus_id_normalize(bus_id, own)) {
		if (gpus) {
			snprintf(gpus->bus_id, sizeof(gpus->bus_id), "%s", own);
			gpus->numa = numa;
			hidden = gt_xml_attr(gpu, "gt_hidden");
			snprintf(gpus->hidden, sizeof(gpus->hidden), "%s",
				 hidden ? hidden : "");
			gt_xml_int(gpu, "dev", &gpus->dev, NULL);
		}
		n++;
	}
	for (elem = gt_xml_child(elem); elem; elem = gt_xml_next(elem))
		n += gt_measured_gpus(elem, numa, gpus ? gpus + n : NULL);
	return n;
}

static int gt_measured_number(const struct gt_xml_elem *elem, const char *attr,
			      double *value, struct gt_err *err)
{
	struct gt_rat rat = GT_RAT(0, 1);
	int rc = gt_xml_rat(elem, attr, &rat, err);

	if (!rc && rat.num < 0)
		rc = gt_xml_fail(elem, attr, err, "%s '%.64s' is below 0", attr,
				 gt_xml_attr(elem, attr));
	if (!rc)
		*value = gt_rat_double(rat);
	return rc;
}

static int gt_measured_read_host(const struct gt_xml_elem *elem,
				 struct gt_measured_gpu *gpu,
				 struct gt_err *err)
{
	int rc = gt_measured_number(elem, "to_gbs", &gpu->to_gbs, err);

	if (!rc)
		rc = gt_measured_number(elem, "from_gbs", &gpu->from_gbs, err);
	if (!rc)
		rc = gt_measured_number(elem, "all_to_gbs", &gpu->all_to_gbs,
					err);
	if (!rc)
		rc = gt_measured_number(elem, "all_from_gbs",
					&gpu->all_from_gbs, err);
	return rc;
}

static int gt_measured_read_peer(const struct gt_xml_elem *elem,
				 struct gt_measured_peer *peer,
				 struct gt_err *err)
{
	int rc = gt_measured_number(elem, "gbs", &peer->gbs, err);

	if (!rc)
		rc = gt_measured_number(elem, "both_gbs", &peer->both_gbs, err);
	if (!rc)
		rc = gt_measured_number(elem, "ring_gbs", &peer->ring_gbs, err);
	if (!rc)
		rc = gt_measured_number(elem, "latency_ns", &peer->latency_ns,
					err);
	if (!rc)
		rc = gt_measured_number(elem, "host_gbs", &peer->host_gbs, err);
	return rc;
}

static int gt_measured_fill(const struct gt_measured *measured,
			    const struct gt_xml_elem *elem, struct gt_err *err)
{
	uint32_t to,
		from = gt_measured_find(measured, gt_xml_attr(elem, "busid"));
	const struct gt_xml_elem *sub = gt_xml_find(elem, "gpu");
	int rc = GT_OK;

	sub = sub && from != UINT32_MAX ? gt_xml_child(sub) : NULL;
	for (; sub && !rc; sub = gt_xml_next(sub)) {
		to = gt_measured_find(measured, gt_xml_attr(sub, "target"));
		if (gt_xml_is(sub, "gt_host"))
			rc = gt_measured_read_host(sub, &measured->gpus[from],
						   err);
		else if (gt_xml_is(sub, "gt_peer") && to != UINT32_MAX)
			rc = gt_measured_read_peer(
				sub, gt_measured_peer(measured, from, to), err);
	}
	for (sub = gt_xml_child(elem); sub && !rc; sub = gt_xml_next(sub))
		rc = gt_measured_fill(measured, sub, err);
	return rc;
}

int gt_measured_read(const struct gt_xml *xml, struct gt_arena *arena,
		     struct gt_measured *measured, struct gt_err *err)
{
	const struct gt_xml_elem *root = gt_xml_root(xml);
	int rc = gt_measured_new(gt_measured_gpus(root, -1, NULL), arena,
				 measured, err);

	if (rc)
		return rc;
	gt_measured_gpus(root, -1, measured->gpus);
	return gt_measured_fill(measured, root, err);
}

/*
 * Counts how many of the two GPUs are below an element; *beside becomes 1 at a
 * switch that both are below.
 */
static int gt_measured_below(const struct gt_xml_elem *elem, const char *bus_a,
			     const char *bus_b, int *beside)
{
	const char *bus_id = gt_xml_attr(elem, "busid");
	int n = bus_id && (!strcmp(bus_id, bus_a) || !strcmp(bus_id, bus_b));

	for (const struct gt_xml_elem *sub = gt_xml_child(elem); sub;
	     sub = gt_xml_next(sub))
		n += gt_measured_below(sub, bus_a, bus_b, beside);
	if (n == 2 && gt_xml_is(elem, "pci"))
		*beside = 1;
	return n;
}

int gt_measured_share_switch(const struct gt_xml *xml, const char *bus_a,
			     const char *bus_b)
{
	int beside = 0;

	gt_measured_below(gt_xml_root(xml), bus_a, bus_b, &beside);
	return beside;
}
