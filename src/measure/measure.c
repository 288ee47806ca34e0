/*
 * This decides what is measured, in which order, and enters it into the
 * machine's record; the mover carries the bytes.
 */
#include "measure/measure.h"

#include <config.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * Two GPUs share a link to the host if each gets less than this part of its own
 * rate: two that share nothing lose little, two on one link lose half.
 */
#define GT_MEASURE_SHARED 0.75

struct gt_measuring {
	const struct gt_mover_ops *ops;
	struct gt_mover *mover;
	struct gt_measured *to;    /* what is filled in */
	struct gt_transfer *moves; /* room for one a GPU */
	double *gbs;
};

const struct gt_mover_ops *gt_mover_ops_get(void)
{
#ifdef HAVE_CUDA
	return &gt_mover_cuda;
#else
	return NULL;
#endif
}

/* Measure the first n moves at once; their rates are in m->gbs. */
static int gt_measure_move(struct gt_measuring *m, uint32_t n,
			   struct gt_err *err)
{
	return m->ops->move(m->mover, m->moves, n, m->gbs, err);
}

static int gt_measure_pair(struct gt_measuring *m, uint32_t a, uint32_t b,
			   struct gt_err *err)
{
	struct gt_measured_peer *there = gt_measured_peer(m->to, a, b);
	struct gt_measured_peer *back = gt_measured_peer(m->to, b, a);
	double ns = 0;
	int rc;

	m->moves[0] = (struct gt_transfer){b, a};
	rc = gt_measure_move(m, 1, err);
	back->gbs = m->gbs[0];
	m->moves[0] = (struct gt_transfer){a, b};
	if (!rc)
		rc = gt_measure_move(m, 1, err);
	there->gbs = m->gbs[0];
	m->moves[1] = (struct gt_transfer){b, a};
	if (!rc)
		rc = gt_measure_move(m, 2, err);
	there->both_gbs = m->gbs[0];
	back->both_gbs = m->gbs[1];
	if (!rc)
		rc = m->ops->ping(m->mover, a, b, &ns, err);
	there->latency_ns = ns;
	back->latency_ns = ns;
	return rc;
}

static int gt_measure_ring(struct gt_measuring *m, struct gt_err *err)
{
	uint32_t n = m->to->ngpus;
	int rc;

	for (uint32_t i = 0; i < n; i++)
		m->moves[i] = (struct gt_transfer){i, (i + 1) % n};
	rc = gt_measure_move(m, n, err);
	for (uint32_t i = 0; i < n && !rc; i++)
		gt_measured_peer(m->to, i, (i + 1) % n)->ring_gbs = m->gbs[i];
	return rc;
}

static int gt_measure_hosts(struct gt_measuring *m, struct gt_err *err)
{
	struct gt_measured_gpu *gpus = m->to->gpus;
	uint32_t n = m->to->ngpus;
	int rc = GT_OK;

	for (uint32_t i = 0; i < n && !rc; i++) {
		m->moves[0] = (struct gt_transfer){GT_TRANSFER_HOST, i};
		rc = gt_measure_move(m, 1, err);
		gpus[i].to_gbs = m->gbs[0];
		m->moves[0] = (struct gt_transfer){i, GT_TRANSFER_HOST};
		if (!rc)
			rc = gt_measure_move(m, 1, err);
		gpus[i].from_gbs = m->gbs[0];
	}
	for (uint32_t i = 0; i < n; i++)
		m->moves[i] = (struct gt_transfer){GT_TRANSFER_HOST, i};
	if (!rc)
		rc = gt_measure_move(m, n, err);
	for (uint32_t i = 0; i < n; i++) {
		gpus[i].all_to_gbs = m->gbs[i];
		m->moves[i] = (struct gt_transfer){i, GT_TRANSFER_HOST};
	}
	if (!rc)
		rc = gt_measure_move(m, n, err);
	for (uint32_t i = 0; i < n; i++)
		gpus[i].all_from_gbs = m->gbs[i];
	return rc;
}

static int gt_measure_shared(struct gt_measuring *m, uint32_t a, uint32_t b,
			     struct gt_err *err)
{
	const struct gt_measured_gpu *gpus = m->to->gpus;
	double sum;
	int rc;

	m->moves[0] = (struct gt_transfer){GT_TRANSFER_HOST, a};
	m->moves[1] = (struct gt_transfer){GT_TRANSFER_HOST, b};
	rc = gt_measure_move(m, 2, err);
	sum = m->gbs[0] + m->gbs[1];
	if (rc || sum >= GT_MEASURE_SHARED * (gpus[a].to_gbs + gpus[b].to_gbs))
		return rc;
	gt_measured_peer(m->to, a, b)->host_gbs = sum;
	gt_measured_peer(m->to, b, a)->host_gbs = sum;
	return rc;
}

static int gt_measure_all(struct gt_measuring *m, struct gt_err *err)
{
	uint32_t n = m->to->ngpus;
	int rc = gt_measure_hosts(m, err);

	for (uint32_t i = 0; i < n && !rc; i++)
		for (uint32_t j = i + 1; j < n && !rc; j++) {
			rc = gt_measure_pair(m, i, j, err);
			if (!rc)
				rc = gt_measure_shared(m, i, j, err);
		}
	return rc || n < 2 ? rc : gt_measure_ring(m, err);
}

/* Open the mover, and copy what the topology says of its GPUs. */
static int gt_measure_open(struct gt_measuring *m,
			   const struct gt_measured *known,
			   struct gt_arena *arena, struct gt_err *err)
{
	uint32_t n = m->ops->ngpus(m->mover), k;
	int rc = gt_measured_new(n, arena, m->to, err);

	if (rc)
		return rc;
	m->moves = gt_arena_array(arena, n + 1, sizeof(*m->moves));
	m->gbs = gt_arena_array(arena, n + 1, sizeof(*m->gbs));
	if (!m->moves || !m->gbs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++) {
		const char *bus_id = m->ops->bus_id(m->mover, i);

		k = gt_measured_find(known, bus_id);
		if (k != UINT32_MAX)
			m->to->gpus[i] = known->gpus[k];
		snprintf(m->to->gpus[i].bus_id, GT_MEASURED_ID_MAX, "%s",
			 bus_id);
	}
	return GT_OK;
}

int gt_measure_run(const struct gt_mover_ops *ops,
		   const struct gt_measured *known, struct gt_arena *arena,
		   struct gt_measured *measured, struct gt_err *err)
{
	struct gt_measured made = {0};
	struct gt_measuring m = {.ops = ops, .to = &made};
	int rc = ops->open(known, &m.mover, err);

	if (rc)
		return rc;
	rc = gt_measure_open(&m, known, arena, err);
	if (!rc)
		rc = gt_measure_all(&m, err);
	ops->close(m.mover);
	if (!rc)
		*measured = made;
	return rc;
}
