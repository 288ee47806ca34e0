/* Prints what the what-if analysis found. */
#include "cli/search/tell.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/common/proof_text.h"
#include "plan/cost/switch.h"
#include "plan/ir/plan.h"
#include "search/whatif/whatif.h"

/* Name the nodes that are not like the others, a line each. */
static void print_unlike(const struct gt_whatif *whatif, struct gt_buf *out)
{
	const char *rest = whatif->unlike;

	if (whatif->homogenized)
		gt_buf_puts(out, "nodes or switches are not all alike; this "
				 "is about what all of them have\n");
	else if (rest)
		gt_buf_puts(out, "nodes are not all alike\n");
	for (int n; rest; rest = rest[n] ? rest + n + 1 : NULL) {
		n = (int)strcspn(rest, "\n");
		gt_buf_printf(out, "  %.*s\n", n, rest);
	}
	if (whatif->unlike || whatif->homogenized)
		gt_buf_puts(out, "\n");
}

/* ---- the proof of a plan on one machine -------------------------------- */

static double part_gbs(const struct gt_plan *plan,
		       const struct gt_plan_part *part)
{
	double gbs = 0;

	for (uint32_t i = 0; i < part->nlinks; i++)
		gbs += gt_rat_double(plan->links[part->links[i]].gbs);
	return gbs;
}

/* Print the ranks on one side of a cut, and the links on its way out. */
static void print_part(const struct gt_plan *plan,
		       const struct gt_plan_part *part, struct gt_buf *out)
{
	gt_buf_puts(out, part->nranks == 1 ? "  rank" : "  ranks");
	for (uint32_t i = 0; i < part->nranks; i++)
		gt_buf_printf(out, " %" PRIu32, part->ranks[i]);
	gt_buf_printf(out, " | the rest: %" PRIu32 " link%s of %g GB/s\n",
		      part->nlinks, part->nlinks == 1 ? "" : "s together",
		      part_gbs(plan, part));
}

static int is_alike(const struct gt_plan *plan, const struct gt_plan_part *a,
		    const struct gt_plan_part *b)
{
	return a->nranks == 1 && b->nranks == 1 && a->nlinks == b->nlinks &&
	       part_gbs(plan, a) == part_gbs(plan, b);
}

/* Nodes of a cluster that are cut off alike share a line, unless they are few.
 */
enum { FEW_PARTS = 4 };

static uint32_t count_alike(const struct gt_plan *plan, uint32_t i)
{
	const struct gt_plan_part *parts = plan->proof.parts;
	uint32_t n = 1;

	while (i + n < plan->proof.nparts &&
	       parts[i].nranks == parts[i + n].nranks &&
	       parts[i].nlinks == parts[i + n].nlinks &&
	       part_gbs(plan, &parts[i]) == part_gbs(plan, &parts[i + n]))
		n++;
	return n;
}

static void print_nodes(const struct gt_plan *plan, uint32_t i, uint32_t n,
			struct gt_buf *out)
{
	const struct gt_plan_part *part = &plan->proof.parts[i];

	gt_buf_printf(out,
		      "  each of %" PRIu32 " sets of %" PRIu32
		      " ranks, the first from rank %" PRIu32
		      " on | the rest: %" PRIu32 " link%s of %g GB/s\n",
		      n, part->nranks, part->ranks[0], part->nlinks,
		      part->nlinks == 1 ? "" : "s together",
		      part_gbs(plan, part));
}

/* Parts of one rank each that are alike share a line. */
static void print_machine_parts(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;

	for (uint32_t i = 0, next; i < proof->nparts; i = next) {
		const struct gt_plan_part *part = &proof->parts[i];

		next = i + count_alike(plan, i);
		if (part->nranks > 1 && next - i > FEW_PARTS) {
			print_nodes(plan, i, next - i, out);
			continue;
		}
		for (next = i + 1; next < proof->nparts &&
				   is_alike(plan, part, &proof->parts[next]);)
			next++;
		if (next == i + 1) {
			print_part(plan, part, out);
			continue;
		}
		gt_buf_puts(out, "  each of ranks");
		for (uint32_t k = i; k < next; k++)
			gt_buf_printf(out, " %" PRIu32,
				      proof->parts[k].ranks[0]);
		gt_buf_printf(
			out, " | the rest: %" PRIu32 " link%s of %g GB/s\n",
			part->nlinks, part->nlinks == 1 ? "" : "s together",
			part_gbs(plan, part));
	}
}

