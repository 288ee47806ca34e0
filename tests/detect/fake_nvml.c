/*
 * A simulation of NVML, for tests only: a libnvidia-ml.so.1 that answers from
 * the file which the variable GTOPO_FAKE_NVML names, one line a GPU:
 *
 *	gpu busid=0000:1b:00.0 id=0x233010de sm=90 gen=5 gpu_gen=5 width=16
 *	    cur_gen=1 cur_width=16 mbps=26562 name=NVIDIA_H100
 *	    links=9 remote=0000:5B:00.0 [links=9 remote=...]
 *
 * (in one line; "_" in names stands for a blank).  `lost` in place of `gpu`
 * is a GPU that does not answer; `init=18` makes nvmlInit fail so; `down=3`
 * makes link 3 inactive.  uuid=GPU-1, vbios=96.00, mig=1, nvlink=6 (NVML's
 * number of the version), remote_type=2, p2p=x,rwa,r-- (a word a GPU; a digit
 * is the status of a refusal, - is 5) are what the calls of these names say;
 * without them they are not supported.
 * c2c=10 c2c_mbs=45000 c2c_down=3 are its links to the processor.
 * `system driver=550.54 cuda=12040` is said of all, `system count=999` makes
 * counting fail so, and fail=15 after `gpu` what is asked once there is a
 * handle.  xid=79 is one event that this GPU has, events=3 makes asking for
 * them fail so.  With FAIL_CALL=nvml, call number FAIL_AT fails; how many there
 * were is written into FAIL_COUNT with ".nvml" behind its name.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/probe/nvml.h"

enum {
	FAKE_MAX = 16,
	FAKE_INVALID = 2,
	FAKE_NOT_SUPPORTED = 3,
	FAKE_TIMEOUT = 10,
	FAKE_UNKNOWN = 999,
	FAKE_LOST = 15,
};

struct gt_nvml_device {
	int lost;
	char busid[32];
	char name[96];
	char uuid[48], vbios[32], p2p[96];
	unsigned id, sm, gen, gpu_gen, width, cur_gen, cur_width, mbps, down;
	unsigned xid, events, mig, nvlink, remote_type, fail, c2c, c2c_mbs,
		c2c_down;
	unsigned nlinks;
	char remote[GT_NVML_LINKS_MAX][16];
};

static struct gt_nvml_device fake[FAKE_MAX];
static unsigned fake_n;
static int fake_init;
static char fake_driver[32];
static unsigned fake_cuda, fake_count;
static long fake_calls;

/* The interface that nvml.h declares as pointers. */
#define FAKE_PROTOTYPE(needed, member, symbol, parameters)                     \
	int symbol parameters;
GT_NVML_FUNCTIONS(FAKE_PROTOTYPE)
const char *nvmlErrorString(int result);

static void fake_links(struct gt_nvml_device *gpu, unsigned n,
		       const char *remote)
{
	while (n-- && gpu->nlinks < GT_NVML_LINKS_MAX)
		snprintf(gpu->remote[gpu->nlinks++], 16, "%s", remote);
}

