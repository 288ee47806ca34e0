/*
 * Completes command lines from the tables of commands and options, and from
 * lists that the program has of its own: rules, reference machines.
 */
#include "cli/complete.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/cmd.h"
#include "cli/common/command.h"
#include "cli/common/opt.h"
#include "cli/common/reference.h"
#include "topo/diff/device.h"
#include "topo/lint/finding.h"

/* The word that is completed, and what comes before it in each answer. */
struct gt_completer {
	struct gt_arena *arena;
	struct gt_buf *out;
	const char *word;
	const char *before; /* "--algo=", "acs,", or "" */
	size_t before_len;
};

/* Offer a word of some length if it begins as the one that is completed. */
static void gt_complete_offer(const struct gt_completer *c, const char *word,
			      size_t len, const char *what)
{
	if (strncmp(word, c->word, strlen(c->word)) || len < strlen(c->word))
		return;
	gt_buf_add(c->out, c->before, c->before_len);
	gt_buf_add(c->out, word, len);
	if (what)
		gt_buf_printf(c->out, "\t%s", what);
	gt_buf_puts(c->out, "\n");
}

static void gt_complete_files(const struct gt_completer *c)
{
	gt_buf_puts(c->out, ":files\n");
}

static void gt_complete_commands(const struct gt_completer *c)
{
	const struct gt_cmd *cmd;

	for (int i = 0; (cmd = gt_cmd_get(i)); i++)
		gt_complete_offer(c, cmd->name, strlen(cmd->name),
				  cmd->summary);
}

static void gt_complete_options(const struct gt_completer *c,
				const struct gt_opt *opts)
{
	for (; opts && opts->type; opts++) {
		if (opts->type == GT_OPT_FOREIGN)
			continue;
		const char *name =
			gt_arena_printf(c->arena, "--%s", opts->name);

		if (!name)
			c->out->failed = 1;
		else
			gt_complete_offer(c, name, strlen(name), opts->help);
	}
}

/* Offer each of "ring|tree". */
static void gt_complete_words(const struct gt_completer *c, const char *words)
{
	size_t len;

	for (; *words; words += len + (words[len] == '|')) {
		len = strcspn(words, "|");
		gt_complete_offer(c, words, len, NULL);
	}
}

static void gt_complete_machines(const struct gt_completer *c)
{
	const char **names = gt_reference_names(c->arena);

	for (int i = 0; names && names[i]; i++)
		gt_complete_offer(c, names[i], strlen(names[i]),
				  "reference machine");
	c->out->failed |= !names;
}

/* Offer what --ignore takes behind the last comma of its list. */
static void gt_complete_ignore(struct gt_completer *c, const struct gt_cmd *cmd)
{
	const char *comma = strrchr(c->word, ',');
	const char *list = c->word;
	char *before;

	if (comma) {
		before = gt_arena_printf(c->arena, "%.*s%.*s",
					 (int)c->before_len, c->before,
					 (int)(comma + 1 - list), list);
		c->out->failed |= !before;
		c->before = before ? before : "";
		c->before_len = strlen(c->before);
		c->word = comma + 1;
	}
	if (strcmp(cmd->name, "diff") != 0)
		for (int i = 0; i < GT_NLINTRULES; i++) {
			const char *rule =
				gt_lint_rule_name((enum gt_lint_rule)i);

			gt_complete_offer(c, rule, strlen(rule), NULL);
		}
	if (strcmp(cmd->name, "lint") != 0)
		for (int i = 0; i < GT_NPROPS; i++) {
			const char *prop = gt_prop_name((enum gt_prop)i);

			/* Rules of that name are offered already. */
			if (!strcmp(cmd->name, "diff") ||
			    gt_lint_rule_find(prop) < 0)
				gt_complete_offer(c, prop, strlen(prop), NULL);
		}
	if (strcmp(cmd->name, "lint") != 0)
		gt_complete_offer(c, "nvlink", strlen("nvlink"), NULL);
}

/* Offer what an option takes. */
static void gt_complete_value(struct gt_completer *c, const struct gt_cmd *cmd,
			      const struct gt_opt *opt)
{
	if (opt->type == GT_OPT_WORD) {
		gt_complete_words(c, opt->arg);
	} else if (opt->type == GT_OPT_TOPO || !strcmp(opt->name, "expect")) {
		gt_complete_machines(c);
		gt_complete_files(c);
	} else if (opt->type == GT_OPT_TEXT && !strcmp(opt->name, "ignore")) {
		gt_complete_ignore(c, cmd);
	} else if (opt->type == GT_OPT_TEXT &&
		   (!strcmp(opt->arg, "FILE") || !strcmp(opt->arg, "PLAN") ||
		    !strcmp(opt->arg, "DIR"))) {
		gt_complete_files(c);
	}
}

static void gt_complete_operand(const struct gt_completer *c,
				const struct gt_cmd *cmd)
{
	if (!strcmp(cmd->name, "help")) {
		gt_complete_commands(c);
		return;
	}
	if (cmd->takes_machines)
		gt_complete_machines(c);
	if (cmd->operands_max)
		gt_complete_files(c);
}

/* Returns the option that waits for a value when the word ends, or NULL. */
static const struct gt_opt *gt_complete_open(const struct gt_cmd *cmd,
					     const char *word, size_t len)
{
	const struct gt_opt *tables[] = {cmd->opts, gt_cmd_common_options()};

	for (int i = 0; i < 2; i++)
		for (const struct gt_opt *o = tables[i]; o && o->type; o++) {
			if (o->type == GT_OPT_FLAG)
				continue;
			if (len > 2 && !strncmp(word, "--", 2) &&
			    strlen(o->name) == len - 2 &&
			    !strncmp(o->name, word + 2, len - 2))
				return o;
			if (len == 2 && word[0] == '-' && o->letter &&
			    word[1] == o->letter)
				return o;
		}
	return NULL;
}

static void gt_complete_last(struct gt_completer *c, const struct gt_cmd *cmd,
			     const char *previous)
{
	const struct gt_opt *open =
		gt_complete_open(cmd, previous, strlen(previous));
	size_t name = strcspn(c->word, "=");

	if (open) {
		gt_complete_value(c, cmd, open);
	} else if (c->word[0] == '-' && c->word[name] == '=') {
		open = gt_complete_open(cmd, c->word, name);
		c->before = c->word;
		c->before_len = name + 1;
		c->word += name + 1;
		if (open)
			gt_complete_value(c, cmd, open);
	} else if (c->word[0] == '-') {
		gt_complete_options(c, cmd->opts);
		gt_complete_options(c, gt_cmd_common_options());
	} else {
		gt_complete_operand(c, cmd);
	}
}

int gt_complete(char **words, int n, struct gt_buf *out, struct gt_err *err)
{
	struct gt_completer c = {.arena = gt_arena_new(),
				 .out = out,
				 .word = n > 0 ? words[n - 1] : "",
				 .before = ""};
	const struct gt_cmd *cmd = n > 1 ? gt_cmd_find(words[0]) : NULL;

	if (!c.arena)
		return gt_err_nomem(err);
	if (n == 1)
		gt_complete_commands(&c);
	else if (cmd)
		gt_complete_last(&c, cmd, n > 2 ? words[n - 2] : "");
	gt_arena_free(c.arena);
	return out->failed ? gt_err_nomem(err) : GT_OK;
}
