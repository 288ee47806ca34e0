/*
 * RDMA without a device: how packets get from one port to another, and what
 * the proxy makes of completions that one played here gives when it likes.
 */
#include "unit/test.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "exec/link/verbs/verbs.h"

enum { SLID = 3, DLID = 7, INDEX = 5, CLASS = 104, LEVEL = 4 };

static union ibv_gid gid_of(const char *address)
{
	union ibv_gid gid;

	assert_int_equal(inet_pton(AF_INET6, address, gid.raw), 1);
	return gid;
}

static struct gt_verbs_place ethernet(const char *address)
{
	return (struct gt_verbs_place){.gid = gid_of(address),
				       .is_ethernet = 1};
}

static struct gt_verbs_place infiniband(const char *address, uint32_t lid)
{
	return (struct gt_verbs_place){.gid = gid_of(address), .lid = lid};
}

static const char *route(struct gt_verbs_place from, struct gt_verbs_place to,
			 struct ibv_ah_attr *found)
{
	const struct gt_verbs_port port = {
		.number = 2,
		.gid_index = INDEX,
		.traffic_class = CLASS,
		.service_level = LEVEL,
		.place = from,
	};

	memset(found, 0xff, sizeof(*found));
	return gt_verbs_route(&port, &to, found);
}

static void test_ethernet(void **state)
{
	static const char *const pairs[][2] = {
		{"::ffff:10.0.0.1", "::ffff:10.9.0.2"},
		{"fd00::1", "fd00::2"},
		{"fe80::1", "fe80::2"},
		{"fe80::1", "fd00::2"},
	};
	struct ibv_ah_attr found;
	union ibv_gid far;

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		far = gid_of(pairs[i][1]);
		assert_null(route(ethernet(pairs[i][0]), ethernet(pairs[i][1]),
				  &found));
		assert_int_equal(found.is_global, 1);
		assert_int_equal(found.port_num, 2);
		assert_int_equal(found.sl, LEVEL);
		assert_int_equal(found.grh.sgid_index, INDEX);
		assert_int_equal(found.grh.traffic_class, CLASS);
		assert_memory_equal(&found.grh.dgid, &far, sizeof(far));
	}
}

/* Within a subnet a LID is enough; not between them, nor without one. */
static void test_infiniband(void **state)
{
	struct gt_verbs_place asks = infiniband("fe80::2", DLID);
	struct ibv_ah_attr found;

	(void)state;
	assert_null(route(infiniband("fe80::1", SLID),
			  infiniband("fe80::2", DLID), &found));
	assert_int_equal(found.is_global, 0);
	assert_int_equal(found.dlid, DLID);
	assert_int_equal(found.src_path_bits, 0);
	assert_int_equal(found.sl, LEVEL);
	assert_null(route(infiniband("fe80::1", SLID),
			  infiniband("fec0:0:0:1::2", DLID), &found));
	assert_int_equal(found.is_global, 1);
	assert_int_equal(found.grh.sgid_index, INDEX);
	assert_null(route(infiniband("fe80::1", SLID), infiniband("fe80::2", 0),
			  &found));
	assert_int_equal(found.is_global, 1);
	asks.needs_global = 1;
	assert_null(route(infiniband("fe80::1", SLID), asks, &found));
	assert_int_equal(found.is_global, 1);
}

static void test_nowhere(void **state)
{
	struct ibv_ah_attr found;

	(void)state;
	assert_non_null(strstr(
		route(ethernet("::ffff:10.0.0.1"), ethernet("fd00::2"), &found),
		"IPv6"));
	assert_non_null(strstr(
		route(ethernet("fe80::1"), ethernet("::ffff:10.0.0.2"), &found),
		"IPv6"));
	assert_non_null(strstr(
		route(ethernet("fe80::1"), infiniband("fe80::2", DLID), &found),
		"InfiniBand"));
}

