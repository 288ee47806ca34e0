/*
 * What probes make of a machine: speeds, the lesser of two ends, which
 * functions are kept, numbers of ports, and XML that NCCL can read.
 */
#include "topo/probe/machine.h"

#include "unit/test.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "topo/probe/probe.h"
#include "topo/probe/sysfs.h"
#include "topo/probe/visible_devices.h"
#include "topo/xml/write.h"

/* Adds a function below `port`, on node 0. */
static struct gt_machine_pci *add(struct gt_machine *machine, const char *busid,
				  struct gt_machine_pci *port)
{
	struct gt_machine_pci *pci = gt_machine_pci(machine, busid);

	assert_non_null(pci);
	pci->port = port;
	pci->numa = 0;
	return pci;
}

/*
 * Where both ends are known the lesser counts and nothing is assumed; else it
 * is told who said it.
 */
static void test_link(void **state)
{
	static const struct {
		int device, port, nvml;
		int width;
		const char *from;
	} cases[] = {
		{16, 16, 0, 16, NULL},     {16, 8, 0, 8, NULL},
		{8, 16, 0, 8, NULL},       {16, 0, 0, 16, "device"},
		{0, 8, 0, 8, "port"},      {0, 0, 16, 16, "nvml"},
		{0, 8, 16, 8, "nvml"},     {8, 16, 16, 8, NULL},
		{16, 0, 16, 16, "device"}, {0, 0, 0, 16, "nccl"},
	};
	struct gt_machine_gpu gpu = {0};
	struct gt_machine_pci pci = {.gpu = &gpu};
	const char *speed_from, *width_from;
	struct gt_machine_link link;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pci.max.width = cases[i].device;
		pci.port_max.width = cases[i].port;
		gpu.max.width = cases[i].nvml;
		link = gt_machine_link(&pci, &speed_from, &width_from);
		assert_int_equal(link.width, cases[i].width);
		assert_int_equal(link.speed_mts, 8000);
		assert_string_equal(speed_from, "nccl");
		if (cases[i].from)
			assert_string_equal(width_from, cases[i].from);
		else
			assert_null(width_from);
	}
}

static void test_speed(void **state)
{
	(void)state;
	assert_int_equal(gt_machine_speed_parse("2.5 GT/s PCIe"), 2500);
	assert_int_equal(gt_machine_speed_parse("32.0 GT/s PCIe"), 32000);
	assert_int_equal(gt_machine_speed_parse("8 GT/s"), 8000);
	assert_int_equal(gt_machine_speed_parse("Unknown"), 0);
	assert_int_equal(gt_machine_speed_parse("Unknown speed"), 0);
	assert_int_equal(gt_machine_speed_parse(""), 0);
	assert_int_equal(gt_machine_speed_parse("-1 GT/s"), 0);
	assert_int_equal(gt_machine_speed_parse("1e99 GT/s"), 0);
}

/* Levels are root port, upstream, downstream, upstream, downstream, device. */
static void test_trim(void **state)
{
	struct gt_machine *machine = gt_machine_new();
	struct gt_machine_pci *p = NULL, *gpu, *first, *second;
	struct gt_machine_gpu found = {.sm = 90};

	(void)state;
	assert_non_null(gt_machine_cpu(machine, 0));
	p = add(machine, "0000:00:01.0", p);
	first = p = add(machine, "0000:01:00.0", p);
	p = add(machine, "0000:02:00.0", p);
	second = p = add(machine, "0000:03:00.0", p);
	p = add(machine, "0000:04:00.0", p);
	gpu = add(machine, "0000:05:00.0", p);
	add(machine, "0000:06:00.0", p)->base_class = 0x0108;
	gpu->gpu = &found;
	assert_int_equal(gt_machine_trim(machine, NULL), GT_OK);
	assert_ptr_equal(gpu->parent, second);
	assert_ptr_equal(second->parent, first);
	assert_null(first->parent);
	assert_ptr_equal(machine->pcis, first);
	assert_ptr_equal(first->next, second);
	assert_ptr_equal(second->next, gpu);
	assert_null(gpu->next);
	gt_machine_free(machine);
}

/*
 * Active RDMA ports come first, then interfaces; a port that is down has no
 * number.
 */
