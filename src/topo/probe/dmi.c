/* Walks the structures of a table of SMBIOS, and adds up its channels. */
#include "topo/probe/dmi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Places in a structure, and what stands there. */
enum {
	GT_DMI_LENGTH = 0x01, /* of the part before its strings */
	GT_DMI_HEADER_BYTES = 4,
	GT_DMI_MODULE = 17,
	GT_DMI_END = 127,
	GT_DMI_WIDTH = 0x0a,
	GT_DMI_SIZE = 0x0c, /* 0: the slot is empty */
	GT_DMI_DEVICE = 0x10,
	GT_DMI_BANK = 0x11,
	GT_DMI_TYPE = 0x12,
	GT_DMI_CONFIGURED = 0x20,
	GT_DMI_CONFIGURED_MORE = 0x58, /* where the former is 0xffff */
	GT_DMI_UNKNOWN = 0xffff,
	GT_DMI_WIDTH_MAX = 1024, /* bits, and transfers: more is nonsense */
	GT_DMI_SPEED_MAX = 100000,
};

/* A structure within the table. */
struct gt_dmi_item {
	const unsigned char *bytes;
	size_t len;          /* of the part before its strings */
	const char *strings; /* each ended by 0 */
	const char *end;     /* of the strings */
	const unsigned char *next;
};

/* Read the structure at `at`; 0: there is no whole one. */
static int gt_dmi_item(const unsigned char *at, const unsigned char *end,
		       struct gt_dmi_item *item)
{
	const unsigned char *last;

	if (end - at < GT_DMI_HEADER_BYTES ||
	    at[GT_DMI_LENGTH] < GT_DMI_HEADER_BYTES ||
	    end - at < at[GT_DMI_LENGTH])
		return 0;
	item->bytes = at;
	item->len = at[GT_DMI_LENGTH];
	item->strings = (const char *)at + item->len;
	for (last = at + item->len; end - last >= 2; last++)
		if (!last[0] && !last[1])
			break;
	if (end - last < 2)
		return 0;
	item->end = (const char *)last;
	item->next = last + 2;
	return 1;
}

static uint32_t gt_dmi_word(const struct gt_dmi_item *item, size_t at)
{
	return at + 2 <= item->len ? (uint32_t)item->bytes[at] |
					     (uint32_t)item->bytes[at + 1] << 8
				   : 0;
}

/* Copy the string that a byte of the structure names, from 1 on. */
static void gt_dmi_text(const struct gt_dmi_item *item, size_t at,
			char text[GT_DMI_NAME_MAX])
{
	const char *string = item->strings;
	unsigned number = at < item->len ? item->bytes[at] : 0;

	text[0] = '\0';
	if (!number)
		return;
	while (--number && string < item->end)
		string += strnlen(string, (size_t)(item->end - string)) + 1;
	if (string < item->end)
		snprintf(text, GT_DMI_NAME_MAX, "%.*s",
			 (int)strnlen(string, (size_t)(item->end - string)),
			 string);
}

static uint32_t gt_dmi_speed(const struct gt_dmi_item *item)
{
	uint32_t speed = gt_dmi_word(item, GT_DMI_CONFIGURED);

	if (speed != GT_DMI_UNKNOWN)
		return speed;
	return gt_dmi_word(item, GT_DMI_CONFIGURED_MORE) |
	       (gt_dmi_word(item, GT_DMI_CONFIGURED_MORE + 2) & 0x7fff) << 16;
}

static struct gt_dmi_module gt_dmi_module_of(const struct gt_dmi_item *item)
{
	struct gt_dmi_module module = {
		.width_bits = gt_dmi_word(item, GT_DMI_WIDTH),
		.speed_mts = gt_dmi_speed(item),
		.type = GT_DMI_TYPE < item->len ? item->bytes[GT_DMI_TYPE] : 0,
	};

	if (module.width_bits == GT_DMI_UNKNOWN)
		module.width_bits = 0;
	gt_dmi_text(item, GT_DMI_BANK, module.bank);
	gt_dmi_text(item, GT_DMI_DEVICE, module.device);
	return module;
}

