gtopo_core_sources += \
	%D%/print.c \
	%D%/print.h \
	%D%/several.c

EXTRA_DIST += %D%/README.md
