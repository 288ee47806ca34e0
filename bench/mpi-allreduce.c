/*
 * MPI_Allreduce of floats, to stand beside gtopo run: prints "BYTES us".
 * Built by bench/processes.sh with mpicc where there is one; times of one
 * round, so that the script can take rounds of both in turn.
 */
#include <stdio.h>
#include <stdlib.h>

#include <mpi.h>

static double time_us(float *in, float *out, int count, int iters)
{
	double begin, mine, longest;

	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	for (int i = 0; i < iters; i++)
		MPI_Allreduce(in, out, count, MPI_FLOAT, MPI_SUM,
			      MPI_COMM_WORLD);
	mine = (MPI_Wtime() - begin) / iters * 1e6;
	MPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return longest;
}

int main(int argc, char **argv)
{
	float *in, *out;
	double us;
	int rank, count, iters;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 1; i + 1 < argc; i += 2) {
		count = atoi(argv[i]) / 4;
		iters = atoi(argv[i + 1]);
		in = malloc((size_t)count * 4);
		out = malloc((size_t)count * 4);
		if (!in || !out)
			MPI_Abort(MPI_COMM_WORLD, 3);
		for (int k = 0; k < count; k++)
			in[k] = (float)(k % 7 + rank);
		time_us(in, out, count, iters / 5 + 1);
		us = time_us(in, out, count, iters);
		if (!rank)
			printf("%d %.2f\n", count * 4, us);
		free(in);
		free(out);
	}
	MPI_Finalize();
	return 0;
}
