/*
 * Reads words such as "2 numa: 2 switch: 2 gpu 1 nic", with the tables of
 * models, processors and options that it knows.
 */
#include "topo/synth/synth.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/rat.h"
#include "base/unit.h"

enum { GT_SYNTH_MAX = 512, GT_SYNTH_MAX_ITEMS = 64 };

const struct gt_synth_model gt_synth_models[] = {
	{"v100", "0x10de", "0x1db1", "0x030200", NULL, 70, 3},
	{"a100", "0x10de", "0x20b2", "0x030200", NULL, 80, 4},
	{"h100", "0x10de", "0x2330", "0x030200", NULL, 90, 5},
	{"h200", "0x10de", "0x2335", "0x030200", NULL, 90, 5},
	{"b200", "0x10de", "0x2901", "0x030200", NULL, 100, 5},
	{"l40s", "0x10de", "0x26b9", "0x030200", NULL, 89, 4},
	{"rtx3090", "0x10de", "0x2204", "0x030000", NULL, 86, 4},
	{"rtx4090", "0x10de", "0x2684", "0x030000", NULL, 89, 4},
	{"mi250x", "0x1002", "0x7408", "0x038000", "gfx90a", 90, 4},
	{"mi300x", "0x1002", "0x74a1", "0x120000", "gfx942", 94, 5},
	{NULL, NULL, NULL, NULL, NULL, 0, 0},
};

const struct gt_synth_cpu gt_synth_cpus[] = {
	{"intel", "x86_64", "GenuineIntel", 6, 143},
	{"amd", "x86_64", "AuthenticAMD", 25, 17},
	{"arm", "arm64", NULL, -1, -1},
	{"power", "ppc64", NULL, -1, -1},
	{NULL, NULL, NULL, 0, 0},
};

static const char *const gt_synth_words[GT_NSYNTHKINDS] = {
	"numa",
	"switch",
	"gpu",
	"nic",
};

/*
 * This table has, for each option, the kinds that take it, as bits 1 << kind,
 * and its largest value.
 */
static const struct {
	const char *name;
	unsigned kinds;
	int max;
} gt_synth_opts[GT_NSYNTHOPTS] = {
	[GT_SYNTH_CPU] = {"cpu", 1 << GT_SYNTH_NUMA, 0},
	[GT_SYNTH_GEN] = {"gen",
			  1 << GT_SYNTH_SWITCH | 1 << GT_SYNTH_GPU |
				  1 << GT_SYNTH_NIC,
			  6},
	[GT_SYNTH_WIDTH] = {"width",
			    1 << GT_SYNTH_SWITCH | 1 << GT_SYNTH_GPU |
				    1 << GT_SYNTH_NIC,
			    16},
	[GT_SYNTH_MODEL] = {"model", 1 << GT_SYNTH_GPU, 0},
	[GT_SYNTH_NVLINK] = {"nvlink", 1 << GT_SYNTH_GPU, 64},
	[GT_SYNTH_NVSWITCH] = {"nvswitch", 1 << GT_SYNTH_GPU, 64},
	[GT_SYNTH_BRIDGE] = {"bridge", 1 << GT_SYNTH_GPU, 64},
	[GT_SYNTH_SPEED] = {"speed", 1 << GT_SYNTH_NIC, 0},
	[GT_SYNTH_PORTS] = {"ports", 1 << GT_SYNTH_NIC, 8},
};

struct gt_synth_reader {
	const char *text, *at;
	struct gt_err *err;
	struct gt_synth *synth;
};

