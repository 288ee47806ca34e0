#include "lib/comm.h"

#include <config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "exec/host_world.h"
#include "plan/plan.h"
#include "world/launch.h"
#include "world/world.h"

int gt_comm_world_find(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_launch launch;
	int rc = gt_launch_find(NULL, &comm->job, &launch, err);

	comm->job.timeout_ns = comm->config.timeout_ns;
	if (!rc && comm->job.size > comm->nranks)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"the plan has %u ranks, less than the job's "
				"%u processes",
				comm->nranks, comm->job.size);
	if (rc)
		return rc;
	comm->first = gt_host_world_first(comm->job.rank, comm->job.size,
					  comm->nranks);
	comm->end = gt_host_world_first(comm->job.rank + 1, comm->job.size,
					comm->nranks);
	return GT_OK;
}

void gt_comm_world_forget(struct gtopo_comm *comm)
{
	if (comm->job.listen_fd >= 0)
		close(comm->job.listen_fd);
	comm->job.listen_fd = -1;
	gt_secret_wipe(&comm->job.secret);
}

int gt_comm_world_agree(struct gtopo_comm *comm, const char *what,
			struct gt_err *err)
{
	struct gt_world_part *parts;
	size_t len = strlen(what);
	int rc;

	if (!comm->world)
		return GT_OK;
	parts = calloc(comm->job.size, sizeof(*parts));
	if (!parts)
		return gt_err_nomem(err);
	rc = gt_world_meet(comm->world, what, len, parts, err);
	for (uint32_t p = 0; !rc && p < comm->job.size; p++)
		if (parts[p].len != len || memcmp(parts[p].bytes, what, len))
			rc = gt_err_set(err, GT_EINPUT, NULL,
					"%s has '%.*s', this process '%s'",
					gt_world_name(comm->world, p),
					(int)parts[p].len,
					(const char *)parts[p].bytes, what);
	free(parts);
	return rc;
}

int gt_comm_world_open(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	char digest[GT_DIGEST_TEXT_MAX], what[GT_DIGEST_TEXT_MAX + 64];
	int rc = GT_OK;

	if (comm->job.size < 2)
		return GT_OK;
	rc = gt_plan_print(comm->plan, &text, err);
	if (!rc && !gt_digest_text(text.text, text.len, digest))
		rc = gt_err_set(err, GT_ESYS, NULL, "cannot compute SHA-256");
	gt_buf_release(&text);
	if (rc)
		return rc;
	rc = gt_world_open(&comm->job, &comm->config.world, err);
	comm->job.listen_fd = -1; /* taken */
	if (rc)
		return rc;
	pthread_mutex_lock(&comm->mutex);
	comm->world = comm->config.world;
	if (comm->state < 0)
		gt_world_abort(comm->world, comm->err.text);
	pthread_mutex_unlock(&comm->mutex);
	snprintf(what, sizeof(what), "gtopo " PACKAGE_VERSION ", plan %s",
		 digest);
	return gt_comm_world_agree(comm, what, err);
}

void gt_comm_world_close(struct gtopo_comm *comm, const char *why)
{
	struct gt_world *world = comm->world;

	if (!world)
		return;
	if (why)
		gt_world_abort(world, why);
	else
		gt_world_meet(world, NULL, 0, NULL, NULL);
	pthread_mutex_lock(&comm->mutex);
	comm->world = NULL;
	pthread_mutex_unlock(&comm->mutex);
	gt_world_close(world);
}