static void test_numbers(void **state)
{
	struct gt_machine *machine = gt_machine_new();
	struct gt_machine_net *eth, *down, *up;
	struct gt_machine_pci *pci;

	(void)state;
	assert_non_null(gt_machine_cpu(machine, 0));
	pci = add(machine, "0000:01:00.0", NULL);
	eth = gt_machine_net_add(machine, pci, 0, "eth0");
	pci = add(machine, "0000:02:00.0", NULL);
	down = gt_machine_net_add(machine, pci, 0, "mlx5_0");
	up = gt_machine_net_add(machine, pci, 0, "mlx5_1");
	eth->active = up->active = 1;
	down->rdma = up->rdma = 1;
	up->netdev = "ib1";
	assert_int_equal(gt_machine_trim(machine, NULL), GT_OK);
	assert_int_equal(up->dev, 0);
	assert_int_equal(eth->dev, 1);
	assert_int_equal(down->dev, GT_UNKNOWN);
	assert_true(gt_machine_has_rdma_over(machine, "ib1"));
	assert_false(gt_machine_has_rdma_over(machine, "ib"));
	gt_machine_free(machine);
}

static void test_busid(void **state)
{
	char busid[GT_BUSID_MAX];

	(void)state;
	assert_true(gt_sysfs_busid("/sys/devices/pci0000:15/0000:15:01.0/"
				   "0000:16:00.0/virtio0",
				   busid, sizeof(busid)));
	assert_string_equal(busid, "0000:16:00.0");
	assert_true(gt_sysfs_busid("/sys/devices/pci10000:e0/10000:e0:06.0",
				   busid, sizeof(busid)));
	assert_string_equal(busid, "10000:e0:06.0");
	assert_false(gt_sysfs_busid("/sys/devices/pci0000:15", busid,
				    sizeof(busid)));
	assert_false(gt_sysfs_busid("/sys/devices/0000:16:00.0x", busid,
				    sizeof(busid)));
	assert_false(gt_sysfs_busid("", busid, sizeof(busid)));
}

/* NCCL dies of 254 characters: a mask is dropped, a name is cut. */
static void test_long_values(void **state)
{
	struct gt_machine *machine = gt_machine_new();
	struct gt_machine_cpu *cpu = gt_machine_cpu(machine, 0);
	struct gt_buf text = GT_BUF_INIT;
	char mask[300], name[300];
	int n;

	(void)state;
	memset(mask, 'f', sizeof(mask) - 1);
	memset(name, 'n', sizeof(name) - 1);
	mask[sizeof(mask) - 1] = name[sizeof(name) - 1] = '\0';
	cpu->affinity = mask;
	cpu->name = name;
	assert_int_equal(gt_xml_write(machine, &text, &n, NULL), GT_OK);
	name[253] = '\0';
	assert_int_equal(n, 2);
	assert_null(strstr(text.text, "affinity"));
	assert_non_null(strstr(text.text, name));
	assert_null(strstr(text.text, "familyid"));
	name[253] = 'n';
	name[254] = '\0';
	assert_null(strstr(text.text, name));
	gt_buf_release(&text);
	gt_machine_free(machine);
}

/*
 * Without sys and proc hwloc still makes a machine, and nothing else is found.
 */
static void test_empty_root(void **state)
{
	struct gt_probe_env env = {.root = "/nonexistent"};
	struct gt_machine *machine = gt_machine_new();

	(void)state;
	for (int i = 0; gt_probe_get(i); i++)
		if (gt_probe_get(i)->run != gt_probe_hwloc)
			assert_int_equal(
				gt_probe_get(i)->run(&env, machine, NULL),
				GT_OK);
	assert_null(machine->pcis);
	for (struct gt_machine_note *n = machine->notes; n; n = n->next)
		assert_true(n->detail);
	gt_machine_free(machine);
}

/*
 * Lists are read as the drivers read CUDA_VISIBLE_DEVICES, here for GPU 2 of
 * that uuid.
 */
static void test_visible(void **state)
{
	static const struct {
		const char *list;
		int shown;
	} cases[] = {
		{NULL, 1},       {"", 0},         {"2", 1},
		{"0,1", 0},      {"0, 2", 1},     {"0,-1,2", 0},
		{"0,x,2", 0},    {"0,2x", 0},     {"GPU-ab12", 1},
		{"GPU-abc", 0},  {"GPU-ac,2", 1}, {"NoDevFiles", 0},
		{"0,,2", 0},     {"MIG-1", 1},    {"0,MIG-1", 1},
		{"1,GPU-ab", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			gt_gpu_is_visible(cases[i].list, 2, "GPU-ab12cd"),
			cases[i].shown);
	assert_false(gt_gpu_is_visible("GPU-ab12", 2, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_speed),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_busid),
		cmocka_unit_test(test_long_values),
		cmocka_unit_test(test_empty_root),
		cmocka_unit_test(test_visible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
