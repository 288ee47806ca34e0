/*
 * fit [-k NAMES] PLAN REPORT...: the parameters of the cost model
 * (plan/cost/cost.h) with which `gtopo predict PLAN` comes nearest to what
 * `gtopo run --json` measured with that plan, as the JSON that `gtopo predict
 * --params` reads.
 *
 * Least absolute deviation of the logarithms: a factor of two counts the same
 * at 10 us and at 10 ms, and a few odd measurements do not pull the rest.  The
 * search is Nelder and Mead's ("A simplex method for function minimization",
 * 1965) over the logarithms of the parameters, started anew until it finds
 * nothing better.  Fitted is the protocol of the plan's largest messages.
 *
 * -k keeps the named parameters (base, hop, rate, worker, local, one-way;
 * commas between) at their defaults: what measurements hardly depend on they
 * cannot tell.  Of a plan whose hops go through the host's memory base and rate
 * are those of the way there, and one-way is the rate where nothing comes back.
 *
 * "residual" is the mean of |log(predicted / measured)|: 0.05 is 5%.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "plan/check/check.h"
#include "plan/cost/cost.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"

enum { FIT_ONE_WAY = 5, FIT_N = 6, FIT_STEPS = 300, FIT_STARTS = 20 };

struct fit_row {
	enum gt_coll coll;
	uint64_t bytes;
	double time_us;
};

struct fit {
	struct gt_plan *plan;
	struct gt_cost_model *models[GT_NCOLLS];
	struct fit_row *rows;
	size_t nrows;
	enum gt_protocol protocol; /* the one that is fitted */
	unsigned kept;             /* bits: dimensions */
};

struct fit_point {
	double x[FIT_N]; /* logarithms, in the order of fit_names */
	double value;
};

static void fit_die(const struct gt_err *err)
{
	fprintf(stderr, "fit: %s%s%s\n", err->where, *err->where ? ": " : "",
		err->text);
	exit(-err->code);
}

static const char *const fit_names[FIT_N] = {"base",   "hop",   "rate",
					     "worker", "local", "one-way"};

/* The hop that is fitted; the others keep their proportion to it. */
static enum gt_cost_hop fit_hop(const struct fit *fit)
{
	return gt_plan_is_staged(fit->plan) ? GT_COST_HOP_HOST
					    : GT_COST_HOP_NVL;
}

static double *fit_base(const struct fit *fit, struct gt_cost_params *p)
{
	return gt_plan_is_staged(fit->plan) ? &p->host_base_us : &p->base_us;
}

static double *fit_rate(const struct fit *fit, struct gt_cost_params *p)
{
	return gt_plan_is_staged(fit->plan) ? &p->host_rate : &p->rate;
}

static struct fit_point fit_defaults(const struct fit *fit)
{
	struct gt_cost_params p = gt_cost_default(fit->protocol);

	return (struct fit_point){{log(*fit_base(fit, &p)),
				   log(p.hop_us[fit_hop(fit)]),
				   log(*fit_rate(fit, &p)), log(p.worker_gbs),
				   log(p.local_gbs), log(p.host_one_way_rate)},
				  0};
}

static struct gt_cost_params fit_params(const struct fit *fit,
					const struct fit_point *point)
{
	struct gt_cost_params p = gt_cost_default(fit->protocol);
	double hop = exp(point->x[1]) / p.hop_us[fit_hop(fit)];

	*fit_base(fit, &p) = exp(point->x[0]);
	for (int i = 0; i < GT_NCOSTHOPS; i++)
		p.hop_us[i] *= hop;
	*fit_rate(fit, &p) = exp(point->x[2]);
	p.worker_gbs = exp(point->x[3]);
	p.local_gbs = exp(point->x[4]);
	p.host_one_way_rate = exp(point->x[FIT_ONE_WAY]);
	return p;
}

