#include "self.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "plan/ir/plan.h"

enum { SELF_TIMEOUT_MS = 20000 };

/* What is called of a library; each has its own. */
struct calls {
	__typeof__(&gtopo_comm_create) create;
	__typeof__(&gtopo_comm_destroy) destroy;
	__typeof__(&gtopo_comm_ranks) ranks;
	__typeof__(&gtopo_comm_gpu) gpu;
	__typeof__(&gtopo_comm_stream) stream;
	__typeof__(&gtopo_comm_message) message;
	__typeof__(&gtopo_wait) wait;
	__typeof__(&gtopo_group_start) group_start;
	__typeof__(&gtopo_group_end) group_end;
	__typeof__(&gtopo_allreduce) allreduce;
	__typeof__(&gtopo_allgather) allgather;
	__typeof__(&gtopo_reducescatter) reducescatter;
	__typeof__(&gtopo_alltoall) alltoall;
	__typeof__(&gtopo_broadcast) broadcast;
	__typeof__(&gtopo_reduce) reduce;
	__typeof__(&gtopo_gather) gather;
	__typeof__(&gtopo_scatter) scatter;
};

struct gt_self {
	char name[GT_SELF_NAME];
	void *library;
	struct calls calls;
	struct gtopo_comm *comm;
	int nranks;
};

/* Order of struct calls. */
static const char *const call_names[] = {
	"gtopo_comm_create", "gtopo_comm_destroy", "gtopo_comm_ranks",
	"gtopo_comm_gpu",    "gtopo_comm_stream",  "gtopo_comm_message",
	"gtopo_wait",        "gtopo_group_start",  "gtopo_group_end",
	"gtopo_allreduce",   "gtopo_allgather",    "gtopo_reducescatter",
	"gtopo_alltoall",    "gtopo_broadcast",    "gtopo_reduce",
	"gtopo_gather",      "gtopo_scatter",
};
_Static_assert(sizeof(call_names) / sizeof(*call_names) * sizeof(void *) ==
		       sizeof(struct calls),
	       "a name for each call");

/* Apart from others of the same name, which may be of another build. */
static int load(struct gt_self *self, const char *path)
{
	void *found;

	self->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!self->library) {
		fprintf(stderr, "vs-self: %s\n", dlerror());
		return 0;
	}
	for (size_t i = 0; i < sizeof(call_names) / sizeof(*call_names); i++) {
		found = dlsym(self->library, call_names[i]);
		if (!found) {
			fprintf(stderr, "vs-self: %s\n", dlerror());
			return 0;
		}
		memcpy((char *)&self->calls + i * sizeof(found), &found,
		       sizeof(found));
	}
	return 1;
}

/* 0 at a word that is no flag. */
static int parse_flags(char *flags, struct gtopo_config *config)
{
	char *end, *rest = NULL;

	for (char *flag = strtok_r(flags, "+", &rest); flag;
	     flag = strtok_r(NULL, "+", &rest)) {
		if (!strcmp(flag, "best"))
			config->flags |= GTOPO_BEST;
		else if (!strcmp(flag, "rows"))
			config->flags |= GTOPO_ROWS;
		else if (!strcmp(flag, "invariant"))
			config->flags |= GTOPO_INVARIANT;
		else if (!strncmp(flag, "plan=", 5))
			config->plan = flag + 5;
		else if (!strncmp(flag, "blocks=", 7) && flag[7] &&
			 (config->max_blocks = strtoull(flag + 7, &end, 10)) &&
			 !*end)
			continue;
		else {
			fprintf(stderr,
				"vs-self: '%s' is none of best, rows, "
				"invariant, blocks=N, plan=FILE\n",
				flag);
			return 0;
		}
	}
	return 1;
}

static int create(struct gt_self *self, const struct gtopo_config *config)
{
	char words[512];

	if (self->calls.create(config, &self->comm, words, sizeof(words))) {
		fprintf(stderr, "vs-self: %s: %s\n", self->name, words);
		return 0;
	}
	self->nranks = self->calls.ranks(self->comm);
	if (self->nranks <= GT_SELF_RANKS)
		return 1;
	fprintf(stderr, "vs-self: more than %d ranks\n", GT_SELF_RANKS);
	return 0;
}

