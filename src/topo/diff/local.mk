gtopo_core_sources += \
	%D%/apply.c \
	%D%/apply.h \
	%D%/cluster.c \
	%D%/cluster.h \
	%D%/device.c \
	%D%/device.h \
	%D%/device_tree.c \
	%D%/device_tree.h \
	%D%/diff.c \
	%D%/diff.h \
	%D%/gdr.c \
	%D%/gdr.h \
	%D%/hungarian.c \
	%D%/hungarian.h \
	%D%/isomorphism.c \
	%D%/match.c \
	%D%/match.h \
	%D%/matcher.c \
	%D%/matcher.h \
	%D%/mix.h \
	%D%/repair.c \
	%D%/repair.h \
	%D%/swaps.c \
	%D%/swaps.h \
	%D%/wiring.c \
	%D%/wiring.h

EXTRA_DIST += %D%/README.md
