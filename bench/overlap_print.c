/*
 * The figures of bench/overlap, as a table and as JSON.
 */
#include "overlap.h"

#include <stddef.h>
#include <string.h>

#include "plan/ir/plan.h"

/* What completes the JSON text. */
static const char json_end[] = "\n]}\n";

static int has_products(const struct overlap *o)
{
	return o->options.mode != OVERLAP_ALONE;
}

static double median(const struct overlap_row *row, const double *us)
{
	return gt_quantile(us, row->rounds, 0.5);
}

/* A quantile of the differences of each round, of the first to `less`. */
static double quantile_of_difference(const struct overlap_row *row,
				     const double *us, const double *less,
				     double q)
{
	double rounds[GT_QUANTILE_MOST];

	for (uint32_t i = 0; i < row->rounds; i++)
		rounds[i] = us[i] - less[i];
	return gt_quantile(rounds, row->rounds, q);
}

/* NCCL's entry of that priority that takes the least; NULL: none took part. */
static const struct overlap_entry *best_nccl(const struct overlap_row *row,
					     int priority, size_t figures)
{
	const struct overlap_entry *best = NULL;
	double least = 0, us;

	for (uint32_t i = 0; i < row->n; i++) {
		const struct overlap_entry *entry = &row->entries[i];

		if (!entry->way->is_nccl || !entry->way->is_open ||
		    entry->priority != priority)
			continue;
		us = median(row,
			    (const double *)((const char *)entry + figures));
		if (!best || us < least) {
			best = entry;
			least = us;
		}
	}
	return best;
}

/* What is printed of an entry. */
struct figures {
	double alone_us, added_us, added_p5_us, added_p95_us, done_us;
	/* Against NCCL's best of the same priority, in rounds: */
	int has_nccl;
	double over_percent;    /* added, more than there, of the products */
	double ratio, ratio_p5; /* time until all is done, there / here */
};

/* How many times longer NCCL takes, in rounds. */
static void compare(const struct overlap_row *row, const double *theirs,
		    const double *ours, struct figures *f)
{
	double rounds[GT_QUANTILE_MOST];

	for (uint32_t i = 0; i < row->rounds; i++)
		rounds[i] = theirs[i] / ours[i];
	f->ratio = gt_quantile(rounds, row->rounds, 0.5);
	f->ratio_p5 = gt_quantile(rounds, row->rounds, 0.05);
}

static struct figures figures_of(const struct overlap *o,
				 const struct overlap_row *row,
				 const struct overlap_entry *entry)
{
	struct figures f = {.alone_us = median(row, entry->alone_us)};
	const struct overlap_entry *nccl;

	if (!has_products(o)) {
		nccl = best_nccl(row, entry->priority,
				 offsetof(struct overlap_entry, alone_us));
		f.has_nccl = nccl != NULL;
		if (nccl)
			compare(row, nccl->alone_us, entry->alone_us, &f);
		return f;
	}
	f.done_us = median(row, entry->done_us);
	f.added_us = quantile_of_difference(row, entry->computed_us,
					    row->products_us, 0.5);
	f.added_p5_us = quantile_of_difference(row, entry->computed_us,
					       row->products_us, 0.05);
	f.added_p95_us = quantile_of_difference(row, entry->computed_us,
						row->products_us, 0.95);
	nccl = best_nccl(row, entry->priority,
			 offsetof(struct overlap_entry, computed_us));
	f.has_nccl = nccl != NULL;
	if (!nccl)
		return f;
	f.over_percent = quantile_of_difference(row, entry->computed_us,
						nccl->computed_us, 0.5) /
			 median(row, row->products_us) * 100;
	nccl = best_nccl(row, entry->priority,
			 offsetof(struct overlap_entry, done_us));
	compare(row, nccl->done_us, entry->done_us, &f);
	return f;
}

static const char *priority_name(int priority)
{
	return priority ? "high" : "normal";
}

static void print_entry(const struct overlap *o, const struct overlap_row *row,
			const struct overlap_entry *entry)
{
	struct figures f = figures_of(o, row, entry);
	double products = has_products(o) ? median(row, row->products_us) : 0;

	printf("%-13s %10llu %5d %-6s %-21s %-6s %6d %10.1f %10.1f %10.1f "
	       "%10.1f %10.1f %10.1f %6.2f ",
	       row->name->what, (unsigned long long)row->name->bytes,
	       row->name->hidden, row->name->graph ? "graph" : "stream",
	       entry->way->name, priority_name(entry->priority), entry->blocks,
	       products, f.alone_us, f.added_us, f.added_p5_us, f.added_p95_us,
	       f.done_us, products > 0 ? f.added_us / products * 100 : 0.0);
	if (f.has_nccl)
		printf("%6.2f %6.3f", f.over_percent, f.ratio);
	else
		printf("%6s %6s", "-", "-");
	printf(" %5llu  %s\n", (unsigned long long)entry->wrong,
	       entry->schedule);
}