/* Say which other numbers of rings of one share the prices exclude, too. */
static void print_equal(const struct gt_plan_proof *proof, struct gt_buf *out)
{
	if (!proof->nequal)
		return;
	gt_buf_printf(out,
		      "  that is of unequal ones; prices show of %" PRIu32
		      " equal ones or fewer that none reach more",
		      proof->nequal);
	gt_proof_text_open(proof, out);
	gt_buf_puts(out, "\n");
}

/*
 * Prices in plain words: weights under which what is crossed adds up to 1 at
 * least, while all that can be crossed adds up to the bound.
 */
static void print_prices(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;
	const char *what = "every schedule has to cross";

	if (!proof->nprices)
		return;
	if (gt_coll_only_moves(plan->coll))
		what = "the shortest ways of all pairs cross";
	else if (proof->class_ == GT_PROOF_RING)
		what = "every ring has to cross";
	else if (proof->class_ == GT_PROOF_TREE)
		what = "every tree has to cross";
	if (proof->nprices == 1 && !proof->max_channels)
		gt_buf_printf(out, "  since %s %s, which is full then\n", what,
			      plan->links[proof->prices[0].link].id);
	else
		gt_buf_printf(out,
			      "  since %s %" PRIu32 " link%s%s,\n  which, "
			      "weighted by the plan's prices, are full then\n",
			      what, proof->nprices, gt_plural(proof->nprices),
			      proof->max_channels
				      ? " and takes one of the channels"
				      : "");
}

/* Print the certificates, in the words of gtopo-plan(5). */
static void print_plan_proof(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;
	uint32_t nchannels = gt_plan_main_row(plan)->nchannels;
	char subject[GT_PROOF_SUBJECT_MAX], rate[GT_PROOF_RATE_MAX];
	const struct gt_proof_text text = {gt_proof_text_subject(plan, subject),
					   gt_plan_busbw(plan, proof->value),
					   gt_plan_busbw(plan, proof->bound),
					   proof->optimal};

	gt_buf_printf(out,
		      "%s of %" PRIu32 " GPU%s: %s in %" PRIu32 " channel%s\n",
		      gt_coll_name(plan->coll), plan->nranks,
		      gt_plural(plan->nranks), gt_proof_text_value(plan, rate),
		      nchannels, gt_plural(nchannels));
	gt_proof_text_proved(&text, out);
	gt_buf_puts(out, "\n");
	print_equal(proof, out);
	print_prices(plan, out);
	if (!proof->nparts)
		return;
	if (proof->has_any_bound) {
		gt_proof_text_any(plan, out);
		gt_buf_puts(out, ",\n");
	}
	gt_buf_printf(out, "  since over these %s everything has to cross:\n",
		      proof->nroutes ? "routes" : "links");
	print_machine_parts(plan, out);
}

/* ---- the proof of a cluster's templates -------------------------------- */

static void print_cut(const struct gt_whatif *whatif, struct gt_buf *out)
{
	const struct gt_whatif_cluster *cluster = whatif->cluster;

	if (cluster->beyond) {
		gt_buf_puts(out, "  what is below a switch has to exchange the "
				 "blocks of all others with them\n");
		return;
	}
	if (cluster->inside == cluster->ngpus)
		gt_buf_puts(out, "  each node");
	else if (cluster->inside == 1)
		gt_buf_puts(out, "  each GPU");
	else
		gt_buf_printf(out, "  %" PRIu32 " GPUs of each node",
			      cluster->inside);
	gt_buf_printf(out,
		      " has to %s the blocks of the other %" PRIu64
		      " GPUs over %g GB/s\n",
		      whatif->coll == GT_COLL_REDUCESCATTER ? "send" : "get",
		      cluster->rest, cluster->cut_gbs);
}

static void print_parts(const struct gt_whatif_cluster *cluster,
			struct gt_buf *out)
{
	static const char *const words[] = {
		[GT_WHATIF_PART_GPU] = "a GPU",
		[GT_WHATIF_PART_NODE] = "a node",
		[GT_WHATIF_PART_SWITCH] = "all below a switch",
	};

	gt_buf_printf(out,
		      "  in %" PRIu64
		      " parts, each %s, an element takes %" PRIu64
		      " messages between them; a part has %g GB/s\n",
		      cluster->nparts, words[cluster->part],
		      2 * (cluster->nparts - 1), cluster->part_gbs);
}

static void print_unused(const struct gt_whatif_cluster *cluster,
			 struct gt_buf *out)
{
	for (uint32_t i = 0; i < cluster->nunused; i++)
		gt_buf_printf(out, "%s %s", i ? "," : "  without links",
			      cluster->unused[i]);
	if (cluster->nunused)
		gt_buf_puts(out, ", which no route between GPUs takes\n");
}

