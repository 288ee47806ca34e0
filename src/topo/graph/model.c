/*
 * Says in tables what links carry: NVLink, xGMI, PCI Express and links between
 * processors, once as NCCL counts them and once at the vendors' line rates.  It
 * also parses speeds and widths as sysfs and topology files spell them.
 */
#include "topo/graph/model.h"

#include <ctype.h>
#include <string.h>

#include "base/unit.h"

#define GT_COUNT(a) (sizeof(a) / sizeof((a)[0]))

static struct gt_rat gt_model_pick(struct gt_rat nccl, struct gt_rat line,
				   enum gt_rates rates)
{
	return rates == GT_RATES_LINE ? line : nccl;
}

struct gt_rat gt_model_nvlink(int sm, enum gt_rates rates)
{
	/*
	 * The newest come first.  The bridge of sm_86 runs at 14.0625 GB/s a
	 * link.
	 */
	static const struct {
		int from, to;
		struct gt_rat nccl, line;
	} table[] = {
		{100, 9999, {401, 10}, {50, 1}}, {90, 99, {103, 5}, {25, 1}},
		{86, 86, {12, 1}, {225, 16}},    {70, 89, {20, 1}, {25, 1}},
		{60, 69, {18, 1}, {20, 1}},
	};

	for (size_t i = 0; i < GT_COUNT(table); i++)
		if (sm >= table[i].from && sm <= table[i].to)
			return gt_model_pick(table[i].nccl, table[i].line,
					     rates);
	return gt_model_pick(GT_RAT(20, 1), GT_RAT(25, 1), rates);
}

uint32_t gt_model_bridge(int vendor, int device)
{
	/*
	 * NVIDIA's product briefs: 112.5 GB/s both ways together, A100 and
	 * H100 PCIe 600 GB/s over three bridges.
	 */
	static const struct {
		int device;
		uint32_t count;
	} table[] = {
		{0x2204, 4},  /* RTX 3090 */
		{0x2230, 4},  /* RTX A6000 */
		{0x2235, 4},  /* A40 */
		{0x20b5, 12}, /* A100 PCIe 80GB */
		{0x20f1, 12}, /* A100 PCIe 40GB */
		{0x2331, 12}, /* H100 PCIe */
	};

	for (size_t i = 0; i < GT_COUNT(table) && vendor == 0x10de; i++)
		if (device == table[i].device)
			return table[i].count;
	return 0;
}

struct gt_rat gt_model_xgmi(const char *gcn, enum gt_rates rates)
{
	/* Files spell MI200 "910" or "gfx90a", MI300 "940" or "gfx942". */
	static const struct {
		const char *gcn;
		struct gt_rat nccl, line;
	} table[] = {
		{"95", {48, 1}, {384, 5}},
		{"94", {48, 1}, {64, 1}},
		{"910", {36, 1}, {50, 1}},
		{"90a", {36, 1}, {50, 1}},
	};

	if (gcn && !strncmp(gcn, "gfx", 3))
		gcn += 3;
	for (size_t i = 0; gcn && i < GT_COUNT(table); i++)
		if (!strncmp(gcn, table[i].gcn, strlen(table[i].gcn)))
			return gt_model_pick(table[i].nccl, table[i].line,
					     rates);
	return gt_model_pick(GT_RAT(24, 1), GT_RAT(46, 1), rates);
}

struct gt_rat gt_model_gts(const char *speed)
{
	struct gt_rat gts;
	char number[16];
	size_t len;

	while (isspace((unsigned char)*speed))
		speed++;
	len = strspn(speed, "0123456789.");
	if (!len || len >= sizeof(number))
		return GT_RAT(0, 1);
	memcpy(number, speed, len);
	number[len] = '\0';
	speed += len;
	while (isspace((unsigned char)*speed))
		speed++;
	if (strncmp(speed, "GT/s", 4) || !gt_rat_parse(number, &gts))
		return GT_RAT(0, 1);
	return gts;
}

