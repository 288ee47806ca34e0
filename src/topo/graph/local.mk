gtopo_core_sources += \
	%D%/check.c \
	%D%/edit.c \
	%D%/edit.h \
	%D%/graph.c \
	%D%/graph.h \
	%D%/model.c \
	%D%/model.h \
	%D%/path.c \
	%D%/path.h \
	%D%/topo.c \
	%D%/topo.h \
	%D%/walk.c \
	%D%/walk.h
