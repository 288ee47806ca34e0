#include "exec/cuda/user_buffers.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exec/cuda/engine.h"
#include "exec/link/fd_passing.h"
#include "world/world.h"

enum gt_registration_kind {
	GT_LOAN_CLOSED, /* nobody else can open it */
	GT_LOAN_IPC,    /* cudaMalloc()'s */
	GT_LOAN_FILES,  /* cuMemMap()'s: a file for each piece */
};

/* What the owner tells of a loan. */
struct gt_registration_key {
	uint64_t kind;
	uint64_t offset; /* in what the handle, or all files, stand for */
	cudaIpcMemHandle_t handle;
};

/* News, and what their owners tell of them. */
struct gt_registration_exchange {
	struct gt_engine *engine;
	const struct gt_pending_registrations *news;
	struct gt_world_part *parts; /* [processes] */
	struct gt_registration_key keys[GT_PENDING_REGISTRATIONS]; /* of each */
	uint8_t refused[GT_PENDING_REGISTRATIONS];
	/* Files, tagged with the number of the news. */
	struct gt_fd_packet *mine, *theirs;
	uint32_t nmine, ntheirs;
};

struct gt_registration **gt_registration_find(const struct gt_engine *engine,
					      uint32_t rank, uint64_t number)
{
	struct gt_registration **at = &engine->ranks[rank].loans;

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

void gt_registration_unmap(const struct gt_engine *engine,
			   struct gt_registration *loan)
{
	uint32_t n = engine->group.end - engine->group.first;

	for (uint32_t v = 0; v < n; v++) {
		if (!loan->opened[v])
			continue;
		cudaSetDevice(engine->ranks[engine->group.first + v].device);
		cudaIpcCloseMemHandle(loan->opened[v]);
		loan->opened[v] = NULL;
	}
	gt_cuda_mapping_drop(&loan->map);
	cudaGetLastError();
}

void gt_pending_registrations_add(const struct gt_engine *engine,
				  struct gt_pending_registrations *news,
				  uint32_t rank, uint64_t number)
{
	const struct gt_registration *loan =
		*gt_registration_find(engine, rank, number);

	if (number == GT_OFFSET_NONE || (loan && loan->met))
		return;
	for (uint32_t i = 0; i < news->n; i++)
		if (news->rank[i] == rank && news->number[i] == number)
			return;
	news->rank[news->n] = rank;
	news->number[news->n++] = number;
}

/* Of a local rank's loan: as cudaMalloc() makes memory, or in pieces. */
static void gt_registration_tell(struct gt_registration_exchange *meet,
				 uint32_t i)
{
	const struct gt_engine *engine = meet->engine;
	uint32_t rank = meet->news->rank[i];
	const struct gt_registration *loan =
		*gt_registration_find(engine, rank, meet->news->number[i]);
	struct gt_fd_packet *pass = &meet->mine[meet->nmine];
	struct gt_registration_key *key = &meet->keys[i];
	struct gt_cuda_extent extent = {loan->base, loan->bytes};
	cudaError_t rc = cudaSetDevice(engine->ranks[rank].device);

	if (rc == cudaSuccess)
		rc = gt_cuda_ipc_of(extent, &key->handle, &key->offset);
	if (rc == cudaSuccess) {
		key->kind = GT_LOAN_IPC;
	} else if (gt_cuda_files_of(extent, pass, &key->offset) ==
		   cudaSuccess) {
		key->kind = GT_LOAN_FILES;
		pass->tag = i;
		meet->nmine++;
	}
	cudaGetLastError();
}

static int gt_registration_open_ipc(struct gt_registration_exchange *meet,
				    uint32_t i, struct gt_registration *loan)
{
	const struct gt_engine *engine = meet->engine;
	const struct gt_process_group *group = &engine->group;
	cudaError_t rc = cudaSuccess;

	for (uint32_t v = 0; v < group->end - group->first; v++) {
		rc = cudaSetDevice(engine->ranks[group->first + v].device);
		if (rc == cudaSuccess)
			rc = cudaIpcOpenMemHandle(
				&loan->opened[v], meet->keys[i].handle,
				cudaIpcMemLazyEnablePeerAccess);
		if (rc != cudaSuccess)
			return 0;
		loan->at[v] = (char *)loan->opened[v] + meet->keys[i].offset;
	}
	return 1;
}

static int gt_registration_open_files(struct gt_registration_exchange *meet,
				      uint32_t i, struct gt_registration *loan)
{
	const struct gt_engine *engine = meet->engine;
	const struct gt_process_group *group = &engine->group;
	uint32_t n = group->end - group->first, t = 0;
	int devices[GT_P2P_RANKS];

	for (uint32_t v = 0; v < n; v++)
		devices[v] = engine->ranks[group->first + v].device;
	while (t < meet->ntheirs && meet->theirs[t].tag != i)
		t++;
	if (t == meet->ntheirs || cudaSetDevice(devices[0]) != cudaSuccess ||
	    gt_cuda_mapping_open(&meet->theirs[t], devices, n, &loan->map) !=
		    cudaSuccess)
		return 0;
	for (uint32_t v = 0; v < n; v++)
		loan->at[v] = loan->map.base + meet->keys[i].offset;
	return 1;
}

/* The loan as this process sees it. */
static int gt_registration_open(struct gt_registration_exchange *meet,
				uint32_t i, struct gt_err *err)
{
	struct gt_engine *engine = meet->engine;
	uint64_t number = meet->news->number[i];
	struct gt_registration **at =
		gt_registration_find(engine, meet->news->rank[i], number);
	uint64_t kind = meet->keys[i].kind;
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
		open = kind != GT_LOAN_CLOSED;
	} else {
		open = kind == GT_LOAN_IPC
			       ? gt_registration_open_ipc(meet, i, *at)
		       : kind == GT_LOAN_FILES
			       ? gt_registration_open_files(meet, i, *at)
			       : 0;
	}
	cudaGetLastError();
	meet->refused[i] = !open;
	return GT_OK;
}