struct gt_self *gt_self_open(const char *way, const char *plan,
			     enum gtopo_device device, int is_shared)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gt_self *self = calloc(1, sizeof(*self));
	char path[GT_SELF_NAME], *flags;

	config.plan = plan;
	config.timeout_ms = SELF_TIMEOUT_MS;
	config.device = device;
	if (is_shared)
		config.flags |= GTOPO_MAP_SHARE;
	snprintf(path, sizeof(path), "%s", way);
	flags = strchr(path, ':');
	if (flags)
		*flags++ = '\0';
	if (self)
		snprintf(self->name, sizeof(self->name), "%s", way);
	if (self && (!flags || parse_flags(flags, &config)) &&
	    load(self, path) && create(self, &config))
		return self;
	gt_self_close(self);
	return NULL;
}

void gt_self_close(struct gt_self *self)
{
	if (!self)
		return;
	if (self->comm)
		self->calls.destroy(self->comm);
	/* The library stays: threads of CUDA may still be in it. */
	free(self);
}

const char *gt_self_name(const struct gt_self *self)
{
	return self->name;
}

/* 1, or what CUDA says is said. */
static int is_done(cudaError_t rc)
{
	if (rc == cudaSuccess)
		return 1;
	fprintf(stderr, "vs-self: CUDA: %s\n", cudaGetErrorString(rc));
	return 0;
}

/* Small numbers, whose sums are exact, so that all ways have the same bits. */
static int open_rank(struct gt_self_rank *rank, uint64_t bytes)
{
	float *values = malloc(bytes);
	int done = 0;

	if (!values)
		return 0;
	for (uint64_t i = 0; i < bytes / sizeof(*values); i++)
		values[i] = (float)(i * 2654435761u >> 7 & 7);
	if (rank->gpu < 0) {
		rank->output = malloc(bytes);
		rank->input = (char *)values;
		return rank->output != NULL;
	}
	done = is_done(cudaSetDevice(rank->gpu)) &&
	       is_done(cudaStreamCreateWithFlags(&rank->stream,
						 cudaStreamNonBlocking)) &&
	       is_done(cudaMalloc((void **)&rank->input, bytes)) &&
	       is_done(cudaMalloc((void **)&rank->output, bytes)) &&
	       is_done(cudaMemcpy(rank->input, values, bytes,
				  cudaMemcpyHostToDevice));
	free(values);
	return done;
}

int gt_self_ranks_open(struct gt_self_ranks *ranks, struct gt_self *self,
		       uint64_t bytes)
{
	*ranks = (struct gt_self_ranks){.n = self->nranks, .bytes = bytes};
	for (int r = 0; r < ranks->n; r++) {
		ranks->rank[r].gpu = self->calls.gpu(self->comm, r);
		if (open_rank(&ranks->rank[r], bytes))
			continue;
		fprintf(stderr, "vs-self: no memory for rank %d\n", r);
		return 3;
	}
	return 0;
}

void gt_self_ranks_close(struct gt_self_ranks *ranks)
{
	for (int r = 0; r < ranks->n; r++) {
		struct gt_self_rank *rank = &ranks->rank[r];

		if (rank->gpu < 0) {
			free(rank->input);
			free(rank->output);
			continue;
		}
		cudaSetDevice(rank->gpu);
		cudaFree(rank->input);
		cudaFree(rank->output);
		cudaStreamDestroy(rank->stream);
	}
}

void gt_self_use(struct gt_self *self, const struct gt_self_ranks *ranks)
{
	for (int r = 0; r < ranks->n; r++)
		if (ranks->rank[r].gpu >= 0)
			self->calls.stream(self->comm, r,
					   ranks->rank[r].stream);
}

static int call_rank(const struct gt_self *self, int r,
		     const struct gt_self_rank *at,
		     const struct gt_self_operation *op)
{
	const struct calls *calls = &self->calls;
	struct gtopo_comm *comm = self->comm;
	enum gtopo_op sum = GTOPO_SUM;

	switch (op->coll) {
	case GT_COLL_ALLREDUCE:
		return calls->allreduce(comm, r, at->input, at->output,
					op->count, op->type, sum);
	case GT_COLL_ALLGATHER:
		return calls->allgather(comm, r, at->input, at->output,
					op->count, op->type);
	case GT_COLL_REDUCESCATTER:
		return calls->reducescatter(comm, r, at->input, at->output,
					    op->count, op->type, sum);
	case GT_COLL_ALLTOALL:
		return calls->alltoall(comm, r, at->input, at->output,
				       op->count, op->type);
	case GT_COLL_BROADCAST:
		return calls->broadcast(comm, r, at->input, at->output,
					op->count, op->type, 0);
	case GT_COLL_REDUCE:
		return calls->reduce(comm, r, at->input, at->output, op->count,
				     op->type, sum, 0);
	case GT_COLL_GATHER:
		return calls->gather(comm, r, at->input, at->output, op->count,
				     op->type, 0);
	case GT_COLL_SCATTER:
		return calls->scatter(comm, r, at->input, at->output, op->count,
				      op->type, 0);
	}
	return GTOPO_EINPUT;
}