static void fit_evaluate(const struct fit *fit, struct fit_point *point)
{
	const struct fit_point start = fit_defaults(fit);
	struct gt_cost_params params;
	struct gt_err err;
	size_t n = 0;
	double sum = 0;

	gt_err_init(&err);
	for (int d = 0; d < FIT_N; d++)
		if (fit->kept >> d & 1)
			point->x[d] = start.x[d];
	params = fit_params(fit, point);
	for (size_t i = 0; i < fit->nrows; i++) {
		const struct fit_row *row = &fit->rows[i];
		struct gt_cost cost;

		gt_cost_set(fit->models[row->coll], fit->protocol, &params);
		if (gt_cost_price(fit->models[row->coll], row->bytes, &cost,
				  &err))
			fit_die(&err);
		if (fit->plan->select[cost.row].protocol != fit->protocol)
			continue;
		sum += fabs(log(cost.time_us / row->time_us));
		n++;
	}
	point->value = n ? sum / (double)n : 0;
}

static int fit_cmp(const void *a, const void *b)
{
	const struct fit_point *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

/* centre + t * (centre - worst) */
static struct fit_point fit_move(const struct fit *fit,
				 const struct fit_point *simplex, double t)
{
	struct fit_point moved;

	for (int d = 0; d < FIT_N; d++) {
		double centre = 0;

		for (int i = 0; i < FIT_N; i++)
			centre += simplex[i].x[d] / FIT_N;
		moved.x[d] = centre + t * (centre - simplex[FIT_N].x[d]);
	}
	fit_evaluate(fit, &moved);
	return moved;
}

static void fit_step(const struct fit *fit, struct fit_point *simplex)
{
	struct fit_point far, moved;

	qsort(simplex, FIT_N + 1, sizeof(*simplex), fit_cmp);
	moved = fit_move(fit, simplex, 1);
	if (moved.value < simplex[0].value) {
		far = fit_move(fit, simplex, 2);
		simplex[FIT_N] = far.value < moved.value ? far : moved;
		return;
	}
	if (moved.value >= simplex[FIT_N - 1].value)
		moved = fit_move(fit, simplex, -0.5);
	if (moved.value < simplex[FIT_N].value) {
		simplex[FIT_N] = moved;
		return;
	}
	for (int i = 1; i <= FIT_N; i++) {
		for (int d = 0; d < FIT_N; d++)
			simplex[i].x[d] =
				(simplex[i].x[d] + simplex[0].x[d]) / 2;
		fit_evaluate(fit, &simplex[i]);
	}
}

static struct fit_point fit_search(const struct fit *fit)
{
	struct fit_point simplex[FIT_N + 1], best = fit_defaults(fit);

	fit_evaluate(fit, &best);
	for (int start = 0; start < FIT_STARTS; start++) {
		for (int i = 0; i <= FIT_N; i++) {
			simplex[i] = best;
			if (i)
				simplex[i].x[i - 1] +=
					(start % 2 ? -2.0 : 2.0) /
					(1 + start / 4);
			fit_evaluate(fit, &simplex[i]);
		}
		for (int i = 0; i < FIT_STEPS; i++)
			fit_step(fit, simplex);
		qsort(simplex, FIT_N + 1, sizeof(*simplex), fit_cmp);
		best = simplex[0];
	}
	return best;
}

/* One side of a row of a report; anything else is left out. */
static int fit_read_row(const struct fit *fit, const struct gt_json *at,
			struct fit_row *row, struct gt_err *err)
{
	struct gt_json member;
	const char *coll;
	int64_t bytes;
	int rc = gt_json_need(at, "coll", &member, err);

	if (!rc)
		rc = gt_json_text(&member, &coll, err);
	if (!rc && gt_coll_find(coll) < 0)
		rc = gt_json_fault(&member, err, "'%s' is no collective", coll);
	if (!rc)
		row->coll = (enum gt_coll)gt_coll_find(coll);
	if (!rc)
		rc = gt_json_need(at, "bytes", &member, err);
	if (!rc)
		rc = gt_json_int(&member, 0, INT64_MAX, &bytes, err);
	if (!rc)
		row->bytes = (uint64_t)bytes;
	if (!rc)
		rc = gt_json_need(at, "time_us", &member, err);
	if (!rc)
		rc = gt_json_double(&member, &row->time_us, err);
	if (!rc)
		rc = gt_json_need(at, "ranks", &member, err);
	if (!rc)
		rc = gt_json_int(&member, fit->plan->nranks, fit->plan->nranks,
				 &bytes, err);
	return rc;
}

static int fit_read(struct fit *fit, const char *path, struct gt_err *err)
{
	struct gt_json_doc *doc;
	struct gt_json root, rows, item;
	uint32_t n;
	int rc = gt_json_open(path, &doc, err);

	if (rc)
		return rc;
	root = gt_json_root(doc);
	rc = gt_json_need(&root, "rows", &rows, err);
	if (!rc)
		rc = gt_json_array(&rows, &n, err);
	if (!rc)
		fit->rows = realloc(fit->rows,
				    (fit->nrows + n) * sizeof(*fit->rows));
	for (uint32_t i = 0; !rc && i < n; i++) {
		struct fit_row *row = &fit->rows[fit->nrows];

		gt_json_item(&rows, i, &item);
		rc = fit_read_row(fit, &item, row, err);
		if (!rc && row->bytes && row->time_us > 0)
			fit->nrows++;
	}
	gt_json_close(doc);
	return rc;
}

static int fit_models(struct fit *fit, struct gt_err *err)
{
	int rc = gt_plan_check(fit->plan, err);

	for (size_t i = 0; !rc && i < fit->nrows; i++)
		if (!fit->models[fit->rows[i].coll])
			rc = gt_cost_new(fit->plan, fit->rows[i].coll,
					 &fit->models[fit->rows[i].coll], err);
	if (!rc && !fit->nrows)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"the reports have no rows that move bytes");
	fit->protocol = gt_plan_main_row(fit->plan)->protocol;
	/* Where nothing goes through the host's memory nothing tells of it. */
	if (!gt_plan_is_staged(fit->plan))
		fit->kept |= 1u << FIT_ONE_WAY;
	return rc;
}

