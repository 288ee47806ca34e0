/* Memory that devices reach: the host's, or a GPU's by CUDA's driver. */
#include "soft.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#undef ibv_reg_mr

/* Whoever does not wait for it looks before that, on a busy machine, too. */
#define SOFT_LATE_NS 1000000000ll

/* What is completed, but not there yet. */
struct soft_late {
	struct soft_late *next;
	const struct soft_memory *memory;
	uint64_t at;
	int64_t due_ns;
	uint32_t bytes;
	char data[];
};

static struct soft_memory *memories[SOFT_KEYS];
static uint32_t turns[SOFT_KEYS];
static struct soft_late *late_first, **late_last = &late_first;

int soft_has_word(const char *word)
{
	const char *list = getenv("GTOPO_SOFT_VERBS");

	return list && strstr(list, word) != NULL;
}

static int64_t soft_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* CUDA's driver, if the program has loaded it. */
static void *soft_cuda(const char *name)
{
	static void *driver;

	if (!driver)
		driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	return driver ? dlsym(driver, name) : NULL;
}

/* 1: a GPU's address; its context becomes this thread's. */
static int soft_cuda_enter(uint64_t at)
{
	enum { CONTEXT = 1, MEMORY_TYPE = 2, DEVICE = 2 };
	int (*ask)(void *, int, unsigned long long) =
		(int (*)(void *, int, unsigned long long))soft_cuda(
			"cuPointerGetAttribute");
	int (*enter)(void *) = (int (*)(void *))soft_cuda("cuCtxSetCurrent");
	void *context = NULL;
	unsigned type = 0;

	if (!ask || !enter || ask(&type, MEMORY_TYPE, at) || type != DEVICE)
		return 0;
	return !ask(&context, CONTEXT, at) && !enter(context);
}

/*
 * What copies go by: a stream that waits for no other, as a kernel may be
 * waiting for these bytes, with queues of its own (its priority), and memory
 * that the copy engine reads itself.  All of it is made and used once before
 * any kernel runs, as the driver waits for kernels when it loads something.
 */
struct soft_path {
	void *context, *stream, *pinned;
};

static struct soft_path *soft_cuda_path(void)
{
	enum { CONTEXTS = 16, NON_BLOCKING = 1, PORTABLE = 1, HIGHEST = -5 };
	static struct soft_path paths[CONTEXTS];
	int (*current)(void **) =
		(int (*)(void **))soft_cuda("cuCtxGetCurrent");
	int (*create)(void **, unsigned, int) = (int (*)(
		void **, unsigned, int))soft_cuda("cuStreamCreateWithPriority");
	int (*pin)(void **, size_t, unsigned) =
		(int (*)(void **, size_t, unsigned))soft_cuda("cuMemHostAlloc");
	void *context = NULL;
	int i = 0;

	if (current(&context))
		return NULL;
	while (i < CONTEXTS && paths[i].context && paths[i].context != context)
		i++;
	if (i == CONTEXTS)
		return NULL;
	if (!paths[i].context &&
	    (create(&paths[i].stream, NON_BLOCKING, HIGHEST) ||
	     pin(&paths[i].pinned, SOFT_BLOCK, PORTABLE)))
		return NULL;
	paths[i].context = context;
	return &paths[i];
}

/* One copy at a time. */
static int soft_cuda_copy(uint64_t at, void *host, uint32_t bytes, int writes)
{
	int (*wait)(void *) = (int (*)(void *))soft_cuda("cuStreamSynchronize");
	int (*put)(uint64_t, const void *, size_t, void *) =
		(int (*)(uint64_t, const void *, size_t, void *))soft_cuda(
			"cuMemcpyHtoDAsync_v2");
	int (*get)(void *, uint64_t, size_t, void *) =
		(int (*)(void *, uint64_t, size_t, void *))soft_cuda(
			"cuMemcpyDtoHAsync_v2");
	struct soft_path *path = soft_cuda_enter(at) ? soft_cuda_path() : NULL;
	int rc;

	if (!path || bytes > SOFT_BLOCK)
		return EFAULT;
	if (writes)
		memcpy(path->pinned, host, bytes);
	rc = writes ? put(at, path->pinned, bytes, path->stream)
		    : get(path->pinned, at, bytes, path->stream);
	if (!rc)
		rc = wait(path->stream);
	if (!writes && !rc)
		memcpy(host, path->pinned, bytes);
	return rc ? EFAULT : 0;
}

/* A GPU's memory, before it is used: see soft_path. */
static int soft_cuda_prepare(uint64_t at)
{
	uint64_t word;

	return soft_cuda_copy(at, &word, sizeof(word), 0) ||
	       soft_cuda_copy(at, &word, sizeof(word), 1);
}

