/* Words, variables, an option and JSON for the GPUs that were picked. */
#include "cli/pick/print.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "search/pick/pick.h"
#include "topo/view/print.h"
#include "topo/view/show_text.h"

/* ---- for people --------------------------------------------------------- */

static void print_worth(const struct gt_pick *pick, struct gt_buf *out)
{
	if (pick->n < 2)
		return;
	gt_buf_printf(out,
		      "proved    no all-reduce over them exceeds %g GB/s "
		      "busbw\n",
		      gt_rat_double(pick->gbs));
	if (gt_rat_cmp(pick->first_gbs, pick->gbs) < 0)
		gt_buf_printf(out,
			      "by number the first %u reach at most %g GB/s\n",
			      pick->n, gt_rat_double(pick->first_gbs));
}

static void print_gpu(const struct gt_topo *topo, const struct gt_pick_gpu *gpu,
		      struct gt_buf *out)
{
	const struct gt_node *node = gt_topo_node(topo, gpu->node);
	char label[32];

	gt_show_label(node, label, sizeof(label));
	gt_buf_printf(out, "%-7s %-14s ", label,
		      node->bus_id ? node->bus_id : "-");
	if (gpu->numa == GT_NONE)
		gt_buf_printf(out, "%-5s", "-");
	else
		gt_buf_printf(out, "%-5d", gt_topo_node(topo, gpu->numa)->dev);
	for (uint32_t i = 0; i < gpu->nports; i++) {
		gt_show_label(gt_topo_node(topo, gpu->ports[i]), label,
			      sizeof(label));
		gt_buf_printf(out, " %s", label);
	}
	if (!gpu->nports)
		gt_buf_puts(out, " -");
	gt_buf_puts(out, "\n");
}

void gt_pick_print(const struct gt_topo *topo, const struct gt_pick *pick,
		   struct gt_buf *out)
{
	gt_buf_printf(out, "%u GPU%s, the best of %" PRIu64 " choice%s\n",
		      pick->n, gt_plural(pick->n), pick->nchoices,
		      gt_plural(pick->nchoices));
	print_worth(pick, out);
	if (pick->net_gbs.num)
		gt_buf_printf(out, "network   %g GB/s to the nearest ports\n",
			      gt_rat_double(pick->net_gbs));
	gt_buf_printf(out, "\n%-7s %-14s %-5s %s\n", "GPU", "bus id", "NUMA",
		      "nearest ports");
	for (uint32_t i = 0; i < pick->n; i++)
		print_gpu(topo, &pick->gpus[i], out);
}

/* ---- for those who start jobs ------------------------------------------- */

/* Print the numbers that the driver's library gives the GPUs: "0,3". */
static void print_numbers(const struct gt_topo *topo,
			  const struct gt_pick *pick, struct gt_buf *out)
{
	for (uint32_t i = 0; i < pick->n; i++)
		gt_buf_printf(out, "%s%d", i ? "," : "",
			      gt_topo_node(topo, pick->gpus[i].node)->dev);
}

void gt_pick_print_cuda(const struct gt_topo *topo, const struct gt_pick *pick,
			struct gt_buf *out)
{
	/* Else CUDA numbers the fastest GPU first. */
	gt_buf_puts(out, "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=");
	print_numbers(topo, pick, out);
	gt_buf_puts(out, "\n");
}

void gt_pick_print_slurm(const struct gt_topo *topo, const struct gt_pick *pick,
			 struct gt_buf *out)
{
	gt_buf_puts(out, "--gpu-bind=map_gpu:");
	print_numbers(topo, pick, out);
	gt_buf_puts(out, "\n");
}

/* ---- for programs ------------------------------------------------------- */

static void put_rate(struct gt_json_writer *json, const char *exact,
		     const char *rounded, struct gt_rat gbs)
{
	char text[GT_RAT_TEXT_MAX];

	gt_json_put_text(json, exact, gt_rat_print(gbs, text));
	gt_json_put_double(json, rounded, "%.6g", gt_rat_double(gbs));
}

static void put_port(const struct gt_node *port, struct gt_json_writer *json)
{
	gt_json_open_object(json, NULL, GT_JSON_FLAT);
	gt_json_put_text(json, "id", port->id);
	if (port->name)
		gt_json_put_text(json, "name", port->name);
	if (port->port)
		gt_json_put_int(json, "port", port->port);
	gt_json_end(json);
}

static void put_gpu(const struct gt_topo *topo, const struct gt_pick_gpu *gpu,
		    struct gt_json_writer *json)
{
	const struct gt_node *node = gt_topo_node(topo, gpu->node);

	gt_json_open_object(json, NULL, GT_JSON_LINES);
	gt_json_put_text(json, "id", node->id);
	gt_json_put_int(json, "dev", node->dev);
	if (node->bus_id)
		gt_json_put_text(json, "bus_id", node->bus_id);
	if (gpu->numa != GT_NONE)
		gt_json_put_int(json, "numa",
				gt_topo_node(topo, gpu->numa)->dev);
	gt_json_open_array(json, "ports", GT_JSON_LINES);
	for (uint32_t i = 0; i < gpu->nports; i++)
		put_port(gt_topo_node(topo, gpu->ports[i]), json);
	gt_json_end(json);
	gt_json_end(json);
}

void gt_pick_print_json(const struct gt_topo *topo, enum gt_rates rates,
			const struct gt_pick *pick, struct gt_buf *out)
{
	struct gt_json_writer json;

	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_LINES);
	gt_json_put_text(&json, "schema", "gtopo.pick/1");
	gt_json_put_text(&json, "source", gt_topo_source(topo));
	gt_json_put_text(&json, "digest", gt_topo_digest(topo));
	gt_json_put_text(&json, "rates", gt_rates_name(rates));
	gt_json_put_int(&json, "choices", (int64_t)pick->nchoices);
	put_rate(&json, "gbs", "bw_gbs", pick->gbs);
	put_rate(&json, "first_gbs", "first_bw_gbs", pick->first_gbs);
	put_rate(&json, "net_gbs", "net_bw_gbs", pick->net_gbs);
	gt_json_open_array(&json, "gpus", GT_JSON_LINES);
	for (uint32_t i = 0; i < pick->n; i++)
		put_gpu(topo, &pick->gpus[i], &json);
	gt_json_end(&json);
	gt_json_end(&json);
	gt_buf_puts(out, "\n");
}
