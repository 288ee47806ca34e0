/* What goes wrong: it is named in time, and a new communicator works. */
#include "gpu/library.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

enum { LIMIT_MS = 1000, FAULT_GROUP = 8 };

static const struct operation SMALL = {.coll = GT_COLL_ALLREDUCE,
				       .type = GTOPO_FLOAT,
				       .count = 4096,
				       .seed = 11};

void expect(struct library *lib, const char *what, int rc, int want,
	    const char *words, int64_t begin_ns, int64_t limit_ms)
{
	int64_t ms = (gt_clock_ns() - begin_ns) / 1000000;
	char message[512];

	gtopo_comm_message(lib->comm, message, sizeof(message));
	printf("# %s: %d '%s' after %lld ms\n", what, rc, message,
	       (long long)ms);
	if (rc != want || gtopo_comm_state(lib->comm) != want ||
	    !strstr(message, words) || ms > limit_ms)
		complain(lib, what, "not as it should be");
}

int again(struct library *lib, int64_t limit_ms)
{
	int all;

	close_comm(lib);
	if (!open_comm(lib, GTOPO_BEST, limit_ms))
		return 0;
	all = run(lib, &SMALL) && sum_wrong(lib) == 0;
	if (!all)
		complain(lib, "a new communicator", "does not work");
	return all;
}

static void *abort_soon(void *arg)
{
	const struct timespec soon = {0, 100000000};

	nanosleep(&soon, NULL);
	gtopo_comm_abort(arg);
	return NULL;
}

/* Rank 0 calls, nobody else ever does. */
static int fault_alone(struct library *lib, int aborts)
{
	int64_t begin = gt_clock_ns();
	pthread_t thread;
	int rc;

	if (aborts && pthread_create(&thread, NULL, abort_soon, lib->comm))
		return 0;
	rc = call(lib, &SMALL, 0);
	if (aborts) {
		pthread_join(thread, NULL);
		expect(lib, "abort of a lonely call", rc, GTOPO_EABORTED,
		       "aborted", begin, 500);
	} else {
		expect(lib, "a lonely call", rc, GTOPO_ESYSTEM,
		       "rank 1 has not called", begin, LIMIT_MS + 1000);
	}
	return again(lib, LIMIT_MS);
}

/* Rank 1's stream is held up, so that rank 0's kernel waits for it. */
static int fault_held(struct library *lib, const struct operation *ops, int n,
		      int aborts)
{
	int64_t begin = gt_clock_ns();
	volatile uint32_t *go;
	pthread_t thread;
	int rc;

	if (cudaHostAlloc((void **)&go, sizeof(*go), cudaHostAllocPortable) !=
	    cudaSuccess)
		return 0;
	*go = 0;
	cudaSetDevice(lib->ranks[1].gpu);
	if (gt_spin_run((const uint32_t *)go, lib->ranks[1].stream) ||
	    !run_all(lib, ops, n))
		return 0;
	if (aborts && pthread_create(&thread, NULL, abort_soon, lib->comm))
		return 0;
	rc = gtopo_wait(lib->comm, 0, 20000);
	if (aborts) {
		pthread_join(thread, NULL);
		expect(lib, "abort of a kernel that waits", rc, GTOPO_EABORTED,
		       "aborted", begin, 500);
	} else {
		expect(lib, "a kernel that waits", rc, GTOPO_ESYSTEM,
		       "rank 1 (", begin, LIMIT_MS + 1000);
	}
	*go = 1;
	for (int r = 0; r < lib->nranks; r++)
		if (cudaStreamSynchronize(lib->ranks[r].stream) != cudaSuccess)
			complain(lib, "streams", "did not end");
	cudaFreeHost((void *)go);
	for (int r = 0; r < lib->nranks; r++) {
		cudaSetDevice(lib->ranks[r].gpu);
		cudaMemset(lib->ranks[r].wrong, 0, sizeof(uint64_t));
	}
	return again(lib, LIMIT_MS);
}

/* Ranks that call different things, and calls that make no sense. */
static int fault_calls(struct library *lib)
{
	struct rank *me = &lib->ranks[0];
	struct operation other = SMALL;
	int64_t begin = gt_clock_ns();
	char words[256];
	int rc;

	if (gtopo_register(lib->comm, 0, me->input, lib->room) ||
	    gtopo_register(lib->comm, 0, me->input, lib->room) !=
		    GTOPO_EINPUT ||
	    gtopo_register(lib->comm, 1, me->input, lib->room) !=
		    GTOPO_EINPUT ||
	    gtopo_register(lib->comm, 0, &other, sizeof(other)) !=
		    GTOPO_EINPUT ||
	    gtopo_deregister(lib->comm, 0, me->input) ||
	    gtopo_deregister(lib->comm, 0, me->input) != GTOPO_EINPUT)
		complain(lib, "registration", "not as it should be");
	if (gtopo_allreduce(lib->comm, 0, me->input + 1, me->output, 1,
			    GTOPO_FLOAT, GTOPO_SUM) != GTOPO_EINPUT)
		complain(lib, "an unaligned float", "was taken");
	gtopo_comm_message(lib->comm, words, sizeof(words));
	if (gtopo_comm_state(lib->comm) || !strstr(words, "not aligned"))
		complain(lib, "an unaligned float", words);
	other.count--;
	rc = gtopo_group_start(lib->comm, GTOPO_ALL_RANKS);
	for (int r = 0; !rc && r < lib->nranks; r++)
		rc = call(lib, r ? &other : &SMALL, r);
	if (!rc)
		rc = gtopo_group_end(lib->comm, GTOPO_ALL_RANKS);
	expect(lib, "different calls", rc, GTOPO_EINPUT, "rank 1 calls", begin,
	       1000);
	return again(lib, LIMIT_MS);
}

int part_fault(struct library *lib)
{
	struct operation large = SMALL, group[FAULT_GROUP];

	large.count = 8 << 20;
	for (uint64_t i = 0; i < FAULT_GROUP; i++) {
		group[i] = SMALL;
		group[i].at = i * SMALL.count * sizeof(float);
	}
	return open_ranks(lib, 64 << 20) &&
	       open_comm(lib, GTOPO_BEST, LIMIT_MS) && fault_calls(lib) &&
	       fault_alone(lib, 1) && fault_alone(lib, 0) &&
	       fault_held(lib, &SMALL, 1, 0) && fault_held(lib, &large, 1, 0) &&
	       fault_held(lib, group, FAULT_GROUP, 0) &&
	       fault_held(lib, &SMALL, 1, 1) && fault_held(lib, &large, 1, 1) &&
	       fault_held(lib, group, FAULT_GROUP, 1);
}
