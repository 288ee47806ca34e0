/*
 * What the driver finds wrong with GPUs while tests run: a line for each Xid,
 * as NVML's events tell of them, until the process is ended.  It is for where
 * the kernel's log, which has them too, is closed to tests.  Exit status 77:
 * there is no NVML, or it does not tell.
 */
#include <stdio.h>
#include <string.h>

#include <dlfcn.h>

enum {
	XID_GPUS_MAX = 64,
	XID_UNSUPPORTED = 77,
	XID_EVENT = 8, /* nvmlEventTypeXidCriticalError */
	XID_TIMEOUT = 10,
	XID_WAIT_MS = 1000,
};

/* nvmlEventData_t */
struct xid_event {
	void *gpu;
	unsigned long long type;
	unsigned long long data; /* the Xid's number */
	unsigned gpu_instance;
	unsigned compute_instance;
};

struct xid_nvml {
	int (*init)(void);
	int (*count)(unsigned *);
	int (*handle)(unsigned, void **);
	int (*create)(void **);
	int (*add)(void *, unsigned long long, void *);
	int (*wait)(void *, struct xid_event *, unsigned);
};

static void *gpus[XID_GPUS_MAX];

/* A function pointer from dlsym, which C has no cast for. */
static int find(void *library, const char *name, void *member)
{
	void *found = dlsym(library, name);

	memcpy(member, &found, sizeof(found));
	return found != NULL;
}

static int open_nvml(struct xid_nvml *nvml)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);

	return library && find(library, "nvmlInit_v2", &nvml->init) &&
	       find(library, "nvmlDeviceGetCount_v2", &nvml->count) &&
	       find(library, "nvmlDeviceGetHandleByIndex_v2", &nvml->handle) &&
	       find(library, "nvmlEventSetCreate", &nvml->create) &&
	       find(library, "nvmlDeviceRegisterEvents", &nvml->add) &&
	       find(library, "nvmlEventSetWait_v2", &nvml->wait) &&
	       !nvml->init();
}

/* How many GPUs are watched; 0 if there is one that cannot be. */
static unsigned watch(const struct xid_nvml *nvml, void **set)
{
	unsigned n = 0;

	if (nvml->create(set) || nvml->count(&n) || n > XID_GPUS_MAX)
		return 0;
	for (unsigned i = 0; i < n; i++)
		if (nvml->handle(i, &gpus[i]) ||
		    nvml->add(gpus[i], XID_EVENT, *set))
			return 0;
	return n;
}

static unsigned index_of(const void *gpu, unsigned n)
{
	unsigned i = 0;

	while (i < n && gpus[i] != gpu)
		i++;
	return i;
}

int main(void)
{
	struct xid_nvml nvml;
	struct xid_event event;
	void *set = NULL;
	unsigned n = open_nvml(&nvml) ? watch(&nvml, &set) : 0;
	int result = 0;

	if (!n) {
		fprintf(stderr, "NVML tells of no Xid here\n");
		return XID_UNSUPPORTED;
	}
	printf("# watching %u GPUs\n", n);
	while (!result || result == XID_TIMEOUT) {
		fflush(stdout);
		result = nvml.wait(set, &event, XID_WAIT_MS);
		if (!result)
			printf("Xid %llu: GPU %u\n", event.data,
			       index_of(event.gpu, n));
	}
	printf("NVML's events end: %d\n", result);
	return 1;
}
