/* Asks NVML for the NVLinks and C2C links of each NVIDIA GPU. */
#include "topo/probe/nvml_query.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/probe/probe.h"
#include "topo/probe/sysfs.h"

enum {
	GT_CLASS_GPU = 0x030200,
	GT_CLASS_NVSWITCH = 0x068000,
	GT_LINK_DOWN = 0,
	GT_LINK_UP = 1,
};

static int gt_nvml_field(const struct gt_nvml_query *query, unsigned id,
			 unsigned link, unsigned *value)
{
	struct gt_nvml_field field = {.field_id = id, .scope_id = link};

	if (!query->nvml->fields ||
	    query->nvml->fields(query->device, 1, &field) != GT_NVML_SUCCESS ||
	    field.result != GT_NVML_SUCCESS)
		return 0;
	*value = field.value.u;
	return 1;
}

/*
 * Returns whether a link is up or down; -1 for one that is not there, or not
 * for peers.
 */
static int gt_nvml_link_state(const struct gt_nvml_query *query, unsigned link)
{
	const struct gt_nvml *nvml = query->nvml;
	unsigned p2p = 0, state;
	int active = 0;

	if (!nvml->nvlink_capability ||
	    nvml->nvlink_capability(query->device, link, GT_NVML_CAP_P2P,
				    &p2p) != GT_NVML_SUCCESS ||
	    !p2p)
		return -1;
	/* Newer GPUs answer the field, older ones the call. */
	if (query->gpu->sm >= 90 &&
	    gt_nvml_field(query, GT_NVML_FI_NVLINK_STATE, link, &state))
		return state == GT_NVML_ENABLED;
	if (!nvml->nvlink_state ||
	    nvml->nvlink_state(query->device, link, &active) != GT_NVML_SUCCESS)
		return -1;
	return active == GT_NVML_ENABLED;
}

/*
 * Finds what a remote end is.  One that is not in this machine's tree is asked
 * for; where that has no answer it is taken for a hidden NVSwitch.
 */
static void gt_nvml_target_class(const struct gt_nvml_query *query,
				 unsigned link, struct gt_machine_nvlink *to)
{
	long class = gt_sysfs_long(query->env->root, 0,
				   "/sys/bus/pci/devices/%s/class", to->target);
	int type;

	to->tclass = class ? (unsigned)class : GT_CLASS_NVSWITCH;
	if (class)
		return;
	if (!query->nvml->nvlink_remote_type ||
	    query->nvml->nvlink_remote_type(query->device, link, &type) !=
		    GT_NVML_SUCCESS)
		to->tclass_from = "hidden";
	else if (type == GT_NVML_REMOTE_GPU)
		to->tclass = GT_CLASS_GPU;
	else if (type != GT_NVML_REMOTE_SWITCH)
		to->tclass_from = "hidden";
}

/*
 * Finds the bus id of a link's remote end.  One that belongs to the hypervisor
 * has no PCI address but a filler of ones (drivers write "FFFFFFF:FF:FF.0",
 * too), which topology files spell like this.
 */
static int gt_nvml_remote(const struct gt_nvml_query *query, unsigned link,
			  char target[GT_BUSID_MAX])
{
	struct gt_nvml_pci remote;

	memset(&remote, 0, sizeof(remote));
	if (!query->nvml->nvlink_remote ||
	    query->nvml->nvlink_remote(query->device, link, &remote) !=
		    GT_NVML_SUCCESS)
		return 0;
	remote.busid_legacy[sizeof(remote.busid_legacy) - 1] = 0;
	for (char *p = remote.busid_legacy; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (!strncmp(remote.busid_legacy, "fffffff", 7) ||
	    !gt_sysfs_busid(remote.busid_legacy, target, GT_BUSID_MAX))
		snprintf(target, GT_BUSID_MAX, "fffffff:ffff:ff");
	return 1;
}

/*
 * Returns the raw rate of a link: newer GPUs answer for one link, older ones
 * for all; 0 when neither does.
 */
static unsigned gt_nvml_line_mbs(const struct gt_nvml_query *query,
				 unsigned link)
{
	unsigned mbs = 0;

	if (!gt_nvml_field(query, GT_NVML_FI_NVLINK_SPEED, link, &mbs))
		gt_nvml_field(query, GT_NVML_FI_NVLINK_MBPS, 0, &mbs);
	return mbs;
}

/*
 * Adds a link; links are grouped by remote end, in the order in which they are
 * seen.
 */
static int gt_nvml_link_add(const struct gt_nvml_query *query, unsigned link)
{
	struct gt_machine_nvlink **at = &query->gpu->nvlinks;
	char target[GT_BUSID_MAX];

	if (!gt_nvml_remote(query, link, target))
		return GT_OK;
	while (*at && strcmp((*at)->target, target))
		at = &(*at)->next;
	if (!*at) {
		*at = gt_arena_alloc(query->machine->arena, sizeof(**at));
		if (!*at)
			return GT_ESYS;
		memcpy((*at)->target, target, sizeof(target));
		gt_nvml_target_class(query, link, *at);
		(*at)->line_mbs = (int)gt_nvml_line_mbs(query, link);
	}
	(*at)->count++;
	return GT_OK;
}

/*
 * Finds the version of the links.  NVML counts versions with steps between, and
 * names a later one for some GPUs; what a generation of GPUs has is known.
 */
static void gt_nvml_link_version(const struct gt_nvml_query *query,
				 unsigned link)
{
	static const char *const names[] = {NULL,  "1.0", "2.0", "2.2",
					    "3.0", "3.1", "4.0", "5.0"};
	struct gt_machine_gpu *gpu = query->gpu;
	unsigned version = 0;

	if (gpu->nvlink)
		return;
	if (gpu->sm >= 90 && gpu->sm < 110) {
		gpu->nvlink = gpu->sm < 100 ? "4.0" : "5.0";
		gpu->nvlink_from = "sm";
	} else if (query->nvml->nvlink_version &&
		   query->nvml->nvlink_version(query->device, link, &version) ==
			   GT_NVML_SUCCESS &&
		   version < sizeof(names) / sizeof(names[0])) {
		gpu->nvlink = names[version];
	}
}

static void gt_nvml_c2c(const struct gt_nvml_query *query)
{
	unsigned n = 0, up, mbs;

	if (!gt_nvml_field(query, GT_NVML_FI_C2C_COUNT, 0, &n))
		return;
	for (unsigned l = 0; l < n; l++)
		if (gt_nvml_field(query, GT_NVML_FI_C2C_STATUS, l, &up) &&
		    up == 1 &&
		    gt_nvml_field(query, GT_NVML_FI_C2C_MBPS, l, &mbs)) {
			query->gpu->c2c_mbs = (int)mbs;
			query->gpu->c2c_count++;
		}
}

int gt_nvml_links(const struct gt_nvml_query *query)
{
	int state, rc = GT_OK;

	for (unsigned l = 0; !rc && l < GT_NVML_LINKS_MAX; l++) {
		state = gt_nvml_link_state(query, l);
		if (state == GT_LINK_DOWN)
			query->gpu->nvlinks_down |= 1u << l;
		if (state != GT_LINK_UP)
			continue;
		query->gpu->nvlinks_up |= 1u << l;
		gt_nvml_link_version(query, l);
		rc = gt_nvml_link_add(query, l);
	}
	gt_nvml_c2c(query);
	return rc;
}
