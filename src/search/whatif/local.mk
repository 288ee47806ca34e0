# what limits a plan, and what would raise it
gtopo_core_sources += \
	%D%/bridge.c \
	%D%/bridge.h \
	%D%/cluster.c \
	%D%/cluster_changes.c \
	%D%/cluster_full.c \
	%D%/cluster_full.h \
	%D%/in_switch.c \
	%D%/in_switch.h \
	%D%/machine.c \
	%D%/result.c \
	%D%/result.h \
	%D%/whatif.h

EXTRA_DIST += %D%/README.md