static void fake_word(struct gt_nvml_device *gpu, const char *key,
		      const char *value, unsigned *links)
{
	const struct {
		const char *key;
		unsigned *at;
	} numbers[] = {
		{"id", &gpu->id},
		{"sm", &gpu->sm},
		{"gen", &gpu->gen},
		{"gpu_gen", &gpu->gpu_gen},
		{"width", &gpu->width},
		{"cur_gen", &gpu->cur_gen},
		{"cur_width", &gpu->cur_width},
		{"mbps", &gpu->mbps},
		{"down", &gpu->down},
		{"mig", &gpu->mig},
		{"nvlink", &gpu->nvlink},
		{"remote_type", &gpu->remote_type},
		{"cuda", &fake_cuda},
		{"count", &fake_count},
		{"fail", &gpu->fail},
		{"c2c", &gpu->c2c},
		{"xid", &gpu->xid},
		{"events", &gpu->events},
		{"c2c_mbs", &gpu->c2c_mbs},
		{"c2c_down", &gpu->c2c_down},
		{"links", links},
	};

	const struct {
		const char *key;
		char *at;
		size_t size;
	} texts[] = {
		{"busid", gpu->busid, sizeof(gpu->busid)},
		{"name", gpu->name, sizeof(gpu->name)},
		{"uuid", gpu->uuid, sizeof(gpu->uuid)},
		{"vbios", gpu->vbios, sizeof(gpu->vbios)},
		{"p2p", gpu->p2p, sizeof(gpu->p2p)},
		{"driver", fake_driver, sizeof(fake_driver)},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!strcmp(key, numbers[i].key))
			*numbers[i].at = (unsigned)strtoul(value, NULL, 0);
	if (!strcmp(key, "init"))
		fake_init = atoi(value);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (!strcmp(key, texts[i].key))
			snprintf(texts[i].at, texts[i].size, "%s", value);
	if (!strcmp(key, "remote"))
		fake_links(gpu, *links, value);
}

static void fake_line(char *line)
{
	struct gt_nvml_device *gpu = &fake[fake_n];
	unsigned links = 0;
	char *save, *word = strtok_r(line, " \t\n", &save), *value;

	if (!word || word[0] == '#' || fake_n == FAKE_MAX)
		return;
	memset(gpu, 0, sizeof(*gpu));
	gpu->lost = !strcmp(word, "lost");
	gpu->down = GT_NVML_LINKS_MAX;
	gpu->mig = gpu->remote_type = gpu->c2c_down = ~0u;
	for (char *w = word; w; w = strtok_r(NULL, " \t\n", &save)) {
		value = strchr(w, '=');
		if (value) {
			*value++ = '\0';
			fake_word(gpu, w, value, &links);
		}
	}
	for (char *p = gpu->name; *p; p++)
		if (*p == '_')
			*p = ' ';
	if (gpu->lost || gpu->busid[0])
		fake_n++;
}

/* Is this the call that is to fail? */
static int fake_fails(void)
{
	const char *call = getenv("FAIL_CALL"), *at = getenv("FAIL_AT");

	return ++fake_calls == (at ? atol(at) : 0) && call &&
	       !strcmp(call, "nvml");
}

__attribute__((destructor)) static void fake_tell(void)
{
	const char *name = getenv("FAIL_COUNT");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s.nvml", name ? name : "");
	file = name ? fopen(path, "we") : NULL;
	if (!file)
		return;
	fprintf(file, "nvml %ld\n", fake_calls);
	fclose(file);
}

int nvmlInit_v2(void)
{
	const char *path = getenv("GTOPO_FAKE_NVML");
	FILE *file = path ? fopen(path, "re") : NULL;
	char line[1024];

	if (fake_fails())
		return FAKE_UNKNOWN;
	if (!file)
		return 9;
	fake_n = 0;
	while (fgets(line, sizeof(line), file))
		fake_line(line);
	fclose(file);
	return fake_init;
}

int nvmlShutdown(void)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	return GT_NVML_SUCCESS;
}

const char *nvmlErrorString(int result)
{
	return result == 18 ? "Driver/library version mismatch" : "some error";
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	*n = fake_n;
	return (int)fake_count;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, struct gt_nvml_device **gpu)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	if (i >= fake_n)
		return FAKE_INVALID;
	*gpu = &fake[i];
	return fake[i].lost ? FAKE_LOST : GT_NVML_SUCCESS;
}

