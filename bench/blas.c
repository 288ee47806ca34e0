#include "blas.h"

#include <dlfcn.h>
#include <library_types.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	/* What cuBLAS asks for on Hopper. */
	BLAS_WORKSPACE_BYTES = 32 << 20,
	/* Of cuBLAS's binary interface, 12 and 13. */
	BLAS_OP_N = 0,
	BLAS_COMPUTE_32F = 68,
	BLAS_GEMM_DEFAULT = -1,
};

struct blas_calls {
	int (*create)(void **handle);
	int (*destroy)(void *handle);
	const char *(*words)(int status);
	int (*version)(void *handle, int *version);
	int (*stream)(void *handle, cudaStream_t stream);
	int (*workspace)(void *handle, void *workspace, size_t bytes);
	int (*product)(void *handle, int op_a, int op_b, int m, int n, int k,
		       const void *alpha, const void *a, cudaDataType a_type,
		       int lda, const void *b, cudaDataType b_type, int ldb,
		       const void *beta, void *c, cudaDataType c_type, int ldc,
		       int compute, int algo);
};

struct gt_blas {
	struct blas_calls calls;
	void *handle, *workspace;
};

static void *blas_library(void)
{
	static const char *const names[] = {"libcublas.so.13",
					    "libcublas.so.12"};
	const char *path = getenv("GTOPO_CUBLAS");
	void *lib = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;

	for (size_t i = 0; !lib && !path && i < 2; i++)
		lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		fprintf(stderr, "cublas: %s; GTOPO_CUBLAS names another one\n",
			dlerror());
	return lib;
}

static int blas_load(struct blas_calls *calls)
{
	static const char *const names[] = {
		"cublasCreate_v2",       "cublasDestroy_v2",
		"cublasGetStatusString", "cublasGetVersion_v2",
		"cublasSetStream_v2",    "cublasSetWorkspace_v2",
		"cublasGemmEx",
	};
	void **slots = (void **)calls, *lib = blas_library();

	if (!lib)
		return -1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		slots[i] = dlsym(lib, names[i]);
		if (!slots[i]) {
			fprintf(stderr, "cublas: no %s\n", names[i]);
			return -1;
		}
	}
	return 0;
}

struct gt_blas *gt_blas_open(cudaStream_t stream)
{
	struct gt_blas *blas = calloc(1, sizeof(*blas));
	int rc;

	if (!blas || blas_load(&blas->calls)) {
		free(blas);
		return NULL;
	}
	if (cudaMalloc(&blas->workspace, BLAS_WORKSPACE_BYTES) != cudaSuccess) {
		fprintf(stderr, "cublas: no memory for its workspace\n");
		gt_blas_close(blas);
		return NULL;
	}
	rc = blas->calls.create(&blas->handle);
	if (!rc)
		rc = blas->calls.stream(blas->handle, stream);
	if (!rc)
		rc = blas->calls.workspace(blas->handle, blas->workspace,
					   BLAS_WORKSPACE_BYTES);
	if (!rc)
		return blas;
	fprintf(stderr, "cublas: cannot set up: %s\n", gt_blas_words(blas, rc));
	gt_blas_close(blas);
	return NULL;
}

void gt_blas_close(struct gt_blas *blas)
{
	if (!blas)
		return;
	if (blas->handle)
		blas->calls.destroy(blas->handle);
	cudaFree(blas->workspace);
	free(blas);
}

int gt_blas_run(struct gt_blas *blas, const struct gt_blas_product *p)
{
	const float one = 1, zero = 0;

	/* Columns are contiguous, as in Fortran. */
	return blas->calls.product(
		blas->handle, BLAS_OP_N, BLAS_OP_N, p->m, p->n, p->k, &one,
		p->a, CUDA_R_16BF, p->m, p->b, CUDA_R_16BF, p->k, &zero, p->c,
		CUDA_R_16BF, p->m, BLAS_COMPUTE_32F, BLAS_GEMM_DEFAULT);
}

int gt_blas_version(const struct gt_blas *blas)
{
	int version = 0;

	return blas->calls.version(blas->handle, &version) ? 0 : version;
}

const char *gt_blas_words(const struct gt_blas *blas, int code)
{
	return blas->calls.words(code);
}
