/*
 * Callers' buffers that other processes reach into: all ranks register them,
 * and then know where those of a request lie from where their own do.
 */
#include "exec/cuda/user_buffers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "exec/cuda/device/driver.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/p2p/p2p.h"
#include "exec/cuda/registration.h"
#include "exec/cuda/requests.h"
#include "world/world.h"

enum {
	GT_BUFFERS_SLEEP_NS = 20000,
	/* Until kernels that run have seen an abort, in any case. */
	GT_BUFFERS_QUIET_NS = 500000000,
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
	gt_cuda_local_devices(engine, devices);
	rc = cudaSetDevice(engine->ranks[rank].device);
	if (rc == cudaSuccess)
		rc = gt_cuda_allow(extent, devices, n);
	return rc == cudaSuccess ? GT_OK
				 : gt_cuda_fail(engine, rank, (int)rc,
						"let other GPUs reach the "
						"buffer",
						err);
}

static int gt_buffers_add(struct gt_engine *engine, uint32_t rank,
			  const void *buffer, uint64_t bytes,
			  struct gt_err *err)
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
	reg->number = me->nregistrations;
	reg->refused = 1;
	reg->next = me->registrations;
	me->registrations = reg;
	return GT_OK;
}

/*
 * Make what operations on registered memory need.  Without it they go as those
 * on other memory do, in all processes.
 */
static int gt_buffers_equip(struct gt_engine *engine, uint64_t number,
			    uint64_t bytes, struct gt_err *err)
{
	char text[GT_NOTICE_MAX];
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	rc = gt_cuda_reserve_more(engine, bytes, &why);
	if (!rc)
		return GT_OK;
	if (gt_world_failed(engine->group.world, err))
		return GT_ESYS;
	gt_registrations_refuse(engine, number);
	snprintf(text, sizeof(text),
		 "registered memory is used as other memory is: %.120s",
		 why.text);
	gt_process_group_notice(&engine->group, 1, text);
	return GT_OK;
}

/*
 * All processes open what belongs together, and make what operations on it
 * need: nobody waits for anybody then.
 */
static int gt_buffers_meet(struct gt_engine *engine, uint64_t number,
			   struct gt_err *err)
{
	uint64_t most = 0;
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	rc = gt_registrations_open(engine, number, &why);
	/* The others may be at a meeting that this process left out. */
	if (rc) {
		gt_world_abort(engine->group.world, why.text);
		return gt_err_set(err, rc, NULL, "%s", why.text);
	}
	for (uint32_t r = 0; r < engine->plan->nranks; r++) {
		const struct gt_registration *reg =
			*gt_registration_find(engine, r, number);

		if (reg->bytes > most)
			most = reg->bytes;
	}
	return gt_buffers_equip(engine, number, most, err);
}

int gt_cuda_register(struct gt_engine *engine, uint32_t rank,
		     const void *buffer, uint64_t bytes, struct gt_err *err)
{
	uint64_t number = ++engine->ranks[rank].nregistrations;
	int rc = gt_buffers_add(engine, rank, buffer, bytes, err), met;

	if (!engine->reserved_bytes)
		return rc;
	/* The last one of this process meets the others, also if refused. */
	for (uint32_t r = engine->group.first; r < engine->group.end; r++)
		if (engine->ranks[r].nregistrations < number)
			return rc;
	met = gt_buffers_meet(engine, number, rc ? NULL : err);
	return rc ? rc : met;
}

int gt_cuda_deregister(struct gt_engine *engine, uint32_t rank,
		       const void *buffer, struct gt_err *err)
{
	struct gt_registration **at = &engine->ranks[rank].registrations, *reg;
	const struct gt_process_group *group = &engine->group;
	uint64_t number;

	while (*at && (*at)->base != buffer)
		at = &(*at)->next;
	reg = *at;
	if (!reg)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the buffer is not registered");
	*at = reg->next;
	number = reg->number;
	free(reg);
	/* All ranks deregister what belongs together, each when it likes. */
	for (uint32_t r = group->first; r < group->end; r++)
		if (*gt_registration_find(engine, r, number))
			return GT_OK;
	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		if (!gt_process_group_is_local(group, r))
			gt_registration_leave(
				engine,
				gt_registration_find(engine, r, number));
	return GT_OK;
}

