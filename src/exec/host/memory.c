/*
 * The buffers of the host engine's ranks, and how much memory there is for
 * them.
 */
#include "exec/host/host.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "kernels/pattern.h"
#include "plan/ir/plan.h"

enum {
	GT_HOST_PROC_BYTES = 1 << 16, /* of a file in /proc or /sys */
	GT_HOST_HUGE_BYTES = 2 << 20,
	GT_HOST_EXTRA_BYTES = 128, /* room for a request's shift */
};

/* The number that follows `name` in a small text file, or UINT64_MAX. */
static uint64_t gt_memory_read(const char *path, const char *name)
{
	struct gt_buf text = GT_BUF_INIT;
	uint64_t value = UINT64_MAX;
	const char *at;

	if (!gt_file_read(path, GT_HOST_PROC_BYTES, &text, NULL)) {
		at = gt_buf_text(&text);
		at = at ? strstr(at, name) : NULL;
		if (!at || sscanf(at + strlen(name), "%" SCNu64, &value) != 1)
			value = UINT64_MAX;
	}
	gt_buf_release(&text);
	return value;
}

/*
 * The memory that may still be taken: the machine's, or the container's if that
 * is less.
 */
static uint64_t gt_memory_available(void)
{
	uint64_t machine = gt_memory_read("/proc/meminfo", "MemAvailable:");
	uint64_t limit = gt_memory_read("/sys/fs/cgroup/memory.max", "");
	uint64_t used = gt_memory_read("/sys/fs/cgroup/memory.current", "");

	machine = machine > UINT64_MAX >> 10 ? UINT64_MAX : machine << 10;
	if (limit == UINT64_MAX || used == UINT64_MAX)
		return machine;
	limit = limit > used ? limit - used : 0;
	return limit < machine ? limit : machine;
}

static int gt_memory_check(uint32_t nranks, uint64_t max_bytes,
			   struct gt_err *err)
{
	uint64_t available = gt_memory_available(), need;

	if (__builtin_mul_overflow(max_bytes, 2 * (uint64_t)nranks, &need))
		need = UINT64_MAX;
	if (need < available)
		return GT_OK;
	return gt_err_set(err, GT_ESYS, NULL,
			  "%u ranks need %.1f GiB for buffers of '%" PRIu64
			  "' bytes, %.1f GiB are available; use a smaller "
			  "largest size",
			  nranks, (double)need / 0x1p30, max_bytes,
			  (double)available / 0x1p30);
}

/* Large pages, where the system gives them, save faults on first touch. */
static char *gt_memory_map(uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (bytes >= GT_HOST_HUGE_BYTES)
		madvise(at, bytes, MADV_HUGEPAGE);
	return at;
}

int gt_host_memory_new(struct gt_engine *engine, struct gt_err *err)
{
	uint64_t bytes = engine->config.max_bytes;
	int rc = gt_memory_check(gt_host_nlocal(engine), bytes, err);

	for (uint32_t r = engine->first; !rc && r < engine->end; r++) {
		engine->ranks[r].send =
			gt_memory_map(bytes + GT_HOST_EXTRA_BYTES);
		engine->ranks[r].recv =
			gt_memory_map(bytes + GT_HOST_EXTRA_BYTES);
		if (!engine->ranks[r].send || !engine->ranks[r].recv)
			rc = gt_err_nomem(err);
	}
	return rc;
}

void gt_host_memory_free(struct gt_engine *engine)
{
	uint64_t bytes = engine->config.max_bytes;

	for (uint32_t r = engine->first; r < engine->end; r++) {
		if (engine->ranks[r].send)
			munmap(engine->ranks[r].send,
			       bytes + GT_HOST_EXTRA_BYTES);
		if (engine->ranks[r].recv)
			munmap(engine->ranks[r].recv,
			       bytes + GT_HOST_EXTRA_BYTES);
	}
}

static struct gt_range gt_memory_extent(const struct gt_host_rank *rank,
					const struct gt_exec_request *req,
					enum gt_extent extent, uint64_t total)
{
	if (extent == GT_EXTENT_OWN)
		return (struct gt_range){rank->rank * req->count, req->count};
	return (struct gt_range){0, extent == GT_EXTENT_ALL ? total : 0};
}

static void gt_memory_place_rank(struct gt_host_rank *rank,
				 const struct gt_exec_request *req,
				 uint64_t total)
{
	const struct gt_channel_use use = {.coll = req->coll,
					   .root = req->root};
	struct gt_host_buffer *in = &rank->input, *out = &rank->output;
	size_t shift_bytes = req->shift * gt_dtype_bytes(req->dtype);

	rank->times = req->scalars ? req->scalars[rank->rank]
				   : gt_pattern_scalar(req->dtype, rank->rank);
	in->has = gt_memory_extent(rank, req, gt_layout_input(&use, rank->rank),
				   total);
	out->has = gt_memory_extent(rank, req,
				    gt_layout_output(&use, rank->rank), total);
	in->base = rank->send + shift_bytes;
	out->base = rank->recv + shift_bytes;
	in->origin = in->has.offset;
	out->origin = out->has.offset;
	if (req->buffers) {
		in->base = (char *)req->buffers[rank->rank].input;
		out->base = req->buffers[rank->rank].output;
		return;
	}
	/* In place, a block lies where it is in the whole buffer. */
	if (req->inplace) {
		in->base = out->base;
		in->origin = 0;
		out->origin = 0;
	}
}

int gt_host_memory_place(struct gt_engine *engine,
			 const struct gt_exec_request *req, struct gt_err *err)
{
	uint64_t blocks = gt_coll_has_blocks(req->coll) ? engine->nranks : 1;
	uint64_t total, bytes;

	if (__builtin_mul_overflow(req->count, blocks, &total) ||
	    __builtin_mul_overflow(total, gt_dtype_bytes(req->dtype), &bytes) ||
	    (!req->buffers && bytes > engine->config.max_bytes))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "'%" PRIu64 "' elements are more than the "
				  "buffers of %" PRIu64 " bytes hold",
				  req->count, engine->config.max_bytes);
	for (uint32_t r = engine->first; r < engine->end; r++)
		gt_memory_place_rank(&engine->ranks[r], req, total);
	return GT_OK;
}