static void print_cluster_proof(const struct gt_whatif *whatif, double factor,
				struct gt_buf *out)
{
	const struct gt_whatif_cluster *cluster = whatif->cluster;
	int routed = cluster->nunused || gt_coll_only_moves(whatif->coll);
	const char *routes = routed ? " over its routes" : "";
	char subject[GT_PROOF_SUBJECT_MAX], rate[GT_PROOF_RATE_MAX];
	const struct gt_proof_text text = {subject, cluster->value * factor,
					   cluster->bound * factor,
					   cluster->optimal};

	gt_buf_printf(out,
		      "%s of %" PRIu32 " node%s of %" PRIu32 " GPU%s: %s\n",
		      gt_coll_name(whatif->coll), cluster->nnodes,
		      gt_plural(cluster->nnodes), cluster->ngpus,
		      gt_plural(cluster->ngpus),
		      gt_proof_text_rate(text.value, cluster->value, rate));
	if (!cluster->has_bound)
		return;
	snprintf(subject, sizeof(subject), "schedule%s%s reaches", routes,
		 whatif->homogenized ? " with what all nodes have" : "");
	gt_proof_text_proved(&text, out);
	gt_buf_puts(out, "\n");
	if (cluster->nparts)
		print_parts(cluster, out);
	else if (!gt_coll_only_moves(whatif->coll))
		print_cut(whatif, out);
	print_unused(cluster, out);
}

/* ---- what is full, and what would raise it ----------------------------- */

/* Add names with commas between, in lines of up to so many columns. */
enum { EXPLAIN_COLUMNS = 78 };

static uint32_t count_columns(const char *text)
{
	uint32_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

struct gt_explain_list {
	struct gt_buf *out;
	uint32_t column; /* 0: nothing was added */
};

static void add_name(struct gt_explain_list *list, const char *name)
{
	uint32_t columns = count_columns(name);

	if (list->column && list->column + columns + 2 > EXPLAIN_COLUMNS) {
		gt_buf_puts(list->out, ",\n");
		list->column = 0;
	} else if (list->column) {
		gt_buf_puts(list->out, ", ");
		list->column += 2;
	}
	if (!list->column) {
		gt_buf_puts(list->out, "    ");
		list->column = 4;
	}
	gt_buf_puts(list->out, name);
	list->column += columns;
}

static uint32_t count_of_rate(const struct gt_whatif *whatif, uint32_t from,
			      struct gt_rat gbs)
{
	uint32_t n = 0;

	for (uint32_t i = from; i < whatif->nfull; i++)
		n += !gt_rat_cmp(whatif->full[i].gbs, gbs);
	return n;
}

/* Print the full links that are as wide as the i-th, unless they are before. */
static void print_full_of_rate(const struct gt_whatif *whatif, uint32_t i,
			       struct gt_buf *out)
{
	struct gt_rat gbs = whatif->full[i].gbs;
	struct gt_explain_list list = {out, 0};
	uint32_t n = count_of_rate(whatif, i, gbs);

	if (n < count_of_rate(whatif, 0, gbs))
		return;
	if (n == 1) {
		gt_buf_printf(out, "  %s, %g GB/s each way\n",
			      whatif->full[i].name, gt_rat_double(gbs));
		return;
	}
	gt_buf_printf(out, "  %" PRIu32 " links, %g GB/s each way:\n", n,
		      gt_rat_double(gbs));
	for (uint32_t k = i; k < whatif->nfull; k++)
		if (!gt_rat_cmp(whatif->full[k].gbs, gbs))
			add_name(&list, whatif->full[k].name);
	gt_buf_puts(out, "\n");
}

static void print_full_on_machine(const struct gt_whatif *whatif,
				  struct gt_buf *out)
{
	gt_buf_printf(out, "\n%s full:\n",
		      whatif->nfull == 1 ? "this link is" : "these links are");
	for (uint32_t i = 0; i < whatif->nfull; i++)
		print_full_of_rate(whatif, i, out);
}

static void print_full_in_nodes(const struct gt_whatif *whatif,
				struct gt_buf *out)
{
	gt_buf_puts(out, "\nfull, in every node:\n");
	for (uint32_t i = 0; i < whatif->nfull; i++) {
		const struct gt_whatif_full *full = &whatif->full[i];

		gt_buf_printf(out, "  %" PRIu32 " link%s %s, %g GB/s", full->n,
			      gt_plural(full->n), full->name,
			      gt_rat_double(full->gbs));
		for (uint32_t k = 0; k < full->nmembers; k++)
			gt_buf_printf(out, "%s%s", k ? ", " : ": ",
				      full->members[k]);
		gt_buf_puts(out, "\n");
	}
	if (!whatif->nfull)
		gt_buf_puts(out, "  nothing\n");
	for (uint32_t l = 0; l < whatif->cluster->nlevels; l++) {
		const struct gt_whatif_level *level =
			&whatif->cluster->levels[l];

		gt_buf_printf(out,
			      "full: uplinks of the switches above %" PRIu32
			      " nodes%s, %g GB/s each way\n",
			      level->nodes,
			      level->by_rail ? ", one a rail" : "",
			      gt_rat_double(level->gbs));
	}
}

/* The end of a run of changes at one link each that bring the same. */
static uint32_t find_run(const struct gt_whatif *whatif, uint32_t i)
{
	const struct gt_whatif_change *changes = whatif->changes;
	char text[2][32];
	uint32_t end = i + 1;

	snprintf(text[0], sizeof(text[0]), "%.3g", changes[i].gain);
	for (; changes[i].link && end < whatif->nchanges; end++) {
		snprintf(text[1], sizeof(text[1]), "%.3g", changes[end].gain);
		if (!changes[end].link || strcmp(text[0], text[1]) != 0)
			break;
	}
	return end;
}

static void print_change(const char *name, double gain, double busbw,
			 struct gt_buf *out)
{
	gt_buf_printf(out, "  %s: %.3gx, %g GB/s busbw\n", name, gain,
		      gain * busbw);
}

/* How many changes bring more, but for what is told in any case. */
static uint32_t count_gains(const struct gt_whatif *whatif)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < whatif->nchanges; i++)
		n += !whatif->changes[i].is_told;
	return n;
}

