/* Which run-time the face uses; it is looked for once a process. */
#include "nccl/cuda.h"

#include <config.h>
#include <dlfcn.h>
#include <pthread.h>

static pthread_once_t gt_cuda_once = PTHREAD_ONCE_INIT;
static const struct gt_cuda *gt_cuda_found;

static void gt_cuda_find(void)
{
	const struct gt_cuda *(*simulated)(void);

	*(void **)&simulated = dlsym(RTLD_DEFAULT, "gt_nccl_simulated_cuda");
#ifdef HAVE_CUDA
	gt_cuda_found = &gt_cuda_runtime;
#endif
	if (simulated)
		gt_cuda_found = simulated();
}

const struct gt_cuda *gt_cuda_table(void)
{
	pthread_once(&gt_cuda_once, gt_cuda_find);
	return gt_cuda_found;
}
