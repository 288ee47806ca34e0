/*
 * All-to-alls of layers of experts on hosts: planned anew each time
 * (gtopo_alltoallv_matrix()) beside straight from rank to rank
 * (gtopo_alltoallv()).
 *
 *     experts PLAN SKEW BYTES MATRICES [TURNS]
 *
 * A process of a launched job, with its ranks on CPUs.  Each rank has four
 * experts and BYTES for all ranks', which all ask for by Zipf's law of that
 * exponent and in one order, another one for each matrix.  Where SKEW is
 * "host4", four fifths are for the four ranks of one host alike instead, all of
 * whose cards are full then: nobody could help.
 *
 * Straight, planned and straight once more take turns, TURNS (1) for each
 * matrix, of which the least counts; every byte is checked.  Process 0 prints a
 * line: skew, median times in milliseconds, straight and planned; the median,
 * the least and the most of straight over planned; and those of straight over
 * straight once more, which say how much of that is chance.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/quantile.h"
#include "gtopo.h"

enum { EXPERTS_EACH = 4, MOST_RANKS = 64 };

/* What takes turns. */
enum way { STRAIGHT, PLANNED, AGAIN, NWAYS };

struct bench {
	struct gtopo_comm *comm;
	uint32_t n, first, end;
	uint64_t bytes; /* of a rank for all */
	uint64_t *counts;
	uint64_t *send_displs[MOST_RANKS], *recv_displs[MOST_RANKS];
	uint8_t *input[MOST_RANKS], *output[MOST_RANKS];
};

static void must(struct bench *b, int rc)
{
	char words[512];

	if (!rc)
		return;
	gtopo_comm_message(b->comm, words, sizeof(words));
	fprintf(stderr, "experts: %s\n", words);
	exit(3);
}

static void *get(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory) {
		fprintf(stderr, "experts: no memory\n");
		exit(3);
	}
	return memory;
}

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Which experts are asked for most; Knuth's generator, and his shuffle. */
static void draw_order(uint64_t seed, uint32_t *order, uint32_t n)
{
	uint64_t state = seed;

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k, kept;

		state = state * 6364136223846793005u + 1442695040888963407u;
		k = (uint32_t)(state >> 33) % i;
		kept = order[k];
		order[k] = order[i - 1];
		order[i - 1] = kept;
	}
}

/* Four fifths for one host's ranks, and the rest for all others'. */
static void draw_host(struct bench *b, uint32_t each, uint64_t seed)
{
	uint32_t hosts = b->n / each, hot = (uint32_t)seed % hosts;

	for (uint32_t i = 0; i < b->n * b->n; i++)
		b->counts[i] = i % b->n / each == hot
				       ? b->bytes * 4 / 5 / each
				       : b->bytes / 5 / (b->n - each);
}

static void draw_experts(struct bench *b, double skew, uint64_t seed)
{
	uint32_t experts = b->n * EXPERTS_EACH, order[4 * MOST_RANKS];
	double sum = 0;

	draw_order(seed, order, experts);
	for (uint32_t e = 0; e < experts; e++)
		sum += pow(e + 1, -skew);
	memset(b->counts, 0, (size_t)b->n * b->n * sizeof(*b->counts));
	for (uint32_t a = 0; a < b->n; a++)
		for (uint32_t e = 0; e < experts; e++)
			b->counts[a * b->n + order[e] / EXPERTS_EACH] +=
				(uint64_t)((double)b->bytes *
					   pow(e + 1, -skew) / sum);
}

static void draw_matrix(struct bench *b, const char *skew, uint64_t seed)
{
	uint32_t each = 0;

	if (sscanf(skew, "host%u", &each) == 1 && each && each < b->n)
		draw_host(b, each, seed);
	else
		draw_experts(b, atof(skew), seed);
}

/* Blocks lie side by side, with what a rank gets in memory as large. */
static void place(struct bench *b, uint32_t rank)
{
	uint64_t from = 0, to = 0;

	for (uint32_t p = 0; p < b->n; p++) {
		b->send_displs[rank][p] = from;
		b->recv_displs[rank][p] = to;
		from += b->counts[rank * b->n + p];
		to += b->counts[p * b->n + rank];
	}
	free(b->input[rank]);
	free(b->output[rank]);
	b->input[rank] = get(from + 1);
	b->output[rank] = get(to + 1);
	for (uint32_t p = 0; p < b->n; p++)
		for (uint64_t i = 0; i < b->counts[rank * b->n + p]; i++)
			b->input[rank][b->send_displs[rank][p] + i] =
				(uint8_t)(rank * 31 + p * 17 + i % 253 + 1);
}

static void check(struct bench *b, uint32_t rank)
{
	for (uint32_t p = 0; p < b->n; p++)
		for (uint64_t i = 0; i < b->counts[p * b->n + rank]; i++) {
			uint8_t *at =
				&b->output[rank][b->recv_displs[rank][p] + i];

			if (*at !=
			    (uint8_t)(p * 31 + rank * 17 + i % 253 + 1)) {
				fprintf(stderr,
					"experts: byte %llu from %u to %u is "
					"wrong\n",
					(unsigned long long)i, p, rank);
				exit(1);
			}
			*at = 0;
		}
}

