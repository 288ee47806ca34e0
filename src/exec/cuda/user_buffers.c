/*
 * Callers' buffers that other processes reach into: ranks register them, tell
 * one another where their buffers of a request lie, and ask for them back.
 */
#include "exec/cuda/user_buffers.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "exec/cuda/device/driver.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/registration.h"
#include "exec/cuda/requests.h"
#include "world/world.h"

enum {
	GT_BUFFERS_SPIN_NS =
		200000, /* of a wait, before it sleeps in between */
	GT_BUFFERS_SLEEP_NS = 20000,
};

static uint32_t gt_buffers_local(const struct gt_engine *engine, uint32_t rank)
{
	return rank - engine->group.first;
}

static struct gt_exchange_slot *gt_buffers_slot(const struct gt_engine *engine,
						uint32_t process)
{
	return &engine->exchange->slots[process];
}

int gt_user_buffers_open(struct gt_engine *engine, struct gt_err *err)
{
	size_t n = engine->group.end - engine->group.first;

	engine->views = gt_arena_array(engine->arena, n * engine->plan->nranks,
				       sizeof(*engine->views));
	return engine->views ? GT_OK : gt_err_nomem(err);
}

static int gt_buffers_is_on_device(const struct gt_engine *engine,
				   uint32_t rank, const void *at)
{
	struct cudaPointerAttributes is;

	if (cudaPointerGetAttributes(&is, at) != cudaSuccess) {
		cudaGetLastError();
		return 0;
	}
	return is.type == cudaMemoryTypeDevice &&
	       is.device == engine->ranks[rank].device;
}

int gt_cuda_owns(const struct gt_engine *engine, uint32_t rank,
		 const void *buffer, uint64_t bytes, struct gt_err *err)
{
	const char *at = buffer;

	return gt_buffers_is_on_device(engine, rank, at) &&
			       gt_buffers_is_on_device(engine, rank,
						       at + bytes - 1)
		       ? GT_OK
		       : gt_err_set(err, GT_EINPUT, NULL,
				    "the buffer is not memory of rank %u's GPU "
				    "(%s)",
				    rank, engine->plan->ranks[rank].device);
}

/* Let the process's other GPUs reach the buffer, however it was made. */
static int gt_buffers_allow(struct gt_engine *engine, uint32_t rank,
			    struct gt_cuda_extent extent, struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	uint32_t n = group->end - group->first;
	int devices[GT_P2P_RANKS];
	cudaError_t rc;

	if (n < 2 || n > GT_P2P_RANKS || engine->stages_in_host)
		return GT_OK;
	for (uint32_t v = 0; v < n; v++)
		devices[v] = engine->ranks[group->first + v].device;
	rc = cudaSetDevice(engine->ranks[rank].device);
	if (rc == cudaSuccess)
		rc = gt_cuda_allow(extent, devices, n);
	return rc == cudaSuccess ? GT_OK
				 : gt_cuda_fail(engine, rank, (int)rc,
						"let other GPUs reach the "
						"buffer",
						err);
}

int gt_cuda_register(struct gt_engine *engine, uint32_t rank,
		     const void *buffer, uint64_t bytes, struct gt_err *err)
{
	struct gt_cuda_extent extent = {buffer, bytes};
	struct gt_cuda_rank *me = &engine->ranks[rank];
	struct gt_registration *reg;
	int rc = gt_cuda_owns(engine, rank, buffer, bytes, err);

	if (rc)
		return rc;
	for (reg = me->registrations; reg; reg = reg->next)
		if (reg->base == buffer)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "the buffer is registered already");
	rc = gt_buffers_allow(engine, rank, extent, err);
	if (rc)
		return rc;
	reg = calloc(1, sizeof(*reg));
	if (!reg)
		return gt_err_nomem(err);
	reg->base = buffer;
	reg->bytes = bytes;
	reg->number = ++me->nregistrations;
	reg->next = me->registrations;
	me->registrations = reg;
	return GT_OK;
}

int gt_user_buffers_exist(const struct gt_engine *engine)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++)
		if (engine->ranks[r].registrations)
			return 1;
	return 0;
}

static void gt_registration_drop(const struct gt_engine *engine,
				 struct gt_registration **at)
{
	struct gt_registration *reg = *at;

	if (!reg)
		return;
	*at = reg->next;
	gt_registration_unmap(engine, reg);
	free(reg);
}

int gt_user_buffers_release_due(const struct gt_engine *engine)
{
	const struct gt_process_group *group = &engine->group;

	if (!group->world || !engine->exchange)
		return 0;
	for (uint32_t p = 0; p < group->nprocesses; p++)
		if (__atomic_load_n(&gt_buffers_slot(engine, p)->requests,
				    __ATOMIC_ACQUIRE) >
		    gt_buffers_slot(engine, group->self)->released[p])
			return 1;
	return 0;
}

