/*
 * Started once for every rank, or for some of the ranks each, by a launcher:
 *
 *     cc process-per-rank.c $(pkg-config --cflags --libs gtopo)
 *     mpirun -n 8 ./a.out plan.json
 */
#include <stdio.h>
#include <stdlib.h>

#include <gtopo.h>

enum { COUNT = 10000 };

/* Rank r's elements are r + 1; the maximum is the number of ranks. */
static int run(struct gtopo_comm *comm, float *data, int first, int count)
{
	int rc = GTOPO_OK;

	for (int k = 0; k < count; k++) {
		float *mine = data + (size_t)k * COUNT;

		for (size_t i = 0; i < COUNT; i++)
			mine[i] = (float)(first + k + 1);
		if (!rc)
			rc = gtopo_allreduce(comm, first + k, mine, mine, COUNT,
					     GTOPO_FLOAT, GTOPO_MAX);
	}
	if (!rc)
		rc = gtopo_wait(comm, GTOPO_ALL_RANKS, -1);
	for (size_t i = 0; i < (size_t)count * COUNT && !rc; i++)
		if (data[i] != (float)gtopo_comm_ranks(comm))
			rc = 1;
	return rc;
}

/* Make a communicator, run, and, at first, another one beside it. */
static int make(struct gtopo_config *config, int depth)
{
	struct gtopo_comm *comm;
	int first, count, rc = 1;
	char message[512];
	float *data;

	if (gtopo_comm_create(config, &comm, message, sizeof(message))) {
		fprintf(stderr, "%s\n", message);
		return 1;
	}
	gtopo_comm_local(comm, &first, &count);
	data = malloc(sizeof(*data) * COUNT * (size_t)count);
	if (data)
		rc = run(comm, data, first, count);
	gtopo_comm_message(comm, message, sizeof(message));
	config->beside = comm;
	if (rc) {
		fprintf(stderr, "failed: %s\n", message);
		gtopo_comm_abort(comm);
	} else if (!depth) {
		rc = make(config, depth + 1);
	} else {
		printf("ranks %d to %d of %d: all right\n", first,
		       first + count - 1, gtopo_comm_ranks(comm));
	}
	gtopo_comm_destroy(comm);
	free(data);
	return rc;
}

int main(int argc, char **argv)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;

	config.plan = argc > 1 ? argv[1] : "plan.json";
	config.flags = GTOPO_LAUNCHED;
	return make(&config, 0) != 0;
}
