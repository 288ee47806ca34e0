gtopo_core_sources += \
	%D%/check.c \
	%D%/edit.c \
	%D%/edit.h \
	%D%/graph.c \
	%D%/graph.h \
	%D%/inside.h \
	%D%/memory.c \
	%D%/memory.h \
	%D%/merge.c \
	%D%/merge.h \
	%D%/model.c \
	%D%/model.h \
	%D%/name.c \
	%D%/name.h \
	%D%/part.c \
	%D%/part.h \
	%D%/path.c \
	%D%/path.h \
	%D%/path_kind.c \
	%D%/path_kind.h \
	%D%/peer_cause.c \
	%D%/peer_cause.h \
	%D%/route_search.c \
	%D%/route_search.h \
	%D%/topo.c \
	%D%/topo.h

EXTRA_DIST += %D%/README.md
