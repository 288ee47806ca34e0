gtopo_core_sources += \
	%D%/cluster.c \
	%D%/cluster.h \
	%D%/cost.c \
	%D%/cost.h \
	%D%/fleet.c \
	%D%/fleet.h

EXTRA_DIST += %D%/README.md
