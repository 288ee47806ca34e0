#include "nccl.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "kernels/kernels.h"
#include "world/world.h"

enum { GT_NCCL_RANKS = 16 };

/* What NCCL's binary interface looks like, 2.28. */
typedef void *nccl_comm;

struct nccl_id {
	char bytes[128];
};

struct nccl_config {
	size_t size;
	unsigned magic, version;
	int blocking, cga_cluster_size, min_ctas, max_ctas;
	const char *net_name;
	int split_share, traffic_class;
	const char *comm_name;
	int collnet_enable, cta_policy, shrink_share, nvls_ctas;
	int channels_per_net_peer, nvlink_centric_sched;
};

struct nccl_calls {
	int (*version)(int *version);
	int (*unique_id)(struct nccl_id *id);
	int (*init)(nccl_comm *comm, int nranks, struct nccl_id id, int rank,
		    struct nccl_config *config);
	int (*destroy)(nccl_comm comm);
	int (*group_start)(void);
	int (*group_end)(void);
	const char *(*error)(int result);
	int (*all_reduce)(const void *in, void *out, size_t count, int type,
			  int op, nccl_comm comm, cudaStream_t stream);
	int (*all_gather)(const void *in, void *out, size_t count, int type,
			  nccl_comm comm, cudaStream_t stream);
	int (*reduce_scatter)(const void *in, void *out, size_t count, int type,
			      int op, nccl_comm comm, cudaStream_t stream);
	int (*broadcast)(const void *in, void *out, size_t count, int type,
			 int root, nccl_comm comm, cudaStream_t stream);
	int (*reduce)(const void *in, void *out, size_t count, int type, int op,
		      int root, nccl_comm comm, cudaStream_t stream);
	int (*all_to_all)(const void *in, void *out, size_t count, int type,
			  nccl_comm comm, cudaStream_t stream);
	int (*gather)(const void *in, void *out, size_t count, int type,
		      int root, nccl_comm comm, cudaStream_t stream);
	int (*scatter)(const void *in, void *out, size_t count, int type,
		       int root, nccl_comm comm, cudaStream_t stream);
	int (*send)(const void *in, size_t count, int type, int peer,
		    nccl_comm comm, cudaStream_t stream);
	int (*receive)(void *out, size_t count, int type, int peer,
		       nccl_comm comm, cudaStream_t stream);
	int (*mem_alloc)(void **mem, size_t bytes);
	int (*mem_free)(void *mem);
	int (*window)(nccl_comm comm, void *mem, size_t bytes, void **window,
		      int flags);
};

struct gt_nccl_rank {
	int device;
	nccl_comm comm;
	cudaStream_t stream;
	cudaEvent_t begin, end;
	char *input, *output;
};

struct gt_nccl {
	struct nccl_calls calls;
	uint32_t nranks, first, end;
	struct gt_world *world;
	int symmetric;
	int blocks; /* of a graph's largest kernel */
	struct gt_nccl_rank ranks[GT_NCCL_RANKS];
};

static const int nccl_types[GT_NDTYPES] = {
	[GT_DTYPE_INT8] = 0,      [GT_DTYPE_UINT8] = 1,
	[GT_DTYPE_INT32] = 2,     [GT_DTYPE_UINT32] = 3,
	[GT_DTYPE_INT64] = 4,     [GT_DTYPE_UINT64] = 5,
	[GT_DTYPE_HALF] = 6,      [GT_DTYPE_FLOAT] = 7,
	[GT_DTYPE_DOUBLE] = 8,    [GT_DTYPE_BF16] = 9,
	[GT_DTYPE_FP8_E4M3] = 10, [GT_DTYPE_FP8_E5M2] = 11,
};

static const int nccl_ops[GT_NREDOPS] = {
	[GT_REDOP_SUM] = 0, [GT_REDOP_PROD] = 1, [GT_REDOP_MAX] = 2,
	[GT_REDOP_MIN] = 3, [GT_REDOP_AVG] = 4,
};

/* A way that is forced, as NCCL's environment spells it. */
struct nccl_forced {
	const char *name, *algo, *proto;
	int channels;
};

