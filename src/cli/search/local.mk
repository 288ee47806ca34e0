gtopo_core_sources += \
	%D%/explain.c \
	%D%/tell.c \
	%D%/tell.h

EXTRA_DIST += %D%/README.md
