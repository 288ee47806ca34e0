/* Doors: addresses and secrets as few bytes. */
#include "nccl/door.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "world/world.h"

static void gt_door_set(struct gt_door *door,
			const struct gt_net_address *address)
{
	const struct sockaddr_in *four = (const void *)&address->storage;
	const struct sockaddr_in6 *six = (const void *)&address->storage;

	if (address->storage.ss_family == AF_INET6) {
		door->family = htons(6);
		door->port = six->sin6_port;
		door->scope = htonl(six->sin6_scope_id);
		memcpy(door->host, &six->sin6_addr, sizeof(six->sin6_addr));
	} else {
		door->family = htons(4);
		door->port = four->sin_port;
		memcpy(door->host, &four->sin_addr, sizeof(four->sin_addr));
	}
}

int gt_door_open(struct gt_door *door, int *fd, struct gt_err *err)
{
	const char *choice = getenv("GTOPO_SOCKET_IFNAME");
	struct gt_net_address address;
	struct gt_secret secret;
	int rc;

	memset(door, 0, sizeof(*door));
	if (!choice)
		choice = getenv("NCCL_SOCKET_IFNAME");
	rc = gt_net_local(choice, &address, err);
	if (!rc)
		rc = gt_secret_make(&secret, err);
	if (!rc)
		rc = gt_net_listen(&address, fd, err);
	if (rc)
		return rc;
	gt_door_set(door, &address);
	memcpy(door->secret, secret.bytes, sizeof(door->secret));
	gt_secret_wipe(&secret);
	return GT_OK;
}

int gt_door_find(const struct gt_door *door, const struct gt_secret *known,
		 struct gt_world_config *config, struct gt_err *err)
{
	struct gt_net_address *address = &config->address;
	struct sockaddr_in *four = (void *)&address->storage;
	struct sockaddr_in6 *six = (void *)&address->storage;

	memset(address, 0, sizeof(*address));
	if (door->family == htons(6)) {
		six->sin6_family = AF_INET6;
		six->sin6_port = door->port;
		six->sin6_scope_id = ntohl(door->scope);
		memcpy(&six->sin6_addr, door->host, sizeof(six->sin6_addr));
		address->len = sizeof(*six);
	} else if (door->family == htons(4)) {
		four->sin_family = AF_INET;
		four->sin_port = door->port;
		memcpy(&four->sin_addr, door->host, sizeof(four->sin_addr));
		address->len = sizeof(*four);
	} else {
		return gt_err_set(err, GT_EINPUT, NULL,
				  "there is no address to meet at");
	}
	if (known)
		return gt_secret_derive(known, door->secret,
					sizeof(door->secret), &config->secret,
					err);
	memcpy(config->secret.bytes, door->secret, sizeof(door->secret));
	config->secret.len = sizeof(door->secret);
	return GT_OK;
}
