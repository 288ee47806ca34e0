/*
 * Copies of memory, cut into pieces that several threads take one by one.
 */
#include "lib/parallel_copy.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/err.h"
#include "base/thread.h"
#include "base/vec.h"

enum {
	GT_COPY_THREADS = 8,           /* at most, beside the caller's */
	GT_COPY_ALONE_BYTES = 1 << 20, /* less is not worth another thread */
	GT_COPY_PIECE_BYTES = 256 << 10,
};

struct gt_copy {
	const char *from;
	char *to;
	uint64_t bytes;
	uint64_t first_piece;
};

int gt_copies_add(struct gt_copies *copies, const void *from, void *to,
		  uint64_t bytes)
{
	struct gt_copy *more = gt_vec_grow(copies->all, copies->n,
					   &copies->room, sizeof(*more));

	if (!more)
		return GT_ESYS;
	copies->all = more;
	copies->all[copies->n++] =
		(struct gt_copy){.from = from,
				 .to = to,
				 .bytes = from == to ? 0 : bytes,
				 .first_piece = copies->pieces};
	copies->bytes += bytes;
	copies->pieces +=
		(bytes + GT_COPY_PIECE_BYTES - 1) / GT_COPY_PIECE_BYTES;
	return GT_OK;
}

static void gt_copy_piece(const struct gt_copies *copies, uint64_t piece)
{
	const struct gt_copy *copy = copies->all;
	uint64_t offset, bytes;

	while (copy + 1 < copies->all + copies->n &&
	       copy[1].first_piece <= piece)
		copy++;
	offset = (piece - copy->first_piece) * GT_COPY_PIECE_BYTES;
	if (offset >= copy->bytes)
		return;
	bytes = copy->bytes - offset;
	memcpy(copy->to + offset, copy->from + offset,
	       bytes < GT_COPY_PIECE_BYTES ? bytes : GT_COPY_PIECE_BYTES);
}

static void *gt_copies_main(void *arg)
{
	struct gt_copies *copies = arg;
	uint64_t piece;

	while ((piece = atomic_fetch_add(&copies->next, 1)) < copies->pieces &&
	       !atomic_load(copies->interrupt))
		gt_copy_piece(copies, piece);
	return NULL;
}

void gt_copies_run(struct gt_copies *copies)
{
	pthread_t threads[GT_COPY_THREADS];
	uint32_t cpus = gt_cpus_count(), n = 0;
	struct gt_err err;

	if (copies->bytes < GT_COPY_ALONE_BYTES)
		cpus = 1;
	gt_err_init(&err);
	/* A thread that cannot be had is not needed. */
	while (n + 1 < cpus && n < GT_COPY_THREADS && n + 1 < copies->pieces &&
	       !gt_thread_start(&threads[n], gt_copies_main, copies, &err))
		n++;
	gt_copies_main(copies);
	while (n)
		pthread_join(threads[--n], NULL);
}

void gt_copies_free(struct gt_copies *copies)
{
	free(copies->all);
}
