/*
 * Ranks in a line, each with a strip of a field, tell their neighbours what
 * lies at the strip's ends: messages that only two ranks know of, in a group,
 * since neighbours send to each other at once.
 *
 *     cc neighbours.c $(pkg-config --cflags --libs gtopo)
 *     ./a.out plan.json
 */
#include <stdio.h>
#include <stdlib.h>

#include <gtopo.h>

enum { WIDTH = 1000, EDGE = 2 };

/* With the neighbours' edges before and behind it. */
struct strip {
	double cells[EDGE + WIDTH + EDGE];
};

/* Send the own edge to a neighbour and receive its own into `ghost`. */
static int swap(struct gtopo_comm *comm, int rank, int neighbour,
		const double *edge, double *ghost)
{
	int rc;

	if (neighbour < 0 || neighbour >= gtopo_comm_ranks(comm))
		return GTOPO_OK;
	rc = gtopo_send(comm, rank, edge, EDGE, GTOPO_DOUBLE, neighbour);
	return rc ? rc
		  : gtopo_recv(comm, rank, ghost, EDGE, GTOPO_DOUBLE,
			       neighbour);
}

static int exchange(struct gtopo_comm *comm, struct strip *strips, int nranks)
{
	int rc = gtopo_group_start(comm, GTOPO_ALL_RANKS);

	for (int r = 0; r < nranks && !rc; r++) {
		double *own = strips[r].cells + EDGE;

		rc = swap(comm, r, r - 1, own, own - EDGE);
		if (!rc)
			rc = swap(comm, r, r + 1, own + WIDTH - EDGE,
				  own + WIDTH);
	}
	if (!rc)
		rc = gtopo_group_end(comm, GTOPO_ALL_RANKS);
	return rc ? rc : gtopo_wait(comm, GTOPO_ALL_RANKS, -1);
}

/* Cell i of the whole field is i, and outside of it 0. */
static int check(const struct strip *strips, int nranks)
{
	for (int r = 0; r < nranks; r++)
		for (int i = -EDGE; i < WIDTH + EDGE; i++) {
			int at = r * WIDTH + i;
			double want = at >= 0 && at < nranks * WIDTH ? at : 0;

			if (strips[r].cells[EDGE + i] != want)
				return 1;
		}
	return 0;
}

int main(int argc, char **argv)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct strip *strips;
	struct gtopo_comm *comm;
	char message[512];
	int nranks, failed = 1;

	config.plan = argc > 1 ? argv[1] : "plan.json";
	if (gtopo_comm_create(&config, &comm, message, sizeof(message))) {
		fprintf(stderr, "%s\n", message);
		return 1;
	}
	nranks = gtopo_comm_ranks(comm);
	strips = calloc((size_t)nranks, sizeof(*strips));
	for (int r = 0; strips && r < nranks; r++)
		for (int i = 0; i < WIDTH; i++)
			strips[r].cells[EDGE + i] = r * WIDTH + i;
	if (strips)
		failed =
			exchange(comm, strips, nranks) || check(strips, nranks);
	gtopo_comm_message(comm, message, sizeof(message));
	if (failed)
		fprintf(stderr, "failed: %s\n", message);
	else
		printf("%d ranks know their neighbours' edges\n", nranks);
	gtopo_comm_destroy(comm);
	free(strips);
	return failed;
}
