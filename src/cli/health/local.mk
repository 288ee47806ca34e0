gtopo_core_sources += \
	%D%/reach.c \
	%D%/reach.h

EXTRA_DIST += %D%/README.md
