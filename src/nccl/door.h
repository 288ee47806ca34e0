/*
 * Where processes meet, short enough to be told: an address at which one of
 * them listens, and a secret.
 *
 * A unique id holds a door with its secret, and the program keeps it from
 * others.  All other doors are told over connections that anybody may listen
 * to: what these hold only says which secret it is, made of one that those who
 * are told have already.
 */
#ifndef GT_NCCL_DOOR_H
#define GT_NCCL_DOOR_H

#include <stdint.h>

struct gt_err;
struct gt_secret;
struct gt_world_config;

enum { GT_DOOR_SECRET_BYTES = 64 };

/* All is in network order. */
struct gt_door {
	uint16_t family; /* 4, 6, or 0: there is none */
	uint16_t port;
	uint32_t scope;
	unsigned char host[16];
	char secret[GT_DOOR_SECRET_BYTES];
};

/*
 * Listen at a free port of this host's address (GTOPO_SOCKET_IFNAME or
 * NCCL_SOCKET_IFNAME choose it), with a fresh secret.
 */
int gt_door_open(struct gt_door *door, int *fd, struct gt_err *err);

/*
 * Fill in address and secret, which is made of the one that is known; NULL: it
 * is an id's door.  GT_EINPUT if there is none.
 */
int gt_door_find(const struct gt_door *door, const struct gt_secret *known,
		 struct gt_world_config *config, struct gt_err *err);

#endif
