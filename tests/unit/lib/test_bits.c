/*
 * Invariant sums of libgtopo: thousands of random parts of the same data, of
 * all sizes, alone and in groups, in place or not, in one process or several on
 * one host or several, have the bits of a loop over the ranks.
 */
#include "unit/lib/shrink.h"

#include "sums.h"

enum {
	ELEMENTS = 2000,
	ROUNDS = 60,       /* of a communicator and a type */
	ROUNDS_APART = 10, /* the same between processes */
	PARTS = 4,         /* of a round, in one group or one after another */
	MARGIN = 8,        /* elements that a buffer begins late, at most */
	MAX_RANKS = 8,
};

struct fixture {
	struct gtopo_comm *comm;
	struct sums sums;
	char *memory;   /* [part][rank][in and out] */
	size_t room;    /* of one of them */
	int scatters;   /* the plan has reduce-scatter */
	int first, end; /* ranks of this process */
	enum gtopo_op ops[MAX_RANKS];
};

struct part {
	int scatters, inplace, root; /* root: -1 unless it is a reduce */
	size_t first, count, shift;
};

static struct gtopo_comm *open_comm(const char *plan, unsigned flags)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	char path[4096], message[256] = "";
	struct gtopo_comm *comm;

	config.plan = gt_test_path(path, plan);
	config.flags = flags;
	if (gtopo_comm_create(&config, &comm, message, sizeof(message)))
		fail_msg("%s", message);
	return comm;
}

static char *buffer(const struct fixture *f, int part, uint32_t rank, int out)
{
	size_t i = ((size_t)part * f->sums.nranks + rank) * 2 + (size_t)out;

	return f->memory + i * f->room;
}

static struct part draw_part(const struct fixture *f, uint64_t *seed)
{
	uint32_t n = f->sums.nranks, kind = sums_random(seed, 3);
	struct part part = {.scatters = kind == 1 && f->scatters,
			    .inplace = (int)sums_random(seed, 2),
			    .root = kind == 2 ? (int)sums_random(seed, n) : -1,
			    .shift = sums_random(seed, MARGIN)};
	uint32_t blocks = part.scatters ? n : 1, most = ELEMENTS / blocks;

	part.count = 1 + sums_random(seed, sums_random(seed, 2) ? 30 : most);
	part.first =
		sums_random(seed, 1 + ELEMENTS - (uint32_t)part.count * blocks);
	return part;
}

/* Where a rank's output of a part begins. */
static char *output_of(const struct fixture *f, const struct part *part,
		       int number, uint32_t rank)
{
	size_t elem = gt_dtype_bytes(f->sums.dtype);
	char *in = buffer(f, number, rank, 0) + part->shift * elem;

	if (!part->inplace)
		return buffer(f, number, rank, 1) + part->shift * elem;
	return part->scatters ? in + rank * part->count * elem : in;
}

static int call(struct fixture *f, const struct part *part, int number,
		uint32_t rank)
{
	size_t elem = gt_dtype_bytes(f->sums.dtype);
	size_t blocks = part->scatters ? f->sums.nranks : 1;
	char *in = buffer(f, number, rank, 0) + part->shift * elem;
	char *out = output_of(f, part, number, rank);
	enum gtopo_type type = (enum gtopo_type)f->sums.dtype;
	enum gtopo_op op = f->ops[rank];

	memcpy(in, f->sums.data + (rank * f->sums.count + part->first) * elem,
	       part->count * blocks * elem);
	if (part->scatters)
		return gtopo_reducescatter(f->comm, (int)rank, in, out,
					   part->count, type, op);
	return part->root < 0 ? gtopo_allreduce(f->comm, (int)rank, in, out,
						part->count, type, op)
			      : gtopo_reduce(f->comm, (int)rank, in, out,
					     part->count, type, op, part->root);
}

/* Has a rank the bits that it must? */
static int is_same(const struct fixture *f, const struct part *part, int number,
		   uint32_t rank)
{
	size_t elem = gt_dtype_bytes(f->sums.dtype), first = part->first;

	if (part->scatters)
		first += rank * part->count;
	if ((part->root >= 0 && (uint32_t)part->root != rank) ||
	    !memcmp(output_of(f, part, number, rank),
		    f->sums.want + first * elem, part->count * elem))
		return 1;
	fprintf(stderr, "# %s of %u ranks: element %zu, count %zu\n",
		gt_dtype_name(f->sums.dtype), f->sums.nranks, part->first,
		part->count);
	return 0;
}

/* All calls of a round; 0: one of them was refused. */
static int call_all(struct fixture *f, const struct part *parts, int grouped)
{
	int rc = grouped ? gtopo_group_start(f->comm, GTOPO_ALL_RANKS)
			 : GTOPO_OK;

	for (int p = 0; p < PARTS; p++)
		for (int r = f->first; !rc && r < f->end; r++)
			rc = call(f, &parts[p], p, (uint32_t)r);
	if (!rc && grouped)
		rc = gtopo_group_end(f->comm, GTOPO_ALL_RANKS);
	return !rc && !gtopo_wait(f->comm, GTOPO_ALL_RANKS, -1);
}

