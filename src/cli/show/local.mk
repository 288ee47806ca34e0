gtopo_core_sources += \
	%D%/plan.c \
	%D%/plan.h

EXTRA_DIST += %D%/README.md
