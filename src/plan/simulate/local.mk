gtopo_core_sources += \
	%D%/check.c \
	%D%/init.c \
	%D%/layout.c \
	%D%/race.c \
	%D%/run.c \
	%D%/simulate.c \
	%D%/simulate.h \
	%D%/state.h

EXTRA_DIST += %D%/README.md
