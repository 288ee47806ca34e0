/*
 * Whether a command colours what it writes: --color says so, else a terminal
 * at the other end does.
 */
#ifndef GT_CLI_COMMON_COLOUR_H
#define GT_CLI_COMMON_COLOUR_H

struct gt_cmd_args;

#define GT_COLOUR_WORDS "auto|always|never"

/* The order is that of the words, so that options are 0 unless one is given. */
enum gt_colour_when { GT_COLOUR_AUTO, GT_COLOUR_ALWAYS, GT_COLOUR_NEVER };

/* A row of a table of options, whose member is an int. */
#define GT_OPT_COLOUR(opts, member)                                            \
	{                                                                      \
		GT_OPT_WORD, 0, "color", GT_COLOUR_WORDS,                      \
			offsetof(opts, member),                                \
			"whether to write colours (auto: to terminals)", 0, 0  \
	}

/*
 * Returns whether to colour.  The variables NO_COLOR and TERM decide on
 * terminals as they do elsewhere.
 */
int gt_colour(enum gt_colour_when when, const struct gt_cmd_args *args);

#endif
