/*
 * libgtopo with ranks on GPUs.
 *
 *     library PART PLAN SECONDS
 *
 * check: collectives, types, operators, counts, in and out of place.
 * graph: captured and replayed.  threads: a thread a rank.  overlap: beside a
 * kernel that does not end.  fault: aborts and time limits, after each of which
 * a new communicator works.  pairs: messages by chance, in threads and graphs;
 * pairs-fault: those that do not match; pairs-apart: the same of 2 processes.
 * stress: 1000000 small operations of random kinds and sizes.  groups: many
 * operations in one group.  race: groups against the same operations one by
 * one, and against NCCL's groups where there is NCCL.  register: registered
 * buffers, and their times beside others'; pieces: the same of buffers made
 * with cuMemMap().  orders: two communicators that processes use in different
 * orders; apart: processes that call different things.
 *
 * In a launcher's job (WORLD_SIZE is set) each process has some of the ranks;
 * of the parts, check, graph, groups, pairs, register, pieces, orders, apart
 * and stress know how.  With a GTOPO_HOSTID of its own a process takes itself
 * for a host: check and graph.
 *
 * LIBRARY_MAX_BLOCKS limits the thread blocks of communicators.
 *
 * The comparison follows each operation on its stream, so an operation that is
 * not in its place on the stream shows as wrong elements.
 *
 * Prints one line of what was done and a line for each of the first faults.
 * Status: 0 all right; 1 wrong, failed or out of time; 2 usage; 77 no GPUs.
 */
#include "gpu/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "kernels/pattern.h"

enum {
	STRESS_OPERATIONS = 1000000,
	STRESS_BATCH = 1000,           /* until the host waits */
	PLAN_COLLS = GT_COLL_ALLTOALL, /* that a ring has are before it */
};

static const uint64_t MIB = 1 << 20;

static int check_counts(struct library *lib, struct operation op)
{
	static const uint64_t counts[] = {1, 0, 3, 1000, 65537, 1048579};
	char what[128];
	int64_t wrong;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]) * 2; i++) {
		op.count = counts[i / 2];
		op.inplace = i % 2;
		op.shift = i / 2 % 3;
		op.seed++;
		if (fits(lib, &op) && !run(lib, &op))
			return 0;
	}
	wrong = sum_wrong(lib);
	if (wrong) {
		snprintf(what, sizeof(what), "%s %s %s", gt_coll_name(op.coll),
			 gt_dtype_name((enum gt_dtype)op.type),
			 gt_redop_name((enum gt_redop)op.op));
		complain(lib, what, "wrong elements");
	}
	return wrong >= 0 && !late(lib);
}

static int check_kinds(struct library *lib, int ncolls, int nroots)
{
	struct operation op = {.seed = 1};

	for (int c = 0; c < ncolls; c++)
		for (int t = 0; t < GT_NDTYPES; t++)
			for (int o = 0; o < GT_NREDOPS; o++) {
				if (o && !gt_pattern_reduces((uint32_t)c))
					continue;
				op.coll = (enum gt_coll)c;
				op.type = (enum gtopo_type)t;
				op.op = (enum gtopo_op)o;
				op.root = (t + o) % nroots;
				if (!check_counts(lib, op))
					return 0;
			}
	return 1;
}

/* Large ones, which go other ways. */
static int check_large(struct library *lib)
{
	struct operation op = {.type = GTOPO_FLOAT, .seed = 99};

	for (int c = 0; c < all_colls(); c++)
		for (uint64_t bytes = 40 * MIB; bytes < lib->room; bytes *= 6) {
			op.coll = (enum gt_coll)c;
			op.count = bytes / sizeof(float) + 1;
			if (gt_coll_has_blocks(op.coll))
				op.count /= (uint64_t)lib->nranks;
			op.inplace = !op.inplace;
			op.seed++;
			if (!run(lib, &op))
				return 0;
		}
	if (sum_wrong(lib))
		complain(lib, "large operations", "wrong elements");
	return !late(lib);
}

