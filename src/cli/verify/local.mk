gtopo_core_sources += \
	%D%/make.c \
	%D%/rows.c \
	%D%/topology.c \
	%D%/verdict.c \
	%D%/verify.h

EXTRA_DIST += %D%/README.md
