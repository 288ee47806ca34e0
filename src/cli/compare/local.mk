gtopo_core_sources += \
	%D%/compare.c \
	%D%/compare.h \
	%D%/job.c \
	%D%/print.c

EXTRA_DIST += %D%/README.md
