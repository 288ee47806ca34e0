/*
 * Opens memory that other processes have registered: its owners tell how it can
 * be opened, and what one process cannot open nobody uses.
 */
#include "exec/cuda/registration.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/driver.h"
#include "exec/cuda/device/state.h"
#include "exec/link/fd_passing.h"
#include "world/world.h"

enum gt_registration_kind {
	GT_REGISTRATION_CLOSED, /* nobody else can open it */
	GT_REGISTRATION_IPC,    /* cudaMalloc()'s */
	GT_REGISTRATION_FILES,  /* cuMemMap()'s: a file for each piece */
};

/* The owner of a registration tells this of it. */
struct gt_registration_key {
	uint64_t kind;
	uint64_t offset; /* in what the handle, or all files, stand for */
	cudaIpcMemHandle_t handle;
};

/* Pending registrations on their way to being opened by all processes. */
struct gt_registration_exchange {
	struct gt_engine *engine;
	const struct gt_pending_registrations *pending;
	struct gt_world_part *parts; /* [processes] */
	struct gt_registration_key keys[GT_PENDING_REGISTRATIONS]; /* of each */
	uint8_t refused[GT_PENDING_REGISTRATIONS];
	/*
	 * Files are tagged with the number of their registration among the
	 * pending ones.
	 */
	struct gt_fd_packet *mine, *theirs;
	uint32_t nmine, ntheirs;
};

