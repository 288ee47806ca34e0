/*
 * Communicators on what is left of others: processes of a job that make them,
 * and what their operations must give.
 */
#ifndef GT_TESTS_UNIT_LIB_SHRINK_H
#define GT_TESTS_UNIT_LIB_SHRINK_H

#include "unit/port.h"
#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtopo.h"

enum { MOST = 8, COUNT = 10000, LIMIT_MS = 40000 };

static char plan_path[4096];

/* Which ranks are wanted there, by their first numbers. */
struct want {
	int n, ranks[MOST];
};

static inline int origin_of(struct gtopo_comm **line, int depth, int rank)
{
	while (depth >= 0)
		rank = gtopo_comm_origin(line[depth--], rank);
	return rank;
}

/*
 * An all-reduce and an all-gather: 0 if both have what all wanted ranks gave,
 * who give their first numbers.
 */
static inline int is_right(struct gtopo_comm **line, int depth,
			   const struct want *want)
{
	static int32_t in[MOST][COUNT], out[MOST][COUNT], all[MOST][MOST];
	struct gtopo_comm *comm = line[depth];
	int first, count, sum = 0;

	gtopo_comm_local(comm, &first, &count);
	if (gtopo_comm_ranks(comm) != want->n)
		return 1;
	for (int i = 0; i < want->n; i++)
		sum += want->ranks[i] + 1;
	for (int r = first; r < first + count; r++) {
		int me = origin_of(line, depth, r);

		if (me != want->ranks[r])
			return 2;
		for (int i = 0; i < COUNT; i++)
			in[r][i] = (me + 1) * (i % 7);
		if (gtopo_allreduce(comm, r, in[r], out[r], COUNT, GTOPO_INT32,
				    GTOPO_SUM) ||
		    gtopo_allgather(comm, r, &in[r][1], all[r], 1, GTOPO_INT32))
			return 3;
	}
	if (gtopo_wait(comm, GTOPO_ALL_RANKS, -1))
		return 4;
	for (int r = first; r < first + count; r++) {
		for (int i = 0; i < COUNT; i++)
			if (out[r][i] != sum * (i % 7))
				return 5;
		for (int i = 0; i < want->n; i++)
			if (all[r][i] != want->ranks[i] + 1)
				return 6;
	}
	return 0;
}

static inline struct want without(const struct want *all, int from, int to)
{
	struct want want = {0};

	for (int i = 0; i < all->n; i++)
		if (all->ranks[i] < from || all->ranks[i] >= to)
			want.ranks[want.n++] = all->ranks[i];
	return want;
}

static inline struct want everybody(int n)
{
	struct want want = {.n = n};

	for (int i = 0; i < n; i++)
		want.ranks[i] = i;
	return want;
}

static inline struct gtopo_comm *create(unsigned flags)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gtopo_comm *comm = NULL;
	char message[512] = "";

	config.plan = plan_path;
	config.timeout_ms = LIMIT_MS;
	config.flags = flags;
	if (gtopo_comm_create(&config, &comm, message, sizeof(message)))
		fprintf(stderr, "# %s\n", message);
	return comm;
}

static inline struct gtopo_comm *shrink(struct gtopo_comm *comm,
					const int *excluded, int n,
					unsigned flags)
{
	struct gtopo_comm *out = NULL;
	char message[512] = "";

	if (gtopo_comm_shrink(comm, excluded, n, flags, &out, message,
			      sizeof(message)))
		fprintf(stderr, "# %s\n", message);
	return out;
}

/* As is_right(), and all know then that all have come so far. */
static inline int is_right_twice(struct gtopo_comm **line, int depth,
				 const struct want *want)
{
	int rc = is_right(line, depth, want);

	return rc ? rc : is_right(line, depth, want);
}

static inline void set(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

/* Launch processes; their statuses, of a signal 128 and its number. */
static inline void launch(int processes, int (*part)(int, int, int), int victim,
			  int *status)
{
	int port = test_free_port();
	pid_t pids[MOST];

	setenv("GTOPO_SECRET", "a secret for tests only", 1);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	set("MASTER_PORT", port);
	set("WORLD_SIZE", processes);
	fflush(NULL);
	for (int p = 0; p < processes; p++) {
		pids[p] = fork();
		if (pids[p])
			continue;
		alarm(120);
		set("RANK", p);
		_exit(part(p, processes, victim));
	}
	for (int p = 0; p < processes; p++) {
		assert_int_equal(waitpid(pids[p], &status[p], 0), pids[p]);
		status[p] = WIFEXITED(status[p]) ? WEXITSTATUS(status[p])
						 : 128 + WTERMSIG(status[p]);
	}
}

#endif
