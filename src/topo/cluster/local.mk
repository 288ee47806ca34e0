gtopo_core_sources += \
	%D%/cluster.c \
	%D%/cluster.h \
	%D%/fabric.c \
	%D%/homogenize.c \
	%D%/internode.c \
	%D%/internode.h \
	%D%/kind.c \
	%D%/make.c \
	%D%/make.h \
	%D%/name_list.c \
	%D%/name_list.h \
	%D%/names.c \
	%D%/read.c \
	%D%/subset.c

EXTRA_DIST += %D%/README.md
