/*
 * The parser of options: it finds a word in the tables and fills the command's
 * struct.
 */
#include "cli/common/opt.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/unit.h"
#include "base/word.h"

enum {
	GT_OPT_SETS = 2,
	GT_OPT_CHOICE_MAX = 32, /* the longest word of a choice */
};

/* An option that was found: its row, and the struct that its table fills. */
struct gt_opt_hit {
	const struct gt_opt *opt;
	void *values;
};

static int gt_opt_fits(const struct gt_opt *opt, char letter, const char *name,
		       size_t len)
{
	if (letter || opt->type == GT_OPT_FOREIGN)
		return letter && opt->letter == letter;
	return strlen(opt->name) == len && !memcmp(opt->name, name, len);
}

static struct gt_opt_hit gt_opt_find(const struct gt_opt_set *sets, char letter,
				     const char *name, size_t len)
{
	struct gt_opt_hit hit = {NULL, NULL};

	for (int s = 0; s < GT_OPT_SETS; s++)
		for (const struct gt_opt *o = sets[s].opts; o && o->type; o++)
			if (!hit.opt && gt_opt_fits(o, letter, name, len)) {
				hit.opt = o;
				hit.values = sets[s].values;
			}
	return hit;
}

/* Return the i-th long name of both tables. */
static const char *gt_opt_name(int i, const void *arg)
{
	const struct gt_opt_set *sets = arg;

	for (int s = 0; s < GT_OPT_SETS; s++)
		for (const struct gt_opt *o = sets[s].opts; o && o->type; o++)
			if (o->type != GT_OPT_FOREIGN && !i--)
				return o->name;
	return NULL;
}

static int gt_opt_count(const struct gt_opt_set *sets)
{
	int n = 0;

	while (gt_opt_name(n, sets))
		n++;
	return n;
}

static int gt_opt_unknown(const struct gt_opt_set *sets, const char *name,
			  size_t len, struct gt_err *err)
{
	char word[64];
	const char *near;

	if (len >= sizeof(word))
		len = sizeof(word) - 1;
	memcpy(word, name, len);
	word[len] = '\0';
	near = gt_opt_nearest(word, gt_opt_count(sets), gt_opt_name, sets);
	if (near)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "'--%s' is not an option; did you mean "
				  "'--%s'?",
				  word, near);
	return gt_err_set(err, GT_EINPUT, NULL,
			  "'--%s' is not an option; see --help", word);
}

/* Copy the i-th of the words "a|b|c"; 0 if there are not so many. */
static int gt_opt_word_at(const char *words, int i,
			  char word[GT_OPT_CHOICE_MAX])
{
	for (; i; i--) {
		words += strcspn(words, "|");
		if (!*words++)
			return 0;
	}
	snprintf(word, GT_OPT_CHOICE_MAX, "%.*s", (int)strcspn(words, "|"),
		 words);
	return 1;
}

int gt_opt_choose(const struct gt_opt_choice *choice, int *chosen,
		  struct gt_err *err)
{
	char word[GT_OPT_CHOICE_MAX], near[GT_OPT_CHOICE_MAX] = "";
	int distance, best = GT_OPT_CHOICE_MAX;

	for (int i = 0; gt_opt_word_at(choice->words, i, word); i++) {
		if (gt_word_is(word, choice->text)) {
			*chosen = i;
			return GT_OK;
		}
		distance = gt_opt_distance(choice->text, word);
		if (distance < 3 && distance < best &&
		    distance < (int)strlen(choice->text)) {
			best = distance;
			snprintf(near, sizeof(near), "%s", word);
		}
	}
	return gt_err_set(
		err, GT_EINPUT, NULL, "--%s '%s' is not one of %s%s%s%s",
		choice->option, choice->text, choice->words,
		near[0] ? "; did you mean '" : "", near, near[0] ? "'?" : "");
}

static int gt_opt_set_int(const struct gt_opt *opt, const char *text,
			  int64_t *value, struct gt_err *err)
{
	int64_t min = INT64_MIN, max = INT64_MAX;

	if (opt->min || opt->max) {
		min = opt->min;
		max = opt->max;
	}
	if (gt_unit_int(text, min, max, value))
		return GT_OK;
	if (max == INT64_MAX && min == INT64_MIN)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--%s '%s' is not a whole number", opt->name,
				  text);
	return gt_err_set(err, GT_EINPUT, NULL,
			  "--%s '%s' is not a whole number from %lld to %lld",
			  opt->name, text, (long long)min, (long long)max);
}

