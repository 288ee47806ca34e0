/*
 * A thread on each processor reads a part of 1 GiB, which is more than caches
 * have, all at once; the best of some rounds counts, with half of the
 * processors and with all.
 */
#include "measure/memory.h"

#include <ctype.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/thread.h"

/*
 * All processors reach at most so many times what half of them do, if it is the
 * memory that limits them.
 */
#define GT_MEMORY_MORE 1.5

enum {
	GT_MEMORY_BYTES = 1 << 30,
	GT_MEMORY_ROUNDS = 5,
	GT_MEMORY_LINE_WORDS = 8,
	GT_MEMORY_DIGITS = 8, /* of a word of a mask */
};

/* All threads of a node, and the gate that they begin behind. */
struct gt_memory_crew {
	uint32_t n;
	size_t words;           /* of each thread's part */
	_Atomic uint32_t ready; /* threads whose parts are there */
	_Atomic int go;         /* 1: measure, -1: leave */
	pthread_barrier_t round;
	int64_t best_ns;
};

struct gt_memory_reader {
	struct gt_memory_crew *crew;
	pthread_t thread;
	int cpu;
	int is_first;
	uint64_t *part;
	uint64_t sum; /* so that reads have a use */
};

/* Read a mask, the highest word first; 0: it is none. */
static int gt_memory_mask(const char *text, cpu_set_t *set)
{
	const char *end = text + strlen(text);
	size_t cpu = 0;
	int digits = 0;

	CPU_ZERO(set);
	while (end > text && cpu + 4 <= CPU_SETSIZE) {
		char c = *--end;
		const char *digit;

		if (c == ',' && digits == GT_MEMORY_DIGITS) {
			digits = 0;
			continue;
		}
		digit = strchr("0123456789abcdef", tolower((unsigned char)c));
		if (!c || !digit || digits++ == GT_MEMORY_DIGITS)
			return 0;
		for (size_t bit = 0; bit < 4; bit++)
			if ((digit - "0123456789abcdef") >> bit & 1)
				CPU_SET(cpu + bit, set);
		cpu += 4;
	}
	return end == text && digits;
}

static uint64_t gt_memory_sum(const uint64_t *part, size_t words)
{
	uint64_t sums[GT_MEMORY_LINE_WORDS] = {0}, sum = 0;

	for (size_t i = 0; i + GT_MEMORY_LINE_WORDS <= words;
	     i += GT_MEMORY_LINE_WORDS)
		for (size_t k = 0; k < GT_MEMORY_LINE_WORDS; k++)
			sums[k] += part[i + k];
	for (size_t k = 0; k < GT_MEMORY_LINE_WORDS; k++)
		sum += sums[k];
	return sum;
}

/* Read the part round after round; the first thread takes the time. */
static void gt_memory_rounds(struct gt_memory_reader *at)
{
	struct gt_memory_crew *crew = at->crew;
	int64_t begin_ns, ns;

	for (int i = 0; i < GT_MEMORY_ROUNDS; i++) {
		pthread_barrier_wait(&crew->round);
		begin_ns = gt_clock_ns();
		at->sum += gt_memory_sum(at->part, crew->words);
		pthread_barrier_wait(&crew->round);
		ns = gt_clock_ns() - begin_ns;
		if (at->is_first && (!crew->best_ns || ns < crew->best_ns))
			crew->best_ns = ns;
	}
}

/* Memory is on the node whose processor writes to it first. */
static void *gt_memory_read(void *arg)
{
	struct gt_memory_reader *at = arg;
	struct gt_memory_crew *crew = at->crew;
	size_t bytes = crew->words * sizeof(*at->part);
	cpu_set_t mine;
	int go;

	CPU_ZERO(&mine);
	CPU_SET((size_t)at->cpu, &mine);
	at->part = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at->part != MAP_FAILED &&
	    !pthread_setaffinity_np(pthread_self(), sizeof(mine), &mine)) {
		memset(at->part, 1, bytes);
		atomic_fetch_add(&crew->ready, 1);
	}
	while (!(go = atomic_load(&crew->go)))
		sched_yield();
	if (go > 0)
		gt_memory_rounds(at);
	if (at->part != MAP_FAILED)
		munmap(at->part, bytes);
	return NULL;
}

/* Wait for all threads' parts; 0: one has none. */
static int gt_memory_await(struct gt_memory_crew *crew, uint32_t started)
{
	const int64_t limit = gt_clock_ns() + INT64_C(10000000000);

	while (started == crew->n && gt_clock_ns() < limit) {
		if (atomic_load(&crew->ready) == crew->n)
			return 1;
		sched_yield();
	}
	return 0;
}

static int gt_memory_run(struct gt_memory_crew *crew,
			 struct gt_memory_reader *readers, struct gt_err *err)
{
	uint32_t started = 0;
	int rc = GT_OK, all;

	if (pthread_barrier_init(&crew->round, NULL, crew->n))
		return gt_err_nomem(err);
	while (started < crew->n && !rc) {
		struct gt_memory_reader *at = &readers[started];

		at->crew = crew;
		at->is_first = !started;
		rc = gt_thread_start(&at->thread, gt_memory_read, at, err);
		started += !rc;
	}
	all = gt_memory_await(crew, started);
	atomic_store(&crew->go, all ? 1 : -1);
	while (started)
		pthread_join(readers[--started].thread, NULL);
	pthread_barrier_destroy(&crew->round);
	return rc;
}

/*
 * Measure with a thread on each of the first n processors of a set; 0: there is
 * not the memory.
 */
static int gt_memory_rate(const cpu_set_t *set, uint32_t n, double *gbs,
			  struct gt_err *err)
{
	struct gt_memory_crew crew = {
		.n = n, .words = GT_MEMORY_BYTES / sizeof(uint64_t) / n};
	struct gt_memory_reader *readers = calloc(n, sizeof(*readers));
	uint32_t found = 0;
	int rc;

	if (!readers)
		return gt_err_nomem(err);
	for (size_t cpu = 0; cpu < CPU_SETSIZE && found < n; cpu++)
		if (CPU_ISSET(cpu, set))
			readers[found++].cpu = (int)cpu;
	rc = gt_memory_run(&crew, readers, err);
	free(readers);
	*gbs = 0;
	if (!rc && crew.best_ns)
		*gbs = (double)crew.words * sizeof(uint64_t) * n /
		       (double)crew.best_ns;
	return rc;
}

int gt_measure_memory(const char *affinity, double *gbs, struct gt_err *err)
{
	cpu_set_t node, mine;
	double half = 0;
	uint32_t n;
	int rc;

	*gbs = 0;
	if (!gt_memory_mask(affinity, &node))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "affinity '%.64s' is no mask of CPUs",
				  affinity);
	if (sched_getaffinity(0, sizeof(mine), &mine))
		return GT_OK;
	CPU_AND(&mine, &mine, &node);
	n = (uint32_t)CPU_COUNT(&mine);
	if (n < 2)
		return GT_OK;
	rc = gt_memory_rate(&mine, n / 2, &half, err);
	if (!rc)
		rc = gt_memory_rate(&mine, n, gbs, err);
	if (*gbs > GT_MEMORY_MORE * half)
		*gbs = 0;
	return rc;
}
