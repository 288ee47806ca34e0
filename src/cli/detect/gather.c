/* Gathers the topology, its findings and facts of the kernel in an archive. */
#include "cli/detect/gather.h"

#include <config.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/tar.h"
#include "base/text.h"
#include "cli/common/command.h"
#include "cli/detect/xml.h"
#include "cli/lint/print.h"
#include "topo/lint/lint.h"
#include "topo/probe/sysfs.h"

/* The archive, as far as it is written. */
struct gather {
	const struct gt_cmd_args *args;
	const struct gt_detect_source *from;
	const char *root;
	struct gt_buf xml;
	struct gt_buf *out;
	int64_t now;
};

/* Cuts off who built a driver, and on which host, which its version tells. */
static void put_line(const struct gather *gather, struct gt_buf *text,
		     const char *name, const char *path)
{
	char value[512], *build;

	if (!gt_sysfs_text(gather->root, value, sizeof(value), "%s", path))
		return;
	build = strstr(value, "  Release Build");
	if (build)
		*build = '\0';
	build = strchr(value, '(');
	if (build && strchr(build, '@'))
		*build = '\0';
	gt_buf_printf(text, "%-16s %s\n", name, value);
}

static int put_versions(const struct gather *gather, struct gt_buf *text,
			struct gt_err *err)
{
	static const char *const table[][2] = {
		{"kernel", "/proc/sys/kernel/osrelease"},
		{"nvidia", "/proc/driver/nvidia/version"},
		{"nvidia module", "/sys/module/nvidia/version"},
		{"nvidia_peermem", "/sys/module/nvidia_peermem/version"},
		{"amdgpu", "/sys/module/amdgpu/version"},
		{"mlx5_core", "/sys/module/mlx5_core/version"},
		{"vendor", "/sys/class/dmi/id/sys_vendor"},
		{"product", "/sys/class/dmi/id/product_name"},
		{"board", "/sys/class/dmi/id/board_name"},
		{"BIOS", "/sys/class/dmi/id/bios_version"},
		{"BIOS date", "/sys/class/dmi/id/bios_date"},
	};

	(void)err;
	gt_buf_printf(text, "%-16s %s\n", "gtopo", PACKAGE_VERSION);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		put_line(gather, text, table[i][0], table[i][1]);
	return GT_OK;
}

/* Returns whether a kernel parameter bears on devices, memory or processors. */
static int is_of_interest(const char *word)
{
	static const char *const starts[] = {
		"iommu",     "intel_iommu", "amd_iommu",    "pci",
		"numa",      "hugepage",    "default_huge", "transparent_huge",
		"nvidia",    "amdgpu",      "mlx",          "isolcpus",
		"nohz_full", "rcu_nocbs",   "mitigations",  "intel_idle",
		"processor", "idle",        "mem"};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		if (gt_starts_with(word, starts[i]))
			return 1;
	return 0;
}

/*
 * Other parameters, and what is for init, may be passwords or say where disks
 * are: of those there is the number alone.
 */
static int put_cmdline(const struct gather *gather, struct gt_buf *text,
		       struct gt_err *err)
{
	char line[4096], *rest = line, *word;
	unsigned others = 0;
	int is_for_init = 0;

	(void)err;
	if (!gt_sysfs_text(gather->root, line, sizeof(line), "/proc/cmdline"))
		return GT_OK;
	while ((word = strsep(&rest, " "))) {
		is_for_init |= !strcmp(word, "--");
		if (!is_for_init && is_of_interest(word))
			gt_buf_printf(text, "%s\n", word);
		else
			others += *word != '\0';
	}
	if (others)
		gt_buf_printf(text, "(%u more left out)\n", others);
	return GT_OK;
}

static int put_xml(const struct gather *gather, struct gt_buf *text,
		   struct gt_err *err)
{
	(void)err;
	gt_buf_add(text, gather->xml.text, gather->xml.len);
	return GT_OK;
}

static int put_lint(const struct gather *gather, struct gt_buf *text,
		    struct gt_err *err)
{
	struct gt_lint_style style = {.is_each = 1};
	struct gt_arena *arena = gt_arena_new();
	struct gt_lint lint;
	int rc = arena ? gt_lint_text("topology.xml", gather->xml.text,
				      gather->xml.len, arena, &lint, err)
		       : gt_err_nomem(err);

