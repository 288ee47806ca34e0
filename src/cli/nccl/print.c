/* Prints NCCL's choice for people. */
#include "cli/nccl/print.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/tint.h"
#include "cli/lint/print.h"
#include "search/nccl/answer.h"
#include "search/nccl/remedy.h"
#include "topo/graph/topo.h"
#include "topo/lint/lint.h"
#include "topo/nccl/rules.h"

static void print_head(const struct gt_nccl_told *told, struct gt_buf *out)
{
	const struct gt_nccl_facts *facts = told->answer->facts;

	gt_buf_put_plain(out, told->file);
	gt_buf_printf(out, ": %u GPU%s, ", facts->ngpus,
		      gt_plural(facts->ngpus));
	if (facts->sm)
		gt_buf_printf(out, "sm_%d, ", facts->sm);
	gt_buf_puts(out,
		    "one machine, by the rules of NCCL " GT_NCCL_VERSION "\n");
}

/* Begins a line with a word, and a column for what follows. */
static void print_word(const struct gt_nccl_told *told, const char *word,
		       struct gt_buf *out)
{
	gt_tint_put(out, told->colour, GT_TINT_BOLD, word);
	gt_buf_printf(out, "%*s", (int)(8 - strlen(word)), "");
}

/* Prints the order of one channel, and how many have it. */
static void print_order(const struct gt_nccl_told *told, const uint32_t *order,
			uint32_t n, uint32_t times, struct gt_buf *out)
{
	const struct gt_nccl_system *system = told->answer->system;

	gt_buf_printf(out, "        %2u x ", times);
	for (uint32_t i = 0; i < n; i++)
		gt_buf_printf(out, " %d",
			      gt_topo_node(told->topo,
					   gt_nccl_system_gpu(system, order[i]))
				      ->dev);
	gt_buf_puts(out, "\n");
}

static void print_set(const struct gt_nccl_told *told, const char *word,
		      const struct gt_nccl_set *set, struct gt_buf *out)
{
	uint32_t n = set->ngpus, times;
	const uint32_t *order;

	print_word(told, word, out);
	gt_buf_printf(out, "%u channel%s of %g GB/s, %g together, over %s%s\n",
		      set->nchannels, gt_plural(set->nchannels),
		      (double)set->kbs / 1e6,
		      (double)(set->nchannels * set->kbs) / 1e6,
		      gt_path_kind_name(set->kind),
		      set->pattern == GT_NCCL_TREE ? ", simple trees" : "");
	for (uint32_t i = 0; i < set->nchannels; i += times) {
		order = set->orders + i * n;
		for (times = 1; i + times < set->nchannels; times++)
			if (memcmp(order, order + times * n,
				   n * sizeof(*order)))
				break;
		print_order(told, order, n, times, out);
	}
}

/* What is nearer than this is told as the same. */
static int is_same(double a, double b)
{
	return a > b * (1 - 1e-6) && a < b * (1 + 1e-6);
}

static void print_best(const struct gt_nccl_told *told, struct gt_buf *out)
{
	const struct gt_nccl_answer *answer = told->answer;
	double best = answer->best_gbs;

	print_word(told, "best", out);
	if (answer->gbs > answer->bound_gbs * (1 + 1e-6)) {
		gt_buf_printf(out,
			      "rings of %g GB/s by gtopo's routes, which "
			      "differ from NCCL's\n",
			      best);
		return;
	}
	gt_buf_printf(out, "rings of %g GB/s, ", best);
	if (is_same(best, answer->bound_gbs))
		gt_buf_puts(out, "proven best of rings; ");
	else
		gt_buf_printf(out, "no rings exceed %g; ", answer->bound_gbs);
	if (is_same(answer->gbs, best))
		gt_buf_puts(out, "NCCL's are as good\n");
	else if (answer->gbs > best)
		gt_buf_puts(out, "NCCL's are better\n");
	else
		gt_buf_printf(out, "NCCL's reach %.3g %% of that\n",
			      100 * answer->gbs / best);
}

/* Tells each rule that costs something, and what all of them cost. */
static void print_reasons(const struct gt_nccl_told *told, struct gt_buf *out)
{
	const struct gt_nccl_answer *answer = told->answer;
	const struct gt_nccl_reasons *reasons = &answer->reasons;
	double gbs, most = answer->gbs, all = 0;
	int is_whole = reasons->without_all_kbs != 0;

	for (int i = 0; i < GT_NCCL_NRULES; i++) {
		is_whole &= reasons->without_kbs[i] != 0;
		gbs = (double)reasons->without_kbs[i] / 1e6;
		if (gbs <= answer->gbs || is_same(gbs, answer->gbs))
			continue;
		most = gbs > most ? gbs : most;
		print_word(told, "why", out);
		gt_buf_printf(out, "%s: %g GB/s otherwise\n",
			      gt_nccl_rule_words((enum gt_nccl_rule)i), gbs);
	}
	all = (double)reasons->without_all_kbs / 1e6;
	if (all > most && !is_same(all, most)) {
		print_word(told, "why", out);
		gt_buf_printf(
			out, "%s: %g GB/s without any of its rules of choice\n",
			is_same(most, answer->gbs)
				? "several rules together"
				: "these and others together",
			all);
		most = all;
	}
	if (!is_whole) {
		print_word(told, "why", out);
		gt_buf_puts(out, "the budget was spent before all reasons were "
				 "looked for\n");
	} else if (most < answer->best_gbs &&
		   !is_same(most, answer->best_gbs)) {
		print_word(told, "why", out);
		gt_buf_puts(out, "its search takes one ring after the other, "
				 "over routes that it fixed before\n");
	}
}

static void print_machine(const struct gt_nccl_told *told, struct gt_buf *out)
{
	const struct gt_nccl_answer *answer = told->answer;
	uint32_t apart = answer->facts->apart;

	if (apart == GT_NONE)
		return;
	print_word(told, "apart", out);
	gt_buf_printf(out,
		      "NCCL takes GPU%d for another machine's, as it joins it "
		      "by the network; so what follows needs "
		      "NCCL_NET_DISABLE_INTRA=1\n",
		      gt_topo_node(told->topo,
				   gt_nccl_system_gpu(answer->system, apart))
			      ->dev);
}

static void print_access(const struct gt_nccl_told *told, struct gt_buf *out)
{
	const struct gt_nccl_facts *facts = told->answer->facts;

	if (!facts->ndenied)
		return;
	print_word(told, "access", out);
	gt_buf_printf(out,
		      "%u of %u pairs of GPUs have no peer access: NCCL sends "
		      "through the host's memory\n",
		      facts->ndenied / 2,
		      facts->ngpus * (facts->ngpus - 1) / 2);
}

void gt_nccl_print(const struct gt_nccl_told *told, struct gt_buf *out)
{
	const struct gt_nccl_answer *answer = told->answer;
	struct gt_lint_style style = {.colour = told->colour};

	print_head(told, out);
	print_machine(told, out);
	print_access(told, out);
	print_set(told, "rings", &answer->rings, out);
	if (answer->facts->ngpus > 1) {
		print_set(told, "trees", &answer->trees, out);
		print_best(told, out);
	}
	if (answer->has_reasons)
		print_reasons(told, out);
	for (uint32_t i = 0; i < told->nremedies; i++) {
		print_word(told, "set", out);
		gt_buf_printf(out, "%s=%s  ", told->remedies[i].variable,
			      told->remedies[i].value);
		gt_buf_put_plain(out, told->remedies[i].why);
		gt_buf_puts(out, "\n");
	}
	gt_lint_print(told->lint, style, out);
}
