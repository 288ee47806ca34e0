/*
 * Measuring on machines that are made up: what is asked of a mover, what is
 * concluded, what stands in the topology then.
 */
#include "unit/test.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/xml.h"
#include "measure/measure.h"
#include "topo/graph/topo.h"

/* The machine: GPUs of a topology, some hidden, some on one host link. */
struct gt_mover {
	const struct gt_measured *known;
	uint32_t ngpus;
	uint32_t per_link; /* so many GPUs in a row share a host link */
	double link_gbs;   /* of that */
	double host_gbs;   /* one GPU */
	double peer_gbs;   /* of one pair */
	double loss;       /* of a pair whose other half sends */
	double noise[8];   /* of each GPU, in the ring */
	int fail_after;    /* moves; -1: never */
	int nclosed;
};

static struct gt_mover *fake;

static int fake_open(const struct gt_measured *known, struct gt_mover **mover,
		     struct gt_err *err)
{
	(void)err;
	fake->known = known;
	*mover = fake;
	return GT_OK;
}

static void fake_close(struct gt_mover *mover)
{
	mover->nclosed++;
}

static uint32_t fake_ngpus(const struct gt_mover *mover)
{
	return mover->ngpus;
}

static const char *fake_bus_id(const struct gt_mover *mover, uint32_t gpu)
{
	return mover->known->gpus[gpu].bus_id;
}

static uint32_t fake_owner(const struct gt_transfer *move)
{
	return move->from == GT_TRANSFER_HOST ? move->to : move->from;
}

static int fake_move(struct gt_mover *mover, const struct gt_transfer *moves,
		     uint32_t nmoves, double *gbs, struct gt_err *err)
{
	uint32_t beside;

	if (mover->fail_after >= 0 && mover->fail_after-- == 0)
		return gt_err_set(err, GT_ESYS, NULL, "GPU 'x': gone");
	for (uint32_t i = 0; i < nmoves; i++) {
		const struct gt_transfer *m = &moves[i];

		assert_true(m->from != m->to);
		if (m->from != GT_TRANSFER_HOST && m->to != GT_TRANSFER_HOST) {
			gbs[i] = mover->peer_gbs;
			if (nmoves == 2)
				gbs[i] -= mover->loss;
			if (nmoves > 2)
				gbs[i] -= mover->noise[m->from];
			continue;
		}
		beside = 0;
		for (uint32_t k = 0; k < nmoves; k++)
			beside += fake_owner(m) / mover->per_link ==
				  fake_owner(&moves[k]) / mover->per_link;
		gbs[i] = fmin(mover->host_gbs, mover->link_gbs / beside);
	}
	return GT_OK;
}

static int fake_ping(struct gt_mover *mover, uint32_t a, uint32_t b, double *ns,
		     struct gt_err *err)
{
	(void)mover;
	(void)err;
	*ns = 700 + a + b;
	return GT_OK;
}

static const struct gt_mover_ops fake_ops = {
	.open = fake_open,
	.close = fake_close,
	.ngpus = fake_ngpus,
	.bus_id = fake_bus_id,
	.move = fake_move,
	.ping = fake_ping,
};

struct run {
	struct gt_arena *arena;
	struct gt_buf text;
	struct gt_xml *xml;
	struct gt_measured known, measured;
	struct gt_err err;
	int rc;
};

static void reread(struct run *run)
{
	gt_xml_free(run->xml);
	assert_int_equal(gt_xml_parse("x", run->text.text, run->text.len,
				      &run->xml, NULL),
			 GT_OK);
}

/* Measures a machine of share/xml with the mover given. */
static void measure(struct run *run, const char *name, struct gt_mover *mover)
{
	char path[4096];

	*run = (struct run){.arena = gt_arena_new()};
	gt_err_init(&run->err);
	fake = mover;
	assert_int_equal(gt_file_read(gt_test_path(path, name), 1 << 20,
				      &run->text, NULL),
			 GT_OK);
	reread(run);
	assert_int_equal(
		gt_measured_read(run->xml, run->arena, &run->known, NULL),
		GT_OK);
	run->rc = gt_measure_run(&fake_ops, &run->known, run->arena,
				 &run->measured, &run->err);
	if (run->rc)
		return;
	assert_int_equal(gt_measured_write(&run->measured, &run->text, NULL),
			 GT_OK);
	reread(run);
}