/* Hear of all the news: each process tells of its own, in their order. */
static int gt_pending_hear(struct gt_registration_exchange *meet,
			   struct gt_err *err)
{
	const struct gt_process_group *group = &meet->engine->group;
	struct gt_registration_key told[GT_PENDING_REGISTRATIONS];
	size_t taken[GT_P2P_RANKS] = {0}, n = 0;
	int rc;

	for (uint32_t i = 0; i < meet->news->n; i++)
		if (gt_process_group_is_local(group, meet->news->rank[i]))
			told[n++] = meet->keys[i];
	rc = gt_world_allgather(group->world, told, n * sizeof(*told),
				meet->parts, err);
	for (uint32_t i = 0; !rc && i < meet->news->n; i++) {
		uint32_t p =
			gt_process_group_of_rank(group, meet->news->rank[i]);
		size_t skip = taken[p]++ * sizeof(*told);

		if (meet->parts[p].len < skip + sizeof(*told))
			return gt_err_set(err, GT_ESYS, NULL,
					  "%s is at another meeting",
					  gt_world_name(group->world, p));
		memcpy(&meet->keys[i],
		       (const char *)meet->parts[p].bytes + skip,
		       sizeof(*told));
	}
	return rc;
}

/* If there are files they change hands; all processes know so. */
static int gt_pending_swap_files(struct gt_registration_exchange *meet,
				 struct gt_err *err)
{
	struct gt_fd_exchange swap = {.world = meet->engine->group.world,
				      .mine = meet->mine,
				      .nmine = meet->nmine,
				      .theirs = meet->theirs};
	int rc = GT_OK;

	for (uint32_t i = 0; i < meet->news->n; i++)
		swap.ntheirs += meet->keys[i].kind == GT_LOAN_FILES;
	if (!swap.ntheirs)
		return GT_OK;
	swap.ntheirs -= meet->nmine;
	rc = gt_fd_exchange(&swap, err);
	if (!rc)
		meet->ntheirs = swap.ntheirs;
	return rc;
}

/* What one cannot open nobody uses. */
static int gt_pending_agree(struct gt_registration_exchange *meet,
			    struct gt_err *err)
{
	const struct gt_pending_registrations *news = meet->news;
	struct gt_engine *engine = meet->engine;
	int rc = gt_world_allgather(engine->group.world, meet->refused, news->n,
				    meet->parts, err);

	for (uint32_t i = 0; !rc && i < news->n; i++) {
		struct gt_registration *loan = *gt_registration_find(
			engine, news->rank[i], news->number[i]);

		for (uint32_t p = 0; p < engine->group.nprocesses; p++)
			loan->refused |=
				meet->parts[p].len != news->n ||
				((const uint8_t *)meet->parts[p].bytes)[i];
		loan->met = 1;
		if (loan->refused)
			gt_registration_unmap(engine, loan);
	}
	return rc;
}

static int gt_pending_open(struct gt_registration_exchange *meet,
			   struct gt_err *err)
{
	int rc;

	for (uint32_t i = 0; i < meet->news->n; i++)
		if (gt_process_group_is_local(&meet->engine->group,
					      meet->news->rank[i]))
			gt_registration_tell(meet, i);
	rc = gt_pending_hear(meet, err);
	if (!rc)
		rc = gt_pending_swap_files(meet, err);
	for (uint32_t i = 0; !rc && i < meet->news->n; i++)
		rc = gt_registration_open(meet, i, err);
	return rc ? rc : gt_pending_agree(meet, err);
}

int gt_pending_registrations_open(struct gt_engine *engine,
				  const struct gt_pending_registrations *news,
				  struct gt_err *err)
{
	struct gt_registration_exchange *meet = calloc(1, sizeof(*meet));
	int rc;

	if (!meet)
		return gt_err_nomem(err);
	meet->engine = engine;
	meet->news = news;
	meet->parts = calloc(engine->group.nprocesses, sizeof(*meet->parts));
	meet->mine = calloc(news->n, sizeof(*meet->mine));
	meet->theirs = calloc(news->n, sizeof(*meet->theirs));
	rc = meet->parts && meet->mine && meet->theirs
		     ? gt_pending_open(meet, err)
		     : gt_err_nomem(err);
	for (uint32_t i = 0; meet->mine && i < meet->nmine; i++)
		gt_fd_packet_close(&meet->mine[i]);
	for (uint32_t i = 0; meet->theirs && i < meet->ntheirs; i++)
		gt_fd_packet_close(&meet->theirs[i]);
	free(meet->parts);
	free(meet->mine);
	free(meet->theirs);
	free(meet);
	return rc;
}