static void call(struct bench *b, uint32_t rank, int planned)
{
	uint64_t sent[MOST_RANKS], received[MOST_RANKS];

	if (planned) {
		must(b, gtopo_alltoallv_matrix(
				b->comm, (int)rank, b->input[rank],
				b->send_displs[rank], b->output[rank],
				b->recv_displs[rank], b->counts, GTOPO_UINT8));
		return;
	}
	for (uint32_t p = 0; p < b->n; p++) {
		sent[p] = b->counts[rank * b->n + p];
		received[p] = b->counts[p * b->n + rank];
	}
	must(b, gtopo_alltoallv(b->comm, (int)rank, b->input[rank], sent,
				b->send_displs[rank], b->output[rank], received,
				b->recv_displs[rank], GTOPO_UINT8));
}

/* All have come: a byte from each to each. */
static void meet(struct bench *b)
{
	uint8_t from[MOST_RANKS] = {0}, to[MOST_RANKS];
	uint64_t ones[MOST_RANKS], places[MOST_RANKS];

	for (uint32_t p = 0; p < b->n; p++) {
		ones[p] = 1;
		places[p] = p;
	}
	for (uint32_t r = b->first; r < b->end; r++)
		must(b, gtopo_alltoallv(b->comm, (int)r, from, ones, places, to,
					ones, places, GTOPO_UINT8));
	must(b, gtopo_wait(b->comm, GTOPO_ALL_RANKS, -1));
}

static double run(struct bench *b, int planned)
{
	double begin;

	meet(b);
	begin = now_ms();
	for (uint32_t r = b->first; r < b->end; r++)
		call(b, r, planned);
	must(b, gtopo_wait(b->comm, GTOPO_ALL_RANKS, -1));
	meet(b);
	begin = now_ms() - begin;
	for (uint32_t r = b->first; r < b->end; r++)
		check(b, r);
	return begin;
}

static void open_bench(struct bench *b, const char *plan)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	char words[512];
	int first, count;

	config.plan = plan;
	config.flags = GTOPO_LAUNCHED;
	config.timeout_ms = 120000;
	if (gtopo_comm_create(&config, &b->comm, words, sizeof(words))) {
		fprintf(stderr, "experts: %s\n", words);
		exit(3);
	}
	gtopo_comm_local(b->comm, &first, &count);
	b->n = (uint32_t)gtopo_comm_ranks(b->comm);
	b->first = (uint32_t)first;
	b->end = (uint32_t)(first + count);
	b->counts = get((size_t)b->n * b->n * sizeof(*b->counts));
	for (uint32_t r = b->first; r < b->end; r++) {
		b->send_displs[r] = get(b->n * sizeof(uint64_t));
		b->recv_displs[r] = get(b->n * sizeof(uint64_t));
	}
}

static void close_bench(struct bench *b)
{
	gtopo_comm_destroy(b->comm);
	for (uint32_t r = b->first; r < b->end; r++) {
		free(b->send_displs[r]);
		free(b->recv_displs[r]);
		free(b->input[r]);
		free(b->output[r]);
	}
	free(b->counts);
}

/* The least time of each way, which take turns, for one matrix. */
static void race(struct bench *b, uint32_t turns, uint32_t first,
		 double *least[NWAYS], uint32_t at)
{
	for (uint32_t t = 0; t < turns * NWAYS; t++) {
		enum way way = (enum way)((first + t) % NWAYS);
		double ms = run(b, way == PLANNED);

		if (t < NWAYS || ms < least[way][at])
			least[way][at] = ms;
	}
}

static void print_ratio(const double *a, const double *b, uint32_t n)
{
	double ratio[GT_QUANTILE_MOST];

	for (uint32_t i = 0; i < n; i++)
		ratio[i] = a[i] / b[i];
	printf(" %.2f %.2f %.2f", gt_quantile(ratio, n, 0.5),
	       gt_quantile(ratio, n, 0), gt_quantile(ratio, n, 1));
}

static void print_line(const char *skew, double *ms[NWAYS], uint32_t n)
{
	printf("%s %.1f %.1f", skew, gt_quantile(ms[STRAIGHT], n, 0.5),
	       gt_quantile(ms[PLANNED], n, 0.5));
	print_ratio(ms[STRAIGHT], ms[PLANNED], n);
	print_ratio(ms[STRAIGHT], ms[AGAIN], n);
	printf("\n");
}

int main(int argc, char **argv)
{
	double times[NWAYS][GT_QUANTILE_MOST];
	double *ms[NWAYS] = {times[STRAIGHT], times[PLANNED], times[AGAIN]};
	struct bench b = {0};
	uint32_t n = argc >= 5 ? (uint32_t)atoi(argv[4]) : 0;
	uint32_t turns = argc == 6 ? (uint32_t)atoi(argv[5]) : 1;

	if (argc > 6 || !n || n > GT_QUANTILE_MOST || !turns) {
		fprintf(stderr,
			"usage: experts PLAN SKEW BYTES MATRICES [TURNS]\n");
		return 2;
	}
	open_bench(&b, argv[1]);
	b.bytes = strtoull(argv[3], NULL, 10);
	for (uint32_t i = 0; i < n; i++) {
		draw_matrix(&b, argv[2], i + 1);
		for (uint32_t r = b.first; r < b.end; r++)
			place(&b, r);
		race(&b, turns, i, ms, i);
	}
	if (!b.first)
		print_line(argv[2], ms, n);
	close_bench(&b);
	return 0;
}
