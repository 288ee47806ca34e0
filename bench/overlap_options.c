/* What bench/overlap is asked for. */
#include "overlap.h"

#include <getopt.h>
#include <string.h>

#include "base/err.h"
#include "base/unit.h"
#include "plan/ir/plan.h"

enum {
	OPTIONS_TRAINING = 1 << GT_COLL_ALLREDUCE | 1 << GT_COLL_ALLGATHER |
			   1 << GT_COLL_REDUCESCATTER | 1 << GT_COLL_ALLTOALL,
};

static const struct overlap_options defaults = {
	.commit = "unknown",
	.begin = 1 << 20,
	.end = 1 << 30,
	.factor = 4,
	.operations = 50,
	.rounds = 7,
	.size = 8192,
	.hidden = {2048, 4096, 8192},
	.layers = 8,
	.tokens = 4096,
	.launches = 3,
	.priorities = 3,
	.ways = (1 << OVERLAP_WAYS) - 1,
	.procs = 1,
	.seconds = 440,
};

static int usage(const char *fault)
{
	fprintf(stderr,
		"overlap: %s\n"
		"usage: overlap [-k beside|alone|fsdp|ddp] [-c COLL,...] "
		"[-b MIN] [-e MAX]\n"
		"               [-f FACTOR] [-i OPERATIONS] [-s SIZE] "
		"[-d WIDTH,...] [-l LAYERS]\n"
		"               [-T TOKENS] [-r ROUNDS] [-m stream|graph] "
		"[-p normal|high]\n"
		"               [-w WAY,...] [-x BLOCKS] [-n PROCS] "
		"[-t SECONDS] [-C COMMIT]\n"
		"               [-o FILE] PLAN\n"
		"ways:",
		fault);
	for (int w = 0; w < OVERLAP_WAYS; w++)
		fprintf(stderr, "%s%s", w ? ", " : " ", gt_overlap_way_name(w));
	fprintf(stderr, "\n");
	return GT_EINPUT;
}

/* Bits of the names in a list; 0: there is an unknown one. */
static int parse_names(char *list, int (*bit_of)(const char *name))
{
	int bits = 0, bit;

	for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		bit = bit_of(name);
		if (!bit)
			return 0;
		bits |= bit;
	}
	return bits;
}

static int coll_bit(const char *name)
{
	int coll = gt_coll_find(name);

	return coll < 0 ? 0 : 1 << coll;
}

/* 0 when the list makes no sense. */
static int parse_widths(char *list, int hidden[OVERLAP_HIDDENS])
{
	int64_t width;
	int n = 0;

	for (char *text = strtok(list, ","); text; text = strtok(NULL, ",")) {
		if (n == OVERLAP_HIDDENS ||
		    !gt_unit_int(text, 16, 1 << 15, &width))
			return 0;
		hidden[n++] = (int)width;
	}
	if (n < OVERLAP_HIDDENS)
		hidden[n] = 0;
	return n;
}

static int parse_number(const char *text, int64_t most, int *number)
{
	int64_t value;

	if (!gt_unit_int(text, 1, most, &value))
		return 0;
	*number = (int)value;
	return 1;
}

static int parse_mode(const char *text, struct overlap_options *options)
{
	for (int mode = 0; mode < OVERLAP_NMODES; mode++)
		if (!strcmp(text,
			    gt_overlap_mode_name((enum overlap_mode)mode))) {
			options->mode = (enum overlap_mode)mode;
			return 1;
		}
	return 0;
}

/* One of two words; 0: neither. */
static int parse_word(const char *text, const char *first, const char *second)
{
	return !strcmp(text, first) ? 1 : !strcmp(text, second) ? 2 : 0;
}

/* 0 when the argument makes no sense. */
static int parse_option(struct overlap_options *options, int c, char *text)
{
	switch (c) {
	case 'k':
		return parse_mode(text, options);
	case 'c':
		return options->colls = parse_names(text, coll_bit);
	case 'w':
		return options->ways = parse_names(text, gt_overlap_way_find);
	case 'm':
		return options->launches = parse_word(text, "stream", "graph");
	case 'p':
		return options->priorities = parse_word(text, "normal", "high");
	case 'b':
		return gt_unit_bytes(text, &options->begin);
	case 'e':
		return gt_unit_bytes(text, &options->end);
	case 'f':
		return parse_number(text, 1 << 20, &options->factor);
	case 'i':
		return parse_number(text, 10000, &options->operations);
	case 's':
		return parse_number(text, 1 << 16, &options->size);
	case 'd':
		return parse_widths(text, options->hidden);
	case 'l':
		return parse_number(text, 1000, &options->layers);
	case 'T':
		return parse_number(text, 1 << 20, &options->tokens);
	case 'r':
		return parse_number(text, GT_QUANTILE_MOST, &options->rounds);
	case 'x':
		return parse_number(text, 1024, &options->ctas);
	case 'n':
		return parse_number(text, OVERLAP_RANKS, &options->procs);
	case 't':
		return parse_number(text, 86400, &options->seconds);
	case 'C':
		options->commit = text;
		return 1;
	case 'o':
		options->file = text;
		return 1;
	default:
		return 0;
	}
}

int gt_overlap_parse(struct overlap_options *options, int argc, char **argv)
{
	char fault[OVERLAP_TEXT_MAX];
	int c;

	*options = defaults;
	opterr = 0;
	while ((c = getopt(argc, argv,
			   "k:c:b:e:f:i:s:d:l:T:r:m:p:w:x:n:t:C:o:")) != -1) {
		if (c != '?' && parse_option(options, c, optarg))
			continue;
		snprintf(fault, sizeof(fault), "-%c makes no sense",
			 c == '?' ? optopt : c);
		return usage(fault);
	}
	if (argc - optind != 1)
		return usage("one plan is needed");
	/* A block of each of many ranks has an element, at least. */
	if (options->begin < 1024 || options->begin > options->end)
		return usage("sizes begin at 1024 and do not end before that");
	if (options->factor < 2)
		return usage("-f is 2 or more");
	options->plan = argv[optind];
	if (!options->colls)
		options->colls = options->mode == OVERLAP_ALONE
					 ? (1 << GT_NCOLLS) - 1
					 : OPTIONS_TRAINING;
	return GT_OK;
}
