/*
 * Opens memory that other processes have registered: its owners tell how it can
 * be opened, and what one process cannot open nobody uses.
 */
#include "exec/cuda/registration.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/closing_turn.h"
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
	uint64_t bytes;
	uint64_t offset; /* in what the handle, or all files, stand for */
	cudaIpcMemHandle_t handle;
};

/* All ranks' registrations of a number, on their way to being opened. */
struct gt_registration_exchange {
	struct gt_engine *engine;
	uint64_t number;
	struct gt_world_part *parts;                   /* [processes] */
	struct gt_registration_key keys[GT_P2P_RANKS]; /* of each rank */
	uint8_t refused[GT_P2P_RANKS];
	/* Files are tagged with their rank. */
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

/* Let go of what is another process's. */
static void gt_registration_unmap(const struct gt_engine *engine,
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

void gt_registration_leave(struct gt_engine *engine,
			   struct gt_registration **at)
{
	struct gt_registration *reg = *at;

	if (!reg)
		return;
	*at = reg->next;
	reg->next = atomic_load(&engine->left);
	while (!atomic_compare_exchange_weak(&engine->left, &reg->next, reg))
		;
}

void gt_registrations_close_left(struct gt_engine *engine)
{
	struct gt_registration *reg = atomic_exchange(&engine->left, NULL);
	struct gt_registration *next;

	for (; reg; reg = next) {
		next = reg->next;
		gt_registration_unmap(engine, reg);
		free(reg);
	}
}

/*
 * Say how others can open a local rank's registration: by a handle if
 * cudaMalloc() made the memory, else by a file for each piece.
 */
static void gt_registration_tell(struct gt_registration_exchange *exchange,
				 uint32_t rank)
{
	const struct gt_engine *engine = exchange->engine;
	const struct gt_registration *reg =
		*gt_registration_find(engine, rank, exchange->number);
	struct gt_fd_packet *pass = &exchange->mine[exchange->nmine];
	struct gt_registration_key *key = &exchange->keys[rank];
	struct gt_cuda_extent extent;
	cudaError_t rc = cudaSetDevice(engine->ranks[rank].device);

	if (!reg) /* it was refused here */
		return;
	key->bytes = reg->bytes;
	extent = (struct gt_cuda_extent){reg->base, reg->bytes};
	if (rc == cudaSuccess)
		rc = gt_cuda_ipc_of(extent, &key->handle, &key->offset);
	if (rc == cudaSuccess) {
		key->kind = GT_REGISTRATION_IPC;
	} else if (gt_cuda_files_of(extent, pass, &key->offset) ==
		   cudaSuccess) {
		key->kind = GT_REGISTRATION_FILES;
		pass->tag = rank;
		exchange->nmine++;
	}
	cudaGetLastError();
}

/* What has left may lie where the other process has new memory. */
static cudaError_t gt_ipc_open(struct gt_engine *engine,
			       const cudaIpcMemHandle_t *handle, void **at)
{
	cudaError_t rc = cudaIpcOpenMemHandle(at, *handle,
					      cudaIpcMemLazyEnablePeerAccess);
	int turn;

	if (rc == cudaSuccess)
		return rc;
	cudaGetLastError();
	turn = gt_closing_turn_take(GT_CLOSING_TURN_NS);
	gt_registrations_close_left(engine);
	gt_closing_turn_give(turn);
	return cudaIpcOpenMemHandle(at, *handle,
				    cudaIpcMemLazyEnablePeerAccess);
}

static int gt_registration_open_ipc(struct gt_registration_exchange *exchange,
				    uint32_t i, struct gt_registration *reg)
{
	struct gt_engine *engine = exchange->engine;
	const struct gt_process_group *group = &engine->group;
	cudaError_t rc = cudaSuccess;

	for (uint32_t v = 0; v < group->end - group->first; v++) {
		rc = cudaSetDevice(engine->ranks[group->first + v].device);
		if (rc == cudaSuccess)
			rc = gt_ipc_open(engine, &exchange->keys[i].handle,
					 &reg->opened[v]);
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
	int devices[GT_P2P_RANKS];
	uint32_t n = gt_cuda_local_devices(engine, devices), t = 0;

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

/* Open rank r's registration in this process. */
static int gt_registration_open(struct gt_registration_exchange *exchange,
				uint32_t r, struct gt_err *err)
{
	struct gt_engine *engine = exchange->engine;
	struct gt_registration **at =
		gt_registration_find(engine, r, exchange->number);
	uint64_t kind = exchange->keys[r].kind;
	int open;

	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at)
			return gt_err_nomem(err);
		(*at)->number = exchange->number;
		(*at)->bytes = exchange->keys[r].bytes;
	}
	if ((*at)->base) {
		for (uint32_t v = 0; v < GT_P2P_RANKS; v++)
			(*at)->at[v] = (char *)(*at)->base;
		open = kind != GT_REGISTRATION_CLOSED;
	} else {
		open = kind == GT_REGISTRATION_IPC
			       ? gt_registration_open_ipc(exchange, r, *at)
		       : kind == GT_REGISTRATION_FILES
			       ? gt_registration_open_files(exchange, r, *at)
			       : 0;
	}
	cudaGetLastError();
	exchange->refused[r] = !open;
	return GT_OK;
}

/* Hear of all ranks': each process tells of its own, in their order. */
static int gt_registrations_hear(struct gt_registration_exchange *exchange,
				 struct gt_err *err)
{
	const struct gt_process_group *group = &exchange->engine->group;
	uint32_t n = exchange->engine->plan->nranks;
	const size_t each = sizeof(exchange->keys[0]);
	int rc = gt_world_allgather(group->world, &exchange->keys[group->first],
				    (group->end - group->first) * each,
				    exchange->parts, err);

	for (uint32_t r = 0; !rc && r < n; r++) {
		uint32_t p = gt_process_group_of_rank(group, r);
		size_t skip = (r - gt_process_group_begin(group, p)) * each;

		if (exchange->parts[p].len < skip + each)
			return gt_err_set(err, GT_ESYS, NULL,
					  "%s is at another meeting",
					  gt_world_name(group->world, p));
		memcpy(&exchange->keys[r],
		       (const char *)exchange->parts[p].bytes + skip, each);
	}
	return rc;
}

/* Exchange files if there are any, which all processes know by now. */
static int gt_registrations_swap(struct gt_registration_exchange *exchange,
				 struct gt_err *err)
{
	struct gt_fd_exchange swap = {.world = exchange->engine->group.world,
				      .mine = exchange->mine,
				      .nmine = exchange->nmine,
				      .theirs = exchange->theirs};
	uint32_t all = 0;
	int rc = GT_OK;

	for (uint32_t r = 0; r < exchange->engine->plan->nranks; r++) {
		if (exchange->keys[r].kind != GT_REGISTRATION_FILES)
			continue;
		all++;
		swap.ntheirs +=
			!gt_process_group_is_local(&exchange->engine->group, r);
	}
	if (!all)
		return GT_OK;
	rc = gt_fd_exchange(&swap, err);
	if (!rc)
		exchange->ntheirs = swap.ntheirs;
	return rc;
}

/* Use none if one process cannot open one of them. */
static int gt_registrations_agree(struct gt_registration_exchange *exchange,
				  struct gt_err *err)
{
	struct gt_engine *engine = exchange->engine;
	uint64_t refused = 0;
	int rc, turn;

	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		refused |= exchange->refused[r];
	rc = gt_world_max(engine->group.world, &refused, err);
	turn = !rc && refused ? gt_closing_turn_take(GT_CLOSING_TURN_NS)
			      : GT_CLOSING_TURN_NONE;
	for (uint32_t r = 0; !rc && r < engine->plan->nranks; r++) {
		struct gt_registration *reg =
			*gt_registration_find(engine, r, exchange->number);

		reg->refused = refused != 0;
		if (refused)
			gt_registration_unmap(engine, reg);
	}
	gt_closing_turn_give(turn);
	return rc;
}

static int gt_registrations_meet(struct gt_registration_exchange *exchange,
				 struct gt_err *err)
{
	const struct gt_process_group *group = &exchange->engine->group;
	int rc;

	for (uint32_t r = group->first; r < group->end; r++)
		gt_registration_tell(exchange, r);
	rc = gt_registrations_hear(exchange, err);
	if (!rc)
		rc = gt_registrations_swap(exchange, err);
	for (uint32_t r = 0; !rc && r < exchange->engine->plan->nranks; r++)
		rc = gt_registration_open(exchange, r, err);
	return rc ? rc : gt_registrations_agree(exchange, err);
}

int gt_registrations_open(struct gt_engine *engine, uint64_t number,
			  struct gt_err *err)
{
	struct gt_registration_exchange *exchange =
		calloc(1, sizeof(*exchange));
	int rc;

	if (!exchange)
		return gt_err_nomem(err);
	exchange->engine = engine;
	exchange->number = number;
	exchange->parts =
		calloc(engine->group.nprocesses, sizeof(*exchange->parts));
	exchange->mine = calloc(GT_P2P_RANKS, sizeof(*exchange->mine));
	exchange->theirs = calloc(GT_P2P_RANKS, sizeof(*exchange->theirs));
	rc = exchange->parts && exchange->mine && exchange->theirs
		     ? gt_registrations_meet(exchange, err)
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

/* To close what is open would wait for what runs. */
void gt_registrations_refuse(struct gt_engine *engine, uint64_t number)
{
	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		(*gt_registration_find(engine, r, number))->refused = 1;
}
