gtopo_core_sources += \
	%D%/reach.c \
	%D%/reach.h
