/*
 * cuBLAS's products, found at run time: nothing here links to it.
 *
 * A handle belongs to a stream of a GPU and has a workspace of its own, so that
 * the stream can be captured.
 */
#ifndef GT_BENCH_BLAS_H
#define GT_BENCH_BLAS_H

#include <cuda_runtime_api.h>

struct gt_blas;

/* c = a * b, of m x k and k x n; bf16, added up as floats. */
struct gt_blas_product {
	const void *a, *b;
	void *c;
	int m, n, k;
};

/*
 * On the current GPU.  The library is libcublas.so.13 or .12, or what the
 * environment's GTOPO_CUBLAS names.  NULL, with a line on stderr, when it is
 * not there or fails.
 */
struct gt_blas *gt_blas_open(cudaStream_t stream);

/* With the handle's GPU as the current one; NULL is allowed. */
void gt_blas_close(struct gt_blas *blas);

/* cuBLAS's code, 0: it is enqueued. */
int gt_blas_run(struct gt_blas *blas, const struct gt_blas_product *product);

const char *gt_blas_words(const struct gt_blas *blas, int code);

/* cuBLAS's version number. */
int gt_blas_version(const struct gt_blas *blas);

#endif
