gtopo_core_sources += \
	%D%/print.c \
	%D%/print.h

EXTRA_DIST += %D%/README.md
