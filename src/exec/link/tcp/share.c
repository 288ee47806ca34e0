/* This decides how many sockets two processes have between them. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/unit.h"
#include "exec/link/tcp/tcp.h"

/*
 * Cards of clouds that let one flow have a part of their rate only: Amazon's
 * ENA (5 Gbit/s, 10 within a placement group), Google's gVNIC.
 */
static const unsigned int gt_tcp_limiting[] = {0x1d0f, 0x1ae0};

enum { GT_TCP_SOCKETS_CLOUD = 8 };

static uint32_t gt_tcp_usual(const char *device)
{
	char path[PATH_MAX];
	unsigned int vendor = 0;
	uint32_t n = 1;
	FILE *file;

	snprintf(path, sizeof(path), "%s/vendor", device);
	file = *device ? fopen(path, "re") : NULL;
	if (!file)
		return n;
	if (fscanf(file, "%x", &vendor) == 1)
		for (size_t i = 0;
		     i < sizeof(gt_tcp_limiting) / sizeof(*gt_tcp_limiting);
		     i++)
			if (vendor == gt_tcp_limiting[i])
				n = GT_TCP_SOCKETS_CLOUD;
	fclose(file);
	return n;
}

/* Read a number from the environment, if it is there. */
static int gt_tcp_number(const char *name, int64_t least, int64_t most,
			 uint32_t *number, struct gt_err *err)
{
	const char *text = getenv(name);
	int64_t n;

	if (!text)
		return GT_OK;
	if (!gt_unit_int(text, least, most, &n))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%s '%s' is not a number from %d to %d", name,
				  text, (int)least, (int)most);
	*number = (uint32_t)n;
	return GT_OK;
}

int gt_tcp_offer_read(const char *device, struct gt_tcp_offer *own,
		      struct gt_err *err)
{
	own->wanted = 0;
	own->usual = gt_tcp_usual(device);
	return gt_tcp_number("GTOPO_TCP_SOCKETS", 1, GT_TCP_SOCKETS_MAX,
			     &own->wanted, err);
}

static uint32_t gt_tcp_more(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

uint32_t gt_tcp_nsockets(const struct gt_tcp_offer *a,
			 const struct gt_tcp_offer *b, uint32_t streams)
{
	uint32_t n = gt_tcp_more(a->wanted, b->wanted);

	if (!n)
		n = gt_net_is_same(&a->address, &b->address)
			    ? 1
			    : gt_tcp_more(a->usual, b->usual);
	return streams ? (n + streams - 1) / streams : n;
}