static void done(struct run *run)
{
	gt_xml_free(run->xml);
	gt_buf_release(&run->text);
	gt_arena_free(run->arena);
	assert_int_equal(fake->nclosed, 1);
}

/* The rate of the first link of a kind from a GPU. */
static double rate_of(const struct run *run, enum gt_rates rates,
		      enum gt_node_kind from, enum gt_link_kind kind)
{
	const struct gt_link *link;
	struct gt_topo *topo;
	double gbs = 0;

	assert_int_equal(gt_topo_parse("x", run->text.text, run->text.len,
				       rates, &topo, NULL),
			 GT_OK);
	for (uint32_t i = 0; i < gt_topo_nlinks(topo) && gbs == 0; i++) {
		link = gt_topo_link(topo, i);
		if (link->kind == kind &&
		    gt_topo_node(topo, link->from)->kind == from)
			gbs = gt_rat_double(link->gbs);
	}
	gt_topo_free(topo);
	return gbs;
}

static struct gt_mover vm(void)
{
	return (struct gt_mover){
		.ngpus = 4,
		.per_link = 2,
		.link_gbs = 56,
		.host_gbs = 55.25,
		.peer_gbs = 396.625,
		.loss = 2,
		.noise = {5, 6, 4.5, 5.5},
		.fail_after = -1,
	};
}

/* Two and two share a link that the file does not show. */
static void test_vm(void **state)
{
	struct gt_mover mover = vm();
	struct gt_measured read;
	struct run run;

	(void)state;
	measure(&run, "share/xml/h200-vm-4.xml", &mover);
	assert_int_equal(run.rc, GT_OK);
	assert_int_equal(gt_measured_read(run.xml, run.arena, &read, NULL),
			 GT_OK);
	assert_int_equal(read.ngpus, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_string_equal(read.gpus[i].bus_id,
				    run.known.gpus[i].bus_id);
		assert_true(read.gpus[i].to_gbs == 55.25);
		assert_true(read.gpus[i].all_from_gbs == 28);
		for (uint32_t k = 0; k < 4; k++) {
			struct gt_measured_peer *peer =
				gt_measured_peer(&read, i, k);

			if (k == i)
				continue;
			assert_true(peer->gbs == 396.6);
			assert_true(peer->both_gbs == 394.6);
			assert_true(peer->latency_ns == 700 + i + k);
			assert_true((peer->ring_gbs > 0) == (k == (i + 1) % 4));
			assert_true(peer->host_gbs ==
				    (i / 2 == k / 2 ? 56 : 0));
			assert_false(gt_measured_share_switch(
				run.xml, read.gpus[i].bus_id,
				read.gpus[k].bus_id));
		}
	}
	/* What the GPUs reach in the ring differs by noise: one rate. */
	assert_true(rate_of(&run, GT_RATES_MEASURED, GT_NODE_GPU,
			    GT_LINK_NVL) == 391.1);
	assert_true(rate_of(&run, GT_RATES_NCCL, GT_NODE_GPU, GT_LINK_NVL) ==
		    370.8);
	assert_true(rate_of(&run, GT_RATES_MEASURED, GT_NODE_GPU,
			    GT_LINK_PCI) == 55.25);
	done(&run);
}

/* A link that a switch explains gets a rate. */
static void test_switch(void **state)
{
	struct gt_mover mover = vm();
	struct run run;

	(void)state;
	mover.ngpus = 8;
	mover.per_link = 4;
	mover.host_gbs = 25;
	mover.link_gbs = 26.5;
	mover.peer_gbs = 24;
	measure(&run, "share/xml/pcie-8gpu.xml", &mover);
	assert_int_equal(run.rc, GT_OK);
	assert_true(gt_measured_share_switch(run.xml, run.known.gpus[0].bus_id,
					     run.known.gpus[3].bus_id));
	assert_false(gt_measured_share_switch(run.xml, run.known.gpus[0].bus_id,
					      run.known.gpus[4].bus_id));
	assert_true(rate_of(&run, GT_RATES_MEASURED, GT_NODE_GPU,
			    GT_LINK_PCI) == 25);
	assert_true(rate_of(&run, GT_RATES_MEASURED, GT_NODE_CPU,
			    GT_LINK_PCI) == 26.5);
	done(&run);
}

