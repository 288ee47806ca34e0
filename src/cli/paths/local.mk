gtopo_core_sources += \
	%D%/cluster.c \
	%D%/cluster.h

EXTRA_DIST += %D%/README.md
