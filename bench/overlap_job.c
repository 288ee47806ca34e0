/*
 * bench/overlap as several processes: they find each other, and libgtopo finds
 * them.
 */
#include "overlap.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "world/launcher.h"
#include "world/world.h"

enum { JOB_JOIN_S = 60, JOB_SECRET_BYTES = 32 };

/* A port that is free now; 0: there is none. */
static in_port_t free_port(void)
{
	struct gt_net_address address;
	in_port_t port;
	int fd = -1;

	if (gt_net_resolve("127.0.0.1", 0, &address, NULL) ||
	    gt_net_listen(&address, &fd, NULL))
		return 0;
	port = ntohs(((struct sockaddr_in *)&address.storage)->sin_port);
	close(fd);
	return port;
}

static void set_number(const char *name, unsigned number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	setenv(name, text, 1);
}

/* libgtopo finds the job in the environment, as a launcher leaves it. */
static int tell_library(struct overlap *o, const struct gt_world_config *config)
{
	struct gt_world_part parts[OVERLAP_RANKS];
	in_port_t port = config->rank ? 0 : free_port();
	char secret[2 * JOB_SECRET_BYTES + 1] = "";
	struct gt_err err;

	gt_err_init(&err);
	if (gt_world_allgather(o->world, &port, sizeof(port), parts, &err))
		return gt_overlap_err(&err);
	memcpy(&port, parts[0].bytes, sizeof(port));
	if (!port)
		return gt_overlap_fail("job", "no port is free");
	for (size_t i = 0; i < config->secret.len && i < JOB_SECRET_BYTES; i++)
		snprintf(secret + 2 * i, 3, "%02x", config->secret.bytes[i]);
	unsetenv("TORCHELASTIC_USE_AGENT_STORE");
	unsetenv("GTOPO_SECRET_FILE");
	setenv("GTOPO_SECRET", secret, 1);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	set_number("MASTER_PORT", port);
	set_number("RANK", config->rank);
	set_number("WORLD_SIZE", config->size);
	set_number("LOCAL_RANK", config->rank);
	set_number("LOCAL_WORLD_SIZE", config->size);
	return GT_OK;
}

int gt_overlap_fork(struct overlap *o)
{
	struct gt_world_config config = {
		.listen_fd = -1, .timeout_ns = JOB_JOIN_S * 1000000000ll};
	struct gt_err err;
	int parent = 0, rc;

	if (o->options.procs < 2)
		return GT_OK;
	gt_err_init(&err);
	fflush(stdout);
	rc = gt_fork_job((uint32_t)o->options.procs, &config, &parent, &err);
	if (parent && err.code)
		gt_overlap_err(&err);
	if (parent)
		_exit(-rc);
	if (rc || gt_world_open(&config, &o->world, &err))
		return gt_overlap_err(&err);
	/* One of them reports. */
	if (config.rank && !freopen("/dev/null", "w", stdout))
		return gt_overlap_fail("/dev/null", "cannot be opened");
	return tell_library(o, &config);
}
