/*
 * What NCCL chooses: on the reference machines that are as real ones on which
 * NCCL's own search was run, on small made-up ones whose answer can be found
 * by hand, and on every row of NCCL's answers in the folder
 * GTOPO_TEST_TOPOLOGIES.
 */
#include "unit/test.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "topo/graph/topo.h"
#include "topo/nccl/choose.h"
#include "topo/nccl/system.h"

struct machine {
	struct gt_topo *topo;
	struct gt_nccl_system *system;
	struct gt_arena *arena;
	struct gt_nccl_set rings, trees;
};

static void choose(struct machine *machine)
{
	struct gt_nccl_rules rules;
	struct gt_err err;

	gt_err_init(&err);
	machine->arena = gt_arena_new();
	assert_non_null(machine->arena);
	assert_int_equal(GT_OK, gt_nccl_system_new(machine->topo, 1,
						   &machine->system, &err));
	gt_nccl_rules_init(gt_nccl_system_facts(machine->system)->sm, &rules);
	assert_int_equal(GT_OK,
			 gt_nccl_choose(machine->system, &rules, NULL,
					machine->arena, &machine->rings, &err));
	assert_int_equal(GT_OK, gt_nccl_choose(machine->system, &rules,
					       &machine->rings, machine->arena,
					       &machine->trees, &err));
}

static void release(struct machine *machine)
{
	gt_nccl_system_free(machine->system);
	gt_topo_free(machine->topo);
	gt_arena_free(machine->arena);
}

/* "12 x 30 NVL same" */
static const char *words(const struct gt_nccl_set *set, char text[64])
{
	snprintf(text, 64, "%u x %g %s %s", set->nchannels,
		 (double)set->kbs / 1e6, gt_path_kind_name(set->kind),
		 set->same ? "same" : "different");
	return text;
}

static void reads_reference_machines(void **state)
{
	static const struct {
		const char *file, *rings;
	} known[] = {
		{"share/xml/dgx-1v.xml", "6 x 20 NVL different"},
		{"share/xml/dgx-a100.xml", "12 x 20 NVL same"},
		{"share/xml/dgx-h100.xml", "12 x 30 NVL same"},
	};
	struct machine machine;
	char path[4096], text[64];
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_int_equal(GT_OK,
				 gt_topo_read(gt_test_path(path, known[i].file),
					      GT_RATES_NCCL, &machine.topo,
					      &err));
		choose(&machine);
		assert_string_equal(known[i].rings,
				    words(&machine.rings, text));
		release(&machine);
	}
}

/* GPUs on one switch each, on a processor of this vendor. */
static void make(struct machine *machine, int ngpus, const char *cpu,
		 const char *speed)
{
	struct gt_buf xml = GT_BUF_INIT;
	struct gt_err err;

	gt_err_init(&err);
	gt_buf_printf(&xml,
		      "<system version='1'><cpu numaid='0' arch='x86_64' %s>",
		      cpu);
	for (int i = 0; i < ngpus; i++)
		gt_buf_printf(&xml,
			      "<pci busid='0:%x:0.0' class='0x030200' "
			      "link_speed='%s' link_width='16'><gpu dev='%d' "
			      "sm='80' rank='%d'/></pci>",
			      i + 1, speed, i, i);
	gt_buf_puts(&xml, "</cpu></system>");
	assert_int_equal(GT_OK,
			 gt_topo_parse("made", xml.text, xml.len, GT_RATES_NCCL,
				       &machine->topo, &err));
	gt_buf_release(&xml);
	choose(machine);
}

/*
 * A GPU's 12 GB/s carry one ring at 10 with Intel's overhead of 6/5, as 12 x
 * 6/5 is more than 12; and one at 12 without it.
 */
static void charges_intel_only(void **state)
{
	struct machine machine;
	char text[64];

	(void)state;
	make(&machine, 4, "vendor='GenuineIntel' familyid='6' modelid='143'",
	     "8.0 GT/s PCIe");
	assert_string_equal("1 x 10 PHB same", words(&machine.rings, text));
	release(&machine);
	make(&machine, 4, "vendor='AuthenticAMD' familyid='143' modelid='49'",
	     "8.0 GT/s PCIe");
	assert_string_equal("1 x 12 PHB same", words(&machine.rings, text));
	release(&machine);
}

/* Two GPUs of one AMD processor go peer to peer; four go by its memory. */
static void counts_pairs_that_are_direct(void **state)
{
	struct machine machine;

	(void)state;
	make(&machine, 2, "vendor='AuthenticAMD' familyid='143' modelid='49'",
	     "8.0 GT/s PCIe");
	assert_int_equal(2, gt_nccl_system_facts(machine.system)->ndirect);
	release(&machine);
	make(&machine, 4, "vendor='AuthenticAMD' familyid='143' modelid='49'",
	     "8.0 GT/s PCIe");
	assert_int_equal(0, gt_nccl_system_facts(machine.system)->ndirect);
	release(&machine);
}

