gtopo_core_sources += \
	%D%/copies.c \
	%D%/copies.h \
	%D%/cost.c \
	%D%/cost.h \
	%D%/extrapolate.c \
	%D%/extrapolate.h \
	%D%/lower_bound.c \
	%D%/network.c \
	%D%/network.h \
	%D%/params.c \
	%D%/params.h \
	%D%/read.c \
	%D%/route.c \
	%D%/run.c \
	%D%/switch.c \
	%D%/switch.h

EXTRA_DIST += %D%/README.md
