gtopo_core_sources += \
	%D%/candidates.c \
	%D%/sweep.c \
	%D%/sweep.h

EXTRA_DIST += %D%/README.md
