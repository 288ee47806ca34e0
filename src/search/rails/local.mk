gtopo_core_sources += \
	%D%/check.c \
	%D%/direct.c \
	%D%/from_plan.c \
	%D%/levels.c \
	%D%/meshed.c \
	%D%/meshed.h \
	%D%/meshed_plan.c \
	%D%/plan.c \
	%D%/rails.h

EXTRA_DIST += %D%/README.md
