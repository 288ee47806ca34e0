/*
 * A thread for every rank, as programs with a process a rank are written: two
 * operations, of which the second takes what the first gives.
 *
 *     cc thread-per-rank.c $(pkg-config --cflags --libs gtopo)
 *     ./a.out plan.json
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <gtopo.h>

enum { COUNT = 1000 }; /* elements of one rank's block */

struct worker {
	struct gtopo_comm *comm;
	pthread_t thread;
	int rank, nranks, failed;
};

/* Rank r's elements are r: each block's sum is that of 0 .. nranks - 1. */
static int run(struct worker *me, int64_t *input, int64_t *block,
	       int64_t *output)
{
	int64_t want = (int64_t)me->nranks * (me->nranks - 1) / 2;
	size_t all = (size_t)COUNT * (size_t)me->nranks;
	int rc;

	for (size_t i = 0; i < all; i++)
		input[i] = me->rank;
	rc = gtopo_reducescatter(me->comm, me->rank, input, block, COUNT,
				 GTOPO_INT64, GTOPO_SUM);
	if (!rc)
		rc = gtopo_allgather(me->comm, me->rank, block, output, COUNT,
				     GTOPO_INT64);
	if (!rc)
		rc = gtopo_wait(me->comm, me->rank, -1);
	for (size_t i = 0; i < all && !rc; i++)
		if (output[i] != want)
			rc = 1;
	return rc;
}

static void *work(void *arg)
{
	struct worker *me = arg;
	size_t all = (size_t)COUNT * (size_t)me->nranks;
	int64_t *input = calloc(all, sizeof(*input));
	int64_t *output = calloc(all, sizeof(*output));
	int64_t *block = calloc(COUNT, sizeof(*block));

	me->failed =
		!input || !output || !block || run(me, input, block, output);
	/* Others would wait for a rank that gives up. */
	if (me->failed)
		gtopo_comm_abort(me->comm);
	free(input);
	free(output);
	free(block);
	return NULL;
}

static int run_all(struct gtopo_comm *comm, struct worker *workers, int nranks)
{
	int started = 0, failed = 0;

	for (int r = 0; r < nranks; r++) {
		workers[r] = (struct worker){
			.comm = comm, .rank = r, .nranks = nranks};
		if (pthread_create(&workers[r].thread, NULL, work,
				   &workers[r])) {
			gtopo_comm_abort(comm);
			failed = 1;
			break;
		}
		started++;
	}
	for (int r = 0; r < started; r++) {
		pthread_join(workers[r].thread, NULL);
		failed |= workers[r].failed;
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct worker *workers;
	struct gtopo_comm *comm;
	char message[512];
	int nranks, failed = 1;

	config.plan = argc > 1 ? argv[1] : "plan.json";
	/* Made while the threads already queue what they want. */
	config.flags = GTOPO_NONBLOCKING;
	if (gtopo_comm_create(&config, &comm, message, sizeof(message))) {
		fprintf(stderr, "%s\n", message);
		return 1;
	}
	nranks = gtopo_comm_ranks(comm);
	workers = calloc((size_t)nranks, sizeof(*workers));
	if (workers)
		failed = run_all(comm, workers, nranks);
	gtopo_comm_message(comm, message, sizeof(message));
	if (failed)
		fprintf(stderr, "failed: %s\n", message);
	else
		printf("%d threads, two operations: all right\n", nranks);
	gtopo_comm_destroy(comm);
	free(workers);
	return failed;
}