#define NCCL_FORCED(algo, ALGO, proto, PROTO)                                  \
	{algo "/" proto "/1", ALGO, PROTO, 1},                                 \
		{algo "/" proto "/4", ALGO, PROTO, 4},                         \
		{algo "/" proto "/16", ALGO, PROTO, 16},                       \
	{                                                                      \
		algo "/" proto "/32", ALGO, PROTO, 32                          \
	}

static const struct nccl_forced
	nccl_forced[GT_NCCL_NVARIANTS - GT_NCCL_FORCED] = {
		NCCL_FORCED("ring", "Ring", "ll", "LL"),
		NCCL_FORCED("ring", "Ring", "ll128", "LL128"),
		NCCL_FORCED("ring", "Ring", "simple", "Simple"),
		NCCL_FORCED("tree", "Tree", "ll", "LL"),
		NCCL_FORCED("tree", "Tree", "ll128", "LL128"),
		NCCL_FORCED("tree", "Tree", "simple", "Simple"),
};

static const struct nccl_forced *nccl_forced_of(enum gt_nccl_variant variant)
{
	return variant < GT_NCCL_FORCED
		       ? NULL
		       : &nccl_forced[variant - GT_NCCL_FORCED];
}

const char *gt_nccl_name(enum gt_nccl_variant variant)
{
	static const char *const names[] = {"default", "32ctas", "ring-simple",
					    "symmetric", "symmetric-ce"};

	return variant < GT_NCCL_FORCED ? names[variant]
					: nccl_forced_of(variant)->name;
}

int gt_nccl_does(enum gt_nccl_variant variant, enum gt_coll coll)
{
	const struct nccl_forced *forced = nccl_forced_of(variant);

	if (!forced || coll == GT_COLL_ALLREDUCE)
		return 1;
	return !strcmp(forced->algo, "Ring") &&
	       (coll == GT_COLL_ALLGATHER || coll == GT_COLL_REDUCESCATTER ||
		coll == GT_COLL_BROADCAST || coll == GT_COLL_REDUCE);
}

static int nccl_load(struct nccl_calls *calls)
{
	static const char *const names[] = {
		"ncclGetVersion",
		"ncclGetUniqueId",
		"ncclCommInitRankConfig",
		"ncclCommDestroy",
		"ncclGroupStart",
		"ncclGroupEnd",
		"ncclGetErrorString",
		"ncclAllReduce",
		"ncclAllGather",
		"ncclReduceScatter",
		"ncclBroadcast",
		"ncclReduce",
		"ncclAlltoAll",
		"ncclGather",
		"ncclScatter",
		"ncclSend",
		"ncclRecv",
		"ncclMemAlloc",
		"ncclMemFree",
		"ncclCommWindowRegister",
	};
	void **slots = (void **)calls;
	const char *path = getenv("GTOPO_NCCL");
	void *lib;

	/* Never multicast, whatever the caller's environment says. */
	setenv("NCCL_NVLS_ENABLE", "0", 1);
	/* What it says does not belong among results. */
	setenv("NCCL_DEBUG_FILE", "/dev/stderr", 0);
	lib = dlopen(path ? path : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "nccl: %s\n", dlerror());
		return -1;
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		slots[i] = dlsym(lib, names[i]);
		if (!slots[i]) {
			fprintf(stderr, "nccl: no %s\n", names[i]);
			return -1;
		}
	}
	return 0;
}

int gt_nccl_version(void)
{
	struct nccl_calls calls;
	int version = 0;

	if (nccl_load(&calls) || calls.version(&version))
		return 0;
	return version;
}