void gt_user_buffers_close(struct gt_engine *engine)
{
	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		while (engine->ranks[r].registrations)
			gt_registration_leave(engine,
					      &engine->ranks[r].registrations);
	gt_registrations_close_left(engine);
}

int gt_user_buffers_release_due(const struct gt_engine *engine)
{
	return atomic_load(&engine->left) != NULL;
}

/* Does any neighbour in this process still have something that runs? */
static int gt_buffers_are_loud(const struct gt_engine *engine)
{
	for (uint32_t p = 0; p < engine->group.nprocesses; p++)
		if (engine->same[p] && p != engine->group.self &&
		    !__atomic_load_n(&gt_buffers_slot(engine, p)->quiet,
				     __ATOMIC_ACQUIRE))
			return 1;
	return 0;
}

void gt_user_buffers_quiet(struct gt_engine *engine)
{
	const struct timespec some = {0, GT_BUFFERS_SLEEP_NS};
	int64_t until = gt_clock_ns() + GT_BUFFERS_QUIET_NS;

	if (!engine->some_are_same || !engine->exchange)
		return;
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		cudaSetDevice(engine->ranks[r].device);
		cudaDeviceSynchronize();
	}
	__atomic_store_n(&gt_buffers_slot(engine, engine->group.self)->quiet, 1,
			 __ATOMIC_RELEASE);
	while (gt_buffers_are_loud(engine) && gt_clock_ns() < until)
		nanosleep(&some, NULL);
}

/* Find the registration of a local rank that has all these bytes. */
static struct gt_registered_offset gt_registered_offset_of(
	const struct gt_engine *engine, uint32_t rank, const char *buffer,
	uint64_t bytes)
{
	struct gt_registration *reg = engine->ranks[rank].registrations;

	/* What some process has refused counts nowhere. */
	for (; reg; reg = reg->next)
		if (!reg->refused && buffer >= reg->base &&
		    bytes <= reg->bytes &&
		    buffer - reg->base <= (ptrdiff_t)(reg->bytes - bytes))
			return (struct gt_registered_offset){
				reg->number, (uint64_t)(buffer - reg->base)};
	return (struct gt_registered_offset){.number = GT_OFFSET_UNREGISTERED};
}

/*
 * Which of their buffers do ranks reach into?  Only what others read or write
 * has to lie alike.  Sums read inputs; what only moves is written by whose
 * input it is.
 */
static int gt_buffers_reach_inputs(enum gt_coll coll)
{
	return gt_coll_reduces(coll);
}

static int gt_buffers_reach_outputs(enum gt_coll coll)
{
	return coll == GT_COLL_ALLREDUCE || coll == GT_COLL_ALLGATHER ||
	       coll == GT_COLL_BROADCAST || coll == GT_COLL_ALLTOALL ||
	       coll == GT_COLL_SENDRECV;
}

/* Say where a local rank's buffers lie, as far as they are reached. */
static struct gt_registered_place gt_registered_place_of(
	const struct gt_engine *engine, const struct gt_exec_request *req,
	uint32_t rank)
{
	struct gt_cuda_span span = gt_cuda_span_of(engine, req, rank, rank);
	uint64_t elem = gt_dtype_bytes(req->dtype);
	struct gt_registered_place place = {{GT_OFFSET_NONE, 0},
					    {GT_OFFSET_NONE, 0}};

	if (gt_buffers_reach_outputs(req->coll))
		place.output = gt_registered_offset_of(
			engine, rank, span.output, span.output_count * elem);
	/*
	 * Where others reach into an output that is the input as well, all
	 * ranks are in place or none.
	 */
	if (gt_buffers_reach_inputs(req->coll) ||
	    (gt_cuda_p2p_overwrites(req) &&
	     place.output.number != GT_OFFSET_UNREGISTERED))
		place.input = gt_registered_offset_of(engine, rank, span.input,
						      span.input_count * elem);
	return place;
}

