gtopo_core_sources += \
	%D%/cluster_flow.c \
	%D%/flow.c \
	%D%/layout.c \
	%D%/layout.h \
	%D%/lower.c \
	%D%/lower.h \
	%D%/mesh.c \
	%D%/ring.c \
	%D%/shape.h \
	%D%/step.c \
	%D%/step.h \
	%D%/template.c \
	%D%/tree.c

EXTRA_DIST += %D%/README.md
