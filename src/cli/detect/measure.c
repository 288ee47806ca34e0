/*
 * Runs the measurements of `gtopo detect --measure` and writes them into the
 * topology.
 */
#include "cli/detect/measure.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/xml.h"
#include "cli/common/command.h"
#include "measure/measure.h"
#include "measure/memory.h"
#include "topo/xml/measured.h"

/* A link that keeps less than this part of its rate alone is shared. */
#define GT_RING_SHARED 0.75

struct gt_measure_talk {
	const struct gt_cmd_args *args;
	const struct gt_xml *xml;
	const struct gt_measured *known, *measured;
};

int gt_detect_can_measure(const char *root, struct gt_err *err)
{
	if (root)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--measure measures this machine, not that "
				  "of --root");
	if (!gt_mover_ops_get())
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--measure needs a gtopo that was built with "
				  "CUDA");
	return GT_OK;
}

static void measure_log_hidden(const struct gt_measure_talk *talk)
{
	for (uint32_t i = 0; i < talk->known->ngpus; i++) {
		const char *bus_id = talk->known->gpus[i].bus_id;

		if (gt_measured_find(talk->measured, bus_id) == UINT32_MAX)
			gt_cmd_warn(talk->args,
				    "GPU '%s' is not measured: CUDA does not "
				    "show it",
				    bus_id);
	}
}

static int measure_log_shared(const struct gt_measure_talk *talk, uint32_t a,
			      uint32_t b)
{
	const struct gt_measured *all = talk->measured;

	return gt_measured_peer(all, a, b)->host_gbs > 0 &&
	       !gt_measured_share_switch(talk->xml, all->gpus[a].bus_id,
					 all->gpus[b].bus_id);
}

/* The first of those that share tells it: sharing is all with all. */
static void measure_log_host(const struct gt_measure_talk *talk, uint32_t gpu)
{
	const struct gt_measured *all = talk->measured;
	struct gt_buf others = GT_BUF_INIT;
	double together = 0;

	for (uint32_t i = 0; i < all->ngpus; i++) {
		if (i == gpu || !measure_log_shared(talk, gpu, i))
			continue;
		if (i < gpu) {
			gt_buf_release(&others);
			return;
		}
		if (!others.len)
			together = gt_measured_peer(all, gpu, i)->host_gbs;
		gt_buf_printf(&others, " '%s'", all->gpus[i].bus_id);
	}
	if (others.len && !others.failed)
		gt_cmd_warn(talk->args,
			    "GPU '%s' shares a link to the host, which the "
			    "machine does not show, with%s: %.1f GB/s alone, "
			    "%.1f for two together",
			    all->gpus[gpu].bus_id, others.text,
			    all->gpus[gpu].to_gbs, together);
	gt_buf_release(&others);
}

static void measure_log_ring(const struct gt_measure_talk *talk, uint32_t from,
			     uint32_t to)
{
	const struct gt_measured *all = talk->measured;
	const struct gt_measured_peer *peer = gt_measured_peer(all, from, to);

	if (peer->ring_gbs > 0 && peer->ring_gbs < GT_RING_SHARED * peer->gbs)
		gt_cmd_warn(talk->args,
			    "from GPU '%s' to '%s' go %.1f GB/s alone, %.1f "
			    "while all GPUs send: they share links",
			    all->gpus[from].bus_id, all->gpus[to].bus_id,
			    peer->gbs, peer->ring_gbs);
}

static void measure_log(const struct gt_measure_talk *talk)
{
	uint32_t n = talk->measured->ngpus;

	measure_log_hidden(talk);
	for (uint32_t i = 0; i < n; i++) {
		measure_log_host(talk, i);
		measure_log_ring(talk, i, (i + 1) % n);
	}
}

static int gt_detect_measure_in(const struct gt_cmd_args *args,
				struct gt_arena *arena, struct gt_xml *xml,
				struct gt_measured *measured,
				struct gt_err *err)
{
	struct gt_measured known;
	struct gt_measure_talk talk = {args, xml, &known, measured};
	int64_t begin = gt_clock_ns();
	int rc = gt_measured_read(xml, arena, &known, err);

	if (!rc)
		rc = gt_measure_run(gt_mover_ops_get(), &known, arena, measured,
				    err);
	if (rc)
		return rc;
	gt_cmd_note(args, "%u GPU%s measured in %.1f s", measured->ngpus,
		    gt_plural(measured->ngpus),
		    (double)(gt_clock_ns() - begin) / 1e9);
	measure_log(&talk);
	return GT_OK;
}

int gt_detect_measure(const struct gt_cmd_args *args, struct gt_buf *xml,
		      struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_measured measured;
	struct gt_xml *read;
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	rc = gt_xml_parse("this machine", xml->text, xml->len, &read, err);
	if (!rc) {
		rc = gt_detect_measure_in(args, arena, read, &measured, err);
		gt_xml_free(read);
	}
	if (!rc)
		rc = gt_measured_write(&measured, xml, err);
	if (!rc)
		rc = gt_measured_write_memory(gt_measure_memory, xml, err);
	gt_arena_free(arena);
	return rc;
}
