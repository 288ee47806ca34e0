gtopo_core_sources += \
	%D%/arborescence.c \
	%D%/arborescence.h \
	%D%/maxflow.c \
	%D%/maxflow.h \
	%D%/prim.c \
	%D%/prim.h \
	%D%/shortest_path.c \
	%D%/shortest_path.h
