gtopo_core_sources += \
	%D%/topology.c \
	%D%/verdict.c \
	%D%/verify.h

EXTRA_DIST += %D%/README.md
