/* Joins what the processes of a job detected into one cluster file. */
#include "cli/detect/ranks.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/common/command.h"
#include "cli/detect/xml.h"
#include "cli/run/job.h"
#include "exec/link/shared_memory.h"
#include "topo/synth/fuse.h"
#include "world/world.h"

/* Detecting and starting up take less than this. */
static const int64_t gt_ranks_limit_ns = 60000000000;

enum { GT_RANKS_NAME_MAX = 64 };

/* The host that a process is on: hosts that have one id are one host. */
struct gt_ranks_host {
	char id[GT_HOST_ID_MAX];
	char name[GT_RANKS_NAME_MAX];
};

static int gt_ranks_is_file_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* Another process's words: are they texts, and is the name fit for a file? */
static int gt_ranks_is_host(const struct gt_ranks_host *host)
{
	size_t len = strnlen(host->name, sizeof(host->name)), i = 0;

	while (i < len && gt_ranks_is_file_char(host->name[i]))
		i++;
	return i == len && len < sizeof(host->name) &&
	       memchr(host->id, '\0', sizeof(host->id));
}

/* Make the host's name without its domain, fit for a file. */
static void gt_ranks_here(struct gt_ranks_host *host)
{
	struct utsname uts = {.nodename = "node"};

	memset(host, 0, sizeof(*host));
	uname(&uts);
	gt_host_id_get(host->id);
	snprintf(host->name, sizeof(host->name), "%.*s",
		 (int)strcspn(uts.nodename, "."), uts.nodename);
	for (char *at = host->name; *at; at++)
		if (!gt_ranks_is_file_char(*at))
			*at = '-';
}

/* Find out whether this process is the first of its host. */
static int gt_ranks_first(struct gt_world *world,
			  const struct gt_ranks_host *own,
			  struct gt_ranks_host *hosts, int *first,
			  struct gt_err *err)
{
	uint32_t size = gt_world_size(world), self = gt_world_rank(world);
	struct gt_world_part *parts = calloc(size, sizeof(*parts));
	int rc =
		parts ? gt_world_allgather(world, own, sizeof(*own), parts, err)
		      : gt_err_nomem(err);

	for (uint32_t p = 0; !rc && p < size; p++) {
		if (parts[p].len == sizeof(*own))
			memcpy(&hosts[p], parts[p].bytes, sizeof(*own));
		if (parts[p].len != sizeof(*own) ||
		    !gt_ranks_is_host(&hosts[p]))
			rc = gt_err_set(err, GT_ESYS, NULL,
					"%s is another version",
					gt_world_name(world, p));
	}
	*first = 1;
	for (uint32_t p = 0; !rc && p < self; p++)
		*first &= memcmp(hosts[p].id, own->id, sizeof(own->id)) != 0;
	free(parts);
	return rc;
}

/*
 * Name a host's file DIR/NAME.xml beside the cluster file, or DIR/NAME-2.xml
 * when that is taken.
 */
static char *gt_ranks_path(struct gt_arena *arena, const char *out,
			   const struct gt_ranks_host *hosts, uint32_t p)
{
	const char *slash = strrchr(out, '/');
	int dir = slash ? (int)(slash + 1 - out) : 0;
	size_t size = strlen(out) + GT_RANKS_NAME_MAX + 16;
	char *path = gt_arena_alloc(arena, size), number[12] = "";
	unsigned same = 1;

	for (uint32_t q = 0; q < p; q++)
		same += !strcmp(hosts[q].name, hosts[p].name) &&
			strcmp(hosts[q].id, hosts[p].id) != 0;
	if (same > 1)
		snprintf(number, sizeof(number), "-%u", same);
	if (path)
		snprintf(path, size, "%.*s%s%s.xml", dir, out, hosts[p].name,
			 number);
	return path;
}

static int gt_ranks_fuse(const char *const *files, uint32_t nfiles,
			 const char *out, struct gt_err *err)
{
	struct gt_fuse fuse = {.files = files, .nfiles = nfiles, .beside = out};
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_fuse_write(&fuse, &text, err);

	if (!rc)
		rc = gt_file_write(out, text.text, text.len, err);
	gt_buf_release(&text);
	return rc;
}

/* Process 0 writes the files of all that sent one, then the cluster's. */
static int gt_ranks_write(const char *out, const struct gt_ranks_host *hosts,
			  const struct gt_world_part *parts, uint32_t size,
			  struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	const char **files = calloc(size, sizeof(*files));
	uint32_t n = 0;
	int rc = arena && files ? GT_OK : gt_err_nomem(err);

	for (uint32_t p = 0; !rc && p < size; p++) {
		if (!parts[p].len)
			continue;
		files[n] = gt_ranks_path(arena, out, hosts, p);
		rc = files[n] ? gt_file_write(files[n], parts[p].bytes,
					      parts[p].len, err)
			      : gt_err_nomem(err);
		n++;
	}
	if (!rc)
		rc = gt_ranks_fuse(files, n, out, err);
	free(files);
	gt_arena_free(arena);
	return rc;
}

static int gt_ranks_together(const struct gt_cmd_args *args,
			     const struct gt_detect_source *from,
			     struct gt_world *world, struct gt_err *err)
{
	uint32_t size = gt_world_size(world);
	struct gt_world_part *parts = calloc(size, sizeof(*parts));
	struct gt_ranks_host *hosts = calloc(size, sizeof(*hosts)), own;
	struct gt_buf text = GT_BUF_INIT;
	int first, rc = parts && hosts ? GT_OK : gt_err_nomem(err);

	gt_ranks_here(&own);
	if (!rc)
		rc = gt_ranks_first(world, &own, hosts, &first, err);
	if (!rc && first)
		rc = gt_detect_xml(args, from, &text, err);
	if (!rc)
		rc = gt_world_allgather(world, text.text, text.len, parts, err);
	if (!rc && !gt_world_rank(world))
		rc = gt_ranks_write(args->out, hosts, parts, size, err);
	gt_buf_release(&text);
	free(hosts);
	free(parts);
	return rc;
}

/* Without a launcher the cluster is this host. */
static int gt_ranks_alone(const struct gt_cmd_args *args,
			  const struct gt_detect_source *from,
			  struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	struct gt_world_part part;
	struct gt_ranks_host own;
	int rc = gt_detect_xml(args, from, &text, err);

	gt_ranks_here(&own);
	part.bytes = text.text;
	part.len = text.len;
	if (!rc)
		rc = gt_ranks_write(args->out, &own, &part, 1, err);
	gt_buf_release(&text);
	return rc;
}

int gt_detect_ranks(const struct gt_cmd_args *args,
		    const struct gt_detect_source *from, struct gt_err *err)
{
	const struct gt_run_job_options options = {.timeout_ns =
							   gt_ranks_limit_ns};
	struct gt_world *world;
	int parent, rc;

	if (!args->out || !strcmp(args->out, "-"))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--all-ranks writes several files; say with "
				  "-o where the cluster's is to be");
	rc = gt_run_job_open(&options, &world, &parent, err);
	if (rc)
		return rc;
	rc = world ? gt_ranks_together(args, from, world, err)
		   : gt_ranks_alone(args, from, err);
	return gt_run_job_close(world, rc, err);
}
