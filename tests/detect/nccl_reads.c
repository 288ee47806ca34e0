/*
 * nccl_reads FILE...: whether NCCL's own reader would take topology files.
 *
 * NCCL reads its files with a parser of its own that is stricter than XML and
 * has fixed limits; this one refuses what that refuses or would silently cut
 * or misread, as published behaviour and tests against NCCL 2.30 tell.  One
 * line a fault; exit status 1 if there was one.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_NODES = 255, /* its table of 256 may not get full */
	MAX_ATTRS = 16,
	MAX_VALUE = 253,
	MAX_DEPTH = 64,
	NET_ATTRS = 15, /* NCCL adds its own, and checks no limit there */
};

struct reader {
	const char *file;
	const char *text;
	const char *at;
	char open[MAX_DEPTH][32];
	int depth;
	int nodes;
	int faults;
};

static void fault(struct reader *r, const char *what, const char *which)
{
	int line = 1;

	for (const char *p = r->text; p < r->at; p++)
		line += *p == '\n';
	printf("%s:%d: %s '%s'\n", r->file, line, what, which);
	r->faults++;
}

/* What NCCL needs to load an element and does not find out itself. */
static const char *needed(const char *name, int i)
{
	static const char *const cpu[] = {"numaid", "arch", NULL};
	static const char *const pci[] = {"busid", "class", "link_speed",
					  "link_width", NULL};
	static const char *const gpu[] = {"dev", "sm", "rank", NULL};
	static const char *const nvlink[] = {"target", "count", "tclass", NULL};
	static const char *const net[] = {"name", NULL};

	if (!strcmp(name, "cpu"))
		return cpu[i];
	if (!strcmp(name, "pci"))
		return pci[i];
	if (!strcmp(name, "gpu"))
		return gpu[i];
	if (!strcmp(name, "nvlink"))
		return nvlink[i];
	return strcmp(name, "net") ? NULL : net[i];
}

static const char *const speeds[] = {
	"2.5 GT/s PCIe",  "5.0 GT/s PCIe",  "8.0 GT/s PCIe",
	"16.0 GT/s PCIe", "32.0 GT/s PCIe", "64.0 GT/s PCIe",
};

static void check_value(struct reader *r, const char *name, const char *key,
			const char *value)
{
	size_t i = 0;

	if (strchr(value, '&'))
		fault(r, "an entity stays as it is in", key);
	if (!strcmp(key, "version") && strcmp(value, "1"))
		fault(r, "not version 1:", value);
	if (!strcmp(name, "pci") && !strcmp(key, "link_speed")) {
		while (i < 6 && strcmp(speeds[i], value))
			i++;
		if (i == 6)
			fault(r, "read as 8 GT/s:", value);
	}
}

/* key="value"; 0 when that is not what stands here. */
static int read_attr(struct reader *r, const char *name, char *key)
{
	char value[MAX_VALUE + 1];
	size_t len = strcspn(r->at, "= \n\t>/");

	if (!len || len > 63 || r->at[len] != '=' || r->at[len + 1] != '"')
		return 0;
	memcpy(key, r->at, len);
	key[len] = '\0';
	r->at += len + 2;
	len = strcspn(r->at, "\"\n");
	if (r->at[len] != '"')
		return 0;
	if (len > MAX_VALUE) {
		fault(r, "a value is too long:", key);
	} else {
		memcpy(value, r->at, len);
		value[len] = '\0';
		check_value(r, name, key, value);
	}
	r->at += len + 1;
	return 1;
}

static void read_attrs(struct reader *r, const char *name)
{
	char keys[64][64];
	int n = 0, found;

	while (*r->at == ' ' && n < 64) {
		r->at++;
		if (!read_attr(r, name, keys[n])) {
			fault(r, "not an attribute in", name);
			return;
		}
		n++;
	}
	if (n > (strcmp(name, "net") ? MAX_ATTRS : NET_ATTRS))
		fault(r, "too many attributes in", name);
	for (int i = 0; needed(name, i); i++) {
		found = 0;
		for (int k = 0; k < n; k++)
			found |= !strcmp(keys[k], needed(name, i));
		if (!found)
			fault(r, "missing attribute", needed(name, i));
	}
}

static int read_open(struct reader *r)
{
	size_t len = strspn(r->at, "abcdefghijklmnopqrstuvwxyz0123456789_");
	char *name = r->open[r->depth];

	if (!len || len > 31 || r->depth == MAX_DEPTH - 1)
		return 0;
	memcpy(name, r->at, len);
	name[len] = '\0';
	r->at += len;
	/* Elements that it does not know it leaves out, and counts not. */
	r->nodes += strncmp(name, "gt_", 3) != 0;
	read_attrs(r, name);
	if (!strncmp(r->at, "/>", 2)) {
		r->at += 2;
		return 1;
	}
	r->depth++;
	return *r->at++ == '>';
}

static int read_close(struct reader *r)
{
	size_t len = strcspn(r->at, ">");

	r->depth--;
	if (r->depth < 0 || strlen(r->open[r->depth]) != len ||
	    memcmp(r->open[r->depth], r->at, len) || r->at[len] != '>')
		return 0;
	r->at += len + 1;
	return 1;
}

static int read_comment(struct reader *r)
{
	const char *end = strstr(r->at, "-->");

	if (!end)
		return 0;
	r->at = end + 3;
	return 1;
}

static void read_file(struct reader *r)
{
	int ok = 1;

	while (ok) {
		r->at += strspn(r->at, " \n");
		if (!*r->at)
			break;
		if (*r->at++ != '<')
			ok = 0;
		else if (!strncmp(r->at, "!--", 3))
			ok = read_comment(r);
		else if (*r->at == '/' && r->at++)
			ok = read_close(r);
		else
			ok = read_open(r);
	}
	if (!ok || r->depth)
		fault(r, "refused near", ok ? "end of file" : "here");
	if (r->nodes > MAX_NODES)
		fault(r, "more than 255 elements", "");
}

static int check_file(const char *file)
{
	static char text[1 << 20];
	struct reader r = {.file = file, .text = text, .at = text};
	FILE *in = fopen(file, "re");
	size_t len;

	if (!in) {
		perror(file);
		return 1;
	}
	len = fread(text, 1, sizeof(text) - 1, in);
	fclose(in);
	text[len] = '\0';
	read_file(&r);
	return r.faults;
}

int main(int argc, char **argv)
{
	int faults = 0;

	for (int i = 1; i < argc; i++)
		faults += check_file(argv[i]);
	return faults != 0;
}
