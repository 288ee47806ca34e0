/*
 * Reads configurations of all generations.  A client's struct may be shorter
 * than ours (fields that it does not know) or longer (fields that we do not
 * know, which are ignored).
 */
#include "nccl/config.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

struct gt_config_field {
	const char *name;
	size_t at, bytes;
	unsigned since;
	int least, most;
};

static const struct gt_config_field gt_config_fields[] = {
#define GT_CONFIG(type, name, since, least, most)                              \
	{#name, offsetof(struct gt_config, name), sizeof(type), since, least,  \
	 most},
#include "nccl/config.def"
};

enum {
	GT_CONFIG_FIELDS = sizeof(gt_config_fields) / sizeof(*gt_config_fields),
	GT_CONFIG_LEAST_BYTES = 24, /* of NCCL 2.14, the first that had one */
};

_Static_assert(offsetof(struct gt_config, name) == 48 &&
		       offsetof(struct gt_config, nvls_host_mode) == 112 &&
		       sizeof(struct gt_config) == 120,
	       "the layout is NCCL's");

void gt_config_init(struct gt_config *config)
{
	static const int undefined = GT_NCCL_UNDEFINED;

	memset(config, 0, sizeof(*config));
	for (int i = 0; i < GT_CONFIG_FIELDS; i++)
		if (gt_config_fields[i].bytes == sizeof(int))
			memcpy((char *)config + gt_config_fields[i].at,
			       &undefined, sizeof(undefined));
}

/* Take one field over, if the client has set it. */
static int gt_config_take(const struct gt_config_field *field,
			  const char *client, struct gt_config *config,
			  struct gt_err *err)
{
	char *own = (char *)config + field->at;
	const char *text;
	int number;

	if (field->bytes != sizeof(int)) {
		memcpy(&text, client + field->at, sizeof(text));
		if (text)
			memcpy(own, &text, sizeof(text));
		return GT_OK;
	}
	memcpy(&number, client + field->at, sizeof(number));
	if (number == GT_NCCL_UNDEFINED)
		return GT_OK;
	if (number < field->least || number > field->most)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the configuration's %s is '%d'", field->name,
				  number);
	memcpy(own, &number, sizeof(number));
	return GT_OK;
}

/* As in NCCL, a variable comes before what the program says. */
static void gt_config_heed(struct gt_config *config)
{
	const char *text = getenv("NCCL_COMM_BLOCKING");

	if (text && (!strcmp(text, "0") || !strcmp(text, "1")))
		config->blocking = *text - '0';
}

static int gt_config_take_all(const void *client, struct gt_config *config,
			      struct gt_err *err)
{
	struct gt_config head;
	int rc = GT_OK;

	memcpy(&head.size, client, sizeof(head.size));
	if (head.size < GT_CONFIG_LEAST_BYTES)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the configuration has a size of '%zu'",
				  head.size);
	memcpy(&head, client, offsetof(struct gt_config, blocking));
	if (head.magic != (unsigned)GT_NCCL_MAGIC)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the configuration was not set to "
				  "NCCL_CONFIG_INITIALIZER");
	for (int i = 0; !rc && i < GT_CONFIG_FIELDS; i++) {
		const struct gt_config_field *field = &gt_config_fields[i];

		if (head.version >= field->since &&
		    field->at + field->bytes <= head.size)
			rc = gt_config_take(field, client, config, err);
	}
	if (!rc && config->min_ctas != GT_NCCL_UNDEFINED &&
	    config->max_ctas != GT_NCCL_UNDEFINED &&
	    config->min_ctas > config->max_ctas)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"the configuration has min_ctas '%d' above "
				"max_ctas '%d'",
				config->min_ctas, config->max_ctas);
	return rc;
}

int gt_config_read(const void *client, struct gt_config *config,
		   struct gt_err *err)
{
	int rc = client ? gt_config_take_all(client, config, err) : GT_OK;

	gt_config_heed(config);
	return rc;
}