/* All processes draw the same parts; 0: some bits are others. */
static int try_round(struct fixture *f, uint64_t *seed)
{
	int grouped = (int)sums_random(seed, 2), same;
	struct part parts[PARTS];

	for (int p = 0; p < PARTS; p++)
		parts[p] = draw_part(f, seed);
	same = call_all(f, parts, grouped);
	for (int p = 0; p < PARTS; p++)
		for (int r = f->first; same && r < f->end; r++)
			same = is_same(f, &parts[p], p, (uint32_t)r);
	return same;
}

static int make_ops(struct fixture *f)
{
	int rc = GTOPO_OK;

	for (int r = f->first; !rc && r < f->end; r++) {
		f->ops[r] = f->sums.op == GT_REDOP_AVG ? GTOPO_AVG : GTOPO_SUM;
		if (f->sums.op == GT_REDOP_PREMUL)
			rc = gtopo_op_create_premul(
				f->comm, r, &f->sums.scalars[r].bits,
				(enum gtopo_type)f->sums.dtype,
				GTOPO_SCALAR_HOST, &f->ops[r]);
	}
	return !rc;
}

/* 0: some bits are others, or an operation has failed. */
static int try_comm(struct gtopo_comm *comm, enum gt_dtype dtype,
		    enum gt_redop op, int rounds, uint64_t *seed)
{
	struct fixture f = {.comm = comm,
			    .sums = {.dtype = dtype,
				     .op = op,
				     .nranks = (uint32_t)gtopo_comm_ranks(comm),
				     .count = ELEMENTS}};
	int count, same;

	gtopo_comm_local(comm, &f.first, &count);
	f.end = f.first + count;
	if (!sums_make(&f.sums, seed))
		return 0;
	f.room = (ELEMENTS + MARGIN) * gt_dtype_bytes(dtype);
	f.memory = calloc((size_t)PARTS * f.sums.nranks * 2, f.room);
	same = f.memory && make_ops(&f);
	for (int i = 0; same && i < rounds; i++)
		same = try_round(&f, seed);
	free(f.memory);
	sums_free(&f.sums);
	return same;
}

static void test_parts(void **state)
{
	static const char *const plans[] = {
		"tests/cases/plan/good/mesh4-two-shot/plan.json",
		"tests/cases/plan/good/mesh7-invariant/plan.json"};
	uint64_t seed = 31;

	(void)state;
	for (int p = 0; p < 2; p++) {
		struct gtopo_comm *comm =
			open_comm(plans[p], p ? 0 : GTOPO_INVARIANT);

		for (int i = 0; i < SUMS_DTYPES; i++)
			assert_true(try_comm(comm, sums_dtypes[i],
					     sums_ops[(i + p) % SUMS_OPS],
					     ROUNDS, &seed));
		gtopo_comm_destroy(comm);
	}
}

/* The same between processes, of which so many are on each host. */
static int body_apart(int me, int processes, int each)
{
	struct gtopo_comm *comm;
	uint64_t seed = 33;
	int same = 1;

	(void)processes;
	set("GTOPO_HOSTID", me / each);
	comm = create(GTOPO_LAUNCHED);
	if (!comm)
		return 10;
	for (int i = 0; same && i < SUMS_DTYPES; i++)
		same = try_comm(comm, sums_dtypes[i], sums_ops[i % SUMS_OPS],
				ROUNDS_APART, &seed);
	gtopo_comm_destroy(comm);
	return same ? 0 : 11;
}

static void test_processes(void **state)
{
	int status[MOST];

	(void)state;
	gt_test_path(plan_path,
		     "tests/cases/plan/good/mesh7-invariant/plan.json");
	for (int processes = 2; processes <= 4; processes++)
		for (int each = 1; each <= processes; each += processes - 1) {
			launch(processes, body_apart, each, status);
			for (int p = 0; p < processes; p++)
				assert_int_equal(status[p], 0);
		}
}

/* On the host rows of rings are what there is: they are refused. */
static void test_refused(void **state)
{
	struct gtopo_comm *comm = open_comm(
		"tests/cases/plan/good/ring4/plan.json", GTOPO_INVARIANT);
	float data[4] = {1, 2, 3, 4};
	char message[256];

	(void)state;
	for (int r = 0; r < 4; r++)
		gtopo_allreduce(comm, r, &data[r], &data[r], 1, GTOPO_FLOAT,
				GTOPO_SUM);
	assert_true(gtopo_wait(comm, GTOPO_ALL_RANKS, -1) < 0);
	gtopo_comm_message(comm, message, sizeof(message));
	assert_non_null(strstr(message, "allreduce by ring is not invariant"));
	gtopo_comm_destroy(comm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
