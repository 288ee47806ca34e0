/*
 * Ways of bench/overlap: libgtopo with different flags and NCCL's variants,
 * each with communicator and buffers of its own.
 */
#include "overlap.h"

#include <string.h>

#include "base/err.h"
#include "lib/launch.h"
#include "nccl.h"
#include "plan/ir/plan.h"

enum { WAY_TIMEOUT_MS = 20000 };

static const struct overlap_way way_table[OVERLAP_WAYS] = {
	{.name = "gtopo"},
	{.name = "gtopo-best", .flags = GTOPO_BEST},
	{.name = "gtopo-registered", .registers = 1},
	{.name = "gtopo-best-registered", .registers = 1, .flags = GTOPO_BEST},
	{.name = "nccl", .is_nccl = 1, .variant = GT_NCCL_DEFAULT},
	{.name = "nccl-32ctas", .is_nccl = 1, .variant = GT_NCCL_CTAS32},
	{.name = "nccl-symmetric",
	 .is_nccl = 1,
	 .registers = 1,
	 .variant = GT_NCCL_SYMMETRIC},
};

const char *gt_overlap_way_name(int index)
{
	return way_table[index].name;
}

int gt_overlap_way_find(const char *name)
{
	for (int w = 0; w < OVERLAP_WAYS; w++)
		if (!strcmp(name, way_table[w].name))
			return 1 << w;
	return 0;
}

static int way_fail(struct overlap_way *way, const char *what)
{
	char message[512], place[OVERLAP_TEXT_MAX];

	gtopo_comm_message(way->comm, message, sizeof(message));
	snprintf(place, sizeof(place), "%s: %s", way->name, what);
	return gt_overlap_fail(place, *message ? message : "refused");
}

static int way_register(struct overlap *o, struct overlap_way *way)
{
	int rc = GTOPO_OK;

	for (uint32_t r = o->first; !rc && r < o->end; r++) {
		const struct gt_buffers *mine = &o->ranks[r].buffers[1];

		rc = gtopo_register(way->comm, (int)r, mine->input, o->room);
		if (!rc)
			rc = gtopo_register(way->comm, (int)r, mine->output,
					    o->room);
	}
	return rc ? way_fail(way, "register buffers") : GT_OK;
}

static int way_open_gtopo(struct overlap *o, struct overlap_way *way)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	char message[512];

	config.plan = o->options.plan;
	config.device = GTOPO_CUDA;
	config.timeout_ms = WAY_TIMEOUT_MS;
	config.max_blocks = (uint64_t)o->options.ctas;
	config.flags = way->flags | (o->shares ? GTOPO_MAP_SHARE : 0) |
		       (o->world ? GTOPO_LAUNCHED : 0);
	config.beside = o->world ? o->base : NULL;
	if (gtopo_comm_create(&config, &way->comm, message, sizeof(message)))
		return gt_overlap_fail(way->name, message);
	way->is_open = 1;
	return way->registers ? way_register(o, way) : GT_OK;
}

static void way_open_nccl(struct overlap *o, struct overlap_way *way)
{
	int devices[OVERLAP_RANKS];
	const struct gt_nccl_ranks ranks = {.nranks = o->nranks,
					    .first = o->first,
					    .end = o->end,
					    .devices = devices,
					    .world = o->world,
					    .ctas = o->options.ctas};

	/* NCCL wants to know of the local ones only. */
	for (uint32_t r = 0; r < o->nranks; r++)
		devices[r] = o->ranks[r].gpu;
	way->nccl = gt_nccl_open((enum gt_nccl_variant)way->variant, &ranks,
				 o->room);
	way->is_open = way->nccl != NULL;
}

/* Would it differ from the others, or not work at all? */
static int way_is_moot(const struct overlap *o, const struct overlap_way *way)
{
	if (!way->is_nccl)
		return way->registers && !o->world;
	return o->shares || (o->options.ctas && way->variant == GT_NCCL_CTAS32);
}

int gt_overlap_ways_open(struct overlap *o)
{
	int rc = GT_OK;

	memcpy(o->ways, way_table, sizeof(o->ways));
	for (int w = 0; !rc && w < OVERLAP_WAYS; w++) {
		struct overlap_way *way = &o->ways[w];

		if (!(o->options.ways & 1 << w) || way_is_moot(o, way))
			continue;
		if (way->is_nccl)
			way_open_nccl(o, way);
		else
			rc = way_open_gtopo(o, way);
	}
	return rc;
}

/* Ending NCCL's takes seconds and could only hang. */
void gt_overlap_ways_close(struct overlap *o)
{
	for (int w = 0; w < OVERLAP_WAYS; w++)
		gtopo_comm_destroy(o->ways[w].comm);
}

int gt_overlap_way_prepare(struct overlap *o, struct overlap_way *way,
			   int priority)
{
	int rc = GTOPO_OK;

	for (uint32_t r = o->first; !way->is_nccl && !rc && r < o->end; r++)
		rc = gtopo_comm_stream(way->comm, (int)r,
				       o->ranks[r].comm[priority]);
	return rc ? way_fail(way, "change streams") : GT_OK;
}

