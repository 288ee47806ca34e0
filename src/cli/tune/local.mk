gtopo_core_sources += \
	%D%/candidates.c \
	%D%/sweep.c \
	%D%/sweep.h
