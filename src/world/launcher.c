/*
 * Which launcher has started this process, by the variables that it sets; the
 * table at the end has one row for each of them.
 */
#include "world/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/err.h"
#include "base/unit.h"

enum {
	GT_LAUNCHER_MOST = 1 << 20, /* the most processes of a job */
	/* Ports of jobs under Slurm lie below the ephemeral ones. */
	GT_LAUNCHER_PORT_FIRST = 20000,
	GT_LAUNCHER_PORTS = 10000,
};

void gt_launcher_process_name(char name[GT_WORLD_NAME_MAX])
{
	struct utsname uts = {.nodename = "unknown"};

	uname(&uts);
	snprintf(name, GT_WORLD_NAME_MAX, "%.64s, pid %d", uts.nodename,
		 (int)getpid());
}

/* Read a number from the environment; GT_EINPUT unless least <= it <= most. */
static int gt_launcher_number(const char *name, int64_t least, int64_t most,
			      int64_t *number, struct gt_err *err)
{
	const char *text = getenv(name);

	if (!text)
		return gt_err_set(err, GT_EINPUT, NULL, "%s is not set", name);
	if (gt_unit_int(text, least, most, number))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "%s '%s' is not a number from %lld to %lld", name,
			  text, (long long)least, (long long)most);
}

static int gt_launcher_ranks(const char *rank_name, const char *size_name,
			     struct gt_world_config *config, struct gt_err *err)
{
	int64_t rank, size;
	int rc = gt_launcher_number(size_name, 1, GT_LAUNCHER_MOST, &size, err);

	if (!rc)
		rc = gt_launcher_number(rank_name, 0, size - 1, &rank, err);
	if (rc)
		return rc;
	config->rank = (uint32_t)rank;
	config->size = (uint32_t)size;
	return GT_OK;
}

/*
 * Read the process's place on its host, which stays unknown where the launcher
 * does not say it.
 */
static int gt_launcher_local(const char *rank_name, const char *size_name,
			     struct gt_launcher_info *launch,
			     struct gt_err *err)
{
	int64_t rank, size;
	int rc;

	if (!getenv(rank_name) || !getenv(size_name))
		return GT_OK;
	rc = gt_launcher_number(size_name, 1, GT_LAUNCHER_MOST, &size, err);
	if (!rc)
		rc = gt_launcher_number(rank_name, 0, size - 1, &rank, err);
	if (rc)
		return rc;
	launch->local_rank = (uint32_t)rank;
	launch->local_size = (uint32_t)size;
	return GT_OK;
}

static int gt_launcher_secret(struct gt_world_config *config,
			      struct gt_err *err)
{
	const char *text = getenv("GTOPO_SECRET");
	const char *file = getenv("GTOPO_SECRET_FILE");

	if (file)
		return gt_secret_read(&config->secret, file, err);
	if (text)
		return gt_secret_set(&config->secret, text, err);
	return gt_err_set(err, GT_EINPUT, NULL,
			  "the processes of a job need a secret: set "
			  "GTOPO_SECRET_FILE (or GTOPO_SECRET) to the same "
			  "for all");
}

/* Process 0 listens at the address that all know. */
static int gt_launcher_listen(struct gt_world_config *config,
			      struct gt_err *err)
{
	config->listen_fd = -1;
	if (config->rank)
		return GT_OK;
	return gt_net_listen(&config->address, &config->listen_fd, err);
}

static int gt_launcher_master(struct gt_world_config *config,
			      struct gt_err *err)
{
	const char *host = getenv("MASTER_ADDR");
	const char *agent = getenv("TORCHELASTIC_USE_AGENT_STORE");
	int64_t port;
	int rc = gt_launcher_number("MASTER_PORT", 1, 65534, &port, err);

	if (!host)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "MASTER_ADDR is not set: where process 0 "
				  "is");
	if (rc)
		return rc;
	if (agent && !strcmp(agent, "True"))
		port++;
	return gt_net_resolve(host, (uint16_t)port, &config->address, err);
}

/* Print the first host of a list: "node03" of "node[03-07,9],other". */
static void gt_launcher_first_host(const char *list, char host[GT_NET_NAME_MAX])
{
	size_t stem = strcspn(list, "[,");
	size_t digits = 0;

	if (list[stem] == '[')
		digits = strspn(list + stem + 1, "0123456789");
	snprintf(host, GT_NET_NAME_MAX, "%.*s%.*s", (int)stem, list,
		 (int)digits, digits ? list + stem + 1 : "");
}