struct gt_registration **gt_registration_find(const struct gt_engine *engine,
					      uint32_t rank, uint64_t number)
{
	struct gt_registration **at = &engine->ranks[rank].registrations;

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

void gt_registration_unmap(const struct gt_engine *engine,
			   struct gt_registration *reg)
{
	uint32_t n = engine->group.end - engine->group.first;

	for (uint32_t v = 0; v < n; v++) {
		if (!reg->opened[v])
			continue;
		cudaSetDevice(engine->ranks[engine->group.first + v].device);
		cudaIpcCloseMemHandle(reg->opened[v]);
		reg->opened[v] = NULL;
	}
	gt_cuda_mapping_drop(&reg->map);
	cudaGetLastError();
}

void gt_pending_registrations_add(const struct gt_engine *engine,
				  struct gt_pending_registrations *pending,
				  uint32_t rank, uint64_t number)
{
	const struct gt_registration *reg =
		*gt_registration_find(engine, rank, number);

	if (number == GT_OFFSET_NONE || (reg && reg->is_known))
		return;
	for (uint32_t i = 0; i < pending->n; i++)
		if (pending->rank[i] == rank && pending->number[i] == number)
			return;
	pending->rank[pending->n] = rank;
	pending->number[pending->n++] = number;
}

/*
 * Say how others can open a local rank's registration: by a handle if
 * cudaMalloc() made the memory, else by a file for each piece.
 */
static void gt_registration_tell(struct gt_registration_exchange *exchange,
				 uint32_t i)
{
	const struct gt_engine *engine = exchange->engine;
	uint32_t rank = exchange->pending->rank[i];
	const struct gt_registration *reg = *gt_registration_find(
		engine, rank, exchange->pending->number[i]);
	struct gt_fd_packet *pass = &exchange->mine[exchange->nmine];
	struct gt_registration_key *key = &exchange->keys[i];
	struct gt_cuda_extent extent;
	cudaError_t rc = cudaSetDevice(engine->ranks[rank].device);

	if (!reg) /* another process has named one that is not there */
		return;
	extent = (struct gt_cuda_extent){reg->base, reg->bytes};
	if (rc == cudaSuccess)
		rc = gt_cuda_ipc_of(extent, &key->handle, &key->offset);
	if (rc == cudaSuccess) {
		key->kind = GT_REGISTRATION_IPC;
	} else if (gt_cuda_files_of(extent, pass, &key->offset) ==
		   cudaSuccess) {
		key->kind = GT_REGISTRATION_FILES;
		pass->tag = i;
		exchange->nmine++;
	}
	cudaGetLastError();
}

static int gt_registration_open_ipc(struct gt_registration_exchange *exchange,
				    uint32_t i, struct gt_registration *reg)
{
	const struct gt_engine *engine = exchange->engine;
	const struct gt_process_group *group = &engine->group;
	cudaError_t rc = cudaSuccess;

	for (uint32_t v = 0; v < group->end - group->first; v++) {
		rc = cudaSetDevice(engine->ranks[group->first + v].device);
		if (rc == cudaSuccess)
			rc = cudaIpcOpenMemHandle(
				&reg->opened[v], exchange->keys[i].handle,
				cudaIpcMemLazyEnablePeerAccess);
		if (rc != cudaSuccess)
			return 0;
		reg->at[v] = (char *)reg->opened[v] + exchange->keys[i].offset;
	}
	return 1;
}

static int gt_registration_open_files(struct gt_registration_exchange *exchange,
				      uint32_t i, struct gt_registration *reg)
{
	const struct gt_engine *engine = exchange->engine;
	const struct gt_process_group *group = &engine->group;
	uint32_t n = group->end - group->first, t = 0;
	int devices[GT_P2P_RANKS];

	for (uint32_t v = 0; v < n; v++)
		devices[v] = engine->ranks[group->first + v].device;
	while (t < exchange->ntheirs && exchange->theirs[t].tag != i)
		t++;
	if (t == exchange->ntheirs ||
	    cudaSetDevice(devices[0]) != cudaSuccess ||
	    gt_cuda_mapping_open(&exchange->theirs[t], devices, n, &reg->map) !=
		    cudaSuccess)
		return 0;
	for (uint32_t v = 0; v < n; v++)
		reg->at[v] = reg->map.base + exchange->keys[i].offset;
	return 1;
}

/* Open a registration in this process. */
static int gt_registration_open(struct gt_registration_exchange *exchange,
				uint32_t i, struct gt_err *err)
{
	struct gt_engine *engine = exchange->engine;
	uint64_t number = exchange->pending->number[i];
	struct gt_registration **at = gt_registration_find(
		engine, exchange->pending->rank[i], number);
	uint64_t kind = exchange->keys[i].kind;
	int open;

	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at)
			return gt_err_nomem(err);
		(*at)->number = number;
	}
	if ((*at)->base) {
		for (uint32_t v = 0; v < GT_P2P_RANKS; v++)
			(*at)->at[v] = (char *)(*at)->base;
		open = kind != GT_REGISTRATION_CLOSED;
	} else {
		open = kind == GT_REGISTRATION_IPC
			       ? gt_registration_open_ipc(exchange, i, *at)
		       : kind == GT_REGISTRATION_FILES
			       ? gt_registration_open_files(exchange, i, *at)
			       : 0;
	}
	cudaGetLastError();
	exchange->refused[i] = !open;
	return GT_OK;
}

/*
 * Hear of all pending registrations: each process tells of its own, in their
 * order.
 */
static int gt_pending_hear(struct gt_registration_exchange *exchange,
			   struct gt_err *err)
{
	const struct gt_process_group *group = &exchange->engine->group;
	struct gt_registration_key told[GT_PENDING_REGISTRATIONS];
	size_t taken[GT_P2P_RANKS] = {0}, n = 0;
	int rc;

	for (uint32_t i = 0; i < exchange->pending->n; i++)
		if (gt_process_group_is_local(group,
					      exchange->pending->rank[i]))
			told[n++] = exchange->keys[i];
	rc = gt_world_allgather(group->world, told, n * sizeof(*told),
				exchange->parts, err);
	for (uint32_t i = 0; !rc && i < exchange->pending->n; i++) {
		uint32_t p = gt_process_group_of_rank(
			group, exchange->pending->rank[i]);
		size_t skip = taken[p]++ * sizeof(*told);

		if (exchange->parts[p].len < skip + sizeof(*told))
			return gt_err_set(err, GT_ESYS, NULL,
					  "%s is at another meeting",
					  gt_world_name(group->world, p));
		memcpy(&exchange->keys[i],
		       (const char *)exchange->parts[p].bytes + skip,
		       sizeof(*told));
	}
	return rc;
}

