gtopo_core_sources += \
	%D%/going.c \
	%D%/going.h \
	%D%/job.c \
	%D%/job.h \
	%D%/local_machine.c \
	%D%/local_machine.h \
	%D%/parse.c \
	%D%/parse.h \
	%D%/replan.c \
	%D%/replan.h \
	%D%/soak.c \
	%D%/sweep.c \
	%D%/sweep.h \
	%D%/trace.c \
	%D%/trace.h

EXTRA_DIST += %D%/README.md
