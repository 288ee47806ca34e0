/* How packets get from one RDMA port to another: what needs no device. */
#include "unit/test.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/err.h"
#include "exec/verbs.h"

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
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ethernet),
		cmocka_unit_test(test_infiniband),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