	if (!rc)
		gt_lint_print(&lint, style, text);
	gt_arena_free(arena);
	return rc;
}

/* A line of the list of PCI functions that is being written. */
struct functions {
	const char *root;
	struct gt_buf *text;
};

static int put_function(const char *name, void *arg)
{
	static const char *const facts[] = {"class",
					    "vendor",
					    "device",
					    "subsystem_vendor",
					    "subsystem_device",
					    "numa_node",
					    "current_link_speed",
					    "current_link_width",
					    "max_link_speed",
					    "max_link_width"};
	const struct functions *functions = arg;
	char value[128], driver[PATH_MAX];

	gt_buf_printf(functions->text, "%s", name);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (gt_sysfs_text(functions->root, value, sizeof(value),
				  "/sys/bus/pci/devices/%s/%s", name, facts[i]))
			gt_buf_printf(functions->text, " %s=%s", facts[i],
				      value);
	if (gt_sysfs_real(functions->root, driver,
			  "/sys/bus/pci/devices/%s/driver", name))
		gt_buf_printf(functions->text, " driver=%s",
			      strrchr(driver, '/') ? strrchr(driver, '/') + 1
						   : driver);
	gt_buf_puts(functions->text, "\n");
	return 0;
}

static int put_pci(const struct gather *gather, struct gt_buf *text,
		   struct gt_err *err)
{
	struct functions functions = {gather->root, text};

	(void)err;
	gt_sysfs_each(gather->root, "/sys/bus/pci/devices", put_function,
		      &functions);
	return GT_OK;
}

/* A file of the archive; in this order. */
struct part {
	const char *name;
	const char *what;
	int (*put)(const struct gather *gather, struct gt_buf *text,
		   struct gt_err *err);
};

static const struct part parts[] = {
	{"topology.xml", "what gtopo detect writes", put_xml},
	{"lint.txt", "what gtopo lint says of it", put_lint},
	{"versions.txt", "gtopo, kernel, drivers, BIOS and product",
	 put_versions},
	{"cmdline.txt",
	 "the kernel's parameters about devices, memory and processors, no "
	 "others",
	 put_cmdline},
	{"pci.txt", "PCI functions: ids, links, NUMA nodes, drivers", put_pci},
};

enum { NPARTS = sizeof(parts) / sizeof(parts[0]) };

static const char promise[] =
	"There is no name of the host or of users, no serial number, no file "
	"of users, and no address but in GUIDs and names of ports.";

static void add_file(const struct gather *gather, const char *name,
		     struct gt_buf *text)
{
	char path[GT_TAR_NAME_MAX + 1];

	snprintf(path, sizeof(path), "gtopo-gather/%s", name);
	gt_tar_add(gather->out, path, text, gather->now);
	gt_buf_release(text);
}

/* Say in the archive, and to whoever makes it, what is in it. */
static void add_readme(const struct gather *gather)
{
	struct gt_buf text = GT_BUF_INIT;

	gt_buf_puts(&text, "Gathered by gtopo " PACKAGE_VERSION
			   " for a report of a fault.\n\n");
	for (size_t i = 0; i < NPARTS; i++) {
		gt_buf_printf(&text, "%-13s %s\n", parts[i].name,
			      parts[i].what);
		gt_cmd_warn(gather->args, "%s: %s", parts[i].name,
			    parts[i].what);
	}
	gt_buf_printf(&text, "\n%s\n", promise);
	gt_cmd_warn(gather->args, "%s", promise);
	add_file(gather, "README", &text);
}

int gt_detect_gather(const struct gt_cmd_args *args,
		     const struct gt_detect_source *from, struct gt_buf *out,
		     struct gt_err *err)
{
	struct gather gather = {.args = args,
				.from = from,
				.root = from->root ? from->root : "",
				.xml = GT_BUF_INIT,
				.out = out,
				.now = (int64_t)time(NULL)};
	int rc = gt_detect_xml(args, from, &gather.xml, err);

	if (!rc)
		add_readme(&gather);
	for (size_t i = 0; i < NPARTS && !rc; i++) {
		struct gt_buf text = GT_BUF_INIT;

		rc = parts[i].put(&gather, &text, err);
		add_file(&gather, parts[i].name, &text);
	}
	gt_tar_end(out);
	gt_buf_release(&gather.xml);
	return rc;
}
