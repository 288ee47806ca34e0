gtopo_core_sources += \
	%D%/cluster.c \
	%D%/cluster.h \
	%D%/fabric.c \
	%D%/homogenize.c \
	%D%/json.c \
	%D%/kind.c \
	%D%/make.h \
	%D%/names.c \
	%D%/path.c \
	%D%/path.h \
	%D%/read.c
