/*
 * Memory that users register: on GPUs the engine makes it reachable for other
 * processes, on the host there is nothing to do but to remember it.
 */
#include "lib/state.h"

#include <stdlib.h>

#include "lib/launch.h"

static struct gt_region **gt_region_find(struct gt_comm_rank *me,
					 const void *buffer)
{
	struct gt_region **at = &me->regions;

	while (*at && (*at)->buffer != buffer)
		at = &(*at)->next;
	return at;
}

static int gt_region_register(struct gtopo_comm *comm, uint32_t rank,
			      const struct gt_region *region)
{
	struct gt_err err;
	int rc = gt_comm_await_open(comm);

	/* All processes make what is due before they meet here. */
	while (!rc && gt_launch_spawn(comm))
		;
	rc = gt_launch_acquire(comm);
	if (rc)
		return rc;
	gt_err_init(&err);
	rc = comm->ops->async->register_buffer(
		comm->engine, rank, region->buffer, region->bytes, &err);
	gt_launch_release(comm);
	if (rc == GT_EINPUT)
		return gt_comm_refuse(comm, "%s", err.text);
	/* Others may wait for what could not be made here. */
	if (rc)
		gt_comm_fail(comm, rc, &err);
	return rc;
}

int gtopo_register(struct gtopo_comm *comm, int rank, const void *buffer,
		   size_t bytes)
{
	struct gt_region *region, **at;
	int rc;

	if (!gt_comm_is_rank(comm, rank) || !buffer || !bytes)
		return gt_comm_refuse_words(comm,
					    "the rank is not of this process, "
					    "or there is no memory");
	region = malloc(sizeof(*region));
	if (!region)
		return GTOPO_ESYSTEM;
	*region = (struct gt_region){.buffer = buffer, .bytes = bytes};
	pthread_mutex_lock(&comm->mutex);
	rc = comm->ops->async ? gt_region_register(comm, (uint32_t)rank, region)
			      : gt_comm_await_open(comm);
	at = gt_region_find(&comm->ranks[rank], buffer);
	if (!rc && *at)
		rc = gt_comm_refuse(comm, "that memory is registered already");
	if (!rc)
		*at = region;
	pthread_mutex_unlock(&comm->mutex);
	if (rc)
		free(region);
	return gt_comm_code(rc);
}

static void gt_region_deregister(struct gtopo_comm *comm, uint32_t rank,
				 const void *buffer)
{
	struct gt_err err;
	int rc;

	if (!comm->ops->async || gt_launch_acquire(comm))
		return;
	gt_err_init(&err);
	rc = comm->ops->async->deregister_buffer(comm->engine, rank, buffer,
						 &err);
	gt_launch_release(comm);
	if (rc)
		gt_comm_fail(comm, rc, &err);
}

int gtopo_deregister(struct gtopo_comm *comm, int rank, const void *buffer)
{
	struct gt_region **at, *region;
	int rc;

	pthread_mutex_lock(&comm->mutex);
	rc = gt_comm_check_rank(comm, rank);
	at = rc ? NULL : gt_region_find(&comm->ranks[rank], buffer);
	region = rc ? NULL : *at;
	if (!rc && !region)
		rc = gt_comm_refuse(comm, "no such memory is registered");
	if (region) {
		*at = region->next;
		gt_region_deregister(comm, (uint32_t)rank, buffer);
		rc = comm->state < 0 ? comm->state : GTOPO_OK;
	}
	pthread_mutex_unlock(&comm->mutex);
	free(region);
	return rc;
}
