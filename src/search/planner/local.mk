# which search a request for a plan takes
gtopo_core_sources += \
	%D%/apart.c \
	%D%/apart.h \
	%D%/job_bound.c \
	%D%/job_bound.h \
	%D%/mixed.c \
	%D%/mixed.h \
	%D%/planner.c \
	%D%/planner.h \
	%D%/request.c \
	%D%/request.h \
	%D%/union_bound.c \
	%D%/union_bound.h \
	%D%/unlike.c \
	%D%/unlike.h

EXTRA_DIST += %D%/README.md
