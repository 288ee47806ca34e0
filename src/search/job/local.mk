# where a job's ranks go, and what its traffic takes
gtopo_core_sources += \
	%D%/assign.c \
	%D%/assign.h \
	%D%/bound.c \
	%D%/bound.h \
	%D%/cost.c \
	%D%/cost.h \
	%D%/cuts.c \
	%D%/cuts.h \
	%D%/links.c \
	%D%/links.h \
	%D%/loads.c \
	%D%/loads.h \
	%D%/placements.c \
	%D%/placements.h \
	%D%/plans.c \
	%D%/plans.h \
	%D%/site.c \
	%D%/site.h \
	%D%/within.c \
	%D%/within.h \
	%D%/workload.c \
	%D%/workload.h

EXTRA_DIST += %D%/README.md