int nvmlDeviceGetPciInfo_v3(struct gt_nvml_device *gpu,
			    struct gt_nvml_pci *info)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	memset(info, 0, sizeof(*info));
	sscanf(gpu->busid, "%x:%x:%x", &info->domain, &info->bus,
	       &info->device);
	snprintf(info->busid_legacy, sizeof(info->busid_legacy), "%.15s",
		 gpu->busid);
	snprintf(info->busid, sizeof(info->busid), "0000%.20s", gpu->busid);
	info->pci_device_id = gpu->id;
	return GT_NVML_SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(struct gt_nvml_device *gpu, int *major,
				       int *minor)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	*major = (int)gpu->sm / 10;
	*minor = (int)gpu->sm % 10;
	return (int)gpu->fail;
}

int nvmlDeviceGetName(struct gt_nvml_device *gpu, char *name, unsigned size)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	snprintf(name, size, "%s", gpu->name);
	return GT_NVML_SUCCESS;
}

static int fake_text(const char *from, char *to, unsigned size)
{
	snprintf(to, size, "%s", from);
	return from[0] ? GT_NVML_SUCCESS : FAKE_NOT_SUPPORTED;
}

int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	return fake_text(fake_driver, version, size);
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	*version = (int)fake_cuda;
	return fake_cuda ? GT_NVML_SUCCESS : FAKE_NOT_SUPPORTED;
}

int nvmlDeviceGetUUID(struct gt_nvml_device *gpu, char *uuid, unsigned size)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	return fake_text(gpu->uuid, uuid, size);
}

int nvmlDeviceGetVbiosVersion(struct gt_nvml_device *gpu, char *version,
			      unsigned size)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	return fake_text(gpu->vbios, version, size);
}

int nvmlDeviceGetMigMode(struct gt_nvml_device *gpu, unsigned *mode,
			 unsigned *pending)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	*mode = *pending = gpu->mig;
	return gpu->mig == ~0u ? FAKE_NOT_SUPPORTED : GT_NVML_SUCCESS;
}

static int fake_p2p_status(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	return letter == '-' ? GT_NVML_P2P_UNSUPPORTED : GT_NVML_P2P_OK;
}

int nvmlDeviceGetP2PStatus(struct gt_nvml_device *from,
			   struct gt_nvml_device *to, int index, int *status)
{
	const char *word = from->p2p;

	if (fake_fails())
		return FAKE_UNKNOWN;
	for (long i = to - fake; i > 0 && word; i--) {
		word = strchr(word, ',');
		word += word != NULL;
	}
	if (!word || strlen(word) < 3)
		return FAKE_NOT_SUPPORTED;
	*status =
		fake_p2p_status(word[index == GT_NVML_P2P_ATOMICS ? 2 : index]);
	return GT_NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkVersion(struct gt_nvml_device *gpu, unsigned link,
			       unsigned *version)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	*version = gpu->nvlink;
	return link < gpu->nlinks && gpu->nvlink ? GT_NVML_SUCCESS
						 : FAKE_NOT_SUPPORTED;
}

int nvmlDeviceGetNvLinkRemoteDeviceType(struct gt_nvml_device *gpu,
					unsigned link, int *type)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	*type = (int)gpu->remote_type;
	return link < gpu->nlinks && gpu->remote_type != ~0u
		       ? GT_NVML_SUCCESS
		       : FAKE_NOT_SUPPORTED;
}

static int fake_number(unsigned from, unsigned *to)
{
	*to = from;
	return from ? GT_NVML_SUCCESS : FAKE_NOT_SUPPORTED;
}

int nvmlDeviceGetGpuMaxPcieLinkGeneration(struct gt_nvml_device *gpu,
					  unsigned *gen)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	return fake_number(gpu->gpu_gen, gen);
}

int nvmlDeviceGetMaxPcieLinkGeneration(struct gt_nvml_device *gpu,
				       unsigned *gen)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	return fake_number(gpu->gen, gen);
}

int nvmlDeviceGetMaxPcieLinkWidth(struct gt_nvml_device *gpu, unsigned *width)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	return fake_number(gpu->width, width);
}

int nvmlDeviceGetCurrPcieLinkGeneration(struct gt_nvml_device *gpu,
					unsigned *gen)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	return fake_number(gpu->cur_gen, gen);
}

