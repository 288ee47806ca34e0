/* Reads the map from a host's devices to those of its virtual machine. */
#include "topo/interop/vm_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/unit.h"
#include "base/vec.h"

enum { GT_VM_MAP_BYTES = 1 << 20, GT_VM_WORDS = 4 };

static int fail(const struct gt_vm_map *map, uint32_t line, struct gt_err *err,
		const char *fmt, const char *word)
{
	char where[512];

	snprintf(where, sizeof(where), "%s:%" PRIu32, map->file, line);
	return gt_err_set(err, GT_EINPUT, where, fmt, word);
}

/*
 * Writes a NUMA node, or a bus id with its domain or without, as entries have
 * it; 0 for another word.
 */
static int read_id(const char *word, char own[GT_BUS_ID_MAX])
{
	char whole[GT_BUS_ID_MAX];
	int64_t node;

	if (strncasecmp(word, "cpu", 3)) {
		snprintf(whole, sizeof(whole), "0000:%s", word);
		return gt_bus_id_normalize(word, own) ||
		       gt_bus_id_normalize(whole, own);
	}
	if (!gt_unit_int(word + 3, 0, INT32_MAX, &node))
		return 0;
	snprintf(own, GT_BUS_ID_MAX, "cpu%" PRId64, node);
	return 1;
}

static int is_node(const char *id)
{
	return !strncmp(id, "cpu", 3);
}

/* Several NUMA nodes may become one, but each device is one there, too. */
static int check_new(const struct gt_vm_map *map,
		     const struct gt_vm_entry *entry, struct gt_err *err)
{
	for (uint32_t i = 0; i < map->n; i++) {
		const struct gt_vm_entry *other = &map->entries[i];

		if (!strcmp(other->host, entry->host))
			return fail(map, entry->line, err,
				    "'%s' of the host stands in a line before",
				    entry->host);
		if (!strcmp(other->vm, entry->vm) && !is_node(entry->vm))
			return fail(map, entry->line, err,
				    "'%s' of the virtual machine stands in a "
				    "line before",
				    entry->vm);
	}
	return GT_OK;
}

static int append(struct gt_vm_map *map, const struct gt_vm_entry *entry,
		  struct gt_err *err)
{
	struct gt_vm_entry *entries = gt_vec_grow_in(
		map->arena, map->entries, map->n, &map->room, sizeof(*entries));

	if (!entries)
		return gt_err_nomem(err);
	map->entries = entries;
	entries[map->n++] = *entry;
	return GT_OK;
}

/* Reads a line, which is cut into words. */
static int read_line(struct gt_vm_map *map, char *line, uint32_t number,
		     struct gt_err *err)
{
	struct gt_vm_entry entry = {.line = number};
	char *words[GT_VM_WORDS] = {NULL}, *next = NULL;
	int n = 0, rc;

	line[strcspn(line, "#")] = '\0';
	for (char *word = strtok_r(line, " \t\r", &next);
	     word && n < GT_VM_WORDS; word = strtok_r(NULL, " \t\r", &next))
		words[n++] = word;
	if (!n)
		return GT_OK;
	if (n == 1 || n == GT_VM_WORDS)
		return fail(map, number, err,
			    "'%.64s' begins no line of two or three words: a "
			    "device of the host, its bus id in the virtual "
			    "machine, and its name there",
			    words[0]);
	for (int i = 0; i < 2; i++)
		if (!read_id(words[i], i ? entry.vm : entry.host))
			return fail(map, number, err,
				    "'%.64s' is neither a bus id nor a NUMA "
				    "node such as CPU0",
				    words[i]);
	if (is_node(entry.host) != is_node(entry.vm))
		return fail(map, number, err,
			    "'%s' is a NUMA node, or becomes one, and the "
			    "other is a device",
			    entry.host);
	entry.name = n == 3 ? gt_arena_strdup(map->arena, words[2]) : NULL;
	if (n == 3 && !entry.name)
		return gt_err_nomem(err);
	rc = check_new(map, &entry, err);
	return rc ? rc : append(map, &entry, err);
}

int gt_vm_map_add(struct gt_vm_map *map, const char *host, const char *vm,
		  struct gt_err *err)
{
	struct gt_vm_entry entry = {.used = 1};

	snprintf(entry.host, sizeof(entry.host), "%s", host);
	snprintf(entry.vm, sizeof(entry.vm), "%s", vm);
	return append(map, &entry, err);
}

int gt_vm_map_read(const char *file, struct gt_arena *arena,
		   struct gt_vm_map *map, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	uint32_t number = 0;
	int rc = gt_file_read(file, GT_VM_MAP_BYTES, &text, err);

	*map = (struct gt_vm_map){.file = file, .arena = arena};
	for (char *line = text.text, *end; line && !rc; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		rc = read_line(map, line, ++number, err);
	}
	gt_buf_release(&text);
	return rc;
}

struct gt_vm_entry *gt_vm_map_find(const struct gt_vm_map *map,
				   const char *host)
{
	for (uint32_t i = 0; i < map->n; i++)
		if (!strcmp(map->entries[i].host, host))
			return &map->entries[i];
	return NULL;
}

int gt_vm_map_check_used(const struct gt_vm_map *map, struct gt_err *err)
{
	for (uint32_t i = 0; i < map->n; i++)
		if (!map->entries[i].used)
			return fail(map, map->entries[i].line, err,
				    "the host has no '%s'",
				    map->entries[i].host);
	return GT_OK;
}
