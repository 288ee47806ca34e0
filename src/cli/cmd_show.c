#include "cli/cmd.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/opt.h"
#include "topo/show.h"
#include "topo/topo.h"

struct gt_show_opts {
	int rates;
};

static const struct gt_show_opts gt_show_defaults = {.rates = GT_RATES_LINE};

static const struct gt_opt gt_show_opts[] = {
	{GT_OPT_WORD, 0, "rates", "measured|nccl|line",
	 offsetof(struct gt_show_opts, rates),
	 "whose bandwidths the links have (line)", 0, 0},
	GT_OPT_END,
};

/* The locale's encoding, without making that locale the program's. */
static int gt_show_is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	int utf8;

	if (!locale)
		return 0;
	utf8 = !strcmp(nl_langinfo_l(CODESET, locale), "UTF-8");
	freelocale(locale);
	return utf8;
}

static int gt_show_has_colour(const struct gt_cmd_args *args)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return !args->out && isatty(STDOUT_FILENO) && !(no && *no) && term &&
	       strcmp(term, "dumb") != 0;
}

static int gt_show_write(const struct gt_cmd_args *args,
			 const struct gt_topo *topo, struct gt_err *err)
{
	struct gt_show_style style = {.ascii = !gt_show_is_utf8(),
				      .colour = gt_show_has_colour(args)};
	struct gt_buf text = GT_BUF_INIT;
	int rc;

	gt_show_tree(topo, &style, &text);
	rc = text.failed ? gt_err_nomem(err)
			 : gt_file_write(args->out, text.text, text.len, err);
	gt_buf_release(&text);
	return rc;
}

static int gt_show_run(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_show_opts *opts = args->opts;
	struct gt_topo *topo;
	int rc = gt_topo_read(args->operands[0], (enum gt_rates)opts->rates,
			      &topo, err);

	if (rc)
		return rc;
	rc = gt_topo_check(topo, err);
	if (!rc)
		rc = gt_show_write(args, topo, err);
	gt_topo_free(topo);
	return rc;
}

const struct gt_cmd gt_cmd_show = {
	.name = "show",
	.summary = "show a machine as a tree",
	.operands = "FILE",
	.operands_min = 1,
	.operands_max = 1,
	.opts = gt_show_opts,
	.defaults = &gt_show_defaults,
	.opts_bytes = sizeof(struct gt_show_opts),
	.run = gt_show_run,
};