/* Exchange files if there are any, which all processes know by now. */
static int gt_pending_swap_files(struct gt_registration_exchange *exchange,
				 struct gt_err *err)
{
	struct gt_fd_exchange swap = {.world = exchange->engine->group.world,
				      .mine = exchange->mine,
				      .nmine = exchange->nmine,
				      .theirs = exchange->theirs};
	const struct gt_pending_registrations *pending = exchange->pending;
	uint32_t all = 0;
	int rc = GT_OK;

	for (uint32_t i = 0; i < pending->n; i++) {
		if (exchange->keys[i].kind != GT_REGISTRATION_FILES)
			continue;
		all++;
		swap.ntheirs += !gt_process_group_is_local(
			&exchange->engine->group, pending->rank[i]);
	}
	if (!all)
		return GT_OK;
	rc = gt_fd_exchange(&swap, err);
	if (!rc)
		exchange->ntheirs = swap.ntheirs;
	return rc;
}

/* Refuse in all processes what one of them cannot open. */
static int gt_pending_agree(struct gt_registration_exchange *exchange,
			    struct gt_err *err)
{
	const struct gt_pending_registrations *pending = exchange->pending;
	struct gt_engine *engine = exchange->engine;
	int rc = gt_world_allgather(engine->group.world, exchange->refused,
				    pending->n, exchange->parts, err);

	for (uint32_t i = 0; !rc && i < pending->n; i++) {
		struct gt_registration *reg = *gt_registration_find(
			engine, pending->rank[i], pending->number[i]);

		for (uint32_t p = 0; p < engine->group.nprocesses; p++)
			reg->refused |=
				exchange->parts[p].len != pending->n ||
				((const uint8_t *)exchange->parts[p].bytes)[i];
		reg->is_known = 1;
		if (reg->refused)
			gt_registration_unmap(engine, reg);
	}
	return rc;
}

static int gt_pending_open(struct gt_registration_exchange *exchange,
			   struct gt_err *err)
{
	int rc;

	for (uint32_t i = 0; i < exchange->pending->n; i++)
		if (gt_process_group_is_local(&exchange->engine->group,
					      exchange->pending->rank[i]))
			gt_registration_tell(exchange, i);
	rc = gt_pending_hear(exchange, err);
	if (!rc)
		rc = gt_pending_swap_files(exchange, err);
	for (uint32_t i = 0; !rc && i < exchange->pending->n; i++)
		rc = gt_registration_open(exchange, i, err);
	return rc ? rc : gt_pending_agree(exchange, err);
}

int gt_pending_registrations_open(
	struct gt_engine *engine,
	const struct gt_pending_registrations *pending, struct gt_err *err)
{
	struct gt_registration_exchange *exchange =
		calloc(1, sizeof(*exchange));
	int rc;

	if (!exchange)
		return gt_err_nomem(err);
	exchange->engine = engine;
	exchange->pending = pending;
	exchange->parts =
		calloc(engine->group.nprocesses, sizeof(*exchange->parts));
	exchange->mine = calloc(pending->n, sizeof(*exchange->mine));
	exchange->theirs = calloc(pending->n, sizeof(*exchange->theirs));
	rc = exchange->parts && exchange->mine && exchange->theirs
		     ? gt_pending_open(exchange, err)
		     : gt_err_nomem(err);
	for (uint32_t i = 0; exchange->mine && i < exchange->nmine; i++)
		gt_fd_packet_close(&exchange->mine[i]);
	for (uint32_t i = 0; exchange->theirs && i < exchange->ntheirs; i++)
		gt_fd_packet_close(&exchange->theirs[i]);
	free(exchange->parts);
	free(exchange->mine);
	free(exchange->theirs);
	free(exchange);
	return rc;
}
