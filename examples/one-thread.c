/*
 * One thread calls for all ranks:
 *
 *     gtopo search --algo ring share/xml/dgx-h100.xml -o plan.json
 *     cc one-thread.c $(pkg-config --cflags --libs gtopo)
 *     ./a.out plan.json
 */
#include <stdio.h>
#include <stdlib.h>

#include <gtopo.h>

enum { COUNT = 1 << 20 };

static int check(const float *output, int nranks)
{
	float want = (float)(nranks * (nranks + 1) / 2);

	for (size_t i = 0; i < COUNT; i++)
		if (output[i] != want) {
			fprintf(stderr, "element %zu is %g, not %g\n", i,
				(double)output[i], (double)want);
			return 1;
		}
	return 0;
}

/* Rank r's elements are r + 1: their sum is that of 1 .. nranks. */
static int run(struct gtopo_comm *comm, float *data, int nranks)
{
	char message[512];
	int rc = GTOPO_OK;

	for (int r = 0; r < nranks; r++) {
		float *mine = data + (size_t)r * COUNT;

		for (size_t i = 0; i < COUNT; i++)
			mine[i] = (float)(r + 1);
		if (!rc)
			rc = gtopo_allreduce(comm, r, mine, mine, COUNT,
					     GTOPO_FLOAT, GTOPO_SUM);
	}
	if (!rc)
		rc = gtopo_wait(comm, GTOPO_ALL_RANKS, -1);
	if (rc) {
		gtopo_comm_message(comm, message, sizeof(message));
		fprintf(stderr, "failed: %s\n", message);
		return 1;
	}
	for (int r = 0; r < nranks; r++)
		if (check(data + (size_t)r * COUNT, nranks))
			return 1;
	printf("%d ranks have the sum of %d elements\n", nranks, COUNT);
	return 0;
}

int main(int argc, char **argv)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gtopo_comm *comm;
	char message[512];
	float *data;
	int bad = 1;

	config.plan = argc > 1 ? argv[1] : "plan.json";
	if (gtopo_comm_create(&config, &comm, message, sizeof(message))) {
		fprintf(stderr, "%s\n", message);
		return 1;
	}
	data = malloc(sizeof(*data) * COUNT * (size_t)gtopo_comm_ranks(comm));
	if (data)
		bad = run(comm, data, gtopo_comm_ranks(comm));
	gtopo_comm_destroy(comm);
	free(data);
	return bad;
}
