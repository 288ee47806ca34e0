gtopo_core_sources += \
	%D%/exits.c \
	%D%/exits.h \
	%D%/graph.c \
	%D%/graph.h \
	%D%/parts.c \
	%D%/parts.h \
	%D%/search.c \
	%D%/search.h \
	%D%/site.c \
	%D%/site.h \
	%D%/tree.c

EXTRA_DIST += %D%/README.md