static struct nccl_config nccl_config_of(enum gt_nccl_variant variant, int ctas,
					 int version)
{
	struct nccl_config config = {
		.size = sizeof(config),
		.magic = 0xcafebeef,
		.version = (unsigned)version,
		.blocking = 1,
		.cga_cluster_size = INT_MIN,
		.min_ctas = INT_MIN,
		.max_ctas = INT_MIN,
		.split_share = INT_MIN,
		.traffic_class = INT_MIN,
		.collnet_enable = INT_MIN,
		.cta_policy = INT_MIN,
		.shrink_share = INT_MIN,
		.nvls_ctas = INT_MIN,
		.channels_per_net_peer = INT_MIN,
		.nvlink_centric_sched = INT_MIN,
	};

	if (variant == GT_NCCL_CTAS32)
		config.min_ctas = config.max_ctas = 32;
	if (ctas)
		config.min_ctas = config.max_ctas = ctas;
	if (nccl_forced_of(variant))
		config.min_ctas = config.max_ctas =
			nccl_forced_of(variant)->channels;
	if (variant == GT_NCCL_SYMMETRIC_CE)
		config.cta_policy = 2;
	return config;
}

/* Process 0's, in all. */
static int nccl_id(struct gt_nccl *nccl, struct nccl_id *id)
{
	struct gt_world_part parts[GT_NCCL_RANKS];
	int rc = nccl->first ? 0 : nccl->calls.unique_id(id);

	if (rc || !nccl->world)
		return rc;
	if (gt_world_allgather(nccl->world, id, sizeof(*id), parts, NULL) ||
	    parts[0].len != sizeof(*id))
		return 1;
	memcpy(id, parts[0].bytes, sizeof(*id));
	return 0;
}

/* A number that is the largest of all processes'. */
static uint64_t nccl_most(const struct gt_nccl *nccl, uint64_t number)
{
	if (nccl->world && gt_world_max(nccl->world, &number, NULL))
		return UINT64_MAX;
	return number;
}

/* The algorithm is read from the environment when a communicator is made. */
static int nccl_connect(struct gt_nccl *nccl, enum gt_nccl_variant variant,
			int ctas)
{
	const struct nccl_forced *forced = nccl_forced_of(variant);
	struct nccl_config config;
	struct nccl_id id;
	int version = 0, rc;

	rc = nccl->calls.version(&version);
	config = nccl_config_of(variant, ctas, version);
	if (variant == GT_NCCL_RING) {
		setenv("NCCL_ALGO", "Ring", 1);
		setenv("NCCL_PROTO", "Simple", 1);
	}
	if (forced) {
		setenv("NCCL_ALGO", forced->algo, 1);
		setenv("NCCL_PROTO", forced->proto, 1);
	}
	if (!rc)
		rc = nccl_id(nccl, &id);
	if (!rc)
		rc = nccl->calls.group_start();
	for (uint32_t r = nccl->first; !rc && r < nccl->end; r++) {
		cudaSetDevice(nccl->ranks[r].device);
		rc = nccl->calls.init(&nccl->ranks[r].comm, (int)nccl->nranks,
				      id, (int)r, &config);
	}
	if (!rc)
		rc = nccl->calls.group_end();
	unsetenv("NCCL_ALGO");
	unsetenv("NCCL_PROTO");
	if (rc)
		fprintf(stderr, "nccl: %s\n", nccl->calls.error(rc));
	return rc;
}

/* All ranks' buffers at once: registration is collective. */
static int nccl_register(struct gt_nccl *nccl, uint64_t max_bytes)
{
	void *window;
	int rc = nccl->calls.group_start();

	for (uint32_t r = nccl->first * 2; !rc && r < nccl->end * 2; r++) {
		struct gt_nccl_rank *me = &nccl->ranks[r / 2];

		cudaSetDevice(me->device);
		rc = nccl->calls.window(me->comm,
					r % 2 ? me->output : me->input,
					max_bytes, &window, 1);
		/* Windows end with their communicator. */
	}
	if (!rc)
		rc = nccl->calls.group_end();
	if (rc)
		fprintf(stderr, "nccl: window: %s\n", nccl->calls.error(rc));
	return rc;
}

static int nccl_alloc(const struct gt_nccl *nccl, char **mem, uint64_t bytes)
{
	return nccl->symmetric ? nccl->calls.mem_alloc((void **)mem, bytes)
			       : (int)cudaMalloc((void **)mem, bytes);
}