/* A link that differs by more than noise keeps what it has. */
static void test_slow(void **state)
{
	struct gt_mover mover = vm();
	struct run run;

	(void)state;
	mover.noise[0] = 40;
	measure(&run, "share/xml/h200-vm-4.xml", &mover);
	assert_int_equal(run.rc, GT_OK);
	assert_true(rate_of(&run, GT_RATES_MEASURED, GT_NODE_GPU,
			    GT_LINK_NVL) == 356.6);
	done(&run);
}

static void test_again(void **state)
{
	struct gt_mover mover = vm();
	struct gt_buf first = GT_BUF_INIT;
	struct run run;

	(void)state;
	measure(&run, "share/xml/h200-vm-4.xml", &mover);
	gt_buf_add(&first, run.text.text, run.text.len);
	assert_int_equal(gt_measured_write(&run.measured, &run.text, NULL),
			 GT_OK);
	assert_int_equal(run.text.len, first.len);
	assert_memory_equal(run.text.text, first.text, first.len);
	gt_buf_release(&first);
	done(&run);
}

/* What CUDA does not show is known, and not measured. */
static void test_hidden(void **state)
{
	struct gt_mover mover = vm();
	struct gt_measured read;
	struct run run;

	(void)state;
	mover.ngpus = 3;
	measure(&run, "share/xml/h200-vm-4.xml", &mover);
	assert_int_equal(run.measured.ngpus, 3);
	assert_int_equal(gt_measured_read(run.xml, run.arena, &read, NULL),
			 GT_OK);
	assert_int_equal(read.ngpus, 4);
	assert_true(read.gpus[3].to_gbs == 0);
	assert_true(gt_measured_peer(&read, 0, 3)->gbs == 0);
	assert_true(gt_measured_peer(&read, 0, 1)->gbs > 0);
	done(&run);
}

static void test_one(void **state)
{
	struct gt_mover mover = vm();
	struct run run;

	(void)state;
	mover.ngpus = 1;
	measure(&run, "share/xml/h200-vm-4.xml", &mover);
	assert_int_equal(run.rc, GT_OK);
	assert_true(run.measured.gpus[0].to_gbs == 55.25);
	done(&run);
}

/* Every move may fail: it is said, and the mover is closed. */
static void test_fails(void **state)
{
	struct run run;
	int n = 0;

	(void)state;
	do {
		struct gt_mover mover = vm();

		mover.fail_after = n++;
		measure(&run, "share/xml/h200-vm-4.xml", &mover);
		if (run.rc) {
			assert_int_equal(run.rc, GT_ESYS);
			assert_string_equal(run.err.text, "GPU 'x': gone");
			assert_int_equal(run.measured.ngpus, 0);
		}
		done(&run);
	} while (run.rc);
	/* 4 x 2 alone, 2 x all, 6 x (there, back, both, host), the ring */
	assert_int_equal(n, 8 + 2 + 24 + 1 + 1);
}

/* What is no number, or below 0, is refused with its place. */
static void test_refused(void **state)
{
	static const char *const bad[] = {
		"<gt_host to_gbs='fast'/>",
		"<gt_host from_gbs='-1'/>",
		"<gt_peer target='0000:01:00.0' gbs='1/0'/>",
	};
	struct gt_arena *arena = gt_arena_new();

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct gt_buf text = GT_BUF_INIT;
		struct gt_measured measured;
		struct gt_xml *xml;
		struct gt_err err;

		gt_err_init(&err);
		gt_buf_printf(&text,
			      "<system version='1'><pci busid='0000:01:00.0'>"
			      "<gpu dev='0'>%s</gpu></pci></system>",
			      bad[i]);
		assert_int_equal(
			gt_xml_parse("x", text.text, text.len, &xml, NULL),
			GT_OK);
		assert_int_equal(gt_measured_read(xml, arena, &measured, &err),
				 GT_EINPUT);
		assert_memory_equal(err.where, "x:1:", 4);
		gt_xml_free(xml);
		gt_buf_release(&text);
	}
	gt_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vm),     cmocka_unit_test(test_switch),
		cmocka_unit_test(test_slow),   cmocka_unit_test(test_again),
		cmocka_unit_test(test_hidden), cmocka_unit_test(test_one),
		cmocka_unit_test(test_fails),  cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
