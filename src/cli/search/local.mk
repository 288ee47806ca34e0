gtopo_core_sources += \
	%D%/explain.c \
	%D%/explain.h \
	%D%/progress.c \
	%D%/progress.h \
	%D%/tell.c \
	%D%/tell.h

EXTRA_DIST += %D%/README.md
