/*
 * A communicator's configuration, as clients of any version hand it over.  The
 * struct has the newest layout; what a client leaves open stays
 * GT_NCCL_UNDEFINED, or NULL.
 */
#ifndef GT_NCCL_CONFIG_H
#define GT_NCCL_CONFIG_H

#include <stddef.h>

#include "nccl/abi.h"

struct gt_err;

struct gt_config {
	size_t size;
	unsigned magic, version;
#define GT_CONFIG(type, name, since, least, most) type name;
#include "nccl/config.def"
};

/*
 * Read what a client has, or NULL for nothing, over *config, which it inherits
 * from: fields it leaves open stay, and NCCL_COMM_BLOCKING goes before those
 * that it sets.  GT_EINPUT where it was not made by NCCL's
 * initialiser, or has a number that makes no sense.
 */
int gt_config_read(const void *client, struct gt_config *config,
		   struct gt_err *err);

/* Nothing is set. */
void gt_config_init(struct gt_config *config);

/* Do calls return before they are done? */
static inline int gt_config_is_blocking(const struct gt_config *config)
{
	return config->blocking != 0;
}

#endif
