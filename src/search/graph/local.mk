gtopo_core_sources += \
	%D%/arborescence.c \
	%D%/maxflow.c \
	%D%/graph.h \
	%D%/prim.c \
	%D%/shortest_path.c

EXTRA_DIST += %D%/README.md