struct soft_memory *soft_memory_find(uint32_t key, uint64_t at, uint64_t bytes,
				     int access)
{
	struct soft_memory *memory = memories[(key >> 8) % SOFT_KEYS];

	if (!memory || memory->mr.rkey != key ||
	    (memory->access & access) != access || at < memory->base ||
	    bytes > memory->mr.length ||
	    at - memory->base > memory->mr.length - bytes)
		return NULL;
	return memory;
}

static int soft_memory_place(const struct soft_memory *memory, uint64_t at,
			     const void *from, uint32_t bytes)
{
	if (memory->is_gpu)
		return soft_cuda_copy(at, (void *)(uintptr_t)from, bytes, 1);
	memcpy((void *)(uintptr_t)at, from, bytes);
	return 0;
}

int soft_memory_settle(int all)
{
	int64_t now = soft_now_ns();
	struct soft_late *late;

	while ((late = late_first) && (all || late->due_ns <= now)) {
		soft_memory_place(late->memory, late->at, late->data,
				  late->bytes);
		late_first = late->next;
		if (!late_first)
			late_last = &late_first;
		free(late);
	}
	return late_first != NULL;
}

int soft_memory_write(const struct soft_memory *memory, uint64_t at,
		      const void *from, uint32_t bytes)
{
	struct soft_late *late;

	if (!bytes)
		return 0;
	if (!memory->is_device || !soft_has_word("late"))
		return soft_memory_place(memory, at, from, bytes);
	late = malloc(sizeof(*late) + bytes);
	if (!late)
		return ENOMEM;
	*late = (struct soft_late){.memory = memory,
				   .at = at,
				   .due_ns = soft_now_ns() + SOFT_LATE_NS,
				   .bytes = bytes};
	memcpy(late->data, from, bytes);
	*late_last = late;
	late_last = &late->next;
	return 0;
}

int soft_memory_read(const struct soft_memory *memory, uint64_t at, void *to,
		     uint32_t bytes)
{
	if (!bytes)
		return 0;
	if (memory->is_gpu)
		return soft_cuda_copy(at, to, bytes, 0);
	memcpy(to, (const void *)(uintptr_t)at, bytes);
	return 0;
}

static struct ibv_mr *soft_memory_new(struct ibv_pd *pd,
				      const struct soft_memory *like)
{
	struct soft_memory *memory = malloc(sizeof(*memory));
	uint32_t i = 0;

	pthread_mutex_lock(&soft_lock);
	if (like->is_gpu && soft_cuda_prepare(like->base))
		i = SOFT_KEYS;
	while (i < SOFT_KEYS && memories[i])
		i++;
	if (memory && i < SOFT_KEYS) {
		*memory = *like;
		memory->mr.context = pd->context;
		memory->mr.pd = pd;
		memory->mr.addr = (void *)(uintptr_t)like->base;
		memory->mr.lkey = memory->mr.rkey = i << 8 | (++turns[i] & 255);
		memories[i] = memory;
	}
	pthread_mutex_unlock(&soft_lock);
	if (!memory || i == SOFT_KEYS) {
		free(memory);
		errno = ENOMEM;
		return NULL;
	}
	return &memory->mr;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			  int access)
{
	struct soft_memory memory = {
		.mr.length = length,
		.base = (uintptr_t)addr,
		.access = access,
		.is_gpu = soft_cuda_enter((uintptr_t)addr),
	};

	memory.is_device = memory.is_gpu;
	if (memory.is_gpu && !soft_has_word("peermem")) {
		errno = EFAULT;
		return NULL;
	}
	return soft_memory_new(pd, &memory);
}

/* Is it one, or may it stand for one where the address is no GPU's? */
static int soft_is_dmabuf(int fd, int is_gpu)
{
	char link[64], target[64] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, target, sizeof(target) - 1) < 0)
		return 0;
	return strstr(target, "dmabuf") ||
	       (!is_gpu && strstr(target, "memfd:"));
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access)
{
	struct soft_memory memory = {
		.mr.length = length,
		.base = iova,
		.access = access,
		.is_gpu = soft_cuda_enter(iova),
		.is_device = 1,
	};

	(void)offset;
	errno = soft_has_word("no-dmabuf")           ? EOPNOTSUPP
		: !soft_is_dmabuf(fd, memory.is_gpu) ? EBADF
						     : 0;
	return errno ? NULL : soft_memory_new(pd, &memory);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	pthread_mutex_lock(&soft_lock);
	soft_memory_settle(1);
	memories[(mr->rkey >> 8) % SOFT_KEYS] = NULL;
	pthread_mutex_unlock(&soft_lock);
	free(mr);
	return 0;
}