/* What the library answered; its words are said. */
static int complain(const struct gt_self *self, int rc)
{
	char words[512] = "";

	if (!rc)
		return 0;
	self->calls.message(self->comm, words, sizeof(words));
	fprintf(stderr, "vs-self: %s: %s\n", self->name, words);
	return rc;
}

/* All ranks, as a thread that has all of them calls it. */
static int call_all(const struct gt_self *self,
		    const struct gt_self_ranks *ranks,
		    const struct gt_self_operation *op)
{
	int rc = self->calls.group_start(self->comm, GTOPO_ALL_RANKS), ended;

	for (int r = 0; r < ranks->n && !rc; r++)
		rc = call_rank(self, r, &ranks->rank[r], op);
	ended = self->calls.group_end(self->comm, GTOPO_ALL_RANKS);
	return complain(self, rc ? rc : ended);
}

static int wait_all(const struct gt_self *self)
{
	return complain(self,
			self->calls.wait(self->comm, GTOPO_ALL_RANKS, -1));
}

static int64_t run_calls(const struct gt_self *self,
			 const struct gt_self_ranks *ranks,
			 const struct gt_self_operation *op, uint32_t times)
{
	int64_t begin_ns = gt_clock_ns();
	int rc = 0;

	for (uint32_t i = 0; i < times && !rc; i++)
		rc = call_all(self, ranks, op);
	if (!rc)
		rc = wait_all(self);
	return rc ? rc : gt_clock_ns() - begin_ns;
}

struct graphs {
	cudaGraph_t graph[GT_SELF_RANKS];
	cudaGraphExec_t exec[GT_SELF_RANKS];
};

/* All captures end before graphs are made: that is illegal during one. */
static int capture(const struct gt_self *self,
		   const struct gt_self_ranks *ranks,
		   const struct gt_self_operation *op, uint32_t times,
		   struct graphs *graphs)
{
	int done = 1;

	for (int r = 0; r < ranks->n && done; r++)
		done = is_done(cudaSetDevice(ranks->rank[r].gpu)) &&
		       is_done(cudaStreamBeginCapture(
			       ranks->rank[r].stream,
			       cudaStreamCaptureModeGlobal));
	for (uint32_t i = 0; i < times && done; i++)
		done = !call_all(self, ranks, op);
	for (int r = 0; r < ranks->n; r++)
		done = is_done(cudaStreamEndCapture(ranks->rank[r].stream,
						    &graphs->graph[r])) &&
		       done;
	for (int r = 0; r < ranks->n && done; r++)
		done = is_done(cudaSetDevice(ranks->rank[r].gpu)) &&
		       is_done(cudaGraphInstantiate(&graphs->exec[r],
						    graphs->graph[r], 0));
	return done;
}

/* The first launch uploads the graphs. */
static int64_t replay(const struct gt_self *self,
		      const struct gt_self_ranks *ranks,
		      const struct graphs *graphs)
{
	int64_t begin_ns = 0;

	for (int turn = 0; turn < 2; turn++) {
		begin_ns = gt_clock_ns();
		for (int r = 0; r < ranks->n; r++)
			if (!is_done(cudaSetDevice(ranks->rank[r].gpu)) ||
			    !is_done(cudaGraphLaunch(graphs->exec[r],
						     ranks->rank[r].stream)))
				return GTOPO_ESYSTEM;
		if (wait_all(self))
			return GTOPO_ESYSTEM;
	}
	return gt_clock_ns() - begin_ns;
}

static int64_t run_graph(const struct gt_self *self,
			 const struct gt_self_ranks *ranks,
			 const struct gt_self_operation *op, uint32_t times)
{
	struct graphs graphs;
	int64_t ns;

	memset(&graphs, 0, sizeof(graphs));
	ns = capture(self, ranks, op, times, &graphs)
		     ? replay(self, ranks, &graphs)
		     : GTOPO_ESYSTEM;
	for (int r = 0; r < ranks->n; r++) {
		if (graphs.exec[r])
			cudaGraphExecDestroy(graphs.exec[r]);
		if (graphs.graph[r])
			cudaGraphDestroy(graphs.graph[r]);
	}
	return ns;
}

int64_t gt_self_run(struct gt_self *self, const struct gt_self_ranks *ranks,
		    const struct gt_self_operation *operation, uint32_t times,
		    int is_graph)
{
	return is_graph ? run_graph(self, ranks, operation, times)
			: run_calls(self, ranks, operation, times);
}
