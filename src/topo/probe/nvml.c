/* Loads NVML and looks up its functions. */
#include "topo/probe/nvml.h"

#include <dlfcn.h>
#include <string.h>

/* Copies a function pointer from dlsym, which C has no cast for. */
static int gt_nvml_find(void *library, const char *symbol, void *member)
{
	void *found = dlsym(library, symbol);

	memcpy(member, &found, sizeof(found));
	return found != NULL;
}

static const char *gt_nvml_missing(struct gt_nvml *nvml)
{
	const char *missing = NULL;

#define GT_NVML_FIND(needed, member, symbol, parameters)                       \
	if (!gt_nvml_find(nvml->library, #symbol, &nvml->member) && needed)    \
		missing = #symbol " is missing";
	GT_NVML_FUNCTIONS(GT_NVML_FIND)
#undef GT_NVML_FIND
	gt_nvml_find(nvml->library, "nvmlErrorString", &nvml->error);
	return missing;
}

int gt_nvml_open(const char *path, struct gt_nvml *nvml, const char **why)
{
	int result;

	memset(nvml, 0, sizeof(*nvml));
	nvml->library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW);
	if (!nvml->library) {
		*why = dlerror();
		return path ? -1 : 0;
	}
	*why = gt_nvml_missing(nvml);
	if (!*why) {
		result = nvml->init();
		if (result == GT_NVML_SUCCESS)
			return 1;
		*why = nvml->error ? nvml->error(result) : "it does not start";
	}
	/* The library stays loaded, for *why may be its own text. */
	return -1;
}

void gt_nvml_close(struct gt_nvml *nvml)
{
	nvml->shutdown();
	dlclose(nvml->library);
}
