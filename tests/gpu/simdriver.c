/*
 * What fault_rank.py asks of CUDA's driver, on the simulated run-time of
 * tests/nccl/simcuda.h: so it and faults.py run where there is no GPU.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/simcuda.h"

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_READY = 600 };

struct filling {
	uint32_t *at, value;
	size_t n;
};

int cuInit(unsigned flags)
{
	return flags ? INVALID_VALUE : 0;
}

int cuDeviceGet(int *device, int number)
{
	*device = number;
	return number >= 0 && number < SIM_DEVICES ? 0 : INVALID_VALUE;
}

/* A device's context is its number and one. */
int cuDevicePrimaryCtxRetain(void **context, int device)
{
	*context = (void *)(intptr_t)(device + 1);
	return 0;
}

int cuCtxSetCurrent(void *context)
{
	sim_use_device((int)(intptr_t)context - 1);
	return 0;
}

int cuStreamCreate(void **stream, unsigned flags)
{
	(void)flags;
	*stream = sim_stream_new();
	return 0;
}

int cuStreamQuery(void *stream)
{
	return sim_stream_is_idle(stream) ? 0 : NOT_READY;
}

int cuMemAlloc_v2(uint64_t *memory, size_t bytes)
{
	void *at = malloc(bytes);

	*memory = (uint64_t)(uintptr_t)at;
	return at ? 0 : OUT_OF_MEMORY;
}

static void fill(void *arg)
{
	struct filling *filling = arg;

	for (size_t i = 0; i < filling->n; i++)
		filling->at[i] = filling->value;
	free(filling);
}

int cuMemsetD32Async(uint64_t memory, uint32_t value, size_t n, void *stream)
{
	struct filling *filling = malloc(sizeof(*filling));

	if (!filling)
		return OUT_OF_MEMORY;
	*filling = (struct filling){
		.at = (uint32_t *)(uintptr_t)memory, .value = value, .n = n};
	sim_stream_call(stream, fill, filling);
	return 0;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	memcpy(to, (const void *)(uintptr_t)from, bytes);
	return 0;
}
