gtopo_core_sources += \
	%D%/curve.c \
	%D%/curve.h \
	%D%/fleet.c \
	%D%/html.c \
	%D%/html.h \
	%D%/page.c \
	%D%/page.h \
	%D%/part.h \
	%D%/plan.c \
	%D%/section.c \
	%D%/table.c \
	%D%/table.h \
	%D%/trace.c \
	%D%/view.c

# The style sheet and the script become lines of C.
page_lines = sed -e 's/[\\"]/\\&/g' -e 's/^/"/' -e 's/$$/\\n",/'
%D%/page_css.inc: %D%/page.css
	$(AM_V_GEN)$(MKDIR_P) %D% && $(page_lines) $(top_srcdir)/%D%/page.css >$@
%D%/page_js.inc: %D%/page.js
	$(AM_V_GEN)$(MKDIR_P) %D% && $(page_lines) $(top_srcdir)/%D%/page.js >$@
%D%/html.$(OBJEXT): %D%/page_css.inc %D%/page_js.inc

CLEANFILES += %D%/page_css.inc %D%/page_js.inc
EXTRA_DIST += %D%/README.md %D%/page.css %D%/page.js