/* Does rank r have so many bytes there, and have all opened them? */
static int gt_registered_is_open(const struct gt_engine *engine, uint32_t r,
				 struct gt_registered_offset at, uint64_t bytes)
{
	const struct gt_registration *reg =
		*gt_registration_find(engine, r, at.number);

	return at.number == GT_OFFSET_NONE ||
	       (at.number != GT_OFFSET_UNREGISTERED && reg && !reg->refused &&
		bytes <= reg->bytes && at.offset <= reg->bytes - bytes);
}

/* Find a registered place as a local rank sees it; NULL: there is none. */
static char *gt_registered_at(const struct gt_engine *engine, uint32_t viewer,
			      uint32_t rank, struct gt_registered_offset at)
{
	if (at.number == GT_OFFSET_NONE)
		return NULL;
	return (*gt_registration_find(engine, rank, at.number))
		       ->at[gt_buffers_local(engine, viewer)] +
	       at.offset;
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

/* The own buffers are where they are; those of others lie alike. */
static void gt_buffers_view_all(struct gt_engine *engine,
				const struct gt_exec_request *req,
				const struct gt_registered_place *place)
{
	const struct gt_process_group *group = &engine->group;

	for (uint32_t v = group->first; v < group->end; v++)
		for (uint32_t r = 0; r < engine->plan->nranks; r++)
			gt_buffers_view(engine, v)[r] =
				gt_process_group_is_local(group, r)
					? req->buffers[r]
					: (struct gt_buffers){
						  gt_registered_at(
							  engine, v, r,
							  place->input),
						  gt_registered_at(
							  engine, v, r,
							  place->output)};
}

/* Do the process's ranks, of which each says where its own lie, agree? */
static int gt_buffers_agree(const struct gt_engine *engine,
			    const struct gt_exec_request *req,
			    const struct gt_registered_place *place,
			    struct gt_err *err)
{
	for (uint32_t r = engine->group.first + 1; r < engine->group.end; r++) {
		struct gt_registered_place other =
			gt_registered_place_of(engine, req, r);

		if (memcmp(&other, place, sizeof(other)) != 0)
			return gt_err_set(
				err, GT_EINPUT, NULL,
				"%s: buffers of rank %u lie elsewhere in "
				"registered memory than those of rank %u, or "
				"one of the two is in place",
				gt_coll_name(req->coll), r,
				engine->group.first);
	}
	return GT_OK;
}

int gt_user_buffers_find(struct gt_engine *engine,
			 const struct gt_exec_request *req,
			 struct gt_registered_place *place, int *opened,
			 struct gt_err *err)
{
	uint32_t first = engine->group.first;
	uint64_t elem = gt_dtype_bytes(req->dtype);
	int rc;

	*place = gt_registered_place_of(engine, req, first);
	rc = gt_buffers_agree(engine, req, place, err);
	/* Of one rank's output nobody else can tell where it is. */
	*opened = !rc && req->coll != GT_COLL_GATHER &&
		  req->coll != GT_COLL_SCATTER;
	for (uint32_t r = 0; *opened && r < engine->plan->nranks; r++) {
		struct gt_cuda_span span =
			gt_cuda_span_of(engine, req, first, r);

		*opened = gt_registered_is_open(engine, r, place->input,
						span.input_count * elem) &&
			  gt_registered_is_open(engine, r, place->output,
						span.output_count * elem);
	}
	if (*opened)
		gt_buffers_view_all(engine, req, place);
	return rc;
}