int nvmlDeviceGetCurrPcieLinkWidth(struct gt_nvml_device *gpu, unsigned *width)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	return fake_number(gpu->cur_width, width);
}

int nvmlDeviceGetNvLinkCapability(struct gt_nvml_device *gpu, unsigned link,
				  int what, unsigned *value)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	if (link >= gpu->nlinks || what != GT_NVML_CAP_P2P)
		return FAKE_INVALID;
	*value = 1;
	return GT_NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkState(struct gt_nvml_device *gpu, unsigned link,
			     int *active)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	if (link >= gpu->nlinks)
		return FAKE_INVALID;
	*active = link == gpu->down ? 0 : GT_NVML_ENABLED;
	return GT_NVML_SUCCESS;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct gt_nvml_device *gpu,
					unsigned link, struct gt_nvml_pci *info)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	if (link >= gpu->nlinks)
		return FAKE_INVALID;
	memset(info, 0, sizeof(*info));
	snprintf(info->busid_legacy, sizeof(info->busid_legacy), "%s",
		 gpu->remote[link]);
	return GT_NVML_SUCCESS;
}

static int fake_field(struct gt_nvml_device *gpu, struct gt_nvml_field *field)
{
	int active = 0, result = FAKE_NOT_SUPPORTED;

	if (field->field_id == GT_NVML_FI_NVLINK_STATE) {
		result =
			nvmlDeviceGetNvLinkState(gpu, field->scope_id, &active);
		field->value.u = (unsigned)active;
	}
	if (field->field_id == GT_NVML_FI_C2C_COUNT)
		result = fake_number(gpu->c2c, &field->value.u);
	if (field->scope_id < gpu->c2c &&
	    field->field_id == GT_NVML_FI_C2C_STATUS) {
		field->value.u = field->scope_id != gpu->c2c_down;
		result = GT_NVML_SUCCESS;
	}
	if (field->field_id == GT_NVML_FI_C2C_MBPS)
		result = fake_number(gpu->c2c_mbs, &field->value.u);
	/* On H200 the older question has no answer. */
	if (field->field_id ==
	    (gpu->sm >= 90 ? GT_NVML_FI_NVLINK_SPEED : GT_NVML_FI_NVLINK_MBPS))
		result = fake_number(gpu->mbps, &field->value.u);
	return result;
}

int nvmlDeviceGetFieldValues(struct gt_nvml_device *gpu, int n,
			     struct gt_nvml_field *fields)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	for (int i = 0; i < n; i++)
		fields[i].result = fake_field(gpu, &fields[i]);
	return GT_NVML_SUCCESS;
}

/* What tests/gpu/xid.c asks for: nvmlEventData_t and its calls. */
struct fake_event {
	struct gt_nvml_device *gpu;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
};

int nvmlEventSetCreate(void **set);
int nvmlDeviceRegisterEvents(struct gt_nvml_device *gpu,
			     unsigned long long types, void *set);
int nvmlEventSetWait_v2(void *set, struct fake_event *event, unsigned wait_ms);

int nvmlEventSetCreate(void **set)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	*set = fake;
	return GT_NVML_SUCCESS;
}

int nvmlDeviceRegisterEvents(struct gt_nvml_device *gpu,
			     unsigned long long types, void *set)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	return types && set ? (int)gpu->events : FAKE_INVALID;
}

int nvmlEventSetWait_v2(void *set, struct fake_event *event, unsigned wait_ms)
{
	if (fake_fails())
		return FAKE_UNKNOWN;
	for (unsigned i = 0; set && i < fake_n; i++)
		if (fake[i].xid) {
			*event = (struct fake_event){.gpu = &fake[i],
						     .data = fake[i].xid};
			fake[i].xid = 0;
			return GT_NVML_SUCCESS;
		}
	poll(NULL, 0, (int)wait_ms);
	return FAKE_TIMEOUT;
}
