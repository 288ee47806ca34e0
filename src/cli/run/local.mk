gtopo_core_sources += \
	%D%/job.c \
	%D%/job.h \
	%D%/local_machine.c \
	%D%/local_machine.h \
	%D%/parse.c \
	%D%/parse.h \
	%D%/soak.c \
	%D%/sweep.c \
	%D%/sweep.h \
	%D%/trace.c \
	%D%/trace.h

EXTRA_DIST += %D%/README.md
