/*
 * Options as tables: each command declares its own beside its code, and one
 * parser fills the command's struct, words every complaint, and prints the
 * usage line and the help, so that none can drift from another.
 *
 *	struct frob_opts {
 *		int json;
 *		uint64_t max_bytes;
 *	};
 *
 *	static const struct gt_opt frob_opts[] = {
 *		{GT_OPT_FLAG, 0, "json", NULL,
 *		 offsetof(struct frob_opts, json), "write JSON", 0, 0},
 *		{GT_OPT_BYTES, 'e', "max-bytes", "SIZE",
 *		 offsetof(struct frob_opts, max_bytes), "largest size", 0, 0},
 *		GT_OPT_END,
 *	};
 *
 * Accepted are --name VALUE, --name=VALUE, -x VALUE, -xVALUE, flags together
 * (-qv), options after operands, and `--`; `-` is an operand.  The last of a
 * repeated option counts.
 */
#ifndef GT_CLI_COMMON_OPT_H
#define GT_CLI_COMMON_OPT_H

#include <stddef.h>
#include <stdint.h>

struct gt_buf;
struct gt_err;

/*
 * The type says what an option takes, and of what type the member it sets is.
 */
enum gt_opt_type {
	GT_OPT_NONE,  /* ends a table */
	GT_OPT_FLAG,  /* int: 1 */
	GT_OPT_TEXT,  /* const char *: borrowed from argv */
	GT_OPT_TOPO,  /* const char *: a file, or a reference machine's */
	GT_OPT_WORD,  /* int: which of the words of arg ("ring|tree") */
	GT_OPT_INT,   /* int64_t in [min, max] (no limits when both are 0) */
	GT_OPT_BYTES, /* uint64_t: "16M" */
	GT_OPT_TIME,  /* int64_t: nanoseconds, "500ms", "2s", "30" */
	/* A letter that another program has: an error, which `help` words. */
	GT_OPT_FOREIGN,
};

struct gt_opt {
	enum gt_opt_type type;
	char letter;      /* 0: none */
	const char *name; /* without dashes */
	const char *arg;  /* the argument's name in help; NULL for flags */
	size_t at;        /* offsetof the member it sets */
	const char *help; /* one line, lower case */
	int64_t min;
	int64_t max;
};

/* clang-format off */
#define GT_OPT_END { GT_OPT_NONE, 0, NULL, NULL, 0, NULL, 0, 0 }
/* clang-format on */

/* One table and the struct that it fills. */
struct gt_opt_set {
	const struct gt_opt *opts; /* NULL: none */
	void *values;
};

/*
 * Parse argv[0..argc) with two tables (the command's and the common ones).
 * Operands are moved to the front of argv in their order, *noperands says how
 * many.  GT_EINPUT with the option's name for anything wrong.
 */
int gt_opt_parse(const struct gt_opt_set sets[2], int argc, char **argv,
		 int *noperands, struct gt_err *err);

/* " [--json] [-o FILE]", each preceded by a blank, for a usage line. */
void gt_opt_usage(const struct gt_opt *opts, struct gt_buf *out);

/* One line an option, aligned. */
void gt_opt_help(const struct gt_opt *opts, struct gt_buf *out);

/* A word of an option that has to be one of several, "a|b|c". */
struct gt_opt_choice {
	const char *option; /* its name, for the complaint */
	const char *words;
	const char *text;
};

/*
 * Set *chosen to the number of the word that is meant, whatever its capitals,
 * dashes and underscores are; GT_EINPUT names the nearest one.
 */
int gt_opt_choose(const struct gt_opt_choice *choice, int *chosen,
		  struct gt_err *err);

/* How many letters have to change to make one word of the other. */
int gt_opt_distance(const char *a, const char *b);

/*
 * The candidate (of n, each found by name(i, arg)) that a mistyped word
 * probably means, or NULL when none is near.
 */
const char *gt_opt_nearest(const char *word, int n,
			   const char *(*name)(int i, const void *arg),
			   const void *arg);

#endif