static int gt_synth_wrong(const struct gt_synth_reader *r, const char *at,
			  const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int gt_synth_wrong(const struct gt_synth_reader *r, const char *at,
			  const char *fmt, ...)
{
	char text[512], where[32];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	snprintf(where, sizeof(where), "column %d", (int)(at - r->text) + 1);
	return gt_err_set(r->err, GT_EINPUT, where, "%s", text);
}

/* Skips blanks and commas, which mean the same. */
static void gt_synth_skip(struct gt_synth_reader *r)
{
	while (isspace((unsigned char)*r->at) || *r->at == ',')
		r->at++;
}

/* Reads a word: letters, digits and what numbers have between them. */
static size_t gt_synth_word(struct gt_synth_reader *r, char word[64])
{
	size_t len = 0;

	while (isalnum((unsigned char)r->at[len]) || r->at[len] == '.' ||
	       r->at[len] == '-')
		len++;
	snprintf(word, 64, "%.*s", (int)(len < 63 ? len : 63), r->at);
	r->at += len;
	return len;
}

/*
 * Returns the place of a model in the table, counted from 1; 0 when there is no
 * such word.
 */
static int gt_synth_model_find(const char *word)
{
	for (int i = 0; gt_synth_models[i].name; i++)
		if (!strcasecmp(gt_synth_models[i].name, word))
			return i + 1;
	return 0;
}

enum { GT_SYNTH_LIST_BYTES = 256 };

static void gt_synth_list_models(char list[GT_SYNTH_LIST_BYTES])
{
	size_t len = 0;

	for (int i = 0; gt_synth_models[i].name && len < GT_SYNTH_LIST_BYTES;
	     i++)
		len += (size_t)snprintf(list + len, GT_SYNTH_LIST_BYTES - len,
					"%s%s", i ? ", " : "",
					gt_synth_models[i].name);
}

/* A word that is no thing may be meant as a model, or as a whole machine. */
static int gt_synth_unknown(struct gt_synth_reader *r, const char *at,
			    const char *word)
{
	char models[GT_SYNTH_LIST_BYTES] = "";

	gt_synth_list_models(models);
	return gt_synth_wrong(
		r, at,
		"'%s' is none of numa, switch, gpu, nic, nor a "
		"model: %s; gtopo show --list has whole machines, "
		"such as gb200-tray",
		word, models);
}

static int gt_synth_cpu_find(const char *word)
{
	for (int i = 0; gt_synth_cpus[i].name; i++)
		if (!strcasecmp(gt_synth_cpus[i].name, word))
			return i + 1;
	return 0;
}

/* Returns "400" or "2.5" Gb/s as Mb/s; 0 when it is no speed. */
static int gt_synth_mbps(const char *word)
{
	struct gt_rat gbps;

	if (!gt_rat_parse(word, &gbps) ||
	    !gt_rat_mul(gbps, GT_RAT(1000, 1), &gbps) || gbps.den != 1 ||
	    gbps.num < 1 || gbps.num > 100000000)
		return 0;
	return (int)gbps.num;
}

static int gt_synth_value(enum gt_synth_opt opt, const char *word)
{
	int64_t value = 0;

	if (opt == GT_SYNTH_MODEL)
		return gt_synth_model_find(word);
	if (opt == GT_SYNTH_CPU)
		return gt_synth_cpu_find(word);
	if (opt == GT_SYNTH_SPEED)
		return gt_synth_mbps(word);
	if (!gt_unit_int(word, 1, gt_synth_opts[opt].max, &value))
		return 0;
	if (opt == GT_SYNTH_WIDTH && value & (value - 1))
		return 0;
	return (int)value;
}

/* Returns the values of an option in words. */
static const char *gt_synth_values(enum gt_synth_opt opt,
				   char list[GT_SYNTH_LIST_BYTES])
{
	if (opt == GT_SYNTH_CPU)
		return "intel, amd, arm or power";
	if (opt == GT_SYNTH_SPEED)
		return "Gb/s, as 400 or 2.5";
	if (opt == GT_SYNTH_MODEL)
		gt_synth_list_models(list);
	else if (opt == GT_SYNTH_WIDTH)
		return "1, 2, 4, 8 or 16";
	else
		snprintf(list, GT_SYNTH_LIST_BYTES, "1 to %d",
			 gt_synth_opts[opt].max);
	return list;
}

/* Reads one option name=value. */
static int gt_synth_option(struct gt_synth_reader *r,
			   struct gt_synth_item *item)
{
	const char *at = r->at, *value;
	char name[64], word[64], list[GT_SYNTH_LIST_BYTES] = "";
	int opt = 0;

	gt_synth_word(r, name);
	while (opt < GT_NSYNTHOPTS && strcmp(gt_synth_opts[opt].name, name))
		opt++;
	if (opt == GT_NSYNTHOPTS ||
	    !(gt_synth_opts[opt].kinds & 1u << item->kind))
		return gt_synth_wrong(r, at, "'%s' is no option of '%s'", name,
				      gt_synth_words[item->kind]);
	if (*r->at != '=')
		return gt_synth_wrong(r, r->at, "'%s' has no '='", name);
	value = ++r->at;
	gt_synth_word(r, word);
	item->opts[opt] = gt_synth_value((enum gt_synth_opt)opt, word);
	if (!item->opts[opt])
		return gt_synth_wrong(
			r, value, "'%s' is no value of '%s', which is %s", word,
			name, gt_synth_values((enum gt_synth_opt)opt, list));
	return GT_OK;
}

static int gt_synth_options(struct gt_synth_reader *r,
			    struct gt_synth_item *item)
{
	const char *open = r->at;
	int rc = GT_OK;

	if (*r->at != '(')
		return GT_OK;
	r->at++;
	for (gt_synth_skip(r); *r->at && *r->at != ')' && !rc; gt_synth_skip(r))
		rc = gt_synth_option(r, item);
	if (rc)
		return rc;
	if (!*r->at)
		return gt_synth_wrong(r, open, "'(' has no ')'");
	r->at++;
	return GT_OK;
}

/* Reads COUNT KIND [(options)], or KIND alone for one. */
static int gt_synth_item(struct gt_synth_reader *r, struct gt_synth_item *item)
{
	const char *at = r->at;
	int64_t count = 1;
	int kind = 0, model;
	char word[64];
	size_t digits;

	gt_synth_word(r, word);
	digits = strspn(word, "0123456789");
	/* "8xH100" is "8 h100". */
	if (digits && tolower((unsigned char)word[digits]) == 'x' &&
	    isalpha((unsigned char)word[digits + 1])) {
		word[digits] = '\0';
		r->at = at + digits + 1;
	}
	if (digits) {
		if (!gt_unit_int(word, 1, GT_SYNTH_MAX, &count))
			return gt_synth_wrong(r, at,
					      "'%s' is not a number from 1 to "
					      "%d",
					      word, GT_SYNTH_MAX);
		gt_synth_skip(r);
		at = r->at;
		gt_synth_word(r, word);
	}
	for (char *c = word; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	while (kind < GT_NSYNTHKINDS && strcmp(gt_synth_words[kind], word))
		kind++;
	model = gt_synth_model_find(word);
	if (model) {
		kind = GT_SYNTH_GPU;
		item->opts[GT_SYNTH_MODEL] = model;
	}
	if (kind == GT_NSYNTHKINDS && !*word)
		return gt_synth_wrong(
			r, at, "'%s' is none of numa, switch, gpu, nic", at);
	if (kind == GT_NSYNTHKINDS)
		return gt_synth_unknown(r, at, word);
	item->kind = (enum gt_synth_kind)kind;
	item->count = (uint32_t)count;
	gt_synth_skip(r);
	return gt_synth_options(r, item);
}

/*
 * Checks that NUMA nodes are on the first level, and that a level has only one
 * thing that holds others.
 */
static int gt_synth_fits(struct gt_synth_reader *r, const char *at)
{
	const struct gt_synth *synth = r->synth;
	const struct gt_synth_item *item = &synth->items[synth->nitems - 1];

	if (item->kind == GT_SYNTH_NUMA && item->level)
		return gt_synth_wrong(r, at, "numa is not on the first level");
	if (item->kind == GT_SYNTH_GPU || item->kind == GT_SYNTH_NIC)
		return GT_OK;
	for (const struct gt_synth_item *i = synth->items; i < item; i++)
		if (i->level == item->level &&
		    (i->kind == GT_SYNTH_NUMA || i->kind == GT_SYNTH_SWITCH))
			return gt_synth_wrong(r, at,
					      "a level has two kinds of numa "
					      "or switch");
	return GT_OK;
}

/*
 * Returns whether there is something on the level that the next one can hang
 * below.
 */
static int gt_synth_holds(const struct gt_synth *synth)
{
	for (uint32_t i = 0; i < synth->nitems; i++)
		if (synth->items[i].level == synth->nlevels &&
		    (synth->items[i].kind == GT_SYNTH_NUMA ||
		     synth->items[i].kind == GT_SYNTH_SWITCH))
			return 1;
	return 0;
}

int gt_synth_read(const char *text, struct gt_arena *arena,
		  struct gt_synth *synth, struct gt_err *err)
{
	struct gt_synth_reader r = {text, text, err, synth};
	const char *at;
	int rc = GT_OK;

	*synth = (struct gt_synth){0};
	synth->items = gt_arena_array(arena, GT_SYNTH_MAX_ITEMS,
				      sizeof(*synth->items));
	if (!synth->items)
		return gt_err_nomem(err);
	for (gt_synth_skip(&r); *r.at && !rc; gt_synth_skip(&r)) {
		at = r.at;
		if (*at == ':') {
			if (!gt_synth_holds(synth))
				return gt_synth_wrong(&r, at,
						      "nothing before ':' "
						      "that holds others");
			synth->nlevels++;
			r.at++;
			continue;
		}
		if (synth->nitems == GT_SYNTH_MAX_ITEMS)
			return gt_synth_wrong(&r, at, "more than %d items",
					      GT_SYNTH_MAX_ITEMS);
		synth->items[synth->nitems].level = synth->nlevels;
		rc = gt_synth_item(&r, &synth->items[synth->nitems++]);
		if (!rc)
			rc = gt_synth_fits(&r, at);
	}
	if (!rc && !synth->nitems)
		rc = gt_synth_wrong(&r, text, "nothing is described");
	synth->nlevels++;
	return rc;
}
