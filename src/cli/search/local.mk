gtopo_core_sources += \
	%D%/cluster.c \
	%D%/cluster.h \
	%D%/explain.c \
	%D%/explain.h \
	%D%/explain_cluster.c \
	%D%/explain_cluster.h \
	%D%/progress.c \
	%D%/progress.h \
	%D%/uneven.c \
	%D%/uneven.h