static int gt_opt_set(struct gt_opt_hit hit, const char *text,
		      struct gt_err *err)
{
	const struct gt_opt *opt = hit.opt;
	void *at = (char *)hit.values + opt->at;

	switch (opt->type) {
	case GT_OPT_FLAG:
		*(int *)at = 1;
		return GT_OK;
	case GT_OPT_TEXT:
	case GT_OPT_TOPO:
		*(const char **)at = text;
		return GT_OK;
	case GT_OPT_WORD:
		return gt_opt_choose(
			&(struct gt_opt_choice){opt->name, opt->arg, text}, at,
			err);
	case GT_OPT_INT:
		return gt_opt_set_int(opt, text, at, err);
	case GT_OPT_BYTES:
		if (gt_unit_bytes(text, at))
			return GT_OK;
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--%s '%s' is not a size such as 4096, 64K "
				  "or 1G",
				  opt->name, text);
	case GT_OPT_TIME:
		if (gt_unit_ns(text, at))
			return GT_OK;
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--%s '%s' is not a time such as 30s, 500ms "
				  "or 2m",
				  opt->name, text);
	case GT_OPT_FOREIGN:
		return gt_err_set(err, GT_EINPUT, NULL, "'-%c' %s", opt->letter,
				  opt->help);
	case GT_OPT_NONE:
		break;
	}
	return GT_OK;
}

/*
 * Parse "--name", "--name=value" or "--name value"; return how many words of
 * argv it took.
 */
static int gt_opt_long(const struct gt_opt_set *sets, int argc, char **argv,
		       struct gt_err *err)
{
	const char *name = argv[0] + 2;
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	struct gt_opt_hit hit = gt_opt_find(sets, 0, name, len);
	int took = 1;

	if (!hit.opt)
		return gt_opt_unknown(sets, name, len, err);
	if (hit.opt->type == GT_OPT_FLAG && value)
		return gt_err_set(err, GT_EINPUT, NULL, "--%s takes no value",
				  hit.opt->name);
	if (hit.opt->type != GT_OPT_FLAG && !value) {
		if (argc < 2)
			return gt_err_set(err, GT_EINPUT, NULL, "--%s needs %s",
					  hit.opt->name, hit.opt->arg);
		value = argv[1];
		took = 2;
	}
	return gt_opt_set(hit, value, err) ? GT_EINPUT : took;
}

/*
 * Parse "-x", "-xy", "-xVALUE" or "-x VALUE"; return how many words of argv it
 * took.
 */
static int gt_opt_short(const struct gt_opt_set *sets, int argc, char **argv,
			struct gt_err *err)
{
	struct gt_opt_hit hit;

	for (const char *p = argv[0] + 1; *p; p++) {
		hit = gt_opt_find(sets, *p, NULL, 0);
		if (!hit.opt)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "'-%c' is not an option; see --help",
					  *p);
		if (hit.opt->type == GT_OPT_FLAG) {
			gt_opt_set(hit, NULL, err);
			continue;
		}
		if (hit.opt->type == GT_OPT_FOREIGN)
			return gt_opt_set(hit, NULL, err);
		if (p[1])
			return gt_opt_set(hit, p + 1, err) ? GT_EINPUT : 1;
		if (argc < 2)
			return gt_err_set(err, GT_EINPUT, NULL, "-%c needs %s",
					  *p, hit.opt->arg);
		return gt_opt_set(hit, argv[1], err) ? GT_EINPUT : 2;
	}
	return 1;
}

int gt_opt_parse(const struct gt_opt_set sets[2], int argc, char **argv,
		 int *noperands, struct gt_err *err)
{
	int n = 0, took, options = 1;

	for (int i = 0; i < argc; i += took) {
		took = 1;
		if (!options || argv[i][0] != '-' || !argv[i][1])
			argv[n++] = argv[i];
		else if (!strcmp(argv[i], "--"))
			options = 0;
		else if (argv[i][1] == '-')
			took = gt_opt_long(sets, argc - i, argv + i, err);
		else
			took = gt_opt_short(sets, argc - i, argv + i, err);
		if (took < 0)
			return took;
	}
	*noperands = n;
	return GT_OK;
}