static void fit_print(const struct fit *fit, const struct fit_point *best)
{
	struct gt_cost_params p = fit_params(fit, best);

	printf("{\n  \"schema\": \"gtopo.cost/1\",\n  \"protocols\": {\n"
	       "    \"%s\": {\n      \"base_us\": \"%.4f\",\n"
	       "      \"host_base_us\": \"%.4f\",\n"
	       "      \"hop_us\": {",
	       gt_protocol_name(fit->protocol), p.base_us, p.host_base_us);
	for (int i = 0; i < GT_NCOSTHOPS; i++)
		printf("%s\"%s\": \"%.4f\"", i ? ", " : "", gt_cost_hop_name(i),
		       p.hop_us[i]);
	printf("},\n      \"rate\": \"%.4f\",\n      \"host_rate\": \"%.4f\","
	       "\n      \"host_one_way_rate\": \"%.4f\","
	       "\n      \"worker_gbs\": \"%.4f\","
	       "\n      \"local_gbs\": \"%.4f\"\n    }\n  },\n",
	       p.rate, p.host_rate, p.host_one_way_rate, p.worker_gbs,
	       p.local_gbs);
	printf("  \"rows\": %zu,\n  \"residual\": %.4f\n}\n", fit->nrows,
	       best->value);
}

/* 0: a name is none. */
static int fit_keep(struct fit *fit, char *names)
{
	char *rest = NULL;

	for (char *name = strtok_r(names, ",", &rest); name;
	     name = strtok_r(NULL, ",", &rest)) {
		int d = 0;

		while (d < FIT_N && strcmp(fit_names[d], name))
			d++;
		if (d == FIT_N)
			return 0;
		fit->kept |= 1u << d;
	}
	return 1;
}

static int usage(void)
{
	fprintf(stderr, "usage: fit [-k NAMES] PLAN REPORT...\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct fit fit = {.nrows = 0};
	struct fit_point best;
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	if (argc > 2 && !strcmp(argv[1], "-k")) {
		if (!fit_keep(&fit, argv[2]))
			return usage();
		argc -= 2;
		argv += 2;
	}
	if (argc < 3)
		return usage();
	rc = gt_plan_read(argv[1], &fit.plan, &err);
	for (int i = 2; !rc && i < argc; i++)
		rc = fit_read(&fit, argv[i], &err);
	if (!rc)
		rc = fit_models(&fit, &err);
	if (rc)
		fit_die(&err);
	best = fit_search(&fit);
	fit_print(&fit, &best);
	for (int i = 0; i < GT_NCOLLS; i++)
		gt_cost_free(fit.models[i]);
	gt_plan_free(fit.plan);
	free(fit.rows);
	return 0;
}
