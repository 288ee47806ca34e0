gtopo_core_sources += \
	%D%/candidates.c \
	%D%/candidates.h \
	%D%/sweep.c \
	%D%/sweep.h
