gtopo_core_sources += \
	%D%/cluster.c \
	%D%/cluster.h