static void nccl_free(const struct gt_nccl *nccl, char *mem)
{
	if (mem && nccl->symmetric)
		nccl->calls.mem_free(mem);
	else
		cudaFree(mem);
}

static int nccl_rank_open(struct gt_nccl *nccl, uint32_t rank,
			  uint64_t max_bytes)
{
	struct gt_nccl_rank *me = &nccl->ranks[rank];
	struct gt_kernel_data data = {
		.pattern = gt_pattern_make(GT_COLL_ALLREDUCE, GT_DTYPE_FLOAT,
					   GT_REDOP_SUM, nccl->nranks, 7),
		.count = max_bytes / sizeof(float),
		.rank = rank};
	int rc = (int)cudaSetDevice(me->device);

	if (!rc)
		rc = (int)cudaStreamCreateWithFlags(&me->stream,
						    cudaStreamNonBlocking);
	if (!rc)
		rc = (int)cudaEventCreate(&me->begin);
	if (!rc)
		rc = (int)cudaEventCreate(&me->end);
	if (!rc)
		rc = nccl_alloc(nccl, &me->input, max_bytes);
	if (!rc)
		rc = nccl_alloc(nccl, &me->output, max_bytes);
	data.data = me->input;
	if (!rc)
		rc = gt_kernel_fill(&data, me->stream);
	if (!rc)
		rc = (int)cudaStreamSynchronize(me->stream);
	if (rc)
		fprintf(stderr, "nccl: rank %u cannot set up: %d\n", rank, rc);
	return rc;
}

struct gt_nccl *gt_nccl_open(enum gt_nccl_variant variant,
			     const struct gt_nccl_ranks *ranks,
			     uint64_t max_bytes)
{
	struct gt_nccl *nccl = calloc(1, sizeof(*nccl));
	int rc;

	if (!nccl || ranks->nranks > GT_NCCL_RANKS || nccl_load(&nccl->calls)) {
		free(nccl);
		return NULL;
	}
	nccl->nranks = ranks->nranks;
	nccl->first = ranks->first;
	nccl->end = ranks->end;
	nccl->world = ranks->world;
	nccl->symmetric =
		variant == GT_NCCL_SYMMETRIC || variant == GT_NCCL_SYMMETRIC_CE;
	for (uint32_t r = 0; r < nccl->nranks; r++)
		nccl->ranks[r].device = ranks->devices[r];
	rc = nccl_connect(nccl, variant, ranks->ctas);
	for (uint32_t r = nccl->first; !rc && r < nccl->end; r++)
		rc = nccl_rank_open(nccl, r, max_bytes);
	if (!rc && nccl->symmetric)
		rc = nccl_register(nccl, max_bytes);
	if (!nccl_most(nccl, rc != 0))
		return nccl;
	gt_nccl_close(nccl);
	return NULL;
}

void gt_nccl_close(struct gt_nccl *nccl)
{
	if (!nccl)
		return;
	for (uint32_t r = nccl->first; r < nccl->end; r++) {
		struct gt_nccl_rank *me = &nccl->ranks[r];

		cudaSetDevice(me->device);
		if (me->comm)
			nccl->calls.destroy(me->comm);
	}
	for (uint32_t r = nccl->first; r < nccl->end; r++) {
		struct gt_nccl_rank *me = &nccl->ranks[r];

		cudaSetDevice(me->device);
		nccl_free(nccl, me->input);
		nccl_free(nccl, me->output);
		if (me->begin)
			cudaEventDestroy(me->begin);
		if (me->end)
			cudaEventDestroy(me->end);
		if (me->stream)
			cudaStreamDestroy(me->stream);
	}
	free(nccl);
}

/* A rank's part of a collective. */
struct nccl_call {
	struct gt_nccl *nccl;
	const struct gt_exec_request *req;
	uint32_t rank;
	cudaStream_t stream;
};

