gtopo_core_sources += \
	%D%/cluster.c \
	%D%/cluster.h \
	%D%/cost.c \
	%D%/cost.h \
	%D%/fleet.c \
	%D%/fleet.h \
	%D%/fleet_inside.h \
	%D%/fleet_print.c

EXTRA_DIST += %D%/README.md
