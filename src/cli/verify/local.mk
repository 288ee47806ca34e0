gtopo_core_sources += \
	%D%/topology.c \
	%D%/topology.h \
	%D%/verdict.c \
	%D%/verdict.h
