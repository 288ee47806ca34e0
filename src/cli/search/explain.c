/* Prints what the what-if analysis found. */
#include "cli/search/tell.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/text.h"
#include "cli/common/proof_text.h"
#include "plan/ir/plan.h"
#include "search/whatif/whatif.h"

/* ---- the proof of a plan on one machine -------------------------------- */

/* Print one side of a cut, and the links that everything has to cross. */
static void print_part(const struct gt_plan *plan,
		       const struct gt_plan_part *part, struct gt_buf *out)
{
	double gbs = 0;

	gt_buf_puts(out, part->nranks == 1 ? "  rank" : "  ranks");
	for (uint32_t i = 0; i < part->nranks; i++)
		gt_buf_printf(out, " %" PRIu32, part->ranks[i]);
	for (uint32_t i = 0; i < part->nlinks; i++)
		gbs += gt_rat_double(plan->links[part->links[i]].gbs);
	gt_buf_printf(out, " | the rest: %" PRIu32 " link%s of %g GB/s\n",
		      part->nlinks, part->nlinks == 1 ? "" : "s together", gbs);
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

static void print_prices(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;
	double bound = gt_rat_double(proof->bound);

	if (proof->nprices && gt_coll_only_moves(plan->coll))
		gt_buf_printf(out,
			      "  with prices on %" PRIu32 " of the links the "
			      "pairs' cheapest ways cost 1 a byte together,\n"
			      "  and all capacity together is worth %g\n",
			      proof->nprices, bound);
	else if (proof->nprices)
		gt_buf_printf(out,
			      "  with prices on %" PRIu32
			      " of the links%s none of the %s costs less than "
			      "1 a byte,\n  and all capacity together is worth "
			      "%g\n",
			      proof->nprices,
			      proof->max_channels ? " and on channels" : "",
			      proof->class_ == GT_PROOF_ANY
				      ? "schedules"
				      : gt_proof_text_found(plan),
			      bound);
}

/* Print the certificates, in the words of gtopo-plan(5). */
static void print_plan_proof(const struct gt_plan *plan, struct gt_buf *out)
{
	const struct gt_plan_proof *proof = &plan->proof;
	uint32_t nchannels = gt_plan_main_row(plan)->nchannels;
	char subject[GT_PROOF_SUBJECT_MAX];
	const struct gt_proof_text text = {gt_proof_text_subject(plan, subject),
					   "GB/s", gt_rat_double(proof->value),
					   gt_rat_double(proof->bound),
					   proof->optimal};

	gt_buf_printf(out,
		      "%s of %" PRIu32 " GPUs: %g GB/s%s in %" PRIu32
		      " channel%s\n",
		      gt_coll_name(plan->coll), plan->nranks, text.value,
		      gt_coll_only_moves(plan->coll) ? " a pair" : "",
		      nchannels, gt_plural(nchannels));
	gt_proof_text_proved(&text, out);
	gt_buf_puts(out, "\n");
	print_equal(proof, out);
	print_prices(plan, out);
	if (!proof->nparts)
		return;
	if (proof->has_any_bound)
		gt_buf_printf(out,
			      "no schedule at all reaches more than %g GB/s, ",
			      gt_rat_double(proof->any_bound));
	gt_buf_puts(out, "since everything has to cross:\n");
	for (uint32_t i = 0; i < proof->nparts; i++)
		print_part(plan, &proof->parts[i], out);
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

static void print_cluster_proof(const struct gt_whatif *whatif,
				const char *unit, struct gt_buf *out)
{
	const struct gt_whatif_cluster *cluster = whatif->cluster;
	const struct gt_proof_text text = {"schedule reaches", unit,
					   cluster->value, cluster->bound,
					   cluster->optimal};

	gt_buf_printf(out,
		      "%s of %" PRIu32 " nodes of %" PRIu32 " GPUs: %g %s\n",
		      gt_coll_name(whatif->coll), cluster->nnodes,
		      cluster->ngpus, cluster->value, unit);
	if (!cluster->has_bound)
		return;
	gt_proof_text_proved(&text, out);
	gt_buf_puts(out, "\n");
	if (cluster->nparts)
		print_parts(cluster, out);
	else if (!gt_coll_only_moves(whatif->coll))
		print_cut(whatif, out);
	print_unused(cluster, out);
}

/* ---- what is full, and what would raise it ----------------------------- */

static void print_full_on_machine(const struct gt_whatif *whatif,
				  struct gt_buf *out)
{
	gt_buf_printf(out, "\n%s full:\n",
		      whatif->nfull == 1 ? "this link is" : "these links are");
	for (uint32_t i = 0; i < whatif->nfull; i++)
		gt_buf_printf(out, "  %s, %g GB/s each way\n",
			      whatif->full[i].name,
			      gt_rat_double(whatif->full[i].gbs));
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

static void print_changes(const struct gt_whatif *whatif, const char *unit,
			  struct gt_buf *out)
{
	gt_buf_printf(out, "\nwhat would raise it, %s again:\n",
		      whatif->cluster ? "solved" : "searched");
	for (uint32_t i = 0; i < whatif->nchanges; i++)
		gt_buf_printf(out, "  %s: %.3gx, %g %s\n",
			      whatif->changes[i].name, whatif->changes[i].gain,
			      whatif->changes[i].gain * whatif->value, unit);
	if (!whatif->nchanges)
		gt_buf_puts(out,
			    whatif->cluster
				    ? "  nothing of one sort alone\n"
				    : "  no second link at one place alone\n");
	if (whatif->all_gain > 0)
		gt_buf_printf(out,
			      "  a second link beside each of them: %.3gx, %g "
			      "%s\n",
			      whatif->all_gain,
			      whatif->all_gain * whatif->value, unit);
}

void gt_explain_print(const struct gt_plan *plan,
		      const struct gt_whatif *whatif, struct gt_buf *out)
{
	const char *unit = whatif->cluster && gt_coll_only_moves(whatif->coll)
				   ? "GB/s a pair"
				   : "GB/s";

	if (whatif->cluster) {
		print_cluster_proof(whatif, unit, out);
		print_full_in_nodes(whatif, out);
		print_changes(whatif, unit, out);
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
	print_changes(whatif, unit, out);
}
