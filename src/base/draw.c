/* Pictures by Graphviz, where it is installed; it is loaded only to draw. */
#include "base/draw.h"

#include <config.h>

#include "base/buf.h"
#include "base/err.h"

#ifdef HAVE_GRAPHVIZ

#include <dlfcn.h>
#include <gvc.h>
#include <stddef.h>
#include <string.h>

/* Loaded here rather than linked: it brings some thirty libraries, which no
 * other command needs, and servers rarely have it. */
struct gt_gvc {
	__typeof__(gvContext) *context;
	__typeof__(gvLayout) *layout;
	__typeof__(gvFreeLayout) *free_layout;
	__typeof__(gvRenderData) *render;
	__typeof__(gvFreeRenderData) *free_render;
	__typeof__(agmemread) *read;
	__typeof__(agclose) *close;
	__typeof__(agseterrf) *set_errors;
};

static int gt_gvc_load(struct gt_gvc *gvc, struct gt_err *err)
{
	const struct {
		const char *name;
		size_t at;
	} table[] = {
		{"gvContext", offsetof(struct gt_gvc, context)},
		{"gvLayout", offsetof(struct gt_gvc, layout)},
		{"gvFreeLayout", offsetof(struct gt_gvc, free_layout)},
		{"gvRenderData", offsetof(struct gt_gvc, render)},
		{"gvFreeRenderData", offsetof(struct gt_gvc, free_render)},
		{"agmemread", offsetof(struct gt_gvc, read)},
		{"agclose", offsetof(struct gt_gvc, close)},
		{"agseterrf", offsetof(struct gt_gvc, set_errors)},
	};
	void *library = dlopen(GT_GVC_SO, RTLD_NOW | RTLD_LOCAL), *symbol;

	if (!library)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "Graphviz's library '%s' is not here; --dot "
				  "writes what its program 'dot' reads",
				  GT_GVC_SO);
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		symbol = dlsym(library, table[i].name);
		if (!symbol)
			return gt_err_set(err, GT_ESYS, GT_GVC_SO,
					  "has no '%s'", table[i].name);
		memcpy((char *)gvc + table[i].at, &symbol, sizeof(symbol));
	}
	return GT_OK; /* it stays: its plug-ins cannot be unloaded */
}

/* It would print its warnings, such as of a font that is not installed. */
static int gt_draw_quietly(char *text)
{
	(void)text;
	return 0;
}

int gt_draw(const char *dot, const char *format, struct gt_buf *out,
	    struct gt_err *err)
{
	struct gt_gvc gvc;
	Agraph_t *graph = NULL;
	GVC_t *context;
	char *picture = NULL;
	unsigned len = 0;
	int rc = gt_gvc_load(&gvc, err);

	if (rc)
		return rc;
	gvc.set_errors(gt_draw_quietly);
	context = gvc.context();
	if (context)
		graph = gvc.read(dot);
	rc = GT_ESYS;
	if (!graph || gvc.layout(context, graph, "nop2")) {
		gt_err_set(err, rc, NULL, "Graphviz cannot lay it out");
		goto close;
	}
	if (gvc.render(context, graph, format, &picture, &len) || !picture) {
		gt_err_set(err, rc, NULL, "Graphviz cannot draw '%s'", format);
		goto layout;
	}
	gt_buf_add(out, picture, len);
	rc = out->failed ? gt_err_nomem(err) : GT_OK;
	gvc.free_render(picture);
layout:
	gvc.free_layout(context, graph);
close:
	/*
	 * The context stays until the end: it has the names of fonts, and the
	 * plug-in for text compares the last one's with the next, whichever
	 * context that was of.
	 */
	if (graph)
		gvc.close(graph);
	return rc;
}

#else

int gt_draw(const char *dot, const char *format, struct gt_buf *out,
	    struct gt_err *err)
{
	(void)dot;
	(void)out;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "built without Graphviz, which draws '%s'; --dot "
			  "writes what its program 'dot' reads",
			  format);
}

#endif
