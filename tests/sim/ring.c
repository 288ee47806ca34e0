/* A plan for simulated jobs (ring.h). */
#include "ring.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/json/json.h"

struct gt_plan *sim_ring_new(uint32_t n)
{
	struct gt_buf text = GT_BUF_INIT;
	struct gt_plan *plan;
	const char *comma;
	struct gt_err err;

	gt_err_init(&err);
	gt_buf_puts(&text, "{\"schema\": \"gtopo.plan/1\", \"collective\": "
			   "\"allreduce\", \"ranks\": [");
	for (uint32_t r = 0; r < n; r++)
		gt_buf_printf(&text, "%s{\"rank\": %u, \"device\": \"%u\"}",
			      r ? "," : "", r, r);
	gt_buf_puts(&text, "], \"links\": [");
	for (uint32_t r = 0; r < n; r++)
		gt_buf_printf(&text,
			      "%s{\"id\": \"%u>\", \"kind\": \"SYS\", "
			      "\"gbs\": \"1\"}",
			      r ? "," : "", r);
	gt_buf_puts(&text, "], \"fifo\": {\"slots\": 4, \"slice_bytes\": "
			   "131072}, \"channels\": [{\"id\": 0, \"shape\": "
			   "\"ring\", \"order\": [");
	for (uint32_t r = 0; r < n; r++)
		gt_buf_printf(&text, "%s%u", r ? "," : "", r);
	gt_buf_puts(&text, "], \"share\": \"1\", \"gbs\": \"1\", \"hops\": [");
	for (uint32_t r = 0; r < n; r++) {
		comma = r ? "," : "";
		gt_buf_printf(&text,
			      "%s{\"from\": %u, \"to\": %u, \"transport\": "
			      "\"peer\", \"route\": [\"%u>\"]}",
			      comma, r, (r + 1) % n, r);
	}
	gt_buf_puts(&text, "]}], \"select\": [{\"max_bytes\": null, \"algo\": "
			   "\"ring\", \"protocol\": \"simple\", "
			   "\"channels\": [0], \"workers\": 1}]}\n");
	if (gt_plan_parse("ring", text.text, text.len, &plan, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(2);
	}
	gt_buf_release(&text);
	return plan;
}

const struct gt_plan *sim_ring(uint32_t n)
{
	static struct gt_plan *plans[SIM_RING_RANKS + 1];

	if (!plans[n])
		plans[n] = sim_ring_new(n);
	return plans[n];
}