/* What nobody can mean is said before a device is looked for. */
static void test_environment(void **state)
{
	static const char *const names[] = {"GTOPO_IB_GID_INDEX", "GTOPO_IB_TC",
					    "GTOPO_IB_SL"};
	static const char *const bad[] = {"", "-1", "256", "first", "3 "};
	static const char *const ports[] = {"mlx5_0:", "mlx5_0:0", "mlx5_0:x",
					    ":", "a:1:1"};
	const struct gt_link_config config = {.nic = NULL};
	struct gt_verbs_port port;
	struct gt_err err;

	(void)state;
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			setenv(names[n], bad[i], 1);
			gt_err_init(&err);
			assert_int_equal(
				gt_verbs_port_open(&port, &config, &err),
				GT_EINPUT);
			assert_non_null(strstr(err.text, names[n]));
		}
		unsetenv(names[n]);
	}
	setenv("GTOPO_IB_SL", "16", 1);
	gt_err_init(&err);
	assert_int_equal(gt_verbs_port_open(&port, &config, &err), GT_EINPUT);
	unsetenv("GTOPO_IB_SL");
	setenv("GTOPO_NET_GDR_LEVEL", "NEAR", 1);
	gt_err_init(&err);
	assert_int_equal(gt_verbs_port_open(&port, &config, &err), GT_EINPUT);
	assert_non_null(strstr(err.text, "GTOPO_NET_GDR_LEVEL 'NEAR'"));
	unsetenv("GTOPO_NET_GDR_LEVEL");
	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		setenv("GTOPO_IB_HCA", ports[i], 1);
		gt_err_init(&err);
		assert_int_equal(gt_verbs_port_open(&port, &config, &err),
				 GT_EINPUT);
		assert_non_null(strstr(err.text, ports[i]));
	}
	unsetenv("GTOPO_IB_HCA");
}

/* Below one bridge, several, a host bridge, and what has no common one. */
static void test_distance(void **state)
{
#define ROOT   "/sys/devices/pci0000:00"
#define SWITCH ROOT "/0000:00:01.0/0000:01:00.0"
	static const char card[] = SWITCH "/0000:02:00.0/0000:03:00.0";
	static const struct {
		const char *gpu;
		enum gt_verbs_distance far;
	} gpus[] = {
		{SWITCH "/0000:02:00.0/0000:03:00.1", GT_VERBS_PIX},
		{SWITCH "/0000:02:01.0/0000:04:00.0", GT_VERBS_PIX},
		{SWITCH "/0000:02:01.0/0000:04:00.0/0000:05:00.0/0000:06:00.0",
		 GT_VERBS_PXB},
		{ROOT "/0000:00:01.0/0000:01:00.1", GT_VERBS_PXB},
		{ROOT "/0000:00:02.0/0000:07:00.0", GT_VERBS_PHB},
		{ROOT "/0000:00:1f.0", GT_VERBS_PHB},
		{"/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0",
		 GT_VERBS_SYS},
		{"/sys/devices/virtual/x", GT_VERBS_SYS},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
		assert_int_equal(gt_verbs_distance(card, gpus[i].gpu),
				 gpus[i].far);
		assert_int_equal(gt_verbs_distance(gpus[i].gpu, card),
				 gpus[i].far);
	}
	assert_int_equal(gt_verbs_distance("/sys/devices/virtual/x",
					   "/sys/devices/virtual/y"),
			 GT_VERBS_SYS);
#undef SWITCH
#undef ROOT
}

enum { SLOTS = 2, SLOT_BYTES = 64, MESSAGES = 16, FIFOS = 3 };

/* More than what a busy machine keeps a process waiting. */
#define PATIENCE_NS 1000000000ll

/* A device that has sent all at once, and says so of `told` messages. */
struct device {
	struct ibv_context context;
	struct ibv_cq cq;
	struct ibv_qp qp;
	uint64_t ids[MESSAGES];
	uint32_t posted, completed;
	uint32_t told;
};

/* One process to speak to, by FIFOs of which the first one sends. */
struct played {
	struct device device;
	struct ibv_comp_channel channel;
	struct ibv_mr mr;
	struct gt_verbs_link link;
	struct gt_verbs_peer peer;
	struct gt_verbs_fifo fifos[FIFOS];
	struct gt_fifo counters[FIFOS];
	struct gt_bell rank;
	uint32_t lengths[SLOTS];
	char slots[SLOTS * SLOT_BYTES];
};

static int play_send(struct ibv_qp *qp, struct ibv_send_wr *work,
		     struct ibv_send_wr **bad)
{
	struct device *device = qp->qp_context;

	(void)bad;
	assert_true(device->posted < MESSAGES);
	device->ids[device->posted++] = work->wr_id;
	return 0;
}

static int play_poll(struct ibv_cq *cq, int most, struct ibv_wc *done)
{
	struct device *device = cq->cq_context;
	int n = 0;

	while (n < most && device->completed < device->posted &&
	       device->completed < device->told)
		done[n++] = (struct ibv_wc){
			.wr_id = device->ids[device->completed++],
			.opcode = IBV_WC_RDMA_WRITE};
	return n;
}

static int play_notify(struct ibv_cq *cq, int solicited)
{
	(void)cq;
	(void)solicited;
	return 0;
}

