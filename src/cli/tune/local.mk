gtopo_core_sources += \
	%D%/candidates.c \
	%D%/knee.c \
	%D%/knee.h \
	%D%/measure.c \
	%D%/measure.h \
	%D%/sweep.c \
	%D%/sweep.h

EXTRA_DIST += %D%/README.md