static void print_changes(const struct gt_whatif *whatif, double busbw,
			  struct gt_buf *out)
{
	char name[64];

	gt_buf_printf(out, "\nwhat would raise it, %s again:\n",
		      whatif->cluster ? "solved" : "searched");
	for (uint32_t i = 0, end; i < whatif->nchanges; i = end) {
		const struct gt_whatif_change *change = &whatif->changes[i];
		struct gt_explain_list list = {out, 0};

		end = find_run(whatif, i);
		if (end == i + 1) {
			print_change(change->name, change->gain, busbw, out);
			continue;
		}
		snprintf(name, sizeof(name),
			 "a second link beside any of these %" PRIu32, end - i);
		print_change(name, change->gain, busbw, out);
		for (uint32_t k = i; k < end; k++)
			add_name(&list, whatif->changes[k].link);
		gt_buf_puts(out, "\n");
	}
	if (!count_gains(whatif))
		gt_buf_puts(out,
			    whatif->cluster
				    ? "  nothing of one sort alone\n"
				    : "  no second link at one place alone\n");
	if (whatif->all_gain > 0)
		print_change("a second link beside each of them",
			     whatif->all_gain, busbw, out);
}

/* Tell what switches that add up would allow, which no plan uses. */
static void print_in_switch(const struct gt_whatif *whatif, double busbw,
			    uint32_t nranks, struct gt_buf *out)
{
	double gbs = gt_rat_double(whatif->in_switch_gbs), n = nranks;

	if (gbs > busbw)
		gt_buf_printf(
			out,
			"  reductions in NVSwitches (NVLS), which NCCL "
			"has and gtopo does not: up to %g GB/s busbw, "
			"some %.0f as NCCL was measured\n",
			gbs,
			gbs * gt_cost_nvls_rate(gbs * (n + 1) / (2 * (n - 1))));
}

void gt_explain_print(const struct gt_plan *plan,
		      const struct gt_whatif *whatif, struct gt_buf *out)
{
	double factor = gt_coll_busbw_factor(plan->coll, plan->nranks);
	double busbw = whatif->value_gbs * factor;

	print_unlike(whatif, out);
	if (whatif->cluster) {
		print_cluster_proof(whatif, factor, out);
		print_full_in_nodes(whatif, out);
		print_changes(whatif, busbw, out);
		print_in_switch(whatif, busbw, plan->nranks, out);
		return;
	}
	if (!plan->has_proof || plan->nranks < 2) {
		gt_buf_puts(out, "nothing moves, nothing limits\n");
		return;
	}
	print_plan_proof(plan, out);
	if (!whatif->nfull)
		return;
	print_full_on_machine(whatif, out);
	if (whatif->nchanges || !whatif->cannot_try)
		print_changes(whatif, busbw, out);
	print_in_switch(whatif, busbw, plan->nranks, out);
}