struct gt_buffers gt_overlap_way_buffers(const struct overlap *o,
					 const struct overlap_way *way,
					 uint32_t rank)
{
	return way->is_nccl ? gt_nccl_buffers(way->nccl, rank)
			    : o->ranks[rank].buffers[way->registers];
}

static int call_pair(struct overlap *o, struct overlap_way *way,
		     const struct gt_exec_request *req, int rank)
{
	const struct gt_buffers *at = &o->ranks[rank].buffers[way->registers];
	enum gtopo_type type = (enum gtopo_type)req->dtype;
	int n = (int)o->nranks, rc = gtopo_group_start(way->comm, rank);

	if (!rc)
		rc = gtopo_send(way->comm, rank, at->input, req->count, type,
				(rank + 1) % n);
	if (!rc)
		rc = gtopo_recv(way->comm, rank, at->output, req->count, type,
				(rank + n - 1) % n);
	return rc ? rc : gtopo_group_end(way->comm, rank);
}

static int call_rooted(struct overlap *o, struct overlap_way *way,
		       const struct gt_exec_request *req, int rank)
{
	const struct gt_buffers *at = &o->ranks[rank].buffers[way->registers];
	enum gtopo_type type = (enum gtopo_type)req->dtype;
	enum gtopo_op op = (enum gtopo_op)req->op;
	struct gtopo_comm *c = way->comm;
	int root = (int)req->root;

	switch (req->coll) {
	case GT_COLL_BROADCAST:
		return gtopo_broadcast(c, rank, at->input, at->output,
				       req->count, type, root);
	case GT_COLL_REDUCE:
		return gtopo_reduce(c, rank, at->input, at->output, req->count,
				    type, op, root);
	case GT_COLL_GATHER:
		return gtopo_gather(c, rank, at->input, at->output, req->count,
				    type, root);
	default:
		return gtopo_scatter(c, rank, at->input, at->output, req->count,
				     type, root);
	}
}

static int call_gtopo(struct overlap *o, struct overlap_way *way,
		      const struct gt_exec_request *req, int rank)
{
	const struct gt_buffers *at = &o->ranks[rank].buffers[way->registers];
	enum gtopo_type type = (enum gtopo_type)req->dtype;
	enum gtopo_op op = (enum gtopo_op)req->op;
	struct gtopo_comm *c = way->comm;

	switch (req->coll) {
	case GT_COLL_ALLREDUCE:
		return gtopo_allreduce(c, rank, at->input, at->output,
				       req->count, type, op);
	case GT_COLL_ALLGATHER:
		return gtopo_allgather(c, rank, at->input, at->output,
				       req->count, type);
	case GT_COLL_REDUCESCATTER:
		return gtopo_reducescatter(c, rank, at->input, at->output,
					   req->count, type, op);
	case GT_COLL_ALLTOALL:
		return gtopo_alltoall(c, rank, at->input, at->output,
				      req->count, type);
	case GT_COLL_SENDRECV:
		return call_pair(o, way, req, rank);
	default:
		return call_rooted(o, way, req, rank);
	}
}

int gt_overlap_way_call(struct overlap *o, struct overlap_way *way,
			const struct gt_exec_request *req, uint32_t rank)
{
	char what[OVERLAP_TEXT_MAX], fault[OVERLAP_TEXT_MAX];
	int rc;

	if (!way->is_nccl) {
		rc = call_gtopo(o, way, req, (int)rank);
		return rc ? way_fail(way, gt_coll_name(req->coll)) : GT_OK;
	}
	rc = gt_nccl_enqueue(way->nccl, req, rank);
	if (!rc)
		return GT_OK;
	snprintf(what, sizeof(what), "%s: rank %u", way->name, rank);
	snprintf(fault, sizeof(fault), "%s: NCCL's error %d",
		 gt_coll_name(req->coll), rc);
	return gt_overlap_fail(what, fault);
}

int gt_overlap_way_state(struct overlap_way *way)
{
	if (way->is_nccl || gtopo_comm_state(way->comm) >= 0)
		return GT_OK;
	return way_fail(way, "run");
}

int gt_overlap_way_schedule(struct overlap_way *way,
			    const struct gt_exec_request *req,
			    char text[OVERLAP_TEXT_MAX])
{
	struct gt_algo_choice choice = {.algo = 0};
	struct gtopo_comm *comm = way->comm;
	int rc;

	strcpy(text, "-");
	/* Messages have no algorithm. */
	if (way->is_nccl || req->coll == GT_COLL_SENDRECV)
		return GT_OK;
	pthread_mutex_lock(&comm->mutex);
	rc = gt_launch_acquire(comm);
	if (!rc) {
		rc = comm->ops->algo_choice(comm->engine, req, &choice, NULL);
		gt_launch_release(comm);
	}
	pthread_mutex_unlock(&comm->mutex);
	if (!rc)
		snprintf(text, OVERLAP_TEXT_MAX, "%s %s",
			 gt_algo_name(choice.algo),
			 gt_protocol_name(choice.protocol));
	return rc;
}