uint32_t gt_dmi_modules(const unsigned char *table, size_t len,
			struct gt_dmi_module modules[GT_DMI_MODULES_MAX])
{
	const unsigned char *at = table, *end = table + len;
	struct gt_dmi_item item;
	uint32_t n = 0;

	while (at < end) {
		if (!gt_dmi_item(at, end, &item))
			return 0;
		if (item.bytes[0] == GT_DMI_END)
			break;
		at = item.next;
		if (item.bytes[0] != GT_DMI_MODULE ||
		    !gt_dmi_word(&item, GT_DMI_SIZE))
			continue;
		if (n == GT_DMI_MODULES_MAX)
			return 0;
		modules[n++] = gt_dmi_module_of(&item);
	}
	return n;
}

/* DDR3 to 5, and LPDDR4 and 5; others are not what processors work with. */
static int gt_dmi_is_dram(uint8_t type)
{
	return type == 0x18 || type == 0x1a || type == 0x1e || type == 0x22 ||
	       type == 0x23;
}

/* A channel as a name has it. */
struct gt_dmi_channel {
	char name
		[GT_DMI_NAME_MAX]; /* "P0 CHANNEL A" of "P0 CHANNEL A DIMM 1" */
	size_t prefix;             /* the length of "P0 " */
};

/* Find the channel in a name; 0: it has none. */
static int gt_dmi_channel_in(const char *name, struct gt_dmi_channel *channel)
{
	static const char word[] = "channel";
	const char *at = name, *end;

	while (*at && strncasecmp(at, word, sizeof(word) - 1) != 0)
		at++;
	if (!*at)
		return 0;
	end = at + sizeof(word) - 1;
	while (*end && !isalnum((unsigned char)*end))
		end++;
	if (!*end)
		return 0;
	while (isalnum((unsigned char)*end))
		end++;
	snprintf(channel->name, GT_DMI_NAME_MAX, "%.*s", (int)(end - name),
		 name);
	channel->prefix = (size_t)(at - name);
	return 1;
}

static int gt_dmi_channel_of(const struct gt_dmi_module *module,
			     struct gt_dmi_channel *channel)
{
	return gt_dmi_channel_in(module->bank, channel) ||
	       gt_dmi_channel_in(module->device, channel);
}

static int gt_dmi_is_known(const struct gt_dmi_module *module)
{
	return gt_dmi_is_dram(module->type) && module->width_bits &&
	       module->width_bits <= GT_DMI_WIDTH_MAX && module->speed_mts &&
	       module->speed_mts <= GT_DMI_SPEED_MAX;
}

/*
 * Count a module's channel, unless one before has the same, and what stands
 * before it.  0: one before is in the same slot, so names repeat.
 */
static int gt_dmi_count(const struct gt_dmi_module *modules, uint32_t at,
			const struct gt_dmi_channel *channel,
			struct gt_dmi_memory *memory)
{
	const struct gt_dmi_module *m = &modules[at];
	struct gt_dmi_channel other;
	int same = 0, prefix = 0;

	for (uint32_t i = 0; i < at; i++) {
		if (!strcmp(modules[i].bank, m->bank) &&
		    !strcmp(modules[i].device, m->device))
			return 0;
		gt_dmi_channel_of(&modules[i], &other);
		same |= !strcmp(other.name, channel->name);
		prefix |= other.prefix == channel->prefix &&
			  !memcmp(other.name, channel->name, channel->prefix);
	}
	memory->nprefixes += !prefix;
	memory->nchannels += !same;
	if (!same)
		memory->mbs += (uint64_t)m->width_bits / 8 * m->speed_mts;
	return 1;
}

struct gt_dmi_memory gt_dmi_add(const struct gt_dmi_module *modules, uint32_t n)
{
	struct gt_dmi_memory memory = {0};
	struct gt_dmi_channel channel;

	for (uint32_t i = 0; i < n; i++)
		if (!gt_dmi_is_known(&modules[i]) ||
		    modules[i].speed_mts != modules[0].speed_mts ||
		    !gt_dmi_channel_of(&modules[i], &channel) ||
		    !gt_dmi_count(modules, i, &channel, &memory)) {
			memory.mbs = 0;
			break;
		}
	return memory;
}
