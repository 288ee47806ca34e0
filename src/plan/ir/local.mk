gtopo_core_sources += \
	%D%/cluster.c \
	%D%/cluster.h \
	%D%/cluster_shrink.c \
	%D%/cluster_shrink.h \
	%D%/demand.c \
	%D%/demand.h \
	%D%/detour.c \
	%D%/detour.h \
	%D%/envelope.c \
	%D%/envelope.h \
	%D%/hop_uses.c \
	%D%/hop_uses.h \
	%D%/measured.c \
	%D%/measured.h \
	%D%/op.def \
	%D%/plan.c \
	%D%/plan.h \
	%D%/program.h \
	%D%/survivors.c \
	%D%/survivors.h

EXTRA_DIST += %D%/README.md
