/*
 * Ranks of bench/overlap: what each has on its GPU, and threads that act for
 * them.
 */
#include "overlap.h"

#include <pthread.h>
#include <string.h>

#include "base/err.h"
#include "kernels/kernels.h"
#include "world/world.h"

int gt_overlap_fail(const char *place, const char *fault)
{
	fprintf(stderr, "overlap: %s: %s\n", place, fault);
	return GT_ESYS;
}

int gt_overlap_err(const struct gt_err *err)
{
	char words[sizeof(err->where) + sizeof(err->text)];

	gt_err_words(err, words, sizeof(words));
	fprintf(stderr, "overlap: %s\n", words);
	return err->code;
}

int gt_overlap_cuda(uint32_t rank, const char *what, cudaError_t rc)
{
	char place[OVERLAP_TEXT_MAX];

	if (rc == cudaSuccess)
		return GT_OK;
	cudaGetLastError();
	snprintf(place, sizeof(place), "rank %u: %s", rank, what);
	return gt_overlap_fail(place, cudaGetErrorString(rc));
}

uint64_t gt_overlap_most(const struct overlap *o, uint64_t number)
{
	if (o->world && gt_world_max(o->world, &number, NULL))
		return UINT64_MAX;
	return number;
}

struct worker {
	struct overlap *o;
	int (*job)(struct overlap *o, uint32_t rank, void *arg);
	void *arg;
	uint32_t rank;
	int rc;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *me = arg;

	me->rc = gt_overlap_cuda(me->rank, "take the GPU",
				 cudaSetDevice(me->o->ranks[me->rank].gpu));
	if (!me->rc)
		me->rc = me->job(me->o, me->rank, me->arg);
	return NULL;
}

int gt_overlap_each(struct overlap *o,
		    int (*job)(struct overlap *o, uint32_t rank, void *arg),
		    void *arg)
{
	struct worker workers[OVERLAP_RANKS];
	uint32_t begun = o->first;
	int rc = GT_OK;

	for (; begun < o->end; begun++) {
		struct worker *me = &workers[begun];

		*me = (struct worker){o, job, arg, begun, GT_OK, 0};
		if (pthread_create(&me->thread, NULL, work, me)) {
			rc = gt_overlap_fail("thread", "cannot be started");
			break;
		}
	}
	for (uint32_t r = o->first; r < begun; r++) {
		pthread_join(workers[r].thread, NULL);
		rc = workers[r].rc ? workers[r].rc : rc;
	}
	return rc;
}

static cudaError_t rank_events(struct overlap_rank *me)
{
	cudaEvent_t *const timed[] = {&me->begin, &me->computed, &me->done};
	cudaError_t rc =
		cudaEventCreateWithFlags(&me->fork, cudaEventDisableTiming);

	for (int i = 0; rc == cudaSuccess && i < OVERLAP_EDGES; i++)
		rc = cudaEventCreateWithFlags(&me->edges[i],
					      cudaEventDisableTiming);
	for (int i = 0; rc == cudaSuccess && i < 3; i++)
		rc = cudaEventCreate(timed[i]);
	return rc;
}

static cudaError_t rank_streams(struct overlap_rank *me)
{
	int least, greatest;
	cudaError_t rc = cudaDeviceGetStreamPriorityRange(&least, &greatest);

	if (rc == cudaSuccess)
		rc = cudaStreamCreateWithFlags(&me->compute,
					       cudaStreamNonBlocking);
	if (rc == cudaSuccess)
		rc = cudaStreamCreateWithFlags(&me->comm[0],
					       cudaStreamNonBlocking);
	if (rc == cudaSuccess)
		rc = cudaStreamCreateWithPriority(
			&me->comm[1], cudaStreamNonBlocking, greatest);
	return rc;
}

/* Elements of the largest matrix. */
static uint64_t operand_count(const struct overlap_options *options)
{
	uint64_t most = (uint64_t)options->size * (uint64_t)options->size;

	for (int i = 0; i < OVERLAP_HIDDENS && options->hidden[i]; i++) {
		uint64_t wide = 4 * (uint64_t)options->hidden[i];
		uint64_t tall = (uint64_t)(options->tokens > options->hidden[i]
						   ? options->tokens
						   : options->hidden[i]);

		if (options->mode >= OVERLAP_FSDP && wide * tall > most)
			most = wide * tall;
	}
	return most;
}

/* Small numbers that differ: a GPU's power depends on them. */
static cudaError_t rank_operands(const struct overlap *o, uint32_t rank)
{
	struct overlap_rank *me = (struct overlap_rank *)&o->ranks[rank];
	struct gt_kernel_data data = {
		.pattern = gt_pattern_make(GT_COLL_ALLREDUCE, GT_DTYPE_BF16,
					   GT_REDOP_MAX, o->nranks, 7),
		.count = operand_count(&o->options),
		.rank = rank};
	cudaError_t rc = cudaSuccess;

	for (int i = 0; rc == cudaSuccess && i < 3; i++) {
		rc = cudaMalloc(&me->operands[i], data.count * 2);
		data.data = me->operands[i];
		data.pattern.seed++;
		if (rc == cudaSuccess)
			rc = (cudaError_t)gt_kernel_fill(&data, me->compute);
	}
	return rc;
}

static cudaError_t rank_buffers(const struct overlap *o,
				struct overlap_rank *me)
{
	/* In one process registration changes nothing. */
	int n = o->world ? 2 : 1;
	cudaError_t rc = cudaMalloc((void **)&me->wrong, sizeof(*me->wrong));

	for (int i = 0; rc == cudaSuccess && i < n; i++) {
		rc = cudaMalloc((void **)&me->buffers[i].input, o->room);
		if (rc == cudaSuccess)
			rc = cudaMalloc(&me->buffers[i].output, o->room);
	}
	return rc;
}

static int rank_open(struct overlap *o, uint32_t rank, void *arg)
{
	struct overlap_rank *me = &o->ranks[rank];
	cudaError_t rc = rank_streams(me);

	(void)arg;
	if (rc == cudaSuccess)
		rc = rank_events(me);
	if (rc == cudaSuccess)
		rc = rank_buffers(o, me);
	if (rc == cudaSuccess && o->options.mode != OVERLAP_ALONE)
		rc = rank_operands(o, rank);
	if (rc == cudaSuccess)
		rc = cudaStreamSynchronize(me->compute);
	if (rc != cudaSuccess)
		return gt_overlap_cuda(rank, "set up", rc);
	if (o->options.mode == OVERLAP_ALONE)
		return GT_OK;
	me->blas = gt_blas_open(me->compute);
	return me->blas ? GT_OK : GT_ESYS;
}

int gt_overlap_ranks_open(struct overlap *o)
{
	for (uint32_t r = o->first; r < o->end; r++)
		o->ranks[r].gpu = gtopo_comm_gpu(o->base, (int)r);
	return gt_overlap_each(o, rank_open, NULL);
}