int gt_model_width(const char *text)
{
	int64_t width;

	return text && gt_unit_int(text, 0, 32, &width) ? (int)width : 0;
}

struct gt_pci_rate gt_model_rate(const char *text)
{
	struct gt_pci_rate rate = {GT_RAT(0, 1), 0};
	const char *width = text ? strrchr(text, 'x') : NULL;

	if (text)
		rate.gts = gt_model_gts(text);
	if (width)
		rate.width = gt_model_width(width + 1);
	return rate;
}

int gt_model_lane(const char *speed, enum gt_rates rates, struct gt_rat *gbs)
{
	/*
	 * A line rate is GT/s less the encoding (8b/10b, 128b/130b, 242 of 256
	 * bytes).
	 */
	static const struct {
		struct gt_rat gts, nccl, line;
	} table[] = {
		{{5, 2}, {15, 80}, {1, 4}},
		{{5, 1}, {30, 80}, {1, 2}},
		{{8, 1}, {60, 80}, {64, 65}},
		{{16, 1}, {120, 80}, {128, 65}},
		{{32, 1}, {240, 80}, {256, 65}},
		{{64, 1}, {480, 80}, {121, 16}},
	};
	struct gt_rat gts = gt_model_gts(speed);

	for (size_t i = 0; i < GT_COUNT(table); i++) {
		if (gt_rat_cmp(gts, table[i].gts))
			continue;
		*gbs = gt_model_pick(table[i].nccl, table[i].line, rates);
		return gt_rat_make(gbs->num, gbs->den, gbs);
	}
	return 0;
}

static int gt_cpu_is(const struct gt_cpu *cpu, const char *vendor)
{
	return cpu->vendor && !strcmp(cpu->vendor, vendor);
}

enum gt_cpu_make gt_model_make(const struct gt_cpu *cpu)
{
	if (cpu->arch && !strcmp(cpu->arch, "ppc64"))
		return GT_CPU_POWER;
	if (gt_cpu_is(cpu, "AuthenticAMD"))
		return GT_CPU_AMD;
	return gt_cpu_is(cpu, "GenuineIntel") ? GT_CPU_INTEL : GT_CPU_OTHER;
}

struct gt_rat gt_model_inter_cpu(const struct gt_cpu *cpu)
{
	/*
	 * Processors of Intel's family 6 are told apart by the oldest model of
	 * each generation.
	 */
	static const struct {
		int model, gbs;
	} intel[] = {
		{0xcf, 40}, /* Emerald Rapids */
		{0x8f, 22}, /* Sapphire Rapids */
		{0x55, 10}, /* Skylake */
	};

	if (cpu->arch && !strcmp(cpu->arch, "ppc64"))
		return GT_RAT(32, 1);
	if (cpu->arch && !strcmp(cpu->arch, "arm64"))
		return GT_RAT(6, 1);
	if (gt_cpu_is(cpu, "AuthenticAMD"))
		return GT_RAT(16, 1);
	if (gt_cpu_is(cpu, "  Shanghai  ") || gt_cpu_is(cpu, "CentaurHauls"))
		return cpu->family == 7 && cpu->model == 0x5b ? GT_RAT(9, 1)
							      : GT_RAT(6, 1);
	if (!gt_cpu_is(cpu, "GenuineIntel"))
		return GT_LOCAL_GBS;
	for (size_t i = 0; cpu->family == 6 && i < GT_COUNT(intel); i++)
		if (cpu->model >= intel[i].model)
			return GT_RAT(intel[i].gbs, 1);
	return GT_RAT(6, 1);
}

struct gt_rat gt_model_pcie_overhead(const struct gt_cpu *cpu)
{
	return gt_cpu_is(cpu, "GenuineIntel") ? GT_RAT(6, 5) : GT_RAT(1, 1);
}
