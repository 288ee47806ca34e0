/*
 * The few functions of PMIx that are needed, loaded when they are: process 0
 * publishes its address and the secret, the others look them up.
 */
#include "world/launcher.h"

#include <config.h>

#include "base/err.h"
#include "world/world.h"

#ifdef HAVE_PMIX

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pmix.h>

/* The key under which process 0 publishes "host port secret". */
static const char gt_pmix_key[] = "gtopo.world.1";

enum { GT_PMIX_TEXT_MAX = GT_NET_NAME_MAX + 256 };

/* The PMIx library, and the functions of it that are used. */
struct gt_pmix {
	void *library;
	pmix_status_t (*init)(pmix_proc_t *, pmix_info_t[], size_t);
	pmix_status_t (*finalize)(const pmix_info_t[], size_t);
	pmix_status_t (*put)(pmix_scope_t, const char[], pmix_value_t *);
	pmix_status_t (*commit)(void);
	pmix_status_t (*fence)(const pmix_proc_t[], size_t, const pmix_info_t[],
			       size_t);
	pmix_status_t (*get)(const pmix_proc_t *, const char[],
			     const pmix_info_t[], size_t, pmix_value_t **);
	const char *(*error)(pmix_status_t);
	pmix_proc_t self;
};

static int gt_pmix_load(struct gt_pmix *pmix, struct gt_err *err)
{
	const struct {
		const char *name;
		void **into;
	} all[] = {
		{"PMIx_Init", (void **)&pmix->init},
		{"PMIx_Finalize", (void **)&pmix->finalize},
		{"PMIx_Put", (void **)&pmix->put},
		{"PMIx_Commit", (void **)&pmix->commit},
		{"PMIx_Fence", (void **)&pmix->fence},
		{"PMIx_Get", (void **)&pmix->get},
		{"PMIx_Error_string", (void **)&pmix->error},
	};

	pmix->library = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
	if (!pmix->library)
		return gt_err_set(err, GT_ESYS, NULL,
				  "cannot load PMIx: %s (Debian: libpmix2)",
				  dlerror());
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		*all[i].into = dlsym(pmix->library, all[i].name);
		if (!*all[i].into)
			return gt_err_set(err, GT_ESYS, NULL,
					  "PMIx has no '%s'", all[i].name);
	}
	return GT_OK;
}

static int gt_pmix_fault(const struct gt_pmix *pmix, const char *what,
			 pmix_status_t status, struct gt_err *err)
{
	return gt_err_set(err, GT_ESYS, NULL, "PMIx: %s: %s", what,
			  pmix->error(status));
}

static void gt_pmix_release(pmix_value_t *value)
{
	if (value->type == PMIX_STRING)
		free(value->data.string);
	free(value);
}

/*
 * Ask for a number of the job, with PMIX_RANK_WILDCARD, or of a process; 0: it
 * is not known.
 */
static uint32_t gt_pmix_number(const struct gt_pmix *pmix, const char *key,
			       pmix_rank_t rank)
{
	pmix_proc_t who = pmix->self;
	pmix_value_t *value = NULL;
	uint32_t number = 0;

	who.rank = rank;
	if (pmix->get(&who, key, NULL, 0, &value) != PMIX_SUCCESS || !value)
		return 0;
	if (value->type == PMIX_UINT32)
		number = value->data.uint32;
	else if (value->type == PMIX_UINT16)
		number = value->data.uint16;
	gt_pmix_release(value);
	return number;
}

/* Process 0: listen, make a secret, and put both where the others look. */
static int gt_pmix_put(const struct gt_pmix *pmix, const char *iface,
		       struct gt_world_config *config, struct gt_err *err)
{
	char text[GT_PMIX_TEXT_MAX], address[GT_NET_NAME_MAX];
	pmix_value_t value = {.type = PMIX_STRING, .data.string = text};
	pmix_status_t status;
	int rc = gt_net_local(iface, &config->address, err);

	if (!rc)
		rc = gt_net_listen(&config->address, &config->listen_fd, err);
	if (!rc)
		rc = gt_secret_make(&config->secret, err);
	if (rc)
		return rc;
	gt_net_text(&config->address, address);
	snprintf(text, sizeof(text), "%s %.*s", address,
		 (int)config->secret.len, (char *)config->secret.bytes);
	status = pmix->put(PMIX_GLOBAL, gt_pmix_key, &value);
	if (status == PMIX_SUCCESS)
		status = pmix->commit();
	return status == PMIX_SUCCESS
		       ? GT_OK
		       : gt_pmix_fault(pmix, "cannot tell where process 0 is",
				       status, err);
}