/*
 * Drop what process p wants back.  It has written rank and number, which may
 * be anything; what is not its own stays.
 */
static void gt_registration_return(const struct gt_engine *engine, uint32_t p,
				   const struct gt_exchange_slot *slot)
{
	uint64_t rank = slot->rank, number = slot->number;

	if (rank < engine->plan->nranks &&
	    gt_process_group_of_rank(&engine->group, (uint32_t)rank) == p)
		gt_registration_drop(
			engine,
			gt_registration_find(engine, (uint32_t)rank, number));
}

void gt_user_buffers_service(struct gt_engine *engine)
{
	struct gt_exchange_slot *mine =
		gt_buffers_slot(engine, engine->group.self);

	for (uint32_t p = 0; p < engine->group.nprocesses; p++) {
		const struct gt_exchange_slot *slot =
			gt_buffers_slot(engine, p);
		uint64_t requests =
			__atomic_load_n(&slot->requests, __ATOMIC_ACQUIRE);

		if (requests <= mine->released[p])
			continue;
		if (p != engine->group.self)
			gt_registration_return(engine, p, slot);
		__atomic_store_n(&mine->released[p], requests,
				 __ATOMIC_RELEASE);
	}
}

/* Wait until another process has raised *number to `least`. */
static int gt_buffers_wait(struct gt_engine *engine, uint32_t process,
			   const uint64_t *number, uint64_t least,
			   struct gt_err *err)
{
	const struct timespec some = {0, GT_BUFFERS_SLEEP_NS};
	struct gt_world *world = engine->group.world;
	int64_t begin = gt_clock_ns(), now;

	while (__atomic_load_n(number, __ATOMIC_ACQUIRE) < least) {
		if (gt_user_buffers_release_due(engine))
			gt_user_buffers_service(engine);
		if (gt_cuda_interrupted(engine))
			return gt_err_set(err, GT_ESYS, NULL, "interrupted");
		if (gt_cuda_is_aborted(engine))
			return gt_cuda_diagnose(engine, engine->plan->nranks,
						err);
		if (gt_world_failed(world, err))
			return GT_ESYS;
		now = gt_clock_ns();
		if (now - begin > engine->config.timeout_ns)
			return gt_err_set(
				err, GT_ESYS, NULL,
				"%s has not come to the operation, or left "
				"what is deregistered, within %.1f s; all "
				"processes register before the same operation",
				gt_world_name(world, process),
				(double)engine->config.timeout_ns / 1e9);
		if (now - begin < GT_BUFFERS_SPIN_NS)
			sched_yield();
		else
			nanosleep(&some, NULL);
	}
	return GT_OK;
}

int gt_cuda_deregister(struct gt_engine *engine, uint32_t rank,
		       const void *buffer, struct gt_err *err)
{
	struct gt_registration **at = &engine->ranks[rank].registrations, *reg;
	struct gt_process_group *group = &engine->group;
	struct gt_exchange_slot *mine;
	int rc = GT_OK;

	while (*at && (*at)->base != buffer)
		at = &(*at)->next;
	reg = *at;
	if (!reg)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the buffer is not registered");
	*at = reg->next;
	if (reg->is_known && !reg->refused && !engine->failed) {
		mine = gt_buffers_slot(engine, group->self);
		mine->number = reg->number;
		mine->rank = rank;
		__atomic_store_n(&mine->requests, mine->requests + 1,
				 __ATOMIC_RELEASE);
		for (uint32_t p = 0; !rc && p < group->nprocesses; p++)
			rc = gt_buffers_wait(engine, p,
					     &gt_buffers_slot(engine, p)
						      ->released[group->self],
					     mine->requests, err);
	}
	free(reg);
	return rc;
}

void gt_user_buffers_close(struct gt_engine *engine)
{
	struct gt_exchange_slot *mine;

	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		while (engine->ranks[r].registrations)
			gt_registration_drop(engine,
					     &engine->ranks[r].registrations);
	if (!engine->group.world || !engine->exchange)
		return;
	/* Whatever others request from now on has been released. */
	mine = gt_buffers_slot(engine, engine->group.self);
	for (uint32_t p = 0; p < GT_P2P_RANKS; p++)
		__atomic_store_n(&mine->released[p], UINT64_MAX,
				 __ATOMIC_RELEASE);
}

/* Find the registration of a local rank that has all these bytes. */
static struct gt_registered_offset gt_registered_offset_of(
	const struct gt_engine *engine, uint32_t rank, const char *buffer,
	uint64_t bytes)
{
	struct gt_registration *reg = engine->ranks[rank].registrations;

	if (!bytes)
		return (struct gt_registered_offset){.number = GT_OFFSET_NONE};
	for (; reg; reg = reg->next)
		if (buffer >= reg->base && bytes <= reg->bytes &&
		    buffer - reg->base <= (ptrdiff_t)(reg->bytes - bytes))
			return (struct gt_registered_offset){
				reg->number, (uint64_t)(buffer - reg->base)};
	return (struct gt_registered_offset){.number = GT_OFFSET_UNREGISTERED};
}