/* To the next rank, from the one before. */
static int nccl_exchange(const struct nccl_call *at, const char *in, char *out)
{
	const struct nccl_calls *calls = &at->nccl->calls;
	struct gt_nccl_rank *me = &at->nccl->ranks[at->rank];
	const struct gt_exec_request *req = at->req;
	uint32_t n = at->nccl->nranks;
	int type = nccl_types[req->dtype], rc = calls->group_start();

	if (!rc)
		rc = calls->send(in, req->count, type,
				 (int)((at->rank + 1) % n), me->comm,
				 at->stream);
	if (!rc)
		rc = calls->receive(out, req->count, type,
				    (int)((at->rank + n - 1) % n), me->comm,
				    at->stream);
	return rc ? rc : calls->group_end();
}

/* What has a root, or goes from each to each. */
static int nccl_other(const struct nccl_call *at, const char *in, char *out)
{
	const struct nccl_calls *calls = &at->nccl->calls;
	struct gt_nccl_rank *me = &at->nccl->ranks[at->rank];
	const struct gt_exec_request *req = at->req;
	int type = nccl_types[req->dtype], op = nccl_ops[req->op];
	int root = (int)req->root;

	switch (req->coll) {
	case GT_COLL_BROADCAST:
		return calls->broadcast(in, out, req->count, type, root,
					me->comm, at->stream);
	case GT_COLL_REDUCE:
		return calls->reduce(in, out, req->count, type, op, root,
				     me->comm, at->stream);
	case GT_COLL_ALLTOALL:
		return calls->all_to_all(in, out, req->count, type, me->comm,
					 at->stream);
	case GT_COLL_GATHER:
		return calls->gather(in, out, req->count, type, root, me->comm,
				     at->stream);
	case GT_COLL_SCATTER:
		return calls->scatter(in, out, req->count, type, root, me->comm,
				      at->stream);
	default:
		return nccl_exchange(at, in, out);
	}
}

static int nccl_once(const struct nccl_call *at)
{
	const struct nccl_calls *calls = &at->nccl->calls;
	struct gt_nccl_rank *me = &at->nccl->ranks[at->rank];
	const struct gt_exec_request *req = at->req;
	size_t skip = at->rank * req->count * gt_dtype_bytes(req->dtype);
	int type = nccl_types[req->dtype], op = nccl_ops[req->op];
	char *in = me->input, *out = me->output;

	switch (req->coll) {
	case GT_COLL_ALLGATHER:
		if (req->inplace)
			in = out + skip;
		return calls->all_gather(in, out, req->count, type, me->comm,
					 at->stream);
	case GT_COLL_REDUCESCATTER:
		if (req->inplace)
			out = in + skip;
		return calls->reduce_scatter(in, out, req->count, type, op,
					     me->comm, at->stream);
	case GT_COLL_ALLREDUCE:
		if (req->inplace)
			out = in;
		return calls->all_reduce(in, out, req->count, type, op,
					 me->comm, at->stream);
	default:
		return nccl_other(at, in, out);
	}
}

int gt_nccl_enqueue(struct gt_nccl *nccl, const struct gt_exec_request *req,
		    uint32_t rank)
{
	const struct nccl_call call = {.nccl = nccl,
				       .req = req,
				       .rank = rank,
				       .stream = req->streams[rank]};

	return nccl_once(&call);
}

struct gt_buffers gt_nccl_buffers(const struct gt_nccl *nccl, uint32_t rank)
{
	return (struct gt_buffers){.input = nccl->ranks[rank].input,
				   .output = nccl->ranks[rank].output};
}

struct nccl_launch {
	struct gt_nccl *nccl;
	const struct gt_exec_request *req;
	uint32_t rank, iters, *arrived;
	int graph, rc;
	pthread_t thread;
	float ms;
};

static int nccl_all(const struct nccl_launch *at)
{
	const struct nccl_call call = {
		.nccl = at->nccl,
		.req = at->req,
		.rank = at->rank,
		.stream = at->nccl->ranks[at->rank].stream};
	int rc = 0;

	for (uint32_t i = 0; !rc && i < at->iters; i++)
		rc = nccl_once(&call);
	return rc;
}

