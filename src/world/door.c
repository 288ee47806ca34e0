/*
 * A process's door: where the others find it when their connections are gone
 * (regroup.c).  It stays the same for as long as the process has worlds that
 * come from one another, so that nobody takes a process for gone whose door has
 * only moved.
 */
#include "world/close_on_fork.h"
#include "world/internal.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Listen at the address that the job's connections go by. */
static int gt_door_listen(struct gt_world *world, struct gt_err *err)
{
	struct gt_net_address address = world->config.address;
	struct sockaddr *name = (struct sockaddr *)&address.storage;
	int rc = 0;

	if (!gt_world_is_root(world)) {
		pthread_mutex_lock(&world->mutex);
		address.len = sizeof(address.storage);
		rc = getsockname(world->members[0].wire.fd, name, &address.len);
		pthread_mutex_unlock(&world->mutex);
	}
	if (rc)
		return gt_err_set(err, GT_ESYS, NULL,
				  "the connection to %s is gone",
				  world->members[0].called);
	if (name->sa_family == AF_INET6)
		((struct sockaddr_in6 *)&address.storage)->sin6_port = 0;
	else
		((struct sockaddr_in *)&address.storage)->sin_port = 0;
	return gt_net_listen(&address, &world->door_fd, err);
}

/* Tell where the own door is, and hear of the others'. */
static int gt_door_exchange(struct gt_world *world, struct gt_err *err)
{
	uint32_t n = world->config.size;
	struct gt_world_part *parts = calloc(n, sizeof(*parts));
	struct gt_net_address own;
	int rc = GT_OK;

	memset(&own, 0, sizeof(own));
	own.len = sizeof(own.storage);
	world->doors = calloc(n, sizeof(*world->doors));
	if (!parts || !world->doors ||
	    getsockname(world->door_fd, (struct sockaddr *)&own.storage,
			&own.len))
		rc = gt_err_set(err, GT_ESYS, NULL, "no memory for a door");
	if (!rc)
		rc = gt_world_allgather(world, &own, sizeof(own), parts, err);
	for (uint32_t r = 0; !rc && r < n; r++) {
		if (parts[r].len == sizeof(own))
			memcpy(&own, parts[r].bytes, sizeof(own));
		if (parts[r].len != sizeof(own) ||
		    own.len > sizeof(own.storage))
			rc = gt_err_set(err, GT_ESYS, NULL,
					"%s speaks nonsense",
					world->members[r].called);
		world->doors[r] = own;
	}
	free(parts);
	return rc;
}

int gt_world_open_door(struct gt_world *world, const struct gt_world *origin,
		       struct gt_err *err)
{
	int rc = GT_OK;

	if (!origin)
		rc = gt_door_listen(world, err);
	else
		world->door_fd = fcntl(origin->door_fd, F_DUPFD_CLOEXEC, 0);
	if (!rc && world->door_fd < 0)
		rc = gt_err_set(err, GT_ESYS, NULL, "no file for a door");
	if (origin && !rc)
		gt_close_on_fork_mark(world->door_fd);
	return rc ? rc : gt_door_exchange(world, err);
}