static int gt_pmix_parse(const char *text, struct gt_world_config *config,
			 struct gt_err *err)
{
	char address[GT_NET_NAME_MAX], secret[128];
	char *colon;
	int rc;

	if (sscanf(text, "%127s %127s", address, secret) != 2 ||
	    !(colon = strrchr(address, ':')))
		return gt_err_set(err, GT_ESYS, NULL,
				  "PMIx: process 0's address is garbled");
	*colon = '\0';
	rc = gt_net_resolve(address, (uint16_t)atoi(colon + 1),
			    &config->address, err);
	return rc ? rc : gt_secret_set(&config->secret, secret, err);
}

static int gt_pmix_get(const struct gt_pmix *pmix,
		       struct gt_world_config *config, struct gt_err *err)
{
	pmix_proc_t root = pmix->self;
	pmix_value_t *value = NULL;
	pmix_status_t status;
	int rc;

	root.rank = 0;
	status = pmix->get(&root, gt_pmix_key, NULL, 0, &value);
	if (status != PMIX_SUCCESS || !value)
		return gt_pmix_fault(pmix, "cannot learn where process 0 is",
				     status, err);
	rc = value->type == PMIX_STRING
		     ? gt_pmix_parse(value->data.string, config, err)
		     : gt_err_set(err, GT_ESYS, NULL,
				  "PMIx: process 0's address is garbled");
	gt_pmix_release(value);
	return rc;
}

/* Exchange process 0's address; a fence after Put makes it visible to all. */
static int gt_pmix_exchange(const struct gt_pmix *pmix, const char *iface,
			    struct gt_world_config *config, struct gt_err *err)
{
	pmix_proc_t all = pmix->self;
	bool collect = true;
	pmix_info_t info = {.value.type = PMIX_BOOL};
	pmix_status_t status;
	int rc = GT_OK;

	if (!config->rank)
		rc = gt_pmix_put(pmix, iface, config, err);
	if (rc)
		return rc;
	all.rank = PMIX_RANK_WILDCARD;
	snprintf(info.key, sizeof(info.key), "%s", PMIX_COLLECT_DATA);
	info.value.data.flag = collect;
	status = pmix->fence(&all, 1, &info, 1);
	if (status != PMIX_SUCCESS)
		return gt_pmix_fault(pmix, "the fence failed", status, err);
	return config->rank ? gt_pmix_get(pmix, config, err) : GT_OK;
}

static int gt_pmix_use(struct gt_pmix *pmix, const char *iface,
		       struct gt_world_config *config, uint32_t *local_rank,
		       uint32_t *local_size, struct gt_err *err)
{
	pmix_status_t status = pmix->init(&pmix->self, NULL, 0);
	int rc;

	if (status != PMIX_SUCCESS)
		return gt_pmix_fault(pmix,
				     "PMIX_RANK is set, but nobody "
				     "answers",
				     status, err);
	config->rank = pmix->self.rank;
	config->size = gt_pmix_number(pmix, PMIX_JOB_SIZE, PMIX_RANK_WILDCARD);
	*local_size = gt_pmix_number(pmix, PMIX_LOCAL_SIZE, PMIX_RANK_WILDCARD);
	*local_rank = gt_pmix_number(pmix, PMIX_LOCAL_RANK, pmix->self.rank);
	if (config->rank >= config->size)
		rc = gt_err_set(err, GT_ESYS, NULL,
				"PMIx does not know how large the job is");
	else /* a process that is alone listens to nobody */
		rc = config->size > 1
			     ? gt_pmix_exchange(pmix, iface, config, err)
			     : GT_OK;
	pmix->finalize(NULL, 0);
	return rc;
}

int gt_pmix_find(const char *iface, struct gt_world_config *config,
		 uint32_t *local_rank, uint32_t *local_size, struct gt_err *err)
{
	struct gt_pmix pmix = {.library = NULL};
	int rc = gt_pmix_load(&pmix, err);

	if (!rc)
		rc = gt_pmix_use(&pmix, iface, config, local_rank, local_size,
				 err);
	if (rc && config->listen_fd >= 0) {
		close(config->listen_fd);
		config->listen_fd = -1;
	}
	/* The library stays loaded, since its threads may still be ending. */
	return rc;
}

#else

int gt_pmix_find(const char *iface, struct gt_world_config *config,
		 uint32_t *local_rank, uint32_t *local_size, struct gt_err *err)
{
	(void)iface;
	(void)config;
	(void)local_rank;
	(void)local_size;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "started through PMIx, which this program was built "
			  "without; set RANK, WORLD_SIZE, MASTER_ADDR, "
			  "MASTER_PORT and GTOPO_SECRET_FILE instead");
}

#endif
