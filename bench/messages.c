/*
 * gtopo_send() and gtopo_recv() beside ncclSend() and ncclRecv().
 *
 *     messages PLAN
 *
 * One process and thread with all GPUs of the plan.  Patterns: one way from
 * rank 0 to 1, both ways, all to all with blocks of 1, 2 ... n parts.  Each is
 * launched ITERS times back to back as CUDA graphs; the time is the slowest
 * rank's, the least of ROUNDS, in which the two take turns.  GB/s are what the
 * busiest rank sends.  NCCL is looked for at run time (GTOPO_NCCL), its
 * multicast is off.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gtopo.h"

enum { RANKS = 16, ITERS = 20, ROUNDS = 7, NCCL_UINT8 = 1 };

struct nccl {
	int (*init_all)(void **comms, int n, const int *devices);
	int (*group_start)(void);
	int (*group_end)(void);
	int (*send)(const void *in, size_t count, int type, int peer,
		    void *comm, cudaStream_t stream);
	int (*receive)(void *out, size_t count, int type, int peer, void *comm,
		       cudaStream_t stream);
	void *comms[RANKS];
};

struct rank {
	int gpu;
	cudaStream_t stream;
	cudaEvent_t begin, end;
	char *input, *output;
	cudaGraphExec_t exec;
};

struct bench {
	struct gtopo_comm *comm;
	struct nccl *nccl; /* NULL: not there */
	int nranks, devices[RANKS];
	struct rank ranks[RANKS];
	uint64_t room;
};

enum pattern { ONE_WAY, BOTH_WAYS, ALL_TO_ALL };

static void must(cudaError_t rc)
{
	if (rc == cudaSuccess)
		return;
	fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(rc));
	exit(3);
}

static void must_gtopo(struct bench *b, int rc)
{
	char message[512];

	if (!rc)
		return;
	gtopo_comm_message(b->comm, message, sizeof(message));
	fprintf(stderr, "gtopo: %d %s\n", rc, message);
	exit(3);
}

static void must_nccl(int rc)
{
	if (!rc)
		return;
	fprintf(stderr, "nccl: error %d\n", rc);
	exit(3);
}

/* What goes from one rank to another. */
static uint64_t bytes_of(const struct bench *b, enum pattern pattern,
			 uint64_t bytes, int from, int to)
{
	if (pattern == ALL_TO_ALL)
		return bytes / (uint64_t)b->nranks / 16 *
		       (uint64_t)(1 + (from + to) % b->nranks) * 16;
	if (pattern == ONE_WAY)
		return from == 0 && to == 1 ? bytes : 0;
	return from + to == 1 ? bytes : 0;
}

static void message(struct bench *b, int nccl, int from, int to, uint64_t bytes,
		    const uint64_t at[2])
{
	struct rank *f = &b->ranks[from], *t = &b->ranks[to];

	if (!bytes)
		return;
	if (nccl) {
		must_nccl(b->nccl->send(f->input + at[0], bytes, NCCL_UINT8, to,
					b->nccl->comms[from], f->stream));
		must_nccl(b->nccl->receive(t->output + at[1], bytes, NCCL_UINT8,
					   from, b->nccl->comms[to],
					   t->stream));
		return;
	}
	must_gtopo(b, gtopo_send(b->comm, from, f->input + at[0], bytes,
				 GTOPO_UINT8, to));
	must_gtopo(b, gtopo_recv(b->comm, to, t->output + at[1], bytes,
				 GTOPO_UINT8, from));
}

static uint64_t once(struct bench *b, int nccl, enum pattern pattern,
		     uint64_t bytes)
{
	uint64_t at[RANKS][2] = {{0}}, most = 0, here;

	if (nccl)
		must_nccl(b->nccl->group_start());
	else
		must_gtopo(b, gtopo_group_start(b->comm, GTOPO_ALL_RANKS));
	for (int d = 0; d < b->nranks; d++)
		for (int from = 0; from < b->nranks; from++) {
			int to = (from + d) % b->nranks;
			const uint64_t where[] = {at[from][0], at[to][1]};

			here = bytes_of(b, pattern, bytes, from, to);
			message(b, nccl, from, to, here, where);
			at[from][0] += here;
			at[to][1] += here;
			if (d && at[from][0] > most)
				most = at[from][0];
		}
	if (nccl)
		must_nccl(b->nccl->group_end());
	else
		must_gtopo(b, gtopo_group_end(b->comm, GTOPO_ALL_RANKS));
	return most;
}

static uint64_t capture(struct bench *b, int nccl, enum pattern pattern,
			uint64_t bytes)
{
	cudaGraph_t graphs[RANKS];
	uint64_t most = 0;

	for (int r = 0; r < b->nranks; r++) {
		must(cudaSetDevice(b->ranks[r].gpu));
		must(cudaStreamBeginCapture(b->ranks[r].stream,
					    cudaStreamCaptureModeThreadLocal));
	}
	for (int i = 0; i < ITERS; i++)
		most = once(b, nccl, pattern, bytes);
	for (int r = 0; r < b->nranks; r++) {
		must(cudaSetDevice(b->ranks[r].gpu));
		must(cudaStreamEndCapture(b->ranks[r].stream, &graphs[r]));
	}
	/* Which is illegal during a capture. */
	for (int r = 0; r < b->nranks; r++) {
		must(cudaSetDevice(b->ranks[r].gpu));
		must(cudaGraphInstantiate(&b->ranks[r].exec, graphs[r], 0));
		must(cudaGraphDestroy(graphs[r]));
	}
	return most;
}