/* FIFOs of the next generation: `first` is the one that sends. */
static void make_fifos(struct played *played, uint32_t first, uint32_t n)
{
	played->link.generation++;
	for (uint32_t i = 0; i < n; i++) {
		gt_fifo_init(&played->counters[i]);
		played->fifos[i] = (struct gt_verbs_fifo){
			.counters = &played->counters[i],
			.end = {.fifo = &played->counters[i],
				.slots = played->slots,
				.lengths = played->lengths,
				.other = &played->rank,
				.slot_bytes = SLOT_BYTES,
				.nslots = SLOTS},
			.sends = i == first};
	}
	played->peer.nfifos = n;
}

static void play(struct played *played)
{
	struct device *device = &played->device;

	memset(played, 0, sizeof(*played));
	device->context.ops.post_send = play_send;
	device->context.ops.poll_cq = play_poll;
	device->context.ops.req_notify_cq = play_notify;
	device->cq.context = &device->context;
	device->cq.cq_context = device;
	device->qp.context = &device->context;
	device->qp.qp_context = device;
	played->peer.qp = &device->qp;
	played->peer.fifos = played->fifos;
	played->channel.fd = eventfd(0, EFD_NONBLOCK);
	played->link = (struct gt_verbs_link){
		.nprocesses = 1,
		.base = {.ops = &gt_verbs_proxy,
			 .wake_fd = eventfd(0, EFD_NONBLOCK)},
		.cq = &device->cq,
		.channel = &played->channel,
		.mr = &played->mr,
		.sends = MESSAGES,
		.peers = &played->peer,
		.patience_ns = PATIENCE_NS};
	played->link.base.bell.poll_fd = played->link.base.wake_fd;
}

static void play_end(struct played *played)
{
	close(played->channel.fd);
	close(played->link.base.wake_fd);
}

/* How long the end of a proxy waits for the device, in nanoseconds. */
static int64_t drain(struct played *played)
{
	int64_t begin_ns = gt_clock_ns();

	gt_verbs_drain(&played->link);
	assert_int_equal(atomic_load(&played->link.broken), 0);
	return gt_clock_ns() - begin_ns;
}

/* A completion that is later than all patience is of FIFOs that are gone. */
static void test_late(void **state)
{
	static struct played played;

	(void)state;
	play(&played);
	make_fifos(&played, FIFOS - 1, FIFOS);
	atomic_store(&played.counters[FIFOS - 1].data, 1);
	assert_true(drain(&played) >= PATIENCE_NS);
	assert_int_equal(played.device.posted, 1);
	/* The next ones are fewer, and one of them is another's. */
	make_fifos(&played, 0, 1);
	atomic_store(&played.counters[0].data, 1);
	played.device.told = 2;
	assert_true(drain(&played) < PATIENCE_NS);
	assert_int_equal(played.device.posted, 2);
	assert_int_equal(played.peer.in_flight, 0);
	assert_int_equal(played.counters[0].credit, 1);
	assert_int_equal(played.counters[FIFOS - 1].credit, 0);
	assert_int_equal(played.fifos[FIFOS - 1].end.at, 0);
	play_end(&played);
}

/* The same FIFO of the next generation: a slot that is not yet free. */
static void test_late_alike(void **state)
{
	static struct played played;

	(void)state;
	play(&played);
	for (int i = 0; i < 2; i++) {
		make_fifos(&played, 0, FIFOS);
		atomic_store(&played.counters[0].data, 1);
		drain(&played);
	}
	played.device.told = 1;
	drain(&played);
	assert_int_equal(played.counters[0].credit, 0);
	assert_int_equal(played.peer.in_flight, 1);
	played.device.told = 2;
	assert_true(drain(&played) < PATIENCE_NS);
	assert_int_equal(played.counters[0].credit, 1);
	assert_int_equal(played.peer.in_flight, 0);
	play_end(&played);
}

/* A credit has no bytes that the device could still read. */
static void test_credits_are_not_awaited(void **state)
{
	static struct played played;

	(void)state;
	play(&played);
	make_fifos(&played, 0, FIFOS);
	atomic_store(&played.counters[1].credit, 1);
	assert_true(drain(&played) < PATIENCE_NS);
	assert_int_equal(played.device.posted, 1);
	assert_int_equal(played.peer.in_flight, 1);
	played.device.told = 1;
	drain(&played);
	assert_int_equal(played.peer.in_flight, 0);
	play_end(&played);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ethernet),
		cmocka_unit_test(test_infiniband),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_late_alike),
		cmocka_unit_test(test_credits_are_not_awaited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
