/*
 * NCCL's ABI in our own words: the numbers and layouts that programs compiled
 * against any nccl.h since 2.14 were compiled with.  Functions are declared
 * where they are defined.
 */
#ifndef GT_NCCL_ABI_H
#define GT_NCCL_ABI_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GT_NCCL_VERSION = 22707, /* what is told, unless the user says else */
	GT_NCCL_NEWEST = 23203,  /* whose functions and structs are known */
	GT_NCCL_MAGIC = (int)0xcafebeef,
	GT_NCCL_SIM_MAGIC = 0x74685283,
	GT_NCCL_UNDEFINED = INT_MIN,
	GT_NCCL_NO_COLOUR = -1,
	GT_NCCL_ID_BYTES = 128,
};

typedef enum {
	GT_NCCL_SUCCESS,
	GT_NCCL_CUDA_ERROR,
	GT_NCCL_SYSTEM_ERROR,
	GT_NCCL_INTERNAL_ERROR,
	GT_NCCL_INVALID_ARGUMENT,
	GT_NCCL_INVALID_USAGE,
	GT_NCCL_REMOTE_ERROR,
	GT_NCCL_IN_PROGRESS,
	GT_NCCL_TIMEOUT,
} gt_nccl_result;

typedef struct {
	char bytes[GT_NCCL_ID_BYTES];
} gt_nccl_id;

typedef struct ncclComm *gt_nccl_comm; /* src/nccl/handle.h */
typedef void *gt_nccl_stream;          /* a cudaStream_t */

/* Types and operators come as the numbers of ncclDataType_t, ncclRedOp_t. */
typedef int gt_nccl_type, gt_nccl_op;

enum { GT_NCCL_OPS = 5, GT_NCCL_SCALAR_DEVICE = 0, GT_NCCL_SCALAR_HOST = 1 };

/* A team of ranks, as functions of the device API return it. */
typedef struct {
	int size, rank, stride;
} gt_nccl_team;

/*
 * Define a function of the ABI: `pncclX` is the function and `ncclX` a weak
 * name of it, so that a profiler can put its own ncclX before it.
 */
#define GT_NCCL_API(type, name, ...)                                           \
	__attribute__((visibility("default"))) type p##name(__VA_ARGS__);      \
	__attribute__((visibility("default"), weak, alias("p" #name)))         \
	type name(__VA_ARGS__);                                                \
	type p##name(__VA_ARGS__)

#endif
