/* The command line of all simulators: which worlds, and what they came to. */
#include "sim.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int sim_seeds(int argc, char **argv, FILE *report,
	      int (*run)(uint64_t seed, int verbose))
{
	uint64_t first = 1, n = 1000, bad = 0, most_bad = UINT64_MAX, seed;
	struct timespec begin, end;
	int verbose = 0, c;
	double s;

	while ((c = getopt(argc, argv, "fn:s:v")) != -1) {
		if (c == 'n')
			n = strtoull(optarg, NULL, 0);
		else if (c == 's')
			first = strtoull(optarg, NULL, 0);
		else if (c == 'f')
			most_bad = 1;
		else if (c == 'v')
			verbose = 1;
		else
			return 2;
	}
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (seed = first; seed < first + n && bad < most_bad; seed++)
		bad += (uint64_t)run(seed, verbose);
	clock_gettime(CLOCK_MONOTONIC, &end);
	s = (double)(end.tv_sec - begin.tv_sec) +
	    (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
	fprintf(report, "%llu worlds, %.0f a second, %llu bad\n",
		(unsigned long long)(seed - first), (double)(seed - first) / s,
		(unsigned long long)bad);
	return bad != 0;
}
