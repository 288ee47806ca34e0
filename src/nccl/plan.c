/*
 * The plan of a team: the user's, or one that is searched for the machine
 * (plan_search.h).  A ring in rank order is what is left: right everywhere and
 * known to be good nowhere.  GPUs that all reach each other use neither
 * (GTOPO_BEST).
 */
#include "nccl/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "nccl/plan_search.h"
#include "nccl/say.h"
#include "nccl/team.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

static const char *gt_ring_comma(uint32_t i)
{
	return i ? ", " : "";
}

/* A node's number is the first rank's on the host. */
static uint32_t gt_ring_node(const struct gt_team *team, uint32_t rank)
{
	uint32_t r = 0;

	while (strcmp(team->members[r].host, team->members[rank].host) != 0)
		r++;
	return r;
}

static void gt_ring_print_ranks(const struct gt_team *team, struct gt_buf *text)
{
	for (uint32_t r = 0; r < team->size; r++) {
		const struct gt_team_member *member = &team->members[r];

		gt_buf_printf(text, "%s{\"rank\": %u, \"node\": \"n%u\", ",
			      gt_ring_comma(r), r, gt_ring_node(team, r));
		if (*member->bus_id)
			gt_buf_printf(text, "\"device\": \"%s\"}",
				      member->bus_id);
		else
			gt_buf_printf(text, "\"device\": \"rank-%u\"}", r);
	}
}

/* Must sums be in the order of ranks?  Then everybody sends to everybody. */
static int gt_team_wants_order(void)
{
	const char *word = getenv("GTOPO_INVARIANT");

	return word && *word && strcmp(word, "0") != 0;
}

/* The links, one out of each rank, and what goes over them. */
static void gt_ring_print_links(uint32_t n, struct gt_buf *text)
{
	gt_buf_puts(text, "\"links\": [");
	for (uint32_t r = 0; r < n; r++)
		gt_buf_printf(text,
			      "%s{\"id\": \"%u>\", \"kind\": \"SYS\", "
			      "\"gbs\": \"1\"}",
			      gt_ring_comma(r), r);
	gt_buf_puts(text, "], ");
}

/* A hop from each rank to the next one, or to every other. */
static void gt_ring_print_hops(uint32_t n, int mesh, struct gt_buf *text)
{
	uint32_t each = n < 2 ? 0 : mesh ? n - 1 : 1;

	gt_buf_puts(text, "\"hops\": [");
	for (uint32_t i = 0; i < n * each; i++)
		gt_buf_printf(text,
			      "%s{\"from\": %u, \"to\": %u, \"transport\": "
			      "\"peer\", \"route\": [\"%u>\"]}",
			      gt_ring_comma(i), i / each,
			      (i / each + 1 + i % each) % n, i / each);
	gt_buf_puts(text, "]");
}

/*
 * A ring over the ranks in their order, or an invariant mesh; its rates mean
 * nothing.
 */
static void gt_ring_print(const struct gt_team *team, struct gt_buf *text)
{
	uint32_t n = team->size;
	int mesh = gt_team_wants_order();

	gt_buf_puts(text, "{\"schema\": \"gtopo.plan/1\", "
			  "\"collective\": \"allreduce\", ");
	if (mesh)
		gt_buf_puts(text, "\"invariant\": true, ");
	gt_buf_puts(text, "\"ranks\": [");
	gt_ring_print_ranks(team, text);
	gt_buf_puts(text, "], ");
	gt_ring_print_links(n, text);
	gt_buf_puts(text, "\"fifo\": {\"slots\": 4, "
			  "\"slice_bytes\": 131072}, \"channels\": [{\"id\": "
			  "0, ");
	if (mesh) {
		gt_buf_printf(text,
			      "\"shape\": \"mesh\", \"share\": \"1\", "
			      "\"gbs\": \"1/%u\", ",
			      n > 1 ? n - 1 : 1);
	} else {
		gt_buf_puts(text, "\"shape\": \"ring\", \"order\": [");
		for (uint32_t r = 0; r < n; r++)
			gt_buf_printf(text, "%s%u", gt_ring_comma(r), r);
		gt_buf_puts(text, "], \"share\": \"1\", \"gbs\": \"1\", ");
	}
	gt_ring_print_hops(n, mesh, text);
	gt_buf_printf(text,
		      "}], \"select\": [{\"max_bytes\": null, \"algo\": "
		      "\"%s\", \"protocol\": \"simple\", \"channels\": "
		      "[0], \"workers\": 1}]}\n",
		      mesh ? "one-shot" : "ring");
}

/* A plan that is searched for the team's GPUs, or a ring. */
static int gt_team_search(const struct gt_team *team, int on_host,
			  struct gt_buf *text, struct gt_err *err)
{
	struct gt_err why;

	gt_err_init(&why);
	if (gt_plan_search(team, on_host, gt_team_wants_order(), text, &why)) {
		gt_say_log(GT_SAY_INFO, "the plan is a %s of %u ranks: %s",
			   gt_team_wants_order() ? "mesh" : "ring", team->size,
			   why.text);
		gt_buf_release(text);
		*text = (struct gt_buf)GT_BUF_INIT;
		gt_ring_print(team, text);
	}
	return text->failed ? gt_err_nomem(err) : GT_OK;
}

/* Rank 0: the text of the plan. */
static int gt_team_choose(const struct gt_team *team, int on_host,
			  struct gt_buf *text, struct gt_err *err)
{
	const char *path = getenv("GTOPO_PLAN");
	struct gt_plan *plan;
	int rc;

	if (!path || !*path)
		return gt_team_search(team, on_host, text, err);
	rc = gt_plan_read(path, &plan, err);
	if (rc)
		return rc;
	if (plan->nranks != team->size)
		rc = gt_err_set(err, GT_EINPUT, path,
				"the plan has %u ranks, the communicator %u",
				plan->nranks, team->size);
	else if (gt_team_wants_order() && !plan->invariant)
		rc = gt_err_set(err, GT_EINPUT, path,
				"GTOPO_INVARIANT is set, and the plan is not "
				"invariant; 'gtopo search --invariant' makes "
				"one that is");
	if (!rc)
		rc = gt_plan_print(plan, text, err);
	gt_plan_free(plan);
	return rc;
}

int gt_team_plan(struct gt_team *team, int on_host, struct gt_plan **plan,
		 struct gt_err *err)
{
	struct gt_world_part *parts = calloc(team->size, sizeof(*parts));
	struct gt_buf text = GT_BUF_INIT;
	int rc = parts ? GT_OK : gt_err_nomem(err);

	if (!rc && !team->rank)
		rc = gt_team_choose(team, on_host, &text, err);
	if (parts)
		parts[0] = (struct gt_world_part){text.text, text.len};
	if (!rc && team->world)
		rc = gt_world_allgather(team->world, text.text, text.len, parts,
					err);
	if (!rc)
		rc = gt_plan_parse("the communicator's plan", parts[0].bytes,
				   parts[0].len, plan, err);
	gt_buf_release(&text);
	free(parts);
	return rc;
}