/*
 * Say which buffers the local ranks use, wait until all processes have done so,
 * and take a copy of what they said: nobody writes that any more.
 */
static int gt_buffers_tell(struct gt_engine *engine,
			   const struct gt_exec_request *req,
			   struct gt_exchange_entry entries[GT_P2P_RANKS],
			   struct gt_err *err)
{
	const struct gt_process_group *group = &engine->group;
	struct gt_exchange_slot *mine = gt_buffers_slot(engine, group->self);
	uint64_t number = mine->meetings + 1;
	struct gt_exchange_entry *own = engine->exchange->entries[number % 2];
	size_t elem = gt_dtype_bytes(req->dtype);
	int rc = GT_OK;

	for (uint32_t r = group->first; r < group->end; r++) {
		struct gt_cuda_span span = gt_cuda_span_of(engine, req, r, r);

		own[r] = (struct gt_exchange_entry){
			.input = gt_registered_offset_of(
				engine, r, span.input, span.input_count * elem),
			.output = gt_registered_offset_of(
				engine, r, span.output,
				span.output_count * elem),
			.inplace = (uint64_t)req->inplace};
	}
	__atomic_store_n(&mine->meetings, number, __ATOMIC_RELEASE);
	for (uint32_t p = 0; !rc && p < group->nprocesses; p++)
		rc = gt_buffers_wait(engine, p,
				     &gt_buffers_slot(engine, p)->meetings,
				     number, err);
	memcpy(entries, own, sizeof(engine->exchange->entries[0]));
	return rc;
}

/* Find a registered place as a local rank sees it; NULL: there is none. */
static char *gt_registered_at(const struct gt_engine *engine, uint32_t viewer,
			      uint32_t rank, struct gt_registered_offset offset)
{
	const struct gt_registration *reg;

	if (offset.number == GT_OFFSET_NONE)
		return NULL;
	reg = *gt_registration_find(engine, rank, offset.number);
	return reg->at[gt_buffers_local(engine, viewer)] + offset.offset;
}

static int gt_registered_is_open(const struct gt_engine *engine, uint32_t rank,
				 struct gt_registered_offset offset)
{
	const struct gt_registration *reg =
		*gt_registration_find(engine, rank, offset.number);

	return offset.number == GT_OFFSET_NONE || (reg && !reg->refused);
}

static struct gt_buffers *gt_buffers_view(const struct gt_engine *engine,
					  uint32_t viewer)
{
	return engine->views +
	       (size_t)gt_buffers_local(engine, viewer) * engine->plan->nranks;
}

const struct gt_buffers *gt_user_buffers_seen_by(const struct gt_engine *engine,
						 uint32_t viewer)
{
	return gt_buffers_view(engine, viewer);
}

static int gt_buffers_view_all(struct gt_engine *engine,
			       const struct gt_exchange_entry *entries)
{
	const struct gt_process_group *group = &engine->group;
	uint32_t n = engine->plan->nranks;

	for (uint32_t r = 0; r < n; r++)
		if (!gt_registered_is_open(engine, r, entries[r].input) ||
		    !gt_registered_is_open(engine, r, entries[r].output))
			return 0;
	for (uint32_t v = group->first; v < group->end; v++)
		for (uint32_t r = 0; r < n; r++)
			gt_buffers_view(engine, v)[r] = (struct gt_buffers){
				gt_registered_at(engine, v, r,
						 entries[r].input),
				gt_registered_at(engine, v, r,
						 entries[r].output)};
	return 1;
}

int gt_user_buffers_exchange(struct gt_engine *engine,
			     struct gt_exec_request *req, int *opened,
			     struct gt_err *err)
{
	struct gt_exchange_entry entries[GT_P2P_RANKS];
	struct gt_pending_registrations pending = {.n = 0};
	int rc = gt_buffers_tell(engine, req, entries, err);
	int all = 1;

	if (rc)
		return rc;
	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		all &= entries[r].input.number != GT_OFFSET_UNREGISTERED &&
		       entries[r].output.number != GT_OFFSET_UNREGISTERED;
		req->inplace |= entries[r].inplace != 0;
	}
	if (!opened)
		return GT_OK;
	*opened = 0;
	if (!all)
		return GT_OK;
	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		gt_pending_registrations_add(engine, &pending, r,
					     entries[r].input.number);
		gt_pending_registrations_add(engine, &pending, r,
					     entries[r].output.number);
	}
	if (pending.n) {
		engine->meets_always = 1;
		rc = gt_pending_registrations_open(engine, &pending, err);
	}
	if (!rc)
		*opened = gt_buffers_view_all(engine, entries);
	return rc;
}