/* Over links the plan's root is the only one. */
static int roots_of(const struct library *lib)
{
	return is_far() ? 1 : lib->nranks;
}

int part_check(struct library *lib)
{
	int all;

	if (!open_ranks(lib, 256 * MIB) || !open_comm(lib, 0, 10000))
		return 0;
	all = check_kinds(lib, PLAN_COLLS, roots_of(lib));
	close_comm(lib);
	if (!all || !open_comm(lib, GTOPO_BEST, 10000))
		return 0;
	all = check_fp8(lib) && check_kinds(lib, all_colls(), roots_of(lib)) &&
	      check_large(lib);
	close_comm(lib);
	return all;
}

/* Sizes are uniform in their logarithm. */
int part_stress(struct library *lib)
{
	int64_t begin, wrong = 0;
	uint64_t state = 2026;

	if (!open_ranks(lib, 4 * MIB) || !open_comm(lib, GTOPO_BEST, 10000))
		return 0;
	begin = gt_clock_ns();
	while (lib->operations < STRESS_OPERATIONS && !wrong && !late(lib)) {
		struct operation op = {
			.coll = (enum gt_coll)draw(&state, GT_COLL_SENDRECV),
			.type = (enum gtopo_type)draw(&state, GT_NDTYPES),
			.op = (enum gtopo_op)draw(&state, GT_NREDOPS),
			.inplace = !draw(&state, 4),
			.shift = draw(&state, 2) * draw(&state, 16),
			.seed = draw(&state, 1u << 30),
			.root = (int)draw(&state, (uint32_t)lib->nranks)};

		op.count = draw(&state, 2u << draw(&state, 13));
		if (!run(lib, &op))
			return 0;
		if (lib->operations % STRESS_BATCH == 0)
			wrong = sum_wrong(lib);
	}
	if (wrong || sum_wrong(lib))
		complain(lib, "stress", "wrong elements");
	printf("# %.2f us an operation, with its fill and comparison\n",
	       (double)(gt_clock_ns() - begin) / 1e3 / (double)lib->operations);
	close_comm(lib);
	return lib->operations >= STRESS_OPERATIONS;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(struct library *lib);
	} parts[] = {{"check", part_check},
		     {"graph", part_graph},
		     {"threads", part_threads},
		     {"overlap", part_overlap},
		     {"fault", part_fault},
		     {"pairs", part_pairs},
		     {"pairs-fault", part_pairs_fault},
		     {"pairs-apart", part_pairs_apart},
		     {"stress", part_stress},
		     {"groups", part_groups},
		     {"race", part_race},
		     {"orders", part_orders},
		     {"apart", part_apart},
		     {"register", part_register},
		     {"pieces", part_pieces}};
	const size_t n = sizeof(parts) / sizeof(parts[0]);
	struct library lib = {.comm = NULL};
	int gpus = 0, all;
	size_t i = 0;

	while (i < n && argc == 4 && strcmp(argv[1], parts[i].name))
		i++;
	if (argc != 4 || i == n) {
		fprintf(stderr, "usage: library check|graph|threads|overlap|"
				"fault|pairs|pairs-fault|pairs-apart|stress|"
				"groups|race|orders|apart|register|pieces PLAN "
				"SECONDS\n");
		return 2;
	}
	/* Ranks that share a GPU wait for each other: a queue for each. */
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	if (cudaGetDeviceCount(&gpus) != cudaSuccess || !gpus) {
		printf("no GPU here\n");
		return 77;
	}
	lib.map = gpus < 2 ? GTOPO_MAP_SHARE : 0;
	lib.plan = argv[2];
	lib.deadline_ns = gt_clock_ns() + atoi(argv[3]) * 1000000000ll;
	all = parts[i].run(&lib);
	close_comm(&lib);
	close_ranks(&lib);
	gtopo_comm_destroy(lib.base);
	printf("%s of %d ranks: %llu operations, %llu bad%s\n", argv[1],
	       lib.nranks, (unsigned long long)lib.operations,
	       (unsigned long long)lib.bad, all ? "" : ", not finished");
	return all && !lib.bad ? 0 : 1;
}