static int gt_launcher_slurm_address(struct gt_world_config *config,
				     struct gt_err *err)
{
	const char *list = getenv("SLURM_STEP_NODELIST");
	char host[GT_NET_NAME_MAX];
	int64_t job, step = 0, port;
	int rc = gt_launcher_number("SLURM_JOB_ID", 0, UINT32_MAX, &job, err);

	if (!rc && getenv("SLURM_STEP_ID"))
		rc = gt_launcher_number("SLURM_STEP_ID", 0, UINT32_MAX, &step,
					err);
	if (rc)
		return rc;
	if (!list)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "SLURM_STEP_NODELIST is not set");
	gt_launcher_first_host(list, host);
	port = GT_LAUNCHER_PORT_FIRST + (job * 31 + step) % GT_LAUNCHER_PORTS;
	return gt_net_resolve(host, (uint16_t)port, &config->address, err);
}

static int gt_launcher_torch(struct gt_world_config *config,
			     struct gt_launcher_info *launch,
			     struct gt_err *err)
{
	int rc = gt_launcher_ranks("RANK", "WORLD_SIZE", config, err);

	return rc ? rc
		  : gt_launcher_local("LOCAL_RANK", "LOCAL_WORLD_SIZE", launch,
				      err);
}

static int gt_launcher_ompi(struct gt_world_config *config,
			    struct gt_launcher_info *launch, struct gt_err *err)
{
	int rc = gt_launcher_ranks("OMPI_COMM_WORLD_RANK",
				   "OMPI_COMM_WORLD_SIZE", config, err);

	return rc ? rc
		  : gt_launcher_local("OMPI_COMM_WORLD_LOCAL_RANK",
				      "OMPI_COMM_WORLD_LOCAL_SIZE", launch,
				      err);
}

static int gt_launcher_slurm(struct gt_world_config *config,
			     struct gt_launcher_info *launch,
			     struct gt_err *err)
{
	int64_t local;
	int rc = gt_launcher_ranks("SLURM_PROCID", "SLURM_NTASKS", config, err);

	if (!rc && getenv("SLURM_LOCALID")) {
		rc = gt_launcher_number("SLURM_LOCALID", 0, GT_LAUNCHER_MOST,
					&local, err);
		if (!rc)
			launch->local_rank = (uint32_t)local;
	}
	return rc;
}

/*
 * A launcher, the variable that shows it, who finds out this process's rank,
 * and who finds out where process 0 is.  PMIx has neither: it says both.
 */
static const struct gt_launcher {
	const char *by, *sign;
	int (*who)(struct gt_world_config *config,
		   struct gt_launcher_info *launch, struct gt_err *err);
	int (*where)(struct gt_world_config *config, struct gt_err *err);
} gt_launchers[] = {
	{"torchrun", "RANK", gt_launcher_torch, gt_launcher_master},
	{"PMIx", "PMIX_RANK", NULL, NULL},
	{"Open MPI", "OMPI_COMM_WORLD_RANK", gt_launcher_ompi,
	 gt_launcher_master},
	{"Slurm", "SLURM_STEP_ID", gt_launcher_slurm,
	 gt_launcher_slurm_address},
};

int gt_launcher_find(const char *iface, struct gt_world_config *config,
		     struct gt_launcher_info *launch, struct gt_err *err)
{
	const struct gt_launcher *at = gt_launchers;
	const struct gt_launcher *end =
		at + sizeof(gt_launchers) / sizeof(*gt_launchers);
	int rc;

	*launch = (struct gt_launcher_info){.by = NULL};
	gt_launcher_process_name(config->name);
	config->listen_fd = -1;
	while (at < end && !getenv(at->sign))
		at++;
	config->rank = 0;
	config->size = 1;
	if (at == end)
		return GT_OK;
	launch->by = at->by;
	if (!at->who)
		return gt_pmix_find(gt_net_interface_choice(iface), config,
				    &launch->local_rank, &launch->local_size,
				    err);
	rc = at->who(config, launch, err);
	if (rc || config->size == 1)
		return rc;
	rc = at->where(config, err);
	if (!rc)
		rc = gt_launcher_secret(config, err);
	return rc ? rc : gt_launcher_listen(config, err);
}