static int nccl_capture(const struct nccl_launch *at, cudaGraphExec_t *exec)
{
	cudaStream_t stream = at->nccl->ranks[at->rank].stream;
	cudaGraph_t graph = NULL;
	int rc = cudaStreamBeginCapture(stream,
					cudaStreamCaptureModeThreadLocal);

	if (rc)
		return rc;
	rc = nccl_all(at);
	rc |= (int)cudaStreamEndCapture(stream, &graph);
	if (!rc)
		rc = (int)cudaGraphInstantiate(exec, graph, 0);
	if (!rc)
		rc = (int)cudaGraphUpload(*exec, stream);
	if (!rc && at->rank == at->nccl->first)
		at->nccl->blocks = gt_graph_blocks(graph);
	if (graph)
		cudaGraphDestroy(graph);
	return rc;
}

static void *nccl_thread(void *arg)
{
	struct nccl_launch *at = arg;
	struct gt_nccl_rank *me = &at->nccl->ranks[at->rank];
	cudaGraphExec_t exec = NULL;

	at->rc = (int)cudaSetDevice(me->device);
	if (!at->rc && at->graph)
		at->rc = nccl_capture(at, &exec);
	if (!at->rc)
		at->rc = (int)cudaStreamSynchronize(me->stream);
	__atomic_add_fetch(at->arrived, 1, __ATOMIC_ACQ_REL);
	while (__atomic_load_n(at->arrived, __ATOMIC_ACQUIRE) <
	       at->nccl->end - at->nccl->first)
		sched_yield();
	if (!at->rc)
		at->rc = (int)cudaEventRecord(me->begin, me->stream);
	if (!at->rc)
		at->rc = exec ? (int)cudaGraphLaunch(exec, me->stream)
			      : nccl_all(at);
	if (!at->rc)
		at->rc = (int)cudaEventRecord(me->end, me->stream);
	if (!at->rc)
		at->rc = (int)cudaStreamSynchronize(me->stream);
	if (!at->rc)
		at->rc = (int)cudaEventElapsedTime(&at->ms, me->begin, me->end);
	if (exec)
		cudaGraphExecDestroy(exec);
	return NULL;
}

int64_t gt_nccl_run(struct gt_nccl *nccl, const struct gt_exec_request *req,
		    uint32_t iters, int graph)
{
	struct nccl_launch all[GT_NCCL_RANKS];
	uint32_t arrived = 0;
	uint64_t most;
	float ms = 0;
	int rc = 0;

	/* Processes begin together. */
	if (nccl->world && gt_world_allgather(nccl->world, NULL, 0, NULL, NULL))
		return -1;
	for (uint32_t r = nccl->first; r < nccl->end; r++) {
		all[r] = (struct nccl_launch){.nccl = nccl,
					      .req = req,
					      .rank = r,
					      .iters = iters,
					      .arrived = &arrived,
					      .graph = graph};
		if (pthread_create(&all[r].thread, NULL, nccl_thread, &all[r]))
			abort();
	}
	for (uint32_t r = nccl->first; r < nccl->end; r++) {
		pthread_join(all[r].thread, NULL);
		rc |= all[r].rc;
		if (all[r].ms > ms)
			ms = all[r].ms;
	}
	most = nccl_most(nccl, rc ? UINT64_MAX : (uint64_t)((double)ms * 1e6));
	return most == UINT64_MAX ? -1 : (int64_t)most;
}

int gt_nccl_group(struct gt_nccl *nccl, const struct gt_exec_request *reqs,
		  uint32_t n)
{
	int rc = nccl->calls.group_start(), end;
	uint64_t at = 0;

	for (uint32_t i = 0; !rc && i < n; i++) {
		const struct gt_exec_request *req = &reqs[i];

		for (uint32_t r = nccl->first; !rc && r < nccl->end; r++)
			rc = nccl->calls.all_reduce(
				nccl->ranks[r].input + at,
				nccl->ranks[r].output + at, req->count,
				nccl_types[req->dtype], nccl_ops[req->op],
				nccl->ranks[r].comm, req->streams[r]);
		at += req->count * gt_dtype_bytes(req->dtype);
	}
	end = nccl->calls.group_end();
	return rc ? rc : end;
}

int gt_nccl_blocks(const struct gt_nccl *nccl)
{
	return nccl->blocks;
}
