# from a topology and a request to a plan
gtopo_core_sources += \
	%D%/bound.c %D%/bound.h \
	%D%/bound_parts.c %D%/bound_parts.h \
	%D%/cut.c %D%/cut.h \
	%D%/fabric.h \
	%D%/maxflow.c %D%/maxflow.h