/* One GPU is a machine, too; NCCL gives it its fastest channels. */
static void chooses_for_one_gpu(void **state)
{
	struct machine machine;
	char text[64];

	(void)state;
	make(&machine, 1, "vendor='AuthenticAMD'", "8.0 GT/s PCIe");
	assert_string_equal("32 x 40 LOC same", words(&machine.rings, text));
	release(&machine);
}

enum { ROW_FIELDS = 22 };

/*
 * What the table says of one graph on one machine; its fields are in the order
 * of the table's first line.
 */
struct row {
	const char *field[ROW_FIELDS];
	int nfields;
};

static void row_split(char *line, struct row *row)
{
	line[strcspn(line, "\n")] = '\0';
	for (row->nfields = 0; row->nfields < ROW_FIELDS && line;)
		row->field[row->nfields++] = strsep(&line, "\t");
}

/* The orders of all channels, as the table has them. */
static void print_orders(const struct machine *machine,
			 const struct gt_nccl_set *set, struct gt_buf *out)
{
	uint32_t gpu;

	for (uint32_t i = 0; i < set->nchannels * set->ngpus; i++) {
		gpu = gt_nccl_system_gpu(machine->system, set->orders[i]);
		gt_buf_printf(out, "%s%d",
			      !i               ? ""
			      : i % set->ngpus ? " "
					       : " ; ",
			      gt_topo_node(machine->topo, gpu)->rank);
	}
}

/*
 * Counts rows whose channels, speed and kind are ours, of trees and of rings,
 * and whose orders are.
 */
static void compare(const struct machine *machine, const struct row *row,
		    int agree[2], int *same_orders)
{
	int is_ring = !strcmp(row->field[2], "ring");
	const struct gt_nccl_set *set =
		is_ring ? &machine->rings : &machine->trees;
	struct gt_buf orders = GT_BUF_INIT;
	char ours[64], theirs[64];

	snprintf(ours, sizeof(ours), "%u x %g %s", set->nchannels,
		 (double)set->kbs / 1e6, gt_path_kind_name(set->kind));
	snprintf(theirs, sizeof(theirs), "%s x %s %s", row->field[8],
		 row->field[9], row->field[13]);
	print_orders(machine, set, &orders);
	if (strcmp(ours, theirs))
		print_message("%s %s: %s, NCCL %s\n", row->field[0],
			      row->field[2], ours, theirs);
	else
		agree[is_ring]++;
	*same_orders += !strcmp(gt_buf_text(&orders), row->field[21]);
	gt_buf_release(&orders);
}

/*
 * Of the machines whose GPUs NCCL keeps together, we differ on one, which
 * repeats a bridge: its uplinks add up here, and NCCL uses the first alone.
 */
static void answers_as_nccl(void **state)
{
	const char *dir = gt_test_topologies();
	int rows = 0, agree[2] = {0}, same_orders = 0, apart = 0;
	char path[4096], line[65536];
	struct machine machine;
	struct gt_err err;
	struct row row;
	FILE *file;

	(void)state;
	gt_err_init(&err);
	snprintf(path, sizeof(path), "%s/NCCL_ANSWERS.tsv", dir);
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		row_split(line, &row);
		if (row.nfields < ROW_FIELDS ||
		    strcmp(row.field[1], "single") ||
		    (strcmp(row.field[2], "ring") &&
		     strcmp(row.field[2], "tree")))
			continue;
		snprintf(path, sizeof(path), "%s/%s.xml", dir, row.field[0]);
		assert_int_equal(GT_OK, gt_topo_read(path, GT_RATES_NCCL,
						     &machine.topo, &err));
		choose(&machine);
		if (!strcmp(row.field[3], row.field[4])) {
			rows++;
			compare(&machine, &row, agree, &same_orders);
			assert_int_equal(
				GT_NONE,
				gt_nccl_system_facts(machine.system)->apart);
		} else {
			apart++;
			assert_int_not_equal(
				GT_NONE,
				gt_nccl_system_facts(machine.system)->apart);
		}
		release(&machine);
	}
	fclose(file);
	print_message("%d rows, %d rings and %d trees agree, %d in order, %d "
		      "apart\n",
		      rows, agree[1], agree[0], same_orders, apart);
	assert_int_equal(118, rows);
	assert_int_equal(58, agree[1]);
	assert_int_equal(58, agree[0]);
	assert_true(same_orders >= rows - 4);
	assert_int_equal(12, apart);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_reference_machines),
		cmocka_unit_test(charges_intel_only),
		cmocka_unit_test(counts_pairs_that_are_direct),
		cmocka_unit_test(chooses_for_one_gpu),
		cmocka_unit_test(answers_as_nccl),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
