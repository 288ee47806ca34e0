/* What a file is, by its first words. */
#include "base/kind.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

struct gt_kind {
	const char *name, *says;
};

/* A trace has no schema in front; its first key stands for one. */
static const struct gt_kind gt_kinds_of_json[] = {
	{"gtopo.plan/", "is a plan; 'gtopo show --plan', verify, predict, run "
			"and export take it"},
	{"gtopo.report/", "is the report of a run; 'gtopo compare' and 'gtopo "
			  "page --report' take it"},
	{"gtopo.job/", "is a job; 'gtopo search --job' takes it"},
	{"gtopo.job-report/",
	 "is the report of a job; 'gtopo compare' takes it"},
	{"traceEvents", "is the trace of a run; 'gtopo page --trace' takes it"},
};

static const struct gt_kind gt_kinds_of_xml[] = {
	{"graphs", "is a graph file of NCCL's; 'gtopo nccl' takes it"},
	{"algo", "is an algorithm of MSCCL; 'gtopo import' makes a plan of it"},
};

#define GT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* As much of a file as is looked at. */
enum { GT_KIND_BYTES = 4096 };

static const char *gt_kind_find(const struct gt_kind *kinds, size_t n,
				const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(text, kinds[i].name))
			return kinds[i].says;
	return NULL;
}

const char *gt_kind_of_schema(const char *schema)
{
	return gt_kind_find(gt_kinds_of_json, GT_COUNT(gt_kinds_of_json),
			    schema);
}

const char *gt_kind_of_root(const char *name)
{
	for (size_t i = 0; i < GT_COUNT(gt_kinds_of_xml); i++)
		if (!strcmp(name, gt_kinds_of_xml[i].name))
			return gt_kinds_of_xml[i].says;
	return NULL;
}

/* Whichever schema stands first is the file's own. */
const char *gt_kind_of_json(const char *text, size_t len)
{
	char start[GT_KIND_BYTES + 1], *key;
	const char *says = NULL;

	snprintf(start, sizeof(start), "%.*s",
		 (int)(len < GT_KIND_BYTES ? len : GT_KIND_BYTES), text);
	key = strstr(start, "\"schema\"");
	if (key) {
		key[strcspn(key, ",}\n")] = '\0';
		says = gt_kind_of_schema(key);
	} else if (strstr(start, "\"traceEvents\"")) {
		says = gt_kind_of_schema("traceEvents");
	}
	return says ? says
		    : "is JSON, not XML; 'gtopo show --plan', verify, predict, "
		      "run and export take a plan";
}

/* The root is the first element that is no declaration and no comment. */
const char *gt_kind_of_xml(const char *text, size_t len)
{
	char start[GT_KIND_BYTES + 1], name[32];
	const char *says = NULL, *at;

	snprintf(start, sizeof(start), "%.*s",
		 (int)(len < GT_KIND_BYTES ? len : GT_KIND_BYTES), text);
	for (at = strchr(start, '<'); at; at = strchr(at + 1, '<'))
		if (at[1] != '?' && at[1] != '!')
			break;
	if (at && sscanf(at, "<%31[a-z]", name) == 1)
		says = gt_kind_of_root(name);
	return says ? says
		    : "is XML, not JSON; 'gtopo search' makes a plan of a "
		      "topology";
}