/* The slowest rank's time of one, in us. */
static float replay(struct bench *b)
{
	float ms, most = 0;

	for (int r = 0; r < b->nranks; r++) {
		struct rank *me = &b->ranks[r];

		must(cudaSetDevice(me->gpu));
		must(cudaEventRecord(me->begin, me->stream));
		must(cudaGraphLaunch(me->exec, me->stream));
		must(cudaEventRecord(me->end, me->stream));
	}
	for (int r = 0; r < b->nranks; r++) {
		must(cudaSetDevice(b->ranks[r].gpu));
		must(cudaEventSynchronize(b->ranks[r].end));
		must(cudaEventElapsedTime(&ms, b->ranks[r].begin,
					  b->ranks[r].end));
		if (ms > most)
			most = ms;
	}
	return most * 1000 / ITERS;
}

static float measure(struct bench *b, int nccl, enum pattern pattern,
		     uint64_t bytes, uint64_t *most)
{
	float least = 0, us;

	*most = capture(b, nccl, pattern, bytes);
	for (int i = 0; i < ROUNDS; i++) {
		us = replay(b);
		if (i && (us < least || least == 0))
			least = us;
	}
	for (int r = 0; r < b->nranks; r++)
		must(cudaGraphExecDestroy(b->ranks[r].exec));
	return least;
}

static void race(struct bench *b, enum pattern pattern, uint64_t bytes)
{
	static const char *const names[] = {"one-way", "both-ways",
					    "all-to-all-v"};
	uint64_t most;
	float ours = measure(b, 0, pattern, bytes, &most), theirs = 0;

	if (b->nccl)
		theirs = measure(b, 1, pattern, bytes, &most);
	printf("%-13s %10llu %10.2f %8.1f %10.2f %8.1f %7.2f\n", names[pattern],
	       (unsigned long long)most, (double)ours,
	       (double)most / (double)ours / 1e3, (double)theirs,
	       theirs > 0 ? (double)most / (double)theirs / 1e3 : 0.0,
	       (double)(theirs / ours));
	fflush(stdout);
}

static struct nccl *open_nccl(const struct bench *b)
{
	static const char *const names[] = {"ncclCommInitAll", "ncclGroupStart",
					    "ncclGroupEnd", "ncclSend",
					    "ncclRecv"};
	const char *path = getenv("GTOPO_NCCL");
	static struct nccl nccl;
	void **slots = (void **)&nccl, *lib;

	setenv("NCCL_NVLS_ENABLE", "0", 1);
	lib = dlopen(path ? path : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
	for (int i = 0; lib && i < 5; i++)
		if (!(slots[i] = dlsym(lib, names[i])))
			lib = NULL;
	if (!lib) {
		fprintf(stderr, "nccl: not there\n");
		return NULL;
	}
	must_nccl(nccl.init_all(nccl.comms, b->nranks, b->devices));
	return &nccl;
}

static void open_ranks(struct bench *b)
{
	for (int r = 0; r < b->nranks; r++) {
		struct rank *me = &b->ranks[r];

		me->gpu = gtopo_comm_gpu(b->comm, r);
		b->devices[r] = me->gpu;
		must(cudaSetDevice(me->gpu));
		must(cudaStreamCreateWithFlags(&me->stream,
					       cudaStreamNonBlocking));
		must(cudaEventCreate(&me->begin));
		must(cudaEventCreate(&me->end));
		must(cudaMalloc((void **)&me->input, b->room));
		must(cudaMalloc((void **)&me->output, b->room));
		must_gtopo(b, gtopo_comm_stream(b->comm, r, me->stream));
	}
}

int main(int argc, char **argv)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct bench b = {.room = 1 << 30};
	char message[512];

	if (argc != 2) {
		fprintf(stderr, "usage: messages PLAN\n");
		return 2;
	}
	config.plan = argv[1];
	config.device = GTOPO_CUDA;
	if (gtopo_comm_create(&config, &b.comm, message, sizeof(message))) {
		fprintf(stderr, "gtopo: %s\n", message);
		return 3;
	}
	b.nranks = gtopo_comm_ranks(b.comm);
	open_ranks(&b);
	b.nccl = open_nccl(&b);
	printf("# %d ranks\n# %-11s %10s %10s %8s %10s %8s %7s\n", b.nranks,
	       "pattern", "bytes", "us", "GB/s", "NCCL us", "GB/s", "ratio");
	for (int p = ONE_WAY; p <= ALL_TO_ALL; p++)
		for (uint64_t bytes = 1 << 10; bytes <= 256 << 20; bytes *= 4)
			race(&b, (enum pattern)p, bytes);
	gtopo_comm_destroy(b.comm);
	return 0;
}