static void json_entry(const struct overlap *o, const struct overlap_row *row,
		       const struct overlap_entry *entry)
{
	struct figures f = figures_of(o, row, entry);

	fprintf(o->json,
		"{\"way\": \"%s\", \"priority\": \"%s\", \"alone_us\": %.2f, ",
		entry->way->name, priority_name(entry->priority), f.alone_us);
	if (has_products(o))
		fprintf(o->json,
			"\"added_us\": %.2f, \"added_us_p5\": %.2f, "
			"\"added_us_p95\": %.2f, \"done_us\": %.2f, ",
			f.added_us, f.added_p5_us, f.added_p95_us, f.done_us);
	if (f.has_nccl && has_products(o))
		fprintf(o->json, "\"over_percent\": %.3f, ", f.over_percent);
	if (f.has_nccl)
		fprintf(o->json, "\"ratio\": %.3f, \"ratio_p5\": %.3f, ",
			f.ratio, f.ratio_p5);
	if (entry->blocks >= 0)
		fprintf(o->json, "\"blocks\": %d, ", entry->blocks);
	fprintf(o->json, "\"schedule\": \"%s\", \"wrong\": %llu}",
		entry->schedule, (unsigned long long)entry->wrong);
}

/* The file is complete after each row, however it ends. */
static void json_row(struct overlap *o, const struct overlap_row *row)
{
	const char *between = "";

	fseek(o->json, -(long)(sizeof(json_end) - 1), SEEK_CUR);
	fprintf(o->json,
		"%s\n  {\"ranks\": %u, \"coll\": \"%s\", \"dtype\": \"bf16\", "
		"\"bytes\": %llu, \"hidden\": %d, \"graph\": %s, "
		"\"rounds\": %u,",
		o->rows ? "," : "", o->nranks, row->name->what,
		(unsigned long long)row->name->bytes, row->name->hidden,
		row->name->graph ? "true" : "false", row->rounds);
	if (has_products(o))
		fprintf(o->json, " \"products_us\": %.2f,",
			median(row, row->products_us));
	fprintf(o->json, "\n   \"ways\": [");
	for (uint32_t i = 0; i < row->n; i++) {
		if (!row->entries[i].way->is_open)
			continue;
		fprintf(o->json, "%s\n    ", between);
		json_entry(o, row, &row->entries[i]);
		between = ",";
	}
	fprintf(o->json, "]}%s", json_end);
	fflush(o->json);
}

void gt_overlap_print_row(struct overlap *o, const struct overlap_row *row)
{
	if (o->json)
		json_row(o, row);
	for (uint32_t i = 0; i < row->n; i++)
		if (row->entries[i].way->is_open)
			print_entry(o, row, &row->entries[i]);
	fflush(stdout);
	o->rows++;
}

const char *gt_overlap_mode_name(enum overlap_mode mode)
{
	static const char *const names[OVERLAP_NMODES] = {"beside", "alone",
							  "fsdp", "ddp"};

	return names[mode];
}

static void json_head(struct overlap *o)
{
	const struct overlap_options *options = &o->options;
	const struct overlap_rank *me = &o->ranks[o->first];
	struct cudaDeviceProp prop;
	int driver = 0, runtime = 0;

	memset(&prop, 0, sizeof(prop));
	cudaGetDeviceProperties(&prop, me->gpu);
	cudaDriverGetVersion(&driver);
	cudaRuntimeGetVersion(&runtime);
	fprintf(o->json,
		"{\"machine\": {\"gpu\": \"%s\", \"gpus\": %u, "
		"\"shared\": %s, \"cuda_driver\": %d, \"cuda_runtime\": %d, "
		"\"nccl\": %d, \"nvls\": false, \"cublas\": %d, "
		"\"processes\": %d},\n"
		" \"commit\": \"%s\", \"mode\": \"%s\", \"rounds\": %d, "
		"\"operations\": %d, \"size\": %d, \"layers\": %d, "
		"\"tokens\": %d, \"blocks_limit\": %d,\n \"rows\": [%s",
		prop.name, o->nranks, o->shares ? "true" : "false", driver,
		runtime, o->nccl_version,
		me->blas ? gt_blas_version(me->blas) : 0, options->procs,
		options->commit, gt_overlap_mode_name(options->mode),
		options->rounds, options->operations, options->size,
		options->layers, options->tokens, options->ctas, json_end);
	fflush(o->json);
}

void gt_overlap_print_head(struct overlap *o)
{
	if (o->json)
		json_head(o);
	if (o->shares)
		printf("# ranks share GPUs: it works, and the figures mean "
		       "nothing; without NCCL\n");
	printf("#%-12s %10s %5s %-6s %-21s %-6s %6s %10s %10s %10s %10s %10s "
	       "%10s %6s %6s %6s %5s  %s\n",
	       "what", "bytes", "width", "how", "way", "stream", "blocks",
	       "products", "alone", "added", "p5", "p95", "all done", "add %",
	       "over %", "ratio", "wrong", "schedule");
	fflush(stdout);
}
