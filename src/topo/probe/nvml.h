/*
 * The part of NVML's interface that gtopo calls, so that no vendor header is
 * needed to build: names, numbers and layouts are the driver's ABI.
 *
 * The library is found at run time.  Functions that older drivers lack are
 * NULL; gt_nvml_open fails only without those marked as needed.
 */
#ifndef GT_TOPO_PROBE_NVML_H
#define GT_TOPO_PROBE_NVML_H

enum {
	GT_NVML_SUCCESS = 0,
	GT_NVML_CAP_P2P = 0,  /* nvmlNvLinkCapability_t */
	GT_NVML_ENABLED = 1,  /* nvmlEnableState_t */
	GT_NVML_P2P_READ = 0, /* nvmlGpuP2PCapsIndex_t */
	GT_NVML_P2P_WRITE = 1,
	GT_NVML_P2P_ATOMICS = 3,
	GT_NVML_P2P_OK = 0, /* nvmlGpuP2PStatus_t; the others say why not */
	GT_NVML_P2P_CHIPSET = 1,
	GT_NVML_P2P_GPU = 2,
	GT_NVML_P2P_TOPOLOGY = 3,
	GT_NVML_P2P_REGKEY = 4,
	GT_NVML_P2P_UNSUPPORTED = 5,
	GT_NVML_P2P_UNKNOWN = 6,
	GT_NVML_REMOTE_GPU = 0, /* nvmlIntNvLinkDeviceType_t */
	GT_NVML_REMOTE_SWITCH = 2,
	GT_NVML_LINKS_MAX = 18,
	GT_NVML_TEXT_MAX = 96,
	/* fields to ask nvmlDeviceGetFieldValues for */
	GT_NVML_FI_NVLINK_MBPS = 90,   /* of each active link */
	GT_NVML_FI_NVLINK_SPEED = 164, /* of one link, MB/s */
	GT_NVML_FI_NVLINK_STATE = 165,
	GT_NVML_FI_C2C_COUNT = 170,
	GT_NVML_FI_C2C_STATUS = 171,
	GT_NVML_FI_C2C_MBPS = 172,
};

struct gt_nvml_device; /* NVML's own */

struct gt_nvml_pci {
	char busid_legacy[16]; /* "0000:18:00.0" */
	unsigned domain;
	unsigned bus;
	unsigned device;
	unsigned pci_device_id; /* device << 16 | vendor */
	unsigned pci_subsystem_id;
	char busid[32];
};

struct gt_nvml_field {
	unsigned field_id;
	unsigned scope_id; /* the link */
	long long timestamp;
	long long latency_usec;
	int value_type;
	int result;
	union {
		double d;
		unsigned u;
		unsigned long long ull;
	} value;
};

_Static_assert(sizeof(struct gt_nvml_pci) == 68, "nvmlPciInfo_t");
_Static_assert(sizeof(struct gt_nvml_field) == 40, "nvmlFieldValue_t");

/* GT_NVML(needed, member, symbol, parameters) */
#define GT_NVML_FUNCTIONS(GT_NVML)                                             \
	GT_NVML(1, init, nvmlInit_v2, (void))                                  \
	GT_NVML(1, shutdown, nvmlShutdown, (void))                             \
	GT_NVML(1, count, nvmlDeviceGetCount_v2, (unsigned *))                 \
	GT_NVML(1, handle, nvmlDeviceGetHandleByIndex_v2,                      \
		(unsigned, struct gt_nvml_device **))                          \
	GT_NVML(1, pci, nvmlDeviceGetPciInfo_v3,                               \
		(struct gt_nvml_device *, struct gt_nvml_pci *))               \
	GT_NVML(1, capability, nvmlDeviceGetCudaComputeCapability,             \
		(struct gt_nvml_device *, int *, int *))                       \
	GT_NVML(0, name, nvmlDeviceGetName,                                    \
		(struct gt_nvml_device *, char *, unsigned))                   \
	GT_NVML(0, gpu_max_gen, nvmlDeviceGetGpuMaxPcieLinkGeneration,         \
		(struct gt_nvml_device *, unsigned *))                         \
	GT_NVML(0, max_gen, nvmlDeviceGetMaxPcieLinkGeneration,                \
		(struct gt_nvml_device *, unsigned *))                         \
	GT_NVML(0, max_width, nvmlDeviceGetMaxPcieLinkWidth,                   \
		(struct gt_nvml_device *, unsigned *))                         \
	GT_NVML(0, cur_gen, nvmlDeviceGetCurrPcieLinkGeneration,               \
		(struct gt_nvml_device *, unsigned *))                         \
	GT_NVML(0, cur_width, nvmlDeviceGetCurrPcieLinkWidth,                  \
		(struct gt_nvml_device *, unsigned *))                         \
	GT_NVML(0, driver, nvmlSystemGetDriverVersion, (char *, unsigned))     \
	GT_NVML(0, cuda, nvmlSystemGetCudaDriverVersion_v2, (int *))           \
	GT_NVML(0, uuid, nvmlDeviceGetUUID,                                    \
		(struct gt_nvml_device *, char *, unsigned))                   \
	GT_NVML(0, vbios, nvmlDeviceGetVbiosVersion,                           \
		(struct gt_nvml_device *, char *, unsigned))                   \
	GT_NVML(0, mig, nvmlDeviceGetMigMode,                                  \
		(struct gt_nvml_device *, unsigned *, unsigned *))             \
	GT_NVML(0, p2p, nvmlDeviceGetP2PStatus,                                \
		(struct gt_nvml_device *, struct gt_nvml_device *, int,        \
		 int *))                                                       \
	GT_NVML(0, nvlink_version, nvmlDeviceGetNvLinkVersion,                 \
		(struct gt_nvml_device *, unsigned, unsigned *))               \
	GT_NVML(0, nvlink_capability, nvmlDeviceGetNvLinkCapability,           \
		(struct gt_nvml_device *, unsigned, int, unsigned *))          \
	GT_NVML(0, nvlink_state, nvmlDeviceGetNvLinkState,                     \
		(struct gt_nvml_device *, unsigned, int *))                    \
	GT_NVML(0, nvlink_remote, nvmlDeviceGetNvLinkRemotePciInfo_v2,         \
		(struct gt_nvml_device *, unsigned, struct gt_nvml_pci *))     \
	GT_NVML(0, nvlink_remote_type, nvmlDeviceGetNvLinkRemoteDeviceType,    \
		(struct gt_nvml_device *, unsigned, int *))                    \
	GT_NVML(0, fields, nvmlDeviceGetFieldValues,                           \
		(struct gt_nvml_device *, int, struct gt_nvml_field *))

struct gt_nvml {
	void *library;
#define GT_NVML_MEMBER(needed, member, symbol, parameters)                     \
	int(*member) parameters;
	GT_NVML_FUNCTIONS(GT_NVML_MEMBER)
#undef GT_NVML_MEMBER
	const char *(*error)(int result);
};

/*
 * Load and initialise `path` (NULL: the driver's).  1 when it can be asked, 0
 * when there is none, which is no fault; -1 with *why (valid until the next
 * dlopen) when there is one that does not work.
 */
int gt_nvml_open(const char *path, struct gt_nvml *nvml, const char **why);
void gt_nvml_close(struct gt_nvml *nvml);

#endif
