gtopo_core_sources += \
	%D%/budget.c \
	%D%/budget.h \
	%D%/channel_limit.c \
	%D%/fabric.c \
	%D%/fabric.h \
	%D%/flat_cluster.c \
	%D%/flat_cluster.h \
	%D%/flat_cluster_links.c \
	%D%/flat_cluster_route.c \
	%D%/gpu_list.c \
	%D%/gpu_list.h \
	%D%/link_rows.c \
	%D%/link_rows.h \
	%D%/request.c \
	%D%/request.h \
	%D%/shape.h

EXTRA_DIST += %D%/README.md
